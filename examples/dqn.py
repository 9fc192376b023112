"""Deep Q-learning with PyTorch and a replay buffer: discrete actions.

    python examples/dqn.py CartPole-v1
    python examples/dqn.py CartPole-v1 --prioritized --n-steps 1

Double Q-learning (van Hasselt et al. 2016) with returns of several steps and, if you like,
prioritized replay. Ends when the greedy policy reaches the target.
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
    parser.add_argument("id", nargs="?", default="CartPole-v1")
    parser.add_argument("--total-steps", type=int, default=200_000)
    parser.add_argument("--num-envs", type=int, default=16)
    parser.add_argument("--capacity", type=int, default=50_000)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--learning-starts", type=int, default=2_000, help="transitions")
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--gamma", type=float, default=0.99)
    parser.add_argument("--n-steps", type=int, default=3, help="rewards in a return")
    parser.add_argument("--tau", type=float, default=0.01, help="speed of the target network")
    parser.add_argument("--exploration", type=float, default=0.1, help="share of all steps")
    parser.add_argument("--epsilon", type=float, default=0.05, help="random actions, in the end")
    parser.add_argument("--prioritized", action="store_true")
    parser.add_argument("--evaluate-every", type=int, default=8_000, help="steps")
    parser.add_argument("--target", type=float, default=475.0, help="mean return that ends it")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def network(inputs: int, outputs: int) -> nn.Sequential:
    """Return a network with two hidden layers."""
    return nn.Sequential(
        nn.Linear(inputs, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, outputs)
    )


class Learner:
    """The network, the target network, and updates of both."""

    def __init__(self, envs: Any, args: argparse.Namespace) -> None:
        """Make the networks for the spaces of the environment."""
        sizes = envs.single_observation_space.shape[0], int(envs.single_action_space.n)
        self.values, self.target = network(*sizes), network(*sizes)
        self.target.load_state_dict(self.values.state_dict())
        self.optimizer = torch.optim.Adam(self.values.parameters(), args.learning_rate)
        self.tau = args.tau

    @torch.no_grad()
    def act(self, observations: np.ndarray) -> np.ndarray:
        """Return the actions of the greatest values."""
        return self.values(torch.as_tensor(observations)).argmax(1).numpy()

    def update(self, batch: Transitions) -> torch.Tensor:
        """Take a step of the optimizer, and return the TD errors."""
        with torch.no_grad():
            best = self.values(batch.next_observations).argmax(1, keepdim=True)
            after = self.target(batch.next_observations).gather(1, best).squeeze(1)
            targets = batch.rewards + batch.discounts * after
        values = self.values(batch.observations).gather(1, batch.actions[:, None]).squeeze(1)
        losses = nn.functional.smooth_l1_loss(values, targets, reduction="none")
        self.optimizer.zero_grad()
        (batch.weights * losses).mean().backward()
        nn.utils.clip_grad_norm_(self.values.parameters(), 10.0)
        self.optimizer.step()
        with torch.no_grad():
            for slow, fast in zip(self.target.parameters(), self.values.parameters(), strict=True):
                slow.lerp_(fast, self.tau)
        return (targets - values.detach()).abs()


def main() -> None:
    """Train until the target is reached."""
    args = arguments()
    torch.set_num_threads(1)  # faster for small networks
    torch.manual_seed(args.seed)
    random = np.random.default_rng(args.seed)
    envs = gym.make_vec(args.id, num_envs=args.num_envs)
    spaces = envs.single_observation_space, envs.single_action_space
    if len(spaces[0].shape or ()) != 1 or not isinstance(spaces[1], gym.spaces.Discrete):
        raise SystemExit(f"{args.id}: expected vectors and discrete actions, got {spaces}")
    test_envs = gym.make_vec(args.id, num_envs=20)
    buffer = ReplayBuffer(
        envs, args.capacity, n_steps=args.n_steps, discount=args.gamma,
        prioritized=args.prioritized, seed=args.seed,
    )  # fmt: skip
    learner = Learner(envs, args)
    batch = tensors = None
    mean, steps = float("-inf"), 0
    observations, _ = envs.reset(seed=args.seed)
    while steps < args.total_steps and mean < args.target:
        epsilon = max(1 - steps / (args.exploration * args.total_steps), args.epsilon)
        explore = random.random(args.num_envs) < epsilon
        chances = random.integers(envs.single_action_space.n, size=args.num_envs)
        actions = np.where(explore, chances, learner.act(observations))
        step = envs.step(actions)
        buffer.add(observations, actions, *step)
        observations = step[0]
        steps += args.num_envs
        if len(buffer) < args.learning_starts:
            continue
        batch = buffer.sample(args.batch_size, out=batch)
        if tensors is None:  # which share the memory of the batch
            tensors = Transitions(*map(torch.from_numpy, batch))
        errors = learner.update(tensors)
        if args.prioritized:
            buffer.update_priorities(batch.indices, errors.numpy())
        if steps % args.evaluate_every < args.num_envs:
            mean = evaluate(learner.values, test_envs, 20, seed=args.seed).mean
            print(f"{steps:,} steps: mean return {mean:.4g} of 20 episodes")
    print(f"{args.id}: {steps:,} steps, mean return {mean:.4g}")


if __name__ == "__main__":
    main()
