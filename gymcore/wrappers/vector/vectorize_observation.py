"""Wrappers that change every observation of a batch by itself.

Each is its namesake of `gymcore.wrappers` applied to every lane, in every autoreset mode: in
SAME_STEP the last observations in `infos["final_obs"]` are changed as well. They work on whole
batches, without a loop over the lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore import error, logger
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
from gymcore.wrappers.vector.lanes import SpacesOnly, make_single

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
            ArgumentTypeError: if `env` is not a vector environment, `func` cannot be called, or a
                space is not a `Space`.
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
        VectorObservationWrapper.__init__(self, env)
        if single_observation_space is not None:
            self.single_observation_space = single_observation_space
            if observation_space is None:
                observation_space = batch_space(single_observation_space, self.num_envs)
        if observation_space is not None:
            self.observation_space = observation_space
        batched = batch_space(self.single_observation_space, self.num_envs)
        if self.observation_space != batched:
            logger.warn(
                f"For {env}, the observation space and the batched single observation space don't "
                f"match as expected, observation_space={self.observation_space}, "
                f"batched single_observation_space={batched}"
            )
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
            ArgumentTypeError: if `env` is not a vector environment, or `wrapper` makes no
                `TransformObservation`.
            InvalidArgument: for `AddRenderObservation`, which has a vector wrapper of its own.
        """
        if wrapper is transform_observation.AddRenderObservation:
            raise error.InvalidArgument(
                "wrapper: use gymcore.wrappers.vector.AddRenderObservation, frames do not come "
                "from the observations"
            )
        VectorObservationWrapper.__init__(self, env)
        made = make_single(env, wrapper, transform_observation.TransformObservation, kwargs)
        self.wrapper = made
        self.single_observation_space = made.observation_space
        self.observation_space = batch_space(made.observation_space, self.num_envs)
        self._batch_function = made._batch_function() or self._lane_by_lane

    def observations(self, observations: ObsType) -> WrapperObsType:
        """Return the batch of what the wrapper makes of each row."""
        return self._batch_function(observations)

    def _lane_by_lane(self, observations: Any) -> Any:
        space = self.single_observation_space
        rows = iterate(self.env.observation_space, observations)
        changed = [self.wrapper.observation(row) for row in rows]
        return concatenate(space, changed, create_empty_array(space, len(changed)))


class FilterObservation(VectorizeTransformObservation[WrapperObsType, ActType, ObsType, ArrayType]):
    """Keep some entries of `Dict` or `Tuple` observations.

    Example:
        >>> import gymcore as gym
        >>> envs = gym.make_vec("CartPole-v1", num_envs=2, render_mode="rgb_array")
        >>> envs = gym.wrappers.vector.AddRenderObservation(envs, render_only=False)
        >>> list(FilterObservation(envs, ["state"]).reset(seed=1)[0])
        ['state']
    """

    def __init__(
        self, env: VectorEnv[ObsType, ActType, ArrayType], filter_keys: Sequence[str | int]
    ) -> None:
        """Wrap a vector environment; see `gymcore.wrappers.FilterObservation`."""
        super().__init__(env, transform_observation.FilterObservation, filter_keys=filter_keys)


class FlattenObservation(
    VectorizeTransformObservation[WrapperObsType, ActType, ObsType, ArrayType]
):
    """Flatten the observations of each lane; see `gymcore.spaces.flatten`.

    Example:
        >>> import gymcore as gym
        >>> envs = gym.make_vec("CartPole-v1", num_envs=2)
        >>> FlattenObservation(envs).reset(seed=1)[0].shape
        (2, 4)
    """

    def __init__(self, env: VectorEnv[ObsType, ActType, ArrayType]) -> None:
        """Wrap a vector environment."""
        super().__init__(env, transform_observation.FlattenObservation)


class GrayscaleObservation(
    VectorizeTransformObservation[WrapperObsType, ActType, ObsType, ArrayType]
):
    """Make color images gray: `0.2125 red + 0.7154 green + 0.0721 blue`, rounded down.

    Example:
        >>> import gymcore as gym
        >>> envs = gym.make_vec("CartPole-v1", num_envs=2, render_mode="rgb_array")
        >>> envs = gym.wrappers.vector.AddRenderObservation(envs)
        >>> GrayscaleObservation(envs).reset(seed=1)[0].shape
        (2, 400, 600)
    """

    def __init__(self, env: VectorEnv[ObsType, ActType, ArrayType], keep_dim: bool = False) -> None:
        """Wrap a vector environment; see `gymcore.wrappers.GrayscaleObservation`."""
        super().__init__(env, transform_observation.GrayscaleObservation, keep_dim=keep_dim)


class ResizeObservation(VectorizeTransformObservation[WrapperObsType, ActType, ObsType, ArrayType]):
    """Resize images with OpenCV's `INTER_AREA`, one lane after the other into one array.

    Example:
        >>> import gymcore as gym
        >>> envs = gym.make_vec("CartPole-v1", num_envs=2, render_mode="rgb_array")
        >>> envs = gym.wrappers.vector.AddRenderObservation(envs)
        >>> ResizeObservation(envs, (84, 96)).reset(seed=1)[0].shape
        (2, 84, 96, 3)
    """

    def __init__(self, env: VectorEnv[ObsType, ActType, ArrayType], shape: tuple[int, ...]) -> None:
        """Wrap a vector environment; see `gymcore.wrappers.ResizeObservation`."""
        super().__init__(env, transform_observation.ResizeObservation, shape=shape)


class ReshapeObservation(
    VectorizeTransformObservation[WrapperObsType, ActType, ObsType, ArrayType]
):
    """Give the array observations of each lane another shape.

    Example:
        >>> import gymcore as gym
        >>> envs = gym.make_vec("CartPole-v1", num_envs=3)
        >>> ReshapeObservation(envs, (2, 2)).reset(seed=1)[0].shape
        (3, 2, 2)
    """

    def __init__(
        self, env: VectorEnv[ObsType, ActType, ArrayType], shape: int | tuple[int, ...]
    ) -> None:
        """Wrap a vector environment; see `gymcore.wrappers.ReshapeObservation`."""
        super().__init__(env, transform_observation.ReshapeObservation, shape=shape)


class RescaleObservation(
    VectorizeTransformObservation[WrapperObsType, ActType, ObsType, ArrayType]
):
    """Map array observations linearly to other bounds.

    Example:
        >>> import gymcore as gym
        >>> envs = RescaleObservation(gym.make_vec("MountainCar-v0", num_envs=2), 0, 1)
        >>> envs.single_observation_space
        Box(0.0, 1.0, (2,), float32)
    """

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, ArrayType],
        min_obs: float | np.floating[Any] | np.integer[Any] | npt.NDArray[Any],
        max_obs: float | np.floating[Any] | np.integer[Any] | npt.NDArray[Any],
    ) -> None:
        """Wrap a vector environment; see `gymcore.wrappers.RescaleObservation`."""
        super().__init__(
            env, transform_observation.RescaleObservation, min_obs=min_obs, max_obs=max_obs
        )


class DtypeObservation(VectorizeTransformObservation[WrapperObsType, ActType, ObsType, ArrayType]):
    """Give observations another dtype.

    Example:
        >>> import gymcore as gym
        >>> envs = gym.make_vec("CartPole-v1", num_envs=2)
        >>> DtypeObservation(envs, "float64").reset(seed=1)[0].dtype
        dtype('float64')
    """

    def __init__(self, env: VectorEnv[ObsType, ActType, ArrayType], dtype: Any) -> None:
        """Wrap a vector environment; see `gymcore.wrappers.DtypeObservation`."""
        super().__init__(env, transform_observation.DtypeObservation, dtype=dtype)


class DiscretizeObservation(
    VectorizeTransformObservation[WrapperObsType, ActType, ObsType, ArrayType]
):
    """Cut the numbers of observations into equal bins, and observe the indices of the bins.

    Gymnasium has this for single environments only.

    Example:
        >>> import gymcore as gym
        >>> envs = gym.make_vec("MountainCar-v0", num_envs=2)
        >>> envs = DiscretizeObservation(envs, (10, 5))
        >>> envs.observations(np.float32([[-0.4, 0.0], [-0.2, 0.0]]))
        array([22, 27])
        >>> lower, upper = envs.revert_observation([22, 27])
        >>> np.round(upper, 3)
        array([[-0.3  ,  0.014],
               [-0.12 ,  0.014]], dtype=float32)
    """

    wrapper: transform_observation.DiscretizeObservation[Any, Any, Any]

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, ArrayType],
        bins: int | tuple[int, ...],
        multidiscrete: bool = False,
    ) -> None:
        """Wrap a vector environment; see `gymcore.wrappers.DiscretizeObservation`."""
        super().__init__(
            env,
            transform_observation.DiscretizeObservation,
            bins=bins,
            multidiscrete=multidiscrete,
        )

    def revert_observation(self, obs: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return the bounds of the bins that a batch of discrete observations stands for.

        Args:
            obs: `[num_envs]`, or `[num_envs, size]` if `multidiscrete`, integers.

        Returns:
            The lower and the upper edges, each `[num_envs, size]` in the dtype of the wrapped
            environment's observations.

        Raises:
            FailedTypeCheck: if they are not integers.
            IndexError: if there is no such bin. Also an `InvalidArgument`.
        """
        return self.wrapper._edges(obs, (self.num_envs,))
