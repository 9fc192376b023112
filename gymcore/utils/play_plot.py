"""PlayPlot: numbers of a game, drawn while it is played."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from gymcore import error

__all__ = ["PlayPlot"]


class PlayPlot:
    """Draws numbers over the last steps, one diagram each: a callback for `gymcore.utils.play`.

    Attributes:
        data_callback: Returns the numbers of a step.
        horizon_timesteps: Steps that are shown.
        plot_names: Titles of the diagrams.
        fig: The matplotlib figure.
        ax: Its axes.
        t: Steps so far.
        data: For each diagram, its last numbers.
        cur_plot: For each diagram, its line; None before the first step.

    Example:
        >>> import matplotlib
        >>> matplotlib.use("agg")
        >>> plot = PlayPlot(lambda obs, obs_next, action, reward, *rest: [reward], 150, ["reward"])
        >>> plot.callback(0, 1, 0, 2.5, False, False, {})
        >>> list(plot.data[0])
        [2.5]
    """

    def __init__(
        self,
        callback: Callable[..., Iterable[Any]],
        horizon_timesteps: int,
        plot_names: list[str],
    ) -> None:
        """Open the figure.

        Args:
            callback: Takes `(obs_t, obs_tp1, action, rew, terminated, truncated, info)` and returns
                a number for each diagram.
            horizon_timesteps: How many steps to show.
            plot_names: A title for each diagram.

        Raises:
            InvalidArgument: if there is no title, or the horizon is not positive.
            DependencyNotInstalled: if matplotlib is missing.
        """
        if not plot_names:
            raise error.InvalidArgument("plot_names: expected at least one name, got none")
        if horizon_timesteps < 1:
            raise error.InvalidArgument(
                f"horizon_timesteps: expected at least 1, got {horizon_timesteps}"
            )
        try:
            from matplotlib import pyplot
        except ImportError as exc:
            raise error.DependencyNotInstalled(
                'PlayPlot draws with matplotlib, run `pip install "gymcore[other]"`'
            ) from exc
        self.data_callback = callback
        self.horizon_timesteps = horizon_timesteps
        self.plot_names = plot_names
        self.fig, axes = pyplot.subplots(len(plot_names), sharex=True, layout="constrained")
        self.ax: Any = [axes] if len(plot_names) == 1 else axes
        for axis, name in zip(self.ax, plot_names, strict=True):
            axis.set_title(name)
            axis.grid(alpha=0.3)
        self.ax[-1].set_xlabel("step")
        self.t = 0
        self.cur_plot: list[Any] = [None] * len(plot_names)
        self.data: list[deque[Any]] = [deque(maxlen=horizon_timesteps) for _ in plot_names]
        # None for a backend that only writes files.
        self._shows = getattr(self.fig.canvas, "required_interactive_framework", None) is not None
        if self._shows:
            self.fig.show()

    def callback(
        self,
        obs_t: Any,
        obs_tp1: Any,
        action: Any,
        rew: float,
        terminated: bool,
        truncated: bool,
        info: dict[str, Any],
    ) -> None:
        """Add a step.

        Args:
            obs_t: Observation before the step.
            obs_tp1: Observation after it.
            action: The action.
            rew: The reward.
            terminated: Whether the episode has ended.
            truncated: Whether it was cut.
            info: The info.

        Raises:
            InvalidArgument: if the user's callback returns another number of numbers than titles.
        """
        points = list(self.data_callback(obs_t, obs_tp1, action, rew, terminated, truncated, info))
        if len(points) != len(self.data):
            raise error.InvalidArgument(
                f"callback: expected {len(self.data)} numbers, one for each of {self.plot_names}, "
                f"got {len(points)}"
            )
        for point, series in zip(points, self.data, strict=True):
            series.append(point)
        self.t += 1
        steps = range(self.t - len(self.data[0]), self.t)
        for i, (axis, series) in enumerate(zip(self.ax, self.data, strict=True)):
            if self.cur_plot[i] is None:
                (self.cur_plot[i],) = axis.plot(steps, series, ".-", color="tab:blue", ms=3, lw=1)
            else:
                self.cur_plot[i].set_data(steps, series)
            axis.set_xlim(steps[0], max(steps[-1], steps[0] + 1))
            axis.relim()
            axis.autoscale_view(scalex=False)
        if self._shows:
            self.fig.canvas.draw_idle()
            self.fig.canvas.flush_events()
