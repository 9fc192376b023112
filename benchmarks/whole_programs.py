"""What a whole training program gains: one PPO script in PyTorch, whose environments differ.

    python benchmarks/whole_programs.py --rounds 5 --json whole.json
    python benchmarks/whole_programs.py --draw whole.json docs/images/whole_programs.png

Each program trains a policy of two layers of 64 units with 64 CartPoles. They differ only in how
the environments are made. The processor time after the imports is measured, that of workers
included, because it depends less than the elapsed time on what else a machine does. Programs
alternate.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

NUM_ENVS, NUM_STEPS, GAMMA, GAE_LAMBDA = 64, 128, 0.99, 0.95
ROOT = Path(__file__).resolve().parents[1]


def python_class(gym: Any) -> Any:
    """Return CartPole as users write it: a class of `gym`, in Python without NumPy arithmetic."""
    import math

    import numpy as np

    class Cart(gym.Env):
        observation_space = gym.spaces.Box(-np.inf, np.inf, (4,), np.float32)
        action_space = gym.spaces.Discrete(2)

        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            self.steps, self.state = 0, self.np_random.uniform(-0.05, 0.05, 4).tolist()
            return np.array(self.state, np.float32), {}

        def step(self, action: Any) -> Any:
            x, v, angle, spin = self.state
            sine, cosine = math.sin(angle), math.cos(angle)
            push = ((10.0 if action == 1 else -10.0) + 0.05 * spin * spin * sine) / 1.1
            turn = (9.8 * sine - cosine * push) / (0.5 * (4 / 3 - 0.1 * cosine * cosine / 1.1))
            pull = push - 0.05 * turn * cosine / 1.1
            self.state = x, v, angle, spin = (
                x + 0.02 * v, v + 0.02 * pull, angle + 0.02 * spin, spin + 0.02 * turn
            )  # fmt: skip
            self.steps += 1
            lost = abs(x) > 2.4 or abs(angle) > 0.2095
            return np.array(self.state, np.float32), 1.0, lost, self.steps >= 500, {}

    return Cart


def gymnasium_sync() -> Any:
    """Make Gymnasium's CartPole in its SyncVectorEnv; with the alias, both are gymcore's."""
    import gymnasium

    mode = gymnasium.vector.AutoresetMode.SAME_STEP
    make = [lambda: gymnasium.make("CartPole-v1")] * NUM_ENVS
    return gymnasium.vector.SyncVectorEnv(make, autoreset_mode=mode)


def gymcore_native() -> Any:
    import gymcore

    options = {"autoreset_mode": "SameStep"}
    return gymcore.make_vec("CartPole-v1", num_envs=NUM_ENVS, vector_kwargs=options)


def gymnasium_python() -> Any:
    import gymnasium

    mode = gymnasium.vector.AutoresetMode.SAME_STEP
    make = [python_class(gymnasium)] * NUM_ENVS
    return gymnasium.vector.SyncVectorEnv(make, autoreset_mode=mode)


def gymnasium_workers() -> Any:
    import gymnasium

    mode = gymnasium.vector.AutoresetMode.SAME_STEP
    make = [python_class(gymnasium)] * NUM_ENVS
    return gymnasium.vector.AsyncVectorEnv(make, autoreset_mode=mode)


def gymcore_workers() -> Any:
    import gymcore

    make = [python_class(gymcore)] * NUM_ENVS
    return gymcore.vector.AsyncVectorEnv(make, autoreset_mode="SameStep")


def gymcore_jit() -> Any:
    os.environ["GYMCORE_JIT"] = "1"
    sys.path.insert(0, str(ROOT))
    from tests.jit.classes import CartPole

    return CartPole.vector_class(NUM_ENVS, max_episode_steps=500, autoreset_mode="SameStep")


# The environments, and whether the alias answers `import gymnasium`.
PROGRAMS: dict[str, tuple[Callable[[], Any], bool]] = {
    "CartPole: Gymnasium's SyncVectorEnv": (gymnasium_sync, False),
    "CartPole: the same program, with the alias": (gymnasium_sync, True),
    "CartPole: gymcore.make_vec": (gymcore_native, False),
    "a class in Python: Gymnasium's SyncVectorEnv": (gymnasium_python, False),
    "a class in Python: the same program, with the alias": (gymnasium_python, True),
    "a class in Python: Gymnasium's AsyncVectorEnv": (gymnasium_workers, False),
    "a class in Python: gymcore's AsyncVectorEnv": (gymcore_workers, False),
    "a class in Python: gymcore.jit": (gymcore_jit, False),
}


def train(envs: Any, total_steps: int, learn: bool) -> None:
    """Train with PPO; without `learn`, only step the environments with the policy."""
    import numpy as np
    import torch
    from torch import nn
    from torch.distributions import Categorical

    torch.manual_seed(1)
    torch.set_num_threads(1)

    def network(outputs: int) -> nn.Sequential:
        return nn.Sequential(
            nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs)
        )

    actor, critic = network(2), network(1)
    parameters = [*actor.parameters(), *critic.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=1e-3, eps=1e-5)
    stored = torch.zeros((NUM_STEPS, NUM_ENVS, 4))
    actions, log_probs, rewards, ends, values = torch.zeros((5, NUM_STEPS, NUM_ENVS))
    observations, _ = envs.reset(seed=1)
    for _ in range(max(1, total_steps // (NUM_STEPS * NUM_ENVS))):
        for t in range(NUM_STEPS):
            stored[t] = torch.as_tensor(observations)
            with torch.no_grad():
                policy = Categorical(logits=actor(stored[t]))
                action, values[t] = policy.sample(), critic(stored[t]).squeeze(-1)
            actions[t], log_probs[t] = action, policy.log_prob(action)
            observations, reward, terminated, truncated, _ = envs.step(action.numpy())
            rewards[t] = torch.as_tensor(reward)
            ends[t] = torch.as_tensor(np.logical_or(terminated, truncated))
        if not learn:
            continue
        with torch.no_grad():
            after, last = critic(torch.as_tensor(observations)).squeeze(-1), torch.zeros(NUM_ENVS)
        advantages = torch.zeros_like(rewards)
        for t in reversed(range(NUM_STEPS)):
            delta = rewards[t] + GAMMA * after * (1 - ends[t]) - values[t]
            advantages[t] = last = delta + GAMMA * GAE_LAMBDA * (1 - ends[t]) * last
            after = values[t]
        returns = advantages + values
        for rows in [b for _ in range(4) for b in torch.randperm(NUM_STEPS * NUM_ENVS).chunk(4)]:
            policy = Categorical(logits=actor(stored.flatten(0, 1)[rows]))
            ratio = (policy.log_prob(actions.flatten()[rows]) - log_probs.flatten()[rows]).exp()
            gain = advantages.flatten()[rows]
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            error = critic(stored.flatten(0, 1)[rows]).squeeze(-1) - returns.flatten()[rows]
            loss = -torch.min(gain * ratio, gain * ratio.clamp(0.8, 1.2)).mean()
            optimizer.zero_grad()
            (loss + 0.25 * error.square().mean() - 0.01 * policy.entropy().mean()).backward()
            nn.utils.clip_grad_norm_(parameters, 0.5)
            optimizer.step()


def used() -> float:
    """Return the processor seconds of this process and of those that it has waited for."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def run(name: str, total_steps: int, learn: bool) -> None:
    """Print the processor seconds of a program in this process."""
    import torch  # noqa: F401

    start = used()
    envs = PROGRAMS[name][0]()
    train(envs, total_steps, learn)
    envs.close()
    print(used() - start)


def processor_time(name: str, total_steps: int, learn: bool) -> float:
    """Return the processor seconds of a program in a new process."""
    alias = ["-m", "gymcore.alias"] if PROGRAMS[name][1] else []
    command = [sys.executable, *alias, __file__, "--program", name, "--total-steps"]
    command += [str(total_steps), *([] if learn else ["--no-learning"])]
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}
    printed = subprocess.run(
        command, env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    return float(printed.stdout)


def draw(measured: dict[str, Any], path: str) -> None:
    """Draw the processor time of each program for 100,000 steps."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    names = [*measured["seconds"]][::-1]
    scale = 100_000 / measured["steps"]
    seconds = [scale * statistics.median(measured["seconds"][name]) for name in names]
    figure = Figure(figsize=(5.4, 4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    ours = ["gymcore" in name or "alias" in name for name in names]
    labels = [name.replace(": ", ":\n") for name in names]
    bars = axes.barh(labels, seconds, color=["#2b6cb0" if each else "#a0aec0" for each in ours])
    axes.bar_label(bars, [f"{value:.1f} s" for value in seconds], padding=3)
    axes.set_xlim(0, 1.25 * max(seconds))
    axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle("The same PPO program in PyTorch, 64 environments", fontsize="medium")
    figure.supxlabel("processor time of 100,000 steps and their learning [s]", fontsize="medium")
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--total-steps", type=int, default=204_800)
    parser.add_argument("--no-learning", action="store_true", help="only act and step")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--draw", nargs=2, metavar=("JSON", "PNG"))
    parser.add_argument("--program", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.draw:
        draw(json.loads(Path(args.draw[0]).read_text()), args.draw[1])
        return
    if args.program:
        run(args.program, args.total_steps, not args.no_learning)
        return
    times: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    for _ in range(args.rounds):
        for name, measured in times.items():
            measured.append(processor_time(name, args.total_steps, not args.no_learning))
    medians = {name: statistics.median(measured) for name, measured in times.items()}
    print(
        f"{platform.processor() or platform.machine()}, {os.cpu_count()} CPUs, processor seconds:"
    )
    for name, median in medians.items():
        print(f"{median:8.2f}  {args.total_steps / median:10,.0f} steps/s  {name}")
    if args.json:
        document = {"steps": args.total_steps, "seconds": times}
        args.json.write_text(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
