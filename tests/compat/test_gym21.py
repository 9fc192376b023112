"""Programs as they were written for Gym 0.21, with nothing changed but the import."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gymcore
from gymcore.compat import gym21 as gym
from gymcore.compat.gym21.utils import seeding


class Walk(gym.Env):
    """An environment of its time."""

    metadata = {"render.modes": ["human", "rgb_array"]}  # noqa: RUF012
    action_space = gym.spaces.Discrete(2)
    observation_space = gym.spaces.Box(-9.0, 9.0, (1,), np.float32)

    def __init__(self) -> None:
        self.seed()

    def seed(self, seed: int | None = None) -> list[int]:
        self.np_random, seed = seeding.np_random(seed)
        return [seed]

    def reset(self) -> Any:
        self.place = np.float32(self.np_random.randint(-2, 3) + self.np_random.rand())
        return np.array([self.place])

    def step(self, action: int) -> Any:
        self.place += np.float32(0.5 if action else -0.5)
        return np.array([self.place]), 1.0, bool(abs(self.place) > 3), {}

    def render(self, mode: str = "human") -> Any:
        return np.full((4, 4, 3), 9, np.uint8) if mode == "rgb_array" else None


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    gym.register(id="Walk-v0", entry_point=Walk, max_episode_steps=8)
    yield
    gymcore.registry.pop("Walk-v0")


def test_an_environment_of_its_time() -> None:
    env = gym.make("Walk-v0")
    assert env.seed(5) == [5]
    first = env.reset()
    direct = Walk()
    direct.seed(5)
    assert direct.reset().tolist() == first.tolist()
    assert env.np_random.randint(9) == direct.np_random.randint(9)  # a RandomState
    dones = []
    while not dones or not dones[-1]:
        *_, done, info = env.step(len(dones) % 2)
        dones.append(done)
    assert len(dones) == 8 and info == {"TimeLimit.truncated": True}
    assert env.render(mode="rgb_array").shape == (4, 4, 3)
    assert gymcore.make("Walk-v0").reset(seed=5)[0].tolist() == first.tolist()


def test_seeds_of_gym() -> None:
    # What Gym 0.21 printed for env.seed(0); CartPole's reset.
    state = seeding.np_random(0)[0].uniform(-0.05, 0.05, 4)
    np.testing.assert_allclose(state, [-0.04456399, 0.04653909, 0.01326909, -0.02099827], 1e-6)
    assert seeding.np_random(np.int64(3))[1] == 3
    assert seeding.np_random()[1] != seeding.np_random()[1]
    assert seeding.create_seed(2**64 + 3) == 3 and 0 <= seeding.hash_seed(1, 4) < 2**32
    for seed in (-1, "x", 2.5):
        with pytest.raises(gym.error.Error, match="Seed must be a non-negative integer"):
            seeding.np_random(seed)  # type: ignore[arg-type]


class Doubled(gym.RewardWrapper):
    def reward(self, reward: float) -> float:
        return 2 * reward


class Shifted(gym.ObservationWrapper):
    def observation(self, observation: Any) -> Any:
        return observation + 100


class Swapped(gym.ActionWrapper):
    def action(self, action: int) -> int:
        return 1 - action


def test_wrappers_of_its_time() -> None:
    env = Doubled(Shifted(Swapped(gym.make("CartPole-v1"))))
    assert env.seed(1) == [1]
    observation = env.reset()
    assert observation.min() > 99
    bare = gym.make("CartPole-v1")
    bare.seed(1)
    assert (bare.reset() + 100).tolist() == observation.tolist()
    result, expected = env.step(0), bare.step(1)
    assert result[0].tolist() == (expected[0] + 100).tolist()
    assert result[1:] == (2.0, False, {})
    assert env.render(mode="rgb_array").shape == (400, 600, 3)
    assert env.gravity == pytest.approx(9.8)
    env.close()


def make_env(gym_id: str, seed: int, folder: str | None = None) -> Any:
    def thunk() -> Any:
        env = gym.make(gym_id)
        env = gym.wrappers.RecordEpisodeStatistics(env)
        if folder is not None:
            env = gym.wrappers.RecordVideo(env, folder)
        env.seed(seed)
        env.action_space.seed(seed)
        env.observation_space.seed(seed)
        return env

    return thunk


@pytest.mark.parametrize("vector_env", [gym.vector.SyncVectorEnv, gym.vector.AsyncVectorEnv])
def test_ppo(vector_env: Any) -> None:
    envs = vector_env([make_env("CartPole-v1", i) for i in range(3)])
    assert isinstance(envs.single_action_space, gym.spaces.Discrete)
    next_obs = envs.reset()
    assert next_obs[1].tolist() == gymcore.make("CartPole-v1").reset(seed=1)[0].tolist()
    envs.action_space.seed(0)
    obs, returns = [], []
    for _ in range(80):
        obs.append(next_obs)
        next_obs, reward, done, infos = envs.step(envs.action_space.sample())
        assert reward.tolist() == [1.0] * 3
        for item, ended in zip(infos, done, strict=True):
            assert ("episode" in item) == ("terminal_observation" in item) == ended
            if "episode" in item:
                returns.append(item["episode"]["r"])
                assert item["episode"]["l"] == returns[-1]
                assert item["TimeLimit.truncated"] is False
    envs.close()
    assert np.array(obs).shape == (80, 3, 4) and len(returns) > 4


def test_videos(tmp_path: Path) -> None:
    pytest.importorskip("imageio_ffmpeg", reason="imageio-ffmpeg is not installed")
    env = make_env("CartPole-v1", 1, str(tmp_path / "v"))()
    env.reset()
    done = False
    while not done:
        *_, done, _info = env.step(1)
    env.close()
    assert (tmp_path / "v" / "rl-video-episode-0.mp4").stat().st_size > 500
    env = gym.wrappers.Monitor(gym.make("Walk-v0"), str(tmp_path / "m"), force=True)
    env.reset()
    env.step(0)
    env.close()
    assert env.get_episode_lengths() == [1]
    assert len(list((tmp_path / "m").glob("*.mp4"))) == 1


def test_wrappers_by_name() -> None:
    for name in gym.wrappers.__all__:
        assert hasattr(gym.wrappers, name) and name in dir(gym.wrappers)
    with pytest.raises(AttributeError):
        gym.wrappers.Nothing  # noqa: B018
    env = gym.wrappers.TimeLimit(gym.make("CartPole-v1"), 1)
    assert isinstance(env, gym.wrappers.TimeLimit)
    assert not isinstance(env, gym.wrappers.FrameStack)
    env = gym.wrappers.FrameStack(env, 2)
    env.reset()
    observation, _, done, info = env.step(0)
    assert observation.shape == (2, 4) and (done, info) == (True, {"TimeLimit.truncated": True})
    env = gym.wrappers.NormalizeReward(gym.vector.make("CartPole-v1", 2, asynchronous=False))
    env.reset()
    assert len(env.step([0, 1])) == 4
    pixels = gym.wrappers.PixelObservationWrapper(gym.make("CartPole-v1"))
    assert pixels.reset()["pixels"].shape == (400, 600, 3)


def test_batches() -> None:
    envs = gym.vector.make("Walk-v0", 2, asynchronous=False, wrappers=[Doubled, Doubled])
    assert isinstance(envs, gym.vector.VectorEnv)
    assert envs.seed(3) == [[3], [4]]
    envs.reset()
    assert envs.step([0, 1])[1].tolist() == [4.0, 4.0]
    assert gym.vector.make("Walk-v0", 1, False, wrappers=Doubled).num_envs == 1
    with gym.vector.make("CartPole-v1", 2) as envs:
        assert envs.reset().shape == (2, 4)
    with pytest.raises(gym.error.SpaceMismatch, match="observation_space: expected Box"):
        gym.vector.SyncVectorEnv([Walk], observation_space=gym.spaces.Discrete(2))
    with pytest.raises(gym.error.SpaceMismatch, match="action_space: expected Discrete"):
        gym.vector.SyncVectorEnv([Walk], action_space=gym.spaces.Discrete(3))
