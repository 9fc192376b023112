"""Measure the PPO of `gymcore train`: the environments it solves, its rate, and both against SB3.

    python benchmarks/learning.py
    python benchmarks/learning.py sb3 --python VENV/bin/python --plot docs/learning_cartpole.png

Every training runs in a separate process, one after another, with one thread for matrix products.
All times except `seconds` are processor times, which are meaningful on a busy machine.
With Stable-Baselines3's hyperparameters (its defaults: 2,048 steps of one lane, minibatches of 64,
10 epochs), both libraries train on CartPole for 50,000 steps with each seed. The mean returns of
the last 20 episodes are compared after each tenth of the steps. VENV has stable-baselines3
installed. `ids` trains with each kernel of OpenBLAS that `--kernels` names, such as
Haswell,SkylakeX,Prescott: it selects one for the processor, and they round sums differently.
`options` prints rows of docs/learn.md: mean returns of the last 100 episodes, the number of seeds
that reached the goal, their median steps, and processor time.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from gymcore.cli.formats import table  # noqa: E402
from gymcore.learn import PPO  # noqa: E402

STEPS, POINTS = 50_000, 50  # of the comparison; points of a curve
PARTS = ("seconds", "rate", "ids", "options", "sb3")
SB3 = {
    "num_steps": 2048, "minibatch": 64, "epochs": 10, "learning_rate": 3e-4, "gamma": 0.99,
    "gae_lambda": 0.95, "clip": 0.2, "entropy": 0.0, "hidden": (64, 64), "normalize": False,
}  # fmt: skip

IDS = (
    "CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Acrobot-v1", "Pendulum-v1",
    "LunarLander-v3", "FrozenLake-v1", "CliffWalking-v1", "Taxi-v4", "Blackjack-v1",
    "MiniGrid-Empty-8x8-v0", "MiniGrid-DoorKey-5x5-v0", "mpe/simple_spread_v3",
)  # fmt: skip
# Options compared with the default settings, on these environments with the same steps.
OPTIONS: dict[str, dict[str, Any]] = {
    "default": {}, "anneal": {"anneal": True}, "target_kl=0.02": {"target_kl": 0.02},
    "clip_value=0.2": {"clip_value": 0.2},
    "all three": {"anneal": True, "target_kl": 0.02, "clip_value": 0.2},
}  # fmt: skip
OPTIONS_STEPS = {"CartPole-v1": 100_000, "Acrobot-v1": 60_000}
THREADS = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
ENVIRON = {**os.environ, **THREADS, "PYTHONPATH": str(ROOT)}

# Prints the processor time of training, the steps, and the steps and return of every episode.
OURS = """
import json, sys, time
from gymcore.learn import PPO
given = json.loads(sys.argv[1])
ppo = PPO(given.pop("id", "CartPole-v1"), total_steps=given.pop("steps"), **given)
episodes = []
def note(ppo, metrics):
    before = ppo.steps - ppo.settings.num_envs * ppo.settings.num_steps
    episodes.extend((before, each) for each in ppo._collector.episode_returns)
start = time.process_time()
ppo.train(note, target=float("inf"))
print(json.dumps([time.process_time() - start, ppo.steps, episodes]))
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
start = time.process_time()
ppo.learn(given["steps"], callback=Note())
print(json.dumps([time.process_time() - start, ppo.num_timesteps, episodes]))
"""


def run(python: str, program: str, request: dict[str, Any]) -> Any:
    """Run a program and return its printed result."""
    done = subprocess.run(
        [python, "-W", "ignore", "-c", program, json.dumps(request)],
        check=True, stdout=subprocess.PIPE, text=True, env=ENVIRON,
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def target(env_id: str) -> float:
    """Return the mean return of 100 episodes at which training of an id ends by default."""
    ppo = PPO(env_id, num_envs=1)
    ppo.close()
    return float(ppo.settings.target)


def train(env_id: str, seed: int, kernel: str = "") -> tuple[bool, float, float, int]:
    """Run `gymcore train`; return whether it reached the goal, the mean return, seconds and steps.

    The seconds are processor time, including start-up and checkpoint.
    """
    with tempfile.TemporaryDirectory() as folder:
        options = [f"--seed={seed}", f"--out={folder}/a.npz"]
        before = os.times()
        done = subprocess.run(
            [sys.executable, "-m", "gymcore", "train", env_id, *options, "--no-progress"],
            check=True, stdout=subprocess.PIPE, text=True,
            env={**ENVIRON, **({"OPENBLAS_CORETYPE": kernel} if kernel else {})},
        )  # fmt: skip
        after = os.times()
    seconds = sum(after[2:4]) - sum(before[2:4])
    match = re.search(r": ([\d,]+) steps,(?s:.*) mean (\S+) of", done.stdout)
    assert match is not None, done.stdout
    steps, mean = match.groups()
    return "(reached)" in done.stdout, float(mean), seconds, int(steps.replace(",", ""))


def curve(episodes: list[tuple[int, float]]) -> list[float]:
    """Return the mean return of the last 20 episodes after each fiftieth of the steps."""
    points = []
    for at in STEPS / POINTS * np.arange(1, POINTS + 1):
        returns = [each for step, each in episodes if step <= at]
        points.append(statistics.mean(returns[-20:]) if returns else 0.0)
    return points


def compare_options(env_id: str, seeds: range) -> Iterator[list[str]]:
    """Yield a row per option: final returns, seeds and steps that reach the goal, and seconds."""
    goal = target(env_id)
    for option, settings in OPTIONS.items():
        ends, firsts, seconds = [], [], []
        for seed in seeds:
            request = {"id": env_id, "seed": seed, "steps": OPTIONS_STEPS[env_id], **settings}
            duration, steps, episodes = run(sys.executable, OURS, request)
            seconds.append(duration)
            returns = np.array([each for _, each in episodes])
            means = np.convolve(returns, np.full(100, 0.01), "valid")
            solved = np.flatnonzero(means >= goal)
            ends.append(means[-1])
            firsts.append(episodes[solved[0] + 99][0] if len(solved) else steps + 1)
        reached = sum(first <= OPTIONS_STEPS[env_id] for first in firsts)
        yield [
            env_id, option, f"{np.mean(ends):.4g} ({min(ends):.4g} to {max(ends):.4g})",
            f"{reached} of {len(seeds)}",
            f"{statistics.median(firsts):,.0f}" if 2 * reached > len(seeds) else "",
            f"{statistics.median(seconds):.0f} s",
        ]  # fmt: skip


def against_sb3(
    python: str, num_envs: int, seeds: range
) -> tuple[float, list[list[float]], list[list[float]]]:
    """Return the median ratio of gymcore's rate to SB3's, and the curves of both."""
    ratios, ours, theirs = [], [], []
    for seed in seeds:
        request = {"seed": seed, "num_envs": num_envs, "steps": STEPS}
        seconds, steps, episodes = run(sys.executable, OURS, {**request, **SB3})
        their_seconds, their_steps, their_episodes = run(python, THEIRS, request)
        rate, their_rate = steps / seconds, their_steps / their_seconds
        ratios.append(rate / their_rate)
        print(f"seed {seed}: {rate:.0f} against {their_rate:.0f} steps/s", flush=True)
        ours.append(curve(episodes))
        theirs.append(curve(their_episodes))
    return statistics.median(ratios), ours, theirs


def draw(path: Path, ours: list[list[float]], theirs: list[list[float]]) -> None:
    """Plot the learning curves of both libraries to a file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2, 3), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    steps = STEPS / POINTS * np.arange(1, POINTS + 1) / 1000
    for label, curves, style in (("gymcore", ours, "C0-"), ("Stable-Baselines3", theirs, "C1--")):
        lines = axes.plot(steps, np.transpose(curves), style, lw=1)
        lines[0].set_label(f"{label}, {len(curves)} seeds")
    axes.set(xlabel="thousand steps", ylabel="mean return of 20 episodes", ylim=(0, 520))
    axes.legend(loc="lower right", frameon=False)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, pil_kwargs={"optimize": True})


def main() -> int:
    """Measure and print the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"what to measure: {', '.join(PARTS)} [all]"
    )
    parser.add_argument("--seeds", type=int, default=5, help="trainings of each kind [5]")
    parser.add_argument(
        "--kernels", default="", metavar="NAME,...", help="OpenBLAS kernels of `ids` [the CPU's]"
    )
    parser.add_argument("--python", metavar="PATH", help="interpreter with stable-baselines3")
    parser.add_argument("--num-envs", type=int, default=1, help="lanes of the comparison [1]")
    parser.add_argument("--plot", type=Path, metavar="PNG", help="draw the curves of `sb3`")
    arguments = parser.parse_args()
    parts = arguments.parts or PARTS
    if not set(parts) <= set(PARTS):
        parser.error(f"PART: expected one of {', '.join(PARTS)}, got {' '.join(parts)}")
    kernels, rows, seeds = arguments.kernels.split(","), [], range(1, arguments.seeds + 1)
    if "seconds" in parts:
        solved = []
        for seed in seeds:
            start = time.perf_counter()
            reached, *_ = train("CartPole-v1", seed)
            solved.append(f"{time.perf_counter() - start:.2f}" if reached else "not reached")
        rows.append(["gymcore train CartPole-v1", "each < 3 s", ", ".join(solved)])
    if "rate" in parts:
        settings = {"num_envs": 64, "num_steps": 128, "epochs": 4, "minibatch": 2048}
        request = {"seed": 1, "steps": 200_000, "hidden": (64, 64), **settings}
        results = [run(sys.executable, OURS, request) for _ in range(3)]
        shown = f"{max(steps / seconds for seconds, steps, _ in results):,.0f} steps/s"
        rows.append(["T=128, N=64, 4 x 4 updates, one thread, best of 3", ">= 40,000", shown])
    if "ids" in parts:
        for env_id in IDS:
            goal = target(env_id)
            results = [train(env_id, seed, kernel) for kernel in kernels for seed in seeds]
            reached = sum(each[0] for each in results)
            _, means, seconds, steps = zip(*results, strict=True)
            shown = f"mean {min(means):.4g} to {max(means):.4g}, {min(seconds):.0f} to "
            shown += f"{max(seconds):.0f} s, {min(steps):,} to {max(steps):,} steps"
            rows.append(
                [
                    f"gymcore train {env_id}, to {goal:g}",
                    "all",
                    f"{reached} of {len(results)}: {shown}",
                ]
            )
            print(*rows[-1], flush=True)
    if "options" in parts:
        for env_id in OPTIONS_STEPS:
            for row in compare_options(env_id, seeds):
                print("|", " | ".join(row), "|", flush=True)
    if "sb3" in parts and arguments.python is not None:
        ratio, ours, theirs = against_sb3(arguments.python, arguments.num_envs, seeds)
        rows.append(["SB3's hyper-parameters / SB3", ">= 3x", f"{ratio:.2f}x"])
        tenths = np.array([ours, theirs])[:, :, POINTS // 10 - 1 :: POINTS // 10]
        overlap = (tenths.min(axis=1).max(axis=0) <= tenths.max(axis=1).min(axis=0)).sum()
        rows.append(["curves overlap, at every tenth", "10 of 10", f"{overlap}"])
        if arguments.plot is not None:
            draw(arguments.plot, ours, theirs)
    print(table(rows, ["learning", "bar", "measured"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
