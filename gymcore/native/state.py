"""Saving and restoring lanes of compiled environments, as one record a lane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.error import ArgumentTypeError, InvalidArgument
from gymcore.native.parameters import write_table

# `elapsed` of a lane that was saved before its first reset.
NEVER_RESET = -1


def lane_dtype(facts: dict[str, Any], width: int | None = None) -> np.dtype[Any]:
    """Structured dtype of one saved lane.

    Fields: `state` float64 (the columns of the physics, or `width` numbers where physics keeps its
    state elsewhere), `random` uint64 [5] (PCG64 state and
    increment, high words first, and the buffered half draw), `elapsed` int32 (-1 before the first
    reset), `episode_return` float64, `ended` bool, `parameters` float64.
    """
    return np.dtype(
        [
            ("state", np.float64, (len(facts["state_names"]) if width is None else width,)),
            ("random", np.uint64, (5,)),
            ("parameters", np.float64, (len(facts["parameters"]),)),
            ("episode_return", np.float64),
            ("elapsed", np.int32),
            ("ended", np.bool_),
        ]
    )


def as_states(values: Sequence[Any], facts: dict[str, Any]) -> npt.NDArray[np.float64]:
    """Physics states as float64 [len(values), state_size].

    Raises:
        InvalidArgument: a value that is not one number for every column of the physics.
    """
    names = facts["state_names"]
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


def _elsewhere(batch: Any) -> Any:
    """What keeps states in memory of its own (with `width`, `save`, `load`), or None."""
    return batch.constants if hasattr(batch.constants, "load") else None


def save_lanes(batch: Any, facts: dict[str, Any], indices: Any) -> npt.NDArray[Any]:
    """Copy lanes into a structured array [len(indices)]."""
    parameters = batch.get_parameters()
    if parameters.shape[1] > 1:
        parameters = parameters[:, indices]
    ended, elapsed, returns = batch.view_lifecycle()
    elsewhere = _elsewhere(batch)
    saved = np.empty(len(indices), lane_dtype(facts, elsewhere and elsewhere.width))
    batch.claim()
    try:
        if elsewhere is None:
            saved["state"] = batch.view_state()[:, indices].T
        else:
            saved["state"] = elsewhere.save(indices)
        saved["random"] = batch.view_random()[indices]
        saved["parameters"] = parameters.T
        saved["episode_return"] = returns[indices]
        saved["elapsed"] = elapsed[indices] if batch.is_ready else NEVER_RESET
        saved["ended"] = ended[indices]
    finally:
        batch.release()
    return saved


def load_lanes(batch: Any, facts: dict[str, Any], saved: Any, indices: Any) -> None:
    """Write saved lanes back; nothing changes if they do not fit.

    Raises:
        InvalidArgument: another environment's lanes, or another number of them; lanes that were
            never reset beside lanes that were.
        ArgumentTypeError: no array.
    """
    elsewhere = _elsewhere(batch)
    wanted = lane_dtype(facts, elsewhere and elsewhere.width)
    if not isinstance(saved, np.ndarray):
        raise ArgumentTypeError(f"state: expected the array of get_state(), got {type(saved)}")
    if saved.dtype != wanted or saved.shape != (len(indices),):
        raise InvalidArgument(
            f"state: expected {len(indices)} lanes of {facts['name']} ({wanted}), "
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
        if elsewhere is None:
            batch.view_state()[:, indices] = saved["state"].T
        else:
            elsewhere.load(indices, saved["state"])
        batch.view_random()[indices] = saved["random"]
        returns[indices] = saved["episode_return"]
        elapsed[indices] = np.where(fresh, 0, saved["elapsed"])
        ended[indices] = saved["ended"]
        batch.mark_ready(indices)
        if whole and fresh.all():
            batch.forget()
    finally:
        batch.release()
