"""The source of a class: its functions with their text, and the attributes that they change."""

from __future__ import annotations

import ast
import copy
import dataclasses
import functools
import importlib
import inspect
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from types import FunctionType, MethodType
from typing import Any

from gymcore import error
from gymcore.core import Env
from gymcore.specs.entry_points import load_env_creator
from gymcore.specs.lookup import spec as spec_of

__all__ = [
    "GROWING",
    "MUTATING",
    "Source",
    "attributes_in",
    "changed_attributes",
    "changed_by_methods",
    "find_class",
    "function_of",
    "has_convertible_init",
    "is_convertible",
    "is_storable",
    "is_storable_type",
    "method_of",
    "owner_of",
    "reached",
    "read_attributes",
    "source_of",
]

MUTATING = frozenset(
    (
        *("append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "fill"),
        *("update", "add", "discard", "setdefault", "popitem", "popleft", "appendleft", "put"),
    )
)
"""Methods that change the object that they belong to."""
GROWING = frozenset(("append", "extend", "insert", "pop", "remove"))
"""Methods that change the length of a list."""
_LIBRARIES = re.compile(
    r"(gymnasium|gym)\.(core|spaces|logger|utils|error|vector|wrappers)\b|gymcore\b|numpy\b"
)


class Source:
    """The text and the syntax tree of a function.

    Attributes:
        function: The function.
        tree: Its syntax tree; line 1 is the first line of `lines`.
        lines: Its text without the common indent, as bytes, because columns count bytes.
        file, first_line: Place of the definition.
        defaults: The default of each argument.
        owner: The class that defines it, or None.
    """

    def __init__(self, function: FunctionType, owner: type | None) -> None:
        """Read the source; raise `OSError` if there is none."""
        parameters = inspect.signature(function).parameters.values()
        self.defaults: dict[str, object] = {p.name: p.default for p in parameters}
        lines, self.first_line = inspect.getsourcelines(function)
        text = textwrap.dedent("".join(lines))
        try:
            tree = ast.parse(text).body[0]
        except SyntaxError as problem:
            raise OSError(f"{function.__qualname__} is not a definition") from problem
        if not isinstance(tree, ast.FunctionDef):
            raise OSError(f"{function.__qualname__} is not a definition")
        self.function, self.tree, self.owner = function, tree, owner
        self.lines = text.encode().splitlines()
        self.file = function.__code__.co_filename
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and re.match(r"__\w*[^_]_?$", node.attr) and owner:
                node.attr = f"_{owner.__name__.lstrip('_')}{node.attr}"

    outer_self = ""  # of a nested function: names of the enclosing one
    outer_names: frozenset[str] | set[str] = frozenset()

    @property
    def arguments(self) -> list[str]:
        """The names of the arguments."""
        arguments = self.tree.args
        return [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]

    def local(self, tree: ast.FunctionDef, defaults: dict[str, object]) -> Source:
        """Return the source of a function that is defined in this one."""
        result = copy.copy(self)
        for name in ("stores", "loads", "changed_items", "grown"):
            vars(result).pop(name, None)
        result.tree, result.owner, result.defaults = tree, None, defaults
        result.outer_self, result.outer_names = self.self_name, self.names | self.outer_names
        return result

    def segment(self, start: tuple[int, int], end: tuple[int, int]) -> str:
        """Return the text between two positions (line, column)."""
        lines = self.lines[start[0] - 1 : end[0]]
        lines[-1] = lines[-1][: end[1]]
        lines[0] = lines[0][start[1] :]
        return b"\n".join(lines).decode()

    @property
    def self_name(self) -> str:
        """The name of the argument `self`; empty for functions and static methods."""
        defined = vars(self.owner).get(self.tree.name) if self.owner else None
        is_method = self.owner is not None and not isinstance(defined, staticmethod)
        return self.arguments[0] if is_method and self.arguments else self.outer_self

    @functools.cached_property
    def stores(self) -> Counter[str]:
        """How often the function assigns each local name."""
        nodes = (node for node in ast.walk(self.tree) if isinstance(node, ast.Name))
        return Counter(node.id for node in nodes if isinstance(node.ctx, ast.Store))

    @functools.cached_property
    def loads(self) -> set[str]:
        """The names that the function reads."""
        nodes = (node for node in ast.walk(self.tree) if isinstance(node, ast.Name))
        return {node.id for node in nodes if isinstance(node.ctx, ast.Load)}

    @property
    def locals(self) -> set[str]:
        """The names that the function assigns."""
        return set(self.stores)

    @property
    def names(self) -> set[str]:
        """The names that the function assigns, and its arguments."""
        return {*self.stores, *self.arguments}

    @functools.cached_property
    def changed_items(self) -> set[str]:
        """The local names whose items the function assigns, or which it updates."""
        names = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                names.add(ast.unparse(node.value))
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                names |= {ast.unparse(node.func.value)} if node.func.attr == "update" else set()
        return names

    def is_flat_list(self, name: str) -> bool:
        """Return whether items are appended to a list only in the block that creates it."""
        appends = f"{name}.append("
        blocks = [getattr(node, "body", None) for node in ast.walk(self.tree)]
        texts = [[ast.unparse(s) for s in block] for block in blocks if isinstance(block, list)]
        beside = [block for block in texts if any(re.match(rf"{name}\b.*= \[\]", t) for t in block)]
        count = sum(text.startswith(appends) for block in beside for text in block)
        return len(beside) == 1 and count == ast.unparse(self.tree).count(appends)

    @functools.cached_property
    def grown(self) -> set[str]:
        """The local lists that a method changes in another block than that which creates them."""
        calls = (node.func for node in ast.walk(self.tree) if isinstance(node, ast.Call))
        names = {
            call.value.id
            for call in calls
            if isinstance(call, ast.Attribute)
            and isinstance(call.value, ast.Name)
            and call.attr in GROWING
        }
        return {name for name in names & self.locals if not self.is_flat_list(name)}

    def output_role(self, name: str) -> str:
        """Return "observation" or "info" if a name is only used as such a result."""
        roles, changed = set(), 0
        results = [n.value for n in ast.walk(self.tree) if isinstance(n, ast.Return)]
        for value in (v for v in results if isinstance(v, ast.Tuple) and len(v.elts) in (2, 5)):
            for role, part in (("observation", value.elts[0]), ("info", value.elts[-1])):
                if isinstance(part, ast.Name) and part.id == name:
                    roles.add(role)
                    changed += 1
        nodes = (node for node in ast.walk(self.tree) if isinstance(node, ast.Name))
        reads = sum(node.id == name and isinstance(node.ctx, ast.Load) for node in nodes)
        is_info = roles == {"info"} and name in self.changed_items
        return roles.pop() if len(roles) == 1 and (changed == reads or is_info) else ""

    def operator_of(self, node: ast.AugAssign) -> str:
        """Return the operator of an augmented assignment, without the `=`."""
        return ast.unparse(node).removeprefix(ast.unparse(node.target)).split("=")[0].strip()


@functools.cache
def source_of(function: FunctionType, owner: type | None = None) -> Source | None:
    """Return the source of a function; None if it has none."""
    try:
        return Source(function, owner)
    except (OSError, TypeError):
        return None


def find_class(env: object) -> tuple[type, dict[str, object]]:
    """Return the class, and the arguments of its constructor.

    Args:
        env: A class, `"module:Class"`, or an id such as `"gymnasium:CartPole-v1"`.

    Raises:
        ArgumentTypeError: If it is none of these.
    """
    kwargs: dict[str, object] = {}
    if isinstance(env, str):
        entry: object = env
        if env.startswith("gymnasium:"):
            registered = importlib.import_module("gymnasium").spec(env.removeprefix("gymnasium:"))
            kwargs, entry = dict(registered.kwargs), registered.entry_point
        elif ":" not in env:
            spec = spec_of(env)
            kwargs, entry = dict(spec.kwargs), spec.entry_point
        env = load_env_creator(entry) if isinstance(entry, str) else entry
    if not isinstance(env, type) or not (hasattr(env, "reset") and hasattr(env, "step")):
        raise error.ArgumentTypeError(
            f"env: expected a class with reset and step, 'module:Class' or an id, got {env!r}"
        )
    return env, kwargs


def function_of(value: object) -> FunctionType | None:
    """Return the Python function of a function, method, property or static method."""
    value = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
    while hasattr(value, "__wrapped__"):
        value = value.__wrapped__
    return value if isinstance(value, FunctionType) else None


def is_convertible(value: object) -> bool:
    """Return whether a value is a function that is converted: of the class, or of its modules."""
    function = function_of(value) if isinstance(value, (FunctionType, MethodType)) else None
    if function is None or source_of(function) is None:
        return False
    module = function.__module__ or ""
    return module.partition(".")[0] not in sys.stdlib_module_names and not _LIBRARIES.match(module)


@functools.lru_cache(1024)
def has_convertible_init(kind: type) -> bool:
    """Return whether the constructor of a class is a Python function that is converted."""
    is_plain = method_of(kind, "__new__") is object.__new__ or issubclass(kind, Env)
    return is_plain and is_convertible(method_of(kind, "__init__"))


def is_storable(value: object) -> bool:
    """Return whether the attributes of a value can be stored in lanes, as those of a record."""
    return is_storable_type(type(value))


def is_storable_type(kind: Any) -> bool:  # mypy does not take every type as hashable
    """Return whether the attributes of objects of a type can be stored in lanes."""
    return has_convertible_init(kind) or dataclasses.is_dataclass(kind)


def method_of(cls: type, name: str) -> object:
    """Return a method, property or attribute of a class as it is defined, or None."""
    return next((vars(owner)[name] for owner in cls.__mro__ if name in vars(owner)), None)


def owner_of(cls: type, function: FunctionType) -> type | None:
    """Return the class that defines a function, among a class and its bases."""
    for owner in cls.__mro__:
        if any(function_of(value) is function for value in vars(owner).values()):
            return owner
    return None


def reached(cls: type, *names: str) -> list[Source]:
    """Return the sources of some methods, and of the functions that they may call."""
    waiting: list[object] = [method_of(cls, name) for name in names]
    sources: dict[FunctionType, Source] = {}
    for item in waiting:
        function = function_of(item)
        if function is None or function in sources or not is_convertible(function):
            continue
        owner = owner_of(cls, function)
        source = source_of(function, owner)
        assert source is not None
        sources[function] = source
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Attribute) and node.attr not in ("render", "close"):
                waiting.append(method_of(cls, node.attr))
                if owner and ast.unparse(node.value).startswith("super("):
                    bases = cls.__mro__[cls.__mro__.index(owner) + 1 :]
                    waiting += (vars(base)[node.attr] for base in bases if node.attr in vars(base))
                names_used = inspect.getclosurevars(function)
                module = {**names_used.globals, **names_used.nonlocals}.get(ast.unparse(node.value))
                waiting.append(inspect.getattr_static(module, node.attr, None))
            elif isinstance(node, ast.Name):
                waiting.append(function.__globals__.get(node.id))
    return list(sources.values())


def attributes_in(source: Source) -> Iterator[ast.Attribute]:
    """Yield the attributes of `self` in a function, such as `self.x`."""
    first = source.arguments[0] if source.owner and source.arguments else ""
    for node in ast.walk(source.tree):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == first
        ):
            yield node


@functools.cache
def changed_by_methods(kind: type) -> dict[str, bool]:
    """Return the attributes that methods change, without `__init__`; True if one assigns them."""
    changed: dict[str, bool] = {}
    for owner in kind.__mro__:
        for value in vars(owner).values():
            function = function_of(value)
            if (
                is_convertible(function)
                and function is not None
                and function.__name__ != "__init__"
            ):
                source = source_of(function, owner)
                for name, is_whole in changed_attributes(source) if source else ():
                    changed[name] = changed.get(name, False) or is_whole
    return changed


def read_attributes(source: Source) -> set[str]:
    """Return the attributes that a function reads for more than changing them."""
    changes = {
        id(node.targets[0]) for node in ast.walk(source.tree) if isinstance(node, ast.Assign)
    }
    for node in ast.walk(source.tree):
        call = node.value if isinstance(node, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            changes |= {id(call.func)} if call.func.attr in MUTATING else set()
    roots = {
        id(node.value)
        for node in ast.walk(source.tree)
        if id(node) in changes and hasattr(node, "value")
    }
    return {
        node.attr
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Load)
        and id(node) not in roots
    }


def changed_attributes(source: Source, part: ast.AST | None = None) -> Iterator[tuple[str, bool]]:
    """Yield the attributes of `self` that a function assigns (True) or changes in place (False)."""
    attributes = {id(node): node.attr for node in attributes_in(source)}
    for node in ast.walk(part or source.tree):
        base: ast.AST = node
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in MUTATING:
                base = node.func.value
            elif node.func.attr == "shuffle" and node.args:
                base = node.args[0]
        elif not isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
            continue
        is_whole = base is node
        while isinstance(base, (ast.Subscript, ast.Attribute)) and id(base) not in attributes:
            base, is_whole = base.value, False
        if id(base) in attributes:
            yield attributes[id(base)], is_whole
