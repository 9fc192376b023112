"""Environments of Gymnasium as a person would write them for `gymcore.jit`, to compare with.

They give the bits of the originals, so they call the sine of NumPy or the C library. With
`jit.math.sincos`, which has other bits and is compiled to vector code, they would be faster.
"""

from __future__ import annotations

import math

import numpy as np

import gymcore as gym
from gymcore import jit, spaces

__all__ = ["HAND_WRITTEN"]


class CartPole(jit.Env):
    observation_space = spaces.Box(-np.inf, np.inf, (4,), np.float32)
    action_space = spaces.Discrete(2)

    class State:
        x: float
        x_dot: float
        theta: float
        theta_dot: float

    class Parameters:
        gravity: float = 9.8
        masscart: float = 1.0
        masspole: float = 0.1
        length: float = 0.5
        force_mag: float = 10.0
        tau: float = 0.02

    def reset(state, parameters, rng):
        state.x = rng.uniform(-0.05, 0.05)
        state.x_dot = rng.uniform(-0.05, 0.05)
        state.theta = rng.uniform(-0.05, 0.05)
        state.theta_dot = rng.uniform(-0.05, 0.05)

    def step(state, parameters, action, rng):
        p = parameters
        total_mass, moment = p.masspole + p.masscart, p.masspole * p.length
        sine, cosine = np.sin(state.theta), np.cos(state.theta)
        force = p.force_mag if action == 1 else -p.force_mag
        pull = (force + moment * (state.theta_dot * state.theta_dot) * sine) / total_mass
        theta_acc = (p.gravity * sine - cosine * pull) / (
            p.length * (4.0 / 3.0 - p.masspole * (cosine * cosine) / total_mass)
        )
        x_acc = pull - moment * theta_acc * cosine / total_mass
        state.x = state.x + p.tau * state.x_dot
        state.x_dot = state.x_dot + p.tau * x_acc
        state.theta = state.theta + p.tau * state.theta_dot
        state.theta_dot = state.theta_dot + p.tau * theta_acc
        return 1.0, abs(state.x) > 2.4 or abs(state.theta) > 12 * 2 * np.pi / 360

    def observe(state, parameters, observation):
        observation[0] = state.x
        observation[1] = state.x_dot
        observation[2] = state.theta
        observation[3] = state.theta_dot


class MountainCar(jit.Env):
    observation_space = spaces.Box(
        np.array([-1.2, -0.07], np.float32), np.array([0.6, 0.07], np.float32)
    )
    action_space = spaces.Discrete(3)

    class State:
        position: float
        velocity: float

    class Parameters:
        goal_velocity: float = 0.0

    def reset(state, parameters, rng):
        state.position = rng.uniform(-0.6, -0.4)

    def step(state, parameters, action, rng):
        pull = math.cos(3.0 * state.position) * -0.0025
        velocity = jit.math.clip(state.velocity + ((action - 1) * 0.001 + pull), -0.07, 0.07)
        position = jit.math.clip(state.position + velocity, -1.2, 0.6)
        if position == -1.2 and velocity < 0.0:
            velocity = 0.0
        state.position = position
        state.velocity = velocity
        return -1.0, position >= 0.5 and velocity >= parameters.goal_velocity

    def observe(state, parameters, observation):
        observation[0] = state.position
        observation[1] = state.velocity


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
        effort = np.float32(np.float32(0.001) * jit.math.powf(torque, 2))
        cost = angle**2 + 0.1 * state.speed**2 + effort
        push = np.float32(3.0 * torque)
        speed = state.speed + (15.0 * np.sin(state.angle) + push) * 0.05
        state.speed = jit.math.clip(speed, -8.0, 8.0)
        state.angle = state.angle + state.speed * 0.05
        return -cost, False

    def observe(state, parameters, observation):
        observation[0] = np.cos(state.angle)
        observation[1] = np.sin(state.angle)
        observation[2] = state.speed


def accelerations(angle_1, angle_2, speed_1, speed_2, torque):
    """Return the accelerations of both links."""
    sine, cosine = np.sin(angle_2), np.cos(angle_2)
    d1 = 0.25 + (1.25 + cosine) + 2.0
    d2 = 0.25 + 0.5 * cosine + 1.0
    phi_2 = 0.5 * 9.8 * np.cos(angle_1 + angle_2 - np.pi / 2.0)
    phi_1 = (
        -0.5 * speed_2**2 * sine
        - speed_2 * speed_1 * sine
        + 1.5 * 9.8 * np.cos(angle_1 - np.pi / 2.0)
        + phi_2
    )
    second = torque + d2 / d1 * phi_1 - 0.5 * speed_1**2 * sine - phi_2
    second = second / (1.25 - d2**2 / d1)
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
        state.angle_1 = np.float32(rng.uniform(-0.1, 0.1))
        state.angle_2 = np.float32(rng.uniform(-0.1, 0.1))
        state.speed_1 = np.float32(rng.uniform(-0.1, 0.1))
        state.speed_2 = np.float32(rng.uniform(-0.1, 0.1))

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
        height = -np.cos(state.angle_1) - np.cos(state.angle_1 + state.angle_2)
        return 0.0 if height > 1.0 else -1.0, height > 1.0

    def observe(state, parameters, observation):
        observation[0] = np.cos(state.angle_1)
        observation[1] = np.sin(state.angle_1)
        observation[2] = np.cos(state.angle_2)
        observation[3] = np.sin(state.angle_2)
        observation[4] = state.speed_1
        observation[5] = state.speed_2


def _table(name: str, count: int) -> np.ndarray:
    """Return probability, next state, reward and end [state, action, transition] of an id."""
    table = gym.make(name).unwrapped.P
    actions = range(len(table[0]))
    rows = [[[(table[s][a] * count)[k] for k in range(count)] for a in actions] for s in table]
    return np.array(rows, np.float64)


LAKE = _table("FrozenLake-v1", 3)


class FrozenLake(jit.Env):
    observation_space = spaces.Discrete(16)
    action_space = spaces.Discrete(4)

    class State:
        cell: int
        prob: float

    class Infos:
        prob: float

    def reset(state, parameters, rng):
        rng.random()
        state.cell = 0
        state.prob = 1.0

    def step(state, parameters, action, rng):
        cell, slip = state.cell, min(int(rng.random() * 3.0), 2)
        state.prob = LAKE[cell, action, slip, 0]
        state.cell = int(LAKE[cell, action, slip, 1])
        return LAKE[cell, action, slip, 2], LAKE[cell, action, slip, 3] != 0.0

    def observe(state, parameters, observation):
        observation[0] = state.cell

    def info(state, parameters, info):
        info.prob = state.prob


TAXI = _table("Taxi-v4", 1)[:, :, 0]
TAXI_MASKS = np.array([gym.make("Taxi-v4").unwrapped.action_mask(s) for s in range(500)])
TAXI_STARTS = np.cumsum(gym.make("Taxi-v4").unwrapped.initial_state_distrib)


def taxi_start(x):
    """Return the first state whose cumulative probability is above x."""
    s = 0
    while TAXI_STARTS[s] <= x:
        s += 1
    return s


class Taxi(jit.Env):
    observation_space = spaces.Discrete(500)
    action_space = spaces.Discrete(6)

    class State:
        s: int

    class Infos:
        prob: float
        action_mask: jit.array(np.int8, 6)

    def reset(state, parameters, rng):
        state.s = taxi_start(rng.random())

    def step(state, parameters, action, rng):
        s = state.s
        rng.random()  # the table of transitions draws one too
        state.s = int(TAXI[s, action, 1])
        return TAXI[s, action, 2], TAXI[s, action, 3] != 0.0

    def observe(state, parameters, observation):
        observation[0] = state.s

    def info(state, parameters, info):
        info.prob = 1.0
        info.action_mask[:] = TAXI_MASKS[state.s]


HAND_WRITTEN: dict[str, type[jit.Env]] = {
    "CartPole-v1": CartPole,
    "MountainCar-v0": MountainCar,
    "Pendulum-v1": Pendulum,
    "Acrobot-v1": Acrobot,
    "FrozenLake-v1": FrozenLake,
    "Taxi-v4": Taxi,
}
