"""The four benchmarks report their counts for any environment; no time is asserted."""

from __future__ import annotations

import inspect

import gymnasium.utils.performance
import pytest

import gymcore
from gymcore.utils import performance
from gymcore.vector import AutoresetMode, SyncVectorEnv
from tests.testing_env import make_counting_env

CountingEnv = make_counting_env(gymcore)


def test_steps_and_resets_are_made_as_they_should():
    env = CountingEnv(length=3)
    rate = performance.benchmark_step(env, target_duration=0, seed=5)
    assert type(rate) is float and rate > 0
    assert env.seed == 5 and len(env.actions) == 64
    assert env.num_resets == 1 + 64 // 3 and env.num_closed == 0


def test_the_actions_depend_on_the_seed():
    actions = []
    for seed in (1, 1, 2):
        env = CountingEnv()
        performance.benchmark_step(env, target_duration=0, seed=seed)
        actions.append(env.actions)
    assert actions[0] == actions[1] != actions[2]


@pytest.mark.parametrize("mode", AutoresetMode)
def test_vector_steps_in_every_mode(mode):
    envs = SyncVectorEnv([lambda: CountingEnv(length=2)] * 3, autoreset_mode=mode)
    assert performance.benchmark_vector_step(envs, target_duration=0, seed=5) > 0
    assert [env.seed for env in envs.envs] == [5, 6, 7]
    steps, resets = len(envs.envs[0].actions), envs.envs[0].num_resets
    assert steps + (resets - 1) * (mode is AutoresetMode.NEXT_STEP) == 16
    assert resets - 1 == 16 // (3 if mode is AutoresetMode.NEXT_STEP else 2)
    assert not envs.closed


def test_environments_are_made_reset_and_closed():
    made = []
    rate = performance.benchmark_init(
        lambda: made.append(CountingEnv()) or made[-1], target_duration=0, seed=7
    )
    assert rate > 0
    assert [(env.seed, env.num_resets, env.num_closed) for env in made] == [(7, 1, 1)]


def test_frames_are_rendered():
    env = gymcore.make("CartPole-v1", render_mode="rgb_array")
    env.reset(seed=1)
    assert performance.benchmark_render(env, target_duration=0) > 0
    env.close()


@pytest.mark.parametrize("name", performance.__all__)
def test_the_signatures_are_gymnasiums(name):
    ours = inspect.signature(getattr(performance, name)).parameters.values()
    theirs = inspect.signature(getattr(gymnasium.utils.performance, name)).parameters.values()
    assert [(p.name, p.default) for p in ours] == [(p.name, p.default) for p in theirs]
