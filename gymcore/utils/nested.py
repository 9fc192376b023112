"""Walking nested dicts, tuples and lists, such as batches of composite observations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

__all__ = ["map_leaves", "named_leaves", "stack_nested"]


def map_leaves(function: Callable[..., Any], first: Any, *others: Any) -> Any:
    """Apply a function to the leaves of nested dicts, tuples and lists.

    Args:
        function: Called with a leaf of `first` and the leaves in the same place of `others`.
        first: A dict, tuple or list of such, or a leaf (anything else).
        *others: Of the same structure as `first`.

    Returns:
        The results in the structure of `first`; named tuples stay named tuples.

    Raises:
        KeyError: A dict of `others` lacks a key.
        ValueError: Tuples or lists of different lengths.

    Example:
        >>> map_leaves(lambda x, y: x + y, {"a": 1, "b": (2, 3)}, {"a": 10, "b": (20, 30)})
        {'a': 11, 'b': (22, 33)}
    """
    if isinstance(first, Mapping):
        return {
            key: map_leaves(function, value, *(other[key] for other in others))
            for key, value in first.items()
        }
    if isinstance(first, (tuple, list)):
        parts = [map_leaves(function, *parts) for parts in zip(first, *others, strict=True)]
        return first._make(parts) if hasattr(first, "_make") else type(first)(parts)
    return function(first, *others)


def named_leaves(value: Any, prefix: str = "") -> dict[str, Any]:
    """Return the leaves of a nested observation, action or space by their paths.

    Args:
        value: A mapping, tuple, list, Dict or Tuple space, or a leaf.
        prefix: What the paths begin with.

    Returns:
        `{prefix: value}` for a leaf, else the leaves by `.key` (or `.index`) paths.

    Example:
        >>> named_leaves({"a": 1, "b": (2, 3)})
        {'.a': 1, '.b.0': 2, '.b.1': 3}
    """
    children: Any = getattr(value, "spaces", value)
    if isinstance(children, Mapping):
        pairs = [(str(key), child) for key, child in children.items()]
    elif isinstance(children, (tuple, list)):
        pairs = [(str(k), child) for k, child in enumerate(children)]
    else:
        return {prefix: value}
    return {
        name: leaf
        for key, child in pairs
        for name, leaf in named_leaves(child, f"{prefix}.{key}").items()
    }


def stack_nested(items: Sequence[Any]) -> Any:
    """Return items of equal structure as one of that structure, of stacked arrays.

    Args:
        items: At least one; leaves are what `np.asarray` takes.

    Example:
        >>> stack_nested([{"x": 1, "y": (2,)}, {"x": 3, "y": (4,)}])
        {'x': array([1, 3]), 'y': (array([2, 4]),)}
    """
    return map_leaves(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *items)
