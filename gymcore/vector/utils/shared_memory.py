"""Batches of elements in memory that processes share.

For a Box, Discrete, MultiDiscrete or MultiBinary space, the memory is one flat
`multiprocessing.Array` for the whole batch; for a Tuple or Dict, a tuple or dict of these; for a
Text, an array of character indices; for a OneOf, the array of choices followed by the memory of
each of its spaces. Graph and Sequence have no fixed size and cannot be shared. All functions
dispatch on the type of the space; `.register(MySpace)` adds a new one.
"""

from __future__ import annotations

import math
from ctypes import c_bool
from functools import singledispatch
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from gymcore.error import ArgumentTypeError, InvalidArgument
from gymcore.spaces import (
    Box,
    Dict,
    Discrete,
    Graph,
    MultiBinary,
    MultiDiscrete,
    OneOf,
    Sequence,
    Space,
    Text,
    Tuple,
)
from gymcore.spaces.batching import unsupported_space
from gymcore.spaces.utils import flatten

__all__ = ["create_shared_memory", "read_from_shared_memory", "write_to_shared_memory"]


# Protocols, because the module that has the classes of `multiprocessing` takes as long to import as
# the rest of this package.
class SharedArray(Protocol):
    """A synchronized array as returned by `multiprocessing.Array`."""

    def get_obj(self) -> Any:
        """Return the array without its lock."""


class Context(Protocol):
    """The `multiprocessing` module, or one of its contexts."""

    def Array(self, typecode_or_type: Any, size_or_initializer: int, /) -> SharedArray:
        """Return a synchronized array of zeros."""


SharedMemory: TypeAlias = "SharedArray | tuple[SharedMemory, ...] | dict[str, SharedMemory]"


@singledispatch
def create_shared_memory(space: Space, n: int = 1, ctx: Context | None = None) -> SharedMemory:
    """Return zeroed shared memory for a batch of `n` elements.

    Args:
        space: The space of a single element.
        n: Number of elements.
        ctx: The `multiprocessing` module or context that allocates; None means `multiprocessing`.

    Returns:
        A `multiprocessing.Array` with a lock, or nested tuples and dicts of these. Pass it to a
        process when the process is started.

    Raises:
        ArgumentTypeError: If `space` is not a Space or has no fixed size (a `TypeError`).
        CustomSpaceError: If no function is registered for the type of the space.

    Examples:
        >>> from gymcore.spaces import Box
        >>> memory = create_shared_memory(Box(0, 1, (2,)), n=3)
        >>> memory[:]
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """
    raise unsupported_space("create_shared_memory", space)


@create_shared_memory.register(Box)
@create_shared_memory.register(Discrete)
@create_shared_memory.register(MultiDiscrete)
@create_shared_memory.register(MultiBinary)
def _create_array(space: Space, n: int = 1, ctx: Context | None = None) -> SharedMemory:
    dtype: np.dtype = np.dtype(space.dtype)
    size = n * math.prod(space.shape or ())
    if dtype.kind == "b":
        return _context(ctx).Array(c_bool, size)
    try:
        c_type = np.ctypeslib.as_ctypes_type(dtype)
    except NotImplementedError:  # float16 and longdouble are stored as bytes
        return _context(ctx).Array("B", size * dtype.itemsize)
    return _context(ctx).Array(c_type, size)


@create_shared_memory.register(Tuple)
@create_shared_memory.register(Dict)
def _create_parts(space: Tuple | Dict, n: int = 1, ctx: Context | None = None) -> SharedMemory:
    parts: SharedMemory = space._pack(
        [create_shared_memory(part, n, ctx) for part in space._parts()]
    )
    return parts


@create_shared_memory.register(Text)
def _create_text(space: Text, n: int = 1, ctx: Context | None = None) -> SharedMemory:
    return _context(ctx).Array(np.ctypeslib.as_ctypes_type(np.int32), n * space.max_length)


@create_shared_memory.register(OneOf)
def _create_one_of(space: OneOf, n: int = 1, ctx: Context | None = None) -> SharedMemory:
    choices = _context(ctx).Array(np.ctypeslib.as_ctypes_type(np.int64), n)
    return (choices, *(create_shared_memory(subspace, n, ctx) for subspace in space.spaces))


@create_shared_memory.register(Graph)
@create_shared_memory.register(Sequence)
def _refuse_dynamic(space: Space, n: int = 1, ctx: Context | None = None) -> SharedMemory:
    raise ArgumentTypeError(
        f"space: As {space} has a dynamic shape so its not possible to make a static shared "
        "memory. For `AsyncVectorEnv`, disable `shared_memory`."
    )


@singledispatch
def read_from_shared_memory(space: Space, shared_memory: SharedMemory, n: int = 1) -> Any:
    """Return the batch in shared memory.

    Args:
        space: The space of a single element.
        shared_memory: The memory that `create_shared_memory(space, n)` returned.
        n: Number of elements.

    Returns:
        An element of `batch_space(space, n)`. Arrays are views, which change with the memory.

    Raises:
        ValueError: If the memory does not hold `n` elements. Also see `create_shared_memory`.

    Examples:
        >>> from gymcore.spaces import Box
        >>> memory = create_shared_memory(Box(0, 1, (2,)), n=3)
        >>> read_from_shared_memory(Box(0, 1, (2,)), memory, n=3).shape
        (3, 2)
    """
    raise unsupported_space("read_from_shared_memory", space)


@read_from_shared_memory.register(Box)
@read_from_shared_memory.register(Discrete)
@read_from_shared_memory.register(MultiDiscrete)
@read_from_shared_memory.register(MultiBinary)
def _read_array(space: Space, shared_memory: SharedArray, n: int = 1) -> npt.NDArray[np.generic]:
    return _view(shared_memory, space.dtype).reshape((n, *(space.shape or ())))


@read_from_shared_memory.register(Tuple)
@read_from_shared_memory.register(Dict)
def _read_parts(space: Tuple | Dict, shared_memory: SharedMemory, n: int = 1) -> object:
    memories = zip(space._parts(), space._unpack(shared_memory), strict=True)
    return space._pack([read_from_shared_memory(part, memory, n) for part, memory in memories])


@read_from_shared_memory.register(Text)
def _read_text(space: Text, shared_memory: SharedArray, n: int = 1) -> tuple[str, ...]:
    rows = _view(shared_memory, np.int32).reshape((n, space.max_length))
    characters = space.character_list
    padding = len(characters)
    return tuple(
        "".join(characters[index] for index in row if index != padding) for row in rows.tolist()
    )


@read_from_shared_memory.register(OneOf)
def _read_one_of(space: OneOf, shared_memory: tuple[Any, ...], n: int = 1) -> tuple[object, ...]:
    choices, *memories = shared_memory
    columns = [
        read_from_shared_memory(subspace, memory, n)
        for subspace, memory in zip(space.spaces, memories, strict=True)
    ]
    rows = _view(choices, np.int64).reshape((n,))
    return tuple((choice, columns[choice][i]) for i, choice in enumerate(rows))


@singledispatch
def write_to_shared_memory(
    space: Space, index: int, value: object, shared_memory: SharedMemory
) -> None:
    """Write one element of a batch.

    Args:
        space: The space of a single element.
        index: Index of the element in the batch.
        value: The element.
        shared_memory: The memory that `create_shared_memory` returned.

    Raises:
        InvalidArgument: If the value has the wrong shape or the index is out of range (a
            `ValueError`).

    Examples:
        >>> from gymcore.spaces import Discrete
        >>> memory = create_shared_memory(Discrete(5), n=3)
        >>> write_to_shared_memory(Discrete(5), 1, 4, memory)
        >>> read_from_shared_memory(Discrete(5), memory, n=3)
        array([0, 4, 0])
    """
    raise unsupported_space("write_to_shared_memory", space)


@write_to_shared_memory.register(Box)
@write_to_shared_memory.register(Discrete)
@write_to_shared_memory.register(MultiDiscrete)
@write_to_shared_memory.register(MultiBinary)
def _write_array(
    space: Space, index: int, value: npt.ArrayLike, shared_memory: SharedArray
) -> None:
    _write_row(shared_memory, space.dtype, index, np.asarray(value), space.shape or ())


@write_to_shared_memory.register(Tuple)
@write_to_shared_memory.register(Dict)
def _write_parts(
    space: Tuple | Dict, index: int, value: object, shared_memory: SharedMemory
) -> None:
    elements, memories = space._unpack(value), space._unpack(shared_memory)
    for part, element, memory in zip(space._parts(), elements, memories, strict=True):
        write_to_shared_memory(part, index, element, memory)


@write_to_shared_memory.register(Text)
def _write_text(space: Text, index: int, value: str, shared_memory: SharedArray) -> None:
    _write_row(shared_memory, np.int32, index, flatten(space, value), (space.max_length,))


@write_to_shared_memory.register(OneOf)
def _write_one_of(
    space: OneOf, index: int, value: tuple[int, object], shared_memory: tuple[Any, ...]
) -> None:
    choice, element = value
    choices, *memories = shared_memory
    write_to_shared_memory(space.spaces[choice], index, element, memories[choice])
    _write_row(choices, np.int64, index, np.asarray(choice), ())


def _context(ctx: Context | None) -> Context:
    if ctx is not None:
        return ctx
    import multiprocessing

    return multiprocessing


def _write_row(
    shared_memory: SharedArray,
    dtype: npt.DTypeLike | None,
    index: int,
    value: npt.NDArray[np.generic],
    shape: tuple[int, ...],
) -> None:
    """Write `value` as row `index` of an array whose rows have `shape`.

    The value may have extra or missing axes of length one, as `np.array([3])` for a Discrete.
    """
    if value.shape != shape and _long_axes(value.shape) != _long_axes(shape):
        raise InvalidArgument(f"value: expected shape {shape}, got {value.shape}")
    memory = _view(shared_memory, dtype)
    start = index * value.size
    if not 0 <= start <= memory.size - value.size:
        n = memory.size // max(value.size, 1)
        raise InvalidArgument(f"index: expected one of the {n} elements in memory, got {index}")
    memory[start : start + value.size] = value.ravel()


def _long_axes(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(length for length in shape if length != 1)


def _view(shared_memory: SharedArray, dtype: npt.DTypeLike | None) -> np.ndarray:
    """Return a flat array of `dtype` that views the whole memory."""
    return np.frombuffer(shared_memory.get_obj(), dtype=dtype)
