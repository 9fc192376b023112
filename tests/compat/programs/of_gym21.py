# ruff: noqa: RUF059
"""Programs as they were written for Gym 0.21. Each gets `gym`, and a folder for its files.

Only the physics of the user's own environments and their seeds are those of gym 0.21; CartPole's
initial states are today's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np


def walk_of(gym: Any) -> Any:
    """Return a class of environments in the style of that time."""

    class Walk(gym.Env):
        metadata = {"render.modes": ["human", "rgb_array"], "video.frames_per_second": 7}  # noqa: RUF012
        action_space = gym.spaces.Discrete(2)
        observation_space = gym.spaces.Box(-9.0, 9.0, (1,), np.float32)
        reward_range = (0.0, 1.0)

        def __init__(self, limit: int = 3) -> None:
            self.limit = limit
            self.seed()

        def seed(self, seed: Any = None) -> Any:
            self.np_random, seed = gym.utils.seeding.np_random(seed)
            return [seed]

        def reset(self) -> Any:
            self.place = np.float32(self.np_random.randint(-2, 3) + self.np_random.rand())
            return np.array([self.place])

        def step(self, action: int) -> Any:
            self.place += np.float32(0.5 if action else -0.5)
            return np.array([self.place]), 1.0, bool(abs(self.place) > self.limit), {}

        def render(self, mode: str = "human") -> Any:
            return np.full((4, 4, 3), 9, np.uint8) if mode == "rgb_array" else None

    return Walk


def an_environment_of_the_users(gym: Any, folder: Path) -> Any:
    gym.envs.registration.register(
        id="Walk-v0", entry_point=walk_of(gym), max_episode_steps=8, kwargs={"limit": 2}
    )
    env = gym.make("Walk-v0")
    results: list[Any] = [env.seed(5), round(float(env.reset()[0]), 3)]
    done = False
    while not done:
        observation, reward, done, info = env.step(1)
        # At an end other than the time limit, Gym 0.21 omitted the key.
        cut_off = info.get("TimeLimit.truncated", False)
        results.append((round(float(observation[0]), 3), reward, done, cut_off))
    results.append(env.render(mode="rgb_array").shape)
    results += [env.limit, env.unwrapped.limit, env.spec.id, env.reward_range]
    env.close()
    limited = gym.make("Walk-v0", limit=100)
    limited.seed(5)
    limited.reset()
    ends = [limited.step(step % 2)[2:] for step in range(8)]
    gym.envs.registration.registry.env_specs.pop("Walk-v0")
    return results, ends


def q_learning(gym: Any, folder: Path) -> Any:
    class Bins(gym.ObservationWrapper):
        def observation(self, observation: Any) -> int:
            return int(observation[0] > 0)

    class Doubled(gym.RewardWrapper):
        def reward(self, reward: float) -> float:
            return 2 * reward

    class Swapped(gym.ActionWrapper):
        def action(self, action: int) -> int:
            return 1 - action

    env = Doubled(Swapped(Bins(gym.wrappers.TimeLimit(walk_of(gym)(), max_episode_steps=20))))
    env.seed(1)
    table = np.zeros((2, 2))
    lengths = []
    for episode in range(20):
        state, done, steps = env.reset(), False, 0
        while not done:
            action = (episode + steps) % 2 if episode < 10 else int(table[state].argmax())
            following, reward, done, info = env.step(action)
            table[state, action] += 0.1 * (
                reward + 0.9 * table[following].max() - table[state, action]
            )
            state = following
            steps += 1
        lengths.append(steps)
    return lengths, round(float(table.sum()), 3)


def wrappers_of_its_time(gym: Any, folder: Path) -> Any:
    env = gym.wrappers.TimeLimit(walk_of(gym)(limit=100), max_episode_steps=6)
    env = gym.wrappers.RecordEpisodeStatistics(env)
    env = gym.wrappers.TransformReward(env, lambda reward: 0.5 * reward)
    env = gym.wrappers.NormalizeReward(env)
    env = gym.wrappers.FrameStack(env, 3)
    env.seed(2)
    stack = np.array(env.reset())
    assert stack.shape == (3, 1) and (stack == stack[0]).all()
    rewards, done = [], False
    while not done:
        stack, reward, done, info = env.step(1)
        rewards.append(round(float(reward), 4))
    assert info["episode"]["l"] == len(rewards) == info["episode"]["r"]
    return rewards, info["TimeLimit.truncated"], round(float(np.sum(stack)), 3)


def a_batch(gym: Any, folder: Path) -> Any:
    walk = walk_of(gym)
    envs = gym.vector.SyncVectorEnv([walk, walk])
    assert isinstance(envs, gym.vector.VectorEnv) and envs.num_envs == 2
    envs.seed([3, 4])
    seen, dones = [round(float(envs.reset().sum()), 3)], []
    for _ in range(12):
        observations, rewards, done, infos = envs.step([1, 1])
        seen.append(round(float(observations.sum()), 3))
        dones.append(int(done.sum()))
        assert len(infos) == 2 and rewards.tolist() == [1.0, 1.0]
    envs.close()
    return seen, dones


PROGRAMS = (an_environment_of_the_users, q_learning, wrappers_of_its_time, a_batch)
