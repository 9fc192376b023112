"""Environments whose physics is written on whole batches, for the contract tests."""

from __future__ import annotations

from typing import Any

import numpy as np

import gymcore as gym
from gymcore.native.array_vector_env import ArrayVectorEnv
from gymcore_ext.lane_math import sincos


class ArrayCartPole(ArrayVectorEnv):
    """CartPole in NumPy: the bits of the kernel, whose sines it borrows."""

    def __init__(self, num_envs: int = 1, **kwargs: Any) -> None:
        kwargs.pop("num_threads", None)  # which some tests give to every engine
        high = np.array([4.8, np.inf, np.float32(24 * np.pi / 180), np.inf], np.float32)
        super().__init__(gym.spaces.Box(-high, high), gym.spaces.Discrete(2), num_envs, **kwargs)
        self.state = np.zeros((4, num_envs))
        self.observations = np.zeros((num_envs, 4), np.float32)

    def reset_lanes(self, mask: Any) -> Any:
        low, high = (self.reset_options.get(k, v) for k, v in (("low", -0.05), ("high", 0.05)))
        self.state[:, mask] = (low + (high - low) * self.random(mask, 4)).T
        return self.observe(), {}

    def observe(self) -> Any:
        for k in range(4):  # faster than a transposed copy
            self.observations[:, k] = self.state[k]
        return self.observations

    def step_lanes(self, actions: Any) -> Any:
        x, x_dot, theta, theta_dot = self.state
        sine, cosine = sincos(theta)
        per_mass = 1.0 / (0.1 + 1.0)
        pole_share = 0.1 * 0.5 * per_mass
        pull = np.where(actions == 1, 10.0 * per_mass, -10.0 * per_mass)
        pull += pole_share * (theta_dot * theta_dot) * sine
        theta_acc = (9.8 * sine - cosine * pull) / (
            0.5 * (4.0 / 3.0 - 0.1 * per_mass * (cosine * cosine))
        )
        x_acc = pull - pole_share * theta_acc * cosine
        x += 0.02 * x_dot
        theta += 0.02 * theta_dot
        x_dot += 0.02 * x_acc
        theta_dot += 0.02 * theta_acc
        terminated = (abs(x) > 2.4) | (abs(theta) > 12 * np.pi / 180)
        return self.observe(), 1.0, terminated, {}

    def get_attr(self, name: str) -> tuple[Any, ...]:
        assert name == "state"
        return tuple(self.state.T.copy())

    def set_attr(self, name: str, values: Any) -> None:
        assert name == "state"
        self.state[:] = np.array(values).T
