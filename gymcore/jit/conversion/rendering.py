"""Rendering of a lane by the original."""

from __future__ import annotations

import enum
import functools
from collections import deque
from typing import Any

import numpy as np

from gymcore.core import Env as AnyEnv
from gymcore.jit.conversion.layouts import Layout, code_of, items_of, text_of
from gymcore.specs.entry_points import load_env_creator

__all__ = ["rendered"]


def _is_part(field: str, name: str) -> bool:
    return field == name or field.startswith(f"{name}_")


def with_field(before: Any, field: str, value: Any) -> object:
    """Return the value of an attribute after a field of it, such as `x` or `0`, has changed."""
    items = items_of(before) if field else None
    key = next((key for key in items or () if _is_part(field, key)), None)
    if items is not None and key is not None:
        part = with_field(items[key], field[len(key) + 1 :], value)
        if isinstance(before, (list, tuple)) and not hasattr(before, "_fields"):
            return type(before)([*before[: int(key)], part, *before[int(key) + 1 :]])
        if isinstance(before, tuple):
            named: Any = before
            return named._replace(**{key: part})
        if isinstance(before, dict):
            return {**before, key: part}
        object.__setattr__(before, key, part)  # also if it is frozen
        return before
    if isinstance(value, list):  # of arrays
        return [_items_like(*pair) for pair in zip(before, value, strict=True)]
    if isinstance(value, np.ndarray) and value.ndim:
        return _items_like(before, value)
    number = None if value is None else np.asarray(value).item()
    if isinstance(before, str) and number is not None:
        return text_of(number)
    members = type(before) if isinstance(before, enum.Enum) else ()
    return next((member for member in members if code_of(member) == number), number)


def _items_like(before: Any, values: np.ndarray) -> object:
    """Return an array, or its numbers or rows in a sequence like the one that was there before."""
    if not isinstance(before, (list, tuple, deque)):
        return values.copy()
    row = before[0] if before and isinstance(before[0], (list, np.ndarray)) else ()
    rows: Any = values.tolist() if values.ndim == 1 else [_items_like(row, r) for r in values]
    return deque(rows, before.maxlen) if isinstance(before, deque) else type(before)(rows)


@functools.cache
def _instance(path: str, arguments: tuple[tuple[str, object], ...]) -> AnyEnv[object, object]:
    env: AnyEnv[object, object] = load_env_creator(path)(render_mode="rgb_array", **dict(arguments))
    env.reset(seed=0)  # which creates attributes, such as objects
    return env


def rendered(path: str, state: np.void, parameters: tuple[float, ...], **kwargs: object) -> object:
    """Return the frame that an original draws of the state of a lane.

    Args:
        path: `"module:Class"` of the original.
        state: The state; the attributes of the same names get its values.
        parameters: A named tuple of parameters, which are attributes too.
        **kwargs: Hashable arguments of the constructor.

    Examples:
        >>> rendered("maze:Maze", state, parameters).shape  # doctest: +SKIP
        (400, 600, 3)
    """
    env = _instance(path, tuple(sorted(kwargs.items())))
    attributes, fields = vars(env), state.dtype.names or ()
    for name in fields:
        owner = next((key for key in attributes if _is_part(name, key)), name)
        flag, count = Layout.flag(name), Layout.length(name)
        value = None if flag in fields and not state[flag] else state[name]
        if value is not None and count in fields:
            pairs = zip([value] if len(state[count]) == 1 else value, state[count], strict=True)
            lists = [items[:length] for items, length in pairs]
            value = lists if len(lists) > 1 else lists[0]
        setattr(env, owner, with_field(attributes.get(owner), name[len(owner) + 1 :], value))
    names: tuple[str, ...] = getattr(parameters, "_fields", ())
    for name, number in zip(names, parameters, strict=True):
        setattr(env, name if name in vars(env) else f"_{name}", number)
    return env.render()
