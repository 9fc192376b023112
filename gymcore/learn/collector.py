"""Rollouts [T, num_envs] of a policy, in arrays that are allocated once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.base.arguments import MAX_COUNT, positive
from gymcore.base.no_copies import NoCopies
from gymcore.core import Info
from gymcore.error import ArgumentTypeError, InvalidArgument, UnsupportedMode
from gymcore.learn.advantages import compute_advantages
from gymcore.spaces import Box
from gymcore.vector import rollouts
from gymcore.vector.lane_episodes import AutoresetMode
from gymcore.vector.vector_env import VectorEnv
from gymcore_ext.rollouts import store

Array = np.ndarray
Floats = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]

ActorCritic = Callable[[Array], tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]]
"""Maps observations [n, ...] to actions [n, ...], their log-probabilities [n] and values [n]."""


class Rollout(NamedTuple):
    """T steps of every lane. The arrays belong to the collector, which overwrites them.

    Attributes:
        observations: Observations before each step, [T, num_envs, ...].
        actions: Actions as returned by the policy, [T, num_envs, ...].
        log_probs: Log-probabilities of the actions, float32 [T, num_envs].
        values: Values of the observations, float32 [T, num_envs].
        rewards: Rewards, float64 [T, num_envs].
        terminated: Whether the step terminated an episode, bool [T, num_envs].
        truncated: Whether the step truncated an episode, bool [T, num_envs].
        final_observations: Final observations in the rows of steps that end an episode, [T,
            num_envs, ...]; other rows are undefined.
        reset_steps: Whether the step only reset the lane (next-step autoreset), bool [T, num_envs].
            The action was ignored: exclude such steps from losses.

    Examples:
        >>> import gymcore as gym
        >>> def policy(observations):
        ...     return np.zeros(8, np.int64), np.zeros(8, np.float32), np.zeros(8, np.float32)
        >>> envs = gym.make_vec("CartPole-v1", num_envs=8)
        >>> rollout = RolloutCollector(envs, policy, 16, seed=1).collect()
        >>> float(rollout.rewards[rollout.reset_steps].sum())
        0.0
    """

    observations: Array
    actions: Array
    log_probs: Floats
    values: Floats
    rewards: npt.NDArray[np.float64]
    terminated: Bools
    truncated: Bools
    final_observations: Array
    reset_steps: Bools


class RolloutCollector(NoCopies):
    """Steps a vector environment with a policy, in any autoreset mode and with any engine.

    The native engine writes directly into the arrays. Continuous actions are clipped to the action
    space for the step, and stored as the policy returned them.

    Attributes:
        envs: The vector environment.
        policy: The policy, which may be replaced between rollouts.
        rollout: The arrays.
        episode_returns: Returns of the episodes that ended in the last rollout, if the environment
            was made with `episode_statistics=True`.
        episode_lengths: Lengths of these episodes in steps.

    Examples:
        >>> import gymcore as gym
        >>> envs = gym.make_vec("CartPole-v1", num_envs=8)
        >>> def policy(observations):
        ...     zeros = np.zeros(len(observations), np.float32)
        ...     return (observations[:, 2] > 0).astype(np.int64), zeros, zeros
        >>> collector = RolloutCollector(envs, policy, 16, seed=1)
        >>> rollout = collector.collect()
        >>> rollout.observations.shape, rollout.actions.dtype.name
        ((16, 8, 4), 'int64')
        >>> advantages, returns = collector.advantages(gamma=0.99, gae_lambda=0.95)
        >>> advantages.shape
        (16, 8)
    """

    def __init__(
        self,
        envs: VectorEnv,
        policy: ActorCritic,
        T: int,
        *,
        double_buffered: bool = False,
        seed: int | None = None,
        on_infos: Callable[[Info], None] | None = None,
    ) -> None:
        """Reset the environment and allocate the arrays.

        Args:
            envs: A vector environment whose observations and actions are arrays.
            policy: Called with `num_envs` observations (half of them if double-buffered) for each
                step, and for values of final observations. It may return CPU tensors.
            T: Number of steps in a rollout.
            double_buffered: Whether one half of the lanes is stepped, in a thread, while the policy
                acts on the other, which is faster if steps are slow. The results are the same if
                the actions for some lanes do not depend on the other lanes.
            seed: Seed of the reset.
            on_infos: Called with the infos of each step; if double-buffered, with those of each
                half, whose lanes are `infos["env_id"]`.

        Raises:
            ArgumentTypeError: If observations or actions are not arrays.
            InvalidArgument: If `T` is less than 1, or the number of lanes to halve is odd.
            UnsupportedMode: If half of the lanes cannot be stepped alone.
        """
        self.envs, self.policy, steps, n = (
            envs,
            policy,
            positive("T", T, MAX_COUNT),
            int(envs.num_envs),
        )
        self.episode_returns: list[float] = []
        self.episode_lengths: list[int] = []
        self._on_infos = on_infos
        for name in ("observation_space", "action_space"):
            if getattr(envs, name).shape is None:
                raise ArgumentTypeError(
                    f"envs: expected an {name} of arrays, got {getattr(envs, f'single_{name}')}; "
                    "FlattenObservation in gymcore.wrappers.vector makes observations arrays"
                )
        if double_buffered and n % 2:
            raise InvalidArgument(f"envs: expected an even number of lanes to halve, got {n}")
        if double_buffered and not getattr(envs, "steps_some_lanes", False):
            raise UnsupportedMode(f"double_buffered: {envs} cannot step half of its lanes")
        self._mode = AutoresetMode(envs.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP))
        next_step = self._mode is AutoresetMode.NEXT_STEP
        space, actions = envs.observation_space, envs.action_space
        # The extra row has the observations after the last step, where the next rollout begins.
        self._observations = np.zeros((steps + 1, *(space.shape or ())), space.dtype)
        self._values = np.zeros((steps + 1, n), np.float32)
        self._reset_steps = np.zeros((steps + 1, n), np.bool_)
        # In next-step mode, the row after a step that ends an episode has its final observation,
        # which the policy receives as well.
        finals = self._observations[1:] if next_step else np.zeros_like(self._observations[1:])
        self._final_values = self._values[1:] if next_step else np.zeros((steps, n), np.float32)
        self.rollout = Rollout(
            self._observations[:-1],
            np.zeros((steps, *(actions.shape or ())), actions.dtype),
            np.zeros((steps, n), np.float32),
            self._values[:-1],
            np.zeros((steps, n)),
            np.zeros((steps, n), np.bool_),
            np.zeros((steps, n), np.bool_),
            finals,
            self._reset_steps[:-1],
        )
        self._observations[-1], _ = envs.reset(seed=seed)
        rows = _halves(envs) if double_buffered else [slice(None)]
        self._parts = [_Part(self, part) for part in rows]

    def collect(self) -> Rollout:
        """Take T steps and return the arrays, which are the same in every call.

        Raises:
            ArgumentTypeError: If the policy does not return a tuple of three arrays.
            InvalidArgument: If an array has the wrong shape or kind of numbers.
        """
        self.episode_returns, self.episode_lengths = [], []
        self._observations[0] = self._observations[-1]
        self._reset_steps[0] = self._reset_steps[-1]
        if len(self._parts) == 1:
            (part,) = self._parts
            policy = self.policy
            for (targets, observations), step in zip(part.acting, part.steps, strict=True):
                store(targets, policy(observations), error)
                self._record_infos(step())
        else:
            self._collect_halves()
        rollout = self.rollout
        if self._mode is AutoresetMode.NEXT_STEP:
            np.logical_or(rollout.terminated, rollout.truncated, out=self._reset_steps[1:])
        else:
            cut_off = rollout.truncated & ~rollout.terminated
            if cut_off.any():
                self._final_values[cut_off] = self._value_of(rollout.final_observations[cut_off])
        for part in self._parts:
            self._values[-1, part.rows] = self.policy(self._observations[-1, part.rows])[2]
        return rollout

    def _record_infos(self, infos: Info) -> None:
        """Store the returns and lengths of episodes that ended, and pass on the infos."""
        if "episode" in infos:
            episodes, ended = infos["episode"], infos["_episode"]
            self.episode_returns += episodes["r"][ended].tolist()
            self.episode_lengths += episodes["l"][ended].tolist()
        if self._on_infos is not None:
            self._on_infos(infos)

    def _collect_halves(self) -> None:
        """Step each half in a thread while the policy acts on the other half."""
        pending: Future[Info] | None = None
        with ThreadPoolExecutor(1) as thread:  # the exit waits for a running step
            for t in range(len(self.rollout.rewards)):
                for part in self._parts:
                    targets, observations = part.acting[t]
                    store(targets, self.policy(observations), error)
                    if pending is not None:
                        self._record_infos(pending.result())
                    pending = thread.submit(part.steps[t])
            if pending is not None:
                self._record_infos(pending.result())

    def _value_of(self, observations: Array) -> Floats:
        """Return the values [k] of observations [k, ...], in batches as large as those of steps."""
        size, count = self.envs.num_envs // len(self._parts), len(observations)
        batches = np.resize(observations, (-(-count // size), size, *observations.shape[1:]))
        return np.concatenate([np.asarray(self.policy(batch)[2]) for batch in batches])[:count]

    def advantages(self, gamma: float = 0.99, gae_lambda: float = 0.95) -> tuple[Floats, Floats]:
        """Return advantages and returns of the last rollout; see `compute_advantages`.

        `rollout.rewards` may be scaled beforehand.
        """
        rollout = self.rollout
        return compute_advantages(
            rollout.rewards, self._values, rollout.terminated, rollout.truncated,
            self._final_values, rollout.reset_steps, gamma=gamma, gae_lambda=gae_lambda,
        )  # fmt: skip

    @property
    def next_observations(self) -> Array:
        """First observations of the next rollout, [num_envs, ...]; a view, to save and restore."""
        first: Array = self._observations[-1]
        return first


def _halves(envs: VectorEnv) -> list[slice]:
    """Return the rows of two halves of the lanes."""
    if hasattr(envs, "bind_step"):  # `bind_step` writes to adjacent rows
        half = envs.num_envs // 2
        return [slice(half), slice(half, None)]
    return [slice(0, None, 2), slice(1, None, 2)]  # every worker has lanes of both


class _Part:
    """The lanes on which one call of the policy acts: all, or half of them.

    Attributes:
        rows: The lanes, a slice.
        acting: For each step, where the policy's outputs are written, and its inputs.
        steps: For each step, a function that takes the stored actions and writes the results.
    """

    def __init__(self, collector: RolloutCollector, rows: slice) -> None:
        envs, rollout = collector.envs, collector.rollout
        self.rows = rows
        lanes = None if rows == slice(None) else np.arange(envs.num_envs)[rows]
        self._stepping = rollouts.Rollout(envs, lanes)
        space, mode = envs.single_action_space, self._stepping.mode
        self._bounds = (space.low, space.high) if isinstance(space, Box) else None
        bind = getattr(envs, "bind_step", None)
        if self._bounds is not None or mode is AutoresetMode.DISABLED:
            bind = None
        self.acting, self.steps = [], []
        for t, next_observations in enumerate(collector._observations[1:, rows]):
            targets = [
                array[t, rows] for array in (rollout.actions, rollout.log_probs, rollout.values)
            ]
            results = {"observations": next_observations}
            for name in ("rewards", "terminated", "truncated", "final_observations"):
                results[name] = getattr(rollout, name)[t, rows]
            self.acting.append((tuple(targets), rollout.observations[t, rows]))
            if bind is not None:
                if mode is AutoresetMode.NEXT_STEP:
                    del results["final_observations"]
                self.steps.append(bind(targets[0], **results, env_ids=lanes))
            else:
                self.steps.append(partial(self._step_and_copy, targets[0], *results.values()))

    def _step_and_copy(
        self, actions: Array, observations: Array, rewards: Array, terminated: Array,
        truncated: Array, finals: Array,
    ) -> Info:  # fmt: skip
        if self._bounds is not None:
            actions = np.clip(actions, *self._bounds)
        result = self._stepping.step(actions)
        observations[...], rewards[...], terminated[...], truncated[...] = result[:4]
        ended, last, infos = result[4:]
        if ended is not None:
            finals[ended] = last
        return infos
