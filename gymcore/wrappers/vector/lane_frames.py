"""The last observations of every lane: batches in, batches of stacks out, of any structure."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.spaces import Space
from gymcore.vector.layouts import Layout, layout_of
from gymcore.vector.utils import batch_space, concatenate, create_empty_array, iterate
from gymcore_ext.wrappers.frame_stack import FrameMemory

__all__ = ["LaneFrames", "lane_frames"]

Mask = npt.NDArray[np.bool_]
Lanes = npt.NDArray[np.int64]


class LaneFrames(Protocol):
    """What `lane_frames` returns."""

    def reset(self, observations: Any, begun: Mask) -> Any:
        """Begin episodes in some lanes, and return the stacks of all of them."""

    def step(self, observations: Any, begun: Mask, lanes: Lanes | None = None) -> Any:
        """Take observations, and return stacks with these as the newest."""

    def peek(self, observations: Any, mask: Mask, lanes: Lanes | None = None) -> Any:
        """Return stacks with these as the newest, while nothing changes; other rows are any."""


def lane_frames(
    space: Space[Any], num_envs: int, depth: int, padding: Any = None, *, oldest: bool = False
) -> LaneFrames:
    """Return a memory for the last observations of each lane.

    Arrays are kept and stacked by compiled code, whatever dicts and tuples they are in, everything
    else by Python.

    Args:
        space: Of one observation.
        num_envs: Number of lanes.
        depth: Observations of a stack.
        padding: What stands before the first observation of an episode, an element of the space;
            None for that observation itself.
        oldest: Whether to return the oldest observation of each stack instead of the stack.

    Example:
        >>> import numpy as np
        >>> from gymcore.spaces import Discrete
        >>> frames = lane_frames(Discrete(9), num_envs=2, depth=3, padding=np.int64(0))
        >>> frames.reset(np.array([5, 6]), np.array([True, True])).tolist()
        [[0, 0, 5], [0, 0, 6]]
        >>> frames.step(np.array([7, 8]), np.array([False, True])).tolist()
        [[0, 5, 7], [0, 0, 8]]
    """
    return _make(layout_of(space), num_envs, depth, padding, oldest)


def _make(layout: Layout, num_envs: int, depth: int, padding: Any, oldest: bool) -> LaneFrames:
    if layout[0] == "array" and layout[1].kind in "biufc" and layout[1].isnative:
        return FrameMemory(
            num_envs, depth, layout[2], layout[1], padding=padding, oldest=oldest, errors=error
        )
    if layout[0] == "array":
        raise error.InvalidArgument(f"space: expected arrays of numbers, got {layout[1]}")
    if layout[0] == "objects":
        return _ObjectFrames(layout[1].space, num_envs, depth, padding, oldest)
    keys = range(len(layout[1])) if layout[0] == "tuple" else layout[1]
    parts = {
        key: _make(part, num_envs, depth, None if padding is None else padding[key], oldest)
        for key, part in zip(keys, layout[-1], strict=True)
    }
    return _PartFrames(parts, layout[0] == "tuple")


class _PartFrames:
    """Of dicts and tuples: each part by itself."""

    def __init__(self, parts: dict[Any, LaneFrames], as_tuple: bool) -> None:
        self._parts = parts
        self._as_tuple = as_tuple

    def reset(self, observations: Any, begun: Mask) -> Any:
        return self._joined(
            {key: part.reset(observations[key], begun) for key, part in self._parts.items()}
        )

    def step(self, observations: Any, begun: Mask, lanes: Lanes | None = None) -> Any:
        return self._joined(
            {key: part.step(observations[key], begun, lanes) for key, part in self._parts.items()}
        )

    def peek(self, observations: Any, mask: Mask, lanes: Lanes | None = None) -> Any:
        return self._joined(
            {key: part.peek(observations[key], mask, lanes) for key, part in self._parts.items()}
        )

    def _joined(self, found: dict[Any, Any]) -> Any:
        return tuple(found.values()) if self._as_tuple else found


class _ObjectFrames:
    """Of what no array holds: a list for each lane."""

    def __init__(
        self, space: Space[Any], num_envs: int, depth: int, padding: Any, oldest: bool
    ) -> None:
        self._space = space
        self._stacked = batch_space(space, depth)
        self._depth = depth
        self._padding = padding
        self._oldest = oldest
        self._frames: list[list[Any]] = [[] for _ in range(num_envs)]

    def _items(self, observations: Any, count: int) -> list[Any]:
        return list(iterate(batch_space(self._space, count), observations))

    def _begin(self, frame: Any) -> list[Any]:
        before = frame if self._padding is None else self._padding
        return [*[before] * (self._depth - 1), frame]

    def reset(self, observations: Any, begun: Mask) -> Any:
        items = self._items(observations, len(self._frames))
        for lane in np.flatnonzero(begun).tolist():
            self._frames[lane] = self._begin(deepcopy(items[lane]))
        return self._batch(self._frames)

    def step(self, observations: Any, begun: Mask, lanes: Lanes | None = None) -> Any:
        chosen = range(len(self._frames)) if lanes is None else lanes.tolist()
        items = deepcopy(self._items(observations, len(chosen)))
        for lane, frame, first in zip(chosen, items, begun.tolist(), strict=True):
            old = self._frames[lane]
            self._frames[lane] = self._begin(frame) if first else [*old[1:], frame]
        return self._batch([self._frames[lane] for lane in chosen])

    def peek(self, observations: Any, mask: Mask, lanes: Lanes | None = None) -> Any:
        frames = self._frames
        if lanes is not None:
            frames = [frames[lane] for lane in lanes.tolist()]
        items = self._items(observations, len(frames))
        return self._batch(
            [
                [*old[1:], item] if chosen else old
                for old, item, chosen in zip(frames, items, mask.tolist(), strict=True)
            ]
        )

    def _batch(self, frames: list[list[Any]]) -> Any:
        """Return stacks, or their oldest observations, as a batch that is the caller's."""
        count, space = len(frames), self._space
        if self._oldest:
            oldest = [stack[0] for stack in frames]
            return deepcopy(concatenate(space, oldest, create_empty_array(space, count)))
        room = [create_empty_array(space, self._depth) for _ in frames]
        stacks = [concatenate(space, stack, out) for stack, out in zip(frames, room, strict=True)]
        stacked = self._stacked
        return deepcopy(concatenate(stacked, stacks, create_empty_array(stacked, count)))
