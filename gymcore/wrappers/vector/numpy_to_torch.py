"""A wrapper that lets NumPy vector environments be used with PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gymcore.utils import RecordConstructorArgs
from gymcore.wrappers.vector.array_conversion import ArrayConversion

if TYPE_CHECKING:
    from gymcore.vector.vector_env import VectorEnv

__all__ = ["NumpyToTorch"]


class NumpyToTorch(ArrayConversion):
    """Use a vector environment whose arrays are NumPy's with PyTorch.

    Arrays share their memory where they can; see `gymcore.wrappers.array_conversion`.

    Attributes:
        device: Where tensors for the caller are put; None for the default.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], device: Any = None) -> None:
        """Wrap a vector environment; the arguments are those of `gymcore.wrappers.NumpyToTorch`."""
        RecordConstructorArgs.__init__(self, device=device)
        super().__init__(env, "numpy", "torch", target_device=device)
        self.device = device
