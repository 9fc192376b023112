"""Wrappers of rewards, compared with Gymnasium's."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gymcore
from gymcore import error
from gymcore.wrappers import ClipReward, TransformReward
from tests.testing_env import assert_same
from tests.wrappers.side_by_side import check_side_by_side
from tests.wrappers.walk_env import make_walk_env


def both(*args: Any) -> tuple[Any, Any]:
    return tuple(
        package.wrappers.ClipReward(make_walk_env(package)(), *args)
        for package in (gymcore, gymnasium)
    )


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("ClipReward", (-1, 1)),
        ("ClipReward", (0.5, None)),
        ("ClipReward", (None, 0)),
        ("TransformReward", (lambda reward: 2 * reward + 1,)),
        ("TransformReward", (lambda reward: str(reward),)),
    ],
)
def test_rollouts_equal_gymnasiums(name: str, args: Any) -> None:
    check_side_by_side(lambda package, env: getattr(package.wrappers, name)(env, *args))


bounds = st.one_of(
    st.none(), st.integers(-9, 9), st.floats(-9, 9), st.floats(-9, 9).map(np.float32)
)
rewards = st.one_of(
    st.integers(-20, 20),
    st.floats(),
    st.floats(width=32).map(np.float32),
    st.floats().map(np.float64),
)


@settings(deadline=None, max_examples=60)
@given(low=bounds, high=bounds, reward=rewards)
def test_any_clip_equals_gymnasiums(low: Any, high: Any, reward: Any) -> None:
    if (low is None and high is None) or (None not in (low, high) and low > high):
        return
    ours, theirs = both(low, high)
    assert_same(ours.reward(reward), theirs.reward(reward))


def test_bounds_may_be_arrays() -> None:
    ours, theirs = both(np.array([0, 1]), np.array([1, 2]))
    assert_same(ours.reward(5.0), theirs.reward(5.0))


@pytest.mark.parametrize(
    ("args", "kind", "words"),
    [
        ((), error.InvalidBound, "Both `min_reward` and `max_reward` cannot be None"),
        ((1, 0), error.InvalidBound, "Min reward (1) must be smaller than max reward (0)"),
        ((np.nan, 1), error.InvalidBound, "Expected min_reward to be a number, got nan"),
        ((0, "b"), TypeError, "Expected max_reward to be a number, got 'b'"),
    ],
)
def test_mistakes(args: Any, kind: type, words: str) -> None:
    with pytest.raises(kind) as raised:
        ClipReward(make_walk_env()(), *args)
    assert words in str(raised.value)
    assert isinstance(raised.value, error.Error)


def test_a_function_that_is_none() -> None:
    with pytest.raises(error.ArgumentTypeError, match="Expected func to be a function of rewards"):
        TransformReward(make_walk_env()(), 3)
    with pytest.raises(error.ArgumentTypeError, match=r"Expected env to be a `gymcore\.Env`"):
        TransformReward(3, abs)


def test_the_spec_makes_the_same_wrapper_again() -> None:
    env = ClipReward(gymcore.make("CartPole-v1"), max_reward=0.25)
    again = gymcore.make(gymcore.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert again.reward(1) == 0.25
    assert again._saved_kwargs == {"min_reward": None, "max_reward": 0.25}
