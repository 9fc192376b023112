"""Wrappers of batches of rewards: equal in each lane, compared with Gymnasium's, and errors."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

import gymcore
from gymcore import error, wrappers
from gymcore.vector import AutoresetMode, SyncVectorEnv
from gymcore.wrappers.vector import ClipReward, TransformReward, VectorizeTransformReward
from tests.testing_env import assert_same
from tests.wrappers.lane_by_lane import MODES, check_lane_by_lane, in_modes
from tests.wrappers.side_by_side import check_vectors_side_by_side
from tests.wrappers.walk_env import make_walk_env


def make_batch(package: Any = gymcore, n: int = 3) -> Any:
    return package.vector.SyncVectorEnv([make_walk_env(package)] * n)


class Sign(wrappers.TransformReward):
    """A user's wrapper without a function, but with its own `reward`."""

    def __init__(self, env: Any) -> None:
        super().__init__(env, float)

    def reward(self, reward: Any) -> Any:
        return np.sign(reward) + 0.25


@in_modes("bounds", [(-1, 1), (0.5, None), (None, -2), (1, 1), (np.float32(0.1), 9)])
def test_clipping_lane_by_lane(bounds: Any, mode: AutoresetMode) -> None:
    check_lane_by_lane(
        lambda envs: ClipReward(envs, *bounds),
        lambda env: wrappers.ClipReward(env, *bounds),
        mode=mode,
        steps=24,
    )


@pytest.mark.parametrize("mode", MODES)
def test_functions_lane_by_lane(mode: AutoresetMode) -> None:
    def in_place(rewards: Any) -> Any:
        rewards *= 2
        rewards += 1
        return rewards

    def func(reward: Any) -> Any:
        return 2 * reward + 1

    def single(env: Any) -> Any:
        return wrappers.TransformReward(env, func)

    for wrap in (
        lambda envs: TransformReward(envs, func),
        lambda envs: TransformReward(envs, in_place),
        lambda envs: VectorizeTransformReward(envs, wrappers.TransformReward, func=func),
    ):
        check_lane_by_lane(wrap, single, mode=mode, steps=24)
    check_lane_by_lane(lambda envs: VectorizeTransformReward(envs, Sign), Sign, mode=mode, steps=24)


def test_a_lane_that_begins_an_episode_keeps_its_reward_of_zero() -> None:
    envs = TransformReward(gymcore.make_vec("CartPole-v1", num_envs=4), lambda rewards: rewards + 1)
    envs.reset(seed=3)
    ended = np.zeros(4, np.bool_)
    zeros = 0
    for _ in range(60):
        _, rewards, terminated, truncated, _ = envs.step(np.zeros(4, np.int64))
        assert_same(rewards, np.where(ended, 0.0, 2.0))
        zeros += np.count_nonzero(ended)
        ended = terminated | truncated
    assert zeros > 8


@pytest.mark.parametrize("mode", ["NextStep", "Disabled", "SameStep"])
@pytest.mark.parametrize(
    ("name", "args", "kwargs"),
    [
        ("ClipReward", (-1, 1), {}),
        ("ClipReward", (0, None), {}),
        ("TransformReward", (lambda rewards: 3 * rewards,), {}),
    ],
)
def test_rollouts_equal_gymnasiums(name: str, args: Any, kwargs: dict[str, Any], mode: str) -> None:
    def wrap(package: Any, envs: Any) -> Any:
        return getattr(package.wrappers.vector, name)(envs, *args, **kwargs)

    check_vectors_side_by_side(wrap, mode=mode, steps=24)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("bounds", [(-1, 1), (None, 0.5), (np.float64(0.1), 1), (2, 2)])
def test_rewards_of_any_dtype_are_clipped_as_gymnasium_does(bounds: Any, dtype: Any) -> None:
    ours = ClipReward(make_batch(n=5), *bounds)
    theirs = gymnasium.wrappers.vector.ClipReward(make_batch(gymnasium, 5), *bounds)
    values = [-3, 0.25, 0.75, 7, 0] if dtype is np.int64 else [-3, 0.25, np.nan, np.inf, -np.inf]
    rewards = np.array(values).astype(dtype)
    given = rewards.copy()
    assert_same(ours.rewards(given), theirs.rewards(rewards.copy()))
    assert_same(given, rewards)


def test_a_bound_for_each_lane() -> None:
    envs = ClipReward(make_batch(), np.array([0, 1, 2]), 5)
    assert_same(envs.rewards(np.array([-1.0, -1.0, 9.0])), np.array([0.0, 1.0, 5.0]))


def test_what_a_function_returns_is_returned() -> None:
    assert TransformReward(make_batch(), lambda rewards: [1, 2, 3]).rewards(np.zeros(3)) == [
        1,
        2,
        3,
    ]


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (
            lambda e: ClipReward(e),
            error.InvalidBound,
            "Both `min_reward` and `max_reward` cannot be",
        ),
        (lambda e: ClipReward(e, 1, 0), error.InvalidBound, "Min reward (1) must be smaller than"),
        (lambda e: ClipReward(e, "a", 0), TypeError, "Expected min_reward to be a number, got 'a'"),
        (
            lambda e: ClipReward(e, np.zeros(2)),
            TypeError,
            "a number or 3 of them, got shape (2,)",
        ),
        (lambda e: ClipReward(e.envs[0], 0), TypeError, "`gymcore.vector.VectorEnv` but got"),
        (lambda e: TransformReward(e, 3), TypeError, "Expected func to be a function of rewards"),
        (
            lambda e: VectorizeTransformReward(e, 3),
            TypeError,
            "derived from TransformReward, got 3",
        ),
        (
            lambda e: VectorizeTransformReward(e, wrappers.ClipAction),
            TypeError,
            "derived from TransformReward, got <class",
        ),
    ],
)
def test_mistakes(make: Any, kind: type, words: str) -> None:
    with pytest.raises(kind) as raised:
        make(make_batch())
    assert words in str(raised.value)
    assert isinstance(raised.value, error.Error)


def test_a_function_may_make_the_wrapper() -> None:
    envs = VectorizeTransformReward(make_batch(), lambda env: wrappers.ClipReward(env, 0, 1))
    assert_same(envs.rewards(np.array([-1.0, 0.5, 2])), np.array([0, 0.5, 1]))
    with pytest.raises(error.ArgumentTypeError, match="derived from TransformReward"):
        VectorizeTransformReward(make_batch(), lambda env: env)


def test_flags_of_another_kind_are_left_alone() -> None:
    class Listed(gymcore.vector.VectorWrapper):
        def step(self, actions: Any) -> Any:
            observations, rewards, terminated, truncated, infos = self.env.step(actions)
            return observations, rewards, terminated.tolist(), truncated.tolist(), infos

    envs = TransformReward(Listed(make_batch()), lambda rewards: 0 * rewards + 7)
    envs.reset(seed=0)
    for _ in range(9):
        assert envs.step(np.zeros(3, np.int64))[1].tolist() == [7, 7, 7]


def test_arguments_are_recorded() -> None:
    assert ClipReward(make_batch(), 0)._saved_kwargs == {"min_reward": 0, "max_reward": None}
    envs = SyncVectorEnv([make_walk_env()])
    assert VectorizeTransformReward(envs, Sign)._saved_kwargs == {"wrapper": Sign}
