"""Values that are copied to an array, without creating another one where that is possible."""

from __future__ import annotations

import ast

import numpy as np

from gymcore.jit.conversion.expressions import Expressions

__all__ = ["copied", "whole"]


def whole(shape: tuple[int, ...]) -> str:
    """Return the index of all items of a field; empty for a number."""
    return "[:]" if shape else ""


def copied(function: Expressions, value: ast.expr, dtype: np.dtype) -> str:
    """Return the text of a value that is copied to an array of some dtype."""
    cast, inner = _without_cast(function, value)
    rounds = cast == np.float32 and dtype == np.float64
    is_exact = rounds or cast in (None, dtype, np.dtype(np.float64))
    if is_exact and isinstance(inner, (ast.List, ast.Tuple)) and _is_row(function, inner):
        if rounds:
            return ", ".join(f"np.float32({function.text(item)})" for item in inner.elts)
        return function.joined(inner.elts)
    if function.pool_of(inner) is not None or function.pool_of_items(inner) is not None:
        raise function.obstacle(inner, "is an object that is used as a value", "use its attributes")
    called = function.known(inner.func) if isinstance(inner, ast.Call) else None
    if called is not None and called.value in (np.zeros, np.zeros_like):
        return "0"
    return function.flat(inner if cast in (None, dtype) else value)


def _is_row(function: Expressions, display: ast.List | ast.Tuple) -> bool:
    arrays = {np.ndarray, list, tuple}
    nested = (ast.Starred, ast.List, ast.Tuple)
    return not any(function.types(e) & arrays or isinstance(e, nested) for e in display.elts)


def _without_cast(function: Expressions, value: ast.expr) -> tuple[np.dtype | None, ast.expr]:
    """Return the dtype that an expression is converted to, if any, and what is converted."""
    if not isinstance(value, ast.Call):
        return None, value
    kind = function.kind(value)
    dtype = kind.dtype if kind is not None else np.dtype(object)
    known = function.known(value.func)
    if known is not None and known.value in (np.array, np.asarray):
        is_plain = len(value.args) == 1 and all(k.arg != "dtype" for k in value.keywords)
        return None if is_plain else dtype, value.args[0]
    method = value.func
    if not isinstance(method, ast.Attribute) or method.attr not in ("copy", "astype"):
        return None, value
    is_array = np.ndarray in function.types(method.value)
    return (dtype if value.args else None, method.value) if is_array else (None, value)
