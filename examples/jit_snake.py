"""Snake on a 16 x 16 grid, observed as uint8 [3, 16, 16]: head, body and food.

    python examples/jit_snake.py            steps per second of 64 and 1024 lanes
    python examples/jit_snake.py 256        the same of 256 lanes

Each body cell stores 1 + the direction of the next one; a step changes only the cells at the ends.
"""

import sys
import time

import numpy as np

import gymcore as gym
from gymcore import jit, spaces

SIZE, CELLS = 16, 256
DOWN, RIGHT = np.array([-1, 0, 1, 0]), np.array([0, 1, 0, -1])  # for each direction
COLORS = np.array([[255, 255, 255], [80, 200, 80], [220, 60, 60]], np.uint8)


def place_food(state, rng):
    """Put food into the first free cell from a random cell onward."""
    cell = rng.integers(CELLS)
    while state.body[cell // SIZE, cell % SIZE] > 0:
        cell = (cell + 1) % CELLS
    state.food_y, state.food_x = cell // SIZE, cell % SIZE


class Snake(jit.Env):
    """Turn to one of four directions; food is worth 1, a wall or the body ends the episode."""

    observation_space = spaces.Box(0, 255, (3, SIZE, SIZE), np.uint8)
    action_space = spaces.Discrete(4)

    class State:  # noqa: D106
        y: np.int8
        x: np.int8
        tail_y: np.int8
        tail_x: np.int8
        food_y: np.int8
        food_x: np.int8
        direction: np.int8
        growth: np.int8
        length: np.int16
        hunger: np.int16
        body: jit.array(np.uint8, SIZE, SIZE)

    class Parameters:  # noqa: D106
        patience: int = 200

    class Infos:  # noqa: D106
        length: int

    def reset(state, parameters, rng):  # noqa: D102
        state.y, state.x = rng.integers(4, SIZE - 4), rng.integers(4, SIZE - 4)
        state.tail_y, state.tail_x = state.y, state.x
        state.direction = rng.integers(4)
        state.length, state.growth = 3, 2
        state.body[state.y, state.x] = 1
        place_food(state, rng)

    def step(state, parameters, action, rng):  # noqa: D102
        if action != (state.direction + 2) % 4:  # it cannot reverse
            state.direction = action
        y, x = state.y + DOWN[state.direction], state.x + RIGHT[state.direction]
        state.hunger += 1
        if y < 0 or y >= SIZE or x < 0 or x >= SIZE:
            return -1.0, True
        eats = y == state.food_y and x == state.food_x
        if eats:
            state.hunger = 0
            state.growth += 1
        state.body[state.y, state.x] = 1 + state.direction
        if state.growth > 0:
            state.growth -= 1
        else:
            onward = state.body[state.tail_y, state.tail_x] - 1
            state.body[state.tail_y, state.tail_x] = 0
            state.tail_y += DOWN[onward]
            state.tail_x += RIGHT[onward]
        if state.body[y, x] > 0:
            return -1.0, True
        state.y, state.x = y, x
        state.body[y, x] = 1
        if not eats:
            return 0.0, state.hunger > parameters.patience
        state.length += 1
        if state.length < CELLS:
            place_food(state, rng)
        return 1.0, state.length == CELLS

    def observe(state, parameters, observation):  # noqa: D102
        observation[:] = 0
        for k in range(CELLS):  # a single loop, which the compiler vectorizes
            y, x = k // SIZE, k % SIZE
            observation[1, y, x] = 255 if state.body[y, x] > 0 else 0
        observation[0, state.y, state.x] = 255
        observation[2, state.food_y, state.food_x] = 255

    def info(state, parameters, info):  # noqa: D102
        info.length = state.length

    def render(state, parameters):  # noqa: D102
        frame = np.zeros((SIZE, SIZE, 3), np.uint8)
        frame[state.body > 0] = COLORS[1]
        frame[state.y, state.x] = COLORS[0]
        frame[state.food_y, state.food_x] = COLORS[2]
        return frame.repeat(20, axis=0).repeat(20, axis=1)


gym.register("Snake-v0", Snake, max_episode_steps=2000)


def steps_per_second(num_envs):
    """Return the median rate of a batch on one thread, with fresh random actions in each step."""
    envs = gym.make_vec("Snake-v0", num_envs=num_envs, vector_kwargs={"num_threads": 1})
    envs.reset(seed=1)
    rounds, rates = np.random.default_rng(2).integers(0, 4, (21, 20, num_envs)), []
    for actions in rounds:
        start = time.perf_counter()
        for each in actions:
            envs.step(each)
        rates.append(actions.size / (time.perf_counter() - start))
    envs.close()
    return np.median(rates[1:])  # the first round is a warm-up


if __name__ == "__main__":
    for num_envs in map(int, sys.argv[1:] or (64, 1024)):
        print(f"{num_envs} snakes: {steps_per_second(num_envs):,.0f} steps/s")
