"""Snake on a grid of 16 x 16, observed as uint8 [3, 16, 16]: head, body and food.

    python examples/jit_snake.py

The body is a grid of the times until which a cell is part of it: a step changes one cell.
"""

import time

import numpy as np

import gymcore as gym
from gymcore import jit, spaces

SIZE = 16
COLOURS = np.array([[255, 255, 255], [80, 200, 80], [220, 60, 60]], np.uint8)


def place_food(state, rng):
    """Put food into a cell that is free: the first one from a random cell on."""
    cell = rng.integers(SIZE * SIZE)
    while state.body[cell // SIZE, cell % SIZE] > state.time:
        cell = (cell + 1) % (SIZE * SIZE)
    state.food_y = cell // SIZE
    state.food_x = cell % SIZE


class Snake(jit.Env):
    """Turn by the four directions; food is worth 1, a wall or the body ends the episode."""

    observation_space = spaces.Box(0, 255, (3, SIZE, SIZE), np.uint8)
    action_space = spaces.Discrete(4)

    class State:  # noqa: D106
        y: np.int8
        x: np.int8
        food_y: np.int8
        food_x: np.int8
        direction: np.int8
        length: np.int16
        hunger: np.int16
        time: np.int32
        body: jit.array(np.int32, SIZE, SIZE)

    class Parameters:  # noqa: D106
        patience: int = 200

    class Infos:  # noqa: D106
        length: int

    def reset(state, parameters, rng):  # noqa: D102
        state.y = rng.integers(4, SIZE - 4)
        state.x = rng.integers(4, SIZE - 4)
        state.direction = rng.integers(4)
        state.length = 3
        state.body[state.y, state.x] = 3
        place_food(state, rng)

    def step(state, parameters, action, rng):  # noqa: D102
        if action != (state.direction + 2) % 4:  # it does not turn round
            state.direction = action
        y, x = state.y, state.x
        if state.direction == 0:
            y -= 1
        elif state.direction == 1:
            x += 1
        elif state.direction == 2:
            y += 1
        else:
            x -= 1
        state.hunger += 1
        if y < 0 or y >= SIZE or x < 0 or x >= SIZE or state.body[y, x] > state.time + 1:
            return -1.0, True
        eats = y == state.food_y and x == state.food_x
        if eats:
            state.length += 1
            state.hunger = 0
        else:
            state.time += 1
        state.y = y
        state.x = x
        state.body[y, x] = state.time + state.length
        if eats:
            place_food(state, rng)
        return 1.0 if eats else 0.0, state.hunger > parameters.patience

    def observe(state, parameters, observation):  # noqa: D102
        observation[:] = 0
        for row in range(SIZE):
            for column in range(SIZE):
                alive = state.body[row, column] > state.time
                observation[1, row, column] = 255 if alive else 0
        observation[0, state.y, state.x] = 255
        observation[2, state.food_y, state.food_x] = 255

    def info(state, parameters, info):  # noqa: D102
        info.length = state.length

    def render(state, parameters):  # noqa: D102
        frame = np.zeros((SIZE, SIZE, 3), np.uint8)
        frame[state.body > state.time] = COLOURS[1]
        frame[state.y, state.x] = COLOURS[0]
        frame[state.food_y, state.food_x] = COLOURS[2]
        return frame.repeat(20, axis=0).repeat(20, axis=1)


gym.register("Snake-v0", Snake, max_episode_steps=2000)

if __name__ == "__main__":
    envs = gym.make_vec("Snake-v0", num_envs=64)
    envs.reset(seed=1)
    rng = np.random.default_rng(2)
    start, longest, steps = time.perf_counter(), 0, 10
    for _ in range(steps):
        infos = envs.step(rng.integers(0, 4, envs.num_envs))[4]
        longest = max(longest, int(infos["length"].max()))
    rate = steps * envs.num_envs / (time.perf_counter() - start)
    print(f"{rate:,.0f} steps/s, longest snake {longest}")
