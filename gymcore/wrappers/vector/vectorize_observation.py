"""Wrappers that change every observation of a batch by itself.

Each is its namesake of `gymcore.wrappers` applied to every lane, in every autoreset mode: in
SAME_STEP the last observations in `infos["final_obs"]` are changed as well. They work on whole
batches, without a loop over the lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.core import ActType, ObsType, WrapperObsType
from gymcore.utils import RecordConstructorArgs
from gymcore.vector.vector_env import ArrayType, VectorEnv
from gymcore.wrappers import transform_observation
from gymcore.wrappers.vector.observation_base import (
    TransformObservation,
    VectorizeTransformObservation,
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
        """Wrap `env`.

        Args:
            env: The vector environment.
            filter_keys: Keys of the `Dict`, or indices of the `Tuple`, in the order that
                observations have afterwards. Arrays are not copied.

        Raises:
            FailedTypeCheck: as `gymcore.wrappers.FilterObservation` does (a `TypeError`).
            FailedCheck: likewise (a `ValueError`).
        """
        RecordConstructorArgs.__init__(self, filter_keys=filter_keys)
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
        """Wrap `env`.

        Args:
            env: The vector environment.

        Raises:
            InvalidArgument: if elements of the observation space cannot be flattened.
        """
        RecordConstructorArgs.__init__(self)
        super().__init__(env, transform_observation.FlattenObservation)


class GrayscaleObservation(
    VectorizeTransformObservation[WrapperObsType, ActType, ObsType, ArrayType]
):
    """Make colour pictures grey: `0.2125 red + 0.7154 green + 0.0721 blue`, rounded down.

    Example:
        >>> import gymcore as gym
        >>> envs = gym.make_vec("CartPole-v1", num_envs=2, render_mode="rgb_array")
        >>> envs = gym.wrappers.vector.AddRenderObservation(envs)
        >>> GrayscaleObservation(envs).reset(seed=1)[0].shape
        (2, 400, 600)
    """

    def __init__(self, env: VectorEnv[ObsType, ActType, ArrayType], keep_dim: bool = False) -> None:
        """Wrap `env`.

        Args:
            env: A vector environment with observations `[num_envs, height, width, 3]` uint8.
            keep_dim: Return `[num_envs, height, width, 1]`, not `[num_envs, height, width]`.

        Raises:
            FailedTypeCheck: as `gymcore.wrappers.GrayscaleObservation` does (a `TypeError`).
            FailedCheck: likewise (a `ValueError`).
        """
        RecordConstructorArgs.__init__(self, keep_dim=keep_dim)
        super().__init__(env, transform_observation.GrayscaleObservation, keep_dim=keep_dim)


class ResizeObservation(VectorizeTransformObservation[WrapperObsType, ActType, ObsType, ArrayType]):
    """Resize pictures with OpenCV's `INTER_AREA`, one lane after the other into one array.

    Example:
        >>> import gymcore as gym
        >>> envs = gym.make_vec("CartPole-v1", num_envs=2, render_mode="rgb_array")
        >>> envs = gym.wrappers.vector.AddRenderObservation(envs)
        >>> ResizeObservation(envs, (84, 96)).reset(seed=1)[0].shape
        (2, 84, 96, 3)
    """

    def __init__(self, env: VectorEnv[ObsType, ActType, ArrayType], shape: tuple[int, ...]) -> None:
        """Wrap `env`.

        Args:
            env: A vector environment with observations `[num_envs, height, width]` or
                `[num_envs, height, width, channels]` uint8.
            shape: The new height and width.

        Raises:
            FailedTypeCheck: as `gymcore.wrappers.ResizeObservation` does (a `TypeError`).
            FailedCheck: likewise (a `ValueError`).
            DependencyNotInstalled: if opencv is missing.
        """
        RecordConstructorArgs.__init__(self, shape=shape)
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
        """Wrap `env`.

        Args:
            env: The vector environment.
            shape: Shape of the observations of one lane. Batches are views of the environment's.

        Raises:
            FailedTypeCheck: as `gymcore.wrappers.ReshapeObservation` does (a `TypeError`).
            FailedCheck: likewise (a `ValueError`).
        """
        RecordConstructorArgs.__init__(self, shape=shape)
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
        """Wrap `env`.

        Args:
            env: The vector environment.
            min_obs: Lower bounds, a number or an array of the shape of one lane's observations.
            max_obs: Upper bounds, likewise.

        Raises:
            FailedTypeCheck: as `gymcore.wrappers.RescaleObservation` does (a `TypeError`).
            InvalidArgument: likewise (a `ValueError`).
        """
        RecordConstructorArgs.__init__(self, min_obs=min_obs, max_obs=max_obs)
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
        """Wrap `env`.

        Args:
            env: The vector environment.
            dtype: Anything that `numpy.dtype` takes.

        Raises:
            FailedTypeCheck: as `gymcore.wrappers.DtypeObservation` does (a `TypeError`).
            InvalidArgument: likewise (a `ValueError`).
        """
        RecordConstructorArgs.__init__(self, dtype=dtype)
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
        """Wrap `env`.

        Args:
            env: A vector environment with bounded array observations.
            bins: How many bins an element of an observation has: one number for all, or one each.
            multidiscrete: Observe an index an element, `[num_envs, size]` int64, and not one for
                all of them, `[num_envs]` int64.

        Raises:
            FailedTypeCheck: as `gymcore.wrappers.DiscretizeObservation` does (a `TypeError`).
            FailedCheck: likewise (a `ValueError`).
        """
        RecordConstructorArgs.__init__(self, bins=bins, multidiscrete=multidiscrete)
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
            FailedTypeCheck: if there are no integers (a `TypeError`).
            IndexError: if there is no such bin. Also an `InvalidArgument`.
        """
        cut, multidiscrete = self.wrapper._cut, bool(self.wrapper.multidiscrete)
        return cut.edges(cut.checked(obs, multidiscrete, (self.num_envs,)))
