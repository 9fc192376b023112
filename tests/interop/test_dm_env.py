"""gymcore environments as `dm_env` environments, and the other way round."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore import spaces

dm_env = pytest.importorskip("dm_env")
from dm_env import specs, test_utils  # noqa: E402

from gymcore.interop.dm_env import from_dm_env, to_dm_env, to_space, to_specs  # noqa: E402


class TestConformance(test_utils.EnvironmentTestMixin, unittest.TestCase):
    """dm_env's own conformance tests."""

    def make_object_under_test(self) -> Any:
        return to_dm_env(gym.make("CartPole-v1", max_episode_steps=7))

    def make_action_sequence(self) -> Any:
        return iter([0, 1] * 20)


def test_an_episode_ends_by_discount_0_or_1():
    env = to_dm_env(gym.make("CartPole-v1", max_episode_steps=3), seed=1)
    steps = [env.step(0) for _ in range(5)]
    assert [int(step.step_type) for step in steps] == [0, 1, 1, 2, 0]
    assert [step.discount for step in steps] == [None, 1.0, 1.0, 1.0, None]
    env = to_dm_env(gym.make("CartPole-v1"), seed=1)
    step = env.reset()
    np.testing.assert_array_equal(step.observation, gym.make("CartPole-v1").reset(seed=1)[0])
    while not step.last():
        step = env.step(0)
    assert (step.discount, step.reward) == (0.0, 1.0)
    env.close()


def test_a_batch_has_a_time_step_of_arrays():
    envs = gym.make_vec("CartPole-v1", 3, max_episode_steps=2)
    env = to_dm_env(envs, seed=1)
    assert env.observation_spec().shape == (3, 4)
    assert env.action_spec().shape == (3,)
    assert env.reset().step_type.tolist() == [0, 0, 0]
    steps = [env.step(np.array([0, 1, 0])) for _ in range(4)]
    assert [step.step_type.tolist() for step in steps] == [[1] * 3, [2] * 3, [0] * 3, [1] * 3]
    assert [step.reward.tolist() for step in steps] == [[1.0] * 3] * 2 + [[0.0] * 3, [1.0] * 3]
    assert steps[1].discount.tolist() == [1.0] * 3
    env.close()


def test_a_batch_needs_next_step_autoreset():
    envs = gym.make_vec("CartPole-v1", 2, vector_kwargs={"autoreset_mode": "SameStep"})
    with pytest.raises(gym.error.UnsupportedMode, match="expected autoreset mode NEXT_STEP"):
        to_dm_env(envs)
    with pytest.raises(TypeError, match=r"expected a gymcore\.Env or VectorEnv, got <class 'str'>"):
        to_dm_env("CartPole-v1")


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1", "FrozenLake-v1", "Blackjack-v1"])
def test_there_and_back_again(env_id):
    env, same = gym.make(env_id), from_dm_env(to_dm_env(gym.make(env_id), seed=3))
    env.action_space.seed(3)
    for mine, theirs in zip(env.reset(seed=3), same.reset(), strict=True):
        np.testing.assert_equal(theirs, {} if isinstance(theirs, dict) else mine)
    for _ in range(200):
        action = env.action_space.sample()
        assert action in same.action_space
        mine, theirs = env.step(action), same.step(action)
        assert theirs[0] in same.observation_space
        np.testing.assert_equal(theirs[0], mine[0])
        assert theirs[1:4] == mine[1:4]
        if mine[2] or mine[3]:
            with pytest.raises(gym.error.ResetNeeded, match="the episode is over"):
                same.step(action)
            env.reset()
            same.reset()
    same.close()


def test_options_are_refused():
    env = from_dm_env(to_dm_env(gym.make("CartPole-v1")))
    env.reset(options={})
    with pytest.raises(gym.error.InvalidArgument, match="options: expected no keys, got 'low'"):
        env.reset(options={"low": 1})


def test_its_environments_run_under_our_engines():
    def make_env() -> Any:
        return from_dm_env(to_dm_env(gym.make("Pendulum-v1"), seed=1))

    with gym.vector.SyncVectorEnv([make_env] * 2) as envs:
        observations, _ = envs.reset()
        assert observations.shape == (2, 3)
        envs.step(envs.action_space.sample())


def test_spaces_and_specs():
    space = spaces.Dict(
        {
            "box": spaces.Box(-1, 2, (3,), np.float32),
            "free": spaces.Box(-np.inf, np.inf, (2,), np.float64),
            "pair": spaces.Tuple([spaces.Discrete(3), spaces.MultiBinary(4)]),
        }
    )
    spec = to_specs(space)
    assert type(spec["free"]) is specs.Array and type(spec["box"]) is specs.BoundedArray
    assert [spec["free"].name, spec["pair"][1].name] == ["free", "pair"]
    assert to_specs(space["box"]).name is None
    assert spec["pair"][0] == specs.DiscreteArray(3, np.int64)
    assert spec["pair"][1] == specs.BoundedArray((4,), np.int8, 0, 1)
    assert to_space(spec)["box"] == space["box"] and to_space(spec)["free"] == space["free"]
    assert to_space(to_specs(spaces.Discrete(3, dtype=np.int32))) == spaces.Discrete(
        3, dtype=np.int32
    )
    assert to_specs(spaces.Discrete(3, start=2)) == specs.BoundedArray((), np.int64, 2, 4)
    assert to_specs(spaces.MultiDiscrete([3, 4])) == specs.BoundedArray((2,), np.int64, 0, [2, 3])
    assert to_specs(spaces.Text(5)) == specs.StringArray(())
    assert to_space(specs.Array((2,), bool)) == spaces.MultiBinary((2,))
    assert to_space(specs.Array((2,), np.uint8)) == spaces.Box(0, 255, (2,), np.uint8)
    with pytest.raises(gym.error.UnsupportedMode, match="no space describes"):
        to_space(specs.StringArray(()))
    with pytest.raises(gym.error.UnsupportedMode, match="dm_env has no spec for"):
        to_specs(spaces.Sequence(spaces.Discrete(2)))
