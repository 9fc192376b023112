"""Proximal policy optimization with PyTorch and the collector: discrete and continuous actions.

    python examples/ppo.py CartPole-v1 --total-steps 300000
    python examples/ppo.py HalfCheetah-v5 --normalize --total-steps 2000000

Shows a progress bar with the return, and writes the learning curve to a CSV file.
"""

from __future__ import annotations

import argparse
import csv
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical, Independent, Normal
from tqdm import tqdm

import gymcore as gym
from gymcore.learn import RolloutCollector
from gymcore.spaces import Box, Discrete
from gymcore.wrappers.vector import FlattenObservation, NormalizeObservation, NormalizeReward


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("id", nargs="?", default="CartPole-v1")
    parser.add_argument("--total-steps", type=int, default=500_000)
    parser.add_argument("--num-envs", type=int, default=64)
    parser.add_argument("--num-steps", type=int, default=128, help="of every lane, between updates")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--minibatches", type=int, default=4)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--gamma", type=float, default=0.99)
    parser.add_argument("--gae-lambda", type=float, default=0.95)
    parser.add_argument("--clip", type=float, default=0.2)
    parser.add_argument("--entropy", type=float, default=0.0)
    parser.add_argument("--normalize", action="store_true", help="observations and rewards")
    parser.add_argument("--double-buffered", action="store_true", help="act while the rest steps")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--curve", default="curve.csv", help="where the learning curve goes")
    return parser.parse_args()


def make_envs(args: argparse.Namespace) -> Any:
    """Make a vector environment with one-dimensional observations."""
    options = {"autoreset_mode": "SameStep", "episode_statistics": True}
    envs = gym.make_vec(args.id, num_envs=args.num_envs, vector_kwargs=options)
    space = envs.single_observation_space
    if not isinstance(space, Box) or len(space.shape) != 1:
        envs = FlattenObservation(envs)
    if args.normalize:
        envs = NormalizeReward(NormalizeObservation(envs), gamma=args.gamma)
    return envs


def layer(inputs: int, outputs: int, gain: float) -> nn.Linear:
    """Return a linear layer with orthogonal weights."""
    linear = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(linear.weight, gain)
    nn.init.zeros_(linear.bias)
    return linear


def perceptron(inputs: int, outputs: int, gain: float) -> nn.Sequential:
    """Return two hidden layers of 64 units and an output layer."""
    root = 2**0.5
    return nn.Sequential(
        layer(inputs, 64, root), nn.Tanh(), layer(64, 64, root), nn.Tanh(), layer(64, outputs, gain)
    )


class Agent(nn.Module):
    """The policy and the value function."""

    def __init__(self, envs: Any) -> None:
        """Make the networks for the spaces of the environment."""
        super().__init__()
        space, actions = envs.single_observation_space, envs.single_action_space
        self.discrete = isinstance(actions, Discrete)
        self.first = int(actions.start) if self.discrete else 0
        outputs = int(actions.n) if self.discrete else actions.shape[0]
        self.policy = perceptron(space.shape[0], outputs, 0.01)
        self.value = perceptron(space.shape[0], 1, 1.0)
        self.log_std = nn.Parameter(torch.zeros(outputs), requires_grad=not self.discrete)

    def distribution(self, observations: torch.Tensor) -> Any:
        """Return the distribution of actions."""
        outputs = self.policy(observations)
        if self.discrete:
            return Categorical(logits=outputs)
        return Independent(Normal(outputs, self.log_std.exp()), 1)

    @torch.no_grad()
    def act(self, observations: np.ndarray) -> tuple[Any, Any, Any]:
        """Return actions, log-probabilities and values; called by the collector."""
        observations = torch.as_tensor(observations, dtype=torch.float32)
        distribution = self.distribution(observations)
        actions = distribution.sample()
        log_probs = distribution.log_prob(actions)
        return actions + self.first, log_probs, self.value(observations).squeeze(-1)


def tensors(arrays: tuple[np.ndarray, ...]) -> list[torch.Tensor]:
    """Return arrays [T, num_envs, ...] as tensors [T * num_envs, ...] that share their memory."""
    return [torch.from_numpy(array.reshape(-1, *array.shape[2:])) for array in arrays]


def learn(agent: Agent, optimizer: torch.optim.Optimizer, batch: Any, args: Any) -> None:
    """Update the agent with the minibatches of one rollout."""
    observations, actions, old_log_probs, advantages, returns = batch
    observations, actions = observations.float(), actions - agent.first
    for _ in range(args.epochs):
        for rows in torch.randperm(len(actions)).chunk(args.minibatches):
            distribution = agent.distribution(observations[rows])
            log_probs = distribution.log_prob(actions[rows])
            gains = advantages[rows]
            gains = (gains - gains.mean()) / (gains.std() + 1e-8)
            ratio = (log_probs - old_log_probs[rows]).exp()
            clipped = ratio.clamp(1 - args.clip, 1 + args.clip)
            policy_loss = -torch.min(ratio * gains, clipped * gains).mean()
            values = agent.value(observations[rows]).squeeze(-1)
            value_loss = 0.5 * (values - returns[rows]).pow(2).mean()
            loss = policy_loss + value_loss - args.entropy * distribution.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()


def main() -> None:
    """Train, with a progress bar, and write the learning curve."""
    args = arguments()
    torch.manual_seed(args.seed)
    envs = make_envs(args)
    agent = Agent(envs)
    optimizer = torch.optim.Adam(agent.parameters(), args.learning_rate, eps=1e-5)
    collector = RolloutCollector(
        envs, agent.act, args.num_steps, double_buffered=args.double_buffered, seed=args.seed
    )
    size = args.num_steps * args.num_envs
    curve: list[tuple[int, float]] = []
    with tqdm(total=args.total_steps, unit=" steps", unit_scale=True, desc=args.id) as bar:
        while bar.n < args.total_steps:
            rollout = collector.collect()
            advantages, returns = collector.advantages(args.gamma, args.gae_lambda)
            batch = (
                rollout.observations,
                rollout.actions,
                rollout.log_probs,
                advantages,
                returns,
            )
            learn(agent, optimizer, tensors(batch), args)
            bar.update(size)
            if collector.episode_returns:
                curve.append((bar.n, float(np.mean(collector.episode_returns))))
                bar.set_postfix_str(f"return {curve[-1][1]:.4g}")
    envs.close()
    with open(args.curve, "w", newline="") as file:
        csv.writer(file).writerows([("steps", "mean_return"), *curve])
    print(f"{args.id}: {bar.n:,} steps, mean return {curve[-1][1]:.4g}; wrote {args.curve}")


if __name__ == "__main__":
    main()
