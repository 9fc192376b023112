# ruff: noqa: B905
"""TD3 on Pendulum in one file, as programs for Gymnasium 0.29 are written."""

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


def act(function, obs):
    return function(obs).tanh() * scale


def smallest(functions, obs, action):
    return torch.min(*(q(torch.cat([obs, action], 1)) for q in functions))[:, 0]


envs = gym.vector.SyncVectorEnv([make_env])
obs_size, act_size = envs.single_observation_space.shape[0], envs.single_action_space.shape[0]
scale = torch.as_tensor(envs.single_action_space.high)
actor = mlp(obs_size, act_size)
critics = nn.ModuleList(mlp(obs_size + act_size, 1) for _ in range(2))
targets, target_actor, memory = copy.deepcopy(critics), copy.deepcopy(actor), []
actor_optimizer = torch.optim.Adam(actor.parameters(), lr=1e-3)
q_optimizer = torch.optim.Adam(critics.parameters(), lr=1e-3)

obs, _ = envs.reset(seed=args.seed)
for global_step in range(args.total_timesteps):
    actions = act(actor, torch.Tensor(obs)).detach().numpy()
    actions += rng.normal(0, 0.2, actions.shape).astype(np.float32)
    actions = actions.clip(envs.action_space.low, envs.action_space.high)
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
        noise = (0.2 * torch.randn_like(action)).clamp(-0.5, 0.5)
        next_action = (act(target_actor, after) + noise).clamp(-scale, scale)
        goal = smallest(targets, after, next_action)
        goal = (reward.float() + 0.99 * goal * ~end)[:, None]
    q_loss = sum((q(torch.cat([before, action], 1)) - goal).square().mean() for q in critics)
    q_optimizer.zero_grad()
    q_loss.backward()
    q_optimizer.step()
    if global_step % 2:
        continue
    actor_optimizer.zero_grad()
    (-critics[0](torch.cat([before, act(actor, before)], 1))).mean().backward()
    actor_optimizer.step()
    for function, slow in ((critics, targets), (actor, target_actor)):
        for p, q in zip(function.parameters(), slow.parameters()):
            q.data.lerp_(p.data, 0.01)
envs.close()
