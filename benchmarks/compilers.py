r"""Compare builds of several compilers on one machine, interleaved in one run.

    python benchmarks/compilers.py \
        --build "Debian 12" "9314 passed" /var/tmp/bookworm /root/gymcore \
        --build "this machine" "not run" / /home/me/gymcore

`.ci/roots` makes the builds and runs this program. A build is a name, the result of its tests, the
root of its system and its checkout in there, with a virtual environment in `.venv`. Each runs in a
separate process and waits while another one is timed: steps of `make_vec` on one thread, with fresh
random actions. The Markdown table has millions of steps per second and, in brackets, the rate
relative to the first build; both are medians over rounds. Requires root for chroot.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from peers import Worker

MEASURED = (("CartPole-v1", 4096), ("Pendulum-v1", 1024), ("Acrobot-v1", 1024))


def rates_of(
    workers: list[Worker], env_id: str, num_envs: int, repeats: int, seconds: float
) -> list[list[float]]:
    """Return steps per second of each worker in each round."""
    names = [worker.demand(open=["gymcore", env_id, num_envs, 1])["name"] for worker in workers]
    rounds: list[list[float]] = [[] for _ in workers]
    for turn in range(repeats + 1):  # the first round warms up caches
        for worker, name, rates in zip(workers, names, rounds, strict=True):
            call = worker.demand(measure=name, seconds=seconds)["seconds"]
            if turn:
                rates.append(num_envs / call)
    for worker, name in zip(workers, names, strict=True):
        worker.demand(close=name)
    return rounds


def main() -> None:
    """Measure and print the results."""
    parser = argparse.ArgumentParser(description="Time builds of several compilers in turns.")
    parser.add_argument(
        "--build",
        dest="builds",
        nargs=4,
        action="append",
        required=True,
        metavar=("NAME", "TESTS", "ROOT", "CHECKOUT"),
        help="a system, the result of its tests, its root, and the checkout in that root",
    )
    parser.add_argument("--repeats", type=int, default=15, help="interleaved rounds [15]")
    parser.add_argument("--seconds", type=float, default=0.2, help="length of one [0.2]")
    arguments = parser.parse_args()
    workers = [
        Worker(f"{checkout}/.venv/bin/python", Path(checkout), ("chroot", root))
        for _, _, root, checkout in arguments.builds
    ]
    columns = []
    for env_id, num_envs in MEASURED:
        rounds = rates_of(workers, env_id, num_envs, arguments.repeats, arguments.seconds)
        columns.append(
            [
                f"{statistics.median(rates) / 1e6:.3g} "
                f"({statistics.median(a / b for a, b in zip(rates, rounds[0], strict=True)):.2f})"
                for rates in rounds
            ]
        )
    heads = [f"{env_id}, {num_envs} lanes" for env_id, num_envs in MEASURED]
    print("|", " | ".join(["system", "Python", "NumPy", "compiler", "tests", *heads]), "|")
    print("|---" * 5 + "|---:" * len(heads) + "|")
    for (name, tests, _, _), worker, *rates in zip(
        arguments.builds, workers, *columns, strict=True
    ):
        info = worker.demand(call="system_info", arguments=[])["value"]
        compiler = " ".join(info["build"]["compiler"].split()[:2])
        print("|", " | ".join([name, info["python"], info["numpy"], compiler, tests, *rates]), "|")
        worker.close()


if __name__ == "__main__":
    main()
