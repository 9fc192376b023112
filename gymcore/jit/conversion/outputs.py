"""Observations and infos, which `step` writes into the state, or `observe` and `info` return."""

from __future__ import annotations

import ast
import contextlib

import numpy as np

from gymcore import spaces
from gymcore.jit.conversion.calls import Calls
from gymcore.jit.conversion.copies import copied, whole
from gymcore.jit.conversion.layouts import Layout, is_number, layout_of
from gymcore.jit.conversion.obstacles import ObstacleFound
from gymcore.jit.conversion.scope import Alias
from gymcore.jit.conversion.syntax import called_name, name_at, parsed
from gymcore.spaces.space import Space

__all__ = ["write_info", "write_observation"]


def write_observation(
    function: Calls, value: ast.expr, space: Space, target: str, stored: bool
) -> None:
    """Emit the assignment of an observation.

    Args:
        function: The function that returns it.
        value: The expression.
        space: Its space.
        target: The argument or the field of the state that it is assigned to.
        stored: Whether that is a field of the state.
    """
    if isinstance(space, (spaces.Dict, spaces.Tuple)):
        parts: dict[object, ast.expr] = {}
        if isinstance(value, ast.Dict):
            keys = (function.known(key) for key in value.keys if key is not None)
            parts = dict(zip((key and key.value for key in keys), value.values, strict=False))
        elif isinstance(value, ast.Call) and called_name(value) == "dict" and not value.args:
            parts = {keyword.arg: keyword.value for keyword in value.keywords}
        elif isinstance(value, (ast.Tuple, ast.List)):
            parts = dict(enumerate(value.elts))
        elif isinstance(space, spaces.Tuple):
            texts = function.elements(value) or []
            function.bindings |= {text: Alias(text) for text in texts}
            parts = {k: name_at(text, value) for k, text in enumerate(texts)}
        inner = space.spaces
        for key, part in inner.items() if isinstance(inner, dict) else enumerate(inner):
            if key not in parts:
                reason = f"is an observation without a part {key!r} in a display"
                raise function.obstacle(value, reason, "return a display of all parts")
            name = f"_{key}" if stored else f"[{key}]" if isinstance(key, int) else f".{key}"
            write_observation(function, parts[key], part, f"{target}{name}", stored)
    elif is_number(space):
        index = "" if stored else "[0]"
        function.emit(f"{target}{index} = {function.flat(value)}", value.col_offset)
    else:
        text = copied(function, value, np.dtype(space.dtype))
        function.emit(f"{target}[:] = {text}", value.col_offset)


def write_info(function: Calls, value: ast.expr, clears: bool = False) -> None:
    """Emit the assignments of infos; `clears` sets those that are not written to 0."""
    unit = function.unit
    prefix = f"state.{unit.field_of('info')}_" if "info" in unit.decisions else "info."
    items = _items_of(function, value)

    def write(item: tuple[ast.expr | None, ast.expr]) -> None:
        unpacked = function.known(item[1]) if item[0] is None else None
        if unpacked is None or unpacked.value != {}:
            _write_item(function, *item, prefix)

    function.each(write, items)
    written = {getattr(key, "value", None) for key, _ in items}
    for name in sorted(unit.trace.infos.keys() - written) if clears else ():
        layout: Layout | None = None
        with contextlib.suppress(ObstacleFound):  # which is one where the info is written
            layout = _layout(function, name, value)
        if layout is not None:
            zero = "False" if layout.dtype == np.bool_ and not layout.shape else "0"
            function.emit(f"{prefix}{name}{whole(layout.shape)} = {zero}")


def _items_of(function: Calls, value: ast.expr) -> list[tuple[ast.expr | None, ast.expr]]:
    """Return the keys and values of infos."""
    if isinstance(value, ast.Call) and called_name(value) == "dict" and not value.args:
        return [(ast.Constant(keyword.arg), keyword.value) for keyword in value.keywords]
    owner = ast.unparse(value).removesuffix(".copy()")
    record = function.stored(parsed(owner))
    if record is not None and record[1].items:
        return [(ast.Constant(key), parsed(f"{owner}[{key!r}]")) for key in record[1].items]
    if not isinstance(value, ast.Dict):
        reason = "are infos that are not a dict display, or which more than `return` uses"
        raise function.obstacle(value, reason, "use a dict display, in `return` only")
    return [*zip(value.keys, value.values, strict=True)]


def _write_item(function: Calls, key: ast.expr | None, item: ast.expr, prefix: str) -> None:
    known = function.known(key) if key is not None else None
    name = known.value if known is not None else None
    if not isinstance(name, str) or not name.isidentifier() or name.startswith("_"):
        reason = "is a key of infos that is not a name"
        raise function.obstacle(key or item, reason, "use a name")
    layout = _layout(function, name, item)
    if layout is not None and layout.dtype is not None:
        text = copied(function, item, layout.dtype) if layout.shape else function.flat(item)
        function.emit(f"{prefix}{name}{whole(layout.shape)} = {text}", item.col_offset)


def _layout(function: Calls, name: str, node: ast.expr) -> Layout | None:
    samples = [v for v in function.unit.trace.infos.get(name, []) if v is not None]
    if not samples:
        return None
    try:
        layout = layout_of(samples)
    except ValueError as problem:
        raise function.obstacle(node, *problem.args) from None
    is_text = isinstance(samples[0], str) or np.asarray(samples[0]).dtype.kind in "US"
    if layout.items is not None or len(layout.shape) > 1 or is_text:
        reason = f"is the info {name!r}, which is neither a number nor a row of numbers"
        raise function.obstacle(node, reason, "leave it out")
    function.unit.info_layouts[name] = layout
    return layout
