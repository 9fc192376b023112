"""Draws of `random` and `np.random`, whose generators a process shares, from the lane's generator.

The text of the original names that `LANE_GENERATOR` in their place.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import random
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from gymcore.core import Env

__all__ = [
    "LANE_GENERATOR",
    "LaneDraws",
    "LaneGenerator",
    "lane_draws",
    "seed_lane",
    "shared_draw",
    "with_lane_draws",
]

LANE_GENERATOR = "lane_generator"
_OF_PYTHON, _OF_NUMPY = map(attrgetter("__self__"), (random.random, np.random.random))
_METHODS = {
    **{"rand": "random", "random_sample": "random", "ranf": "random", "randn": "standard_normal"},
    **{"randint": "integers", "randrange": "integers", "gauss": "normal"},
    **{"normalvariate": "normal"},
}
"""Methods of `Generator` with another name than that of the function."""
_FUNCTIONS_OF_RANDOM = frozenset(("random", "uniform", "choice", "shuffle", *_METHODS))
_replacing = threading.RLock()


def shared_draw(value: object) -> str:
    """Return the name of a function that draws from a shared generator; "" for others."""
    owner, name = getattr(value, "__self__", None), str(getattr(value, "__name__", ""))
    is_draw = owner is _OF_PYTHON and name in _FUNCTIONS_OF_RANDOM
    is_draw |= owner is _OF_NUMPY and hasattr(np.random.Generator, _METHODS.get(name, name))
    is_draw |= callable(value) and value in (random.seed, np.random.seed)
    return name if is_draw else ""


def with_lane_draws(text: str, names: Mapping[str, object]) -> str:
    """Return source code in which shared draws are draws of the lane's generator.

    A call of `random` with keywords or a step, and a choice from what a call returns, stay.

    Args:
        text: The code.
        names: The values of the names that are not local.
    """
    lines = text.encode().splitlines()
    edits = list[tuple[int, int, int, int, str]]()  # line, columns, order, new text
    for k, node in enumerate(ast.walk(ast.parse(text))):  # outer calls first
        call = node.value if isinstance(node, ast.Expr) else node
        name = shared_draw(_resolved(call.func, names)) if isinstance(call, ast.Call) else ""
        if name == "seed" and isinstance(node, ast.Expr) and node.lineno == node.end_lineno:
            edits.append((node.lineno, node.col_offset, node.end_col_offset or 0, -k, "pass"))
        elif name and name != "seed" and isinstance(node, ast.Call):
            is_python = getattr(_resolved(node.func, names), "__self__", None) is _OF_PYTHON
            parts = _edits(node, name, is_python)
            edits += ((line, first, last, -k, new) for line, first, last, new in parts)
    for line, first, last, _, new in sorted(edits, reverse=True):
        raw = lines[line - 1]
        lines[line - 1] = raw[:first] + new.encode() + raw[last:]
    return b"\n".join(lines).decode() + "\n" * text.endswith("\n") if edits else text


def _edits(node: ast.Call, name: str, is_python: bool) -> Iterator[tuple[int, int, int, str]]:
    """Yield the edits for a call of a shared draw."""
    function, line, last_line = node.func, node.func.lineno, node.end_lineno or 0
    first, last, end = function.col_offset, function.end_col_offset or 0, node.end_col_offset or 0
    has_step = name == "randrange" and len(node.args) > 2
    if line != function.end_lineno or (is_python and (node.keywords or has_step)):
        return
    if is_python and name == "choice":
        if not any(isinstance(n, ast.Call) for part in node.args for n in ast.walk(part)):
            items = ast.unparse(node.args[0])
            yield line, first, last, ""
            yield last_line, end, end, f"[int({LANE_GENERATOR}.integers(len({items})))]"
        return
    head, tail = f"{LANE_GENERATOR}.{_METHODS.get(name, name)}", ""
    has_size = len(node.args) > 2 or any(k.arg in ("size", "dtype") for k in node.keywords)
    if name in ("randint", "randrange") and not has_size:
        head, tail = f"int({head}", ")"
    yield line, first, last, head
    yield last_line, end, end, tail
    if name == "randint" and is_python:
        yield last_line, end - 1, end - 1, ", endpoint=True"
    if name in ("rand", "randn") and len(node.args) > 1:
        start = node.args[0]
        yield start.lineno, start.col_offset, start.col_offset, "("
        yield last_line, end - 1, end - 1, ")"


def _resolved(node: ast.AST, names: Mapping[str, object]) -> object:
    """Return the value of a name, or of an attribute of `random` or `np.random`, or None."""
    if isinstance(node, ast.Name):
        value = names.get(node.id)
        if isinstance(value, partial) and value.func is _draw:  # see `lane_draws`
            return value.args[0]
        return value.module if isinstance(value, _Module) else value
    owner = _resolved(node.value, names) if isinstance(node, ast.Attribute) else None
    if not isinstance(node, ast.Attribute) or not isinstance(owner, ModuleType):
        return None
    is_known = owner in (random, np.random) or (owner is np and node.attr == "random")
    return getattr(owner, node.attr, None) if is_known else None


def seed_lane(env: object, seed: int) -> None:
    """Give an environment the generator of a seed, which its `reset` may replace."""
    with contextlib.suppress(AttributeError):
        setattr(env, "np_random", np.random.default_rng(seed))  # noqa: B010


class LaneGenerator:
    """The generator that an environment has when one of its methods is called."""

    def __init__(self, env: Env[object, object]) -> None:
        """Store the environment."""
        self._env = env

    def __getattr__(self, name: str) -> Any:
        """Return a method of the generator."""
        return getattr(self._env.np_random, name)


@contextlib.contextmanager
def lane_draws(env: Env[object, object], modules: Iterable[ModuleType]) -> Iterator[None]:
    """Let functions of some modules draw from the generator of an environment."""

    def replacement(value: object) -> object:
        if isinstance(value, ModuleType) and value in (np, random, np.random):
            return _Module(value, replacement)
        return partial(_draw, value, env) if shared_draw(value) else value

    with _replacing:
        pairs = [(vars(module), item) for module in modules for item in vars(module).items()]
        places = [(names, *item) for names, item in pairs if replacement(item[1]) is not item[1]]
        try:
            for names, name, value in places:
                names[name] = replacement(value)
            yield
        finally:
            for names, name, value in places:
                names[name] = value


@functools.lru_cache(1000)
def _code(function: object, arguments: str) -> CodeType | None:
    """Return the code of the draw of the lane for a call; None for `seed`."""
    text = with_lane_draws(f"draw({arguments})", {"draw": function})
    return None if text == "pass" else compile(text, "<draw>", "eval")


def _draw(function: object, env: Env[object, object], *args: object, **kwargs: object) -> object:
    """Draw from the generator of an environment what a function draws from a shared one."""
    values = {f"a{k}": value for k, value in enumerate(args)}
    code = _code(function, ", ".join([*values, *(f"{name}={name}" for name in kwargs)]))
    scope = {**values, **kwargs, "draw": function, LANE_GENERATOR: LaneGenerator(env)}
    return code and eval(code, scope)


class LaneDraws:
    """An environment whose shared draws come from its own generator."""

    def __init__(self, env: Env[object, object], modules: Sequence[ModuleType]) -> None:
        """Store the environment, and the modules with functions that draw."""
        self.env, self.action_space, self._modules = env, env.action_space, modules

    def reset(self, *, seed: int | None = None) -> tuple[object, dict[str, object]]:
        """Begin an episode; a seed is that of the generator."""
        if seed is not None:
            seed_lane(self.env, seed)
        with lane_draws(self.env, self._modules):
            return self.env.reset()

    def step(self, action: object) -> tuple[object, Any, bool, bool, dict[str, object]]:
        """Step the environment."""
        with lane_draws(self.env, self._modules):
            return self.env.step(action)


class _Module:
    """A module some of whose attributes are replaced."""

    def __init__(self, module: ModuleType, replacement: Callable[[object], object]) -> None:
        self.module, self._replacement = module, replacement

    def __getattr__(self, name: str) -> object:
        return self._replacement(getattr(self.module, name))
