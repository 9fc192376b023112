"""Environments that count and cause one fault in one place, and engines of such environments.

Of `NUM_ENVS` environments in `NUM_WORKERS` processes, usually `FAULTY_LANE` is the faulty one.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import gymcore
from tests.vector.faults import Fault, raise_value_error
from tests.vector.leaks import wait_until

NUM_ENVS = 4
NUM_WORKERS = 2
FAULTY_LANE = 2
LOST_LANES = [2, 3]  # the lanes of the faulty lane's worker

# Actions of `FaultyEnv`.
GO, FAULT = 0, 1


class FaultyEnv(gymcore.Env[Any, Any]):
    """Environment that counts, and fails in one place.

    The observation is `[lane, resets, steps of the episode, total steps]` (float64), the reward the
    total number of steps. If the place is "step", action 1 causes the fault.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self, lane: int, place: str = "", fault: Fault = raise_value_error, length: int = 10**9
    ) -> None:
        """Make the environment.

        Args:
            lane: First element of the observations.
            place: "init", "reset" (with `options={"fault": True}`), "step" (with action 1),
                "render", "close", "call" (method `greet`), "set" (attribute `mood`), "del" or "".
            fault: Function to call there.
            length: Steps to truncation.
        """
        self.observation_space = gymcore.spaces.Box(-np.inf, np.inf, (4,), np.float64)
        self.action_space = gymcore.spaces.Discrete(2)
        self.render_mode = "rgb_array"
        self.lane = lane
        self.place = place
        self.fault = fault
        self.length = length
        self.pid = os.getpid()
        self.resets = self.elapsed = self.total = self.closes = 0
        self._do("init")

    def _do(self, place: str) -> None:
        if self.place == place:
            self.fault()

    def _observation(self) -> Any:
        return np.array([self.lane, self.resets, self.elapsed, self.total], np.float64)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if options and options.get("fault"):
            self._do("reset")
        self.resets += 1
        self.elapsed = 0
        return self._observation(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.elapsed += 1
        self.total += 1
        if action == FAULT:
            self._do("step")
        truncated = self.elapsed >= self.length
        return self._observation(), float(self.total), False, truncated, {"total": self.total}

    def render(self) -> Any:
        self._do("render")
        return np.full((1, 1, 3), self.lane, np.uint8)

    def greet(self, greeting: str = "hello") -> str:
        self._do("call")
        return f"{greeting} from {self.lane}"

    @property
    def mood(self) -> str:
        return "good"

    @mood.setter
    def mood(self, value: str) -> None:
        self._do("set")

    def lock(self) -> Any:
        """Return an object that cannot be pickled."""
        return threading.Lock()

    def close(self) -> None:
        self.closes += 1
        self._do("close")

    def __del__(self) -> None:
        if getattr(self, "place", "") == "del":
            self.place = ""
            self.fault()


def make_fns(
    place: str = "",
    fault: Fault = raise_value_error,
    lanes: Sequence[int] = (FAULTY_LANE,),
    n: int = NUM_ENVS,
    **kwargs: Any,
) -> list[Callable[[], FaultyEnv]]:
    """Return functions for `n` environments, of which `lanes` are faulty."""
    return [
        functools.partial(FaultyEnv, lane, place if lane in lanes else "", fault, **kwargs)
        for lane in range(n)
    ]


def actions(*faulty: int, n: int = NUM_ENVS) -> Any:
    """Return a batch of actions with a fault in these lanes."""
    batch = np.full(n, GO)
    batch[list(faulty)] = FAULT
    return batch


@contextlib.contextmanager
def engine_of(engine: str, env_fns: Any = None, **kwargs: Any) -> Iterator[Any]:
    """Make an engine, and close it at the end in any case.

    Args:
        engine: "sync", or for example "shm-spawn".
        env_fns: Functions for environments; by default healthy ones.
        **kwargs: Arguments for asynchronous engines only.
    """
    envs = make_engine(engine, env_fns, **kwargs)
    try:
        yield envs
    finally:
        envs.close()


def wait_for_others(envs: Any, late: Sequence[int] = (1,)) -> None:
    """Wait until only these workers have not answered the request to all."""
    channel = envs._pool.memory.channel
    assert wait_until(lambda: list(channel.unanswered(envs._request)) == list(late), 60)


def make_engine(engine: str, env_fns: Any = None, **kwargs: Any) -> Any:
    """Make an engine; see `engine_of`."""
    env_fns = make_fns() if env_fns is None else env_fns
    if engine == "sync":
        return gymcore.vector.SyncVectorEnv(env_fns)
    memory, method = engine.split("-")
    kwargs.setdefault("num_workers", NUM_WORKERS)
    return gymcore.vector.AsyncVectorEnv(
        env_fns, shared_memory=memory == "shm", context=method, **kwargs
    )
