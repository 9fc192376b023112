"""What vector wrappers with a state for each lane share: some rows of batches, and joined infos."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.error import InvalidAction
from gymcore.spaces import Space
from gymcore.vector.gym26_infos import add_gym26_names, remove_gym26_names
from gymcore.vector.layouts import Layout, layout_of
from gymcore.vector.utils import batch_space, concatenate, create_empty_array, iterate

__all__ = ["RowsOf", "join_infos", "stepped", "without"]


Indices = npt.NDArray[np.int64]


class RowsOf:
    """Knows how batches of a space are laid out: as arrays, dicts and tuples of them, or lists.

    Example:
        >>> import numpy as np
        >>> from gymcore.spaces import Dict, Discrete, Text
        >>> rows = RowsOf(Dict(x=Discrete(9), name=Text(2)))
        >>> batch = {"name": ("a", "b", "c"), "x": np.array([5, 6, 7])}
        >>> part = rows.take(batch, np.array([2, 0]))
        >>> part["x"], part["name"]
        (array([7, 5]), ('c', 'a'))
    """

    def __init__(self, space: Space[Any]) -> None:
        """Take the space.

        Args:
            space: The space of one row.
        """
        self.layout = layout_of(space)

    def check_actions(self, actions: Any, count: int) -> None:
        """Raise unless this is a batch of so many rows, as far as that shows without the space.

        Args:
            actions: What a caller gave.
            count: The rows wanted.

        Raises:
            InvalidAction: The structure is another one, or an array has another number of rows.
        """
        try:
            found = set(_counts(self.layout, actions))
        except (TypeError, KeyError, IndexError):
            raise InvalidAction(
                f"actions: expected a batch of {count}, got {type(actions).__name__}"
            ) from None
        if found - {count}:
            raise InvalidAction(f"actions: expected a batch of {count}, got {max(found - {count})}")

    def own(self, batch: Any) -> Any:
        """Return a batch whose arrays may be written to: copies of those that are views.

        Args:
            batch: What an environment returned, and nobody else holds.
        """
        return _own(self.layout, batch)

    def copy(self, batch: Any) -> Any:
        """Return a copy of a batch; lists of numbers become arrays.

        Args:
            batch: Any batch of the space.
        """
        return _copy(self.layout, batch)

    def take(self, batch: Any, rows: Indices) -> Any:
        """Return some rows.

        Args:
            batch: Of `[n, ...]` arrays, or of sequences; lists of n numbers count as arrays.
            rows: int64 `[k]`.

        Returns:
            A batch of k, apart from the other one where it is arrays.
        """
        return _take(self.layout, batch, rows)

    def put(self, batch: Any, rows: Indices, part: Any) -> Any:
        """Put rows into a batch.

        Args:
            batch: As `own` returns it; arrays are written to.
            rows: int64 `[k]`, where.
            part: A batch of k.

        Returns:
            The batch, with the same arrays.
        """
        return _put(self.layout, batch, rows, part)

    def choose(self, mask: npt.NDArray[np.bool_], batch: Any, other: Any) -> Any:
        """Return the rows of one batch or of another.

        Args:
            mask: bool `[n]`, whether to take the row of `batch`.
            batch: Of n.
            other: Of n.

        Returns:
            A new batch.
        """
        return _choose(self.layout, mask, batch, other)


def _parts(layout: Layout) -> tuple[tuple[Any, Layout], ...]:
    """Keys or indices of a layout's parts, and their layouts."""
    if layout[0] == "tuple":
        return tuple(enumerate(layout[1]))
    return tuple(zip(layout[1], layout[2], strict=True))


def _counts(layout: Layout, batch: Any) -> Iterator[int]:
    """Rows of every part; of lists of the rows' own objects too."""
    if layout[0] == "array":
        yield np.shape(batch)[0]
    elif layout[0] == "objects":
        yield _length(batch)
    else:
        for key, part in _parts(layout):
            yield from _counts(part, batch[key])


def _joined(layout: Layout, parts: list[Any]) -> Any:
    return tuple(parts) if layout[0] == "tuple" else dict(zip(layout[1], parts, strict=True))


def _listed(layout: Layout, batch: Any) -> list[Any]:
    space = layout[1].space
    return list(iterate(batch_space(space, _length(batch)), batch))


def _length(batch: Any) -> int:
    """Rows of a batch of objects: of a stacked one its arrays tell."""
    while isinstance(batch, dict):
        batch = next(iter(batch.values()))
    return len(batch)


def _batched(layout: Layout, items: list[Any]) -> Any:
    space = layout[1].space
    return deepcopy(concatenate(space, items, create_empty_array(space, len(items))))


def _own(layout: Layout, batch: Any) -> Any:
    if layout[0] == "array":
        kept = type(batch) is np.ndarray and batch.flags.writeable and batch.base is None
        return batch if kept else np.array(batch)
    if layout[0] == "objects":
        return batch
    return _joined(layout, [_own(part, batch[key]) for key, part in _parts(layout)])


def _copy(layout: Layout, batch: Any) -> Any:
    if layout[0] == "array":
        return np.array(batch)
    if layout[0] == "objects":
        return deepcopy(batch)
    return _joined(layout, [_copy(part, batch[key]) for key, part in _parts(layout)])


def _take(layout: Layout, batch: Any, rows: Indices) -> Any:
    if layout[0] == "array":
        return np.asarray(batch)[rows]
    if layout[0] == "objects":
        items = _listed(layout, batch)
        return _batched(layout, [items[row] for row in rows.tolist()])
    return _joined(layout, [_take(part, batch[key], rows) for key, part in _parts(layout)])


def _put(layout: Layout, batch: Any, rows: Indices, part: Any) -> Any:
    if layout[0] == "array":
        batch[rows] = part
        return batch
    if layout[0] == "objects":
        items = _listed(layout, batch)
        for row, item in zip(rows.tolist(), _listed(layout, part), strict=True):
            items[row] = item
        return _batched(layout, items)
    return _joined(
        layout, [_put(each, batch[key], rows, part[key]) for key, each in _parts(layout)]
    )


def _choose(layout: Layout, mask: npt.NDArray[np.bool_], batch: Any, other: Any) -> Any:
    if layout[0] == "array":
        one, two = np.asarray(batch), np.asarray(other)
        return np.where(mask.reshape((-1,) + (1,) * (one.ndim - 1)), one, two)
    if layout[0] == "objects":
        pairs = zip(_listed(layout, batch), _listed(layout, other), mask.tolist(), strict=True)
        return _batched(layout, [one if first else two for one, two, first in pairs])
    parts = [_choose(part, mask, batch[key], other[key]) for key, part in _parts(layout)]
    return _joined(layout, parts)


def stepped(
    wrapper: Any, actions: Any, env_ids: Sequence[int] | npt.NDArray[Any] | None
) -> tuple[tuple[Any, Any, Any, Any, dict[str, Any]], npt.NDArray[np.int64] | None]:
    """Step what a wrapper wraps, all of it or some lanes.

    Args:
        wrapper: The wrapper.
        actions: A row for each lane that is stepped.
        env_ids: Which lanes, indices or a mask; None for all.

    Returns:
        The five results, and the lanes as int64 `[k]`, or None for all.

    Raises:
        UnsupportedMode: What is wrapped steps all lanes or none.
    """
    if env_ids is None:
        return wrapper.env.step(actions), None
    results = wrapper.env.step_lanes(actions, env_ids)
    return results, results[4]["env_id"]


Rows = npt.NDArray[np.int64]


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
    gym26 = False
    for infos, source, target in sorted(parts, key=lambda part: int(part[2][0])):
        gym26 = gym26 or "final_observation" in infos
        _join(joined, remove_gym26_names(infos), source, target, num_rows)
    if len(parts) > 1:
        joined = _ordered(joined)
    return add_gym26_names(joined) if gym26 else joined


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
