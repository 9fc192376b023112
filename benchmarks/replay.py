"""Add to and draw from replay buffers, beside Stable-Baselines3 and cpprb.

    python benchmarks/replay.py [--cpprb /path/to/python] [--repeats 40] [--json FILE]

Each buffer holds a million CartPole transitions of 64 lanes, with random actions. Measured are: to
store a step of all lanes with the last observations of ended episodes, to draw 256 transitions,
and to draw 256 by priority and update their priorities. In Stable-Baselines3, which has no
priorities, the first is what its off-policy algorithms do (`_store_transition`), without the
normalization. cpprb may be installed for another interpreter. Each library has a process, and
waits while another one is timed. The results are ratios of the shortest times of a short run.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import time
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np

LANES, BATCH, CAPACITY, CALLS = 64, 256, 1_000_000, 500
LIBRARIES = ("gymcore", "sb3", "cpprb")
BARS = {"sb3": 10, "cpprb": 3}
Calls = dict[str, Callable[[], Any]]


def recorded() -> list[tuple[Any, ...]]:
    """Return steps of CartPole in same-step mode: arrays, and last observations."""
    import gymcore

    options = {"autoreset_mode": "SameStep"}
    envs = gymcore.make_vec("CartPole-v1", LANES, vector_kwargs=options)
    steps = []
    observations, _ = envs.reset(seed=1)
    for actions in np.random.default_rng(0).integers(0, 2, (100, LANES)):
        step = envs.step(actions)
        steps.append((observations, actions, *step))
        observations = step[0]
    return steps


def gymcore_calls(steps: list[tuple[Any, ...]]) -> Calls:
    """Return what is timed for gymcore."""
    import gymcore
    from gymcore.learn import ReplayBuffer

    options = {"autoreset_mode": "SameStep"}
    envs = gymcore.make_vec("CartPole-v1", LANES, vector_kwargs=options)
    calls: Calls = {}
    for name, prioritized in (("", False), (" by priority", True)):
        buffer = ReplayBuffer(envs, CAPACITY, prioritized=prioritized, seed=1)
        ring = itertools.cycle(steps)
        for _ in range(CAPACITY // LANES + LANES):
            buffer.add(*next(ring))
        calls[f"add{name}"] = lambda buffer=buffer, ring=ring: buffer.add(*next(ring))
        calls[f"draw{name}"] = lambda buffer=buffer: buffer.sample(BATCH)
    priorities = np.random.default_rng(1).random(BATCH)
    calls["draw and update"] = lambda: buffer.update_priorities(
        buffer.sample(BATCH).indices, priorities
    )
    return calls


def sb3_calls(steps: list[tuple[Any, ...]]) -> Calls:
    """Return what is timed for Stable-Baselines3."""
    import torch
    from gymnasium.spaces import Box, Discrete
    from stable_baselines3.common.buffers import ReplayBuffer

    torch.set_num_threads(1)
    buffer = ReplayBuffer(CAPACITY, Box(-1, 1, (4,)), Discrete(2), "cpu", n_envs=LANES)
    converted = []
    for observations, actions, after, rewards, terminated, truncated, infos in steps:
        dones = terminated | truncated
        dicts = [{"TimeLimit.truncated": bool(cut)} for cut in truncated & ~terminated]
        for lane in np.flatnonzero(dones):
            dicts[lane]["terminal_observation"] = infos["final_obs"][lane]
        converted.append((observations, after, actions, rewards, dones, dicts))
    ring = itertools.cycle(converted)

    def add() -> None:
        observations, after, actions, rewards, dones, infos = next(ring)
        after = deepcopy(after)
        for lane, done in enumerate(dones):
            if done and infos[lane].get("terminal_observation") is not None:
                after[lane] = infos[lane]["terminal_observation"]
        buffer.add(observations, after, actions, rewards, dones, infos)

    for _ in range(CAPACITY // LANES + 1):
        add()
    return {"add": add, "draw": lambda: buffer.sample(BATCH)}


def cpprb_calls(steps: list[tuple[Any, ...]]) -> Calls:
    """Return what is timed for cpprb."""
    from cpprb import PrioritizedReplayBuffer, ReplayBuffer

    fields = {"obs": {"shape": 4}, "act": {"dtype": np.int64}, "rew": {}, "next_obs": {"shape": 4}}
    calls: Calls = {}
    for name, cls in (("", ReplayBuffer), (" by priority", PrioritizedReplayBuffer)):
        buffer = cls(CAPACITY, {**fields, "done": {}})
        ring = itertools.cycle(steps)

        def add(buffer: Any = buffer, ring: Any = ring) -> None:
            observations, actions, after, rewards, terminated, finals = next(ring)
            if finals is not None:
                mask, last = finals
                after = np.where(mask, last, after)
            buffer.add(obs=observations, act=actions, rew=rewards, next_obs=after, done=terminated)

        for _ in range(CAPACITY // LANES + 1):
            add()
        calls[f"add{name}"] = add
        calls[f"draw{name}"] = lambda buffer=buffer: buffer.sample(BATCH)
    priorities = np.random.default_rng(1).random(BATCH)
    calls["draw and update"] = lambda: buffer.update_priorities(
        buffer.sample(BATCH)["indexes"], priorities
    )
    return calls


def worker(library: str, path: str) -> None:
    """Fill the buffers, and time the calls once for each line on the standard input."""
    if library == "cpprb":  # its interpreter may lack gymcore
        with np.load(path) as file:
            arrays = [file[name] for name in file.files]
        steps = []
        for row in zip(*arrays, strict=True):
            finals = (row[5][:, None], row[6]) if row[5].any() else None
            steps.append((*row[:5], finals))
        calls = cpprb_calls(steps)
    else:
        calls = {"gymcore": gymcore_calls, "sb3": sb3_calls}[library](recorded())
    print("ready", flush=True)
    for _ in sys.stdin:
        times = {}
        for name, call in calls.items():
            call()
            begin = time.perf_counter()
            for _ in range(CALLS):
                call()
            times[name] = (time.perf_counter() - begin) / CALLS
        print(json.dumps(times), flush=True)


def main() -> None:
    """Measure, and print a table with the ratios."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--cpprb", default=sys.executable, help="an interpreter that has cpprb")
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        worker(*args.worker)
        return
    import tempfile

    workers: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "steps.npz"))
        columns = []
        for observations, actions, after, rewards, terminated, truncated, infos in recorded():
            last = infos.get("final_obs", after)
            columns.append(
                (observations, actions, after, rewards, terminated, terminated | truncated, last)
            )
        np.savez(path, *map(np.array, zip(*columns, strict=True)))
        for library in LIBRARIES:
            python = args.cpprb if library == "cpprb" else sys.executable
            process = subprocess.Popen(
                [python, __file__, "--worker", library, path],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
            if process.stdout.readline() == "ready\n":
                workers[library] = process
            else:
                print(f"{library} is not measured: it is not installed for {python}")
        best: dict[str, dict[str, float]] = {library: {} for library in workers}
        for _ in range(args.repeats):
            for library, process in workers.items():
                process.stdin.write("\n")
                process.stdin.flush()
                for name, seconds in json.loads(process.stdout.readline()).items():
                    best[library][name] = min(seconds, best[library].get(name, seconds))
        for process in workers.values():
            process.stdin.close()
            process.wait()
    for name, seconds in best["gymcore"].items():
        line = f"{name:20} gymcore {seconds * 1e6:6.2f} us"
        for library, bar in BARS.items():
            if (other := best.get(library, {}).get(name)) is not None:
                ratio = other / seconds
                met = "met" if ratio >= bar else "not met"
                line += f"   {library} {other * 1e6:7.2f} us = {ratio:5.1f}x (bar {bar}x: {met})"
        print(line)
    if args.json:
        args.json.write_text(json.dumps(best))


if __name__ == "__main__":
    main()
