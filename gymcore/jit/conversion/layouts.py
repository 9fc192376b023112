"""How the values of an attribute are stored in the state of a lane."""

from __future__ import annotations

import contextlib
import enum
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np

from gymcore import spaces
from gymcore.jit.conversion.source import changed_by_methods, is_storable
from gymcore.jit.declarations import Field
from gymcore.spaces.space import Space

__all__ = [
    "NUMBERS",
    "Layout",
    "Reference",
    "code_of",
    "columns_of",
    "growing_layout",
    "is_number",
    "items_of",
    "layout_of",
    "leaves",
    "number_array",
    "room",
    "text_of",
]

_LEAST_ROOM, _LONGEST = 32, 150  # items of lists that grow
_FIXED_LENGTH = "give it a fixed length, such as an array and a count"
_CHANGES = {
    "set": "make it an array of bools",
    "dict": "make it an array, or an attribute for each key",
    **dict.fromkeys(("Random", "RandomState"), "draw from `self.np_random`"),
}
NUMBERS = (bool, int, float, np.bool_, np.integer, np.floating)


class Reference(int):
    """The number of an object of a pool, which stands for it; each pool has a type of its own."""


class Layout(NamedTuple):
    """The fields for a value: a number, an array, or a record of layouts.

    Attributes:
        kind: Type of the value, such as float, np.ndarray, list, or a named tuple's class. A deque
            without `maxlen` is a list.
        dtype: Type of a number, or of the elements of an array; None for a record.
        shape: Shape of an array.
        items: Layout of each item of a record, by name.
        optional: Whether the value may be None; a field of its own says whether it is.
        grows: Whether the value is a list, deque or set that has from 0 to `shape[0]` items. A
            field of its own, an array of one element, has their number.
        item: The type of the items of a list that grows, a tuple of objects, or a dict by `keys`.
        lists: For a list of lists that grow, their number; `shape[0]` and the field for the number
            of items have a row for each.
        keys: The keys of a dict of numbers that is an array.
    """

    kind: type
    dtype: np.dtype | None
    shape: tuple[int, ...] = ()
    items: dict[str, Layout] | None = None
    optional: bool = False
    grows: bool = False
    item: type = float
    lists: int = 0
    keys: tuple[object, ...] = ()

    def fields(self, name: str) -> Iterator[Field]:
        """Yield the fields of the state."""
        if self.optional:
            yield Field(self.flag(name), np.dtype(bool), ())
        yield from self.parts(name)

    def parts(self, name: str) -> list[Field]:
        """Return the fields without the one for None."""
        count = Field(self.length(name), np.dtype(np.int64), (self.lists or 1,))
        if self.dtype is not None:
            return [Field(name, self.dtype, self.shape), *([count] * self.grows)]
        items = (self.items or {}).items()
        return [field for key, item in items for field in item.fields(f"{name}_{key}")]

    @staticmethod
    def flag(name: str) -> str:
        """Return the name of the field that is False if the value is None."""
        return f"has_{name.lstrip('_')}"

    @staticmethod
    def length(name: str) -> str:
        """Return the name of the field with the number of items of a list that grows."""
        return f"length_of_{name.lstrip('_')}"

    def growing(self, name: str, wanted: str) -> Layout:
        """Return the layout for the attribute `name` whose part `wanted` is a list that grows."""
        if name == wanted:
            return self._replace(shape=(room(self.shape[0]), *self.shape[1:]), grows=True)
        if self.items is None:
            return self
        parts = self.items.items()
        return self._replace(items={k: v.growing(f"{name}_{k}", wanted) for k, v in parts})

    def indexed(self, name: str, wanted: str) -> Layout:
        """Return the layout for the attribute `name` whose part `wanted` has items at indices."""
        if self.items is None:
            return self
        parts = self.items.items()
        if name != wanted:
            return self._replace(items={k: v.indexed(f"{name}_{k}", wanted) for k, v in parts})
        item, keys = next(iter(self.items.values())), tuple(self.items)
        shape, keys = (len(self.items), *item.shape), keys if self.kind is dict else ()
        return Layout(self.kind, item.dtype, shape, item=item.kind, keys=keys)

    def without(self, unread: Callable[[str], bool]) -> Layout:
        """Return the layout without lists that grow and are not read."""
        items, is_dict = (self.items or {}).items(), self.kind is dict  # keys are no attributes
        parts = {k: v.without(unread) for k, v in items if is_dict or not (v.grows and unread(k))}
        return self._replace(items=parts) if self.items else self


def room(longest: int) -> int:
    """Return the room for a list that grows, after the largest number of items that it had."""
    return max(_LEAST_ROOM, 4 * longest)


def growing_layout(
    values: Sequence[object], dtype: np.dtype, shape: tuple[int, ...], item: type
) -> Layout:
    """Return the layout of lists, deques or sets that grow.

    Args:
        values: Some of them.
        dtype: Type of their numbers.
        shape: Shape of an array with room for their items.
        item: Type of the items.

    Raises:
        ValueError: If they are of different types, with the reason and a change.
    """
    kinds = {(type(value), getattr(value, "maxlen", None)) for value in values}
    kind, maxlen = kinds.pop()
    if kinds or maxlen == 0:
        raise ValueError("is a list, a deque or a set in turn", "give it one type and maxlen")
    if maxlen is not None:
        return Layout(deque, dtype, (maxlen, *shape[1:]), grows=True, item=item)
    return Layout(set if kind is set else list, dtype, shape, grows=True, item=item)


def items_of(value: object) -> dict[str, object] | None:
    """Return the items of a named tuple, an object, a dict with texts as keys, or a sequence."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return dict(zip(value._fields, value, strict=True))
    if is_storable(type(value)):
        return dict(vars(value))
    if isinstance(value, dict):
        are_names = all(isinstance(key, str) and key.isidentifier() for key in value)
        return value if are_names else None
    if isinstance(value, (list, tuple)):
        return {str(k): item for k, item in enumerate(value)}
    return None


def number_array(value: object) -> np.ndarray | None:
    """Return a number, or numbers in an array or rectangular sequences, as an array; else None.

    Texts and members of enumerations are numbers too (`code_of`). The numbers of a sequence must
    all be bools, or none of them.
    """
    code = code_of(value)
    if code is not None or isinstance(value, NUMBERS):
        return np.asarray(value if code is None else code)
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return value
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, (list, tuple)) or hasattr(value, "_fields") or not value:
        return None
    rows = [row for row in map(number_array, value) if row is not None]
    shapes = {(row.shape, row.dtype.kind == "b") for row in rows}
    return np.array(rows) if len(rows) == len(value) and len(shapes) == 1 else None


def leaves(space: Space, *keys: int | str) -> Iterator[tuple[tuple[int | str, ...], Space]]:
    """Yield the keys and the space of each part of a space that is no Dict or Tuple."""
    if isinstance(space, spaces.Dict):
        parts: Iterable[tuple[int | str, Space]] = space.spaces.items()
    elif isinstance(space, spaces.Tuple):
        parts = enumerate(space.spaces)
    else:
        yield keys, space
        return
    for key, part in parts:
        yield from leaves(part, *keys, key)


def is_number(space: Space) -> bool:
    """Return whether the values of a space are numbers."""
    return isinstance(space, spaces.Discrete) or space.shape == ()


def layout_of(samples: Sequence[object], is_assigned: bool = True) -> Layout:
    """Return the layout for some values.

    Args:
        samples: The values.
        is_assigned: Whether objects are replaced. Otherwise, only the attributes that their
            methods change are stored.

    Raises:
        ValueError: If there is none, with the reason and a change.
    """
    values = [value for value in samples if value is not None]
    if not values:
        return Layout(type(None), np.dtype(bool))
    layout = _layout_of_values(values, is_assigned)
    return layout._replace(optional=len(values) < len(samples))


def _layout_of_values(values: list[Any], is_assigned: bool) -> Layout:
    kind = type(values[0])
    kinds = {type(value) for value in values}
    if len(kinds) > 1 and any(issubclass(each, Reference) for each in kinds):
        names = " or ".join(sorted(each.__name__ for each in kinds))
        raise ValueError(f"is {names}, objects of several classes", "give it one class")
    if all(isinstance(value, (*NUMBERS, enum.Enum)) for value in values):
        return Layout(kind, _number_dtype(values))
    if all(isinstance(value, str) and code_of(value) is not None for value in values):
        return Layout(kind, np.dtype(np.int64))
    lengths = {len(v) for v in values if isinstance(v, (list, tuple, dict))}
    lengths |= {len(v) for v in values if isinstance(v, np.ndarray) and v.ndim}
    grows = all(isinstance(value, (deque, set)) for value in values)
    grows |= kind is list and any(isinstance(v, Reference) for value in values for v in value)
    if grows or (len(lengths) > 1 and kind is list):
        lengths = {len(value) for value in values}
        if max(lengths) >= _LONGEST and kind is list:
            raise ValueError(f"grows to {max(lengths)} items", _FIXED_LENGTH)
        items = [item for value in values for item in value]
        part = layout_of(items) if items else Layout(float, np.dtype(float))
        if part.dtype is not None and not part.grows and not part.optional:
            shape = room(max(lengths)), *part.shape
            return growing_layout(values, part.dtype, shape, part.kind)
    if len(lengths) > 1:
        raise ValueError("changes its length during an episode", _FIXED_LENGTH)
    if kind is list and len(lengths) == 1 and _are_ragged(values):
        part = _layout_of_values([item for value in values for item in value], is_assigned)
        count = lengths.pop()
        if part.dtype is not None and part.grows and not part.lists and count > 1:
            return part._replace(kind=list, shape=(count, *part.shape), lists=count)
    arrays = [number_array(value) for value in values]
    valid = [array for array in arrays if array is not None]
    is_array = len(valid) == len(arrays) and len({array.shape for array in valid}) == 1
    if is_array and not (kind is tuple and _is_mixed(values)):
        dtype = np.result_type(*valid)
        if valid[0].size and dtype != np.float16:
            dtype = np.dtype(np.int64) if dtype == "u8" else dtype
            first = values[0][0] if kind is tuple else 0.0
            item = type(first) if isinstance(first, Reference) else float
            return Layout(kind, dtype, valid[0].shape, item=item)
    keys = tuple(values[0]) if kind is dict else ()
    is_dict = all(isinstance(value, dict) and tuple(value) == keys for value in values)
    is_dict &= all(isinstance(key, int) or code_of(key) is not None for key in keys)
    if keys and is_dict and not all(isinstance(key, str) and key.isidentifier() for key in keys):
        with contextlib.suppress(ValueError):
            part = layout_of([item for value in values for item in value.values()])
            if part.dtype is not None and not part.grows and not part.optional:
                shape = len(keys), *part.shape
                return Layout(dict, part.dtype, shape, item=part.kind, keys=keys)
    if len({type(value) for value in values}) == 1 and is_storable(type(values[0])):
        return Layout(kind, None, items=dict(_attribute_layouts(kind, values, is_assigned)))
    items = [items_of(value) for value in values]
    first = items[0]
    if first and all(item is not None and item.keys() == first.keys() for item in items):
        parts = {key: layout_of([item[key] for item in items if item]) for key in first}
        return Layout(kind, None, items=parts)
    types = sorted({type(value).__name__ for value in values})
    change = _CHANGES.get(types[0], "make it a number or an array")
    raise ValueError(f"is {' or '.join(types)}, which a lane cannot have", change)


def _are_ragged(lists: list[Any]) -> bool:
    """Return whether the items of lists are lists of different lengths."""
    items = [item for value in lists for item in value]
    return all(type(item) is list for item in items) and len({len(item) for item in items}) > 1


def _is_mixed(tuples: list[Any]) -> bool:
    """Return whether some items of tuples are always integers, and others are not."""
    columns = zip(*tuples, strict=True)
    integers = [all(isinstance(v, (int, np.integer)) for v in items) for items in columns]
    return any(integers) and not all(integers)


def _attribute_layouts(
    kind: type, objects: list[object], is_assigned: bool
) -> Iterator[tuple[str, Layout]]:
    """Yield the layouts of the attributes of objects, except those that a lane cannot have."""
    changed = changed_by_methods(kind)
    for name, values in columns_of([vars(value) for value in objects]):
        with contextlib.suppress(ValueError):
            layout = layout_of(values, is_assigned or changed.get(name, False))
            is_object = isinstance(values[0], Reference) or is_storable(type(values[0]))
            if is_assigned or name in changed or is_object:
                yield name, layout


def columns_of(rows: Sequence[dict[str, Any]]) -> Iterator[tuple[str, list[Any]]]:
    """Yield each key of some dicts, with its values."""
    for name in dict.fromkeys(name for row in rows for name in row):
        yield name, [row[name] for row in rows if name in row]


def _number_dtype(values: list[object]) -> np.dtype:
    if all(isinstance(value, np.float32) for value in values):
        return np.dtype(np.float32)
    kinds = {"i" if isinstance(v, enum.Enum) else np.asarray(v).dtype.kind for v in values}
    return np.dtype(np.float64 if "f" in kinds else np.bool_ if kinds == {"b"} else np.int64)


def code_of(value: object) -> int | None:
    """Return the number that stands for a text or a member of an enumeration in compiled code."""
    if isinstance(value, enum.Enum):
        return value.value if isinstance(value.value, int) else list(type(value)).index(value)
    if isinstance(value, (str, bytes)):
        text = value.encode() if isinstance(value, str) else value
        return int.from_bytes(text if len(text) <= 7 else sha256(text).digest()[:7], "big")
    return None


def text_of(code: int) -> str:
    """Return the text of up to seven bytes that a number stands for."""
    return code.to_bytes(7, "big").lstrip(b"\0").decode(errors="replace")
