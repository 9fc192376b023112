# ruff: noqa: B905
"""DQN on CartPole in one file, as programs for Gymnasium 0.29 are written."""

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


def q_network(envs):
    size, n = np.prod(envs.single_observation_space.shape), envs.single_action_space.n
    layers = [nn.Linear(int(size), 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, n)]
    return nn.Sequential(*layers)


envs = gym.vector.SyncVectorEnv([make_env])
network, target = q_network(envs), q_network(envs)
target.load_state_dict(network.state_dict())
optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
memory = []

obs, _ = envs.reset(seed=args.seed)
for global_step in range(args.total_timesteps):
    epsilon = max(0.05, 1 - global_step / (0.3 * args.total_timesteps))
    if rng.random() < epsilon:
        actions = np.array([envs.single_action_space.sample() for _ in range(envs.num_envs)])
    else:
        actions = network(torch.Tensor(obs)).argmax(dim=1).numpy()
    next_obs, rewards, terminations, truncations, infos = envs.step(actions)
    if "final_info" in infos:
        for info in infos["final_info"]:
            if info and "episode" in info:
                print(f"global_step={global_step}, episodic_return={info['episode']['r'][0]}")
    real_next_obs = next_obs.copy()
    for idx, done in enumerate(infos.get("_final_observation", [])):
        if done:
            real_next_obs[idx] = infos["final_observation"][idx]
    memory.append((obs[0], real_next_obs[0], actions[0], rewards[0], terminations[0]))
    obs = next_obs
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
envs.close()
