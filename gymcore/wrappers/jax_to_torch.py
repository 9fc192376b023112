"""A wrapper that lets JAX environments be used with PyTorch."""

from __future__ import annotations

from gymcore.wrappers.array_conversion import ArrayConversion, Device, ToTorch
from gymcore.wrappers.array_conversion import to_jax as torch_to_jax
from gymcore.wrappers.array_conversion import to_torch as jax_to_torch

__all__ = ["Device", "JaxToTorch", "jax_to_torch", "torch_to_jax"]


class JaxToTorch(ToTorch, ArrayConversion):
    """Use an environment whose arrays are JAX's with PyTorch.

    Arrays share their memory where they can; see `gymcore.wrappers.array_conversion`.
    """

    _library = "jax.numpy"
