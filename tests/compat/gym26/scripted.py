"""An environment with a script: known rewards, ends and observations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import gymcore
from gymcore import spaces


class Scripted(gymcore.Env):
    """Environment that observes `[steps]`; its given rewards and ends repeat in every episode."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012

    def __init__(
        self,
        rewards: Sequence[float] = (1.0, 2.0, 3.0),
        ending: str = "terminated",
        observation_space: Any = None,
        action_space: Any = None,
        render_mode: str | None = None,
    ) -> None:
        self.observation_space = observation_space or spaces.Box(-100, 100, (1,), np.float32)
        self.action_space = action_space or spaces.Box(-2.0, 2.0, (2,), np.float32)
        self.rewards = tuple(rewards)
        self.ending = ending
        self.render_mode = render_mode
        self.actions: list[Any] = []
        self.elapsed = 0
        self.secret = "found"

    def observe(self) -> Any:
        return np.full(self.observation_space.shape, self.elapsed, self.observation_space.dtype)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.elapsed = 0
        return self.observe(), {"fresh": True}

    def step(self, action: Any) -> Any:
        self.actions.append(action)
        reward = self.rewards[self.elapsed]
        self.elapsed += 1
        ended = self.elapsed == len(self.rewards)
        terminated = ended and self.ending in ("terminated", "both")
        truncated = ended and self.ending in ("truncated", "both")
        return self.observe(), reward, terminated, truncated, {"elapsed": self.elapsed}

    def render(self) -> Any:
        return np.full((4, 6, 3), self.elapsed, np.uint8)
