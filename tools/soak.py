"""Step for a long time, and fail if the process keeps growing or if a row is wrong.

python tools/soak.py native    10^10 steps of compiled environments
python tools/soak.py box2d     10^7 steps of the Box2D environments
python tools/soak.py async     10^6 steps of a batch in workers; one worker is killed every 1000

Steps, memory, file descriptors, threads and processes over time are printed and plotted.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import os
import re
import signal
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psutil

import gymcore as gym
from gymcore.cli.formats import rate

NATIVE_IDS = (
    "CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1", "Acrobot-v1",
    "FrozenLake-v1", "CliffWalking-v1", "Taxi-v4", "Blackjack-v1",
)  # fmt: skip
NATIVE_LANES = 1024
BOX2D_IDS = ("LunarLander-v3", "LunarLanderContinuous-v3", "BipedalWalker-v3")
BOX2D_LANES = 16

WORKERS, LANES_OF_A_WORKER = 3, 4
LANES = WORKERS * LANES_OF_A_WORKER


class Sample(NamedTuple):
    """Resources of this process and all its descendants, after a number of steps."""

    seconds: float
    steps: int
    memory: int  # bytes, without files; pages that processes share count in each of them
    descriptors: int
    threads: int
    processes: int


# How much each may increase during a run before it counts as growth. Allocators keep some pages.
SLACK = {"memory": 4 << 20, "descriptors": 0, "threads": 0, "processes": 0}


def memory(pid: int) -> int:
    """Return the bytes of a process's pages, without files.

    Pages that a fork shares with others count in full: a share of them would increase when one
    of the others writes to them or ends.
    """
    text = Path(f"/proc/{pid}/status").read_text()
    return 1024 * sum(int(size) for size in re.findall(r"Rss(?:Anon|Shmem):\s+(\d+)", text))


def sample(steps: int, began: float) -> Sample:
    """Sample this process and all its descendants."""
    this = psutil.Process()
    processes = [this, *this.children(recursive=True)]
    return Sample(
        time.monotonic() - began,
        steps,
        sum(memory(process.pid) for process in processes),
        sum(process.num_fds() for process in processes),
        sum(process.num_threads() for process in processes),
        len(processes),
    )


def growth(samples: Sequence[Sample]) -> list[str]:
    """Report values that were always higher in the last quarter of a run than in its second one.

    The first quarter is ignored: memory is first allocated in it, and the first workers, which
    inherit fewer descriptors, are replaced by later ones.
    """
    if len(samples) < 16:
        return ["too few samples: take more steps"]
    quarter = len(samples) // 4
    leaks = []
    for name, slack in SLACK.items():
        before = max(getattr(each, name) for each in samples[quarter : 2 * quarter])
        after = min(getattr(each, name) for each in samples[-quarter:])
        if after > before + slack:
            leaks.append(f"{name} grew from {before:,} to {after:,}")
    return leaks


# Compiled environments


def native(steps: int, ids: Sequence[str] = NATIVE_IDS, lanes: int = 0) -> Iterator[int]:
    """Step compiled environments in turn through every entry point; yield the total lane steps."""
    batches, lanes = [], lanes or NATIVE_LANES
    for index, env_id in enumerate(ids):
        mode = ("NextStep", "SameStep")[index % 2]
        envs: Any = gym.make_vec(env_id, num_envs=lanes, vector_kwargs={"autoreset_mode": mode})
        envs.action_space.seed(1)
        envs.reset(seed=1)
        batches.append((envs, np.stack([envs.action_space.sample() for _ in range(16)])))
    mask = np.arange(lanes) % 7 == 0
    calls = max(1, steps // (100 * lanes * len(batches)) - 16)
    done = 0
    while done < steps:
        for envs, actions in batches:
            for call in range(calls):
                observations, rewards, *_ = envs.step(actions[call % 16])
            if envs.spec.id in BOX2D_IDS:  # these leave their bounds, as in Gymnasium
                is_valid = np.isfinite(observations).all()
            else:
                is_valid = observations in envs.observation_space
            if not (is_valid and np.isfinite(rewards).all()):
                raise SystemExit(f"{envs.spec.id}: {observations} and {rewards} after {done} steps")
            envs.rollout(actions)
            envs.set_state(envs.get_state())
            envs.reset(options={"reset_mask": mask})
            done += (calls + 16) * lanes
        yield done
    for envs, _ in batches:
        envs.close()


# Environments in worker processes


class Mixing(gym.Env[Any, Any]):
    """Environment whose observation is one number, 16 times, that depends on all actions so far."""

    observation_space = gym.spaces.Box(0, 1 << 31, (16,), np.int64)
    action_space = gym.spaces.Discrete(1000)

    def __init__(self, lane: int) -> None:
        """Start before the first episode."""
        self.lane = lane
        self.episode = 0

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        """Start the next episode."""
        self.episode += 1
        self.steps = 0
        self.number = 1000 * self.episode + self.lane
        return np.full(16, self.number), {}

    def step(self, action: Any) -> Any:
        """Mix the action in; an episode has 20 steps plus the number of the lane."""
        self.steps += 1
        self.number = (31 * self.number + int(action)) % 1_000_003
        terminated = self.steps == 20 + self.lane
        return np.full(16, self.number), float(self.number), terminated, False, {}


class Expected:
    """Expected results of every lane of `Mixing`, computed in this process.

    Args:
        observations: Observations of the first reset.
    """

    def __init__(self, observations: Any) -> None:
        self.envs = [Mixing(lane) for lane in range(LANES)]
        self.observations = np.stack([env.reset()[0] for env in self.envs])
        self.ended = np.zeros(LANES, bool)
        self.compare("reset", observations, self.observations)

    @staticmethod
    def compare(what: str, result: Any, expected: Any) -> None:
        """Stop the program if a result is not the expected one."""
        if np.array_equal(result, expected):
            return
        for number, (row, right) in enumerate(zip(result, expected, strict=True)):
            if not np.array_equal(row, right):
                raise SystemExit(f"{what}[{number}]: expected {right}, got {row}")

    def check(self, actions: Any, results: Any) -> set[int]:
        """Compare a step; return the workers whose lanes were lost in it."""
        infos = results[4]
        lost = np.asarray(infos.get("worker_restarted", self.ended & False), bool)
        rewards, terminated = np.zeros(LANES), np.zeros(LANES, bool)
        for lane, env in enumerate(self.envs):
            if lost[lane]:  # repeats its last observation; the new worker has reset it once
                self.envs[lane] = Mixing(lane)
                self.envs[lane].reset()
            elif self.ended[lane]:
                self.observations[lane] = env.reset()[0]
            else:
                self.observations[lane], rewards[lane], terminated[lane], *_ = env.step(
                    actions[lane]
                )
        expected = (self.observations, rewards, terminated, lost)
        names = ("observations", "rewards", "terminations", "truncations")
        for name, result, right in zip(names, results, expected, strict=False):
            self.compare(name, result, right)
        self.ended = terminated | lost
        by_worker = lost.reshape(WORKERS, LANES_OF_A_WORKER)
        self.compare("lanes lost by worker", by_worker.all(axis=1), by_worker.any(axis=1))
        return set(np.flatnonzero(by_worker.all(axis=1)).tolist())


def asynchronous(steps: int) -> Iterator[int]:
    """Step a batch in workers, and kill a random one now and then; yield the number of steps."""
    rng = np.random.default_rng(1)
    kill_every = min(1000, max(20, steps // 40))
    envs = gym.vector.AsyncVectorEnv(
        [functools.partial(Mixing, lane) for lane in range(LANES)],
        num_workers=WORKERS, context="fork", on_worker_death="restart",
    )  # fmt: skip
    with envs:
        expected = Expected(envs.reset()[0])
        killed: set[int] = set()
        for step in range(1, steps + 1):
            phase = step % kill_every
            if phase == 1:  # at some instant in one of the next steps
                worker = int(rng.integers(WORKERS))
                killed = {worker}
                kill = (envs.processes[worker].pid, signal.SIGKILL)
                timer = threading.Timer(0.002 * rng.random(), os.kill, kill)
                timer.start()
            elif phase == kill_every // 2:
                timer.join()
            actions = rng.integers(1000, size=LANES)
            lost = expected.check(actions, envs.step(actions))
            if lost - killed:
                raise SystemExit(f"step {step}: worker {lost} was lost, and {killed} was killed")
            killed -= lost
            if phase == 0:
                if killed:
                    raise SystemExit(f"step {step}: worker {killed} was killed and never lost")
                yield step


# The report

LINE = "{:9.1f} {:16,} {:12,} {:12} {:8} {:10}"


def plot(samples: Sequence[Sample], path: Path) -> None:
    """Plot all samples over time into a PNG file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 10), layout="constrained")
    FigureCanvasAgg(figure)
    names = Sample._fields[1:]
    for panel, name in zip(figure.subplots(len(names), sharex=True), names, strict=True):
        panel.plot([each.seconds for each in samples], [getattr(each, name) for each in samples])
        panel.set_ylim(bottom=0)
        panel.set_ylabel(name)
        panel.grid(alpha=0.3)
    panel.set_xlabel("seconds")
    figure.savefig(path, dpi=100)


def soak(run: Iterable[int], path: Path) -> list[str]:
    """Sample a run to its end or to Ctrl-C, print and plot the samples, and return what grew."""
    began = printed = time.monotonic()
    samples = [sample(0, began)]
    print("  seconds            steps       memory  descriptors  threads  processes", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        for steps in run:
            samples.append(sample(steps, began))
            if time.monotonic() > printed + 10:
                printed = time.monotonic()
                print(LINE.format(*samples[-1]), flush=True)
    print(LINE.format(*samples[-1]))
    print(rate(samples[-1].steps / samples[-1].seconds), "with all checks, plotted in", path)
    plot(samples, path)
    return growth(samples)


MODES = {
    "native": (native, 10**10),
    "box2d": (functools.partial(native, ids=BOX2D_IDS, lanes=BOX2D_LANES), 10**7),
    "async": (asynchronous, 10**6),
}


def main(words: Sequence[str] | None = None) -> None:
    """Run the command line; the exit code is 1 after a wrong row or growth."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("mode", choices=MODES)
    parser.add_argument(
        "--steps", type=float, help="10^10 for native, 10^7 for box2d, 10^6 for async"
    )
    parser.add_argument("--plot", type=Path, help="a PNG file (default: soak_MODE.png)")
    arguments = parser.parse_args(words)
    run, steps = MODES[arguments.mode]
    path = arguments.plot or Path(f"soak_{arguments.mode}.png")
    if grown := soak(run(int(arguments.steps or steps)), path):
        raise SystemExit("\n".join(grown))


if __name__ == "__main__":
    main()
