"""Functions for all kinds of spaces: flatten elements, compare structures.

Each function dispatches on the type of its first argument. Its `register` method adds support for
other types.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Mapping
from collections.abc import Sequence as SequenceABC
from functools import singledispatch
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.spaces.batching import batch_space, stack, unstack, with_parts
from gymcore.spaces.box import Box
from gymcore.spaces.composite import Composite
from gymcore.spaces.dict import Dict
from gymcore.spaces.discrete import Discrete
from gymcore.spaces.graph import Graph, GraphInstance
from gymcore.spaces.multi_binary import MultiBinary
from gymcore.spaces.multi_discrete import MultiDiscrete
from gymcore.spaces.oneof import OneOf
from gymcore.spaces.sequence import Sequence
from gymcore.spaces.space import Array, ArraySpace, DType, Space
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

FlatType: TypeAlias = Array | dict[str, object] | tuple[object, ...] | GraphInstance

_NOT_AN_ARRAY = (
    "{} cannot be flattened to a numpy array, probably because it contains a `Graph` or "
    "`Sequence` subspace"
)


@singledispatch
def flatdim(space: Space) -> int:
    """Return the length of flattened elements.

    Args:
        space: Space whose elements flatten to arrays. Use `flatdim.register` to add a type.

    Returns:
        The length of `flatten(space, x)` for every element `x`.

    Raises:
        InvalidArgument: If elements of the space do not flatten to arrays of one length.
        NotImplementedError: If the type of the space is not registered.

    Examples:
        >>> flatdim(Dict(position=Box(-1, 1, shape=(2,)), velocity=Discrete(3)))
        5
    """
    if not space.is_np_flattenable:
        raise error.InvalidArgument(_NOT_AN_ARRAY.format(space))
    raise NotImplementedError(f"Unknown space: `{space}`")


@flatdim.register(Box)
@flatdim.register(MultiBinary)
def _flatdim_array(space: Box | MultiBinary) -> int:
    return int(math.prod(space.shape))


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
def _flatdim_composite(space: Tuple | Dict) -> int:
    if not space.is_np_flattenable:
        raise error.InvalidArgument(_NOT_AN_ARRAY.format(space))
    return sum(flatdim(part) for part in space._parts())


@flatdim.register(Graph)
def _flatdim_graph(space: Graph) -> int:
    raise error.InvalidArgument("Cannot get flattened size as the Graph Space has a dynamic size.")


@flatdim.register(OneOf)
def _flatdim_one_of(space: OneOf) -> int:
    return 1 + max(flatdim(part) for part in space.spaces)


@singledispatch
def flatten_space(space: Space) -> Box | Dict | Tuple | Graph | Sequence:
    """Return the space of flattened elements.

    Args:
        space: A space. Use `flatten_space.register` to add a type.

    Returns:
        The space that contains `flatten(space, x)` for every element `x`: a `Box` of shape
        `(flatdim(space),)` if elements flatten to arrays, otherwise a space of the same form
        with flattened subspaces. Not every element of it can be unflattened.

    Raises:
        InvalidArgument: If the space has no elements to flatten, or is a `OneOf` with a subspace
            whose elements do not flatten to arrays.
        NotImplementedError: If the type of the space is not registered.

    Examples:
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
    # One index more than the number of characters: it pads short strings.
    return Box(0, len(space.character_set), (space.max_length,), np.int32)


@flatten_space.register(Tuple)
@flatten_space.register(Dict)
def _flatten_space_composite(space: Tuple | Dict) -> Box | Tuple | Dict:
    flat = [flatten_space(part) for part in space._parts()]
    if not space.is_np_flattenable:
        return with_parts(space, flat)
    if not flat:
        raise error.InvalidArgument(f"{space} has no subspaces to flatten")
    boxes = cast("list[Box]", flat)
    low: Array = np.concatenate([box.low for box in boxes])
    high: Array = np.concatenate([box.high for box in boxes])
    return Box(low=low, high=high, dtype=np.result_type(*[box.dtype for box in boxes]))


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
    boxes = cast("list[Box]", [flatten_space(part) for part in space.spaces])
    filled = [box for box in boxes if box.low.size]
    dtype = _flat_dtype(space)
    low = np.full(length, min([box.low.min() for box in filled], default=0), dtype=dtype)
    high = np.full(length, max([box.high.max() for box in filled], default=0), dtype=dtype)
    low[0], high[0] = 0, len(boxes) - 1
    return Box(low, high, dtype=dtype)


def _flat_dtype(space: Space) -> DType:
    """Return the dtype of flattened elements, for a space whose elements flatten to arrays."""
    if isinstance(space, (Box, Discrete, MultiBinary, MultiDiscrete)):
        return space.dtype
    if isinstance(space, Text):
        return np.dtype(np.int32)
    if isinstance(space, (Tuple, Dict, OneOf)):
        return np.result_type(*[_flat_dtype(part) for part in space._parts()])
    return cast("DType", flatten_space(space).dtype)


@singledispatch
def flatten(space: Space, x: object) -> Any:
    """Flatten an element of a space.

    Numbers and arrays become one-dimensional arrays; integers of `Discrete` and `MultiDiscrete`
    become one-hot vectors; strings become the indices of their characters (short strings are padded
    with the number of characters); tuples and dicts are joined. An element of a `OneOf` becomes
    the index of the subspace, the flattened value, and copies of its first number as padding.

    Args:
        space: The space. Use `flatten.register` to add a type.
        x: An element of the space.

    Returns:
        A new array `[flatdim(space)]` with the dtype of `flatten_space(space)`. If a part of
        the space has no fixed size (`Graph`, `Sequence`), a value of the same form with
        flattened parts.

    Raises:
        InvalidArgument: If `x` is found not to be an element of the space.
        NotImplementedError: If the type of the space is not registered.

    Examples:
        >>> flatten(Tuple((Discrete(3), Box(0, 9, shape=(2,)))), (1, np.array([4.0, 5.0])))
        array([0., 1., 0., 4., 5.])
    """
    raise NotImplementedError(f"Unknown space: `{space}`")


@flatten.register(Box)
@flatten.register(MultiBinary)
def _flatten_array(space: Box | MultiBinary, x: npt.ArrayLike) -> Array:
    return np.asarray(x, dtype=space.dtype).flatten()


@flatten.register(Discrete)
def _flatten_discrete(space: Discrete, x: int | np.integer) -> Array:
    position = int(x) - int(space.start)
    if not 0 <= position < space.n:
        raise error.InvalidArgument(f"{x} is not an element of {space}")
    onehot = np.zeros(space.n, dtype=space.dtype)
    onehot[position] = 1
    return onehot


@flatten.register(MultiDiscrete)
def _flatten_multi_discrete(space: MultiDiscrete, x: Array | SequenceABC[int]) -> Array:
    values = np.asarray(x)
    positions = values - space.start.astype(space.nvec.dtype)
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
@flatten.register(Dict)
def _flatten_composite(space: Tuple | Dict, x: Any) -> FlatType:
    if isinstance(space, Dict):
        flat = [flatten(part, x[key]) for key, part in space.spaces.items()]
    else:
        flat = [flatten(part, value) for part, value in zip(space.spaces, x, strict=True)]
    if not space.is_np_flattenable:
        parts: FlatType = space._pack(flat)
        return parts
    if not flat:
        raise error.InvalidArgument(f"{space} has no subspaces to flatten")
    return np.concatenate(flat)


@flatten.register(Graph)
def _flatten_graph(space: Graph, x: GraphInstance) -> GraphInstance:
    return _map_graph(_flatten_batch, space, x)


@flatten.register(Sequence)
def _flatten_sequence(space: Sequence, x: Iterable[object]) -> object:
    if space.stack:
        return _flatten_batch(space.feature_space, x)
    return tuple([flatten(space.feature_space, item) for item in x])


@flatten.register(OneOf)
def _flatten_one_of(space: OneOf, x: tuple[int, object]) -> Array:
    chosen, value = x
    result = np.empty(flatdim(space), dtype=_flat_dtype(space))
    flat = flatten(space.spaces[chosen], value)
    end = 1 + len(flat)
    result[0] = chosen
    result[1:end] = flat
    result[end:] = flat[0] if len(flat) else 0
    return result


@singledispatch
def unflatten(space: Space, x: object) -> Any:
    """Convert a flattened element back to the original element.

    Args:
        space: The space. Use `unflatten.register` to add a type.
        x: The result of `flatten(space, ...)`.

    Returns:
        The element, with the dtypes of the space. Arrays may be views of `x`.

    Raises:
        InvalidArgument: If `x` is not a flattened element.
        NotImplementedError: If the type of the space is not registered.

    Examples:
        >>> unflatten(Tuple((Discrete(3), MultiBinary(2))), np.array([1, 0, 0, 1, 0]))[1]
        array([1, 0], dtype=int8)
    """
    raise NotImplementedError(f"Unknown space: `{space}`")


@unflatten.register(Box)
@unflatten.register(MultiBinary)
def _unflatten_array(space: Box | MultiBinary, x: npt.ArrayLike) -> Array:
    return np.asarray(x, dtype=space.dtype).reshape(space.shape)


@unflatten.register(Discrete)
def _unflatten_discrete(space: Discrete, x: Array) -> np.integer:
    nonzero = np.nonzero(x)[0]
    if not len(nonzero) or nonzero[0] >= space.n:
        raise error.InvalidArgument(
            f"{x} is not a valid one-hot encoded vector and can not be unflattened to space "
            f"{space}. Not all valid samples in a flattened space can be unflattened."
        )
    return cast("np.integer", space.dtype.type(int(space.start) + int(nonzero[0])))


@unflatten.register(MultiDiscrete)
def _unflatten_multi_discrete(space: MultiDiscrete, x: Array) -> Array:
    offsets, length = _onehot_offsets(space)
    nonzero = np.nonzero(x)[0]
    positions = nonzero - offsets if len(nonzero) == len(offsets) else np.array([-1])
    if np.shape(x) != (length,) or ((positions < 0) | (positions >= space.nvec.ravel())).any():
        raise error.InvalidArgument(
            f"{x} is not a concatenation of one-hot encoded vectors and can not be unflattened "
            f"to space {space}. Not all valid samples in a flattened space can be unflattened."
        )
    numbers: Array = positions.astype(space.dtype).reshape(space.shape) + space.start
    return numbers


@unflatten.register(Text)
def _unflatten_text(space: Text, x: npt.ArrayLike) -> str:
    characters = space.character_list
    indices = np.asarray(x).astype(np.int64).tolist()
    return "".join([characters[i] for i in indices if i < len(characters)])


@unflatten.register(Tuple)
@unflatten.register(Dict)
def _unflatten_composite(space: Tuple | Dict, x: object) -> object:
    if space.is_np_flattenable:
        if not isinstance(x, np.ndarray):
            raise error.FailedTypeCheck(
                "x must be a numpy array when unflattening a numpy-flattenable space: "
                f"{space} is numpy-flattenable. Thus, you should only unflatten numpy arrays for "
                f"this space. Got a {type(x)}"
            )
        flat: Collection[object] = _split(space, x)
    else:
        form, forms = (dict, "dictionary") if isinstance(space, Dict) else (tuple, "tuples")
        if not isinstance(x, form):
            raise error.FailedTypeCheck(
                f"{space} is not numpy-flattenable. Thus, you should only unflatten {forms} for "
                f"this space. Got a {type(x)}"
            )
        flat = space._unpack(x)
    pairs = zip(space._parts(), flat, strict=True)
    return space._pack([unflatten(part, value) for part, value in pairs])


@unflatten.register(Graph)
def _unflatten_graph(space: Graph, x: GraphInstance) -> GraphInstance:
    return _map_graph(_unflatten_batch, space, x)


@unflatten.register(Sequence)
def _unflatten_sequence(space: Sequence, x: Iterable[object]) -> object:
    if space.stack:
        return _unflatten_batch(space.feature_space, x)
    return tuple([unflatten(space.feature_space, item) for item in x])


@unflatten.register(OneOf)
def _unflatten_one_of(space: OneOf, x: Array) -> tuple[np.int64, object]:
    chosen = np.int64(x[0])
    if not 0 <= chosen < len(space.spaces):
        raise error.InvalidArgument(
            f"{x} cannot be unflattened to space {space}: its first number, the index of the "
            f"subspace, is not below {len(space.spaces)}"
        )
    part = space.spaces[chosen]
    return chosen, unflatten(part, np.asarray(x)[1 : 1 + flatdim(part)])


def _onehot_offsets(space: MultiDiscrete) -> tuple[Array, int]:
    """Return the start of each element's one-hot vector, and the length of all vectors."""
    sizes = space.nvec.ravel().astype(np.int64)
    ends = sizes.cumsum()
    return ends - sizes, int(ends[-1]) if len(ends) else 0


def _split(space: Tuple | Dict, array: Array) -> list[Array]:
    """Split a flattened element into the flattened parts."""
    ends = list(itertools.accumulate(map(flatdim, space._parts()), initial=0))
    if array.shape != (ends[-1],):
        raise error.InvalidArgument(
            f"expected an array of shape ({ends[-1]},) to unflatten to space {space}, "
            f"actual shape: {array.shape}"
        )
    return [array[start:end] for start, end in itertools.pairwise(ends)]


def _map_graph(
    function: Callable[[Space, object], object], space: Graph, x: GraphInstance
) -> GraphInstance:
    """Apply a function to the nodes and to the edges of a graph."""
    edges = None
    if x.edges is not None and space.edge_space is not None:
        edges = function(space.edge_space, x.edges)
    return GraphInstance(function(space.node_space, x.nodes), edges, x.edge_links)


def _flatten_batch(space: Space, batch: object) -> object:
    items = _elements(space, batch)
    return stack(flatten_space(space), [flatten(space, item) for item in items])


def _unflatten_batch(space: Space, batch: object) -> object:
    items = _elements(flatten_space(space), batch)
    return stack(space, [unflatten(space, item) for item in items])


def _elements(space: Space, batch: object) -> list[object]:
    """Split a batch into its elements; raise if that is impossible."""
    items = unstack(batch_space(space, 1), batch)
    if items is None:
        raise error.InvalidArgument(f"{batch} is not a batch of elements of {space}")
    return items


@singledispatch
def is_space_dtype_shape_equiv(space_1: Space, space_2: Space) -> bool:
    """Return whether two spaces have the same form: equal types, keys, shapes and dtypes.

    Bounds and numbers of values may differ; elements of both spaces fit into the same arrays.

    Args:
        space_1: A space. Use `is_space_dtype_shape_equiv.register` to add a type.
        space_2: A space.

    Returns:
        True if the spaces, and all their subspaces, differ at most in bounds.

    Raises:
        NotImplementedError: If the type of `space_1` is not registered.
        ArgumentTypeError: If `space_1` is not a space.

    Examples:
        >>> is_space_dtype_shape_equiv(Box(0, 1, shape=(2,)), Box(-5, 5, shape=(2,)))
        True
    """
    if isinstance(space_1, Space):
        raise NotImplementedError(
            "`check_dtype_shape_equivalence` doesn't support Generic Gymnasium Spaces, "
            f"{type(space_1)}"
        )
    raise error.ArgumentTypeError(f"space_1: expected a Space, got {type(space_1)}")


@is_space_dtype_shape_equiv.register(ArraySpace)
def _equiv_array(space_1: ArraySpace, space_2: Space) -> bool:
    return (
        type(space_1) is type(space_2)
        and space_1.shape == space_2.shape
        and space_1.dtype == space_2.dtype
    )


@is_space_dtype_shape_equiv.register(Text)
def _equiv_text(space_1: Text, space_2: Space) -> bool:
    return (
        isinstance(space_2, Text)
        and space_1.max_length == space_2.max_length
        and space_1.character_set == space_2.character_set
    )


_COMPOSED = (Tuple, Dict, OneOf, Graph, Sequence)


@is_space_dtype_shape_equiv.register(Tuple)
@is_space_dtype_shape_equiv.register(Dict)
@is_space_dtype_shape_equiv.register(OneOf)
@is_space_dtype_shape_equiv.register(Graph)
@is_space_dtype_shape_equiv.register(Sequence)
def _equiv_composed(space_1: Space, space_2: Space) -> bool:
    if not any(isinstance(space_1, kind) and isinstance(space_2, kind) for kind in _COMPOSED):
        return False
    parts_1, parts_2 = _named_parts(space_1), _named_parts(space_2)
    return parts_1.keys() == parts_2.keys() and all(
        is_space_dtype_shape_equiv(part, parts_2[key]) for key, part in parts_1.items()
    )


def _named_parts(space: Space) -> Mapping[Any, Space]:
    """Return the subspaces by name; the names differ for spaces of different forms."""
    if isinstance(space, Sequence):
        return {"stack" if space.stack else "feature": space.feature_space}
    if isinstance(space, Graph):
        edges = {} if space.edge_space is None else {"edge": space.edge_space}
        return {"node": space.node_space, **edges}
    return dict(space._items()) if isinstance(space, Composite) else {}
