"""The MuJoCo environments of both packages, side by side."""

from __future__ import annotations

from typing import Any

import gymnasium
import mujoco
import numpy as np
import pytest

import gymcore
from tests.equal import assert_equal_arrays

NAMES = (
    "Ant",
    "HalfCheetah",
    "Hopper",
    "Humanoid",
    "HumanoidStandup",
    "InvertedDoublePendulum",
    "InvertedPendulum",
    "Pusher",
    "Reacher",
    "Swimmer",
    "Walker2d",
)
BY_TURNS = (np.float64, np.float32)
IDS = tuple(f"{name}-v{version}" for name in NAMES for version in (4, 5))


def theirs(env_id: str, **kwargs: Any) -> gymnasium.Env:
    """Return Gymnasium's environment; Pusher-v4 would refuse this MuJoCo's version number."""
    with pytest.MonkeyPatch.context() as patch:
        if env_id == "Pusher-v4":
            patch.setattr(mujoco, "__version__", "2.3.7")
        return gymnasium.make(env_id, **kwargs)


def pair(env_id: str, **kwargs: Any) -> tuple[gymcore.Env, gymnasium.Env]:
    """Return both environments, made with the same arguments."""
    return gymcore.make(env_id, **kwargs), theirs(env_id, **kwargs)


def assert_same_info(ours: dict[str, Any], other: dict[str, Any]) -> None:
    """Check for the same keys in the same order, and the same numbers of the same types."""
    assert list(ours) == list(other)
    for key, value in ours.items():
        assert_equal_arrays(value, other[key], key)
        assert type(value) is type(other[key]), key


def assert_same_steps(
    ours: Any, other: Any, steps: int, seed: int = 5, dtypes: tuple[type, ...] = BY_TURNS
) -> int:
    """Check that both give the same results for the same seed and actions.

    Args:
        ours: This package's environment.
        other: Gymnasium's environment.
        steps: Number of steps.
        seed: Seed of the environments and the actions.
        dtypes: Dtypes of actions, in turn; Gymnasium computes costs of float32 actions in float32.

    Returns:
        Number of episodes that ended.
    """
    low, high = other.action_space.low, other.action_space.high
    actions = np.random.default_rng(seed).uniform(low, high, (steps, *low.shape))
    first, info = ours.reset(seed=seed)
    expected, other_info = other.reset(seed=seed)
    assert_equal_arrays(first, expected)
    assert_same_info(info, other_info)
    episodes = 0
    for step, action in enumerate(actions):
        given = action.astype(dtypes[step % len(dtypes)])
        observation, reward, *flags, info = ours.step(given)
        expected, other_reward, *other_flags, other_info = other.step(given)
        assert observation.dtype == expected.dtype == np.float64
        assert_equal_arrays(observation, expected, f"step {step}")
        assert reward == other_reward, f"step {step}"
        assert type(reward) is type(other_reward)
        assert flags == other_flags
        assert_same_info(info, other_info)
        if any(flags):
            episodes += 1
            observation, info = ours.reset()
            expected, other_info = other.reset()
            assert_equal_arrays(observation, expected)
            assert_same_info(info, other_info)
    return episodes
