"""Measure every bar against the installed peers: one process tree, one run.

    python benchmarks/peers.py                          # table on stdout
    python benchmarks/peers.py --json peers.json --plot peers.png
    python benchmarks/peers.py --python pufferlib=/path/to/other/venv/bin/python
    python benchmarks/peers.py --groups cartpole-64 make --repeats 9

Each library runs in a separate process and waits while another one is timed. A library whose
requirements conflict with the others (PufferLib 3 needs numpy below 2) may use another interpreter,
which also needs numpy. Missing libraries are listed in the table and are not an error. Exit code:
0, or 1 with `--strict` if a measured bar is not met.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from atari_bars import LIBRARIES as ATARI_LIBRARIES  # noqa: E402
from atari_bars import atari_bars, atari_groups  # noqa: E402
from bars import CARTPOLE, MILLION, Group, Measured, bars, groups, parts  # noqa: E402
from box2d_bars import box2d_bars, box2d_groups  # noqa: E402
from chart import plot  # noqa: E402
from contenders import CONTENDERS  # noqa: E402
from dm_control_bars import DOMAINS, dm_control_bars, dm_control_groups  # noqa: E402
from engine_bars import LIBRARIES, NO_STEPS, engine_bars, engine_groups  # noqa: E402
from interop_bars import interop_bars, interop_groups  # noqa: E402
from interop_measures import CONTENDERS as INTEROP  # noqa: E402
from jit_bars import jit_bars, jit_groups  # noqa: E402
from jit_measures import CONTENDERS as JIT  # noqa: E402
from lbf_bars import lbf_bars, lbf_groups  # noqa: E402
from learn_bars import learn_bars, learn_groups  # noqa: E402
from minigrid_bars import minigrid_bars, minigrid_groups  # noqa: E402
from mpe_bars import mpe_bars, mpe_groups  # noqa: E402
from mujoco_bars import (  # noqa: E402
    IDS,
    MEMORY,
    MEMORY_LANES,
    RAW_BATCHES,
    STEP_OVER_RAW,
    against_batch_name,
    against_raw_name,
    mujoco_bars,
    mujoco_groups,
)
from mujoco_bars import LIBRARIES as MUJOCO_LIBRARIES  # noqa: E402
from remote_bars import LIBRARIES as REMOTE_LIBRARIES  # noqa: E402
from remote_bars import remote_bars, remote_groups  # noqa: E402
from rware_bars import rware_bars, rware_groups  # noqa: E402
from toy_bars import toy_bars, toy_groups  # noqa: E402
from wrapper_bars import LIBRARIES as WRAPPER_LIBRARIES  # noqa: E402
from wrapper_bars import NO_STEPS as NO_WRAPPER_STEPS  # noqa: E402
from wrapper_bars import wrapper_bars, wrapper_groups  # noqa: E402

from gymcore.cli.formats import rate, table  # noqa: E402
from gymcore.cli.info import system_info  # noqa: E402
from gymcore.cli.options import count, positive  # noqa: E402

NOT_MEASURED = "not measured in this run"
LIBRARY = {key: contender.module for key, contender in (CONTENDERS | INTEROP | JIT).items()}
LIBRARY |= {
    "gymnasium-make": "gymnasium",
    "minigrid-pixels": "gymnasium",
    "mpe2": "gymnasium",
    "lbforaging": "gymnasium",
    "rware": "gymnasium",
    **LIBRARIES,
    **WRAPPER_LIBRARIES,
}
LIBRARY |= MUJOCO_LIBRARIES | ATARI_LIBRARIES | REMOTE_LIBRARIES


def all_groups(threads: int) -> list[Group]:
    """Return all groups of measurements for a machine with this many usable threads."""
    return [
        *groups(threads),
        *toy_groups(threads),
        *minigrid_groups(threads),
        *mpe_groups(threads),
        *lbf_groups(threads),
        *rware_groups(threads),
        *engine_groups(),
        *wrapper_groups(),
        *mujoco_groups(threads),
        *dm_control_groups(threads),
        *box2d_groups(threads),
        *atari_groups(threads),
        *remote_groups(),
        *interop_groups(threads),
        *jit_groups(threads),
        *learn_groups(threads),
    ]


class Worker:
    """The process of one library."""

    def __init__(self, python: str, root: Path = ROOT, prefix: Sequence[str] = ()) -> None:
        """Start the process with that interpreter, and with the checkout at `root`.

        `prefix` is a command that runs another command, such as `("chroot", "/other/system")`.
        """
        paths = [str(root), os.environ.get("PYTHONPATH", "")] if python == sys.executable else []
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, paths)))
        self._process = subprocess.Popen(
            [*prefix, python, str(root / "benchmarks" / "worker.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )

    def ask(self, **request: Any) -> dict[str, Any]:
        """Send a request and return the reply; a dead process replies `failed`."""
        self.send(**request)
        return self.receive()

    def send(self, **request: Any) -> None:
        """Send a request; `receive` returns the reply to it."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # a dead process, which `receive` reports
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        """Return the reply to the oldest request without one."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            return {"failed": f"the process ended with code {self._process.wait()}"}
        answer: dict[str, Any] = json.loads(line)
        return answer

    def demand(self, **request: Any) -> dict[str, Any]:
        """Send a request whose failure ends the program; return the reply."""
        answer = self.ask(**request)
        if problem := answer.get("failed") or answer.get("missing"):
            sys.exit(f"{request}: {problem}")
        return answer

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # the dead process did not read a request
            self._process.stdin.close()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


class Run:
    """All measurements of one run.

    Attributes:
        measured: The numbers.
        versions: Library -> version.
    """

    def __init__(self, pythons: dict[str, str], duration: float, repeats: int) -> None:
        """Store the settings; `pythons` maps a library to its interpreter."""
        self.measured = Measured()
        self.versions: dict[str, str | None] = {}
        self._pythons = pythons
        self._duration = duration
        self._repeats = repeats
        self._workers: dict[str, Worker] = {}

    def worker(self, library: str) -> Worker:
        """Return the process of a library, started on first use."""
        if library not in self._workers:
            self._workers[library] = Worker(self._pythons.get(library, sys.executable))
        return self._workers[library]

    def group(self, members: tuple[tuple[str, str, int, int], ...]) -> None:
        """Open the members together, time them in turns, and close them."""
        opened: dict[str, tuple[str, int]] = {}
        for key, env_id, num_envs, threads in members:
            library = LIBRARY.get(key, "gymcore")
            name = f"{key}/{env_id}/{num_envs}/{threads}"
            answer = self.worker(library).ask(open=[key, env_id, num_envs, threads])
            if "name" not in answer:
                self.measured.missing[name] = answer.get("missing") or answer["failed"]
                continue
            opened[name] = (library, answer["steps_per_call"])
            module = library.partition(" ")[0]  # "gymcore (something)" is a process of gymcore
            reply = self.worker(library).ask(call="version", arguments=[module])
            self.versions[module] = reply["value"]
        rounds: dict[str, list[float]] = {name: [] for name in opened}
        # The first round estimates the number of calls and warms up caches; it is not counted.
        for turn in range(self._repeats + 1):
            for name, (library, steps_per_call) in opened.items():
                answer = self.worker(library).ask(measure=name, seconds=self._duration)
                if "seconds" not in answer:
                    self.measured.missing[name] = answer["failed"]
                    rounds[name] = []
                elif turn and name not in self.measured.missing:
                    rounds[name].append(answer["seconds"] / steps_per_call)
        for name, (library, _) in opened.items():
            self.worker(library).ask(close=name)
        self.measured.rounds.update({name: each for name, each in rounds.items() if each})

    def probes(self, lanes: int) -> None:
        """Measure memory and import time, each in fresh processes."""
        fresh = Worker(sys.executable)
        answer = fresh.ask(call="bytes_per_lane", arguments=[CARTPOLE, lanes])
        self._value("memory", answer)
        answer = fresh.ask(call="import_seconds", arguments=[2 * self._repeats + 1])
        fresh.close()
        value = answer.pop("value", None)
        for name in ("import", "optional"):
            if value is None:
                self.measured.missing[name] = answer["failed"]
        if value is not None:
            self.measured.values["import"] = value["seconds"]
            self.measured.values["optional"] = float(len(value["optional"].split()))

    def mujoco_memory(self) -> None:
        """Measure the memory of a simulation, in a fresh process."""
        fresh = Worker(sys.executable)
        arguments = ["Humanoid-v5", MEMORY_LANES]
        self._value(MEMORY, fresh.ask(call="mujoco_bytes_per_lane", arguments=arguments))
        fresh.close()

    def against_raw(self, threads: int) -> None:
        """Measure MuJoCo batches against the raw loop."""
        for env_id in (*IDS, *DOMAINS):
            arguments = [env_id, 64, threads, 3 * self._repeats * self._duration]
            answer = self.worker("gymcore").ask(call="against_raw", arguments=arguments)
            self._value(against_raw_name(env_id), answer)
            if env_id in RAW_BATCHES:
                answer = self.worker("gymcore").ask(
                    call="against_mujoco_batch", arguments=arguments
                )
                self._value(against_batch_name(env_id), answer)
        arguments = ["HalfCheetah-v5", self._repeats * self._duration]
        answer = self.worker("gymcore").ask(call="step_over_raw", arguments=arguments)
        self._value(STEP_OVER_RAW, answer)

    def _value(self, name: str, answer: dict[str, Any]) -> None:
        """Store a number, or the reason why there is none."""
        if "value" in answer:
            self.measured.values[name] = answer["value"]
        else:
            self.measured.missing[name] = answer.get("missing") or answer["failed"]

    def close(self) -> None:
        """End all processes."""
        for worker in self._workers.values():
            worker.close()


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description="Measure gymcore's bars against its peers.")
    parser.add_argument("--repeats", type=count, default=7, help="interleaved rounds [7]")
    parser.add_argument("--seconds", type=positive, default=0.2, help="length of one [0.2]")
    parser.add_argument("--groups", nargs="+", metavar="NAME", help="measure only these groups")
    parser.add_argument(
        "--python",
        action="append",
        default=[],
        metavar="LIBRARY=PATH",
        help="interpreter that has this library (pufferlib, envpool, gymnasium, ...)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers")
    parser.add_argument("--plot", type=Path, metavar="FILE.png", help="draw rates and cost a step")
    parser.add_argument("--strict", action="store_true", help="exit 1 if a bar is not met")
    arguments = parser.parse_args(argv)
    for each in arguments.python:
        library, _, path = each.partition("=")
        if library not in LIBRARY.values() or library == "gymcore" or not Path(path).is_file():
            parser.error(f"--python: expected LIBRARY=PATH of an interpreter, got {each!r}")
    return arguments


def judge(measured: Measured, threads: int) -> list[dict[str, Any]]:
    """Return the table.

    Returns:
        Rows of `measure`, `bar`, `measured` (text of the medians), `best` (text of the fastest
        rounds), `value` (number behind `measured`) and `met` (by the medians; None: unknown).
    """
    rows, best = [], measured.best()
    everything = (
        bars, toy_bars, minigrid_bars, mpe_bars, lbf_bars, rware_bars, box2d_bars,
        engine_bars, mujoco_bars, dm_control_bars, atari_bars, remote_bars, interop_bars, jit_bars,
        learn_bars,
    )  # fmt: skip
    for bar in [*(bar for each in everything for bar in each(threads)), *wrapper_bars()]:
        row: dict[str, Any] = {"measure": bar.measure, "bar": bar.target}
        try:
            value = bar.value(measured)
        except KeyError as error:
            reason = measured.missing.get(error.args[0], NOT_MEASURED)
            row |= {"value": None, "measured": reason, "met": None, "best": "-"}
        else:
            row |= {"value": value, "measured": bar.show(value), "met": bar.met(value)}
            row["best"] = bar.show(bar.value(best))
        rows.append(row)
    return rows


def rates(measured: Measured) -> list[list[str]]:
    """Return a row for every rate: name, rate, ns per step, both of the best round, spread."""
    rows = []
    for name, rounds in measured.rounds.items():
        key, env_id, num_envs, threads = parts(name)
        middle = statistics.median(rounds)
        spread = (max(rounds) - min(rounds)) / middle
        rows.append(
            [
                f"{key} {env_id} n={num_envs}" + ("" if threads == "1" else f" {threads} threads"),
                "-" if key in NO_STEPS | NO_WRAPPER_STEPS else rate(1 / middle),
                f"{middle * 1e9:.4g} ns",
                f"{min(rounds) * 1e9:.4g} ns",
                f"{spread:.0%}",
            ]
        )
    return rows


def busy() -> float | None:
    """Return the load of this machine by other processes, None if it is negligible."""
    try:
        load = os.getloadavg()[0]
    except OSError:
        return None
    return load if load > 0.5 else None


def outdated(versions: dict[str, str | None]) -> bool:
    """Return whether EnvPool was measured in a version before 1.2.7.

    It is what pip installs silently for Python 3.11.
    """
    numbers = re.findall(r"\d+", versions.get("envpool") or "")
    return bool(numbers) and tuple(map(int, numbers[:3])) < (1, 2, 7)


def main(argv: list[str] | None = None) -> int:
    """Measure, print the table and write the files."""
    arguments = parse(argv)
    machine = system_info()
    threads = machine["threads"]["usable"]
    groups = [
        group
        for group in all_groups(threads)
        if arguments.groups is None or group.title in arguments.groups
    ]
    pythons = dict(each.split("=", 1) for each in arguments.python)
    run = Run(pythons, arguments.seconds, arguments.repeats)
    load = busy()
    try:
        for group in groups:
            print(f"measuring {group.title} ...", file=sys.stderr, flush=True)
            run.group(group.members)
        if arguments.groups is None or "probes" in arguments.groups:
            print("measuring probes ...", file=sys.stderr, flush=True)
            run.probes(MILLION)
        if arguments.groups is None or "mujoco-memory" in arguments.groups:
            run.mujoco_memory()
        if arguments.groups is None or "mujoco-raw" in arguments.groups:
            print("measuring mujoco-raw ...", file=sys.stderr, flush=True)
            run.against_raw(threads)
    finally:
        run.close()
    judged = judge(run.measured, threads)
    words = {True: "yes", False: "NO", None: "-"}
    print(f"{machine['cpu']}, {threads} threads; Python {machine['python']}", end="; ")
    print(*(f"{k} {v}" for k, v in sorted(run.versions.items())), sep=", ")
    if outdated(run.versions):
        print(
            f"envpool {run.versions['envpool']} is outdated: 1.2.7 takes half as long in small "
            "environments, and its wheels need Python 3.12; pass --python envpool=PATH"
        )
    if load is not None:
        print(f"other processes were running (load {load:.1f}): only the ratios are reliable")
    print()
    head = ["rates, medians", "rate", "a step or call", "best", "spread"]
    print(table(rates(run.measured), head))
    print()
    shown = ("measure", "bar", "measured", "best")
    cells = [
        [*(row[name] for name in shown), words[row["met"]]]
        for row in judged
        if arguments.groups is None or row["measured"] != NOT_MEASURED
    ]
    print(table(cells, ["bars, medians", "bar", "measured", "best rounds", "met"]))
    for name, reason in run.measured.missing.items():
        print(f"missing: {name}: {reason}")
    if arguments.json is not None:
        document = {
            "machine": machine,
            "busy": load,
            "versions": run.versions,
            "repeats": arguments.repeats,
            "seconds": arguments.seconds,
            "bars": judged,
            "seconds_per_step": run.measured.rounds,
            "values": run.measured.values,
            "missing": run.measured.missing,
        }
        arguments.json.write_text(json.dumps(document, indent=2) + "\n")
    if arguments.plot is not None:
        plot(run.measured, arguments.plot)
    return 1 if arguments.strict and any(row["met"] is False for row in judged) else 0


if __name__ == "__main__":
    sys.exit(main())
