"""Subclasses of Box2D environments with a step of their own, and the names that they import."""

from __future__ import annotations

import importlib
from typing import Any

import gymnasium
import numpy as np
import pytest

import gymcore
from gymcore import error
from tests.for_each import for_each
from tests.testing_env import assert_same

pytest.importorskip("Box2D")


@for_each("module", ["lunar_lander", "bipedal_walker", "car_racing", "car_dynamics"])
def test_constants_that_programs_import(module: str) -> None:
    ours, theirs = (
        importlib.import_module(f"{package}.envs.box2d.{module}")
        for package in ("gymcore", "gymnasium")
    )
    for name, value in vars(theirs).items():
        if name.isupper() and not name.startswith("__"):
            assert hasattr(ours, name), name
            if isinstance(value, int | float | list | tuple):
                assert_same(getattr(ours, name), value)
    assert module != "car_racing" or ours.Car.__name__ == "Car"


def pushed(package: Any) -> Any:
    """Return a lander whose step pushes it, and makes a particle."""
    module = importlib.import_module(f"{package.__name__}.envs.box2d.lunar_lander")

    class Pushed(module.LunarLander):  # type: ignore[misc, name-defined]
        def step(self, action: Any) -> Any:
            spot = (self.lander.position[0], self.lander.position[1] - 4 / module.SCALE)
            particle = self._create_particle(3.5, *spot, 1.0)
            particle.ApplyLinearImpulse((0.0, 1.0), spot, True)
            particle.ttl = -1.0 if action else 1.0
            self.lander.ApplyLinearImpulse((0.0, 1.0), spot, True)
            self.world.Step(1.0 / module.FPS, 180, 60)
            bodies = len(self.world.bodies)
            return np.array([*self.lander.position, *particle.position, bodies]), 0.0, False, 0, {}

    return Pushed()


def test_a_lander_with_particles_of_a_subclass() -> None:
    envs = [pushed(package) for package in (gymcore, gymnasium)]
    for _ in range(2):
        ours, theirs = (env.reset(seed=3)[0] for env in envs)
        np.testing.assert_array_equal(ours, theirs)
        for action in (0, 1, 1, 0):
            ours, theirs = (env.step(action)[0] for env in envs)
            np.testing.assert_array_equal(ours, theirs)
    for env in envs:
        env._clean_particles(True)
    assert len({len(env.world.bodies) for env in envs}) == 1
    env = envs[0]
    env._destroy()
    assert env.lander is None and not env._world.bodies
    assert env.reset(seed=3)[0].shape == (5,)
    with pytest.raises(error.ResetNeeded, match="_create_particle"):
        pushed(gymcore)._create_particle(1.0, 0.0, 0.0, 1.0)


@for_each("env_id", ["LunarLander-v3", "LunarLanderContinuous-v3", "BipedalWalker-v3"])
def test_reset_steps_by_the_step_of_a_subclass(env_id: str) -> None:
    results = []
    for package in (gymcore, gymnasium):
        base: Any = type(package.make(env_id).unwrapped)

        def step(self: Any, action: Any, base: Any = base) -> Any:
            observation, reward, *rest = base.step(self, action)
            return observation + 1, reward, *rest

        keywords = {"continuous": True} if "Continuous" in env_id else {}
        env = type("Mine", (base,), {"step": step})(**keywords)
        env.action_space.seed(1)
        actions = [env.action_space.sample() for _ in range(20)]
        observations = [env.reset(seed=5)[0], *(env.step(action)[0] for action in actions)]
        results.append([*observations, env.reset()[0]])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_array_equal(ours, theirs)


POWERS = {"main_engine_power": 9.5, "side_engine_power": 1.25, "initial_random": 400.0}


def test_powers_of_engines_are_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("gymnasium.envs.box2d.lunar_lander")
    for name, value in POWERS.items():
        monkeypatch.setattr(module, name.upper(), value)
    env = gymcore.make("LunarLander-v3", **POWERS)
    envs = gymcore.make_vec("LunarLander-v3", 2)
    for name, value in POWERS.items():
        envs.set_attr(name, [getattr(env.unwrapped, name) + 1, value])
    theirs = gymnasium.make("LunarLander-v3")
    lanes = envs.reset(seed=[4, 5])[0]
    ours, expected = env.reset(seed=5)[0], theirs.reset(seed=5)[0]
    for k in range(40):
        np.testing.assert_array_equal(ours, expected)
        np.testing.assert_array_equal(lanes[1], expected)
        action = (k // 5) % 4
        lanes = envs.step([0, action])[0]
        ours, expected = env.step(action)[0], theirs.step(action)[0]
    again = gymcore.make("LunarLander-v3")
    again.reset(seed=1)
    again.unwrapped.set_state(env.unwrapped.get_state())
    assert again.unwrapped.main_engine_power == 9.5
    np.testing.assert_array_equal(again.step(2)[0], env.step(2)[0])


@for_each("name", [*POWERS, "dispersion"])
def test_powers_are_checked(name: str) -> None:
    env: Any = gymcore.make("LunarLander-v3").unwrapped
    for value, kind in ((-1.0, ValueError), (2e6, ValueError), ("1", TypeError)):
        with pytest.raises(kind, match=name):
            setattr(env, name, value)


def test_dispersion_scales_the_scatter() -> None:
    speeds = []
    for dispersion in (0.0, 1.0):
        env = gymcore.make("LunarLander-v3", dispersion=dispersion, initial_random=0.0)
        env.reset(seed=3)
        speeds.append(float(env.step(2)[0][2]))
    assert abs(speeds[0]) < 1e-5 < 1e-4 < abs(speeds[1])
