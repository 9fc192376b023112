"""The bases of the wrappers that change every observation of a batch by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.core import ActType, Env, ObsType, WrapperObsType
from gymcore.spaces import Space
from gymcore.utils import RecordConstructorArgs
from gymcore.vector.final_observations import change_final_observations
from gymcore.vector.utils import batch_space, concatenate, create_empty_array, iterate
from gymcore.vector.vector_env import ArrayType, VectorEnv
from gymcore.vector.vector_wrappers import VectorObservationWrapper
from gymcore.wrappers import transform_observation

if TYPE_CHECKING:
    from gymcore.wrappers.observation_base import BatchFunction

__all__ = ["TransformObservation", "VectorizeTransformObservation"]


class _EachRow(
    VectorObservationWrapper[WrapperObsType, ActType, ObsType, ArrayType], RecordConstructorArgs
):
    """Base of the wrappers that keep nothing: steps of some lanes are changed like those of all."""

    @property
    def steps_some_lanes(self) -> bool:  # type: ignore[override]
        """Whether `step_lanes` steps some environments: if the wrapped environment's does."""
        return self.env.steps_some_lanes

    def step_lanes(
        self, actions: ActType, env_ids: Sequence[int] | npt.NDArray[Any]
    ) -> tuple[WrapperObsType, ArrayType, ArrayType, ArrayType, dict[str, Any]]:
        """Step some environments, and return changed observations; see `VectorEnv.step_lanes`.

        Args:
            actions: A row for each of them.
            env_ids: Which ones, indices or a mask.
        """
        observations, *flags, infos = self.env.step_lanes(actions, env_ids)
        if "final_obs" in infos:
            change_final_observations(
                infos, observations, self.env, self.final_observations, self.observation_space
            )
        rewards, terminations, truncations = flags
        return self.observations(observations), rewards, terminations, truncations, infos


class TransformObservation(_EachRow[WrapperObsType, ActType, ObsType, ArrayType]):
    """Change batches of observations with a function.

    Attributes:
        func: The function.

    Example:
        >>> import gymcore as gym
        >>> envs = gym.make_vec("CartPole-v1", num_envs=2)
        >>> envs = TransformObservation(envs, abs)
        >>> bool((envs.reset(seed=1)[0] >= 0).all())
        True
    """

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, ArrayType],
        func: Callable[[ObsType], WrapperObsType],
        observation_space: Space[Any] | None = None,
        single_observation_space: Space[Any] | None = None,
    ) -> None:
        """Wrap `env`.

        Args:
            env: The vector environment.
            func: From a batch of observations to what the caller gets. It should keep nothing from
                call to call and not change the batch in place: in SAME_STEP it is also called for
                the last observations of episodes, before those of the same step, and in a
                `step_lanes` for as many rows as there are lanes.
            observation_space: Space of the batches after the change; without it, batches of
                `single_observation_space`.
            single_observation_space: Space of their rows. A space that is not given stays as it is.

        Raises:
            ArgumentTypeError: if `env` is no vector environment, `func` cannot be called, or a
                space is no `Space` (a `TypeError`).
        """
        if not callable(func):
            raise error.ArgumentTypeError(
                f"TransformObservation requires func to be callable, got {type(func)}"
            )
        spaces: dict[str, Any] = {
            "observation_space": observation_space,
            "single_observation_space": single_observation_space,
        }
        for name, space in spaces.items():
            if space is not None and not isinstance(space, Space):
                raise error.ArgumentTypeError(
                    f"TransformObservation requires {name} to be a Space or None, got {type(space)}"
                )
        RecordConstructorArgs.__init__(self, func=func, **spaces)
        VectorObservationWrapper.__init__(self, env)
        if single_observation_space is not None:
            self.single_observation_space = single_observation_space
            if observation_space is None:
                observation_space = batch_space(single_observation_space, self.num_envs)
        if observation_space is not None:
            self.observation_space = observation_space
        self.func = func

    def observations(self, observations: ObsType) -> WrapperObsType:
        """Return `func(observations)`."""
        return self.func(observations)


class VectorizeTransformObservation(_EachRow[WrapperObsType, ActType, ObsType, ArrayType]):
    """Apply a wrapper for single environments to every lane of a batch.

    gymcore's own wrappers do that with whole batches; another one is called for lane after lane.

    Attributes:
        wrapper: The wrapper for single environments, around one that only has the spaces.

    Example:
        >>> import gymcore as gym
        >>> envs = gym.make_vec("CartPole-v1", num_envs=2)
        >>> wrapper = gym.wrappers.ReshapeObservation
        >>> envs = VectorizeTransformObservation(envs, wrapper, shape=(2, 2))
        >>> envs.reset(seed=1)[0].shape
        (2, 2, 2)
    """

    class _SingleEnv(Env[Any, Any]):
        """An environment that only has spaces."""

        def __init__(self, observation_space: Space[Any], action_space: Space[Any]) -> None:
            self.observation_space = observation_space
            self.action_space = action_space

    VectorizedEnv = _SingleEnv

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, ArrayType],
        wrapper: type[transform_observation.TransformObservation[Any, Any, Any]],
        **kwargs: Any,
    ) -> None:
        """Wrap `env`.

        Args:
            env: The vector environment.
            wrapper: A `gymcore.wrappers.TransformObservation`, or a class derived from it. It is
                made once for all lanes, so it must not keep anything from observation to
                observation.
            **kwargs: Its arguments.

        Raises:
            ArgumentTypeError: if `env` is no vector environment, or `wrapper` makes no
                `TransformObservation` (a `TypeError`).
            InvalidArgument: for `AddRenderObservation`, which has a vector wrapper of its own.
        """
        base = transform_observation.TransformObservation
        if not callable(wrapper):
            raise error.ArgumentTypeError(
                f"Expected wrapper to be a class derived from `TransformObservation`, got {wrapper}"
            )
        if wrapper is transform_observation.AddRenderObservation:
            raise error.InvalidArgument(
                "wrapper: use gymcore.wrappers.vector.AddRenderObservation, frames do not come "
                "from the observations"
            )
        VectorObservationWrapper.__init__(self, env)
        RecordConstructorArgs.__init__(self, wrapper=wrapper, **kwargs)
        single = self._SingleEnv(env.single_observation_space, env.single_action_space)
        made: Any
        if wrapper.__new__ is base.__new__:  # which hands calls of Gym 0.26 over: not for batches
            made = object.__new__(wrapper)
            made.__init__(single, **kwargs)
        else:
            made = wrapper(single, **kwargs)
        if not isinstance(made, base):
            raise error.ArgumentTypeError(
                "Expected wrapper to be a class derived from `TransformObservation`, "
                f"got one that makes a {type(made)}"
            )
        self.wrapper = made
        self.single_observation_space = made.observation_space
        self.observation_space = batch_space(made.observation_space, self.num_envs)
        # For some lanes, functions for batches of so many.
        self._batch_functions: dict[int, BatchFunction] = {}
        self._batch_function = self._function_of(self.num_envs)

    def observations(self, observations: ObsType) -> WrapperObsType:
        """Return the batch of what the wrapper makes of each row."""
        changed: WrapperObsType = self._batch_function(observations)
        return changed

    def step_lanes(
        self, actions: ActType, env_ids: Sequence[int] | npt.NDArray[Any]
    ) -> tuple[WrapperObsType, ArrayType, ArrayType, ArrayType, dict[str, Any]]:
        """Step some environments, and return changed observations; see `VectorEnv.step_lanes`.

        Args:
            actions: A row for each of them.
            env_ids: Which ones, indices or a mask.
        """
        ids = np.asarray(env_ids)
        number = int(ids.sum()) if ids.dtype == bool else len(ids)
        of_all = self._batch_function
        self._batch_function = self._function_of(number)
        try:
            return super().step_lanes(actions, env_ids)
        finally:
            self._batch_function = of_all

    def _function_of(self, num_envs: int) -> BatchFunction:
        """Return what changes batches of so many lanes."""
        function = self._batch_functions.get(num_envs)
        if function is None:
            function = self.wrapper._batch_function(num_envs) or self._lane_by_lane
            self._batch_functions[num_envs] = function
        return function

    def _lane_by_lane(self, observations: Any) -> Any:
        change, space = self.wrapper.observation, self.single_observation_space
        rows = [change(row) for row in iterate(self.env.observation_space, observations)]
        return concatenate(space, rows, create_empty_array(space, len(rows)))
