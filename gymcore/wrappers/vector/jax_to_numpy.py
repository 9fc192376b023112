"""A wrapper that lets JAX vector environments be used with NumPy."""

from __future__ import annotations

from gymcore.wrappers.array_conversion import JaxToNumpyArrays
from gymcore.wrappers.vector.array_conversion import ArrayConversion

__all__ = ["JaxToNumpy"]


class JaxToNumpy(JaxToNumpyArrays, ArrayConversion):
    """Use a vector environment whose arrays are JAX's with NumPy.

    Arrays share their memory where they can; see `gymcore.wrappers.array_conversion`.
    """
