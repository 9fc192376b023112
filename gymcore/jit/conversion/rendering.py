"""Rendering of a lane by the original."""

from __future__ import annotations

import copy
import enum
import functools
from collections import deque
from typing import Any

import numpy as np

from gymcore.core import Env as AnyEnv
from gymcore.jit.conversion.layouts import Layout, code_of, items_of, text_of
from gymcore.specs.entry_points import load_env_creator

__all__ = ["rendered"]

_MOST_STEPS = 200  # of the original, until each of its lists has had an object


def _is_part(field: str, name: str) -> bool:
    return field == name or field.startswith(f"{name}_")


class _Items(list[object]):
    """The new items of a list of objects."""


def with_field(before: Any, field: str, value: Any) -> object:
    """Return the value of an attribute after a field of it, such as `x` or `0`, has changed."""
    if isinstance(value, _Items) and not field:
        return type(before)(value)
    is_list = isinstance(before, (list, deque)) and not field[:1].isdigit()
    if is_list and field and not isinstance(value, _Items):
        pairs = zip(before, value, strict=True)
        return type(before)([with_field(item, field, part) for item, part in pairs])
    if isinstance(before, dict) and isinstance(value, np.ndarray) and len(value) == len(before):
        pairs = zip(before.items(), value, strict=True)
        return {key: with_field(item, field, part) for (key, item), part in pairs}
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


def _with_none(value: Any, present: Any) -> Any:
    """Return a value, or None if it is not present; for arrays, a list of these."""
    if np.ndim(present):
        return [v if flag else None for v, flag in zip(value, present, strict=True)]
    return value if present else None


def _items_like(before: Any, values: np.ndarray) -> object:
    """Return an array, or its numbers or rows in a sequence like the one that was there before."""
    if not isinstance(before, (list, tuple, deque)):
        return values.copy()
    row = before[0] if before and isinstance(before[0], (list, np.ndarray)) else ()
    rows: Any = values.tolist() if values.ndim == 1 else [_items_like(row, r) for r in values]
    return deque(rows, before.maxlen) if isinstance(before, deque) else type(before)(rows)


@functools.cache
def _instance(
    path: str, arguments: tuple[tuple[str, object], ...], lists: tuple[str, ...]
) -> tuple[AnyEnv[object, object], dict[str, object]]:
    """Return an environment, and an object of each of its lists of objects."""
    env: AnyEnv[object, object] = load_env_creator(path)(render_mode="rgb_array", **dict(arguments))
    env.reset(seed=0)  # which creates attributes, such as objects
    env.action_space.seed(0)
    objects: dict[str, object] = {}
    for _ in range(_MOST_STEPS):
        parts = ((name, _part(vars(env), name)) for name in lists if name not in objects)
        objects |= {name: copy.deepcopy(part[0]) for name, part in parts if part}
        if len(objects) == len(lists):
            break
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            env.reset()
    env.reset(seed=0)
    return env, objects


def _part(items: dict[str, object], name: str) -> Any:
    """Return the part of nested attributes that fields with a name belong to."""
    for key, item in items.items():
        if key.lstrip("_") == name:
            return item
        if _is_part(name, key.lstrip("_")):
            return _part(items_of(item) or {}, name[len(key.lstrip("_")) + 1 :])
    return ()


def _lists_of_objects(fields: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the lists of objects, which have fields for attributes, and a length."""
    start, names = Layout.length(""), {field.lstrip("_") for field in fields}
    lengths = (field.removeprefix(start) for field in fields if field.startswith(start))
    return tuple(name for name in lengths if name not in names)


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
    fields = state.dtype.names or ()
    lists = _lists_of_objects(fields)
    env, objects = _instance(path, tuple(sorted(kwargs.items())), lists)
    attributes, lengths = vars(env), {n: int(state[Layout.length(n)][0]) for n in objects}
    for name, item in objects.items():
        owner = next(key for key in attributes if _is_part(name, key.lstrip("_")))
        items = _Items(copy.deepcopy(item) for _ in range(lengths[name]))
        part = name[len(owner.lstrip("_")) + 1 :]
        setattr(env, owner, with_field(attributes[owner], part, items))
    for name in fields:
        owner = next((key for key in attributes if _is_part(name, key)), name)
        flag, count = Layout.flag(name), Layout.length(name)
        length = next((n for m, n in lengths.items() if _is_part(name.lstrip("_"), m)), None)
        value = state[name][:length] if length is not None else state[name]
        if flag in fields:
            present = state[flag][:length] if np.ndim(state[flag]) else state[flag]
            value = _with_none(value, present)
        if value is not None and count in fields:
            pairs = zip([value] if len(state[count]) == 1 else value, state[count], strict=True)
            several = [items[:size] for items, size in pairs]
            value = several if len(several) > 1 else several[0]
        setattr(env, owner, with_field(attributes.get(owner), name[len(owner) + 1 :], value))
    names: tuple[str, ...] = getattr(parameters, "_fields", ())
    for name, number in zip(names, parameters, strict=True):
        setattr(env, name if name in vars(env) else f"_{name}", number)
    return env.render()
