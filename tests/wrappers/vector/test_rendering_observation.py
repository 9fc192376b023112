"""Batches of observations with pictures of the lanes."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import gymcore as gym
from gymcore import error, wrappers
from gymcore.vector import AutoresetMode, SyncVectorEnv
from gymcore.wrappers.vector import AddRenderObservation
from tests.wrappers.lane_by_lane import check_lane_by_lane
from tests.wrappers.walk_env import make_walk_env

WalkEnv = make_walk_env(gym)


def make(kind="box", mode="NextStep", **kwargs):
    return SyncVectorEnv([lambda: WalkEnv(kind, **kwargs)] * 2, autoreset_mode=mode)


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED])
@pytest.mark.parametrize("kind", ["box", "discrete", "dict", "tuple", "text"])
@pytest.mark.parametrize("render_only", [False, True])
def test_add_render_lane_by_lane(render_only, kind, mode):
    check_lane_by_lane(
        lambda envs: AddRenderObservation(envs, render_only, obs_key="o"),
        lambda env: wrappers.AddRenderObservation(env, render_only, obs_key="o"),
        functools.partial(WalkEnv, kind, render_mode="rgb_array"),
        mode=mode,
        steps=20,
    )


def test_add_render_refuses_same_step():
    with pytest.raises(error.FailedCheck, match=r"expected autoreset_mode to be NEXT_STEP or DIS"):
        AddRenderObservation(make(mode="SameStep", render_mode="rgb_array"))


def test_add_render_in_same_step_as_its_message_says():
    envs = gym.make_vec(
        "CartPole-v1",
        num_envs=1,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": "SameStep"},
        wrappers=[wrappers.AddRenderObservation],
        max_episode_steps=2,
        render_mode="rgb_array",
    )
    envs.reset(seed=1)
    envs.step([1])
    first, *_, infos = envs.step([1])
    assert infos["final_obs"][0].shape == first[0].shape
    assert (infos["final_obs"][0] != first[0]).any()
    envs.close()


def test_add_render_of_native_environments():
    envs = gym.make_vec("CartPole-v1", num_envs=2, render_mode="rgb_array")
    envs = AddRenderObservation(envs, render_only=False)
    observations, _ = envs.reset(seed=1)
    assert observations in envs.observation_space
    assert (observations["pixels"] == np.stack(envs.render())).all()
    envs.close()


def test_add_render_checks_frames():
    class Growing(WalkEnv):
        made = 0

        def __init__(self):
            super().__init__(render_mode="rgb_array")
            Growing.made += 1
            self.size = Growing.made

        def render(self):
            return np.zeros((self.size, 2, 3), np.uint8)

    with pytest.raises(error.FailedCheck, match="frames of one shape and dtype"):
        AddRenderObservation(SyncVectorEnv([Growing, Growing]))

    class Words(WalkEnv):
        def render(self):
            return "words"

    with pytest.raises(error.FailedTypeCheck, match="a numpy array for each lane"):
        AddRenderObservation(SyncVectorEnv([lambda: Words(render_mode="ansi")]))
