"""Wrappers of gymcore and of Gymnasium, stepped side by side."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import gymnasium
import numpy as np

import gymcore
from tests.testing_env import assert_same
from tests.wrappers.lane_by_lane import assert_close
from tests.wrappers.walk_env import make_walk_env


def assert_same_space(ours: Any, theirs: Any) -> None:
    """Assert that a space equals one of Gymnasium's, by text and by samples of the same seed."""
    assert repr(ours) == repr(theirs)
    ours, theirs = deepcopy(ours), deepcopy(theirs)
    ours.seed(3)
    theirs.seed(3)
    assert_same(ours.sample(), theirs.sample(), "samples")


def check_side_by_side(
    wrap: Callable[[Any, Any], Any],
    *,
    steps: int = 24,
    seed: int = 0,
    exact: bool = True,
    spaces: bool = True,
    **env_kwargs: Any,
) -> None:
    """Step the same wrapped environment in both packages, and compare all results.

    Args:
        wrap: `wrap(package, env)` returns the wrapped environment; `package` is `gymcore` or
            `gymnasium`.
        steps: Number of steps.
        seed: Seed of the environments and the actions.
        exact: Whether numbers must be equal to the bit.
        spaces: Whether to compare the spaces.
        **env_kwargs: For `WalkEnv`; spaces are made for each package by `kind` and `action_kind`.
    """
    compare = assert_same if exact else assert_close
    ours = wrap(gymcore, make_walk_env(gymcore)(**env_kwargs))
    theirs = wrap(gymnasium, make_walk_env(gymnasium)(**env_kwargs))
    if spaces:
        assert_same_space(ours.observation_space, theirs.observation_space)
        assert_same_space(ours.action_space, theirs.action_space)
    compare(ours.reset(seed=seed), theirs.reset(seed=seed), "reset")
    theirs.action_space.seed(seed)
    for step in range(steps):
        action = theirs.action_space.sample()
        one, other = ours.step(deepcopy(action)), theirs.step(deepcopy(action))
        compare(one, other, f"step {step}")
        if other[2] or other[3]:
            compare(ours.reset(), theirs.reset(), f"reset after step {step}")


def check_vectors_side_by_side(
    wrap: Callable[[Any, Any], Any],
    *,
    mode: str = "NextStep",
    num_envs: int = 3,
    steps: int = 24,
    seed: int = 0,
    exact: bool = True,
    spaces: bool = True,
    **env_kwargs: Any,
) -> None:
    """Step the same wrapped SyncVectorEnv in both packages, and compare all results.

    Args:
        wrap: `wrap(package, envs)` returns the wrapped vector environment.
        mode: The autoreset mode, by value.
        num_envs: Number of lanes.
        steps: Number of steps.
        seed: Seed of the environments and the actions.
        exact: Whether numbers must be equal to the bit.
        spaces: Whether to compare the spaces.
        **env_kwargs: For `WalkEnv`.
    """
    compare = assert_same if exact else assert_close

    def make(package: Any) -> Any:
        lanes = [lambda: make_walk_env(package)(**env_kwargs)] * num_envs
        mode_member = package.vector.AutoresetMode(mode)
        return wrap(package, package.vector.SyncVectorEnv(lanes, autoreset_mode=mode_member))

    ours, theirs = make(gymcore), make(gymnasium)
    if spaces:
        assert_same_space(ours.single_observation_space, theirs.single_observation_space)
        assert_same_space(ours.observation_space, theirs.observation_space)
        assert_same_space(ours.action_space, theirs.action_space)
    compare(ours.reset(seed=seed), theirs.reset(seed=seed), "reset")
    theirs.action_space.seed(seed)
    for step in range(steps):
        actions = theirs.action_space.sample()
        one, other = ours.step(deepcopy(actions)), theirs.step(deepcopy(actions))
        compare(one, other, f"step {step}")
        ended = other[2] | other[3]
        if mode == "Disabled" and ended.any():
            mask = {"reset_mask": np.array(ended)}
            again = theirs.reset(options=dict(mask))
            compare(ours.reset(options=mask), again, f"reset after step {step}")
