"""Slow references: a rollout stepped lane by lane, and advantages by their definition."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gymcore import spaces
from gymcore.core import Env


class Line(Env[Any, Any]):
    """Environment that counts steps; its seed decides the end: terminated, truncated, or both.

    The observation is (number of the episode, steps of it), so that every row of a rollout shows
    its origin. The reward is the action plus a tenth of the step.
    """

    observation_space = spaces.Box(-1000, 1000, (2,), np.float32)
    action_space = spaces.Discrete(3)

    def __init__(self) -> None:
        self.episode = self.steps = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.episode, self.steps = self.episode + 1, 0
        self.length, self.ending = self.np_random.integers(1, 7), self.np_random.integers(3)
        return self._observation(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        over = self.steps >= self.length
        terminated, truncated = over and self.ending != 1, over and self.ending != 0
        reward = float(action) + 0.1 * self.steps
        return self._observation(), reward, terminated, truncated, {}

    def _observation(self) -> Any:
        return np.array([self.episode, self.steps], np.float32)


class Episode(NamedTuple):
    """Consecutive steps of one episode, as far as the rollout contains them."""

    rows: list[int]
    rewards: list[float]
    values: list[float]
    last_value: float


def returns_by_definition(episode: Episode, gamma: float, gae_lambda: float) -> list[float]:
    """Return an episode's advantages: the sum of all later errors, each with its discount."""
    after = [*episode.values[1:], episode.last_value]
    errors = [
        reward + gamma * later - value
        for reward, later, value in zip(episode.rewards, after, episode.values, strict=True)
    ]
    return [
        sum((gamma * gae_lambda) ** k * error for k, error in enumerate(errors[t:]))
        for t in range(len(errors))
    ]
