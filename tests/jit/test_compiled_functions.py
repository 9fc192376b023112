"""Compiled functions of NumPy, `math` and `rng` give the bits that Python and NumPy give."""

from __future__ import annotations

import importlib.util
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gymcore import error, jit, spaces
from gymcore.vector import AutoresetMode

numba = pytest.importorskip("numba")
compiled_numpy = pytest.importorskip("gymcore.jit.compiled_numpy")

# A step writes the value of the expression that the action selects.
TEMPLATE = """
import math

import numpy as np

from gymcore import jit, spaces
from tests.jit.test_compiled_functions import *


def _copy(array, factor):  # the name of a function that compiled code has
    array[:] = array * factor


def uniform(a):  # the name of a method that is called
    try:
        return a
    except ValueError:
        return None


class Calculator(jit.Env):
    observation_space = spaces.Box(-np.inf, np.inf, (40,), np.float64)
    action_space = spaces.Discrete({count})

    class State:
        out: jit.array(float, 40)
        x: float
        y: float
        i: int
        singles: jit.array(np.float32, 5)
        doubles: jit.array(float, 5)
        matrix: jit.array(float, 3, 4)
        cards: jit.array(np.int8, 12)

    def reset(state, parameters, rng):
        state.x = rng.uniform(-3.0, 3.0)
        state.y = rng.uniform(0.0, 2.0)
        state.i = rng.integers(1, 6)
        state.singles[:] = rng.normal(size=5)
        state.doubles[:] = rng.normal(size=5)
        state.matrix[:] = rng.random((3, 4))
        state.cards[:] = np.arange(12)

    def step(state, parameters, action, rng):
        state.out[:] = 0.0
        x, y, i = state.x, state.y, state.i
        singles, doubles, matrix, cards = state.singles, state.doubles, state.matrix, state.cards
{branches}
        return 0.0, False

    def observe(state, parameters, observation):
        observation[:] = state.out


def store(out, value):
    flat = np.array([value]).reshape(-1)
    for k in range(flat.size):
        out[k] = flat[k]
"""
WEIGHTS = np.array([0.2, 0.5, 0.3])
HALVES = np.array([0.5, 0.25, -1.5, 3.0, 1e-3, 7.7, -0.1])
SINGLES = HALVES.astype(np.float32)
BYTES = np.array([3, 1, -4, 1, 5, -9, 2], np.int8)
PRIMES = (2.0, 3.0, 5.0)


def calculator(expressions: list[str], folder: Path) -> type[jit.Env]:
    """Return a class whose action k computes expression k; statements may precede it."""
    branches = []
    for k, expression in enumerate(expressions):
        *statements, value = expression.split("; ")
        branches += [f"        if action == {k}:", *(f"            {line}" for line in statements)]
        branches.append(f"            store(state.out, {value})")
    path = folder / "calculator.py"
    path.write_text(TEMPLATE.format(count=len(expressions), branches="\n".join(branches)))
    spec = importlib.util.spec_from_file_location("calculator", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    cls: type[jit.Env] = module.Calculator
    return cls


# --- random numbers -------------------------------------------------------------------------------

DRAWS = [
    *("rng.random()", "rng.random(3)", "rng.random(size=(2, 3))", "rng.uniform(-1, 1, size=4)"),
    *("rng.uniform(HALVES - 1, HALVES + 1)", "rng.normal(1.0, 2.0, 3)", "rng.standard_normal(4)"),
    *("rng.uniform(HALVES, 9.0)", "rng.normal(HALVES, 0.1, size=(2, 7))", "rng.normal()"),
    *("rng.exponential(2.0)", "rng.standard_exponential(3)", "rng.gamma(2.0, 1.5)", "rng.gamma(2)"),
    *("rng.beta(2.0, 3.0, size=2)", "rng.poisson(3.0)", "rng.binomial(10, 0.3)", "rng.lognormal()"),
    *("rng.triangular(0.0, 1.0, 2.0)", "rng.geometric(0.2)", "rng.laplace(0.0, 1.0, 2)"),
    *("rng.standard_gamma(2.0)", "rng.random(5, dtype=np.float32)", "rng.random(dtype=np.float32)"),
    *("rng.standard_normal(9, np.float32)", "rng.standard_exponential(3, dtype=np.float32)"),
    *("rng.standard_gamma(1.5, 3, np.float32)",),
    *("rng.integers(9)", "rng.integers(-3, 9)", "rng.integers(0, 5, size=3)"),
    *("rng.integers(5, size=(2, 2), dtype=int)", "rng.integers(1, 6, endpoint=True)"),
    *("rng.integers(0, 100, dtype=np.int32)", "rng.integers(0, 100, size=5, dtype=np.int8)"),
    *("rng.integers(-5, 100, 3, np.int16)", "rng.integers(0, 2, size=9, dtype=bool)"),
    *("rng.integers(0, 255, dtype=np.uint8)", "rng.integers(BYTES, 20)"),
    *("rng.choice(5)", "rng.choice(PRIMES)", "rng.choice([1, 2, 7])", "rng.choice(HALVES, size=4)"),
    *("rng.choice(3, p=WEIGHTS)", "rng.choice(3, p=[0.2, 0.5, 0.3], size=5)"),
    *("rng.choice(PRIMES, p=WEIGHTS)", "rng.choice(BYTES, 4, False)", "rng.choice(9, size=(2, 2))"),
    *("rng.choice(7, 3, replace=False)", "rng.choice(7, 3, replace=False, shuffle=False)"),
    *("rng.choice(20000, 1000, replace=False)[:40]", "rng.choice(3, 2, replace=False, p=WEIGHTS)"),
    *("rng.permutation(9)", "rng.permutation(HALVES)", "rng.permutation(np.ones((3, 2)))"),
    *("cards = np.arange(12); rng.shuffle(cards); cards",),
    *("rows = np.arange(12).reshape(4, 3); rng.shuffle(rows); rows",),
    *("b = np.zeros(3); rng.random(out=b); b", "b = np.zeros(3); rng.standard_normal(out=b); b"),
]


@pytest.fixture(scope="module")
def draws(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return calculator(DRAWS, tmp_path_factory.mktemp("draws"))


def numpys(text: str, rng: np.random.Generator) -> bytes:
    *statements, value = text.split("; ")
    names: dict[str, Any] = {**globals(), "rng": rng}
    exec("\n".join(statements), names)
    flat = np.asarray(eval(value, names), float).reshape(-1)
    return np.pad(flat, (0, 40 - flat.size)).tobytes()


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(
    st.integers(0, 2**40),
    st.lists(st.integers(0, len(DRAWS) - 1), min_size=1, max_size=20),
    st.booleans(),
)
def test_draws_in_any_order_are_those_of_numpys_generator(
    draws: Any, seed: int, order: list[int], debug: bool
) -> None:
    env = draws(debug=debug)
    env.reset(seed=seed)
    rng = np.random.default_rng()
    rng.bit_generator.state = env.np_random.bit_generator.state
    for k in order:
        assert env.step(k)[0].tobytes() == numpys(DRAWS[k], rng), DRAWS[k]


def test_every_method_of_the_list_is_compiled() -> None:
    from gymcore.jit.declarations import DRAWS as methods

    assert all(any(f"rng.{name}(" in text for text in DRAWS) for name in methods)


# --- numbers and arrays ---------------------------------------------------------------------------

NUMBERS = [
    *("x ** 2", "x ** 3", "y ** 0.5", "y ** 1.7", "i ** 2", "2.0 ** i", "x ** -1", "i ** 0"),
    *("jit.math.powf(y, 1.7)", "jit.math.powf(x, 3)", "jit.math.powf(y, x)"),
    *(
        f"np.{name}(x)"
        for name in [
            "sin",
            "cos",
            "tan",
            "exp",
            "sinh",
            "cosh",
            "tanh",
            "arctan",
            "arcsinh",
            "cbrt",
        ]
    ),
    *(f"np.{name}(y)" for name in ["log", "log2", "log10", "log1p", "expm1", "exp2", "sqrt"]),
    *("np.arctan2(x, y)", "np.hypot(x, y)", "np.power(y, 2.0)", "np.cos(x, dtype=np.float32)"),
    *(
        f"math.{name}(x)"
        for name in [
            "sin",
            "cos",
            "tan",
            "exp",
            "sinh",
            "tanh",
            "atan",
            "erf",
            "radians",
            "degrees",
        ]
    ),
    *(f"math.{name}(y)" for name in ["log", "log2", "log10", "log1p", "sqrt", "expm1"]),
    *("math.atan2(x, y)", "math.pow(y, 2.0)", "math.hypot(x, y)", "math.floor(x)", "math.ceil(x)"),
    *("(-1) ** i", "math.isclose(x, x + 1e-10)", "math.isclose(x, y, abs_tol=0.5)"),
    *("x % 0.7", "x // 0.7", "round(x)", "np.mod(x, 0.7)", "np.sign(x)", "np.round(x, 2)"),
    *("math.log(y, 2)", "math.fmod(x, 0.7)", "math.fmod(i, -4)", "math.prod((x, y, i))"),
    *("math.prod((i, i + 2))", "math.prod(doubles)", "abs(-x)", "abs(-i)"),
    *("np.sign(-0.0 * y)", "np.sign(-0.0 * abs(doubles))"),
    *(
        "np.clip(x, -1.0, 1.0)",
        "np.clip(i, 0, 3)",
        "np.where(x > 0, 1.0, -1.0)",
        "np.maximum(x, y)",
    ),
    *("pow(x, 3)", "pow(y, 1.7)", "pow(i, 2)", "round(x, 2)", "round(i * 0.005, 2)"),
    *(
        "round(-x * 100.0, 1)",
        "round(i * 0.25, 1)",
        "round(i, 1)",
        "round(x, 15)",
        "np.power(3, i)",
        "np.add(x, i)",
    ),
    *("np.add(x, i)", "np.fmod(-i, 4)", "np.fmod(x, 0.7)", "(i << 2) ^ 5", "-i >> 1", "~i"),
]
ARRAYS = [
    *("np.array([x, y, 1])", "np.array([x, y], dtype=np.float32) * 0.3", "singles * 0.1 + singles"),
    *("doubles * 0.1 - 2 * singles", "BYTES + 5", "BYTES / 3", "BYTES // 2", "SINGLES % 0.3"),
    *("SINGLES ** 2", "np.abs(doubles) ** 0.5", "BYTES ** 2", "singles < 0.1", "doubles > x"),
    *("np.where(doubles > 0, doubles, 0.0)", "np.clip(singles, -0.5, 0.3)"),
    *("np.maximum(singles, 0.1)", "np.concatenate([doubles, singles])", "doubles[doubles > 0.2]"),
    *("doubles[::-1]", "matrix[:, 2]", "singles.astype(float)", "np.zeros((2, 3), dtype=int)"),
    *("np.asarray(i).item() + 1", "np.array(x, dtype=np.float32)", "np.asarray(x > 0.0)"),
    *("z = doubles.copy(); z[:] = singles; z", "z = doubles.copy(); z[:] = z[::-1]; z"),
    *("z = doubles.copy(); z[1:][:] = z[:-1]; z", "z = doubles.copy(); z[:-1][:] = z[1:]; z"),
    *("z = doubles.copy(); z[:] = singles[:1]; z", "z = matrix.copy(); z[:] = HALVES[:4]; z"),
    *("z = cards.copy(); z[:] = 3; z", "a, b, c, d, e = singles; a + b - c * d / e"),
    *("a, b = HALVES[:2]; a * b", "z = singles.copy(); z *= 0.1; z[1:3] -= 0.1; z"),
    *(
        "z = matrix.copy(); z[1] = HALVES[:4]; z[i % 3] = z[0]; z",
        "z = matrix.copy(); z[:, i % 4] = HALVES[:3]; z",
    ),
    *("z = matrix.copy(); z[1:] = z[:-1]; z", "z = matrix.copy(); z[:, 1:] = z[:, :-1]; z"),
    *("z = matrix.copy(); z[:] = z[:, 1:2]; z", "z = matrix.copy(); z[::-1, 1] = doubles[:3]; z"),
    "z = matrix.copy(); z[:2] = doubles[:4]; z",
    *("z = np.array([x, y], dtype=np.float32); z[1] * 0.1", "np.ones(2, np.float32)[0] * 0.1"),
    *("z = np.full(2, 0.3, np.float32); z[0] * 0.1", "np.asarray(singles)[2] * 0.1"),
    *("np.roll(matrix, i, 0)", "np.roll(matrix, -1, axis=1)", "np.roll(doubles, 2)"),
    "np.pad(matrix, ((1, 0), (0, 2)), constant_values=-1)",
    *("z = doubles.copy(); z[1:] += z[:-1]; z", "z = doubles.copy(); z += z[::-1]; z"),
    *("z = matrix.copy(); z -= z[0]; z", "z = doubles.copy(); w = z; w **= 2; z"),
    *("z = doubles.copy(); w = np.asarray(z); w[0] = 7.0; z", "np.asarray(i + 1)"),
    *("z = doubles.copy(); _copy(z, 0.5); z[:] = z * 1.5; z", "BYTES == 300", "BYTES < 200"),
    *(
        "~BYTES",
        "~(doubles > 0)",
        "BYTES << 1",
        "BYTES ^ 3",
        "np.add(singles, 0.1)",
        "np.multiply(SINGLES, 0.1)",
    ),
    *("np.divide(BYTES, 3)", "np.fmin(singles, 0.1)", "np.arange(x, x + 1.0, 0.1)", "np.arange(i)"),
    *("np.argsort(BYTES % 3, kind='stable')", "doubles.argsort(kind='stable')"),
    *("a, b = np.unravel_index(i, (3, 4)); a * 10 + b", "np.ravel_multi_index((2, i % 4), (3, 4))"),
]
SUMS = [
    *("np.sum(matrix)", "matrix.sum()", "SINGLES.sum()", "BYTES.sum()", "(doubles > 0).sum()"),
    *("np.sum(np.sin(np.arange(99.0)))", "np.mean(matrix)", "SINGLES.mean()", "BYTES.mean()"),
    *("doubles.argmax()", "np.any(doubles > 1)", "(doubles > 0).all()", "SINGLES.min()"),
    *("np.linalg.norm(doubles)", "np.linalg.norm(singles)", "np.linalg.norm([x, y])"),
    *("np.linalg.norm(doubles, ord=1)", "np.linalg.norm(singles, 1)", "np.linalg.norm(cards, 1)"),
    *("np.linalg.norm(doubles, 3)", "np.linalg.norm(doubles, 0.5)", "np.linalg.norm(singles, 8)"),
    *("np.linalg.norm(doubles, np.inf)", "np.linalg.norm(singles, -np.inf)"),
    *("np.linalg.norm(cards, 0)", "np.linalg.norm(cards, 1.5)", "np.linalg.norm(doubles, -1)"),
    *("np.dot(doubles, HALVES[:5])", "matrix @ HALVES[:4]", "doubles[:3] @ matrix"),
    *("matrix.T @ matrix", "np.dot(singles, singles)", "np.sin(doubles)", "np.exp(SINGLES)"),
    *("np.arctan2(doubles, x)", "np.cos(singles)"),
    *("np.sum(matrix.T)", "matrix.T.std()", "np.linalg.norm(matrix.T)", "np.dot(BYTES, BYTES)"),
    *("max(singles) * max(singles)", "(singles @ singles) * (singles @ singles)"),
    *("doubles.std()", "np.std(matrix)", "singles.std()", "np.var(SINGLES)", "matrix.var()"),
    *("np.std(BYTES)", "np.var((x, y, 1.0))", "np.sqrt(singles.var())"),
    *("sum(doubles)", "sum(singles)", "sum(BYTES)", "sum(cards)", "sum(doubles > 0)"),
    *("sum(doubles, 3)", "sum(doubles, 1e17)", "sum((1e17, x, -1e17))"),
    *("z = doubles.copy(); z[0] = 1e17; z[2] = -1e17; sum(z)", "sum(np.array([1e17, x, -1e17]))"),
]
TALL = np.random.default_rng(0).normal(size=(20, 2))
ROWS = [
    *("np.sum(matrix, axis=0)", "matrix.sum(axis=1)", "(matrix * x).T.sum(axis=0)"),
    *("matrix.T.sum(1)", "matrix[matrix[:, 0] > 9.0].sum(axis=0)", "np.sum(doubles[doubles > 99])"),
    *("np.sum(0.0 * -np.abs(matrix), axis=0)", "np.mean(matrix, axis=-1)"),
    *("np.sum(-0.0 * np.abs(doubles))", "np.mean(-0.0 * np.abs(singles))"),
    *("(TALL * x).sum(axis=0)", "(TALL * x).T.sum(axis=1)", "(TALL * x).T.sum(axis=0)"),
    *("z = TALL * x; z[:, :1].sum(axis=0)", "z = TALL * x; z[::2].T.sum(axis=1)"),
    *("z = (TALL * x).T.copy(); z.sum(axis=1)", "z = (TALL * x).T.copy(); z[:, ::2].sum(axis=-1)"),
    *("z = (TALL * x).astype(np.float32); z.mean(axis=0)", "np.mean(matrix, axis=1)"),
    *("np.reshape(matrix.T, (2, 6))", "np.reshape(matrix, -1)", "np.reshape(cards, (3, -1))"),
    *("np.max(matrix, axis=0)", "matrix.min(1)", "np.amax(cards)", "np.max((x, y))", "min(cards)"),
    *("cards.reshape(3, 4).max(axis=-2)", "np.mean(cards.reshape(3, 4), axis=0)"),
    *("(matrix > 0.5).any(axis=0)", "np.all(matrix > 0.5, axis=1)", "(matrix > 0.5).sum(axis=0)"),
    *("any([x > 0, y > 1])", "all((x > 0, y > 1))", "any(doubles > 1)", "all(cards)"),
    *("all([x, i])", "np.hstack((matrix, [[x], [y], [1.0]]))", "np.hstack((matrix, matrix))"),
    *("np.where(cards > 3)[0]", "np.concatenate([doubles, [x, y]])", "np.hstack((doubles, [x]))"),
    *("np.hstack([x, y, singles])", "np.concatenate((matrix, matrix), axis=1)"),
    *("np.average(cards)", "np.average(doubles, weights=singles)", "np.average(matrix, axis=0)"),
    *("np.average(SINGLES, weights=SINGLES**2)", "np.average([x, y], weights=[1, 3])"),
    *("np.average(SINGLES, weights=BYTES)", "np.average(BYTES, weights=SINGLES)"),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "expressions",
    [NUMBERS, ARRAYS, SUMS, ROWS],
    ids=["numbers", "arrays", "sums", "rows"],
)
def test_results_are_those_of_the_interpreter(expressions: list[str], tmp_path: Path) -> None:
    cls = calculator(expressions, tmp_path)
    compiled, debug = cls.vector_class(500), cls.vector_class(500, debug=True)
    compiled.reset(seed=1)
    debug.reset(seed=1)
    for k, text in enumerate(expressions):
        actions = np.full(500, k)
        ours, theirs = compiled.step(actions)[0], debug.step(actions)[0]
        assert ours.tobytes() == theirs.tobytes(), text


# --- exceptions -----------------------------------------------------------------------------------


class Tank(jit.Env):
    """Lane i runs out of fuel after i + 2 steps."""

    observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float32)
    action_space = spaces.Discrete(2)

    class State:
        fuel: int

    class Parameters:
        start: int = 2

    def reset(state, parameters, rng):
        state.fuel = parameters.start

    def step(state, parameters, action, rng):
        assert state.fuel > -2, "deep"
        burn(state, action)
        return 1.0, False

    def observe(state, parameters, observation):
        observation[0] = state.fuel


def burn(state, amount):
    state.fuel -= amount
    if state.fuel < 0:
        raise ValueError(f"{amount} is too much")


def arrays_of(envs: Any) -> dict[str, Any]:
    """Return arrays of the caller's for a step."""
    ends = {name: np.zeros(5, np.bool_) for name in ("terminated", "truncated")}
    arrays = {"observations": np.zeros((5, 1), np.float32), "rewards": np.zeros(5), **ends}
    if envs.autoreset_mode is AutoresetMode.SAME_STEP:
        arrays["final_observations"] = np.zeros((5, 1), np.float32)
    return arrays


WAYS: dict[str, Any] = {
    "step": lambda envs, actions: [envs.step(actions) for _ in range(3)],
    "step_into": lambda envs, actions: [
        envs.step_into(actions, **arrays_of(envs)) for _ in range(3)
    ],
    "bind_step": lambda envs, actions: [
        envs.bind_step(actions, **arrays_of(envs))() for _ in range(3)
    ],
    "send": lambda envs, actions: [(envs.send(actions), envs.recv()) for _ in range(3)],
    "rollout": lambda envs, actions: envs.rollout(np.stack([actions] * 3)),
}


# A batch without autoreset refuses rollouts.
WAYS_AND_MODES = [
    (way, mode)
    for way in WAYS
    for mode in AutoresetMode
    if (way, mode) != ("rollout", AutoresetMode.DISABLED)
]


@pytest.mark.parametrize("way,mode", WAYS_AND_MODES)
@pytest.mark.parametrize("debug", [True, False], ids=["interpreted", "compiled"])
def test_a_lane_that_raises_is_named(debug: bool, way: str, mode: AutoresetMode) -> None:
    threads = 1 if debug else 2
    envs = Tank.vector_class(5, debug=debug, num_threads=threads, autoreset_mode=mode)
    envs.set_attr("start", [9, 4, 2, 2, 9])
    envs.reset()
    actions = np.ones(5, np.int64)
    with pytest.raises(
        ValueError, match=r"environment 2 raised ValueError in step: .*too much"
    ) as caught:
        WAYS[way](envs, actions)
    assert isinstance(caught.value, error.EnvironmentFailed) and caught.value.lanes == [2]
    with pytest.raises(error.ResetNeeded):
        envs.step(actions)
    envs.reset()
    envs.step(actions)


@pytest.mark.parametrize("debug", [True, False], ids=["interpreted", "compiled"])
def test_a_single_environment_raises_the_exception_itself(debug: bool) -> None:
    env = Tank(debug=debug)
    env.reset()
    with pytest.raises(ValueError) as alone:
        for _ in range(3):
            env.step(1)
    assert type(alone.value) is ValueError


WRONG = [
    *("rng.gamma(-1.0)", "rng.poisson(np.nan)", "rng.binomial(3, 2.0)", "rng.choice(2, 3, False)"),
    *("rng.beta(0.0, 1.0, 2)", "rng.choice(3, 3, replace=False, p=[0.5, 0.0, 0.5])"),
    *("rng.integers(i, i)", "rng.integers(3, 2, size=2)", "rng.integers(0, 300, dtype=np.int8)"),
    *("rng.choice(i - i)", "rng.choice(3, p=[0.5, 0.4, 0.2])", "rng.choice(2, p=[-0.5, 1.5])"),
    *("rng.choice(3, p=[0.5, 0.5])", "rng.choice(3, 2, False, p=WEIGHTS * 2)"),
]


class Complaints(Tank):
    """Exceptions whose arguments are no texts."""

    def step(state, parameters, action, rng):
        assert action == 1, state.fuel
        if state.fuel == 2:
            raise ValueError("fuel " + str(state.fuel), parameters.start)
        return 1.0, False


@pytest.mark.parametrize("debug", [True, False], ids=["interpreted", "compiled"])
def test_arguments_of_exceptions_are_values_or_their_source(debug: bool) -> None:
    env = Complaints(debug=debug)
    cases: tuple[tuple[int, Any, str], ...] = (
        (0, AssertionError, "^2" if debug else r"^state\.fuel"),
        (1, ValueError, "fuel 2" if debug else r"'fuel ' \+ str\(state\.fuel\)"),
    )
    for action, kind, text in cases:
        env.reset(seed=1)
        with pytest.raises(kind, match=text):
            env.step(action)


@pytest.mark.parametrize("debug", [True, False], ids=["interpreted", "compiled"])
def test_wrong_arguments_of_draws_raise(
    debug: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cls = calculator(WRONG, tmp_path)
    monkeypatch.setattr(cls, "check_source", lambda: None)  # which runs them
    env = cls(debug=debug)
    for k in range(len(WRONG)):
        env.reset(seed=1)
        with pytest.raises(ValueError):
            env.step(k)


STORED = """
import sys
sys.path.insert(0, {folder!r})
from calculator import Calculator
env = Calculator()
env.reset(seed=1)
print(env.step(0)[0].tobytes().hex())
"""


@pytest.mark.slow
def test_stored_code_that_creates_arrays_runs_in_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GYMCORE_CACHE_DIR", str(tmp_path / "cache"))
    expression = "np.sin(doubles) + rng.normal(size=5) + rng.integers(9, size=5, dtype=np.uint8)"
    calculator([expression], tmp_path)
    command = [sys.executable, "-c", STORED.format(folder=str(tmp_path))]
    texts = {subprocess.run(command, check=True, capture_output=True).stdout for _ in range(2)}
    assert len(texts) == 1 and texts.pop().strip()


class Sieve(jit.Env):
    """Creates more arrays than the memory of a lane holds, and arrays that are larger than it."""

    observation_space = spaces.Box(-np.inf, np.inf, (3,), np.float64)
    action_space = spaces.Discrete(3000)

    class State:
        kept: jit.array(float, 3)

    def reset(state, parameters, rng):
        state.kept[:] = rng.normal(size=3)

    def step(state, parameters, action, rng):
        first = np.full(3, 0.5)
        values = np.zeros(action)
        for k in range(action):
            values = values + np.array([0.25, k, -1.5])[k % 3]
            first = first * 0.5 + state.kept
        state.kept[:] = np.array([values.sum(), first[1], np.concatenate((first, values)).max()])
        return values.size, False

    def observe(state, parameters, observation):
        observation[:] = state.kept


def test_arrays_that_do_not_fit_into_the_memory_of_a_lane() -> None:
    single, lanes = Sieve(debug=True), Sieve.vector_class(2)
    expected, _ = single.reset(seed=1)
    observations, _ = lanes.reset(seed=[1, 1])
    for action in (1, 200, 3, 2500, 40):
        expected, reward, *_ = single.step(action)
        observations, rewards, *_ = lanes.step(np.array([action, action]))
        assert observations.tolist() == [expected.tolist()] * 2
        assert rewards.tolist() == [reward] * 2


TEXT = np.frombuffer(b'@NRT_incref(\\"@step@', np.uint8)
LEVELS = np.array([1.0, 2.0])  # ends in the byte of "@"


class Text(jit.Env):
    """Creates arrays, and uses constants whose bytes read like the compiler's text."""

    observation_space = spaces.Box(0.0, 1000.0, (20,), np.float64)
    action_space = spaces.Discrete(2)

    class State:
        kept: jit.array(float, 20)

    def reset(state, parameters, rng):
        state.kept[:] = 0.0

    def step(state, parameters, action, rng):
        state.kept[:] = np.concatenate((TEXT, LEVELS))[:20] * LEVELS[action]
        return state.kept.sum(), False

    def observe(state, parameters, observation):
        observation[:] = state.kept


def test_constants_of_any_bytes() -> None:
    env = Text()
    env.reset()
    expected = np.concatenate((TEXT, LEVELS))[:20] * 2.0
    assert env.step(1)[0].tolist() == expected.tolist()


def test_squares_are_powers_of_the_c_library() -> None:
    rng = np.random.default_rng(2)
    values = rng.uniform(-1.0, 1.0, 200_000) * 10.0 ** rng.integers(-5, 5, 200_000)
    scales = 10.0 ** np.arange(-170, 150)
    values = np.concatenate([values, scales, -1.1 * scales, [0.0, -0.0, np.inf, np.nan, 5e-324]])
    power = compiled_numpy.REPLACED[math.pow]

    @numba.njit(error_model="numpy")
    def squares(values):
        return np.array([power(value, 2) for value in values])

    assert squares(values).tobytes() == np.array([value**2 for value in values.tolist()]).tobytes()


@pytest.mark.parametrize("ufunc", [np.sin, np.cos], ids=["sin", "cos"])
def test_sines_are_those_of_numpy(ufunc: np.ufunc) -> None:
    stub = compiled_numpy.REPLACED[ufunc]

    @numba.njit(error_model="numpy")
    def compiled(values):
        return np.array([stub(value) for value in values])

    rng = np.random.default_rng(3)
    values = rng.uniform(-1.0, 1.0, 100_000) * 10.0 ** rng.integers(-8, 12, 100_000)
    expected = np.array([ufunc(value) for value in values])
    assert compiled(values).tobytes() == expected.tobytes()
