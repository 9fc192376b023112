"""Observations with parts: taking some of them, and making one array of them all."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.core import ActType, Env, ObsType, WrapperObsType
from gymcore.spaces import (
    Box,
    Dict,
    Discrete,
    MultiBinary,
    MultiDiscrete,
    OneOf,
    Space,
    Text,
    Tuple,
    flatdim,
    flatten,
    flatten_space,
)
from gymcore.utils import RecordConstructorArgs
from gymcore.wrappers.observation_base import (
    BatchFunction,
    TransformObservation,
    observed,
    of_any_size,
)

__all__ = ["FilterObservation", "FlattenObservation"]

Array = npt.NDArray[Any]


# --- filter ---------------------------------------------------------------------------------------


class FilterObservation(TransformObservation[WrapperObsType, ActType, ObsType]):
    """Keep some entries of a `Dict` or `Tuple` observation.

    Gym 0.26: without keys all entries of a `Dict` are kept.

    Attributes:
        filter_keys: What is kept, in this order.

    Example:
        >>> import gymcore
        >>> env = gymcore.make("CartPole-v1", render_mode="rgb_array")
        >>> env = gymcore.wrappers.AddRenderObservation(env, render_only=False)
        >>> env = FilterObservation(env, ["state"])
        >>> env.reset(seed=1)[0]
        {'state': array([ 0.00118216,  0.04504637, -0.03558404,  0.04486495], dtype=float32)}
    """

    def __init__(self, env: Env[ObsType, ActType], filter_keys: Sequence[str | int]) -> None:
        """Wrap `env`.

        Args:
            env: An environment with a `Dict` or `Tuple` observation space.
            filter_keys: Keys of the `Dict`, or indices of the `Tuple` (a negative one counts from
                the end). Observations have them in this order.

        Raises:
            FailedTypeCheck: if `filter_keys` is no sequence, or has keys of another type.
            FailedCheck: if a key is not in the space, none are given, an index occurs twice, or the
                space is of another kind (both are `ValueError`s).
        """
        if not isinstance(filter_keys, Sequence):
            raise error.FailedTypeCheck(
                f"Expects `filter_keys` to be a Sequence, actual type: {type(filter_keys)}"
            )
        space = observed(env)
        pick: Callable[[Any], Any]
        if isinstance(space, Dict):
            kept, pick = _filter_dict(space, filter_keys)
        elif isinstance(space, Tuple):
            kept, pick = _filter_tuple(space, filter_keys)
        else:
            raise error.FailedCheck(
                "FilterObservation wrapper is only usable with `Dict` and `Tuple` observations, "
                f"actual type: {type(space)}"
            )
        RecordConstructorArgs.__init__(self, filter_keys=filter_keys)
        TransformObservation.__init__(self, env, pick, kept)
        pick_batch = pick
        if isinstance(kept, Dict):  # batches have the order of their space
            pick_batch = functools.partial(_pick_keys, tuple(kept.spaces))
        self._whole_batches = pick, functools.partial(of_any_size, pick_batch)
        self.filter_keys = filter_keys


def _pick_keys(keys: Sequence[Any], observation: dict[Any, Any]) -> dict[Any, Any]:
    return {key: observation[key] for key in keys}


def _pick_indices(indices: Sequence[int], observation: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple([observation[i] for i in indices])


def _filter_dict(
    space: Dict, keys: Sequence[Any]
) -> tuple[Space[Any], Callable[[Any], dict[Any, Any]]]:
    """Return the filtered space, and the function for its elements."""
    if not all(isinstance(key, str) for key in keys):
        raise error.FailedTypeCheck(f"All filter keys must be strings for a Dict space, got {keys}")
    missing = [key for key in keys if key not in space.spaces]
    if missing:
        raise error.FailedCheck(
            "All the `filter_keys` must be included in the observation space.\n"
            f"Filter keys: {keys}\n"
            f"Observation keys: {list(space.spaces)}\n"
            f"Missing keys: {missing}"
        )
    if not keys:
        raise error.FailedCheck("The observation space is empty due to filtering all of the keys.")
    kept = Dict({key: space.spaces[key] for key in keys})
    return kept, functools.partial(_pick_keys, tuple(dict.fromkeys(keys)))


def _filter_tuple(
    space: Tuple, keys: Sequence[Any]
) -> tuple[Space[Any], Callable[[Any], tuple[Any, ...]]]:
    """Return the filtered space, and the function for its elements."""
    if not all(isinstance(key, int) for key in keys):
        raise error.FailedTypeCheck(
            f"All filter keys must be integers for a Tuple space, got {keys}"
        )
    length = len(space.spaces)
    missing = [key for key in keys if not -length <= key < length]
    if missing:
        raise _MissingIndex(
            "All the `filter_keys` must be included in the length of the observation space.\n"
            f"Filter keys: {keys}, length of observation: {length}, missing indexes: {missing}"
        )
    if len({key % length for key in keys}) != len(keys):
        raise error.FailedCheck(f"Duplicate keys exist, filter_keys: {keys}")
    if not keys:
        raise error.FailedCheck("The observation space is empty due to filtering all keys.")
    return Tuple([space.spaces[i] for i in keys]), functools.partial(_pick_indices, tuple(keys))


class _MissingIndex(error.FailedCheck, IndexError):
    """An index outside a `Tuple`: what indexing the tuple raises as well."""


# --- flatten --------------------------------------------------------------------------------------


class FlattenObservation(TransformObservation[WrapperObsType, ActType, ObsType]):
    """Flatten observations; see `gymcore.spaces.flatten`.

    Example:
        >>> import gymcore
        >>> env = FlattenObservation(gymcore.make("CartPole-v1"))
        >>> env.observation_space.shape
        (4,)
    """

    def __init__(self, env: Env[ObsType, ActType]) -> None:
        """Wrap `env`.

        Args:
            env: The environment.

        Raises:
            InvalidArgument: if elements of the observation space cannot be flattened.
        """
        space = observed(env)
        func = functools.partial(flatten, space)
        RecordConstructorArgs.__init__(self)
        TransformObservation.__init__(self, env, func, flatten_space(space))
        self._whole_batches = func, functools.partial(batch_flattener, space)


def batch_flattener(space: Space[Any], num_envs: int) -> BatchFunction | None:
    """Return a function that flattens whole batches, with one array operation a part.

    Args:
        space: The space of single elements.
        num_envs: How many elements a batch has.

    Returns:
        From a batch of elements (as `batch_space(space, num_envs)` holds them) to an array
        `[num_envs, flatdim(space)]`, a new one unless the batch is such an array already; the rows
        are what `flatten` returns. None if elements do not flatten to arrays, or a part is of a
        type that is not gymcore's own.

    Example:
        >>> space = Dict(goal=Discrete(3), place=Box(0, 9, (2,)))
        >>> batch = {"goal": np.array([0, 2]), "place": np.float32([[4, 5], [6, 7]])}
        >>> batch_flattener(space, 2)(batch)
        array([[1., 0., 0., 4., 5.],
               [0., 0., 1., 6., 7.]])
    """
    if not space.is_np_flattenable or not _is_known(space):
        return None
    if isinstance(space, (Box, MultiBinary)):
        shape, kind = (num_envs, flatdim(space)), space.dtype
        return lambda batch: np.asarray(batch, kind).reshape(shape)
    parts: list[tuple[Space[Any], tuple[Any, ...], int, int]] = []
    width = _list_parts(space, (), 0, parts)
    dtype = flatten_space(space).dtype
    writers = [
        (path, slice(lo, hi), _WRITERS[type(part)](part, num_envs)) for part, path, lo, hi in parts
    ]

    def flatten_batch(batch: Any) -> Array:
        out = np.zeros((num_envs, width), dtype)
        for path, columns, write in writers:
            values = batch
            for key in path:
                values = values[key]
            write(values, out[:, columns])
        return out

    return flatten_batch


Write = Callable[[Any, Array], None]
"""Writes flattened values into an array `[num_envs, size]` of zeros."""


def _is_known(space: Space[Any]) -> bool:
    """Tell whether a space and its parts are of gymcore's own types, that flatten to arrays."""
    if type(space) is Tuple:
        return bool(space.spaces) and all(map(_is_known, space.spaces))
    if type(space) is Dict:
        return bool(space.spaces) and all(map(_is_known, space.spaces.values()))
    return type(space) in _WRITERS


def _list_parts(
    space: Space[Any],
    path: tuple[Any, ...],
    lo: int,
    parts: list[tuple[Space[Any], tuple[Any, ...], int, int]],
) -> int:
    """Add the leaves of a space, each with its path and its columns; return where they end."""
    if isinstance(space, (Tuple, Dict)):
        named = space.spaces.items() if isinstance(space, Dict) else enumerate(space.spaces)
        for key, part in named:
            lo = _list_parts(part, (*path, key), lo, parts)
        return lo
    hi = lo + flatdim(space)
    parts.append((space, path, lo, hi))
    return hi


def _array_writer(space: Box[Any] | MultiBinary, num_envs: int) -> Write:
    def write(values: Any, out: Array) -> None:
        out[...] = np.asarray(values, space.dtype).reshape(out.shape)

    return write


def _onehot_writer(space: Discrete | MultiDiscrete, num_envs: int) -> Write:
    sizes = np.atleast_1d(space.n if isinstance(space, Discrete) else space.nvec)
    sizes = sizes.astype(np.int64).ravel()
    starts = np.asarray(space.start).astype(np.int64).ravel()
    limits, offsets = sizes.astype(np.uint64), sizes.cumsum() - sizes
    rows = np.arange(num_envs)[:, None]

    def write(values: Any, out: Array) -> None:
        columns = np.asarray(values, np.int64).reshape(num_envs, len(sizes)) - starts
        if (columns.view(np.uint64) >= limits).any():  # what is below the start as well
            raise error.InvalidArgument(f"{values} is not a batch of elements of {space}")
        columns += offsets
        out[rows, columns] = 1

    return write


def _row_writer(space: Text | OneOf, num_envs: int) -> Write:
    def write(values: Any, out: Array) -> None:
        for value, row in zip(values, out, strict=True):
            row[...] = flatten(space, value)

    return write


_WRITERS: dict[type, Callable[[Any, int], Write]] = {
    Box: _array_writer,
    Discrete: _onehot_writer,
    MultiBinary: _array_writer,
    MultiDiscrete: _onehot_writer,
    OneOf: _row_writer,
    Text: _row_writer,
}
