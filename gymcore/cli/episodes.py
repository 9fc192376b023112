"""Episode statistics of `gymcore collect`, in bounded memory."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gymcore.core import Info

# Size of the uniform sample of episodes used for medians and plots.
SAMPLE_SIZE = 2**16


class EpisodeStatistics:
    """Counts the episodes that end in consecutive blocks of steps, for any autoreset mode.

    Episodes may extend over several blocks: the sums of unfinished episodes are carried over. A
    block is split into segments at its `done` flags, and all segments are summed at once.

    Attributes:
        episodes: Number of completed episodes.
        terminated: Number of episodes whose last step was `terminated`.
        truncated: Number of episodes whose last step was `truncated`; a step may be both.
        reset_steps: Number of steps that only reset a lane (next-step autoreset).
        steps: Number of environment steps so far, of all lanes together.
    """

    def __init__(self, num_envs: int, *, resets_take_a_step: bool) -> None:
        """Initialize the counts before the first step.

        With `resets_take_a_step` (next-step autoreset), the step after an episode's end only resets
        the lane (with reward 0) and belongs to no episode.
        """
        self.episodes = 0
        self.terminated = 0
        self.truncated = 0
        self.reset_steps = 0
        self.steps = 0
        # The length of a new episode starts at -1 if its reset takes a step.
        self._fresh_length = -1 if resets_take_a_step else 0
        self._return = np.zeros(num_envs)
        self._length = np.zeros(num_envs, dtype=np.int64)
        self._sampled = np.empty((3, SAMPLE_SIZE))  # rows: returns, lengths, steps at the ends
        self._sums = np.zeros(2)
        self._min = np.full(2, np.inf)
        self._max = np.full(2, -np.inf)
        self._generator = np.random.default_rng(0)

    def add(
        self,
        rewards: npt.NDArray[np.float64],
        terminated: npt.NDArray[np.bool_],
        truncated: npt.NDArray[np.bool_],
    ) -> None:
        """Add a block of steps, arrays [T, N]; they are not stored."""
        steps, lanes = rewards.shape
        if steps == 0:
            return
        before = self.steps
        self.steps += steps * lanes
        done = terminated | truncated
        if self._fresh_length:
            # A reset step follows a `done`, in this block or the previous one.
            self.reset_steps += int(np.count_nonzero(self._length < 0))
            self.reset_steps += int(np.count_nonzero(done[:-1]))
        by_lane = np.ascontiguousarray(rewards.T, dtype=np.float64).reshape(-1)
        ended = np.ascontiguousarray(done.T).reshape(-1)
        # Segments start at the start of a lane's row and after each end of an episode.
        starting = np.empty(steps * lanes, dtype=np.bool_)
        starting[1:] = ended[:-1]
        starting[::steps] = True
        starts = np.flatnonzero(starting)
        stops = np.append(starts[1:], steps * lanes)
        sums = np.add.reduceat(by_lane, starts)
        lengths = stops - starts
        is_end = ended[stops - 1]
        lane = starts // steps
        first = starts == lane * steps
        sums[first] += self._return
        lengths[first] += self._length
        lengths[~first] += self._fresh_length
        self._return[:] = 0.0
        self._length[:] = self._fresh_length
        self._return[lane[~is_end]] = sums[~is_end]
        self._length[lane[~is_end]] = lengths[~is_end]
        if not is_end.any():
            return
        self.terminated += int(np.count_nonzero(terminated))
        self.truncated += int(np.count_nonzero(truncated))
        ends = before + (stops - lane * steps) * lanes
        self._record(np.stack((sums, lengths, ends))[:, is_end])

    def forget(self, lanes: npt.NDArray[np.int64]) -> None:
        """Discard the unfinished episodes of some lanes."""
        self._return[lanes] = 0.0
        self._length[lanes] = 0

    def _record(self, ended: npt.NDArray[np.float64]) -> None:
        """Count and sample completed episodes, in columns like those of the sample."""
        sample(self._generator, self._sampled, self.episodes, ended)
        self.episodes += ended.shape[1]
        self._sums += ended[:2].sum(axis=1)
        np.minimum(self._min, ended[:2].min(axis=1), out=self._min)
        np.maximum(self._max, ended[:2].max(axis=1), out=self._max)

    @property
    def sampled(self) -> npt.NDArray[np.float64]:
        """A uniform sample of the episodes [2, K], sorted: steps at their ends, and returns."""
        sampled = self._sampled[[2, 0], : self.episodes]
        return sampled[:, np.argsort(sampled[0], kind="stable")]

    def summary(self) -> Info:
        """Return the statistics so far in a form that JSON can represent.

        Returns:
            `episodes`, `terminated`, `truncated`, `reset_steps`, `medians_exact` (False if medians
            come from a sample), and, once an episode has ended, `return` and `length`, each with
            `mean`, `median`, `min` and `max`.
        """
        summary: Info = {
            "episodes": self.episodes,
            "terminated": self.terminated,
            "truncated": self.truncated,
            "reset_steps": self.reset_steps,
            "medians_exact": self.episodes <= SAMPLE_SIZE,
        }
        if self.episodes:
            sampled = self._sampled[:, : self.episodes]
            for k, name in enumerate(("return", "length")):
                summary[name] = {
                    "mean": float(self._sums[k]) / self.episodes,
                    "median": float(np.median(sampled[k])),
                    "min": float(self._min[k]),
                    "max": float(self._max[k]),
                }
        return summary


def sample(
    generator: np.random.Generator,
    sampled: npt.NDArray[np.number],
    before: int,
    new: npt.NDArray[np.number],
) -> None:
    """Update, in place, a uniform sample of all columns so far, `before` of which came earlier.

    This is reservoir sampling: column number k replaces a sampled one with probability size / k.
    """
    size, n = sampled.shape[-1], new.shape[-1]
    num_free = min(max(0, size - before), n)
    sampled[..., before : before + num_free] = new[..., :num_free]
    if n > num_free:
        places = generator.integers(0, np.arange(before + num_free, before + n) + 1)
        replacing = places < size
        sampled[..., places[replacing]] = new[..., num_free:][..., replacing]
