"""Checks of arguments that the wrappers of Gym 0.26 share."""

from __future__ import annotations

from typing import Any

import numpy as np

from gymcore import error

__all__ = ["checked_count"]


def checked_count(name: str, value: Any, least: int) -> int:
    """Return `value` as an `int`, or raise if it is no integer or less than `least`.

    Args:
        name: Of the argument, for the message.
        value: The argument.
        least: The least that is allowed.

    Raises:
        ArgumentTypeError: (a `TypeError`) if it is no integer.
        InvalidArgument: (a `ValueError`) if it is too small.

    Example:
        >>> checked_count("num_stack", np.int64(4), 1)
        4
    """
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise error.ArgumentTypeError(f"{name}: expected an integer, got {value!r}")
    if value < least:
        raise error.InvalidArgument(f"{name}: expected at least {least}, got {value}")
    return int(value)
