"""Checkpoints of PPO as files, whose contents are checked before use.

A checkpoint is an uncompressed .npz file of arrays and JSON text. The sizes stated in it are
checked against the size of the file, which thus bounds the memory needed to read it.
"""

from __future__ import annotations

import inspect
import json
import math
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import IO, Any
from zipfile import ZIP_STORED, ZipFile

import numpy as np
from numpy.lib import format as npy

from gymcore.base import seeding
from gymcore.base.arguments import count
from gymcore.base.new_file import write_npz
from gymcore.envs.making import make_vec
from gymcore.error import ArgumentTypeError, InvalidArgument
from gymcore.learn.settings import Settings
from gymcore.specs.env_spec import Kwargs
from gymcore.specs.ids import check_no_module

Array = np.ndarray

_VERSION = 1

# Dtype and number of axes of each array. Only the native engine saves the arrays of lanes.
_ARRAYS: dict[str, tuple[type, int]] = {
    "parameters": (np.float32, 1),
    "adam": (np.float32, 2),
    "moments_0": (np.float64, 2),
    "moments_1": (np.float64, 2),
    "recent": (np.float64, 1),
    "curve": (np.float64, 2),
    "gain": (np.float64, 1),
}
_LANE_ARRAYS = {"gain", "lanes", "observations"}
_NAMES = {*_ARRAYS, *_LANE_ARRAYS, "metadata"}

# Limits on what a file alone can request: lanes, steps of a rollout, epochs, bytes of a rollout's
# observations, and outputs of hidden layers in a minibatch.
MAX_LANES, MAX_STEPS, MAX_EPOCHS, MAX_BYTES, MAX_OUTPUTS = 1024, 1 << 20, 1000, 1 << 28, 1 << 22


@dataclass
class Checkpoint:
    """The contents of a file. The shapes of arrays are checked later, against the environment.

    Attributes:
        env_id: Id of the environment.
        env_kwargs: Arguments of the environment.
        settings: Hyperparameters.
        steps: Number of steps taken by all lanes together.
        adam_steps: Number of steps of the optimizer.
        random: State of the random generator.
        shapes: Shapes of an observation and of the network's weights; None in older files.
        arrays: Arrays by name; those of lanes only with the native engine.
    """

    env_id: str
    env_kwargs: Kwargs
    settings: Settings
    steps: int
    adam_steps: int
    random: Mapping[str, object]
    shapes: list[list[int]] | None
    arrays: dict[str, Array]

    def check_size(self, overrides: Mapping[str, object], observation_bytes: int) -> None:
        """Raise `InvalidArgument` if an update is larger than a file alone may request.

        `overrides` contains the settings that the caller has set explicitly.
        """
        settings = self.settings
        steps = settings.num_envs * settings.num_steps
        outputs = min(settings.minibatch, steps) * sum(settings.hidden)
        if "num_envs" not in overrides:
            count("num_envs", settings.num_envs, maximum=MAX_LANES)
            if "num_steps" not in overrides:
                count("num_envs * num_steps", steps, maximum=MAX_STEPS)
                count("bytes of a rollout", steps * observation_bytes, maximum=MAX_BYTES)
        if "epochs" not in overrides:
            count("epochs", settings.epochs, maximum=MAX_EPOCHS)
        if "minibatch" not in overrides:
            count("minibatch * hidden", outputs, maximum=MAX_OUTPUTS)

    def write(self, path: str | os.PathLike[str], *, overwrite: bool) -> None:
        """Write the file, which appears when it is complete; raise `OSError` as `NewFile` does."""
        metadata = {
            "version": _VERSION,
            "id": self.env_id,
            "env_kwargs": self.env_kwargs,
            "settings": asdict(self.settings),
            "steps": self.steps,
            "adam_steps": self.adam_steps,
            "random": self.random,
            "shapes": self.shapes,
        }
        arrays = {**self.arrays, "metadata": np.array(json.dumps(metadata))}
        write_npz(path, arrays, overwrite=overwrite)


@contextmanager
def checkpoint_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Convert any error caused by a damaged or forged file to an `InvalidArgument`."""
    try:
        yield
    except Exception as problem:
        raise InvalidArgument(f"{path}: not a checkpoint of gymcore train: {problem}") from None


def read_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """Read the contents of a file.

    Raises:
        InvalidArgument: If the file is not a checkpoint of this version.
        OSError: If the file cannot be read.
    """
    with open(path, "rb", opener=_without_waiting) as file, checkpoint_errors(path):
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("expected a regular file")
        arrays = _read_arrays(file)
        metadata = json.loads(str(arrays.pop("metadata")))
        if metadata["version"] != _VERSION:
            raise ValueError(f"expected version {_VERSION}, got {metadata['version']!r:.20}")
        # Older files lack this setting.
        settings = Settings(**{"scale_actions": False, **metadata["settings"]})
        return Checkpoint(
            metadata["id"],
            _env_kwargs(metadata.get("env_kwargs")),
            settings,
            count("steps", metadata["steps"], maximum=1 << 62),
            count("adam_steps", metadata["adam_steps"], maximum=1 << 62),
            seeding.bit_generator_of(metadata["random"]).state,
            metadata.get("shapes"),
            arrays,
        )


def _without_waiting(path: str, flags: int) -> int:
    """Open a file; for a pipe, do not wait for a writer."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _env_kwargs(value: object) -> Kwargs:
    """Return the environment's arguments; reject those of `make_vec` itself, such as `wrappers`."""
    kwargs = {} if value is None else value
    if not isinstance(kwargs, dict):
        raise ArgumentTypeError(f"env_kwargs: expected a dict, got {kwargs!r:.80}")
    if reserved := kwargs.keys() & inspect.signature(make_vec).parameters.keys():
        raise InvalidArgument(f"env_kwargs: expected arguments of the environment, got {reserved}")
    check_no_module(kwargs)
    return kwargs


def _read_arrays(file: IO[bytes]) -> dict[str, Array]:
    """Return the arrays in the file after checking dtypes, numbers of axes and values."""
    arrays: dict[str, Array] = {}
    remaining = os.fstat(file.fileno()).st_size
    with ZipFile(file) as archive:
        for entry in archive.infolist():
            name = entry.filename.removesuffix(".npy")
            if name not in _NAMES or name in arrays:
                raise ValueError(f"expected each array of a checkpoint once, got {name!r:.80}")
            if entry.compress_type != ZIP_STORED:
                raise ValueError(f"{name}: expected an entry that is not compressed")
            if (remaining := remaining - entry.file_size) < 0:
                raise ValueError(f"{name}: expected entries that are smaller than the file")
            with archive.open(entry) as content:
                arrays[name] = _read_array(name, content, entry.file_size)
    if missing := _NAMES - _LANE_ARRAYS - arrays.keys():
        raise ValueError(f"expected the arrays {', '.join(sorted(missing))}")
    if (present := _LANE_ARRAYS & arrays.keys()) not in (set(), _LANE_ARRAYS):
        raise ValueError(f"expected all or none of {sorted(_LANE_ARRAYS)}, got {sorted(present)}")
    for name, (dtype, axes) in _ARRAYS.items():
        array = arrays.get(name)
        if array is None:
            continue
        if array.dtype != dtype or array.ndim != axes or not np.isfinite(array).all():
            raise ValueError(
                f"{name}: expected finite numbers of {np.dtype(dtype)} in {axes} axes, got "
                f"{array.dtype} {array.shape}"
            )
    if any((arrays[name][1:] < 0).any() for name in ("moments_0", "moments_1", "adam")):
        raise ValueError("expected variances and squares of at least 0")
    return arrays


def _read_array(name: str, content: Any, nbytes: int) -> Array:
    """Return an array with its own memory; its header is checked before memory is allocated."""
    if npy.read_magic(content) != (1, 0):
        raise ValueError(f"{name}: expected version 1.0 of the format")
    shape, fortran_order, dtype = npy.read_array_header_1_0(content)
    remaining = nbytes - content.tell()
    if dtype.hasobject or fortran_order or math.prod(shape) * dtype.itemsize != remaining:
        raise ValueError(f"{name}: expected an array of {remaining} bytes, got {dtype} {shape}")
    data = bytearray(remaining)
    if content.readinto(data) != remaining or content.read(1):
        raise ValueError(f"{name}: expected {remaining} bytes")
    return np.frombuffer(data, dtype).reshape(shape)
