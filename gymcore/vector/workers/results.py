"""From shared memory to what `reset`, `step` and `recv` return."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.error import InvalidArgument
from gymcore.spaces import Box, Dict, Space, Tuple
from gymcore.vector.layouts import Layout
from gymcore.vector.workers.failures import environment_failed
from gymcore.vector.workers.plan import Memory
from gymcore_ext.python_envs.batch_buffer import BatchBuffer
from gymcore_ext.python_envs.info_slots import merge_slots

__all__ = ["Results"]

AddInfo = Callable[[dict[str, Any], dict[str, Any], int], dict[str, Any]]
Blobs = dict[int, bytes]


class Results:
    """Reads observations, rewards, flags and infos of lanes; keeps observations that are pickled.

    Where observations lie in shared memory they are copied once, from there to the arrays that the
    caller gets, or not at all (`copy=False`).
    """

    def __init__(
        self,
        memory: Memory,
        space: Space[Any],
        layout: Layout,
        num_envs: int,
        copy: bool,
        keep: bool = False,
    ) -> None:
        """Make room for the batches that are handed out.

        Args:
            memory: What the workers write to.
            space: Space of one observation.
            layout: Its layout.
            num_envs: Lanes of the batch.
            copy: Whether batches are the caller's to keep.
            keep: Remember what was handed out last: a worker that dies may have written the next
                observation of some lanes already.
        """
        self._memory = memory
        self._space = space
        self._layout = layout
        self._num_envs = num_envs
        self._shared = memory.observations
        self._objects: list[Any] = [None] * num_envs
        self._view = None if copy or self._shared is None else self._shared.batch()
        self._rows = BatchBuffer(layout, num_envs, reuse=not copy)
        self._parts: dict[int, BatchBuffer] = {}
        self._kept: BatchBuffer | None = None
        if keep and self._shared is not None:
            self._kept = BatchBuffer(layout, num_envs, reuse=True)
            self._kept.begin()

    def store(self, lane: int, observation: Any) -> None:
        """Take an observation in the place of the one that a worker wrote."""
        if self._shared is None:
            self._objects[lane] = observation
        else:
            self._shared.write(lane, observation)
            if self._kept is not None:
                self._kept.write(lane, observation)

    def observation(self, lane: int) -> Any:
        """Return the last observation of one lane, a copy."""
        if self._shared is None:
            return self._objects[lane]
        return (self._kept or self._shared).read(lane)

    def observations(self) -> Any:
        """Return the last observations of all lanes."""
        if self._kept is not None and self._shared is not None:
            self._kept.copy_from(self._shared, 0, self._num_envs)
        if self._view is not None:
            return self._view
        rows = self._rows
        rows.begin()
        if self._shared is not None:
            rows.copy_from(self._shared, 0, self._num_envs)
        else:
            for lane in range(self._num_envs):
                self._write(rows, lane, lane)
        return rows.batch()

    def some_observations(self, lanes: Sequence[int]) -> Any:
        """Return the last observations of some lanes, in this order."""
        rows = self._parts.get(len(lanes))
        if rows is None:
            rows = self._parts[len(lanes)] = BatchBuffer(self._layout, len(lanes))
        rows.begin()
        for row, lane in enumerate(lanes):
            if self._shared is not None:
                rows.copy_row(row, self._shared, lane)
                if self._kept is not None:
                    self._kept.copy_row(lane, self._shared, lane)
            else:
                self._write(rows, row, lane)
        return rows.batch()

    def _write(self, rows: BatchBuffer, row: int, lane: int) -> None:
        """Write a pickled observation into its row; the worker has not looked at it."""
        try:
            rows.write(row, self._objects[lane])
        except Exception as problem:
            raise environment_failed([lane], "its observation", problem) from problem

    def infos(
        self, lanes: Sequence[int], blobs: Blobs, add_info: AddInfo, rows: Sequence[int]
    ) -> dict[str, Any]:
        """Return the merged infos of lanes, and keep their pickled observations.

        Args:
            lanes: Whose.
            blobs: What did not fit into shared memory, by lane.
            add_info: `VectorEnv._add_info`.
            rows: The place of each lane in the merged infos.
        """
        infos: dict[str, Any] = {}
        slots = self._memory.slots
        for lane, row in zip(lanes, rows, strict=True):
            info, final_info, extra = slots.get(lane, blobs.get(lane))
            if extra is not None:
                self._objects[lane] = extra[0]
            if final_info is not None:
                final = {"final_obs": self._final(lane, extra), "final_info": final_info}
                infos = add_info(infos, final, row)
            if info:
                infos = add_info(infos, info, row)
        return infos

    def all_infos(self, blobs: Blobs) -> dict[str, Any]:
        """Return the merged infos of all lanes, as `infos` does, by compiled code."""
        infos: dict[str, Any] = {}
        extras = merge_slots(infos, self._memory.slots, 0, self._num_envs, self._final, blobs)
        for lane, extra in extras.items():
            self._objects[lane] = extra[0]
        return infos

    def _final(self, lane: int, extra: Any) -> Any:
        """Return the last observation of an episode that ended."""
        final = self._memory.final_observations
        return extra[1] if final is None else _element(self._space, final.read(lane))

    def episodes(
        self, infos: dict[str, Any], ended: npt.NDArray[np.bool_], lanes: Any = slice(None)
    ) -> None:
        """Write the episodes that ended into the infos; as `EpisodeStatistics.report`."""
        memory = self._memory
        if memory.episode_returns is None or not ended.any():
            return
        if "episode" in infos:
            raise InvalidArgument(
                "episode_statistics: the environments have an info named 'episode' themselves; "
                f"the infos of this step are {sorted(infos)}"
            )
        assert memory.episode_lengths is not None and memory.episode_times is not None
        infos["episode"] = {
            "r": np.where(ended, memory.episode_returns[lanes], 0.0),
            "l": np.where(ended, memory.episode_lengths[lanes], 0),
            "t": np.where(ended, memory.episode_times[lanes], 0.0),
        }
        infos["_episode"] = ended.copy()


def _element(space: Space[Any], row: Any) -> Any:
    """Return a row as an element of the space: of a Box without axes an array, no number."""
    if isinstance(space, Box):
        return row if space.shape else np.asarray(row)
    if isinstance(space, Tuple):
        return tuple(map(_element, space.spaces, row))
    if isinstance(space, Dict):
        return {key: _element(part, row[key]) for key, part in space.spaces.items()}
    return row
