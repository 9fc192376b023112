"""A wrapper for using JAX vector environments with PyTorch."""

from __future__ import annotations

from gymcore.wrappers.array_conversion import ToTorch
from gymcore.wrappers.vector.array_conversion import ArrayConversion

__all__ = ["JaxToTorch"]


class JaxToTorch(ToTorch, ArrayConversion):
    """Use a vector environment that works on JAX arrays with PyTorch.

    Arrays share memory where possible; see `gymcore.wrappers.array_conversion`.

    Examples:
        >>> import gymcore
        >>> envs = JaxToTorch(gymcore.make_vec("phys2d/CartPole-v1", num_envs=2))
        >>> envs.reset(seed=1)[0].shape
        torch.Size([2, 4])
    """

    _library = "jax.numpy"
