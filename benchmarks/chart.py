"""The chart of a run: rates of the contenders, and the cost of a step by batch size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bars import CARTPOLE, CURVE, Measured, parts

from gymcore.cli.formats import rate

#: Title, environment and number of lanes of each panel of rates.
PANELS = (
    (f"{CARTPOLE}, 64 lanes", CARTPOLE, 64),
    (f"{CARTPOLE}, 4096 lanes", CARTPOLE, 4096),
    ("CartPole in plain Python, 64 lanes", "PlainCartPole", 64),
)


def plot(measured: Measured, path: Path) -> None:
    """Draw the measured rates and the curve.

    Args:
        measured: The measurements; missing ones leave a gap.
        path: The PNG file to write.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 8), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(2, 2).flat
    for panel, (title, env_id, lanes) in zip(panels, PANELS, strict=False):
        _rates(panel, measured, env_id, lanes)
        panel.set(title=title, xlabel="steps a second")
    _curve(panels[3], measured)
    for panel in panels:
        panel.tick_params(labelsize=7)
    figure.savefig(path, dpi=120)


def _rates(panel: Any, measured: Measured, env_id: str, lanes: int) -> None:
    """Draw one bar per contender, the slowest at the bottom."""
    rates = [
        (key if threads == "1" else f"{key}, {threads} threads", 1 / measured.step(name))
        for name in measured.rounds
        for key, measured_id, num_envs, threads in [parts(name)]
        if measured_id == env_id and num_envs == str(lanes) and not key.endswith("-construction")
    ]
    if not rates:
        return
    rates.sort(key=lambda pair: pair[1])
    colors = ["tab:blue" if key.startswith("gymcore") else "0.7" for key, _ in rates]
    drawn_bars = panel.barh([key for key, _ in rates], [each for _, each in rates], color=colors)
    panel.bar_label(drawn_bars, [rate(each) for _, each in rates], padding=2, fontsize=7)
    panel.set_xscale("log")
    panel.set_xlim(rates[0][1] / 2, rates[-1][1] * 20)


def _curve(panel: Any, measured: Measured) -> None:
    """Draw the cost of a step by the number of lanes of a batch."""
    names = {n: f"gymcore/{CARTPOLE}/{n}/1" for n in CURVE}
    curve = [(n, measured.step(name) * 1e9) for n, name in names.items() if name in measured.rounds]
    if curve:
        panel.semilogx(*zip(*curve, strict=True), "o-")
        panel.set_ylim(bottom=0)
    panel.set(title="gymcore, one thread", xlabel="lanes", ylabel="ns a step")
    panel.grid(True, which="both", alpha=0.3)
