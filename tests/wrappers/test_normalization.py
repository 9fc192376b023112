"""NormalizeObservation and NormalizeReward of a single environment."""

from __future__ import annotations

import copy
import json
from typing import Any

import gymnasium
import numpy as np
import pytest

import gymcore
from gymcore import error
from gymcore.wrappers import NormalizeObservation, NormalizeReward
from gymcore.wrappers.utils import RunningMeanStd
from tests.testing_env import assert_same, make_space
from tests.wrappers.side_by_side import check_side_by_side
from tests.wrappers.walk_env import make_walk_env

KINDS = ("box", "image", "scalar", "discrete", "multi_discrete", "multi_binary")


def rms(statistics: Any) -> dict[str, Any]:
    return {name: getattr(statistics, name) for name in ("mean", "var", "count")}


@pytest.mark.parametrize("kind", KINDS)
def test_observations_are_gymnasiums_to_the_bit(kind):
    made: dict[Any, Any] = {}

    def wrap(package, env):
        made[package] = package.wrappers.NormalizeObservation(env, epsilon=1e-6)
        return made[package]

    check_side_by_side(wrap, kind=kind)
    assert_same(rms(made[gymcore].obs_rms), rms(made[gymnasium].obs_rms))


def test_rewards_are_gymnasiums_to_the_bit():
    made: dict[Any, Any] = {}

    def wrap(package, env):
        made[package] = package.wrappers.NormalizeReward(env, gamma=0.9)
        return made[package]

    check_side_by_side(wrap)
    ours, theirs = made[gymcore], made[gymnasium]
    assert_same(rms(ours.return_rms), rms(theirs.return_rms))
    assert_same(ours.discounted_reward, theirs.discounted_reward)


@pytest.mark.parametrize("reward", [3, True, np.float32(2.5), np.int64(-4), np.inf, np.nan])
def test_rewards_of_any_type(reward):
    def run(package):
        class Paying(make_walk_env(package)):
            def step(self, action):
                observation, _, *rest = super().step(action)
                return observation, reward, *rest

        env = package.wrappers.NormalizeReward(Paying())
        env.reset(seed=0)
        with np.errstate(invalid="ignore"):
            return [env.step(0)[1] for _ in range(3)], env.return_rms.count

    assert_same(run(gymcore), run(gymnasium))


def test_statistics_are_frozen_saved_and_restored():
    make = make_walk_env()
    env = NormalizeObservation(NormalizeReward(make()))
    env.reset(seed=0)
    for _ in range(5):
        env.step(0)
    frozen = copy.deepcopy(rms(env.obs_rms)), copy.deepcopy(rms(env.env.return_rms))
    env.update_running_mean = env.env.update_running_mean = False
    assert not env.update_running_mean
    for _ in range(5):
        env.step(0)
    assert_same((rms(env.obs_rms), rms(env.env.return_rms)), frozen)
    env.update_running_mean = env.env.update_running_mean = True

    other = NormalizeObservation(NormalizeReward(make()))
    other.set_statistics(env.get_statistics())
    other.env.set_statistics(env.env.get_statistics())
    other.env.discounted_reward = env.env.discounted_reward
    assert_same(other.reset(seed=3), env.reset(seed=3))
    for _ in range(3):
        assert_same(other.step(1), env.step(1))


def test_a_copy_goes_its_own_way():
    env = NormalizeObservation(NormalizeReward(make_walk_env()()))
    env.reset(seed=0)
    other = copy.deepcopy(env)
    assert_same(other.step(1), env.step(1))
    other.step(1)
    assert (round(other.obs_rms.count), round(env.obs_rms.count)) == (3, 2)


def test_observations_are_not_changed_and_results_do_not_change():
    space = gymcore.spaces.Box(-5, 5, (3,))
    env = make_walk_env()(observation_space=space)
    seen: list[Any] = []
    env._observe = lambda: seen.append(space.sample()) or seen[-1]
    wrapped = NormalizeObservation(env)
    results = [wrapped.reset(seed=0)[0]]
    copies = [results[0].copy()]
    raw = [seen[0].copy()]
    for _ in range(6):
        results.append(wrapped.step(0)[0])
        copies.append(results[-1].copy())
        raw.append(seen[-1].copy())
    assert_same(results, copies)
    assert_same(seen, raw)
    assert all(each.dtype == np.float32 and each in wrapped.observation_space for each in results)


class Shifted(RunningMeanStd):
    """User-defined statistics."""

    def update_from_moments(self, batch_mean, batch_var, batch_count):
        super().update_from_moments(batch_mean + 1, batch_var, batch_count)


def test_statistics_may_be_replaced():
    space = gymcore.spaces.Box(-5, 5, (2,))
    env = NormalizeObservation(NormalizeReward(make_walk_env()(observation_space=space)))
    env.obs_rms = Shifted(shape=(2,))
    env.env.return_rms = Shifted(epsilon=0)
    env.reset(seed=0)
    before = env.env.return_rms.mean.copy()
    env.step(0)
    assert round(env.obs_rms.count) == 2
    assert float(env.env.return_rms.mean) == pytest.approx(env.env.discounted_reward[0] + 1)
    assert before == 0


@pytest.mark.parametrize("kind", ["dict", "tuple", "sequence", "graph"])
def test_spaces_without_a_shape_are_refused(kind):
    env = make_walk_env()(observation_space=make_space(gymcore, kind))
    with pytest.raises(error.InvalidArgument, match="requires the observation space to have a"):
        NormalizeObservation(env)


@pytest.mark.parametrize("wrapper", [NormalizeObservation, NormalizeReward])
def test_wrong_arguments(wrapper):
    env = make_walk_env()()
    for epsilon in (0, -1.0, np.nan):
        with pytest.raises(error.InvalidBound, match="`epsilon` should be strictly positive"):
            wrapper(env, epsilon=epsilon)
    with pytest.raises(error.ArgumentTypeError, match="epsilon: expected a number, got"):
        wrapper(env, epsilon="1")
    with pytest.raises(TypeError):
        wrapper(3)


def test_wrong_gamma():
    env = make_walk_env()()
    for gamma in (-0.1, 1.1, np.nan):
        with pytest.raises(error.InvalidBound, match=r"`gamma` should be in the interval \[0, 1\]"):
            NormalizeReward(env, gamma)
    with pytest.raises(error.ArgumentTypeError, match="gamma: expected a number"):
        NormalizeReward(env, None)


def test_specs_make_it_again():
    env = NormalizeReward(NormalizeObservation(gymcore.make("CartPole-v1"), 1e-4), 0.5, 1e-3)
    spec = gymcore.envs.registration.EnvSpec.from_json(env.spec.to_json())
    assert json.loads(env.spec.to_json()) == json.loads(spec.to_json())
    again = gymcore.make(spec)
    assert (again.gamma, again.epsilon, again.env.epsilon) == (0.5, 1e-3, 1e-4)
    assert_same(again.reset(seed=1), env.reset(seed=1))
