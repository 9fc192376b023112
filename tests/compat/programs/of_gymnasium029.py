# ruff: noqa: RUF059
"""Programs as they were written for Gymnasium 0.29. Each gets `gym`, and a folder.

Their expected results, recorded with gymnasium 0.29.1, are in `test_gymnasium029.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np


def arrays(infos: dict[str, Any]) -> dict[str, Any]:
    """Return the contents of the arrays in a dict."""
    return {key: (str(value.dtype), value.shape) for key, value in infos.items()}


def infos_of_ended_episodes(gym: Any, folder: Path) -> Any:
    def make_env() -> Any:
        return gym.wrappers.RecordEpisodeStatistics(gym.make("CartPole-v1"))

    envs = gym.vector.SyncVectorEnv([make_env, make_env])
    assert isinstance(envs, gym.Env) and isinstance(envs, gym.vector.VectorEnv)
    obs, infos = envs.reset(seed=2)
    assert infos == {}
    while "final_info" not in infos:
        obs, rewards, terminated, truncated, infos = envs.step(np.array([1, 0]))
    names = ("final_observation", "_final_observation", "final_info", "_final_info")
    episode = infos["final_info"][1]["episode"]
    results = [arrays({name: infos[name] for name in names}), arrays(episode)]
    results += [
        infos["final_info"][0],
        infos["_final_info"].tolist(),
        infos["final_observation"][0],
    ]
    results.append(round(float(infos["final_observation"][1].sum()), 5))
    results += [episode["r"].tolist(), episode["l"].tolist(), round(float(obs.sum()), 5)]
    envs.close()
    return results


def statistics_of_a_batch(gym: Any, folder: Path) -> Any:
    envs = gym.vector.make("CartPole-v1", num_envs=3, asynchronous=False)
    envs = gym.wrappers.RecordEpisodeStatistics(envs)
    obs, infos = envs.reset(seed=1)
    found = []
    for _ in range(30):
        obs, rewards, terminated, truncated, infos = envs.step(np.array([0, 1, 1]))
        if "episode" in infos:
            episode = infos["episode"]
            found.append((episode["l"].tolist(), infos["_episode"].tolist()))
    envs.close()
    return found, episode["r"].tolist(), arrays({key: episode[key] for key in "rl"})


def made_by_make_vec(gym: Any, folder: Path) -> Any:
    envs = gym.make_vec("CartPole-v1", num_envs=2)
    results = [type(envs).__name__]
    obs, infos = envs.reset(seed=5)
    while "final_info" not in infos:
        obs, rewards, terminated, truncated, infos = envs.step(np.array([1, 1]))
    results += [infos["final_info"].tolist(), terminated.tolist(), round(float(obs.sum()), 5)]
    envs.close()
    envs = gym.make_vec("CartPole-v1", 2, "sync", wrappers=[gym.wrappers.TimeAwareObservation])
    results += [type(envs).__name__, envs.reset(seed=5)[0].shape]
    envs.close()
    for wrong in ("best", "custom"):
        try:
            gym.make_vec("MountainCarContinuous-v0" if wrong == "best" else "Up-v0", 2, wrong)
        except gym.error.Error:
            results.append(wrong)
    return results


def a_batch_of_the_users(gym: Any, folder: Path) -> Any:
    class Counter(gym.vector.VectorEnv):
        def __init__(self) -> None:
            space = gym.spaces.Box(0.0, 9.0, (2,), np.float32)
            super().__init__(3, space, gym.spaces.Discrete(4))

        def reset_wait(self, seed: Any = None, options: Any = None) -> Any:
            self.count = np.zeros((3, 2), np.float32)
            return self.count.copy(), {"seed": seed}

        def step_async(self, actions: Any) -> None:
            self.count += np.asarray(actions)[:, None]

        def step_wait(self) -> Any:
            ended = self.count[:, 0] > 5
            return self.count.copy(), self.count[:, 0], ended, np.zeros(3, np.bool_), {}

    envs = gym.wrappers.RecordEpisodeStatistics(Counter())
    assert isinstance(Counter(), gym.Env) and envs.num_envs == 3 and envs.is_vector_env
    obs, info = envs.reset(seed=4)
    results = [info, envs.observation_space.shape, str(envs.action_space)]
    for _ in range(2):
        obs, rewards, terminated, truncated, infos = envs.step(np.array([1, 2, 3]))
        results.append((obs[:, 1].tolist(), terminated.tolist()))
    return [*results, infos["episode"]["r"].tolist()]


def wrappers_that_changed(gym: Any, folder: Path) -> Any:
    class Grey(gym.Env):
        observation_space = gym.spaces.Box(0, 255, (8, 8), np.uint8)
        action_space = gym.spaces.Discrete(2)

        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            self.steps = 0
            return np.arange(64, dtype=np.uint8).reshape(8, 8), {}

        def step(self, action: int) -> Any:
            self.steps += 1
            return self.reset()[0], 1.0 + action, action == 1, self.steps == 3, {}

    env = gym.wrappers.NormalizeReward(Grey())
    env.reset()
    rewards = [round(float(env.step(action)[1]), 5) for action in (0, 0, 0, 0, 1, 0)]
    env = gym.wrappers.ResizeObservation(Grey(), 4)
    image = env.reset()[0]
    return rewards, env.observation_space.shape, image.shape, image.sum().item()


PROGRAMS = (
    infos_of_ended_episodes,
    statistics_of_a_batch,
    made_by_make_vec,
    a_batch_of_the_users,
    wrappers_that_changed,
)
