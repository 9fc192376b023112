"""`NormalizeObservation` and `NormalizeReward` of Gym 0.26, of environments and of batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsFloat

import numpy as np
import numpy.typing as npt

from gymcore.compat.forwarding import Forwarding, LegacyVectorWrapper, VectorTwin
from gymcore.core import Env, Wrapper
from gymcore.utils import RecordConstructorArgs
from gymcore.vector import VectorEnv
from gymcore.wrappers.utils import RunningMeanStd

__all__ = ["NormalizeObservation", "NormalizeReward", "RunningMeanStd"]

Array = npt.NDArray[Any]


def _normalized(rms: RunningMeanStd, batch: Array, epsilon: float) -> Array:
    """Count a batch [n, ...] in, and return it with mean 0 and variance 1, float64."""
    result: Array = np.array(batch, np.float64)
    rms.update(result)
    result -= rms.mean
    result /= np.sqrt(rms.var + epsilon)
    return result


class _Returns:
    """Discounted returns of lanes, and rewards divided by their standard deviation."""

    def __init__(self, num_envs: int, gamma: float, epsilon: float) -> None:
        self.rms = RunningMeanStd(shape=())
        self.returns = np.zeros(num_envs)
        self.gamma = gamma
        self.epsilon = epsilon

    def step(self, rewards: Array, dones: Array) -> Array:
        """Return the scaled rewards [num_envs] float64 of a step."""
        self.returns = self.returns * self.gamma + rewards
        self.rms.update(self.returns)
        scaled: Array = rewards / np.sqrt(self.rms.var + self.epsilon)
        np.putmask(self.returns, dones, 0.0)
        return scaled


class _VectorNormalizeObservation(LegacyVectorWrapper):
    """`NormalizeObservation` of a batch."""

    def __init__(self, env: VectorEnv[Any, Any, Any], epsilon: float = 1e-8) -> None:
        RecordConstructorArgs.__init__(self, epsilon=epsilon)
        LegacyVectorWrapper.__init__(self, env)
        self.is_vector_env = True
        self.obs_rms = RunningMeanStd(shape=self.single_observation_space.shape or ())
        self.epsilon = epsilon

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Step the environments and normalise their observations."""
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        return self.normalize(observations), rewards, terminations, truncations, infos

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Array, dict[str, Any]]:
        """Reset the environments and normalise their observations."""
        observations, infos = self.env.reset(seed=seed, options=options)
        return self.normalize(observations), infos

    def normalize(self, obs: Array) -> Array:
        """Count a batch in, and return it normalised."""
        return _normalized(self.obs_rms, obs, self.epsilon)


class NormalizeObservation(
    VectorTwin, Forwarding, Wrapper[Any, Any, Any, Any], RecordConstructorArgs
):
    """Normalise observations by the mean and variance of all so far (Gym 0.26).

    Statistics and observations are float64, and the observation space is left as it is. The
    observation of every reset and step is counted first, then normalised. A vector environment may
    be given too; the last observations in its infos are left as they are.

    Attributes:
        obs_rms: The statistics: `mean`, `var`, `count`.
        epsilon: Added to the variance.

    Example:
        >>> import gymcore as gym
        >>> env = NormalizeObservation(gym.make("CartPole-v1"))
        >>> observation, info = env.reset(seed=1)
        >>> observation.dtype, float(env.obs_rms.count)
        (dtype('float64'), 1.0001)
    """

    vector_twin = _VectorNormalizeObservation

    def __init__(self, env: Env[Any, Any], epsilon: float = 1e-8) -> None:
        """Wrap `env`.

        Args:
            env: An environment, or a vector environment.
            epsilon: Added to the variance.
        """
        RecordConstructorArgs.__init__(self, epsilon=epsilon)
        Wrapper.__init__(self, env)
        self.num_envs = 1
        self.is_vector_env = False
        self.obs_rms = RunningMeanStd(shape=self.observation_space.shape or ())
        self.epsilon = epsilon

    def step(self, action: Any) -> tuple[Array, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step the environment and normalise its observation."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self.normalize(np.array([observation]))[0], reward, terminated, truncated, info

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Reset the environment and normalise its observation."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self.normalize(np.array([observation]))[0], info

    def normalize(self, obs: Array) -> Array:
        """Count a batch [1, ...] in, and return it normalised."""
        return _normalized(self.obs_rms, obs, self.epsilon)


class _VectorNormalizeReward(LegacyVectorWrapper):
    """`NormalizeReward` of a batch."""

    def __init__(
        self, env: VectorEnv[Any, Any, Any], gamma: float = 0.99, epsilon: float = 1e-8
    ) -> None:
        RecordConstructorArgs.__init__(self, gamma=gamma, epsilon=epsilon)
        LegacyVectorWrapper.__init__(self, env)
        self.is_vector_env = True
        self._returns = _Returns(env.num_envs, gamma, epsilon)
        self.return_rms = self._returns.rms
        self.gamma = gamma
        self.epsilon = epsilon

    @property
    def returns(self) -> Array:
        """Discounted returns [num_envs] of the current episodes."""
        return self._returns.returns

    def step(self, actions: Any) -> tuple[Any, Array, Array, Array, dict[str, Any]]:
        """Step the environments and scale their rewards."""
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        rewards = self._returns.step(rewards, terminations | truncations)
        return observations, rewards, terminations, truncations, infos


class NormalizeReward(VectorTwin, Forwarding, Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Divide rewards by the standard deviation of the discounted return (Gym 0.26).

    The return is `returns * gamma + reward`; it is counted into the statistics, the reward scaled,
    and the return set to 0 if the episode ended, terminated or truncated. A vector environment may
    be given too: the lanes share the statistics.

    Attributes:
        return_rms: The statistics: `mean`, `var`, `count`.
        returns: Discounted returns [1] or [num_envs] of the current episodes.
        gamma: The discount factor.
        epsilon: Added to the variance.

    Example:
        >>> import gymcore as gym
        >>> env = NormalizeReward(gym.make("CartPole-v1"), gamma=0.5)
        >>> observation, info = env.reset(seed=1)
        >>> _ = env.step(0), env.step(1)
        >>> env.returns
        array([1.5])
    """

    vector_twin = _VectorNormalizeReward

    def __init__(self, env: Env[Any, Any], gamma: float = 0.99, epsilon: float = 1e-8) -> None:
        """Wrap `env`.

        Args:
            env: An environment, or a vector environment.
            gamma: The discount factor.
            epsilon: Added to the variance.
        """
        RecordConstructorArgs.__init__(self, gamma=gamma, epsilon=epsilon)
        Wrapper.__init__(self, env)
        self.num_envs = 1
        self.is_vector_env = False
        self._returns = _Returns(1, gamma, epsilon)
        self.return_rms = self._returns.rms
        self.gamma = gamma
        self.epsilon = epsilon

    @property
    def returns(self) -> Array:
        """Discounted return [1] of the current episode."""
        return self._returns.returns

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step the environment and scale its reward."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        rewards = np.array([reward], np.float64)
        scaled = self._returns.step(rewards, np.array([terminated or truncated]))[0]
        return observation, scaled, terminated, truncated, info
