"""Environments of the package `gym` under Gymnasium's ids, with their spaces as gymcore's."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any, ClassVar

import gymnasium
import numpy as np
import pytest

import gymcore
from gymcore import error
from gymcore.compat.gym_envs import GymV26Environment
from tests.compat.old import OldEnv


class ForeignEnv:
    """An environment with today's interface and the spaces of another package."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"], "render_fps": 7}
    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(3)

    def __init__(self, render_mode: str | None = None, length: int = 2) -> None:
        self.render_mode = render_mode
        self.length = length
        self.closed = False
        self.np_random = np.random.default_rng(0)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.elapsed = 0
        if seed is not None:
            self.np_random = np.random.default_rng(seed)
        return self.np_random.random(2, np.float32), {"options": options}

    def step(self, action: int) -> Any:
        self.elapsed += 1
        return np.zeros(2, np.float32), float(action), self.elapsed == self.length, False, {}

    def render(self) -> Any:
        return np.full((2, 2, 3), self.elapsed, np.uint8)

    def close(self) -> None:
        self.closed = True


def test_an_environment_with_the_interface_of_today() -> None:
    inner = ForeignEnv("rgb_array")
    env = gymcore.make("GymV26Environment-v0", env=inner)
    assert isinstance(env.unwrapped, GymV26Environment)
    assert isinstance(env.observation_space, gymcore.spaces.Box)
    assert env.action_space == gymcore.spaces.Discrete(3)
    assert (env.render_mode, env.metadata["render_fps"]) == ("rgb_array", 7)
    observation, info = env.reset(seed=5, options={"a": 1})
    assert np.array_equal(observation, np.random.default_rng(5).random(2, np.float32))
    assert info == {"options": {"a": 1}}
    assert env.np_random is inner.np_random
    assert env.step(2)[1:4] == (2.0, False, False)
    assert env.step(2)[1:4] == (2.0, True, False)
    assert env.render().max() == 2
    assert env.get_wrapper_attr("length") == 2
    env.close()
    assert inner.closed


def test_batches_of_them() -> None:
    def make() -> Any:
        return gymcore.make("GymV26Environment-v0", env=ForeignEnv())

    with gymcore.vector.SyncVectorEnv([make, make]) as envs:
        observations, _ = envs.reset(seed=1)
        assert observations.shape == (2, 2)
        assert envs.step(np.array([1, 2]))[1].tolist() == [1.0, 2.0]


def test_an_old_environment() -> None:
    env = gymcore.make("GymV21Environment-v0", env=OldEnv(limited=True), render_mode="rgb_array")
    observation, info = env.reset(seed=5)
    assert observation.tolist() == [5, 0]
    assert info == {}
    assert [env.step(1)[2:4] for _ in range(3)] == [(False, False), (False, False), (False, True)]
    assert env.render().max() == 3


def test_made_by_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def make(env_id: str, **kwargs: Any) -> ForeignEnv:
        asked.append((env_id, kwargs))
        return ForeignEnv(**kwargs)

    monkeypatch.setitem(sys.modules, "gym", SimpleNamespace(make=make))
    options: dict[str, Any] = {"env_id": "Foreign-v0", "make_kwargs": {"length": 9}}
    env = gymcore.make("GymV26Environment-v0", render_mode="rgb_array", **options)
    assert asked == [("Foreign-v0", {"length": 9, "render_mode": "rgb_array"})]
    assert env.render_mode == "rgb_array"
    assert env.spec is not None
    assert gymcore.make(env.spec).get_wrapper_attr("length") == 9


@pytest.mark.parametrize("env_id", ["GymV21Environment-v0", "GymV26Environment-v0"])
def test_without_the_package(monkeypatch: pytest.MonkeyPatch, env_id: str) -> None:
    monkeypatch.setitem(sys.modules, "gym", None)
    for arguments in ({}, {"env_id": "CartPole-v1"}):
        with pytest.raises(
            ImportError, match="gym compatibility environments, run `pip inst"
        ) as ours:
            gymcore.make(env_id, **arguments)
        assert isinstance(ours.value, error.DependencyNotInstalled)
        with pytest.raises(ImportError, match="gym compatibility environments, run `pip inst"):
            gymnasium.make(env_id, **arguments)


def test_wrong_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gym", SimpleNamespace(make=None))
    with pytest.raises(error.ArgumentTypeError, match="env_id: expected an id of `gym`"):
        gymcore.make("GymV26Environment-v0")
    with pytest.raises(
        error.InvalidArgument, match=r"env_id: expected either env_id .* or env, got"
    ):
        GymV26Environment("A-v0", env=ForeignEnv())
    with pytest.raises(
        error.InvalidArgument, match="render_mode: expected the render mode of env, None, got"
    ):
        GymV26Environment(env=ForeignEnv(), render_mode="rgb_array")
