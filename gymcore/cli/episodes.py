"""Episode statistics of `gymcore collect`, and the plot of a run, in bounded memory."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.cli.common import CliError, file_errors
from gymcore.utils.new_file import NewFile, check_target

# Size of the uniform sample of episodes that the medians come from.
SAMPLE_SIZE = 2**16


class EpisodeStatistics:
    """Counts the episodes that end in consecutive blocks of steps, for any autoreset mode.

    A block may cut episodes anywhere: the sums of unfinished episodes are carried over. A block is
    cut into segments at its `done` flags, and all segments are summed at once.

    Attributes:
        episodes: Episodes that have ended.
        terminated: Those whose last step was `terminated`.
        truncated: Those whose last step was `truncated`; a step may be both.
        reset_steps: Steps that only reset a lane (next-step autoreset).
        last_returns: Returns of the episodes that ended in the last block.
    """

    def __init__(self, num_envs: int, *, resets_take_a_step: bool, sample_seed: int = 0) -> None:
        """Start before the first step.

        With `resets_take_a_step` (next-step autoreset), the step after an episode's end only resets
        (reward 0) and belongs to no episode. `sample_seed` seeds the sample behind the medians of
        more than `SAMPLE_SIZE` episodes.
        """
        self.episodes = 0
        self.terminated = 0
        self.truncated = 0
        self.reset_steps = 0
        self.last_returns = np.empty(0)
        self._num_envs = num_envs
        # The length of a new episode starts at -1 if its reset takes a step.
        self._fresh_length = -1 if resets_take_a_step else 0
        self._return = np.zeros(num_envs)
        self._length = np.zeros(num_envs, dtype=np.int64)
        self._sampled = np.empty((2, SAMPLE_SIZE))  # rows: returns, lengths
        self._sums = np.zeros(2)
        self._min = np.full(2, np.inf)
        self._max = np.full(2, -np.inf)
        self._generator = np.random.default_rng(sample_seed)

    def add(
        self,
        rewards: npt.NDArray[Any],
        terminated: npt.NDArray[np.bool_],
        truncated: npt.NDArray[np.bool_],
    ) -> None:
        """Add a block of steps, arrays [T, N]; they are not stored."""
        steps, lanes = rewards.shape
        self.last_returns = np.empty(0)
        if steps == 0:
            return
        done = terminated | truncated
        if self._fresh_length:
            # A reset step follows a `done`, in this block or in the last one.
            self.reset_steps += int(np.count_nonzero(self._length < 0))
            self.reset_steps += int(np.count_nonzero(done[:-1]))
        by_lane = np.ascontiguousarray(rewards.T, dtype=np.float64).reshape(-1)
        ended = np.ascontiguousarray(done.T).reshape(-1)
        # A segment starts at the start of a lane's row and after each end of an episode.
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

    def forget(self, lanes: npt.NDArray[np.int64]) -> None:
        """Count the unfinished episodes of some lanes as if they had never begun."""
        self._return[lanes] = 0.0
        self._length[lanes] = 0

    def _record(self, returns: npt.NDArray[np.float64], lengths: npt.NDArray[np.int64]) -> None:
        """Count finished episodes, and sample them for the medians."""
        self.last_returns = returns
        ended = np.stack((returns, lengths))
        _sample(self._generator, self._sampled, self.episodes, ended)
        self.episodes += len(returns)
        self._sums += ended.sum(axis=1)
        np.minimum(self._min, ended.min(axis=1), out=self._min)
        np.maximum(self._max, ended.max(axis=1), out=self._max)

    def summary(self) -> dict[str, Any]:
        """Return the statistics so far, JSON-ready.

        Returns:
            `episodes`, `terminated`, `truncated`, `reset_steps`, `medians_exact` (False if they
            come from a sample), and, once an episode has ended, `return` and `length`, each with
            `mean`, `median`, `min` and `max`.
        """
        summary: dict[str, Any] = {
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


# --- the plot ------------------------------------------------------------------------------------

# Number of parts of the run, each with its own mean, quantiles and throughput.
BINS = 200
# Size of the uniform sample of returns of each part.
_PART_SAMPLE = 200
# Size of the uniform sample of episodes that are drawn as points.
_POINTS = 4000

SUFFIXES = (".png", ".pdf", ".svg", ".jpg")


class RunHistory:
    """Returns and throughput over a run, in memory that does not depend on its length.

    Example:
        >>> history = RunHistory(1000)
        >>> history.add(500, np.array([1.0, 3.0]))
        >>> history.count[99], history.mean[99]
        (np.int64(2), np.float64(2.0))
    """

    def __init__(self, total_steps: int, seed: int = 0) -> None:
        """Start before the first of `total_steps` environment steps, all lanes together."""
        self.total_steps = total_steps
        self.steps_done = 0
        self.episodes = 0
        self.count = np.zeros(BINS, np.int64)
        self.seconds = np.zeros(BINS)
        self.steps = np.zeros(BINS, np.int64)
        self.points = np.empty((2, _POINTS))
        self._sum = np.zeros(BINS)
        self._sampled = np.empty((BINS, _PART_SAMPLE))
        self._generator = np.random.default_rng(seed)
        self._clock = time.perf_counter()

    def start(self) -> None:
        """Start the clock."""
        self._clock = time.perf_counter()

    def add(self, steps: int, returns: npt.NDArray[np.float64]) -> None:
        """Add a block of environment steps and the returns of the episodes that ended in it."""
        now = time.perf_counter()
        self.steps_done += steps
        k = min(BINS - 1, max(0, (self.steps_done * BINS - 1) // self.total_steps))
        self.seconds[k] += now - self._clock
        self.steps[k] += steps
        self._clock = now
        if not len(returns):
            return
        self._sum[k] += returns.sum()
        _sample(self._generator, self._sampled[k], int(self.count[k]), returns)
        self.count[k] += len(returns)
        at = np.full(len(returns), float(self.steps_done))
        _sample(self._generator, self.points, self.episodes, np.stack((at, returns)))
        self.episodes += len(returns)

    @property
    def mean(self) -> npt.NDArray[np.float64]:
        """Mean return of each part; nan if no episode has ended."""
        with np.errstate(invalid="ignore"):
            return self._sum / np.where(self.count, self.count, np.nan)

    def quantiles(self, q: float) -> npt.NDArray[np.float64]:
        """Return a quantile of the returns of each part; nan if no episode has ended."""
        return np.array(
            [
                np.quantile(row[: min(n, _PART_SAMPLE)], q) if n else np.nan
                for row, n in zip(self._sampled, self.count.tolist(), strict=True)
            ]
        )


def _sample(
    generator: np.random.Generator,
    sampled: npt.NDArray[Any],
    before: int,
    new: npt.NDArray[Any],
) -> None:
    """Update, in place, a uniform sample of all columns so far, `before` of which came earlier.

    This is reservoir sampling: column number k replaces a sampled one with probability size / k.
    """
    size, n = sampled.shape[-1], new.shape[-1]
    room = min(max(0, size - before), n)
    sampled[..., before : before + room] = new[..., :room]
    if n > room:
        places = generator.integers(0, np.arange(before + room, before + n) + 1)
        replacing = places < size
        sampled[..., places[replacing]] = new[..., room:][..., replacing]


def check_plot(path: Path, *, overwrite: bool) -> None:
    """Raise a `CliError` if matplotlib is missing or `path` cannot be written."""
    if path.suffix.lower() not in SUFFIXES:
        raise CliError(f"--plot {path}: expected a name that ends in one of {', '.join(SUFFIXES)}")
    with file_errors("--plot", path):
        check_target(path, overwrite=overwrite)
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise CliError('--plot needs matplotlib: pip install "gymcore[other]"') from None


def plot_run(history: RunHistory, path: Path, title: str, *, overwrite: bool) -> None:
    """Plot the run into a file, whose suffix determines the format; a `CliError` as for `save`."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter

    figure = Figure(figsize=(9, 6.5), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    above, below = figure.subplots(2, sharex=True, height_ratios=[2, 1])
    figure.suptitle(title, fontsize=11)
    edges = (np.arange(BINS) + 1) * (history.total_steps / BINS)
    some = history.count > 0
    points = history.points[:, : min(history.episodes, _POINTS)]
    whole = "every episode" if history.episodes <= _POINTS else f"{_POINTS} of the episodes"
    above.scatter(*points, s=8, alpha=0.4, color="0.45", linewidths=0, label=whole)
    if some.any():
        low, high = history.quantiles(0.1)[some], history.quantiles(0.9)[some]
        above.fill_between(
            edges[some], low, high, alpha=0.25, color="tab:blue", label="10 to 90 % of the episodes"
        )
        above.plot(edges[some], history.mean[some], color="tab:blue", lw=1.8, label="mean")
        above.legend(loc="best", fontsize=8, framealpha=0.9)
    else:
        above.text(0.5, 0.5, "no episode has ended", ha="center", transform=above.transAxes)
    above.set_ylabel("episode return")
    timed = (history.seconds > 0) & (history.steps > 0)
    below.plot(edges[timed], history.steps[timed] / history.seconds[timed], color="tab:green")
    below.set_ylim(bottom=0)
    below.set_ylabel("steps per second")
    below.set_xlabel("environment steps, all lanes together")
    below.yaxis.set_major_formatter(EngFormatter(sep=" "))
    below.xaxis.set_major_formatter(EngFormatter(sep=" "))
    below.set_xlim(0, history.total_steps)
    for axis in (above, below):
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    with file_errors("--plot", path), NewFile(path, overwrite=overwrite) as new:
        figure.savefig(new.part, format=path.suffix[1:].lower())
