"""Conversion of single environments between the interfaces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gymcore
from gymcore import error, spaces
from gymcore.compat import (
    DoneEnv,
    EnvCompatibility,
    StepAPICompatibility,
    from_done_api,
    to_done_api,
)
from tests.compat.old import OldEnv

# From the old interface


def test_an_old_environment() -> None:
    env = from_done_api(OldEnv(length=2), render_mode="rgb_array")
    assert type(env) is EnvCompatibility and isinstance(env, gymcore.Env)
    assert env.observation_space is OldEnv.observation_space
    assert env.action_space is OldEnv.action_space
    assert env.reward_range == (-1.0, 9.0)
    assert env.metadata["render_modes"] == ["human", "rgb_array"]
    assert env.metadata["render_fps"] == 25 and "render_modes" not in OldEnv.metadata
    observation, info = env.reset(seed=7, options={"not": "used"})
    assert observation.tolist() == [7, 0] and info == {}
    assert env.np_random_seed == 7
    observation, *rest = env.step(3)
    assert observation.tolist() == [7, 1] and rest == [3.0, False, False, {"elapsed": 1}]
    assert env.step(3)[2:4] == (True, False)
    assert env.render()[0, 0, 0] == 2
    assert env.length == 2  # attributes of the old environment
    env.close()
    assert env.log == [("seed", 7), ("render", "rgb_array"), "close"]


def test_a_time_limit_becomes_truncated() -> None:
    env = EnvCompatibility(OldEnv(length=1, limited=True))
    env.reset()
    assert env.step(0)[2:] == (False, True, {"elapsed": 1})


def test_human_mode_shows_resets_and_steps() -> None:
    env = EnvCompatibility(OldEnv(), "human")
    env.reset()
    env.step(0)
    assert env.log == [("render", "human")] * 2


def test_rendering_without_a_mode_warns() -> None:
    with pytest.warns(UserWarning, match="without specifying any render mode"):
        assert EnvCompatibility(OldEnv()).render() is None


def test_an_old_environment_without_the_optional_parts() -> None:
    class Least:
        observation_space = action_space = spaces.Discrete(2)

        def reset(self) -> int:
            return 0

        def step(self, action: int) -> Any:
            return 1, 1.0, True, {}

    env = from_done_api(Least())
    assert env.reset(seed=3) == (0, {}) and env.step(0) == (1, 1.0, True, False, {})
    env.close()
    with pytest.raises(AttributeError):
        env.nothing_like_this  # noqa: B018


def test_old_environments_in_a_batch() -> None:
    envs = gymcore.vector.SyncVectorEnv(
        [lambda: from_done_api(OldEnv(length=2, limited=True))] * 2, autoreset_mode="SameStep"
    )
    assert envs.reset(seed=5)[0].tolist() == [[5, 0], [6, 0]]
    envs.step([0, 1])
    observations, _, terminations, truncations, infos = envs.step([0, 1])
    assert observations.tolist() == [[5, 0], [6, 0]]
    assert not terminations.any() and truncations.all()
    assert infos["final_obs"][1].tolist() == [6, 2]


# To the old interface


def test_todays_environment_as_an_old_one() -> None:
    env = to_done_api(gymcore.make("CartPole-v1", max_episode_steps=2))
    assert type(env) is DoneEnv and isinstance(env, gymcore.Env)
    assert env.seed(3) == [3]
    first = env.reset()
    expected = gymcore.make("CartPole-v1").reset(seed=3)[0]
    assert first.tolist() == expected.tolist()
    assert env.reset().tolist() != first.tolist()  # the stream continues
    assert env.seed(np.int64(3)) == [3] and env.reset().tolist() == first.tolist()
    _, reward, done, info = env.step(0)
    assert (reward, done, info) == (1.0, False, {})
    assert env.step(0)[2:] == (True, {"TimeLimit.truncated": True})
    assert env.gravity == pytest.approx(9.8)
    assert env.metadata["render.modes"] == ["human", "rgb_array"]
    assert env.metadata["video.frames_per_second"] == env.metadata["render_fps"]
    again, info = env.reset(seed=3, return_info=True)  # Gym 0.22
    assert again.tolist() == first.tolist() and info == {}
    (new,) = env.seed()
    assert new != env.seed(None)[0]
    with pytest.raises(error.Error):
        env.seed(-1)
    with pytest.raises(TypeError):
        env.seed("seven")


def test_a_termination_is_no_time_limit() -> None:
    env = to_done_api(gymcore.make("CartPole-v1"))
    env.seed(1)
    env.reset()
    done = False
    while not done:
        *_, done, info = env.step(1)
    assert info == {"TimeLimit.truncated": False}


def test_rendering_in_any_mode() -> None:
    env = to_done_api(gymcore.make("CartPole-v1"))
    env.reset()
    assert env.render(mode="rgb_array").shape == (400, 600, 3)
    assert env.unwrapped.render_mode is None
    with pytest.raises(error.UnsupportedMode, match="mode: expected one of"):
        env.render(mode="ascii")
    env = to_done_api(gymcore.make("CartPole-v1", render_mode="rgb_array"))
    env.reset()
    assert env.render("rgb_array").shape == (400, 600, 3)
    env.close()


def test_a_window_and_pictures_by_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pygame", reason="pygame is not installed")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = to_done_api(gymcore.make("CartPole-v1"))
    env.reset()
    for _ in range(2):
        assert env.render() is None  # mode="human"
        assert env.render(mode="rgb_array").shape == (400, 600, 3)
        env.step(0)
    env.close()


def test_there_and_back() -> None:
    env = gymcore.make("CartPole-v1")
    assert from_done_api(to_done_api(env)) is env
    assert to_done_api(to_done_api(env)).env is env
    old = OldEnv()
    assert to_done_api(from_done_api(old)) is old
    done = to_done_api(env)
    done.seed(4)
    carried = from_done_api(done)  # with the pending seed
    first = carried.reset()[0]
    assert first.tolist() == env.reset(seed=4)[0].tolist()
    assert carried.reset()[0].tolist() != first.tolist()
    for bridge in (to_done_api, from_done_api):
        with pytest.raises(TypeError, match="env: expected"):
            bridge(3)


# StepAPICompatibility


@pytest.mark.parametrize("limit", [1, 2])
def test_four_values_and_five(limit: int) -> None:
    env = StepAPICompatibility(gymcore.make("CartPole-v1", max_episode_steps=limit), False)
    env.reset(seed=1)
    assert len(env.step(0)) == 4
    five = StepAPICompatibility(env)
    five.reset(seed=1)
    result = five.step(0)
    assert len(result) == 5 and result[2:4] == (False, limit == 1)
    assert "TimeLimit.truncated" not in result[4]


def test_four_values_and_five_of_a_batch() -> None:
    envs = gymcore.make_vec("CartPole-v1", num_envs=2, max_episode_steps=1)
    four = StepAPICompatibility(envs, output_truncation_bool=False)
    four.reset(seed=1)
    _, _, dones, infos = four.step([0, 1])
    assert dones.tolist() == [True, True]
    assert infos["TimeLimit.truncated"].tolist() == [True, True]
    five = StepAPICompatibility(four)
    five.reset(seed=1)
    assert five.step([0, 1])[3].tolist() == [True, True]
    assert "StepAPICompatibility" in repr(five)


def test_the_spec_makes_it_again() -> None:
    env = StepAPICompatibility(gymcore.make("CartPole-v1"), False)
    again = gymcore.make(gymcore.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert type(again) is StepAPICompatibility and again.output_truncation_bool is False
