"""Elements of nested spaces as arrays with one axis, and back."""

from __future__ import annotations

import itertools
from collections.abc import Sequence as SequenceABC
from functools import singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.spaces._flat_space import flat_dtype, flatdim, flatten_space, parts
from gymcore.spaces._stacking import batch_space, stack, unstack
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

Array = npt.NDArray[Any]


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
        InvalidArgument: If `x` is not an element of the space in a way that shows.
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
    result = np.empty(flatdim(space), dtype=flat_dtype(space))
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
    flat = _split(space, x) if space.is_np_flattenable else x
    return tuple([unflatten(part, value) for part, value in zip(space.spaces, flat, strict=True)])


@unflatten.register(Dict)
def _unflatten_dict(space: Dict, x: Any) -> dict[str, Any]:
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
    ends = list(itertools.accumulate(map(flatdim, parts(space)), initial=0))
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
    """Take a batch apart, or raise."""
    items = unstack(batch_space(space, 1), batch)
    if items is None:
        raise error.InvalidArgument(f"{batch} is not a batch of elements of {space}")
    return items
