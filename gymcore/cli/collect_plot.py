"""The picture of `gymcore collect --plot`: episode returns and throughput over the steps."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.cli.common import CliError

#: Stretches of the run that have a mean, quantiles and a throughput of their own.
BINS = 200
#: Returns kept of each stretch for its quantiles; beyond that a uniform sample of this size.
_KEPT = 200
#: Episodes drawn as points, a uniform sample of all.
_POINTS = 4000

SUFFIXES = (".png", ".pdf", ".svg", ".jpg")


class RunHistory:
    """What a run looked like, in the memory of a few thousand numbers however long it is.

    Example:
        >>> history = RunHistory(1000)
        >>> history.add(500, np.array([1.0, 3.0]))
        >>> history.count[99], history.mean[99]
        (np.int64(2), np.float64(2.0))
    """

    def __init__(self, total_steps: int, seed: int = 0) -> None:
        """Begin.

        Args:
            total_steps: Environment steps of the whole run, all lanes together.
            seed: Of the samples.
        """
        self.total_steps = total_steps
        self.steps_done = 0
        self.episodes = 0
        self.count = np.zeros(BINS, np.int64)
        self.seconds = np.zeros(BINS)
        self.steps = np.zeros(BINS, np.int64)
        self.points = np.empty((2, _POINTS))
        self._sum = np.zeros(BINS)
        self._kept = np.empty((BINS, _KEPT))
        self._generator = np.random.default_rng(seed)
        self._clock = time.perf_counter()

    def start(self) -> None:
        """Note that the first step is about to be made."""
        self._clock = time.perf_counter()

    def add(self, steps: int, returns: npt.NDArray[np.float64]) -> None:
        """Note a block.

        Args:
            steps: Environment steps in it, all lanes together.
            returns: Of the episodes that ended in it.
        """
        now = time.perf_counter()
        self.steps_done += steps
        k = min(BINS - 1, max(0, (self.steps_done * BINS - 1) // self.total_steps))
        self.seconds[k] += now - self._clock
        self.steps[k] += steps
        self._clock = now
        if not len(returns):
            return
        self._sum[k] += returns.sum()
        _sample(self._generator, self._kept[k], int(self.count[k]), returns)
        self.count[k] += len(returns)
        at = np.full(len(returns), float(self.steps_done))
        _sample(self._generator, self.points, self.episodes, np.stack((at, returns)))
        self.episodes += len(returns)

    @property
    def mean(self) -> npt.NDArray[np.float64]:
        """Mean return of each stretch; nan where no episode has ended."""
        with np.errstate(invalid="ignore"):
            return self._sum / np.where(self.count, self.count, np.nan)

    def quantiles(self, q: float) -> npt.NDArray[np.float64]:
        """Return a quantile of the returns of each stretch; nan where no episode has ended."""
        return np.array(
            [
                np.quantile(row[: min(n, _KEPT)], q) if n else np.nan
                for row, n in zip(self._kept, self.count.tolist(), strict=True)
            ]
        )


def _sample(
    generator: np.random.Generator,
    kept: npt.NDArray[Any],
    before: int,
    new: npt.NDArray[Any],
) -> None:
    """Keep a uniform sample of all columns so far, `before` of which came earlier; in place."""
    size, n = kept.shape[-1], new.shape[-1]
    room = min(max(0, size - before), n)
    kept[..., before : before + room] = new[..., :room]
    if n > room:
        # Column number k replaces a kept one with probability size / (k + 1).
        places = generator.integers(0, np.arange(before + room, before + n) + 1)
        replacing = places < size
        kept[..., places[replacing]] = new[..., room:][..., replacing]


def check_plot(path: Path, *, overwrite: bool) -> None:
    """Say before the run what would go wrong after it.

    Args:
        path: Of the picture.
        overwrite: Whether it may exist.

    Raises:
        CliError: If matplotlib is missing, or the picture cannot be written.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise CliError(f"--plot {path}: expected a name that ends in one of {', '.join(SUFFIXES)}")
    if path.exists() and not overwrite:
        raise CliError(f"--plot {path}: exists already; replace it with --overwrite")
    if not path.absolute().parent.is_dir():
        raise CliError(f"--plot {path}: there is no folder {path.absolute().parent}")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise CliError('--plot needs matplotlib: pip install "gymcore[other]"') from None


def draw(history: RunHistory, path: Path, title: str) -> None:
    """Draw the run into a file.

    Args:
        history: The run.
        path: Of the picture; its suffix says which kind.
        title: Above the diagrams.

    Raises:
        CliError: If the file cannot be written.
    """
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
    try:
        figure.savefig(path)
    except OSError as exc:
        raise CliError(f"--plot {path}: {exc.strerror}") from exc
