"""Vector environments whose arrays are of one library, used from another."""

from __future__ import annotations

from gymcore.base.record_constructor import RecordConstructorArgs
from gymcore.vector.vector_env import VectorStep, VectorWrapper
from gymcore.wrappers.array_conversion import ConvertsArrays

__all__ = ["ArrayConversion"]


class ArrayConversion(ConvertsArrays, VectorWrapper, RecordConstructorArgs):
    """Use a vector environment whose arrays are of one library from another.

    Actions and options (`reset_mask` among them) are converted to the environment's library;
    observations, rewards, flags and infos to the other one. It serves every autoreset mode: last
    observations in the infos are converted too, as one array or one by one, as they come.

    Arrays share their memory where possible, as `gymcore.wrappers.array_conversion`
    says. A tensor keeps its array alive: the engine does not write there while it exists.

    Example:
        >>> import gymcore
        >>> import numpy as np
        >>> envs = ArrayConversion(gymcore.make_vec("CartPole-v1", num_envs=2), np, np)
        >>> observations, infos = envs.reset(seed=1)
        >>> envs.step(np.array([0, 1]))[1]
        array([1., 1.])
    """

    def step(self, actions: object, **kwargs: object) -> VectorStep:
        """Step with converted actions, and convert all that is returned."""
        observations, rewards, terminated, truncated, infos = self.env.step(
            self._inwards(actions), **kwargs
        )
        return (
            self._outwards(observations),
            self._outwards(rewards),
            self._outwards(terminated),
            self._outwards(truncated),
            self._infos(infos),
        )
