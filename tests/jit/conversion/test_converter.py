"""Converted classes give the results of the originals, and what cannot be converted is listed."""

from __future__ import annotations

import functools
import importlib
import pickle
import shutil
import subprocess
import sys
import warnings
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore import error, jit, spaces
from gymcore.jit.conversion import converted_text, saved
from gymcore.jit.conversion.proof import _difference
from tests.docs.test_environment_pages import rows
from tests.jit.conversion.subjects import CLASSES, Docking, GridWorld, Harbor, Snake, Squad, Wind

GYMNASIUM = (
    *("classic_control.cartpole:CartPoleEnv", "classic_control.mountain_car:MountainCarEnv"),
    "classic_control.continuous_mountain_car:Continuous_MountainCarEnv",
    *("classic_control.pendulum:PendulumEnv", "classic_control.acrobot:AcrobotEnv"),
    *("toy_text.frozen_lake:FrozenLakeEnv", "toy_text.cliffwalking:CliffWalkingEnv"),
    *("toy_text.taxi:TaxiEnv", "toy_text.blackjack:BlackjackEnv"),
)
COMPILED = ("cartpole", "frozen_lake")


@pytest.fixture
def interpreted(monkeypatch):
    """Compile nothing."""
    monkeypatch.setenv("GYMCORE_JIT", "0")


@pytest.mark.slow
@pytest.mark.parametrize("path", GYMNASIUM)
def test_gymnasium_class(path, monkeypatch):
    if find_spec("numba") is None or path.split(":")[0].split(".")[1] not in COMPILED:
        monkeypatch.setenv("GYMCORE_JIT", "0")
    cls = jit.convert(f"gymnasium.envs.{path}", seeds=2, steps=150)
    assert issubclass(cls, jit.Env)
    assert cls.__name__ == path.split(":")[1]


@pytest.mark.slow
@pytest.mark.parametrize("cls", CLASSES)
def test_class(cls, interpreted):
    assert issubclass(jit.convert(cls, seeds=3, steps=200), jit.Env)


@pytest.mark.soak
@pytest.mark.parametrize("cls", CLASSES)
def test_compiled_class(cls):
    assert issubclass(jit.convert(cls), jit.Env)


def test_arguments_of_the_constructor(interpreted):
    cls = jit.convert(GridWorld, seeds=2, steps=50, size=9)
    assert cls.observation_space["agent"].high.tolist() == [8, 8]


def test_many_objects(interpreted):
    assert issubclass(jit.convert(Squad, seeds=2, steps=100, count=20), jit.Env)


def test_numbers_of_the_constructor_are_parameters(interpreted):
    env = jit.convert("gymnasium:CartPole-v1", seeds=1, steps=20)(gravity=20.0)
    assert env.gravity == 20.0
    env.reset(seed=1)
    original = gym.make("gymnasium:CartPole-v1").unwrapped
    original.reset(seed=1)
    for inner in (original, getattr(original, "env", None)):
        if inner is not None:
            inner.gravity = 20.0
    np.testing.assert_array_equal(env.step(1)[0], original.step(1)[0])


def test_a_batch_equals_single_originals(monkeypatch):
    if find_spec("numba") is None:
        monkeypatch.setenv("GYMCORE_JIT", "0")
    cls = jit.convert(Snake, seeds=1, steps=50)
    envs = cls.vector_class(num_envs=3)
    originals = gym.vector.SyncVectorEnv([Snake] * 3)
    expected, actual = (e.reset(seed=7) for e in (originals, envs))
    np.testing.assert_array_equal(expected[0], actual[0])
    originals.action_space.seed(3)
    for _ in range(200):
        action = originals.action_space.sample()
        expected, actual = originals.step(action), envs.step(action)
        for a, b in zip(expected[:4], actual[:4], strict=True):
            np.testing.assert_array_equal(a, b)


def test_render_is_that_of_the_original(interpreted):
    cls = jit.convert(GridWorld, seeds=1, steps=20)
    original, env = GridWorld(render_mode="rgb_array"), cls(render_mode="rgb_array")
    for each in (original, env):
        each.reset(seed=5)
        each.step(1)
    np.testing.assert_array_equal(env.render(), original.render())


class Drawn(Harbor):
    """Objects, a tuple and an enumeration that are drawn."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012

    def __init__(self, render_mode=None):
        super().__init__()
        self.render_mode = render_mode

    def reset(self, *, seed=None, options=None):
        observation, info = super().reset(seed=seed)
        self.mark = (1, 2.5)
        return observation, info

    def step(self, action):
        self.mark = (self.mark[0] + 1, self.mark[1] * 0.5)
        return super().step(action)

    def render(self):
        frame = np.zeros((8, 8, 3), np.uint8)
        x, y = np.clip(100 * self.boat.place, 0, 255)
        frame[0] = x, y, 255 if self.wind is Wind.WEST else 100
        frame[1] = *self.mark, self.boat.fuel
        return frame


def test_objects_are_drawn_as_they_are_in_the_lane(interpreted):
    original, env = Drawn("rgb_array"), jit.convert(Drawn, seeds=1, steps=20)("rgb_array")
    original.reset(seed=5)
    env.reset(seed=5)
    for _ in range(3):
        original.step(1)
        env.step(1)
        np.testing.assert_array_equal(env.render(), original.render())


class Obstacles(gym.Env):
    observation_space = spaces.Discrete(2)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.history = []
        self.seen = {}
        return 0, {}

    def step(self, action):
        import random

        self.history.append({"action": [action] * (action + 1)})
        if random.random() < 0.5:
            self.seen[int(action)] = True
        with open("/dev/null"):
            pass
        return 0, 0.0, len(self.history) > 5, len(self.seen) > 1, {}


def test_all_obstacles_are_listed_with_places_and_changes():
    with pytest.raises(error.ConversionError, match="Obstacles cannot be converted") as caught:
        jit.convert(Obstacles)
    lines = Path(__file__).read_text().splitlines()
    found = {o.expression: o for o in caught.value.obstacles}
    assert list(found) == [
        "self.history",
        "self.seen",
        "random.random()",
        "with open('/dev/null'):",
    ]
    for obstacle in found.values():
        assert obstacle.file == __file__
        assert obstacle.expression.split("(")[0] in lines[obstacle.line - 1]
        assert str(obstacle) in str(caught.value)
    assert found["self.history"].change.startswith("give `self.history` a fixed length")
    assert found["random.random()"].change == "draw from `self.np_random`"


HEAD = """
import random

import numpy as np

import gymcore as gym
from gymcore import spaces


TABLE = [(0, 1.5), (1, 2.5)]
GRID = np.arange(6).reshape(2, 3)


def numbers(*count):
    yield from count


class Counter:
    def __init__(self):
        self.counts = {{}}

    def count(self, key):
        self.counts[key] = self.counts.get(key, 0) + 1


class Case(gym.Env):
    observation_space = spaces.Box(-9, 9, (1,), np.float32)
    action_space = spaces.Box(-1, 1, (1,), np.float32)

    def __init__(self):
        self.counter = Counter()
        self.x = 0.0

    def reset(self, *, seed=None, options=None):
        {reset}
        return np.zeros(1, np.float32), {{}}

    def step(self, action):
        {step}
        return np.zeros(1, np.float32), {reward}, False, False, {info}
"""
# Statements of reset and step, the reward, the infos; then the expression and the change.
CASES = {
    "draws_too_early": (
        "self.x = self.np_random.random(); super().reset(seed=seed)",
        *("pass", "self.x", "{}"),
        *("self.np_random", "call `super().reset(seed=seed)` first"),
    ),
    "two_generators": (
        *("super().reset(seed=seed); self.own = np.random.default_rng(seed)", "pass"),
        *("self.own.random() + self.np_random.random()", "{}"),
        *("self.np_random", "draw from `self.np_random` only"),
    ),
    "lists_that_count_from_one": (
        "super().reset(seed=seed); self.piles = [[k] for k in range(1, 4)]",
        "if len(self.piles[0]) < 3:\n            self.piles[0].append(1)",
        *("len(self.piles[0])", "{}"),
        *("[[k] for k in range(1, 4)]", "write all lists"),
    ),
    "type_of_values": (
        "super().reset(seed=seed)",
        "least = min(action[0] * np.float32(0.1), self.np_random.random() - 0.5)",
        *("least * 0.7", "{}"),
        *(
            "min(action[0] * np.float32(0.1), self.np_rand",
            "write `float(action[0] * np.float32(0.1))`",
        ),
    ),
    "grows_in_a_loop": (
        "super().reset(seed=seed)",
        "cells = []\n        for k in range(3):\n            cells.append({k: k})",
        *("len(cells)", "{}"),
        *("cells.append", "append numbers, or tuples of numbers"),
    ),
    "text_info": (
        *("super().reset(seed=seed)", "pass", "0.0", "{'a': 'x', 'b': 'y'}"),
        *("'y'", "leave it out"),
    ),
    "object_with_a_dict": (
        *("super().reset(seed=seed)", "self.counter.count('a')", "len(self.counter.counts)", "{}"),
        *("self.counter.counts", "use numbers and arrays"),
    ),
    "generator": (
        *("super().reset(seed=seed)", "pass", "sum(numbers(1, 2))", "{}"),
        *("numbers(1, 2)", "write it as a loop"),
    ),
    "builtin": (
        *("super().reset(seed=seed)", "pass", "sum(map(int, '12'))", "{}"),
        *("map(int, '12')", "write it as a loop, or in another way"),
    ),
    "file": (
        *("super().reset(seed=seed)", "if self.x > 1.0: open('log', 'a').write('x')", "0.0", "{}"),
        *("open('log', 'a')", "keep it out of `reset` and `step`"),
    ),
    "file_in_a_block": (
        *(
            "super().reset(seed=seed)",
            "while self.x > 1.0:\n            with open('log', 'a'): pass",
            "0.0",
            "{}",
        ),
        *("with open('log', 'a')", "keep it out of `reset` and `step`"),
    ),
    "identity": (
        *("super().reset(seed=seed); self.y = 1.5", "pass", "float(self.x is self.y)", "{}"),
        *("self.x is self.y", "compare with `==`"),
    ),
    "none": (
        *(
            "super().reset(seed=seed); self.at = None",
            "at = self.at; self.at = (1, 2)",
            "0.0",
            "{}",
        ),
        *("self.at", "test it with `is None` before"),
    ),
    "none_or": (
        "super().reset(seed=seed); self.at = None",
        *("at = self.at and 2; self.at = 0 if self.at else 1", "float(at is None)", "{}"),
        *("self.at and 2", "write it as an `if` statement"),
    ),
    "none_of_two": (
        "super().reset(seed=seed); self.at = self.to = None",
        *("self.at, self.to = self.to, 1", "float(self.at is None)", "{}"),
        *("self.to", "assign each in a statement"),
    ),
    "refers_to_itself": (
        *("super().reset(seed=seed)", "self.me = self", "self.me.x + self.unknown_to(3)", "{}"),
        *("", ""),
    ),
    "raises_itself": (
        *("super().reset(seed=seed)", "self.x += 1; assert self.x < 400", "0.0", "{}"),
        *("", ""),
    ),
}


def class_of(name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the class that the text of a module of a test's own defines."""
    module = f"module_of_{name}_{tmp_path.name}"
    (tmp_path / f"{module}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return importlib.import_module(module)


# Statements of `step` for each row of the table of what a class may use; `y` is the reward.
FEATURES = {
    "attributes": (
        "self.point, self.flag = (1, 2.5), None",
        "self.costs = {'a': 0.5, 'b': self.x}",
        "self.grid = np.zeros((2, 2))",
        "self.queue = [0.5]",
        "self.queue.append(self.x)",
        "self.grid[self.point[0]] += self.x",
        "y = self.costs['b'] + self.queue.pop(0) if self.flag is None else 0.0",
    ),
    "constants": (
        "moves = {'up': (0, 1), 'down': (1, 0)}",
        "y = moves['up'][1] + TABLE[int(action[0] > 0.0)][1] + GRID[1].sum()",
    ),
    "Python": (
        "def double(z, k=2.0):",
        "    return z * k",
        "y, k = 0.0, 0",
        "while k < 3:",
        "    k += 1",
        "values = [double(j) for j in range(4) if j % 2]",
        "for j, value in enumerate(values):",
        "    y += value if 0 <= j < 5 else -1.0",
        "items = []",
        "for j in range(3):",
        "    if j != 1: items.append(y)",
        "assert len(items) == 2",
        "y += max(items[0], k)",
    ),
    "NumPy": (
        "z = np.array([self.x, 1.0, 2.0])",
        "z[1:] *= np.clip(action[0], -0.5, 0.5)",
        "y = float(np.linalg.norm(z)) + z.argmax() + np.concatenate([z, z])[::2].sum()",
    ),
    "random numbers": (
        "y = self.np_random.normal() + self.np_random.integers(3)",
        "y += self.np_random.permutation(4)[0]",
    ),
    "results": ("y = np.float64(2.5) * self.x",),
    "not": ("self.seen = {self.x}", "y = 0", "for k in self.seen:", "    y += k"),
}


@pytest.mark.parametrize("row", FEATURES)
def test_the_documentation_says_what_a_class_may_use(row, tmp_path, monkeypatch, interpreted):
    path = Path(__file__).parents[3] / "docs" / "own_environments.md"
    table = rows(path.read_text(), "what a class may use", "")
    assert [cells[0] for cells in table] == list(FEATURES)
    reset, step = "super().reset(seed=seed)", "\n        ".join(FEATURES[row])
    text = HEAD.format(reset=reset, step=step, reward="y", info="{'x': self.x}")
    cls = class_of(row.replace(" ", "_"), text, tmp_path, monkeypatch).Case
    if row == "not":
        with pytest.raises(error.ConversionError, match="order of the items of a set; use a list"):
            jit.convert(cls)
    else:
        assert issubclass(jit.convert(cls, seeds=2, steps=50), jit.Env)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_obstacles_propose_a_change(name, tmp_path, monkeypatch, interpreted):
    reset, step, reward, info, expression, change = CASES[name]
    text = HEAD.format(reset=reset, step=step, reward=reward, info=info)
    cls = class_of(name, text, tmp_path, monkeypatch).Case
    with pytest.raises(error.ConversionError) as caught:
        jit.convert(cls, seeds=2, steps=500)
    if change:
        obstacle = next(o for o in caught.value.obstacles if o.expression.startswith(expression))
        assert (
            obstacle.change == change
            and expression.split("\n")[0] in text.splitlines()[obstacle.line - 1]
        )


@pytest.mark.soak
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("path", GYMNASIUM)
def test_a_thousand_episodes(path):
    jit.convert(f"gymnasium.envs.{path}", seeds=1000, steps=200)


@pytest.mark.slow
def test_classes_are_converted_in_threads(monkeypatch, interpreted):
    monkeypatch.setattr(saved, "_classes", {})
    state = np.geterr(), np.random.get_state()[1].tolist(), list(warnings.filters), list(sys.path)
    with ThreadPoolExecutor(6) as pool:
        jobs = [pool.submit(jit.convert, cls, seeds=1, steps=30) for cls in (*CLASSES[:3],) * 4]
    classes = [job.result() for job in jobs]
    for count, cls in enumerate(classes):
        assert cls.__name__ == CLASSES[count % 3].__name__
        cls().reset(seed=1)
    after = np.geterr(), np.random.get_state()[1].tolist(), list(warnings.filters), list(sys.path)
    assert after == state


def generous(step):
    """Return a function that adds 1 to rewards, as conversion of its source does not."""

    @functools.wraps(step)
    def inner(self, action):
        observation, reward, *others = step(self, action)
        return observation, reward + 1.0, *others

    return inner


class Generous(Docking):
    @generous
    def step(self, action):
        return super().step(action)


def test_a_difference_names_seed_step_field_and_values(interpreted):
    text = r"Generous differs from the original: seed 0, step 1, reward: expected 0\.99, got -0\.01"
    with pytest.raises(error.ConversionError, match=text) as caught:
        jit.convert(Generous, seeds=2, steps=10)
    assert caught.value.obstacles == ()
    assert jit.convert(Generous, seeds=2, steps=10, tolerance=2.0)


def test_a_difference_of_large_arrays_is_that_of_an_element_beyond_the_tolerance():
    expected = np.full(30, np.nan)
    actual = expected.copy()
    expected[0], actual[0], actual[7] = 1.0, 1.0 + 1e-9, 2.0
    text = _difference("observation", expected, actual, tolerance=1e-6)
    assert text.startswith("observation[7]: expected ")


class Lasting(gym.Env):
    """Attributes that one episode leaves for the next."""

    observation_space = spaces.Box(-np.inf, np.inf, (5,), np.float64)
    action_space = spaces.Discrete(3)
    calls = 2

    def __init__(self):
        self.level = 3
        self.best = -7.0
        self.visits = np.array([1, 0, 2])
        self.last = None
        self.recent = deque([4], maxlen=3)
        self.t = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        self.calls += 1
        self.level = self.level % 4 + 1
        if self.np_random.random() < 0.3:
            self.visits = np.array([0, 0, 1])
        return self.observe(), {}

    def observe(self):
        last = -1 if self.last is None else self.last
        return np.array([self.level, self.best, self.visits[1], last, sum(self.recent)])

    def step(self, action):
        self.t += 1
        self.visits[action] += 1
        self.recent.append(action)
        score = self.np_random.normal()
        reward = float(score > self.best) + self.calls
        self.best = max(self.best, score)
        self.last = int(action)
        return self.observe(), reward, self.t > self.level, False, {}


class Piece:
    def __init__(self, x):
        self.x = x


class Holder:
    """An object with another one, which lists have, too."""

    def __init__(self):
        self.size = 6
        self.piece = Piece(2)

    def start(self, rng):
        self.pieces = [self.piece, *[Piece(k) for k in range(3)]]
        self.piece.x += int(rng.integers(2))

    def move(self, action):
        self.pieces[action].x += 1
        if self.pieces[action].x > self.size:
            self.pieces.append(Piece(action))


class LastingObjects(gym.Env):
    observation_space = spaces.Box(-np.inf, np.inf, (3,), np.float64)
    action_space = spaces.Discrete(4)

    def __init__(self):
        self.holder = Holder()

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        self.holder.start(self.np_random)
        return self.observe(), {}

    def observe(self):
        pieces = self.holder.pieces
        return np.array([self.holder.piece.x, len(pieces), sum(piece.x for piece in pieces)])

    def step(self, action):
        self.t += 1
        self.holder.move(action)
        return self.observe(), 0.0, self.t > 6, False, {}


@pytest.mark.parametrize("cls", [Lasting, LastingObjects])
def test_attributes_that_outlast_episodes(cls, interpreted):
    converted = jit.convert(cls, seeds=3, steps=200)
    envs = converted.vector_class(3, autoreset_mode="NextStep")
    originals = [cls() for _ in range(3)]
    observations = envs.reset(seed=[1, 2, 3])[0]
    wanted = np.array([env.reset(seed=k + 1)[0] for k, env in enumerate(originals)])
    ended = np.zeros(3, bool)
    actions = np.random.default_rng(1).integers(0, 3, (60, 3))
    for action in actions:
        assert np.array_equal(observations, wanted)
        observations, _, terminated, _, _ = envs.step(action)
        for k, env in enumerate(originals):
            wanted[k] = env.reset()[0] if ended[k] else env.step(action[k])[0]
        ended = np.array(terminated)
    envs.close()


COUNTS = np.zeros(3)


class Counting(Lasting):
    runs = 0

    def step(self, action):
        Counting.runs += 1
        COUNTS[0] += 1
        COUNTS[1] = self.t
        return super().step(action)


def test_values_of_the_module_that_change_are_refused():
    with pytest.raises(error.ConversionError) as caught:
        jit.convert(Counting)
    expressions = [obstacle.expression for obstacle in caught.value.obstacles]
    assert expressions == ["Counting.runs", "COUNTS[0]", "COUNTS[1]"]


class Packed(Docking):
    """A class that gives several results of its base class one name."""

    def step(self, action):
        observation, *others = super().step(action)
        return observation, *others


def test_several_results_in_one_name_are_an_obstacle(interpreted):
    change = "observation, .*assigns several results to one name; assign each result to a name"
    with pytest.raises(error.ConversionError, match=change):
        jit.convert(Packed)


@pytest.mark.parametrize(
    "env, message",
    [
        (3, "env: expected a class with reset and step"),
        (int, "env: expected a class with reset and step"),
        ("gymcore.spaces:Box", "env: expected a class with reset and step"),
    ],
)
def test_other_objects_are_refused(env: Any, message: str):
    with pytest.raises(error.ArgumentTypeError, match=message):
        jit.convert(env)


@pytest.mark.parametrize(
    "name, value",
    [
        *(("seeds", 0), ("steps", 0), ("tolerance", -1.0)),
        *(("seeds", "x"), ("steps", 1.5), ("tolerance", None), ("policy", 0), ("policy", [1])),
    ],
)
def test_bad_numbers_are_refused(name, value):
    with pytest.raises(error.Error, match=f"^{name}: expected"):
        jit.convert(Docking, **{name: value})


@pytest.mark.slow
@pytest.mark.parametrize("env", [*CLASSES, *(f"gymnasium.envs.{path}" for path in GYMNASIUM)])
def test_the_text_is_formatted_and_has_no_lint(env, tmp_path):
    ruff = shutil.which("ruff", path=str(Path(sys.executable).parent))
    if ruff is None:
        pytest.skip("ruff is not installed")
    file = tmp_path / "converted.py"
    file.write_text(converted_text(env))
    for command in (
        ["check", "--select", "E4,E7,E9,F,W,I", "--ignore", "E741"],
        ["format", "--check"],
    ):
        arguments = [ruff, *command, "--isolated", "--line-length", "100", str(file)]
        done = subprocess.run(arguments, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_texts_have_no_type_errors(tmp_path, pytestconfig):
    pytest.importorskip("mypy")
    stored = getattr(pytestconfig, "cache", None)  # None with `-p no:cacheprovider`
    # The first run reads NumPy's types.
    cache = tmp_path / "cache" if stored is None else stored.mkdir("mypy")
    for number, env in enumerate([Docking, *(f"gymnasium.envs.{path}" for path in GYMNASIUM)]):
        (tmp_path / f"converted_{number}.py").write_text(converted_text(env))
    arguments = [
        "--strict",
        "--config-file=",
        "--cache-dir",
        str(cache),
        str(tmp_path),
    ]
    command = [sys.executable, "-m", "mypy", "--follow-imports=silent", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_text_keeps_names_and_comments():
    text = converted_text("gymnasium.envs.classic_control.cartpole:CartPoleEnv")
    assert "        costheta = np.cos(theta)\n        sintheta = np.sin(theta)\n" in text
    assert "        # https://coneural.org/florian/papers/05_cart_pole.pdf\n" in text
    assert "        tau: float = 0.02\n" in text


def test_the_documentation_lists_the_classes_of_gymnasium():
    path = Path(__file__).parents[3] / "docs" / "own_environments.md"
    table = rows(path.read_text(), "class", "state")
    assert [row[0].strip("`") for row in table] == [path.split(":")[1] for path in GYMNASIUM]


READER = """
import pickle, sys
cls, envs = pickle.load(open(sys.argv[1], "rb"))
assert type(envs) is cls.vector_class, cls
observations = envs.reset(seed=3)[0], envs.step([1, 0])[0]
env = cls(debug=True)
pickle.dump((observations, env.reset(seed=3)[0]), open(sys.argv[1], "wb"))
"""


def test_another_process_unpickles_converted_classes(tmp_path, monkeypatch):
    """It has no module with the converted class."""
    monkeypatch.setenv("GYMCORE_JIT", "0")
    cls = jit.convert(GridWorld, seeds=1, steps=20)
    envs = cls.vector_class(2)
    path = tmp_path / "pickle"
    path.write_bytes(pickle.dumps((cls, envs)))
    subprocess.run([sys.executable, "-c", READER, str(path)], check=True, timeout=120)
    observations, first = pickle.loads(path.read_bytes())
    np.testing.assert_equal(observations, (envs.reset(seed=3)[0], envs.step([1, 0])[0]))
    np.testing.assert_equal(first, cls(debug=True).reset(seed=3)[0])
