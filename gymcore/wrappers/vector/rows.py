"""Some rows of batches, of any structure: taken out, put in, and chosen from two."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.error import InvalidAction
from gymcore.spaces import Space
from gymcore.vector.layouts import Layout, layout_of
from gymcore.vector.utils import batch_space, concatenate, create_empty_array, iterate

__all__ = ["RowsOf"]

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
