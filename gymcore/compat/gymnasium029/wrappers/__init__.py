"""The wrappers of Gymnasium 0.29: those of Gym 0.26, except for the ones defined here."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.compat.gym26 import wrappers
from gymcore.compat.gym26.wrappers import *
from gymcore.compat.gym26.wrappers import (
    capped_cubic_video_schedule as capped_cubic_video_schedule,
)
from gymcore.compat.old_modules import joined_modules
from gymcore.core import Info
from gymcore.spaces import Box
from gymcore.spaces.space import Array
from gymcore.vector.vector_env import VectorStep
from gymcore.wrappers.utils import RunningMeanStd as RunningMeanStd

__all__ = list(wrappers.__all__)
__getattr__ = joined_modules(__name__)


class RecordEpisodeStatistics(wrappers.RecordEpisodeStatistics):
    """Add the return, length and time of an episode to the info of its last step (0.29).

    `info["episode"]` is `{"r": returns, "l": steps, "t": seconds since the episodes began}`:
    float32, int32 and float32 arrays [num_envs], or [1] for a single environment, with 0 where no
    episode has ended. `infos["_episode"]` of a vector environment is the mask of ended episodes.

    Examples:
        >>> import gymcore.compat.gymnasium029 as gym
        >>> env = gym.make("CartPole-v1", max_episode_steps=1)
        >>> env = gym.wrappers.RecordEpisodeStatistics(env)
        >>> _ = env.reset()
        >>> env.step(0)[4]["episode"]["r"]
        array([1.], dtype=float32)
    """

    def reset(self, **kwargs: object) -> tuple[object, Info]:
        """Reset the environment and the statistics of its episodes."""
        self.episode_start_times = np.full(self.num_envs, time.perf_counter())
        return super().reset(**kwargs)

    def _episode_infos(self, ended: npt.NDArray[np.bool_]) -> Info:
        """Return the entries to add to the info of this step."""
        now = time.perf_counter()
        times = np.round(now - self.episode_start_times, 6)
        self.episode_start_times[ended] = now
        episode = {
            "r": self.episode_returns * ended,
            "l": self.episode_lengths * ended,
            "t": (times * ended).astype(np.float32),
        }
        return (
            {"episode": episode, "_episode": ended} if self.is_vector_env else {"episode": episode}
        )


class NormalizeReward(wrappers.NormalizeReward):
    """Divide rewards by the standard deviation of the discounted return (0.29).

    The return is `returns * gamma * (1 - terminated) + reward`; a truncation does not reset it.
    """

    def step(self, action: object) -> VectorStep:
        """Step the environment and scale its reward."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.returns = self.returns * self.gamma * (1 - np.asarray(terminated)) + np.asarray(
            reward, np.float64
        )
        return observation, self.normalize(reward), terminated, truncated, info


class ResizeObservation(wrappers.ResizeObservation):
    """Resize images, averaging over the area of each new pixel (0.29); adds no channel axis."""

    def __init__(self, env: Any, shape: tuple[int, int] | int) -> None:
        """Wrap an environment with image observations; one number is both height and width."""
        super().__init__(env, shape)
        image_shape = self.shape + env.observation_space.shape[2:]
        self.observation_space = Box(0, 255, shape=image_shape, dtype=np.uint8)

    def observation(self, observation: Array) -> Array:
        """Return the resized image, a new array of the observation space's shape."""
        return super().observation(observation).reshape(self.observation_space.shape)


class RecordVideo(wrappers.RecordVideo):
    """Record videos of selected episodes, or starting at selected steps (0.29)."""

    def __init__(self, *args: Any, disable_logger: bool = False, **kwargs: Any) -> None:
        """Wrap an environment; `disable_logger` has no effect, because nothing is logged."""
        super().__init__(*args, **kwargs)
