"""`gym.core` of Gym 0.21: `Env` and wrappers with the four-value interface."""

from __future__ import annotations

from typing import Any

import gymcore
from gymcore.compat.gym26 import core
from gymcore.core import Info

__all__ = ["ActionWrapper", "Env", "ObservationWrapper", "RewardWrapper", "Wrapper"]


class Env(gymcore.Env):
    """Base of environments with the interface of Gym 0.21.

    A subclass defines `reset()`, which returns an observation, `step(action)`, which returns
    observation, reward, done and info, and optionally `seed(seed)`, `render(mode)` and `close()`.
    """

    metadata: Info = {"render.modes": []}  # noqa: RUF012

    def reset(self) -> Any:  # type: ignore[override]
        """Begin an episode and return its first observation."""
        raise NotImplementedError

    def step(self, action: object) -> Any:
        """Return observation, reward, done and info."""
        raise NotImplementedError

    def render(self, mode: str = "human") -> Any:
        """Show or return the current state."""
        raise NotImplementedError

    def seed(self, seed: int | None = None) -> list[int] | None:
        """Seed the environment; return the seeds that were used."""
        return None


class Wrapper(core.Wrapper):
    """Base of wrappers of Gym 0.21: forwards all calls, and attributes of inner layers."""

    def reset(self, **kwargs: Any) -> Any:
        """Reset the environment and return its first observation."""
        return self.env.reset(**kwargs)

    def step(self, action: object) -> Any:
        """Step the environment; return observation, reward, done and info."""
        return self.env.step(action)

    def render(self, mode: str = "human", **kwargs: object) -> Any:
        """Render the environment."""
        return self.env.render(mode, **kwargs)  # type: ignore[call-arg]

    def seed(self, seed: int | None = None) -> Any:
        """Seed the environment; return the seeds that were used."""
        return self.env.seed(seed)  # type: ignore[attr-defined]


class ObservationWrapper(Wrapper, core.ObservationWrapper):
    """A wrapper that changes observations: override `observation`."""

    def reset(self, **kwargs: Any) -> Any:
        """Reset the environment and return the changed observation."""
        return self.observation(self.env.reset(**kwargs))

    def step(self, action: object) -> Any:
        """Step the environment, with a changed observation."""
        observation, *rest = self.env.step(action)
        return self.observation(observation), *rest


class RewardWrapper(Wrapper, core.RewardWrapper):
    """A wrapper that changes rewards: override `reward`."""

    def step(self, action: object) -> Any:
        """Step the environment, with a changed reward."""
        observation, reward, *rest = self.env.step(action)
        return observation, self.reward(reward), *rest


class ActionWrapper(Wrapper, core.ActionWrapper):
    """A wrapper that changes actions: override `action`."""

    def step(self, action: object) -> Any:
        """Step the environment with the changed action."""
        return self.env.step(self.action(action))
