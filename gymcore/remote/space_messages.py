"""Conversion of spaces to messages of `wire`, and back."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from gymcore.error import ArgumentTypeError, InvalidArgument
from gymcore.remote.wire import DTYPES, dtype_name
from gymcore.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Text, Tuple
from gymcore.vector.agents import Agents


def space_message(space: Space) -> list[object]:
    """Return the name and the arguments that define a space, without its generator.

    Dtypes arrive in the receiver's byte order, and instances of subclasses as the base class.

    Raises:
        ArgumentTypeError: If the space is or contains one that cannot be sent.
    """
    if isinstance(space, Box):
        message: list[object] = ["Box", space.low, space.high, dtype_name(space.dtype)]
        if space.dtype.kind == "i":  # bounds of integers do not show where there is no bound
            message += map(np.asarray, (space.bounded_below, space.bounded_above))
        return message
    if isinstance(space, Discrete):
        return ["Discrete", int(space.n), int(space.start), dtype_name(space.dtype)]
    if isinstance(space, MultiBinary):
        return ["MultiBinary", space.n if isinstance(space.n, int) else list(space.shape)]
    if isinstance(space, MultiDiscrete):
        return ["MultiDiscrete", space.nvec, space.start, dtype_name(space.dtype)]
    if isinstance(space, Text):
        return ["Text", space.min_length, space.max_length, "".join(space.character_list)]
    if isinstance(space, Tuple):
        return ["Tuple", [space_message(subspace) for subspace in space.spaces]]
    if isinstance(space, Dict):
        for key in space.spaces:
            if type(key) is not str:
                raise ArgumentTypeError(f"space: expected strings as keys, got {key!r}")
        items = [[key, space_message(subspace)] for key, subspace in space.spaces.items()]
        return ["Dict", items, space.sort_keys]
    raise ArgumentTypeError(f"space: expected one of arrays, texts, tuples or dicts, got {space}")


def space_of(message: Sequence[object]) -> Space:
    """Return the space that a message describes.

    Raises:
        InvalidArgument: If the message does not describe a space.
    """
    try:
        name, *arguments = message
        return _CONSTRUCTORS[str(name)](*arguments)
    except Exception as problem:
        raise InvalidArgument(f"space: expected a space, got {message!r:.80} ({problem})") from None


def agents_message(agents: Agents | None) -> list[object] | None:
    """Return the groups of the agents of a world: their names, and their spaces; None for none."""
    if agents is None:
        return None
    return [
        [
            *(group, list(names)),
            *map(
                space_message, (agents.observation_space(names[0]), agents.action_space(names[0]))
            ),
        ]
        for group, names in (agents.groups or {"": agents.names}).items()
    ]


def agents_of(message: Sequence[Sequence[Any]] | None) -> Agents | None:
    """Return the agents that a message describes.

    Raises:
        InvalidArgument: If the message does not describe agents.
    """
    if message is None:
        return None
    try:
        names = {str(group): tuple(map(str, members)) for group, members, *_ in message}
        spaces = [
            {str(group): space_of(pair[role]) for group, _, *pair in message} for role in (0, 1)
        ]
        if "" in names:
            return Agents(names[""], *(by_group[""] for by_group in spaces))
        return Agents(names, *spaces)
    except Exception as problem:
        raise InvalidArgument(
            f"agents: expected groups of agents, got {message!r:.80} ({problem})"
        ) from None


def lane_bytes(space: Space) -> int:
    """Return the approximate size in bytes of an element of a space from a message."""
    if isinstance(space, Tuple):
        return sum(map(lane_bytes, space.spaces))
    if isinstance(space, Dict):
        return sum(map(lane_bytes, space.spaces.values()))
    if isinstance(space, Text):
        return 4096  # a batch has a space for each text
    return math.prod(space.shape or ()) * np.dtype(space.dtype).itemsize


def is_batch(space: Space, value: Any, count: int) -> bool:
    """Return whether a value has the types and shapes of `count` elements of a space."""
    if isinstance(space, Tuple):
        return (
            type(value) is tuple
            and len(value) == len(space.spaces)
            and all(is_batch(*pair, count) for pair in zip(space.spaces, value, strict=True))
        )
    if isinstance(space, Dict):
        return (
            isinstance(value, dict)
            and value.keys() == space.spaces.keys()
            and all(is_batch(subspace, value[key], count) for key, subspace in space.spaces.items())
        )
    if isinstance(space, Text):
        # Compiled batches have arrays of texts, others tuples.
        is_sequence = type(value) is tuple or is_array(value, object, (count,))
        return is_sequence and len(value) == count and all(type(text) is str for text in value)
    return is_array(value, space.dtype, (count, *(space.shape or ())))


def is_array(value: object, dtype: DTypeLike | None, shape: tuple[int, ...]) -> bool:
    """Return whether a value is an array of this dtype and shape."""
    return isinstance(value, np.ndarray) and value.dtype == dtype and value.shape == shape


def _scalar_type(name: str) -> type[np.generic]:
    if name not in DTYPES:
        raise InvalidArgument(f"dtype: expected one of {sorted(DTYPES)}, got {name!r:.40}")
    return np.dtype(name).newbyteorder("=").type


def _box(low: np.ndarray, high: np.ndarray, dtype: str, *bounded: np.ndarray) -> Box:
    space = Box(low, high, dtype=_scalar_type(dtype))
    if space.dtype.kind != "i":
        return space
    limits = np.iinfo(space.dtype)
    bounds = (space.low, limits.min), (space.high, limits.max)
    names = ("bounded_below", "bounded_above")
    for name, flags, (bound, limit) in zip(names, bounded, bounds, strict=True):
        if not is_array(flags, np.bool_, space.shape) or (bound[~flags] != limit).any():
            raise InvalidArgument(f"{name}: expected False only at {limit}, got {flags!r:.80}")
        setattr(space, name, flags)
    return space


_CONSTRUCTORS: dict[str, Callable[..., Space]] = {
    "Box": _box,
    "Discrete": lambda n, start, dtype: Discrete(n, start=start, dtype=_scalar_type(dtype)),
    "MultiBinary": lambda shape: MultiBinary(shape),
    "MultiDiscrete": lambda nvec, start, dtype: MultiDiscrete(
        nvec, _scalar_type(dtype), start=start
    ),
    "Text": lambda low, high, characters: Text(high, min_length=low, charset=characters),
    "Tuple": lambda spaces: Tuple([space_of(subspace) for subspace in spaces]),
    "Dict": lambda items, sort_keys: Dict(
        [(key, space_of(subspace)) for key, subspace in items], sort_keys=bool(sort_keys)
    ),
}
