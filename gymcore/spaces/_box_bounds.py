"""Turn what a caller gives as a bound of a `Box` into an array, or say why it cannot be one."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore import error, logger
from gymcore.spaces._checks import dtype_limits

Array = npt.NDArray[Any]
Bound = float | np.integer[Any] | np.floating[Any] | npt.NDArray[Any]


def is_float_integer(var: Any) -> bool:
    """Tell whether `var` is a Python or NumPy integer or float (a bool is neither)."""
    kind = type(var)
    return issubclass(kind, (int, float, np.integer, np.floating)) and kind is not bool


def checked_dtype(dtype: npt.DTypeLike | None) -> np.dtype[Any]:
    """Return the dtype of a `Box`, or raise if its elements cannot have that dtype."""
    if dtype is None:
        raise error.InvalidArgument("Box dtype must be explicitly provided, cannot be None.")
    result = np.dtype(dtype)
    if result.kind not in "iufb":
        raise error.InvalidArgument(
            f"Invalid Box dtype ({result}), must be an integer, floating, or bool dtype"
        )
    return result


def checked_shape(shape: Iterable[int] | None, low: Bound, high: Bound) -> tuple[int, ...]:
    """Return the shape asked for, or the one that the bounds have, or raise."""
    if shape is not None:
        if not isinstance(shape, Iterable):
            raise error.ArgumentTypeError(
                f"Expected Box shape to be an iterable, actual type={type(shape)}"
            )
        sizes = tuple(shape)
        try:
            result = tuple(operator.index(size) for size in sizes)
        except TypeError:
            raise error.ArgumentTypeError(
                "Expected all Box shape elements to be integer, "
                f"actual type={tuple(type(size) for size in sizes)}"
            ) from None
        if min(result, default=0) < 0:
            raise error.InvalidArgument(
                f"negative dimensions are not allowed in a Box shape, actual shape={result}"
            )
        return result
    if isinstance(low, np.ndarray) and isinstance(high, np.ndarray):
        if low.shape != high.shape:
            raise error.InvalidArgument(
                "Box low.shape and high.shape don't match, "
                f"low.shape={low.shape}, high.shape={high.shape}"
            )
        return low.shape
    for bound in (low, high):
        if isinstance(bound, np.ndarray):
            return bound.shape
    if is_float_integer(low) and is_float_integer(high):
        return (1,)
    raise error.InvalidArgument(
        "Box shape is not specified, therefore inferred from low and high. "
        "Expected low and high to be np.ndarray, integer, or float."
        f"Actual types low={type(low)}, high={type(high)}"
    )


def cast_bound(
    name: str, bound: Bound, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Make the array of a bound.

    Args:
        name: "low" or "high".
        bound: A number for all elements, or an array of the shape.
        shape: The shape of the space.
        dtype: The dtype of the space.

    Returns:
        A new array of that shape and dtype, and the bool array that tells where the space is
        bounded on this side. An infinite bound becomes the last value of a signed integer dtype.

    Raises:
        InvalidArgument: If the bound has a wrong type, shape, dtype or value.
    """
    if isinstance(bound, np.ndarray):
        return _cast_array(name, bound, shape, dtype)
    if not is_float_integer(bound):
        raise error.InvalidArgument(
            f"Box {name} must be a np.ndarray, integer, or float, actual type={type(bound)}"
        )
    # Comparisons of Python numbers are exact and fast: no arrays before the value is known good.
    value = bound.item() if isinstance(bound, np.generic) else bound
    infinite = _check_range(name, value, dtype)
    bounded = np.full(shape, not infinite)
    if infinite and dtype.kind == "i":
        value = dtype_limits(dtype)[0 if name == "low" else 1]
    # The conversion of a Python float to an integer dtype drops the fraction.
    return np.full(shape, value, dtype=dtype), bounded


def _cast_array(
    name: str, bound: Array, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Make the array of a bound that was given as an array."""
    if bound.shape != shape:
        raise error.InvalidArgument(
            f"Box {name}.shape doesn't match provided shape, "
            f"{name}.shape={bound.shape}, shape={shape}"
        )
    if bound.dtype.kind not in "iufb":
        kinds = "floating, integer, or bool" if name == "low" else "floating or integer"
        raise error.InvalidArgument(
            f"Box {name} must be a {kinds} dtype, actual dtype={bound.dtype}"
        )
    if (
        bound.dtype != dtype
        and bound.dtype.kind == dtype.kind == "f"
        and (np.finfo(bound.dtype).precision > np.finfo(dtype).precision)
    ):
        logger.warn(
            f"Box {name}'s precision lowered by casting to {dtype}, "
            f"current {name}.dtype={bound.dtype}",
            stacklevel=4,
        )
    infinite = np.asarray(_check_range(name, bound, dtype), dtype=np.bool_)
    if dtype.kind == "i" and infinite.any():
        values = np.where(infinite, 0, bound).astype(dtype)
        values[infinite] = dtype_limits(dtype)[0 if name == "low" else 1]
        return values, ~infinite
    return bound.astype(dtype), ~infinite


def _any(condition: Any) -> bool:
    """Tell whether a condition on a number, or on any element of an array, holds."""
    return bool(condition.any()) if isinstance(condition, np.ndarray) else bool(condition)


def _check_range(name: str, bound: Any, dtype: np.dtype[Any]) -> Any:
    """Raise if a value is NaN, or infinite or too large for the dtype.

    Args:
        name: "low" or "high".
        bound: A Python number or an array.
        dtype: The dtype of the space.

    Returns:
        Where the space has no bound on this side: a bool or a bool array.
    """
    if _any(bound != bound):
        raise error.InvalidArgument(f"No {name} value can be equal to `np.nan`, {name}={bound}")
    infinite = bound == (-np.inf if name == "low" else np.inf)
    if dtype.kind in "ub" and _any(infinite):
        sign = "-" if name == "low" else ""
        raise error.InvalidArgument(
            f"Box unsigned int dtype don't support `{sign}np.inf`, {name}={bound}"
        )
    if dtype.kind == "f" and getattr(bound, "dtype", None) == dtype:
        return infinite  # what has the dtype is in its range
    lowest, highest = dtype_limits(dtype)
    too_low, too_high = bound < lowest, bound > highest
    allowed = infinite
    if dtype.kind == "f":
        allowed = allowed | (bound == (np.inf if name == "low" else -np.inf))
    else:
        # Next to a 64-bit range a float array only knows the power of two above the range.
        too_high = too_high | (bound >= highest + 1)
    sides = [("min", lowest, too_low), ("max", highest, too_high)]
    if name == "high":
        sides.reverse()
    for side, limit, outside in sides:
        if _any(outside > allowed):
            raise error.InvalidArgument(
                f"Box {name} is out of bounds of the dtype range, "
                f"{name}={bound}, {side} dtype={limit}"
            )
    return infinite
