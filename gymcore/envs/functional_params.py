"""What the environments over JAX functions share: parameters that JAX knows, and pictures."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from typing_extensions import Self, dataclass_transform

from gymcore.envs.functional_jax_env import load_jax
from gymcore.rendering.window import load_pygame

if TYPE_CHECKING:
    import pygame
    from numpy.typing import NDArray

ParamsType = TypeVar("ParamsType", bound="FunctionalParams")


class FunctionalParams:
    """A base for parameters; see `functional_params`."""

    def replace(self, **updates: Any) -> Self:
        """Return a copy with other values of some fields.

        Args:
            **updates: Values by the names of fields.
        """
        return dataclasses.replace(self, **updates)  # type: ignore[type-var]


@dataclass_transform(frozen_default=True)
def functional_params(cls: type[ParamsType]) -> type[ParamsType]:
    """Make a class a frozen dataclass, of which every field is a leaf for JAX's transformations.

    So parameters may be arguments of what `jax.jit`, `jax.vmap` and `jax.grad` return, where a
    field may be an array with a row a lane. The class itself serves as the default parameters.

    Args:
        cls: A subclass of `FunctionalParams` with a default for every field.

    Raises:
        DependencyNotInstalled: if JAX is missing.
    """
    made = dataclasses.dataclass(frozen=True)(cls)
    names = [field.name for field in dataclasses.fields(made)]  # type: ignore[arg-type]
    load_jax().tree_util.register_dataclass(made, data_fields=names, meta_fields=[])
    return made


def new_picture(width: int, height: int) -> pygame.Surface:
    """Return a surface to draw on; no display is opened.

    Raises:
        DependencyNotInstalled: if pygame is missing.
    """
    surface: pygame.Surface = load_pygame().Surface((width, height), depth=24)
    return surface


def as_frame(surface: pygame.Surface) -> NDArray[np.uint8]:
    """Return a copy of what is on a surface, [height, width, 3] uint8."""
    pixels = load_pygame().surfarray.array3d(surface)
    return np.ascontiguousarray(pixels.swapaxes(0, 1))
