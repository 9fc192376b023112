"""Wrappers that change each observation of a batch separately.

Each applies the wrapper of the same name in `gymcore.wrappers` to every lane, in every autoreset
mode: in SAME_STEP the final observations in `infos["final_obs"]` are changed as well. They work on
whole batches, without a loop over the lanes.
"""

from __future__ import annotations

from collections.abc import Callable

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
    AgentRows,
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


class _StatelessWrapper(
    VectorObservationWrapper[WrapperObsType, ActType, ObsType, ArrayType], RecordConstructorArgs
):
    """Base class of stateless wrappers, which treat steps of some lanes like steps of all."""

    def step_lanes(
        self, actions: ActType, env_ids: EnvIds
    ) -> VectorStep[WrapperObsType, ArrayType]:
        """Step some environments, and change their observations; see `VectorEnv.step_lanes`."""
        observations, *flags, infos = self.env.step_lanes(actions, env_ids)
        change_final_observations(
            infos, observations, self.env, self.final_observations, self.observation_space
        )
        rewards, terminations, truncations = flags
        return self.observations(observations), rewards, terminations, truncations, infos


class TransformObservation(_StatelessWrapper[WrapperObsType, ActType, ObsType, ArrayType]):
    """Change batches of observations with a function.

    Examples:
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
            func: Function that maps a batch of observations to the result. It should be stateless
                and should not change the batch in place: in SAME_STEP it is also called for the
                final observations of episodes, before those of the same step, and in `step_lanes`
                with as many rows as there are lanes.
            observation_space: Space of the resulting batches; None for batches of
                `single_observation_space`.
            single_observation_space: Space of the rows. If both are None, the spaces do not change.

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


class VectorizeTransformObservation(_StatelessWrapper[WrapperObsType, ActType, ObsType, ArrayType]):
    """Apply a single wrapper to every lane of a batch, or every agent of its worlds.

    Wrappers of gymcore are applied to the whole batch at once; others are called for each lane.

    Attributes:
        wrapper: The single wrapper, around an environment that has only the spaces.

    Examples:
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
        **kwargs: object,
    ) -> None:
        """Wrap `env`.

        Args:
            env: The vector environment.
            wrapper: A class derived from `gymcore.wrappers.TransformObservation`, or a function
                that returns an instance of it from an environment. One instance serves all lanes,
                so it must not keep state between observations.
            **kwargs: Arguments of `wrapper`, except the environment.

        Raises:
            ArgumentTypeError: If `env` is not a vector environment, or `wrapper` does not return a
                `TransformObservation`.
            InvalidArgument: If `wrapper` is `AddRenderObservation`; use its vector version.
        """
        if wrapper is transform_observation.AddRenderObservation:
            raise error.InvalidArgument(
                "wrapper: use gymcore.wrappers.vector.AddRenderObservation; frames are not "
                "computed from observations"
            )
        VectorObservationWrapper.__init__(self, env)
        self.wrapper = make_single(env, wrapper, transform_observation.TransformObservation, kwargs)
        self._rows = AgentRows(env)
        self._rows.set_space(self, 0, self.wrapper.observation_space)
        self._batch_function = self.wrapper._batch_function() or self._lane_by_lane

    def observations(self, observations: ObsType) -> WrapperObsType:
        """Return a batch with the wrapper applied to each row."""
        return self._rows.joined(self._batch_function(self._rows.spread(observations)))

    def _lane_by_lane(self, observations: ObsType) -> WrapperObsType:
        space = self.wrapper.observation_space
        rows = iterate(batch_space(self._rows.spaces[0], self.num_envs), observations)
        changed = [self.wrapper.observation(row) for row in rows]
        batch: WrapperObsType = concatenate(space, changed, create_empty_array(space, len(changed)))
        return batch


@vector_form(transform_observation.FilterObservation)
class FilterObservation(VectorForm, VectorizeTransformObservation):
    """Keep some entries of `Dict` or `Tuple` observations.

    Examples:
        >>> import gymcore as gym
        >>> envs = gym.make_vec("CartPole-v1", num_envs=2, render_mode="rgb_array")
        >>> envs = gym.wrappers.vector.AddRenderObservation(envs, render_only=False)
        >>> sorted(FilterObservation(envs, ["state"]).reset(seed=1)[0])
        ['state']
    """


@vector_form(transform_observation.FlattenObservation)
class FlattenObservation(VectorForm, VectorizeTransformObservation):
    """Flatten the observations of each lane.

    Examples:
        >>> import gymcore as gym
        >>> envs = FlattenObservation(gym.make_vec("Blackjack-v1", num_envs=2))
        >>> envs.reset(seed=1)[0].shape
        (2, 45)
    """


@vector_form(transform_observation.GrayscaleObservation)
class GrayscaleObservation(VectorForm, VectorizeTransformObservation):
    """Convert color images to gray.

    Examples:
        >>> import gymcore as gym
        >>> envs = gym.make_vec("CartPole-v1", num_envs=2, render_mode="rgb_array")
        >>> envs = gym.wrappers.vector.AddRenderObservation(envs)
        >>> GrayscaleObservation(envs).reset(seed=1)[0].shape
        (2, 400, 600)
    """


@vector_form(transform_observation.ResizeObservation)
class ResizeObservation(VectorForm, VectorizeTransformObservation):
    """Resize the images one lane at a time, into one array.

    Examples:
        >>> import gymcore as gym
        >>> envs = gym.make_vec("CartPole-v1", num_envs=2, render_mode="rgb_array")
        >>> envs = ResizeObservation(gym.wrappers.vector.AddRenderObservation(envs), (84, 96))
        >>> envs.reset(seed=1)[0].shape
        (2, 84, 96, 3)
    """


@vector_form(transform_observation.ReshapeObservation)
class ReshapeObservation(VectorForm, VectorizeTransformObservation):
    """Give the array observations of each lane another shape.

    Examples:
        >>> import gymcore as gym
        >>> envs = ReshapeObservation(gym.make_vec("CartPole-v1", num_envs=3), (2, 2))
        >>> envs.reset(seed=1)[0].shape
        (3, 2, 2)
    """


@vector_form(transform_observation.RescaleObservation)
class RescaleObservation(VectorForm, VectorizeTransformObservation):
    """Map array observations linearly to other bounds.

    Examples:
        >>> import gymcore as gym
        >>> envs = RescaleObservation(gym.make_vec("MountainCar-v0", num_envs=2), 0, 1)
        >>> envs.single_observation_space
        Box(0.0, 1.0, (2,), float32)
    """


@vector_form(transform_observation.DtypeObservation)
class DtypeObservation(VectorForm, VectorizeTransformObservation):
    """Give observations another dtype.

    Examples:
        >>> import gymcore as gym
        >>> envs = DtypeObservation(gym.make_vec("CartPole-v1", num_envs=2), "float64")
        >>> envs.reset(seed=1)[0].dtype
        dtype('float64')
    """


@vector_form(transform_observation.DiscretizeObservation)
class DiscretizeObservation(VectorForm, VectorizeTransformObservation):
    """Split each number of the observations into equal bins, and observe the bin indices.

    Gymnasium has this for single environments only.

    Examples:
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
        """Return the edges of the bins that a batch of discrete observations denotes.

        Args:
            obs: Integers, `[num_envs]`, or `[num_envs, size]` if `multidiscrete`.

        Returns:
            The lower and the upper edges, each `[num_envs, size]` in the dtype of the wrapped
            environment's observations.

        Raises:
            FailedTypeCheck: If `obs` are not integers.
            IndexError: If there is no such bin; the error is also an `InvalidArgument`.
        """
        return self.wrapper._edges(obs, (self.num_envs,))
