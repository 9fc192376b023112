"""Compare the speed of this checkout with another one, interleaved in one run.

    git worktree add ../before v0.1.0
    (cd ../before && python setup.py build_ext --inplace)
    python benchmarks/builds.py ../before
    python benchmarks/builds.py ../before --only CartPole Blackjack --repeats 15

The `worker.py` of each checkout runs in a separate process with that checkout first on its path,
and waits while the other one is timed. A ratio is the time of this checkout divided by the other's,
the median over rounds; below 1 is faster. A measurement that one of them lacks is left out.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(Path(__file__).resolve().parent))

from peers import LIBRARY, Worker, all_groups  # noqa: E402


def members(only: list[str] | None) -> list[tuple[str, str, int, int]]:
    """Return every measurement of gymcore whose group or name contains one of the words."""
    chosen = {}
    for group in all_groups(threads=1):
        for key, env_id, num_envs, threads in group.members:
            text = f"{group.title} {key} {env_id} {num_envs}"
            if LIBRARY.get(key, "gymcore") == "gymcore" and (
                only is None or any(word in text for word in only)
            ):
                chosen[key, env_id, num_envs, threads] = None
    return list(chosen)


def main() -> None:
    """Measure and print the results."""
    parser = argparse.ArgumentParser(description="Time this checkout against another one.")
    parser.add_argument("other", type=Path, help="the other checkout, compiled in place")
    parser.add_argument(
        "--only", nargs="+", metavar="WORD", help="measurements that contain a word"
    )
    parser.add_argument("--repeats", type=int, default=9, help="interleaved rounds [9]")
    parser.add_argument("--seconds", type=float, default=0.2, help="length of one [0.2]")
    arguments = parser.parse_args()
    workers = [Worker(sys.executable, root) for root in (ROOT, arguments.other.resolve())]
    print(f"{'measurement':60} {'this':>10} {'other':>10} {'this/other':>10}")
    for member in members(arguments.only):
        name = "/".join(map(str, member))
        opened = [worker.ask(open=list(member)) for worker in workers]
        problems = [a.get("missing") or a.get("failed") for a in opened if "name" not in a]
        rounds: list[list[float]] = []
        if not problems:
            for _ in range(arguments.repeats + 1):  # the first round warms up caches
                answers = [w.ask(measure=name, seconds=arguments.seconds) for w in workers]
                rounds.append(
                    [
                        a["seconds"] / o["steps_per_call"]
                        for a, o in zip(answers, opened, strict=True)
                    ]
                )
            this, other = (statistics.median(column) for column in zip(*rounds[1:], strict=True))
            ratio = statistics.median(a / b for a, b in rounds[1:])
            print(f"{name:60} {this * 1e9:8.4g}ns {other * 1e9:8.4g}ns {ratio:9.2f}x", flush=True)
        else:
            print(f"{name:60} {problems[0]}", flush=True)
        for worker, answer in zip(workers, opened, strict=True):
            if "name" in answer:
                worker.ask(close=name)
    for worker in workers:
        worker.close()


if __name__ == "__main__":
    main()
