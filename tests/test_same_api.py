"""Every public name in Gymnasium is here, at the same path, with the same parameters."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any, NamedTuple

import gymnasium
import pytest

SPECIAL = ("__init__", "__call__", "__getitem__", "__len__", "__contains__")

_PICTURES = ("agent", "start", "goal", "goal_flag", "ground")

# Names that are left out, and why.
ABSENT = {
    ".envs.box2d.car_dynamics Particle.color": "set by the instance",
    ".envs.box2d.car_dynamics Particle.grass": "set by the instance",
    ".envs.box2d.car_dynamics Particle.poly": "set by the instance",
    ".envs.toy_text.blackjack draw_table": "draws with Gymnasium's pictures",
    ".spaces.utils T": "a type variable",
    **{
        f".envs.tabular.cliffwalking RenderStateType.{name}": "one of Gymnasium's pictures"
        for name in (*(f"{one}_img" for one in _PICTURES), "cliff_imgs")
    },
}
# Parameters that differ, and why.
DIFFERENT = {
    ".envs.classic_control.cartpole CartPoleVectorEnv.step": "`actions`, as in every VectorEnv",
    ".envs.functional_jax_env FunctionalJaxVectorEnv.step": "`actions`, as in every VectorEnv",
    **{
        f".envs.{name}.step": "the action is called `action` in every environment"
        for name in (
            "classic_control.acrobot AcrobotEnv",
            "classic_control.pendulum PendulumEnv",
            "mujoco.humanoidstandup_v4 HumanoidStandupEnv",
            "mujoco.inverted_pendulum_v4 InvertedPendulumEnv",
            "mujoco.pusher_v4 PusherEnv",
            "mujoco.reacher_v4 ReacherEnv",
            "toy_text.cliffwalking CliffWalkingEnv",
            "toy_text.frozen_lake FrozenLakeEnv",
            "toy_text.taxi TaxiEnv",
        )
    },
}
# Modules that are left out: they need a library that nobody installs any more.
NO_MODULES = {".envs.mujoco.mujoco_py_env"}


class Pair(NamedTuple):
    """One name in both libraries; `ours` is None if it is missing."""

    name: str
    theirs: Any
    ours: Any


def imported(name: str) -> ModuleType | None:
    """Return the module, or None if a library that it needs is not installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # old paths warn about the new ones
        try:
            return importlib.import_module(name)
        except (ImportError, gymnasium.error.DependencyNotInstalled):
            return None


def modules() -> list[str]:
    """Return the paths of all modules in the package."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        walked = list(pkgutil.walk_packages(gymnasium.__path__, "gymnasium.", lambda _: None))
    return ["", *(module.name.removeprefix("gymnasium") for module in walked)]


def pairs(module: str) -> Iterator[Pair]:
    """Yield the names that the module itself defines: classes, their members, functions."""
    theirs, ours = imported("gymnasium" + module), imported("gymcore" + module)
    if theirs is None:
        return
    assert ours is not None, f"gymcore{module} does not import"
    for name, value in list(vars(theirs).items()):
        if name.startswith("_") or getattr(value, "__module__", None) != theirs.__name__:
            continue
        mine = getattr(ours, name, None)
        yield Pair(f"{module} {name}", value, mine)
        if inspect.isclass(value) and mine is not None:
            for member in vars(value):
                if not member.startswith("_") or member in SPECIAL:
                    one, other = getattr(value, member), getattr(mine, member, None)
                    if one is not None:
                        yield Pair(f"{module} {name}.{member}", one, other)


def parameters(function: Any) -> list[tuple[str, Any]] | None:
    """Return the names and kinds of parameters; None if there is no signature."""
    if not callable(function) or inspect.isclass(function):
        return None
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    return [(one.name, one.kind) for one in signature.parameters.values()]


def is_missing(pair: Pair) -> bool:
    return pair.ours is None


def is_different(pair: Pair) -> bool:
    """Return whether a valid call of theirs may fail here; ours may have further parameters."""
    theirs, ours = parameters(pair.theirs), parameters(pair.ours)
    return theirs is not None and ours is not None and ours[: len(theirs)] != theirs


@pytest.mark.parametrize("module", [name for name in modules() if name not in NO_MODULES])
def test_module(module: str) -> None:
    found = list(pairs(module))
    assert [pair.name for pair in found if is_missing(pair) and pair.name not in ABSENT] == []
    assert [pair.name for pair in found if is_different(pair) and pair.name not in DIFFERENT] == []


def test_the_exceptions_are_ones() -> None:
    excepted = {name.split()[0] for name in (*ABSENT, *DIFFERENT)}
    found = {pair.name: pair for module in sorted(excepted) for pair in pairs(module)}
    assert [name for name in ABSENT if name in found and not is_missing(found[name])] == []
    assert [name for name in DIFFERENT if name in found and not is_different(found[name])] == []
