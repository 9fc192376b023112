"""An environment of your own in one file: a boat that must reach a buoy.

    pip install numba
    python examples/jit_navigation.py

Without Numba, or with GYMCORE_JIT=0, the same file runs as ordinary Python.
"""

import time

import numpy as np

import gymcore as gym
from gymcore import jit, spaces


class Navigation(jit.Env):
    """Steer with four thrusters; every step has a cost, and the buoy ends the episode."""

    observation_space = spaces.Box(-2.0, 2.0, (4,), np.float32)
    action_space = spaces.Discrete(4)

    class State:  # noqa: D106
        position: jit.array(float, 2)
        goal: jit.array(float, 2)

    class Parameters:  # noqa: D106
        speed: float = 0.1
        radius: float = 0.15

    def reset(state, parameters, rng):  # noqa: D102
        for k in range(2):
            state.position[k] = rng.uniform(-1.0, 1.0)
            state.goal[k] = rng.uniform(-1.0, 1.0)

    def step(state, parameters, action, rng):  # noqa: D102
        axis, direction = action // 2, 2.0 * (action % 2) - 1.0
        moved = state.position[axis] + direction * parameters.speed
        state.position[axis] = jit.math.clip(moved, -1.0, 1.0)
        x, y = state.position[0] - state.goal[0], state.position[1] - state.goal[1]
        distance = jit.math.sqrt(x * x + y * y)
        return -0.1 * distance, distance < parameters.radius

    def observe(state, parameters, observation):  # noqa: D102
        for k in range(2):
            observation[k] = state.position[k]
            observation[2 + k] = state.goal[k] - state.position[k]


gym.register("Navigation-v0", Navigation, max_episode_steps=100)

if __name__ == "__main__":
    envs = gym.make_vec("Navigation-v0", num_envs=256)
    envs.reset(seed=1)
    actions = np.random.default_rng(2).integers(0, 4, (50, 256))
    start = time.perf_counter()
    rollout = envs.rollout(actions)
    rate = actions.size / (time.perf_counter() - start)
    print(f"{rate:,.0f} steps/s, {rollout.terminated.sum()} buoys reached")
