"""`Env`, `Wrapper`, `make` and `register` of Gym 0.21."""

from __future__ import annotations

from typing import Any

import gymcore
from gymcore.compat.bridges import to_done_api
from gymcore.compat.forwarding import Forwarding

__all__ = [
    "ActionWrapper",
    "Env",
    "ObservationWrapper",
    "RewardWrapper",
    "Wrapper",
    "make",
    "register",
]


class Env(gymcore.Env[Any, Any]):
    """Base of environments with the interface of Gym 0.21.

    A subclass defines `reset()`, which returns an observation, `step(action)`, which returns
    observation, reward, done and info, and perhaps `seed(seed)`, `render(mode)` and `close()`.
    """

    metadata: dict[str, Any] = {"render.modes": []}  # noqa: RUF012

    def reset(self) -> Any:  # type: ignore[override]
        """Begin an episode and return its first observation."""
        raise NotImplementedError

    def step(self, action: Any) -> Any:
        """Return observation, reward, done and info."""
        raise NotImplementedError

    def render(self, mode: str = "human") -> Any:
        """Show or return the current state."""
        raise NotImplementedError

    def seed(self, seed: int | None = None) -> list[int] | None:
        """Seed the environment; return the seeds that were used."""
        return None


class Wrapper(Forwarding, gymcore.Wrapper[Any, Any, Any, Any]):
    """Base of wrappers of Gym 0.21: all is passed on, attributes of inner layers too."""

    def reset(self, **kwargs: Any) -> Any:
        """Reset the environment and return its first observation."""
        return self.env.reset(**kwargs)

    def step(self, action: Any) -> Any:
        """Step the environment; return observation, reward, done and info."""
        return self.env.step(action)

    def render(self, mode: str = "human", **kwargs: Any) -> Any:
        """Render the environment."""
        return self.env.render(mode, **kwargs)  # type: ignore[call-arg]

    def seed(self, seed: int | None = None) -> Any:
        """Seed the environment; return the seeds that were used."""
        return self.env.seed(seed)  # type: ignore[attr-defined]


class ObservationWrapper(Wrapper):
    """A wrapper that changes observations: override `observation`."""

    def reset(self, **kwargs: Any) -> Any:
        """Reset the environment and change its observation."""
        return self.observation(self.env.reset(**kwargs))

    def step(self, action: Any) -> Any:
        """Step the environment and change its observation."""
        observation, *rest = self.env.step(action)
        return self.observation(observation), *rest

    def observation(self, observation: Any) -> Any:
        """Return what the caller sees in place of the environment's observation."""
        raise NotImplementedError


class RewardWrapper(Wrapper):
    """A wrapper that changes rewards: override `reward`."""

    def step(self, action: Any) -> Any:
        """Step the environment and change its reward."""
        observation, reward, *rest = self.env.step(action)
        return observation, self.reward(reward), *rest

    def reward(self, reward: Any) -> Any:
        """Return what the caller gets in place of the environment's reward."""
        raise NotImplementedError


class ActionWrapper(Wrapper):
    """A wrapper that changes actions: override `action`."""

    def step(self, action: Any) -> Any:
        """Step the environment with the changed action."""
        return self.env.step(self.action(action))

    def action(self, action: Any) -> Any:
        """Return what the environment gets in place of the caller's action."""
        raise NotImplementedError

    def reverse_action(self, action: Any) -> Any:
        """Return the caller's action for what the environment got."""
        raise NotImplementedError


def make(id: str, **kwargs: Any) -> Any:
    """Make an environment with the interface of Gym 0.21.

    Args:
        id: Of an environment of today, or of one that `register` has registered.
        **kwargs: For `gymcore.make`. Nothing is checked while the environment runs, unless
            `disable_env_checker=False`.

    Example:
        >>> env = make("CartPole-v1")
        >>> env.seed(1)
        [1]
        >>> observation = env.reset()
        >>> observation, reward, done, info = env.step(env.action_space.sample())
    """
    kwargs.setdefault("disable_env_checker", True)
    return to_done_api(gymcore.make(id, **kwargs))


def register(id: str, **kwargs: Any) -> None:
    """Register an environment of Gym 0.21.

    Args:
        id: `[namespace/]name[-v(version)]`.
        **kwargs: As for `gymcore.register`; `entry_point` makes an environment with the interface
            of Gym 0.21. `gymcore.make` then makes it with today's.

    Example:
        >>> register("Maze-v0", entry_point="games.mazes:Maze", max_episode_steps=100)
        >>> gymcore.registry.pop("Maze-v0").apply_api_compatibility
        True
    """
    gymcore.register(id, **{"apply_api_compatibility": True, **kwargs})
