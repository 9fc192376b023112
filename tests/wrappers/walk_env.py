"""An environment for tests of wrappers, for gymcore and for Gymnasium, with any spaces.

Random, but deterministic after `reset(seed=s)`: observations, rewards, ends and infos come from
the environment's own generator, and rewards depend on the action.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

import numpy as np

import gymcore
from tests.testing_env import make_space


def numbers(value: Any) -> float:
    """Return one number that depends on every part of an element of a space."""
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, (tuple, list)):
        return float(sum((i + 1) * numbers(one) for i, one in enumerate(value)))
    if isinstance(value, str):
        return float(sum(map(ord, value)))
    array = np.asarray(value, np.float64)
    return float(array.ravel() @ np.arange(1, array.size + 1))


@functools.cache
def make_walk_env(gym: ModuleType = gymcore) -> type:
    """Return the class, derived from `gym.Env`."""

    class WalkEnv(gym.Env):
        metadata = {"render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012

        def __init__(
            self,
            kind: str = "box",
            action_kind: str = "discrete",
            *,
            observation_space: Any = None,
            action_space: Any = None,
            terminate: float = 0.15,
            limit: int = 12,
            render_mode: str | None = None,
        ) -> None:
            """Make the environment.

            Args:
                kind: Kind of observations, for `tests.testing_env.make_space`.
                action_kind: Kind of actions, likewise.
                observation_space: Replacement for `kind`.
                action_space: Replacement for `action_kind`.
                terminate: Probability that a step ends the episode.
                limit: Steps until an episode is truncated.
                render_mode: None or "rgb_array".
            """
            self.observation_space = observation_space or make_space(gym, kind)
            self.action_space = action_space or make_space(gym, action_kind)
            self.terminate = terminate
            self.limit = limit
            self.render_mode = render_mode
            self.elapsed = 0
            self.actions: list[Any] = []

        def _observe(self) -> Any:
            return self.observation_space.sample()

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            self.observation_space.seed(int(self.np_random.integers(2**31)))
            self.elapsed = 0
            return self._observe(), {"luck": float(self.np_random.random())}

        def step(self, action: Any) -> Any:
            if action not in self.action_space:
                raise ValueError(f"{action!r} is not in {self.action_space}")
            self.actions.append(action)
            self.elapsed += 1
            reward = float(self.np_random.normal() + numbers(action))
            terminated = bool(self.np_random.random() < self.terminate)
            truncated = self.elapsed >= self.limit
            return self._observe(), reward, terminated, truncated, {"elapsed": self.elapsed}

        def render(self) -> Any:
            frame = np.zeros((4, 6, 3), np.uint8)
            frame[:, :, 0] = self.elapsed
            frame[0, 0, 1:] = self.np_random.integers(256, size=2) if self.elapsed < 0 else 7
            return frame

    return WalkEnv
