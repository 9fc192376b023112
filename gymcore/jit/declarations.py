"""Declarations of a subclass of `jit.Env`, which are checked when the class is defined."""

from __future__ import annotations

import ast
import dis
import inspect
import textwrap
from collections.abc import Iterator
from types import FunctionType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from gymcore.error import InvalidArgument

# Arguments of the functions that a class may define. `reset` also gets `options` if there are any.
ARGUMENTS = {
    "reset": ("state", "parameters", "rng"),
    "step": ("state", "parameters", "action", "rng"),
    "observe": ("state", "parameters", "observation"),
    "info": ("state", "parameters", "info"),
    "central_state": ("state", "parameters", "values"),
    "render": ("state", "parameters"),
}
COMPILED = ("reset", "step", "observe", "info", "central_state")
# The methods of `rng`.
DRAWS = (
    *("choice", "integers", "permutation", "shuffle", "random", "uniform", "normal", "beta"),
    *("standard_normal", "exponential", "standard_exponential", "gamma", "standard_gamma"),
    *("lognormal", "laplace", "triangular", "binomial", "geometric", "poisson"),
)
# Draws that raise exceptions for wrong arguments, also when compiled.
CHECKED_DRAWS = {"choice", "integers", *DRAWS[7:]} - {"standard_normal", "standard_exponential"}

Functions: TypeAlias = dict[str, FunctionType]

_DTYPES = tuple(map(np.dtype, ("f8", "f4", "i8", "i4", "i2", "i1", "u1", "?", "u2", "u4")))
# Syntax that functions cannot use.
_FORBIDDEN = (
    *(ast.Try, ast.With, ast.Delete, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal),
    *(ast.Lambda, ast.FunctionDef, ast.ClassDef, ast.Yield, ast.YieldFrom, ast.Await),
    *(ast.List, ast.Dict, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
    ast.JoinedStr,
)
# Calls that only the interpreter makes.
INTERPRETED_CALLS = ("print", "breakpoint")


class array:
    """Declaration of an array field of fixed shape, as in `goal: jit.array(float, 2)`.

    Examples:
        >>> goal = array(float, 2)
        >>> goal.dtype, goal.shape
        (<class 'float'>, (2,))
    """

    def __init__(self, dtype: DTypeLike, *shape: int) -> None:
        """Store the dtype of the elements and the length of each axis."""
        self.dtype = dtype
        self.shape = shape


class Field(NamedTuple):
    """A field of State, Parameters, Options or Infos.

    Attributes:
        name: Its name.
        dtype: The type of its numbers.
        shape: Its shape; empty for a number.
        initial: What a field of State that outlasts episodes is at first; None for others, which
            are 0 when an episode begins.
    """

    name: str
    dtype: np.dtype
    shape: tuple[int, ...]
    initial: object = None

    @property
    def python_type(self) -> type:
        """The type of a number of this field in a function: float, int or bool."""
        return {"f": float, "b": bool}.get(self.dtype.kind, int)


def fields_of(owner: type, name: str) -> tuple[Field, ...]:
    """Return the fields that a nested class of a class declares with annotations, in order."""
    declared = getattr(owner, name, None)
    if declared is None:
        return ()
    try:
        annotations = inspect.get_annotations(declared, eval_str=True)
    except Exception as problem:
        raise InvalidArgument(
            f"{location_of(declared)}{owner.__name__}.{name}: {problem}"
        ) from problem
    fields = []
    for field, kind in annotations.items():
        kind, shape = (kind.dtype, kind.shape) if isinstance(kind, array) else (kind, ())
        try:
            dtype: np.dtype | None = np.dtype(kind)
        except TypeError:
            dtype = None
        valid_shape = all(isinstance(length, int) and length > 0 for length in shape)
        if dtype not in _DTYPES or dtype is None or not valid_shape or not field.isidentifier():
            raise InvalidArgument(
                f"{location_of(declared)}{owner.__name__}.{name}.{field}: expected float, int, "
                f"bool, a NumPy type of these, or jit.array(type, length, ...), got {kind!r} "
                f"{shape or ''}"
            )
        initial = getattr(declared, field, None) if name == "State" else None
        if initial is not None and not _fits(initial, dtype, shape):
            raise InvalidArgument(
                f"{location_of(declared)}{owner.__name__}.State.{field}: expected a default value "
                f"of type {dtype} and shape {shape}, got {initial!r}"
            )
        fields.append(Field(field, dtype, shape, initial))
    if not fields and name == "State":
        raise InvalidArgument(
            f"{location_of(declared)}{owner.__name__}.State: expected at least one field"
        )
    return tuple(fields)


def _fits(value: Any, dtype: np.dtype, shape: tuple[int, ...]) -> bool:
    """Return whether a value is a number, or an array of a shape, that a type can represent."""
    try:
        array = np.asarray(value)
    except ValueError:  # lists of different lengths
        return False
    if array.dtype.kind not in "biuf" or array.shape not in ((), shape):
        return False
    converted = array.astype(dtype)
    return dtype.kind == "f" or bool((converted == array).all())


def agent_fields(count: int) -> tuple[Field, ...]:
    """Return the arrays of the argument `agents` of a step; none for a single agent."""
    dtypes = {"active": "?", "rewards": "f8", "terminated": "u1", "truncated": "u1"}
    return tuple(Field(name, np.dtype(dtypes[name]), (count,)) for name in dtypes if count)


def numbers_of(owner: type, name: str) -> dict[str, Any]:
    """Return the default values of the fields of `Parameters` or `Options`."""
    values = {}
    for field in fields_of(owner, name):
        value = getattr(getattr(owner, name), field.name, None)
        if field.shape or not isinstance(value, (float, int, bool, np.number)):
            raise InvalidArgument(
                f"{location_of(owner)}{owner.__name__}.{name}.{field.name}: expected a number "
                f"with a default value, as in `{field.name}: float = 1.0`, got {value!r}"
            )
        values[field.name] = field.python_type(value)
    return values


def location_of(item: Any) -> str:
    """Return "file:line: " for a class or function, or an empty string if unknown."""
    try:
        if isinstance(item, FunctionType):
            return f"{item.__code__.co_filename}:{item.__code__.co_firstlineno}: "
        return f"{inspect.getsourcefile(item)}:{inspect.getsourcelines(item)[1]}: "
    except (OSError, TypeError):
        return ""


def syntax_of(function: FunctionType) -> ast.FunctionDef | None:
    """Return the syntax tree of a function with its line numbers; None if there is no source."""
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return None
    ast.increment_lineno(tree, first - 1)
    return tree.body[0] if isinstance(tree.body[0], ast.FunctionDef) else None


def referenced_values(function: FunctionType) -> dict[str, Any]:
    """Return the values that a function uses from its module and enclosing functions, by name."""
    values = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
    operations = dis.get_instructions(function)  # `co_names` has names of attributes, too
    used = [op.argval for op in operations if op.opname in ("LOAD_GLOBAL", "LOAD_NAME")]
    return {
        name: values[name] for name in (*used, *function.__code__.co_freevars) if name in values
    }


def calls_itself(function: FunctionType) -> bool:
    """Return whether a function calls itself, directly or not."""
    return any(function in reachable(helper) for _, helper in helpers_of(function))


def helpers_of(function: FunctionType) -> Iterator[tuple[str, FunctionType]]:
    """Yield name and value of each function that a function uses from its module."""
    for name, value in referenced_values(function).items():
        if isinstance(value, FunctionType) and value.__module__ != "gymcore.jit.math":
            yield name, value


def reachable(function: FunctionType) -> list[FunctionType]:
    """Return a function and those it calls by name, directly or not, except `gymcore.jit.math`."""
    functions = [function]
    for called in functions:
        functions += [helper for _, helper in helpers_of(called) if helper not in functions]
    return functions


def check_functions(
    owner: type, functions: Functions, fields: dict[str, tuple[Field, ...]]
) -> None:
    """Raise `InvalidArgument` with file and line for code that functions cannot contain."""
    for name, function in functions.items():
        names = ARGUMENTS[name]
        if name == "reset" and fields["options"]:
            names += ("options",)
        if name == "step" and fields["agents"]:
            names += ("agents",)
        arguments = tuple(inspect.signature(function).parameters)
        if len(arguments) != len(names) or arguments[0] == "self":
            raise InvalidArgument(
                f"{location_of(function)}{owner.__name__}.{name}: expected the arguments "
                f"({', '.join(names)}), got ({', '.join(arguments)})"
            )
        if name == "render":
            continue
        known = dict(zip(arguments, names, strict=True))
        _check_syntax(function, f"{owner.__name__}.{name}", known, fields)
        for helper in reachable(function)[1:]:
            _check_syntax(helper, helper.__name__, {}, fields)


def _check_syntax(
    function: FunctionType, title: str, roles: dict[str, str], fields: dict[str, Any]
) -> None:
    tree = syntax_of(function)
    if tree is None:
        return

    def refuse(node: object, text: str) -> None:
        line = getattr(node, "lineno", tree.lineno)
        raise InvalidArgument(f"{function.__code__.co_filename}:{line}: {title}: {text}")

    stored = {
        id(target)
        for node in ast.walk(tree)
        for target in getattr(node, "targets", [getattr(node, "target", None)])
    }
    # Lists become tuples where NumPy converts them to arrays; texts are only those of exceptions.
    allowed = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Call, ast.List)):
            parts = [*getattr(node, "args", ()), *getattr(node, "elts", ())]
            parts += [keyword.value for keyword in getattr(node, "keywords", ())]
            parts += [item for part in parts for item in getattr(part, "elts", ())]
            allowed |= {id(part) for part in parts if isinstance(part, ast.List)}
        elif isinstance(node, (ast.Raise, ast.Assert)):
            allowed |= {id(part) for part in ast.walk(node) if isinstance(part, ast.JoinedStr)}
    for node in ast.walk(tree):
        if node is not tree and isinstance(node, _FORBIDDEN) and id(node) not in allowed:
            text = ast.unparse(node).partition("\n")[0]
            refuse(node, f"`{text}` cannot be compiled; a kernel is arithmetic, if, for and while")
        if isinstance(node, ast.Call) and ast.unparse(node.func) in INTERPRETED_CALLS:
            calls = [part.func for part in ast.walk(node) if isinstance(part, ast.Call)]
            for call in calls:
                if isinstance(call, ast.Attribute) and call.attr in DRAWS:
                    text = ast.unparse(call)
                    refuse(call, f"`{text}` draws in a call that compiled code leaves out")
        base: Any = getattr(node, "value", None)
        role = roles.get(base.id, "") if isinstance(base, ast.Name) else ""
        if isinstance(node, ast.Subscript) and role == "action" and id(node) in stored:
            refuse(node, "the action belongs to the caller and cannot be changed")
        key = getattr(getattr(node, "slice", None), "value", None)
        if role and isinstance(key, str):
            kind = ", an array" if role == "observation" else ""
            refuse(node, f"`{ast.unparse(node)}` cannot be compiled; write {base.id}.{key}{kind}")
        if not isinstance(node, ast.Attribute):
            continue
        if role == "observation" and id(node) in stored:
            refuse(node, f"{role}.{node.attr} is an array; write to {node.attr}[:]")
        if role == "rng" and node.attr not in DRAWS:
            refuse(node, f"rng.{node.attr} does not exist; rng has {', '.join(DRAWS)}")
        if role not in fields:
            continue
        known = {field.name: field for field in fields[role]}
        if node.attr not in known:
            names = ", ".join(known) or "none"
            refuse(node, f"{node.attr!r} is not a field of the {role}: {names}")
        if id(node) in stored and role in ("parameters", "options"):
            refuse(node, f"{role}.{node.attr} cannot be changed; keep it in the state")
        if id(node) in stored and known[node.attr].shape:
            refuse(node, f"{role}.{node.attr} is an array; write to {node.attr}[:]")


def raising_lines(function: FunctionType) -> set[tuple[str, int]]:
    """Return file and line of each `raise` and `assert` of a function and those that it calls."""
    return {
        (called.__code__.co_filename, line)
        for called in reachable(function)
        for node in ast.walk(syntax_of(called) or ast.Pass())
        if isinstance(node, (ast.Raise, ast.Assert))
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def needs_live_state(step: FunctionType) -> bool:
    """Return whether a step must not run in the state of a lane whose episode has ended.

    In that state, indices may be invalid, loops may not end, exceptions may be raised, and draws
    would advance the stream. A `for` loop whose range depends only on constants and parameters ends
    in any state.
    """
    if indexes(step) or raising_lines(step):
        return True
    for function in reachable(step):
        code, tree = function.__code__, syntax_of(function)
        assert tree is not None  # `indexes` has read it
        if any(function in dict(helpers_of(called)).values() for called in reachable(function)):
            return True  # recursion
        variables = set(code.co_varnames) - {code.co_varnames[1] if function is step else ""}
        if set(DRAWS) & set(code.co_names) or any(
            isinstance(node, ast.While)
            or (
                isinstance(node, ast.For)
                and any(isinstance(n, ast.Name) and n.id in variables for n in ast.walk(node.iter))
            )
            for node in ast.walk(tree)
        ):
            return True
    return False


def indexes(function: FunctionType) -> bool:
    """Return whether a function may read or write arrays at computed indices."""
    for called in reachable(function):
        tree = syntax_of(called)
        action = tree.args.args[2].arg if tree is not None and called is function else ""
        if tree is None or any(
            isinstance(node, ast.Subscript)
            and not (isinstance(node.value, ast.Name) and node.value.id == action)
            and any(isinstance(part, (ast.Name, ast.Call)) for part in ast.walk(node.slice))
            for node in ast.walk(tree)
        ):
            return True
    return False
