"""rl_games' own runner on `gymcore.interop.rl_games`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gymcore as gym

gymnasium = pytest.importorskip("gymnasium")
pytest.importorskip("rl_games.torch_runner")
from rl_games.common import vecenv  # noqa: E402
from rl_games.torch_runner import Runner  # noqa: E402

from gymcore.interop.rl_games import RlGamesVecEnv, register  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")  # warnings of rl_games and torch


def test_truncated_and_not_terminated_is_a_time_out():
    envs = RlGamesVecEnv("gymcore", 3, seed=1, id="CartPole-v1", max_episode_steps=12)
    assert envs.get_env_info() == {
        "observation_space": gymnasium.spaces.Box(
            envs.observation_space.low, envs.observation_space.high
        ),
        "action_space": gymnasium.spaces.Discrete(2),
    }
    mode = {"autoreset_mode": "SameStep"}
    same = gym.make_vec("CartPole-v1", 3, max_episode_steps=12, vector_kwargs=mode)
    np.testing.assert_array_equal(envs.reset(), same.reset(seed=1)[0])
    terminations = time_outs = 0
    for step in range(60):
        actions = np.array([0, step % 2, step // 2 % 2])
        observations, rewards, dones, infos = envs.step(actions)
        expected = same.step(actions)
        np.testing.assert_array_equal(observations, expected[0])
        assert (rewards.dtype, dones.dtype) == (np.float32, np.bool_)
        np.testing.assert_array_equal(rewards, expected[1])
        np.testing.assert_array_equal(dones, expected[2] | expected[3])
        np.testing.assert_array_equal(infos["time_outs"], expected[3] & ~expected[2])
        terminations += expected[2].sum()
        time_outs += infos["time_outs"].sum()
    assert terminations and time_outs
    envs.close()


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1"])
def test_its_runner_trains_and_plays(env_id, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    register()
    discrete = env_id == "CartPole-v1"
    network: dict[str, Any] = {
        "name": "actor_critic",
        "separate": False,
        "space": {"discrete": {}} if discrete else {"continuous": CONTINUOUS},
        "mlp": {"units": [16], "activation": "elu", "initializer": {"name": "default"}},
    }
    config = {
        **CONFIG,
        "env_config": {"id": env_id, "max_episode_steps": 20, "seed": 1},
    }
    kind = "discrete" if discrete else "continuous"
    params = {
        "seed": 1,
        "algo": {"name": f"a2c_{kind}"},
        "model": {"name": f"{kind}_a2c" if discrete else f"{kind}_a2c_logstd"},
        "network": network,
        "config": config,
    }
    made: list[RlGamesVecEnv] = []

    def make(*args: Any, **kwargs: Any) -> RlGamesVecEnv:
        made.append(RlGamesVecEnv(*args, **kwargs))
        return made[-1]

    monkeypatch.setitem(vecenv.vecenv_config, "GYMCORE", make)
    runner = Runner()
    runner.load({"params": params})
    runner.run({"train": True})
    assert made[-1].envs.num_envs == 8
    runner.run({"play": True, "train": False})
    for envs in made:
        envs.close()


CONTINUOUS = {
    "mu_activation": "None",
    "sigma_activation": "None",
    "mu_init": {"name": "default"},
    "sigma_init": {"name": "const_initializer", "val": 0},
    "fixed_sigma": True,
}
CONFIG = {
    "name": "test",
    "env_name": "gymcore",
    "device": "cpu",
    "device_name": "cpu",
    "torch_compile": False,
    "reward_shaper": {"scale_value": 0.1},
    "normalize_advantage": True,
    "normalize_input": True,
    "gamma": 0.99,
    "tau": 0.9,
    "learning_rate": 3e-4,
    "value_bootstrap": True,
    "grad_norm": 0.5,
    "entropy_coef": 0.01,
    "truncate_grads": True,
    "ppo": True,
    "e_clip": 0.2,
    "clip_value": True,
    "num_actors": 8,
    "horizon_length": 32,
    "minibatch_size": 64,
    "mini_epochs": 1,
    "critic_coef": 1,
    "bounds_loss_coef": 0.0,
    "lr_schedule": "None",
    "max_epochs": 2,
    "score_to_win": 1e9,
    "save_best_after": 1000,
    "save_frequency": 0,
    "print_stats": False,
    "player": {"games_num": 2, "render": False, "deterministic": True, "print_stats": False},
}
