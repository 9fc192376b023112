"""Lists that grow, in attributes and local variables."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

import gymcore as gym
from gymcore import error, jit, spaces
from gymcore.jit.conversion.converter import converted_text


class Worm(gym.Env):
    """A list of tuples that grows at one end and shrinks at the other."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012
    observation_space = spaces.Box(0, 3, (8, 8), np.int8)
    action_space = spaces.Discrete(4)
    MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))

    def __init__(self, render_mode=None):
        self.render_mode = render_mode
        self.drawn = []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.body = [(4, 4), (4, 3)]
        self.drawn = [(4, 4)]
        self._place_food()
        return self._grid(), {"length": len(self.body)}

    def _place_food(self):
        free = [(r, c) for r in range(8) for c in range(8) if (r, c) not in self.body]
        self.food = free[self.np_random.integers(len(free))]

    def _grid(self):
        grid = np.zeros((8, 8), dtype=np.int8)
        for r, c in self.body:
            grid[r, c] = 1
        head = self.body[0]
        grid[head] = 2
        grid[self.food] = 3
        return grid

    def step(self, action):
        dr, dc = self.MOVES[action]
        head = self.body[0]
        new = (head[0] + dr, head[1] + dc)
        self.drawn.append(new)
        if not (0 <= new[0] < 8 and 0 <= new[1] < 8) or new in self.body[:-1]:
            return self._grid(), -1.0, True, False, {"length": len(self.body)}
        self.body.insert(0, new)
        reward = 0.0
        if new == self.food:
            reward = 1.0
            self._place_food()
        else:
            self.body.pop()
        return self._grid(), reward, False, False, {"length": len(self.body)}

    def render(self):
        frame = np.zeros((8, 8, 3), np.uint8)
        for r, c in self.body:
            frame[r, c] = 255
        return frame


class Queue(gym.Env):
    """Orders that arrive some days later, and customers who wait."""

    observation_space = spaces.Box(-np.inf, np.inf, (4,), np.float64)
    action_space = spaces.Discrete(4)

    def __init__(self, delay=3):
        self.delay = delay

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.pipeline = [0] * self.delay
        self.waiting = []
        self.stock = 10
        return self._observation(), {}

    def _observation(self):
        mean = np.mean(self.waiting) if self.waiting else 0.0
        return np.array([self.stock, len(self.waiting), sum(self.pipeline), mean])

    @staticmethod
    def _serve(waiting, stock):
        served = []
        while waiting and stock > 0:
            served.append(waiting.pop(0))
            stock -= 1
        return served

    def step(self, action):
        self.stock += self.pipeline.pop(0)
        self.pipeline.append(int(action))
        for _ in range(self.np_random.integers(4)):
            self.waiting.append(self.np_random.random())
        served = self._serve(self.waiting, self.stock)
        self.stock -= len(served)
        reward = sum(served) - 0.1 * self.stock
        if self.waiting and max(self.waiting) > 0.95:
            self.waiting.remove(max(self.waiting))
        if len(self.waiting) > 6:
            self.waiting.clear()
            self.waiting += [0.5, 0.25]
        if not self.waiting:
            reward += self.waiting.count(0.5) + 0.5
        return self._observation(), reward, False, False, {"served": len(served)}


class Hoard(Queue):
    """A list that grows much more under a policy than with random actions."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.coins = [0]
        return self._observation(), {}

    def step(self, action):
        if action == 3:
            self.coins.append(1)
        elif len(self.coins) > 1:
            self.coins.pop()
        return self._observation(), float(len(self.coins)), False, False, {}


@pytest.fixture
def interpreted(monkeypatch):
    """Compile nothing."""
    monkeypatch.setenv("GYMCORE_JIT", "0")


@pytest.mark.parametrize("cls", [Worm, Queue])
def test_lists_that_grow(cls, interpreted):
    assert issubclass(jit.convert(cls, seeds=3, steps=100), jit.Env)


@pytest.mark.soak
@pytest.mark.skipif(find_spec("numba") is None, reason="needs numba")
@pytest.mark.parametrize("cls", [Worm, Queue, "gymnasium.envs.toy_text.blackjack:BlackjackEnv"])
def test_compiled_lists(cls):
    assert issubclass(jit.convert(cls), jit.Env)


def test_what_only_rendering_reads_is_left_out():
    text = converted_text(Worm)
    assert "body: jit.array(int, " in text and "drawn" not in text


def test_rendering_reads_the_items_that_a_list_has(interpreted):
    env, original = jit.convert(Worm, seeds=1, steps=30)(render_mode="rgb_array"), Worm()
    for each in (env, original):
        each.reset(seed=1)
        each.step(0)
    np.testing.assert_array_equal(env.render(), original.render())


def test_a_list_that_outgrows_its_room_raises(interpreted):
    env = jit.convert(Hoard, seeds=1, steps=30)()
    env.reset(seed=1)
    with pytest.raises(IndexError, match="more items than the conversion has room for"):
        for _ in range(1000):
            env.step(3)


class Log(Queue):
    """A list that gains an item in each step."""

    def reset(self, *, seed=None, options=None):
        observation, info = super().reset(seed=seed)
        self.log = []
        return observation, info

    def step(self, action):
        self.log.append(action)
        return self._observation(), float(sum(self.log)), False, False, {}


def test_a_list_that_grows_in_each_step_is_an_obstacle():
    with pytest.raises(error.ConversionError, match=r"`self\.log` gains items in each step; give"):
        jit.convert(Log)


class ShortLog(Log):
    """A list that gains an item in each step, in episodes of up to five steps."""

    def step(self, action):
        observation, reward, *_ = super().step(action)
        return observation, reward, len(self.log) > action % 5, False, {}


class Burst(Queue):
    """A list that has many more items while a step runs than between steps."""

    def reset(self, *, seed=None, options=None):
        observation, info = super().reset(seed=seed)
        self.burst = [1, 2]
        return observation, info

    def step(self, action):
        for k in range(60):
            self.burst.append(k * action)
        total = sum(self.burst)
        self.burst = self.burst[-1 - action :]
        return self._observation(), float(total), False, False, {}


class EvenBurst(Burst):
    """A list that has as many items after each step."""

    def step(self, action):
        for k in range(60):
            self.burst.append(k * action)
        total = sum(self.burst)
        while len(self.burst) > 2:
            self.burst.pop()
        return self._observation(), float(total), False, False, {}


@pytest.mark.parametrize("cls", [ShortLog, Burst, EvenBurst])
def test_lists_that_are_short_between_steps(cls, interpreted):
    assert issubclass(jit.convert(cls, seeds=3, steps=100), jit.Env)
