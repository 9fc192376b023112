"""Random functions with constants of every kind, many in one class of `gymcore.jit`, and edits."""

from __future__ import annotations

import collections
import enum
import linecache
import math
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from gymcore import jit, spaces
from gymcore.jit.constants import digest_of

Point = collections.namedtuple("Point", ("a", "b"))


class Color(enum.Enum):
    """An enum whose members are constants."""

    RED = 1.5
    BLUE = 0.25


class Paint(enum.Enum):
    """Another enum with members of the same names."""

    RED = 2.5
    BLUE = 0.75


def _helpers() -> tuple[list[Any], list[Any]]:
    """Return Numba functions with different bodies: compiled, and vectorized."""
    try:
        import numba
    except ImportError:
        return [abs], [abs]
    compiled, vectorized = [], []
    for k in range(3):
        text = f"def h(x):\n    return np.float32(x) * {k}.5\n"
        compiled.append(numba.njit(run(text)["h"]))
        vectorized.append(numba.vectorize(["f4(f8)"])(run(text)["h"]))
    return compiled, vectorized


def run(text: str, **names: Any) -> dict[str, Any]:
    """Run text as a module whose source can be found."""
    filename = f"<random functions {len(linecache.cache)}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    namespace = {"__name__": __name__, "np": np, "jit": jit, "math": math, **names}
    exec(compile(text, filename, "exec"), namespace)
    return namespace


INTEGERS = (int, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)
FLOATS = (float, np.float16, np.float32, np.float64)
TABLES = ("?", "i1", "u1", "i2", ">i4", "i8", "f2", "f4", "f8", ">f8")
UNARY = (
    *(jit.math.sin, jit.math.cos, jit.math.sqrt, jit.math.floor, jit.math.round_half_even, abs),
    *(math.floor, math.ceil, math.trunc, math.fabs, math.sqrt, float, int),
    *(np.floor, np.ceil, np.trunc, np.rint, np.sqrt, np.abs, np.float32, np.float64, np.int8),
)
BINARY = (min, max, np.minimum, np.maximum, math.copysign, np.copysign)

# An expression of x, n and the constant K; and a function of random numbers that draws a value.
Kind = tuple[str, Callable[[np.random.Generator], Any]]


def _of(values: Any) -> Callable[[np.random.Generator], Any]:
    return lambda rng: values[int(rng.integers(len(values)))]


def _integer(kind: Any) -> Callable[[np.random.Generator], Any]:
    return lambda rng: kind(int(rng.integers(128)))


def _float(kind: Any) -> Callable[[np.random.Generator], Any]:
    return lambda rng: kind(rng.normal())


def _table(dtype: str) -> Callable[[np.random.Generator], Any]:
    return lambda rng: rng.integers(2 if dtype == "?" else 100, size=(2, 3)).astype(dtype)


def _module(rng: np.random.Generator) -> types.ModuleType:
    module, inner = types.ModuleType("physics"), types.ModuleType("inner")
    vars(module).update(G=np.float32(rng.normal()), T=_table("f4")(rng), inner=inner)
    vars(inner).update(P=(np.int8(rng.integers(128)), float(rng.normal())), f=_of(UNARY)(rng))
    return module


def _nested(rng: np.random.Generator) -> Any:
    return _integer(np.int8)(rng), (_float(np.float32)(rng), 2)


def _closure(rng: np.random.Generator) -> Any:
    text = "def outer(c):\n    def inner(x, k={}):\n        return x * c + k\n    return inner\n"
    return run(text.format(int(rng.integers(99))))["outer"](np.float32(rng.normal()))


def kinds() -> list[Kind]:
    """Return every kind of constant."""
    compiled, vectorized = _helpers()
    return [
        *((f"K * K * {factor}", _integer(kind)) for kind in INTEGERS for factor in ("n", "x")),
        *((f"K * K * {factor}", _float(kind)) for kind in FLOATS for factor in ("n", "x")),
        *(("x if K else n", _of((kind(0), kind(1)))) for kind in (bool, np.bool_)),
        *(("K[n % 2, n % 3] * K[0, 0] * x", _table(dtype)) for dtype in TABLES[1:]),
        ("1 if K[n % 2, n % 3] else 0", _table("?")),
        ("K[1][0] * K[1][0] * x + K[0]", _nested),
        ("K.a * K.a * x + K.b", lambda rng: Point(_float(np.float32)(rng), int(rng.integers(99)))),
        ("K(x * 10) * K(x) * 0.1", _of(UNARY)),
        ("K(x, 0.1) * 0.3 + K(n, 2)", _of(BINARY)),
        ("K(x) * K(x) * 0.1", _of((np.float32, np.float64))),
        ("K.G * K.G * x", _module),
        ("K.T[n % 2, 1] * K.T[0, 2] * x", _module),
        ("K.inner.P[0] * K.inner.P[0] * K.inner.P[1] + K.inner.f(x * 3)", _module),
        ("K(x) * 0.3", _closure),
        ("K(x) * K(x) * 0.1", _of(compiled)),
        ("K(x) * K(x) * 0.1", _of(vectorized)),
        ("(K * K * x).real + K.imag", lambda rng: complex(rng.normal(), rng.normal())),
        ("(K * x).imag", lambda rng: np.complex128(complex(rng.normal(), rng.normal()))),
        ("(x if K == 'ab' else n) + len(K)", _of(("ab", "a", "abc", "ba", "é"))),
        ("K[0] * x + len(K)", _of((b"ab", b"a", b"abc", b"ba"))),
        ("TABLE[K][0] * TABLE[K][0] * x", _of((slice(0, 2), slice(1, 3), slice(1, None, 2)))),
        ("K.value * x", _of((*Color, *Paint))),
        ("K.RED.value * x", _of((Color, Paint))),
        ("x if K is None else n", _of((None, 1))),
        ("sum_of(K) * x", lambda rng: _table("f4")(rng)[0]),
        ("sum_of(K) * x", lambda rng: tuple(map(np.float32, rng.normal(size=3)))),
    ]  # fmt: skip


SUM = """
def sum_of(values):
    total = 0.0
    for value in values:
        total += value * value
    return total
"""

FUNCTION = """
def f{k}(x, n, default=D{k}):
    if x < 0.5 + default * 0.001:
        return ({expression}) + {other} * default
    return {other} - ({expression}) * default
"""

OTHERS = ("x * x", "n * 0.7", "jit.math.sin(x)", "(n % 5) / 7", "max(x, n)", "-x")


class Functions:
    """Random functions, each with a constant and a default value.

    Attributes:
        constants: Constants by name; `edited` returns other values of the same kinds.
        cls: A class whose step calls each of the functions.
    """

    def __init__(self, rng: np.random.Generator, chosen: list[Kind]) -> None:
        """Draw the text and the constants."""
        self.draws: dict[str, Any] = {}
        text, length = SUM, len(chosen)
        for k, (expression, draw) in enumerate(chosen):
            parts = expression.replace("K", f"K{k}"), OTHERS[int(rng.integers(len(OTHERS)))]
            text += FUNCTION.format(k=k, expression=parts[0], other=parts[1])
            self.draws[f"K{k}"], self.draws[f"D{k}"] = draw, _float(FLOATS[k % len(FLOATS)])
        lines = "".join(f"    state.y[{k}] = f{k}(state.x, state.n)\n" for k in range(length))
        self.text = text + (
            "def reset(state, parameters, rng):\n    state.x = rng.random()\n    state.n = 5\n"
            f"def step(state, parameters, action, rng):\n{lines}"
            "    state.x = rng.random()\n    state.n = rng.integers(0, 50)\n"
            "    return state.y[0], False\n"
            "def observe(state, parameters, observation):\n"
            f"    for k in range({length}):\n        observation[k] = state.y[k]\n"
        )
        self.length = length
        self.constants = {name: draw(rng) for name, draw in self.draws.items()}

    def edited(self, rng: np.random.Generator) -> dict[str, Any]:
        """Return other values for all constants, of their present types."""
        edited = {}
        for name, draw in self.draws.items():
            for _ in range(100):
                value = draw(rng)
                if repr_of(value) != repr_of(self.constants[name]):
                    break
            edited[name] = value
        return edited

    def names(self, constants: dict[str, Any]) -> dict[str, Any]:
        """Return the module with these constants."""
        return run(self.text, TABLE=np.array([3, 100, 27, 50, 9], np.int8), **constants)

    def cls(self, constants: dict[str, Any]) -> Any:
        """Return the class with these constants."""
        names = self.names(constants)
        fields = {"x": float, "n": int, "y": jit.array(float, self.length)}
        members = {
            "observation_space": spaces.Box(-np.inf, np.inf, (self.length,), np.float64),
            "action_space": spaces.Discrete(2),
            "State": type("State", (), {"__annotations__": fields}),
            "__module__": __name__,
        }
        members |= {name: names[name] for name in ("reset", "step", "observe")}
        return type("Random", (jit.Env,), members)


def repr_of(value: Any) -> str:
    """Return a text in which any two different constants of one kind differ."""
    if isinstance(value, types.ModuleType):
        return repr({k: repr_of(v) for k, v in vars(value).items() if k != "inner"}) + (
            repr_of(value.inner) if hasattr(value, "inner") else ""
        )
    return f"{value!r} {id(value)}" if callable(value) else repr(value)


def check(cls: Any) -> None:
    """Check that compiled lanes equal interpreted ones, bit for bit."""
    both = [cls.vector_class(8, debug=debug) for debug in (False, True)]
    for envs in both:
        envs.reset(seed=1)
    for _ in range(10):
        one, other = (envs.step(np.zeros(8, np.int64))[0] for envs in both)
        assert one.tobytes() == other.tobytes(), np.argwhere(one != other)[:9].tolist()
        assert both[0].get_state().tobytes() == both[1].get_state().tobytes()


def main(seed: int, count: int, length: int, step: str) -> None:
    """Check `count` functions, `length` in a class.

    `step` is "first", "edited" for other values of all constants, or "again", which must not
    compile. They run in three processes, one after another.
    """
    from gymcore.jit import compiler

    if step == "again":

        def refuse(*arguments: Any) -> Any:
            raise AssertionError("compiled again")

        compiler._compile = refuse
    edits, every = 0, kinds()
    for first in range(0, count, length):
        rng = np.random.default_rng((seed, first))
        chosen = [every[(first + k) % len(every)] for k in range(min(length, count - first))]
        functions = Functions(rng, chosen)
        edited = functions.edited(rng)
        cls = functions.cls(edited if step == "edited" else functions.constants)
        try:
            check(cls)
        except Exception as problem:
            problem.add_note(f"{functions.text}\n{functions.constants}")
            raise
        if step == "first":  # one edit at a time gives another key
            for name, value in edited.items():
                digests = [
                    digest_of(functions.names(constants)[f"f{name[1:]}"])
                    for constants in (functions.constants, {**functions.constants, name: value})
                ]
                assert digests[0] != digests[1], (name, value)
                edits += 1
    print(f"{count} functions, {len(every)} kinds of constants, {edits} edits")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]), sys.argv[4])
