"""`gymcore.compat.gym26.vector` beyond the parts that the programs use."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gymcore.compat import gym26 as gym


def cart_poles(**kwargs: Any) -> Any:
    return gym.vector.SyncVectorEnv([lambda: gym.make("CartPole-v1", **kwargs)] * 2)


def test_a_vector_wrapper_may_override_either_half_of_a_step() -> None:
    class Doubled(gym.vector.VectorEnvWrapper):
        def step_wait(self, **kwargs: Any) -> Any:
            observations, rewards, *rest = super().step_wait(**kwargs)
            return observations, 2 * rewards, *rest

    class Swapped(gym.vector.VectorEnvWrapper):
        def step_async(self, actions: Any) -> None:
            super().step_async(1 - np.asarray(actions))

    envs = Swapped(Doubled(cart_poles(max_episode_steps=2)))
    plain = cart_poles(max_episode_steps=2)
    assert envs.reset(seed=1)[0].tolist() == plain.reset(seed=1)[0].tolist()
    for _ in range(2):
        observations, rewards, *_, infos = envs.step([0, 1])
        expected = plain.step([1, 0])
        assert observations.tolist() == expected[0].tolist() and rewards.tolist() == [2.0, 2.0]
    assert infos["final_info"].tolist() == expected[4]["final_info"].tolist() == [{}, {}]
    assert [env.spec.id for env in envs.envs] == ["CartPole-v1"] * 2


def test_spaces_are_checked() -> None:
    with pytest.raises(gym.error.SpaceMismatch, match="observation_space: expected Box"):
        gym.vector.SyncVectorEnv([lambda: gym.make("CartPole-v1")], gym.spaces.Discrete(2))
    with pytest.raises(gym.error.SpaceMismatch, match="action_space: expected Discrete"):
        gym.vector.AsyncVectorEnv(
            [lambda: gym.make("CartPole-v1")], action_space=gym.spaces.Discrete(3)
        )


def test_make_takes_what_make_of_one_takes() -> None:
    envs = gym.vector.make("CartPole-v1", 2, False, wrappers=gym.wrappers.RecordEpisodeStatistics)
    assert all(isinstance(env, gym.wrappers.RecordEpisodeStatistics) for env in envs.envs)
    assert ["PassiveEnvChecker" in str(env) for env in envs.envs] == [True, False]
    native = gym.vector.make("CartPole-v1", 2)
    assert native.unwrapped.num_threads <= 2  # the number of lanes
