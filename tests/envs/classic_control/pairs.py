"""Classic control of both packages, side by side.

If float64 states agree up to the last bits, their float32 observations are equal. Pendulum's and
Acrobot's cosines and sines come from another library, and Gymnasium computes those of
Acrobot's first observation in float32: they may differ by one float32 unit in the last place.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

import gymcore
from tests.equal import assert_equal_arrays

IDS = (
    "CartPole-v0",
    "CartPole-v1",
    "MountainCar-v0",
    "MountainCarContinuous-v0",
    "Pendulum-v1",
    "Acrobot-v1",
)
ARGUMENTS: list[tuple[str, dict[str, Any]]] = [
    *((env_id, {}) for env_id in IDS),
    ("CartPole-v1", {"sutton_barto_reward": True}),
    ("MountainCar-v0", {"goal_velocity": 0.03}),
    ("MountainCarContinuous-v0", {"goal_velocity": 0.02}),
    ("Pendulum-v1", {"g": 9.81}),
]
# Observations that contain cosines and sines.
TRIGONOMETRIC = ("Pendulum-v1", "Acrobot-v1")


def make_pair(env_id: str, **arguments: Any) -> tuple[Any, Any]:
    """Return the same environment of both packages: ours, theirs."""
    return gymcore.make(env_id, **arguments), gymnasium.make(env_id, **arguments)


def their_state(env: Any) -> list[float]:
    return [float(number) for number in env.unwrapped.state]


def assert_same_observation(env_id: str, ours: Any, theirs: Any) -> None:
    assert ours.dtype == theirs.dtype == np.float32
    assert ours.shape == theirs.shape
    if env_id in TRIGONOMETRIC:
        np.testing.assert_array_max_ulp(ours, theirs, 1)
    else:
        assert_equal_arrays(ours, theirs)
