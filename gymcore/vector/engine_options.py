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


def received_rows(batch_size: int | None, num_envs: int) -> int:
    """Return how many results `recv` returns at once: the number asked for, or all."""
    return num_envs if batch_size is None else positive("batch_size", batch_size, num_envs)


def check_worker_options(num_workers: int | None, on_worker_death: str) -> None:
    """Check options for worker processes, in engines that have none: programs change engines.

    Args:
        num_workers: number of processes, or None.
        on_worker_death: "raise" or "restart".

    Raises:
        ArgumentTypeError: no integer.
        InvalidArgument: fewer than one, or an unknown word.
    """
    if num_workers is not None:
        positive("num_workers", num_workers)
    if on_worker_death not in ("raise", "restart"):
        raise error.InvalidArgument(
            f"on_worker_death: expected 'raise' or 'restart', got {on_worker_death!r}"
        )
