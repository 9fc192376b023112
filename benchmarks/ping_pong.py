"""Round trip of an empty request through `Channel`, Python to Python, against raw futexes in C.

    python benchmarks/ping_pong.py [--rounds 5000] [--repeats 15] [--json FILE]

There are one parent and one idle worker. `raw_ping_pong.c` is compiled at the start. Both are
interleaved, so that a busy machine slows both equally; the results are ratios of medians. Bar: with
sleeping on both sides, `Channel` takes at most 1.5 times as long as the futexes.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from gymcore.vector.workers.shared_memory import SharedBlock
from gymcore_ext.workers.channel import Channel, watch_parent

SOURCE = Path(__file__).with_name("raw_ping_pong.c")
BAR = 1.5
SPINS = 2000
STOP = 2
_FOREVER = float("inf")


def compiled(folder: str) -> str:
    """Compile the raw ping-pong; return the path of the program."""
    program = os.path.join(folder, "raw_ping_pong")
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-O2", "-o", program, str(SOURCE)], check=True)
    return program


def raw_round_trip(program: str, rounds: int, spins: int, cpus: tuple[int, int]) -> float:
    """Return the seconds of a round trip with raw futexes."""
    words = [program, *map(str, (rounds, spins, *cpus))]
    output = subprocess.run(words, check=True, capture_output=True, text=True, timeout=60)
    return float(output.stdout) * 1e-9


def _answer(block: SharedBlock, spins: int, cpu: int, parent: int) -> None:
    """Main function of the worker."""
    watch_parent(parent)
    _pin(cpu)
    channel = Channel(block.map(Channel.nbytes(1, 1)), 0, [(0, 1)])
    request = 0
    while True:
        message = channel.next(0, request, _FOREVER, spins)
        if message is None:
            continue
        request, opcode = message
        channel.reply(0, request)
        if opcode == STOP:
            return


def _pin(cpu: int) -> None:
    if cpu >= 0:
        os.sched_setaffinity(0, {cpu})


class Worker:
    """A worker that answers, and the parent's end of its channel."""

    def __init__(self, spins: int, cpus: tuple[int, int]) -> None:
        """Start the worker on the second CPU; this process uses the first."""
        block = SharedBlock()
        block.allocate(Channel.nbytes(1, 1))
        self._channel = Channel(block.map(Channel.nbytes(1, 1)), 0, [(0, 1)])
        self._spins = spins
        self._cpu = cpus[0]
        context: Any = multiprocessing.get_context("fork")
        arguments = (block, spins, cpus[1], os.getpid())
        self._process = context.Process(target=_answer, args=arguments)
        self._process.start()
        block.close()

    def round_trip(self, rounds: int) -> float:
        """Return the seconds of a round trip."""
        before = os.sched_getaffinity(0)
        _pin(self._cpu)
        channel, spins = self._channel, self._spins
        try:
            for _ in range(rounds // 10 + 1):
                channel.wait(channel.post(1), 10.0, spins)
            start = time.perf_counter()
            for _ in range(rounds):
                if not channel.wait(channel.post(1), 10.0, spins):
                    raise RuntimeError("the worker does not answer")
            return (time.perf_counter() - start) / rounds
        finally:
            os.sched_setaffinity(0, before)

    def close(self) -> None:
        """End the worker."""
        self._channel.wait(self._channel.post(STOP), 10.0)
        self._process.join()


def placements() -> dict[str, tuple[int, int]]:
    """Return possible CPUs of both processes: two CPUs, one CPU, or unpinned."""
    cpus = sorted(os.sched_getaffinity(0))
    cpus_of = {"one CPU": (cpus[0], cpus[0]), "anywhere": (-1, -1)}
    if len(cpus) > 1:
        cpus_of = {"two CPUs": (cpus[0], cpus[1]), **cpus_of}
    return cpus_of


def measure(rounds: int, repeats: int) -> list[dict[str, Any]]:
    """Measure every placement, sleeping immediately and spinning first; return one row each."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(folder)
        for name, cpus in placements().items():
            for way, spins in (("blocking", 0), ("spinning", SPINS)):
                if way == "spinning" and name != "two CPUs":
                    continue  # spinning on a shared CPU only blocks the other process
                worker = Worker(spins, cpus)
                contenders: list[Callable[[], float]] = [
                    partial(raw_round_trip, program, rounds, spins, cpus),
                    partial(worker.round_trip, rounds),
                ]
                try:
                    times = list(
                        zip(*([run() for run in contenders] for _ in range(repeats)), strict=True)
                    )
                finally:
                    worker.close()
                raw, channel = map(statistics.median, times)
                rows.append(
                    {
                        "processes": name,
                        "way": way,
                        "raw_us": raw * 1e6,
                        "channel_us": channel * 1e6,
                        "ratio": channel / raw,
                    }
                )
    return rows


def main() -> int:
    """Print a table; return 1 if the bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5000)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if not sys.platform.startswith("linux"):
        print("the raw ping-pong needs Linux", file=sys.stderr)
        return 2
    rows = measure(options.rounds, options.repeats)
    print(f"{'processes on':<14}{'':<10}{'raw futexes':>14}{'Channel':>12}{'ratio':>8}")
    for row in rows:
        print(
            f"{row['processes']:<14}{row['way']:<10}{row['raw_us']:>11.2f} us"
            f"{row['channel_us']:>9.2f} us{row['ratio']:>8.2f}"
        )
    blocking = [row for row in rows if row["way"] == "blocking"]
    ratio = blocking[0]["ratio"]
    print(f"bar: blocking on {blocking[0]['processes']}, at most {BAR}: {ratio:.2f}")
    if options.json:
        info = {"machine": platform.platform(), "python": sys.version, "cpus": os.cpu_count()}
        options.json.write_text(json.dumps({**info, "rows": rows}, indent=1))
    return int(ratio > BAR)


if __name__ == "__main__":
    raise SystemExit(main())
