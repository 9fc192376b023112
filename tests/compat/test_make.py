"""`make` and `register` with the arguments they had in Gym 0.26."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gymcore
from gymcore.compat import EnvCompatibility
from gymcore.compat.gym26.wrappers import AutoResetWrapper
from gymcore.envs.registration import EnvSpec
from tests.compat.old import OldEnv


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    here = f"{OldEnv.__module__}:OldEnv"
    gymcore.register("Old-v0", entry_point=here, max_episode_steps=2)
    gymcore.register("Declared-v0", entry_point=here, autoreset=True, apply_api_compatibility=True)
    yield
    for name in ("Old-v0", "Declared-v0"):
        gymcore.registry.pop(name)


def layers(env: Any) -> list[str]:
    names = [type(env).__name__]
    while isinstance(env, gymcore.Wrapper):
        env = env.env
        names.append(type(env).__name__)
    return names


def test_an_old_environment() -> None:
    env = gymcore.make("Old-v0", apply_api_compatibility=True, length=9)
    assert layers(env) == ["TimeLimit", "OrderEnforcing", "PassiveEnvChecker", "EnvCompatibility"]
    observation, info = env.reset(seed=4)
    assert observation.tolist() == [4, 0] and info == {}
    assert [env.step(0)[2:4] for _ in range(2)] == [(False, False), (False, True)]
    assert env.unwrapped.length == 9
    again = gymcore.make(EnvSpec.from_json(env.spec.to_json()))
    assert layers(again) == layers(env) and again.unwrapped.length == 9


def test_the_render_mode_is_not_the_constructors() -> None:
    env = gymcore.make("Old-v0", apply_api_compatibility=True, render_mode="rgb_array")
    env.reset()
    assert env.render_mode == "rgb_array" and env.render().shape == (2, 2, 3)
    env = gymcore.make("Old-v0", apply_api_compatibility=True, render_mode="rgb_array_list")
    env.reset()
    env.step(0)
    assert len(env.render()) == 2
    assert gymcore.make(env.spec).render_mode == "rgb_array_list"


def test_autoreset() -> None:
    env = gymcore.make("CartPole-v1", max_episode_steps=2, autoreset=True)
    assert layers(env)[:2] == ["AutoResetWrapper", "TimeLimit"]
    env.reset(seed=1)
    env.step(0)
    observation, _, _, truncated, info = env.step(0)
    assert truncated and info["final_info"] == {}
    assert info["final_observation"].tolist() != observation.tolist()
    assert abs(observation).max() <= 0.05  # a first one
    again = gymcore.make(EnvSpec.from_json(env.spec.to_json()))
    assert layers(again) == layers(env)
    assert layers(gymcore.make("CartPole-v1", autoreset=False))[0] == "TimeLimit"
    collected = gymcore.make("CartPole-v1", autoreset=True, render_mode="rgb_array_list")
    assert layers(collected)[:2] == ["RenderCollection", "AutoResetWrapper"]


def test_registered_with_both() -> None:
    spec = gymcore.spec("Declared-v0")
    assert spec.autoreset and spec.apply_api_compatibility
    assert spec == EnvSpec.from_json(spec.to_json())
    assert EnvSpec.from_json(spec.to_json()).apply_api_compatibility
    env = gymcore.make("Declared-v0")
    assert isinstance(env, AutoResetWrapper) and isinstance(env.unwrapped, EnvCompatibility)
    again = gymcore.make(EnvSpec.from_json(env.spec.to_json()))
    assert layers(again) == layers(env) and layers(env).count("AutoResetWrapper") == 1
    env = gymcore.make("Declared-v0", autoreset=False)
    assert "AutoResetWrapper" not in layers(env)
    assert layers(gymcore.make(env.spec)) == layers(env)


def test_registered_without() -> None:
    spec = gymcore.spec("CartPole-v1")
    assert not spec.autoreset and not spec.apply_api_compatibility
    assert "autoreset" not in spec.to_json() and "autoreset" not in repr(spec)
    with pytest.warns(UserWarning, match="render_modes"), pytest.raises(TypeError):
        gymcore.make("Old-v0")  # no Env, and nobody said that it is an old one


def test_parameters_of_the_entry_point_are_its_own() -> None:
    class Own(gymcore.Env):
        observation_space = action_space = gymcore.spaces.Discrete(2)

        def __init__(self, autoreset: bool = False) -> None:
            self.autoreset = autoreset

    env = gymcore.make(EnvSpec("Own-v0", entry_point=Own), autoreset=True)
    assert env.unwrapped.autoreset and "AutoResetWrapper" not in layers(env)


def test_a_batch_of_old_environments() -> None:
    envs = gymcore.vector.make("Old-v0", num_envs=2, apply_api_compatibility=True, length=9)
    assert envs.reset(seed=4)[0].tolist() == [[4, 0], [5, 0]]
    envs.step([0, 0])
    observations, *_, truncations, infos = envs.step([0, 0])
    assert truncations.all() and observations.tolist() == [[4, 0], [5, 0]]
    np.testing.assert_array_equal(infos["final_observation"][1], [5, 2])
