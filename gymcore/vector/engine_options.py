"""Checking the options of vector engines."""

from __future__ import annotations

from gymcore import error
from gymcore.utils.arguments import positive

_MOST_THREADS = 1024

# Nanoseconds of work that a thread should have at least: one that is awake, and one that has to be
# woken first. Two cores of a virtual machine, CartPole: two threads share 20 us of work in 12 us if
# calls follow each other closely; if not, they are as fast as one at 80 us, and 1.2x at 160 us.
_SHARE = 10_000
_SHARE_TO_WAKE = 80_000


def check_threads(num_threads: int | None) -> int | None:
    """Return how many threads were asked for, None if none; raises as `positive` does."""
    return None if num_threads is None else positive("num_threads", num_threads, _MOST_THREADS)


def thread_count(num_threads: int | None, nanoseconds: int) -> tuple[int, int]:
    """Return how many threads share a step, and how many others it is worth waking for it.

    Args:
        num_threads: threads that were asked for, or None.
        nanoseconds: what a step of all lanes takes, by one thread.

    Returns:
        Threads; and -1 if they share every step, because they were asked for.

    Example:
        >>> thread_count(None, nanoseconds=5_000), thread_count(4, nanoseconds=5_000)
        ((1, 0), (4, -1))
    """
    if num_threads is not None:
        return num_threads, -1
    if nanoseconds < 2 * _SHARE:
        return 1, 0
    from gymcore.utils.cpus import usable_cpus

    threads = min(usable_cpus(), nanoseconds // _SHARE)
    return threads, max(min(threads, nanoseconds // _SHARE_TO_WAKE) - 1, 0)


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
