"""The form of docstrings, as far as ruff does not check it."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

import gymcore

ROOT = Path(gymcore.__file__).parent
MODULES = sorted(str(path.relative_to(ROOT)) for path in ROOT.rglob("*.py"))
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
SECTION = re.compile(r"^Raises:\n((?:[ ]{4}.*\n|\n)+)", re.MULTILINE)
ENTRY = re.compile(r"[\w.]+(, [\w.]+)*: If ")


def entries(docstring: str) -> Iterator[str]:
    """Yield the entries under `Raises:`, with their continuation lines."""
    for section in SECTION.findall(inspect.cleandoc(docstring) + "\n"):
        yield from re.split(r"\n(?=\S)", textwrap.dedent(section).strip())


@pytest.mark.parametrize("module", MODULES)
def test_entries_under_raises_read_name_if(module: str) -> None:
    tree = ast.parse((ROOT / module).read_text())
    docstrings = (ast.get_docstring(n) or "" for n in ast.walk(tree) if isinstance(n, DOCUMENTED))
    others = [e for text in docstrings for e in entries(text) if not ENTRY.match(e)]
    assert others == []


def test_entries_are_split_at_names() -> None:
    docstring = """Do it.

    Raises:
        ValueError: If a number is
            negative.
        gymcore.error.Error: The rest.

    Examples:
        >>> 1
    """
    first, second = entries(docstring)
    assert ENTRY.match(first) and first.endswith("negative.")
    assert not ENTRY.match(second)
