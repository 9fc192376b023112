"""Functions over spaces of all kinds: flatten elements, compare forms.

Each function dispatches on the type of its first argument, and takes types that the package does
not know through its `register` method.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy.typing as npt

from gymcore.spaces._equivalence import is_space_dtype_shape_equiv
from gymcore.spaces._flat_space import flatdim, flatten_space
from gymcore.spaces._flatten import flatten, unflatten
from gymcore.spaces.graph import GraphInstance

FlatType: TypeAlias = npt.NDArray[Any] | dict[str, Any] | tuple[Any, ...] | GraphInstance

__all__ = [
    "FlatType",
    "flatdim",
    "flatten",
    "flatten_space",
    "is_space_dtype_shape_equiv",
    "unflatten",
]
