"""The space of arrays whose elements are in given intervals."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from gymcore import error, logger
from gymcore.spaces.space import (
    MAX_EXACT,
    Array,
    ArraySpace,
    DType,
    PickledState,
    ScalarT_co,
    dtype_limits,
)
from gymcore_ext.spaces import identical, repeat

__all__ = ["Box", "array_short_repr", "is_float_integer"]

Bound = float | np.integer | np.floating | Array
Doubles = npt.NDArray[np.float64]

_MAX_ELEMENTS = 2**59
_BOUNDS = ("low", "high", "bounded_below", "bounded_above")

# The outermost doubles that can be converted to 64-bit integers.
_CONVERTIBLE = {"i": (-(2.0**63), 2.0**63 - 1024.0), "u": (0.0, 2.0**64 - 2048.0)}


def is_float_integer(var: object) -> bool:
    """Return whether `var` is a Python or NumPy integer or float (a bool is neither)."""
    kind = type(var)
    return issubclass(kind, (int, float, np.integer, np.floating)) and kind is not bool


def array_short_repr(arr: Array) -> str:
    """Return the value of a constant array, or any other array, as text.

    Args:
        arr: An array of numbers.

    Returns:
        For example "1.0" for an array of ones, "[0. 1.]" otherwise.
    """
    if arr.size != 0 and np.min(arr) == np.max(arr):
        return str(np.min(arr))
    return str(arr)


class _LazyBound:
    """A bound of the space of a batch, created when it is first read.

    The bounds of a batch of n images are four arrays of n images, which most programs never use.
    Until then the space stores one row of each, in `_rows`.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, space: Box, owner: type | None = None) -> object:
        if space is None:
            return self
        rows = space.__dict__.get("_rows")
        if rows is None:
            raise AttributeError(f"{type(space).__name__!r} object has no attribute {self.name!r}")
        array = repeat(rows[self.name], space._shape[0])
        return space.__dict__.setdefault(self.name, array)  # the same array for all threads


class Box(ArraySpace[npt.NDArray[ScalarT_co]]):
    """Arrays of one shape and dtype whose elements are in given closed intervals.

    Each element has its own interval: bounded, bounded on one side, or unbounded.

    Attributes:
        low: Lower bounds, array of the shape and dtype of the space.
        high: Upper bounds, array of the shape and dtype of the space.
        bounded_below: Whether each element has a lower bound, bool array of the shape of the space;
            False where `low` was given as `-inf`.
        bounded_above: Whether each element has an upper bound, bool array of the same shape.

    Examples:
        >>> space = Box(low=-1.0, high=np.array([1.0, np.inf], dtype=np.float32))
        >>> space
        Box(-1.0, [ 1. inf], (2,), float32)
        >>> np.array([0.5, 7.0], dtype=np.float32) in space
        True
        >>> space.bounded_above
        array([ True, False])
    """

    _rows: dict[str, Array]
    low: Array
    high: Array
    bounded_below: npt.NDArray[np.bool_]
    bounded_above: npt.NDArray[np.bool_]

    if not TYPE_CHECKING:  # a type checker would infer the descriptor's type
        low = _LazyBound()
        high = _LazyBound()
        bounded_below = _LazyBound()
        bounded_above = _LazyBound()

    def __init__(
        self,
        low: Bound,
        high: Bound,
        shape: Sequence[int] | None = None,
        dtype: npt.DTypeLike = np.float32,
        seed: SupportsIndex | np.random.Generator | None = None,
    ) -> None:
        """Create a box from its bounds.

        Args:
            low: Lower bound: a number for all elements, or an array with one per element; `-inf`
                for no bound.
            high: Upper bound in the same form; `inf` for no bound.
            shape: Shape of the elements. None means the shape of the bounds if one of them is an
                array, `(1,)` if both are numbers.
            dtype: An integer, floating or bool dtype. Unsigned and bool boxes must be bounded.
            seed: Seed or generator for `sample`.

        Raises:
            InvalidArgument: If dtype, shape and bounds are inconsistent, a bound is NaN or outside
                the range of the dtype, or a lower bound is above its upper bound.
            ArgumentTypeError: If `shape` is not a sequence of integers.
        """
        self.dtype = _checked_dtype(dtype)
        self._shape = _checked_shape(shape, low, high)
        self.low, self.bounded_below = _cast_bound("low", low, self._shape, self.dtype)
        self.high, self.bounded_above = _cast_bound("high", high, self._shape, self.dtype)
        if (self.low > self.high).any():
            raise error.InvalidArgument(
                "Box all low values must be less than or equal to high "
                f"(some values break this), low={self.low}, high={self.high}"
            )
        self.low_repr: str | None = None
        self.high_repr: str | None = None
        super().__init__(self._shape, self.dtype, seed)

    @classmethod
    def _from_arrays(cls, low: Array, high: Array, dtype: DType) -> Box:
        """Return a box with checked copies of these arrays as bounds, and without a generator."""
        same = type(low) is type(high) is np.ndarray and low.dtype == high.dtype == dtype
        if not same or low.shape != high.shape or not (low <= high).all():
            return Box(low, high, dtype=dtype)  # raises, unless the arrays are of a subclass
        box: Box = Box.__new__(Box)
        box.dtype, box._shape = dtype, low.shape
        box.low, box.high = low.copy(), high.copy()
        if dtype.kind == "f":
            box.bounded_below = np.asarray(low != -np.inf)
            box.bounded_above = np.asarray(high != np.inf)
        else:
            box.bounded_below = np.ones(low.shape, np.bool_)
            box.bounded_above = np.ones(low.shape, np.bool_)
        box.low_repr = box.high_repr = None
        return box

    def _repeated(self, n: int) -> Box:
        """Return the box of arrays of `n` elements of this one, with a copy of the generator."""
        row = Box._from_arrays(self.low, self.high, self.dtype)
        batch: Box = Box.__new__(Box)
        batch.dtype, batch._shape = row.dtype, (n, *row._shape)
        batch._rows = {name: np.asarray(getattr(row, name)) for name in _BOUNDS}
        batch.low_repr = batch.high_repr = None
        return batch._with_generator_of(self)

    def is_bounded(self, manner: str = "both") -> bool:
        """Return whether all elements are bounded.

        Args:
            manner: The side to check: "below", "above" or "both".

        Returns:
            True if every element is bounded on that side.

        Raises:
            InvalidArgument: If `manner` is not one of the three.
        """
        if manner == "both":
            return bool(self.bounded_below.all() and self.bounded_above.all())
        if manner == "below":
            return bool(self.bounded_below.all())
        if manner == "above":
            return bool(self.bounded_above.all())
        raise error.InvalidArgument(
            f"manner is not in {{'below', 'above', 'both'}}, actual value: {manner}"
        )

    def sample(self, mask: None = None, probability: None = None) -> npt.NDArray[ScalarT_co]:
        """Draw a random element.

        Elements with two bounds are uniform, elements with one bound are exponential from that
        bound, elements without bounds are standard normal. Integers are drawn up to one above the
        upper bound and rounded down.

        Args:
            mask: Not supported, must be None.
            probability: Not supported, must be None.

        Returns:
            A new array of the shape and dtype of the space.

        Raises:
            InvalidArgument: If `mask` or `probability` is given.

        Examples:
            >>> Box(-1.0, 1.0, shape=(2,), seed=3).sample()
            array([-0.8287017, -0.526379 ], dtype=float32)
        """
        if mask is not None:
            raise error.InvalidArgument(
                f"Box.sample cannot be provided a mask, actual value: {mask}"
            )
        if probability is not None:
            raise error.InvalidArgument(
                f"Box.sample cannot be provided a probability mask, actual value: {probability}"
            )
        low, high, dtype = self.low, self.high, self.dtype
        top = high if dtype.kind == "f" else _exclusive_limit(high)
        if self.bounded_below.all() and self.bounded_above.all():
            values = _uniform(self.np_random, low, top)
        else:
            values = self._draw_mixed(top)
        if dtype.kind == "f":
            return values.astype(dtype)
        np.floor(values, out=values)
        if dtype.itemsize < 8:
            return np.clip(values, low, high, out=values).astype(dtype)
        integers = np.clip(values, *_CONVERTIBLE[dtype.kind], out=values).astype(dtype)
        if (low < -MAX_EXACT).any() or (high > MAX_EXACT).any():
            self._draw_large(integers)
        return np.clip(integers, low, high, out=integers)

    def _draw_large(self, integers: Array) -> None:
        """Draw again, in integers, the elements with a bound that a double may not hold."""
        rng, below, above = self.np_random, self.bounded_below, self.bounded_above
        low, high, dtype = self.low, self.high, self.dtype
        far_low, far_high = ((bound < -MAX_EXACT) | (bound > MAX_EXACT) for bound in (low, high))
        both = below & above & (far_low | far_high)
        integers[both] = rng.integers(low[both], high[both], dtype=dtype.type, endpoint=True)
        for part, bound in ((below & ~above & far_low, low), (above & ~below & far_high, high)):
            # The difference of two 64-bit integers fits into an unsigned one.
            span = high[part].astype(np.uint64) - low[part].astype(np.uint64)
            offsets = rng.exponential(size=len(span)).astype(np.uint64)
            offsets = np.minimum(offsets, span).astype(dtype)
            integers[part] = low[part] + offsets if bound is low else high[part] - offsets

    def _draw_mixed(self, top: Array) -> Doubles:
        """Draw for a box with at least one infinite side, one group of elements after the other."""
        rng, low, below, above = self.np_random, self.low, self.bounded_below, self.bounded_above
        unbounded, bounded = ~below & ~above, below & above
        only_below, only_above = below & ~above, ~below & above
        values = np.empty(low.shape)
        values[unbounded] = rng.normal(size=np.count_nonzero(unbounded))
        values[only_below] = rng.exponential(size=np.count_nonzero(only_below)) + low[only_below]
        values[only_above] = top[only_above] - rng.exponential(size=np.count_nonzero(only_above))
        values[bounded] = _uniform(rng, low[bounded], top[bounded])
        return values

    def contains(self, x: object) -> bool:
        """Return whether `x` has the shape of the space and a suitable dtype, and is in bounds.

        Args:
            x: An array, or a NumPy scalar if the space has zero axes; anything else is converted to
                an array, with a warning.

        Returns:
            True if the dtype of `x` can be cast safely to that of the space, the shapes are equal,
            and every element is in its interval (NaN is not).
        """
        if not isinstance(x, np.ndarray):
            # The elements of a batch of 0-d arrays are NumPy scalars.
            if not isinstance(x, np.generic) or self._shape:
                logger.warn("Casting input x to numpy array.", stacklevel=2)
            try:
                x = np.asarray(x, dtype=self.dtype)
            except (ValueError, TypeError, OverflowError):
                return False
        dtype = x.dtype
        if dtype is not self.dtype and not np.can_cast(dtype, self.dtype):
            return False
        if x.shape != self._shape:
            return False
        # For small arrays, searching for a zero byte takes a fifth of the time of `.all()`.
        return b"\0" not in (x >= self.low).tobytes() and b"\0" not in (x <= self.high).tobytes()

    def __repr__(self) -> str:
        if self.low_repr is None:
            self.low_repr = array_short_repr(self.low)
        if self.high_repr is None:
            self.high_repr = array_short_repr(self.high)
        return f"Box({self.low_repr}, {self.high_repr}, {self._shape}, {self.dtype})"

    def __eq__(self, other: object, /) -> bool:
        """Return whether `other` is a box of the same shape and dtype with nearly equal bounds."""
        return (
            isinstance(other, Box)
            and self._shape == other._shape
            and self.dtype == other.dtype
            and (identical(self.low, other.low) or _are_close(self.low, other.low))
            and (identical(self.high, other.high) or _are_close(self.high, other.high))
        )

    def __setstate__(self, state: PickledState) -> None:
        """Restore a pickled box, including older ones that lack the short texts of the bounds."""
        super().__setstate__({"low_repr": None, "high_repr": None, **dict(state)})


def _are_close(low: Array, other: Array) -> bool:
    """Return whether bounds are equal within a tolerance."""
    return np.array_equal(low, other) or np.allclose(low, other)


def _checked_dtype(dtype: npt.DTypeLike | None) -> DType:
    """Return the dtype of a `Box`; raise if elements cannot have it."""
    if dtype is None:
        raise error.InvalidArgument("Box dtype must be explicitly provided, cannot be None.")
    result = np.dtype(dtype)
    if result.kind not in "iufb":
        raise error.InvalidArgument(
            f"Invalid Box dtype ({result}), must be an integer, floating, or bool dtype"
        )
    return result


def _checked_shape(shape: Iterable[int] | None, low: Bound, high: Bound) -> tuple[int, ...]:
    """Return the given shape, or that of the bounds; raise if it is invalid."""
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
        if math.prod(filter(None, result)) > _MAX_ELEMENTS:
            raise error.InvalidArgument(f"shape: too many elements for an array, got {result}")
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


def _cast_bound(
    name: str, bound: Bound, shape: tuple[int, ...], dtype: DType
) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Return a bound as an array, and where the space is bounded on this side.

    In a signed integer dtype, an infinite bound becomes the limit of the dtype.
    """
    if isinstance(bound, np.ndarray):
        return _cast_array(name, bound, shape, dtype)
    if not is_float_integer(bound):
        raise error.InvalidArgument(
            f"Box {name} must be a np.ndarray, integer, or float, actual type={type(bound)}"
        )
    # Comparisons of Python numbers are exact and fast, so no array is made before these checks.
    value = bound.item() if isinstance(bound, np.generic) else bound
    infinite = _check_range(name, value, dtype)
    bounded = np.full(shape, not infinite)
    if infinite and dtype.kind == "i":
        value = dtype_limits(dtype)[0 if name == "low" else 1]
    # Converting a Python float to an integer dtype truncates it.
    return np.full(shape, value, dtype=dtype), bounded


def _cast_array(
    name: str, bound: Array, shape: tuple[int, ...], dtype: DType
) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Return the results of `_cast_bound` for a bound given as an array."""
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


def _any(condition: Array | np.bool_ | bool) -> bool:
    """Return whether a condition is true for a number, or for any element of an array."""
    return bool(condition.any()) if isinstance(condition, np.ndarray) else bool(condition)


def _check_range(name: str, bound: Any, dtype: DType) -> object:
    """Return where a bound is infinite; raise if it is NaN or outside the range of the dtype."""
    if _any(bound != bound):
        raise error.InvalidArgument(f"No {name} value can be equal to `np.nan`, {name}={bound}")
    infinite = bound == (-np.inf if name == "low" else np.inf)
    if dtype.kind in "ub" and _any(infinite):
        sign = "-" if name == "low" else ""
        raise error.InvalidArgument(
            f"Box unsigned int dtype don't support `{sign}np.inf`, {name}={bound}"
        )
    if dtype.kind == "f" and getattr(bound, "dtype", None) == dtype:
        return infinite  # always in range
    lowest, highest = dtype_limits(dtype)
    too_low, too_high = bound < lowest, bound > highest
    allowed = infinite
    if dtype.kind == "f":
        allowed = allowed | (bound == (np.inf if name == "low" else -np.inf))
    else:
        # Near the limits of 64 bits, a float array can hold only the power of two above the range.
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


def _uniform(rng: np.random.Generator, low: Array, high: Array) -> Doubles:
    """Draw uniformly from [low, high), even if the width exceeds the largest double."""
    lower, upper = low.astype(np.float64), high.astype(np.float64)
    with np.errstate(over="ignore"):
        too_wide = not np.isfinite(upper - lower).all()
    if too_wide:
        return 2.0 * _uniform(rng, 0.5 * lower, 0.5 * upper)
    return np.asarray(rng.uniform(lower, upper))


def _exclusive_limit(high: Array) -> Array:
    """Return `high + 1` in 64 bits, or `high` where that overflows."""
    wide = high.astype(np.uint64 if high.dtype.kind == "u" else np.int64)
    return np.asarray(wide + (wide < np.iinfo(wide.dtype).max))
