"""A wrapper for using JAX environments with NumPy."""

from __future__ import annotations

from gymcore.wrappers.array_conversion import ArrayConversion, JaxToNumpyArrays
from gymcore.wrappers.array_conversion import to_jax as numpy_to_jax
from gymcore.wrappers.array_conversion import to_numpy as jax_to_numpy

__all__ = ["JaxToNumpy", "jax_to_numpy", "numpy_to_jax"]


class JaxToNumpy(JaxToNumpyArrays, ArrayConversion):
    """Use an environment that works on JAX arrays with NumPy.

    Arrays share memory where possible; see `gymcore.wrappers.array_conversion`.

    Examples:
        >>> import gymcore
        >>> env = JaxToNumpy(gymcore.make("phys2d/CartPole-v1"))
        >>> env.reset(seed=1)[0].shape
        (4,)
    """
