"""Fragments that actors collect, and how they are collected; this needs no Ray."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gymcore.base.nested import map_leaves, rows_at
from gymcore.error import InvalidArgument
from gymcore.spaces.layouts import has_objects, layout_of
from gymcore.vector.vector_env import AutoresetMode, VectorEnv

__all__ = ["Fragment", "FragmentMaker", "Policy"]

Policy = Callable[[Any, Any, np.random.Generator], Any]


class Fragment(NamedTuple):
    """T steps of the K lanes of one actor, as arrays with leading axes [T, K].

    Arrays that came from an actor are read-only: they lie in memory that Ray's processes share.
    Observations and actions of Tuple and Dict spaces are tuples and dicts of arrays.

    Attributes:
        actor: Index of the actor.
        restart: How often the actor had been replaced.
        observations: [T, K, ...], the observation before each step.
        actions: [T, K, ...].
        rewards: [T, K] float64.
        terminated: [T, K] bool.
        truncated: [T, K] bool.
        last_observations: [K, ...], after the last step: the first row of the actor's next
            fragment.
        final_observations: [E, ...], the last observation of each of the E episodes that ended.
        final_indices: [E, 2] int64, the (t, lane) of these, in order.
        extras: What the policy returned in addition to its actions, each [T, K, ...].
    """

    actor: int
    restart: int
    observations: Any
    actions: Any
    rewards: npt.NDArray[np.float64]
    terminated: npt.NDArray[np.bool_]
    truncated: npt.NDArray[np.bool_]
    last_observations: Any
    final_observations: Any
    final_indices: npt.NDArray[np.int64]
    extras: dict[str, npt.NDArray[Any]]


class FragmentMaker:
    """A vector environment and a policy; each fragment continues where the last one ended.

    `Collector` makes one in each of its actors. The random streams of the environments and of the
    policy are derived from the seed, the index of the actor and its number of restarts.
    """

    def __init__(
        self,
        make: Callable[[], VectorEnv[Any, Any, Any]],
        policy: Policy,
        seed: int,
        actor: int = 0,
        restart: int = 0,
    ) -> None:
        """Keep the arguments; the environment is made by the first `collect`.

        Args:
            make: Makes the vector environment, with same-step autoreset.
            policy: As `Collector` describes it.
            seed: At least 0.
            actor: Index of the actor.
            restart: How often the actor has been replaced.
        """
        self._make = make
        self._policy = policy
        self._identity = (seed, actor, restart)
        self._envs: VectorEnv[Any, Any, Any] | None = None
        self._observations: Any = None

    def collect(self, weights: Any, steps: int) -> Fragment:
        """Return a fragment of `steps` steps of each lane.

        Raises:
            InvalidArgument: if the vector environment has another autoreset mode, or observations
                or actions that are not arrays.
        """
        if self._envs is None:
            self._begin()
        envs: Any = self._envs
        observed, acted, extras = _Rows(steps), _Rows(steps), _Rows(steps)
        rewards = np.empty((steps, envs.num_envs))
        terminated = np.empty((steps, envs.num_envs), np.bool_)
        truncated = np.empty((steps, envs.num_envs), np.bool_)
        finals: list[Any] = []
        for t in range(steps):
            observed.write(t, self._observations)
            chosen = self._policy(weights, self._observations, self._generator)
            actions, extra = chosen if _has_extras(chosen) else (chosen, {})
            if envs.action_space.shape is not None:
                actions = np.asarray(actions)
            acted.write(t, actions)
            extras.write(t, {name: np.asarray(value) for name, value in extra.items()})
            self._observations, rewards[t], terminated[t], truncated[t], infos = envs.step(actions)
            ended = np.flatnonzero(terminated[t] | truncated[t])
            if ended.size:
                finals.append(rows_at(infos["final_obs"], ended))
        none = map_leaves(lambda leaf: leaf[0, :0], observed.arrays)
        return Fragment(
            *self._identity[1:],
            observed.arrays,
            acted.arrays,
            rewards,
            terminated,
            truncated,
            map_leaves(np.copy, self._observations),
            map_leaves(lambda *parts: np.concatenate(parts), none, *finals),
            np.ascontiguousarray(np.argwhere(terminated | truncated)),
            extras.arrays,
        )

    def _begin(self) -> None:
        """Make the environment, and begin its first episodes."""
        envs = self._make()
        mode = envs.metadata.get("autoreset_mode")
        if mode is not AutoresetMode.SAME_STEP:
            raise InvalidArgument(
                "make: expected a vector environment with autoreset_mode 'SameStep', got one with "
                f"{getattr(mode, 'value', mode)!r}"
            )
        for space in (envs.single_observation_space, envs.single_action_space):
            if has_objects(layout_of(space)):
                raise InvalidArgument(f"make: expected spaces that consist of arrays, got {space}")
        lanes, actions = np.random.SeedSequence(self._identity).spawn(2)
        self._generator = np.random.default_rng(actions)
        seed = int(lanes.generate_state(1, np.uint64)[0])
        self._observations = envs.reset(seed=seed)[0]
        self._envs = envs


class _Rows:
    """Arrays [T, ...] of the leaves of batches, which the first batch decides."""

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self.arrays: Any = {}

    def write(self, t: int, batch: Any) -> None:
        if t == 0:
            self.arrays = map_leaves(
                lambda leaf: np.empty((self._steps, *leaf.shape), leaf.dtype), batch
            )
        map_leaves(lambda array, leaf: array.__setitem__(t, leaf), self.arrays, batch)


def _has_extras(chosen: Any) -> bool:
    """Whether a policy returned actions and a dict, rather than actions alone."""
    return isinstance(chosen, tuple) and len(chosen) == 2 and isinstance(chosen[1], Mapping)
