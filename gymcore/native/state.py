"""States of lanes of compiled environments: saved as one record for each lane, and their seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.error import ArgumentTypeError, InvalidArgument
from gymcore.native.parameters import write_table
from gymcore.utils import seeding

# `elapsed` of a lane that was saved before its first reset.
NEVER_RESET = -1


def lane_dtype(kernel_spec: dict[str, Any], width: int | None = None) -> np.dtype[Any]:
    """Structured dtype of one saved lane.

    Fields: `state` float64 (the columns of the physics, or `width` numbers of physics with a state
    outside the batch), `random` uint64 [5] (PCG64 state and increment, high words first, and the
    buffered half draw), `elapsed` int32 (-1 before the first reset), `episode_return` float64,
    `ended` bool, `parameters` float64.
    """
    return np.dtype(
        [
            ("state", np.float64, (len(kernel_spec["state_names"]) if width is None else width,)),
            ("random", np.uint64, (5,)),
            ("parameters", np.float64, (len(kernel_spec["parameters"]),)),
            ("episode_return", np.float64),
            ("elapsed", np.int32),
            ("ended", np.bool_),
        ]
    )


def as_states(values: Sequence[Any], kernel_spec: dict[str, Any]) -> npt.NDArray[np.float64]:
    """Physics states as float64 [len(values), state_size].

    Raises:
        InvalidArgument: a value that is not one number for every column of the physics.
    """
    names = kernel_spec["state_names"]
    states = np.empty((len(values), len(names)))
    for row, value in zip(states, values, strict=True):
        try:
            numbers = np.asarray(value, np.float64)
        except (TypeError, ValueError):
            numbers = None
        if numbers is None or numbers.shape != row.shape:
            raise InvalidArgument(
                f"state: expected {len(names)} numbers ({', '.join(names)}), got {value!r}"
            )
        row[:] = numbers
    return states


def write_states(batch: Any, states: npt.NDArray[np.float64], indices: Any) -> None:
    """Write physics states [len(indices), state_size] into lanes, which may be stepped then."""
    if len(indices) < batch.num_envs and not batch.is_ready:
        raise InvalidArgument("lanes: expected all lanes, or a reset() before some are set")
    batch.claim()
    try:
        batch.view_state()[:, indices] = states.T
        batch.mark_ready()
    finally:
        batch.release()


def _external_memory(batch: Any) -> Any:
    """The object that stores states outside the batch (by `width`, `save`, `load`), or None."""
    return batch.constants if hasattr(batch.constants, "load") else None


def save_lanes(batch: Any, kernel_spec: dict[str, Any], indices: Any) -> npt.NDArray[Any]:
    """Copy lanes into a structured array [len(indices)]."""
    parameters = batch.get_parameters()
    if parameters.shape[1] > 1:
        parameters = parameters[:, indices]
    ended, elapsed, returns = batch.view_lifecycle()
    external = _external_memory(batch)
    saved = np.empty(len(indices), lane_dtype(kernel_spec, external and external.width))
    batch.claim()
    try:
        if external is None:
            saved["state"] = batch.view_state()[:, indices].T
        else:
            saved["state"] = external.save(indices)
        saved["random"] = batch.view_random()[indices]
        saved["parameters"] = parameters.T
        saved["episode_return"] = returns[indices]
        saved["elapsed"] = elapsed[indices] if batch.is_ready else NEVER_RESET
        saved["ended"] = ended[indices]
    finally:
        batch.release()
    return saved


def load_lanes(batch: Any, kernel_spec: dict[str, Any], saved: Any, indices: Any) -> None:
    """Write saved lanes back; nothing changes if they do not fit.

    Raises:
        InvalidArgument: another environment's lanes, or another number of them; lanes that were
            never reset beside lanes that were.
        ArgumentTypeError: not an array.
    """
    external = _external_memory(batch)
    wanted = lane_dtype(kernel_spec, external and external.width)
    if not isinstance(saved, np.ndarray):
        raise ArgumentTypeError(f"state: expected the array of get_state(), got {type(saved)}")
    if saved.dtype != wanted or saved.shape != (len(indices),):
        raise InvalidArgument(
            f"state: expected {len(indices)} lanes of {kernel_spec['name']} ({wanted}), "
            f"got shape {saved.shape} of {saved.dtype}"
        )
    fresh = saved["elapsed"] == NEVER_RESET
    whole = len(indices) == batch.num_envs
    if not whole and not batch.is_ready:
        raise InvalidArgument("lanes: expected all lanes, or a reset() before some are set")
    if fresh.any() and not (whole and fresh.all()):
        raise InvalidArgument(
            f"state: lanes {np.flatnonzero(fresh).tolist()} were saved before their first reset; "
            "only a whole batch can go back to that"
        )
    table = batch.get_parameters()
    if (saved["parameters"] != table[:, indices % table.shape[1]].T).any():
        table = np.repeat(table, batch.num_envs // table.shape[1], axis=1)
        table[:, indices] = saved["parameters"].T
        write_table(batch, table)
    batch.claim()
    try:
        ended, elapsed, returns = batch.view_lifecycle()
        if external is None:
            batch.view_state()[:, indices] = saved["state"].T
        else:
            external.load(indices, saved["state"])
        batch.view_random()[indices] = saved["random"]
        returns[indices] = saved["episode_return"]
        elapsed[indices] = np.where(fresh, 0, saved["elapsed"])
        ended[indices] = saved["ended"]
        batch.mark_ready(indices)
        if whole and fresh.all():
            batch.forget()
    finally:
        batch.release()


# The seed of a stream that came from external: a saved state, or a generator that was put in.
UNKNOWN = -1


class LaneSeeds:
    """The seeds of a batch's lanes; unseeded streams get the system's entropy."""

    def __init__(self, batch: Any) -> None:
        """Take the batch, whose streams are not seeded yet."""
        self._batch = batch
        # The first lane's seed if the others count on from it (a million lanes need no list), a
        # seed for each lane, or None.
        self.known: int | list[int] | None = None

    def seed_all(self, first: int) -> None:
        """Seed lane i with `first + i`."""
        self._batch.seed(first, 0, self._batch.num_envs)
        self.known = first

    def ensure(self) -> None:
        """Seed the lanes from the system's entropy if they are not seeded."""
        if self.known is None:
            self.seed_all(seeding.np_random()[1])

    def seed_lanes(self, seeds: list[int | None], mask: npt.NDArray[np.bool_] | None) -> None:
        """Seed the lanes of the mask (None for all) that have a seed."""
        self.ensure()
        known = list(self.as_tuple())
        for lane, seed in enumerate(seeds):
            if seed is not None and (mask is None or mask[lane]):
                self._batch.seed(seed, lane, lane + 1)
                known[lane] = seed
        self.known = known

    def forget(self, lanes: npt.NDArray[Any]) -> None:
        """Note that these lanes' streams came from external."""
        unseeded = [UNKNOWN] * self._batch.num_envs
        known = unseeded if self.known is None else list(self.as_tuple())
        for lane in lanes.tolist():
            known[lane] = UNKNOWN
        self.known = known

    def as_tuple(self) -> tuple[int, ...]:
        """The seed of every lane."""
        self.ensure()
        if isinstance(self.known, int):
            return tuple(range(self.known, self.known + self._batch.num_envs))
        return tuple(self.known or ())
