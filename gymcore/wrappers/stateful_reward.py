"""Wrappers that scale rewards by statistics of earlier rewards."""

from __future__ import annotations

import math
from typing import Any, SupportsFloat, cast

import numpy as np
import numpy.typing as npt

from gymcore.base.record_constructor import RecordConstructorArgs
from gymcore.core import ActType, Env, Info, ObsType, Wrapper
from gymcore.error import ArgumentTypeError, InvalidArgument, InvalidBound
from gymcore.wrappers.utils import KeepsStatistics, RunningMeanStd

__all__ = ["NormalizeReward"]


class NormalizesRewards(KeepsStatistics):
    """A mixin with the parts of `NormalizeReward` shared by single and vector environments."""

    _statistics_name = "return_rms"
    return_rms: RunningMeanStd
    gamma: float

    def _begin_normalizing(self, gamma: float, epsilon: float) -> None:
        """Check `gamma` and initialize the statistics of the discounted returns."""
        if not isinstance(gamma, (int, float, np.number)):
            raise ArgumentTypeError(f"gamma: expected a number, got {type(gamma)}")
        if not 0 <= gamma <= 1:
            raise InvalidBound(f"`gamma` should be in the interval [0, 1]. Received {gamma}")
        self._begin_statistics(epsilon)
        self.gamma = gamma


class NormalizeReward(
    NormalizesRewards, Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs
):
    """Divide rewards by the standard deviation of their discounted sum.

    The sum covers all rewards so far, discounted by `gamma` per step. A termination resets it
    (after the reward of that step); a truncation or a reset does not. Gymnasium 1.4 does the same.

    Attributes:
        return_rms: The statistics of the sums, a `RunningMeanStd`.
        discounted_reward: Discounted sum, float64 [1].
        update_running_mean: Whether the sums update the statistics.

    Examples:
        >>> import gymcore
        >>> env = NormalizeReward(gymcore.make("CartPole-v1"))
        >>> observation, info = env.reset(seed=1)
        >>> rewards = [env.step(action)[1] for action in (0, 1, 0, 1)]
        >>> [round(float(reward), 2) for reward in rewards]
        [70.71, 2.02, 1.24, 0.91]
    """

    def __init__(
        self, env: Env[ObsType, ActType], gamma: float = 0.99, epsilon: float = 1e-8
    ) -> None:
        """Wrap `env`.

        Args:
            env: The environment.
            gamma: Discount factor, from 0 to 1.
            epsilon: Positive number that is added to the variance.

        Raises:
            InvalidBound: If `gamma` is not in [0, 1], or `epsilon` is not positive.
        """
        Wrapper.__init__(self, env)
        self._begin_normalizing(gamma, epsilon)
        self.discounted_reward: npt.NDArray[np.float64] = np.array([0.0])

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, Info]:
        """Step the environment, and return the scaled reward as a float64."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        previous = float(self.discounted_reward[0]) * self.gamma * (1 - terminated)
        try:
            discounted = previous + float(reward)
        except (TypeError, ValueError):
            raise InvalidArgument(f"reward: expected a number, got {reward!r:.80}") from None
        self.discounted_reward = np.array([discounted])
        if self.update_running_mean:
            # The variance of a single number: 0, or NaN if the number is not finite.
            self.return_rms.update_from_moments(discounted, discounted - discounted, 1)
        deviation = math.sqrt(self.return_rms.var + self.epsilon)
        scaled = cast("Any", reward) / np.float64(deviation)
        return observation, scaled, terminated, truncated, info
