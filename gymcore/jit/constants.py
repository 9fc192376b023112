"""Constants of a class's functions: the module-level values that they use.

Interpreted and compiled functions compute with the same types: Python's int, float and bool, and
NumPy's arrays. The cache key of compiled code includes the value of every constant. Values that
cannot be part of a key are rejected when the class is defined.
"""

from __future__ import annotations

import ast
import builtins
import enum
import hashlib
import inspect
import itertools
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from gymcore.error import InvalidArgument
from gymcore.jit.declarations import reachable, referenced_values, syntax_of

__all__ = [
    "as_constant",
    "check_constants",
    "digest_of",
    "for_numbers",
    "interpreted",
    "is_foreign",
    "uses_of",
]

# Packages whose functions are identified by name, because their versions are part of the key.
_VERSIONED_PACKAGES = frozenset(("numpy", "numba", "gymcore", *sys.stdlib_module_names))


def as_constant(value: Any) -> Any:
    """Return a constant as functions compute with it: numbers of Python, and read-only arrays.

    Arrays keep their dtype, except that float16 and uint64 become float64 and int64.

    Examples:
        >>> as_constant((np.int8(100), np.array([0.5], np.float16)))
        (100, array([0.5]))
    """
    if isinstance(value, np.generic) and value.dtype.kind in "biuf":
        return value.item()
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        wide_dtype = {"u8": np.int64, "f2": np.float64}.get(value.dtype.str[1:], value.dtype)
        # A view, because the array itself may be the program's, which may write to it.
        widened: np.ndarray = np.ascontiguousarray(value, wide_dtype).view()
        widened.flags.writeable = False
        return widened
    if isinstance(value, tuple):
        return _tuple_like(value, map(as_constant, value))
    return value


def _tuple_like(value: tuple[Any, ...], items: Iterable[Any]) -> tuple[Any, ...]:
    """Return a tuple of the items, of the same class as `value`, which may be a named tuple."""
    result: tuple[Any, ...] = getattr(value, "_make", tuple)(items)
    return result


def is_foreign(value: Any) -> bool:
    """Return whether a value is a function of NumPy or Numba, or a NumPy type.

    Its results may have narrow types, which interpreted and compiled code convert at once.
    """
    if isinstance(value, type):
        return issubclass(value, np.generic)
    return callable(value) and not isinstance(value, (FunctionType, BuiltinFunctionType))


# --- values that functions use --------------------------------------------------------------------


def uses_of(function: FunctionType) -> Iterator[tuple[ast.AST | None, str, Any]]:
    """Yield the values that a function uses: syntax node, name with dots, and value.

    Attributes of modules are resolved. A default value has no node, and its argument's name.
    """
    for name, value in _defaults(function).items():
        yield None, name, value
    tree, values = syntax_of(function), referenced_values(function)
    if tree is None:
        yield from ((None, name, value) for name, value in values.items())
        return
    annotations = {
        id(node)
        for statement in ast.walk(tree)
        if isinstance(statement, ast.AnnAssign)
        for node in ast.walk(statement.annotation)
    }
    owners = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    local_names = set(function.__code__.co_varnames)
    for node in itertools.chain.from_iterable(map(ast.walk, tree.body)):
        if id(node) in annotations:
            continue
        if isinstance(node, ast.Name) and node.id in values and node.id not in local_names:
            if not (isinstance(values[node.id], ModuleType) and id(node) in owners):
                yield node, node.id, values[node.id]
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            owner = _module(node.value, values, local_names)
            value = getattr(owner, node.attr, None)
            if owner is not None and not (isinstance(value, ModuleType) and id(node) in owners):
                yield node, ast.unparse(node), value


def _module(node: ast.AST, values: dict[str, Any], local_names: set[str]) -> ModuleType | None:
    """Return the module that a name, which may have dots, refers to."""
    if isinstance(node, ast.Name) and node.id not in local_names:
        value = values.get(node.id)
    elif isinstance(node, ast.Attribute):
        value = getattr(_module(node.value, values, local_names), node.attr, None)
    else:
        value = None
    return value if isinstance(value, ModuleType) else None


def _defaults(function: FunctionType) -> dict[str, Any]:
    """Return the default values of a function's arguments by name."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty}


def check_constants(functions: Iterable[FunctionType], title: str) -> None:
    """Raise `InvalidArgument`, with file and line, for values that a key cannot include."""
    for function in functions:
        for used in reachable(function):
            for node, name, value in uses_of(used):
                try:
                    digest_of(value)
                    if getattr(value, "dtype", None) == np.uint64 and np.max(value) >> 63:
                        raise TypeError("integers must fit into int64")
                except TypeError as problem:
                    line = getattr(node, "lineno", used.__code__.co_firstlineno)
                    raise InvalidArgument(
                        f"{used.__code__.co_filename}:{line}: {title}: `{name}` cannot be compiled"
                        f": {problem}"
                    ) from None


# --- by value -------------------------------------------------------------------------------------


def digest_of(value: Any) -> bytes:
    """Return a digest of a constant's value; for a function, of everything that it uses too.

    Raises:
        TypeError: If the value has no digest.
    """
    digest = hashlib.sha256()
    _update_digest(digest.update, value, set())
    return digest.digest()


def _update_digest(update: Callable[[bytes], None], value: Any, seen: set[FunctionType]) -> None:
    kind = type(value)
    if value is None or kind in (bool, int, float, complex, str, bytes):
        update(f"{kind.__name__} {value!r};".encode(errors="backslashreplace"))
    elif isinstance(value, np.generic) and not value.dtype.hasobject:
        update(f"{value.dtype.str} {value.tobytes().hex()};".encode())
    elif kind is np.ndarray and not value.dtype.hasobject:
        update(f"{value.dtype.str} {value.shape} {value.tobytes('C').hex()};".encode())
    elif kind is tuple or (isinstance(value, tuple) and hasattr(value, "_fields")):
        update(f"{kind.__qualname__} {getattr(value, '_fields', '')} {len(value)};".encode())
        for item in value:
            _update_digest(update, item, seen)
    elif kind is slice:
        _update_digest(update, (value.start, value.stop, value.step), seen)
    elif isinstance(value, enum.Enum):
        _update_digest(update, (kind.__qualname__, value.name, value.value), seen)
    elif isinstance(value, type) and issubclass(value, enum.Enum):
        _update_digest(update, tuple((member.name, member.value) for member in value), seen)
    elif isinstance(value, np.dtype):
        update(f"dtype {value.str};".encode())
    elif (name := _known_name(value)) is not None:
        update(f"{name};".encode())
    elif (function := _python_function(value)) is not None:
        options = getattr(value, "targetoptions", None)
        update(f"{kind.__name__} {options!r};".encode())
        if function not in seen:
            _add_function(update, function, seen)
    else:
        raise TypeError(f"{value!r:.80} ({kind}) is not a number, array, tuple, string or function")


def _add_function(
    update: Callable[[bytes], None], function: FunctionType, seen: set[FunctionType]
) -> None:
    seen.add(function)
    tree = syntax_of(function)
    if tree is None:
        update(function.__code__.co_code + repr(function.__code__.co_consts).encode())
    else:
        update(ast.dump(tree).encode())
    for _, name, value in uses_of(function):
        update(f"{name}=".encode())
        _update_digest(update, value, seen)


def _known_name(value: Any) -> str | None:
    """Return the qualified name of an object of Python, NumPy, Numba or gymcore; else None."""
    if isinstance(value, np.ufunc):
        title: str = value.__name__
        return f"ufunc {title}" if getattr(np, title, None) is value else None
    module = getattr(value, "__module__", None)
    name = getattr(value, "__qualname__", getattr(value, "__name__", None))
    if not isinstance(module, str) or not isinstance(name, str):
        return None
    resolved: Any = sys.modules.get(module, builtins)
    for part in name.split("."):
        resolved = getattr(resolved, part, None)
    is_known = module.partition(".")[0] in _VERSIONED_PACKAGES
    return f"{module}.{name}" if is_known and resolved is value else None


def _python_function(value: Any) -> FunctionType | None:
    """Return a function itself, or the function that a Numba object was made from."""
    if isinstance(value, FunctionType):
        return value
    value = getattr(value, "_dispatcher", value)  # made by `numba.vectorize`
    function = getattr(value, "py_func", None)
    return function if isinstance(function, FunctionType) else None


# --- for the interpreter --------------------------------------------------------------------------


class _Constants:
    """Replaces a module in interpreted functions; its constants are converted."""

    def __init__(self, module: ModuleType, array: type) -> None:
        self._module, self._array = module, array

    def __getattr__(self, name: str) -> Any:
        return _for_interpreter(getattr(self._module, name), self._array, {})


def interpreted(
    function: FunctionType, array: type, replaced: dict[FunctionType, Any] | None = None
) -> FunctionType:
    """Return a copy of a function that uses the same constants as compiled code.

    Args:
        function: Function of a class. Functions that it calls by name are replaced as well.
        array: The class for arrays, whose elements are Python numbers.
        replaced: Functions that have already been replaced, with their copies.
    """
    replaced = {} if replaced is None else replaced
    if function in replaced:
        result: FunctionType = replaced[function]
        return result
    names = {**function.__globals__}
    cells = tuple(types.CellType() for _ in function.__closure__ or ())
    defaults = as_constant(function.__defaults__)
    replaced[function] = result = FunctionType(
        function.__code__, names, function.__name__, defaults, cells or None
    )
    result.__qualname__ = function.__qualname__
    outer = inspect.getclosurevars(function).nonlocals
    for name, value in referenced_values(function).items():
        if name not in outer:
            names[name] = _for_interpreter(value, array, replaced)
    for cell, original, name in zip(
        cells, function.__closure__ or (), function.__code__.co_freevars, strict=True
    ):
        if name in outer:
            cell.cell_contents = _for_interpreter(original.cell_contents, array, replaced)
    return result


def for_numbers(function: Callable[..., Any], array: type) -> Callable[..., Any]:
    """Return a function of NumPy that gets plain arrays, and returns Python numbers or `array`."""

    def call(*args: Any, **kwargs: Any) -> Any:
        plain = {name: _plain(value) for name, value in kwargs.items()}
        return _numbers(function(*map(_plain, args), **plain), array)

    if isinstance(function, type):
        call.dtype = np.dtype(function)  # type: ignore[attr-defined]  # it stands for the type
    return call


def _for_arrays(function: Callable[..., Any], array: type) -> Callable[..., Any]:
    """Return a function of NumPy that makes arrays, such as `np.zeros`, for arrays of a class."""

    def call(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        return result.view(array) if type(result) is np.ndarray else result

    return call


def _plain(value: Any) -> Any:
    """Return an argument with views of class ndarray, whose dtypes are those of NumPy."""
    if isinstance(value, (tuple, list)):
        return type(value)(map(_plain, value)) if not hasattr(value, "_fields") else value
    return value.view(np.ndarray) if isinstance(value, np.ndarray) else value


def _numbers(value: Any, array: type) -> Any:
    if isinstance(value, tuple):
        return _tuple_like(value, (_numbers(item, array) for item in value))
    if isinstance(value, (np.ndarray, np.generic)):
        return value.view(array) if np.ndim(value) else value.item()
    return value


def _for_interpreter(value: Any, array: type, replaced: dict[FunctionType, Any]) -> Any:
    if isinstance(value, ModuleType):
        root = value.__name__.partition(".")[0]
        is_known = root in _VERSIONED_PACKAGES and root != "numpy"
        return value if is_known else _Constants(value, array)
    if is_foreign(value):
        return for_numbers(value, array)
    if callable(value) and (_known_name(value) or "").startswith("numpy."):
        return _for_arrays(value, array)
    if isinstance(value, FunctionType):
        return value if _known_name(value) else interpreted(value, array, replaced)
    value = as_constant(value)
    return value.view(array) if type(value) is np.ndarray else value
