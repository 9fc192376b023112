"""Parsing of the bounds of the initial state in `reset(options=...)`."""

from __future__ import annotations

from gymcore.core import Options
from gymcore.error import InvalidArgument
from gymcore.native.env import as_bound

__all__ = ["maybe_parse_reset_bounds", "verify_number_and_cast"]


def verify_number_and_cast(x: object) -> float:
    """Return `x` as a finite float.

    Raises:
        InvalidArgument: If `x` is not a finite number (a `ValueError`).
    """
    return as_bound(x)


def maybe_parse_reset_bounds(
    options: Options, default_low: float, default_high: float
) -> tuple[float, float]:
    """Return `low` and `high` of reset options, or the defaults.

    Raises:
        InvalidArgument: If a bound is not a finite number, or `low` exceeds `high`.

    Examples:
        >>> maybe_parse_reset_bounds({"low": 1}, 0.0, 3.0)
        (1.0, 3.0)
    """
    options = options or {}
    low = as_bound(options.get("low", default_low))
    high = as_bound(options.get("high", default_high))
    if low > high:
        raise InvalidArgument(f"Lower bound ({low}) must be lower than higher bound ({high}).")
    return low, high
