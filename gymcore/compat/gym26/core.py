"""`gym.core` of Gym 0.26: wrappers that forward attributes and accept vector environments."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Generic

from gymcore import core
from gymcore.core import ActType, Env, ObsType, WrapperActType, WrapperObsType
from gymcore.spaces import Space
from gymcore.vector import VectorEnv

__all__ = ["ActionWrapper", "Env", "ObservationWrapper", "RewardWrapper", "Wrapper"]


def inner_attribute(env: object, name: str) -> object:
    """Return an attribute of the outermost layer, starting at `env`, that has it.

    A private name, or one that no layer has, raises `AttributeError`.
    """
    if name.startswith("_"):
        raise AttributeError(f"accessing private attribute '{name}' is prohibited")
    if isinstance(env, Env):
        return env.get_wrapper_attr(name)
    while isinstance(env, VectorEnv):
        if hasattr(env, name):
            return getattr(env, name)
        env = env.__dict__.get("env")
    raise AttributeError(f"no layer has an attribute {name!r}")


class Wrapper(
    core.Wrapper[WrapperObsType, WrapperActType, ObsType, ActType],
    Generic[WrapperObsType, WrapperActType, ObsType, ActType],
):
    """Base class of Gym 0.26 wrappers.

    Reading `env.name` searches the layers from the outside; assigning to it sets the attribute of
    the wrapper. `env` may be a vector environment, which was an environment in Gym 0.26.

    Examples:
        >>> import gymcore.compat.gym26 as gym
        >>> env = gym.Wrapper(gym.make("CartPole-v1"))
        >>> round(env.gravity, 1)
        9.8
        >>> gym.Wrapper(gym.vector.make("CartPole-v1", num_envs=2)).num_envs
        2
    """

    env: Any

    # Accepted in addition to an `Env`.
    _accepted: ClassVar[type] = VectorEnv

    def __init__(self, env: Any) -> None:
        """Wrap an environment or a vector environment; anything else raises `ArgumentTypeError`."""
        if isinstance(env, self._accepted):
            self.env = env
        else:
            super().__init__(env)

    def reset(self, **kwargs: object) -> Any:
        """Reset the environment, whose `reset` gets only the arguments of this call."""
        return self.env.reset(**kwargs)

    def _with_first(
        self, result: tuple[ObsType, core.Info], change: Callable[[ObsType], object]
    ) -> object:
        """Return the result of a reset with a changed observation.

        Wrappers of Gym 0.21, where `reset` returns the observation alone, override only this method
        if they pass on the flags of a step, one or two.
        """
        observation, info = result
        return change(observation), info

    # As in Gym, these are the environment's own, without the states of wrappers.
    get_state = property(lambda self: inner_attribute(self.env, "get_state"))
    set_state = property(lambda self: inner_attribute(self.env, "set_state"))
    inherited_states = (get_state, set_state)

    if TYPE_CHECKING:  # for vector environments
        is_vector_env: bool
        num_envs: int
        single_observation_space: Space
        single_action_space: Space

    if not TYPE_CHECKING:  # a type checker that saw this would accept any attribute

        def __getattr__(self, name: str) -> object:
            env = self.__dict__.get("env")
            # Not initialized yet, or a property that failed: the base class raises the error.
            if env is None or (hasattr(type(self), name) and not name.startswith("_")):
                raise self._missing_attribute(name)
            return inner_attribute(env, name)


class ObservationWrapper(
    core.ObservationWrapper[WrapperObsType, ActType, ObsType],
    Wrapper[WrapperObsType, ActType, ObsType, ActType],
    Generic[WrapperObsType, ActType, ObsType],
):
    """A wrapper that changes observations: override `observation`."""

    def reset(self, **kwargs: object) -> Any:
        """Reset the environment and change its observation."""
        return self._with_first(self.env.reset(**kwargs), self.observation)

    def step(self, action: ActType) -> Any:
        """Step the environment and change its observation."""
        observation, *rest = self.env.step(action)
        return self.observation(observation), *rest


class RewardWrapper(
    core.RewardWrapper[ObsType, ActType],
    Wrapper[ObsType, ActType, ObsType, ActType],
    Generic[ObsType, ActType],
):
    """A wrapper that changes rewards: override `reward`."""

    def step(self, action: ActType) -> Any:
        """Step the environment and change its reward."""
        observation, reward, *rest = self.env.step(action)
        return observation, self.reward(reward), *rest


class ActionWrapper(
    core.ActionWrapper[WrapperActType, ObsType, ActType],
    Wrapper[ObsType, WrapperActType, ObsType, ActType],
    Generic[WrapperActType, ObsType, ActType],
):
    """A wrapper that changes actions: override `action`."""

    def reverse_action(self, action: object) -> object:
        """Return the action that this wrapper changes into `action`."""
        raise NotImplementedError
