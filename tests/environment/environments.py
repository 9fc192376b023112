"""Environments with the general interface, for tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from gymcore.environment import Environment


class Counter(Environment):
    """Environment that counts steps; action 1 ends the episode, the reward is the step's number."""

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit
        self.closed = 0

    def states(self) -> dict[str, Any]:
        return {"type": "int"}

    def actions(self) -> dict[str, Any]:
        return {"type": "int", "num_values": 2}

    def max_episode_timesteps(self) -> int | None:
        return self.limit

    def reset(self) -> int:
        self.steps = 0
        return 0

    def execute(self, actions: int) -> tuple[int, bool, float]:
        self.steps += 1
        return self.steps, actions == 1, float(self.steps)

    def close(self) -> None:
        self.closed += 1


class Counters(Environment):
    """Several environments: number `i` ends at step `i + 1`; states are nested."""

    knows_final_states = True

    def states(self) -> dict[str, Any]:
        return {"step": {"type": "int"}, "env": {"index": {"type": "float", "shape": 2}}}

    def actions(self) -> dict[str, Any]:
        return {"x": {"type": "float", "min_value": -1.0, "max_value": 1.0}}

    def is_vectorizable(self) -> bool:
        return True

    def reset(self, num_parallel: int | None = None) -> Any:
        self.step = 0
        self.final = None
        self.single = num_parallel is None
        self.live = np.arange(num_parallel or 1)
        return self.row(self.live) if self.single else (self.live, self.rows(self.live))

    def rows(self, envs: np.ndarray) -> dict[str, Any]:
        index = np.stack([envs, envs], axis=1).astype(np.float32)
        return {"step": np.full(len(envs), self.step), "env": {"index": index}}

    def row(self, envs: np.ndarray) -> dict[str, Any]:
        return {"step": self.step, "env": {"index": np.zeros(2, np.float32)}}

    def execute(self, actions: Any) -> Any:
        assert np.shape(actions["x"]) == (() if self.single else self.live.shape)
        self.step += 1
        if self.single:
            return self.row(self.live), self.step == 1, 1.0
        terminal = self.live < self.step
        rewards = self.live + 0.5
        self.final = self.rows(self.live[terminal]) if terminal.any() else None
        self.live = self.live[~terminal]
        return self.live, self.rows(self.live), terminal, rewards

    def final_states(self) -> Any:
        return self.final if self.knows_final_states else None

    def abort(self, parallel: Any) -> None:
        self.live = np.setdiff1d(self.live, parallel)


class Actors(Environment):
    """Two actors; the second one ends a step later."""

    def states(self) -> dict[str, Any]:
        return {"type": "float"}

    def actions(self) -> dict[str, Any]:
        return {"type": "bool"}

    def num_actors(self) -> int:
        return 2

    def reset(self) -> Any:
        self.live = np.arange(2)
        return self.live, np.zeros(2)

    def execute(self, actions: Any) -> Any:
        terminal = np.array([1, 0])[-len(self.live) :] if len(self.live) == 2 else np.array([1])
        self.live = self.live[terminal == 0]
        return self.live, np.ones(len(self.live)), terminal, np.ones(len(terminal))
