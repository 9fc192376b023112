from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

def count_episodes(
    returns: npt.NDArray[np.float64],
    lengths: npt.NDArray[np.int64],
    starts: npt.NDArray[np.float64],
    ended: npt.NDArray[np.bool_],
    queues: tuple[Any, Any, Any],
    rewards: Any,
    terminated: Any,
    truncated: Any,
    now: float,
    next_step: bool,
    same_step: bool,
) -> tuple[int, dict[str, Array] | None]: ...
def normalize_rewards(
    returns: npt.NDArray[np.float32],
    ended: npt.NDArray[np.bool_],
    rewards: Any,
    terminated: Any,
    truncated: Any,
    mean: float,
    var: float,
    count: float,
    gamma: float,
    epsilon: float,
    update: bool,
    next_step: bool,
    same_step: bool,
) -> tuple[npt.NDArray[np.float64], float, float, float]: ...
def normalize_observations(
    x: Any, mean: Any, var: Any, count: float, epsilon: float, update: bool
) -> tuple[npt.NDArray[np.float32], Array, Array] | None: ...
