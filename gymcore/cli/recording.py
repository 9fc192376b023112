"""The arrays of `gymcore collect --out`, and the .npz file in which they are saved.

Keys of the file, with T steps, N lanes and K episode ends:

| key | shape | contents |
|---|---|---|
| `observations` | [T, N, ...] | the observation for which `actions[t, i]` was chosen |
| `actions` | [T, N, ...] | as sent |
| `rewards` | [T, N] | as received |
| `terminated`, `truncated` | [T, N] bool | as received |
| `final_observations` | [K, ...] | the final observation of each episode that ended |
| `final_indices` | [K, 2] int64 | the (t, lane) of each, sorted by t, then lane |
| `last_observations` | [N, ...] | the observation after step T - 1, for bootstrapping |
| `reset_steps` | [T, N] bool | True where the step only reset the lane (next-step autoreset) |
| `metadata` | () str | JSON: id, seed, shapes, engine, autoreset mode, policy, versions |

The observation after a step is `observations[t + 1]`, or the entry of `final_observations` if the
step ended the episode: a dense [T, N, ...] array would mostly hold copies.
Dict and Tuple observations are stored leaf by leaf: `observations.position`, `observations.0`; a
dot in a key is escaped with a backslash. Texts are stored as numbers, from which
`gymcore.spaces.utils.unflatten` makes texts again.
Nothing in the file is pickled.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from gymcore.base.nested import map_leaves, named_leaves
from gymcore.base.new_file import write_npz
from gymcore.cli.errors import CliError, file_errors
from gymcore.cli.formats import byte_count
from gymcore.cli.info import available_memory
from gymcore.spaces.space import ArraySpace
from gymcore.spaces.text_numbers import numbers_of_texts, space_of_numbers
from gymcore.vector.rollouts import Steps, empty_rows
from gymcore.vector.vector_env import VectorEnv

# Assumed share of steps that end an episode, for predicting the size.
_FINAL_SHARE = 0.1
# Share of the free memory that a recording may use.
_MEMORY_SHARE = 0.9


_Number = TypeVar("_Number", bound=np.generic)
Arrays: TypeAlias = dict[str, npt.NDArray[np.generic]]
Leaves: TypeAlias = dict[str, tuple[tuple[int, ...], np.dtype[np.generic]]]
"""Shapes and dtypes of batched spaces, by the name of the leaf."""


class Recording:
    """[T, N] arrays for a whole run, filled from the front.

    Attributes:
        steps: Observations (row t is the input of step t), rewards and flags.
        actions: [T, N, ...], an array or nested dicts and tuples of arrays.
        rows: Number of steps filled so far.
    """

    def __init__(self, envs: VectorEnv, steps: int) -> None:
        """Allocate the arrays for this number of steps of a vector environment.

        A `CliError` is raised if a space has no arrays, or the arrays exceed the free memory.
        """
        observation_spaces = _array_leaves(envs, "observation")
        action_spaces = _array_leaves(envs, "action")
        self._single_spaces = {
            "observations": named_leaves(envs.single_observation_space),
            "actions": named_leaves(envs.single_action_space),
        }
        self.num_envs = int(envs.num_envs)
        self.predicted_bytes = predicted_bytes(
            observation_spaces, action_spaces, steps, self.num_envs
        )
        free = available_memory()
        if free is not None and self.predicted_bytes > _MEMORY_SHARE * free:
            raise CliError(_too_large(self.predicted_bytes, steps * self.num_envs, free))
        try:
            observations = empty_rows(envs.single_observation_space, steps + 1, self.num_envs)
            self.actions: object = empty_rows(envs.single_action_space, steps, self.num_envs)
            self.steps = Steps.empty(steps, self.num_envs, observations)
        except MemoryError:
            raise CliError(_too_large(self.predicted_bytes, steps * self.num_envs)) from None
        self.rows = 0
        # Final observations and their (t, lane); capacity grows by doubling.
        self._finals: object = map_leaves(lambda array: array[:0, 0].copy(), observations)
        self._final_indices: npt.NDArray[np.int64] = np.empty((0, 2), np.int64)
        self._ends = 0

    def reserve(self, rows: int) -> int:
        """Return `rows`: there is space for all steps."""
        return rows

    def advance(self, rows: int) -> None:
        """Count rows that were filled."""
        self.rows += rows

    def add_finals(
        self, rows: int | npt.NDArray[np.intp], lanes: npt.NDArray[np.intp], values: object
    ) -> None:
        """Store the final observations of K episodes.

        `rows` [K] are the steps that ended them, or one step for all; `values` [K, ...] are sorted
        by step, then lane.
        """
        lo, hi = self._ends, self._ends + len(lanes)
        if hi > len(self._final_indices):
            self._final_indices = _grown(self._final_indices, lo, 2 * hi)
            self._finals = map_leaves(lambda old: _grown(old, lo, 2 * hi), self._finals)
        self._final_indices[lo:hi, 0] = rows
        self._final_indices[lo:hi, 1] = lanes
        map_leaves(lambda array, ends: array.__setitem__(slice(lo, hi), ends), self._finals, values)
        self._ends = hi

    def arrays(self, *, next_step: bool, metadata: dict[str, object]) -> Arrays:
        """Return the file's contents for the rows filled so far: key -> array, often a view.

        With `next_step`, where the step after an episode's end only resets, final observations are
        those returned by the steps that end episodes, and `add_finals` is not needed.
        """
        rows, steps = self.rows, self.steps
        done = steps.terminated[:rows] | steps.truncated[:rows]
        arrays: Arrays = {}
        observations, actions = named_leaves(steps.observations), named_leaves(self.actions)
        for name, array in observations.items():
            arrays[f"observations{name}"] = array[:rows]
            arrays[f"last_observations{name}"] = array[rows]
        for name, array in actions.items():
            arrays[f"actions{name}"] = array[:rows]
        for name in ("rewards", "terminated", "truncated"):
            arrays[name] = getattr(steps, name)[:rows]
        arrays["reset_steps"] = np.zeros_like(done)
        if next_step:
            arrays["reset_steps"][1:] = done[:-1]
            arrays["final_indices"] = np.argwhere(done)
            t, lane = arrays["final_indices"].T
            for name, array in observations.items():
                arrays[f"final_observations{name}"] = array[t + 1, lane]
        else:
            indices = self._final_indices[: self._ends]
            order = np.lexsort(indices.T[::-1])  # actors of a cluster add theirs one after another
            arrays["final_indices"] = indices[order]
            for name, array in named_leaves(self._finals).items():
                arrays[f"final_observations{name}"] = array[order]
        for key, array in arrays.items():
            if leaf := re.fullmatch("(?:last_|final_)?(observations|actions)(.*)", key, re.DOTALL):
                kind, name = leaf.groups()
                arrays[key] = numbers_of_texts(self._single_spaces[kind][name], array)
        arrays["metadata"] = np.array(json.dumps(metadata))
        return arrays


def _grown(array: npt.NDArray[_Number], used: int, size: int) -> npt.NDArray[_Number]:
    """Return a copy of the first `used` rows with capacity for `size` rows."""
    larger = np.empty((size, *array.shape[1:]), array.dtype)
    larger[:used] = array[:used]
    return larger


def _array_leaves(envs: VectorEnv, kind: str) -> Leaves:
    """Return leaf name -> batched shape and dtype of the observation or action space."""
    single = getattr(envs, f"single_{kind}_space")
    arrays: Leaves = {}
    for name, space in named_leaves(space_of_numbers(single)).items():
        if not isinstance(space, ArraySpace):
            raise CliError(
                f"--out: expected an {kind} space whose elements are arrays or texts, got {single}"
            )
        arrays[name] = ((envs.num_envs, *space.shape), np.dtype(space.dtype))
    return arrays


def predicted_bytes(observations: Leaves, actions: Leaves, steps: int, num_envs: int) -> int:
    """Return the size of a recording in bytes, with final observations for a tenth of the steps.

    Spaces are given as leaf name -> batched shape and dtype.

    Examples:
        >>> boxes = {"": ((64, 4), np.dtype(np.float32))}
        >>> numbers = {"": ((64,), np.dtype(np.int64))}
        >>> predicted_bytes(boxes, numbers, 1000, 64) / 64_000
        38.2
    """

    def row(spaces: Leaves) -> int:
        return sum(int(np.prod(shape)) * dtype.itemsize for shape, dtype in spaces.values())

    step = row(observations) + row(actions) + 11 * num_envs
    finals = _FINAL_SHARE * (row(observations) + 16 * num_envs)
    return int(steps * (step + finals))


def _too_large(size: int, steps: int, free: int | None = None) -> str:
    """Return the error message for a recording that does not fit into memory."""
    available = "" if free is None else f", {byte_count(free)} free"
    fits = "" if free is None else f"; --num-steps {int(steps * _MEMORY_SHARE * free / size)} fits"
    return f"--out: {byte_count(size)} of memory needed for {steps:,} steps{available}{fits}"


def check_disk(path: Path, size: int) -> None:
    """Raise `CliError` if the disk of `path` has fewer than `size` bytes left."""
    free = shutil.disk_usage(path.parent).free
    if size > free:
        raise CliError(
            f"--out: {byte_count(size)} needed, {byte_count(free)} free in {path.parent}"
        )


def save(path: Path, arrays: Arrays, *, overwrite: bool) -> int:
    """Write the file atomically and return its size [bytes].

    Readers see either the complete new file or the previous one. If the file cannot be written, or
    exists and `overwrite` is not set, `CliError` is raised.
    """
    with file_errors("--out", path):
        write_npz(path, arrays, overwrite=overwrite)
        return path.stat().st_size
