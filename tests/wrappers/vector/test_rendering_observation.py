"""Batches of observations with frames of the lanes."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import gymcore as gym
from gymcore import error, wrappers
from gymcore.vector import AutoresetMode, SyncVectorEnv
from gymcore.wrappers.vector import AddRenderObservation, TimeLimit
from tests.pairwise import pairwise
from tests.wrappers.lane_by_lane import MODES, check_lane_by_lane
from tests.wrappers.walk_env import make_walk_env

WalkEnv = make_walk_env(gym)


@pytest.mark.parametrize(
    ("mode", "kind", "render_only"),
    pairwise(MODES, ["box", "discrete", "dict", "tuple", "text"], [False, True]),
)
def test_add_render_lane_by_lane(mode, kind, render_only):
    check_lane_by_lane(
        lambda envs: AddRenderObservation(envs, render_only, obs_key="o"),
        lambda env: wrappers.AddRenderObservation(env, render_only, obs_key="o"),
        functools.partial(WalkEnv, kind, render_mode="rgb_array"),
        mode=mode,
        steps=12,
    )


@pytest.mark.slow
@pytest.mark.parametrize("wrapped", ["engine", "vector"])
@pytest.mark.parametrize("engine", ["native", "sync", "async"])
def test_add_render_in_same_step_in_every_engine(engine, wrapped):
    """The result equals that of lanes that render their last state, wherever the limit is."""
    id, limit = ("Pendulum-v1", 3) if engine == "native" else ("CartPole-v1", 3)
    options = {"autoreset_mode": "SameStep"}
    kwargs = {"render_mode": "rgb_array", "max_episode_steps": -1 if wrapped == "vector" else limit}
    if engine == "async":
        options["num_workers"] = 2
    envs = gym.make_vec(id, 3, engine, options, **kwargs)
    if wrapped == "vector":
        envs = TimeLimit(envs, limit)
    envs = AddRenderObservation(envs, False)
    singles = [gym.make(id, **{**kwargs, "max_episode_steps": limit}) for _ in range(3)]
    singles = [wrappers.AddRenderObservation(env, False) for env in singles]
    observations, _ = envs.reset(seed=4)
    for i, env in enumerate(singles):
        env.reset(seed=4 + i)
    envs.action_space.seed(0)
    ends = 0
    for _ in range(7):
        actions = envs.action_space.sample()
        observations, *_, infos = envs.step(actions)
        assert observations in envs.observation_space
        for i, env in enumerate(singles):
            single, _, *flags, _ = env.step(actions[i])
            if any(flags):
                ends += 1
                for key, part in single.items():
                    assert (infos["final_obs"][i][key] == part).all()
                assert (infos["final_info"]["final_frame"][i] == single["pixels"]).all()
                single = env.reset()[0]
            for key, part in single.items():
                assert (observations[key][i] == part).all()
    assert ends == 6
    envs.close()


def test_add_render_of_lanes_that_end_apart():
    options = {"autoreset_mode": "SameStep"}
    envs = gym.make_vec(
        "CartPole-v1", 3, "native", options, render_mode="rgb_array", max_episode_steps=4
    )
    envs = AddRenderObservation(envs)
    envs.reset(seed=4)
    envs.step([0, 1, 1])
    envs.reset(options={"reset_mask": np.array([False, True, False])})
    for _ in range(2):
        before = envs.step([0, 1, 1])[4]
    infos = envs.step([0, 1, 1])[4]
    assert before == {}
    assert infos["final_info"]["_final_frame"].tolist() == [True, False, True]
    assert not infos["final_info"]["final_frame"][1].any()
    assert infos["final_obs"][1] is None or not np.any(infos["final_obs"][1])
    for i in (0, 2):
        assert (infos["final_obs"][i] == infos["final_info"]["final_frame"][i]).all()
    envs.close()


def test_add_render_needs_an_engine_that_renders_before_it_resets():
    class Plain(gym.vector.VectorEnv):
        metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012
        render_mode = "rgb_array"
        single_observation_space = gym.spaces.Discrete(2)

    with pytest.raises(error.UnsupportedMode, match="does not render before it resets"):
        AddRenderObservation(Plain())


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

    with pytest.raises(error.FailedCheck, match="frames of equal shape and dtype"):
        AddRenderObservation(SyncVectorEnv([Growing, Growing]))

    class Words(WalkEnv):
        def render(self):
            return "words"

    with pytest.raises(error.FailedTypeCheck, match="a numpy array for each lane"):
        AddRenderObservation(SyncVectorEnv([lambda: Words(render_mode="ansi")]))
