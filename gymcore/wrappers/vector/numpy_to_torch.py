"""A wrapper that lets NumPy vector environments be used with PyTorch."""

from __future__ import annotations

from gymcore.wrappers.array_conversion import ToTorch
from gymcore.wrappers.vector.array_conversion import ArrayConversion

__all__ = ["NumpyToTorch"]


class NumpyToTorch(ToTorch, ArrayConversion):
    """Use a vector environment whose arrays are NumPy's with PyTorch.

    Arrays share their memory where they can; see `gymcore.wrappers.array_conversion`.
    """

    _library = "numpy"
