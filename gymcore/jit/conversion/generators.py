"""Generator functions as functions that return lists."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeVar

__all__ = ["consumed", "iterated", "without_yields"]

_Node = TypeVar("_Node", bound=ast.AST)

_CONSUMING = frozenset(("list", "tuple", "set", "sum", "min", "max", "sorted"))


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes in a function that do not belong to another function in it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.Lambda)):
            yield child
            yield from _own_nodes(child)


def without_yields(tree: ast.FunctionDef) -> bool:
    """Let a generator function return a list of what it yields; return whether it is one.

    Those with `while`, which may never end, and those that use the value of `yield`, stay as they
    are.
    """
    nodes = [*_own_nodes(tree)]
    yields = [node for node in nodes if isinstance(node, (ast.Yield, ast.YieldFrom))]
    statements = {node.value: node for node in nodes if isinstance(node, ast.Expr)}
    is_plain = all(isinstance(part, ast.Yield) and part in statements for part in yields)
    if not yields or not is_plain or any(isinstance(node, ast.While) for node in nodes):
        return False
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    name = "generated" + "_" * ("generated" in names)
    for part in yields:
        append = ast.Attribute(ast.Name(name, ast.Load()), "append", ast.Load())
        item = getattr(part, "value", None) or ast.Constant(None)
        call = ast.Call(append, [item], [])
        statements[part].value = _placed(call, part)
    for node in nodes:
        if isinstance(node, ast.Return):
            node.value = _placed(ast.Name(name, ast.Load()), node)
    first = ast.Assign([ast.Name(name, ast.Store())], ast.List([], ast.Load()))
    last = ast.Return(ast.Name(name, ast.Load()))
    is_documented = ast.get_docstring(tree) is not None
    tree.body.insert(is_documented, _placed(first, tree.body[is_documented]))
    tree.body.append(_placed(last, tree.body[-1]))
    return True


def _placed(node: _Node, other: ast.AST) -> _Node:
    """Return a new node whose parts have the place of another one, if they have none."""
    for part in ast.walk(node):
        if not hasattr(part, "lineno"):
            ast.copy_location(part, other)
    return node


def consumed(tree: ast.AST) -> set[ast.AST]:
    """Return the expressions in a function all of whose items a call takes at once."""
    calls = (n for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name))
    named = ((call, ast.unparse(call.func)) for call in calls)
    return {part for call, name in named if name in _CONSUMING for part in call.args}


def iterated(tree: ast.AST) -> set[ast.AST]:
    """Return the expressions that loops and comprehensions in a function iterate over.

    Those in calls of `any` and `all`, which may leave items out, are not among them.
    """
    nodes = [*ast.walk(tree)]
    calls = [n for n in nodes if isinstance(n, ast.Call)]
    tests = (call for call in calls if ast.unparse(call.func) in ("any", "all"))
    left = {part for call in tests for part in ast.walk(call)}
    loops = (n for n in nodes if isinstance(n, (ast.For, ast.comprehension)) and n not in left)
    return {node.iter for node in loops}
