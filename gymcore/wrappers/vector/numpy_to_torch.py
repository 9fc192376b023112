"""A wrapper for using NumPy vector environments with PyTorch."""

from __future__ import annotations

from gymcore.wrappers.array_conversion import ToTorch
from gymcore.wrappers.vector.array_conversion import ArrayConversion

__all__ = ["NumpyToTorch"]


class NumpyToTorch(ToTorch, ArrayConversion):
    """Use a vector environment that works on NumPy arrays with PyTorch.

    Arrays share memory where possible; see `gymcore.wrappers.array_conversion`.

    Examples:
        >>> import gymcore
        >>> envs = NumpyToTorch(gymcore.make_vec("CartPole-v1", num_envs=2))
        >>> envs.reset(seed=1)[0].shape
        torch.Size([2, 4])
    """

    _library = "numpy"
