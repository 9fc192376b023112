"""Environments of Gymnasium as a person would write them for `gymcore.jit`, to compare with."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import gymcore as gym
from gymcore import jit, spaces

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.jit.classes import CartPole, MountainCar, Taxi

__all__ = ["HAND_WRITTEN"]


class Pendulum(jit.Env):
    observation_space = spaces.Box(
        np.array([-1.0, -1.0, -8.0], np.float32), np.array([1.0, 1.0, 8.0], np.float32)
    )
    action_space = spaces.Box(-2.0, 2.0, (1,), np.float32)

    class State:
        angle: float
        speed: float

    def reset(state, parameters, rng):
        state.angle = rng.uniform(-np.pi, np.pi)
        state.speed = rng.uniform(-1.0, 1.0)

    def step(state, parameters, action, rng):
        torque = jit.math.clip(action[0], -2.0, 2.0)
        angle = (state.angle + np.pi) % (2.0 * np.pi) - np.pi
        cost = angle * angle + 0.1 * state.speed * state.speed + 0.001 * torque * torque
        speed = state.speed + (15.0 * jit.math.sin(state.angle) + 3.0 * torque) * 0.05
        state.speed = jit.math.clip(speed, -8.0, 8.0)
        state.angle = state.angle + state.speed * 0.05
        return -cost, False

    def observe(state, parameters, observation):
        sine, cosine = jit.math.sincos(state.angle)
        observation[0] = cosine
        observation[1] = sine
        observation[2] = state.speed


def accelerations(angle_1, angle_2, speed_1, speed_2, torque):
    """Return the accelerations of both links."""
    sine, cosine = jit.math.sincos(angle_2)
    d1 = 0.25 + 1.25 + cosine + 2.0
    d2 = 0.25 + 0.5 * cosine + 1.0
    phi_2 = 4.9 * jit.math.cos(angle_1 + angle_2 - np.pi / 2)
    phi_1 = (
        -0.5 * speed_2 * speed_2 * sine
        - speed_2 * speed_1 * sine
        + 14.7 * jit.math.cos(angle_1 - np.pi / 2)
        + phi_2
    )
    second = torque + d2 / d1 * phi_1 - 0.5 * speed_1 * speed_1 * sine - phi_2
    second = second / (1.25 - d2 * d2 / d1)
    return -(d2 * second + phi_1) / d1, second


def wrapped(angle):
    """Return an angle of -pi to pi."""
    while angle > np.pi:
        angle -= 2.0 * np.pi
    while angle < -np.pi:
        angle += 2.0 * np.pi
    return angle


class Acrobot(jit.Env):
    observation_space = spaces.Box(-30.0, 30.0, (6,), np.float32)
    action_space = spaces.Discrete(3)

    class State:
        angle_1: float
        angle_2: float
        speed_1: float
        speed_2: float

    def reset(state, parameters, rng):
        state.angle_1 = rng.uniform(-0.1, 0.1)
        state.angle_2 = rng.uniform(-0.1, 0.1)
        state.speed_1 = rng.uniform(-0.1, 0.1)
        state.speed_2 = rng.uniform(-0.1, 0.1)

    def step(state, parameters, action, rng):
        torque, dt = action - 1.0, 0.2
        a, b, u, v = state.angle_1, state.angle_2, state.speed_1, state.speed_2
        p, q = accelerations(a, b, u, v, torque)
        u2, v2 = u + 0.5 * dt * p, v + 0.5 * dt * q
        p2, q2 = accelerations(a + 0.5 * dt * u, b + 0.5 * dt * v, u2, v2, torque)
        u3, v3 = u + 0.5 * dt * p2, v + 0.5 * dt * q2
        p3, q3 = accelerations(a + 0.5 * dt * u2, b + 0.5 * dt * v2, u3, v3, torque)
        u4, v4 = u + dt * p3, v + dt * q3
        p4, q4 = accelerations(a + dt * u3, b + dt * v3, u4, v4, torque)
        state.angle_1 = wrapped(a + dt / 6.0 * (u + 2.0 * u2 + 2.0 * u3 + u4))
        state.angle_2 = wrapped(b + dt / 6.0 * (v + 2.0 * v2 + 2.0 * v3 + v4))
        speed_1 = u + dt / 6.0 * (p + 2.0 * p2 + 2.0 * p3 + p4)
        speed_2 = v + dt / 6.0 * (q + 2.0 * q2 + 2.0 * q3 + q4)
        state.speed_1 = jit.math.clip(speed_1, -4.0 * np.pi, 4.0 * np.pi)
        state.speed_2 = jit.math.clip(speed_2, -9.0 * np.pi, 9.0 * np.pi)
        height = -jit.math.cos(state.angle_1) - jit.math.cos(state.angle_1 + state.angle_2)
        return 0.0 if height > 1.0 else -1.0, height > 1.0

    def observe(state, parameters, observation):
        sine, cosine = jit.math.sincos(state.angle_1)
        observation[0] = cosine
        observation[1] = sine
        sine, cosine = jit.math.sincos(state.angle_2)
        observation[2] = cosine
        observation[3] = sine
        observation[4] = state.speed_1
        observation[5] = state.speed_2


def _lake() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return next states, rewards and ends [state, action, slip]."""
    table = gym.make("FrozenLake-v1").unwrapped.P
    moves = np.array(
        [[[move[1:] for move in (table[s][a] * 3)[:3]] for a in range(4)] for s in range(16)],
        np.float64,
    )
    return moves[..., 0].astype(np.int64), moves[..., 1], moves[..., 2] != 0.0


NEXT, REWARD, END = _lake()


class FrozenLake(jit.Env):
    observation_space = spaces.Discrete(16)
    action_space = spaces.Discrete(4)

    class State:
        cell: int

    class Infos:
        prob: float

    def reset(state, parameters, rng):
        rng.random()
        state.cell = 0

    def step(state, parameters, action, rng):
        cell, slip = state.cell, min(int(rng.random() * 3.0), 2)
        state.cell = NEXT[cell, action, slip]
        return REWARD[cell, action, slip], END[cell, action, slip]

    def observe(state, parameters, observation):
        observation[0] = state.cell

    def info(state, parameters, info):
        info.prob = 1.0 / 3.0


HAND_WRITTEN: dict[str, type[jit.Env]] = {
    "CartPole-v1": CartPole,
    "MountainCar-v0": MountainCar,
    "Pendulum-v1": Pendulum,
    "Acrobot-v1": Acrobot,
    "FrozenLake-v1": FrozenLake,
    "Taxi-v4": Taxi,
}
