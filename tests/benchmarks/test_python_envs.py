from __future__ import annotations

import time

import gymnasium
import numpy as np
import pytest

import gymcore

KINDS = ("Nothing", "PlainCartPole", "Busy", "Brief", "Uneven", "Image")


@pytest.fixture
def python_envs(loaded):
    return loaded.python_envs


def test_every_kind_is_tested(python_envs):
    assert set(python_envs.KINDS) == set(KINDS)


@pytest.mark.parametrize("name", KINDS)
def test_all_libraries_run_the_same_step_code(python_envs, name):
    envs = {
        library: python_envs.factories(library.__name__, name, 3)[1]()
        for library in (gymcore, gymnasium)
    }
    ours, theirs = envs.values()
    assert type(ours).step is type(theirs).step
    for library, env in envs.items():
        assert isinstance(env, library.Env)
        assert isinstance(env.observation_space, library.spaces.Box)
        assert isinstance(env.action_space, library.spaces.Discrete)
        observation, info = env.reset(seed=1)
        assert observation in env.observation_space and info == {}
        observation, reward, terminated, truncated, info = env.step(np.int64(1))
        assert observation in env.observation_space and info == {}
        assert (type(reward), terminated, truncated) == (float, False, False)


def test_the_plain_cart_pole_is_the_cart_pole(python_envs):
    """Compare it with the compiled one, from the same seed, over whole episodes."""
    plain = python_envs.factories("gymcore", "PlainCartPole", 1)[0]()
    compiled = gymcore.make("CartPole-v1")
    generator = np.random.default_rng(0)
    for episode in range(6):
        # Random actions let the pole fall at once; pushing toward its lean and turn keeps it up.
        balance = episode % 2
        ours, _ = plain.reset(seed=episode)
        theirs, _ = compiled.reset(seed=episode)
        np.testing.assert_array_equal(ours, theirs)
        ended = False
        while not ended:
            # Upright is unstable: a difference in the last bit would grow. Step from equal states.
            plain._state = tuple(compiled.unwrapped.state.tolist())
            action = int(theirs[2] + theirs[3] > 0) if balance else int(generator.integers(2))
            ours, *of_ours, _ = plain.step(np.int64(action))
            theirs, *of_theirs, _ = compiled.step(action)
            np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-12)
            assert of_ours == of_theirs
            ended = of_theirs[1] or of_theirs[2]
        assert of_ours[2] == bool(balance), "the time limit ends the balanced ones"


def test_one_lane_in_eight_is_slow(python_envs):
    lanes = [make() for make in python_envs.factories("gymcore", "Uneven", 17)]
    seconds = [lane._seconds for lane in lanes]
    assert [k for k, each in enumerate(seconds) if each == pytest.approx(4e-3)] == [0, 8, 16]
    assert sorted(set(seconds)) == pytest.approx([200e-6, 4e-3])


def test_a_busy_step_takes_its_processor_time(python_envs):
    env = python_envs.factories("gymcore", "Busy", 1)[0]()
    before = time.thread_time()
    env.step(0)
    assert time.thread_time() - before >= 200e-6


def test_each_step_brings_another_image(python_envs):
    env = python_envs.factories("gymcore", "Image", 1)[0]()
    first, _ = env.reset()
    second, *_ = env.step(0)
    third, *_ = env.step(0)
    assert first.shape == (84, 84, 4) and first.dtype == np.uint8
    assert not np.array_equal(first, second) and not np.array_equal(second, third)
