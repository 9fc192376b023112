"""Questions about syntax trees."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

__all__ = [
    "called_name",
    "counted",
    "is_empty_list",
    "keywords_of",
    "loaded",
    "name_at",
    "named_in",
    "names_in",
    "parsed",
    "place_of",
    "without_continue",
]


def parsed(text: str) -> ast.expr:
    """Return the syntax of an expression."""
    return ast.parse(text, mode="eval").body


def names_in(*trees: ast.AST) -> Iterator[ast.Name]:
    """Yield the names in syntax trees."""
    for tree in trees:
        yield from (node for node in ast.walk(tree) if isinstance(node, ast.Name))


def named_in(tree: ast.AST) -> list[ast.NamedExpr]:
    """Return the assignments in an expression."""
    return [node for node in ast.walk(tree) if isinstance(node, ast.NamedExpr)]


def called_name(node: ast.AST) -> str:
    """Return the text of the function that an expression calls; empty if it is not a call."""
    return ast.unparse(node.func) if isinstance(node, ast.Call) else ""


def keywords_of(call: ast.Call) -> dict[str, ast.expr]:
    """Return the keyword arguments of a call; that of `**` has the name ""."""
    return {keyword.arg or "": keyword.value for keyword in call.keywords}


def is_empty_list(node: ast.AST) -> bool:
    """Return whether an expression is `[]`."""
    return isinstance(node, ast.List) and not node.elts


def name_at(name: str, node: ast.AST) -> ast.Name:
    """Return a name that stands in the place of an expression."""
    return ast.copy_location(ast.Name(name, ast.Load()), node)


def loaded(target: ast.expr) -> ast.expr:
    """Return the expression that reads a target; its parts are the target's own."""
    read = copy.copy(target)
    if isinstance(read, (ast.Tuple, ast.List)):
        read.elts = [loaded(part) for part in read.elts]
    if isinstance(read, (ast.Tuple, ast.List, ast.Name, ast.Attribute, ast.Subscript)):
        read.ctx = ast.Load()
    return read


def counted(node: ast.AST) -> str:
    """Return the name that counts the items of a comprehension from 0; empty for others."""
    if not isinstance(node, ast.ListComp) or len(node.generators) > 1 or node.generators[0].ifs:
        return ""
    part = node.generators[0]
    is_count = isinstance(part.iter, ast.Call) and len(part.iter.args) == 1
    return ast.unparse(part.target) if is_count and called_name(part.iter) == "range" else ""


def without_continue(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements of a loop with `else` instead of `continue` in conditions."""
    for k, statement in enumerate(body):
        if not isinstance(statement, ast.If) or statement.orelse:
            continue
        *first, jump = statement.body
        if isinstance(jump, ast.Continue):
            rest = without_continue(body[k + 1 :])
            first = first or [ast.copy_location(ast.Pass(), jump)]
            return [*body[:k], ast.copy_location(ast.If(statement.test, first, rest), statement)]
    return body


def place_of(node: ast.AST) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return where the text of an expression begins and ends, each as line and column."""
    assert isinstance(node, (ast.expr, ast.keyword, ast.stmt))
    end = node.end_lineno or node.lineno, node.end_col_offset or 0
    return (node.lineno, node.col_offset), end
