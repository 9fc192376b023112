"""Pools: the objects that lists of the state have, as rows of an array for each attribute.

A list of objects has the numbers of their rows, and so has an attribute or a local variable that
refers to one of them. Thus names, lists and attributes share objects as they do in the original.
"""

from __future__ import annotations

import contextlib
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import indent
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

__all__ = ["Numbering", "Pool", "pool_name", "pools_of", "references_in", "release_text"]


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
        rows: The attributes of each of these objects, in which objects are numbers, too.
    """

    def __init__(
        self, references: Mapping[object, type[Reference]], names: Mapping[object, str]
    ) -> None:
        """Number no objects yet.

        Args:
            references: The type of the numbers by class, and by list of tuples.
            names: The names of the pools, likewise.
        """
        self.references, self.names = references, {references[key]: names[key] for key in names}
        self.objects: dict[type[Reference], list[object]] = {r: [] for r in references.values()}
        self.rows: dict[type[Reference], list[dict[str, object]]] = {r: [] for r in self.objects}
        self._numbers: dict[int, Reference] = {}

    def empty(self) -> Numbering:
        """Return numbers of the same types for other objects."""
        return Numbering(self.references, {k: self.names[r] for k, r in self.references.items()})

    def add(self, value: object, name: str) -> dict[type[Reference], int]:
        """Number the objects in a value; return how many of each type it is the first to have."""
        before = {reference: len(objects) for reference, objects in self.objects.items()}
        self.numbered(value, name)
        is_done = False
        while not is_done:
            is_done = True
            for reference, objects in self.objects.items():
                for item in objects[len(self.rows[reference]) :]:
                    pool, is_done = self.names[reference], False
                    items = (items_of(item) or {}).items()
                    row = {key: self.numbered(part, f"{pool}_{key}") for key, part in items}
                    self.rows[reference].append(row)
        return {
            reference: len(objects) - before[reference]
            for reference, objects in self.objects.items()
        }

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
        names[key] = f"item_of_{key.strip('_')}" if isinstance(key, str) else pool_name(kind)
        others = {name.lstrip("_") for name in samples if name != key}
        others |= {name for other, name in names.items() if other != key}
        while any(_is_part(o, names[key]) or _is_part(names[key], o) for o in others):
            names[key] = f"object_{names[key]}"
    references = {key: type(kind.__name__, (Reference,), {}) for key, kind in kinds.items()}
    numbering = Numbering(references, names)
    live = dict.fromkeys(references.values(), 0)
    for name, values in samples.items():
        counts = []
        for value in values:
            with contextlib.suppress(RecursionError):  # an obstacle where it is used
                counts.append(numbering.add(value, name))
        for reference in live:
            live[reference] += max((count[reference] for count in counts), default=0)
    pools = []
    for key, reference in references.items():
        parts = dict[str, Layout]()
        for attribute, column in columns_of(numbering.rows[reference]):
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


def references_in(
    layouts: Iterable[tuple[str, Layout]], pools: Mapping[object, Pool]
) -> Iterator[tuple[str, Layout, Pool]]:
    """Yield name and layout of each field that has rows of a pool, and the pool.

    Args:
        layouts: Name and layout of parts of the state, or of the objects of a pool.
        pools: The pools by type of references.
    """
    parts = [*layouts]
    for name, layout in parts:
        parts += [(f"{name}_{key}", part) for key, part in (layout.items or {}).items()]
        pool = pools.get(layout.item if layout.shape else layout.kind)
        if pool is not None and layout.dtype is not None:
            yield name, layout, pool


def release_text(
    layouts: Iterable[tuple[str, Layout]],
    pools: Sequence[Pool],
    by_reference: Mapping[object, Pool],
) -> str:
    """Return the statements that free the rows of pools to which nothing in the state refers.

    They do so when half of the rows of a pool are used.

    Args:
        layouts: Name and layout of each attribute of the state.
        pools: The pools.
        by_reference: The pools by type of references.
    """
    tests = [f"2 * state.{pool.used}.sum() < len(state.{pool.used})" for pool in pools]
    lines = [f"if {' and '.join(tests)}:\n    return"]
    lines += [f"state.{pool.used}[:] = False" for pool in pools]
    lines += [_marks(*part) for part in references_in(layouts, by_reference)]
    inner = [
        f"for row in np.flatnonzero(state.{pool.used}):\n{indent(_marks(*part, '[row]'), '    ')}"
        for pool in pools
        for part in references_in([(pool.name, pool.layout)], by_reference)
    ]
    if inner:  # objects refer to others, to which those refer in turn
        body = "\n".join(["is_done = True", *inner])
        lines += ["is_done = False", f"while not is_done:\n{indent(body, '    ')}"]
    return indent("\n".join(lines), "    ")


def _marks(name: str, layout: Layout, pool: Pool, row: str = "") -> str:
    """Return the statements that mark the rows to which a field, or a row of it, refers."""
    text, mark = f"state.{name}{row}", f"state.{pool.used}[number] = True"
    if row:
        mark = f"if not state.{pool.used}[number]:\n    {mark}\n    is_done = False"
    if layout.grows:
        text = f"{text}[: state.{layout.length(name)}{row}[0]]"
    items = text if layout.shape else f"({text},)"
    mark = f"for number in {items}:\n{indent(mark, '    ')}"
    if layout.optional:
        mark = f"if state.{layout.flag(name)}{row}:\n{indent(mark, '    ')}"
    return mark


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
