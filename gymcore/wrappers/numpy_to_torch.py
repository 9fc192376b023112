"""A wrapper that lets NumPy environments be used with PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gymcore.utils import RecordConstructorArgs
from gymcore.wrappers.array_conversion import (
    ArrayConversion,
    array_conversion,
    module_name_to_namespace,
)

if TYPE_CHECKING:
    from gymcore.core import Env

__all__ = ["Device", "NumpyToTorch", "numpy_to_torch", "torch_to_numpy"]

Device = Any
"""What `torch.Tensor.to` takes: a `torch.device` or its name."""


def numpy_to_torch(value: Any, device: Any = None) -> Any:
    """Return a value whose arrays are PyTorch's; see `array_conversion`."""
    return array_conversion(value, module_name_to_namespace("torch"), device)


def torch_to_numpy(value: Any, device: Any = None) -> Any:
    """Return a value whose arrays are NumPy's; see `array_conversion`."""
    return array_conversion(value, module_name_to_namespace("numpy"), device)


class NumpyToTorch(ArrayConversion):
    """Use an environment whose arrays are NumPy's with PyTorch.

    Arrays share their memory where they can; see `gymcore.wrappers.array_conversion`.

    Attributes:
        device: Where tensors for the caller are put; None for the default.
    """

    def __init__(self, env: Env[Any, Any], device: Any = None) -> None:
        """Wrap `env`.

        Args:
            env: The environment.
            device: Where to put tensors for the caller; None for the default.

        Raises:
            DependencyNotInstalled: if PyTorch is not installed.
        """
        RecordConstructorArgs.__init__(self, device=device)
        super().__init__(env, "numpy", "torch", target_device=device)
        self.device = device
