"""Worlds of several agents that are written in Python, and one policy for all agents.

    python examples/multi_agent.py

`Orchard` has PettingZoo's parallel interface without requiring PettingZoo; environments of
PettingZoo can be used in its place unchanged.
"""

from typing import ClassVar

import numpy as np

from gymcore import spaces
from gymcore.interop.pettingzoo import ParallelVectorEnv

SIZE, AGENTS, WORLDS = 9, 3, 8
MOVES = np.array([[0, 0], [0, 1], [0, -1], [1, 0], [-1, 0]])


class Orchard:
    """A race for one apple after another: the first agent to reach it gets 1."""

    metadata: ClassVar = {"name": "orchard"}
    possible_agents: ClassVar = [f"agent_{k}" for k in range(AGENTS)]
    render_mode = None

    def observation_space(self, agent):
        """Return the space of the offsets to the apple and to the other agents."""
        return spaces.Box(-SIZE, SIZE, (2 * AGENTS,), np.float32)

    def action_space(self, agent):
        """Return the space of the moves."""
        return spaces.Discrete(len(MOVES))

    def reset(self, seed=None, options=None):
        """Start a game; see PettingZoo's `ParallelEnv`."""
        if seed is not None or not hasattr(self, "rng"):
            self.rng = np.random.default_rng(seed)
        self.agents, self.steps = list(self.possible_agents), 0
        self.places = self.rng.integers(SIZE, size=(AGENTS, 2))
        self.apple = self.rng.integers(SIZE, size=2)
        return self.observations(), {agent: {} for agent in self.agents}

    def step(self, actions):
        """Move all agents at once; see PettingZoo's `ParallelEnv`."""
        self.steps += 1
        moves = MOVES[[int(actions[agent]) for agent in self.agents]]
        self.places = np.clip(self.places + moves, 0, SIZE - 1)
        eats = (self.places == self.apple).all(axis=1)
        if eats.any():
            first = self.rng.choice(np.flatnonzero(eats))  # one of them gets it
            eats = np.arange(AGENTS) == first
            self.apple = self.rng.integers(SIZE, size=2)
        over = self.steps == 100
        observations, agents = self.observations(), self.agents
        rewards = dict(zip(agents, eats.astype(float), strict=True))
        if over:
            self.agents = []
        ended, infos = dict.fromkeys(agents, False), {agent: {} for agent in agents}
        return observations, rewards, ended, dict.fromkeys(agents, over), infos

    def observations(self):
        """Return each agent's observation: the apple, then the next agents in circular order."""
        observations = {}
        for k, agent in enumerate(self.possible_agents):
            others = np.roll(self.places, -k, axis=0)[1:]
            offsets = np.vstack([self.apple, others]) - self.places[k]
            observations[agent] = offsets.ravel().astype(np.float32)
        return observations

    def close(self):
        """Close the game."""


def greedy(observations, rng):
    """Walk toward the apple."""
    dy, dx = observations[..., 0], observations[..., 1]
    vertical = np.where(dy > 0, 3, 4)
    return np.where(dy != 0, vertical, np.where(dx > 0, 1, np.where(dx < 0, 2, 0)))


def random(observations, rng):
    """Move at random."""
    return rng.integers(0, len(MOVES), observations.shape[:2])


def play(policy):
    """Return the mean number of apples per agent in one game."""
    rng = np.random.default_rng(1)
    with ParallelVectorEnv([Orchard] * WORLDS) as envs:
        observations, _ = envs.reset(seed=1)
        apples = np.zeros((WORLDS, AGENTS))
        for _ in range(100):
            observations, rewards, *_ = envs.step(policy(observations, rng))
            apples += rewards
    return apples.mean()


if __name__ == "__main__":
    print(f"{WORLDS} worlds x {AGENTS} agents")
    for policy in (greedy, random):
        print(f"{policy.__name__}: apples per agent and game {play(policy):.2f}")
