"""Programs as they were written for Gym 0.26, with nothing changed but the import."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore.compat.gym26 import wrappers


class Agent:
    """In place of a network: random actions, and a value that is a sum."""

    def __init__(self, envs: Any, seed: int = 0) -> None:
        self.envs = envs
        envs.action_space.seed(seed)

    def act(self, observations: Any) -> Any:
        assert observations.shape == self.envs.observation_space.shape
        return self.envs.action_space.sample()

    def value(self, observations: Any) -> Any:
        return observations.reshape(len(observations), -1).sum(1)


def make_env(gamma: float) -> Any:
    """The wrappers of a PPO for continuous actions."""

    def wrap(env: Any) -> Any:
        env = wrappers.FlattenObservation(env)
        env = wrappers.RecordEpisodeStatistics(env)
        env = wrappers.ClipAction(env)
        env = wrappers.NormalizeObservation(env)
        env = wrappers.TransformObservation(env, lambda obs: np.clip(obs, -10, 10))
        env = wrappers.NormalizeReward(env, gamma=gamma)
        env = wrappers.TransformReward(env, lambda reward: np.clip(reward, -10, 10))
        return env

    return wrap


@pytest.mark.parametrize("asynchronous", [False, True])
def test_ppo_with_continuous_actions(asynchronous: bool) -> None:
    num_envs, num_steps, gamma = 2, 64, 0.99
    envs = gym.vector.make(
        "Pendulum-v1",
        num_envs=num_envs,
        asynchronous=asynchronous,
        wrappers=make_env(gamma),
        max_episode_steps=20,
    )
    assert isinstance(envs.single_action_space, gym.spaces.Box)
    agent = Agent(envs)
    obs = np.zeros((num_steps, num_envs, *envs.single_observation_space.shape), np.float32)
    rewards = np.zeros((num_steps, num_envs))
    dones = np.zeros((num_steps, num_envs), np.bool_)
    episodes = []
    next_obs, _ = envs.reset(seed=1)
    for step in range(num_steps):
        obs[step] = next_obs
        next_obs, reward, terminated, truncated, infos = envs.step(agent.act(next_obs))
        rewards[step], dones[step] = reward, np.logical_or(terminated, truncated)
        if "final_info" not in infos:
            continue
        for info in infos["final_info"]:
            if info is None:
                continue
            episodes.append((info["episode"]["r"], info["episode"]["l"]))
    envs.close()
    assert [int(length) for _, length in episodes] == [20] * 6
    assert dones.sum() == 6 and dones[19].all()
    assert np.abs(obs).max() <= 10 and np.abs(rewards).max() <= 10 and rewards.std() > 0


def test_ppo_with_wrappers_around_the_batch() -> None:
    envs = gym.vector.make("CartPole-v1", num_envs=4)
    envs = wrappers.RecordEpisodeStatistics(envs)
    envs = wrappers.NormalizeReward(envs, gamma=0.99)
    assert isinstance(envs.single_action_space, gym.spaces.Discrete)
    agent = Agent(envs)
    next_obs, _ = envs.reset(seed=1)
    returns, values = [], []
    for _ in range(100):
        actions = agent.act(next_obs)
        next_obs, _, terminated, truncated, infos = envs.step(actions)
        for lane, done in enumerate(np.logical_or(terminated, truncated)):
            if done:
                assert infos["_episode"][lane]
                returns.append((infos["episode"]["r"][lane], infos["episode"]["l"][lane]))
                last = infos["final_observation"][lane]
                values.append(agent.value(last[None]))
    assert len(returns) > 8 and all(r == length for r, length in returns)
    assert envs.episode_count == len(returns) == len(values)
    assert list(envs.return_queue) == [r for r, _ in returns]


def test_dqn_on_pictures() -> None:
    pytest.importorskip("cv2", reason="cv2 is not installed")
    env = gym.make("CartPole-v1", render_mode="rgb_array")
    env = wrappers.PixelObservationWrapper(env)
    env = wrappers.FilterObservation(env, ["pixels"])
    env = wrappers.TransformObservation(env, lambda obs: obs["pixels"])
    env.observation_space = env.env.observation_space["pixels"]
    env = wrappers.RecordEpisodeStatistics(env)
    env = wrappers.GrayScaleObservation(wrappers.ResizeObservation(env, 84))
    env = wrappers.FrameStack(env, 4)
    env = wrappers.AutoResetWrapper(env)
    env.action_space.seed(0)
    memory = []
    obs, _ = env.reset(seed=1)
    while len(memory) < 30:
        action = env.action_space.sample()
        next_obs, reward, terminated, truncated, info = env.step(action)
        real_next_obs = info["final_observation"] if terminated or truncated else next_obs
        memory.append((obs, action, reward, real_next_obs, terminated))
        obs = next_obs
    batch = np.stack([np.asarray(item[0]) for item in memory])
    assert batch.shape == (30, 4, 84, 84) and batch.dtype == np.uint8
    for (_, _, _, after, ended), (before, *_) in itertools.pairwise(memory):
        assert ended or after is before
    env.close()
