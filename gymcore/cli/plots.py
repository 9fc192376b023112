"""Plots of `gymcore collect` and `gymcore train`.

Means are taken over bins with about the same number of episodes, so that all are equally certain.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from gymcore.base.new_file import NewFile, check_target
from gymcore.base.optional_packages import pip_install
from gymcore.cli.episodes import EpisodeStatistics
from gymcore.cli.errors import CliError, file_errors

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from gymcore.learn import PPO

_Floats: TypeAlias = npt.NDArray[np.float64]

SUFFIXES = (".png", ".pdf", ".svg", ".jpg")
# Number of parts of the run in which the throughput is measured.
PARTS = 200
# Maximum number of episodes drawn as points.
_POINTS = 2000
# Minimum number of episodes in a bin, maximum number of bins, minimum time of a window [s].
_MIN_EPISODES, _BINS, _WINDOW = 20, 50, 0.1


class RunHistory:
    """Throughput over a run, in memory that is independent of its length."""

    def __init__(self, total_steps: int) -> None:
        """Prepare for `total_steps` environment steps of all lanes together."""
        self.total_steps = total_steps
        self.steps_done = 0
        self.seconds = np.zeros(PARTS)
        self.steps = np.zeros(PARTS, np.int64)
        self._clock = time.perf_counter()

    def start(self) -> None:
        """Start the clock."""
        self._clock = time.perf_counter()

    def add(self, steps: int) -> None:
        """Add a block of environment steps that has just ended."""
        now = time.perf_counter()
        self.steps_done += steps
        k = min(PARTS - 1, max(0, (self.steps_done * PARTS - 1) // self.total_steps))
        self.seconds[k] += now - self._clock
        self.steps[k] += steps
        self._clock = now

    def throughput(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return steps per second [K] in windows of equal time, and the steps at the edges [K + 1].

        A window is at least 0.1 s long, or the whole run if it is shorter.
        """
        seconds = np.append(0.0, np.cumsum(self.seconds))
        steps = np.append(0, np.cumsum(self.steps))
        count = int(np.clip(seconds[-1] / _WINDOW, 1, _BINS))
        times = np.linspace(0.0, seconds[-1], count + 1)
        edges = np.interp(times, seconds, steps)
        return np.diff(edges) / np.maximum(np.diff(times), 1e-9), edges


def equal_count_bins(counts: _Floats) -> npt.NDArray[np.int64]:
    """Return the bin number of each entry, starting at 0.

    `counts` [K] has the number of episodes of each entry. Each bin has at least 20 episodes, unless
    there are fewer in all.

    Examples:
        >>> equal_count_bins(np.array([10, 10, 20, 5, 15])).tolist()
        [0, 0, 1, 2, 2]
    """
    bins = np.zeros(len(counts), np.int64)
    full, number, size = max(_MIN_EPISODES, counts.sum() / _BINS), 0, 0.0
    for k, episodes in enumerate(counts.tolist()):
        bins[k] = number
        size += episodes
        if size >= full:
            number, size = number + 1, 0.0
    if size < _MIN_EPISODES and number:  # the last ones are too few for a bin
        bins[bins == number] = number - 1
    return bins


def check_plot(path: Path, *, overwrite: bool) -> None:
    """Raise a `CliError` if matplotlib is missing or `path` cannot be written."""
    if path.suffix.lower() not in SUFFIXES:
        raise CliError(f"--plot {path}: expected a name that ends in one of {', '.join(SUFFIXES)}")
    with file_errors("--plot", path):
        check_target(path, overwrite=overwrite)
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise CliError(f"--plot needs matplotlib: {pip_install('matplotlib')}") from None


def plot_run(
    history: RunHistory, episodes: EpisodeStatistics, path: Path, title: str, *, overwrite: bool
) -> None:
    """Plot a run of `gymcore collect`; raise `CliError` as `_save` does."""
    figure, (above, below) = _figure(2, sharex=True, height_ratios=[2, 1])
    figure.suptitle(title, fontsize=11)
    steps, returns = episodes.sampled
    if len(steps):
        _draw_returns(above, steps, returns, np.ones(len(steps)), episodes.episodes)
        k = equal_count_bins(np.ones(len(steps)))
        if k[-1]:
            bins = [returns[k == number] for number in range(k[-1] + 1)]
            low, high = np.array([np.quantile(values, (0.1, 0.9)) for values in bins]).T
            middle = np.bincount(k, steps) / np.bincount(k)
            above.fill_between(middle, low, high, alpha=0.2, label="10 to 90 % of the episodes")
        above.legend(loc="best", fontsize=8, framealpha=0.9)
    else:
        above.text(0.5, 0.5, "no episode has ended", ha="center", transform=above.transAxes)
    above.set_ylabel("episode return")
    rates, edges = history.throughput()
    below.stairs(rates, edges, baseline=None, color="tab:green", lw=1.8)
    below.set(ylim=(0, None), ylabel="steps per second", xlim=(0, history.total_steps))
    below.set_xlabel("environment steps, all lanes together")
    _save(figure, path, overwrite=overwrite)


def plot_curve(ppo: PPO, path: Path, *, overwrite: bool) -> None:
    """Plot the learning curve of `gymcore train`; raise `CliError` as `check_plot` does."""
    figure, (axes,) = _figure(1)
    if ppo.curve:
        steps, counts, means = np.array(ppo.curve).T
        _draw_returns(axes, steps, means, counts, None)
    target = cast("float", ppo.settings.target)
    if target < np.inf:
        axes.axhline(target, color="tab:green", ls="--", lw=1.2, label=f"target {target:g}")
    if ppo.curve or target < np.inf:
        axes.legend(loc="best", fontsize=8, framealpha=0.9)
    axes.set(title=ppo.env_id, xlabel="environment steps", ylabel="mean episode return")
    _save(figure, path, overwrite=overwrite)


def _draw_returns(
    axes: Axes, steps: _Floats, returns: _Floats, counts: _Floats, episodes: int | None
) -> None:
    """Draw points, which are larger if there are few, and the mean of each bin.

    `at`, `returns` and `counts` [K] are sorted by steps; `episodes` is the total number if each
    point is one episode, and None if a point is the mean of `counts` episodes.
    """
    shown = np.linspace(0, len(steps) - 1, min(len(steps), _POINTS)).astype(np.int64)
    emphasis = min(1.0, 200 / len(shown))
    if episodes is None:
        label = "mean of the episodes of an update"
    else:
        label = "every episode" if episodes <= _POINTS else f"{_POINTS} of {episodes:,} episodes"
    axes.scatter(
        steps[shown], returns[shown], s=6 + 16 * emphasis, alpha=0.3 + 0.5 * emphasis, color="0.4",
        linewidths=0, clip_on=False, label=label,
    )  # fmt: skip
    k = equal_count_bins(counts)
    if k[-1]:  # a single bin would look like an episode
        weights = np.bincount(k, counts)
        middle, mean = np.bincount(k, counts * steps) / weights, np.bincount(k, counts * returns)
        label = f"mean of {weights.mean():,.0f} episodes"
        if episodes is not None and episodes > len(steps):
            label += " of the sample"
        axes.plot(middle, mean / weights, "o-", ms=3, lw=1.8, label=label)


def _figure(rows: int, **options: Any) -> tuple[Figure, list[Axes]]:
    """Return a figure without a window, and its axes, one per row."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter

    figure = Figure(figsize=(9, 3 + 2 * rows), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    all_axes = figure.subplots(rows, squeeze=False, **options)[:, 0]
    for axes in all_axes:
        axes.xaxis.set_major_formatter(EngFormatter(sep=" "))
        axes.yaxis.set_major_formatter(EngFormatter(sep=" "))
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    return figure, all_axes


def _save(figure: Figure, path: Path, *, overwrite: bool) -> None:
    """Write the figure atomically; the suffix determines the format."""
    with file_errors("--plot", path), NewFile(path, overwrite=overwrite) as new:
        figure.savefig(new.part, format=path.suffix[1:].lower())
