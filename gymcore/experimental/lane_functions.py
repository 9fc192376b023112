"""The functions of a `FuncEnv` over lanes: written for a batch, or called for lane after lane.

Both classes have the same methods, so that a vector environment need not know which it has. A batch
of states (or observations, actions) is whatever `take` and `put` can handle: nested arrays with a
first axis for `BatchedFunctions`, a list for `SingleFunctions`.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gymcore.error import ArgumentTypeError
from gymcore.vector.utils.infos import merge_info
from gymcore.vector.utils.space_utils import concatenate, create_empty_array, iterate

if TYPE_CHECKING:
    from gymcore.experimental.functional import FuncEnv

__all__ = ["BatchedFunctions", "SingleFunctions"]

Lanes = npt.NDArray[np.intp]
Generators = tuple[np.random.Generator, ...]


def _map(function: Any, first: Any, *rest: Any) -> Any:
    """Apply a function to the arrays of nested dicts, tuples and lists of one form."""
    if isinstance(first, dict):
        return {key: _map(function, first[key], *(one[key] for one in rest)) for key in first}
    if isinstance(first, (tuple, list)):
        parts = [_map(function, *parts) for parts in zip(first, *rest, strict=True)]
        return first._make(parts) if hasattr(first, "_make") else type(first)(parts)
    if not isinstance(first, np.ndarray):
        raise ArgumentTypeError(
            "The functions of a batched FuncEnv: expected states and observations of arrays in "
            f"dicts, tuples and lists, got {type(first)}"
        )
    return function(first, *rest)


class SingleFunctions:
    """Calls functions for one lane after the other."""

    def __init__(self, func_env: FuncEnv[Any, Any, Any, Any, Any, Any, Any]) -> None:
        self._env = func_env

    def initial(self, rngs: Generators) -> list[Any]:
        """Return first states."""
        return [self._env.initial(rng) for rng in rngs]

    def transition(self, states: list[Any], actions: list[Any], rngs: Generators) -> list[Any]:
        """Return the states after actions."""
        return list(map(self._env.transition, states, actions, rngs))

    def observation(self, states: list[Any], rngs: Generators) -> list[Any]:
        """Return observations that are the caller's own."""
        return [deepcopy(one) for one in map(self._env.observation, states, rngs)]

    def reward(
        self, states: list[Any], actions: list[Any], next_states: list[Any], rngs: Generators
    ) -> npt.NDArray[np.float64]:
        """Return `[lanes] float64`."""
        rewards = map(self._env.reward, states, actions, next_states, rngs)
        return np.array([float(one) for one in rewards], np.float64)

    def terminal(self, states: list[Any], rngs: Generators) -> npt.NDArray[np.bool_]:
        """Return `[lanes] bool`."""
        return np.array([bool(one) for one in map(self._env.terminal, states, rngs)], np.bool_)

    def state_info(self, states: list[Any]) -> list[dict[str, Any]]:
        """Return the infos of first states."""
        return [self._env.state_info(state) for state in states]

    def transition_info(
        self, states: list[Any], actions: list[Any], next_states: list[Any]
    ) -> list[dict[str, Any]]:
        """Return the infos of transitions."""
        return list(map(self._env.transition_info, states, actions, next_states))

    @staticmethod
    def take(batch: list[Any], lanes: Lanes) -> list[Any]:
        """Return the rows of some lanes."""
        return [batch[lane] for lane in lanes.tolist()]

    @staticmethod
    def put(batch: list[Any], lanes: Lanes, rows: list[Any]) -> list[Any]:
        """Return a copy of a batch with other rows for some lanes."""
        batch = list(batch)
        for lane, row in zip(lanes.tolist(), rows, strict=True):
            batch[lane] = row
        return batch

    def actions(self, actions: Any, space: Any) -> list[Any]:
        """Return a batch of actions as a list of single ones."""
        return list(iterate(space, actions))

    def output(self, observations: list[Any]) -> Any:
        """Return observations as the caller gets them: a new batch."""
        space = self._env.observation_space
        return concatenate(space, observations, create_empty_array(space, len(observations)))

    def add_infos(
        self, infos: dict[str, Any], rows: list[dict[str, Any]], lanes: Lanes, num_envs: int
    ) -> None:
        """Merge the infos of some lanes into the batch's."""
        for lane, info in zip(lanes.tolist(), rows, strict=True):
            merge_info(infos, info, lane, num_envs)

    def add_final(
        self, infos: dict[str, Any], observations: list[Any], lanes: Lanes, num_envs: int
    ) -> None:
        """Put last observations of lanes into the infos, as an array of objects."""
        last = np.full(num_envs, None, dtype=object)
        for lane, row in zip(lanes.tolist(), observations, strict=True):
            last[lane] = row
        infos["final_obs"] = last


class BatchedFunctions:
    """Calls functions that are written for a batch: all arrays have a first axis of lanes."""

    def __init__(self, func_env: FuncEnv[Any, Any, Any, Any, Any, Any, Any]) -> None:
        self._env = func_env
        self.initial = func_env.initial
        self.transition = func_env.transition
        self.observation = func_env.observation
        self.state_info = func_env.state_info
        self.transition_info = func_env.transition_info

    def reward(
        self, states: Any, actions: Any, next_states: Any, rngs: Generators
    ) -> npt.NDArray[np.float64]:
        """Return `[lanes] float64`."""
        rewards = self._env.reward(states, actions, next_states, rngs)
        return np.broadcast_to(np.asarray(rewards, np.float64), len(rngs))

    def terminal(self, states: Any, rngs: Generators) -> npt.NDArray[np.bool_]:
        """Return `[lanes] bool`."""
        terminated = np.asarray(self._env.terminal(states, rngs), np.bool_)
        return np.broadcast_to(terminated, len(rngs))

    @staticmethod
    def take(batch: Any, lanes: Lanes) -> Any:
        """Return the rows of some lanes."""
        return _map(lambda array: array[lanes], batch)

    @staticmethod
    def put(batch: Any, lanes: Lanes, rows: Any) -> Any:
        """Return a copy of a batch with other rows for some lanes."""

        def put_rows(array: Any, some: Any) -> Any:
            array = array.copy()
            array[lanes] = some
            return array

        return _map(put_rows, batch, rows)

    def actions(self, actions: Any, space: Any) -> Any:
        """Return a batch of actions, as arrays."""
        return np.asarray(actions, space.dtype) if space.dtype is not None else actions

    def output(self, observations: Any) -> Any:
        """Return observations as the caller gets them: new arrays of the space's types."""
        return _map(np.copy, observations)

    def add_infos(
        self, infos: dict[str, Any], rows: dict[str, Any], lanes: Lanes, num_envs: int
    ) -> None:
        """Put the infos of some lanes, a dict of arrays with a row for each, into the batch's."""
        for key, value in rows.items():
            if isinstance(value, dict):
                self.add_infos(infos.setdefault(key, {}), value, lanes, num_envs)
            else:
                value = np.asarray(value)
                empty = np.zeros((num_envs, *value.shape[1:]), value.dtype)
                infos.setdefault(key, empty)[lanes] = value
            infos.setdefault(f"_{key}", np.zeros(num_envs, np.bool_))[lanes] = True

    def add_final(
        self, infos: dict[str, Any], observations: Any, lanes: Lanes, num_envs: int
    ) -> None:
        """Put last observations into the infos: one array where they are one, else objects."""
        if isinstance(observations, np.ndarray):
            last = np.zeros((num_envs, *observations.shape[1:]), observations.dtype)
            last[lanes] = observations
        else:
            last = np.full(num_envs, None, dtype=object)
            for row, lane in enumerate(lanes.tolist()):
                last[lane] = _map(lambda array, row=row: np.array(array[row]), observations)
        infos["final_obs"] = last
