"""Hindsight experience replay over a `GoalEnv`: flip bits until they equal a goal."""

import gym
import numpy as np
from gym import spaces
from gym.utils import seeding

N = 7


class BitFlip(gym.GoalEnv):
    def __init__(self, n=N):
        self.n = n
        self.action_space = spaces.Discrete(n)
        bits = spaces.MultiBinary(n)
        self.observation_space = spaces.Dict(
            {"observation": bits, "achieved_goal": bits, "desired_goal": bits}
        )
        self.seed()

    def seed(self, seed=None):
        self.np_random, seed = seeding.np_random(seed)
        return [seed]

    def _get_obs(self):
        bits = self.state.copy()
        return {
            "observation": bits,
            "achieved_goal": bits.copy(),
            "desired_goal": self.goal.copy(),
        }

    def reset(self):
        super().reset()
        self.state = self.np_random.randint(2, size=self.n).astype(np.int8)
        self.goal = self.np_random.randint(2, size=self.n).astype(np.int8)
        return self._get_obs()

    def compute_reward(self, achieved_goal, desired_goal, info):
        return -np.any(achieved_goal != desired_goal, axis=-1).astype(np.float32)

    def step(self, action):
        self.state[action] ^= 1
        obs = self._get_obs()
        reward = self.compute_reward(obs["achieved_goal"], obs["desired_goal"], {})
        return obs, reward, bool(reward == 0), {"is_success": bool(reward == 0)}


gym.register(id="BitFlip-v0", entry_point=BitFlip, max_episode_steps=N + 3)
POWERS = 1 << np.arange(N)


def key(bits):
    return int(bits @ POWERS)


def train(relabel, episodes=700, seed=3):
    env = gym.make("BitFlip-v0")
    assert isinstance(env, gym.Wrapper) and isinstance(env.unwrapped, gym.GoalEnv)
    env.seed(seed)
    rng = np.random.RandomState(seed)
    # The value of an action depends on where observation and goal differ.
    q = np.zeros((2**N, N))
    successes = []
    for episode in range(episodes):
        obs, done, path = env.reset(), False, []
        while not done:
            differing = key(obs["observation"] ^ obs["desired_goal"])
            if rng.rand() < 0.15:
                action = env.action_space.sample()
            else:
                best = q[differing] == q[differing].max()
                action = rng.choice(np.flatnonzero(best))
            following, reward, done, info = env.step(action)
            path.append((obs, action, reward, following))
            obs = following
        successes.append(info["is_success"])
        replay = list(path)
        if relabel:
            final = path[-1][3]["achieved_goal"]
            for obs, action, _, following in path:
                old, new = dict(obs, desired_goal=final), dict(following, desired_goal=final)
                reward = env.compute_reward(new["achieved_goal"], final, {})
                replay.append((old, action, reward, new))
        for obs, action, reward, following in reversed(replay):
            here = key(obs["observation"] ^ obs["desired_goal"])
            there = key(following["observation"] ^ following["desired_goal"])
            target = reward + (reward < 0) * 0.95 * q[there].max()
            q[here, action] += 0.5 * (target - q[here, action])
    return np.mean(successes[:100]), np.mean(successes[-100:])


first, last = train(relabel=True)
_, without = train(relabel=False)
print(round(first, 2), round(last, 2), round(without, 2))
assert last > 0.75 and last > first + 0.2, (first, last, without)
