"""Environments of `gymcore.jit` for the tests; the first three reimplement built-in ones."""

from __future__ import annotations

import numpy as np

import gymcore as gym
from gymcore import jit, spaces


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
        per_mass = 1.0 / (p.masspole + p.masscart)
        pole_share = p.masspole * p.length * per_mass
        sine, cosine = jit.math.sincos(state.theta)
        push = p.force_mag * per_mass if action == 1 else -p.force_mag * per_mass
        pull = push + pole_share * (state.theta_dot * state.theta_dot) * sine
        theta_acc = (p.gravity * sine - cosine * pull) / (
            p.length * (4.0 / 3.0 - p.masspole * per_mass * (cosine * cosine))
        )
        x_acc = pull - pole_share * theta_acc * cosine
        state.x = state.x + p.tau * state.x_dot
        state.x_dot = state.x_dot + p.tau * x_acc
        state.theta = state.theta + p.tau * state.theta_dot
        state.theta_dot = state.theta_dot + p.tau * theta_acc
        failed = abs(state.x) > 2.4 or abs(state.theta) > 12 * np.pi / 180
        return 1.0, failed

    def observe(state, parameters, observation):
        observation[0] = state.x
        observation[1] = state.x_dot
        observation[2] = state.theta
        observation[3] = state.theta_dot

    def render(state, parameters):
        frame = np.zeros((20, 30, 3), np.uint8)
        frame[:, int(15 + 3 * state.x)] = 255
        return frame


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
        push = 0.0 if action == 1 else (-0.001 if action == 0 else 0.001)
        velocity = state.velocity + (push - jit.math.cos(3.0 * state.position) * 0.0025)
        velocity = jit.math.clip(velocity, -0.07, 0.07)
        position = jit.math.clip(state.position + velocity, -1.2, 0.6)
        if position == -1.2 and velocity < 0.0:
            velocity = 0.0
        state.position = position
        state.velocity = velocity
        return -1.0, position >= 0.5 and velocity >= parameters.goal_velocity

    def observe(state, parameters, observation):
        observation[0] = state.position
        observation[1] = state.velocity


def _taxi_tables():
    """Return next state, reward and end of each state and action; rewards and initial states."""
    env = gym.make("Taxi-v4").unwrapped
    table = np.array([[env.P[s][a][0][1:] for a in range(6)] for s in range(500)], np.float64)
    return table, np.cumsum(env.initial_state_distrib)


TAXI, TAXI_STARTS = _taxi_tables()


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

    def reset(state, parameters, rng):
        state.s = taxi_start(rng.random())

    def step(state, parameters, action, rng):
        s = state.s
        rng.random()  # the table of transitions draws one too
        state.s = int(TAXI[s, action, 0])
        return TAXI[s, action, 1], TAXI[s, action, 2] != 0.0

    def observe(state, parameters, observation):
        observation[0] = state.s

    def info(state, parameters, info):
        info.prob = 1.0


class Everything(jit.Env):
    """Environment with all dtypes and kinds of spaces, random steps, and a helper function."""

    observation_space = spaces.Dict(
        position=spaces.Box(-np.inf, np.inf, (2, 3), np.float32),
        wide=spaces.Box(-np.inf, np.inf, (1,), np.float64),
        image=spaces.Box(0, 255, (2, 4, 4), np.uint8),
        cell=spaces.Discrete(50, start=-3),
        pair=spaces.Tuple((spaces.MultiDiscrete([200, 300]), spaces.MultiBinary(4))),
    )
    action_space = spaces.MultiDiscrete([3, 4], start=[-1, 0])

    class State:
        count: int
        half: np.float32
        alive: bool
        small: np.int8
        counts: jit.array(np.int16, 2)
        long: jit.array(np.int32, 2)
        grid: jit.array(np.uint8, 4, 4)
        points: jit.array(np.float32, 2, 3)
        doors: jit.array(bool, 4)

    class Parameters:
        scale: float = 0.5
        steps: int = 30
        noisy: bool = True

    class Infos:
        distance: float
        where: jit.array(np.int64, 2)

    def reset(state, parameters, rng):
        state.alive = True
        state.half = rng.normal(0.1, 2.0)
        state.small = rng.integers(-3, 4)
        for k in range(2):
            for j in range(3):
                state.points[k, j] = rng.uniform(-1.0, 1.0)
        place(state, rng)

    def step(state, parameters, action, rng):
        state.count += 1
        state.small = (state.small + action[0]) % 7
        state.half = state.half * 0.9 + parameters.scale * (rng.random() - 0.5)
        if parameters.noisy:
            state.points[0, 1] += state.half * state.points[1, 2] + rng.normal()
        state.counts[0] += action[1]
        state.long[1] = state.counts[0] * 1000 + state.small
        state.doors[state.count % 4] = not state.doors[state.count % 4]
        place(state, rng)
        reward = 0.0
        for door in state.doors:
            if door:
                reward += 0.25 * state.half
        return reward, state.count >= parameters.steps or state.half > 4.0

    def observe(state, parameters, observation):
        observation.position[:] = 0.0
        observation.position[0, 0] = state.half
        for j in range(3):
            observation.position[1, j] = state.points[0, j] * state.points[1, j]
        observation.wide[0] = state.points[0, 1] * 0.1
        observation.image[:] = 0
        for y in range(4):
            for x in range(4):
                observation.image[1, y, x] = state.grid[y, x]
        observation.cell[0] = state.small
        observation.pair[0][0] = state.count
        observation.pair[0][1] = state.counts[0] % 300
        for k in range(4):
            observation.pair[1][k] = state.doors[k]

    def info(state, parameters, info):
        info.distance = abs(state.half) + state.points[0, 0]
        info.where[0] = state.long[1]
        info.where[1] = state.count


COLORS = np.array([7, 90, 200])


def place(state, rng):
    """Put a color in a random place."""
    state.grid[rng.integers(4), rng.integers(0, 4)] = rng.choice(COLORS) + rng.choice(5)


class Arm(jit.Env):
    """Environment with continuous actions."""

    observation_space = spaces.Tuple((spaces.Box(-9, 9, (2,), np.float32), spaces.Discrete(3)))
    action_space = spaces.Box(-1.0, 1.0, (2, 2), np.float32)

    class State:
        angle: float
        speed: np.float32

    def reset(state, parameters, rng):
        state.angle = rng.uniform(-1.0, 1.0)

    def step(state, parameters, action, rng):
        state.speed = 0.9 * state.speed + 0.1 * action[0, 1] * action[1, 0]
        state.angle = jit.math.mod_two_pi(state.angle + 0.1 * state.speed)
        return jit.math.sin(state.angle), abs(state.speed) > 0.2

    def observe(state, parameters, observation):
        observation[0][0] = jit.math.floor(10.0 * state.angle)
        observation[0][1] = state.speed
        observation[1][0] = 1 if state.speed > 0.0 else 2


class Errand(jit.Env):
    """Environment with reset options, and steps that terminate, truncate, both or neither."""

    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = spaces.Discrete(3)

    class State:
        place: float
        fuel: int
        tired: bool

    class Options:
        low: float = 2.0
        fuel: int = 9
        tired: bool = False

    def reset(state, parameters, rng, options):
        state.place = options.low + rng.random()
        state.fuel = options.fuel
        state.tired = options.tired

    def step(state, parameters, action, rng):
        state.place -= 0.5 * action
        state.fuel -= 2 if state.tired else 1
        return -0.1, state.place < 0.0, state.fuel <= 0

    def observe(state, parameters, observation):
        observation[0] = state.place
        observation[1] = state.fuel


def advance(state):
    state.place = (state.place + 1) % 4
    return state.place + 0.5


class Order(jit.Env):
    """Draws, and changes of indices, in values and on the left of assignments."""

    observation_space = spaces.Box(-np.inf, np.inf, (4,), np.float64)
    action_space = spaces.Discrete(2)

    class State:
        cells: jit.array(float, 4)
        grid: jit.array(np.float32, 3, 4)
        place: int

    def reset(state, parameters, rng):
        state.cells[rng.integers(4)] = rng.random()
        state.grid[rng.integers(3)][:] = rng.random(4)

    def step(state, parameters, action, rng):
        cells, grid = state.cells, state.grid
        cells[rng.integers(4)] = rng.random()
        cells[rng.integers(4)] += rng.random()
        cells[rng.integers(4)] **= 2
        cells[int(rng.random() < 0.5)], cells[rng.integers(2, 4)] = rng.random(), rng.random()
        cells[rng.integers(2) : 2 + rng.integers(2)] = rng.random()
        cells[state.place] = advance(state)
        cells[state.place] -= advance(state)
        grid[state.place % 3][:] = advance(state)
        grid[rng.integers(3)][:] = rng.random(4)
        grid[rng.integers(3), rng.integers(4)] -= rng.random()
        grid[rng.integers(3), 1 : 1 + rng.integers(1, 3)] *= rng.random()
        cells[:] = np.clip(cells, -100.0, 100.0)
        return rng.normal(scale=rng.random(), loc=rng.random()), cells[0] < 0.01

    def observe(state, parameters, observation):
        observation[:] = state.cells + state.grid[0] + 3.0 * state.grid[1] - state.grid[2]


class Record(jit.Env):
    """Fields that last from episode to episode, in a step that is arithmetic only."""

    observation_space = spaces.Box(-np.inf, np.inf, (4,), np.float64)
    action_space = spaces.Discrete(3)

    class State:
        x: float
        episodes: int = 2
        best: np.float32 = -1.5
        visits: jit.array(int, 3) = np.array([0, 5, 1])

    def reset(state, parameters, rng):
        state.episodes += 1
        state.x = rng.random()

    def step(state, parameters, action, rng):
        state.x = 3.7 * state.x * (1.0 - state.x)
        state.visits[:] = state.visits + action
        is_better = state.x > state.best
        state.best = max(state.best, state.x)
        return 1.0 if is_better else 0.0, state.x < 0.3

    def observe(state, parameters, observation):
        observation[0] = state.episodes
        observation[1] = state.best
        observation[2] = state.visits.sum()
        observation[3] = state.x


CLASSES = (CartPole, MountainCar, Taxi, Everything, Arm, Errand, Order, Record)
