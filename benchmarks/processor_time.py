"""Processor time of a lane's step of Python environments, which is meaningful on a busy machine.

Compares Gymnasium's `SyncVectorEnv`, our "sync", and our "async" with one worker per processor, for
which this process and the slowest worker count. Actions are random; resets are included.

    python benchmarks/processor_time.py BipedalWalker-v3 --lanes 4 16 64
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

RING = 50

#: Returns the processor time so far of every process that steps, the caller's first.
Clock = Callable[[], list[float]]


def cpu_time() -> tuple[int, float]:
    """Return the id of this process and its processor time in seconds."""
    return os.getpid(), time.process_time()


def with_clock(env: Any) -> Any:
    """Add a method to an environment that returns the processor time of its process."""
    env.unwrapped.cpu_time = cpu_time
    return env


def contenders(env_id: str, lanes: int) -> dict[str, tuple[Any, Clock]]:
    """Make the three contenders, and their clocks."""
    import gymnasium

    import gymcore

    def worker_clock() -> list[float]:
        return [time.process_time(), *dict(workers.call("cpu_time")).values()]

    workers: Any = gymcore.make_vec(
        env_id, num_envs=lanes, vectorization_mode="async", wrappers=[with_clock]
    )
    ours = gymcore.make_vec(env_id, num_envs=lanes, vectorization_mode="sync")
    theirs = gymnasium.make_vec(env_id, num_envs=lanes, vectorization_mode="sync")

    def clock() -> list[float]:
        return [time.process_time()]

    return {
        "Gymnasium": (theirs, clock),
        '"sync"': (ours, clock),
        '"async"': (workers, worker_clock),
    }


def measure(env_id: str, lanes: int, rounds: int, seconds: float) -> dict[str, float]:
    """Return the median processor time of a lane's step by contender, in seconds.

    Args:
        env_id: The environment.
        lanes: Number of environments.
        rounds: Number of interleaved measurements of each contender.
        seconds: Processor time of one measurement.
    """
    samples: dict[str, list[float]] = {}
    sessions = contenders(env_id, lanes)
    for envs, _ in sessions.values():
        envs.action_space.seed(1)
        envs.reset(seed=1)
    batches = [envs.action_space.sample() for _ in range(RING)]
    for envs, _ in sessions.values():  # moves the lanes to different points of their episodes
        for actions in batches:
            envs.step(actions)
    for _ in range(rounds):
        for name, (envs, clock) in sessions.items():
            before, steps = clock(), 0
            end = time.perf_counter() + seconds
            while time.perf_counter() < end:
                envs.step(batches[steps % RING])
                steps += 1
            main, *others = [b - a for a, b in zip(before, clock(), strict=True)]
            used = main + max(others, default=0.0)
            samples.setdefault(name, []).append(used / steps / lanes)
    for envs, _ in sessions.values():
        envs.close()
    return {name: statistics.median(times) for name, times in samples.items()}


def main() -> None:
    """Print a table for the ids and numbers of lanes on the command line."""
    parser = argparse.ArgumentParser(description="Processor time of a lane's step.")
    parser.add_argument("ids", nargs="+", metavar="ID")
    parser.add_argument("--lanes", nargs="+", type=int, default=[64])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1.0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    heads = ["id", "environments", "Gymnasium", '"sync"', '"async"']
    print("us;", " | ".join(heads))
    for env_id in options.ids:
        for lanes in options.lanes:
            times = measure(env_id, lanes, options.rounds, options.seconds)
            figures = " | ".join(f"{times[name] * 1e6:.1f}" for name in heads[2:])
            ratios = ", ".join(f"{times['Gymnasium'] / times[name]:.2f}x" for name in heads[3:])
            print(f"| {env_id} | {lanes} | {figures} |   ({ratios})", flush=True)


if __name__ == "__main__":
    main()
