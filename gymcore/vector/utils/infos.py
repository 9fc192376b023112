"""Merging the info dicts of many environments into one dict of arrays, and taking it apart again.

The merged dict holds, for each key, a column with one entry per environment and, under `_key`, a
boolean mask of the environments that had the key:

| first value of the key               | column                                             |
|--------------------------------------|----------------------------------------------------|
| Python int, float, bool              | zeros of that type, shape `(num_envs,)`            |
| NumPy number                         | zeros of its dtype, shape `(num_envs,)`            |
| array                                | zeros of its dtype, shape `(num_envs, *shape)`     |
| dict                                 | a merged dict of its own                           |
| anything else, and any `final_obs`   | object array of None, shape `(num_envs,)`          |

A later value that its column cannot hold exactly widens the column instead of being cut to fit: an
int column that meets 2.7 becomes float64, one that meets text, or an array of another shape,
becomes an object array.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

FINAL_OBSERVATION = "final_obs"

_NUMERIC_KINDS = "biufc"
_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1
_COLUMN_DTYPES: dict[type, np.dtype[Any]] = {
    bool: np.dtype(np.bool_),
    int: np.dtype(np.int64),
    float: np.dtype(np.float64),
}


def merge_info(
    vector_infos: dict[str, Any], env_info: dict[str, Any], env_num: int, num_envs: int
) -> None:
    """Write one environment's info dict into the merged dict, in place.

    Args:
        vector_infos: The merged dict so far; an empty one to begin with.
        env_info: The info of one environment. Its values are copied into columns where the column
            is numeric, and referred to where it is an object array.
        env_num: Index of that environment.
        num_envs: Number of environments, the length of every column.

    Example:
        >>> infos = {}
        >>> merge_info(infos, {"speed": 1}, env_num=0, num_envs=3)
        >>> merge_info(infos, {"speed": 2.5}, env_num=2, num_envs=3)
        >>> infos["speed"], infos["_speed"]
        (array([1. , 0. , 2.5]), array([ True, False,  True]))
    """
    for key, value in env_info.items():
        mask_key = f"_{key}"
        column = vector_infos.get(key)
        mask = vector_infos.get(mask_key)
        if mask is not None and type(column) is np.ndarray:
            # Nearly every value is a number of its column's type: no need to look further.
            kind = type(value)
            if column.dtype is _COLUMN_DTYPES.get(kind) and (
                kind is not int or _INT64_MIN <= value <= _INT64_MAX
            ):
                column[env_num] = value
                mask[env_num] = True
                continue

        if isinstance(value, dict) and key != FINAL_OBSERVATION:
            if column is None:
                column = vector_infos[key] = {}
            if isinstance(column, dict):
                merge_info(column, value, env_num, num_envs)
            else:
                column = vector_infos[key] = _as_objects(column, mask)
                column[env_num] = value
        else:
            if column is None:
                column = _new_column(key, value, num_envs)
            elif isinstance(column, dict):
                column = _dicts_as_objects(column, vector_infos[mask_key])
            vector_infos[key] = _store(column, mask, env_num, value)

        if mask is None:
            mask = vector_infos[mask_key] = np.zeros(num_envs, dtype=np.bool_)
        mask[env_num] = True


def split_info(vector_infos: dict[str, Any], env_num: int) -> dict[str, Any]:
    """Return what the merged dict holds for one environment, as the dict that environment gave.

    Args:
        vector_infos: A merged dict. A column without a mask counts as present everywhere.
        env_num: Index of the environment.

    Example:
        >>> infos = {}
        >>> merge_info(infos, {"goal": "door", "pose": {"x": 1.5}}, env_num=1, num_envs=2)
        >>> split_info(infos, 0), split_info(infos, 1)
        ({}, {'goal': 'door', 'pose': {'x': np.float64(1.5)}})
    """
    info = {}
    for key, column in vector_infos.items():
        if isinstance(key, str) and key.startswith("_") and key[1:] in vector_infos:
            continue
        mask = vector_infos.get(f"_{key}")
        if mask is None or mask[env_num]:
            info[key] = split_info(column, env_num) if isinstance(column, dict) else column[env_num]
    return info


def _new_column(key: str, value: Any, num_envs: int) -> npt.NDArray[Any]:
    """Return an empty column that fits `value`."""
    kind = type(value)
    if key == FINAL_OBSERVATION:
        return np.full(num_envs, None, dtype=object)
    if kind is float or kind is bool or (kind is int and _INT64_MIN <= value <= _INT64_MAX):
        return np.zeros(num_envs, dtype=np.int64 if kind is int else kind)
    if isinstance(value, np.number):
        return np.zeros(num_envs, dtype=value.dtype)
    if isinstance(value, np.ndarray):
        return np.zeros((num_envs, *value.shape), dtype=value.dtype)
    return np.full(num_envs, None, dtype=object)


def _store(
    column: npt.NDArray[Any], mask: npt.NDArray[np.bool_] | None, env_num: int, value: Any
) -> npt.NDArray[Any]:
    """Put `value` into row `env_num`; return the column, a wider one if it had to be replaced."""
    if not (column.ndim == 1 and column.dtype == object):
        dtype = _common_dtype(column, value)
        if dtype is None:
            column = _as_objects(column, mask)
        elif dtype != column.dtype:
            column = column.astype(dtype)
    column[env_num] = value
    return column


def _common_dtype(column: npt.NDArray[Any], value: Any) -> np.dtype[Any] | None:
    """Return the dtype in which a column of this shape holds `value` too; None if there is none."""
    dtype: np.dtype[Any]
    if isinstance(value, (np.generic, np.ndarray)):
        if value.shape not in ((), column.shape[1:]):
            return None
        dtype = column.dtype if column.dtype == object else value.dtype
    elif isinstance(value, bool):
        dtype = np.dtype(np.bool_)
    elif isinstance(value, float):
        dtype = np.dtype(np.float64)
    elif isinstance(value, int) and _INT64_MIN <= value <= _INT64_MAX:
        dtype = np.dtype(np.int64)
    elif value is None and column.dtype.kind == "f":
        return column.dtype  # NumPy stores None in a float array as nan
    elif isinstance(value, (list, tuple)) and column.ndim > 1:
        try:
            return _common_dtype(column, np.asarray(value))
        except ValueError:  # ragged
            return None
    else:
        return None

    if dtype == column.dtype:
        return dtype
    both_numeric = dtype.kind in _NUMERIC_KINDS and column.dtype.kind in _NUMERIC_KINDS
    if not both_numeric and dtype.kind != column.dtype.kind:
        return None  # NumPy would turn the numbers into text
    return np.result_type(column.dtype, dtype)


def _as_objects(
    column: npt.NDArray[Any], mask: npt.NDArray[np.bool_] | None
) -> npt.NDArray[np.object_]:
    """Return the column as an object array, with None where the mask is not set."""
    objects = np.full(len(column), None, dtype=object)
    if mask is not None:
        for env_num in np.flatnonzero(mask):
            objects[env_num] = column[env_num]
    return objects


def _dicts_as_objects(
    column: dict[str, Any], mask: npt.NDArray[np.bool_]
) -> npt.NDArray[np.object_]:
    """Return a merged dict as an object array of one dict per environment that gave one."""
    objects = np.full(len(mask), None, dtype=object)
    for env_num in np.flatnonzero(mask):
        objects[env_num] = split_info(column, int(env_num))
    return objects
