"""Local variables, parameters and private names say what they hold, in `gymcore/`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1] / "gymcore"

BANNED = frozenset(
    (
        *(
            "aim",
            "asked",
            "every",
            "found",
            "heard",
            "kept",
            "least",
            "look",
            "made",
            "mine",
            "most",
        ),
        *("note", "one", "ours", "own", "room", "theirs", "thing", "told"),
    )
)
"""Words that say how a value was come by, or stand for a noun. Public names may be such words."""


def local_names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the names that a module binds or defines, and the attributes it sets, with lines."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            yield getattr(node, "id", "") or getattr(node, "attr", ""), node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.ExceptHandler)):
            yield node.name or "", node.lineno


def banned_names(text: str) -> list[str]:
    """Return "line name" for each banned name in the text of a module, in order."""
    found = {(line, name) for name, line in local_names(ast.parse(text))}
    return [f"{line} {name}" for line, name in sorted(found) if name.strip("_") in BANNED]


def test_names_say_what_they_hold() -> None:
    paths = sorted(ROOT.rglob("*.py"))
    assert len(paths) > 200
    assert [f"{p}:{name}" for p in paths for name in banned_names(p.read_text())] == []


def test_banned_names_are_reported_with_their_line() -> None:
    text = "def f(one, *, two):\n    self._kept = made = 1\n    [x for room in y]\n"
    assert banned_names(text) == ["1 one", "2 _kept", "2 made", "3 room"]
