"""Functions for spaces of all kinds: flatten elements, compare structures.

Each function dispatches on the type of its first argument, and takes types that the package does
not know through its `register` method.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence as SequenceABC
from functools import singledispatch
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.spaces.batching import batch_space, stack, unstack
from gymcore.spaces.box import Box
from gymcore.spaces.dict import Dict
from gymcore.spaces.discrete import Discrete
from gymcore.spaces.graph import Graph, GraphInstance
from gymcore.spaces.multi_binary import MultiBinary
from gymcore.spaces.multi_discrete import MultiDiscrete
from gymcore.spaces.oneof import OneOf
from gymcore.spaces.sequence import Sequence
from gymcore.spaces.space import Space
from gymcore.spaces.text import Text
from gymcore.spaces.tuple import Tuple

__all__ = [
    "FlatType",
    "flatdim",
    "flatten",
    "flatten_space",
    "is_space_dtype_shape_equiv",
    "unflatten",
]

Array: TypeAlias = npt.NDArray[Any]
FlatType: TypeAlias = Array | dict[str, Any] | tuple[Any, ...] | GraphInstance

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
    return sum(flatdim(part) for part in _parts(space))


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
    dtype = _flat_dtype(space)
    low = np.full(length, min([box.low.min() for box in filled], default=0), dtype=dtype)
    high = np.full(length, max([box.high.max() for box in filled], default=0), dtype=dtype)
    low[0], high[0] = 0, len(boxes) - 1
    return Box(low, high, dtype=dtype)


def _parts(space: Tuple | Dict | OneOf) -> tuple[Space[Any], ...]:
    """Return the subspaces of a space, in its order."""
    spaces = space.spaces
    return tuple(spaces.values()) if isinstance(spaces, dict) else spaces


def _flat_dtype(space: Space[Any]) -> np.dtype[Any]:
    """Return the dtype of flattened elements, for a space whose elements flatten to arrays."""
    if isinstance(space, (Box, Discrete, MultiBinary, MultiDiscrete)):
        return space.dtype
    if isinstance(space, Text):
        return np.dtype(np.int32)
    if isinstance(space, (Tuple, Dict, OneOf)):
        return np.result_type(*[_flat_dtype(part) for part in _parts(space)])
    return cast("np.dtype[Any]", flatten_space(space).dtype)


def _flat_boxes(space: Tuple | Dict | OneOf) -> list[Any]:
    """Return the boxes that the subspaces flatten to."""
    return [flatten_space(part) for part in _parts(space)]


def _joined(space: Tuple | Dict) -> Box:
    """Return the box that holds the flattened subspaces one behind the other."""
    if not len(space):
        raise error.InvalidArgument(f"{space} has no subspaces to flatten")
    boxes = _flat_boxes(space)
    low: npt.NDArray[Any] = np.concatenate([box.low for box in boxes])
    high: npt.NDArray[Any] = np.concatenate([box.high for box in boxes])
    return Box(low=low, high=high, dtype=np.result_type(*[box.dtype for box in boxes]))


@singledispatch
def flatten(space: Space[Any], x: Any) -> Any:
    """Flatten an element of a space.

    Numbers and arrays become arrays with one axis, integers of `Discrete` and `MultiDiscrete`
    one-hot vectors, strings the indices of their characters (short ones filled up with the number
    of characters), and tuples and dicts are joined. An element of a `OneOf` becomes the index of
    the subspace, the flattened value, and copies of its first number up to the common length.

    Args:
        space: The space. `flatten.register` adds a type of space.
        x: An element of it.

    Returns:
        A new array `[flatdim(space)]` in the dtype of `flatten_space(space)`. Where a part of the
        space has no fixed size (`Graph`, `Sequence`), a value of the same form with flattened
        parts.

    Raises:
        InvalidArgument: If `x` is visibly not an element of the space.
        NotImplementedError: If nothing is registered for the type of the space.

    Example:
        >>> flatten(Tuple((Discrete(3), Box(0, 9, shape=(2,)))), (1, np.array([4.0, 5.0])))
        array([0., 1., 0., 4., 5.])
    """
    raise NotImplementedError(f"Unknown space: `{space}`")


@flatten.register(Box)
@flatten.register(MultiBinary)
def _flatten_array(space: Box | MultiBinary, x: Any) -> Array:
    return np.asarray(x, dtype=space.dtype).flatten()


@flatten.register(Discrete)
def _flatten_discrete(space: Discrete, x: Any) -> Array:
    position = x - space.start
    if not 0 <= position < space.n:
        raise error.InvalidArgument(f"{x} is not an element of {space}")
    onehot = np.zeros(space.n, dtype=space.dtype)
    onehot[position] = 1
    return onehot


@flatten.register(MultiDiscrete)
def _flatten_multi_discrete(space: MultiDiscrete, x: Any) -> Array:
    values = np.asarray(x)
    positions = values - space.start
    inside = (positions >= 0) & (positions < space.nvec)
    if values.shape != space.shape or b"\0" in inside.tobytes():
        raise error.InvalidArgument(f"{x} is not an element of {space}")
    offsets, length = _onehot_offsets(space)
    onehot = np.zeros(length, dtype=space.dtype)
    onehot[offsets + positions.ravel()] = 1
    return onehot


@flatten.register(Text)
def _flatten_text(space: Text, x: str) -> Array:
    if x not in space:
        raise error.InvalidArgument(f"{x!r} is not an element of {space}")
    indices = np.full(space.max_length, len(space.character_set), dtype=np.int32)
    indices[: len(x)] = [space.character_index(char) for char in x]
    return indices


@flatten.register(Tuple)
def _flatten_tuple(space: Tuple, x: Any) -> Array | tuple[Any, ...]:
    flat = [flatten(part, value) for part, value in zip(space.spaces, x, strict=True)]
    return _join(space, flat) if space.is_np_flattenable else tuple(flat)


@flatten.register(Dict)
def _flatten_dict(space: Dict, x: Any) -> Array | dict[str, Any]:
    flat = {key: flatten(part, x[key]) for key, part in space.spaces.items()}
    return _join(space, list(flat.values())) if space.is_np_flattenable else flat


@flatten.register(Graph)
def _flatten_graph(space: Graph, x: GraphInstance) -> GraphInstance:
    nodes = _flatten_batch(space.node_space, x.nodes)
    edges = None
    if x.edges is not None and space.edge_space is not None:
        edges = _flatten_batch(space.edge_space, x.edges)
    return GraphInstance(nodes, edges, x.edge_links)


@flatten.register(Sequence)
def _flatten_sequence(space: Sequence, x: Any) -> Any:
    if space.stack:
        return _flatten_batch(space.feature_space, x)
    return tuple([flatten(space.feature_space, item) for item in x])


@flatten.register(OneOf)
def _flatten_one_of(space: OneOf, x: tuple[int, Any]) -> Array:
    chosen, value = x
    result = np.empty(flatdim(space), dtype=_flat_dtype(space))
    flat = flatten(space.spaces[chosen], value)
    end = 1 + len(flat)
    result[0] = chosen
    result[1:end] = flat
    result[end:] = flat[0] if len(flat) else 0
    return result


@singledispatch
def unflatten(space: Space[Any], x: Any) -> Any:
    """Turn a flattened element back into the element.

    Args:
        space: The space. `unflatten.register` adds a type of space.
        x: What `flatten(space, ...)` returned.

    Returns:
        The element, with the dtypes of the space. Arrays may be views of `x`.

    Raises:
        InvalidArgument: If `x` is not a flattened element.
        NotImplementedError: If nothing is registered for the type of the space.

    Example:
        >>> unflatten(Tuple((Discrete(3), MultiBinary(2))), np.array([1, 0, 0, 1, 0]))[1]
        array([1, 0], dtype=int8)
    """
    raise NotImplementedError(f"Unknown space: `{space}`")


@unflatten.register(Box)
@unflatten.register(MultiBinary)
def _unflatten_array(space: Box | MultiBinary, x: Any) -> Array:
    return np.asarray(x, dtype=space.dtype).reshape(space.shape)


@unflatten.register(Discrete)
def _unflatten_discrete(space: Discrete, x: Any) -> Any:
    nonzero = np.nonzero(x)[0]
    if not len(nonzero) or nonzero[0] >= space.n:
        raise error.InvalidArgument(
            f"{x} is not a valid one-hot encoded vector and can not be unflattened to space "
            f"{space}. Not all valid samples in a flattened space can be unflattened."
        )
    return space.start + space.dtype.type(nonzero[0])


@unflatten.register(MultiDiscrete)
def _unflatten_multi_discrete(space: MultiDiscrete, x: Any) -> Any:
    offsets, length = _onehot_offsets(space)
    nonzero = np.nonzero(x)[0]
    positions = nonzero - offsets if len(nonzero) == len(offsets) else np.array([-1])
    if np.shape(x) != (length,) or ((positions < 0) | (positions >= space.nvec.ravel())).any():
        raise error.InvalidArgument(
            f"{x} is not a concatenation of one-hot encoded vectors and can not be unflattened "
            f"to space {space}. Not all valid samples in a flattened space can be unflattened."
        )
    return positions.astype(space.dtype).reshape(space.shape) + space.start


@unflatten.register(Text)
def _unflatten_text(space: Text, x: Any) -> str:
    characters = space.character_list
    indices = np.asarray(x).astype(np.int64).tolist()
    return "".join([characters[i] for i in indices if i < len(characters)])


@unflatten.register(Tuple)
def _unflatten_tuple(space: Tuple, x: Any) -> tuple[Any, ...]:
    _check_flattened(space, x, tuple, "tuples")
    flat = _split(space, x) if space.is_np_flattenable else x
    return tuple([unflatten(part, value) for part, value in zip(space.spaces, flat, strict=True)])


@unflatten.register(Dict)
def _unflatten_dict(space: Dict, x: Any) -> dict[str, Any]:
    _check_flattened(space, x, dict, "dictionary")
    if space.is_np_flattenable:
        x = dict(zip(space.spaces, _split(space, x), strict=True))
    return {key: unflatten(part, x[key]) for key, part in space.spaces.items()}


@unflatten.register(Graph)
def _unflatten_graph(space: Graph, x: GraphInstance) -> GraphInstance:
    nodes = _unflatten_batch(space.node_space, x.nodes)
    edges = None
    if x.edges is not None and space.edge_space is not None:
        edges = _unflatten_batch(space.edge_space, x.edges)
    return GraphInstance(nodes, edges, x.edge_links)


@unflatten.register(Sequence)
def _unflatten_sequence(space: Sequence, x: Any) -> Any:
    if space.stack:
        return _unflatten_batch(space.feature_space, x)
    return tuple([unflatten(space.feature_space, item) for item in x])


@unflatten.register(OneOf)
def _unflatten_one_of(space: OneOf, x: Any) -> tuple[np.int64, Any]:
    chosen = np.int64(x[0])
    if not 0 <= chosen < len(space.spaces):
        raise error.InvalidArgument(
            f"{x} cannot be unflattened to space {space}: its first number, the index of the "
            f"subspace, is not below {len(space.spaces)}"
        )
    part = space.spaces[chosen]
    return chosen, unflatten(part, np.asarray(x)[1 : 1 + flatdim(part)])


def _check_flattened(space: Tuple | Dict, x: Any, container: type, containers: str) -> None:
    """Raise if `x` is not of the type that `flatten` returns."""
    if space.is_np_flattenable:
        if not isinstance(x, np.ndarray):
            raise error.FailedTypeCheck(
                "x must be a numpy array when unflattening a numpy-flattenable space: "
                f"{space} is numpy-flattenable. Thus, you should only unflatten numpy arrays for "
                f"this space. Got a {type(x)}"
            )
    elif not isinstance(x, container):
        raise error.FailedTypeCheck(
            f"{space} is not numpy-flattenable. Thus, you should only unflatten {containers} for "
            f"this space. Got a {type(x)}"
        )


def _onehot_offsets(space: MultiDiscrete) -> tuple[Array, int]:
    """Return where the one-hot vector of each element starts, and the length of all together."""
    sizes = space.nvec.ravel().astype(np.int64)
    ends = sizes.cumsum()
    return ends - sizes, int(ends[-1]) if len(ends) else 0


def _join(space: Tuple | Dict, flat: SequenceABC[Array]) -> Array:
    """Put the flattened parts of an element one behind the other."""
    if not flat:
        raise error.InvalidArgument(f"{space} has no subspaces to flatten")
    return np.concatenate(flat)


def _split(space: Tuple | Dict, x: Any) -> list[Array]:
    """Cut a flattened element into the flattened parts."""
    ends = list(itertools.accumulate(map(flatdim, _parts(space)), initial=0))
    array = np.asarray(x)
    if array.shape != (ends[-1],):
        raise error.InvalidArgument(
            f"expected an array of shape ({ends[-1]},) to unflatten to space {space}, "
            f"actual shape: {array.shape}"
        )
    return [array[start:end] for start, end in itertools.pairwise(ends)]


def _flatten_batch(space: Space[Any], batch: Any) -> Any:
    """Flatten each element of a batch."""
    items = _elements(space, batch)
    return stack(flatten_space(space), [flatten(space, item) for item in items])


def _unflatten_batch(space: Space[Any], batch: Any) -> Any:
    """Unflatten each element of a batch."""
    items = _elements(flatten_space(space), batch)
    return stack(space, [unflatten(space, item) for item in items])


def _elements(space: Space[Any], batch: Any) -> list[Any]:
    """Split a batch into its elements, or raise."""
    items = unstack(batch_space(space, 1), batch)
    if items is None:
        raise error.InvalidArgument(f"{batch} is not a batch of elements of {space}")
    return items


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
