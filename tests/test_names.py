"""Local variables, parameters and private names say what they hold."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1] / "gymcore"
COMPILED = ROOT.with_name("gymcore_ext")

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
"""Words that say how a value was come by, or stand for a noun."""

ALLOWED = {
    "envs/minigrid/env.py": "room",
    **dict.fromkeys(("minigrid/babyai.pyx", "minigrid/building.pxd", "minigrid/rules.pyx"), "room"),
}
"""A room of MiniGrid."""


def local_names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the names that a module binds and the attributes it sets, with their lines.

    Of functions and classes, only private ones count: public names are part of the interface.
    """
    for node in ast.walk(tree):
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            yield getattr(node, "id", "") or getattr(node, "attr", ""), node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.ExceptHandler):
            yield node.name or "", node.lineno
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name.startswith("_"):
            yield node.name, node.lineno


def banned_names(text: str) -> list[str]:
    """Return "line name" for each banned name in the text of a module, in order."""
    found = {(line, name) for name, line in local_names(ast.parse(text))}
    return [f"{line} {name}" for line, name in sorted(found) if name.strip("_") in BANNED]


def test_names_say_what_they_hold() -> None:
    names = {
        str(path.relative_to(ROOT)): banned_names(path.read_text())
        for path in sorted(ROOT.rglob("*.py"))
    }
    assert len(names) > 200
    assert [
        f"{path}:{name}"
        for path, banned in names.items()
        for name in banned
        if name.split()[1] != ALLOWED.get(path)
    ] == []


def banned_words(text: str) -> set[str]:
    """Return the banned names in the text of a Cython module."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    names = {token.string for token in tokens if token.type == tokenize.NAME}
    return {name for name in names if name.strip("_") in BANNED}


def test_names_of_compiled_modules_say_what_they_hold() -> None:
    words = {
        str(path.relative_to(COMPILED)): banned_words(path.read_text())
        for path in sorted(COMPILED.rglob("*.p[yx][xd]"))
    }
    assert len(words) > 50
    assert {path: found for path, found in words.items() if found - {ALLOWED.get(path)}} == {}


def test_banned_names_are_reported_with_their_line() -> None:
    text = "def f(one, *, two):\n    self._kept = made = 1\n    [x for room in y]\n"
    assert banned_names(text) == ["1 one", "2 _kept", "2 made", "3 room"]


def test_names_of_public_functions_are_not_reported() -> None:
    assert banned_names("def every(x): ...\ndef _every(x): ...\n") == ["2 _every"]
