"""Functions for nested dicts, tuples and lists, such as batches of composite observations."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


def map_leaves(function: Callable[..., object], first: object, *others: Any) -> Any:
    """Apply a function to the leaves of nested dicts, tuples and lists; return the same structure.

    The function is called with a leaf of `first` and the leaves in the same place of `others`.
    Named tuples stay named tuples. A missing key raises `KeyError`, another length `ValueError`.

    Examples:
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


def named_leaves(value: object, prefix: str = "") -> dict[str, Any]:
    """Return the leaves of a nested observation, action or space; the keys are their paths.

    A path is `prefix`, followed by `.key` or `.index` for each level.

    Examples:
        >>> named_leaves({"a": 1, "b": (2, 3)})
        {'.a': 1, '.b.0': 2, '.b.1': 3}

    Different leaves have different paths: dots, brackets and backslashes within keys are escaped
    by a backslash, and keys that are not strings are written in brackets.
    """
    children = getattr(value, "spaces", value)
    if isinstance(children, Mapping):
        pairs = [
            (re.sub(r"[\\.\[]", r"\\\g<0>", key) if isinstance(key, str) else f"[{key!r}]", child)
            for key, child in children.items()
        ]
    elif isinstance(children, (tuple, list)):
        pairs = [(str(k), child) for k, child in enumerate(children)]
    else:
        return {prefix: value}
    return {
        name: leaf
        for key, child in pairs
        for name, leaf in named_leaves(child, f"{prefix}.{key}").items()
    }


def stack_nested(items: Sequence[object]) -> object:
    """Stack the leaves of items of equal structure; return new arrays in the same structure.

    Examples:
        >>> stack_nested([{"x": 1, "y": (2,)}, {"x": 3, "y": (4,)}])
        {'x': array([1, 3]), 'y': (array([2, 4]),)}
    """
    return map_leaves(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *items)


def rows_at(batch: object, rows: npt.NDArray[np.int64]) -> object:
    """Return the rows with indices `rows` [K] of each leaf of a batch, as new arrays [K, ...].

    The batch may be an object array with one element per row, as `info["final_obs"]` may be. Texts
    may be tuples of strings.

    Examples:
        >>> rows_at({"x": np.arange(3), "y": (np.eye(3),)}, np.array([2, 0]))["x"]
        array([2, 0])
    """
    if isinstance(batch, np.ndarray) and batch.dtype == object:
        return stack_nested([batch[row] for row in rows])
    if isinstance(batch, Mapping):
        return {key: rows_at(part, rows) for key, part in batch.items()}
    if isinstance(batch, (tuple, list)) and not (batch and isinstance(batch[0], str)):
        parts = [rows_at(part, rows) for part in batch]
        return batch._make(parts) if hasattr(batch, "_make") else type(batch)(parts)
    return np.asarray(batch)[rows]
