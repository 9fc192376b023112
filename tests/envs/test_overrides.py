"""Subclasses that override parts of Gymnasium's steps: called, or refused at definition."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import gymnasium
import numpy as np
import pytest

import gymcore
from gymcore import error
from tests.for_each import for_each
from tests.testing_env import assert_same

OBSERVERS = {"Pendulum-v1": "_get_obs", "Acrobot-v1": "_get_ob", "Blackjack-v1": "_get_obs"}
REFUSED = {
    "Acrobot-v1": "_terminal",
    "BipedalWalker-v3": "_generate_terrain",
    "CliffWalking-v1": "_limit_coordinates",
    "Taxi-v4": "_pickup",
}


def subclass(gym: Any, env_id: str, **members: Any) -> type:
    return type("Mine", (type(gym.make(env_id).unwrapped),), members)


@for_each("env_id", list(OBSERVERS))
def test_a_subclass_may_observe(env_id: str) -> None:
    results: list[Any] = []
    for gym in (gymcore, gymnasium):
        name = OBSERVERS[env_id]
        base = type(gym.make(env_id).unwrapped)

        def observe(self: Any, base: Any = base, name: str = name) -> Any:
            return np.array([*getattr(base, name)(self)[:-1], 7.0])

        env = subclass(gym, env_id, **{name: observe})()
        action = env.action_space
        action.seed(1)
        results.append([env.reset(seed=1)[0], *(env.step(action.sample())[0] for _ in range(2))])
    for ours, theirs in zip(*results, strict=True):
        assert ours[-1] == 7.0
        assert_same(ours.shape, theirs.shape)
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


@for_each("env_id", list(REFUSED))
def test_what_compiled_steps_never_call_is_refused(env_id: str) -> None:
    name = REFUSED[env_id]
    with pytest.raises(error.Error, match=rf"Mine\.{name}: the compiled step never calls it"):
        subclass(gymcore, env_id, **{name: lambda self: None})

    def step(self: Any, action: Any) -> Any:
        return 0, 0.0, False, False, {}

    env = subclass(gymcore, env_id, **{name: lambda self: None, "step": step})()
    env.reset(seed=1)
    assert env.step(0)[0] == 0


# Gymnasium's classes read it when they are made, as ours do.
HONOURED = {"dt"}
OTHERS = {"step", "reset", "close", "render", "np_random", "np_random_seed"}


def methods_of(cls: type) -> dict[str, Any]:
    """Return the members of Gymnasium's class, bases included: methods and properties."""
    return {
        name: value
        for base in reversed(cls.__mro__)
        if base is not gymnasium.Env and base.__module__.startswith("gymnasium.envs")
        for name, value in vars(base).items()
        if isinstance(value, property | FunctionType)
        and not name.startswith("__")
        and name not in OTHERS
    }


def called(base: type, name: str, value: Any) -> list[str]:
    """Override one name in a subclass; return the calls that used the override."""
    calls: list[str] = []
    phase = "init"

    def method(self: Any, *arguments: Any, **options: Any) -> Any:
        calls.append(phase)
        return getattr(super(cls, self), name)(*arguments, **options)

    def read(self: Any) -> Any:
        calls.append(phase)
        return getattr(super(cls, self), name)

    cls: Any = type("Mine", (base,), {name: property(read) if type(value) is property else method})
    env = cls()
    phase = "reset"
    env.reset(seed=1)
    phase = "step"
    env.step(env.action_space.sample())
    return calls


@pytest.mark.filterwarnings("ignore:.*out of date")
@for_each(
    "env_id",
    [
        *OBSERVERS,
        *("CartPole-v1", "Taxi-v4", "Ant-v4", "Ant-v5", "Hopper-v5", "Reacher-v5"),
        *("LunarLander-v3", "BipedalWalker-v3", "CarRacing-v3"),
    ],
)
def test_whatever_gymnasium_calls_is_called_or_refused(env_id: str) -> None:
    bases = [type(gym.make(env_id).unwrapped) for gym in (gymcore, gymnasium)]
    for name, value in methods_of(bases[1]).items():
        theirs = set(called(bases[1], name, value)) - {"init"}
        try:
            ours = called(bases[0], name, value)
        except error.Error as refusal:
            assert f"Mine.{name}: " in str(refusal)
        else:
            assert theirs <= set(ours) or (name in HONOURED and ours), name


def test_overrides_of_other_kinds() -> None:
    base = type(gymcore.make("Ant-v5").unwrapped)

    class Mixin:
        is_healthy = property(lambda self: True)

    with pytest.raises(error.Error, match=r"Mine\.is_healthy: the compiled step never calls it"):
        type("Mine", (Mixin, base), {})
    for override in (True, staticmethod(lambda: True)):
        with pytest.raises(error.Error, match="never calls it"):
            type("Mine", (base,), {"is_healthy": override})
    type("Mine", (base,), {"healthy_reward": 2.0})  # fixes the weight
