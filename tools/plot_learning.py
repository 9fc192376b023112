"""Draw the learning curves of CartPole for docs/learn.md: five seeds of `gymcore train`.

python tools/plot_learning.py docs/learning_cartpole.png
"""

from __future__ import annotations

import sys
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from gymcore.learn import PPO


def main() -> None:
    """Train five agents, and draw their returns into the file that is named."""
    (path,) = sys.argv[1:]
    figure = Figure(figsize=(6, 3), dpi=80, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for seed in range(1, 6):
        ppo = PPO("CartPole-v1", seed=seed)
        while not ppo.mean_return >= 475:
            ppo.update()
        ppo.close()
        steps, _, means = zip(*ppo.curve, strict=True)
        axes.plot([each / 1000 for each in steps], means, lw=1)
    axes.set(xlabel="thousand steps", ylabel="mean episode return", ylim=(0, 520))
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, pil_kwargs={"optimize": True})


if __name__ == "__main__":
    main()
