"""Soft actor-critic with PyTorch and a replay buffer: continuous actions.

    python examples/sac.py Pendulum-v1
    python examples/sac.py HalfCheetah-v5 --total-steps 500000 --target 5000 --hidden 256

With two critics and a temperature that is learned (Haarnoja et al. 2018, "Soft Actor-Critic
Algorithms and Applications"). Ends when the policy without noise reaches the target.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import torch
from torch import nn

import gymcore as gym
from gymcore.learn import ReplayBuffer, Transitions, evaluate


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("id", nargs="?", default="Pendulum-v1")
    parser.add_argument("--total-steps", type=int, default=40_000)
    parser.add_argument("--num-envs", type=int, default=4)
    parser.add_argument("--updates", type=int, default=4, help="for each step of all lanes")
    parser.add_argument("--capacity", type=int, default=200_000)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--learning-starts", type=int, default=1_000, help="transitions")
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--gamma", type=float, default=0.99)
    parser.add_argument("--tau", type=float, default=0.005, help="speed of the target critics")
    parser.add_argument("--hidden", type=int, default=64, help="units of both hidden layers")
    parser.add_argument("--evaluate-every", type=int, default=2_000, help="steps")
    parser.add_argument("--target", type=float, default=-200.0, help="mean return that ends it")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def network(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    """Return a network with two hidden layers."""
    return nn.Sequential(
        nn.Linear(inputs, hidden), nn.ReLU(),
        nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, outputs),
    )  # fmt: skip


class Actor(nn.Module):
    """A normal distribution, squashed to the bounds of the actions."""

    def __init__(self, envs: Any, hidden: int) -> None:
        """Make the network for the spaces of the environment."""
        super().__init__()
        low, high = map(
            torch.as_tensor, (envs.single_action_space.low, envs.single_action_space.high)
        )
        self.register_buffer("scale", (high - low) / 2)
        self.register_buffer("middle", (high + low) / 2)
        inputs = envs.single_observation_space.shape[0]
        self.network = network(inputs, hidden, 2 * len(low))

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Return the actions without noise."""
        mean, _ = self.network(observations.float()).chunk(2, 1)
        return mean.tanh() * self.scale + self.middle

    def sample(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return actions from -1 to 1, and their log-probabilities [n]."""
        mean, log_std = self.network(observations.float()).chunk(2, 1)
        normal = torch.distributions.Normal(mean, log_std.clamp(-5, 2).exp())
        raw = normal.rsample()
        # The logarithm of the derivative of tanh is 2 * (log 2 - raw - softplus(-2 * raw)).
        slopes = 2 * (np.log(2) - raw - nn.functional.softplus(-2 * raw))
        return raw.tanh(), (normal.log_prob(raw) - slopes).sum(1)

    @torch.no_grad()
    def act(self, observations: np.ndarray) -> np.ndarray:
        """Return actions with noise for the environment."""
        actions, _ = self.sample(torch.as_tensor(observations))
        return (actions * self.scale + self.middle).numpy()


class Learner:
    """The actor, the critics, the temperature, and updates of all of them."""

    def __init__(self, envs: Any, args: argparse.Namespace) -> None:
        """Make the networks and the optimizers."""
        self.actor, self.tau = Actor(envs, args.hidden), args.tau
        actions = len(self.actor.scale)
        inputs = envs.single_observation_space.shape[0] + actions
        self.critics = nn.ModuleList(network(inputs, args.hidden, 1) for _ in range(2))
        self.targets = nn.ModuleList(network(inputs, args.hidden, 1) for _ in range(2))
        self.targets.load_state_dict(self.critics.state_dict())
        self.log_alpha = torch.zeros((), requires_grad=True)
        self.target_entropy = -float(actions)
        parameters = self.actor.parameters(), self.critics.parameters(), [self.log_alpha]
        self.optimizers = [torch.optim.Adam(each, args.learning_rate) for each in parameters]

    def update(self, batch: Transitions) -> None:
        """Take a step of each optimizer, and move the target critics."""
        observations, after = batch.observations.float(), batch.next_observations.float()
        actions = (batch.actions - self.actor.middle) / self.actor.scale
        alpha = self.log_alpha.exp().detach()
        with torch.no_grad():
            next_actions, log_probs = self.actor.sample(after)
            values = self.min_value(self.targets, after, next_actions) - alpha * log_probs
            targets = batch.rewards + batch.discounts * values
        pairs = torch.cat((observations, actions), 1)
        losses = [(critic(pairs).squeeze(1) - targets).pow(2).mean() for critic in self.critics]
        self.step(1, losses[0] + losses[1])
        actions, log_probs = self.actor.sample(observations)
        self.critics.requires_grad_(False)
        self.step(
            0, (alpha * log_probs - self.min_value(self.critics, observations, actions)).mean()
        )
        self.critics.requires_grad_(True)
        self.step(2, -self.log_alpha * (log_probs.detach().mean() + self.target_entropy))
        with torch.no_grad():
            for slow, fast in zip(
                self.targets.parameters(), self.critics.parameters(), strict=True
            ):
                slow.lerp_(fast, self.tau)

    @staticmethod
    def min_value(critics: Any, observations: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
        """Return the smaller value of both critics, [n]."""
        first, second = (critic(torch.cat((observations, actions), 1)) for critic in critics)
        return torch.min(first, second).squeeze(1)

    def step(self, which: int, loss: torch.Tensor) -> None:
        """Take a step of an optimizer: 0 the actor's, 1 the critics', 2 the temperature's."""
        self.optimizers[which].zero_grad()
        loss.backward()
        self.optimizers[which].step()


def main() -> None:
    """Train until the target is reached."""
    args = arguments()
    torch.set_num_threads(1)  # faster for small networks
    torch.manual_seed(args.seed)
    envs = gym.make_vec(args.id, num_envs=args.num_envs)
    spaces = envs.single_observation_space, envs.single_action_space
    if len(spaces[0].shape or ()) != 1 or not isinstance(spaces[1], gym.spaces.Box):
        raise SystemExit(f"{args.id}: expected vectors and continuous actions, got {spaces}")
    test_envs = gym.make_vec(args.id, num_envs=20)
    buffer = ReplayBuffer(envs, args.capacity, discount=args.gamma, seed=args.seed)
    learner = Learner(envs, args)
    batch = tensors = None
    mean, steps = float("-inf"), 0
    envs.action_space.seed(args.seed)
    observations, _ = envs.reset(seed=args.seed)
    while steps < args.total_steps and mean < args.target:
        learning = len(buffer) >= args.learning_starts
        actions = learner.actor.act(observations) if learning else envs.action_space.sample()
        step = envs.step(actions)
        buffer.add(observations, actions, *step)
        observations = step[0]
        steps += args.num_envs
        for _ in range(args.updates if learning else 0):
            batch = buffer.sample(args.batch_size, out=batch)
            if tensors is None:  # which share the memory of the batch
                tensors = Transitions(*map(torch.from_numpy, batch))
            learner.update(tensors)
        if learning and steps % args.evaluate_every < args.num_envs:
            mean = evaluate(learner.actor, test_envs, 20, seed=args.seed).mean
            print(f"{steps:,} steps: mean return {mean:.4g} of 20 episodes")
    print(f"{args.id}: {steps:,} steps, mean return {mean:.4g}")


if __name__ == "__main__":
    main()
