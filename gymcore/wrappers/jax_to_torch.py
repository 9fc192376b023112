"""A wrapper for using JAX environments with PyTorch."""

from __future__ import annotations

from gymcore.wrappers.array_conversion import ArrayConversion, Device, ToTorch
from gymcore.wrappers.array_conversion import to_jax as torch_to_jax
from gymcore.wrappers.array_conversion import to_torch as jax_to_torch

__all__ = ["Device", "JaxToTorch", "jax_to_torch", "torch_to_jax"]


class JaxToTorch(ToTorch, ArrayConversion):
    """Use an environment that works on JAX arrays with PyTorch.

    Arrays share memory where possible; see `gymcore.wrappers.array_conversion`.

    Examples:
        >>> import gymcore
        >>> env = JaxToTorch(gymcore.make("phys2d/CartPole-v1"))
        >>> env.reset(seed=1)[0].shape
        torch.Size([4])
    """

    _library = "jax.numpy"
