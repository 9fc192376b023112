"""The CPU on which a worker process waits for its next request."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import TypeAlias

import numpy as np

from gymcore.base.arguments import count
from gymcore.error import ArgumentTypeError, InvalidArgument

Place: TypeAlias = contextlib.AbstractContextManager[None]

# Seconds of work after which waiting on one CPU pays: its system calls take 5 to 8 us.
_MIN_BUSY = 250e-6

# Seconds between checks of how long the worker waited for the CPU, the largest share of its time
# that it may wait, and the range of pauses. Pauses are long and tries between them short, because
# a step can take several times as long on a CPU that other programs use.
_CHECK_SECONDS, _TRY_SECONDS = 0.1, 0.01
_MAX_WAITING = 0.4
_MIN_PAUSE, _MAX_PAUSE = 1.0, 32.0


class Placement:
    """Context in which a worker waits on one CPU.

    Linux wakes a sleeping thread on any CPU that it may use. If the parent wakes all workers at
    once, two of them often get the same CPU, and another CPU idles for milliseconds. So the worker
    may use a single CPU while it waits. It gets its affinity back before environments run: their
    threads and child processes may use all CPUs, and the system can still move the worker.

    Unless the program chose the CPU, the worker pauses this while other programs use the CPU.
    """

    def __init__(self, cpu: int, is_pinned: bool) -> None:
        """Set the CPU; `is_pinned` means that the program chose it, so the worker never pauses."""
        self._cpu, self._is_pinned = {cpu}, is_pinned
        self._affinity: set[int] | None = None  # the affinity to restore
        self._paused, self._pause = False, _MIN_PAUSE
        self._run_ns = self._wait_ns = 0
        self._woke_at = self._check_at = 0.0

    def __enter__(self) -> None:
        now = time.monotonic()
        if now >= self._check_at and not self._is_pinned:
            self._check(now)
        if self._paused or (now - self._woke_at < _MIN_BUSY and not self._is_pinned):
            return
        with contextlib.suppress(OSError):  # the CPU was removed, or a sandbox forbids the call
            affinity = os.sched_getaffinity(0)
            if self._cpu < affinity:
                os.sched_setaffinity(0, self._cpu)
                self._affinity = affinity

    def __exit__(self, *problem: object) -> None:
        """Restore the affinity, unless it was changed from outside."""
        if self._affinity is not None:
            with contextlib.suppress(OSError):
                if os.sched_getaffinity(0) == self._cpu:
                    os.sched_setaffinity(0, self._affinity)
            self._affinity = None
        self._woke_at = time.monotonic()

    def _check(self, now: float) -> None:
        """Begin or end a pause, depending on how long the worker has waited for a CPU."""
        run_ns, wait_ns = _thread_times()
        limit = _MAX_WAITING * (run_ns - self._run_ns + wait_ns - self._wait_ns)
        crowded = run_ns == 0 or wait_ns - self._wait_ns > limit  # 0: the system does not count
        self._run_ns, self._wait_ns = run_ns, wait_ns
        interval = _TRY_SECONDS if self._paused else self._pause if crowded else _CHECK_SECONDS
        if not self._paused:
            self._pause = min(max(self._pause * (2 if crowded else 0.5), _MIN_PAUSE), _MAX_PAUSE)
        self._paused = crowded and not self._paused
        # Multiples of the interval, so that all workers try their CPUs at the same time.
        self._check_at = (now // interval + 1) * interval


def _thread_times() -> tuple[int, int]:
    """Return the nanoseconds for which this thread has run, and has waited for a CPU."""
    try:
        run_ns, wait_ns, _ = Path("/proc/thread-self/schedstat").read_text().split()
    except (OSError, ValueError):
        return 0, 0
    return int(run_ns), int(wait_ns)


def placements(affinity: object, num_workers: int) -> list[Place]:
    """Return where each worker waits, for the argument `worker_affinity`.

    Raises:
        ArgumentTypeError: If `affinity` is neither "auto", None nor a sequence of integers.
        InvalidArgument: If there is not one CPU for each worker, or this process may not use one.
    """
    cpus: list[int] = []
    allowed = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_setaffinity") else []
    is_pinned = affinity is not None and str(affinity) != "auto"
    if is_pinned:
        if not isinstance(affinity, (list, tuple, range, np.ndarray)):
            raise ArgumentTypeError(
                "worker_affinity: expected 'auto', None or a list with the CPU of each worker, "
                f"got {affinity!r}"
            )
        cpus = [count(f"worker_affinity[{i}]", cpu) for i, cpu in enumerate(affinity)]
        if len(cpus) != num_workers or not {*cpus} <= {*(allowed or cpus)}:
            raise InvalidArgument(
                f"worker_affinity: expected a CPU for each of {num_workers} workers, of those that "
                f"this process may use, {allowed}, got {cpus}"
            )
    elif affinity is not None and 1 < num_workers <= len(allowed):  # one CPU per core first
        cores = [_core(cpu) for cpu in allowed]
        order = sorted(range(len(cores)), key=lambda i: cores[:i].count(cores[i]))
        cpus = [allowed[i] for i in order[:num_workers]]
    if not allowed or not cpus:
        return [contextlib.nullcontext()] * num_workers
    return [Placement(cpu, is_pinned) for cpu in cpus]


def _core(cpu: int) -> str:
    """Return the CPUs that are hardware threads of the same core."""
    try:
        return Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list").read_text()
    except OSError:
        return str(cpu)
