"""Fragments of experience, and the class that collects them in an actor; it does not need Ray."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from gymcore.base.nested import map_leaves
from gymcore.core import ActType, ObsType
from gymcore.error import InvalidArgument
from gymcore.spaces.layouts import has_objects, layout_of
from gymcore.vector.rollouts import Rollout, Steps, rows_like, write_row
from gymcore.vector.vector_env import AutoresetMode, VectorEnv

Policy = Callable[[Any, object, np.random.Generator], object]


class Fragment(NamedTuple, Generic[ObsType, ActType]):
    """T steps of the K lanes of one actor, as arrays with leading axes [T, K].

    Arrays from an actor are read-only, because they are in memory that Ray's processes share.
    Observations and actions of Tuple and Dict spaces are tuples and dicts of arrays.

    Attributes:
        actor: Index of the actor.
        restart: Number of times that the actor had been replaced.
        observations: [T, K, ...], the observation before each step.
        actions: [T, K, ...].
        rewards: [T, K] float64.
        terminated: [T, K] bool.
        truncated: [T, K] bool.
        last_observations: [K, ...], after the last step: the first row of the actor's next
            fragment.
        final_observations: [E, ...], the last observation of each of the E episodes that ended.
        final_indices: [E, 2] int64, (t, lane) of each of these episodes, in order.
        extras: Arrays that the policy returned in addition to its actions, each [T, K, ...].

    Examples:
        >>> flags = np.zeros((1, 1), bool)
        >>> fragment = Fragment(
        ...     actor=0, restart=0, observations=np.zeros((1, 1, 4)), actions=np.ones((1, 1)),
        ...     rewards=np.ones((1, 1)), terminated=flags, truncated=flags,
        ...     last_observations=np.zeros((1, 4)), final_observations=np.zeros((0, 4)),
        ...     final_indices=np.zeros((0, 2), np.int64), extras={},
        ... )
        >>> fragment.observations.shape
        (1, 1, 4)
    """

    actor: int
    restart: int
    observations: ObsType
    actions: ActType
    rewards: npt.NDArray[np.float64]
    terminated: npt.NDArray[np.bool_]
    truncated: npt.NDArray[np.bool_]
    last_observations: ObsType
    final_observations: ObsType
    final_indices: npt.NDArray[np.int64]
    extras: dict[str, npt.NDArray[np.generic]]


class FragmentMaker:
    """Collects fragments with a vector environment and a policy; each continues the last one.

    `Collector` makes one in each of its actors. The random streams of the environments and of the
    policy are derived from the seed, the index of the actor and its number of restarts.
    """

    def __init__(
        self,
        make: Callable[[], VectorEnv],
        policy: Policy,
        seed: int,
        actor: int = 0,
        restart: int = 0,
    ) -> None:
        """Store the arguments; the first `collect` makes the environment.

        Args:
            make: Function that makes the vector environment, with same-step autoreset.
            policy: As for `Collector`.
            seed: Seed of the random streams, at least 0.
            actor: Index of the actor.
            restart: Number of times that the actor has been replaced.
        """
        self._make = make
        self._policy = policy
        self._identity = (seed, actor, restart)
        self._rollout: Rollout | None = None

    def collect(self, weights: object, steps: int) -> Fragment:
        """Return a fragment of `steps` steps of each lane.

        Raises:
            InvalidArgument: If the vector environment has another autoreset mode, or if its
                observations or actions are not arrays.
        """
        rollout = self._rollout or self._begin()
        observations = rows_like(steps + 1, rollout.observations)
        write_row(observations, 0, rollout.observations)
        arrays = Steps.empty(steps, rollout.envs.num_envs, observations)
        has_arrays = rollout.envs.action_space.shape is not None
        outputs: object = None  # arrays of the actions and of the extras
        finals: list[object] = []

        def act(t: int, observations: object) -> object:
            nonlocal outputs
            actions = self._policy(weights, observations, self._generator)
            extras: Mapping[str, object] = {}
            if isinstance(actions, tuple) and len(actions) == 2 and isinstance(actions[1], Mapping):
                actions, extras = actions
            if has_arrays:
                actions = np.asarray(actions)
            row = actions, {name: np.asarray(value) for name, value in extras.items()}
            if outputs is None:
                outputs = rows_like(steps, row)
            write_row(outputs, t, row)
            return actions

        rollout.collect(act, arrays, lambda t, lanes, last: finals.append(last))
        actions, extras = cast("tuple[object, dict[str, npt.NDArray[np.generic]]]", outputs)
        empty = map_leaves(lambda leaf: leaf[0, :0], observations)
        return Fragment(
            *self._identity[1:],
            map_leaves(lambda leaf: leaf[:-1], observations),
            actions,
            arrays.rewards,
            arrays.terminated,
            arrays.truncated,
            map_leaves(lambda leaf: leaf[-1].copy(), observations),
            map_leaves(lambda *parts: np.concatenate(parts), empty, *finals),
            np.ascontiguousarray(np.argwhere(arrays.terminated | arrays.truncated)),
            extras,
        )

    def _begin(self) -> Rollout:
        """Make the environment and begin its first episodes."""
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
        self._rollout = Rollout(envs)
        self._rollout.reset(seed)
        return self._rollout
