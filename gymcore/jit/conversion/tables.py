"""Constants of any structure, such as tables of transitions, as arrays of numbers."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gymcore.jit.conversion.layouts import code_of, items_of, number_array

__all__ = ["Table"]


class Table(NamedTuple):
    """A part of a constant that an expression selects: `self.P[state][action]`.

    Attributes:
        name: Name of the constant that the arrays get, with the constant keys.
        values: All values that the expression may have, in the order of the indices; None where
            there is none.
        shape: The number of values of each index.
        indices: The expression of each index.
    """

    name: str
    values: Sequence[object]
    shape: tuple[int, ...] = ()
    indices: tuple[ast.expr, ...] = ()

    @property
    def first(self) -> object:
        """One of the values."""
        return next((value for value in self.values if value is not None), None)

    def item(self, key: object) -> Table:
        """Return the part for a constant key."""
        values = [None if v is None else _item(v, key) for v in self.values]
        return self._replace(name=f"{self.name}_{str(key).strip('-')}", values=values)

    def items(self) -> dict[str, Table] | None:
        """Return the parts of values that have the same items; None if they do not."""
        keys = [items_of(value) for value in self.values if value is not None]
        first = keys[0] if keys else None
        if first is None or any(k is None or k.keys() != first.keys() for k in keys):
            return None
        is_sequence = isinstance(self.first, (list, tuple))
        return {key: self.item(k if is_sequence else key) for k, key in enumerate(first)}

    def at(self, index: ast.expr) -> Table | None:
        """Return the part for an index that is computed; None if the values have no such index."""
        rows = [_row(value) for value in self.values]
        if any(row is None for row in rows):
            return None
        length = max(len(row) for row in rows if row is not None)
        values = [
            v for row in rows if row is not None for v in [*row, *[None] * (length - len(row))]
        ]
        return Table(self.name, values, (*self.shape, length), (*self.indices, index))

    def lengths(self) -> np.ndarray:
        """Return the number of items of each value."""
        rows = [len(_row(value) or ()) for value in self.values]
        return np.array(rows, np.int64).reshape(self.shape)

    def is_row(self) -> bool:
        """Return whether the value is a row of numbers that no index selects."""
        array = self.array()
        return array is not None and array.ndim == 1 and not self.indices

    def array(self) -> np.ndarray | None:
        """Return the values as an array with the indices first; None if they are no numbers."""
        present = next((number_array(value) for value in self.values if value is not None), None)
        if present is None:
            return None
        filler = np.zeros_like(present).tolist()
        array = number_array([filler if value is None else value for value in self.values])
        return None if array is None else array.reshape((*self.shape, *array.shape[1:]))


def _item(value: Any, key: Any) -> object:
    is_container = isinstance(value, (dict, list, tuple, np.ndarray, str))
    is_attribute = isinstance(key, str) and not isinstance(value, dict)
    return value[key] if is_container and not is_attribute else getattr(value, str(key))


def _row(value: object) -> list[object] | None:
    """Return the items of a value by their indices 0, 1, ...; None if it has no such items."""
    if value is None:
        return []
    if isinstance(value, dict):
        numbers = [
            int(key) if isinstance(key, (int, np.integer)) else code_of(key) for key in value
        ]
        keys = [number for number in numbers if number is not None and 0 <= number < 4096]
        items = dict(zip(keys, value.values(), strict=False))
        is_valid = len(keys) == len(value)
        return [items.get(k) for k in range(max(keys, default=-1) + 1)] if is_valid else None
    return list(value) if isinstance(value, (list, tuple, str, np.ndarray)) else None
