"""Layouts: the structure of a space's elements, as used by the compiled modules.

Compiled modules do not use spaces. `gymcore_ext.layouts` traverses layouts instead:

| layout                                | elements                                              |
|---------------------------------------|-------------------------------------------------------|
| `("array", dtype, shape)`             | Box, Discrete, MultiDiscrete, MultiBinary             |
| `("tuple", (layout, ...))`            | Tuple                                                 |
| `("dict", (key, ...), (layout, ...))` | Dict                                                  |
| `("objects", finish)`                 | all others: `finish(list of elements)` is their batch |

A space for which a program has registered its own `concatenate` or `create_empty_array` belongs to
the last row, regardless of its base class.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, TypeAlias

import numpy as np

from gymcore.spaces import Dict, Space, batching
from gymcore.spaces.batching import concatenate, create_empty_array, iterate
from gymcore_ext.layouts import grouped, leaves

Layout: TypeAlias = tuple[Any, ...]


class ObjectBatch:
    """Makes batches of elements that do not fit into an array of a fixed shape, such as texts."""

    def __init__(self, space: Space, copy: bool = True) -> None:
        self.space = space
        self.copy = copy
        self._out: object = None
        self._size = -1

    def __call__(self, items: list[object]) -> object:
        """Return a batch of the elements, as made by the space's `concatenate`."""
        if len(items) != self._size:
            self._out = create_empty_array(self.space, len(items))
            self._size = len(items)
        self._out = concatenate(self.space, items, self._out)
        return deepcopy(self._out) if self.copy else self._out


def layout_of(space: Space, *, copy: bool = True) -> Layout:
    """Return the layout of a space's elements; `copy` is for `ObjectBatch`.

    Examples:
        >>> from gymcore.spaces import Dict, Discrete, MultiBinary
        >>> layout_of(Dict(goal=Discrete(4), doors=MultiBinary(2)))[1]
        ('goal', 'doors')
        >>> layout_of(Discrete(4))
        ('array', dtype('int64'), ())
    """
    functions = concatenate.dispatch(type(space)), create_empty_array.dispatch(type(space))
    parts: Any = space
    if functions == (batching._concatenate_arrays, batching._create_empty_arrays):
        return "array", np.dtype(parts.dtype), tuple(parts.shape)
    if functions == (batching._concatenate_composite, batching._create_empty_composite):
        layouts = tuple(layout_of(part, copy=copy) for part in parts._parts())
        if isinstance(space, Dict):
            return "dict", tuple(parts.spaces), layouts
        return "tuple", layouts
    return "objects", ObjectBatch(space, copy)


def map_layout(function: Callable[..., object], layout: Layout, *batches: Any) -> Any:
    """Apply a function to the arrays and objects in a layout; return the same structure.

    The function is called with the layout of a part and that part of each batch.

    Examples:
        >>> from gymcore.spaces import Dict, Discrete
        >>> layout = layout_of(Dict(goal=Discrete(4)))
        >>> map_layout(lambda part, x, y: (part[1].name, x + y), layout, {"goal": 1}, {"goal": 2})
        {'goal': ('int64', 3)}
    """
    if layout[0] in ("array", "objects"):
        return function(layout, *batches)
    keys = range(len(layout[1])) if layout[0] == "tuple" else layout[1]
    results = {
        key: map_layout(function, part, *[batch[key] for batch in batches])
        for key, part in zip(keys, layout[-1], strict=True)
    }
    return tuple(results.values()) if layout[0] == "tuple" else results


def has_objects(layout: Layout) -> bool:
    """Return whether some part of a layout is not an array."""
    if layout[0] in ("array", "objects"):
        return bool(layout[0] == "objects")
    return any(map(has_objects, layout[-1]))


def action_layout(single_space: Space, batch_space: Space) -> Layout | None:
    """Return the layout of single actions, or None if a batch must be split by `iterate`.

    This is necessary for actions that are not arrays, and for a space with its own registered
    `iterate`.

    Examples:
        >>> from gymcore.spaces import MultiDiscrete, Discrete, Text, Tuple
        >>> action_layout(Discrete(4), MultiDiscrete([4, 4]))
        ('array', dtype('int64'), ())
        >>> action_layout(Text(3), Tuple([Text(3), Text(3)]))
    """
    layout = layout_of(single_space)
    return layout if not has_objects(layout) and _iterated(layout, batch_space) else None


def _iterated(layout: Layout, batch_space: Any) -> bool:
    """Return whether `iterate` splits a batch in the way the layout describes."""
    function = iterate.dispatch(type(batch_space))
    if layout[0] == "array":
        return function is batching._iterate_array
    if layout[0] == "tuple":
        parts = batch_space.spaces if function is batching._iterate_tuple else ()
    else:
        spaces = batch_space.spaces if function is batching._iterate_dict else {}
        parts = [spaces[key] for key in layout[1] if key in spaces]
    return len(parts) == len(layout[-1]) and all(map(_iterated, layout[-1], parts))


def split_batch(layout: Layout, batch: object, n: int) -> list[object]:
    """Return the `n` elements of a batch: an array, an iterable, or a tuple or dict of these.

    Rows of arrays are views of a copy, numbers are NumPy scalars.

    Raises:
        ValueError: If the number of elements is not n.
        KeyError: If a part of a dict is missing.
        TypeError: If a part is not iterable.
    """
    columns = []
    for _, _, part in leaves(layout, "batch", batch, TypeError, KeyError):
        # The iterator of a vector ends with an IndexError, whose message takes most of the time.
        if type(part) is np.ndarray:
            part = part.flat if part.ndim == 1 else part.copy()
        columns.append(list(part))
    if wrong := {len(column) for column in columns} - {n}:
        raise ValueError(f"expected {n} elements, got {wrong.pop()}")
    if layout[0] == "array":
        return columns[0]
    if not columns:
        return [grouped(layout, iter(())) for _ in range(n)]
    return [grouped(layout, iter(row)) for row in zip(*columns, strict=True)]
