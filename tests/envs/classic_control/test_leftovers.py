"""Attributes of Gymnasium's classic control environments that programs read."""

from __future__ import annotations

import copy
import pickle

import gymnasium
import numpy as np
import pytest

import gymcore

IDS = ("CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1", "Acrobot-v1")


def test_batch_of_one_cart_has_the_state_of_gymnasiums():
    pairs = [gym.make_vec("CartPole-v1", num_envs=1).unwrapped for gym in (gymcore, gymnasium)]
    ours, theirs = pairs
    assert ours.state is None
    for env in pairs:
        env.reset(seed=3)
    for _ in range(25):
        assert ours.state.shape == theirs.state.shape
        np.testing.assert_allclose(ours.state, theirs.state, rtol=1e-6, atol=1e-8)
        for env in pairs:
            env.step(np.array([1]))
        np.testing.assert_array_equal(ours.prev_done, theirs.prev_done)


def test_torque_noise_is_gymnasiums():
    ours, theirs = (gym.make("Acrobot-v1").unwrapped for gym in (gymcore, gymnasium))
    assert ours.torque_noise_max == theirs.torque_noise_max == 0.0
    for env in (ours, theirs):
        env.torque_noise_max = 0.5
    np.testing.assert_array_equal(ours.reset(seed=3)[0], theirs.reset(seed=3)[0])
    for step in range(100):
        one, other = ours.step(step % 3), theirs.step(step % 3)
        np.testing.assert_allclose(one[0], other[0], rtol=1e-4, atol=1e-5)
        assert one[1:4] == other[1:4]
    assert ours.AVAIL_TORQUE == [-1, 0, 1]
    assert ours.np_random.bit_generator.state == theirs.np_random.bit_generator.state


@pytest.mark.parametrize("env_id", IDS)
def test_window_attributes_before_there_is_a_window(env_id):
    ours, theirs = (
        gym.make(env_id, render_mode="rgb_array").unwrapped for gym in (gymcore, gymnasium)
    )
    for env in (ours, theirs):
        assert (env.screen, env.clock, env.isopen) == (None, None, True)
    ours.close()
    assert not ours.isopen


@pytest.mark.parametrize("env_id", IDS)
def test_generators_spawn_what_gymnasiums_spawn(env_id):
    ours, theirs = (gym.make(env_id).unwrapped for gym in (gymcore, gymnasium))
    for env in (ours, theirs):
        env.reset(seed=5)
    for _ in range(2):
        pairs = zip(ours.np_random.spawn(2), theirs.np_random.spawn(2), strict=True)
        assert all(one.random() == other.random() for one, other in pairs)
    assert ours.np_random.random() == theirs.np_random.random()


def test_copies_of_generators_spawn_too():
    env = gymcore.make("CartPole-v1").unwrapped
    env.reset(seed=5)
    expected = copy.deepcopy(env.np_random).spawn(1)[0].random()
    assert pickle.loads(pickle.dumps(env.np_random)).spawn(1)[0].random() == expected
    assert env.np_random.spawn(1)[0].random() == expected


def test_a_stream_of_unknown_seed_does_not_spawn():
    envs = gymcore.make_vec("CartPole-v1", num_envs=2)
    envs.reset(seed=5)
    with pytest.raises(TypeError, match="seed of this random stream is not known"):
        envs.np_random[0].spawn(1)


@pytest.mark.parametrize("kind", ["drawn", "float64", "float32"])
def test_first_steps_of_the_continuous_mountain_car(kind):
    """Gymnasium computes the first step in float64, also from numbers that a float32 holds."""
    ours, theirs = (lib.make("MountainCarContinuous-v0").unwrapped for lib in (gymcore, gymnasium))
    random = np.random.default_rng(0)
    for _ in range(300):
        start = float(np.float32(random.uniform(-0.6, -0.4)))
        steps = []
        for env in (ours, theirs):
            env.reset(seed=1, options={"low": start, "high": start})
            if kind != "drawn":
                env.state = np.array([start, 0.01], kind)
                assert env.state.dtype == kind
            steps.append(env.step(np.array([random.uniform(-1.2, 1.2)], np.float32))[:2])
            random.bit_generator.advance(-1)
        random.random()
        assert env.state.dtype == ours.state.dtype == np.float32
        np.testing.assert_array_equal(steps[0][0], steps[1][0])
        assert steps[0][1] == steps[1][1]
    states = gymcore.make_vec("MountainCarContinuous-v0", 2)
    states.reset(seed=1)
    assert [state.shape for state in states.get_attr("state")] == [(2,), (2,)]
