"""`RecordEpisodeStatistics` of Gym 0.26, of environments and of batches."""

from __future__ import annotations

import time
from collections import deque
from typing import Any, SupportsFloat

import numpy as np
import numpy.typing as npt

from gymcore.compat.forwarding import Forwarding, LegacyVectorWrapper, VectorTwin
from gymcore.compat.gym26.wrappers.checks import checked_count
from gymcore.core import Env, Wrapper
from gymcore.utils import RecordConstructorArgs
from gymcore.vector import VectorEnv
from gymcore.wrappers import common
from gymcore.wrappers.vector import common as vector_common

__all__ = ["RecordEpisodeStatistics"]

Array = npt.NDArray[Any]


class _VectorRecordEpisodeStatistics(
    LegacyVectorWrapper, vector_common.RecordEpisodeStatistics[Any, Any]
):
    """`RecordEpisodeStatistics` of a batch: today's, with the numbers as Gym 0.26 gave them."""

    def __init__(self, env: VectorEnv[Any, Any, Any], deque_size: int | None = 100) -> None:
        if deque_size is not None:
            deque_size = checked_count("deque_size", deque_size, 0)
        RecordConstructorArgs.__init__(self, deque_size=deque_size)
        vector_common.RecordEpisodeStatistics.__init__(self, env, deque_size)
        self.is_vector_env = True
        self.t0 = time.perf_counter()

    def step(self, actions: Any) -> tuple[Any, Array, Array, Array, dict[str, Any]]:
        """Step the environments, and add the statistics of ended episodes to the infos."""
        result = super().step(actions)
        infos = result[4]
        if "_episode" in infos:
            statistics, ended = infos["episode"], infos["_episode"]
            since = round(time.perf_counter() - self.t0, 6)
            infos["episode"] = {
                "r": statistics["r"].astype(np.float32).astype(np.float64),
                "l": statistics["l"].astype(np.float64),
                "t": ended * since,
            }
        return result


class RecordEpisodeStatistics(VectorTwin, Forwarding, common.RecordEpisodeStatistics[Any, Any]):
    """Add the return, length and time of an episode to the info of its last step (Gym 0.26).

    `info["episode"]` is `{"r": return, "l": steps, "t": seconds since this wrapper was made}`, with
    float32 and int32 scalars; the environment's own info is left as it is.

    A vector environment may be given too. Its infos then have `infos["episode"]`, a dict of arrays
    [num_envs] float64 that are 0 where no episode has ended, and the mask `infos["_episode"]`.

    Attributes:
        t0: When the wrapper was made, by `time.perf_counter`.
        num_envs: 1, or the number of lanes.
        episode_count: Episodes that have ended.
        episode_returns: Returns of the current episodes so far, [num_envs] float32.
        episode_lengths: Steps of the current episodes so far, [num_envs] int32.
        return_queue: Returns of the last episodes.
        length_queue: Lengths of the last episodes.

    Example:
        >>> import gymcore as gym
        >>> envs = RecordEpisodeStatistics(gym.vector.make("CartPole-v1", num_envs=2))
        >>> _ = envs.reset(seed=2)
        >>> while "episode" not in (infos := envs.step([1, 0])[4]):
        ...     pass
        >>> infos["episode"]["l"], infos["_episode"]
        (array([0., 9.]), array([False,  True]))
    """

    vector_twin = _VectorRecordEpisodeStatistics

    def __init__(self, env: Env[Any, Any], deque_size: int | None = 100) -> None:
        """Wrap `env`.

        Args:
            env: An environment, or a vector environment.
            deque_size: How many episodes the queues keep; None for all.

        Raises:
            ArgumentTypeError: if `env` is no environment, or `deque_size` no integer.
            InvalidArgument: if `deque_size` is negative.
        """
        if deque_size is not None:
            deque_size = checked_count("deque_size", deque_size, 0)
        RecordConstructorArgs.__init__(self, deque_size=deque_size)
        Wrapper.__init__(self, env)
        self.num_envs = 1
        self.is_vector_env = False
        self.t0 = time.perf_counter()
        self.episode_count = 0
        self.episode_returns: Array = np.zeros(1, np.float32)  # type: ignore[assignment]
        self.episode_lengths: Array = np.zeros(1, np.int32)  # type: ignore[assignment]
        self.return_queue: deque[np.float32] = deque(maxlen=deque_size)  # type: ignore[assignment]
        self.length_queue: deque[np.int32] = deque(maxlen=deque_size)  # type: ignore[assignment]

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step the environment, and add the statistics if the episode ended."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.episode_returns += reward
        self.episode_lengths += 1
        if terminated or truncated:
            episode_return, length = self.episode_returns[0], self.episode_lengths[0]
            duration = round(time.perf_counter() - self.t0, 6)
            info = {**info, "episode": {"r": episode_return, "l": length, "t": duration}}
            self.return_queue.append(episode_return)
            self.length_queue.append(length)
            self.episode_count += 1
            self._begin()
        return observation, reward, terminated, truncated, info

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the environment and the statistics of the episode."""
        result = self.env.reset(seed=seed, options=options)
        self._begin()
        return result

    def _begin(self) -> None:
        """Set the statistics of the episode to zero."""
        self.episode_returns[:] = 0
        self.episode_lengths[:] = 0
