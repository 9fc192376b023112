"""Saving and restoring lanes of compiled environments, as one record a lane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.error import ArgumentTypeError, InvalidArgument


def lane_dtype(facts: dict[str, Any]) -> np.dtype[Any]:
    """Structured dtype of one saved lane.

    Fields: `state` float64 (the columns of the physics), `random` uint64 [5] (PCG64 state and
    increment, high words first, and the buffered half draw), `elapsed` int32, `episode_return`
    float64, `ended` bool, `parameters` float64.
    """
    return np.dtype(
        [
            ("state", np.float64, (len(facts["state_names"]),)),
            ("random", np.uint64, (5,)),
            ("parameters", np.float64, (len(facts["parameters"]),)),
            ("episode_return", np.float64),
            ("elapsed", np.int32),
            ("ended", np.bool_),
        ]
    )


def lane_indices(lanes: Sequence[int] | npt.NDArray[Any] | None, num_envs: int) -> Any:
    """Lanes as an index array, all of them for None; an index out of range or twice is an error."""
    if lanes is None:
        return np.arange(num_envs)
    indices = np.asarray(lanes)
    if indices.dtype == np.bool_ and indices.shape == (num_envs,):
        return np.flatnonzero(indices)
    if indices.ndim != 1 or (indices.size and indices.dtype.kind not in "iu"):
        raise ArgumentTypeError(
            f"lanes: expected integers or a mask [{num_envs}] bool, got {lanes!r}"
        )
    indices = indices.astype(np.int64)
    outside = (indices < 0) | (indices >= num_envs)
    if outside.any() or len(set(indices.tolist())) != len(indices):
        raise InvalidArgument(f"lanes: expected distinct lanes of 0 to {num_envs - 1}, got {lanes!r}")
    return indices


def save_lanes(batch: Any, facts: dict[str, Any], indices: Any) -> npt.NDArray[Any]:
    """Copy lanes into a structured array [len(indices)]."""
    ended, elapsed, returns = batch.view_lifecycle()
    parameters = batch.get_parameters()
    if parameters.shape[1] > 1:
        parameters = parameters[:, indices]
    saved = np.empty(len(indices), lane_dtype(facts))
    saved["state"] = batch.view_state()[:, indices].T
    saved["random"] = batch.view_random()[indices]
    saved["parameters"] = parameters.T
    saved["episode_return"] = returns[indices]
    saved["elapsed"] = elapsed[indices]
    saved["ended"] = ended[indices]
    return saved


def load_lanes(batch: Any, facts: dict[str, Any], saved: Any, indices: Any) -> None:
    """Write saved lanes back; nothing changes if they do not fit.

    Raises:
        InvalidArgument: another environment's lanes, or another number of them.
        ArgumentTypeError: no array.
    """
    wanted = lane_dtype(facts)
    if not isinstance(saved, np.ndarray):
        raise ArgumentTypeError(f"state: expected the array of get_state(), got {type(saved)}")
    if saved.dtype != wanted or saved.shape != (len(indices),):
        raise InvalidArgument(
            f"state: expected {len(indices)} lanes of {facts['name']} ({wanted}), "
            f"got shape {saved.shape} of {saved.dtype}"
        )
    if len(indices) < batch.num_envs and not batch.is_ready:
        raise InvalidArgument("lanes: expected all lanes, or a reset() before some are set")
    table = batch.get_parameters()
    if (saved["parameters"] != table[:, indices % table.shape[1]].T).any():
        table = np.repeat(table, batch.num_envs // table.shape[1], axis=1)
        table[:, indices] = saved["parameters"].T
        batch.set_parameters(table)
    ended, elapsed, returns = batch.view_lifecycle()
    batch.view_state()[:, indices] = saved["state"].T
    batch.view_random()[indices] = saved["random"]
    returns[indices] = saved["episode_return"]
    elapsed[indices] = saved["elapsed"]
    ended[indices] = saved["ended"]
    batch.mark_ready()
