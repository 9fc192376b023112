"""Print how quickly rollouts respond to a signal.

    python benchmarks/interrupts.py
    python benchmarks/interrupts.py --processor-time --only CartPole Pong   # on a busy machine

A timer fires at a random time during repeated rollouts of a batch, and its handler raises an
exception. The measured time begins when the timer was due and ends when the exception reaches the
caller. With `--processor-time`, timer and clock use this process's CPU time, with one thread.
"""

from __future__ import annotations

import argparse
import random
import signal
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import gymcore as gym
from gymcore.envs.atari.vector_env import AtariVectorEnv

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"

# Environments, numbers of lanes, and steps per rollout.
ROLLOUTS = [
    ("CartPole-v1", 64, 100_000),
    ("CartPole-v1", 100_000, 64),
    ("Acrobot-v1", 100_000, 64),
    ("HalfCheetah-v5", 64, 500),
    ("HalfCheetah-v5", 5_000, 10),
    ("LunarLander-v3", 64, 2_000),
    ("CarRacing-v3", 16, 20),
    ("Pong", 64, 20),
    ("Pong, lanes that end together", 64, 20),
    ("Snake", 64, 2_000),
]


class Interrupt(BaseException):
    """Raised by the handler of the timer."""


def make(name: str, num_envs: int, **options: Any) -> Any:
    """Make a batch, with `gymcore.jit` for the Snake example."""
    if name.startswith("Pong"):
        if "end" in name:
            options.update(max_num_frames_per_episode=40, autoreset_mode="SameStep")
        return AtariVectorEnv(num_envs, game="pong", **options)
    if name == "Snake":
        sys.path.append(str(EXAMPLES))
        from jit_snake import Snake  # type: ignore[import-not-found]

        return Snake.vector_class(num_envs, **options)
    return gym.make_vec(name, num_envs, vector_kwargs=options)


def delays(envs: Any, steps: int, repeats: int, processor_time: bool) -> list[float]:
    """Interrupt rollouts, and return the seconds that each took to end."""
    timer = signal.ITIMER_PROF if processor_time else signal.ITIMER_REAL
    clock = time.process_time if processor_time else time.perf_counter

    def fire(number: int, frame: Any) -> None:
        raise Interrupt

    signal.signal(signal.SIGPROF if processor_time else signal.SIGALRM, fire)
    envs.reset(seed=0)
    envs.action_space.seed(0)
    actions = np.stack([envs.action_space.sample() for _ in range(min(steps, 16))])
    actions = np.resize(actions, (steps, *actions.shape[1:]))
    names = ("observations", "rewards", "terminated", "truncated")
    arrays = dict(zip(names, envs.rollout(actions), strict=False))  # allocates their memory
    times = []
    for _ in range(repeats):
        envs.reset()
        due = clock()
        try:
            after = random.uniform(0.02, 0.3)
            due += after
            signal.setitimer(timer, after)
            while True:
                envs.rollout(actions, **arrays)
        except Interrupt:
            times.append(clock() - due)
    return times


def main() -> None:
    """Measure and print the results."""
    parser = argparse.ArgumentParser(description="Print how long rollouts take to answer a signal.")
    parser.add_argument("--repeats", type=int, default=30, help="interrupts of each batch [30]")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="environments")
    parser.add_argument("--processor-time", action="store_true", help="time on a busy machine")
    arguments = parser.parse_args()
    options = {"num_threads": 1} if arguments.processor_time else {}
    print(f"{'rollout':55} {'median':>10} {'worst':>10}")
    for name, num_envs, steps in ROLLOUTS:
        if arguments.only and name.partition(",")[0] not in arguments.only:
            continue
        envs = make(name, num_envs, **options)
        times = delays(envs, steps, arguments.repeats, arguments.processor_time)
        envs.close()
        shown = f"{name}, {num_envs} lanes, {steps} steps"
        print(
            f"{shown:55} {statistics.median(times) * 1e3:7.1f} ms {max(times) * 1e3:7.1f} ms",
            flush=True,
        )


if __name__ == "__main__":
    main()
