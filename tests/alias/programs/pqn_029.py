"""PQN (parallel Q-learning with Q(lambda) returns) on CartPole, written for Gymnasium 0.29."""

import argparse

import gymnasium as gym
import numpy as np
import torch
from torch import nn

NUM_ENVS, NUM_STEPS, GAMMA, Q_LAMBDA = 4, 128, 0.99, 0.65


def make_env(env_id, seed, idx, capture_video, run_name):
    def thunk():
        if capture_video and idx == 0:
            env = gym.make(env_id, render_mode="rgb_array")
            env = gym.wrappers.RecordVideo(env, f"videos/{run_name}")
        else:
            env = gym.make(env_id)
        env = gym.wrappers.RecordEpisodeStatistics(env)
        env.action_space.seed(seed)
        return env

    return thunk


class QNetwork(nn.Module):
    def __init__(self, env):
        super().__init__()
        size, n = np.array(env.single_observation_space.shape).prod(), env.single_action_space.n
        self.network = nn.Sequential(
            nn.Linear(size, 120), nn.LayerNorm(120), nn.ReLU(),
            nn.Linear(120, 84), nn.LayerNorm(84), nn.ReLU(), nn.Linear(84, n),
        )  # fmt: skip

    def forward(self, x):
        return self.network(x)


parser = argparse.ArgumentParser()
parser.add_argument("--total-timesteps", type=int, default=100_000)
parser.add_argument("--seed", type=int, default=1)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
rng = np.random.default_rng(args.seed)

envs = gym.vector.SyncVectorEnv(
    [make_env("CartPole-v1", args.seed + i, i, False, "pqn") for i in range(NUM_ENVS)]
)
assert isinstance(envs.single_action_space, gym.spaces.Discrete), "only discrete actions"
q_network = QNetwork(envs)
optimizer = torch.optim.RAdam(q_network.parameters(), lr=1e-3)

obs = torch.zeros((NUM_STEPS, NUM_ENVS, *envs.single_observation_space.shape))
actions = torch.zeros((NUM_STEPS, NUM_ENVS, *envs.single_action_space.shape))
rewards, dones, values = torch.zeros((3, NUM_STEPS, NUM_ENVS))
next_obs, _ = envs.reset(seed=args.seed)
next_obs, next_done = torch.Tensor(next_obs), torch.zeros(NUM_ENVS)
global_step = 0
while global_step < args.total_timesteps:
    for step in range(NUM_STEPS):
        global_step += NUM_ENVS
        obs[step], dones[step] = next_obs, next_done
        epsilon = max(0.05, 1 - global_step / (0.5 * args.total_timesteps))
        with torch.no_grad():
            q_values = q_network(next_obs)
        max_actions = torch.argmax(q_values, dim=1)
        values[step] = q_values.max(dim=1).values
        random_actions = torch.as_tensor([envs.single_action_space.sample() for _ in max_actions])
        explore = torch.as_tensor(rng.random(NUM_ENVS) < epsilon)
        action = torch.where(explore, random_actions, max_actions)
        actions[step] = action
        next_obs, reward, terminations, truncations, infos = envs.step(action.numpy())
        next_done = torch.Tensor(np.logical_or(terminations, truncations))
        rewards[step] = torch.tensor(reward).view(-1)
        next_obs = torch.Tensor(next_obs)
        if "final_info" in infos:
            for info in infos["final_info"]:
                if info and "episode" in info:
                    print(f"global_step={global_step}, episodic_return={info['episode']['r'][0]}")
    with torch.no_grad():
        returns = torch.zeros_like(rewards)
        for t in reversed(range(NUM_STEPS)):
            if t == NUM_STEPS - 1:
                after = q_network(next_obs).max(dim=-1).values
                returns[t] = rewards[t] + GAMMA * after * (1 - next_done)
            else:
                after = Q_LAMBDA * returns[t + 1] + (1 - Q_LAMBDA) * values[t + 1]
                returns[t] = rewards[t] + GAMMA * after * (1 - dones[t + 1])
    b_obs, b_actions, b_returns = obs.flatten(0, 1), actions.flatten().long(), returns.flatten()
    for _ in range(4):
        for rows in torch.randperm(NUM_STEPS * NUM_ENVS).chunk(4):
            taken = q_network(b_obs[rows]).gather(1, b_actions[rows, None]).squeeze()
            loss = nn.functional.mse_loss(b_returns[rows], taken)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(q_network.parameters(), 10.0)
            optimizer.step()
envs.close()
