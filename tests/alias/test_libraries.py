"""Libraries that import Gymnasium run on gymcore under the alias; they load without Gymnasium."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.alias.running import lines

SB3 = """
import sys
import gymnasium, gymcore
from stable_baselines3 import PPO
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.vec_env import SubprocVecEnv

check_env(gymnasium.make("CartPole-v1"))
env = gymcore.make("CartPole-v1")
model = PPO("MlpPolicy", env, n_steps=64, batch_size=32, n_epochs=1, device="cpu").learn(64)
assert type(model.observation_space) is gymcore.spaces.Box
model.save(sys.argv[1])
if __name__ == "__main__":
    envs = SubprocVecEnv([lambda: gymnasium.make("CartPole-v1")] * 2, start_method="forkserver")
    print(envs.reset().shape, envs.env_is_wrapped(gymnasium.wrappers.TimeLimit))
    envs.close()
"""
TORCHRL = """
import gymcore
from torchrl.envs.libs.gym import GymEnv
env = GymEnv("CartPole-v1")
rollout = env.rollout(5)
print(rollout["next", "observation"].shape[1], isinstance(env._env, gymcore.Env))
"""
# As skrl tells gym and gymnasium apart, and SuperSuit pickles functions.
NAMES = """
import gym, gymnasium
from gymnasium.vector.async_vector_env import CloudpickleWrapper


def step(make):
    envs = make([lambda: gym.make("Pendulum-v1")] * 2)
    bases = [*type(envs).__bases__, *type(envs.unwrapped).__bases__]
    print(envs.unwrapped is envs, any("gymnasium." in str(base) for base in bases))
    envs.reset(seed=1)
    print(gym.vector.VectorEnvWrapper(envs).step([[0.0], [0.0]])[0].shape)
    envs.close()


if __name__ == "__main__":
    step(gym.vector.SyncVectorEnv)
    step(gym.vector.AsyncVectorEnv)
    envs = gymnasium.make_vec("Pendulum-v1", 2, "sync")
    print(type(envs).__bases__[0].__module__, CloudpickleWrapper(dict)())
"""


def test_stable_baselines3(tmp_path: Path) -> None:
    sb3 = pytest.importorskip("stable_baselines3")
    import gymnasium

    file = tmp_path / "model.zip"
    assert lines(tmp_path, SB3, str(file)) == ["(2, 4) [True, True]"]
    model = sb3.PPO.load(file)
    assert model.observation_space == gymnasium.make("CartPole-v1").observation_space
    assert type(model.observation_space) is gymnasium.spaces.Box
    assert type(model.action_space) is gymnasium.spaces.Discrete


def test_torchrl(tmp_path: Path) -> None:
    pytest.importorskip("torchrl")
    assert lines(tmp_path, TORCHRL) == ["4 True"]


def test_names_by_which_libraries_tell_packages_apart(tmp_path: Path) -> None:
    of_gym = ["True False", "(2, 3)"]
    assert lines(tmp_path, NAMES) == [*of_gym, *of_gym, "gymnasium.vector.engine {}"]
