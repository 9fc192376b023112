"""How the engines scale over CPUs: every family, and environments in Python, beside EnvPool.

    python benchmarks/scaling.py
    python benchmarks/scaling.py --only HalfCheetah Async --json scaling.json --plot scaling.png
    python benchmarks/scaling.py --python envpool=/path/to/other/venv/bin/python

Weak scaling gives every thread the same number of lanes, strong scaling divides a batch. An
efficiency is the rate of k threads on k CPUs divided by k times the rate of one thread on one CPU,
the median over interleaved rounds. "own choice" is the rate with `num_threads=None` divided by the
best rate of a fixed number of threads. `AsyncVectorEnv` with k workers is compared with k separate
processes, each on a CPU of its own, that step as many lanes with `SyncVectorEnv`.

Threads of different cores come first; where more are needed, two share a core, which the output
says: those cannot reach an efficiency of 1.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))

from peers import LIBRARY, Worker

from gymcore.cli.formats import rate, table
from gymcore.cli.options import count, positive


class Family(NamedTuple):
    """An environment that stands for a family.

    Attributes:
        env_id: Its id.
        lanes_per_thread: Lanes in weak scaling.
        num_envs: Lanes in strong scaling.
        keys: Contenders: gymcore with a number of threads, with its own choice, and EnvPool.
    """

    env_id: str
    lanes_per_thread: int
    num_envs: int
    keys: tuple[str, ...] = ("gymcore", "gymcore-default", "envpool")


FAMILIES = (
    Family("CartPole-v1", 4096, 65536),
    Family("Taxi-v3", 4096, 65536),
    Family("LunarLander-v3", 16, 512),
    Family("HalfCheetah-v5", 16, 512),
    Family("Humanoid-v5", 16, 256),
    Family("ALE/Pong-v5", 16, 256, ("gymcore-games", "envpool-games")),
    Family("MiniGrid-DoorKey-8x8-v0", 256, 4096, ("gymcore", "gymcore-default")),
    Family("BabyAI-GoToLocal-v0", 256, 4096, ("gymcore", "gymcore-default")),
)
#: Environments of `python_envs.py` that use 200 and 20 us of a CPU in a step, and lanes a worker.
PYTHON_ENVS, LANES_PER_WORKER = ("Busy", "Brief"), 16
SYNC, ASYNC = "gymcore-SyncVectorEnv", "gymcore-AsyncVectorEnv"


#: Steps a second of each round by number of CPUs.
Rates = dict[int, list[float]]


class Row(NamedTuple):
    """The rates of one contender by number of CPUs, in each round.

    Attributes:
        env_id: The environment.
        kind: "weak", "strong", or "workers" with the same number of lanes each.
        engine: The contender.
        rates: Steps a second of each round by number of CPUs.
        reference: Rates that an efficiency of 1 has; None for k times that of one CPU.
    """

    env_id: str
    kind: str
    engine: str
    rates: Rates
    reference: Rates | None = None

    def efficiency(self, cpus: int) -> float:
        """Return the median efficiency on a number of CPUs."""
        if self.reference is not None:
            ideal = self.reference[cpus]
        else:
            ideal = [cpus * rate for rate in self.rates[1]]
        return statistics.median(a / b for a, b in zip(self.rates[cpus], ideal, strict=True))


def cores() -> dict[int, str]:
    """Return the usable CPUs and the core of each, those of different cores first."""

    def core(cpu: int) -> str:
        path = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        return path.read_text().strip() if path.exists() else str(cpu)

    usable = {cpu: core(cpu) for cpu in sorted(os.sched_getaffinity(0))}
    first = {name: cpu for cpu, name in reversed(usable.items())}
    return dict(sorted(usable.items(), key=lambda pair: first[pair[1]] != pair[0]))


@contextmanager
def only(cpus: Iterable[int]) -> Iterator[None]:
    """Let processes that start in this context use only some CPUs."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class Sessions:
    """Open environments that are measured at the same time, each in a process of its own."""

    def __init__(
        self, python: str, member: tuple[str, str, int, int], places: list[list[int]]
    ) -> None:
        """Open an environment in one process for every list of CPUs in `places`."""
        self._workers = []
        self._seconds_per_step: list[float] = []
        self.problem: str | None = None
        for cpus in places:
            with only(cpus):
                self._workers.append(Worker(python))
        for worker in self._workers:
            opened = worker.ask(open=list(member))
            self.problem = self.problem or opened.get("missing") or opened.get("failed")
            self._steps = opened.get("steps_per_call", 1)
        self._name = "/".join(map(str, member))

    def rate(self, seconds: float) -> float:
        """Measure all processes at once for about `seconds`; return their steps per second."""
        for worker in self._workers:
            worker.send(measure=self._name, seconds=seconds)
        answers = [worker.receive() for worker in self._workers]
        return sum(self._steps / answer["seconds"] for answer in answers)

    def close(self) -> None:
        """End the processes."""
        for worker in self._workers:
            worker.close()


class Measuring:
    """The settings of a run, and the CPUs that it uses."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        """Choose the CPUs."""
        self.cpus = list(cores())[: arguments.cpus]
        self.counts = [2**k for k in range(len(self.cpus).bit_length())]
        if self.counts[-1] != len(self.cpus):
            self.counts.append(len(self.cpus))
        self._seconds, self._repeats = arguments.seconds, arguments.repeats
        self._pythons = dict(arguments.python)

    def rates(self, *measured: tuple[str, dict[int, tuple[str, int, bool]]]) -> list[Rates]:
        """Return the rates of contenders that are measured in turns.

        Args:
            measured: Each contender and, for each number of CPUs: environment, lanes, and whether
                every CPU has a process of its own, with so many lanes each.

        Raises:
            LookupError: One of them cannot be measured here.
        """
        sessions: dict[tuple[str, int], Sessions] = {}
        try:
            for key, opened in measured:
                python = self._pythons.get(LIBRARY.get(key, ""), sys.executable)
                for cpus, (env_id, lanes, separate) in opened.items():
                    used = self.cpus[:cpus]
                    places = [[cpu] for cpu in used] if separate else [used]
                    member = (key, env_id, lanes, 1 if separate else cpus)
                    sessions[key, cpus] = Sessions(python, member, places)
                    if problem := sessions[key, cpus].problem:
                        raise LookupError(problem)
            for each in sessions.values():  # warms up caches and estimates
                each.rate(self._seconds)
            rounds = [
                {place: each.rate(self._seconds) for place, each in sessions.items()}
                for _ in range(self._repeats)
            ]
        finally:
            for each in sessions.values():
                each.close()
        return [
            {cpus: [rates[key, cpus] for rates in rounds] for cpus in opened}
            for key, opened in measured
        ]

    def family(self, family: Family) -> Iterator[Row]:
        """Measure a family; what is missing is left out, with a line on stderr."""
        weak = {k: (family.env_id, k * family.lanes_per_thread, False) for k in self.counts}
        strong = dict.fromkeys(self.counts, (family.env_id, family.num_envs, False))
        for kind, opened in (("weak", weak), ("strong", strong)):
            for key in family.keys:
                try:
                    (rates,) = self.rates((key, opened))
                except LookupError as problem:
                    text = f"{family.env_id} {kind}, {key}: {problem}"
                    print(text, file=sys.stderr, flush=True)
                else:
                    yield Row(family.env_id, kind, key, rates)

    def workers(self, env_id: str) -> Row:
        """Measure AsyncVectorEnv against separate processes."""
        lanes = LANES_PER_WORKER
        batches = {k: (env_id, k * lanes, False) for k in self.counts}
        alone = dict.fromkeys(self.counts, (env_id, lanes, True))
        rates, reference = self.rates((ASYNC, batches), (SYNC, alone))
        return Row(env_id, "workers", ASYNC, rates, reference)


def own_choice(rows: list[Row], cpus: int) -> Iterator[tuple[str, str]]:
    """Return the environments, and the rate of `num_threads=None` by that of the best number."""
    for row in rows:
        if (row.kind, row.engine) == ("strong", "gymcore-default"):
            row_key = (row.env_id, "strong", "gymcore")
            fixed = [r for r in rows if (r.env_id, r.kind, r.engine) == row_key]
            best = max(statistics.median(r) for f in fixed for r in f.rates.values())
            yield row.env_id, f"{statistics.median(row.rates[cpus]) / best:.2f}"


def plot(rows: list[Row], path: Path) -> None:
    """Draw the efficiencies in a PNG file, a panel for each kind of scaling."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(15, 5), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, 3, sharey=True)
    kinds = ("weak", "strong", "workers")
    for panel, kind in zip(panels, kinds, strict=True):
        for row in rows:
            if row.kind == kind:
                counts = sorted(row.rates)
                style = "--" if row.engine.startswith("envpool") else "-"
                label = f"{row.env_id}, {row.engine}"
                efficiencies = [row.efficiency(k) for k in counts]
                panel.plot(counts, efficiencies, f"o{style}", label=label, markersize=3)
        panel.set(title=kind, xlabel="CPUs", ylim=(0, None))
        panel.set_xscale("log", base=2)
        panel.xaxis.set_major_formatter("{x:.0f}")
        panel.grid(True, alpha=0.3)
        if panel.lines:
            panel.legend(fontsize=6)
    panels[0].set_ylabel("efficiency")
    figure.savefig(path, dpi=120)


def interpreter(text: str) -> tuple[str, str]:
    """Return library and interpreter of `library=path`."""
    library, _, path = text.partition("=")
    if not Path(path).is_file():
        raise argparse.ArgumentTypeError(f"expected LIBRARY=PATH of an interpreter, got {text!r}")
    return library, path


def main() -> None:
    """Measure and print the results."""
    parser = argparse.ArgumentParser(description="How the engines scale over CPUs.")
    parser.add_argument("--only", nargs="+", metavar="WORD", help="names that contain a word")
    parser.add_argument("--cpus", type=count, default=None, help="how many to use [all]")
    parser.add_argument("--repeats", type=count, default=3, help="interleaved rounds [3]")
    parser.add_argument("--seconds", type=positive, default=0.1, help="length of one [0.1]")
    parser.add_argument(
        "--python",
        type=interpreter,
        action="append",
        default=[],
        metavar="LIBRARY=PATH",
        help="the interpreter that has a library",
    )
    parser.add_argument("--json", type=Path, help="write the rates to a file")
    parser.add_argument("--plot", type=Path, help="draw the efficiencies in a PNG file")
    arguments = parser.parse_args()
    if not hasattr(os, "sched_setaffinity"):
        sys.exit("this system does not let a program choose CPUs")
    run = Measuring(arguments)
    by_cpu = cores()
    shared = len(run.cpus) - len({by_cpu[cpu] for cpu in run.cpus})
    print(f"{len(run.cpus)} CPUs, of which {shared} are second threads of a core")

    def chosen(name: str) -> bool:
        return arguments.only is None or any(word in name for word in arguments.only)

    rows: list[Row] = []
    for family in FAMILIES:
        if chosen(family.env_id):
            rows.extend(run.family(family))
    rows.extend(run.workers(env_id) for env_id in PYTHON_ENVS if chosen(f"{env_id} {ASYNC}"))
    heads = ["", "scaling", "engine", "1 CPU [steps/s]", *(f"{k} CPUs" for k in run.counts[1:])]
    cells = [
        [
            row.env_id,
            row.kind,
            row.engine,
            rate(statistics.median(row.rates[1])),
            *(f"{row.efficiency(k):.2f}" for k in run.counts[1:]),
        ]
        for row in rows
    ]
    print(table(cells, heads))
    for name, ratio in own_choice(rows, run.counts[-1]):
        print(f"{name}: num_threads=None has {ratio} of the best rate of a fixed number")
    if arguments.json:
        arguments.json.write_text(json.dumps([row._asdict() for row in rows], indent=1))
    if arguments.plot:
        plot(rows, arguments.plot)


if __name__ == "__main__":
    main()
