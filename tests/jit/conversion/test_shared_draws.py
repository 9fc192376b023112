"""Draws from the generators that a process shares."""

from __future__ import annotations

import random
from random import randint

import numpy as np
import pytest

import gymcore as gym
from gymcore import jit, spaces
from gymcore.jit.conversion.shared_draws import with_lane_draws


@pytest.fixture
def interpreted(monkeypatch):
    """Compile nothing."""
    monkeypatch.setenv("GYMCORE_JIT", "0")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("np.random.uniform(-1, high=x)", "lane_generator.uniform(-1, high=x)"),
        ("np.random.rand()", "lane_generator.random()"),
        ("np.random.rand(2, n)", "lane_generator.random((2, n))"),
        ("np.random.randint(3)", "int(lane_generator.integers(3))"),
        ("np.random.randint(0, 3, size=2)", "lane_generator.integers(0, 3, size=2)"),
        ("random.random()", "lane_generator.random()"),
        ("random.randrange(2, n)", "int(lane_generator.integers(2, n))"),
        ("random.choice(items)", "(items)[int(lane_generator.integers(len(items)))]"),
        (
            "randint(0, randint(1, n))",
            "int(lane_generator.integers(0, int(lane_generator.integers(1, n, endpoint=True)), "
            "endpoint=True))",
        ),
        ("np.random.seed(seed)", "pass"),
        ("random.sample(items, 2)", "random.sample(items, 2)"),
        ("random.choice(f())", "random.choice(f())"),
        ("random.choice(seq=items)", "random.choice(seq=items)"),
        ("random.randint(a=1, b=n)", "random.randint(a=1, b=n)"),
        ("random.randrange(0, 10, 2)", "random.randrange(0, 10, 2)"),
        ("np.random.rand(\n    2,\n    n\n)", "lane_generator.random(\n    (2,\n    n\n))"),
        ("randint(\n    1, n)", "int(lane_generator.integers(\n    1, n, endpoint=True))"),
        ("self.np_random.uniform(np.random)", "self.np_random.uniform(np.random)"),
    ],
)
def test_texts(text, expected):
    names = {"np": np, "random": random, "randint": randint}
    assert with_lane_draws(text, names) == expected


def draw_of_module(items):
    return random.choice(items) + np.random.randint(2)


class Shared(gym.Env):
    """Every kind of draw, before the generator of the environment is seeded."""

    observation_space = spaces.Box(-np.inf, np.inf, (6,), np.float64)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        if seed is not None:
            np.random.seed(seed)
            random.seed(seed)
        self.x = np.random.uniform(-1, 1) + random.random() + self.np_random.random()
        super().reset(seed=seed)
        self.t = 0
        self.grid = np.random.rand(2, 2)
        self.deck = list(range(6))
        random.shuffle(self.deck)
        return self.observe(), {}

    def observe(self):
        return np.array([self.x, *self.grid.flatten(), self.deck[0]])

    def step(self, action):
        self.t += 1
        self.x += random.choice(self.deck) + np.random.randn() + random.gauss(0.0, 1.0)
        self.x += draw_of_module((0.5, 0.25)) * random.randrange(1, 4)
        reward = randint(0, randint(1, 4))
        return self.observe(), float(reward), np.random.random() < 0.1, self.t > 9, {}


def test_lanes_draw_from_generators_of_their_own(interpreted):
    before = np.random.get_state()[1].tolist(), random.getstate()
    with pytest.warns(UserWarning, match=r"in Shared\.reset, Shared\.step, draw_of_module; "):
        converted = jit.convert(Shared, seeds=3, steps=100)
    assert (np.random.get_state()[1].tolist(), random.getstate()) == before
    assert Shared.reset.__globals__["np"] is np
    assert Shared.reset.__globals__["randint"] is random.randint
    envs = converted.vector_class(3)
    first, second = (envs.reset(seed=[5, 6, 5])[0].copy() for _ in range(2))
    assert np.array_equal(first, second)
    assert np.array_equal(first[0], first[2])
    assert first[0, 0] != first[1, 0]
    envs.close()


def test_a_run_that_raises_gives_the_functions_back(interpreted):
    class Raising(Shared):
        def step(self, action):
            raise ValueError("always")

    with pytest.raises(gym.error.ConversionError):
        jit.convert(Raising)
    assert Shared.reset.__globals__["np"] is np
