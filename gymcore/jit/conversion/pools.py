"""Pools: the objects that lists of the state have, as rows of an array for each attribute.

A list of objects has the numbers of their rows, and so has an attribute or a local variable that
refers to one of them. Thus names, lists and attributes share objects as they do in the original.
"""

from __future__ import annotations

import contextlib
import re
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from gymcore.core import Env
from gymcore.jit.conversion.layouts import (
    Layout,
    Reference,
    columns_of,
    items_of,
    layout_of,
    number_array,
    room,
)
from gymcore.jit.conversion.source import is_storable

__all__ = ["Numbering", "Pool", "pool_name", "pools_of"]


_LISTS = list, deque


class Pool(NamedTuple):
    """The objects of a class, or the tuples of a list.

    Attributes:
        name: What the names of the fields begin with.
        kind: The class of the objects.
        reference: The type of their numbers in samples.
        layout: The layout of one of them.
        size: The number of rows.
        sample: One of them.
    """

    name: str
    kind: type
    reference: type[Reference]
    layout: Layout
    size: int
    sample: object

    @property
    def used(self) -> str:
        """The name of the field that tells which rows have an object."""
        return f"used_rows_of_{self.name}"


class Numbering:
    """Numbers for the objects of pools, in the order in which they are met.

    Attributes:
        references: The type of the numbers for each class, and for each list of tuples by the name
            of its fields.
        objects: The objects for each of these types.
    """

    def __init__(self, references: Mapping[object, type[Reference]]) -> None:
        """Number no objects yet."""
        self.references = references
        self.objects: dict[type[Reference], list[object]] = {r: [] for r in references.values()}
        self._numbers: dict[int, Reference] = {}

    def numbered(self, value: Any, name: str) -> object:
        """Return a value with the numbers of objects in their place.

        Args:
            value: The value.
            name: The name of its fields.
        """
        kind = type(value)
        if kind in self.references:
            return self._number(self.references[kind], value)
        if kind is tuple and name in self.references:
            return self._number(self.references[name], value)
        if isinstance(value, (list, deque)):
            items = [self.numbered(item, name) for item in value]
            return deque(items, value.maxlen) if isinstance(value, deque) else items
        if isinstance(value, dict):
            return {key: self.numbered(item, f"{name}_{key}") for key, item in value.items()}
        if kind is tuple:
            return tuple(self.numbered(item, name) for item in value)
        if is_storable(kind) and not isinstance(value, Env):
            result = object.__new__(kind)
            for key, item in vars(value).items():
                object.__setattr__(result, key, self.numbered(item, f"{name}_{key}"))
            return result
        return value

    def _number(self, reference: type[Reference], value: object) -> Reference:
        if id(value) not in self._numbers:
            self._numbers[id(value)] = reference(len(self.objects[reference]))
            self.objects[reference].append(value)
        return self._numbers[id(value)]

    def rows(self, pool: str, reference: type[Reference]) -> Iterator[dict[str, object]]:
        """Yield the attributes of each object with numbers of a type, also of those met then."""
        for value in self.objects[reference]:
            items = (items_of(value) or {}).items()
            yield {key: self.numbered(item, f"{pool}_{key}") for key, item in items}


def pools_of(
    samples: Mapping[str, list[object]], wanted: set[type], created: Mapping[type, int]
) -> tuple[list[Pool], Numbering]:
    """Return the pools for the objects in some values, and their numbers.

    Args:
        samples: Values of each attribute.
        wanted: Further classes that have a pool.
        created: For each class, the largest number of objects that a step created.
    """
    kinds: dict[object, type] = {kind: kind for kind in wanted}
    for name, values in samples.items():
        kinds |= {key: kind for value in values for key, kind in _pooled(value, name, set())}
    names = dict[object, str]()
    for key, kind in kinds.items():
        names[key] = key if isinstance(key, str) else pool_name(kind)
        while any(_is_part(name.lstrip("_"), names[key]) for name in samples if name != key):
            names[key] += "_row"
    references = {key: type(kind.__name__, (Reference,), {}) for key, kind in kinds.items()}
    numbering = Numbering(references)
    live = dict.fromkeys(references.values(), 0)
    for name, values in samples.items():
        counts = []
        for value in values:
            before = {r: len(objects) for r, objects in numbering.objects.items()}
            with contextlib.suppress(RecursionError):  # an obstacle where it is used
                numbering.numbered(value, name)
            counts.append({r: len(o) - before[r] for r, o in numbering.objects.items()})
        for reference in live:
            live[reference] += max((count[reference] for count in counts), default=0)
    rows: dict[object, list[dict[str, object]]] = {}
    for _ in kinds:  # the objects of one pool may have those of another one
        rows = {key: [*numbering.rows(names[key], r)] for key, r in references.items()}
    pools = []
    for key, reference in references.items():
        parts = dict[str, Layout]()
        for attribute, column in columns_of(rows[key]):
            try:
                parts[attribute] = layout_of(column)
            except ValueError:  # an obstacle where it is used
                continue
        objects = numbering.objects[reference]
        size = room(live[reference] + created.get(kinds[key], 0))
        layout = Layout(kinds[key], None, items=parts)
        sample = objects[0] if objects else None
        pools.append(Pool(names[key], kinds[key], reference, layout, size, sample))
    return pools, numbering


def pool_name(kind: type) -> str:
    """Return the name of the pool of a class."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind.__name__).lower().strip("_")


def _pooled(
    value: Any, name: str, seen: set[int], is_item: bool = False
) -> Iterator[tuple[object, type]]:
    """Yield the classes of objects that are items, and the fields of lists of tuples."""
    kind = type(value)
    is_object = hasattr(value, "_fields") or (is_storable(kind) and not isinstance(value, Env))
    if id(value) in seen or not (is_object or isinstance(value, (list, deque, tuple, dict))):
        return
    seen.add(id(value))
    if is_object and is_item:
        name = pool_name(kind)
        yield kind, kind
    tuples = [item for item in value if type(item) is tuple] if isinstance(value, _LISTS) else []
    if any(item and _is_mixed(item) for item in tuples):
        yield name, tuple
    if is_object:
        for key, item in (items_of(value) or {}).items():
            yield from _pooled(item, f"{name}_{key}", seen)
        return
    keys = [f"{name}_{key}" for key in value] if isinstance(value, dict) else [name] * len(value)
    for title, item in zip(keys, value.values() if isinstance(value, dict) else value, strict=True):
        yield from _pooled(item, title, seen, is_item=True)


def _is_mixed(value: tuple[object, ...]) -> bool:
    """Return whether a tuple has more than numbers of one kind."""
    integers = [isinstance(item, (int, np.integer)) for item in value]
    return number_array(value) is None or (any(integers) and not all(integers))


def _is_part(field: str, name: str) -> bool:
    return field == name or field.startswith(f"{name}_")
