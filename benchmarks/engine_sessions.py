"""Timed operations of an engine besides `step`: parts of a batch, round trips, construction.

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
    """Steps whichever part of the lanes is ready first.

    A stretch begins and ends with nothing under way, and what is under way at its end is waited for
    and counted: the workers rest while another contender is timed.
    """

    def __init__(self, envs: Any, num_envs: int, batch_size: int) -> None:
        """Take a reset engine whose `recv` returns `batch_size` lanes, a divisor of `num_envs`."""
        space = envs.single_action_space
        parts = random_batches(space, (batch_size,), RING)
        super().__init__(self._exchange, parts, batch_size, envs.close)
        self._envs = envs
        self._whole = itertools.cycle(random_batches(space, (num_envs,), RING, seed=1))
        self._lanes = np.arange(num_envs)
        self._under_way = num_envs // batch_size
        self._calls = self._under_way

    def measure(self, seconds: float) -> float:
        """Time stretches five times as long: the slow lanes' last steps are part of each."""
        return super().measure(5.0 * seconds)

    def _exchange(self, actions: Any) -> Any:
        """Receive a part of the batch and send it on."""
        result = self._envs.recv()
        self._envs.send(actions, result[4]["env_id"])
        return result

    def _time(self, calls: int) -> float:
        """Send all lanes; receive and send again; receive the rest."""
        start = time.perf_counter()
        self._envs.send(next(self._whole), self._lanes)
        super()._time(calls - self._under_way)
        for _ in range(self._under_way):
            self._envs.recv()
        return time.perf_counter() - start


class RoundTripSession(Session):
    """Steps one lane in one worker, with parent and worker each on its own CPU."""

    def __init__(self, envs: Any, cpus: tuple[int, int], worker: int) -> None:
        """Take a reset engine, the CPUs, and the worker's process id."""
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
    """A call is a round trip of `raw_ping_pong.c`, which sleeps on both sides between the words."""

    def __init__(self, cpus: tuple[int, int]) -> None:
        """Compile it."""
        import ping_pong

        folder = tempfile.TemporaryDirectory()
        program = ping_pong.compiled(folder.name)
        self._round_trip = functools.partial(ping_pong.raw_round_trip, program)
        self._cpus = cpus
        super().__init__(lambda _: None, [], 1, folder.cleanup)

    def _time(self, calls: int) -> float:
        return calls * self._round_trip(rounds=calls, spins=0, cpus=self._cpus)


class ConstructionSession(Session):
    """A call makes an engine; closing it is not timed."""

    def __init__(self, make: Callable[[], Any]) -> None:
        """Take what makes the engine."""
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
