"""The size and the space of flattened elements."""

from __future__ import annotations

from functools import singledispatch
from typing import Any, cast

import numpy as np
import numpy.typing as npt

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

_NOT_AN_ARRAY = (
    "{} cannot be flattened to a numpy array, probably because it contains a `Graph` or "
    "`Sequence` subspace"
)


@singledispatch
def flatdim(space: Space[Any]) -> int:
    """Return the length of a flattened element.

    Args:
        space: A space whose elements flatten to arrays. `flatdim.register` adds a type of space.

    Returns:
        The length of `flatten(space, x)` for every element `x`.

    Raises:
        InvalidArgument: If elements of the space do not flatten to arrays of one length.
        NotImplementedError: If nothing is registered for the type of the space.

    Example:
        >>> flatdim(Dict(position=Box(-1, 1, shape=(2,)), velocity=Discrete(3)))
        5
    """
    if not space.is_np_flattenable:
        raise error.InvalidArgument(_NOT_AN_ARRAY.format(space))
    raise NotImplementedError(f"Unknown space: `{space}`")


@flatdim.register(Box)
@flatdim.register(MultiBinary)
def _flatdim_array(space: Box | MultiBinary) -> int:
    return int(np.prod(space.shape, dtype=np.int64))


@flatdim.register(Discrete)
def _flatdim_discrete(space: Discrete) -> int:
    return int(space.n)


@flatdim.register(MultiDiscrete)
def _flatdim_multi_discrete(space: MultiDiscrete) -> int:
    return sum(space.nvec.ravel().tolist())


@flatdim.register(Text)
def _flatdim_text(space: Text) -> int:
    return space.max_length


@flatdim.register(Tuple)
@flatdim.register(Dict)
def _flatdim_container(space: Tuple | Dict) -> int:
    if not space.is_np_flattenable:
        raise error.InvalidArgument(_NOT_AN_ARRAY.format(space))
    return sum(flatdim(part) for part in parts(space))


@flatdim.register(Graph)
def _flatdim_graph(space: Graph) -> int:
    raise error.InvalidArgument("Cannot get flattened size as the Graph Space has a dynamic size.")


@flatdim.register(OneOf)
def _flatdim_one_of(space: OneOf) -> int:
    return 1 + max(flatdim(part) for part in space.spaces)


@singledispatch
def flatten_space(space: Space[Any]) -> Box | Dict | Tuple | Graph | Sequence:
    """Return the space of flattened elements.

    Args:
        space: Any space. `flatten_space.register` adds a type of space.

    Returns:
        The space that holds `flatten(space, x)` for every element `x`: a `Box` of shape
        `(flatdim(space),)` where elements flatten to arrays, otherwise a space of the same form
        with flattened subspaces. Not every element of it can be unflattened.

    Raises:
        InvalidArgument: If the space has no elements to flatten, or is a `OneOf` with a subspace
            whose elements do not flatten to arrays.
        NotImplementedError: If nothing is registered for the type of the space.

    Example:
        >>> flatten_space(Dict(position=Box(-1, 1, shape=(2,)), velocity=Discrete(3)))
        Box([-1. -1.  0.  0.  0.], 1.0, (5,), float64)
    """
    raise NotImplementedError(f"Unknown space: `{space}`")


@flatten_space.register(Box)
def _flatten_space_box(space: Box) -> Box:
    return Box(space.low.flatten(), space.high.flatten(), dtype=space.dtype)


@flatten_space.register(Discrete)
@flatten_space.register(MultiBinary)
@flatten_space.register(MultiDiscrete)
def _flatten_space_binary(space: Discrete | MultiBinary | MultiDiscrete) -> Box:
    return Box(low=0, high=1, shape=(flatdim(space),), dtype=space.dtype)


@flatten_space.register(Text)
def _flatten_space_text(space: Text) -> Box:
    # One index more than there are characters: it fills up short strings.
    return Box(0, len(space.character_set), (space.max_length,), np.int32)


@flatten_space.register(Tuple)
def _flatten_space_tuple(space: Tuple) -> Box | Tuple:
    if space.is_np_flattenable:
        return _joined(space)
    return Tuple([flatten_space(part) for part in space.spaces])


@flatten_space.register(Dict)
def _flatten_space_dict(space: Dict) -> Box | Dict:
    if space.is_np_flattenable:
        return _joined(space)
    return Dict({key: flatten_space(part) for key, part in space.spaces.items()})


@flatten_space.register(Graph)
def _flatten_space_graph(space: Graph) -> Graph:
    edge_space = None if space.edge_space is None else flatten_space(space.edge_space)
    return Graph(node_space=flatten_space(space.node_space), edge_space=edge_space)


@flatten_space.register(Sequence)
def _flatten_space_sequence(space: Sequence) -> Sequence:
    return Sequence(flatten_space(space.feature_space), stack=space.stack)


@flatten_space.register(OneOf)
def _flatten_space_one_of(space: OneOf) -> Box:
    length = flatdim(space)
    boxes = _flat_boxes(space)
    filled = [box for box in boxes if box.low.size]
    dtype = flat_dtype(space)
    low = np.full(length, min([box.low.min() for box in filled], default=0), dtype=dtype)
    high = np.full(length, max([box.high.max() for box in filled], default=0), dtype=dtype)
    low[0], high[0] = 0, len(boxes) - 1
    return Box(low, high, dtype=dtype)


def parts(space: Tuple | Dict | OneOf) -> tuple[Space[Any], ...]:
    """Return the subspaces of a space, in its order."""
    spaces = space.spaces
    return tuple(spaces.values()) if isinstance(spaces, dict) else spaces


def flat_dtype(space: Space[Any]) -> np.dtype[Any]:
    """Return the dtype of flattened elements, for a space whose elements flatten to arrays."""
    if isinstance(space, (Box, Discrete, MultiBinary, MultiDiscrete)):
        return space.dtype
    if isinstance(space, Text):
        return np.dtype(np.int32)
    if isinstance(space, (Tuple, Dict, OneOf)):
        return np.result_type(*[flat_dtype(part) for part in parts(space)])
    return cast("np.dtype[Any]", flatten_space(space).dtype)


def _flat_boxes(space: Tuple | Dict | OneOf) -> list[Any]:
    """Return the boxes that the subspaces flatten to."""
    return [flatten_space(part) for part in parts(space)]


def _joined(space: Tuple | Dict) -> Box:
    """Return the box that holds the flattened subspaces one behind the other."""
    if not len(space):
        raise error.InvalidArgument(f"{space} has no subspaces to flatten")
    boxes = _flat_boxes(space)
    low: npt.NDArray[Any] = np.concatenate([box.low for box in boxes])
    high: npt.NDArray[Any] = np.concatenate([box.high for box in boxes])
    return Box(low=low, high=high, dtype=np.result_type(*[box.dtype for box in boxes]))
