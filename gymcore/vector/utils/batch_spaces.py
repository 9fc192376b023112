"""The space of a batch, from the space of one element.

Both functions dispatch on the type of the space, and `.register(MySpace)` teaches them a new one.
"""

from __future__ import annotations

from collections.abc import Sequence as SequenceABC
from functools import lru_cache, singledispatch
from operator import add, attrgetter, index
from typing import Any, SupportsIndex, TypeAlias

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
from gymcore.spaces._checks import dtype_limits
from gymcore.spaces._repeated import Rows
from gymcore.vector.utils.dispatch import unsupported_space
from gymcore.vector.utils.space_copies import copy_space
from gymcore_ext.spaces import limits, stack

__all__ = ["batch_differing_spaces", "batch_space"]

# Seeds of the copies in a batched custom space are drawn below this bound; the number decides what
# a seeded batch samples.
_SEED_BOUND = 10**8

Array: TypeAlias = npt.NDArray[Any]
BoxRows: TypeAlias = tuple[Array, Array, Array, Array]
_BOUNDS = ("low", "high", "bounded_below", "bounded_above")


@singledispatch
def batch_space(space: Space[Any], n: int = 1) -> Space[Any]:
    """Return the space of batches of `n` elements of `space`.

    Args:
        space: The space of one element.
        n: Number of elements in a batch.

    Returns:
        A Box for a Box, MultiDiscrete or MultiBinary, with a first axis of length `n`; a
        MultiDiscrete for a Discrete; a Tuple or Dict of batched spaces for a Tuple or Dict; for any
        other space a Tuple of `n` copies, seeded apart. Its generator is a copy of the space's.

    Raises:
        ArgumentTypeError: `space` is not a Space (a `TypeError`).
        InvalidArgument: `n` is negative (a `ValueError`).

    Example:
        >>> from gymcore.spaces import Box, Dict, Discrete
        >>> batch_space(Dict(position=Box(-1, 1, (2,)), goal=Discrete(4)), n=5)
        Dict('goal': MultiDiscrete([4 4 4 4 4]), 'position': Box(-1.0, 1.0, (5, 2), float32))
    """
    raise unsupported_space("batch_space", space)


@batch_space.register(Box)
def _batch_box(space: Box, n: int = 1) -> Box:
    return _repeated_box(space, space.low, space.high, n)


@batch_space.register(Discrete)
def _batch_discrete(space: Discrete, n: int = 1) -> MultiDiscrete:
    n, dtype = _as_count(n), space.dtype
    rows = {"nvec": np.array(space.n, dtype), "start": np.array(space.start, dtype)}
    batch = MultiDiscrete._of((n,), dtype, {"_rows": Rows(n, rows)})
    batch._copy_generator(space)
    return batch


@batch_space.register(MultiDiscrete)
def _batch_multi_discrete(space: MultiDiscrete, n: int = 1) -> Box:
    return _repeated_box(space, space.start, _last(space), n)


def _last(space: MultiDiscrete) -> Array:
    """Return the largest value of each element."""
    return np.asarray(space.start + space.nvec - 1)  # NumPy makes a scalar of an array without axes


@batch_space.register(MultiBinary)
def _batch_multi_binary(space: MultiBinary, n: int = 1) -> Box:
    return _box_of_rows(space, _binary_rows(space.shape, space.dtype), n)


@lru_cache(64)
def _binary_rows(shape: tuple[int, ...], dtype: np.dtype[Any]) -> BoxRows:
    row = Box(0, 1, shape, dtype)
    return row.low, row.high, row.bounded_below, row.bounded_above


@batch_space.register(Tuple)
def _batch_tuple(space: Tuple, n: int = 1) -> Tuple:
    batch = Tuple(tuple(batch_space(subspace, n) for subspace in space.spaces))
    batch._copy_generator(space)
    return batch


@batch_space.register(Dict)
def _batch_dict(space: Dict, n: int = 1) -> Dict:
    batch = Dict(
        {key: batch_space(subspace, n) for key, subspace in space.spaces.items()},
        sort_keys=space.sort_keys,
    )
    batch._copy_generator(space)
    return batch


@batch_space.register(Graph)
@batch_space.register(Text)
@batch_space.register(Sequence)
@batch_space.register(OneOf)
@batch_space.register(Space)
def _batch_other(space: Space[Any], n: int = 1) -> Tuple:
    n = _as_count(n)
    batch = Tuple([copy_space(space) for _ in range(n)])
    batch._copy_generator(space)
    # Copies with the same generator would all sample the same.
    batch.seed(batch.np_random.integers(0, _SEED_BOUND, size=n).tolist())
    batch._copy_generator(space)
    return batch


def _as_count(n: SupportsIndex) -> int:
    """Return the length of a first axis, or raise what NumPy raises."""
    count = index(n)
    if count < 0:
        raise InvalidArgument(f"negative dimensions are not allowed, got n={count}")
    return count


def _repeated_box(space: Box | MultiDiscrete, low: Array, high: Array, n: int) -> Box:
    """Return the box of `n` rows with these bounds, and a copy of the generator of `space`."""
    bounded = limits(low, high) if low.dtype == space.dtype else None
    if bounded is not None:
        return _box_of_rows(space, (low.copy(), high.copy(), *bounded), n)
    # A rare dtype; or the arrays of the space were changed, and do not fit.
    row = Box(low, high, dtype=space.dtype)
    arrays = (row.low, row.high, np.asarray(row.bounded_below), np.asarray(row.bounded_above))
    return _box_of_rows(space, arrays, n)


def _box_of_rows(space: Space[Any], rows: BoxRows, n: int) -> Box:
    """Return the box of `n` times these rows, and a copy of the generator of `space`."""
    n, low = _as_count(n), rows[0]
    arrays = Rows(n, dict(zip(_BOUNDS, rows, strict=True)))
    batch = Box._of((n, *low.shape), low.dtype, {"_rows": arrays})
    batch._copy_generator(space)
    return batch


@singledispatch
def batch_differing_spaces(spaces: Any) -> Space[Any]:
    """Return the space of batches with one element of each of `spaces`.

    Args:
        spaces: A sequence of spaces of one type, with the same shape and dtype where they have
            these; bounds, sizes and the contents of Text, Graph, Sequence and OneOf spaces may
            differ.

    Returns:
        As `batch_space`, with each row's own bounds. Its generator is a copy of the first space's.

    Raises:
        InvalidArgument: No spaces, or shapes, dtypes, lengths or keys that differ (a `ValueError`).
        ArgumentTypeError: Types that differ, or that have no registered function (a `TypeError`).

    Example:
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
        known = [kind.__name__ for kind in batch_differing_spaces.registry if kind is not object]
        raise ArgumentTypeError(
            "spaces: Requires the Space type to have a registered `batch_differing_space`, "
            f"got {types[0]}, current list: {known}"
        )
    return batch(spaces)


@batch_differing_spaces.register(Box)
def _batch_differing_boxes(spaces: SequenceABC[Box]) -> Box:
    _check_equal("Expected all dtypes to be equal", [space.dtype for space in spaces])
    _check_equal("Expected all Box.low shape to be equal", [space.shape for space in spaces])
    return _stacked_box(
        spaces[0], [space.low for space in spaces], [space.high for space in spaces]
    )


@batch_differing_spaces.register(Discrete)
def _batch_differing_discretes(spaces: SequenceABC[Discrete]) -> MultiDiscrete:
    counts, starts = [int(space.n) for space in spaces], [int(space.start) for space in spaces]
    dtypes = [space.dtype for space in spaces]
    # Gymnasium's choice is the first of the widest dtypes, which need not hold all values.
    dtype = max(dtypes, key=attrgetter("itemsize"))
    lowest, highest = min(starts), max(map(add, counts, starts)) - 1
    lowest_held, highest_held = dtype_limits(dtype)
    if lowest_held <= lowest and max(highest, *counts) <= highest_held:
        arrays = {"nvec": np.array(counts, dtype), "start": np.array(starts, dtype)}
        batch = MultiDiscrete._of((len(spaces),), dtype, arrays)
    else:
        wider = np.result_type(*dtypes)
        dtype = wider if wider.kind in "iu" else np.dtype(np.int64 if lowest < 0 else np.uint64)
        batch = MultiDiscrete(counts, dtype=dtype, start=starts)
    batch._copy_generator(spaces[0])
    return batch


@batch_differing_spaces.register(MultiDiscrete)
def _batch_differing_multi_discretes(spaces: SequenceABC[MultiDiscrete]) -> Box:
    _check_equal("Expected all dtypes to be equal", [space.dtype for space in spaces])
    _check_equal("Expects all MultiDiscrete.nvec shape", [space.shape for space in spaces])
    return _stacked_box(
        spaces[0],
        [space.start for space in spaces],
        [_last(space) for space in spaces],
    )


@batch_differing_spaces.register(MultiBinary)
def _batch_differing_multi_binaries(spaces: SequenceABC[MultiBinary]) -> Space[Any]:
    _check_equal("Expected all MultiBinary shapes to be equal", [space.shape for space in spaces])
    return batch_space(spaces[0], len(spaces))


@batch_differing_spaces.register(Tuple)
def _batch_differing_tuples(spaces: SequenceABC[Tuple]) -> Tuple:
    _check_equal("Expected all Tuple lengths to be equal", [len(space.spaces) for space in spaces])
    columns = zip(*(space.spaces for space in spaces), strict=True)
    batch = Tuple(tuple(batch_differing_spaces(column) for column in columns))
    batch._copy_generator(spaces[0])
    return batch


@batch_differing_spaces.register(Dict)
def _batch_differing_dicts(spaces: SequenceABC[Dict]) -> Dict:
    keys = [list(space.spaces) for space in spaces]
    if any(set(names) != set(keys[0]) for names in keys):
        raise InvalidArgument(
            f"spaces: Expected all Dict spaces to have the same keys, actually {keys}"
        )
    batch = Dict(
        {key: batch_differing_spaces([space[key] for space in spaces]) for key in keys[0]},
        sort_keys=spaces[0].sort_keys,
    )
    batch._copy_generator(spaces[0])
    return batch


@batch_differing_spaces.register(Graph)
@batch_differing_spaces.register(Text)
@batch_differing_spaces.register(Sequence)
@batch_differing_spaces.register(OneOf)
def _batch_differing_others(spaces: SequenceABC[Space[Any]]) -> Tuple:
    batch = Tuple([copy_space(space) for space in spaces])
    batch._copy_generator(spaces[0])
    return batch


def _stacked_box(first: Box | MultiDiscrete, lows: list[Array], highs: list[Array]) -> Box:
    """Return the box with a row for each of the bounds, and a copy of the generator of `first`."""
    low, high = stack(lows), stack(highs)
    bounded = limits(low, high) if low.dtype == first.dtype else None
    if bounded is None:  # a rare dtype, or bounds that do not fit
        batch = Box(low, high, dtype=first.dtype)
    else:
        arrays = dict(zip(_BOUNDS, (low, high, *bounded), strict=True))
        batch = Box._of(low.shape, low.dtype, arrays)
    batch._copy_generator(first)
    return batch


def _check_equal(expectation: str, values: list[Any]) -> None:
    if values.count(values[0]) < len(values):
        raise InvalidArgument(f"spaces: {expectation}, actually {values}")
