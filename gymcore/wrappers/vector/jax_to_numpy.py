"""A wrapper for using JAX vector environments with NumPy."""

from __future__ import annotations

from gymcore.wrappers.array_conversion import JaxToNumpyArrays
from gymcore.wrappers.vector.array_conversion import ArrayConversion

__all__ = ["JaxToNumpy"]


class JaxToNumpy(JaxToNumpyArrays, ArrayConversion):
    """Use a vector environment that works on JAX arrays with NumPy.

    Arrays share memory where possible; see `gymcore.wrappers.array_conversion`.
    """
