"""A wrapper for using JAX vector environments with NumPy."""

from __future__ import annotations

from gymcore.wrappers.array_conversion import JaxToNumpyArrays
from gymcore.wrappers.vector.array_conversion import ArrayConversion

__all__ = ["JaxToNumpy"]


class JaxToNumpy(JaxToNumpyArrays, ArrayConversion):
    """Use a vector environment that works on JAX arrays with NumPy.

    Arrays share memory where possible; see `gymcore.wrappers.array_conversion`.

    Examples:
        >>> import gymcore
        >>> envs = JaxToNumpy(gymcore.make_vec("phys2d/CartPole-v1", num_envs=2))
        >>> envs.reset(seed=1)[0].shape
        (2, 4)
    """
