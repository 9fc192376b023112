"""Merging of infos, slow and plain, one value at a time by NumPy: the compiled one's oracle."""

from __future__ import annotations

from typing import Any

import numpy as np


def merge_info(
    vector_infos: dict[Any, Any], env_info: dict[Any, Any], env_num: int, num_envs: int
) -> None:
    for key, value in env_info.items():
        column = vector_infos.get(key)
        mask = vector_infos.get(f"_{key}")
        if mask is None:
            mask = np.zeros(num_envs, dtype=bool)

        if isinstance(value, dict) and key != "final_obs" and isinstance(column, dict | None):
            column = {} if column is None else column
            merge_info(column, value, env_num, num_envs)
        else:
            if column is None:
                column = new_column(key, value, num_envs)
            column = widened(column, mask, value)
            column[env_num] = value

        vector_infos[key] = column
        vector_infos[f"_{key}"] = mask
        mask[env_num] = True


def new_column(key: Any, value: Any, num_envs: int) -> np.ndarray[Any, Any]:
    kind = type(value)
    if key != "final_obs":
        if kind in (bool, float) or (kind is int and is_int64(value)):
            return np.zeros(num_envs, dtype=np.int64 if kind is int else kind)
        if isinstance(value, np.number | np.ndarray):
            return np.zeros((num_envs, *value.shape), dtype=value.dtype)
    return np.full(num_envs, None, dtype=object)


def widened(column: Any, mask: np.ndarray[Any, Any], value: Any) -> np.ndarray[Any, Any]:
    """Return the column, or one that holds its values and this one too."""
    if isinstance(column, dict):
        objects = np.full(len(mask), None, dtype=object)
        for env_num in np.flatnonzero(mask):
            objects[env_num] = split_info(column, int(env_num))
        return objects
    if isinstance(value, dict) or column.shape != (len(mask),) or column.dtype != object:
        dtype = None if isinstance(value, dict) else common_dtype(column, value)
        if dtype is not None:
            return column if dtype == column.dtype else column.astype(dtype)
        objects = np.full(len(mask), None, dtype=object)
        for env_num in np.flatnonzero(mask):
            objects[env_num] = column[env_num]
        return objects
    return column


def common_dtype(column: np.ndarray[Any, Any], value: Any) -> np.dtype[Any] | None:
    """Return the dtype of rows of this shape that hold the column and this value; or None."""
    if value is None:
        return column.dtype if column.dtype.kind == "f" else None  # nan
    if isinstance(value, list | tuple) and column.ndim > 1:
        try:
            return common_dtype(column, np.asarray(value))
        except ValueError:  # ragged
            return None
    if isinstance(value, np.generic | np.ndarray):
        if value.shape not in ((), column.shape[1:]):
            return None
        if column.dtype == object:
            return column.dtype
        dtype = value.dtype
    elif isinstance(value, bool | float) or (isinstance(value, int) and is_int64(value)):
        base = next(kind for kind in (bool, float, int) if isinstance(value, kind))
        dtype = np.dtype(np.int64 if base is int else base)
    else:
        return None
    if dtype == column.dtype:
        return dtype
    numeric = [one.kind in "biufc" for one in (dtype, column.dtype)]
    if not all(numeric) and dtype.kind != column.dtype.kind:
        return None
    return np.result_type(column.dtype, dtype)


def is_int64(value: int) -> bool:
    return -(2**63) <= value < 2**63


def split_info(vector_infos: dict[Any, Any], env_num: int) -> dict[Any, Any]:
    masks = {f"_{key}" for key in vector_infos}
    return {
        key: split_info(column, env_num) if isinstance(column, dict) else column[env_num]
        for key, column in vector_infos.items()
        if key not in masks and vector_infos.get(f"_{key}", {env_num: True})[env_num]
    }
