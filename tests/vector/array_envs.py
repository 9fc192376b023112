"""Environments with physics written for whole batches, for the contract tests."""

from __future__ import annotations

from typing import Any

import numpy as np

import gymcore as gym
from gymcore.native.array_vector_env import ArrayVectorEnv
from tests.ext.array_math import sincos

PER_MASS = 1.0 / (0.1 + 1.0)
PUSHES = np.array([-10.0, 10.0]) * PER_MASS
# Arrays, because NumPy converts a Python number at every use, as slow as the arithmetic.
POLE_SHARE, GRAVITY, TAU = map(np.array, (0.1 * 0.5 * PER_MASS, 9.8, 0.02))
TWO_THIRDS, FARTHEST, STEEPEST = map(np.array, (2.0 / 3.0, 2.4, 12 * np.pi / 180))


class ArrayCartPole(ArrayVectorEnv):
    """CartPole in NumPy: the bits of the kernel, whose sine and cosine it uses."""

    def __init__(self, num_envs: int = 1, **kwargs: Any) -> None:
        kwargs.pop("num_threads", None)  # some tests give it to every engine
        high = np.array([4.8, np.inf, np.float32(24 * np.pi / 180), np.inf], np.float32)
        super().__init__(gym.spaces.Box(-high, high), gym.spaces.Discrete(2), num_envs, **kwargs)
        self.state = np.zeros((2, 2, num_envs))  # positions and velocities, of cart and pole
        self.accelerations = np.zeros((2, num_envs))
        self.observations = np.zeros((num_envs, 4), np.float32)

    def reset_lanes(self, mask: Any) -> Any:
        low, high = self.reset_options.get("low", -0.05), self.reset_options.get("high", 0.05)
        (lanes,) = mask.nonzero()  # indices are faster than a mask
        drawn = low + (high - low) * self.random(mask, 4)
        self.state[:, :, lanes] = drawn.reshape(-1, 2, 2).T
        self.observations[lanes] = drawn  # the engine reads no other rows
        return self.observations, {}

    def step_lanes(self, actions: Any) -> Any:
        (x, theta), (x_dot, theta_dot) = positions, velocities = self.state
        x_acc, theta_acc = accelerations = self.accelerations
        sine, cosine = sincos(theta)
        pull = np.multiply(theta_dot, theta_dot, out=x_acc)
        pull *= POLE_SHARE
        pull *= sine
        pull += PUSHES[actions]
        np.multiply(cosine, pull, out=theta_acc)
        sine *= GRAVITY
        np.subtract(sine, theta_acc, out=theta_acc)
        inertia = np.multiply(cosine, cosine, out=sine)
        inertia *= POLE_SHARE
        np.subtract(TWO_THIRDS, inertia, out=inertia)
        theta_acc /= inertia
        reaction = np.multiply(theta_acc, POLE_SHARE, out=inertia)
        reaction *= cosine
        x_acc -= reaction
        positions += TAU * velocities
        accelerations *= TAU
        velocities += accelerations
        for k, row in enumerate((x, x_dot, theta, theta_dot)):  # faster than a transposed copy
            self.observations[:, k] = row
        terminated = (abs(x) > FARTHEST) | (abs(theta) > STEEPEST)
        return self.observations, 1.0, terminated, {}

    def get_attr(self, name: str) -> tuple[Any, ...]:
        assert name == "state"
        return tuple(self.state.T.reshape(-1, 4).copy())

    def set_attr(self, name: str, values: Any) -> None:
        assert name == "state"
        self.state[:] = np.reshape(values, (-1, 2, 2)).T
