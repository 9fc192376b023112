"""Errors and warnings of environments begin with the first sentence of Gymnasium's."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import gymnasium
import pytest

import gymcore

IDS = (
    "CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1", "Acrobot-v1",
    "FrozenLake-v1", "Taxi-v4", "CliffWalking-v1", "Blackjack-v1",
)  # fmt: skip
BOX2D = ("LunarLander-v3", "BipedalWalker-v3", "CarRacing-v3")


def unwrapped(gym: ModuleType, env_id: str, **kwargs: Any) -> Any:
    return gym.make(env_id, disable_env_checker=True, **kwargs).unwrapped


def after_reset(env_id: str, act: Callable[[Any], Any], **kwargs: Any) -> Callable[[Any], Any]:
    """Return a function that resets an environment and then acts on it."""

    def run(gym: ModuleType) -> None:
        env = unwrapped(gym, env_id, **kwargs)
        env.reset(seed=1)
        act(env)

    return run


def reset(env_id: str, **options: Any) -> Callable[[Any], Any]:
    return lambda gym: unwrapped(gym, env_id).reset(options=options)


def play_on(env: Any) -> None:
    for _ in range(60):
        env.step(1)


def make_class(module: str, name: str) -> Callable[[Any], Any]:
    return lambda gym: getattr(importlib.import_module(f"{gym.__name__}.{module}"), name)()


CASES: dict[str, Callable[[Any], Any]] = {
    **{f"render {i}": after_reset(i, lambda env: env.render()) for i in (*IDS, *BOX2D)},
    **{
        f"action {i}": after_reset(i, lambda env: env.step(99))
        for i in ("CartPole-v1", "MountainCar-v0", "Blackjack-v1", "LunarLander-v3")
    },
    "action CarRacing-v3": after_reset("CarRacing-v3", lambda env: env.step(7), continuous=False),
    "step CartPole-v1": lambda gym: unwrapped(gym, "CartPole-v1").step(0),
    "step Acrobot-v1": lambda gym: unwrapped(gym, "Acrobot-v1").step(0),
    "step LunarLander-v3": lambda gym: unwrapped(gym, "LunarLander-v3").step(0),
    "step after termination": after_reset("CartPole-v1", play_on),
    "text as a bound": reset("CartPole-v1", low="x"),
    "text as an angle": reset("Pendulum-v1", x_init="x"),
    "None as a bound": reset("MountainCar-v0", low=None),
    "bounds in the wrong order": reset("CartPole-v1", low=1, high=0),
    "one bound too high": reset("Acrobot-v1", low=3),
    "a state that Taxi does not have": lambda gym: unwrapped(gym, "Taxi-v4").decode(500),
    "gravity": lambda gym: unwrapped(gym, "LunarLander-v3", gravity=3.0),
    "wind": lambda gym: unwrapped(gym, "LunarLander-v3", wind_power=30.0, turbulence_power=3.0),
    "colors": lambda gym: unwrapped(gym, "CarRacing-v3")._reinit_colors(True),
    "hardcore": make_class("envs.box2d.bipedal_walker", "BipedalWalkerHardcore"),
    "continuous": make_class("envs.box2d.lunar_lander", "LunarLanderContinuous"),
}


def said(case: Callable[[Any], Any], gym: ModuleType) -> tuple[Exception | None, list[str]]:
    """Return the error and the warnings of a case."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        problem = None
        try:
            case(gym)
        except Exception as error:
            problem = error
    # SWIG's types warn when Box2D is imported.
    return problem, [text for each in caught if "__module__" not in (text := str(each.message))]


def needs_box2d(name: str) -> bool:
    words = (*BOX2D, "gravity", "wind", "colors", "hardcore", "continuous")
    return any(word in name for word in words)


@pytest.mark.parametrize("name", [name for name in CASES if needs_box2d(name)])
def test_first_sentences_of_box2d(name: str) -> None:
    pytest.importorskip("Box2D", reason="Box2D is not installed")
    check_first_sentences(name)


@pytest.mark.parametrize("name", [name for name in CASES if not needs_box2d(name)])
def test_first_sentences(name: str) -> None:
    check_first_sentences(name)


def check_first_sentences(name: str) -> None:
    theirs, their_warnings = said(CASES[name], gymnasium)
    ours, our_warnings = said(CASES[name], gymcore)
    assert theirs is not None or their_warnings
    if theirs is not None:
        assert str(theirs).split(". ")[0].rstrip(" .") in str(ours)
        for kind in (AssertionError, ValueError):
            assert isinstance(ours, kind) or not isinstance(theirs, kind)
    else:
        assert ours is None
    assert len(our_warnings) == len(their_warnings)
    for one, other in zip(our_warnings, their_warnings, strict=True):
        assert other.split(". ")[0] in one
