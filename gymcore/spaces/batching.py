"""Batches of spaces and of their elements.

`batch_space` returns the space of a batch, `create_empty_array` allocates a batch, `concatenate`
fills it with single elements, and `iterate` splits it again. These functions dispatch on the type
of the space; `.register(MySpace)` adds a type. `Graph`, `Sequence` and `OneOf` hold batches
themselves, so their functions are registered in their own modules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import singledispatch
from operator import add, attrgetter, index
from typing import Any, SupportsIndex, TypeAlias, TypeVar

import numpy as np

from gymcore.base import program
from gymcore.base.arguments import MAX_COUNT
from gymcore.error import ArgumentTypeError, CustomSpaceError, InvalidArgument, bridge_hint
from gymcore.spaces.box import Box
from gymcore.spaces.dict import Dict
from gymcore.spaces.discrete import Discrete
from gymcore.spaces.multi_binary import MultiBinary
from gymcore.spaces.multi_discrete import MultiDiscrete
from gymcore.spaces.space import Array, ArraySpace, Space, dtype_limits
from gymcore.spaces.text import Text
from gymcore.spaces.tuple import Tuple
from gymcore_ext.spaces import repeat

__all__ = [
    "batch_differing_spaces",
    "batch_space",
    "concatenate",
    "create_empty_array",
    "iterate",
]

T = TypeVar("T")

Allocate: TypeAlias = Callable[..., Array]

# Upper bound of the seeds of the copies in a batched custom space. Changing it would change the
# samples of a seeded batch.
_SEED_BOUND = 10**8

# Errors raised when a value that is not a batch is read as one.
_NOT_A_BATCH = (TypeError, ValueError, KeyError, IndexError, CustomSpaceError)


def unsupported_space(function: str, space: object) -> Exception:
    """Return the error for a `space` of a type that is not registered with `function`.

    A `CustomSpaceError` for a space, which tells how to register it; otherwise `ArgumentTypeError`.
    """
    kind = type(space)
    if isinstance(space, Space):
        return CustomSpaceError(
            f"Space of type `{kind}` doesn't have an registered `{function}` function. "
            f"Register `{kind}` for `{function}` to support it."
        )
    return ArgumentTypeError(
        f"The space provided to `{function}` is not a {program.package} Space instance, "
        f"type: {kind}, {space}{bridge_hint(space)}"
    )


@singledispatch
def batch_space(space: Space, n: int = 1) -> Space:
    """Return the space of batches of `n` elements of `space`.

    Args:
        space: The space of one element.
        n: Number of elements in a batch.

    Returns:
        A Box for a Box, MultiDiscrete or MultiBinary, with a first axis of length `n`; a
        MultiDiscrete for a Discrete; a Tuple or Dict of batched spaces for a Tuple or Dict; for any
        other space a Tuple of `n` copies with separate seeds. Its generator is a copy of the
        space's.

    Raises:
        ArgumentTypeError: If `space` is not a Space (a `TypeError`).
        InvalidArgument: If `n` is negative or larger than 2**40 (a `ValueError`).

    Examples:
        >>> from gymcore.spaces import Box, Dict, Discrete
        >>> batch_space(Dict(position=Box(-1, 1, (2,)), goal=Discrete(4)), n=5)
        Dict('goal': MultiDiscrete([4 4 4 4 4]), 'position': Box(-1.0, 1.0, (5, 2), float32))
    """
    raise unsupported_space("batch_space", space)


@batch_space.register(Box)
def _batch_box(space: Box, n: int = 1) -> Box:
    return space._repeated(_count(n))


@batch_space.register(Discrete)
def _batch_discrete(space: Discrete, n: int = 1) -> MultiDiscrete:
    n, batch = _count(n), MultiDiscrete(space.n, space.dtype, start=space.start)
    batch._shape = (n,)
    batch.nvec, batch.start = repeat(batch.nvec, n), repeat(batch.start, n)
    return batch._with_generator_of(space)


@batch_space.register(MultiDiscrete)
def _batch_multi_discrete(space: MultiDiscrete, n: int = 1) -> Box:
    batch = Box(space.start, _last(space), dtype=space.dtype)._repeated(_count(n))
    return batch._with_generator_of(space)


def _last(space: MultiDiscrete) -> Array:
    """Return the largest value of each element."""
    # Arithmetic on 0-d arrays gives scalars.
    return np.asarray(space.start + (space.nvec - 1), space.dtype)


@batch_space.register(MultiBinary)
def _batch_multi_binary(space: MultiBinary, n: int = 1) -> Box:
    return Box(0, 1, space.shape, space.dtype)._repeated(_count(n))._with_generator_of(space)


@batch_space.register(Dict)
@batch_space.register(Tuple)
def _batch_composite(space: Tuple | Dict, n: int = 1) -> Tuple | Dict:
    return _with_parts(space, [batch_space(part, n) for part in space._parts()])


def _with_parts(space: Tuple | Dict, parts: list[Space]) -> Tuple | Dict:
    """Return a space of the same form with other subspaces and a copy of its generator."""
    return with_parts(space, parts)._with_generator_of(space)


def with_parts(space: Tuple | Dict, parts: Iterable[Space]) -> Tuple | Dict:
    """Return a space with other subspaces and the same form, including `sort_keys`."""
    packed = space._pack(parts)
    return Dict(packed, sort_keys=space.sort_keys) if isinstance(space, Dict) else Tuple(packed)


@batch_space.register(Space)
def _batch_other(space: Space, n: int = 1) -> Tuple:
    n = _count(n)
    batch = Tuple([deepcopy(space) for _ in range(n)])
    batch._with_generator_of(space)
    # With the same generator, all copies would return the same samples.
    batch.seed(batch.np_random.integers(0, _SEED_BOUND, size=n).tolist())
    return batch._with_generator_of(space)


def _count(n: SupportsIndex) -> int:
    """Return the length of a first axis; raise the same errors as NumPy."""
    count = index(n)
    if count < 0:
        raise InvalidArgument(f"negative dimensions are not allowed, got n={count}")
    if count > MAX_COUNT:
        raise InvalidArgument(f"n: expected at most {MAX_COUNT}, got {count}")
    return count


@singledispatch
def batch_differing_spaces(spaces: Any) -> Space:
    """Return the space of batches with one element of each of `spaces`.

    Args:
        spaces: A sequence of spaces of one type, with the same shape and dtype where they have
            them; bounds, sizes and the contents of Text, Graph, Sequence and OneOf spaces may
            differ.

    Returns:
        As `batch_space`, with each row's own bounds. Its generator is a copy of the first space's.

    Raises:
        InvalidArgument: If `spaces` is empty, or shapes, dtypes, lengths or keys differ.
        ArgumentTypeError: If types differ, or a type has no registered function.

    Examples:
        >>> from gymcore.spaces import Discrete
        >>> batch_differing_spaces([Discrete(3), Discrete(5)])
        MultiDiscrete([3 5])
    """
    if len(spaces) == 0:
        raise InvalidArgument("spaces: Expects a non-empty list of spaces")
    types = [type(space) for space in spaces]
    if len(set(types)) > 1:
        raise ArgumentTypeError(
            f"spaces: Expects all spaces to be of the same type, actual types: {types}"
        )
    batch = batch_differing_spaces.dispatch(types[0])
    if batch is batch_differing_spaces.dispatch(object):
        names = [kind.__name__ for kind in batch_differing_spaces.registry if kind is not object]
        raise ArgumentTypeError(
            "spaces: Requires the Space type to have a registered `batch_differing_space`, "
            f"got {types[0]}, current list: {names}"
        )
    return batch(spaces)


@batch_differing_spaces.register(Box)
def _batch_differing_boxes(spaces: Sequence[Box]) -> Box:
    _check_equal("Expected all dtypes to be equal", [space.dtype for space in spaces])
    _check_equal("Expected all Box.low shape to be equal", [space.shape for space in spaces])
    low = np.array([space.low for space in spaces])
    high = np.array([space.high for space in spaces])
    return Box._from_arrays(low, high, spaces[0].dtype)._with_generator_of(spaces[0])


@batch_differing_spaces.register(Discrete)
def _batch_differing_discretes(spaces: Sequence[Discrete]) -> MultiDiscrete:
    counts, starts = [int(space.n) for space in spaces], [int(space.start) for space in spaces]
    dtypes = [space.dtype for space in spaces]
    # As in Gymnasium, the first of the widest dtypes, which may not hold all values.
    dtype = max(dtypes, key=attrgetter("itemsize"))
    lowest, highest = min(starts), max(map(add, counts, starts)) - 1
    lowest_held, highest_held = dtype_limits(dtype)
    if not (lowest_held <= lowest and max(highest, *counts) <= highest_held):
        wider = np.result_type(*dtypes)
        dtype = wider if wider.kind in "iu" else np.dtype(np.int64 if lowest < 0 else np.uint64)
    return MultiDiscrete(counts, dtype=dtype, start=starts)._with_generator_of(spaces[0])


@batch_differing_spaces.register(MultiDiscrete)
def _batch_differing_multi_discretes(spaces: Sequence[MultiDiscrete]) -> Box:
    _check_equal("Expected all dtypes to be equal", [space.dtype for space in spaces])
    _check_equal("Expects all MultiDiscrete.nvec shape", [space.shape for space in spaces])
    low = np.array([space.start for space in spaces])
    high = np.array(list(map(_last, spaces)))
    return Box._from_arrays(low, high, spaces[0].dtype)._with_generator_of(spaces[0])


@batch_differing_spaces.register(MultiBinary)
def _batch_differing_multi_binaries(spaces: Sequence[MultiBinary]) -> Space:
    _check_equal("Expected all MultiBinary shapes to be equal", [space.shape for space in spaces])
    return batch_space(spaces[0], len(spaces))


@batch_differing_spaces.register(Dict)
@batch_differing_spaces.register(Tuple)
def _batch_differing_composites(spaces: Sequence[Tuple | Dict]) -> Tuple | Dict:
    if isinstance(spaces[0], Dict):
        keys = [list(space.spaces) for space in spaces]
        if any(set(names) != set(keys[0]) for names in keys):
            raise InvalidArgument(
                f"spaces: Expected all Dict spaces to have the same keys, actually {keys}"
            )
    else:
        lengths = [len(space.spaces) for space in spaces]
        _check_equal("Expected all Tuple lengths to be equal", lengths)
    parts = [
        batch_differing_spaces([space.spaces[key] for space in spaces])
        for key, _ in spaces[0]._items()
    ]
    return _with_parts(spaces[0], parts)


@batch_differing_spaces.register(Text)
def batch_differing_others(spaces: Sequence[Space]) -> Tuple:
    """Return a Tuple of copies of spaces whose elements are not arrays."""
    return Tuple([deepcopy(space) for space in spaces])._with_generator_of(spaces[0])


def _check_equal(expectation: str, values: Sequence[object]) -> None:
    if any(value != values[0] for value in values):
        raise InvalidArgument(f"spaces: {expectation}, actually {values}")


@singledispatch
def iterate(space: Space, items: object) -> Iterator[Any]:
    """Return an iterator over the elements of a batch.

    Args:
        space: The space of the batch, as returned by `batch_space`.
        items: An element of that space.

    Returns:
        An iterator over single elements; arrays among them are views of the batch.

    Raises:
        ArgumentTypeError: If `space` is not a Space or has only single elements, or `items` is not
            iterable (a `TypeError`).
        CustomSpaceError: If the type of the space has no registered function.

    Examples:
        >>> import numpy as np
        >>> from gymcore.spaces import Dict, Discrete
        >>> batch = {"goal": np.array([3, 0])}
        >>> list(iterate(batch_space(Dict(goal=Discrete(4)), 2), batch))
        [{'goal': np.int64(3)}, {'goal': np.int64(0)}]
    """
    raise unsupported_space("iterate", space)


@iterate.register(Discrete)
def _iterate_discrete(space: Discrete, items: object) -> Iterator[object]:
    raise ArgumentTypeError("space: Unable to iterate over a space of type `Discrete`.")


@iterate.register(Box)
@iterate.register(MultiDiscrete)
@iterate.register(MultiBinary)
def _iterate_array(space: Space, items: Iterable[T]) -> Iterator[T]:
    try:
        return iter(items)
    except TypeError:
        raise ArgumentTypeError(
            f"items: Unable to iterate over the following elements: {items}"
        ) from None


@iterate.register(Tuple)
def _iterate_tuple(space: Tuple, items: Sequence[object]) -> Iterator[object]:
    unregistered = iterate.dispatch(object)
    if any(iterate.dispatch(type(subspace)) is unregistered for subspace in space.spaces):
        try:
            return iter(items)  # a batched custom space: already a tuple of single elements
        except TypeError as problem:
            custom = [type(part) for part in space.spaces]
            raise CustomSpaceError(
                f"Could not iterate through {space} as no custom iterate function is registered "
                f"for {custom} and `iter(items)` raised the following error: {problem}."
            ) from problem
    return zip(
        *(iterate(subspace, items[i]) for i, subspace in enumerate(space.spaces)), strict=True
    )


@iterate.register(Dict)
def _iterate_dict(space: Dict, items: Mapping[str, object]) -> Iterator[dict[str, object]]:
    columns = [iterate(subspace, items[key]) for key, subspace in space.spaces.items()]
    for row in zip(*columns, strict=True):
        yield dict(zip(space.spaces, row, strict=True))


@singledispatch
def concatenate(space: Space, items: Iterable[object], out: object) -> Any:
    """Join single elements into one batch.

    Args:
        space: The space of a single element (not of the batch).
        items: The elements, as many as the batch has.
        out: The result of `create_empty_array(space, n)`. Its arrays are written in place.

    Returns:
        `out` for a space of arrays; for a Tuple or Dict a new tuple or dict of the arrays in `out`;
        for any other space a tuple of the elements themselves.

    Raises:
        ArgumentTypeError: If `space` is not a Space (a `TypeError`).
        ValueError: If the shape of an element does not fit into `out`.
        TypeError: If the dtype of an element cannot be cast to that of `out`.

    Examples:
        >>> from gymcore.spaces import Box
        >>> space = Box(0, 1, (2,))
        >>> concatenate(space, [space.low, space.high], create_empty_array(space, n=2))
        array([[0., 0.],
               [1., 1.]], dtype=float32)
    """
    raise unsupported_space("concatenate", space)


@concatenate.register(ArraySpace)
def _concatenate_arrays(space: Space, items: Iterable[Array], out: Array) -> Array:
    return np.stack(list(items), axis=0, out=out)


@concatenate.register(Tuple)
@concatenate.register(Dict)
def _concatenate_composite(space: Tuple | Dict, items: Iterable[Any], out: Any) -> object:
    items = list(items)
    return space._pack(
        [concatenate(part, [item[key] for item in items], out[key]) for key, part in space._items()]
    )


@concatenate.register(Space)
def _concatenate_other(space: Space, items: Iterable[T], out: object) -> tuple[T, ...]:
    return tuple(items)


@singledispatch
def create_empty_array(space: Space, n: int = 1, fn: Callable[..., Array] = np.zeros) -> Any:
    """Return a batch of `n` elements that `concatenate` can write to.

    Args:
        space: The space of a single element.
        n: Number of elements.
        fn: Creates an array, called as `fn(shape, dtype=dtype)`, such as `np.empty` or `np.ones`.

    Returns:
        An array of shape `(n, *space.shape)`; a tuple or dict of these for a Tuple or Dict; a tuple
        of `n` minimal elements for Text, Graph, Sequence and OneOf; None for a custom space.

    Raises:
        ArgumentTypeError: If `space` is not a Space (a `TypeError`).

    Examples:
        >>> from gymcore.spaces import Box, Discrete, Tuple
        >>> create_empty_array(Tuple([Discrete(3), Box(0, 1, (2,))]), n=2)
        (array([0, 0]), array([[0., 0.],
               [0., 0.]], dtype=float32))
    """
    raise unsupported_space("create_empty_array", space)


@create_empty_array.register(ArraySpace)
def _create_empty_arrays(space: ArraySpace, n: int = 1, fn: Allocate = np.zeros) -> Array:
    return fn((n, *space.shape), dtype=space.dtype)


@create_empty_array.register(Tuple)
@create_empty_array.register(Dict)
def _create_empty_composite(space: Tuple | Dict, n: int = 1, fn: Allocate = np.zeros) -> object:
    return space._pack([create_empty_array(part, n, fn) for part in space._parts()])


@create_empty_array.register(Text)
def _create_empty_texts(space: Text, n: int = 1, fn: Allocate = np.zeros) -> tuple[str, ...]:
    return tuple(space.characters[0] * space.min_length for _ in range(n))


@create_empty_array.register(Space)
def _create_empty_other(space: Space, n: int = 1, fn: Allocate = np.zeros) -> None:
    return None


def is_array_like(space: Space) -> bool:
    """Return whether a batch of elements consists of arrays only, possibly in dicts and tuples."""
    if isinstance(space, (Tuple, Dict)):
        return all(map(is_array_like, space._parts()))
    return isinstance(space, ArraySpace)


def stack(space: Space, items: Sequence[object]) -> Any:
    """Return a batch of some elements of a space in new arrays, as `concatenate` does."""
    if not items:
        return _empty(space)
    return concatenate(space, items, create_empty_array(space, len(items)))


def unstack(batched: Space, batch: object) -> list[object] | None:
    """Return the elements of a batch of any length, or None if it does not have that form."""
    try:
        return list(iterate(batched, batch))
    except _NOT_A_BATCH:
        return None


def batch_to_jsonable(space: Space, batched: Space, batch: object) -> object:
    """Convert a batch to a form that `json` can write.

    A batch of arrays is written as one sample of `batched`, any other as samples of `space`.
    """
    if is_array_like(space):
        return batched.to_jsonable([batch])
    return space.to_jsonable(unstack(batched, batch) or [])


def batch_from_jsonable(space: Space, batched: Space, jsonable: Any) -> object:
    """Convert the result of `batch_to_jsonable` back to a batch."""
    if is_array_like(space):
        return with_axes(space, batched.from_jsonable(jsonable)[0])
    return stack(space, space.from_jsonable(jsonable))


def with_axes(space: Space, batch: Any) -> object:
    """Restore the axes of the arrays in an empty batch, which `[]` in JSON does not record."""
    if isinstance(space, (Tuple, Dict)):
        return space._pack(map(with_axes, space._parts(), space._unpack(batch)))
    return batch if len(batch) else _empty(space)


def _empty(space: Space) -> object:
    """Return a batch without elements."""
    if isinstance(space, (Tuple, Dict)):
        return space._pack(map(_empty, space._parts()))
    return create_empty_array(space, 0) if isinstance(space, ArraySpace) else ()
