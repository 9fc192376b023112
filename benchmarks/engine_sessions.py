"""Timed operations of an engine other than `step`: send / recv, round trips, construction.

Loaded by `engine_measures.py`, after `contenders`.
"""

from __future__ import annotations

import functools
import itertools
import os
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from contenders import RING, Session, random_batches


class PartialSession(Session):
    """Steps the lanes that are ready first.

    No lane is pending at the beginning and end of a measurement: pending steps are awaited and
    counted at the end, so that the workers are idle while another contender is timed.
    """

    def __init__(self, envs: Any, num_envs: int, batch_size: int) -> None:
        """Store a reset engine whose `recv` returns `batch_size` lanes, a divisor of `num_envs`."""
        space = envs.single_action_space
        parts = random_batches(space, (batch_size,), RING)
        super().__init__(self._exchange, parts, batch_size, envs.close)
        self._envs = envs
        self._full_batches = itertools.cycle(random_batches(space, (num_envs,), RING, seed=1))
        self._lanes = np.arange(num_envs)
        self._num_pending = num_envs // batch_size
        self._calls = self._num_pending

    def measure(self, seconds: float) -> float:
        """Measure for five times as long: the last steps of slow lanes are part of the time."""
        return super().measure(5.0 * seconds)

    def _exchange(self, actions: Any) -> Any:
        """Receive part of the batch and send actions for it."""
        result = self._envs.recv()
        self._envs.send(actions, result[4]["env_id"])
        return result

    def _time(self, calls: int) -> float:
        """Send all lanes; receive and send again; receive the rest."""
        start = time.perf_counter()
        self._envs.send(next(self._full_batches), self._lanes)
        super()._time(calls - self._num_pending)
        for _ in range(self._num_pending):
            self._envs.recv()
        return time.perf_counter() - start


class RoundTripSession(Session):
    """Steps one lane in one worker; parent and worker have separate CPUs."""

    def __init__(self, envs: Any, cpus: tuple[int, int], worker: int) -> None:
        """Store a reset engine, the CPUs, and the worker's process id."""
        actions = random_batches(envs.single_action_space, (1,), RING)
        super().__init__(envs.step, actions, 1, envs.close)
        self._cpu = cpus[0]
        os.sched_setaffinity(worker, {cpus[1]})

    def _time(self, calls: int) -> float:
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {self._cpu})
        try:
            return super()._time(calls)
        finally:
            os.sched_setaffinity(0, before)


class RawSession(Session):
    """Each call is a round trip of `raw_ping_pong.c`; both sides sleep between messages."""

    def __init__(self, cpus: tuple[int, int]) -> None:
        """Compile the program."""
        import ping_pong

        folder = tempfile.TemporaryDirectory()
        program = ping_pong.compiled(folder.name)
        self._round_trip = functools.partial(ping_pong.raw_round_trip, program)
        self._cpus = cpus
        super().__init__(lambda _: None, [], 1, folder.cleanup)

    def _time(self, calls: int) -> float:
        return calls * self._round_trip(rounds=calls, spins=0, cpus=self._cpus)


class ConstructionSession(Session):
    """Each call makes an engine; closing it is not timed."""

    def __init__(self, make: Callable[[], Any]) -> None:
        """Store the function that makes the engine."""
        self._make = make
        super().__init__(lambda _: None, [], 1, lambda: None)

    def _time(self, calls: int) -> float:
        elapsed = 0.0
        for _ in range(calls):
            start = time.perf_counter()
            envs = self._make()
            elapsed += time.perf_counter() - start
            envs.close()
        return elapsed
