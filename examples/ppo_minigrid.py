"""Proximal policy optimization with PyTorch from the recent observations in a grid world.

    python examples/ppo_minigrid.py MiniGrid-DoorKey-8x8-v0 --seed 1

The network sees the last four images of cells (kinds, colors and states), and actions are sampled
from its distribution. Training ends when the mean return of the last 100 episodes is at least 0.9.
Then the agent plays 200 levels on which it was not trained.
"""

from __future__ import annotations

import argparse
import time
from collections import deque
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

import gymcore as gym
from gymcore.learn import RolloutCollector
from gymcore.wrappers.vector import FrameStackObservation, TransformReward

# Training multiplies rewards by this factor: most are zero, and none exceeds 1.
SCALE = 20.0


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("id", nargs="?", default="MiniGrid-DoorKey-8x8-v0")
    parser.add_argument("--total-steps", type=int, default=2_000_000)
    parser.add_argument("--num-envs", type=int, default=32)
    parser.add_argument("--num-steps", type=int, default=64, help="of every lane, between updates")
    parser.add_argument("--frames", type=int, default=4, help="images that the network sees")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--minibatches", type=int, default=8)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--gamma", type=float, default=0.99)
    parser.add_argument("--gae-lambda", type=float, default=0.95)
    parser.add_argument("--clip", type=float, default=0.2)
    parser.add_argument("--entropy", type=float, default=0.01)
    parser.add_argument("--target", type=float, default=0.9, help="mean return that ends training")
    parser.add_argument("--levels", type=int, default=200, help="played at the end")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def make_envs(env_id: str, num_envs: int, frames: int) -> Any:
    """Make lanes that observe the last images, uint8 [num_envs, frames, 7, 7, 3]."""
    options = {"autoreset_mode": "SameStep", "episode_statistics": True}
    envs = gym.make_vec(env_id, num_envs=num_envs, layout="image", vector_kwargs=options)
    return TransformReward(FrameStackObservation(envs, frames), lambda rewards: SCALE * rewards)


def layer(module: Any, gain: float = 2**0.5) -> Any:
    """Return a linear or convolutional layer with orthogonal weights."""
    nn.init.orthogonal_(module.weight, gain)
    nn.init.zeros_(module.bias)
    return module


class Agent(nn.Module):
    """The policy and the value function, which share a small convolutional network."""

    def __init__(self, shape: tuple[int, ...], actions: int) -> None:
        """Make the network for observations uint8 [n, frames, across, ahead, 3]."""
        super().__init__()
        frames, across, ahead, channels = shape
        self.body = nn.Sequential(
            layer(nn.Conv2d(frames * channels, 16, 2)),
            nn.ReLU(),
            nn.MaxPool2d(2),
            layer(nn.Conv2d(16, 32, 2)),
            nn.ReLU(),
            layer(nn.Conv2d(32, 64, 2)),
            nn.ReLU(),
            nn.Flatten(),
        )
        features = 64 * ((across - 1) // 2 - 2) * ((ahead - 1) // 2 - 2)
        self.policy = nn.Sequential(
            layer(nn.Linear(features, 64)), nn.Tanh(), layer(nn.Linear(64, actions), 0.01)
        )
        self.value = nn.Sequential(
            layer(nn.Linear(features, 64)), nn.Tanh(), layer(nn.Linear(64, 1), 1)
        )

    def forward(self, observations: torch.Tensor) -> tuple[Categorical, torch.Tensor]:
        """Return the distribution of actions, and values [n]."""
        images = observations.permute(0, 1, 4, 2, 3).flatten(1, 2).float()
        hidden = self.body(images)
        return Categorical(logits=self.policy(hidden)), self.value(hidden).squeeze(-1)

    @torch.no_grad()
    def act(self, observations: np.ndarray) -> tuple[Any, Any, Any]:
        """Return actions, log-probabilities and values; called by the collector."""
        distribution, values = self(torch.from_numpy(observations))
        actions = distribution.sample()
        return actions, distribution.log_prob(actions), values


def learn(agent: Agent, optimizer: torch.optim.Optimizer, arrays: Any, args: Any) -> None:
    """Update the agent with the minibatches of one rollout."""
    observations, actions, old_log_probs, advantages, returns = (
        torch.from_numpy(array.reshape(-1, *array.shape[2:])) for array in arrays
    )
    for _ in range(args.epochs):
        for rows in torch.randperm(len(actions)).chunk(args.minibatches):
            distribution, values = agent(observations[rows])
            ratio = (distribution.log_prob(actions[rows]) - old_log_probs[rows]).exp()
            # Not normalized: if no level was solved, normalization would amplify noise.
            gains = advantages[rows]
            clipped = ratio.clamp(1 - args.clip, 1 + args.clip)
            policy_loss = -torch.min(ratio * gains, clipped * gains).mean()
            value_loss = 0.5 * (values - returns[rows]).square().mean()
            entropy = distribution.entropy().mean()
            optimizer.zero_grad()
            (policy_loss + 0.5 * value_loss - args.entropy * entropy).backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()


def play(agent: Agent, args: Any, seed: int) -> list[float]:
    """Return the returns of one episode in each of several levels."""
    envs = make_envs(args.id, args.levels, args.frames)
    observations, _ = envs.reset(seed=seed)
    returns = np.full(args.levels, np.nan)
    while np.isnan(returns).any():
        *results, infos = envs.step(agent.act(observations)[0].numpy())
        observations = results[0]
        if "episode" in infos:
            first = infos["_episode"] & np.isnan(returns)
            returns[first] = infos["episode"]["r"][first]
    envs.close()
    return returns.tolist()


def main() -> None:
    """Train, then play."""
    args = arguments()
    torch.manual_seed(args.seed)
    envs = make_envs(args.id, args.num_envs, args.frames)
    shape, actions = envs.single_observation_space.shape, int(envs.single_action_space.n)
    agent = Agent(shape, actions)
    optimizer = torch.optim.Adam(agent.parameters(), args.learning_rate, eps=1e-5)
    collector = RolloutCollector(envs, agent.act, args.num_steps, seed=args.seed)
    returns: deque[float] = deque(maxlen=100)
    start, size, steps = time.perf_counter(), args.num_steps * args.num_envs, 0
    while steps < args.total_steps:
        rollout = collector.collect()
        advantages, targets = collector.advantages(args.gamma, args.gae_lambda)
        arrays = rollout.observations, rollout.actions, rollout.log_probs, advantages, targets
        learn(agent, optimizer, arrays, args)
        steps += size
        returns.extend(collector.episode_returns)
        mean = float(np.mean(returns)) if returns else float("nan")
        solved = len(returns) == 100 and mean >= args.target
        if solved or steps % (20 * size) == 0 or steps >= args.total_steps:
            rate = steps / (time.perf_counter() - start)
            print(f"{steps:,} steps: return {mean:.3f}, {rate:,.0f} steps/s", flush=True)
        if solved:
            break
    envs.close()
    played = play(agent, args, seed=1_000_000 + args.seed)
    share = np.mean(np.array(played) > 0)
    print(f"{len(played)} new levels: {share:.1%} solved, mean return {np.mean(played):.3f}")


if __name__ == "__main__":
    main()
