"""Constants of functions: their values are part of the key, and interpreter and compiler agree."""

from __future__ import annotations

import collections
import enum
import importlib
import itertools
import linecache
import math
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore import error, jit, spaces
from gymcore.jit.constants import as_constant, digest_of, interpreted
from gymcore.jit.loops import LaneArray

_numbers = itertools.count()


def function(text: str, **names: Any) -> Any:
    """Return the function `f` of a text, whose source can be found."""
    filename = f"<constants {next(_numbers)}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    namespace = {"__name__": "constants", **names}
    exec(compile(text, filename, "exec"), namespace)
    return namespace["f"]


def module(**names: Any) -> types.ModuleType:
    made = types.ModuleType("cfgmod")
    vars(made).update(names)
    return made


class Color(enum.Enum):
    RED = 1


class Paint(enum.Enum):
    RED = 2


def of(name: str, value: Any) -> Any:
    return function(f"def f(x):\n    return x + {name}\n", **{name.partition(".")[0]: value})


HELPER = "def h(x):\n    return x * {}\ndef f(x):\n    return h(x)\n"

DEFAULT = "def f(x, k=G):\n    return k\n"

PAIRS = [
    (of("c.G", module(G=9.8)), of("c.G", module(G=1.6))),
    (of("c.d.G", module(d=module(G=9.8))), of("c.d.G", module(d=module(G=1.6)))),
    (of("g", math.floor), of("g", math.ceil)),
    (of("g", jit.math.sin), of("g", jit.math.cos)),
    (of("g", np.sin), of("g", np.cos)),
    (of("g", min), of("g", max)),
    (of("g", np.float32), of("g", np.float64)),
    (of("g", np.dtype("f4")), of("g", np.dtype("f8"))),
    (of("g", Color), of("g", Paint)),
    (of("g", Color.RED), of("g", Paint.RED)),
    (of("g", 1j), of("g", 2j)),
    (of("g", "a"), of("g", "b")),
    (of("g", b"a"), of("g", b"b")),
    (of("g", slice(1, 2)), of("g", slice(1, 3))),
    (of("g", (1, (2.0,))), of("g", (1, (3.0,)))),
    (of("g", 1), of("g", 1.0)),
    (of("g", 1), of("g", True)),
    (of("g", 0.0), of("g", -0.0)),
    (of("g", np.int8(1)), of("g", np.int16(1))),
    (of("g", np.zeros(2)), of("g", np.ones(2))),
    (of("g", np.zeros(2)), of("g", np.zeros((2, 1)))),
    (of("g", np.zeros(2)), of("g", np.zeros(2, np.int64))),
    (function(HELPER.format("2")), function(HELPER.format("3"))),
    (function(HELPER.format("G"), G=2), function(HELPER.format("G"), G=3)),
    (function("def f(x, k=2):\n    return k\n"), function("def f(x, k=3):\n    return k\n")),
    (function(DEFAULT, G=2), function(DEFAULT, G=3)),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_edits_change_the_key(one: Any, other: Any) -> None:
    assert digest_of(one) != digest_of(other)
    assert digest_of(one) == digest_of(one)


def test_names_that_are_not_used_do_not_matter() -> None:
    text = "def f(state):\n    unused: g = 1\n    return state.g\n"
    assert digest_of(function(text, g=[1])) == digest_of(function(text, g=2))


def test_functions_that_call_each_other_have_a_key() -> None:
    text = "def f(x):\n    return g(x)\ndef g(x):\n    return f(x) if x else 0\n"
    assert digest_of(function(text)) == digest_of(function(text))


NARROW = np.array([100, 27], np.int8)
TENTH = np.float32(0.1)
TENTHS = np.array([0.1, 0.7], np.float32)
PAIR = (np.int8(100), np.float32(0.1))
NAMED = collections.namedtuple("NAMED", ("a", "b"))(1, np.float32(0.1))
CAST = np.float32
NESTED = types.ModuleType("nested")
NESTED.NARROW, NESTED.TENTH = NARROW, TENTH  # type: ignore[attr-defined]
FACTOR = 3


def products(x):
    return NARROW[0] * NARROW[1] + PAIR[0] * PAIR[0] + x * TENTH * TENTHS[1] * PAIR[1]


def scaled(x, factor=FACTOR, other=TENTH):
    return x * factor * other


class Narrow(jit.Env):
    """Environment that computes with constants of narrow types."""

    observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float64)
    action_space = spaces.Discrete(2)

    class State:
        x: float
        fields: int
        y: jit.array(np.float32, 3)  # type: ignore[valid-type]

    def reset(state, parameters, rng):
        state.x = rng.random()
        state.y[:] = 0.1

    def step(state, parameters, action, rng):
        total = products(state.x) + scaled(state.x)
        for value in TENTHS:
            total += value * value
        total += NESTED.NARROW[1] * NESTED.NARROW[1] + NESTED.TENTH * NESTED.TENTH
        n = state.fields
        total += np.float32(n + 0.1) * CAST(n + 0.7) * 0.1 + NAMED.b * NAMED.b
        for k, value in enumerate(state.y):
            total += k * value * value
        for value in state.y.flat:
            total += value * value
        state.x = total + state.y.sum() * 0.1
        state.fields += 1
        return TENTH * TENTH, False

    def observe(state, parameters, observation):
        observation[0] = state.x


def test_arrays_of_the_program_stay_writable() -> None:
    table = np.zeros(3)
    constant = as_constant(table)
    table[0] = 1.0
    assert constant.tolist() == [1.0, 0.0, 0.0]
    assert not constant.flags.writeable


def test_interpreted_constants_are_pythons_numbers() -> None:
    assert interpreted(products, LaneArray)(0.0) == 12700
    assert as_constant((np.uint8(3), np.array([True]))) == (3, np.array([True]))
    env = Narrow(debug=True)
    env.reset(seed=1)
    assert env.step(0)[1] == float(TENTH) * float(TENTH)


@pytest.mark.slow
def test_compiled_constants_are_those_of_the_interpreter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba")
    monkeypatch.setenv("GYMCORE_CACHE_DIR", str(tmp_path))
    one, other = Narrow.vector_class(3), Narrow.vector_class(3, debug=True)
    for envs in (one, other):
        envs.reset(seed=1)
    for _ in range(4):
        results = [envs.step(np.zeros(3, np.int64)) for envs in (one, other)]
        for k in range(2):
            assert results[0][k].tobytes() == results[1][k].tobytes()


PROGRAM = """
import numpy as np
from gymcore import jit, spaces
import physics_of_it as physics

class Mine(jit.Env):
    observation_space = spaces.Box(-9, 9, (1,), np.float32)
    action_space = spaces.Discrete(2)
    class State:
        x: float
    def reset(state, parameters, rng):
        state.x = 0.0
    def step(state, parameters, action, rng):
        return {use}, False
    def observe(state, parameters, observation):
        observation[0] = state.x
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield a folder of modules; they are forgotten at the end."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield tmp_path
    forget()


def forget() -> None:
    for name in ("mine_of_it", "physics_of_it"):
        sys.modules.pop(name, None)
    linecache.clearcache()
    importlib.invalidate_caches()


def reward(folder: Path, physics: str, use: str) -> float:
    forget()
    (folder / "physics_of_it.py").write_text(physics)
    (folder / "mine_of_it.py").write_text(PROGRAM.format(use=use))
    env = importlib.import_module("mine_of_it").Mine()
    env.reset(seed=1)
    result: float = env.step(1)[1]
    return result


@pytest.mark.slow
def test_code_of_an_edited_module_is_compiled_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba")
    monkeypatch.setenv("GYMCORE_CACHE_DIR", str(folder / "cache"))
    assert reward(folder, "G = 9.75", "physics.G") == 9.75
    assert reward(folder, "G = 1.5", "physics.G") == 1.5
    text = "import numba\n@numba.njit\ndef f(x):\n    return x + {}\n"
    assert reward(folder, text.format("0.5"), "physics.f(1.0)") == 1.5
    assert reward(folder, text.format("0.25"), "physics.f(1.0)") == 1.25
    text = "import numba\n@numba.vectorize(['f8(f8)'])\ndef f(x):\n    return x + {}\n"
    assert reward(folder, text.format("0.5"), "physics.f(1.0)") == 1.5
    assert reward(folder, text.format("0.25"), "physics.f(1.0)") == 1.25


@pytest.mark.parametrize(
    ("physics", "use", "words"),
    [
        ("G = [1]", "physics.G[0]", r"mine_of_it.py:14: Mine: `physics.G` cannot be compiled: \[1"),
        ("G = {}", "physics.G[0]", "cannot be compiled: {}"),
        ("import types\nG = types.SimpleNamespace(x=1)", "physics.G.x", "`physics.G` cannot be"),
        ("import numpy as np\nG = np.array([None])", "physics.G[0]", "`physics.G` cannot be"),
        ("import numpy as np\nG = np.uint64(2**63)", "physics.G", "integers must fit into int64"),
    ],
)
def test_what_has_no_value_is_refused_at_the_class(
    folder: Path, physics: str, use: str, words: str
) -> None:
    with pytest.raises(error.InvalidArgument, match=words):
        reward(folder, physics, use)


def declare(**members: Any) -> Any:
    return type("Declared", (jit.Env,), {**dict(Narrow.__dict__), **Narrow._functions, **members})


@pytest.mark.parametrize(
    "name",
    [
        *("step", "reset", "close", "spec", "metadata", "unwrapped", "render_mode", "parameters"),
        *("action_space", "observation_space", "make_batch"),
    ],
)
def test_parameters_have_names_of_their_own(name: str) -> None:
    parameters = type("Parameters", (), {"__annotations__": {name: float}, name: 1.0})
    with pytest.raises(error.InvalidArgument, match=f"Parameters.{name}: expected a name"):
        declare(Parameters=parameters)


def test_numbers_that_a_field_cannot_hold_name_the_function() -> None:
    def grows(state, parameters, action, rng):
        state.x += 1000
        return 0.0, False

    small = type("State", (), {"__annotations__": {"x": np.int8}})

    def starts(state, parameters, rng):
        state.x = 0

    env = declare(State=small, step=grows, reset=starts)(debug=True)
    env.reset(seed=1)
    with pytest.raises(
        OverflowError, match=r"\.py:\d+: Declared.step: state.x is 1000, which int8"
    ):
        env.step(0)


def test_make_takes_no_argument_that_the_class_does_not_have() -> None:
    gym.register("Narrow-v0", Narrow)
    try:
        for mode in (None, "sync"):
            with pytest.raises(TypeError, match="mine"):
                if mode is None:
                    gym.make("Narrow-v0", mine=3)
                else:
                    gym.make_vec("Narrow-v0", 2, vectorization_mode=mode, mine=3)
    finally:
        del gym.registry["Narrow-v0"]
