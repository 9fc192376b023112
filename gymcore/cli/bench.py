"""`gymcore bench`: this machine's steps a second, against the libraries that are installed."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymcore.cli.common import CliError, count, duration, rate, seconds, table, times

if TYPE_CHECKING:
    from gymcore.cli.contenders import Session

HELP = "compare steps a second with gymnasium, envpool, stable-baselines3 and pufferlib"

DEFAULT_IDS = (
    "CartPole-v1",
    "MountainCar-v0",
    "MountainCarContinuous-v0",
    "Pendulum-v1",
    "Acrobot-v1",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gymcore bench`."""
    parser.add_argument(
        "ids", nargs="*", metavar="ID", help="environment ids [the five of classic control]"
    )
    parser.add_argument(
        "--num-envs", type=count, nargs="+", default=[64], metavar="N", help="lanes [64]"
    )
    parser.add_argument(
        "--repeats", type=count, default=5, metavar="R", help="interleaved rounds; medians [5]"
    )
    parser.add_argument(
        "--seconds", type=seconds, default=0.1, metavar="S", help="length of a measurement [0.1]"
    )
    parser.add_argument(
        "--peers",
        nargs="*",
        metavar="KEY",
        help="only these contenders beside gymcore (gymnasium-sync, envpool, ...) [all installed]",
    )
    parser.add_argument("--plot", type=Path, metavar="FILE.png", help="draw the rates (matplotlib)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers")


def run(arguments: argparse.Namespace) -> int:
    """Measure, print a table for each id and size, write what was asked for.

    Args:
        arguments: The parsed options.

    Returns:
        The exit code 0.

    Raises:
        CliError: If an id or a contender is unknown, or a file cannot be written.
    """
    from gymcore.cli.machine import facts

    ids = arguments.ids or list(DEFAULT_IDS)
    _check(ids, arguments)
    results = []
    for env_id in ids:
        for num_envs in arguments.num_envs:
            result = measure(
                env_id, num_envs, arguments.repeats, arguments.seconds, arguments.peers
            )
            results.append(result)
            print(_text(result), end="\n\n", flush=True)
    document = {"machine": facts(), "results": results}
    if arguments.json is not None:
        try:
            arguments.json.write_text(json.dumps(document, indent=2) + "\n")
        except OSError as error:
            raise CliError(f"--json: cannot write {arguments.json}: {error.strerror}") from error
    if arguments.plot is not None:
        plot(results, arguments.plot)
    return 0


def _check(ids: list[str], arguments: argparse.Namespace) -> None:
    """Refuse what is bound to fail, before minutes of measuring."""
    import importlib.util

    import gymcore
    from gymcore.cli.contenders import CONTENDERS
    from gymcore.error import Error

    for key in arguments.peers or ():
        if key not in CONTENDERS:
            raise CliError(f"--peers: {key!r} is none of {', '.join(CONTENDERS)}")
    for env_id in ids:
        try:
            gymcore.spec(env_id)
        except (Error, ImportError) as error:
            raise CliError(str(error)) from error
    for path in (arguments.plot, arguments.json):
        if path is not None and not path.parent.is_dir():
            raise CliError(f"there is no directory {path.parent}")
    if arguments.plot is not None and importlib.util.find_spec("matplotlib") is None:
        raise CliError('--plot needs matplotlib: pip install "gymcore[other]"')


def measure(
    env_id: str,
    num_envs: int,
    repeats: int,
    length: float,
    peers: list[str] | None = None,
) -> dict[str, Any]:
    """Measure every contender in interleaved rounds, so that the machine's moods hit all alike.

    Args:
        env_id: Environment id.
        num_envs: Lanes.
        repeats: Rounds; the median of each contender counts.
        length: Aim for one measurement [s].
        peers: Keys of the contenders to take beside gymcore; None takes all that are installed.

    Returns:
        `id`, `num_envs`, `rows`: a list of `key`, `label`, `threads`, `steps_per_second`, `rounds`
        (all measurements [steps/s]) and `gymcore_is_faster` (gymcore's rate over this one), and
        `left_out`: contender -> why.

    Raises:
        CliError: If gymcore itself cannot run the environment.
    """
    from gymcore.cli.contenders import CONTENDERS, open_session
    from gymcore.cli.machine import thread_limits

    usable = int(thread_limits()["usable"] or 1)
    sessions: list[tuple[str, int, Session]] = []
    left_out: dict[str, str] = {}
    try:
        for key in CONTENDERS:
            if peers is not None and key not in peers and not key.startswith("gymcore"):
                continue
            for threads in (1, usable) if key == "envpool" and usable > 1 else (1,):
                try:
                    sessions.append((key, threads, open_session(key, env_id, num_envs, threads)))
                except LookupError as error:
                    left_out[CONTENDERS[key].label] = str(error)
                except Exception as error:
                    if key == "gymcore":
                        raise CliError(f"{env_id}: {type(error).__name__}: {error}") from error
                    left_out[CONTENDERS[key].label] = f"{type(error).__name__}: {error}"
        rounds: list[list[float]] = [[] for _ in sessions]
        for _ in range(repeats):
            for k, (_, _, session) in enumerate(sessions):
                rounds[k].append(session.steps_per_call / session.measure(length))
    finally:
        for _, _, session in sessions:
            session.close()
    rows: list[dict[str, Any]] = [
        {
            "key": key,
            "label": CONTENDERS[key].label,
            "threads": threads,
            "steps_per_second": statistics.median(each),
            "rounds": each,
        }
        for (key, threads, _), each in zip(sessions, rounds, strict=True)
    ]
    own = next((row["steps_per_second"] for row in rows if row["key"] == "gymcore"), None)
    for row in rows:
        row["gymcore_is_faster"] = None if own is None else own / row["steps_per_second"]
    return {"id": env_id, "num_envs": num_envs, "rows": rows, "left_out": left_out}


def _text(result: dict[str, Any]) -> str:
    """Return a result as a table, with a line for each contender that is not in it."""
    own = next((row["label"] for row in result["rows"] if row["key"] == "gymcore"), "gymcore")
    lines = []
    for row in sorted(result["rows"], key=lambda row: -row["steps_per_second"]):
        threads = "" if row["threads"] == 1 else f", {row['threads']} threads"
        faster = row["gymcore_is_faster"]
        per_call = result["num_envs"] / row["steps_per_second"]
        lines.append(
            [
                row["label"] + threads,
                rate(row["steps_per_second"]),
                duration(per_call),
                "-" if faster is None else times(faster),
            ]
        )
    head = f"{result['id']}, {result['num_envs']} lanes"
    shown = table(lines, [head, "rate", "batch step", f"{own} is"])
    notes = [f"left out: {label}: {reason}" for label, reason in result["left_out"].items()]
    return "\n".join([shown, *notes])


def plot(results: list[dict[str, Any]], path: Path) -> None:
    """Draw the rates as bars on a logarithmic axis, one panel a result.

    Args:
        results: What `measure` returned.
        path: The picture to write.

    Raises:
        CliError: If it cannot be written.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    height = sum(1.0 + 0.32 * len(result["rows"]) for result in results)
    figure = Figure(figsize=(9, height), layout="constrained")
    FigureCanvasAgg(figure)
    ratios = [1.0 + 0.32 * len(result["rows"]) for result in results]
    panels = figure.subplots(len(results), squeeze=False, height_ratios=ratios)[:, 0]
    for panel, result in zip(panels, results, strict=True):
        rows = sorted(result["rows"], key=lambda row: row["steps_per_second"])
        labels = [
            row["label"] + ("" if row["threads"] == 1 else f", {row['threads']} threads")
            for row in rows
        ]
        rates = [row["steps_per_second"] for row in rows]
        colours = ["tab:blue" if row["key"].startswith("gymcore") else "0.7" for row in rows]
        bars = panel.barh(labels, rates, color=colours)
        panel.bar_label(bars, labels=[rate(each) for each in rates], padding=3, fontsize=8)
        panel.set_xscale("log")
        panel.set_xlim(min(rates) / 2, max(rates) * 8)
        panel.set_title(f"{result['id']}, {result['num_envs']} lanes", fontsize=10)
        panel.tick_params(labelsize=8)
        panel.spines[["top", "right"]].set_visible(False)
    panels[-1].set_xlabel("environment steps a second")
    try:
        figure.savefig(path, dpi=120)
    except (OSError, ValueError) as error:
        raise CliError(f"--plot: cannot write {path}: {error}") from error
    print(f"plot written to {path}", file=sys.stderr)
