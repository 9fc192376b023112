"""Values that the state cannot take in place of those that it had in the runs of the original."""

from __future__ import annotations

import ast

import numpy as np

from gymcore.jit.conversion.expressions import Expressions
from gymcore.jit.conversion.layouts import Layout
from gymcore.jit.conversion.scope import Stored
from gymcore.jit.conversion.syntax import called_name

__all__ = ["check_given", "check_number", "check_value"]

_FLOATS = (float, np.floating)
# Methods that may return views of arrays, and functions that may return their argument.
_VIEWS = ("ravel", "reshape", "squeeze", "swapaxes", "transpose", "view")
_SAME = (np.asarray, np.asanyarray, np.atleast_1d, np.ravel, np.reshape, np.squeeze, np.transpose)


def check_value(function: Expressions, stored: Stored, value: ast.expr) -> None:
    """Refuse a value of another type than the runs had, or an array that would be shared.

    Args:
        function: The function with the assignment.
        stored: The part of the state.
        value: What is assigned to it.
    """
    layout, known = stored.layout, function.known(value)
    is_none, was_none = known is not None and known.value is None, layout.kind is type(None)
    if is_none != was_none and not (layout.optional and is_none):
        reason = f"is {'' if is_none else 'not '}None, unlike this attribute in the random episodes"
        if is_none or was_none:
            raise function.obstacle(value, reason, "give `policy` one that reaches it")
    if (
        layout.kind is str
        and not function.is_text(value)
        and (function.types(value) or isinstance(value, ast.Constant))
    ):
        raise function.obstacle(value, "is not a text", "give the attribute one type")
    if not layout.shape:
        check_number(function, layout, value)
    elif not layout.grows and layout.dtype is not None:
        types = function.types(value)
        if types and all(issubclass(kind, (int, float, np.number)) for kind in types):
            raise function.obstacle(value, "is a number in place of an array", "assign an array")
        _check_sharing(function, stored, value)


def check_given(function: Expressions, layout: Layout, value: ast.expr) -> None:
    """Refuse an array that a new object would share with another name, if one changes it."""
    other = function.stored(value)
    is_array = other is not None and bool(other.layout.shape)
    if isinstance(value, ast.Name) and other is None and function.bound(value) is None:
        is_array = np.ndarray in function.types(value) or not function.types(value)
        is_array &= len(function.source.loads(value.id)) > 1
    arrays = {name for name, item in (layout.items or {}).items() if item.shape}
    if is_array and arrays & function.unit.changed_in_place:
        reason = "may be an array that a new object shares with another name"
        raise function.obstacle(value, reason, f"write `{ast.unparse(value)}.copy()`")


def check_number(function: Expressions, layout: Layout, value: ast.expr) -> None:
    """Refuse a float for a number that was an integer or a bool in the runs."""
    if layout.dtype is None or layout.shape or layout.dtype.kind not in "bi":
        return
    types = function.types(value)
    is_float = any(issubclass(kind, _FLOATS) for kind in types)
    if is_float or (not types and _looks_like_float(function, value)):
        reason = "is a float, but this attribute was an integer in the random episodes"
        raise function.obstacle(value, reason, "assign a float to it in `reset`")


def _looks_like_float(function: Expressions, node: ast.AST) -> bool:
    """Return whether an expression that never ran has a float by its form, or in the state."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, float)
    stored = function.stored(node)
    if stored is not None and stored.layout.dtype is not None and not stored.layout.shape:
        return stored.layout.dtype.kind == "f"
    if called_name(node) in ("abs", "max", "min") and isinstance(node, ast.Call):
        return any(_looks_like_float(function, part) for part in node.args)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return True
    opaque = (ast.Call, ast.Compare, ast.Subscript)
    children = () if isinstance(node, opaque) else ast.iter_child_nodes(node)
    return any(_looks_like_float(function, child) for child in children)


def _viewed(function: Expressions, node: ast.expr) -> ast.expr:
    """Return the array of which an expression may be a view; other expressions as they are."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        return _viewed(function, node.value)
    if isinstance(node, ast.Attribute) and node.attr == "T":
        return _viewed(function, node.value)
    method = node.func if isinstance(node, ast.Call) else None
    if isinstance(method, ast.Attribute) and method.attr in _VIEWS:
        return _viewed(function, method.value)
    known = function.known(method) if method is not None else None
    is_same = known is not None and known.value in _SAME
    return _viewed(function, node.args[0]) if is_same and isinstance(node, ast.Call) else node


def _check_sharing(function: Expressions, stored: Stored, value: ast.expr) -> None:
    """Refuse an array that two attributes would have, if one of them is changed in place."""
    value = _viewed(function, value)
    other = function.stored(value)
    names = {stored.name.rpartition("_")[2], getattr(value, "attr", "")}
    is_shared = other is not None and bool(other.layout.shape) and other != stored
    if isinstance(value, ast.Name) and other is None and function.bound(value) is None:
        nodes = [*ast.walk(function.source.tree)]
        stores = [
            n for n in nodes if isinstance(n, ast.Assign) and ast.unparse(n.value) == value.id
        ]
        later = (n for n in nodes if getattr(n, "lineno", 0) > value.lineno)
        changed = (n.target if isinstance(n, ast.AugAssign) else n for n in later)
        items = (n for n in changed if isinstance(getattr(n, "ctx", None), ast.Store))
        is_shared = len(stores) > 1 or any(
            ast.unparse(getattr(n, "value", n)) == value.id for n in items
        )
    if is_shared and names & function.unit.changed_in_place:
        reason = "is an array that two names would share, and one changes"
        raise function.obstacle(value, reason, f"write `{ast.unparse(value)}.copy()`")
