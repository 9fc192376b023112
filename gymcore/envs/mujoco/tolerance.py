"""Rewards between 0 and 1 for numbers in a range, which fall off smoothly outside of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gymcore.envs.mujoco.quantities import (
    Operand,
    Quantity,
    as_quantity,
    cos,
    cosh,
    exp,
    square,
    tanh,
    where,
)
from gymcore.error import InvalidArgument

Curve = Callable[[Quantity, Callable[[Quantity], Quantity], float], Quantity]


def _inside(x: Quantity, value: Quantity) -> Quantity:
    """Return the value where `x` is in (-1, 1), and 0 elsewhere."""
    return where(abs(x) < 1.0, value, 0.0)


def _gaussian(x: Quantity, squared: Callable[[Quantity], Quantity], value: float) -> Quantity:
    return exp(-0.5 * squared(x * np.sqrt(-2.0 * np.log(value))))


def _hyperbolic(x: Quantity, squared: Callable[[Quantity], Quantity], value: float) -> Quantity:
    return 1.0 / cosh(x * np.arccosh(1.0 / value))


def _long_tail(x: Quantity, squared: Callable[[Quantity], Quantity], value: float) -> Quantity:
    return 1.0 / (squared(x * np.sqrt(1.0 / value - 1.0)) + 1.0)


def _reciprocal(x: Quantity, squared: Callable[[Quantity], Quantity], value: float) -> Quantity:
    return 1.0 / (abs(x) * (1.0 / value - 1.0) + 1.0)


def _cosine(x: Quantity, squared: Callable[[Quantity], Quantity], value: float) -> Quantity:
    scaled = x * (np.arccos(2.0 * value - 1.0) / np.pi)
    return _inside(scaled, (1.0 + cos(np.pi * scaled)) / 2.0)


def _linear(x: Quantity, squared: Callable[[Quantity], Quantity], value: float) -> Quantity:
    scaled = x * (1.0 - value)
    return _inside(scaled, 1.0 - scaled)


def _quadratic(x: Quantity, squared: Callable[[Quantity], Quantity], value: float) -> Quantity:
    scaled = x * np.sqrt(1.0 - value)
    return _inside(scaled, 1.0 - squared(scaled))


def _tanh_squared(x: Quantity, squared: Callable[[Quantity], Quantity], value: float) -> Quantity:
    return 1.0 - squared(tanh(x * np.arctanh(np.sqrt(1.0 - value))))


SIGMOIDS: dict[str, Curve] = {
    "gaussian": _gaussian,
    "hyperbolic": _hyperbolic,
    "long_tail": _long_tail,
    "reciprocal": _reciprocal,
    "cosine": _cosine,
    "linear": _linear,
    "quadratic": _quadratic,
    "tanh_squared": _tanh_squared,
}
# Sigmoids that reach 0.
_BOUNDED = ("cosine", "linear", "quadratic")


def tolerance(
    x: Operand,
    bounds: tuple[float, float] | tuple[Operand, Operand] = (0.0, 0.0),
    margin: Operand = 0.0,
    sigmoid: str = "gaussian",
    value_at_margin: float = 0.1,
    *,
    vector: bool | None = None,
) -> Quantity:
    """Return 1 where `x` is within the bounds, and less outside, by the distance to them.

    Tassa et al., "DeepMind Control Suite" (2018), section 3.

    Args:
        x: The numbers.
        bounds: The lowest and the highest number with the value 1; they may be infinite.
        margin: The distance from the bounds at which the value is `value_at_margin`. With 0, the
            value is 0 outside of the bounds.
        sigmoid: The shape of the fall, a name of `SIGMOIDS`.
        value_at_margin: The value at the margin, in (0, 1), or in [0, 1) if the sigmoid reaches 0.
        vector: Whether numbers are squared as NumPy squares arrays (products) or as it squares
            scalars (C's `pow`), which differ in the last bit; by default as an array if `x` has
            more than one element.

    Raises:
        InvalidArgument: If the sigmoid is unknown, the bounds are in the wrong order, or a number
            is out of range.

    Examples:
        >>> tolerance([0.5, 1.5, 9.0], bounds=(0.0, 1.0), margin=1.0).size
        3
    """
    if sigmoid not in SIGMOIDS:
        raise InvalidArgument(f"sigmoid: expected one of {sorted(SIGMOIDS)}, got {sigmoid!r}")
    low = 0.0 if sigmoid in _BOUNDED else np.nextafter(0.0, 1.0)
    if not low <= value_at_margin < 1.0:
        interval = "[0, 1)" if sigmoid in _BOUNDED else "(0, 1)"
        raise InvalidArgument(
            f"value_at_margin: expected a number in {interval} for {sigmoid!r}, "
            f"got {value_at_margin}"
        )
    x = as_quantity(x)
    lower, upper = bounds
    numbers = [value for value in bounds if not isinstance(value, Quantity)]
    if len(numbers) == 2 and not np.all(np.asarray(lower) <= np.asarray(upper)):
        raise InvalidArgument(f"bounds: expected a lower and an upper bound, got {bounds}")
    within = (as_quantity(lower) <= x) & (x <= upper)
    if not isinstance(margin, Quantity):
        if not np.all(np.asarray(margin) >= 0.0):
            raise InvalidArgument(f"margin: expected a number of at least 0, got {margin}")
        if not np.any(margin):
            return where(within, 1.0, 0.0)
    distance = where(x < lower, lower - x, x - upper) / margin
    is_vector = x.size > 1 if vector is None else vector
    squared = square if is_vector else (lambda number: number**2.0)
    return where(within, 1.0, SIGMOIDS[sigmoid](distance, squared, value_at_margin))
