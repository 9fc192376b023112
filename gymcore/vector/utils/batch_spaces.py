"""The space of a batch, from the space of one element.

Both functions dispatch on the type of the space, and `.register(MySpace)` teaches them a new one.
"""

from __future__ import annotations

from collections.abc import Sequence as SequenceABC
from copy import deepcopy
from functools import singledispatch
from typing import Any

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
from gymcore.vector.utils.dispatch import unsupported_space

__all__ = ["batch_differing_spaces", "batch_space"]

# Seeds of the copies in a batched custom space are drawn below this bound; the number decides what
# a seeded batch samples.
_SEED_BOUND = 10**8


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

    Example:
        >>> from gymcore.spaces import Box, Dict, Discrete
        >>> batch_space(Dict(position=Box(-1, 1, (2,)), goal=Discrete(4)), n=5)
        Dict('goal': MultiDiscrete([4 4 4 4 4]), 'position': Box(-1.0, 1.0, (5, 2), float32))
    """
    raise unsupported_space("batch_space", space)


@batch_space.register(Box)
def _batch_box(space: Box, n: int = 1) -> Box:
    return Box(
        low=_repeat(space.low, n),
        high=_repeat(space.high, n),
        dtype=space.dtype,
        seed=deepcopy(space.np_random),
    )


@batch_space.register(Discrete)
def _batch_discrete(space: Discrete, n: int = 1) -> MultiDiscrete:
    return MultiDiscrete(
        np.full(n, space.n, dtype=space.dtype),
        dtype=space.dtype,
        seed=deepcopy(space.np_random),
        start=np.full(n, space.start, dtype=space.dtype),
    )


@batch_space.register(MultiDiscrete)
def _batch_multi_discrete(space: MultiDiscrete, n: int = 1) -> Box:
    return Box(
        low=_repeat(space.start, n),
        high=_repeat(space.start + space.nvec - 1, n),
        dtype=space.dtype,
        seed=deepcopy(space.np_random),
    )


@batch_space.register(MultiBinary)
def _batch_multi_binary(space: MultiBinary, n: int = 1) -> Box:
    return Box(
        low=0, high=1, shape=(n, *space.shape), dtype=space.dtype, seed=deepcopy(space.np_random)
    )


@batch_space.register(Tuple)
def _batch_tuple(space: Tuple, n: int = 1) -> Tuple:
    return Tuple(
        tuple(batch_space(subspace, n) for subspace in space.spaces),
        seed=deepcopy(space.np_random),
    )


@batch_space.register(Dict)
def _batch_dict(space: Dict, n: int = 1) -> Dict:
    return Dict(
        {key: batch_space(subspace, n) for key, subspace in space.spaces.items()},
        seed=deepcopy(space.np_random),
    )


@batch_space.register(Space)
def _batch_other(space: Space[Any], n: int = 1) -> Tuple:
    # Copies with the same generator would all sample the same.
    seeds = deepcopy(space.np_random).integers(0, _SEED_BOUND, size=n)
    return Tuple([deepcopy(space) for _ in range(n)], seed=[int(seed) for seed in seeds])


def _repeat(array: npt.NDArray[Any], n: int) -> npt.NDArray[Any]:
    """Return `n` copies of `array` along a new first axis."""
    return np.repeat(array[np.newaxis], n, axis=0)


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
    return Box(
        low=np.stack([space.low for space in spaces]),
        high=np.stack([space.high for space in spaces]),
        dtype=spaces[0].dtype,
        seed=deepcopy(spaces[0].np_random),
    )


@batch_differing_spaces.register(Discrete)
def _batch_differing_discretes(spaces: SequenceABC[Discrete]) -> MultiDiscrete:
    dtype = np.result_type(*(space.dtype for space in spaces))
    return MultiDiscrete(
        np.array([space.n for space in spaces], dtype=dtype),
        dtype=dtype,
        seed=deepcopy(spaces[0].np_random),
        start=np.array([space.start for space in spaces], dtype=dtype),
    )


@batch_differing_spaces.register(MultiDiscrete)
def _batch_differing_multi_discretes(spaces: SequenceABC[MultiDiscrete]) -> Box:
    _check_equal("Expected all dtypes to be equal", [space.dtype for space in spaces])
    _check_equal("Expects all MultiDiscrete.nvec shape", [space.shape for space in spaces])
    return Box(
        low=np.stack([space.start for space in spaces]),
        high=np.stack([space.start + space.nvec - 1 for space in spaces]),
        dtype=spaces[0].dtype,
        seed=deepcopy(spaces[0].np_random),
    )


@batch_differing_spaces.register(MultiBinary)
def _batch_differing_multi_binaries(spaces: SequenceABC[MultiBinary]) -> Space[Any]:
    _check_equal("Expected all MultiBinary shapes to be equal", [space.shape for space in spaces])
    return batch_space(spaces[0], len(spaces))


@batch_differing_spaces.register(Tuple)
def _batch_differing_tuples(spaces: SequenceABC[Tuple]) -> Tuple:
    _check_equal("Expected all Tuple lengths to be equal", [len(space.spaces) for space in spaces])
    columns = zip(*(space.spaces for space in spaces), strict=True)
    return Tuple(
        tuple(batch_differing_spaces(column) for column in columns),
        seed=deepcopy(spaces[0].np_random),
    )


@batch_differing_spaces.register(Dict)
def _batch_differing_dicts(spaces: SequenceABC[Dict]) -> Dict:
    keys = [list(space.spaces) for space in spaces]
    if any(set(names) != set(keys[0]) for names in keys):
        raise InvalidArgument(
            f"spaces: Expected all Dict spaces to have the same keys, actually {keys}"
        )
    return Dict(
        {key: batch_differing_spaces([space[key] for space in spaces]) for key in keys[0]},
        seed=deepcopy(spaces[0].np_random),
    )


@batch_differing_spaces.register(Graph)
@batch_differing_spaces.register(Text)
@batch_differing_spaces.register(Sequence)
@batch_differing_spaces.register(OneOf)
def _batch_differing_others(spaces: SequenceABC[Space[Any]]) -> Tuple:
    return Tuple([deepcopy(space) for space in spaces], seed=deepcopy(spaces[0].np_random))


def _check_equal(expectation: str, values: list[Any]) -> None:
    if any(value != values[0] for value in values):
        raise InvalidArgument(f"spaces: {expectation}, actually {values}")
