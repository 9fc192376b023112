"""Stable-Baselines3's algorithms and wrappers, unchanged, on `gymcore.interop.sb3`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gymcore as gym

pytest.importorskip("stable_baselines3")
gymnasium = pytest.importorskip("gymnasium")

from stable_baselines3 import A2C, DQN, PPO, SAC  # noqa: E402
from stable_baselines3.common.env_checker import check_env  # noqa: E402
from stable_baselines3.common.env_util import make_vec_env as sb3_make_vec_env  # noqa: E402
from stable_baselines3.common.evaluation import evaluate_policy  # noqa: E402
from stable_baselines3.common.monitor import Monitor  # noqa: E402
from stable_baselines3.common.vec_env import (  # noqa: E402
    VecCheckNan,
    VecEnv,
    VecFrameStack,
    VecMonitor,
    VecNormalize,
    VecVideoRecorder,
)

from gymcore.interop.gymnasium import to_gymnasium  # noqa: E402
from gymcore.interop.sb3 import SB3VecEnv, make_vec_env  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")  # warnings of SB3 and torch


def actions_of(envs: VecEnv, steps: int) -> list[Any]:
    envs.action_space.seed(1)
    return [
        np.array([envs.action_space.sample() for _ in range(envs.num_envs)]) for _ in range(steps)
    ]


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1", "FrozenLake-v1"])
def test_steps_are_those_of_a_dummy_vec_env_of_gymnasium(env_id):
    settings = {"max_episode_steps": 40} if env_id == "Pendulum-v1" else {}
    ours = make_vec_env(env_id, 3, seed=5, env_kwargs=settings)
    theirs = sb3_make_vec_env(env_id, 3, seed=5, env_kwargs=settings)
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    first, their_first = ours.reset(), theirs.reset()
    assert first.dtype == their_first.dtype
    np.testing.assert_array_equal(first, their_first)
    assert ours.reset_infos == theirs.reset_infos
    ended = 0
    for actions in actions_of(ours, 100):
        observations, rewards, dones, infos = ours.step(actions)
        expected = theirs.step(actions)
        np.testing.assert_allclose(observations, expected[0], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(rewards, expected[1], rtol=1e-5)
        np.testing.assert_array_equal(dones, expected[2])
        assert (rewards.dtype, dones.dtype) == (expected[1].dtype, expected[2].dtype)
        for info, other in zip(infos, expected[3], strict=True):
            assert info.pop("TimeLimit.truncated", False) == other.pop("TimeLimit.truncated")
            assert ("episode" in info) == ("episode" in other)
            episode, other_episode = info.pop("episode", None), other.pop("episode", None)
            if episode is not None:
                ended += 1
                assert episode["l"] == other_episode["l"]
                assert episode["r"] == pytest.approx(other_episode["r"], rel=1e-4)
                assert [type(v) for v in episode.values()] == [float, int, float]
            np.testing.assert_allclose(
                info.pop("terminal_observation", 0),
                other.pop("terminal_observation", 0),
                rtol=1e-5,
                atol=1e-5,
            )
            assert info == pytest.approx(other)
    assert ended
    ours.close()
    theirs.close()


@pytest.mark.parametrize(
    "algorithm, env_id, settings",
    [
        (PPO, "CartPole-v1", {"n_steps": 32, "batch_size": 32, "n_epochs": 1}),
        (A2C, "CartPole-v1", {}),
        (DQN, "CartPole-v1", {"learning_starts": 32, "train_freq": 8}),
        (SAC, "Pendulum-v1", {"learning_starts": 32, "train_freq": 8, "batch_size": 32}),
    ],
)
def test_algorithms_train(algorithm, env_id, settings):
    envs = make_vec_env(env_id, 4, env_kwargs={"max_episode_steps": 20})
    model = algorithm("MlpPolicy", envs, seed=1, device="cpu", **settings)
    model.learn(200)
    assert model.num_timesteps >= 200
    assert len(model.ep_info_buffer) > 0
    returns, lengths = evaluate_policy(model, envs, n_eval_episodes=5, return_episode_rewards=True)
    assert len(returns) == 5 and all(1 <= length <= 20 for length in lengths)
    envs.close()


def test_wrappers(tmp_path):
    envs = make_vec_env("CartPole-v1", 4, seed=0, env_kwargs={"render_mode": "rgb_array"})
    envs = VecFrameStack(VecNormalize(VecCheckNan(VecMonitor(envs))), 3)
    pytest.importorskip("moviepy")
    envs = VecVideoRecorder(envs, str(tmp_path), lambda step: step == 0, video_length=8)
    observations = envs.reset()
    assert observations.shape == (4, 12)
    for actions in actions_of(envs, 60):
        _, _, dones, infos = envs.step(actions)
        for info in np.array(infos)[dones]:
            assert info["terminal_observation"].shape == (12,)
    envs.close()
    assert [path.suffix for path in tmp_path.iterdir()] == [".mp4"]


def test_attributes_methods_and_wrappers_of_environments():
    envs = make_vec_env("CartPole-v1", 3)
    assert envs.get_attr("length") == [0.5, 0.5, 0.5]
    envs.set_attr("length", 0.7, indices=[0, 2])
    assert envs.get_attr("length") == [0.7, 0.5, 0.7]
    assert envs.get_attr("length", indices=1) == [0.5]
    assert envs.has_attr("gravity") and not envs.has_attr("gravitas")
    envs.reset()
    assert len(envs.env_method("get_state")) == 3
    assert len(envs.env_method("get_state", indices=[1, 2])) == 2
    assert envs.env_is_wrapped(Monitor) == [True] * 3
    assert envs.env_is_wrapped(gymnasium.wrappers.TimeLimit, indices=0) == [False]
    envs.close()


def test_seeds_and_options_are_for_the_next_reset_only():
    envs = make_vec_env("CartPole-v1", 2)
    assert envs.seed(3) == [3, 4]
    first = envs.reset()
    assert not (envs.reset() == first).any()
    envs.seed(3)
    np.testing.assert_array_equal(envs.reset(), first)
    envs.set_options([{"low": 0.0, "high": 0.0}, {"low": 0.2, "high": 0.2}])
    np.testing.assert_array_equal(envs.reset(), np.float32([[0.0] * 4, [0.2] * 4]))
    envs.set_options({"low": 0.1, "high": 0.1})
    np.testing.assert_array_equal(envs.reset(), np.full((2, 4), 0.1, np.float32))
    assert (abs(envs.reset()) < 0.05).all()
    envs.close()


def test_render_tiles_the_frames():
    envs = make_vec_env("CartPole-v1", 4, env_kwargs={"render_mode": "rgb_array"})
    envs.reset()
    assert envs.render().shape == (800, 1200, 3)
    assert [frame.shape for frame in envs.get_images()] == [(400, 600, 3)] * 4
    assert envs.metadata["render_fps"] == 50
    envs.close()


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
@pytest.mark.parametrize("engine", ["native", "sync"])
def test_other_engines_and_autoreset_modes(engine, mode):
    kwargs = {"autoreset_mode": mode, "episode_statistics": True}
    envs = SB3VecEnv(
        gym.make_vec(
            "CartPole-v1",
            2,
            vectorization_mode=engine,
            vector_kwargs=kwargs,
            max_episode_steps=5,
            disable_env_checker=True,
        )
        if engine == "sync"
        else gym.make_vec("CartPole-v1", 2, vector_kwargs=kwargs, max_episode_steps=5)
    )
    envs.seed(1)
    envs.reset()
    for step in range(1, 11):
        observations, _, dones, infos = envs.step(np.array([step % 2, step % 2]))
        assert dones.tolist() == [step % 5 == 0] * 2
    assert infos[1]["episode"]["l"] == 5
    assert infos[1]["TimeLimit.truncated"] is True
    assert (infos[1]["terminal_observation"] != observations[1]).any()
    assert envs.env_method("get_wrapper_attr", "length", indices=[1]) == [0.5]
    envs.close()


def test_infos_are_new_dicts():
    envs = make_vec_env("CartPole-v1", 2)
    envs.reset()
    before = envs.step(np.zeros(2, np.int64))[3]
    before[0]["mine"] = 1
    after = envs.step(np.zeros(2, np.int64))[3]
    assert before == [{"mine": 1}, {}] and after == [{}, {}]
    envs.close()


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1", "FrozenLake-v1"])
def test_its_environment_checker_accepts_our_environments(env_id):
    check_env(to_gymnasium(gym.make(env_id)), skip_render_check=True)
