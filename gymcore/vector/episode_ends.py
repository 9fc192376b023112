"""Episodes that a wrapper ends: what every engine checks before it does so."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.error import UnsupportedMode
from gymcore.utils.arguments import check_mask
from gymcore.vector.vector_env import AutoresetMode, VectorEnv

__all__ = ["ended_mask"]


def ended_mask(env: VectorEnv[Any, Any, Any], mask: Any) -> npt.NDArray[np.bool_]:
    """Return the mask of `VectorEnv.end_episodes`, checked.

    Args:
        env: The engine.
        mask: What its caller gave.

    Raises:
        UnsupportedMode: The engine resets environments in the step that ends their episode.
        InvalidArgument: `mask` is no bool array `[num_envs]` (a `ValueError`).

    Example:
        >>> import gymcore as gym
        >>> envs = gym.make_vec("CartPole-v1", num_envs=2)
        >>> ended_mask(envs.unwrapped, np.array([True, False]))
        array([ True, False])
    """
    if env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP:
        raise UnsupportedMode(
            "end_episodes: same-step autoreset leaves no episode ended; reset(options="
            "{'reset_mask': mask}) begins the next ones"
        )
    return check_mask(mask, env.num_envs)
