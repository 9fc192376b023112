"""Worlds of several agents that two players share a keyboard to play."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore.error import UnsupportedMode
from gymcore.utils.play_keys import every_keys
from gymcore.utils.play_world import PlayedWorld


def world(env_id: str, num_envs: int = 1, **kwargs: Any) -> Any:
    options = {"autoreset_mode": "Disabled"}
    return gym.make_vec(env_id, num_envs, render_mode="rgb_array", vector_kwargs=options, **kwargs)


W, E, UP, LEFT, ENTER = ord("w"), ord("e"), 1073741906, 1073741904, 13


@pytest.mark.parametrize(
    ("env_id", "pressed", "action"),
    [
        ("Foraging-8x8-2p-3f-v3", (), [0, 0]),
        ("Foraging-8x8-2p-3f-v3", (E, LEFT), [5, 3]),
        ("Foraging-8x8-3p-3f-v3", (ENTER,), [0, 5, 0]),
        ("rware-tiny-2ag-v2", (W, UP), [1, 1]),
        ("mpe/simple_spread_v3", (W, LEFT), [4, 1, 0]),
    ],
)
def test_each_player_has_half_of_the_keyboard(env_id, pressed, action):
    env = PlayedWorld(world(env_id))
    keys = every_keys(env)
    assert keys is not None and len(keys.legend) == 2
    joint = keys.actions[tuple(sorted(pressed))]
    assert joint in env.action_space and np.array_equal(joint, action)
    env.close()


def test_groups_of_agents():
    env = PlayedWorld(world("mpe/simple_adversary_v3"))
    keys = every_keys(env)
    assert keys is not None
    joint = keys.actions[tuple(sorted((W, LEFT)))]
    assert joint in env.action_space
    assert joint["adversary"].tolist() == [4] and joint["agent"].tolist() == [1, 0]
    observation, _ = env.reset(seed=1)
    assert observation in env.observation_space
    assert env.step(joint)[0] in env.observation_space
    assert every_keys(PlayedWorld(world("mamujoco/HalfCheetah-2x3-v1"))) is None


def test_an_episode_equals_that_of_the_batch():
    env, envs = PlayedWorld(world("Foraging-5x5-2p-1f-v3")), world("Foraging-5x5-2p-1f-v3")
    observation, infos = env.reset(seed=3)
    assert infos == {} and np.array_equal(observation, envs.reset(seed=3)[0][0])
    random = np.random.default_rng(0)
    ended = False
    while not ended:
        action = random.integers(0, 6, 2)
        observation, reward, terminated, truncated, infos = env.step(action)
        observations, rewards, *flags, _ = envs.step(action[None])
        assert np.array_equal(observation, observations[0]) and reward == rewards.sum()
        assert [terminated, truncated] == [each.any() for each in flags]
        ended = terminated or truncated
    assert np.array_equal(env.render(), envs.render()[0])
    env.close()
    assert env.envs.closed


@pytest.mark.parametrize(("env_id", "num_envs"), [("CartPole-v1", 1), ("rware-tiny-2ag-v2", 2)])
def test_other_batches_are_refused(env_id, num_envs):
    with pytest.raises(UnsupportedMode, match="envs: expected one world of several agents"):
        PlayedWorld(world(env_id, num_envs))
