"""Infos of a step that lanes took at different times: each lane's from the one it was in last."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.vector.legacy_infos import LegacyInfos, with_legacy_names

__all__ = ["join_infos", "plain_infos", "replace_final_obs", "without"]

Rows = npt.NDArray[np.int64]

_GYM_NAMES = ("final_observation", "_final_observation")


def replace_final_obs(infos: dict[str, Any], last: Any) -> None:
    """Put other last observations into the infos of a same-step step.

    Args:
        infos: With `final_obs`; changed.
        last: An array `[num_envs, ...]` or an object array; kept.
    """
    if isinstance(infos, LegacyInfos):
        infos.replace_final_obs(last)
    else:
        infos["final_obs"] = last


def plain_infos(infos: dict[str, Any]) -> dict[str, Any]:
    """Return infos without the names that `LegacyVectorEnv` adds; the same dict if it did not.

    Args:
        infos: Of a reset or step.
    """
    if not isinstance(infos, LegacyInfos):
        return infos
    source = infos._source
    plain = {key: dict.__getitem__(infos, key) for key in infos if key not in _GYM_NAMES}
    for key in ("final_info", "_final_info"):
        plain.pop(key)
        if key in source:
            plain[key] = source[key]
    return plain


def without(infos: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return infos without some entries and their masks.

    Args:
        infos: Of a reset or step.
        *names: The entries' keys.

    Example:
        >>> without({"final_obs": 1, "_final_obs": 2, "speed": 3}, "final_obs")
        {'speed': 3}
    """
    dropped = {*names, *(f"_{name}" for name in names)}
    return {key: value for key, value in infos.items() if key not in dropped}


def join_infos(parts: list[tuple[dict[str, Any], Rows, Rows]], num_rows: int) -> dict[str, Any]:
    """Put rows of several merged infos into one.

    Args:
        parts: Of each: merged infos; the rows of its arrays that count, at least one; and where
            they belong in the result. Entries that none of the rows has are left out.
        num_rows: Rows of the result.

    Returns:
        A new dict, of new arrays, with keys in the order in which the first row that has them does.

    Example:
        >>> import numpy as np
        >>> first = {"speed": np.array([1.0, 2.0]), "_speed": np.array([True, True])}
        >>> again = {"speed": np.array([5.0]), "_speed": np.array([True])}
        >>> parts = [(first, np.array([0]), np.array([0])), (again, np.array([0]), np.array([1]))]
        >>> join_infos(parts, 2)["speed"]
        array([1., 5.])
    """
    joined: dict[str, Any] = {}
    legacy = False
    for infos, source, target in sorted(parts, key=lambda part: int(part[2][0])):
        legacy = legacy or isinstance(infos, LegacyInfos)
        _join(joined, plain_infos(infos), source, target, num_rows)
    if len(parts) > 1:
        joined = _ordered(joined)
    if legacy and "final_obs" in joined:
        return with_legacy_names(joined)
    return joined


def _ordered(joined: dict[str, Any]) -> dict[str, Any]:
    """Return the same entries in the order in which rows, one after another, bring them along."""
    keys = [key for key in joined if not (str(key).startswith("_") and key[1:] in joined)]

    def first_row(key: str) -> int:
        mask = joined.get(f"_{key}")
        return -1 if mask is None else int(mask.argmax())

    ordered = {}
    for key in sorted(keys, key=first_row):
        value = joined[key]
        ordered[key] = _ordered(value) if type(value) is dict else value
        if f"_{key}" in joined:
            ordered[f"_{key}"] = joined[f"_{key}"]
    return ordered


def _join(
    joined: dict[str, Any], infos: dict[str, Any], source: Rows, target: Rows, num_rows: int
) -> None:
    for key, column in infos.items():
        if str(key).startswith("_") and key[1:] in infos:
            continue  # the mask of another entry
        mask = infos.get(f"_{key}")
        rows, places = source, target
        if isinstance(mask, np.ndarray):
            has = mask[source]
            if not has.any():
                continue
            rows, places = source[has], target[has]
        _join_column(joined, key, column, rows, places, num_rows)
        if isinstance(mask, np.ndarray):
            flags = joined.get(f"_{key}")
            if flags is None:
                flags = joined[f"_{key}"] = np.zeros(num_rows, np.bool_)
            flags[places] = True


def _join_column(
    joined: dict[str, Any], key: str, column: Any, rows: Rows, places: Rows, num_rows: int
) -> None:
    there = joined.get(key)
    if isinstance(column, dict) and isinstance(there, dict | None):
        _join(joined.setdefault(key, {}), column, rows, places, num_rows)
        return
    if not isinstance(column, np.ndarray) or (there is not None and type(there) is not np.ndarray):
        joined[key] = column  # no column of lanes: something of the whole batch
        return
    if there is None:
        there = _empty(num_rows, column)
    elif there.shape[1:] != column.shape[1:] or not _fits(column.dtype, there.dtype):
        there = _wider(there, column, joined.get(f"_{key}"))
    if there.dtype == object and column.dtype != object:
        for row, place in zip(rows.tolist(), places.tolist(), strict=True):
            there[place] = column[row]
    else:
        there[places] = column[rows]
    joined[key] = there


def _empty(num_rows: int, like: npt.NDArray[Any]) -> npt.NDArray[Any]:
    shape = (num_rows, *like.shape[1:])
    return np.full(shape, None, object) if like.dtype == object else np.zeros(shape, like.dtype)


def _fits(dtype: np.dtype[Any], into: np.dtype[Any]) -> bool:
    if into.kind == "O" or dtype.kind == "O":
        return into.kind == "O"
    return np.result_type(dtype, into) == into


def _wider(there: npt.NDArray[Any], column: npt.NDArray[Any], mask: Any) -> npt.NDArray[Any]:
    """Return a column with room for both."""
    numbers = there.dtype.kind in "biufc" and column.dtype.kind in "biufc"
    if numbers and there.shape[1:] == column.shape[1:]:
        return there.astype(np.result_type(there.dtype, column.dtype))
    objects = np.full(len(there), None, object)
    for i in range(len(there)) if mask is None else np.flatnonzero(mask).tolist():
        objects[i] = there[i]
    return objects
