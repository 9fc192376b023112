"""Conversion of lists, deques and sets that grow: arrays with room, and the number of items.

The number is an array of one element, so that functions of the module change both.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from textwrap import indent
from typing import NamedTuple

import numpy as np

from gymcore.jit.conversion.layouts import room
from gymcore.jit.conversion.pools import Pool
from gymcore.jit.conversion.tracing import Kind

__all__ = ["FULL", "FUNCTIONS", "Growing", "item_of"]


class Growing(NamedTuple):
    """A list, deque or set that grows.

    Attributes:
        items: The text of the array.
        length: The text of the array with the number of items.
        width: The number of items of a tuple, list or array that is an item; 0 for numbers.
        item: The type of the items.
        size: The number of items that the array has room for.
        kind: `deque` for one with `maxlen`, `set`, or `list`.
    """

    items: str
    length: str
    width: int
    item: type
    size: int
    kind: type = list

    @property
    def text(self) -> str:
        """The text of the items that the list has."""
        return f"{self.items}[: {self.length}[0]]"


def item_of(
    kinds: set[Kind], pools: Mapping[object, Pool]
) -> tuple[np.dtype, tuple[int, ...], type] | None:
    """Return dtype and shape of an array with room for the items of a list, and their type.

    Args:
        kinds: The kinds that the list had.
        pools: The pools of classes, whose objects may be items.

    Returns:
        None if it had items that are no numbers or rows. A list that never had items gets floats.
    """
    if all(kind.item is None for kind in kinds):
        return np.dtype(np.float64), (room(0),), float
    longest = max((kind.shape or (0,))[0] for kind in kinds)
    items = {kind.item for kind in kinds if kind.item is not None}
    types = {item.type for item in items}
    if types <= pools.keys():
        pool = pools[types.pop()]
        return None if types else (np.dtype(np.int64), (room(longest),), pool.reference)
    shapes = {item.shape or () for item in items}
    numbers = {item.item.type if item.item else item.dtype or item.type for item in items}
    if len(shapes) != 1 or any(np.dtype(number).kind not in "biuf" for number in numbers):
        return None
    kind = np.result_type(*numbers).kind
    dtype = np.dtype({"b": "?", "f": "f8"}.get(kind, "i8"))
    return dtype, (room(longest), *shapes.pop()), items.pop().type


FULL = 'raise IndexError("a list has more items than the conversion has room for")'
_APPEND = f"""\
    if count[0] == len(items):
        {FULL}
    items[count[0]] = value
    count[0] += 1"""
_INSERT = f"""\
    if count[0] == len(items):
        {FULL}
    place = min(max(index + count[0] if index < 0 else index, 0), count[0])
    for k in range(count[0], place, -1):
        items[k] = items[k - 1]
    items[place] = value
    count[0] += 1"""
_POP = """\
    place = index + count[0] if index < 0 else index
    if not 0 <= place < count[0]:
        raise IndexError("pop from an empty list, or index out of range")
    value = items[place]
    for k in range(place, count[0] - 1):
        items[k] = items[k + 1]
    count[0] -= 1
    return value"""
_EXTEND = f"""\
    if count[0] + len(values) > len(items):
        {FULL}
    for value in values:
        items[count[0]] = value
        count[0] += 1"""
_ASSIGN = f"""\
    if len(values) > len(items):
        {FULL}
    for k, value in enumerate(values):
        items[k] = value
    count[0] = len(values)"""
_REMOVE = """\
    place = 0
    while place < count[0] and not {equal}:
        place += 1
    if place == count[0]:
        {missing}
    for k in range(place, count[0] - 1):
        items[k] = items[k + 1]
    count[0] -= 1"""
_PUSH = """\
if count[0] == len(items):
    for k in range(count[0] - 1):
        items[k] = items[k + 1]
    count[0] -= 1
items[count[0]] = value
count[0] += 1"""
_PUSH_LEFT = """\
    count[0] = min(count[0] + 1, len(items))
    for k in range(count[0] - 1, 0, -1):
        items[k] = items[k - 1]
    items[0] = value"""
_PUSH_ALL = f"    for value in values:\n{indent(_PUSH, ' ' * 8)}"
_ADD = f"""\
place = 0
while place < count[0] and not {{equal}}:
    place += 1
if place == len(items):
    {FULL}
if place == count[0]:
    items[place] = value
    count[0] += 1"""
_ADD_ALL = f"    for value in values:\n{indent(_ADD, ' ' * 8)}"
_REMOVE_VALUE, _REMOVE_KEY, _DISCARD = (
    _REMOVE.replace("{missing}", statement)
    for statement in (
        'raise ValueError("the value is not in the list")',
        'raise KeyError("the value is not in the set")',
        "return",
    )
)
_Functions = dict[str, tuple[str, str, tuple[str, ...]]]
_FUNCTIONS: _Functions = {
    "append": ("append_to", _APPEND, ("value",)),
    "insert": ("insert_into", _INSERT, ("index", "value")),
    "pop": ("pop_from", _POP, ("index",)),
    "remove": ("remove_from", _REMOVE_VALUE, ("value",)),
    "extend": ("extend", _EXTEND, ("values",)),
    "assign": ("assign_items", _ASSIGN, ("values",)),
}
_DEQUE_FUNCTIONS = {
    "append": ("push_to", indent(_PUSH, " " * 4), ("value",)),
    "appendleft": ("push_left", _PUSH_LEFT, ("value",)),
    "extend": ("push_all", _PUSH_ALL, ("values",)),
    "assign": ("assign_last", f"    count[0] = 0\n{_PUSH_ALL}", ("values",)),
}
_SET_FUNCTIONS: _Functions = {
    "add": ("add_to", indent(_ADD, " " * 4), ("value",)),
    "assign": ("assign_set", f"    count[0] = 0\n{_ADD_ALL}", ("values",)),
    "discard": ("discard_from", _DISCARD, ("value",)),
    "remove": ("remove_key", _REMOVE_KEY, ("value",)),
    "update": ("add_all", _ADD_ALL, ("values",)),
}
FUNCTIONS: dict[type, _Functions] = {
    list: _FUNCTIONS,
    deque: {**_FUNCTIONS, **_DEQUE_FUNCTIONS},
    set: _SET_FUNCTIONS,
}
"""Name, statements and arguments of the function for each method; `assign` for `items = values`."""
