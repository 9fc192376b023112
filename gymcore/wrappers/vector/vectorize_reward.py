"""Wrappers that change batches of rewards.

Each applies the wrapper of the same name in `gymcore.wrappers` to every lane. In NEXT_STEP mode, a
step that only resets a lane has a reward of 0, which is not changed. (Gymnasium changes it.)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gymcore.base.record_constructor import RecordConstructorArgs
from gymcore.error import ArgumentTypeError
from gymcore.vector.vector_env import EnvIds, VectorEnv, VectorRewardWrapper, VectorStep
from gymcore.wrappers import transform_reward
from gymcore.wrappers.utils import Array, clip
from gymcore.wrappers.vector.lanes import AgentRows, Lanes, LaneWrapper, make_single

__all__ = ["ClipReward", "TransformReward", "VectorizeTransformReward"]


class _LaneRewards(LaneWrapper, VectorRewardWrapper, RecordConstructorArgs):
    """Base class of wrappers that change the rewards of steps, but not those of resets."""

    def step(self, actions: object, env_ids: EnvIds | None = None) -> VectorStep:
        """Step, and return changed rewards; see `VectorEnv.step`."""
        results, lanes = self._step(actions, env_ids)
        observations, rewards, terminations, truncations, infos = results
        if not (isinstance(rewards, np.ndarray) and isinstance(terminations, np.ndarray)):
            return observations, self.rewards(rewards), terminations, truncations, infos
        reset_only = self._reset_only(lanes)
        self._episodes.step(terminations, truncations, lanes)
        unchanged = rewards[reset_only]
        changed = self.rewards(rewards) if lanes is None else self._rewards_of(rewards, lanes)
        if unchanged.size:
            changed = np.array(changed)
            changed[reset_only] = unchanged
        return observations, changed, terminations, truncations, infos

    def _rewards_of(self, rewards: Array, lanes: Lanes) -> Array:
        """Return the changed rewards of some lanes."""
        changed: Array = self.rewards(rewards)
        return changed


class TransformReward(_LaneRewards):
    """Apply a function to the batches of rewards.

    In NEXT_STEP mode, the function's result is ignored for a lane that the step only resets; its
    reward is 0.

    Examples:
        >>> import gymcore as gym
        >>> from gymcore.wrappers.vector import TransformReward
        >>> envs = TransformReward(gym.make_vec("CartPole-v1", num_envs=3), lambda r: 2 * r + 1)
        >>> observations, infos = envs.reset(seed=1)
        >>> envs.step(np.array([0, 1, 0]))[1]
        array([3., 3., 3.])
    """

    _takes_worlds = True

    def __init__(self, env: VectorEnv, func: Callable[[Array], Array]) -> None:
        """Wrap `env`.

        Args:
            env: The vector environment.
            func: Function that maps rewards `[num_envs]` to new ones.

        Raises:
            ArgumentTypeError: If `env` is not a `VectorEnv`, or `func` cannot be called.
        """
        if not callable(func):
            raise ArgumentTypeError(f"Expected func to be a function of rewards, got {type(func)}")
        _LaneRewards.__init__(self, env)
        self.func = func

    def rewards(self, rewards: Array) -> Array:
        """Return the changed rewards."""
        return self.func(rewards)


class VectorizeTransformReward(_LaneRewards):
    """Apply a single wrapper that changes rewards to each reward of a batch, also of agents.

    Attributes:
        wrapper: The single wrapper, around an environment that does nothing.

    Examples:
        >>> import gymcore as gym
        >>> from gymcore.wrappers import TransformReward
        >>> from gymcore.wrappers.vector import VectorizeTransformReward
        >>> envs = gym.make_vec("CartPole-v1", num_envs=2)
        >>> envs = VectorizeTransformReward(envs, TransformReward, func=lambda reward: -reward)
        >>> observations, infos = envs.reset(seed=1)
        >>> envs.step(np.array([0, 1]))[1]
        array([-1., -1.])
    """

    _takes_worlds = True

    def __init__(
        self,
        env: VectorEnv,
        wrapper: Callable[..., transform_reward.TransformReward],
        **kwargs: object,
    ) -> None:
        """Wrap `env`.

        Args:
            env: The vector environment.
            wrapper: A class derived from `gymcore.wrappers.TransformReward`, or a function that
                returns an instance of it from an environment.
            **kwargs: Arguments of `wrapper`, except the environment.

        Raises:
            ArgumentTypeError: If `env` is not a `VectorEnv`, or `wrapper` is not such a class.
        """
        _LaneRewards.__init__(self, env)
        self._rows = AgentRows(env)
        self.wrapper = make_single(env, wrapper, transform_reward.TransformReward, kwargs)

    def rewards(self, rewards: Array) -> Array:
        """Return the changed rewards, a new array of the same dtype."""
        rows = self._rows.spread(rewards)
        changed = np.empty_like(rows)
        for i, reward in enumerate(rows):
            changed[i] = self.wrapper.reward(reward)
        return self._rows.joined(changed)


class ClipReward(VectorizeTransformReward):
    """Clip the rewards of a batch to an interval; see `wrappers.ClipReward`.

    Examples:
        >>> import gymcore as gym
        >>> from gymcore.wrappers.vector import ClipReward
        >>> envs = ClipReward(gym.make_vec("CartPole-v1", num_envs=2), max_reward=0.5)
        >>> observations, infos = envs.reset(seed=1)
        >>> envs.step(np.array([0, 1]))[1]
        array([0.5, 0.5])
    """

    def __init__(
        self,
        env: VectorEnv,
        min_reward: float | Array | None = None,
        max_reward: float | Array | None = None,
    ) -> None:
        """Wrap a vector environment; the arguments are those of `gymcore.wrappers.ClipReward`."""
        VectorizeTransformReward.__init__(
            self,
            env,
            transform_reward.ClipReward,
            min_reward=min_reward,
            max_reward=max_reward,
        )
        for name, bound in (("min_reward", min_reward), ("max_reward", max_reward)):
            if bound is not None and np.shape(bound) not in ((), (self.num_envs,)):
                raise ArgumentTypeError(
                    f"Expected {name} to be a number or {self.num_envs} of them, "
                    f"got shape {np.shape(bound)}"
                )
        self._bounds = min_reward, max_reward

    def rewards(self, rewards: Array) -> Array:
        """Return the clipped rewards, a new array of the same dtype."""
        return clip(*self._bounds, rewards).astype(rewards.dtype)

    def _rewards_of(self, rewards: Array, lanes: Lanes) -> Array:
        low, high = (
            np.asarray(bound)[lanes] if bound is not None and np.ndim(bound) else bound
            for bound in self._bounds
        )
        return clip(low, high, rewards).astype(rewards.dtype)
