"""Fragments, made without Ray."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from gymcore.distributed.fragment import FragmentMaker
from tests.distributed.policies import blackjack, cartpole, linear, pendulum, random_bits
from tests.testing_env import assert_same

WEIGHTS = np.array([0.1, -0.2, 0.3, 1.0], np.float32)
STEPS = 60


def test_a_fragment_is_what_steps_return():
    maker = FragmentMaker(cartpole, linear, seed=7, actor=2, restart=1)
    fragments = [maker.collect(WEIGHTS, STEPS), maker.collect(WEIGHTS, STEPS)]
    lanes, drawn = np.random.SeedSequence((7, 2, 1)).spawn(2)
    generator = np.random.default_rng(drawn)
    ends = 0
    with cartpole() as envs:
        observations, _ = envs.reset(seed=int(lanes.generate_state(1, np.uint64)[0]))
        for fragment in fragments:
            assert (fragment.actor, fragment.restart) == (2, 1)
            finals = iter(fragment.final_observations)
            for t in range(STEPS):
                assert_same(fragment.observations[t], observations)
                actions, extras = linear(WEIGHTS, observations, generator)
                assert_same(fragment.actions[t], actions)
                assert_same(fragment.extras["log_probability"][t], extras["log_probability"])
                observations, *results, infos = envs.step(actions)
                for name, result in zip(
                    ("rewards", "terminated", "truncated"), results, strict=True
                ):
                    assert_same(getattr(fragment, name)[t], result)
                for lane in np.flatnonzero(results[1] | results[2]):
                    assert_same(next(finals), infos["final_obs"][lane])
                    assert fragment.final_indices[ends].tolist() == [t, lane]
                    ends += 1
            assert ends == len(fragment.final_observations) > 3
            assert_same(fragment.last_observations, observations)
            ends = 0


def test_arrays_are_contiguous():
    fragment = FragmentMaker(cartpole, linear, 1).collect(WEIGHTS, STEPS)
    arrays = [one for one in fragment if isinstance(one, np.ndarray)]
    assert len(arrays) == 8
    assert all(one.flags.c_contiguous for one in arrays)
    assert fragment.observations.shape == (STEPS, 4, 4)
    assert fragment.actions.shape == fragment.rewards.shape == (STEPS, 4)


def test_a_fragment_without_an_end():
    fragment = FragmentMaker(cartpole, linear, 1).collect(WEIGHTS, 1)
    assert fragment.final_observations.shape == (0, 4)
    assert fragment.final_indices.shape == (0, 2)


def test_observations_of_several_parts():
    fragment = FragmentMaker(blackjack, random_bits, 1).collect(None, STEPS)
    assert [one.shape for one in fragment.observations] == [(STEPS, 5)] * 3
    ends = len(fragment.final_indices)
    assert ends == (fragment.terminated | fragment.truncated).sum() > 0
    assert [one.shape for one in fragment.final_observations] == [(ends,)] * 3
    assert fragment.extras == {}


def test_continuous_actions_in_a_list():
    fragment = FragmentMaker(pendulum, lambda *_: [[0.5]] * 3, 1).collect(None, 4)
    assert fragment.actions.shape == (4, 3, 1)


def test_streams_follow_from_seed_actor_and_restart():
    def first(*identity):
        return FragmentMaker(cartpole, linear, *identity).collect(WEIGHTS, 5)

    assert_same(tuple(first(3, 1, 2)), tuple(first(3, 1, 2)))
    different = [first(*one) for one in ((3, 1, 2), (4, 1, 2), (3, 0, 2), (3, 1, 0))]
    assert len({one.observations.tobytes() for one in different}) == 4
    assert len({one.extras["log_probability"].tobytes() for one in different}) == 4


@pytest.mark.parametrize("mode", ["NextStep", "Disabled"])
def test_other_autoreset_modes(mode):
    maker = FragmentMaker(functools.partial(cartpole, mode=mode), linear, 1)
    with pytest.raises(error.InvalidArgument, match=f"'SameStep', got one with '{mode}'"):
        maker.collect(WEIGHTS, 1)


class Speaking(gym.Env):
    observation_space = gym.spaces.Text(3)
    action_space = gym.spaces.Discrete(2)


def test_spaces_without_arrays():
    def make():
        return gym.vector.SyncVectorEnv([Speaking], autoreset_mode="SameStep")

    with pytest.raises(error.InvalidArgument, match="consist of arrays, got Text"):
        FragmentMaker(make, linear, 1).collect(WEIGHTS, 1)
