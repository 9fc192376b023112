"""Data sets of episodes in Minari's format, written while the steps are taken."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.base.arguments import check_mask, positive
from gymcore.base.nested import rows_at
from gymcore.base.no_copies import NoCopies
from gymcore.base.optional_packages import needs
from gymcore.core import Info
from gymcore.error import ArgumentTypeError, Error, InvalidArgument, ResetNeeded
from gymcore.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Text, Tuple
from gymcore.specs import EnvSpec
from gymcore.vector.lane_episodes import AutoresetMode
from gymcore.vector.rollouts import Lanes, Steps, empty_rows
from gymcore.vector.vector_env import VectorEnv

Arrays = dict[str, np.ndarray]

# The oldest version of Minari that reads this format. Minari refuses versions that it doesn't know.
_MINARI_VERSION = "0.5.0"
_DATASET_ID = re.compile(r"([-\w][-\w/]*[-\w]/)?[-\w]+-v\d+")
# The attributes with which Minari describes a space.
_ATTRIBUTES: dict[type[Space], tuple[str, ...]] = {
    Box: ("dtype", "shape", "low", "high"),
    Discrete: ("dtype", "start", "n"),
    MultiDiscrete: ("dtype", "nvec", "start"),
    MultiBinary: ("n",),
    Text: ("max_length", "min_length"),
}


class DatasetWriter(NoCopies):
    """Writes the episodes of a vector environment to a data set that Minari reads.

    It works with any engine, in any autoreset mode, and with spaces of arrays, texts, tuples and
    dicts. Steps are buffered and written when the buffer is full, so the memory does not grow with
    the number of steps or the length of an episode. Infos are not stored.

    The folder appears when `close` completes the data set, also after an exception in a `with`
    block. It contains the steps that were added: episodes that had not ended are truncated at
    their last step. If writing itself fails or is interrupted, it contains the episodes that were
    completely written before. If the process is killed before `close`, there is no data set, only
    a hidden folder `.*.part` beside its place.

    Attributes:
        path: The absolute path of the data set's folder.
        id: The id for `minari.load_dataset`: the path relative to `MINARI_DATASETS_PATH`
            (`~/.minari/datasets` by default); for a path elsewhere, its last part.
        metadata: Entries of the data set's description, such as `author` and `algorithm_name`,
            which may be changed until `close`.
        total_episodes: Number of episodes in the file.
        total_steps: Number of steps of these episodes.

    Examples:
        >>> import gymcore as gym
        >>> envs = gym.make_vec("CartPole-v1", num_envs=8)
        >>> with DatasetWriter("data/cartpole/right-v0", envs) as writer:
        ...     observations, infos = envs.reset(seed=1)
        ...     writer.reset(observations)
        ...     for _ in range(100):
        ...         actions = np.ones(8, np.int64)
        ...         writer.add(actions, *envs.step(actions))
        >>> writer.id, writer.total_episodes, writer.total_steps
        ('right-v0', 80, 728)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        envs: VectorEnv,
        *,
        metadata: Mapping[str, object] | None = None,
        buffer_bytes: int = 2**26,
    ) -> None:
        """Make the file, under a temporary name.

        Args:
            path: A folder that does not exist; missing parents are made. Minari needs a name that
                ends with a version: `name-v0`.
            envs: The vector environment, which gives the spaces and the autoreset mode.
            metadata: See the attribute.
            buffer_bytes: Approximate size of the buffer; at least one step of all lanes.

        Raises:
            DependencyNotInstalled: If h5py is missing.
            ArgumentTypeError: If Minari has no format for a space, such as `Graph`.
            InvalidArgument: If the name has no version or `buffer_bytes` is less than 1.
            FileExistsError: If the path exists.
        """
        self.path = Path(path).absolute()
        self.id = _dataset_id(self.path)
        self.metadata = dict(metadata or {})
        self.total_episodes = self.total_steps = 0
        self._mode = AutoresetMode(envs.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP))
        n, budget = int(envs.num_envs), positive("buffer_bytes", buffer_bytes)
        space, action_space = envs.single_observation_space, envs.single_action_space
        self._described: Info = {
            "observation_space": json.dumps(
                _describe_space("observations", space), default=_json_value
            ),
            "action_space": json.dumps(
                _describe_space("actions", action_space), default=_json_value
            ),
            "env_spec": None if envs.spec is None else _env_spec(envs.spec),
        }
        self._paths = {
            "observations": dict(_leaves(space, "observations")),
            "actions": dict(_leaves(action_space, "actions")),
        }
        # The buffer: arrays [T, num_envs, ...]. Row t + 1 has the observations after step t.
        row = self._leaves_of("observations", empty_rows(space, 1, n))
        row |= self._leaves_of("actions", empty_rows(action_space, 1, n))
        self._capacity = max(1, budget // (10 * n + sum(array.nbytes for array in row.values())))
        self.actions = empty_rows(action_space, self._capacity, n)
        observations = empty_rows(space, self._capacity + 1, n)
        self.steps, self.rows = Steps.empty(self._capacity, n, observations), 0
        self._observations = self._leaves_of("observations", observations)
        self._columns = {**self._observations, **self._leaves_of("actions", self.actions)}
        self._columns["rewards"] = self.steps.rewards
        self._num_searched = 0  # rows that were searched for ends of episodes
        self._first = [0] * n  # first row of each lane's episode that is not in the file
        self._finals: dict[tuple[int, int], Arrays] = {}
        self._has_begun, self._is_intact, self._is_closed = False, True, False
        groups = [name for paths in self._paths.values() for name in paths]
        self._file = _EpisodeFile(self.path, {"infos", *groups} - self._columns.keys())

    def reset(self, observations: object, mask: npt.NDArray[np.bool_] | None = None) -> None:
        """Begin the episodes of lanes that were reset; their unfinished episodes are truncated.

        Args:
            observations: The observations that `envs.reset` returned, [num_envs, ...].
            mask: The `reset_mask` of a partial reset, bool [num_envs]; None for all lanes.

        Raises:
            InvalidArgument: If a shape or dtype is wrong.
        """
        n = len(self._first)
        lanes = np.ones(n, np.bool_) if mask is None else check_mask(mask, n)
        new = self._checked("observations", observations)
        self._check_open()
        self._write_ended(np.flatnonzero(lanes))
        for name, array in new.items():
            self._observations[name][self.rows][lanes] = array[lanes]
        self._has_begun = True

    def add(
        self, actions: object, observations: object, rewards: object, terminated: object,
        truncated: object, infos: Info,
    ) -> None:  # fmt: skip
        """Copy a step of all lanes: the actions, and the results of `envs.step`.

        Steps that only reset a lane (next-step autoreset) are left out. With disabled autoreset,
        `reset` begins the next episodes.

        Raises:
            ResetNeeded: If `reset` has not been called.
            InvalidArgument: If a shape or dtype is wrong, or final observations are missing.
        """
        if not self._has_begun:
            raise ResetNeeded("reset: expected a call with the first observations before add")
        self.reserve(1)
        t, steps = self.rows, self.steps
        next_observations, step_arrays = (
            self._checked("observations", observations),
            self._checked("actions", actions),
        )
        step_arrays["rewards"] = _checked("rewards", rewards, steps.rewards[t])
        ends = [
            _checked("terminated", terminated, steps.terminated[t]),
            _checked("truncated", truncated, steps.truncated[t]),
        ]
        ended, final = np.flatnonzero(ends[0] | ends[1]), observations
        if len(ended) and self._mode is not AutoresetMode.NEXT_STEP:
            if self._mode is AutoresetMode.SAME_STEP:
                if "final_obs" not in infos:
                    raise InvalidArgument("infos: expected final_obs, because an episode ended")
                final = infos["final_obs"]
            self.add_finals(t, ended, rows_at(final, ended))
        for name, array in step_arrays.items():
            self._columns[name][t] = array
        for name, array in next_observations.items():
            self._columns[name][t + 1] = array
        steps.terminated[t], steps.truncated[t] = ends
        self.advance(1)

    def add_finals(self, rows: int | Lanes, lanes: Lanes, values: object) -> None:
        """Store the final observations [K, ...] of episodes that end in these rows and lanes."""
        leaves = self._leaves_of("observations", values)
        for k, end in enumerate(np.broadcast(rows, lanes)):
            self._finals[end] = {name: leaf[k] for name, leaf in leaves.items()}

    def reserve(self, rows: int) -> int:
        """Make room in `steps` and `actions` for up to `rows` new rows; return how many fit.

        The new rows begin at `self.rows`; `advance` counts them once they are written. Raises
        `OSError` if the buffer is full and cannot be written to the file.
        """
        self._check_open()
        if self.rows + rows > self._capacity:
            self._free_rows()
        return min(rows, self._capacity - self.rows)

    def advance(self, rows: int) -> None:
        """Count rows that were written."""
        self.rows += rows

    def _check_open(self) -> None:
        if self._is_closed or not self._is_intact:
            raise Error(f"{self.path}: expected an open data set, which no error interrupted")

    def _free_rows(self) -> None:
        """Write all episodes of the first half of the buffer, and move the second half there."""
        self._write_ended()
        self._is_intact = False
        num_freed, rows = max(self.rows - self._capacity // 2, 0), self.rows
        for lane, first in enumerate(self._first):
            if first < num_freed:
                self._file.extend(lane, self._part(lane, first, num_freed))
            self._first[lane] = max(first - num_freed, 0)
        arrays = *self._columns.values(), self.steps.terminated, self.steps.truncated
        for array in arrays:
            tail = array[num_freed : rows + 1]
            array[: len(tail)] = tail
        self.rows = self._num_searched = rows - num_freed
        self._is_intact = True

    def _write_ended(self, cut_lanes: Lanes | tuple[()] = ()) -> None:
        """Write the episodes that ended, and truncate the others of some lanes."""
        lo, hi, next_step = self._num_searched, self.rows, self._mode is AutoresetMode.NEXT_STEP
        terminated, truncated = self.steps.terminated[lo:hi], self.steps.truncated[lo:hi]
        self._is_intact = False
        for t, lane in np.argwhere(terminated | truncated).tolist():
            last = None if next_step else self._finals[lo + t, lane]
            self._write(lane, lo + t + 1, last, (terminated[t, lane], truncated[t, lane]))
            self._first[lane] += next_step  # the step that only resets
        for lane in np.asarray(cut_lanes, int).tolist():
            self._write(lane, hi, None, (False, True))
        self._finals.clear()
        self._num_searched, self._is_intact = hi, True

    def _part(self, lane: int, first: int, stop: int) -> Arrays:
        return {name: array[first:stop, lane] for name, array in self._columns.items()}

    def _write(self, lane: int, stop: int, last: Arrays | None, ends: tuple[bool, bool]) -> None:
        """Write the rest of a lane's episode, if it has steps, up to a row of the buffer."""
        part = self._part(lane, self._first[lane], max(stop, self._first[lane]))
        for name, array in self._observations.items():
            final = array[stop : stop + 1, lane]
            if last is not None:
                final = np.empty(final.shape, final.dtype)
                final[0] = last[name]
            part[name] = np.concatenate([part[name], final])
        self._first[lane] = stop
        if length := self._file.write(self.total_episodes, lane, part, ends):
            self.total_episodes += 1
            self.total_steps += length

    def close(self) -> None:
        """Complete the data set, unless it is closed or has no steps.

        Raises:
            OSError: If a file cannot be written, or the path exists by now.
        """
        if self._is_closed:
            return
        self._is_closed = True
        try:
            if self._is_intact:
                self._write_ended(np.arange(len(self._first)))
        finally:
            self._file.finish(
                {
                    **self.metadata,
                    **self._described,
                    "total_episodes": self.total_episodes,
                    "total_steps": self.total_steps,
                    "dataset_id": self.id,
                    "data_format": "hdf5",
                    "jpeg_encoding": False,
                    "minari_version": _MINARI_VERSION,
                }
            )

    def __enter__(self) -> DatasetWriter:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _leaves_of(self, kind: str, batch: Any) -> Arrays:
        """Return the leaves of a batch of observations or actions by their names in the file."""
        leaves = {}
        for name, path in self._paths[kind].items():
            if path is not None:
                leaves[name] = batch
                for key in path:
                    leaves[name] = leaves[name][key]
        return leaves

    def _checked(self, kind: str, batch: object) -> Arrays:
        """Return the leaves of a batch as arrays; raise unless they fit into the buffer."""
        try:
            leaves = self._leaves_of(kind, batch)
        except (TypeError, LookupError):
            expected = self._described[f"{kind[:-1]}_space"]
            raise InvalidArgument(
                f"{kind}: expected a batch of {expected}, got {batch!r}"
            ) from None
        return {name: _checked(name, leaf, self._columns[name][0]) for name, leaf in leaves.items()}


class _EpisodeFile:
    """The HDF5 file of a data set.

    Whole episodes are written with h5py's low-level functions, which take less than half the time.
    """

    def __init__(self, path: Path, groups: set[str]) -> None:
        """Make the folder under a temporary name; every episode has these empty groups."""
        with needs("h5py"):
            import h5py
        if os.path.lexists(path):
            raise FileExistsError(f"{path} exists already")
        self._h5py, self._path, self._groups = h5py, path, groups
        self._links = h5py.h5p.create(h5py.h5p.LINK_CREATE)
        self._links.set_create_intermediate_group(True)
        self._folder = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
        self._data = self._folder / "data"
        self._data.mkdir(parents=True)
        # The format of HDF5 1.8: an older one keeps the names of all episodes in memory.
        self._file = h5py.File(self._data / "main_data.hdf5", "x", libver="v108")
        self._num_written: dict[int, int] = {}  # lane -> steps of its episode that are in the file

    def write(self, number: int, lane: int, part: Arrays, ends: tuple[bool, bool]) -> int:
        """Write the last part of a lane's episode, if it has steps, and return its length."""
        length = self._num_written.get(lane, 0) + len(part["rewards"])
        if not length:
            return 0
        h5py, name = self._h5py, f"episode_{number}"
        flags = np.zeros((2, length), np.bool_)
        flags[:, -1] = ends
        if self._num_written.pop(lane, 0):
            self.extend(lane, part)
            del self._num_written[lane]
            self._file.move(f"lane_{lane}", name)
            group, part = self._file[name].id, {}
        else:
            group = h5py.h5g.create(self._file.id, name.encode())
        for key in self._groups:
            h5py.h5g.create(group, key.encode(), lcpl=self._links)
        for key, array in {**part, "terminations": flags[0], "truncations": flags[1]}.items():
            array = self._h5py_array(array)
            kind = h5py.h5t.py_create(array.dtype, logical=True)
            shape = h5py.h5s.create_simple(array.shape)
            column = h5py.h5d.create(group, key.encode(), kind, shape, lcpl=self._links)
            if array.size:
                column.write(h5py.h5s.ALL, h5py.h5s.ALL, np.ascontiguousarray(array))
        scalar, integer = h5py.h5s.create(h5py.h5s.SCALAR), h5py.h5t.NATIVE_INT64
        for key, value in (("id", number), ("total_steps", length)):
            h5py.h5a.create(group, key.encode(), integer, scalar).write(np.array(value))
        return length

    def extend(self, lane: int, part: Arrays) -> None:
        """Write a first or middle part of a lane's episode."""
        group = self._file.require_group(f"lane_{lane}")
        for name, array in part.items():
            if name in group:
                written = len(group[name])
                group[name].resize(written + len(array), 0)
                group[name][written:] = array
                continue
            shape, min_rows = array.shape[1:], 4096 // max(1, array[:1].nbytes)
            chunks = (max(1, min_rows, len(array)), *shape) if array.size else True
            group.create_dataset(
                name, data=self._h5py_array(array), maxshape=(None, *shape), chunks=chunks
            )
        self._num_written[lane] = self._num_written.get(lane, 0) + len(part["rewards"])

    def _h5py_array(self, array: np.ndarray) -> np.ndarray:
        """Return an array with the dtype that h5py needs for texts."""
        return array.astype(self._h5py.string_dtype()) if array.dtype == object else array

    def finish(self, description: Info) -> None:
        """Close the file and rename the folder, or remove it if the data set has no steps."""
        self._file.close()
        if not description["total_steps"]:
            shutil.rmtree(self._folder)
            return
        size = round((self._data / "main_data.hdf5").stat().st_size / 1e6, 1)
        text = json.dumps({**description, "dataset_size": size}, default=str)
        (self._data / "metadata.json").write_text(text)
        if os.path.lexists(self._path):
            raise FileExistsError(f"{self._path} exists already; the data is in {self._folder}")
        os.rename(self._folder, self._path)


def _dataset_id(path: Path) -> str:
    """Return Minari's id of a data set in a folder."""
    root = Path(os.environ.get("MINARI_DATASETS_PATH") or "~/.minari/datasets").expanduser()
    relative = Path(os.path.relpath(path, root.absolute())).as_posix()
    name = path.name if relative.startswith("..") else relative
    if not _DATASET_ID.fullmatch(name):
        expected = "a folder whose name ends with a version, such as cartpole/random-v0"
        raise InvalidArgument(f"path: expected {expected}, got {name!r}")
    return name


def _env_spec(spec: EnvSpec) -> str | None:
    """Return Gymnasium's spec of the environment; None if JSON cannot represent an argument."""
    try:
        spec_without_code = spec.copy(entry_point=None, vector_entry_point=None)
        kwargs = json.loads(spec_without_code.to_json())["kwargs"]
    except Error:
        return None
    limit = kwargs.pop("max_episode_steps", spec.max_episode_steps)
    for name in ("num_envs", "vectorization_mode", "vector_kwargs"):
        kwargs.pop(name, None)
    fields = {"id": f"gymcore/{spec.id.replace('/', '-')}", "max_episode_steps": limit}
    fields |= {"entry_point": "gymcore.interop.gymnasium:make_env", "additional_wrappers": []}
    fields |= {"order_enforce": False, "disable_env_checker": True}
    return json.dumps({**fields, "kwargs": {**kwargs, "gymcore_id": spec.id}})


def _checked(name: str, value: object, row: np.ndarray) -> np.ndarray:
    """Return a value as an array; raise unless it can be assigned to a row."""
    array = np.asarray(value)
    if array.shape != row.shape or not np.can_cast(array.dtype, row.dtype, "same_kind"):
        raise InvalidArgument(
            f"{name}: expected {row.dtype} {list(row.shape)}, got {array.dtype} {list(array.shape)}"
        )
    return array


def _describe_space(kind: str, space: Space) -> Info:
    """Return a space as Minari describes it; raise `ArgumentTypeError` if it cannot."""
    for base, attributes in _ATTRIBUTES.items():
        if isinstance(space, base) and "\0" not in getattr(space, "characters", ""):
            texts = {"charset": space.characters} if isinstance(space, Text) else {}
            values = {name: getattr(space, name) for name in attributes}
            return {"type": base.__name__, **values, **texts}
    if isinstance(space, Tuple):
        return {
            "type": "Tuple",
            "subspaces": [_describe_space(kind, part) for part in space.spaces],
        }
    if isinstance(space, Dict) and all(
        isinstance(key, str) and re.fullmatch(r"(?!\.$)[^/\0]+", key) for key in space.spaces
    ):
        parts = {key: _describe_space(kind, part) for key, part in space.spaces.items()}
        return {"type": "Dict", "subspaces": parts}
    raise ArgumentTypeError(f"{kind}: Minari has no format for the space {space}")


def _json_value(value: object) -> object:
    """Return NumPy's arrays, numbers and dtypes as JSON's types."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def _leaves(
    space: Space, name: str, path: tuple[str | int, ...] = ()
) -> Iterator[tuple[str, tuple[str | int, ...] | None]]:
    """Yield the leaves of a space: the name in the file and the path in a batch.

    The path is None for a tuple or dict without subspaces, which has no values.
    """
    if not isinstance(space, (Tuple, Dict)):
        yield name, path
    elif not space.spaces:
        yield name, None
    else:
        for key, part in space._items():
            child = key if isinstance(space, Dict) else f"_index_{key}"
            yield from _leaves(part, f"{name}/{child}", (*path, key))
