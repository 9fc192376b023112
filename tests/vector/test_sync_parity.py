"""The same environments stepped by gymcore's and Gymnasium's SyncVectorEnv, side by side."""

import copy
import functools

import gymnasium
import numpy as np
import pytest

import gymcore
from tests.testing_env import (
    OBSERVATION_KINDS,
    assert_same,
    make_counting_env,
    make_random_env,
)

MODES = ["NextStep", "SameStep", "Disabled"]
OurRandomEnv, TheirRandomEnv = make_random_env(gymcore), make_random_env(gymnasium)
OurCountingEnv, TheirCountingEnv = make_counting_env(gymcore), make_counting_env(gymnasium)


def make_pair(num_envs=4, env_kwargs=(), **kwargs):
    """Return our and their vector environment of random environments."""
    env_kwargs = dict(env_kwargs)
    return (
        gymcore.vector.SyncVectorEnv([lambda: OurRandomEnv(**env_kwargs)] * num_envs, **kwargs),
        gymnasium.vector.SyncVectorEnv([lambda: TheirRandomEnv(**env_kwargs)] * num_envs, **kwargs),
    )


def step_both(ours, theirs, num_steps, mode):
    """Step both with the same random actions, with masked resets if there is no autoreset."""
    ours.action_space.seed(11)
    actions_taken = 0
    for i in range(num_steps):
        actions = ours.action_space.sample()
        our_step, their_step = ours.step(actions), theirs.step(actions)
        assert_same(our_step, their_step, f"step {i}")
        actions_taken += 1
        ended = our_step[2] | our_step[3]
        if mode == "Disabled" and ended.any():
            # A dict for each library: Gymnasium removes the mask from it.
            ours_reset = ours.reset(options={"reset_mask": ended, "turn": i})
            theirs_reset = theirs.reset(options={"reset_mask": ended.copy(), "turn": i})
            assert_same(ours_reset, theirs_reset, f"reset after step {i}")
    assert actions_taken == num_steps


@pytest.mark.parametrize("mode", MODES)
def test_random_steps_with_infos(mode):
    ours, theirs = make_pair(autoreset_mode=mode)
    assert_same(ours.reset(seed=42), theirs.reset(seed=42), "reset")
    step_both(ours, theirs, 250, mode)
    ours.close()
    theirs.close()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", OBSERVATION_KINDS)
def test_every_observation_space(kind, mode):
    ours, theirs = make_pair(3, {"kind": kind, "limit": 4}, autoreset_mode=mode)
    assert repr(ours.observation_space) == repr(theirs.observation_space)
    assert repr(ours.action_space) == repr(theirs.action_space)
    assert_same(ours.reset(seed=1, options={"a": 1}), theirs.reset(seed=1, options={"a": 1}))
    step_both(ours, theirs, 15, mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ending", ["terminated", "truncated", "both"])
def test_every_ending(ending, mode):
    ours, theirs = (
        module.vector.SyncVectorEnv(
            [functools.partial(env, length, ending) for length in (1, 2, 3)],
            autoreset_mode=mode,
        )
        for module, env in ((gymcore, OurCountingEnv), (gymnasium, TheirCountingEnv))
    )
    assert_same(ours.reset(seed=5), theirs.reset(seed=5))
    step_both(ours, theirs, 12, mode)


@pytest.mark.parametrize("copy_observations", [True, False])
def test_kept_observations(copy_observations):
    ours, theirs = make_pair(2, {"kind": "dict"}, copy=copy_observations)
    kept = [[envs.reset(seed=3)[0]] for envs in (ours, theirs)]
    for _ in range(3):
        actions = ours.action_space.sample()
        for rows, envs in zip(kept, (ours, theirs), strict=True):
            rows.append(envs.step(actions)[0])
    assert_same(*kept)


@pytest.mark.parametrize("seed", [None, 3, 0, [1, 2, 3, 4], (4, 3, 2, 1), [7, None, 7, None]])
def test_masked_resets_with_seeds(seed):
    ours, theirs = make_pair()
    ours.reset(seed=9), theirs.reset(seed=9)
    mask = np.array([True, False, True, False])
    options = {"reset_mask": mask, "level": 2}
    ours_reset = ours.reset(seed=seed, options=copy.copy(options))
    theirs_reset = theirs.reset(seed=seed, options=copy.copy(options))
    assert_same(ours_reset, theirs_reset)
    assert_same(ours.np_random_seed, theirs.np_random_seed)
    step_both(ours, theirs, 5, "NextStep")


def test_masked_reset_of_lanes_that_wait_for_autoreset():
    ours, theirs = (
        module.vector.SyncVectorEnv([functools.partial(env, 1)] * 3)
        for module, env in ((gymcore, OurCountingEnv), (gymnasium, TheirCountingEnv))
    )
    ours.reset(), theirs.reset()
    assert_same(ours.step([0, 0, 0]), theirs.step([0, 0, 0]))
    for mask in ([True, False, False], [False, True, False]):
        assert_same(
            ours.reset(options={"reset_mask": np.array(mask)}),
            theirs.reset(options={"reset_mask": np.array(mask)}),
        )
    step_both(ours, theirs, 4, "NextStep")


def test_attributes_and_methods():
    ours, theirs = make_pair(3, {"render_mode": "rgb_array"})
    for envs in (ours, theirs):
        envs.reset(seed=4)
        envs.set_attr("elapsed", [4, 5, 6])
    assert_same(ours.call("scaled", 10, offset=1), theirs.call("scaled", 10, offset=1))
    assert_same(ours.call("elapsed"), theirs.call("elapsed"))
    assert_same(ours.get_attr("limit"), theirs.get_attr("limit"))
    assert_same(ours.render(), theirs.render())
    assert_same(ours.np_random_seed, theirs.np_random_seed)
    assert_same(
        [rng.random() for rng in ours.np_random], [rng.random() for rng in theirs.np_random]
    )
    assert ours.render_mode == theirs.render_mode == "rgb_array"
    assert repr(ours) == repr(theirs)
    assert {**ours.metadata, "autoreset_mode": None} == {**theirs.metadata, "autoreset_mode": None}


@pytest.mark.parametrize("mode", ["different", "tuple"])
def test_observation_modes(mode):
    def build(module, env):
        box = module.spaces.Box
        fns = [
            lambda high=high: env(3, observation_space=box(-1, high, (2,), np.int64))
            for high in (5, 7)
        ]
        observation_mode = mode
        if mode == "tuple":
            observation_mode = (box(-9, 9, (2, 2), np.int64), box(-9, 9, (2,), np.int64))
        return module.vector.SyncVectorEnv(fns, observation_mode=observation_mode)

    ours, theirs = build(gymcore, OurCountingEnv), build(gymnasium, TheirCountingEnv)
    assert repr(ours.observation_space) == repr(theirs.observation_space)
    assert repr(ours.single_observation_space) == repr(theirs.single_observation_space)
    assert_same(ours.reset(seed=1), theirs.reset(seed=1))
    step_both(ours, theirs, 8, "NextStep")
