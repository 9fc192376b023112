"""Convert the arrays of vector environments between array libraries."""

from __future__ import annotations

from gymcore.base.record_constructor import RecordConstructorArgs
from gymcore.vector.vector_env import VectorStep, VectorWrapper
from gymcore.wrappers.array_conversion import ConvertsArrays

__all__ = ["ArrayConversion"]


class ArrayConversion(ConvertsArrays, VectorWrapper, RecordConstructorArgs):
    """Use a vector environment that works on arrays of one library from another library.

    Actions and options (including `reset_mask`) are converted to the environment's library;
    observations, rewards, flags and infos to the caller's. All autoreset modes are supported: final
    observations in the infos are converted too, as one array or one by one.

    Arrays share memory where possible; see `gymcore.wrappers.array_conversion`. A tensor keeps its
    array alive: the engine does not write to the array while the tensor exists.

    Examples:
        >>> import gymcore
        >>> import numpy as np
        >>> envs = ArrayConversion(gymcore.make_vec("CartPole-v1", num_envs=2), np, np)
        >>> observations, infos = envs.reset(seed=1)
        >>> envs.step(np.array([0, 1]))[1]
        array([1., 1.])
    """

    _lane_arrays = ()

    def step(self, actions: object, **kwargs: object) -> VectorStep:
        """Step with the converted actions, and convert the results."""
        observations, rewards, terminated, truncated, infos = self.env.step(
            self._to_env(actions), **kwargs
        )
        return (
            self._from_env(observations),
            self._from_env(rewards),
            self._from_env(terminated),
            self._from_env(truncated),
            self._infos(infos),
        )
