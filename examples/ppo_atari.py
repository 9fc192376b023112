"""Proximal policy optimization from pixels with PyTorch, for Atari games.

    python examples/ppo_atari.py ALE/Pong-v5 --log runs/pong --checkpoint pong.pt
    python examples/ppo_atari.py ALE/Pong-v5 --checkpoint pong.pt --resume

The convolutional network is that of Mnih et al. (2015). Preprocessing and settings are those of
PPO2 in OpenAI's Baselines: those of Schulman et al. (2017), but with 4 epochs, a value coefficient
of 0.5, a constant clip range, and value clipping. Every tenth update prints a line. Scores are
those of whole games, without reward clipping.

One half of the lanes is stepped while the policy acts for the other half. PyTorch uses a GPU if
there is one, which reads frames of uint8 from the rollout's memory, computes convolutions with
bfloat16 and channels last, and other products with TF32. An H100 and 16 processors take 18.7
thousand steps/s of 128 games. docs/gpu.md explains these choices, and how to find out what a run
waits for. More lanes help a GPU:

    python examples/ppo_atari.py ALE/Pong-v5 --num-envs 64 --minibatches 8 --compile
"""

from __future__ import annotations

import argparse
import os
import time
from collections import deque
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

import gymcore as gym
from gymcore.learn import RolloutCollector


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("id", nargs="?", default="ALE/Pong-v5")
    parser.add_argument("--total-steps", type=int, default=10_000_000)
    parser.add_argument("--num-envs", type=int, default=8)
    parser.add_argument("--num-steps", type=int, default=128, help="of every lane, between updates")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--minibatches", type=int, default=4)
    parser.add_argument("--learning-rate", type=float, default=2.5e-4, help="decreases to 0")
    parser.add_argument("--gamma", type=float, default=0.99)
    parser.add_argument("--gae-lambda", type=float, default=0.95)
    parser.add_argument("--clip", type=float, default=0.1)
    parser.add_argument("--entropy", type=float, default=0.01)
    parser.add_argument("--value", type=float, default=0.5)
    parser.add_argument("--max-gradient", type=float, default=0.5)
    parser.add_argument(
        "--double-buffered",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="act for one half of the lanes while the other is stepped",
    )
    parser.add_argument(
        "--bfloat16",
        action=argparse.BooleanOptionalAction,
        default=torch.cuda.is_available(),
        help="for the convolutions, by default on a GPU",
    )
    parser.add_argument("--compile", action="store_true", help="compile the network: a minute once")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log", metavar="DIR", help="write TensorBoard events")
    parser.add_argument("--checkpoint", metavar="FILE", help="written every 100 updates")
    parser.add_argument("--resume", action="store_true", help="continue from the checkpoint")
    args = parser.parse_args()
    if args.resume and not args.checkpoint:
        parser.error("--resume needs --checkpoint")
    if args.double_buffered and args.num_envs % 2:
        parser.error("an odd --num-envs needs --no-double-buffered")
    return args


def layer(module: Any, gain: float = 2**0.5) -> Any:
    """Return a linear or convolutional layer with orthogonal weights."""
    nn.init.orthogonal_(module.weight, gain)
    nn.init.zeros_(module.bias)
    return module


def pin(array: np.ndarray) -> None:
    """Lock an array into memory, so that a GPU reads it while the program continues."""
    status = torch.cuda.cudart().cudaHostRegister(array.ctypes.data, array.nbytes, 0)
    if int(status):
        raise RuntimeError(f"cannot lock {array.nbytes} bytes for the GPU: {status}")


def on_device(array: np.ndarray, device: torch.device) -> torch.Tensor:
    """Return a copy on a GPU, or a view of the array on the CPU."""
    return torch.from_numpy(array).to(device, non_blocking=True)


class Agent(nn.Module):
    """The policy and the value function, which share a convolutional network."""

    def __init__(self, actions: int, device: torch.device, bfloat16: bool) -> None:
        """Make the network for frames uint8 [n, 4, 84, 84]."""
        super().__init__()
        self.body = nn.Sequential(
            layer(nn.Conv2d(4, 32, 8, 4)),
            nn.ReLU(),
            layer(nn.Conv2d(32, 64, 4, 2)),
            nn.ReLU(),
            layer(nn.Conv2d(64, 64, 3, 1)),
            nn.ReLU(),
            nn.Flatten(),
            layer(nn.Linear(3136, 512)),
            nn.ReLU(),
        )
        self.policy, self.value = layer(nn.Linear(512, actions), 0.01), layer(nn.Linear(512, 1), 1)
        self.device, self.bfloat16 = device, bfloat16
        self.layout = torch.channels_last if device.type == "cuda" else torch.contiguous_format
        self.to(device, memory_format=self.layout)

    def forward(self, frames: torch.Tensor) -> tuple[Categorical, torch.Tensor]:
        """Return the distribution of actions, and values [n]."""
        dtype = torch.bfloat16 if self.bfloat16 else torch.float32
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.bfloat16):
            hidden = self.body(frames.to(dtype, memory_format=self.layout) / 255)
        hidden = hidden.float()  # small differences of the outputs matter
        return Categorical(logits=self.policy(hidden)), self.value(hidden).squeeze(-1)

    @torch.no_grad()
    def act(self, frames: np.ndarray) -> tuple[Any, Any, Any]:
        """Return actions, log-probabilities and values; called by the collector."""
        distribution, values = self(on_device(frames, self.device))
        actions = distribution.sample()
        # The program waits for the GPU once, and not for each result.
        results = torch.stack([actions.float(), distribution.log_prob(actions), values]).cpu()
        return results[0].long(), results[1], results[2]


def learn(
    agent: Agent, optimizer: torch.optim.Optimizer, arrays: Any, args: Any
) -> dict[str, float]:
    """Update the agent with the minibatches of one rollout; return their mean metrics."""
    frames, actions, old_log_probs, old_values, advantages, returns = (
        on_device(array.reshape(-1, *array.shape[2:]), agent.device) for array in arrays
    )
    metrics: list[torch.Tensor] = []
    for _ in range(args.epochs):
        order = torch.randperm(len(actions), device=agent.device)
        for rows in order.chunk(args.minibatches):
            distribution, values = agent(frames[rows])
            log_ratio = distribution.log_prob(actions[rows]) - old_log_probs[rows]
            ratio = log_ratio.exp()
            gains = advantages[rows]
            gains = (gains - gains.mean()) / (gains.std() + 1e-8)
            clipped = ratio.clamp(1 - args.clip, 1 + args.clip)
            policy_loss = -torch.min(ratio * gains, clipped * gains).mean()
            near = old_values[rows] + (values - old_values[rows]).clamp(-args.clip, args.clip)
            errors = torch.max((values - returns[rows]) ** 2, (near - returns[rows]) ** 2)
            value_loss, entropy = 0.5 * errors.mean(), distribution.entropy().mean()
            optimizer.zero_grad()
            (policy_loss + args.value * value_loss - args.entropy * entropy).backward()
            nn.utils.clip_grad_norm_(agent.parameters(), args.max_gradient)
            optimizer.step()
            kl, clip_fraction = (ratio - 1 - log_ratio).mean(), (ratio != clipped).float().mean()
            metrics.append(
                torch.stack([policy_loss, value_loss, entropy, kl, clip_fraction]).detach()
            )
    names = ("policy_loss", "value_loss", "entropy", "kl", "clip_fraction")
    means = dict(zip(names, torch.stack(metrics).mean(dim=0).tolist(), strict=True))
    unexplained = (returns - old_values).var() / returns.var()
    return {**means, "explained_variance": 1 - float(unexplained)}


def save(path: str, **contents: Any) -> None:
    """Write a checkpoint; it replaces the previous one when it is complete."""
    torch.save(contents, f"{path}.part")
    os.replace(f"{path}.part", path)


def main() -> None:
    """Train, print and log."""
    args = arguments()
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if device.type == "cuda":
        torch.set_num_threads(1)  # more would poll for work on the processors that step the games
    envs = gym.make_vec(
        args.id,
        num_envs=args.num_envs,
        preset="envpool",
        repeat_action_probability=0.0,
        episodic_life=True,
        reward_clipping=True,
        vector_kwargs={"autoreset_mode": "SameStep"},
    )
    torch.set_float32_matmul_precision("high")  # TF32
    agent = Agent(int(envs.single_action_space.n), device, args.bfloat16)
    if args.compile:
        agent.body.compile()
    optimizer = torch.optim.Adam(
        agent.parameters(), args.learning_rate, eps=1e-5, fused=device.type == "cuda"
    )
    steps = 0
    if args.resume:
        stored = torch.load(args.checkpoint, map_location=device, weights_only=True)
        agent.load_state_dict(stored["agent"])
        optimizer.load_state_dict(stored["optimizer"])
        steps = stored["steps"]
    writer = None
    if args.log:
        from tensorboardX import SummaryWriter

        writer = SummaryWriter(args.log)
    print(f"{args.id} on {device}: {vars(args)}", flush=True)
    scores: deque[float] = deque(maxlen=100)

    def store_scores(infos: Any) -> None:
        if "final_info" in infos:
            final = infos["final_info"]
            scores.extend(final["game_return"][final["game_over"] > 0].tolist())

    collector = RolloutCollector(
        envs,
        agent.act,
        args.num_steps,
        double_buffered=args.double_buffered,
        seed=args.seed,
        on_infos=store_scores,
    )
    if device.type == "cuda":
        pin(collector.rollout.observations.base)
    size, updates, collecting = args.num_steps * args.num_envs, 0, 0.0
    first, start = steps, time.perf_counter()
    while steps < args.total_steps:
        optimizer.param_groups[0]["lr"] = args.learning_rate * (1 - steps / args.total_steps)
        collecting -= time.perf_counter()
        rollout = collector.collect()
        collecting += time.perf_counter()
        advantages, returns = collector.advantages(args.gamma, args.gae_lambda)
        arrays = (
            rollout.observations, rollout.actions, rollout.log_probs, rollout.values, advantages,
            returns,
        )  # fmt: skip
        metrics = learn(agent, optimizer, arrays, args)
        steps, updates = steps + size, updates + 1
        last, seconds = steps >= args.total_steps, time.perf_counter() - start
        metrics["steps_per_second"] = (steps - first) / seconds
        metrics["collection_share"] = collecting / seconds
        if scores:
            metrics["score"] = float(np.mean(scores))
        if writer is not None:
            for name, value in metrics.items():
                writer.add_scalar(name, value, steps)
        if updates % 10 == 0 or last:
            shown = ", ".join(f"{name} {value:.4g}" for name, value in metrics.items())
            print(f"{steps:,} steps: {shown}", flush=True)
        if args.checkpoint and (updates % 100 == 0 or last):
            save(
                args.checkpoint,
                agent=agent.state_dict(),
                optimizer=optimizer.state_dict(),
                steps=steps,
            )
    envs.close()
    if writer is not None:
        writer.close()


if __name__ == "__main__":
    main()
