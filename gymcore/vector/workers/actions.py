"""Writing a batch of actions into the memory that the workers read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore.error import InvalidAction
from gymcore.vector.layouts import Layout

__all__ = ["checked_actions", "store_actions"]


def checked_actions(layout: Layout, actions: Any, count: int, name: str = "actions") -> Any:
    """Return a batch of actions as arrays of the layout's dtypes and shapes.

    Args:
        layout: Layout of one action.
        actions: The batch: arrays, or what makes arrays of the right shape; tuples and dicts of
            these where the layout has them.
        count: Number of actions.
        name: What errors call it.

    Returns:
        An array `[count, *shape]`, or a tuple or dict of these; the caller's own where they fit.

    Raises:
        InvalidAction: Another structure, shape, or numbers that the dtype cannot hold.
    """
    kind = layout[0]
    if kind == "array":
        return _checked_array(layout, actions, count, name)
    if kind == "tuple":
        parts = layout[1]
        if not isinstance(actions, (tuple, list)) or len(actions) != len(parts):
            raise InvalidAction(
                f"{name}: expected a tuple of {len(parts)} batches, got {actions!r}"
            )
        return tuple(
            checked_actions(part, one, count, f"{name}[{i}]")
            for i, (part, one) in enumerate(zip(parts, actions, strict=True))
        )
    keys, parts = layout[1], layout[2]
    try:
        values = [actions[key] for key in keys]
    except (KeyError, TypeError, IndexError):
        raise InvalidAction(f"{name}: expected a dict with {list(keys)}, got {actions!r}") from None
    return {
        key: checked_actions(part, one, count, f"{name}[{key!r}]")
        for key, part, one in zip(keys, parts, values, strict=True)
    }


def _checked_array(layout: Layout, actions: Any, count: int, name: str) -> npt.NDArray[Any]:
    dtype, shape = layout[1], (count, *layout[2])
    if type(actions) is np.ndarray and actions.dtype == dtype and actions.shape == shape:
        return actions
    try:
        array = np.asarray(actions)
    except ValueError as problem:
        raise InvalidAction(
            f"{name}: expected {dtype} array of shape {shape}, got {problem}"
        ) from None
    if array.shape != shape:
        raise InvalidAction(
            f"{name}: expected {dtype} array of shape {shape}, got {array.dtype} {array.shape}"
        )
    exact = dtype.kind in "iub"  # a float may lose digits, an integer may not
    if np.can_cast(array.dtype, dtype, "safe" if exact else "same_kind"):
        return array
    if array.dtype.kind in "biuf" and dtype.kind in "biuf":
        with np.errstate(invalid="ignore"):
            converted = array.astype(dtype)
        if np.array_equal(converted, array):
            return converted
    raise InvalidAction(
        f"{name}: expected {dtype} array of shape {shape}, got {array.dtype} values that {dtype} "
        "does not hold"
    )


def store_actions(
    layout: Layout, target: Any, actions: Any, lanes: npt.NDArray[Any] | slice
) -> None:
    """Write checked actions to some rows.

    Args:
        layout: Layout of one action.
        target: Arrays over the shared memory.
        actions: What `checked_actions` returned.
        lanes: Which rows.
    """
    kind = layout[0]
    if kind == "array":
        target[lanes] = actions
        return
    keys: Sequence[Any] = range(len(layout[1])) if kind == "tuple" else layout[1]
    parts = layout[1] if kind == "tuple" else layout[2]
    for key, part in zip(keys, parts, strict=True):
        store_actions(part, target[key], actions[key], lanes)
