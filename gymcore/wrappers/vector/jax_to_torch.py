"""A wrapper that lets JAX vector environments be used with PyTorch."""

from __future__ import annotations

from gymcore.wrappers.array_conversion import ToTorch
from gymcore.wrappers.vector.array_conversion import ArrayConversion

__all__ = ["JaxToTorch"]


class JaxToTorch(ToTorch, ArrayConversion):
    """Use a vector environment whose arrays are JAX's with PyTorch.

    Arrays share their memory where they can; see `gymcore.wrappers.array_conversion`.
    """

    _library = "jax.numpy"
