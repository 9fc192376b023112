"""The objects of the API reference, in docs/api."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OBJECTS = [
    line.removeprefix("::: ")
    for page in sorted((ROOT / "docs" / "api").glob("*.md"))
    for line in page.read_text().splitlines()
    if line.startswith("::: ")
]
# Types, which annotations name and no program calls.
TYPES = {
    "gymcore.base.seeding.RNG",
    "gymcore.base.seeding.RandomNumberGenerator",
    "gymcore.utils.step_api_compatibility.DoneStepType",
    "gymcore.utils.step_api_compatibility.TerminatedTruncatedStepType",
}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)


def module(name: str) -> ast.Module | None:
    """Return the code of a module or package, or None for other names."""
    path = ROOT.joinpath(*name.split("."))
    files = [file for file in (path / "__init__.py", path.with_suffix(".py")) if file.exists()]
    return ast.parse(files[0].read_text()) if files else None


def definition(name: str) -> ast.AST | None:
    """Return the code of a module, class or function, which another module may import."""
    tree = module(name)
    if tree is not None:
        return tree
    owner, _, short = name.rpartition(".")
    for node in reversed(list(ast.walk(module(owner) or ast.Module()))):  # overloads come first
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == short:
            return node
        if isinstance(node, ast.ImportFrom) and short in [alias.name for alias in node.names]:
            return definition(f"{node.module}.{short}")
    return None


@pytest.mark.parametrize("name", [name for name in OBJECTS if name not in TYPES])
def test_objects_have_an_example(name: str) -> None:
    code = definition(name)
    assert code is not None
    docstrings = [ast.get_docstring(n) for n in ast.walk(code) if isinstance(n, DOCUMENTED)]
    assert any(">>> " in (docstring or "") for docstring in docstrings)


def test_types_are_defined_by_assignments() -> None:
    assert set(OBJECTS) >= TYPES
    assert not any(map(definition, TYPES))
