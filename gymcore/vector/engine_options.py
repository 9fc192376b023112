"""Checking the options of vector engines."""

from __future__ import annotations

import operator
from typing import Any

from gymcore import error

_MOST_THREADS = 1024

# Lanes a thread should have at least, before waking another one pays.
_LANES_PER_THREAD = 8192


def positive(name: str, value: Any, most: int | None = None) -> int:
    """Return a count as an int.

    Args:
        name: what the error calls it.
        value: an integer, Python's or NumPy's.
        most: the greatest one that makes sense; None for none.

    Raises:
        ArgumentTypeError: no integer.
        InvalidArgument: below 1 or above `most`.

    Example:
        >>> positive("num_envs", 3, most=10)
        3
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise error.ArgumentTypeError(
            f"{name}: expected an integer, got {value!r} ({type(value)})"
        ) from None
    if number < 1:
        raise error.InvalidArgument(f"{name}: expected at least 1, got {number}")
    if most is not None and number > most:
        raise error.InvalidArgument(f"{name}: expected at most {most}, got {number}")
    return number


def thread_count(num_threads: int | None, num_envs: int) -> int:
    """Return how many threads step a batch: the number asked for, or what its size calls for."""
    if num_threads is not None:
        return positive("num_threads", num_threads, _MOST_THREADS)
    if num_envs < 2 * _LANES_PER_THREAD:
        return 1
    from gymcore.utils.cpus import usable_cpus

    return min(usable_cpus(), num_envs // _LANES_PER_THREAD)
