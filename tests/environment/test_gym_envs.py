"""Environments with the general interface as gymcore environments."""

from __future__ import annotations

import numpy as np
import pytest

import gymcore as gym
from gymcore.environment import EnvironmentEnv
from gymcore.spaces import Box, Discrete, MultiBinary
from gymcore.utils.env_checker import check_env
from gymcore.vector import AsyncVectorEnv, SyncVectorEnv
from tests.environment.environments import Counter


def test_terminal_codes():
    env = EnvironmentEnv(Counter, max_episode_timesteps=3)
    assert isinstance(env.observation_space, Box) and env.action_space == Discrete(2)
    observation, info = env.reset(seed=1)
    assert observation == 0 and observation in env.observation_space and info == {}
    assert env.step(0)[1:] == (1.0, False, False, {})
    assert env.step(1)[1:] == (2.0, True, False, {})
    env.reset()
    assert [env.step(0)[3] for _ in range(3)] == [False, False, True]
    env.close()
    assert env.environment.environment.closed == 1


def test_options_are_refused():
    env = EnvironmentEnv(Counter)
    env.reset(options={})
    with pytest.raises(gym.error.InvalidArgument, match="options: expected no keys, got 'low'"):
        env.reset(options={"low": 1})


def test_the_checker_accepts_it():
    env = EnvironmentEnv("CartPole-v1", min_value=-5, max_value=5)
    check_env(env, skip_render_check=True, skip_close_check=True)


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Taxi-v4", "Pendulum-v1"])
def test_there_and_back(env_id):
    env, original = EnvironmentEnv(env_id, seed=4), gym.make(env_id)
    observation, _ = env.reset()
    expected, _ = original.reset(seed=4)
    original.action_space.seed(1)
    for _ in range(200):
        assert np.array_equal(observation, expected) and observation in env.observation_space
        action = original.action_space.sample()
        observation, *result, _ = env.step(action)
        expected, *expected_result, _ = original.step(action)
        assert result == expected_result
        if result[1] or result[2]:
            observation, _ = env.reset()
            expected, _ = original.reset()


def test_bools_and_masks():
    class Masked(Counter):
        def states(self):
            return {"type": "bool"}

        def actions(self):
            return {"type": "bool"}

        def reset(self):
            return {"state": True, "action_mask": np.array([True, False])}

        def execute(self, actions):
            assert isinstance(actions, np.bool_)
            return {"state": False, "action_mask": np.array([False, actions])}, 0, 1

    env = EnvironmentEnv(Masked)
    assert env.observation_space == MultiBinary(1) == env.action_space
    observation, info = env.reset()
    assert observation.tolist() == [1] and info["action_mask"].tolist() == [True, False]
    observation, _, _, _, info = env.step(np.array([1], np.int8))
    assert observation.tolist() == [0] and info["action_mask"].tolist() == [False, True]


def make():
    return EnvironmentEnv(Counter, max_episode_timesteps=2)


@pytest.mark.parametrize("engine", [SyncVectorEnv, AsyncVectorEnv])
def test_vector_environments(engine):
    with engine([make] * 3) as envs:
        observations, _ = envs.reset()
        assert observations.tolist() == [0, 0, 0]
        envs.step(np.array([0, 0, 1]))
        observations, rewards, terminated, truncated, _ = envs.step(np.array([0, 1, 0]))
        assert observations.tolist() == [2, 2, 0] and rewards.tolist() == [2.0, 2.0, 0.0]
        assert terminated.tolist() == [False, True, False]
        assert truncated.tolist() == [True, False, False]
