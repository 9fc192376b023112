"""The arrays that a rollout of a compiled batch writes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gymcore.error import InvalidAction


class Rollout(NamedTuple):
    """What `NativeVectorEnv.rollout` writes: arrays with leading axes [T, num_envs].

    Observations are batches of the observation space: an array, or a tuple of them.
    """

    observations: Any
    rewards: npt.NDArray[np.float64]
    terminated: npt.NDArray[np.bool_]
    truncated: npt.NDArray[np.bool_]
    final_observations: Any


def rollout_arrays(
    actions: Any,
    num_envs: int,
    facts: dict[str, Any],
    *,
    observations: Any,
    rewards: npt.NDArray[np.float64] | None,
    terminated: npt.NDArray[np.bool_] | None,
    truncated: npt.NDArray[np.bool_] | None,
    final_observations: Any,
) -> Rollout:
    """The caller's arrays, and new ones in place of None (of True for `final_observations`).

    Raises:
        InvalidAction: `actions` are no batches.
    """
    try:
        shape = (*np.shape(actions)[:1], num_envs)
    except ValueError as problem:
        raise InvalidAction(f"actions: expected [T, num_envs, ...]: {problem}") from None
    if isinstance(final_observations, bool):
        final_observations = _observations(shape, facts) if final_observations else None
    return Rollout(
        _observations(shape, facts) if observations is None else observations,
        np.empty(shape, np.float64) if rewards is None else rewards,
        np.empty(shape, np.bool_) if terminated is None else terminated,
        np.empty(shape, np.bool_) if truncated is None else truncated,
        final_observations,
    )


def _observations(shape: tuple[int, ...], facts: dict[str, Any]) -> Any:
    """New arrays [*shape, ...] for the observations of a kernel."""
    size = facts["observation_size"]
    if facts["observation_dtype"] is not np.int64:
        return np.empty((*shape, size), facts["observation_dtype"])
    if size == 1:
        return np.empty(shape, np.int64)
    return tuple(np.empty(shape, np.int64) for _ in range(size))
