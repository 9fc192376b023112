"""Syntax trees of Python files."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any


def statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield every statement, nested ones included, faster than `ast.walk`.

    Most nodes of a tree are expressions, and no expression holds a statement.
    """
    waiting: list[Any] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.stmt):
            yield node
        for field in ("body", "orelse", "handlers", "finalbody", "cases"):
            waiting += getattr(node, field, ())
