"""Observations and rewards of an environment, normalised by running statistics."""

from __future__ import annotations

import math
from typing import Any, SupportsFloat

import numpy as np
import numpy.typing as npt

from gymcore.core import ActType, Env, ObservationWrapper, ObsType, Wrapper, WrapperObsType
from gymcore.error import InvalidArgument
from gymcore.spaces import Box
from gymcore.utils import RecordConstructorArgs
from gymcore.wrappers.keeps_statistics import KeepsStatistics, check_epsilon, check_gamma
from gymcore.wrappers.legacy_calls import HandsOver
from gymcore.wrappers.running_mean_std import RunningMeanStd
from gymcore_ext.wrappers.running_stats import ColumnStats

__all__ = ["NormalizeObservation", "NormalizeReward"]


class NormalizeObservation(
    KeepsStatistics,
    ObservationWrapper[WrapperObsType, ActType, ObsType],
    RecordConstructorArgs,
    HandsOver,
):
    """Shift and scale observations to mean 0 and variance 1, over all that have been seen.

    Each observation, also the first and the last of an episode, enters the statistics once and is
    then normalised by them: `(observation - mean) / sqrt(var + epsilon)`, float32.

    Gym 0.26: given a vector environment, this makes
    `gymcore.wrappers.legacy.NormalizeObservation`, with float64 statistics and observations.

    Attributes:
        obs_rms: The statistics, a `RunningMeanStd`: float32, or float64 if observations are
            float64 or integers.
        epsilon: Added to the variance.
        update_running_mean: Whether observations enter the statistics.

    Example:
        >>> import gymcore
        >>> env = NormalizeObservation(gymcore.make("CartPole-v1"))
        >>> observation, info = env.reset(seed=1)
        >>> env.update_running_mean = False  # from here on they are only used
        >>> saved = env.get_statistics()
        >>> other = NormalizeObservation(gymcore.make("CartPole-v1"))
        >>> other.set_statistics(saved)
        >>> other.obs_rms.count
        1.0001
    """

    _statistics_name = "obs_rms"

    def __init__(self, env: Env[ObsType, ActType], epsilon: float = 1e-8) -> None:
        """Wrap `env`.

        Args:
            env: The environment, of any observation space with a shape.
            epsilon: Added to the variance; more than 0.

        Raises:
            InvalidArgument: The observation space has no shape (a `ValueError`).
            InvalidBound: `epsilon` is not positive (a `ValueError`).
        """
        RecordConstructorArgs.__init__(self, epsilon=epsilon)
        ObservationWrapper.__init__(self, env)
        shape = env.observation_space.shape
        if shape is None:
            raise InvalidArgument(
                "NormalizeObservation wrapper requires the observation space to have a shape."
            )
        check_epsilon(epsilon)
        space: Any = Box(-np.inf, np.inf, shape, np.float32)
        self.observation_space = space
        self.obs_rms = RunningMeanStd(shape=shape, dtype=np.float32)
        self.epsilon = epsilon
        self._columns = ColumnStats(0, shape)

    def observation(self, observation: ObsType) -> WrapperObsType:
        """Add an observation to the statistics, and return it normalised.

        Args:
            observation: What the environment returned; not changed.

        Returns:
            float32, of the same shape; the caller may keep it.
        """
        result: Any = normalize(self, observation, self._columns, 0)
        return result


def normalize(
    wrapper: Any, observations: Any, columns: ColumnStats, batch: int
) -> npt.NDArray[np.float32]:
    """Update a wrapper's `obs_rms`, unless that is frozen, and return normalised observations.

    Args:
        wrapper: Has `obs_rms`, `epsilon` and `_update_running_mean`.
        observations: One observation, or a batch of them.
        columns: For these.
        batch: The number of axes of a batch, 0 or 1.
    """
    statistics, update = wrapper.obs_rms, wrapper._update_running_mean
    if type(statistics) is RunningMeanStd:
        found = columns.normalize(
            observations,
            statistics.mean,
            statistics.var,
            statistics.count,
            wrapper.epsilon,
            update,
        )
        if found is not None:
            if update:
                result, statistics.mean, statistics.var = found
                statistics.count += len(result) if batch else 1
                return result
            return found[0]
    observations = np.asarray(observations)
    if update:
        statistics.update(observations if batch else observations[None])
    deviation = np.sqrt(statistics.var + wrapper.epsilon)
    return np.float32((observations - statistics.mean) / deviation)


class NormalizeReward(
    KeepsStatistics, Wrapper[ObsType, ActType, ObsType, ActType], RecordConstructorArgs, HandsOver
):
    """Divide rewards by the deviation of their discounted sum.

    The sum is over rewards so far, discounted by `gamma` a step; a termination ends it (with the
    reward of that step in it), a truncation or a reset does not. This is what Gymnasium 1.4 does.

    Gym 0.26: given a vector environment, this makes `gymcore.wrappers.legacy.NormalizeReward`,
    whose sums end with any episode.

    Attributes:
        return_rms: The statistics of the sums, a `RunningMeanStd`.
        discounted_reward: The sum, float64 [1].
        gamma: The discount factor.
        epsilon: Added to the variance.
        update_running_mean: Whether the sums enter the statistics.

    Example:
        >>> import gymcore
        >>> env = NormalizeReward(gymcore.make("CartPole-v1"))
        >>> observation, info = env.reset(seed=1)
        >>> rewards = [env.step(action)[1] for action in (0, 1, 0, 1)]
        >>> [round(float(reward), 2) for reward in rewards]
        [70.71, 2.02, 1.24, 0.91]
    """

    _statistics_name = "return_rms"

    def __init__(
        self, env: Env[ObsType, ActType], gamma: float = 0.99, epsilon: float = 1e-8
    ) -> None:
        """Wrap `env`.

        Args:
            env: The environment.
            gamma: The discount factor, from 0 to 1.
            epsilon: Added to the variance; more than 0.

        Raises:
            InvalidBound: `gamma` is not in [0, 1], or `epsilon` not positive (a `ValueError`).
        """
        RecordConstructorArgs.__init__(self, gamma=gamma, epsilon=epsilon)
        Wrapper.__init__(self, env)
        check_gamma(gamma)
        check_epsilon(epsilon)
        self.return_rms = RunningMeanStd(shape=())
        self.discounted_reward: npt.NDArray[np.float64] = np.array([0.0])
        self.gamma = gamma
        self.epsilon = epsilon

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step the environment, and return the scaled reward, a float64."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        kept = float(self.discounted_reward[0]) * self.gamma * (1 - terminated)
        discounted = kept + float(reward)
        self.discounted_reward = np.array([discounted])
        if self._update_running_mean:
            add_one(self.return_rms, discounted)
        deviation = math.sqrt(self.return_rms.var + self.epsilon)
        scaled: Any = reward / np.float64(deviation)
        return observation, scaled, terminated, truncated, info


def add_one(statistics: RunningMeanStd, value: float) -> None:
    """Add one number to the statistics of numbers: `update` of an array of one, in plain floats."""
    if type(statistics) is not RunningMeanStd:
        statistics.update(np.array([value]))
        return
    mean, var, count = float(statistics.mean), float(statistics.var), statistics.count
    total = count + 1
    delta = value - mean
    own = (value - value) ** 2  # nan for what is not finite, as NumPy's variance
    squares = var * count + own + delta * delta * count / total
    statistics.mean = np.float64(mean + delta / total)
    statistics.var = np.float64(squares / total)
    statistics.count = total
