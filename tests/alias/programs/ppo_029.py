"""PPO on CartPole in one file, as programs for Gymnasium 0.29 are written."""

import argparse

import gymnasium as gym
import numpy as np
import torch
from torch import nn
from torch.distributions.categorical import Categorical

NUM_ENVS, NUM_STEPS, GAMMA, GAE_LAMBDA = 4, 128, 0.99, 0.95


def make_env():
    return gym.wrappers.RecordEpisodeStatistics(gym.make("CartPole-v1"))


def mlp(inputs, outputs, gain):
    layers = [nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh()]
    head = nn.Linear(64, outputs)
    nn.init.orthogonal_(head.weight, gain)
    return nn.Sequential(*layers, head)


parser = argparse.ArgumentParser()
parser.add_argument("--total-timesteps", type=int, default=50_000)
parser.add_argument("--seed", type=int, default=1)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

envs = gym.vector.SyncVectorEnv([make_env] * NUM_ENVS)
assert isinstance(envs, gym.Env) and isinstance(envs.single_action_space, gym.spaces.Discrete)
size = int(np.prod(envs.single_observation_space.shape))
actor, critic = mlp(size, envs.single_action_space.n, 0.01), mlp(size, 1, 1.0)
parameters = [*actor.parameters(), *critic.parameters()]
optimizer = torch.optim.Adam(parameters, lr=1e-3, eps=1e-5)

obs = torch.zeros((NUM_STEPS, NUM_ENVS, size))
actions, logprobs, rewards, dones, values = torch.zeros((5, NUM_STEPS, NUM_ENVS))
next_obs, _ = envs.reset(seed=args.seed)
next_obs, next_done = torch.Tensor(next_obs), torch.zeros(NUM_ENVS)
global_step = 0
while global_step < args.total_timesteps:
    for t in range(NUM_STEPS):
        global_step += NUM_ENVS
        obs[t], dones[t] = next_obs, next_done
        with torch.no_grad():
            policy = Categorical(logits=actor(next_obs))
            action, values[t] = policy.sample(), critic(next_obs).flatten()
        actions[t], logprobs[t] = action, policy.log_prob(action)
        next_obs, reward, terminated, truncated, infos = envs.step(action.numpy())
        rewards[t] = torch.Tensor(reward)
        next_obs = torch.Tensor(next_obs)
        next_done = torch.Tensor(np.logical_or(terminated, truncated))
        for info in infos.get("final_info", []):
            if info and "episode" in info:
                print(f"global_step={global_step}, episodic_return={info['episode']['r'][0]}")
    with torch.no_grad():
        next_value = critic(next_obs).flatten()
        advantages, last = torch.zeros_like(rewards), 0
        for t in reversed(range(NUM_STEPS)):
            alive = 1 - (next_done if t == NUM_STEPS - 1 else dones[t + 1])
            after = next_value if t == NUM_STEPS - 1 else values[t + 1]
            delta = rewards[t] + GAMMA * after * alive - values[t]
            advantages[t] = last = delta + GAMMA * GAE_LAMBDA * alive * last
        returns = advantages + values
    for batch in [b for _ in range(4) for b in torch.randperm(NUM_STEPS * NUM_ENVS).chunk(4)]:
        policy = Categorical(logits=actor(obs.reshape(-1, size)[batch]))
        ratio = (policy.log_prob(actions.flatten()[batch]) - logprobs.flatten()[batch]).exp()
        advantage = advantages.flatten()[batch]
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        gain = torch.min(advantage * ratio, advantage * ratio.clamp(0.8, 1.2)).mean()
        error = critic(obs.reshape(-1, size)[batch]).flatten() - returns.flatten()[batch]
        optimizer.zero_grad()
        (0.25 * error.square().mean() - gain - 0.01 * policy.entropy().mean()).backward()
        nn.utils.clip_grad_norm_(parameters, 0.5)
        optimizer.step()
envs.close()
