"""Reset options of every built-in family: an unknown key is an error that changes nothing."""

from importlib import import_module

import numpy as np
import pytest

import gymcore as gym
from gymcore.error import ArgumentTypeError, InvalidArgument

IDS = {
    "CartPole-v1": "'low', 'high'",
    "Acrobot-v1": "'low', 'high'",
    "MountainCar-v0": "'low', 'high'",
    "MountainCarContinuous-v0": "'low', 'high'",
    "Pendulum-v1": "'x_init', 'y_init'",
    "Blackjack-v1": None,
    "FrozenLake-v1": None,
    "LunarLander-v3": None,
    "BipedalWalker-v3": None,
    "CarRacing-v3": "'randomize'",
    "HalfCheetah-v5": "'qpos', 'qvel'",
    "ALE/Pong-v5": None,
}
PYTHON_WORLDS = {
    "lunar_lander_python.LunarLander": None,
    "bipedal_walker_python.BipedalWalker": None,
    "car_racing_python.CarRacing": "'randomize'",
}


def _expected(keys):
    return f"expected {'no keys' if keys is None else f'the keys {keys}'}, got 'mine'"


@pytest.mark.parametrize("env_id", IDS)
def test_unknown_option(env_id):
    with gym.make(env_id) as env:
        before, _ = env.reset(seed=3)
        state = str(env.unwrapped.np_random.bit_generator.state)
        with pytest.raises(InvalidArgument, match=_expected(IDS[env_id])):
            env.reset(seed=4, options={"mine": 1})
        with pytest.raises(ArgumentTypeError, match="options: expected a dict or None, got"):
            env.reset(seed=4, options=["low"])
        assert str(env.unwrapped.np_random.bit_generator.state) == state
        assert np.array_equal(env.reset(seed=3, options={})[0], before)


@pytest.mark.slow
@pytest.mark.parametrize("env_id", IDS)
def test_unknown_option_of_a_batch(env_id):
    with gym.make_vec(env_id, num_envs=2) as envs:
        before, _ = envs.reset(seed=3)
        for mask in ({}, {"reset_mask": np.array([True, False])}):
            with pytest.raises(InvalidArgument, match=_expected(IDS[env_id])):
                envs.reset(seed=4, options={"mine": 1, **mask})
        after, _ = envs.reset(seed=3, options={})
        assert np.array_equal(np.asarray(after), np.asarray(before))


@pytest.mark.parametrize("path", PYTHON_WORLDS)
def test_unknown_option_of_a_python_world(path):
    module, name = path.split(".")
    env = getattr(import_module(f"gymcore.envs.box2d.{module}"), name)()
    with env, pytest.raises(InvalidArgument, match=_expected(PYTHON_WORLDS[path])):
        env.reset(options={"mine": 1})
