"""`NormalizeObservation` and `NormalizeReward` of Gym 0.26."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.base.record_constructor import RecordConstructorArgs
from gymcore.compat.gym26.core import Wrapper
from gymcore.core import Env
from gymcore.vector.vector_env import VectorEnv
from gymcore.wrappers.utils import Array, RunningMeanStd

__all__ = ["NormalizeObservation", "NormalizeReward"]


class NormalizeObservation(Wrapper, RecordConstructorArgs):
    """Normalize observations with the mean and variance of all observations so far (Gym 0.26).

    Statistics and observations are float64; the observation space is unchanged. Each observation
    first updates the statistics, and is then normalized. `env` may be a vector environment; the
    final observations in its infos are not normalized.

    Attributes:
        obs_rms: The statistics: `mean`, `var`, `count`.
        epsilon: Number added to the variance.

    Examples:
        >>> import gymcore as gym
        >>> env = NormalizeObservation(gym.make("CartPole-v1"))
        >>> observation, info = env.reset(seed=1)
        >>> observation.dtype, float(env.obs_rms.count)
        (dtype('float64'), 1.0001)
    """

    def __init__(self, env: Env | VectorEnv, epsilon: float = 1e-8) -> None:
        Wrapper.__init__(self, env)
        self.is_vector_env = getattr(env, "is_vector_env", False)
        self.num_envs = getattr(env, "num_envs", 1)
        space = self.single_observation_space if self.is_vector_env else self.observation_space
        self.obs_rms = RunningMeanStd(shape=space.shape or ())
        self.epsilon = epsilon

    def step(self, action: object) -> Any:
        """Step the environment and normalize its observation."""
        observation, *rest = self.env.step(action)
        return self._normalized(observation), *rest

    def reset(self, **kwargs: object) -> Any:
        """Reset the environment and normalize its observation."""
        return self._with_first(self.env.reset(**kwargs), self._normalized)

    def normalize(self, obs: npt.ArrayLike) -> Array:
        """Update the statistics with a batch [num_envs, ...]; return a normalized copy."""
        result: Array = np.array(obs, np.float64)
        self.obs_rms.update(result)
        result -= self.obs_rms.mean
        result /= np.sqrt(self.obs_rms.var + self.epsilon)
        return result

    def _normalized(self, observation: npt.ArrayLike) -> Array:
        if self.is_vector_env:
            return self.normalize(observation)
        normalized: Array = self.normalize(np.array([observation]))[0]
        return normalized


class NormalizeReward(Wrapper, RecordConstructorArgs):
    """Divide rewards by the standard deviation of the discounted return (Gym 0.26).

    Each step computes the return as `returns * gamma + reward`, updates the statistics with it and
    scales the reward. The end of an episode, terminated or truncated, sets its return to 0. `env`
    may be a vector environment, whose lanes share the statistics.

    Attributes:
        return_rms: The statistics: `mean`, `var`, `count`.
        returns: Discounted returns of the current episodes, float64 [1] or [num_envs].
        gamma: The discount factor.
        epsilon: Number added to the variance.

    Examples:
        >>> import gymcore as gym
        >>> env = NormalizeReward(gym.make("CartPole-v1"), gamma=0.5)
        >>> observation, info = env.reset(seed=1)
        >>> _ = env.step(0), env.step(1)
        >>> env.returns
        array([1.5])
    """

    def __init__(self, env: Env | VectorEnv, gamma: float = 0.99, epsilon: float = 1e-8) -> None:
        Wrapper.__init__(self, env)
        self.is_vector_env = getattr(env, "is_vector_env", False)
        self.num_envs = getattr(env, "num_envs", 1)
        self.return_rms = RunningMeanStd(shape=())
        self.returns = np.zeros(self.num_envs)
        self.gamma = gamma
        self.epsilon = epsilon

    def step(self, action: object) -> Any:
        """Step the environment and scale its reward."""
        observation, reward, *flags, info = self.env.step(action)
        self.returns = self.returns * self.gamma + np.asarray(reward, np.float64)
        scaled = self.normalize(reward)
        self.returns[np.atleast_1d(np.logical_or(flags[0], flags[-1]))] = 0.0
        return observation, scaled, *flags, info

    def normalize(self, rews: object) -> Any:
        """Update the statistics with the returns; return the scaled rewards."""
        self.return_rms.update(self.returns)
        return rews / np.sqrt(self.return_rms.var + self.epsilon)
