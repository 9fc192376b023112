"""A wrapper for using NumPy vector environments with PyTorch."""

from __future__ import annotations

from gymcore.wrappers.array_conversion import ToTorch
from gymcore.wrappers.vector.array_conversion import ArrayConversion

__all__ = ["NumpyToTorch"]


class NumpyToTorch(ToTorch, ArrayConversion):
    """Use a vector environment that works on NumPy arrays with PyTorch.

    Arrays share memory where possible; see `gymcore.wrappers.array_conversion`.
    """

    _library = "numpy"
