"""A wrapper that lets NumPy environments be used with PyTorch."""

from __future__ import annotations

from typing import Any

from gymcore.wrappers.array_conversion import (
    ArrayConversion,
    ToTorch,
    array_conversion,
    module_name_to_namespace,
)

__all__ = ["Device", "NumpyToTorch", "numpy_to_torch", "torch_to_numpy"]

Device = Any
"""What `torch.Tensor.to` takes: a `torch.device` or its name."""


def numpy_to_torch(value: Any, device: Any = None) -> Any:
    """Return a value whose arrays are PyTorch's; see `array_conversion`."""
    return array_conversion(value, module_name_to_namespace("torch"), device)


def torch_to_numpy(value: Any, device: Any = None) -> Any:
    """Return a value whose arrays are NumPy's; see `array_conversion`."""
    return array_conversion(value, module_name_to_namespace("numpy"), device)


class NumpyToTorch(ToTorch, ArrayConversion):
    """Use an environment whose arrays are NumPy's with PyTorch.

    Arrays share their memory where they can; see `gymcore.wrappers.array_conversion`.
    """

    _library = "numpy"
