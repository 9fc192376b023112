"""A wrapper that lets JAX vector environments be used with NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gymcore.wrappers.vector.array_conversion import ArrayConversion

if TYPE_CHECKING:
    from gymcore.vector.vector_env import VectorEnv

__all__ = ["JaxToNumpy"]


class JaxToNumpy(ArrayConversion):
    """Use a vector environment whose arrays are JAX's with NumPy.

    Arrays share their memory where they can; see `gymcore.wrappers.array_conversion`.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        """Wrap a vector environment."""
        super().__init__(env, "jax.numpy", "numpy")
