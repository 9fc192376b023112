"""Rendering of a lane by the original."""

from __future__ import annotations

import copy
import enum
import functools
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from gymcore.core import Env as AnyEnv
from gymcore.jit.conversion.layouts import Layout, code_of, items_of, text_of
from gymcore.jit.conversion.pools import pool_name
from gymcore.jit.conversion.source import is_storable
from gymcore.specs.entry_points import load_env_creator

__all__ = ["rendered"]

_USED = "used_rows_of_"  # see `Pool.used`
_MOST_STEPS = 200  # of the original, until it has had an object for each pool


def _is_part(field: str, name: str) -> bool:
    return field == name or field.startswith(f"{name}_")


class _Objects(list[object]):
    """The objects to which a field refers."""


def with_field(before: Any, field: str, value: Any) -> object:
    """Return the value of an attribute after a field of it, such as `x` or `0`, has changed."""
    if isinstance(before, dict) and isinstance(value, (np.ndarray, _Objects)) and not field:
        return dict(
            zip(before, [*value] if isinstance(value, _Objects) else value.tolist(), strict=True)
        )
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
    if isinstance(value, _Objects):
        return deque(value, before.maxlen) if isinstance(before, deque) else type(before)(value)
    if isinstance(value, list):  # of arrays
        return [_items_like(*pair) for pair in zip(before, value, strict=True)]
    if isinstance(value, np.ndarray) and value.ndim:
        return _items_like(before, value)
    if is_storable(type(value)) or hasattr(value, "_fields"):
        return value
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


def _objects_in(value: Any, seen: set[int]) -> list[Any]:
    """Return the objects and tuples in a value."""
    if id(value) in seen or isinstance(value, (np.ndarray, AnyEnv)):
        return []
    seen.add(id(value))
    if isinstance(value, dict):
        return [o for item in value.values() for o in _objects_in(item, seen)]
    if isinstance(value, (list, deque)) or type(value) is tuple:
        return [o for item in value for o in _objects_in(item, seen)]
    if not (is_storable(type(value)) or hasattr(value, "_fields")):
        return []
    return [
        value,
        *(o for item in (items_of(value) or {}).values() for o in _objects_in(item, seen)),
    ]


@functools.cache
def _instance(
    path: str, arguments: tuple[tuple[str, object], ...], pools: frozenset[str]
) -> tuple[AnyEnv[object, object], dict[str, object]]:
    """Return an environment, and an object for each of its pools."""
    env: AnyEnv[object, object] = load_env_creator(path)(render_mode="rgb_array", **dict(arguments))
    env.reset(seed=0)  # which creates attributes, such as objects
    env.action_space.seed(0)
    objects: dict[str, object] = {}
    for _ in range(_MOST_STEPS):
        for value in _objects_in([*vars(env).values()], set()):
            names = (n for n in pools - objects.keys() if n.endswith(pool_name(type(value))))
            objects |= {name: copy.deepcopy(value) for name in names}
        titles = ((name, name.removeprefix("item_of_")) for name in pools - objects.keys())
        parts = ((name, _part(vars(env), title)) for name, title in titles)
        objects |= {name: items[0] for name, items in parts if items}  # lists of tuples
        if len(objects) == len(pools):
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


def _value_of(state: np.void, name: str, row: object) -> Any:
    """Return the value of a field, or of a row of it; None if the state says so."""
    flag, count, fields = Layout.flag(name), Layout.length(name), state.dtype.names or ()
    if flag in fields and not state[flag][row]:
        return None
    value = state[name][row]
    if count not in fields:
        return value
    lengths = state[count][row]
    several = zip([value] if len(lengths) == 1 else value, lengths, strict=True)
    lists = [items[:size] for items, size in several]
    return lists if len(lists) > 1 else lists[0]


def rendered(
    path: str,
    state: np.void,
    parameters: tuple[float, ...],
    *,
    references: Mapping[str, str] | None = None,
    **kwargs: object,
) -> object:
    """Return the frame that an original draws of the state of a lane.

    Args:
        path: `"module:Class"` of the original.
        state: The state; the attributes of the same names get its values.
        parameters: A named tuple of parameters, which are attributes too.
        references: The pool of each field that has rows of one.
        **kwargs: Hashable arguments of the constructor.

    Examples:
        >>> rendered("maze:Maze", state, parameters).shape  # doctest: +SKIP
        (400, 600, 3)
    """
    references, fields = references or {}, state.dtype.names or ()
    names = frozenset(n.removeprefix(_USED) for n in fields if n.startswith(_USED))
    env, objects = _instance(path, tuple(sorted(kwargs.items())), names)
    attributes = vars(env)
    rows = {
        pool: [copy.deepcopy(objects.get(pool)) if used else None for used in state[_USED + pool]]
        for pool in names
    }

    def objects_for(name: str, value: Any) -> Any:
        """Return the objects for rows of a pool; other values as they are."""
        if name not in references or value is None:
            return value
        pool = rows[references[name]]
        return _Objects(pool[k] for k in value) if np.ndim(value) else pool[int(value)]

    for name in sorted(fields, key=lambda field: field in references):  # named tuples first
        pool = next((pool for pool in names if _is_part(name, pool)), None)
        if pool is not None:
            for k in np.flatnonzero(state[_USED + pool]):
                value = objects_for(name, _value_of(state, name, k))
                rows[pool][k] = with_field(rows[pool][k], name[len(pool) + 1 :], value)
            continue
        owner = next((key for key in attributes if _is_part(name, key)), name)
        value = objects_for(name, _value_of(state, name, ...))
        setattr(env, owner, with_field(attributes.get(owner), name[len(owner) + 1 :], value))
    fields = getattr(parameters, "_fields", ())
    for name, number in zip(fields, parameters, strict=True):
        setattr(env, name if name in vars(env) else f"_{name}", number)
    return env.render()
