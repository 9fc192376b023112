"""Tabular methods as courses taught them: `env.seed`, `env.env.P`, Q-learning on Taxi."""

import gym
import numpy as np


def value_iteration(env, gamma=0.99):
    values = np.zeros(env.nS)
    for _ in range(500):
        q = np.array(
            [
                [
                    sum(p * (r + gamma * values[s2] * (not end)) for p, s2, r, end in env.P[s][a])
                    for a in range(env.nA)
                ]
                for s in range(env.nS)
            ]
        )
        if np.abs(q.max(axis=1) - values).max() < 1e-6:
            break
        values = q.max(axis=1)
    return q.argmax(axis=1)


def evaluate(env, policy, episodes):
    returns = []
    for _ in range(episodes):
        state, done, total = env.reset(), False, 0.0
        while not done:
            state, reward, done, info = env.step(policy[state])
            total += reward
        returns.append(total)
    return float(np.mean(returns))


lake = gym.make("FrozenLake-v1")
lake.seed(0)
policy = value_iteration(lake.env)
solved = evaluate(lake, policy, 300)
lake.reset()
lake.env.s = 14  # next to the goal
assert lake.unwrapped.s == 14 and lake.env.isd[0] == 1.0
lake.render()

gym.envs.register(
    id="FrozenLakeNotSlippery-v0",
    entry_point="gym.envs.toy_text:FrozenLakeEnv",
    kwargs={"map_name": "4x4", "is_slippery": False},
    max_episode_steps=100,
    reward_threshold=0.78,
)
dry = gym.make("FrozenLakeNotSlippery-v0")
assert evaluate(dry, value_iteration(dry.unwrapped), 3) == 1.0

taxi = gym.make("Taxi-v3")
taxi.seed(1)
taxi.action_space.seed(1)
rng = np.random.RandomState(1)
table = np.zeros((taxi.observation_space.n, taxi.action_space.n))
history = []
for episode in range(2500):
    state, done, total = taxi.reset(), False, 0
    epsilon = max(0.01, 0.3 - episode / 3000)
    while not done:
        greedy = rng.rand() > epsilon
        action = table[state].argmax() if greedy else taxi.action_space.sample()
        following, reward, done, info = taxi.step(action)
        bootstrap = done and not info.get("TimeLimit.truncated", False)
        target = reward + 0.95 * table[following].max() * (not bootstrap)
        table[state, action] += 0.5 * (target - table[state, action])
        state, total = following, total + reward
    history.append(total)
first, last = np.mean(history[:50]), np.mean(history[-200:])
print(round(solved, 2), round(first), round(last, 1))
assert 0.6 < solved < 0.9 and first < -150 and last > 4, (solved, first, last)
