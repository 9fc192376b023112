"""Return, length and duration of episodes, for engines that step Python environments.

The compiled engine counts in its lane memory and reports the same infos.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.error import InvalidArgument

Bools = npt.NDArray[np.bool_]


class EpisodeStatistics:
    """Counts for every environment, reported when its episode has ended.

    Example:
        >>> import numpy as np
        >>> statistics = EpisodeStatistics(num_envs=2)
        >>> statistics.begin(np.array([True, True]))
        >>> infos = {}
        >>> statistics.count(np.array([1.0, 2.5]))
        >>> statistics.report(infos, np.array([False, True]))
        >>> infos["episode"]["r"], infos["episode"]["l"], infos["_episode"]
        (array([0. , 2.5]), array([0, 1]), array([False,  True]))
    """

    def __init__(self, num_envs: int) -> None:
        """Make the counters.

        Args:
            num_envs: number of environments.
        """
        self._returns = np.zeros(num_envs, dtype=np.float64)
        self._lengths = np.zeros(num_envs, dtype=np.int64)
        self._started = np.zeros(num_envs, dtype=np.float64)

    def begin(self, mask: Bools) -> None:
        """Begin new episodes.

        Args:
            mask: bool [num_envs], the environments that were reset.
        """
        self._returns[mask] = 0.0
        self._lengths[mask] = 0
        self._started[mask] = time.perf_counter()

    def count(self, rewards: npt.NDArray[np.float64]) -> None:
        """Count a step of every environment.

        Args:
            rewards: float64 [num_envs].
        """
        self._returns += rewards
        self._lengths += 1

    def report(self, infos: dict[str, Any], ended: Bools) -> None:
        """Write the episodes that ended into the infos of the step, if there are any.

        Args:
            infos: the merged infos; gets `episode` with `r` (return, float64), `l` (length, int64)
                and `t` (seconds, float64, to the microsecond), each [num_envs] and 0 where no
                episode has ended, and `_episode`.
            ended: bool [num_envs].

        Raises:
            InvalidArgument: the environments report an `episode` themselves.
        """
        if not ended.any():
            return
        if "episode" in infos:
            raise InvalidArgument(
                "episode_statistics: the environments have an info named 'episode' themselves; "
                f"the infos of this step are {sorted(infos)}"
            )
        seconds = np.round(time.perf_counter() - self._started, 6)
        infos["episode"] = {
            "r": np.where(ended, self._returns, 0.0),
            "l": np.where(ended, self._lengths, 0),
            "t": np.where(ended, seconds, 0.0),
        }
        infos["_episode"] = ended.copy()
