"""An environment and a vector environment in the style of Gym 0.21: no base class."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from gymcore import spaces


class OldEnv:
    """Environment that counts from its seed, for `length` steps; `limited` makes it truncate."""

    metadata: ClassVar[dict[str, Any]] = {
        "render.modes": ["human", "rgb_array"],
        "video.frames_per_second": 25,
    }
    reward_range = (-1.0, 9.0)
    observation_space = spaces.Box(-100, 100, (2,), np.float32)
    action_space = spaces.Discrete(5)

    def __init__(self, length: int = 3, limited: bool = False) -> None:
        self.length = length
        self.limited = limited
        self.start = 0
        self.elapsed = 0
        self.log: list[Any] = []

    def seed(self, seed: int | None = None) -> list[int | None]:
        self.start = seed or 0
        self.log.append(("seed", seed))
        return [seed]

    def observe(self) -> Any:
        return np.array([self.start, self.elapsed], np.float32)

    def reset(self) -> Any:
        self.elapsed = 0
        return self.observe()

    def step(self, action: Any) -> Any:
        self.elapsed += 1
        done = self.elapsed >= self.length
        info: dict[str, Any] = {"elapsed": self.elapsed}
        if done and self.limited:
            info["TimeLimit.truncated"] = True
        return self.observe(), float(action), done, info

    def render(self, mode: str = "human") -> Any:
        self.log.append(("render", mode))
        return np.full((2, 2, 3), self.elapsed, np.uint8) if mode == "rgb_array" else None

    def close(self) -> None:
        self.log.append("close")


class OldVectorEnv:
    """A vector environment like Stable Baselines': single spaces, infos in a list."""

    def __init__(self, envs: list[OldEnv]) -> None:
        self.envs = envs
        self.num_envs = len(envs)
        self.observation_space = envs[0].observation_space
        self.action_space = envs[0].action_space
        self.closed_by: list[str] = []

    def seed(self, seed: int) -> None:
        for i, env in enumerate(self.envs):
            env.seed(seed + i)

    def reset(self) -> Any:
        return np.stack([env.reset() for env in self.envs])

    def step(self, actions: Any) -> Any:
        rows, rewards, dones, infos = [], [], [], []
        for env, action in zip(self.envs, actions, strict=True):
            row, reward, done, info = env.step(action)
            if done:
                info["terminal_observation"] = row
                row = env.reset()
            rows.append(row)
            rewards.append(reward)
            dones.append(done)
            infos.append(info)
        return np.stack(rows), np.array(rewards, np.float32), np.array(dones), infos

    def close(self) -> None:
        self.closed_by.append("close")
