"""Whether elements of two spaces can be stored in the same arrays."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from gymcore import error
from gymcore.spaces.box import Box
from gymcore.spaces.dict import Dict
from gymcore.spaces.discrete import Discrete
from gymcore.spaces.graph import Graph
from gymcore.spaces.multi_binary import MultiBinary
from gymcore.spaces.multi_discrete import MultiDiscrete
from gymcore.spaces.oneof import OneOf
from gymcore.spaces.sequence import Sequence
from gymcore.spaces.space import Space
from gymcore.spaces.text import Text
from gymcore.spaces.tuple import Tuple


@singledispatch
def is_space_dtype_shape_equiv(space_1: Space[Any], space_2: Space[Any]) -> bool:
    """Tell whether two spaces have the same form: equal types, keys, shapes and dtypes.

    Bounds and numbers of values may differ, so that elements of both fit the same arrays.

    Args:
        space_1: A space. `is_space_dtype_shape_equiv.register` adds a type of space.
        space_2: A space.

    Returns:
        True if the spaces, and all their subspaces, differ at most in bounds.

    Raises:
        NotImplementedError: If nothing is registered for the type of `space_1`.
        ArgumentTypeError: If `space_1` is not a space.

    Example:
        >>> is_space_dtype_shape_equiv(Box(0, 1, shape=(2,)), Box(-5, 5, shape=(2,)))
        True
    """
    if isinstance(space_1, Space):
        raise NotImplementedError(
            "`check_dtype_shape_equivalence` doesn't support Generic Gymnasium Spaces, "
            f"{type(space_1)}"
        )
    raise error.ArgumentTypeError(f"space_1: expected a Space, got {type(space_1)}")


@is_space_dtype_shape_equiv.register(Box)
@is_space_dtype_shape_equiv.register(Discrete)
@is_space_dtype_shape_equiv.register(MultiDiscrete)
@is_space_dtype_shape_equiv.register(MultiBinary)
def _equiv_array(space_1: Space[Any], space_2: Space[Any]) -> bool:
    return (
        type(space_1) is type(space_2)
        and space_1.shape == space_2.shape
        and space_1.dtype == space_2.dtype
    )


@is_space_dtype_shape_equiv.register(Text)
def _equiv_text(space_1: Text, space_2: Space[Any]) -> bool:
    return (
        isinstance(space_2, Text)
        and space_1.max_length == space_2.max_length
        and space_1.character_set == space_2.character_set
    )


@is_space_dtype_shape_equiv.register(Dict)
def _equiv_dict(space_1: Dict, space_2: Space[Any]) -> bool:
    return (
        isinstance(space_2, Dict)
        and space_1.keys() == space_2.keys()
        and all(
            is_space_dtype_shape_equiv(part, space_2.spaces[key])
            for key, part in space_1.spaces.items()
        )
    )


@is_space_dtype_shape_equiv.register(Tuple)
def _equiv_tuple(space_1: Tuple, space_2: Space[Any]) -> bool:
    return isinstance(space_2, Tuple) and _equiv_all(space_1.spaces, space_2.spaces)


@is_space_dtype_shape_equiv.register(OneOf)
def _equiv_one_of(space_1: OneOf, space_2: Space[Any]) -> bool:
    return isinstance(space_2, OneOf) and _equiv_all(space_1.spaces, space_2.spaces)


@is_space_dtype_shape_equiv.register(Graph)
def _equiv_graph(space_1: Graph, space_2: Space[Any]) -> bool:
    if not isinstance(space_2, Graph) or not is_space_dtype_shape_equiv(
        space_1.node_space, space_2.node_space
    ):
        return False
    if space_1.edge_space is None or space_2.edge_space is None:
        return space_1.edge_space is space_2.edge_space
    return is_space_dtype_shape_equiv(space_1.edge_space, space_2.edge_space)


@is_space_dtype_shape_equiv.register(Sequence)
def _equiv_sequence(space_1: Sequence, space_2: Space[Any]) -> bool:
    return (
        isinstance(space_2, Sequence)
        and space_1.stack is space_2.stack
        and is_space_dtype_shape_equiv(space_1.feature_space, space_2.feature_space)
    )


def _equiv_all(spaces_1: tuple[Space[Any], ...], spaces_2: tuple[Space[Any], ...]) -> bool:
    """Tell whether two tuples of spaces have the same form, space by space."""
    return len(spaces_1) == len(spaces_2) and all(
        map(is_space_dtype_shape_equiv, spaces_1, spaces_2)
    )
