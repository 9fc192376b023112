"""The whole life of every wrapper, beside Gymnasium's: texts, specs, errors, copies and the end."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import gymnasium
import numpy as np
import pytest

import gymcore
from tests.parity import Outcome, normal, outcome
from tests.testing_env import assert_same
from tests.wrappers.walk_env import make_walk_env

PACKAGES = (gymcore, gymnasium)
STICK = {"action_kind": "box"}

# Wrappers, their arguments, and arguments of the environment that they fit.
CASES: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "AddRenderObservation": ((False,), {"render_mode": "rgb_array"}),
    "AddWhiteNoise": ((0.5,), {"render_mode": "rgb_array"}),
    "Autoreset": ((), {"kind": "tuple"}),
    "ClipAction": ((), STICK),
    "ClipReward": ((-0.5, np.float64(0.5)), {"kind": "text"}),
    "DelayObservation": ((2,), {"kind": "multi_discrete"}),
    "DiscretizeAction": (((2, 3), True), STICK),
    "DiscretizeObservation": ((3,), {}),
    "DtypeObservation": ((np.float64,), {}),
    "FilterObservation": ((("position", "goal"),), {"kind": "dict"}),
    "FlattenObservation": ((), {"kind": "dict"}),
    "FrameStackObservation": ((3,), {"kind": "dict"}),
    "NormalizeObservation": ((1e-2,), {}),
    "NormalizeReward": ((0.9,), {"kind": "one_of"}),
    "ObstructView": ((0.5, 2), {"render_mode": "rgb_array"}),
    "OrderEnforcing": ((True,), {"kind": "graph"}),
    "PassiveEnvChecker": ((), {"kind": "multi_binary"}),
    "RecordEpisodeStatistics": ((5, "statistics"), {"kind": "sequence"}),
    "RenderCollection": ((True, False), {"render_mode": "rgb_array"}),
    "RepeatAction": ((3,), {"kind": "scalar"}),
    "RescaleAction": ((0, 1), STICK),
    "RescaleObservation": ((-1, 1), {}),
    "ReshapeObservation": (((9,),), {"kind": "image"}),
    "StickyAction": ((0.5, 2), {"kind": "discrete"}),
    "TimeAwareObservation": ((False,), {"kind": "dict"}),
    "TimeLimit": ((4,), {"kind": "dict"}),
}


@pytest.fixture(autouse=True, scope="module")
def registered() -> Any:
    """Register `WalkEnv` with both packages."""
    for package in PACKAGES:
        package.register("Walk-v0", entry_point=make_walk_env(package), max_episode_steps=6)
    yield
    for package in PACKAGES:
        del package.registry["Walk-v0"]


def life(package: ModuleType, wrap: Callable[[Any], Any], keywords: Any) -> list[Outcome]:
    """Return the outcome of every call of the life of a wrapped environment."""
    env = wrap(package.make("Walk-v0", **keywords))
    env.action_space.seed(7)
    outcomes: list[Outcome] = []

    def record(*calls: Callable[[], Any]) -> None:
        outcomes.extend(map(outcome, calls))

    def walk(walker: Any, steps: int) -> None:
        walker.action_space.seed(7)
        for _ in range(steps):
            action = walker.action_space.sample()
            record(functools.partial(step, walker, action))
            if outcomes[-1].error is not None or any(outcomes[-1].value[2:4]):
                record(lambda: without_times(walker.reset()))

    record(
        lambda: (str(env), repr(env), env.metadata, env.render_mode),
        lambda: (repr(env.observation_space), repr(env.action_space)),
        lambda: [(w.name, w.kwargs) for w in env.spec.additional_wrappers],
        lambda: env.step(env.action_space.sample()) and None,
        lambda: env.reset(seed=3, options={"x": 1}),
    )
    walk(env, 20)
    record(env.render, lambda: env.reset(seed=-1), lambda: env.reset(seed=2))
    for name in ("spec", "elapsed", "missing", "_max_episode_steps"):
        record(functools.partial(env.has_wrapper_attr, name))
        record(functools.partial(attribute, env, name))
    again = copy.deepcopy(env)
    if not keywords.get("render_mode"):  # copies of Gymnasium's draw the original
        walk(again, 6)
    record(lambda: str(package.make(env.spec)), env.close, env.close)
    return outcomes


def step(env: Any, action: Any) -> tuple[Any, ...]:
    return without_times(env.step(action))


def attribute(env: Any, name: str) -> str:
    return normal(str(env.get_wrapper_attr(name)))


def without_times(result: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the result of a call without the durations of episodes."""
    statistics = result[-1].get("statistics")
    return (*result[:-1], result[-1] if statistics is None else statistics | {"t": 0.0})


def assert_same_lives(wrap: Callable[[ModuleType, Any], Any], keywords: dict[str, Any]) -> None:
    ours, theirs = (life(gym, functools.partial(wrap, gym), keywords) for gym in PACKAGES)
    assert len(ours) == len(theirs) > 25
    for number, (mine, its) in enumerate(zip(ours, theirs, strict=True)):
        if its.error is not None:
            names = [cls.__name__ for cls in type(mine.error).__mro__]
            assert type(its.error).__name__ in names, (number, mine, its)
        else:
            assert mine.error is None, (number, mine, its)
            if isinstance(its.value, (str, list)) or number < 2:
                assert normal(repr(mine.value)) == normal(repr(its.value))
            else:
                assert_same(mine.value, its.value, f"call {number}")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("nested", [False, True])
def test_life(name: str, nested: bool) -> None:
    arguments, keywords = CASES[name]

    def wrap(package: ModuleType, env: Any) -> Any:
        wrapped = getattr(package.wrappers, name)(env, *arguments)
        return package.wrappers.TimeLimit(wrapped, 5) if nested else wrapped

    assert_same_lives(wrap, keywords)


def test_every_wrapper_with_simple_arguments_is_here() -> None:
    elsewhere = {"ArrayConversion", "AtariPreprocessing", "HumanRendering", "RecordVideo", "vector"}
    elsewhere |= {"JaxToNumpy", "JaxToTorch", "NumpyToTorch"}  # need other libraries
    elsewhere |= {"GrayscaleObservation", "ResizeObservation"}  # need images with colors
    elsewhere |= {"MaxAndSkipObservation"}  # Gymnasium's may include observations of earlier steps
    elsewhere |= {"TransformAction", "TransformObservation", "TransformReward"}  # take functions
    assert set(gymnasium.wrappers.__all__) - elsewhere == CASES.keys()
