"""The source of a class: its functions with their text, and the attributes that they change."""

from __future__ import annotations

import ast
import builtins
import contextlib
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
from types import FunctionType, MethodType, ModuleType
from typing import Any

from gymcore import error
from gymcore.core import Env
from gymcore.jit.conversion.generators import consumed, iterated, without_yields
from gymcore.jit.conversion.matches import without_matches
from gymcore.jit.conversion.shared_draws import with_lane_draws
from gymcore.jit.conversion.syntax import called_name, names_in, place_of
from gymcore.specs.entry_points import load_env_creator
from gymcore.specs.lookup import spec as spec_of

__all__ = [
    "MUTATING",
    "Source",
    "attributes_in",
    "bound_method",
    "changed_attributes",
    "changed_by_methods",
    "changed_in_place",
    "constructor_of",
    "drawing_modules",
    "find_class",
    "function_of",
    "has_convertible_init",
    "is_convertible",
    "is_storable",
    "method_of",
    "methods_of",
    "owner_of",
    "reached",
    "read_attributes",
    "source_of",
]

MUTATING = frozenset(
    (
        *("append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "fill"),
        *("update", "add", "discard", "setdefault", "popitem", "popleft", "appendleft", "put"),
        *("extendleft", "rotate"),
    )
)
"""Methods that change the object that they belong to."""
_ROLES = "observation", "info"
_GROWING = frozenset(
    (
        *("append", "extend", "insert", "pop", "remove", "appendleft", "popleft"),
        *("add", "discard", "update"),
    )
)  # methods that change the length of a list, a deque or a set
_SHARED_DRAWS = re.compile(
    r"\b(np|numpy)\.random\.(?!default_rng|Generator)|\b(random import|import random)\b"
)
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
        is_generator: Whether it is a generator function; `tree` returns a list instead.
        has_shared_draws: Whether it draws from `random` or `np.random`; `tree` draws from the
            generator of the lane instead.
    """

    def __init__(self, function: FunctionType, owner: type | None) -> None:
        """Read the source; raise `OSError` if there is none."""
        lines, first_line = inspect.getsourcelines(function)
        self._read(textwrap.dedent("".join(lines)), first_line, function, owner)

    def _read(self, text: str, first_line: int, function: FunctionType, owner: type | None) -> None:
        parameters = inspect.signature(function).parameters.values()
        self.defaults: dict[str, object] = {p.name: p.default for p in parameters}
        self.first_line = first_line
        tree: ast.AST | None = None
        with contextlib.suppress(SyntaxError):
            text = without_matches(text)
            before, names = text, inspect.getclosurevars(function)
            text = with_lane_draws(text, {**names.globals, **names.nonlocals})
            self.has_shared_draws = text != before
            tree = ast.parse(text).body[0]
        if not isinstance(tree, ast.FunctionDef):
            raise OSError(f"{function.__qualname__} is not a definition")
        self.function, self.tree, self.owner = function, tree, owner
        self.is_generator = without_yields(tree)
        self.lines = text.encode().splitlines()
        self.file = function.__code__.co_filename
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and re.match(r"__\w*[^_]_?$", node.attr) and owner:
                node.attr = f"_{owner.__name__.lstrip('_')}{node.attr}"

    @classmethod
    def constructor(cls, kind: type) -> Source:
        """Return a function with the statements that the constructor of a data class runs.

        It may be a named tuple, too. Raises `OSError` for other classes.
        """
        owner = next(base for base in kind.__mro__ if "__new__" in vars(base))
        if hasattr(kind, "_fields") and "_fields" not in vars(owner):
            raise OSError(f"{kind.__qualname__} has a `__new__` of its own")
        given = inspect.signature(kind).parameters.values()
        names: dict[str, object] = {}  # of functions that make defaults, and of defaults
        arguments, statements = ["self"], list[str]()
        fields = getattr(kind, "__dataclass_fields__", dict.fromkeys(getattr(kind, "_fields", ())))
        factories = {
            n: getattr(field, "default_factory", dataclasses.MISSING) for n, field in fields.items()
        }
        for parameter in given:
            name = parameter.name
            if name not in fields or parameter.kind is not parameter.POSITIONAL_OR_KEYWORD:
                raise OSError(f"{kind.__qualname__} has other arguments than fields")
            if factories[name] is not dataclasses.MISSING:
                names[f"new_{name}"] = factories[name]
                text = "[]" if factories[name] is list else f"new_{name}()"
                statements.append(f"    self.{name} = {text}")
                continue
            names[f"default_{name}"] = parameter.default
            has_default = parameter.default is not parameter.empty
            arguments.append(f"{name}=default_{name}" if has_default else name)
            statements.append(f"    self.{name} = {name}")
        if len(statements) != len(fields):
            raise OSError(f"{kind.__qualname__} has fields that are no arguments")
        statements += ["    self.__post_init__()"] if hasattr(kind, "__post_init__") else []
        text = "\n".join([f"def __init__({', '.join(arguments)}):", *statements])
        module = vars(sys.modules.get(kind.__module__, builtins))
        scope = {**module, **names}
        exec(text, scope)
        function: Any = scope["__init__"]
        function.__module__ = kind.__module__
        result = object.__new__(cls)
        line = 1
        with contextlib.suppress(OSError, TypeError):
            line = inspect.getsourcelines(kind)[1]
        result._read(text, line, function, kind)
        result.file = getattr(sys.modules.get(kind.__module__), "__file__", None) or kind.__module__
        return result

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
        for name in ("stores", "changed_items", "augmented", "grown", "consumed", "iterated"):
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
        return Counter(node.id for node in names_in(self.tree) if isinstance(node.ctx, ast.Store))

    @property
    def names(self) -> set[str]:
        """The names that the function assigns, and its arguments."""
        return {*self.stores, *self.arguments}

    def loads(self, name: str) -> list[ast.Name]:
        """Return the places where the function reads a local name."""
        nodes = (node for node in names_in(self.tree) if node.id == name)
        return [node for node in nodes if isinstance(node.ctx, ast.Load)]

    def returned(self) -> list[ast.expr | None]:
        """Return the expressions that the function returns."""
        return [node.value for node in ast.walk(self.tree) if isinstance(node, ast.Return)]

    @functools.cached_property
    def changed_items(self) -> set[str]:
        """The local names whose items the function assigns, or which it updates."""
        nodes = [*ast.walk(self.tree)]
        items = (n for n in nodes if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store))
        owners = (name.rpartition(".") for name in map(called_name, nodes))
        updated = {owner for owner, _, method in owners if method == "update"}
        return updated | {ast.unparse(node.value) for node in items}

    @functools.cached_property
    def consumed(self) -> set[ast.AST]:
        """The expressions all of whose items a function takes at once, such as `list`."""
        return consumed(self.tree)

    @functools.cached_property
    def iterated(self) -> set[ast.AST]:
        """The expressions that loops and comprehensions iterate over."""
        return iterated(self.tree)

    def has_clear_values(self, name: str) -> bool:
        """Return whether each read of a local name gets what one certain statement assigns."""
        loops = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
        nodes = [*ast.walk(self.tree)]
        scopes = [n for n in nodes if isinstance(n, loops)]
        scoped = {
            part
            for scope in scopes
            if any(n.id == name for g in scope.generators for n in names_in(g.target))
            for part in ast.walk(scope)
        }
        uses = [n for n in names_in(self.tree) if n.id == name and n not in scoped]
        places = {n: (n.lineno, n.col_offset) for n in uses}
        inside: dict[ast.AST, set[ast.AST]] = {}  # the nodes that run after each assignment
        for node in nodes:
            for field in ("body", "orelse"):
                block: Any = getattr(node, field, None)
                for k, statement in enumerate(block if isinstance(block, list) else []):
                    is_loop = isinstance(statement, ast.For)
                    after = statement.body if is_loop else block[k + 1 :]
                    targets = [statement.target] if is_loop else getattr(statement, "targets", [])
                    targets = targets or [getattr(statement, "target", ast.Pass())]
                    reached_nodes = {part for s in after for part in ast.walk(s)}
                    inside |= {n: reached_nodes for t in targets for n in names_in(t)}
                    # The value of an assignment is read before its target is assigned.
                    end = statement.end_lineno or 0, statement.end_col_offset or 0
                    places |= {n: end for t in targets for n in names_in(t) if not is_loop}
        stores = [n for n in uses if isinstance(n.ctx, ast.Store)]
        around = [{*ast.walk(n)} for n in nodes if isinstance(n, (ast.For, ast.While))]
        store: ast.Name | None = None
        for use in sorted(uses, key=lambda n: places[n]):
            if isinstance(use.ctx, ast.Store):
                store = use
            elif (
                store is None
                or use not in inside.get(store, ())
                or any(
                    use in loop and other in loop and store not in loop
                    for loop in around
                    for other in stores
                )
            ):
                return False
        return True

    @functools.cached_property
    def augmented(self) -> set[str]:
        """The local names with an augmented assignment, which changes an array in place."""
        nodes = (node for node in ast.walk(self.tree) if isinstance(node, ast.AugAssign))
        return {ast.unparse(node.target) for node in nodes}

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
        calls = (called_name(node).rpartition(".") for node in ast.walk(self.tree))
        names = {owner for owner, _, method in calls if method in _GROWING}
        return {name for name in names & self.stores.keys() if not self.is_flat_list(name)}

    def output_role(self, name: str) -> str:
        """Return "observation" or "info" if a name is only used as such a result."""
        results = (v.elts for v in self.returned() if isinstance(v, ast.Tuple))
        ends = (parts[:1] + parts[-1:] for parts in results if len(parts) in (2, 5))
        parts = [pair for pair_of_ends in ends for pair in zip(_ROLES, pair_of_ends, strict=True)]
        roles = [role for role, part in parts if isinstance(part, ast.Name) and part.id == name]
        is_changed_info = "info" in roles and name in self.changed_items
        is_only = len(roles) == len(self.loads(name)) or is_changed_info
        return roles[0] if len(set(roles)) == 1 and is_only else ""

    def operator_of(self, node: ast.BinOp | ast.AugAssign) -> str:
        """Return the operator of an expression or an augmented assignment, without the `=`."""
        first, second = (
            (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)
        )
        return self.segment(place_of(first)[1], place_of(second)[0]).strip(" ()=")


@functools.cache
def source_of(function: FunctionType, owner: type | None = None) -> Source | None:
    """Return the source of a function; None if it has none."""
    try:
        return Source(function, owner)
    except (OSError, TypeError):
        return None


@functools.cache
def constructor_of(kind: type) -> Source | None:
    """Return the constructor of a data class or a named tuple; None for other classes."""
    try:
        return Source.constructor(kind)
    except (OSError, TypeError, ValueError):
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
    return not _is_library(function.__module__ or "")


@functools.lru_cache(1024)
def has_convertible_init(kind: type) -> bool:
    """Return whether the constructor of a class is a Python function that is converted."""
    is_plain = method_of(kind, "__new__") is object.__new__ or issubclass(kind, Env)
    return is_plain and is_convertible(method_of(kind, "__init__"))


def is_storable(kind: Any) -> bool:  # mypy does not take every type as hashable
    """Return whether the attributes of objects of a type can be stored in lanes."""
    has_attributes = has_convertible_init(kind) or dataclasses.is_dataclass(kind)
    is_frozen = getattr(getattr(kind, "__dataclass_params__", None), "frozen", False)
    is_plain = is_frozen or method_of(kind, "__setattr__") is method_of(object, "__setattr__")
    return has_attributes and is_plain and kind.__dictoffset__ != 0  # not with `__slots__`


def method_of(cls: type, name: str) -> object:
    """Return a method, property or attribute of a class as it is defined, or None."""
    return next((vars(owner)[name] for owner in cls.__mro__ if name in vars(owner)), None)


def bound_method(function: Any, owner: object) -> MethodType:
    """Return a function as a method of an object, or of what stands for one."""
    return MethodType(function, owner)


def owner_of(cls: type, function: FunctionType) -> type | None:
    """Return the class that defines a function, among a class and its bases."""
    for owner in cls.__mro__:
        if any(function_of(value) is function for value in vars(owner).values()):
            return owner
    return None


@functools.cache
def reached(cls: type, *names: str) -> tuple[Source, ...]:
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
    return tuple(sources.values())


def drawing_modules(cls: type) -> list[ModuleType]:
    """Return the modules of a class and its program that may draw from shared generators."""
    origins = [base.__module__ for base in cls.__mro__ if not _is_library(base.__module__)]
    packages = {name.partition(".")[0] for name in origins}
    for origin in origins:
        for value in [*vars(sys.modules[origin]).values()]:
            is_item = isinstance(value, (type, FunctionType))
            name = value.__module__ if is_item else getattr(value, "__name__", None)
            if name in sys.modules and name not in origins and _is_of_program(name, packages):
                origins.append(name)
    modules = [sys.modules[name] for name in dict.fromkeys(origins)]
    return [module for module in modules if _SHARED_DRAWS.search(_text_of_module(module))]


def _text_of_module(module: ModuleType) -> str:
    with contextlib.suppress(OSError, TypeError):
        return inspect.getsource(module)
    return ""


def _is_of_program(module: str, packages: set[str]) -> bool:
    """Return whether a module is in one of some packages, or in no package that is installed."""
    if _is_library(module) or module.partition(".")[0] in packages:
        return not _is_library(module)
    file = getattr(sys.modules[module], "__file__", None) or ""
    return file != "" and not re.search(r"\b(site|dist)-packages\b", file)


def _is_library(module: str) -> bool:
    """Return whether a module is one of those whose functions are not converted."""
    is_python = module.partition(".")[0] in sys.stdlib_module_names
    return is_python or _LIBRARIES.match(module) is not None


def attributes_in(source: Source) -> Iterator[ast.Attribute]:
    """Yield the attributes of `self` in a function, such as `self.x`."""
    first = source.arguments[0] if source.owner and source.arguments else ""
    for node in ast.walk(source.tree):
        owner = node.value if isinstance(node, ast.Attribute) else None
        if isinstance(node, ast.Attribute) and isinstance(owner, ast.Name) and owner.id == first:
            yield node


@functools.cache
def changed_by_methods(kind: type) -> dict[str, bool]:
    """Return the attributes that methods change, without `__init__`; True if one assigns them."""
    changed: dict[str, bool] = {}
    for source in methods_of(kind):
        for name, is_whole in changed_attributes(source):
            changed[name] = changed.get(name, False) or is_whole
    return changed


def methods_of(kind: type) -> Iterator[Source]:
    """Yield the sources of the methods of a class that are converted, without `__init__`."""
    for owner in kind.__mro__:
        for value in vars(owner).values():
            function = function_of(value)
            if function is not None and function.__name__ != "__init__":
                source = source_of(function, owner) if is_convertible(function) else None
                yield from [source] if source is not None else []


def read_attributes(source: Source) -> set[str]:
    """Return the attributes that a function reads for more than changing them."""
    nodes = [*ast.walk(source.tree)]
    changes: set[ast.AST] = {node.targets[0] for node in nodes if isinstance(node, ast.Assign)}
    for node in nodes:
        call = node.value if isinstance(node, ast.Expr) else None
        if isinstance(call, ast.Call) and called_name(call).rpartition(".")[2] in MUTATING:
            changes.add(call.func)
    roots = {getattr(node, "value", None) for node in changes}
    reads = (n for n in nodes if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Load))
    return {node.attr for node in reads if node not in roots}


def changed_attributes(
    source: Source, is_augmenting_whole: bool = True
) -> Iterator[tuple[str, bool]]:
    """Yield the attributes of `self` that a function assigns (True) or changes in place (False).

    Args:
        source: The function.
        is_augmenting_whole: Whether `self.x += y` assigns the attribute, as it does for numbers, or
            changes it, as it does for arrays and lists.
    """
    in_place: set[ast.AST] = set()
    if not is_augmenting_whole:
        in_place = {n.target for n in ast.walk(source.tree) if isinstance(n, ast.AugAssign)}
    attributes: dict[ast.AST, str] = {node: node.attr for node in attributes_in(source)}
    for node in ast.walk(source.tree):
        base: ast.AST = node
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in MUTATING:
                base = node.func.value
            elif node.func.attr == "shuffle" and node.args:
                base = node.args[0]
        elif not isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
            continue
        is_whole = base is node and node not in in_place
        while isinstance(base, (ast.Subscript, ast.Attribute)) and base not in attributes:
            base, is_whole = base.value, False
        if base in attributes:
            yield attributes[base], is_whole


def changed_in_place(source: Source) -> Iterator[str]:
    """Yield the names of attributes, also of other objects, whose items a function changes."""
    for node in ast.walk(source.tree):
        base: ast.AST = ast.Pass()
        if isinstance(node, ast.AugAssign):
            base = node.target
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            base = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            base = node.func.value if node.func.attr in MUTATING else base
        while isinstance(base, ast.Subscript):
            base = base.value
        if isinstance(base, ast.Attribute):
            yield base.attr
