"""Wrappers that change every observation of a batch by itself.

Each is its namesake of `gymcore.wrappers` applied to every lane, in every autoreset mode: in
SAME_STEP the last observations in `infos["final_obs"]` are changed as well. They work on whole
batches, without a loop over the lanes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gymcore import error
from gymcore.base.record_constructor import RecordConstructorArgs
from gymcore.core import ActType, ObsType, WrapperObsType
from gymcore.spaces import Space
from gymcore.vector.final_observations import change_final_observations
from gymcore.vector.utils import batch_space, concatenate, create_empty_array, iterate
from gymcore.vector.vector_env import (
    ArrayType,
    EnvIds,
    VectorEnv,
    VectorObservationWrapper,
    VectorStep,
)
from gymcore.wrappers import transform_observation
from gymcore.wrappers.utils import Array
from gymcore.wrappers.vector.lanes import (
    SpacesOnly,
    VectorForm,
    make_single,
    set_spaces,
    vector_form,
)

__all__ = [
    "DiscretizeObservation",
    "DtypeObservation",
    "FilterObservation",
    "FlattenObservation",
    "GrayscaleObservation",
    "RescaleObservation",
    "ReshapeObservation",
    "ResizeObservation",
    "TransformObservation",
    "VectorizeTransformObservation",
]


class _EachRow(
    VectorObservationWrapper[WrapperObsType, ActType, ObsType, ArrayType], RecordConstructorArgs
):
    """Base of the wrappers that keep nothing: steps of some lanes are changed like those of all."""

    def step_lanes(
        self, actions: ActType, env_ids: EnvIds
    ) -> VectorStep[WrapperObsType, ArrayType]:
        """Step some environments, and return changed observations; see `VectorEnv.step_lanes`."""
        observations, *flags, infos = self.env.step_lanes(actions, env_ids)
        change_final_observations(
            infos, observations, self.env, self.final_observations, self.observation_space
        )
        rewards, terminations, truncations = flags
        return self.observations(observations), rewards, terminations, truncations, infos


class TransformObservation(_EachRow[WrapperObsType, ActType, ObsType, ArrayType]):
    """Change batches of observations with a function.

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
        observation_space: Space[WrapperObsType] | None = None,
        single_observation_space: Space | None = None,
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
            ArgumentTypeError: If `env` is not a vector environment, `func` cannot be called, or a
                space is not a `Space`.
        """
        if not callable(func):
            raise error.ArgumentTypeError(
                f"TransformObservation requires func to be callable, got {type(func)}"
            )
        for name, space in (
            ("observation_space", observation_space),
            ("single_observation_space", single_observation_space),
        ):
            if not (space is None or isinstance(space, Space)):
                raise error.ArgumentTypeError(
                    f"TransformObservation requires {name} to be a Space or None, got {type(space)}"
                )
        VectorObservationWrapper.__init__(self, env)
        set_spaces(self, "observation", observation_space, single_observation_space)
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

    VectorizedEnv = SpacesOnly
    wrapper: transform_observation.TransformObservation

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, ArrayType],
        wrapper: Callable[..., transform_observation.TransformObservation],
        **kwargs: Any,
    ) -> None:
        """Wrap `env`.

        Args:
            env: The vector environment.
            wrapper: A class derived from `gymcore.wrappers.TransformObservation`, or a function
                that makes one from an environment. It is called once for all lanes, so the result
                must not keep anything from observation to observation.
            **kwargs: Its arguments, except the environment.

        Raises:
            ArgumentTypeError: If `env` is not a vector environment, or `wrapper` makes no
                `TransformObservation`.
            InvalidArgument: If it is `AddRenderObservation`, which has a vector wrapper of its own.
        """
        if wrapper is transform_observation.AddRenderObservation:
            raise error.InvalidArgument(
                "wrapper: use gymcore.wrappers.vector.AddRenderObservation, frames do not come "
                "from the observations"
            )
        VectorObservationWrapper.__init__(self, env)
        self.wrapper = make_single(env, wrapper, transform_observation.TransformObservation, kwargs)
        self.single_observation_space = self.wrapper.observation_space
        self.observation_space = batch_space(self.wrapper.observation_space, self.num_envs)
        self._batch_function = self.wrapper._batch_function() or self._lane_by_lane

    def observations(self, observations: ObsType) -> WrapperObsType:
        """Return the batch of what the wrapper makes of each row."""
        return self._batch_function(observations)

    def _lane_by_lane(self, observations: ObsType) -> WrapperObsType:
        space = self.single_observation_space
        rows = iterate(self.env.observation_space, observations)
        changed = [self.wrapper.observation(row) for row in rows]
        return concatenate(space, changed, create_empty_array(space, len(changed)))


@vector_form(transform_observation.FilterObservation)
class FilterObservation(VectorForm, VectorizeTransformObservation):
    """Keep some entries of `Dict` or `Tuple` observations."""


@vector_form(transform_observation.FlattenObservation)
class FlattenObservation(VectorForm, VectorizeTransformObservation):
    """Flatten the observations of each lane."""


@vector_form(transform_observation.GrayscaleObservation)
class GrayscaleObservation(VectorForm, VectorizeTransformObservation):
    """Make color images gray.

    Example:
        >>> import gymcore as gym
        >>> envs = gym.make_vec("CartPole-v1", num_envs=2, render_mode="rgb_array")
        >>> envs = gym.wrappers.vector.AddRenderObservation(envs)
        >>> GrayscaleObservation(envs).reset(seed=1)[0].shape
        (2, 400, 600)
    """


@vector_form(transform_observation.ResizeObservation)
class ResizeObservation(VectorForm, VectorizeTransformObservation):
    """Resize the images of one lane after the other, into one array."""


@vector_form(transform_observation.ReshapeObservation)
class ReshapeObservation(VectorForm, VectorizeTransformObservation):
    """Give the array observations of each lane another shape."""


@vector_form(transform_observation.RescaleObservation)
class RescaleObservation(VectorForm, VectorizeTransformObservation):
    """Map array observations linearly to other bounds."""


@vector_form(transform_observation.DtypeObservation)
class DtypeObservation(VectorForm, VectorizeTransformObservation):
    """Give observations another dtype."""


@vector_form(transform_observation.DiscretizeObservation)
class DiscretizeObservation(VectorForm, VectorizeTransformObservation):
    """Cut the numbers of observations into equal bins, and observe the indices of the bins.

    Gymnasium has this for single environments only.

    Example:
        >>> import gymcore as gym
        >>> import numpy as np
        >>> envs = gym.make_vec("MountainCar-v0", num_envs=2)
        >>> envs = DiscretizeObservation(envs, (10, 5))
        >>> envs.observations(np.float32([[-0.4, 0.0], [-0.2, 0.0]]))
        array([22, 27])
        >>> lower, upper = envs.revert_observation([22, 27])
        >>> np.round(upper, 3)
        array([[-0.3  ,  0.014],
               [-0.12 ,  0.014]], dtype=float32)
    """

    wrapper: transform_observation.DiscretizeObservation

    def revert_observation(self, obs: object) -> tuple[Array, Array]:
        """Return the bounds of the bins that a batch of discrete observations stands for.

        Args:
            obs: `[num_envs]`, or `[num_envs, size]` if `multidiscrete`, integers.

        Returns:
            The lower and the upper edges, each `[num_envs, size]` in the dtype of the wrapped
            environment's observations.

        Raises:
            FailedTypeCheck: If they are not integers.
            IndexError: If there is no such bin. Also an `InvalidArgument`.
        """
        return self.wrapper._edges(obs, (self.num_envs,))
