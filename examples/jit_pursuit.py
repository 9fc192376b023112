"""A drone that chases a runaway, with a Dict observation and continuous actions.

    python examples/jit_pursuit.py

Steps draw random numbers too: the runaway hesitates. Its speed differs between lanes.
"""

import time

import numpy as np

import gymcore as gym
from gymcore import jit, spaces

TWO_PI = 2.0 * np.pi


def wrapped(angle):
    """Return the angle within half a turn of 0."""
    turned = jit.math.mod_two_pi(angle)
    return turned - TWO_PI if turned > np.pi else turned


class Pursuit(jit.Env):
    """Accelerate in a square with walls until the runaway is within reach."""

    observation_space = spaces.Dict(
        drone=spaces.Box(-2.0, 2.0, (4,), np.float32),
        runaway=spaces.Box(-4.0, 4.0, (2,), np.float32),
        bearing=spaces.Box(-4.0, 4.0, (1,), np.float32),
        nearest_wall=spaces.Discrete(4),
    )
    action_space = spaces.Box(-1.0, 1.0, (2,), np.float32)

    class State:  # noqa: D106
        position: jit.array(float, 2)
        velocity: jit.array(float, 2)
        runaway: jit.array(float, 2)
        heading: float

    class Parameters:  # noqa: D106
        runaway_speed: float = 0.03
        thrust: float = 0.01
        reach: float = 0.1

    class Infos:  # noqa: D106
        distance: float

    def reset(state, parameters, rng):  # noqa: D102
        for k in range(2):
            state.position[k] = rng.uniform(-1.0, 1.0)
            state.runaway[k] = rng.uniform(-1.0, 1.0)
        state.heading = rng.uniform(-np.pi, np.pi)

    def step(state, parameters, action, rng):  # noqa: D102
        for k in range(2):
            push = jit.math.clip(action[k], -1.0, 1.0)
            state.velocity[k] = 0.95 * state.velocity[k] + parameters.thrust * push
            moved = state.position[k] + state.velocity[k]
            state.position[k] = jit.math.clip(moved, -1.0, 1.0)
            if state.position[k] != moved:
                state.velocity[k] = 0.0
        state.heading = wrapped(state.heading + rng.normal(0.0, 0.3))
        if rng.random() < 0.9:
            sine, cosine = jit.math.sincos(state.heading)
            x = state.runaway[0] + parameters.runaway_speed * cosine
            y = state.runaway[1] + parameters.runaway_speed * sine
            if abs(x) > 1.0 or abs(y) > 1.0:
                state.heading = wrapped(state.heading + np.pi / 2)
            else:
                state.runaway[0] = x
                state.runaway[1] = y
        distance = gap(state)
        return -distance, distance < parameters.reach

    def observe(state, parameters, observation):  # noqa: D102
        for k in range(2):
            observation.drone[k] = state.position[k]
            observation.drone[2 + k] = state.velocity[k]
            observation.runaway[k] = state.runaway[k] - state.position[k]
        observation.bearing[0] = state.heading
        x, y = state.position[0], state.position[1]
        horizontal = abs(x) > abs(y)
        if horizontal:
            observation.nearest_wall[0] = 0 if x < 0.0 else 1
        else:
            observation.nearest_wall[0] = 2 if y < 0.0 else 3

    def info(state, parameters, info):  # noqa: D102
        info.distance = gap(state)


def gap(state):
    """Return the distance between the drone and the runaway."""
    x, y = state.runaway[0] - state.position[0], state.runaway[1] - state.position[1]
    return jit.math.sqrt(x * x + y * y)


gym.register("Pursuit-v0", Pursuit, max_episode_steps=200)

if __name__ == "__main__":
    envs = gym.make_vec("Pursuit-v0", num_envs=64)
    envs.set_attr("runaway_speed", np.linspace(0.0, 0.05, 64).tolist())
    observations, _ = envs.reset(seed=1)
    start, steps, caught = time.perf_counter(), 40, 0
    for _ in range(steps):
        push = np.clip(10 * observations["runaway"], -1, 1)
        observations, _, terminated, _, infos = envs.step(push)
        caught += int(terminated.sum())
    rate = steps * envs.num_envs / (time.perf_counter() - start)
    print(f"{rate:,.0f} steps/s, {caught} caught, mean distance {infos['distance'].mean():.2f}")
