"""The memory that a vector environment shares with its workers: its layout, and access to it.

`SharedBlock` is the memory itself, `Plan` is its layout, and `Memory` has each process's views of
it. The parent writes actions with `checked_actions` and `store_actions`, and reads the results of
`reset`, `step` and `recv` with `Results`.
"""

from __future__ import annotations

import contextlib
import itertools
import mmap
import os
import sys
import tempfile
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.core import Info
from gymcore.error import CustomSpaceError, InvalidArgument
from gymcore.spaces import Space
from gymcore.spaces.layouts import Layout
from gymcore.vector.utils.infos import merge_info
from gymcore.vector.utils.shared_memory import create_shared_memory
from gymcore.vector.workers.failures import environment_error
from gymcore_ext.layouts import leaves
from gymcore_ext.python_envs.batch_buffer import BatchBuffer
from gymcore_ext.python_envs.env_loop import EPISODE_STATS_LAYOUT, REWARD_AND_END_LAYOUT
from gymcore_ext.python_envs.infos import InfoSlots
from gymcore_ext.workers.channel import Channel

Bounds = list[tuple[int, int]]

AddInfo = Callable[[Info, Info, int], Info]

_ALIGNMENT = 64

# Bytes for the infos of one lane in shared memory; larger dicts are sent through a pipe.
_SLOT_BYTES = 1024

_MAX_CRASH_BYTES = 16384

# Maximum number of buffers for results of some lanes, one for each number of lanes.
_MAX_CACHED_SIZES = 4

# Before Python 3.13, a mapping has a descriptor of its own, which is closed with the mapping.
_NO_DESCRIPTOR: dict[str, bool] = {"trackfd": False} if sys.version_info >= (3, 13) else {}


class SharedBlock:
    """Memory shared with child processes; its size can be set after they have started.

    It has no name in any file system, so nothing is left behind even if its processes are killed:
    it is freed with the last mapping. Another process gets it by fork, or as an argument of a
    `multiprocessing.Process` under every start method; it cannot be pickled otherwise.

    Attributes:
        fd: File descriptor of the memory; -1 if it is closed, and on Windows.

    Examples:
        >>> block = SharedBlock()
        >>> block.allocate(4096)
        >>> memory = block.map(4096)
        >>> memory[0], len(memory)
        (0, 4096)
        >>> block.close()
    """

    def __init__(self) -> None:
        self.fd = -1
        # On Windows, memory is identified by a tag and exists as long as a mapping of it.
        self._tag = f"gymcore-{uuid.uuid4()}" if sys.platform == "win32" else ""
        if hasattr(os, "memfd_create"):
            self.fd = os.memfd_create("gymcore")
        elif sys.platform != "win32":
            with tempfile.TemporaryFile() as file:
                self.fd = os.dup(file.fileno())

    def allocate(self, nbytes: int) -> None:
        """Set the size, in the process that created the block; the bytes are zero."""
        if self.fd >= 0:
            os.ftruncate(self.fd, nbytes)
            if not hasattr(os, "memfd_create") and hasattr(os, "posix_fallocate"):
                # Raise an exception here if the disk is full; a later write would cause SIGBUS.
                os.posix_fallocate(self.fd, 0, nbytes)

    def map(self, nbytes: int) -> memoryview:
        """Return a writable view of the memory, which stays mapped as long as it is referenced."""
        if sys.platform == "win32":
            return memoryview(mmap.mmap(-1, nbytes, tagname=self._tag))
        if self.fd < 0:
            raise ValueError("the block is closed")
        return memoryview(mmap.mmap(self.fd, nbytes, mmap.MAP_SHARED, **_NO_DESCRIPTOR))

    def close(self) -> None:
        """Close the file descriptor; mappings stay. Calling it again does nothing."""
        if self.fd >= 0:
            fd, self.fd = self.fd, -1
            os.close(fd)

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()

    def __getstate__(self) -> object:
        """Return the handle with which the process that is being started opens the block."""
        from multiprocessing import context, reduction

        context.assert_spawning(self)
        return self._tag or reduction.DupFd(self.fd)

    def __setstate__(self, state: Any) -> None:
        """Open the block in the process that was started."""
        self._tag = state if isinstance(state, str) else ""
        self.fd = -1 if self._tag else state.detach()


class CrashLog(SharedBlock):
    """A file without a name to which a dying worker writes its traceback for the parent."""

    def read(self) -> str:
        """Return the text in the file."""
        with contextlib.suppress(OSError):
            return os.pread(self.fd, _MAX_CRASH_BYTES, 0).decode("utf-8", "replace").rstrip()
        return ""


def split_lanes(num_envs: int, num_workers: int) -> Bounds:
    """Return the lanes `[lo, hi)` of each worker, divided as evenly as possible.

    Examples:
        >>> split_lanes(5, 2)
        [(0, 3), (3, 5)]
    """
    share, remainder = divmod(num_envs, num_workers)
    ends = [i * share + min(i, remainder) for i in range(num_workers + 1)]
    return list(itertools.pairwise(ends))


@dataclass(frozen=True)
class Plan:
    """Layout of the shared memory, which the parent makes once and sends to every worker.

    Attributes:
        num_envs: Number of lanes in the batch.
        bounds: Lanes `[lo, hi)` of each worker.
        mode: Autoreset mode: 0 next step, 1 same step, 2 disabled.
        statistics: Whether episode statistics are kept.
        observations: Layout of one observation in the memory; None if observations are pickled.
        actions: Layout of one action; None if actions are pickled.
        keeps_floats: Whether actions are single arrays of float32 or float64 whose dtype is kept.
            The memory stores them as float64.
    """

    num_envs: int
    bounds: Bounds
    mode: int
    statistics: bool
    observations: Layout | None
    actions: Layout | None
    keeps_floats: bool = False
    offsets: dict[str, int] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        n = self.num_envs
        sizes = {
            "channel": Channel.nbytes(len(self.bounds), n),
            "slots": InfoSlots.nbytes(n, _SLOT_BYTES),
            "rewards_and_ends": BatchBuffer.nbytes(REWARD_AND_END_LAYOUT, n),
            "failed": n,
        }
        if self.statistics:
            sizes["episodes"] = BatchBuffer.nbytes(EPISODE_STATS_LAYOUT, n)
        if self.keeps_floats:
            sizes["single_precision"] = n
        if self.stored_actions is not None:
            sizes["actions"] = BatchBuffer.nbytes(self.stored_actions, n)
        if self.observations is not None:
            sizes["observations"] = BatchBuffer.nbytes(self.observations, n)
            # Others are pickled, because a row does not store whether a number was a Python number.
            if self.mode == 1 and self.observations[0] == "array" and self.observations[2]:
                sizes["final_observations"] = sizes["observations"]
        offset = 0
        for name, size in sizes.items():
            self.offsets[name] = offset
            offset += -(-size // _ALIGNMENT) * _ALIGNMENT
        self.offsets["end"] = offset

    @property
    def stored_actions(self) -> Layout | None:
        """Layout of one action in the memory."""
        if not self.keeps_floats or self.actions is None:
            return self.actions
        return "array", np.dtype(np.float64), self.actions[2]

    @property
    def nbytes(self) -> int:
        """Size of the memory in bytes."""
        return self.offsets["end"]


class Memory:
    """The parts of the shared memory in this process. All arrays are views.

    Attributes:
        channel: Requests and replies.
        slots: Infos of each lane.
        rewards_and_ends: BatchBuffer of `REWARD_AND_END_LAYOUT`, which contains the next three.
        rewards: float64 `[num_envs]`.
        terminated: bool `[num_envs]`.
        truncated: bool `[num_envs]`.
        failed: bool `[num_envs]`, whether the lane's last step for `send` raised.
        episodes: BatchBuffer of `EPISODE_STATS_LAYOUT`, or None without episode statistics.
        observations: BatchBuffer, or None if observations are pickled.
        final_observations: BatchBuffer in same-step mode if an observation is one array with axes,
            otherwise None.
        actions: BatchBuffer, or None if actions are pickled.
        single_precision: bool `[num_envs]`, whether the lane's action was float32; None if
            `Plan.keeps_floats` is not set.
    """

    def __init__(self, plan: Plan, buffer: memoryview) -> None:
        """Create views of a buffer of at least `plan.nbytes` bytes, which must be zero."""
        offsets, n = plan.offsets, plan.num_envs
        self.channel = Channel(buffer, offsets["channel"], plan.bounds)
        self.slots = InfoSlots(buffer, offsets["slots"], n, _SLOT_BYTES)

        def flags(name: str) -> npt.NDArray[np.bool_]:
            return np.frombuffer(buffer, np.bool_, n, offsets[name])

        def rows(name: str, layout: Layout | None) -> BatchBuffer | None:
            if layout is None or name not in offsets:
                return None
            return BatchBuffer(layout, n, memory=buffer, offset=offsets[name])

        self.rewards_and_ends = BatchBuffer(
            REWARD_AND_END_LAYOUT, n, memory=buffer, offset=offsets["rewards_and_ends"]
        )
        self.rewards, self.terminated, self.truncated = self.rewards_and_ends.batch()
        self.failed = flags("failed")
        self.episodes = rows("episodes", EPISODE_STATS_LAYOUT)
        self.observations = rows("observations", plan.observations)
        self.final_observations = rows("final_observations", plan.observations)
        self.single_precision = flags("single_precision") if plan.keeps_floats else None
        self.actions = rows("actions", plan.stored_actions)


def check_sharable(space: Space) -> None:
    """Check that `create_shared_memory` supports a space.

    Raises:
        ArgumentTypeError: If its elements have no fixed size (a `TypeError`).
        InvalidArgument: If no functions are registered for the space (a `ValueError`).
    """
    try:
        create_shared_memory(space, 1, _NullContext)
    except CustomSpaceError as problem:
        raise InvalidArgument(
            "Using `AsyncVector(..., shared_memory=True)` caused an error, you can disable this "
            "feature with `shared_memory=False` however this is slower."
        ) from problem


class _NullContext:
    """A `multiprocessing` context that allocates nothing, for checks of a space."""

    @staticmethod
    def Array(typecode: Any, size: int) -> Any:
        """Return None."""


def store_actions(
    layout: Layout, target: object, actions: object, lanes: np.ndarray | slice
) -> None:
    """Write checked actions to the rows of some lanes."""
    rows = leaves(layout, "actions", target, TypeError, KeyError)
    values = leaves(layout, "actions", actions, TypeError, KeyError)
    for (_, _, row), (_, _, value) in zip(rows, values, strict=True):
        row[lanes] = value


def stacked_rewards(
    numbers: npt.NDArray[np.float64],
    vectors: dict[int, npt.NDArray[np.float64]],
    lanes: Sequence[int],
) -> npt.NDArray[np.float64]:
    """Return rewards `[n, k]` of lanes: `vectors` by row, and zeros where an episode began.

    Raises:
        EnvironmentFailed: If the vectors differ in size, or an environment returned a number.
    """
    size = len(next(iter(vectors.values())))
    rewards = np.zeros((len(numbers), size))
    for row, lane in enumerate(lanes):
        vector = vectors.get(row)
        if numbers[row] if vector is None else len(vector) != size:
            got = "a number" if vector is None else f"one of {len(vector)}"
            problem = ValueError(
                f"reward: expected a vector of {size} as from other environments, got {got}"
            )
            raise environment_error([lane], "step", problem)
        if vector is not None:
            rewards[row] = vector
    return rewards


class Results:
    """Reads observations, rewards, flags and infos of lanes, and stores pickled observations.

    Observations in shared memory are copied once, to the arrays that the caller gets, or not at all
    (`copy=False`).

    Attributes:
        vectors: Rewards that are vectors, by row, since the last call of `rewards`.
    """

    def __init__(
        self,
        memory: Memory,
        layout: Layout,
        num_envs: int,
        copy: bool,
        overflow: Callable[[int], bytes],
        keeps_last: bool = False,
    ) -> None:
        """Allocate the batches that are returned.

        `overflow` returns the pickled infos of a lane that did not fit into its slot. `keeps_last`
        means that the last observations are also stored in this process.
        """
        self._memory = memory
        self._overflow = overflow
        self._layout = layout
        self._num_envs = num_envs
        self._shared = memory.observations
        self._objects: list[object] = [None] * num_envs
        self.vectors: dict[int, npt.NDArray[np.float64]] = {}
        self._view = None if copy or self._shared is None else self._shared.batch()
        self._rows = BatchBuffer(layout, num_envs, reuse=not copy)
        self._parts: dict[int, BatchBuffer] = {}
        self._last: BatchBuffer | None = None
        if keeps_last and self._shared is not None:
            self._last = BatchBuffer(layout, num_envs, reuse=True)
            self._last.begin()

    def store(self, lane: int, observation: object) -> None:
        """Replace the observation that a worker wrote."""
        if self._shared is None:
            self._objects[lane] = observation
        else:
            self._shared.write(lane, observation)
            if self._last is not None:
                self._last.write(lane, observation)

    def observation(self, lane: int) -> Any:
        """Return the last observation of one lane, copied if it is in shared memory."""
        if self._shared is None:
            return self._objects[lane]
        return (self._last or self._shared).read(lane)

    def observations(self) -> Any:
        """Return the last observations of all lanes."""
        if self._last is not None and self._shared is not None:
            self._last.copy_from(0, self._shared, 0, self._num_envs)
        if self._view is not None:
            return self._view
        rows = self._rows
        rows.begin()
        if self._shared is not None:
            rows.copy_from(0, self._shared, 0, self._num_envs)
        else:
            for lane in range(self._num_envs):
                self._write(rows, lane, lane)
        return rows.batch()

    def some_observations(self, lanes: list[int]) -> object:
        """Return the last observations of some lanes, in this order."""
        rows = self._parts.get(len(lanes))
        if rows is None:
            if len(self._parts) == _MAX_CACHED_SIZES:
                self._parts.clear()
            rows = self._parts[len(lanes)] = BatchBuffer(self._layout, len(lanes))
        rows.begin()
        if self._shared is not None:
            rows.gather(self._shared, lanes)
            if self._last is not None:
                for lane in lanes:
                    self._last.copy_from(lane, self._shared, lane)
        else:
            for row, lane in enumerate(lanes):
                self._write(rows, row, lane)
        return rows.batch()

    def _write(self, rows: BatchBuffer, row: int, lane: int) -> None:
        """Write a pickled observation, which the worker has not checked, to its row."""
        try:
            rows.write(row, self._objects[lane])
        except Exception as problem:
            raise environment_error([lane], "its observation", problem) from problem

    def infos(
        self,
        lanes: Sequence[int],
        rows: Sequence[int],
        num_rows: int,
        add_info: AddInfo | None = None,
    ) -> Info:
        """Return the merged infos of lanes, and store their pickled observations."""
        infos: Info = {}
        slots = self._memory.slots
        # Fetched now: if `add_info` raises, a later step must not receive them.
        overflow = {lane: self._overflow(lane) for lane in slots.overflowed(lanes)}

        def merge(infos: Info, info: Info, row: int) -> Info:
            merge_info(infos, info, row, num_rows)
            return infos

        add = add_info or merge
        for lane, row in zip(lanes, rows, strict=True):
            info, final_info, extra = slots.get(lane, overflow.get(lane))
            if extra is not None:
                self._objects[lane] = extra[0]
                if extra[2] is not None:
                    self.vectors[row] = extra[2]
            if final_info is not None:
                final = {"final_obs": self._final(lane, extra), "final_info": final_info}
                infos = add(infos, final, row)
            if info:
                infos = add(infos, info, row)
        return infos

    def _final(self, lane: int, extra: tuple[object, ...]) -> object:
        """Return the last observation of an episode that ended."""
        final = self._memory.final_observations
        return extra[1] if final is None else final.read(lane)

    def rewards(
        self, numbers: npt.NDArray[np.float64], lanes: Sequence[int]
    ) -> npt.NDArray[np.float64]:
        """Return the rewards of the lanes whose infos were last read, some of which are vectors."""
        vectors, self.vectors = self.vectors, {}
        return stacked_rewards(numbers, vectors, lanes)

    def episodes(
        self,
        infos: Info,
        ended: npt.NDArray[np.bool_],
        lanes: npt.NDArray[np.int64] | slice = slice(None),
    ) -> None:
        """Add the statistics of episodes that ended to the infos."""
        episodes = self._memory.episodes
        if episodes is None or not ended.any():
            return
        if "episode" in infos:
            raise InvalidArgument(
                "episode_statistics: the environments have an info named 'episode' themselves; "
                f"the infos of this step are {sorted(infos)}"
            )
        infos["episode"] = {
            key: np.where(ended, column[lanes], 0) for key, column in episodes.batch().items()
        }
        infos["_episode"] = ended.copy()
