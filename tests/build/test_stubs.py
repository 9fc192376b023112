"""The .pyi stubs match the compiled modules exactly: the same names and the same signatures."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType, WrapperDescriptorType
from typing import Any

import pytest

import gymcore_ext

PACKAGE = Path(gymcore_ext.__file__).parent
ROOT = PACKAGE.parent
SOURCES = sorted(PACKAGE.rglob("*.pyx"))
MODULES = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in SOURCES]

# Attributes that Cython itself adds to a class.
ADDED = {"__new__", "__doc__", "__pyx_vtable__", "__reduce__", "__setstate__", "__module__"}

Signature = list[tuple[str, str, Any]]


def stub_of(name: str) -> ast.Module:
    return ast.parse(ROOT.joinpath(*name.split(".")).with_suffix(".pyi").read_text())


def written_signature(function: ast.FunctionDef) -> Signature:
    """Return the name, kind and default of every parameter of a `def`, in order."""
    arguments = function.args
    positional = arguments.args
    defaults = [None] * (len(positional) - len(arguments.defaults)) + arguments.defaults
    found: Signature = [
        (one.arg, "positional", literal(default))
        for one, default in zip(positional, defaults, strict=True)
    ]
    if arguments.vararg:
        found.append((arguments.vararg.arg, "*", None))
    found += [
        (one.arg, "keyword", literal(default))
        for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    if arguments.kwarg:
        found.append((arguments.kwarg.arg, "**", None))
    return found


def literal(default: ast.expr | None) -> Any:
    """Return a default as text, or None if there is none."""
    return None if default is None else repr(ast.literal_eval(default))


def compiled_signature(function: Any) -> Signature:
    kinds = {
        inspect.Parameter.POSITIONAL_OR_KEYWORD: "positional",
        inspect.Parameter.VAR_POSITIONAL: "*",
        inspect.Parameter.KEYWORD_ONLY: "keyword",
        inspect.Parameter.VAR_KEYWORD: "**",
    }
    return [
        (one.name, kinds[one.kind], None if one.default is one.empty else repr(one.default))
        for one in inspect.signature(function).parameters.values()
    ]


def constructor_signature(source: str, class_name: str) -> Signature | None:
    """Return the parameters of a class from the .pyx file: the compiled class lacks them."""
    body = re.split(rf"^cdef class {class_name}\b", source, flags=re.M)[1]
    body = re.split(r"^\S", body.split("\n", 1)[1], maxsplit=1, flags=re.M)[0]
    written = re.search(r"def __c?init__\((.*?)\):", body, flags=re.S)
    if written is None:
        return None
    # To a caller, "int64_t limit=0" is `limit=0`, and so is "bint reuse=False"; "list x not None"
    # and "float[:, ::1] x" are `x`.
    text = re.sub(r"\[[:, 1]*\]| not None\b", "", written.group(1))
    parameters = filter(None, map(str.strip, text.split(",")))
    plain = [re.sub(r"^[\w ]+ (?=\w)", "", parameter) for parameter in parameters]
    definition = ast.parse(f"def __init__({', '.join(plain)}): ...").body[0]
    assert isinstance(definition, ast.FunctionDef)
    return written_signature(definition)


def stubbed_names(stub: ast.Module) -> dict[str, ast.stmt]:
    names: dict[str, ast.stmt] = {}
    for node in stub.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names[node.name] = node
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            if isinstance(node.annotation, ast.Name) and node.annotation.id == "TypeAlias":
                continue  # for type checkers only
            names[node.target.id] = node
        elif isinstance(node, ast.ImportFrom):
            # A stub exports an imported name by "X as X".
            names.update({a.asname: node for a in node.names if a.asname and a.asname == a.name})
    return names


def own_names(module: ModuleType) -> dict[str, Any]:
    """Return the public names that the module defines, without names it imports."""
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_")
        and not isinstance(value, ModuleType)
        and getattr(value, "__module__", module.__name__) == module.__name__
        and not is_constant_of_another(module, name, value)
    }


def is_constant_of_another(module: ModuleType, name: str, value: Any) -> bool:
    return any(
        getattr(importlib.import_module(other), name, None) is value
        and isinstance(stubbed_names(stub_of(other)).get(name), ast.AnnAssign)
        for other in MODULES
        if other != module.__name__
    )


def test_every_compiled_module_has_a_stub_and_every_stub_a_module():
    stubs = {path.with_suffix("") for path in PACKAGE.rglob("*.pyi")}
    assert stubs == {path.with_suffix("") for path in SOURCES}


@pytest.mark.parametrize("name", MODULES)
def test_names_are_those_of_the_module(name):
    module = importlib.import_module(name)
    stubbed = stubbed_names(stub_of(name))
    imported = {key for key, node in stubbed.items() if isinstance(node, ast.ImportFrom)}
    assert stubbed.keys() - imported == own_names(module).keys()
    for key in imported:
        assert hasattr(module, key), f"{key} is in the stub and not in the module"


@pytest.mark.parametrize("name", MODULES)
def test_functions_take_what_the_stub_says(name):
    module = importlib.import_module(name)
    for key, node in stubbed_names(stub_of(name)).items():
        if isinstance(node, ast.FunctionDef):
            assert written_signature(node) == compiled_signature(getattr(module, key)), key


@pytest.mark.parametrize("name", MODULES)
def test_classes_have_the_members_of_the_stub(name):
    module = importlib.import_module(name)
    for key, node in stubbed_names(stub_of(name)).items():
        if isinstance(node, ast.ClassDef):
            check_class(
                node, getattr(module, key), (ROOT / name.replace(".", "/")).with_suffix(".pyx")
            )


def check_class(node: ast.ClassDef, compiled: type, source: Path) -> None:
    stubbed = {one.name: one for one in node.body if isinstance(one, ast.FunctionDef)}
    written = [base.value if isinstance(base, ast.Subscript) else base for base in node.bases]
    bases = [base.id for base in written if isinstance(base, ast.Name)] or ["object"]
    assert [base.__name__ for base in compiled.__bases__] == bases

    constructor = stubbed.pop("__init__", None)
    wanted = constructor_signature(source.read_text(), node.name)
    assert (constructor and written_signature(constructor)) == wanted, f"{node.name}()"

    # What a built-in base declares has the base's signature.
    base = compiled.__base__
    inherited = dir(base) if base is not None and base.__module__ == "builtins" else []
    public = {m for m in vars(compiled).keys() - {*inherited} if not m.startswith("_")}
    dunders = {member for member in stubbed if member.startswith("__")}
    assert stubbed.keys() - dunders == public, node.name
    assert dunders <= vars(compiled).keys(), node.name
    for member, definition in stubbed.items():
        real = vars(compiled)[member]
        is_property = any(
            isinstance(one, ast.Name) and one.id == "property" for one in definition.decorator_list
        ) or any(isinstance(one, ast.Attribute) for one in definition.decorator_list)
        assert is_property == inspect.isdatadescriptor(real), f"{node.name}.{member}"
        # Functions that C calls through a slot have no visible signature.
        if not is_property and not isinstance(real, WrapperDescriptorType):
            assert written_signature(definition) == compiled_signature(real), (
                f"{node.name}.{member}"
            )


def test_a_wrong_stub_is_found():
    """The comparison can fail: one parameter missing, a default changed, a kind changed."""
    choose_isa = importlib.import_module("gymcore_ext.engine.kernels").choose_isa
    right = ast.parse("def choose_isa(name=None): ...").body[0]
    assert written_signature(right) == compiled_signature(choose_isa)
    for wrong in ("()", "(name)", "(name='x')", "(*, name=None)", "(other=None)"):
        definition = ast.parse(f"def choose_isa{wrong}: ...").body[0]
        assert written_signature(definition) != compiled_signature(choose_isa), wrong
