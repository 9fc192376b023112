"""Wrappers that every training program uses, for batches."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore import logger
from gymcore.core import ActType, ObsType
from gymcore.error import FailedCheck, FailedTypeCheck
from gymcore.utils import RecordConstructorArgs
from gymcore.vector.utils.arguments import split_reset_mask
from gymcore.vector.vector_env import AutoresetMode, VectorEnv
from gymcore.vector.vector_wrappers import VectorWrapper
from gymcore.wrappers.vector.time_limit import TimeLimit
from gymcore_ext.wrappers.episode_counts import EpisodeCounts

__all__ = ["RecordEpisodeStatistics", "TimeLimit"]

Array = npt.NDArray[Any]


class RecordEpisodeStatistics(
    VectorWrapper[ObsType, ActType, ObsType, ActType, Array], RecordConstructorArgs
):
    """Add return, length and duration of episodes to the infos of the step that ends them.

    `infos["episode"]` is then `{"r": returns float64, "l": lengths int64, "t": seconds float64}`,
    arrays [num_envs] with zeros for the other lanes, and `infos["_episode"]`, bool [num_envs], says
    which lanes have ended. A lane's count begins when it is reset, by the environment or by
    `reset`; a masked reset leaves those of the other lanes alone.

    Attributes:
        episode_count: Episodes that have ended.
        episode_start_times: When the current episodes began, `time.perf_counter` seconds, float64
            [num_envs]; changed in place, as the next three. Setting one of them copies.
        episode_returns: Returns of the current episodes so far, float64 [num_envs].
        episode_lengths: Their steps, int64 [num_envs].
        prev_dones: Which lanes the last step ended, bool [num_envs].
        time_queue: Durations of the last episodes, in seconds.
        return_queue: Their returns.
        length_queue: Their lengths.

    Example:
        >>> import gymcore as gym
        >>> envs = gym.make_vec("Pendulum-v1", num_envs=2, max_episode_steps=3)
        >>> envs = RecordEpisodeStatistics(envs)
        >>> _ = envs.reset(seed=1)
        >>> for _ in range(3):
        ...     *_, infos = envs.step(envs.action_space.sample())
        >>> infos["episode"]["l"], infos["_episode"], list(envs.length_queue)
        (array([3, 3]), array([ True,  True]), [np.int64(3), np.int64(3)])
    """

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, Array],
        buffer_length: int | None = 100,
        stats_key: str = "episode",
    ) -> None:
        """Wrap `env`.

        Args:
            env: The vector environment.
            buffer_length: How many episodes the queues keep; None for all.
            stats_key: The key in the infos.

        Raises:
            ArgumentTypeError: `env` is not a `VectorEnv` (a `TypeError`).
        """
        RecordConstructorArgs.__init__(self, buffer_length=buffer_length, stats_key=stats_key)
        VectorWrapper.__init__(self, env)
        if "autoreset_mode" not in env.metadata:
            logger.warn(
                f"{self} is missing `autoreset_mode` tag in its metadata, therefore, "
                "`RecordEpisodeStatistics` is assuming that the environment uses "
                "`AutoresetMode.NEXT_STEP`."
            )
        mode = AutoresetMode(env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP))
        self._stats_key = stats_key
        self._mask_key = f"_{stats_key}"
        self._counts = EpisodeCounts(
            env.num_envs,
            mode is AutoresetMode.NEXT_STEP,
            mode is AutoresetMode.SAME_STEP,
            buffer_length,
        )

    def reset(
        self,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[ObsType, dict[str, Any]]:
        """Reset, and begin the counts of the lanes that were reset; see `VectorEnv.reset`."""
        _, mask = split_reset_mask(options, self.env.num_envs)
        mask = None if mask is None else mask.copy()
        result = self.env.reset(seed=seed, options=options)
        self._counts.reset(mask, time.perf_counter())
        return result

    def step(self, actions: ActType) -> tuple[ObsType, Array, Array, Array, dict[str, Any]]:
        """Step, and add the statistics of the episodes that have ended to the infos.

        Raises:
            FailedTypeCheck: (also an `AssertionError`) if the infos are no dict.
            FailedCheck: (also a `ValueError`) if they have something under the key already.
        """
        result = self.env.step(actions)
        _, rewards, terminated, truncated, infos = result
        if not isinstance(infos, dict):
            raise FailedTypeCheck(
                "`vector.RecordEpisodeStatistics` requires `info` type to be `dict`, its actual "
                f"type is {type(infos)}. This may be due to usage of other wrappers in the wrong "
                "order."
            )
        found = self._counts.step(rewards, terminated, truncated, time.perf_counter())
        if found is not None:
            key, mask_key = self._stats_key, self._mask_key
            if key in infos or mask_key in infos:
                raise FailedCheck(
                    f"Attempted to add episode stats with key '{key}' but this key already exists "
                    f"in info: {list(infos)}; give this wrapper another stats_key"
                )
            infos[key], infos[mask_key] = found
        return result

    def end_episodes(self, mask: npt.NDArray[np.bool_]) -> None:
        """Note that a wrapper further out ends episodes; see `VectorEnv.end_episodes`.

        They are not reported: what ended them comes after this wrapper.

        Args:
            mask: `[num_envs] bool`, the environments.
        """
        self.env.end_episodes(mask)
        self._counts.end(mask)

    @property
    def episode_count(self) -> int:
        """How many episodes have ended."""
        return self._counts.episodes

    @episode_count.setter
    def episode_count(self, value: int) -> None:
        self._counts.episodes = value

    @property
    def return_queue(self) -> deque[np.float64]:
        """Returns of the last episodes."""
        return self._counts.get_queue("r")

    @return_queue.setter
    def return_queue(self, queue: deque[np.float64]) -> None:
        self._counts.set_queue("r", queue)

    @property
    def length_queue(self) -> deque[np.int64]:
        """Lengths of the last episodes."""
        return self._counts.get_queue("l")

    @length_queue.setter
    def length_queue(self, queue: deque[np.int64]) -> None:
        self._counts.set_queue("l", queue)

    @property
    def time_queue(self) -> deque[np.float64]:
        """Durations of the last episodes, in seconds."""
        return self._counts.get_queue("t")

    @time_queue.setter
    def time_queue(self, queue: deque[np.float64]) -> None:
        self._counts.set_queue("t", queue)

    @property
    def episode_start_times(self) -> npt.NDArray[np.float64]:
        """When the current episodes began, in seconds of `time.perf_counter`."""
        return self._counts.starts

    @episode_start_times.setter
    def episode_start_times(self, values: npt.ArrayLike) -> None:
        self._counts.starts[:] = values

    @property
    def episode_returns(self) -> npt.NDArray[np.float64]:
        """Returns of the current episodes so far."""
        return self._counts.returns

    @episode_returns.setter
    def episode_returns(self, values: npt.ArrayLike) -> None:
        self._counts.returns[:] = values

    @property
    def episode_lengths(self) -> npt.NDArray[np.int64]:
        """Steps of the current episodes so far."""
        return self._counts.lengths

    @episode_lengths.setter
    def episode_lengths(self, values: npt.ArrayLike) -> None:
        self._counts.lengths[:] = values

    @property
    def prev_dones(self) -> npt.NDArray[np.bool_]:
        """Which lanes the last step ended."""
        return self._counts.ended

    @prev_dones.setter
    def prev_dones(self, values: npt.ArrayLike) -> None:
        self._counts.ended[:] = values
