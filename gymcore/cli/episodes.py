"""Episode returns and lengths out of [T, N] blocks of rewards and flags, in bounded memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

#: Episodes kept for the medians; beyond that they come from a uniform sample of this size.
SAMPLE_SIZE = 2**16


class EpisodeStatistics:
    """Counts the episodes that end in consecutive blocks of steps, for any autoreset mode.

    A block may cut episodes anywhere: what a lane has collected so far is carried on. Nothing is
    looked at lane by lane; a block is cut into segments at its `done` flags and summed in one go.

    Attributes:
        episodes: Episodes that have ended.
        terminated: Those whose last step was `terminated`.
        truncated: Those whose last step was `truncated`; a step may be both.
        reset_steps: Steps that only reset a lane (next-step autoreset).
        last_returns: Returns of the episodes that ended in the last block.
    """

    def __init__(self, num_envs: int, *, resets_take_a_step: bool, sample_seed: int = 0) -> None:
        """Start with every lane freshly reset.

        Args:
            num_envs: Number of lanes N.
            resets_take_a_step: True for next-step autoreset, where the step after an episode's
                end only resets (reward 0) and belongs to no episode.
            sample_seed: Seed of the sample behind the medians of more than `SAMPLE_SIZE` episodes.
        """
        self.episodes = 0
        self.terminated = 0
        self.truncated = 0
        self.reset_steps = 0
        self.last_returns = np.empty(0)
        self._num_envs = num_envs
        # A lane that has just ended starts one step below zero when its reset takes a step.
        self._fresh_length = -1 if resets_take_a_step else 0
        self._return = np.zeros(num_envs)
        self._length = np.zeros(num_envs, dtype=np.int64)
        self._kept = np.empty((2, 1024))  # rows: returns, lengths; grows by doubling
        self._sums = np.zeros(2)
        self._least = np.full(2, np.inf)
        self._most = np.full(2, -np.inf)
        self._generator = np.random.default_rng(sample_seed)

    def add(
        self,
        rewards: npt.NDArray[Any],
        terminated: npt.NDArray[np.bool_],
        truncated: npt.NDArray[np.bool_],
    ) -> None:
        """Take the next block of steps; the arrays are read, not kept.

        Args:
            rewards: [T, N] floats or integers.
            terminated: [T, N] bool.
            truncated: [T, N] bool.
        """
        steps, lanes = rewards.shape
        self.last_returns = np.empty(0)
        if steps == 0:
            return
        done = terminated | truncated
        if self._fresh_length:
            # A reset step is the one behind a `done`, or the first one of a lane that owes it.
            self.reset_steps += int(np.count_nonzero(self._length < 0))
            self.reset_steps += int(np.count_nonzero(done[:-1]))
        by_lane = np.ascontiguousarray(rewards.T, dtype=np.float64).reshape(-1)
        ended = np.ascontiguousarray(done.T).reshape(-1)
        # Segments start where a lane's row starts and behind each end of an episode.
        starting = np.empty(steps * lanes, dtype=np.bool_)
        starting[1:] = ended[:-1]
        starting[::steps] = True
        points = np.flatnonzero(starting)
        behind = np.append(points[1:], steps * lanes)
        sums = np.add.reduceat(by_lane, points)
        lengths = behind - points
        closes = ended[behind - 1]
        lane = points // steps
        first = points == lane * steps
        sums[first] += self._return
        lengths[first] += self._length
        lengths[~first] += self._fresh_length
        self._return[:] = 0.0
        self._length[:] = self._fresh_length
        self._return[lane[~closes]] = sums[~closes]
        self._length[lane[~closes]] = lengths[~closes]
        if not closes.any():
            return
        self.terminated += int(np.count_nonzero(terminated))
        self.truncated += int(np.count_nonzero(truncated))
        self._record(sums[closes], lengths[closes])

    def _record(self, returns: npt.NDArray[np.float64], lengths: npt.NDArray[np.int64]) -> None:
        """Count finished episodes and keep them, or a uniform sample of all, for the medians."""
        self.last_returns = returns
        found = np.stack((returns, lengths))
        before, self.episodes = self.episodes, self.episodes + found.shape[1]
        self._sums += found.sum(axis=1)
        np.minimum(self._least, found.min(axis=1), out=self._least)
        np.maximum(self._most, found.max(axis=1), out=self._most)
        kept = min(self.episodes, SAMPLE_SIZE)
        if kept > self._kept.shape[1]:
            grown = np.empty((2, min(SAMPLE_SIZE, 2 * kept)))
            grown[:, : min(before, SAMPLE_SIZE)] = self._kept[:, : min(before, SAMPLE_SIZE)]
            self._kept = grown
        room = max(0, kept - before)
        self._kept[:, before : before + room] = found[:, :room]
        if found.shape[1] > room:
            # Reservoir sampling: episode number k replaces a kept one with probability size / k.
            numbers = np.arange(before + room, self.episodes)
            places = self._generator.integers(0, numbers + 1)
            replacing = places < SAMPLE_SIZE
            self._kept[:, places[replacing]] = found[:, room:][:, replacing]

    def summary(self) -> dict[str, Any]:
        """Return the statistics so far, JSON-ready.

        Returns:
            `episodes`, `terminated`, `truncated`, `reset_steps`, `medians_exact` (False if they
            come from a sample), and, once an episode has ended, `return` and `length`, each with
            `mean`, `median`, `min` and `max`.
        """
        found: dict[str, Any] = {
            "episodes": self.episodes,
            "terminated": self.terminated,
            "truncated": self.truncated,
            "reset_steps": self.reset_steps,
            "medians_exact": self.episodes <= SAMPLE_SIZE,
        }
        if self.episodes:
            kept = self._kept[:, : min(self.episodes, SAMPLE_SIZE)]
            for k, name in enumerate(("return", "length")):
                found[name] = {
                    "mean": float(self._sums[k]) / self.episodes,
                    "median": float(np.median(kept[k])),
                    "min": float(self._least[k]),
                    "max": float(self._most[k]),
                }
        return found
