"""Environments and policies that the tests of the command line register and name."""

from __future__ import annotations

import os
import signal
from typing import Any, ClassVar

import numpy as np

import gymcore
from gymcore import spaces
from gymcore.error import DependencyNotInstalled


class NestedEnv(gymcore.Env):
    """Environment that observes a dictionary with a tuple; episodes of lane k last k + 3 steps."""

    def __init__(self) -> None:
        self.observation_space = spaces.Dict(
            {
                "count": spaces.Box(0, 100, (2,), np.float32),
                "pair": spaces.Tuple((spaces.Discrete(50), spaces.Box(0, 1, (), np.float64))),
            }
        )
        self.action_space = spaces.Box(-1, 1, (2,), np.float32)
        self.last = 3
        self.t = 0

    def _observation(self) -> dict[str, Any]:
        return {
            "count": np.array([self.t, 2 * self.t], np.float32),
            "pair": (np.int64(self.t), np.array(self.t / 100)),
        }

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict]:
        super().reset(seed=seed)
        if seed is not None:
            self.last = 3 + seed % 4
        self.t = 0
        return self._observation(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        self.t += 1
        return self._observation(), float(action[0]), self.t >= self.last, False, {}


class WordsEnv(gymcore.Env):
    """Environment that observes words: "abc", "d", and "ef" when the episode ends."""

    observation_space = spaces.Text(5)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[str, dict]:
        super().reset(seed=seed)
        self.words = iter(["d", "ef"])
        return "abc", {}

    def step(self, action: Any) -> tuple[str, float, bool, bool, dict]:
        word = next(self.words)
        return word, 1.0, word == "ef", False, {}


class GraphsEnv(gymcore.Env):
    """Environment that observes graphs, which cannot be stored in arrays."""

    observation_space = spaces.Graph(spaces.Discrete(2), None)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict]:
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        return self.observation_space.sample(), 1.0, False, False, {}


class NeedyEnv(gymcore.Env):
    """Environment that needs a package that is not installed."""

    def __init__(self) -> None:
        raise DependencyNotInstalled("no sandbox: pip install sandbox")


class FailingEnv(gymcore.Env):
    """Environment that fails in its third step."""

    observation_space = spaces.Box(0, 1, (1,), np.float32)
    action_space = spaces.Discrete(2)
    steps: ClassVar[int] = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict]:
        super().reset(seed=seed)
        FailingEnv.steps = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        FailingEnv.steps += 1
        if FailingEnv.steps == 3:
            raise OverflowError("three is too many")
        return np.zeros(1, np.float32), 0.0, False, False, {}


def push_left(observations: np.ndarray) -> np.ndarray:
    """Return only action 0."""
    return np.zeros(len(observations), np.int64)


def lean(observations: np.ndarray) -> np.ndarray:
    """Push CartPole toward the side to which the pole leans."""
    return (observations[:, 2] > 0).astype(np.int64)


calls = 0


def interrupt_on_tenth_call(observations: np.ndarray) -> np.ndarray:
    """Press Ctrl-C while the tenth action is being chosen."""
    global calls
    calls += 1
    if calls == 10:
        os.kill(os.getpid(), signal.SIGINT)
    return push_left(observations)


def interrupt_twice(observations: np.ndarray) -> np.ndarray:
    """Press Ctrl-C twice at the first step."""
    os.kill(os.getpid(), signal.SIGINT)
    os.kill(os.getpid(), signal.SIGINT)
    return push_left(observations)
