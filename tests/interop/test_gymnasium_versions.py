"""The bridge works with every Gymnasium from 1.0; `.ci/ecosystem` runs it with earlier ones."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import gymcore

gymnasium = pytest.importorskip("gymnasium")

import gymcore.interop.gymnasium  # noqa: E402
from gymcore.interop.gymnasium import from_gymnasium, to_gymnasium  # noqa: E402

MODES = getattr(gymnasium.vector, "AutoresetMode", gymcore.vector.AutoresetMode)


def test_native_engine_and_one_lane() -> None:
    envs = gymnasium.make_vec("gymcore/CartPole-v1", num_envs=4)
    env = gymnasium.make("gymcore/CartPole-v1")
    assert isinstance(envs, gymnasium.vector.VectorEnv)
    assert isinstance(env, gymnasium.Env)
    assert isinstance(envs.action_space, gymnasium.spaces.MultiDiscrete)
    assert envs.metadata["autoreset_mode"] is MODES.NEXT_STEP
    assert np.array_equal(envs.reset(seed=7)[0][2], env.reset(seed=9)[0])
    assert envs.step(envs.action_space.sample())[1].tolist() == [1.0] * 4
    assert env.step(env.action_space.sample())[1] == 1.0
    assert env.get_wrapper_attr("gravity") == 9.8
    envs.close()


def test_their_wrappers_and_engines_over_ours() -> None:
    env = gymnasium.wrappers.RecordEpisodeStatistics(to_gymnasium(gymcore.make("CartPole-v1")))
    env.reset(seed=1)
    ended = False
    while not ended:
        *_, ended, _, info = env.step(0)
    assert info["episode"]["l"] > 5
    envs = gymnasium.vector.SyncVectorEnv([lambda: to_gymnasium(gymcore.make("CartPole-v1"))] * 2)
    assert envs.reset(seed=1)[0].shape == (2, 4)


def test_their_environments_under_ours() -> None:
    make = functools.partial(gymnasium.make, "Blackjack-v1")
    theirs = gymnasium.vector.SyncVectorEnv([make] * 3)
    ours = gymcore.vector.SyncVectorEnv([make] * 3)
    for envs in (theirs, ours):
        envs.reset(seed=3)
    results: list[Any] = [envs.step(np.array([0, 1, 0])) for envs in (theirs, ours)]
    assert np.array_equal(results[0][0], results[1][0])
    assert np.array_equal(results[0][1], results[1][1])
    assert gymcore.make("gymnasium:CartPole-v1", max_episode_steps=3).reset(seed=1)[0].shape == (4,)


def test_spaces_both_ways() -> None:
    s = gymnasium.spaces
    space = s.Dict(
        b=s.Tuple((s.Discrete(4, start=1), s.MultiBinary(3))),
        a=s.Box(0, 1, (2,), np.float64),
        c=s.Text(4, charset="ba"),
        d=s.MultiDiscrete([3, 4]),
        e=s.Sequence(s.Discrete(3)),
    )
    space.seed(1)
    ours = gymcore.interop.gymnasium.from_gymnasium_space(space)
    back = gymcore.interop.gymnasium.to_gymnasium_space(ours)
    assert isinstance(ours, gymcore.spaces.Dict)
    assert back == space
    assert repr(back.sample()) == repr(space.sample()) == repr(ours.sample())


def test_a_vector_environment_of_theirs() -> None:
    envs = from_gymnasium(gymnasium.vector.SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")]))
    assert isinstance(envs, gymcore.vector.VectorEnv)
    assert gymcore.wrappers.vector.NormalizeReward(envs).reset(seed=1)[0].shape == (1, 4)
