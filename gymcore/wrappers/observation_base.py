"""The base of the wrappers that change every observation by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gymcore import error
from gymcore.core import ActType, Env, ObservationWrapper, ObsType, WrapperObsType
from gymcore.spaces import Box, Space
from gymcore.utils import RecordConstructorArgs
from gymcore.wrappers.legacy_calls import HandsOver

__all__ = ["TransformObservation"]

BatchFunction = Callable[[Any], Any]


class TransformObservation(
    ObservationWrapper[WrapperObsType, ActType, ObsType], RecordConstructorArgs, HandsOver
):
    """Change observations with a function.

    Gym 0.26: `TransformObservation(env, f)` leaves the space as it is.

    `gymcore.wrappers.vector.TransformObservation` applies a function to whole batches, and
    `gymcore.wrappers.vector.VectorizeTransformObservation` this wrapper to each lane.

    Attributes:
        func: The function.

    Example:
        >>> import gymcore
        >>> env = TransformObservation(gymcore.make("CartPole-v1"), abs, None)
        >>> bool((env.reset(seed=1)[0] >= 0).all())
        True
    """

    _whole_batches: tuple[Callable[[Any], Any], Callable[[int], BatchFunction | None]] | None = None
    """`func`, and what makes the function that does the same to a batch of so many lanes."""

    def __init__(
        self,
        env: Env[ObsType, ActType],
        func: Callable[[ObsType], Any],
        observation_space: Space[WrapperObsType] | None,
    ) -> None:
        """Wrap `env`.

        Args:
            env: The environment.
            func: From an observation of `env` to what the caller gets, an element of
                `observation_space`. It should not change the observation in place.
            observation_space: The space after the change; None if it stays as it is.

        Raises:
            ArgumentTypeError: if `func` cannot be called, or `observation_space` is no `Space`
                (a `TypeError`).
        """
        if not callable(func):
            raise error.ArgumentTypeError(
                f"TransformObservation requires func to be callable, got {type(func)}"
            )
        if observation_space is not None and not isinstance(observation_space, Space):
            raise error.ArgumentTypeError(
                "TransformObservation requires observation_space to be a Space or None, "
                f"got {type(observation_space)}"
            )
        RecordConstructorArgs.__init__(self, func=func, observation_space=observation_space)
        ObservationWrapper.__init__(self, env)
        if observation_space is not None:
            self.observation_space = observation_space
        self.func = func

    def observation(self, observation: ObsType) -> Any:
        """Return `func(observation)`."""
        return self.func(observation)

    def _batch_function(self, num_envs: int) -> BatchFunction | None:
        """Return a function that does to a batch what `observation` does to each of its rows.

        None if there is none: the function is the user's, or a subclass has changed something.

        Args:
            num_envs: Lanes of the batches.
        """
        if self._whole_batches is None:
            return None
        func, make = self._whole_batches
        own = TransformObservation.observation
        if self.func is not func or type(self).observation is not own:
            return None
        return make(num_envs)


def of_any_size(func: BatchFunction, num_envs: int) -> BatchFunction:
    """Return `func`, which takes batches of any number of lanes: for `_whole_batches`."""
    return func


def observed(env: Env[Any, Any]) -> Space[Any]:
    """Return the observation space, or raise if `env` is no environment.

    Args:
        env: What is to be wrapped.
    """
    if not isinstance(env, Env):
        raise error.ArgumentTypeError(f"Expected env to be a `gymcore.Env` but got {type(env)}")
    return env.observation_space


def checked_box(wrapper: str, env: Env[Any, Any]) -> Box[Any]:
    """Return the observation space, or raise if it is no `Box`.

    Args:
        wrapper: Name of the wrapper that asks, for the message.
        env: What is to be wrapped.
    """
    space = observed(env)
    if not isinstance(space, Box):
        raise error.FailedTypeCheck(
            f"{wrapper} requires a Box observation space, got {type(space)}"
        )
    return space


def is_integer(value: Any) -> bool:
    """Tell whether a value is an integer, of Python or NumPy, and no bool."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
