"""A wrapper that lets JAX environments be used with NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gymcore.wrappers.array_conversion import (
    ArrayConversion,
    array_conversion,
    module_name_to_namespace,
)

if TYPE_CHECKING:
    from gymcore.core import Env

__all__ = ["JaxToNumpy", "jax_to_numpy", "numpy_to_jax"]


def jax_to_numpy(value: Any, device: Any = None) -> Any:
    """Return a value whose arrays are NumPy's; see `array_conversion`."""
    return array_conversion(value, module_name_to_namespace("numpy"), device)


def numpy_to_jax(value: Any, device: Any = None) -> Any:
    """Return a value whose arrays are JAX's; see `array_conversion`."""
    return array_conversion(value, module_name_to_namespace("jax.numpy"), device)


class JaxToNumpy(ArrayConversion):
    """Use an environment whose arrays are JAX's with NumPy.

    Arrays share their memory where they can; see `gymcore.wrappers.array_conversion`.
    """

    def __init__(self, env: Env[Any, Any]) -> None:
        """Wrap `env`.

        Args:
            env: The environment.

        Raises:
            DependencyNotInstalled: if JAX is not installed.
        """
        super().__init__(env, "jax.numpy", "numpy")
