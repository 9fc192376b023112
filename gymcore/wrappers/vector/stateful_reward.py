"""Vector wrappers that scale rewards by statistics of earlier rewards."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from gymcore.base.arguments import check_rewards_are_numbers, split_reset_mask
from gymcore.base.record_constructor import RecordConstructorArgs
from gymcore.core import ActType, Info, ObsType, Options
from gymcore.vector.agents import check_single_agents
from gymcore.vector.vector_env import AutoresetMode, Seeds, VectorEnv, VectorWrapper
from gymcore.wrappers.stateful_reward import NormalizesRewards
from gymcore.wrappers.utils import Array
from gymcore_ext.wrappers import statistics

__all__ = ["NormalizeReward"]


class NormalizeReward(
    NormalizesRewards,
    VectorWrapper[ObsType, ActType, ObsType, ActType, Array],
    RecordConstructorArgs,
):
    """Divide rewards by the standard deviation of each lane's discounted sum.

    A lane's sum covers its rewards so far, discounted by `gamma` per step; a termination resets it
    (after the reward of that step). `reset` sets it to 0, and in SAME_STEP so does the end of an
    episode. A step that only resets a lane (NEXT_STEP) does not change its sum or the statistics.
    Gymnasium 1.4 does the same, except that a masked reset here does not change the sums of the
    other lanes.

    Attributes:
        return_rms: The statistics of the sums, a `RunningMeanStd`.
        accumulated_reward: Discounted sums, float32 [num_envs]; changed in place.
        update_running_mean: Whether the sums update the statistics.

    Examples:
        >>> import gymcore as gym
        >>> envs = NormalizeReward(gym.make_vec("CartPole-v1", num_envs=2))
        >>> _ = envs.reset(seed=1)
        >>> [envs.step([0, 1])[1].round(2).tolist() for _ in range(3)]
        [[100.0, 100.0], [2.02, 2.02], [1.24, 1.24]]
    """

    _lane_arrays = ("accumulated_reward", "_ended")

    def __init__(
        self, env: VectorEnv[ObsType, ActType, Array], gamma: float = 0.99, epsilon: float = 1e-8
    ) -> None:
        """Wrap a vector environment; see `gymcore.wrappers.NormalizeReward`."""
        check_single_agents(env)
        VectorWrapper.__init__(self, env)
        self._begin_normalizing(gamma, epsilon)
        mode = AutoresetMode(env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP))
        self.accumulated_reward = np.zeros(env.num_envs, np.float32)
        self._ended = np.zeros(env.num_envs, np.bool_)
        self._next_step = mode is AutoresetMode.NEXT_STEP
        self._same_step = mode is AutoresetMode.SAME_STEP

    def reset(self, *, seed: Seeds = None, options: Options = None) -> tuple[ObsType, Info]:
        """Reset, and set the sums of the lanes that were reset to 0; see `VectorEnv.reset`."""
        _, mask = split_reset_mask(options, self.env.num_envs)
        result: tuple[ObsType, Info] = self.env.reset(seed=seed, options=options)
        lanes = slice(None) if mask is None else mask
        self.accumulated_reward[lanes] = 0
        self._ended[lanes] = False
        return result

    def step(self, actions: ActType) -> tuple[ObsType, Array, Array, Array, Info]:
        """Step, and return scaled rewards, float64 [num_envs]; see `VectorEnv.step`."""
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        rms = self.return_rms
        try:
            scaled, mean, var, rms.count = statistics.normalize_rewards(
                self.accumulated_reward,
                self._ended,
                rewards,
                terminated,
                truncated,
                rms.mean,
                rms.var,
                rms.count,
                self.gamma,
                self.epsilon,
                self.update_running_mean,
                self._next_step,
                self._same_step,
            )
        except ValueError:
            check_rewards_are_numbers(rewards)
            raise
        rms.mean, rms.var = np.float64(mean), np.float64(var)
        return observations, scaled, terminated, truncated, infos

    def end_episodes(self, mask: npt.NDArray[np.bool_]) -> None:
        """End episodes of the wrapped environment; see `VectorEnv.end_episodes`."""
        self.env.end_episodes(mask)
        self._ended[mask] = True

    def normalize(self, reward: np.ndarray) -> np.ndarray:
        """Divide rewards by the standard deviation of the discounted sums so far.

        Args:
            reward: A number or an array; not changed.
        """
        return reward / math.sqrt(self.return_rms.var + self.epsilon)
