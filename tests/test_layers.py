"""Imports go only down the layers, and never in a circle; lazy and type-checking imports count.

The test reads syntax trees, so it also sees imports inside functions and the modules passed to
`lazy_namespace`. There are no exceptions: if a layer above defines a name of a namespace below, the
package itself adds it (`add_names`). docs/architecture.md lists them.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.syntax import statements

ROOT = Path(__file__).parents[1] / "gymcore"

LAYERS = (
    ("gymcore.error", "gymcore.logger"),
    ("gymcore.base",),
    ("gymcore.spaces",),
    ("gymcore.specs",),
    ("gymcore.env_states",),
    ("gymcore.core",),
    ("gymcore.foreign",),
    ("gymcore.checking",),
    ("gymcore.rendering",),
    ("gymcore.vector",),
    ("gymcore.remote", "gymcore.distributed"),
    ("gymcore.native",),
    ("gymcore.jit",),
    ("gymcore.wrappers",),
    ("gymcore.utils",),
    ("gymcore.experimental",),
    ("gymcore.envs",),
    ("gymcore.compat",),
    ("gymcore.interop",),
    ("gymcore.environment",),
    ("gymcore.learn",),
    ("gymcore.alias", "gymcore.cli", "gymcore.__main__"),
)
"""Packages and modules from the lowest layer up; the longest matching name applies."""

TOP = "gymcore"
"""The package itself, which imports everything."""


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(ROOT.rglob("*.py"))}
FACES = {name for name, path in MODULES.items() if path.name == "__init__.py"}


@functools.cache
def parsed(name: str) -> tuple[str, ast.Module]:
    """Return the text and the syntax tree of a module."""
    text = MODULES[name].read_text()
    return text, ast.parse(text)


def called(node: ast.Call) -> str:
    """Return the last part of the called function's name, `f` for `a.f()`."""
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def is_lazy(node: ast.AST) -> bool:
    """Return whether the node names modules that are imported lazily."""
    if isinstance(node, ast.AnnAssign):
        return ast.unparse(node.target) == "_LAZY"
    return isinstance(node, ast.Call) and called(node) in ("lazy_namespace", "import_module")


def imported_names(name: str) -> Iterator[tuple[str, int]]:
    """Yield the full name of each imported module, or name imported from one, with its line."""
    package = name if name in FACES else name.rpartition(".")[0]
    text, tree = parsed(name)
    calls = "lazy_namespace" in text or "import_module" in text
    for node in ast.walk(tree) if calls else statements(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")
            base = ".".join(parents[: len(parents) + 1 - node.level]) if node.level else ""
            base = ".".join(filter(None, (base, node.module)))
            for alias in node.names:
                yield f"{base}.{alias.name}", node.lineno
        elif is_lazy(node):
            for given in (n.value for n in ast.walk(node) if isinstance(n, ast.Constant)):
                if isinstance(given, str) and given.startswith("."):
                    yield package + given, node.lineno
                elif isinstance(given, str) and given.startswith("gymcore."):
                    yield given, node.lineno


def imports(name: str) -> dict[str, int]:
    """Return the modules of gymcore that a module imports, with the line of the first import."""
    found: dict[str, int] = {}
    for target, line in imported_names(name):
        module = target
        while module and module not in MODULES:
            module = module.rpartition(".")[0]
        if module and module != name:
            found.setdefault(module, line)
    return found


@functools.cache
def all_imports() -> dict[str, dict[str, int]]:
    return {name: imports(name) for name in MODULES}


def layer(name: str) -> int:
    """Return the number of a module's layer; the package itself is below its importers."""
    if name == TOP:
        return layer("gymcore.compat")
    fitting = [
        (len(prefix), number)
        for number, prefixes in enumerate(LAYERS)
        for prefix in prefixes
        if name == prefix or name.startswith(f"{prefix}.")
    ]
    return max(fitting)[1]


def upward_imports() -> list[str]:
    return [
        f"{MODULES[name].relative_to(ROOT.parent)}:{line} imports {target}"
        for name in MODULES
        if name != TOP
        for target, line in all_imports()[name].items()
        if layer(target) > layer(name)
    ]


def circles() -> list[list[str]]:
    """Return the groups of modules that import each other, ignoring `__init__` modules."""

    def reach(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            module = waiting.pop()
            for target in all_imports()[module]:
                if target not in seen and target not in FACES:
                    seen.add(target)
                    waiting.append(target)
        return seen

    modules = [name for name in MODULES if name not in FACES]
    reachable = {name: reach(name) for name in modules}
    groups = {
        tuple(sorted(other for other in reachable[name] if name in reachable.get(other, ())))
        for name in modules
        if name in reachable[name]
    }
    return sorted(map(list, groups))


@pytest.mark.parametrize("name", [name for name in MODULES if name != TOP])
def test_every_module_has_a_layer(name: str) -> None:
    layer(name)


def test_imports_go_down() -> None:
    assert upward_imports() == []


def test_no_module_imports_itself_in_a_circle() -> None:
    assert circles() == []


def compiled_bases(tree: ast.Module) -> set[str]:
    """Return the classes of a module that inherit from classes imported from `gymcore_ext`."""
    compiled = {
        alias.asname or alias.name
        for node in statements(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gymcore_ext")
        for alias in node.names
    }
    return {
        node.name
        for node in statements(tree)
        if isinstance(node, ast.ClassDef) and compiled & {ast.unparse(base) for base in node.bases}
    }


def test_only_the_documented_classes_inherit_from_compiled_ones() -> None:
    trees = [tree for text, tree in map(parsed, MODULES) if "gymcore_ext" in text]
    names = {name for tree in trees for name in compiled_bases(tree)}
    assert names == {"LaneGames", "LaneState", "PythonStepBatch"}
