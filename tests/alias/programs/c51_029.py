# ruff: noqa: B905
"""C51 (distributional DQN) on CartPole in one file, as programs for Gymnasium 0.29 are written."""

import argparse

import gymnasium as gym
import numpy as np
import torch
from torch import nn

GAMMA, N_ATOMS, V_MIN, V_MAX = 0.99, 101, 0.0, 100.0


def make_env(env_id, seed):
    def thunk():
        env = gym.wrappers.RecordEpisodeStatistics(gym.make(env_id))
        env.action_space.seed(seed)
        return env

    return thunk


class QNetwork(nn.Module):
    def __init__(self, env):
        super().__init__()
        self.register_buffer("atoms", torch.linspace(V_MIN, V_MAX, steps=N_ATOMS))
        self.n = int(env.single_action_space.n)
        self.network = nn.Sequential(
            nn.Linear(np.array(env.single_observation_space.shape).prod(), 120), nn.ReLU(),
            nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, self.n * N_ATOMS),
        )  # fmt: skip

    def get_action(self, x, action=None):
        pmfs = torch.softmax(self.network(x).view(len(x), self.n, N_ATOMS), dim=2)
        if action is None:
            action = torch.argmax((pmfs * self.atoms).sum(2), 1)
        return action, pmfs[torch.arange(len(x)), action]


parser = argparse.ArgumentParser()
parser.add_argument("--total-timesteps", type=int, default=25_000)
parser.add_argument("--seed", type=int, default=1)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
rng = np.random.default_rng(args.seed)

envs = gym.vector.SyncVectorEnv([make_env("CartPole-v1", args.seed)])
assert isinstance(envs.single_action_space, gym.spaces.Discrete), "only discrete actions"
q_network, target_network = QNetwork(envs), QNetwork(envs)
optimizer = torch.optim.Adam(q_network.parameters(), lr=1e-3, eps=0.01 / 128)
target_network.load_state_dict(q_network.state_dict())
memory = []

obs, _ = envs.reset(seed=args.seed)
for global_step in range(args.total_timesteps):
    epsilon = max(0.05, 1 - global_step / (0.3 * args.total_timesteps))
    if rng.random() < epsilon:
        actions = np.array([envs.single_action_space.sample() for _ in range(envs.num_envs)])
    else:
        actions = q_network.get_action(torch.Tensor(obs))[0].numpy()
    next_obs, rewards, terminations, truncations, infos = envs.step(actions)
    if "final_info" in infos:
        for info in infos["final_info"]:
            if info and "episode" in info:
                print(f"global_step={global_step}, episodic_return={info['episode']['r'][0]}")
    real_next_obs = next_obs.copy()
    for idx, trunc in enumerate(truncations):
        if trunc:
            real_next_obs[idx] = infos["final_observation"][idx]
    memory.append((obs[0], real_next_obs[0], actions[0], rewards[0], terminations[0]))
    obs = next_obs
    if global_step > 1000 and global_step % 4 == 0:
        batch = [memory[i] for i in rng.integers(len(memory), size=128)]
        before, after, action, reward, end = (torch.as_tensor(np.array(x)) for x in zip(*batch))
        with torch.no_grad():
            _, next_pmfs = target_network.get_action(after)
            aims = reward.float()[:, None] + GAMMA * target_network.atoms * ~end[:, None]
            places = (aims.clamp(V_MIN, V_MAX) - V_MIN) / (V_MAX - V_MIN) * (N_ATOMS - 1)
            low = places.floor().clamp(max=N_ATOMS - 2)
            target_pmfs = torch.zeros_like(next_pmfs)
            target_pmfs.scatter_add_(1, low.long(), (low + 1 - places) * next_pmfs)
            target_pmfs.scatter_add_(1, low.long() + 1, (places - low) * next_pmfs)
        _, old_pmfs = q_network.get_action(before, action)
        loss = -(target_pmfs * old_pmfs.clamp(1e-5, 1 - 1e-5).log()).sum(-1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if global_step % 500 == 0:
        target_network.load_state_dict(q_network.state_dict())
envs.close()
