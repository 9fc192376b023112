"""Where everything lies in the memory that a vector environment shares with its workers."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gymcore.error import CustomSpaceError, InvalidArgument
from gymcore.spaces import Space
from gymcore.vector.layouts import Layout
from gymcore.vector.utils.shared_memory import create_shared_memory
from gymcore_ext.python_envs.batch_buffer import BatchBuffer
from gymcore_ext.python_envs.info_slots import InfoSlots
from gymcore_ext.workers.channel import Channel

__all__ = ["Bounds", "Memory", "Plan", "check_sharable", "split_lanes"]

Bounds = list[tuple[int, int]]

_ALIGNMENT = 64

# Bytes of one lane's infos in shared memory; a dict that needs more goes through a pipe.
_SLOT_BYTES = 1024

_STATISTICS = (("episode_returns", np.float64), ("episode_lengths", np.int64),
               ("episode_times", np.float64))  # fmt: skip
_COLUMNS = (("rewards", np.float64), ("terminated", np.bool_), ("truncated", np.bool_),
            ("failed", np.bool_))  # fmt: skip


def split_lanes(num_envs: int, num_workers: int) -> Bounds:
    """Return the lanes `[lo, hi)` of each worker, as even as can be.

    Example:
        >>> split_lanes(5, 2)
        [(0, 3), (3, 5)]
    """
    share, more = divmod(num_envs, num_workers)
    ends = [i * share + min(i, more) for i in range(num_workers + 1)]
    return list(itertools.pairwise(ends))


@dataclass(frozen=True)
class Plan:
    """Made once by the parent and sent to every worker.

    Attributes:
        num_envs: Lanes of the batch.
        bounds: `[lo, hi)` of each worker.
        mode: Autoreset: 0 next step, 1 same step, 2 disabled.
        statistics: Whether episodes are counted.
        observations: Layout of one observation as it lies in the memory; None where observations
            are pickled.
        actions: Layout of one action; None where actions are pickled.
    """

    num_envs: int
    bounds: Bounds
    mode: int
    statistics: bool
    observations: Layout | None
    actions: Layout | None
    offsets: dict[str, int] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        """Lay the parts out one after another."""
        n = self.num_envs
        sizes = {
            "channel": Channel.nbytes(len(self.bounds), n),
            "slots": InfoSlots.nbytes(n, _SLOT_BYTES),
        }
        for name, dtype in _COLUMNS + (_STATISTICS if self.statistics else ()):
            sizes[name] = n * np.dtype(dtype).itemsize
        if self.actions is not None:
            sizes["actions"] = BatchBuffer.nbytes(self.actions, n)
        if self.observations is not None:
            sizes["observations"] = BatchBuffer.nbytes(self.observations, n)
            if self.mode == 1:
                sizes["final_observations"] = sizes["observations"]
        offset = 0
        for name, size in sizes.items():
            self.offsets[name] = offset
            offset += -(-size // _ALIGNMENT) * _ALIGNMENT
        self.offsets["end"] = offset

    @property
    def nbytes(self) -> int:
        """Bytes of the memory."""
        return self.offsets["end"]


class Memory:
    """The parts of the shared memory, as this process sees them. All arrays are views.

    Attributes:
        channel: Requests and replies.
        slots: Infos of each lane.
        rewards: float64 `[num_envs]`.
        terminated: bool `[num_envs]`.
        truncated: bool `[num_envs]`.
        failed: bool `[num_envs]`, the lane's last step in a partial batch raised.
        episode_returns: float64 `[num_envs]`, or None where episodes are not counted.
        episode_lengths: int64 `[num_envs]`, or None.
        episode_times: float64 `[num_envs]` (s), or None.
        observations: BatchBuffer, or None where observations are pickled.
        final_observations: BatchBuffer; None but in same-step mode.
        actions: BatchBuffer, or None where actions are pickled.
    """

    def __init__(self, plan: Plan, buffer: Any) -> None:
        """Lay views over a buffer of at least `plan.nbytes` bytes, which must be zero at first."""
        offsets, n = plan.offsets, plan.num_envs
        self.channel = Channel(buffer, offsets["channel"], len(plan.bounds), n, plan.bounds)
        self.slots = InfoSlots(buffer, offsets["slots"], n, _SLOT_BYTES)

        def column(name: str, dtype: Any) -> Any:
            if name not in offsets:
                return None
            return np.frombuffer(buffer, dtype, n, offsets[name])

        def rows(name: str, layout: Layout | None) -> BatchBuffer | None:
            if layout is None or name not in offsets:
                return None
            return BatchBuffer.over(layout, n, buffer, offsets[name])

        self.rewards, self.terminated, self.truncated, self.failed = (
            column(name, dtype) for name, dtype in _COLUMNS
        )
        self.episode_returns, self.episode_lengths, self.episode_times = (
            column(name, dtype) for name, dtype in _STATISTICS
        )
        self.observations = rows("observations", plan.observations)
        self.final_observations = rows("final_observations", plan.observations)
        self.actions = rows("actions", plan.actions)


def check_sharable(space: Space[Any]) -> None:
    """Raise for a space that `create_shared_memory` has no memory for.

    Args:
        space: Space of one observation.

    Raises:
        ArgumentTypeError: Its elements have no fixed size (a `TypeError`).
        InvalidArgument: It is a space that nobody has registered (a `ValueError`).
    """
    try:
        create_shared_memory(space, 1, _NoMemory)
    except CustomSpaceError as problem:
        raise InvalidArgument(
            "Using `AsyncVector(..., shared_memory=True)` caused an error, you can disable this "
            "feature with `shared_memory=False` however this is slower."
        ) from problem


class _NoMemory:
    """A `multiprocessing` context that allocates nothing: for asking whether it could."""

    @staticmethod
    def Array(typecode: Any, size: int) -> None:
        """Return None."""
