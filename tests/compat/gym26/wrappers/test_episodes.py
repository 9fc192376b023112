"""The wrappers of Gym 0.26 that deal with episodes."""

from __future__ import annotations

import time

import numpy as np
import pytest

import gymcore
from gymcore import error
from gymcore.compat.gym26.wrappers import (
    AutoResetWrapper,
    OrderEnforcing,
    RecordEpisodeStatistics,
    TimeLimit,
    VectorListInfo,
)
from gymcore.vector import SyncVectorEnv
from tests.compat.gym26.scripted import Scripted

ACTIONS = np.zeros((2, 2), np.float32)


# AutoResetWrapper


@pytest.mark.parametrize("ending", ["terminated", "truncated"])
def test_a_reset_in_the_last_step(ending: str) -> None:
    env = AutoResetWrapper(Scripted([1.0, 2.0], ending))
    env.reset()
    assert env.step(None)[1:] == (1.0, False, False, {"elapsed": 1})
    observation, reward, terminated, truncated, info = env.step(None)
    assert observation.tolist() == [0.0] and reward == 2.0
    assert (terminated, truncated) == (ending == "terminated", ending == "truncated")
    assert next(iter(info)) == "fresh" and len(info) == 5
    for name in ("final", "terminal"):
        assert info[f"{name}_observation"].tolist() == [2.0]
        assert info[f"{name}_info"] == {"elapsed": 2}
    assert env.step(None)[4] == {"elapsed": 1}


def test_an_info_that_has_the_names_already() -> None:
    class Final(Scripted):
        def reset(self, **kwargs: object) -> object:
            return super().reset()[0], {"final_info": 3}

    env = AutoResetWrapper(Final([1.0]))
    env.reset()
    with pytest.raises(AssertionError, match='cannot contain key "final_info"'):
        env.step(None)


# RecordEpisodeStatistics


def test_statistics_of_episodes() -> None:
    before = time.perf_counter()
    env = RecordEpisodeStatistics(Scripted([1.0, 2.5]), deque_size=3)
    assert before <= env.t0 <= time.perf_counter()
    own = None
    for _ in range(4):
        env.reset()
        assert "episode" not in env.step(None)[4]
        *_, info = env.step(None)
        assert list(info) == ["elapsed", "episode"] and list(info["episode"]) == ["r", "l", "t"]
        assert info["episode"]["r"] == 3.5 and type(info["episode"]["r"]) is np.float32
        assert info["episode"]["l"] == 2 and type(info["episode"]["l"]) is np.int32
        now = time.perf_counter() - env.t0
        assert (own or 0) <= info["episode"]["t"] <= now + 1e-6  # since the wrapper was made
        own = info["episode"]["t"]
    assert env.episode_count == 4
    assert list(env.return_queue) == [3.5] * 3 and list(env.length_queue) == [2] * 3


def test_the_info_of_the_environment_is_left_alone() -> None:
    class Keeps(Scripted):
        def step(self, action: object) -> object:
            *rest, self.info = super().step(action)
            return *rest, self.info

    env = RecordEpisodeStatistics(Keeps([1.0]))
    env.reset()
    assert "episode" in env.step(None)[4] and "episode" not in env.unwrapped.info


def lanes(mode: str) -> SyncVectorEnv:
    return SyncVectorEnv(
        [lambda: Scripted([1.0, 2.0, 4.0]), lambda: Scripted([3.0, 5.0], "truncated")],
        autoreset_mode=mode,
    )


def test_statistics_of_a_batch() -> None:
    envs = RecordEpisodeStatistics(lanes("SameStep"))
    assert envs.reset(seed=1)[1].keys() >= {"fresh"}
    assert "episode" not in envs.step(ACTIONS)[4]
    infos = envs.step(ACTIONS)[4]
    assert infos["_episode"].tolist() == [False, True] and infos["_episode"].dtype == np.bool_
    assert infos["episode"]["r"].tolist() == [0.0, 8.0]
    assert infos["episode"]["l"].tolist() == [0, 2]
    assert infos["episode"]["t"][0] == 0 < infos["episode"]["t"][1]
    infos = envs.step(ACTIONS)[4]
    assert infos["_episode"].tolist() == [True, False]
    assert infos["episode"]["r"].tolist() == [7.0, 0.0]
    assert envs.episode_returns.tolist() == [0.0, 3.0]
    assert list(envs.return_queue) == [8.0, 7.0] and list(envs.length_queue) == [2, 3]
    assert envs.episode_count == 2


def test_steps_that_only_reset_do_not_count() -> None:
    envs = RecordEpisodeStatistics(lanes("NextStep"))
    envs.reset()
    lengths = []
    for _ in range(6):
        infos = envs.step(ACTIONS)[4]
        if "episode" in infos:
            lengths.append((infos["episode"]["l"].tolist(), infos["episode"]["r"].tolist()))
    assert lengths == [([0, 2], [0, 8]), ([3, 0], [7, 0]), ([0, 2], [0, 8])]


def test_masked_resets_keep_the_other_lanes() -> None:
    envs = RecordEpisodeStatistics(lanes("Disabled"))
    envs.reset()
    envs.step(ACTIONS)
    envs.reset(options={"reset_mask": np.array([True, False])})
    assert envs.episode_returns.tolist() == [0.0, 3.0]
    infos = envs.step(ACTIONS)[4]
    assert infos["episode"]["l"].tolist() == [0, 2]


# TimeLimit and OrderEnforcing


def test_time_limit_of_the_spec() -> None:
    env = TimeLimit(gymcore.make("CartPole-v1", max_episode_steps=2).env, 3)
    assert env._max_episode_steps == 3
    env = TimeLimit(gymcore.make("CartPole-v1", max_episode_steps=2))
    assert env._max_episode_steps == 2 and env.spec.max_episode_steps == 2
    env.reset(seed=1)
    assert [env.step(0)[3] for _ in range(2)] == [False, True]
    assert env.gravity == pytest.approx(9.8)
    with pytest.raises(TypeError, match="max_episode_steps: expected an integer, got None"):
        TimeLimit(Scripted())
    with pytest.raises(error.InvalidArgument):
        TimeLimit(Scripted(), 0)


def test_arguments_of_render_are_handed_on() -> None:
    class Renders(Scripted):
        def render(self, mode: str = "human", scale: int = 1) -> object:
            return mode, scale

    env = OrderEnforcing(Renders())
    with pytest.raises(error.ResetNeeded):
        env.render("rgb_array")
    with pytest.raises(error.ResetNeeded):
        env.render()
    env.reset()
    assert env.render("rgb_array", scale=3) == ("rgb_array", 3)
    assert env.render() == ("human", 1)
    assert OrderEnforcing(Renders(), True).render(scale=2) == ("human", 2)


# VectorListInfo


def test_a_list_of_infos() -> None:
    envs = VectorListInfo(RecordEpisodeStatistics(gymcore.vector.make("CartPole-v1", 2)))
    assert envs.reset(seed=2)[1] == [{}, {}]
    while not any(infos := envs.step([1, 0])[4]):
        pass
    assert infos[0] == {}
    assert infos[1]["episode"]["l"] == 9 and infos[1]["episode"]["r"] == 9.0
    assert infos[1]["final_observation"].shape == (4,) and infos[1]["final_info"] == {}
    # The input is unchanged.
    merged = {"x": np.array([1, 0]), "_x": np.array([True, False])}
    assert envs._list(merged) == [{"x": 1}, {}] and list(merged) == ["x", "_x"]


def test_a_list_of_infos_of_python_environments() -> None:
    envs = VectorListInfo(lanes("NextStep"))
    assert envs.reset()[1] == [{"fresh": True}] * 2
    assert envs.step(ACTIONS)[4] == [{"elapsed": 1}] * 2
    with pytest.raises(AssertionError, match="only be used in vectorized environments"):
        VectorListInfo(Scripted())
