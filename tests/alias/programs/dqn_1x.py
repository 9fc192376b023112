# ruff: noqa: B905
"""DQN on CartPole in one file, as programs for Gymnasium 1.x are written."""

import argparse

import gymnasium as gym
import numpy as np
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--total-timesteps", type=int, default=25_000)
parser.add_argument("--seed", type=int, default=1)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
rng = np.random.default_rng(args.seed)


def make_env():
    env = gym.wrappers.RecordEpisodeStatistics(gym.make("CartPole-v1"))
    env.action_space.seed(args.seed)
    return env


def q_network(env):
    size, n = np.prod(env.observation_space.shape), env.action_space.n
    layers = [nn.Linear(int(size), 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, n)]
    return nn.Sequential(*layers)


env = make_env()
network, target = q_network(env), q_network(env)
target.load_state_dict(network.state_dict())
optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
memory = []

obs, _ = env.reset(seed=args.seed)
for global_step in range(args.total_timesteps):
    epsilon = max(0.05, 1 - global_step / (0.3 * args.total_timesteps))
    if rng.random() < epsilon:
        action = env.action_space.sample()
    else:
        action = network(torch.Tensor(obs)).argmax().numpy()
    next_obs, reward, terminated, truncated, info = env.step(action)
    memory.append((obs, next_obs, action, reward, terminated))
    obs = next_obs
    if terminated or truncated:
        print(f"global_step={global_step}, episodic_return={info['episode']['r']}")
        obs, _ = env.reset()
    if global_step > 1000 and global_step % 4 == 0:
        batch = [memory[i] for i in rng.integers(len(memory), size=128)]
        before, after, action, reward, end = (torch.as_tensor(np.array(x)) for x in zip(*batch))
        with torch.no_grad():
            best = target(after).max(dim=1).values
            goal = reward.float() + 0.99 * best * ~end
        loss = nn.functional.mse_loss(network(before).gather(1, action[:, None])[:, 0], goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if global_step % 500 == 0:
        target.load_state_dict(network.state_dict())
env.close()
