"""The arrays that a rollout of a compiled batch writes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gymcore.error import InvalidAction


class Rollout(NamedTuple):
    """What `NativeVectorEnv.rollout` writes: arrays with leading axes [T, num_envs]."""

    observations: npt.NDArray[np.float32]
    rewards: npt.NDArray[np.float64]
    terminated: npt.NDArray[np.bool_]
    truncated: npt.NDArray[np.bool_]
    final_observations: npt.NDArray[np.float32] | None


def rollout_arrays(
    actions: Any,
    num_envs: int,
    observation_size: int,
    *,
    observations: npt.NDArray[np.float32] | None,
    rewards: npt.NDArray[np.float64] | None,
    terminated: npt.NDArray[np.bool_] | None,
    truncated: npt.NDArray[np.bool_] | None,
    final_observations: npt.NDArray[np.float32] | bool | None,
) -> Rollout:
    """The caller's arrays, and new ones in place of None (of True for `final_observations`).

    Raises:
        InvalidAction: `actions` are no batches.
    """
    try:
        shape = (*np.shape(actions)[:1], num_envs)
    except ValueError as problem:
        raise InvalidAction(f"actions: expected [T, num_envs, ...]: {problem}") from None
    wide = (*shape, observation_size)
    if isinstance(final_observations, bool):
        final_observations = np.empty(wide, np.float32) if final_observations else None
    return Rollout(
        np.empty(wide, np.float32) if observations is None else observations,
        np.empty(shape, np.float64) if rewards is None else rewards,
        np.empty(shape, np.bool_) if terminated is None else terminated,
        np.empty(shape, np.bool_) if truncated is None else truncated,
        final_observations,
    )
