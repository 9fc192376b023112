"""Classic control, slow and plain: the oracle for the compiled physics.

Every step computes one lane from the equations, in the arithmetic of the given module: `math`
for doubles, or `mpmath` for any number of digits, which separates rounding from mistakes.
Where the reference environment rounds to float32, so does this one.

Sources: Florian (2007) for CartPole, Moore (1990) for the mountain cars, Sutton (1996) and Sutton
and Barto (1998) for Acrobot, the moment of inertia m l^2 / 3 of a rod for Pendulum. The constants
are those of the environments' ids.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

# Numbers of a lane: floats or mpmath's.
Number = Any
State = Sequence[Number]


class Outcome(NamedTuple):
    """Result of one step."""

    state: tuple[Number, ...]
    reward: Number
    terminated: bool


def single(x: Number) -> float:
    """Return the number rounded to float32."""
    return float(np.float32(float(x)))


def clip(x: Number, low: Number, high: Number) -> Number:
    return low if x < low else high if x > high else x


# --- CartPole -----------------------------------------------------------------------------------


@dataclass
class CartPole:
    gravity: float = 9.8
    masscart: float = 1.0
    masspole: float = 0.1
    length: float = 0.5  # half the pole's length
    force_mag: float = 10.0
    tau: float = 0.02
    semi_implicit: float = 0.0
    theta_threshold_radians: float = 12 * 2 * math.pi / 360
    x_threshold: float = 2.4
    sutton_barto_reward: float = 0.0

    actions = 2
    start = (-0.05, 0.05)

    def step(self, state: State, action: int, m: ModuleType = math) -> Outcome:
        x, x_dot, theta, theta_dot = state
        force = self.force_mag if action == 1 else -self.force_mag
        mass, half = self.masscart + self.masspole, self.length
        if m is not math:
            mass = m.mpf(self.masscart) + self.masspole
        sine, cosine = m.sin(theta), m.cos(theta)

        # Florian (2007), equations 23 and 24 without friction.
        theta_acc = (
            self.gravity * sine
            + cosine * (-force - self.masspole * half * theta_dot**2 * sine) / mass
        ) / (half * (4 - 3 * self.masspole * cosine**2 / mass) / 3)
        x_acc = (force + self.masspole * half * (theta_dot**2 * sine - theta_acc * cosine)) / mass

        new_x_dot = x_dot + self.tau * x_acc
        new_theta_dot = theta_dot + self.tau * theta_acc
        if self.semi_implicit:
            x, theta = x + self.tau * new_x_dot, theta + self.tau * new_theta_dot
        else:
            x, theta = x + self.tau * x_dot, theta + self.tau * theta_dot
        fallen = bool(abs(x) > self.x_threshold or abs(theta) > self.theta_threshold_radians)
        reward = (-1.0 if fallen else 0.0) if self.sutton_barto_reward else 1.0
        return Outcome((x, new_x_dot, theta, new_theta_dot), reward, fallen)

    def observe(self, state: State, m: ModuleType = math) -> list[Number]:
        return list(state)

    def reset(self, random: np.random.Generator, low: float, high: float) -> list[float]:
        return [random.uniform(low, high) for _ in range(4)]


# --- the mountain cars --------------------------------------------------------------------------


@dataclass
class MountainCar:
    min_position: float = -1.2
    max_position: float = 0.6
    max_speed: float = 0.07
    goal_position: float = 0.5
    goal_velocity: float = 0.0
    force: float = 0.001
    gravity: float = 0.0025

    actions = 3
    start = (-0.6, -0.4)

    def step(self, state: State, action: int, m: ModuleType = math) -> Outcome:
        position, velocity = state
        velocity = velocity + (action - 1) * self.force - self.gravity * m.cos(3 * position)
        velocity = clip(velocity, -self.max_speed, self.max_speed)
        position = clip(position + velocity, self.min_position, self.max_position)
        if position == self.min_position and velocity < 0:
            velocity = 0.0
        reached = bool(position >= self.goal_position and velocity >= self.goal_velocity)
        return Outcome((position, velocity), -1.0, reached)

    def observe(self, state: State, m: ModuleType = math) -> list[Number]:
        return list(state)

    def reset(self, random: np.random.Generator, low: float, high: float) -> list[float]:
        return [random.uniform(low, high), 0.0]


@dataclass
class MountainCarContinuous:
    min_action: float = -1.0
    max_action: float = 1.0
    min_position: float = -1.2
    max_position: float = 0.6
    max_speed: float = 0.07
    goal_position: float = 0.45
    goal_velocity: float = 0.0
    power: float = 0.0015

    actions = 0
    start = (-0.6, -0.4)

    def step(self, state: State, action: float, m: ModuleType = math) -> Outcome:
        """The first step of an episode is in float64, the others in float32, like their states.

        The change of velocity is float32 unless the force was clipped, which makes it a double.
        """
        position, velocity, first_step = (float(number) for number in state)
        force = clip(action, self.min_action, self.max_action)
        angle = 3 * position if first_step else single(3 * position)
        slope = float(0.0025 * m.cos(angle))
        if force == action:
            change = single(single(force * single(self.power)) - single(slope))
        else:
            change = force * self.power - slope

        velocity = velocity + change if first_step else single(velocity + single(change))
        velocity = clip(velocity, -single(self.max_speed), single(self.max_speed))
        position = position + velocity if first_step else single(position + velocity)
        position = clip(position, single(self.min_position), single(self.max_position))
        if position == single(self.min_position) and velocity < 0:
            velocity = 0.0
        reached = position >= single(self.goal_position) and velocity >= single(self.goal_velocity)
        reward = (100.0 if reached else 0.0) - 0.1 * action**2
        return Outcome((single(position), single(velocity), 0.0), reward, reached)

    def observe(self, state: State, m: ModuleType = math) -> list[Number]:
        return list(state[:2])

    def reset(self, random: np.random.Generator, low: float, high: float) -> list[float]:
        return [random.uniform(low, high), 0.0, 1.0]


# --- Pendulum -----------------------------------------------------------------------------------


@dataclass
class Pendulum:
    max_speed: float = 8.0
    max_torque: float = 2.0
    dt: float = 0.05
    g: float = 10.0
    m: float = 1.0
    l: float = 1.0  # noqa: E741 (the name of the parameter)

    actions = 0
    start = (math.pi, 1.0)

    def step(self, state: State, action: float, m: ModuleType = math) -> Outcome:
        theta, theta_dot = state
        torque = single(clip(action, -self.max_torque, self.max_torque))
        cost = single(single(0.001) * single(torque**2))
        push = single(single(3.0 / (self.m * self.l**2)) * torque)
        upright = (theta + math.pi) % (2 * math.pi) - math.pi
        reward = -(upright**2 + 0.1 * theta_dot**2 + cost)
        acceleration = 3 * self.g / (2 * self.l) * m.sin(theta) + push
        theta_dot = clip(theta_dot + acceleration * self.dt, -self.max_speed, self.max_speed)
        return Outcome((theta + theta_dot * self.dt, theta_dot), reward, False)

    def observe(self, state: State, m: ModuleType = math) -> list[Number]:
        return [m.cos(state[0]), m.sin(state[0]), state[1]]

    def reset(self, random: np.random.Generator, x_init: float, y_init: float) -> list[float]:
        return [random.uniform(-x_init, x_init), random.uniform(-y_init, y_init)]


# --- Acrobot ------------------------------------------------------------------------------------


@dataclass
class Acrobot:
    LINK_LENGTH_1: float = 1.0
    LINK_MASS_1: float = 1.0
    LINK_MASS_2: float = 1.0
    LINK_COM_POS_1: float = 0.5
    LINK_COM_POS_2: float = 0.5
    LINK_MOI: float = 1.0
    MAX_VEL_1: float = 4 * math.pi
    MAX_VEL_2: float = 9 * math.pi
    torque_low: float = -1.0
    torque_middle: float = 0.0
    torque_high: float = 1.0
    dt: float = 0.2
    nips: float = 0.0

    actions = 3
    start = (-0.1, 0.1)

    def derivative(self, state: State, torque: float, m: ModuleType) -> list[Number]:
        theta1, theta2, dtheta1, dtheta2 = state
        m1, m2, l1 = self.LINK_MASS_1, self.LINK_MASS_2, self.LINK_LENGTH_1
        lc1, lc2, inertia, g = self.LINK_COM_POS_1, self.LINK_COM_POS_2, self.LINK_MOI, 9.8
        d1 = m1 * lc1**2 + m2 * (l1**2 + lc2**2 + 2 * l1 * lc2 * m.cos(theta2)) + 2 * inertia
        d2 = m2 * (lc2**2 + l1 * lc2 * m.cos(theta2)) + inertia
        phi2 = m2 * lc2 * g * m.cos(theta1 + theta2 - m.pi / 2)
        phi1 = (
            -m2 * l1 * lc2 * dtheta2**2 * m.sin(theta2)
            - 2 * m2 * l1 * lc2 * dtheta2 * dtheta1 * m.sin(theta2)
            + (m1 * lc1 + m2 * l1) * g * m.cos(theta1 - m.pi / 2)
            + phi2
        )
        numerator = torque + d2 / d1 * phi1 - phi2
        if not self.nips:
            numerator -= m2 * l1 * lc2 * dtheta1**2 * m.sin(theta2)
        ddtheta2 = numerator / (m2 * lc2**2 + inertia - d2**2 / d1)
        ddtheta1 = -(d2 * ddtheta2 + phi1) / d1
        return [dtheta1, dtheta2, ddtheta1, ddtheta2]

    def step(self, state: State, action: int, m: ModuleType = math) -> Outcome:
        torque = (self.torque_low, self.torque_middle, self.torque_high)[action]

        def moved(time: float, rate: State) -> list[Number]:
            return [number + time * change for number, change in zip(state, rate, strict=True)]

        # One fourth-order Runge-Kutta step.
        k1 = self.derivative(state, torque, m)
        k2 = self.derivative(moved(self.dt / 2, k1), torque, m)
        k3 = self.derivative(moved(self.dt / 2, k2), torque, m)
        k4 = self.derivative(moved(self.dt, k3), torque, m)
        mean = [(a + 2 * b + 2 * c + d) / 6 for a, b, c, d in zip(k1, k2, k3, k4, strict=True)]
        theta1, theta2, dtheta1, dtheta2 = moved(self.dt, mean)
        theta1, theta2 = wrap(theta1), wrap(theta2)
        dtheta1 = clip(dtheta1, -self.MAX_VEL_1, self.MAX_VEL_1)
        dtheta2 = clip(dtheta2, -self.MAX_VEL_2, self.MAX_VEL_2)
        above = bool(-m.cos(theta1) - m.cos(theta1 + theta2) > 1)
        return Outcome((theta1, theta2, dtheta1, dtheta2), 0.0 if above else -1.0, above)

    def observe(self, state: State, m: ModuleType = math) -> list[Number]:
        theta1, theta2, dtheta1, dtheta2 = state
        return [m.cos(theta1), m.sin(theta1), m.cos(theta2), m.sin(theta2), dtheta1, dtheta2]

    def reset(self, random: np.random.Generator, low: float, high: float) -> list[float]:
        return [single(random.uniform(low, high)) for _ in range(4)]


def wrap(angle: Number) -> Number:
    """Return the angle shifted by whole turns into [-pi, pi]."""
    while angle > math.pi:
        angle = angle - 2 * math.pi
    while angle < -math.pi:
        angle = angle + 2 * math.pi
    return angle


ORACLES: dict[str, Callable[..., Any]] = {
    "cartpole": CartPole,
    "mountain_car": MountainCar,
    "mountain_car_continuous": MountainCarContinuous,
    "pendulum": Pendulum,
    "acrobot": Acrobot,
}
