"""Environments for the tests of the registry, built for either package."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np


def fill(gym: ModuleType, *ids: str, **fields: Any) -> Any:
    """Empty a package's registry, register `ids` with one new class, and return the class."""
    gym.envs.registration.registry.clear()
    env_class = make_env_class(gym)
    for env_id in ids:
        gym.register(env_id, entry_point=env_class, **fields)
    return env_class


def make_env_class(gym: ModuleType, **class_attributes: Any) -> Any:
    """Return an environment class that records its arguments."""

    class Maze(gym.Env):
        metadata = {"render_modes": ["rgb_array", "human"], "render_fps": 10}  # noqa: RUF012

        def __init__(self, render_mode: str | None = None, size: Any = 1) -> None:
            self.render_mode = render_mode
            self.size = size
            self.observation_space = gym.spaces.Box(-1, 1, (2,))
            self.action_space = gym.spaces.Discrete(2)

        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            return self.np_random.random(2, dtype=np.float32), {}

        def step(self, action: Any) -> Any:
            return self.np_random.random(2, dtype=np.float32), 1.0, False, False, {}

        def render(self) -> Any:
            return np.zeros((4, 6, 3), np.uint8)

    for name, value in class_attributes.items():
        setattr(Maze, name, value)
    return Maze


def make_recording_wrapper(gym: ModuleType) -> Any:
    """Return a wrapper class whose wrappers can be recreated from a spec."""

    class Scaled(gym.Wrapper, gym.utils.RecordConstructorArgs):
        def __init__(self, env: Any, scale: Any = 1) -> None:
            gym.utils.RecordConstructorArgs.__init__(self, scale=scale)
            gym.Wrapper.__init__(self, env)

    return Scaled


def make_vector_class(gym: ModuleType, **class_attributes: Any) -> Any:
    """Return a vector environment class that records its arguments."""

    class MazeVector(gym.vector.VectorEnv):
        metadata = {"autoreset_mode": gym.vector.AutoresetMode.NEXT_STEP}  # noqa: RUF012

        def __init__(self, num_envs: int = 1, **kwargs: Any) -> None:
            self.num_envs = num_envs
            self.kwargs = kwargs

    for name, value in class_attributes.items():
        setattr(MazeVector, name, value)
    return MazeVector
