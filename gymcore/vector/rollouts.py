"""Rollouts: steps of a vector environment, written to arrays [T, num_envs, ...].

`gymcore collect`, `gymcore.learn.RolloutCollector` and the actors of `gymcore.distributed` use this
module to step their environments.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from gymcore.base.arguments import check_rewards_are_numbers
from gymcore.base.nested import map_leaves, rows_at
from gymcore.error import InvalidArgument
from gymcore.spaces import Dict, Space, Text, Tuple
from gymcore.vector.agents import check_single_agents
from gymcore.vector.lane_episodes import AutoresetMode

if TYPE_CHECKING:
    from gymcore.core import Info
    from gymcore.vector.protocols import RunsRollouts
    from gymcore.vector.vector_env import VectorEnv

Bools = npt.NDArray[np.bool_]
Lanes = npt.NDArray[np.intp]
OnEnd = Callable[["int | Lanes", Lanes, object], None]
"""Receives the steps [K] (or one for all), lanes [K] and last observations of K ended episodes."""


class Steps(NamedTuple):
    """The arrays for the results of T steps.

    Attributes:
        rewards: float64 [T, num_envs].
        terminated: bool [T, num_envs].
        truncated: bool [T, num_envs].
        observations: [T + 1, num_envs, ...], an array or nested dicts and tuples of arrays. Step t
            acts on row t and writes row t + 1. If None, observations are not stored.
    """

    rewards: npt.NDArray[np.float64]
    terminated: Bools
    truncated: Bools
    observations: object = None

    @classmethod
    def empty(cls, count: int, num_envs: int, observations: object = None) -> Steps:
        """Return new arrays for a number of steps."""
        shape = (count, num_envs)
        flags = np.empty((2, *shape), np.bool_)
        return cls(np.empty(shape), flags[0], flags[1], observations)

    def part(self, first: int, count: int) -> Steps:
        """Return views of `count` steps."""
        last = first + count
        flags = self.terminated[first:last], self.truncated[first:last]
        observations = self.observations
        if observations is not None:
            observations = map_leaves(lambda array: array[first : last + 1], observations)
        return Steps(self.rewards[first:last], *flags, observations)


class Rollout:
    """Steps a vector environment, or some of its lanes, in any autoreset mode.

    If autoreset is disabled, lanes whose episode has ended are reset before the next step.

    Attributes:
        envs: The vector environment.
        mode: The `AutoresetMode` of `envs`.
        observations: The current observations, which the next step acts on; set by `reset`.
    """

    observations: object = None

    def __init__(self, envs: VectorEnv, lanes: Lanes | None = None) -> None:
        """Prepare to step these lanes; None means all."""
        check_single_agents(envs)
        self.envs = envs
        self.mode = AutoresetMode(envs.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP))
        self._lanes = lanes
        self._step = envs.step if lanes is None else partial(envs.step_lanes, env_ids=lanes)
        self._scratch: npt.NDArray[np.generic] | None = None  # observations that are not stored

    def reset(self, seed: int | None) -> None:
        """Begin the first episodes of all lanes."""
        self.observations, _ = self.envs.reset(seed=seed)

    def step(
        self, actions: object, finals: bool = True
    ) -> tuple[object, npt.NDArray[np.float64], Bools, Bools, Lanes | None, object, Info]:
        """Take a step.

        Returns:
            A tuple of the observations that the next step acts on, rewards, flags of termination
            and of truncation, the lanes whose last observation is not among the observations, these
            last observations (both None if there are none or `finals` is False), and infos.

        Raises:
            InvalidArgument: If a same-step environment returns no last observations, or if rewards
                are vectors.
        """
        observations, rewards, terminated, truncated, infos = self._step(actions)
        check_rewards_are_numbers(rewards)
        disabled = self.mode is AutoresetMode.DISABLED
        ended = last = None
        if disabled or (finals and self.mode is AutoresetMode.SAME_STEP):
            done = np.logical_or(terminated, truncated)
            if done.any():
                ended = np.flatnonzero(done)
                if finals and not disabled and "final_obs" not in infos:
                    raise InvalidArgument(
                        "the environment ended an episode without info['final_obs'], which "
                        "same-step autoreset requires; next-step autoreset does not"
                    )
                if finals:
                    last = rows_at(observations if disabled else infos["final_obs"], ended)
                if disabled:
                    observations = self._reset(done)
        return observations, rewards, terminated, truncated, ended, last, infos

    def _reset(self, done: Bools) -> object:
        """Reset lanes of this rollout, and return the rollout's observations."""
        mask = np.zeros(self.envs.num_envs, np.bool_)
        mask[slice(None) if self._lanes is None else self._lanes] = done
        observations: object = self.envs.reset(options={"reset_mask": mask})[0]
        return observations if self._lanes is None else rows_at(observations, self._lanes)

    def collect(
        self, act: Callable[[int, object], object], steps: Steps, on_end: OnEnd | None = None
    ) -> int:
        """Take the steps one by one, and return the number of steps taken.

        Args:
            act: Function of the step number and the observations that returns the actions, or None
                to end the rollout.
            steps: The arrays, one row for each step.
            on_end: Function that receives the last observations that `step` returns.
        """
        for t in range(len(steps.rewards)):
            actions = act(t, self.observations)
            if actions is None:
                return t
            result = self.step(actions, on_end is not None)
            self.observations, steps.rewards[t], steps.terminated[t] = result[:3]
            steps.truncated[t], ended, last, _ = result[3:]
            if on_end is not None and ended is not None:
                on_end(t, ended, last)
            if steps.observations is not None:
                write_row(steps.observations, t + 1, self.observations)
        return len(steps.rewards)

    @property
    def runs_natively(self) -> bool:
        """Whether `run` can take the steps in one call of the compiled engine."""
        return (
            hasattr(self.envs, "rollout")
            and self.envs.observation_space.shape is not None
            and self.mode is not AutoresetMode.DISABLED
        )

    def run(self, actions: npt.NDArray[np.generic], steps: Steps, on_end: OnEnd | None) -> None:
        """Step with actions [T, num_envs, ...] in one call that writes directly to the arrays.

        The other arguments are the same as for `collect`. `observations` is not updated.
        """
        space, rows = self.envs.observation_space, len(actions)
        if self._scratch is None or self._scratch.shape[1] < rows:
            self._scratch = np.empty((2, rows, *(space.shape or ())), space.dtype)
        next_observations, finals = self._scratch[:, :rows]
        if steps.observations is not None:
            next_observations = cast("npt.NDArray[np.generic]", steps.observations)[1:]
        writes_finals = on_end is not None and self.mode is AutoresetMode.SAME_STEP
        cast("RunsRollouts", self.envs).rollout(
            actions,
            observations=next_observations,
            rewards=steps.rewards,
            terminated=steps.terminated,
            truncated=steps.truncated,
            final_observations=finals if writes_finals else None,
            infos=False,
        )
        if on_end is not None and writes_finals:
            t, lane = np.nonzero(steps.terminated | steps.truncated)
            on_end(t, lane, finals[t, lane])


def empty_rows(space: Space, count: int, num_envs: int) -> object:
    """Return arrays [count, num_envs, ...] for elements of a space; texts are objects.

    Nested like the elements of the space, which must consist of arrays and texts.
    """
    if isinstance(space, (Tuple, Dict)):
        return space._pack([empty_rows(part, count, num_envs) for part in space._parts()])
    if isinstance(space, Text):
        return np.full((count, num_envs), "", object)
    return np.empty((count, num_envs, *(space.shape or ())), space.dtype)


def rows_like(count: int, batch: object) -> object:
    """Return arrays [count, ...] for `count` batches of this structure."""
    return map_leaves(lambda leaf: np.empty((count, *leaf.shape), leaf.dtype), batch)


def write_row(arrays: object, t: int | slice | tuple[int | slice, slice], batch: object) -> None:
    """Write a batch to row `t`, or to several rows, of arrays [T, ...] of the same structure."""
    map_leaves(lambda array, leaf: array.__setitem__(t, leaf), arrays, batch)
