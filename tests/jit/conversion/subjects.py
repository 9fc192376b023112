"""Environments in Python that the tests convert."""

from __future__ import annotations

import dataclasses
import enum
from typing import NamedTuple

import numpy as np

import gymcore as gym
from gymcore import spaces
from gymcore.utils import seeding


class Docking(gym.Env):
    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.position = self.np_random.uniform(5.0, 10.0)
        self.velocity = self.np_random.uniform(-0.5, 0.5)
        return self._observation(), {}

    def step(self, action):
        self.velocity += (action - 1) * 0.1
        self.position += 0.5 * self.velocity
        arrived, lost = self.position <= 0.0, self.position > 20.0
        reward = -0.01 + arrived * (1.0 if self.velocity >= -0.3 else -1.0) - lost
        return self._observation(), float(reward), bool(arrived or lost), False, {}

    def _observation(self):
        return np.array([self.position, self.velocity], np.float32)


class Actions(enum.Enum):
    RIGHT = 0
    UP = 1
    LEFT = 2
    DOWN = 3


class GridWorld(gym.Env):
    """Gymnasium's tutorial."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012

    def __init__(self, render_mode=None, size=5):
        self.size = size
        self.observation_space = spaces.Dict(
            {
                "agent": spaces.Box(0, size - 1, shape=(2,), dtype=int),
                "target": spaces.Box(0, size - 1, shape=(2,), dtype=int),
            }
        )
        self.action_space = spaces.Discrete(4)
        self._action_to_direction = {
            Actions.RIGHT.value: np.array([1, 0]),
            Actions.UP.value: np.array([0, 1]),
            Actions.LEFT.value: np.array([-1, 0]),
            Actions.DOWN.value: np.array([0, -1]),
        }
        self.render_mode = render_mode

    def _get_obs(self):
        return {"agent": self._agent_location, "target": self._target_location}

    def _get_info(self):
        return {"distance": np.linalg.norm(self._agent_location - self._target_location, ord=1)}

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self._agent_location = self.np_random.integers(0, self.size, size=2, dtype=int)
        self._target_location = self._agent_location
        while np.array_equal(self._target_location, self._agent_location):
            self._target_location = self.np_random.integers(0, self.size, size=2, dtype=int)
        observation = self._get_obs()
        info = self._get_info()
        return observation, info

    def step(self, action):
        direction = self._action_to_direction[action]
        self._agent_location = np.clip(self._agent_location + direction, 0, self.size - 1)
        terminated = np.array_equal(self._agent_location, self._target_location)
        reward = 1 if terminated else 0
        observation = self._get_obs()
        info = self._get_info()
        return observation, reward, terminated, False, info

    def render(self):
        frame = np.zeros((self.size * 10, self.size * 10, 3), np.uint8)
        x, y = self._agent_location
        frame[y * 10 : y * 10 + 10, x * 10 : x * 10 + 10] = 255
        return frame


class Point(NamedTuple):
    x: int
    y: int


class Snake(gym.Env):
    """Lists of points as attributes, a grid, properties and static methods."""

    SIZE = 6
    MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))

    def __init__(self):
        self.observation_space = spaces.Box(0, 2, (self.SIZE, self.SIZE), np.int8)
        self.action_space = spaces.Discrete(4)
        self.grid = np.zeros((self.SIZE, self.SIZE), dtype=np.int8)

    @property
    def center(self):
        return self.SIZE // 2

    @staticmethod
    def _inside(x, y, size):
        return 0 <= x < size and 0 <= y < size

    def _place(self):
        while True:
            p = self.np_random.integers(0, self.SIZE, 2)
            if self.grid[p[0], p[1]] == 0:
                break
        self.food = Point(int(p[0]), int(p[1]))
        self.grid[self.food.x, self.food.y] = 2

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.grid[:] = 0
        self.head = [self.center, self.center]
        self.grid[self.center, self.center] = 1
        self.energy = 20
        self.eaten = 0
        self._place()
        return self.grid.copy(), {"eaten": self.eaten}

    def step(self, action):
        dx, dy = self.MOVES[action]
        x, y = self.head[0] + dx, self.head[1] + dy
        self.energy -= 1
        if not self._inside(x, y, self.SIZE):
            return self.grid.copy(), -1.0, True, False, {"eaten": self.eaten}
        self.grid[self.head[0]][self.head[1]] = 0
        self.head[0] = x
        self.head[1] = y
        reward = 0.0
        if (x, y) == (self.food.x, self.food.y):
            reward = 1.0
            self.eaten += 1
            self.energy += 10
            self.grid[x, y] = 1
            self._place()
        self.grid[x, y] = 1
        return self.grid.copy(), reward, False, self.energy <= 0, {"eaten": self.eaten}


class Inventory(gym.Env):
    def __init__(self, capacity=20):
        self.capacity = capacity
        self.observation_space = spaces.Tuple(
            (spaces.Discrete(capacity + 1), spaces.Box(0, 100, (3,), np.float32))
        )
        self.action_space = spaces.MultiDiscrete([5, 2])
        self.prices = np.array([1.5, 2.0, 0.25])
        self.costs = {"hold": 0.1, "miss": 2.0}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.stock = int(self.np_random.integers(0, self.capacity // 2))
        self.history = np.zeros(3, dtype=np.float32)
        self.day = 0
        return self._obs(), {}

    def _obs(self):
        return self.stock, self.history

    def step(self, action):
        order, rush = action
        self.stock = min(self.stock + order * (2 if rush else 1), self.capacity)
        demand = self.np_random.poisson(2.0) if self.day % 7 < 5 else 0
        sold = min(demand, self.stock)
        self.stock -= sold
        self.history = np.roll(self.history, 1)
        self.history[0] = demand
        reward = sold * self.prices[self.day % 3] - self.costs["hold"] * self.stock
        if demand > sold:
            reward -= self.costs["miss"] * (demand - sold)
        self.day += 1
        return self._obs(), reward, False, self.day >= 30, {"sold": sold}


class Pursuit(gym.Env):
    def __init__(self):
        self.observation_space = spaces.Box(-10, 10, (6,), np.float64)
        self.action_space = spaces.Box(-1, 1, (2,), np.float32)
        self.dt = 0.1
        self.wind = np.array([0.01, -0.02])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.pos = self.np_random.uniform(-1, 1, size=2)
        self.vel = np.zeros(2)
        self.goal = self.np_random.normal(0.0, 1.0, size=(2,))
        self.last_distance = None
        self.t = 0
        return np.concatenate([self.pos, self.vel, self.goal]), {}

    def step(self, action):
        action = np.clip(action, self.action_space.low, self.action_space.high)
        self.vel = 0.9 * self.vel + action * self.dt + self.wind
        old = self.pos
        self.pos = self.pos + self.vel * self.dt
        moved = np.abs(self.pos - old).sum()
        distance = np.sqrt(np.sum((self.pos - self.goal) ** 2))
        bonus = 0.0
        if self.last_distance is not None:
            bonus = self.last_distance - distance
        self.last_distance = distance
        self.t += 1
        terminated = bool(distance < 0.1)
        inside = all(abs(p) < 5 for p in self.pos)
        best = max(self.vel)
        return (
            np.concatenate([self.pos, self.vel, self.goal]),
            bonus - 0.01 * moved + 0.001 * best,
            terminated or not inside,
            self.t >= 100,
            {"moved": moved},
        )


class Base(gym.Env):
    """A base class whose methods the next class extends."""

    observation_space = spaces.Box(-100.0, 100.0, (3,), np.float32)
    action_space = spaces.Discrete(3)
    gain = 0.5

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.values = self.np_random.normal(size=3)
        self.count = 0
        return self.values.astype(np.float32), {}

    def step(self, action):
        self.values[action] += self.gain
        self.count += 1
        return self.values.astype(np.float32), float(self.values.sum()), False, self.count > 20, {}


class Sums(gym.Env):
    """Sums whose values depend on the version of Python and on the types of the numbers."""

    observation_space = spaces.Box(-np.inf, np.inf, (6,), np.float64)
    action_space = spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.weights = [0.1, 0.2, 0.3]
        self.numbers = np.full(3, 0.1)
        return self._observation(), {}

    def _observation(self):
        result = 3.0
        below = sum(weight for weight in self.weights if weight < 0.9)
        pairs = sum(v * w for v in self.weights for w in self.weights)
        count = sum(weight > 0.5 for weight in self.weights)
        scaled = sum(result * number for number in self.numbers)
        total, three = sum(self.weights), sum((self.weights[0], self.weights[1], 0.7))
        return np.array([total, three, below, pairs, scaled + count, sum(self.numbers)])

    def step(self, action):
        size = 1e9 if action == 0 else 1e-3
        for k in range(3):
            self.weights[k] = size * self.np_random.normal()
            self.numbers[k] = size * self.np_random.normal()
            size *= 1e-5
        return self._observation(), 0.0, False, False, {}


class Derived(Base):
    gain = 0.25

    def __init__(self, bonus=2.0):
        self.bonus = bonus

    def reset(self, *, seed=None, options=None):
        observation, *_ = super().reset(seed=seed)
        self.mode = "slow"
        return observation, {"largest": self.values.max()}

    def step(self, action):
        observation, reward, *_, truncated, _ = super().step(action)
        terminated = False
        order = [k for k in range(3) if self.values[k] > 0.0]
        best, index = -np.inf, -1
        for k, value in enumerate(self.values):
            if value > best:
                best, index = value, k
        reward = reward + self.bonus if index in order else -1.0
        while self.values[index] > 2.0:
            self.values[index] /= 2.0
        return observation, reward, terminated, truncated, {"largest": best}


class Delegating(Base):
    """A class that returns the results of its base class as one value."""

    def reset(self, *, seed=None, options=None):
        result = super().reset(seed=seed)
        self.values[0] = 1.0 / (1.0 + abs(self.values[0]))
        return result

    def step(self, action):
        if self.count % 5 == 4:
            result = super().step(2 - action)
            self.values[1] -= 0.5
            return result
        return super().step(action)


class PartlyObserved(Base):
    """A class that returns a part of its base class's observation."""

    observation_space = spaces.Box(-100.0, 100.0, (2,), np.float32)
    cliff = np.arange(9).reshape(3, 3) % 2 == 0

    def reset(self, *, seed=None, options=None):
        observation, info = super().reset(seed=seed)
        return observation[:2], info

    def step(self, action):
        return self._moved(action)

    def _moved(self, action):
        observation, reward, terminated, truncated, info = super().step(action)
        place = np.clip(np.round(observation[:2]), 0, 2).astype(np.int64)
        if self.cliff[tuple(place)]:
            reward -= 1.0
        return observation[:2], reward, terminated, truncated, info


class Hull:
    """An object that `reset` makes and `step` changes."""

    DRAG = 0.125

    def __init__(self, place, mass):
        self.mass = mass
        self.velocity = np.zeros(2)
        self.log = {}
        self.turn(place)

    def turn(self, place):
        self.place = np.array(place)

    @property
    def speed(self):
        return float(np.sqrt(self.velocity[0] ** 2 + self.velocity[1] ** 2))


class Boat(Hull):
    def __init__(self, place, mass=2.0):
        super().__init__(place, mass)
        self.fuel = 10.0

    def push(self, forces, scale):
        self.velocity += forces * scale / self.mass - self.DRAG * self.velocity
        self.place += self.velocity
        self.fuel -= 0.5
        return self.fuel


class Chart:
    """An object that does not change."""

    def __init__(self, size):
        self.size, self.depths = size, np.arange(size) * 0.5

    def contains(self, x, y):
        return -self.size < x < self.size and -self.size < y < self.size

    def depth(self, x):
        return self.depths[int(abs(x)) % self.size]


class Wind(enum.Enum):
    EAST = 0
    WEST = 1

    def opposite(self):
        return Wind.WEST if self == Wind.EAST else Wind.EAST


class Harbor(gym.Env):
    """Objects in attributes, another environment in one, and what only `render` reads."""

    observation_space = spaces.Box(-np.inf, np.inf, (5,), np.float64)
    action_space = spaces.Discrete(3)

    def __init__(self, *, settings=("calm", 0.25, 0.5)):
        self.chart = Chart(8)
        self.settings = settings

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        kind, *scales = self.settings
        low, high = scales if kind == "calm" else (0.0, 1.0)
        self.boat = Boat(self.np_random.uniform(low, high, size=2))
        self.wind = Wind.EAST
        self.moves = [(0, 1), (1, 0)]
        self.history, self.events = [], {"start": 0}
        return self._observation(), {}

    def _observation(self):
        boat = self.boat
        x, y = boat.place
        return np.array([x, y, boat.speed, boat.fuel, self.chart.depth(x)])

    def step(self, action, *, scale=0.5):
        def force(k, other=0.25):
            return scale * k - other if self.wind == Wind.EAST else other

        self.history.append(action)
        self.events.update(last=action)
        dx, dy = self.moves[0]
        fuel = self.boat.push(np.array([force(action - dx), force(dy, 0.5)]), scale)
        if fuel % 3.0 == 0.0:
            self.wind = self.wind.opposite()
        outcomes = [(1.0, fuel, False)] if fuel > 4.0 else [(0.5, -fuel, True)]
        weights = [outcome[0] for outcome in outcomes]
        _, reward, ended = outcomes[int(len(weights) * self.np_random.random())]
        inside = self.chart.contains(*self.boat.place)
        return self._observation(), reward, ended, not inside, {"wind": self.wind}

    def render(self):
        return len(self.history), self.events


class Wrapped(gym.Env):
    """An environment that runs another one."""

    observation_space = spaces.Discrete(2)
    action_space = spaces.Discrete(3)

    def __init__(self):
        self.env = Harbor()

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        observation, _ = self.env.reset(seed=seed)
        return int(observation[0] > 0.0), {}

    def step(self, action):
        observation, reward, terminated, truncated, _ = self.env.step(action)
        return int(observation[0] > 0.0), reward, terminated, truncated, {}


@dataclasses.dataclass
class Craft:
    x: float = 0.0
    heading: float = 0.5
    speed: float = 0.0

    def step(self, turn, dt):
        self.heading = (self.heading + turn * dt) % 3.0
        self.x += self.speed * self.heading * dt

    @property
    def is_lost(self):
        return abs(self.x) > 6.0


LOADS = {"ore": (2.0, 3), "water": (0.5, 7)}


class Fleet(gym.Env):
    """Loops over objects and over keys, dataclasses, and a method of an object called `step`."""

    observation_space = spaces.Dict(
        {"x": spaces.Box(-np.inf, np.inf, (2,), np.float32), "stock": spaces.Discrete(1000)}
    )
    action_space = spaces.Box(-1.0, 1.0, (2,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        rng = self.np_random
        self.first = Craft()
        self.second = Craft(*rng.uniform(-1.0, 1.0, size=2), speed=rng.random())
        self.stock = {"ore": 3, "water": 5}
        return self._observation(), {}

    def _observation(self):
        crafts = np.array([self.first.x, self.second.x], dtype=np.float32)
        return {"x": crafts, "stock": sum(self.stock.values())}

    def step(self, action):
        reward = 0.0
        for k, craft in enumerate((self.first, self.second)):
            craft.step(float(action[k]), 0.1 * (k + 1))
            if craft.is_lost:
                craft.x = 0.0
                reward -= 1.0
        for name, (price, most) in LOADS.items():
            if self.stock[name] < most:
                self.stock[name] += 1
                reward -= price
            elif self.np_random.random() < 0.25:
                self.stock[name] = 0
        for name, count in self.stock.items():
            reward -= 0.01 * count if name == "ore" else 0.02 * count
        self.first.speed, self.second.speed = self.np_random.uniform(-1, 1, size=2)
        return self._observation(), reward, self.stock["ore"] == 0, False, {}


class Track(NamedTuple):
    x: float
    speed: float
    steps: int = 0


class Squad(gym.Env):
    """A list of objects, a named tuple that is replaced, and a generator of its own."""

    action_space = spaces.Discrete(3)

    def __init__(self, count=3):
        self.observation_space = spaces.Box(-np.inf, np.inf, (2 * count + 3,), np.float64)
        self.count = count
        self.random = np.random.default_rng()

    def reset(self, *, seed=None, options=None):
        if seed is not None:
            self.random = np.random.default_rng(seed)
        self.crafts = [Craft(self.random.uniform(-1, 1)) for _ in range(self.count)]
        self.track = Track(self.random.normal(), 0.0)
        self.lost = [False] * self.count
        self.totals = {name: price for name, (price, _) in LOADS.items()}
        return self._observation(), {"first": self.track.steps}

    def _observation(self):
        apart = [np.array([craft.x, craft.heading - self.track.x]) for craft in self.crafts]
        rest = [self.totals["ore"], *self.track[:2]]
        return np.concatenate([np.array(apart).flatten(), rest])

    def step(self, action):
        reward = 0.0
        for k, craft in enumerate(self.crafts):
            if self.lost[k]:
                reward -= 0.1
                continue
            craft.speed = self.random.normal(action - 1, 0.5)
            craft.step(0.1, 1.0)
            if craft.is_lost:
                self.lost[k] = True
                continue
            reward += craft.x
        x, speed, steps = self.track
        self.track = self.track._replace(x=x + 0.1 * speed, steps=steps + 1)
        self.totals["ore"] += sum(craft.x for craft in self.crafts)
        if any(craft.x > 5.0 for craft in self.crafts):
            self.track = self.track._replace(speed=0.5)
        safe = np.divide(1.0, reward, out=np.zeros_like(self.track.x), where=reward > 0.5)
        ended = all(craft.is_lost for craft in self.crafts)
        return self._observation(), reward + safe, ended, False, {"first": self.track.steps}


class Marked(gym.Env):
    """Masks of two axes, and idioms with indices, options and members of enumerations."""

    observation_space = spaces.Dict(
        {"grid": spaces.Box(-9, 99, (3, 4), np.int64), "free": spaces.Discrete(13)}
    )
    action_space = spaces.Discrete(3)
    NAMES = ("east", "west", "none")

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        options = options or {}
        self.grid = np.full((3, 4), options.get("start", 1))
        self.walls = self.np_random.random((3, 4)) < 0.3
        self.wind, self.before = Wind.EAST, Wind.EAST
        return self._observation(), {"place": 0}

    def _observation(self):
        free = [k for k, value in enumerate(self.grid[0]) if value != 7]
        return dict(grid=self.grid.copy(), free=len(free))  # noqa: C408

    def _pair(self, action):
        return action, int(self.grid[0, action])

    def step(self, action):
        self.grid[self.walls] = 7
        low = self.grid < 5
        self.grid[low & ~self.walls] += 1
        self.grid[self.grid > 8] -= self.grid[self.grid > 8] // 2
        first, *_, last = self.grid[1]
        pairs = [self._pair(k) for k in range(3)]
        reward = float(self.grid[low].sum() + first - last + pairs[action][1])
        if self.np_random.random() < 0.3:
            self.wind = self.wind.opposite()
        if self.wind is not self.before:
            reward += np.argsort(np.array([0.5, reward, -1.0]))[0]
        self.before = self.wind
        place = self.NAMES.index("west" if self.wind is Wind.WEST else "none")
        return self._observation(), reward, reward > 90.0, False, {"place": place}


class Cells(gym.Env):
    """A tuple as an observation, and a method `seed` as in earlier versions of Gym."""

    observation_space = spaces.Tuple((spaces.Discrete(5), spaces.Discrete(4)))
    action_space = spaces.Discrete(4)

    def seed(self, seed=None):
        self.np_random, seed = seeding.np_random(seed)
        return [seed]

    def reset(self, *, seed=None, options=None):
        self.seed(seed)
        self.cell = (int(self.np_random.integers(5)), 3)
        return self.cell, {}

    def step(self, action):
        row, column = self.cell
        if action < 2:
            self.cell = ((row + 1) % 5, column)
        else:
            self.cell = (row, max(0, column - self.np_random.integers(2)))
        return self.cell, 0.5, self.cell == (0, 0), False, {}


class Alarm(enum.Enum):
    QUIET = "quiet"
    LOUD = "loud"


class Rescue(gym.Env):
    """Attributes and names that may be None, members of enumerations, and `match` statements."""

    observation_space = spaces.Box(-1000, 1000, (4,), np.float64)
    action_space = spaces.Discrete(5)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.n = 0
        self.goal = self.best = self.never = self.alarm = self.spot = None
        self.is_on = False
        return self._observation(), {}

    def _observation(self):
        alarm = 1.0 if self.alarm is Alarm.LOUD else -1.0 if self.alarm is not None else 0.0
        return np.array([self.n, self.goal or 7, 9 if self.best is None else self.best, alarm])

    def _found(self):
        return self.goal

    def _doubled(self, x):
        if x is None:
            return -1
        return 2 * x

    def _reward_of_names(self):
        goal, reward = self._found(), 0.0
        if goal is None:
            reward += 1
        elif goal == 2 or not goal:
            reward += goal + 3
        alarm = self.alarm
        if alarm is Alarm.LOUD:
            reward += 0.25
        return reward + self._doubled(self.best)

    def _reward_of_comparisons(self, action):
        reward = 0.5 if self.goal == self.best else 0.0
        if self.goal != action:
            reward += 2
        if self.best in (1, 2) or self.never == 3 or self.never:
            reward += 4
        if self.alarm and self.spot != (1, 3):
            reward += 8
        if not (self.goal or self.best) or (self.spot is not None and self.spot == (4, 3)):
            reward += 16
        reward += 32 * bool(self.goal) + 64 * bool(self.best and self.n > 3)
        return reward + (self.n % 3 or 7) + ((self.n % 2 and 5) or 3)

    def step(self, action):
        self.n += 1
        # what the rescuer does
        match action:
            case 0:
                self.goal = self.spot = None
            case 1 | 2 if self.is_on is True:
                self.goal = int(self.np_random.integers(4))  # a new one
                self.spot = (self.n, 3)
                match self.alarm:
                    case Alarm.QUIET:
                        self.alarm = Alarm.LOUD
                    case None:
                        self.alarm = Alarm.QUIET
            case 3:
                self.best = self.goal
            case 4:
                self.best = 1 if self.best is None else self.best + 1 if self.best < 5 else None
            case _:
                self.is_on = not self.is_on
        reward = self._reward_of_names() + self._reward_of_comparisons(action)
        return self._observation(), reward, self.goal == 3 and self.n > 9, self.n > 40, {}


CLASSES = (
    *(Docking, GridWorld, Snake, Inventory, Pursuit, Derived, Delegating, PartlyObserved),
    *(Harbor, Wrapped, Fleet, Sums, Rescue, Squad, Cells, Marked),
)
