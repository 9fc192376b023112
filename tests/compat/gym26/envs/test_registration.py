"""`make` and `register` with the arguments they had in Gym 0.26."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gymcore
from gymcore.compat import EnvCompatibility, gym21, gym26
from gymcore.compat.gym26.wrappers import AutoResetWrapper
from gymcore.envs.registration import EnvSpec
from tests.compat.old import OldEnv


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    here = f"{OldEnv.__module__}:OldEnv"
    gym26.register("Old-v0", entry_point=here, max_episode_steps=2)
    gym26.register("Declared-v0", entry_point=here, autoreset=True, apply_api_compatibility=True)
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
    env = gym26.make("Old-v0", apply_api_compatibility=True, length=9)
    assert layers(env) == ["TimeLimit", "OrderEnforcing", "PassiveEnvChecker", "EnvCompatibility"]
    observation, info = env.reset(seed=4)
    assert observation.tolist() == [4, 0] and info == {}
    assert [env.step(0)[2:4] for _ in range(2)] == [(False, False), (False, True)]
    assert env.unwrapped.length == 9
    again = gym26.make(env.spec)
    assert layers(again) == layers(env) and again.unwrapped.length == 9
    assert layers(gymcore.make(env.spec)) == layers(env)


def test_the_render_mode_is_not_the_constructors() -> None:
    env = gym26.make("Old-v0", apply_api_compatibility=True, render_mode="rgb_array")
    env.reset()
    assert env.render_mode == "rgb_array" and env.render().shape == (2, 2, 3)
    env = gym26.make("Old-v0", apply_api_compatibility=True, render_mode="rgb_array_list")
    env.reset()
    env.step(0)
    assert len(env.render()) == 2
    assert gym26.make(env.spec).render_mode == "rgb_array_list"


def test_autoreset() -> None:
    env = gym26.make("CartPole-v1", max_episode_steps=2, autoreset=True)
    assert layers(env)[:2] == ["AutoResetWrapper", "TimeLimit"]
    env.reset(seed=1)
    env.step(0)
    observation, _, _, truncated, info = env.step(0)
    assert truncated and info["final_info"] == {}
    assert info["final_observation"].tolist() != observation.tolist()
    assert abs(observation).max() <= 0.05  # the first of an episode
    again = gym26.make(EnvSpec.from_json(env.spec.to_json()))
    assert layers(again) == layers(env)
    assert layers(gym26.make("CartPole-v1", autoreset=False))[0] == "TimeLimit"
    collected = gym26.make("CartPole-v1", autoreset=True, render_mode="rgb_array_list")
    assert layers(collected)[:2] == ["RenderCollection", "AutoResetWrapper"]


def test_registered_with_both() -> None:
    for make in (gym26.make, gymcore.make):
        env = make("Declared-v0")
        assert isinstance(env, AutoResetWrapper) and isinstance(env.unwrapped, EnvCompatibility)
        assert layers(make(env.spec)) == layers(env)
        assert layers(env).count("AutoResetWrapper") == 1


def test_registered_without() -> None:
    with pytest.warns(UserWarning, match="render_modes"), pytest.raises(TypeError):
        gym26.make("Old-v0")  # not an Env, and not declared as an old one
    with pytest.raises(TypeError), pytest.warns(UserWarning, match="render_modes"):
        gym26.make("Declared-v0", apply_api_compatibility=False)
    for name in ("autoreset", "apply_api_compatibility"):
        assert not hasattr(gymcore.spec("CartPole-v1"), name)
        with pytest.raises(TypeError, match=name):
            gymcore.make("CartPole-v1", **{name: True})


def test_every_layer_is_of_this_era() -> None:
    env = gym26.make("CartPole-v1", render_mode="rgb_array_list")
    assert layers(env)[:2] == ["RenderCollection", "TimeLimit"]
    assert round(env.gravity, 1) == 9.8 and env.env._max_episode_steps == 500
    while isinstance(env, gymcore.Wrapper):
        assert isinstance(env, gym26.Wrapper)
        env = env.env


def test_a_batch_of_old_environments() -> None:
    envs = gym26.vector.make("Old-v0", num_envs=2, apply_api_compatibility=True, length=9)
    assert envs.reset(seed=4)[0].tolist() == [[4, 0], [5, 0]]
    envs.step([0, 0])
    observations, *_, truncations, infos = envs.step([0, 0])
    assert truncations.all() and observations.tolist() == [[4, 0], [5, 0]]
    np.testing.assert_array_equal(infos["final_observation"][1], [5, 2])


def test_the_namespaces_have_the_registry_and_the_environments() -> None:
    for era in (gym26, gym21):
        assert era.envs.registration.make is era.envs.make is era.make
        assert era.envs.registration.register is era.envs.register is era.register
        for name in era.__all__:
            assert getattr(era, name) is not None
    assert gym26.envs.classic_control.CartPoleEnv is gymcore.envs.classic_control.CartPoleEnv
    assert gym21.envs.registry.env_specs is gym26.envs.registry is gymcore.registry
    assert "CartPole-v1" in [spec.id for spec in gym21.envs.registry.all()]
