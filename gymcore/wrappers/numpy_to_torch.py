"""A wrapper for using NumPy environments with PyTorch."""

from __future__ import annotations

from gymcore.wrappers.array_conversion import ArrayConversion, Device, ToTorch
from gymcore.wrappers.array_conversion import to_numpy as torch_to_numpy
from gymcore.wrappers.array_conversion import to_torch as numpy_to_torch

__all__ = ["Device", "NumpyToTorch", "numpy_to_torch", "torch_to_numpy"]


class NumpyToTorch(ToTorch, ArrayConversion):
    """Use an environment that works on NumPy arrays with PyTorch.

    Arrays share memory where possible; see `gymcore.wrappers.array_conversion`.

    Examples:
        >>> import gymcore
        >>> env = NumpyToTorch(gymcore.make("CartPole-v1"))
        >>> env.reset(seed=1)[0].shape
        torch.Size([4])
    """

    _library = "numpy"
