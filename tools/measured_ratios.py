"""Write the ratios of a benchmark run into docs/benchmarks.md, and draw the charts of the docs.

python benchmarks/peers.py --json peers.json
python tools/measured_ratios.py peers.json
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1] / "docs"
PAGE, IMAGES = DOCS / "benchmarks.md", DOCS / "images"
# Charts of the page: the file, and the ending of the rows that it shows.
CHARTS = {"envpool.png": ": EnvPool, sync", "gymnasium.png": ": Gymnasium's SyncVectorEnv"}
BEGIN, END = "<!-- measured ratios: begin -->", "<!-- measured ratios: end -->"
# The measures of benchmarks/bars.py in words; the others are not ratios to a peer.
WORDS = {
    "CartPole n=64 / EnvPool sync": "CartPole-v1, 64 lanes: EnvPool, sync",
    "CartPole n=64 / CartPoleVectorEnv": "CartPole-v1, 64 lanes: Gymnasium's CartPoleVectorEnv",
    "CartPole n=64 / SyncVectorEnv": "CartPole-v1, 64 lanes: Gymnasium's SyncVectorEnv",
    "CartPole n=64 / PufferLib native": "CartPole-v1, 64 lanes: PufferLib's native environment",
    "CartPole n=4096 / EnvPool sync": "CartPole-v1, 4096 lanes: EnvPool, sync",
    "CartPole n=4096 / CartPoleVectorEnv": "CartPole-v1, 4096 lanes: Gymnasium's CartPoleVectorEnv",
    "CartPole n=4096 / PufferLib native": "CartPole-v1, 4096 lanes: PufferLib's native environment",
    "Pendulum-v1 n=1024 / EnvPool sync": "Pendulum-v1, 1024 lanes: EnvPool, sync",
    "MountainCar-v0 n=1024 / EnvPool sync": "MountainCar-v0, 1024 lanes: EnvPool, sync",
    "MountainCarContinuous-v0 n=1024 / EnvPool sync": (
        "MountainCarContinuous-v0, 1024 lanes: EnvPool, sync"
    ),
    "Acrobot-v1 n=1024 / EnvPool sync": "Acrobot-v1, 1024 lanes: EnvPool, sync",
    "make(CartPole-v1).step / Gymnasium": '`make("CartPole-v1").step`: Gymnasium\'s',
    "rollout n=4096 T=128 / raw physics loop": "`rollout`, 4096 lanes: the physics alone, in C",
}
# The same for benchmarks/engine_bars.py.
ENGINE_WORDS = {
    "SyncVectorEnv n=64, Gymnasium's overhead / gymcore's": (
        "`SyncVectorEnv`, 64 lanes, without the environments' own time: Gymnasium's"
    ),
    "Python CartPole n=64, sync / Gymnasium SyncVectorEnv": (
        "`SyncVectorEnv` of a Python CartPole, 64 lanes: Gymnasium's"
    ),
    "Python CartPole n=64, sync / SB3 DummyVecEnv": (
        "`SyncVectorEnv` of a Python CartPole, 64 lanes: Stable-Baselines3's DummyVecEnv"
    ),
    "Python CartPole n=64, async / Gymnasium AsyncVectorEnv": (
        "`AsyncVectorEnv` of a Python CartPole, 64 lanes: Gymnasium's"
    ),
    "Python CartPole n=64, async / SB3 SubprocVecEnv": (
        "`AsyncVectorEnv` of a Python CartPole, 64 lanes: Stable-Baselines3's SubprocVecEnv"
    ),
    "images n=32 / Gymnasium AsyncVectorEnv": (
        "`AsyncVectorEnv` of (84, 84, 4) images, 32 lanes: Gymnasium's"
    ),
    "images n=32, copy=False / the same of Gymnasium": (
        "`AsyncVectorEnv` of (84, 84, 4) images, 32 lanes, `copy=False`: Gymnasium's"
    ),
    "AsyncVectorEnv(...) n=64 / Gymnasium": "making an `AsyncVectorEnv`, 64 lanes: Gymnasium's",
    "batch_space of a Dict n=4096, bounds read / Gymnasium": (
        "`batch_space` of a Dict, 4096 lanes, and reading its bounds: Gymnasium's"
    ),
}


# The families whose measures are all named alike.
FAMILIES = (
    (r"([\w-]+-v\d) n=64 / EnvPool sync(?:, \d+ threads)?", "{}, 64 lanes: EnvPool, sync"),
    (r"([\w-]+-v\d) n=64, (\d) threads / EnvPool sync", "{}, 64 lanes, threads {}: EnvPool, sync"),
    (r"ALE/([\w-]+-v\d) n=64 / EnvPool sync", "{}, 64 lanes: EnvPool, sync"),
    (r"ALE/([\w-]+-v\d) n=64 / ale-py's AtariVectorEnv", "{}, 64 lanes: ale-py's AtariVectorEnv"),
    (r"(?:ALE/)?([\w-]+-v\d) n=64 / SyncVectorEnv", "{}, 64 lanes: Gymnasium's SyncVectorEnv"),
    (r"([\w-]+-v\d) n=64 / raw C loop, \d+ threads", "{}, 64 lanes: `mj_step` alone, in C"),
    (
        r"make\(([\w-]+-v\d)\)(?:\.step|, steps and resets)? / Gymnasium",
        '`make("{}").step`: Gymnasium\'s',
    ),
)


def in_words(measure: str) -> str | None:
    """Return a measure in words, or None if it is not a ratio to a peer."""
    if measure in WORDS or measure in ENGINE_WORDS:
        return (WORDS | ENGINE_WORDS)[measure]
    for pattern, words in FAMILIES:
        if match := re.fullmatch(pattern, measure):
            return words.format(*match.groups())
    return None


def table(run: dict[str, Any]) -> str:
    """Return the table and a line about the machine, from the JSON of benchmarks/peers.py."""
    rows = [
        f"| {words} | {bar['measured']} |"
        for bar in run["bars"]
        if (words := in_words(bar["measure"])) and bar["value"] is not None
    ]
    versions = ", ".join(f"{name} {version}" for name, version in sorted(run["versions"].items()))
    machine = run["machine"]
    about = f"{machine['cpu']}, {machine['threads']['usable']} threads, Python {machine['python']}"
    head = ["| compared with | gymcore's rate is |", "|---|---:|"]
    return "\n".join(
        [*head, *rows, "", f"Medians of {run['repeats']} rounds. {about}; {versions}."]
    )


# The bars of README's chart: a row of the table, and its label in the chart. `gymnasium.make_vec`
# uses CartPoleVectorEnv for CartPole, and SyncVectorEnv for everything else.
CHARTED = (
    ("CartPole-v1, 64 lanes: EnvPool, sync", "CartPole: EnvPool"),
    (
        "CartPole-v1, 64 lanes: Gymnasium's CartPoleVectorEnv",
        "CartPole: Gymnasium's make_vec",
    ),
    (
        "CartPole-v1, 64 lanes: Gymnasium's SyncVectorEnv",
        "CartPole: Gymnasium's SyncVectorEnv",
    ),
    ("Taxi-v4, 64 lanes: EnvPool, sync", "Taxi: EnvPool"),
    ("Taxi-v4, 64 lanes: Gymnasium's SyncVectorEnv", "Taxi: Gymnasium's make_vec"),
    (
        "`AsyncVectorEnv` of a Python CartPole, 64 lanes: Gymnasium's",
        "CartPole in Python, in workers: Gymnasium",
    ),
    ("HalfCheetah-v5, 64 lanes: EnvPool, sync", "HalfCheetah: EnvPool"),
    ("Pong-v5, 64 lanes: EnvPool, sync", "Pong: EnvPool"),
    ("LunarLander-v3, 64 lanes: EnvPool, sync", "LunarLander: EnvPool"),
)


def rows_of(page: str) -> dict[str, float]:
    """Return the rows of the page's table: label and ratio."""
    rows = page.split(BEGIN)[1].split(END)[0]
    return {words: float(ratio) for words, ratio in re.findall(r"\| (.+) \| ([\d.]+)x \|", rows)}


def bars_of_the_readme(rows: dict[str, float]) -> list[tuple[str, float]]:
    """Return the labels and ratios of README's chart, with as many threads as were measured."""
    values = {re.sub(r", threads \d+", "", words): value for words, value in rows.items()}
    return [(words, values[row]) for row, words in CHARTED if row in values]


def bars_against(rows: dict[str, float], peer: str) -> list[tuple[str, float]]:
    """Return the rows of the table that end with the peer's name, the largest ratio first."""
    chosen = [(words[: -len(peer)], v) for words, v in rows.items() if words.endswith(peer)]
    return sorted(chosen, key=lambda bar: -bar[1])


def draw_chart(
    shown: list[tuple[str, float]], title: str, path: Path, peer: str = "the library on the left"
) -> None:
    """Draw the measured steps per second of gymcore as a multiple of those of a peer."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = [(label.replace(": ", ":\n"), value) for label, value in shown[::-1]]
    height = 0.7 + sum(0.24 + 0.14 * label.count("\n") for label, _ in rows)
    figure = Figure(figsize=(5.4, height), layout="constrained")  # readable on a phone
    figure.suptitle(title, fontsize="medium")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    bars = axes.barh([words for words, _ in rows], [value for _, value in rows], color="#2b6cb0")
    axes.bar_label(
        bars,
        [f"{value:,.0f}x" if value >= 10 else f"{value:.1f}x" for _, value in rows],
        padding=3,
    )
    axes.axvline(1, color="0.3", linewidth=1)
    axes.margins(y=0.02)
    axes.set_xscale("log")
    axes.set_xlim(min(0.5, *(value / 2 for _, value in rows)), 6 * max(value for _, value in rows))
    axes.xaxis.set_major_formatter("{x:g}x")
    figure.supxlabel(f"steps/s of gymcore ÷ steps/s of {peer}", fontsize="medium")
    axes.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=120)


def replaced(text: str, content: str) -> str:
    """Return the text with the part between the marks replaced."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{content}\n{END}{after}"


def main() -> None:
    """Rewrite the page and the charts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "json",
        type=Path,
        nargs="?",
        help="what `benchmarks/peers.py --json` wrote; left out: draw the table of the page again",
    )
    arguments = parser.parse_args()
    if arguments.json is not None:
        run = json.loads(arguments.json.read_text())
        PAGE.write_text(replaced(PAGE.read_text(), table(run)))
    rows = rows_of(PAGE.read_text())
    title = "Stepping 64 environments, without learning"
    draw_chart(bars_of_the_readme(rows), title, IMAGES / "ratios.png")
    for name, peer in CHARTS.items():
        label = peer.removeprefix(": ")
        title = f"Stepping environments: gymcore and {label}"
        draw_chart(bars_against(rows, peer), title, IMAGES / name, label)


if __name__ == "__main__":
    main()
