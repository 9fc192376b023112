"""Independent PPO with PyTorch: the agents of a world share one policy.

    python examples/ippo.py mpe/simple_spread_v3
    python examples/ippo.py mpe/simple_spread_v3 --central-critic
    python examples/ippo.py Foraging-8x8-2p-3f-coop-v3 --total-steps 5000000

The agents must have the same spaces and observe arrays. With `--central-critic` the value function
also gets what the other agents of the world observe (MAPPO). Steps are those of agents.
"""

from __future__ import annotations

import argparse
from collections import deque
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical, Independent, Normal
from tqdm import tqdm

import gymcore as gym
from gymcore.spaces import Box, Discrete


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("id", nargs="?", default="mpe/simple_spread_v3")
    parser.add_argument("--central-critic", action="store_true")
    parser.add_argument("--total-steps", type=int, default=1_000_000)
    parser.add_argument("--num-envs", type=int, default=64)
    parser.add_argument("--num-steps", type=int, default=25, help="of each world between updates")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--minibatches", type=int, default=4)
    parser.add_argument("--learning-rate", type=float, default=2e-3)
    parser.add_argument("--gamma", type=float, default=0.95)
    parser.add_argument("--gae-lambda", type=float, default=0.95)
    parser.add_argument("--clip", type=float, default=0.2)
    parser.add_argument("--entropy", type=float, default=0.01)
    parser.add_argument("--reward-scale", type=float, default=0.1, help="of rewards learned from")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def layer(inputs: int, outputs: int, gain: float = 2**0.5) -> nn.Linear:
    """Return a linear layer with orthogonal weights."""
    linear = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(linear.weight, gain)
    nn.init.zeros_(linear.bias)
    return linear


def perceptron(inputs: int, outputs: int, gain: float) -> nn.Sequential:
    """Return two hidden layers of 64 units and an output layer."""
    hidden = (layer(inputs, 64), nn.Tanh(), layer(64, 64), nn.Tanh())
    return nn.Sequential(*hidden, layer(64, outputs, gain))


class Agents(nn.Module):
    """The policy and the value function of all agents. Observations are [..., agents, numbers]."""

    def __init__(self, envs: Any, central_critic: bool) -> None:
        """Make the networks for worlds whose agents have the same spaces."""
        super().__init__()
        team = envs.agents
        if team is None or team.groups is not None:
            raise SystemExit(f"expected worlds of agents that have the same spaces, got {team}")
        observed = team.observation_space(team.names[0])
        actions = team.action_space(team.names[0])
        if not isinstance(observed, Box) or not isinstance(actions, (Box, Discrete)):
            raise SystemExit(f"expected a Box and a Box or Discrete, got {observed}, {actions}")
        numbers = int(np.prod(observed.shape))
        self.discrete = isinstance(actions, Discrete)
        outputs = int(actions.n) if isinstance(actions, Discrete) else actions.shape[0]
        self.central_critic = central_critic
        self.policy = perceptron(numbers, outputs, 0.01)
        self.value_function = perceptron(numbers * (1 + central_critic * len(team.names)), 1, 1.0)
        self.log_std = nn.Parameter(torch.zeros(outputs), requires_grad=not self.discrete)

    def distribution(self, observations: torch.Tensor) -> Any:
        """Return the distribution of the actions."""
        outputs = self.policy(observations)
        if self.discrete:
            return Categorical(logits=outputs)
        return Independent(Normal(outputs, self.log_std.exp()), 1)

    def value(self, observations: torch.Tensor) -> torch.Tensor:
        """Return values [..., agents] of what an agent, or all agents of its world observe."""
        if self.central_critic:
            world = observations.flatten(-2).unsqueeze(-2).expand(*observations.shape[:-1], -1)
            observations = torch.cat([observations, world], dim=-1)
        return self.value_function(observations).squeeze(-1)


class Collector:
    """Collects rollouts of worlds with SAME_STEP autoreset.

    Attributes:
        returns: The returns of the last agents whose worlds ended.
    """

    def __init__(self, envs: Any, agents: Agents, args: argparse.Namespace) -> None:
        """Reset the worlds."""
        self.envs, self.agents, self.args = envs, agents, args
        self.returns: deque[float] = deque(maxlen=300)
        self.observations = self._tensor(envs.reset(seed=args.seed)[0])

    def _tensor(self, observations: np.ndarray) -> torch.Tensor:
        """Return a copy [num_envs, agents, numbers], since the engine writes into its arrays."""
        worlds, agents = observations.shape[:2]
        return torch.tensor(observations.reshape(worlds, agents, -1), dtype=torch.float32)

    @torch.no_grad()
    def collect(self) -> list[torch.Tensor]:
        """Step, and return the rows [num_steps * num_envs, agents, ...] to learn from.

        Returns:
            Observations, actions, log-probabilities, advantages, targets of the value function,
            and whether an agent took part in the step.
        """
        steps = []
        for _ in range(self.args.num_steps):
            observations, values = self.observations, self.agents.value(self.observations)
            distribution = self.agents.distribution(observations)
            actions = distribution.sample()
            results = self.envs.step(actions.numpy())
            self.observations = self._tensor(results[0])
            rewards, terminated, truncated = (torch.tensor(array) for array in results[1:4])
            infos = results[4]
            rewards = rewards.float() * self.args.reward_scale
            if truncated.any():  # what a time limit cuts off is estimated
                last = self.observations.clone()
                if "_final_obs" in infos:
                    ended = torch.tensor(infos["_final_obs"])
                    last[ended] = self._tensor(infos["final_obs"])[ended]
                rewards += self.args.gamma * self.agents.value(last) * truncated
            if "_episode" in infos:
                self.returns.extend(infos["episode"]["agent_r"][infos["_episode"]].ravel())
            active = torch.tensor(infos["active"])
            goes_on = (~(terminated | truncated)).float()
            log_probs = distribution.log_prob(actions)
            steps.append((observations, actions, log_probs, active, rewards, values, goes_on))
        advantages, advantage = [], torch.zeros(())
        following = self.agents.value(self.observations)
        for *_, rewards, values, goes_on in reversed(steps):  # generalized advantage estimation
            error = rewards + self.args.gamma * following * goes_on - values
            advantage = error + self.args.gamma * self.args.gae_lambda * goes_on * advantage
            advantages.append(advantage)
            following = values
        columns = [torch.cat(column) for column in zip(*steps, strict=True)]
        observations, actions, log_probs, active, _, values, _ = columns
        gains = torch.cat(advantages[::-1])
        return [observations, actions, log_probs, gains, gains + values, active]


def learn(
    agents: Agents, optimizer: torch.optim.Optimizer, rollout: list[torch.Tensor], args: Any
) -> None:
    """Update the networks with the minibatches of one rollout."""
    for _ in range(args.epochs):
        for rows in torch.randperm(len(rollout[0])).chunk(args.minibatches):
            observations, actions, old_log_probs, gains, targets, active = (
                column[rows] for column in rollout
            )
            gains = (gains - gains[active].mean()) / (gains[active].std() + 1e-8)
            distribution = agents.distribution(observations)
            ratio = (distribution.log_prob(actions) - old_log_probs).exp()
            clipped = ratio.clamp(1 - args.clip, 1 + args.clip)
            policy_loss = -torch.min(ratio * gains, clipped * gains)
            value_loss = 0.5 * (agents.value(observations) - targets).pow(2)
            losses = policy_loss + value_loss - args.entropy * distribution.entropy()
            loss = losses[active].mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agents.parameters(), 0.5)
            optimizer.step()


def main() -> None:
    """Train with a progress bar, and print the last returns."""
    args = arguments()
    torch.manual_seed(args.seed)
    options = {"autoreset_mode": "SameStep", "episode_statistics": True}
    envs = gym.make_vec(args.id, num_envs=args.num_envs, vector_kwargs=options)
    agents = Agents(envs, args.central_critic)
    optimizer = torch.optim.Adam(agents.parameters(), args.learning_rate, eps=1e-5)
    collector = Collector(envs, agents, args)
    with tqdm(total=args.total_steps, unit=" steps", unit_scale=True, desc=args.id) as bar:
        while bar.n < args.total_steps:
            rollout = collector.collect()
            learn(agents, optimizer, rollout, args)
            bar.update(rollout[-1].numel())
            if collector.returns:
                bar.set_postfix_str(f"return {np.mean(collector.returns):.4g}")
    envs.close()
    mean = np.mean(collector.returns) if collector.returns else float("nan")
    print(f"{args.id}: {bar.n:,} steps of agents, mean return of an agent {mean:.4g}")


if __name__ == "__main__":
    main()
