# ruff: noqa: B905
"""SAC on Pendulum in one file, as programs for Gymnasium 0.29 are written."""

import argparse
import copy

import gymnasium as gym
import numpy as np
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--total-timesteps", type=int, default=8_000)
parser.add_argument("--seed", type=int, default=1)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
rng = np.random.default_rng(args.seed)


def make_env():
    return gym.wrappers.RecordEpisodeStatistics(gym.make("Pendulum-v1"))


def mlp(inputs, outputs):
    hidden = [nn.Linear(inputs, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU()]
    return nn.Sequential(*hidden, nn.Linear(64, outputs))


def act(obs):
    mean, log_std = actor(obs).chunk(2, dim=1)
    normal = torch.distributions.Normal(mean, log_std.clamp(-5, 2).exp())
    x = normal.rsample()
    log_prob = normal.log_prob(x) - torch.log(scale * (1 - x.tanh().square()) + 1e-6)
    return x.tanh() * scale, log_prob.sum(1)


def smallest(functions, obs, action):
    return torch.min(*(q(torch.cat([obs, action], 1)) for q in functions))[:, 0]


envs = gym.vector.SyncVectorEnv([make_env])
envs.single_observation_space.dtype = np.float32
obs_size, act_size = envs.single_observation_space.shape[0], envs.single_action_space.shape[0]
scale = torch.as_tensor(envs.single_action_space.high)
actor = mlp(obs_size, 2 * act_size)
critics = nn.ModuleList(mlp(obs_size + act_size, 1) for _ in range(2))
targets = copy.deepcopy(critics)
actor_optimizer, q_optimizer = (torch.optim.Adam(m.parameters(), 1e-3) for m in (actor, critics))
alpha, memory = 0.2, []

obs, _ = envs.reset(seed=args.seed)
for global_step in range(args.total_timesteps):
    actions = act(torch.Tensor(obs))[0].detach().numpy()
    next_obs, rewards, terminations, truncations, infos = envs.step(actions)
    real_next_obs = next_obs.copy()
    if "final_info" in infos:
        for info in infos["final_info"]:
            print(f"global_step={global_step}, episodic_return={info['episode']['r'][0]}")
        real_next_obs[0] = infos["final_observation"][0]
    memory.append((obs[0], real_next_obs[0], actions[0], rewards[0], terminations[0]))
    obs = next_obs
    batch = [memory[i] for i in rng.integers(len(memory), size=128)]
    before, after, action, reward, end = map(torch.as_tensor, map(np.array, zip(*batch)))
    with torch.no_grad():
        next_action, log_prob = act(after)
        goal = smallest(targets, after, next_action) - alpha * log_prob
        goal = (reward.float() + 0.99 * goal * ~end)[:, None]
    q_loss = sum((q(torch.cat([before, action], 1)) - goal).square().mean() for q in critics)
    q_optimizer.zero_grad()
    q_loss.backward()
    q_optimizer.step()
    new_action, log_prob = act(before)
    actor_optimizer.zero_grad()
    (alpha * log_prob - smallest(critics, before, new_action)).mean().backward()
    actor_optimizer.step()
    for p, q in zip(critics.parameters(), targets.parameters()):
        q.data.lerp_(p.data, 0.01)
envs.close()
