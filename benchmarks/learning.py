"""Measure the PPO of `gymcore train`: seconds to solve CartPole, steps a second, and against SB3.

    python benchmarks/learning.py
    python benchmarks/learning.py --python /path/to/venv/bin/python    # one with stable-baselines3

Every training is a process of its own, one after another; all but `gymcore train` itself have one
thread for matrix products. With Stable-Baselines3's hyper-parameters (its defaults: 2,048 steps of
one lane, minibatches of 64, 10 epochs) both libraries learn CartPole for 50,000 steps from five
seeds; the mean returns of the last 20 episodes are compared at every tenth of the way.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from gymcore.cli.common import table  # noqa: E402

SEEDS = range(1, 6)
STEPS = 50_000
SB3 = {
    "num_steps": 2048, "minibatch": 64, "epochs": 10, "learning_rate": 3e-4, "gamma": 0.99,
    "gae_lambda": 0.95, "clip": 0.2, "entropy": 0.0, "normalize": False,
}  # fmt: skip

# Prints the seconds of training, and steps and return at the end of every episode.
OURS = """
import json, sys, time
from gymcore.learn import PPO
given = json.loads(sys.argv[1])
steps, seed = given.pop("steps"), given.pop("seed")
ppo = PPO("CartPole-v1", seed=seed, **given)
episodes = []
start = time.perf_counter()
while ppo.steps < steps:
    before = ppo.steps
    ppo.update()
    episodes += [(before, each) for each in ppo._collector.episode_returns]
print(json.dumps([time.perf_counter() - start, ppo.steps, episodes]))
"""
THEIRS = """
import json, sys, time
import gymnasium, torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.monitor import Monitor
given = json.loads(sys.argv[1])
torch.set_num_threads(1)
episodes = []
class Note(BaseCallback):
    def _on_step(self):
        for info in self.locals["infos"]:
            if "episode" in info:
                episodes.append((self.num_timesteps, float(info["episode"]["r"])))
        return True
from stable_baselines3.common.env_util import make_vec_env
envs = make_vec_env("CartPole-v1", n_envs=given["num_envs"])
ppo = PPO("MlpPolicy", envs, seed=given["seed"], device="cpu")
start = time.perf_counter()
ppo.learn(given["steps"], callback=Note())
print(json.dumps([time.perf_counter() - start, ppo.num_timesteps, episodes]))
"""


def run(python: str, program: str, given: dict[str, Any]) -> Any:
    """Return what a program prints, run with one thread."""
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    done = subprocess.run(
        [python, "-W", "ignore", "-c", program, json.dumps(given)],
        check=True, stdout=subprocess.PIPE, text=True,
        env={**os.environ, **threads, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def seconds_to_solve(seed: int) -> float:
    """Return the wall time of `gymcore train CartPole-v1`, start and checkpoint included."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["train", "CartPole-v1", "--seed", str(seed), "--out", f"{folder}/a.npz"]
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "gymcore", *words, "--no-progress"],
            check=True, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        seconds = time.perf_counter() - start
    if "target 475 (reached)" not in done.stdout:
        raise RuntimeError(f"seed {seed}: {done.stdout}")
    return seconds


def curve(episodes: list[tuple[int, float]]) -> list[float]:
    """Return the mean return of the last 20 episodes at every tenth of the way."""
    points = []
    for tenth in range(1, 11):
        returns = [each for at, each in episodes if at <= tenth * STEPS / 10]
        points.append(statistics.mean(returns[-20:]) if returns else 0.0)
    return points


def against_sb3(python: str, num_envs: int) -> tuple[float, list[list[float]], list[list[float]]]:
    """Return how many times our rate is theirs, seed by seed, and the curves of both."""
    ratios, ours, theirs = [], [], []
    for seed in SEEDS:
        given = {"seed": seed, "num_envs": num_envs, "steps": STEPS}
        seconds, steps, episodes = run(sys.executable, OURS, {**given, **SB3})
        their_seconds, their_steps, their_episodes = run(python, THEIRS, given)
        ratios.append(steps / seconds / (their_steps / their_seconds))
        print(
            f"seed {seed}: {steps / seconds:.0f} against {their_steps / their_seconds:.0f} steps/s"
        )
        ours.append(curve(episodes))
        theirs.append(curve(their_episodes))
    return statistics.median(ratios), ours, theirs


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure learning.")
    parser.add_argument("--python", metavar="PATH", help="interpreter with stable-baselines3")
    parser.add_argument("--num-envs", type=int, default=1, help="lanes of the comparison [1]")
    arguments = parser.parse_args()
    rows = []
    solved = [seconds_to_solve(seed) for seed in SEEDS]
    shown = ", ".join(f"{each:.2f}" for each in solved)
    rows.append(["gymcore train CartPole-v1, five seeds", "each < 10 s", shown])
    settings = {"num_envs": 64, "num_steps": 128, "epochs": 4, "minibatch": 2048}
    given = {"seed": 1, "steps": 400_000, **settings}
    rates = [
        steps / seconds
        for seconds, steps, _ in (run(sys.executable, OURS, given) for _ in range(3))
    ]
    shown = f"{statistics.median(rates):.0f} steps/s"
    rows.append(["T=128, N=64, 4 x 4 updates, one thread", ">= 40,000 steps/s", shown])
    if arguments.python is not None:
        ratio, ours, theirs = against_sb3(arguments.python, arguments.num_envs)
        rows.append(["SB3's hyper-parameters / SB3", ">= 3x", f"{ratio:.2f}x"])
        overlaps = [
            max(min(a), min(b)) <= min(max(a), max(b))
            for a, b in zip(zip(*ours, strict=True), zip(*theirs, strict=True), strict=True)
        ]
        rows.append(
            ["learning curves of five seeds overlap", "all of the way", f"{sum(overlaps)}/10"]
        )
        for title, curves in (("gymcore", ours), ("SB3", theirs)):
            for points in curves:
                print(f"{title:<8}", " ".join(f"{point:6.1f}" for point in points))
    print(table(rows, ["learning", "bar", "measured"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
