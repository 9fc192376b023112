"""Hyperparameters of PPO, and their defaults for specific ids."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np

from gymcore.base.arguments import MAX_COUNT, positive
from gymcore.error import ArgumentTypeError, InvalidArgument
from gymcore.specs.env_spec import Kwargs


@dataclass(frozen=True)
class Settings:
    """Hyper-parameters. Each is also an option of `gymcore train`, such as `--num-envs`.

    Attributes:
        num_envs: Number of lanes.
        num_steps: Number of steps of each lane between updates.
        epochs: Number of passes over these steps per update.
        minibatch: Number of steps in a minibatch.
        learning_rate: Learning rate of Adam.
        anneal: Whether the learning rate decreases linearly, to 0 after `total_steps`.
        gamma: Discount factor, from 0 to 1.
        gae_lambda: Lambda of the advantage estimates, from 0 to 1; see `compute_advantages`.
        clip: Deviation of the probability ratio from 1 at which it is clipped.
        target_kl: KL divergence from the policy that acted, above which a minibatch ends the update
            early; infinity disables the limit.
        entropy: Weight of the policy's entropy in the loss.
        value: Weight of the squared error of the values in the loss.
        clip_value: Change of a value during an update at which it is clipped; infinity disables
            clipping.
        max_gradient: Maximum norm of a gradient; larger gradients are scaled down.
        hidden: Sizes of the hidden layers, at least one.
        normalize: Whether to divide observations and rewards by their running standard deviations.
        scale_actions: Whether continuous actions start with the center and half the range of their
            bounds as mean and standard deviation; 0 and 1 otherwise, as for unbounded actions.
        total_steps: Total number of steps, of all lanes together, after which training ends.
        target: Mean return of the last 100 episodes at which training ends early. Infinity means
            never; None means the target of the id in `DEFAULTS` or in the registry, if any.

    Examples:
        >>> settings = Settings(num_envs=64, total_steps=100_000)
        >>> settings.num_envs, settings.gamma
        (64, 0.99)
    """

    num_envs: int = 32
    num_steps: int = 64
    epochs: int = 10
    minibatch: int = 512
    learning_rate: float = 1e-3
    anneal: bool = False
    gamma: float = 0.99
    gae_lambda: float = 0.95
    clip: float = 0.2
    target_kl: float = math.inf
    entropy: float = 0.0
    value: float = 0.5
    clip_value: float = math.inf
    max_gradient: float = 0.5
    hidden: Sequence[int] = (64, 64)
    normalize: bool = True
    scale_actions: bool = True
    total_steps: int = 1_000_000
    target: float | None = None

    def __post_init__(self) -> None:
        """Check and convert the values.

        Raises:
            ArgumentTypeError: If a value has the wrong type.
            InvalidArgument: If a value is out of range.
        """
        checked: dict[str, object] = {}
        for name in ("num_envs", "num_steps", "epochs", "minibatch", "total_steps"):
            limit = None if name == "total_steps" else MAX_COUNT
            checked[name] = positive(name, getattr(self, name), limit)
        for name, (minimum, maximum) in _RANGES.items():
            checked[name] = _number(name, getattr(self, name), minimum, maximum)
        if self.target is not None:
            checked["target"] = _number("target", self.target, -math.inf, math.inf)
        if not isinstance(self.hidden, Iterable):
            raise ArgumentTypeError(f"hidden: expected a sequence of sizes, got {self.hidden!r}")
        checked["hidden"] = tuple(positive("hidden", size, 1 << 20) for size in self.hidden)
        if not checked["hidden"]:
            raise InvalidArgument("hidden: expected at least one layer, got none")
        for name in ("anneal", "normalize", "scale_actions"):
            value = getattr(self, name)
            if not isinstance(value, (bool, np.bool_)):
                raise ArgumentTypeError(f"{name}: expected a bool, got {value!r}")
            checked[name] = bool(value)
        for name, value in checked.items():
            object.__setattr__(self, name, value)


# Minimum and maximum of the settings that are not counts.
_RANGES = {
    "learning_rate": (1e-9, sys.float_info.max),
    "gamma": (0.0, 1.0),
    "gae_lambda": (0.0, 1.0),
    "clip": (1e-9, sys.float_info.max),
    "target_kl": (1e-9, math.inf),
    "entropy": (0.0, sys.float_info.max),
    "value": (0.0, sys.float_info.max),
    "clip_value": (1e-9, math.inf),
    "max_gradient": (1e-9, sys.float_info.max),
}


def _number(name: str, value: object, minimum: float, maximum: float) -> float:
    """Return a number as a float; raise errors as `gymcore.base.arguments.count` does."""
    if not isinstance(value, Real):
        raise ArgumentTypeError(f"{name}: expected a number, got {value!r} ({type(value)})")
    number = float(value)
    if not number >= minimum:  # or nan
        raise InvalidArgument(f"{name}: expected at least {minimum:g}, got {value!r}")
    if number > maximum:
        raise InvalidArgument(f"{name}: expected at most {maximum:g}, got {value!r}")
    return number


DEFAULTS: dict[str, Kwargs] = {
    # All rewards are 1 and observations are small, so normalization is unnecessary. Short rollouts
    # learn fastest; a small network with a high learning rate takes a third of the default's time.
    "CartPole-v1": {"num_steps": 32, "epochs": 5, "minibatch": 256, "learning_rate": 8e-3,
                    "gamma": 0.98, "gae_lambda": 0.9, "hidden": (32,), "normalize": False},
    # Random actions never reach the flag; many small updates let the policy drift until it does.
    "MountainCar-v0": {"num_steps": 16, "minibatch": 128, "epochs": 4, "gae_lambda": 0.98},
    # Rewards more than a second away do not matter for the current torque. All episodes last 200
    # steps: in shorter rollouts, all lanes are in the same phase, swinging up or at rest, and
    # the differences between actions at rest would be scaled up to those of the swing.
    "Pendulum-v1": {"num_steps": 200, "gamma": 0.9, "target": -200},
    # Landing is worth most, and comes hundreds of steps after the actions that make it possible.
    # The lander must rest for half a second, but firing on the ground costs little: with half the
    # learning rate or twice the entropy bonus, many policies fire there until the time limit.
    "LunarLander-v3": {"num_steps": 128, "minibatch": 1024, "learning_rate": 2e-3, "gamma": 0.999,
                       "gae_lambda": 0.98, "entropy": 0.005},
    # Few states have a reward: explore, and do not normalize one-hot observations.
    "FrozenLake-v1": {"entropy": 0.01, "normalize": False},
    # There is no time limit: without exploration, policies walk in circles and end no episode.
    "CliffWalking-v1": {"entropy": 0.1, "target": -20},
    "Blackjack-v1": {"normalize": False, "target": -0.1},
    # Few deliveries at first, and penalties for attempts: large batches, small steps, exploration.
    # With a smaller `gae_lambda`, two seeds of ten never deliver some passengers. The registry's
    # threshold, 8, is more than the best policy's mean return, 7.9.
    "Taxi-v4": {"num_envs": 64, "num_steps": 128, "epochs": 4, "minibatch": 1024,
                "learning_rate": 7e-4, "gae_lambda": 0.98, "entropy": 0.03, "target": 7},
    "MiniGrid-Empty-8x8-v0": {"target": 0.9},
    "MiniGrid-DoorKey-5x5-v0": {"target": 0.9},
    # Returns of single agents. Without a policy that looks at the landmarks, 100 episodes have at
    # most -20.9: agents that stay where they are. Episodes have 25 steps, and many agents at once
    # average out where landmarks lie.
    "mpe/simple_spread_v3": {"num_envs": 64, "num_steps": 25, "epochs": 4, "minibatch": 1200,
                             "learning_rate": 2e-3, "gamma": 0.95, "target": -17},
    # Episodes have 1,000 steps with rewards of at most 1. Constant and random actions have mean
    # returns of at most 76, 5 and 42. Gaits need smaller steps of the network than swinging up.
    "dm_control/cartpole-swingup-v0": {"num_steps": 128, "target": 700},
    "dm_control/cheetah-run-v0": {"num_steps": 128, "minibatch": 256, "learning_rate": 5e-4,
                                  "target": 300},
    "dm_control/walker-walk-v0": {"num_steps": 128, "minibatch": 256, "learning_rate": 5e-4,
                                  "target": 300},
}  # fmt: skip
"""Settings of specific ids that differ from `Settings` and the registry, and why."""
