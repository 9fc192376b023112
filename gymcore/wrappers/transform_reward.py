"""Wrappers that change rewards: `TransformReward` and `ClipReward`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import SupportsFloat

import numpy as np

from gymcore.base.record_constructor import RecordConstructorArgs
from gymcore.core import ActType, Env, ObsType, RewardWrapper
from gymcore.error import ArgumentTypeError, InvalidBound
from gymcore.wrappers.utils import Array, clip

__all__ = ["ClipReward", "TransformReward"]


class TransformReward(RewardWrapper[ObsType, ActType], RecordConstructorArgs):
    """Apply a function to the rewards.

    Examples:
        >>> import gymcore
        >>> from gymcore.wrappers import TransformReward
        >>> env = TransformReward(gymcore.make("CartPole-v1"), lambda reward: 2 * reward + 1)
        >>> observation, info = env.reset(seed=1)
        >>> env.step(0)[1]
        3.0
    """

    def __init__(
        self, env: Env[ObsType, ActType], func: Callable[[SupportsFloat], SupportsFloat]
    ) -> None:
        """Wrap `env`.

        Args:
            env: The environment.
            func: Function that maps a reward to the new reward.

        Raises:
            ArgumentTypeError: If `env` is not an `Env`, or `func` cannot be called.
        """
        if not callable(func):
            raise ArgumentTypeError(f"Expected func to be a function of rewards, got {type(func)}")
        RewardWrapper.__init__(self, env)
        self.func = func

    def reward(self, reward: SupportsFloat) -> SupportsFloat:
        """Return the changed reward."""
        return self.func(reward)


class ClipReward(TransformReward[ObsType, ActType]):
    """Clip rewards to an interval. A NaN stays a NaN.

    Examples:
        >>> import gymcore
        >>> from gymcore.wrappers import ClipReward
        >>> env = ClipReward(gymcore.make("CartPole-v1"), 0, 0.5)
        >>> observation, info = env.reset(seed=1)
        >>> env.step(0)[1]
        np.float64(0.5)
    """

    def __init__(
        self,
        env: Env[ObsType, ActType],
        min_reward: float | Array | None = None,
        max_reward: float | Array | None = None,
    ) -> None:
        """Wrap `env`.

        Args:
            env: The environment.
            min_reward: Lower bound of the rewards; None for no lower bound.
            max_reward: Upper bound of the rewards; None for no upper bound.

        Raises:
            ArgumentTypeError: If a bound is neither a number nor an array of numbers.
            InvalidBound: If both are None, one is NaN, or the lower one is above the upper one.
        """
        if min_reward is None and max_reward is None:
            raise InvalidBound("Both `min_reward` and `max_reward` cannot be None")
        for name, bound in (("min_reward", min_reward), ("max_reward", max_reward)):
            if bound is None:
                continue
            if np.asarray(bound).dtype.kind not in "iufb":
                raise ArgumentTypeError(f"Expected {name} to be a number, got {bound!r}")
            if np.isnan(bound).any():
                raise InvalidBound(f"Expected {name} to be a number, got {bound}")
        if min_reward is not None and max_reward is not None and np.any(min_reward > max_reward):
            raise InvalidBound(
                f"Min reward ({min_reward}) must be smaller than max reward ({max_reward})"
            )
        TransformReward.__init__(self, env, functools.partial(clip, min_reward, max_reward))
