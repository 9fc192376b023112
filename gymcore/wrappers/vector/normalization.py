"""Observations and rewards of a batch, normalised by running statistics over all its lanes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.core import ActType, ObsType
from gymcore.error import InvalidArgument
from gymcore.spaces import Box
from gymcore.utils import RecordConstructorArgs
from gymcore.vector.final_observations import final_batch, put_final_batch
from gymcore.vector.utils import batch_space
from gymcore.vector.utils.arguments import split_reset_mask
from gymcore.vector.vector_env import ArrayType, AutoresetMode, VectorEnv
from gymcore.vector.vector_wrappers import VectorObservationWrapper, VectorWrapper
from gymcore.wrappers.keeps_statistics import KeepsStatistics, check_epsilon, check_gamma
from gymcore.wrappers.normalization import normalize
from gymcore.wrappers.running_mean_std import RunningMeanStd
from gymcore_ext.python_envs import masked_rows
from gymcore_ext.wrappers.return_stats import ReturnStats
from gymcore_ext.wrappers.running_stats import ColumnStats

__all__ = ["NormalizeObservation", "NormalizeReward"]

Array = npt.NDArray[Any]


class NormalizeObservation(
    KeepsStatistics,
    VectorObservationWrapper[npt.NDArray[np.float32], ActType, Array, ArrayType],
    RecordConstructorArgs,
):
    """Shift and scale observations to mean 0 and variance 1, over all that have been seen.

    Every observation of every lane enters the statistics once, in each autoreset mode, and is then
    normalised by them: `(observation - mean) / sqrt(var + epsilon)`, float32. The observations of
    a step enter together. In SAME_STEP the last ones of the lanes that ended are among these, and
    the first ones of their new episodes enter after them, as if a reset of these lanes had
    followed. After a masked reset only the lanes that were reset enter; the others' rows are
    returned as they were last.

    Attributes:
        obs_rms: The statistics, a `RunningMeanStd` of the shape of one lane's observation: float32,
            or float64 if observations are float64 or integers.
        epsilon: Added to the variance.
        update_running_mean: Whether observations enter the statistics.

    Example:
        >>> import gymcore as gym
        >>> envs = NormalizeObservation(gym.make_vec("CartPole-v1", num_envs=4))
        >>> observations, infos = envs.reset(seed=1)
        >>> bool((abs(observations.mean(axis=0)) < 1e-3).all()), observations.dtype
        (True, dtype('float32'))
        >>> envs.update_running_mean = False  # from here on they are only used
        >>> envs.get_statistics()["count"]
        4.0001
    """

    _statistics_name = "obs_rms"

    def __init__(self, env: VectorEnv[Array, ActType, ArrayType], epsilon: float = 1e-8) -> None:
        """Wrap `env`.

        Args:
            env: The vector environment, of any observation space with a shape.
            epsilon: Added to the variance; more than 0.

        Raises:
            ArgumentTypeError: `env` is not a `VectorEnv` (a `TypeError`).
            InvalidArgument: The observation space has no shape (a `ValueError`).
            InvalidBound: `epsilon` is not positive (a `ValueError`).
        """
        RecordConstructorArgs.__init__(self, epsilon=epsilon)
        VectorObservationWrapper.__init__(self, env)
        shape = env.single_observation_space.shape
        if shape is None:
            raise InvalidArgument(
                "NormalizeObservation wrapper requires the observation space to have a shape."
            )
        check_epsilon(epsilon)
        self.single_observation_space = Box(-np.inf, np.inf, shape, np.float32)
        self.observation_space = batch_space(self.single_observation_space, env.num_envs)
        self.obs_rms = RunningMeanStd(shape=shape, dtype=np.float32)
        self.epsilon = epsilon
        self._columns = ColumnStats(env.num_envs, shape)
        self._last: npt.NDArray[np.float32] | None = None

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[npt.NDArray[np.float32], dict[str, Any]]:
        """Reset, and return normalised observations; see `VectorEnv.reset`."""
        _, mask = split_reset_mask(options, self.env.num_envs)
        observations, infos = self.env.reset(seed=seed, options=options)
        if mask is None or self._last is None or mask.all():
            self._last = self.observations(observations)
        else:
            self._last = self._with_rows(self._last, mask, observations)
        return self._last, infos

    def step(
        self, actions: ActType
    ) -> tuple[npt.NDArray[np.float32], ArrayType, ArrayType, ArrayType, dict[str, Any]]:
        """Step, and return normalised observations; see `VectorEnv.step`."""
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        if "final_obs" in infos:
            last = self.observations(final_batch(infos, observations, self.env))
            put_final_batch(infos, last, self.observation_space)
            self._last = self._with_rows(last, infos["_final_obs"], observations)
        else:
            self._last = normalize(self, observations, self._columns, 1)
        return self._last, rewards, terminations, truncations, infos

    def _with_rows(
        self, last: npt.NDArray[np.float32], mask: npt.NDArray[np.bool_], observations: Any
    ) -> npt.NDArray[np.float32]:
        """Return a copy of `last` with these rows of the observations, normalised, in it."""
        rows = self.observations(masked_rows.take(np.asarray(observations), mask))
        return masked_rows.put(last, mask, rows)

    def observations(self, observations: Any) -> npt.NDArray[np.float32]:
        """Add a batch of observations to the statistics, and return it normalised.

        Args:
            observations: `[n, ...]`, of any number of lanes; not changed.

        Returns:
            float32, of the same shape; the caller may keep it.
        """
        return normalize(self, observations, self._columns, 1)


class NormalizeReward(
    KeepsStatistics,
    VectorWrapper[ObsType, ActType, ObsType, ActType, Array],
    RecordConstructorArgs,
):
    """Divide rewards by the deviation of their discounted sum over the steps of each lane.

    A lane's sum is over its rewards so far, discounted by `gamma` a step; a termination ends it
    (with the reward of that step in it). It is 0 when a lane is reset by `reset`, and in SAME_STEP
    when its episode has ended. A step that only resets a lane (NEXT_STEP) changes nothing of it and
    does not enter the statistics. This is what Gymnasium 1.4 does, but that a masked reset leaves
    the sums of the other lanes alone.

    Attributes:
        return_rms: The statistics of the sums, a `RunningMeanStd`.
        accumulated_reward: The sums, float32 [num_envs]; changed in place.
        gamma: The discount factor.
        epsilon: Added to the variance.
        update_running_mean: Whether the sums enter the statistics.

    Example:
        >>> import gymcore as gym
        >>> envs = NormalizeReward(gym.make_vec("CartPole-v1", num_envs=2))
        >>> _ = envs.reset(seed=1)
        >>> [envs.step([0, 1])[1].round(2).tolist() for _ in range(3)]
        [[100.0, 100.0], [2.02, 2.02], [1.24, 1.24]]
    """

    _statistics_name = "return_rms"

    def __init__(
        self, env: VectorEnv[ObsType, ActType, Array], gamma: float = 0.99, epsilon: float = 1e-8
    ) -> None:
        """Wrap `env`.

        Args:
            env: The vector environment.
            gamma: The discount factor, from 0 to 1.
            epsilon: Added to the variance; more than 0.

        Raises:
            ArgumentTypeError: `env` is not a `VectorEnv` (a `TypeError`).
            InvalidBound: `gamma` is not in [0, 1], or `epsilon` not positive (a `ValueError`).
        """
        RecordConstructorArgs.__init__(self, gamma=gamma, epsilon=epsilon)
        VectorWrapper.__init__(self, env)
        check_gamma(gamma)
        check_epsilon(epsilon)
        mode = AutoresetMode(env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP))
        self.return_rms = RunningMeanStd(shape=())
        self.gamma = gamma
        self.epsilon = epsilon
        self._returns = ReturnStats(
            env.num_envs, mode is AutoresetMode.NEXT_STEP, mode is AutoresetMode.SAME_STEP
        )

    @property
    def accumulated_reward(self) -> npt.NDArray[np.float32]:
        """The discounted sums of the lanes, float32 [num_envs]; setting it copies."""
        return self._returns.accumulated

    @accumulated_reward.setter
    def accumulated_reward(self, values: npt.ArrayLike) -> None:
        self._returns.accumulated[:] = values

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[ObsType, dict[str, Any]]:
        """Reset, and begin the sums of the lanes that were reset; see `VectorEnv.reset`."""
        _, mask = split_reset_mask(options, self.env.num_envs)
        mask = None if mask is None else mask.copy()
        result = self.env.reset(seed=seed, options=options)
        self._returns.reset(mask)
        return result

    def step(self, actions: ActType) -> tuple[ObsType, Array, Array, Array, dict[str, Any]]:
        """Step, and return scaled rewards, float64 [num_envs]; see `VectorEnv.step`."""
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        statistics = self.return_rms
        scaled, mean, var, added = self._returns.step(
            rewards,
            terminated,
            truncated,
            statistics.mean,
            statistics.var,
            statistics.count,
            self.gamma,
            self.epsilon,
            self._update_running_mean,
        )
        if added:
            statistics.mean, statistics.var = np.float64(mean), np.float64(var)
            statistics.count += added
        return observations, scaled, terminated, truncated, infos

    def end_episodes(self, mask: npt.NDArray[np.bool_]) -> None:
        """Note that a wrapper further out ends episodes; see `VectorEnv.end_episodes`."""
        self.env.end_episodes(mask)
        self._returns.end(mask)

    def normalize(self, reward: Any) -> Any:
        """Return rewards divided by the deviation of the sums so far.

        Args:
            reward: A number or an array; not changed.
        """
        return reward / np.sqrt(self.return_rms.var + self.epsilon)
