"""`gym.core` of Gym 0.21: `Env` and wrappers with the four-value interface."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, SupportsFloat

import gymcore
from gymcore import error, spaces
from gymcore.compat.gym26 import core
from gymcore.core import ActType, Info, ObsType
from gymcore.specs import EnvSpec
from gymcore.vector.gym26_infos import ForwardsAttributes

__all__ = ["ActionWrapper", "Env", "GoalEnv", "ObservationWrapper", "RewardWrapper", "Wrapper"]


class Env(gymcore.Env[ObsType, ActType]):
    """Base class of environments with the interface of Gym 0.21.

    A subclass defines `reset()`, which returns an observation, `step(action)`, which returns
    observation, reward, done and info, and optionally `seed(seed)`, `render(mode)` and `close()`.
    """

    metadata: Info = {"render.modes": []}  # noqa: RUF012
    np_random: Any = None

    def reset(self) -> ObsType:  # type: ignore[override]
        """Start an episode and return its first observation."""
        raise NotImplementedError

    def step(self, action: ActType) -> Any:
        """Return observation, reward, done and info."""
        raise NotImplementedError

    def render(self, mode: str = "human") -> Any:
        """Show or return the current state."""
        raise NotImplementedError

    def seed(self, seed: Any = None) -> object:
        """Seed the environment; return the seeds that were used."""
        return None


class GoalEnv(Env):
    """Base class of environments with goals, whose rewards can be computed for other goals.

    Observations are dicts with the keys "observation", "achieved_goal" and "desired_goal". The
    reward of a step is `compute_reward(achieved_goal, desired_goal, info)`.
    """

    def reset(self) -> Any:  # type: ignore[override]
        """Check the observation space, or raise `Error`; a subclass calls this first."""
        space = getattr(self, "observation_space", None)
        names = ("observation", "achieved_goal", "desired_goal")
        if not isinstance(space, spaces.Dict) or any(name not in space.spaces for name in names):
            raise error.Error(
                f"observation_space: GoalEnv expects a Dict with {', '.join(names)}, got {space}"
            )

    def compute_reward(
        self, achieved_goal: object, desired_goal: object, info: Info
    ) -> SupportsFloat:
        """Return the reward for having achieved one goal while another was desired."""
        raise NotImplementedError


class Wrapper(ForwardsAttributes, core.Wrapper, Env):
    """Base class of Gym 0.21 wrappers: forwards calls, and public attributes of inner layers."""

    _accepted = object

    env: Any

    def reset(self, **kwargs: object) -> Any:
        """Reset the environment and return the first observation."""
        return self.env.reset(**kwargs)

    def step(self, action: object) -> Any:
        """Step the environment; return observation, reward, done and info."""
        return self.env.step(action)

    def render(self, mode: str = "human", **kwargs: object) -> Any:
        """Render the environment."""
        return self.env.render(mode, **kwargs)

    def seed(self, seed: int | None = None) -> object:
        """Seed the environment; return the seeds that were used."""
        return self.env.seed(seed)

    if not TYPE_CHECKING:  # a type checker sees the attribute

        @property
        def spec(self) -> EnvSpec | None:
            """The spec of the environment."""
            return getattr(self.env, "spec", None)

    def _with_first(self, result: object, change: Callable[[Any], object]) -> object:
        return change(result)


class ObservationWrapper(core.ObservationWrapper, Wrapper):
    """A wrapper that changes observations: override `observation`."""


class RewardWrapper(core.RewardWrapper, Wrapper):
    """A wrapper that changes rewards: override `reward`."""


class ActionWrapper(core.ActionWrapper, Wrapper):
    """A wrapper that changes actions: override `action`."""
