"""Rewards shaped by an expression, such as `"reward - 0.1 * abs(next_states[0])"`.

An expression is parsed once into functions of the variables. It cannot access anything else: it
has no attributes except those of `math`, `np` and `random` listed here, no keyword arguments, no
comprehensions, and no arguments that functions write to. It cannot make arrays larger than the
largest of its variables, or `MIN_ELEMENTS`, nor integers of more than 64 bits.
"""

from __future__ import annotations

import ast
import math
import operator
import random
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from gymcore.base.arguments import count
from gymcore.error import ArgumentTypeError, InvalidArgument

VARIABLES = ("states", "actions", "terminal", "reward", "next_states")

Variables = Mapping[str, object]

MAX_LENGTH = 10_000
"""Maximum number of characters; it bounds the recursion of the parser."""

MIN_ELEMENTS = 1024
"""Number of elements that an array may have even if all variables are smaller."""
MAX_DIGITS = 300
"""Maximum number of digits for rounding, on either side of the point; it bounds the time."""
MAX_DIFFERENCES = 32


def _power(base: Any, exponent: Any) -> object:
    """Return a power in floating point; Python integers could grow without bound."""
    with np.errstate(all="ignore"):
        return np.float64(base) ** exponent


def _round(value: Any, digits: object = None) -> object:
    if digits is None:
        return round(value)
    return round(value, count("reward_shaping: digits of round", digits, -MAX_DIGITS, MAX_DIGITS))


def _round_array(value: Any, digits: object = 0) -> object:
    """Equivalent of `np.round`."""
    return np.round(
        value, count("reward_shaping: digits of round", digits, -MAX_DIGITS, MAX_DIGITS)
    )


def _differences(value: npt.ArrayLike, times: object = 1) -> object:
    """Equivalent of `np.diff`."""
    return np.diff(value, count("reward_shaping: n of diff", times, 0, MAX_DIFFERENCES))


OPERATORS: dict[type, Callable[..., object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
EXPRESSION_FUNCTIONS: dict[str, Callable[..., object]] = {
    function.__name__: function for function in (abs, bool, float, int, len, max, min)
} | {"round": _round, "sum": sum}
NAMES = f"one of {', '.join((*VARIABLES, *EXPRESSION_FUNCTIONS))}"
MATH_NAMES = (
    "acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh degrees dist e erf erfc exp "
    "expm1 fabs floor fmod hypot inf isfinite isinf isnan log log10 log1p log2 nan pi radians "
    "sin sinh sqrt tan tanh tau trunc"
)
NUMPY_NAMES = (
    "abs absolute all any arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin ceil "
    "clip cos cosh cumsum deg2rad diff dot e exp expm1 fabs floor hypot inf isfinite isinf isnan "
    "log log10 log1p log2 logical_and logical_not logical_or max maximum mean median min minimum "
    "nan pi power prod rad2deg rint round sign sin sinh sqrt square std sum tan tanh var where"
)
MODULES: dict[str, dict[str, object]] = {
    "math": {name: getattr(math, name) for name in MATH_NAMES.split()},
    "np": {name: getattr(np, name) for name in NUMPY_NAMES.split()},
    "random": {name: getattr(random, name) for name in ("gauss", "random", "uniform")},
}
MODULES["np"] |= {"diff": _differences, "round": _round_array}
# Functions other than ufuncs whose arguments are broadcast against each other.
BROADCASTING = (*OPERATORS.values(), max, min, random.gauss, random.uniform, np.clip, np.where)
# Minimum and maximum number of arguments of NumPy functions that are not ufuncs. Further
# argument would be a dtype or an output array.
REDUCTIONS = "all any argmax argmin cumsum diff max mean median min prod round std sum var"
ARGUMENTS = {"clip": (3, 3), "dot": (2, 2), "where": (3, 3)}
ARGUMENTS |= dict.fromkeys(REDUCTIONS.split(), (1, 2))


def parse_expression(expression: str) -> Callable[[Variables], object]:
    """Compile an expression into a function of its variables.

    An expression consists of numbers, `states`, `actions`, `terminal`, `reward` and `next_states`,
    their items (`states["position"][0]`), arithmetic, comparisons, `and`, `or`, `not`,
    `a if b else c`, calls of `abs`, `min`, `max`, `sum`, `len`, `round`, `int`, `float` and `bool`,
    and names of `math`, `np` and `random` such as `np.exp`. It may be a pair `(reward, terminal)`.

    Args:
        expression: The expression in Python syntax.

    Returns:
        A function of a dict of the variables. If the evaluation fails, for example with a division
        by zero, it raises an `InvalidArgument`.

    Raises:
        InvalidArgument: If it is not such an expression; the message shows the invalid part.

    Examples:
        >>> shaped = parse_expression("reward - abs(states['x'][0]) if terminal == 0 else -1")
        >>> shaped({"states": {"x": [0.25]}, "terminal": 0, "reward": 1.0})
        0.75
        >>> parse_expression("open('file')")
        Traceback (most recent call last):
            ...
        gymcore.error.InvalidArgument: reward_shaping: expected one of states, actions, terminal, \
reward, next_states, abs, bool, float, int, len, max, min, round, sum, got 'open'
    """
    if not isinstance(expression, str):
        raise ArgumentTypeError(f"reward_shaping: expected a string, got {type(expression)}")
    if len(expression) > MAX_LENGTH:
        raise InvalidArgument(
            f"reward_shaping: expected at most {MAX_LENGTH} characters, got {len(expression)}"
        )
    try:
        body = ast.parse(expression.strip(), mode="eval").body
        if isinstance(body, ast.Tuple):
            checked: ast.expr = ast.Tuple([_checked(part) for part in body.elts], ast.Load())
            if len(body.elts) != 2:
                raise InvalidArgument(
                    "reward_shaping: expected reward, or (reward, terminal), got "
                    f"{expression[:100]!r}"
                )
        else:
            checked = _checked(body)
        tree = ast.fix_missing_locations(ast.Expression(checked))
        code = compile(tree, "<reward_shaping>", "eval")
    except InvalidArgument:
        raise
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError) as problem:
        raise InvalidArgument(
            f"reward_shaping: expected an expression, got {expression[:100]!r} ({problem})"
        ) from None

    def evaluate(variables: Variables) -> object:
        try:
            return eval(code, NAMESPACE, {**variables, "variables": variables})
        except InvalidArgument:
            raise
        except Exception as problem:
            raise InvalidArgument(
                f"reward_shaping: {expression:.100} failed: {type(problem).__name__}: {problem}"
            ) from problem

    return evaluate


# --- the syntax: an expression is built anew from the parts that are allowed ----------------------


def _refusal(node: ast.AST, expected: str) -> InvalidArgument:
    """Return the error for a part that is not allowed."""
    return InvalidArgument(f"reward_shaping: expected {expected}, got {ast.unparse(node)!r}")


def _checked(node: ast.expr) -> ast.expr:
    """Return an expression of the same value that calls only functions of `NAMESPACE`."""
    match node:
        case ast.Constant(value=bool() | int() | float() as value):
            # An unbounded integer would allow unbounded products.
            is_large = isinstance(value, int) and abs(value) > 2**53
            return ast.Constant(float(value) if is_large else value)
        case ast.Constant():
            raise _refusal(node, "a number")
        case ast.Name(id=name):
            if name not in VARIABLES:
                raise _refusal(node, NAMES)
            return ast.Name(name, ast.Load())
        case ast.Attribute():
            member = _module_member(node)
            if callable(member):
                raise _refusal(node, "a call")
            return ast.Constant(cast("float", member))
        case ast.Call():
            return _call(node)
        case ast.Subscript():
            return _apply("item", _checked(node.value), _index(node.slice))
        case ast.UnaryOp(op=ast.UAdd() | ast.USub() | ast.Not()):
            return ast.UnaryOp(node.op, _checked(node.operand))
        case ast.BinOp() if type(node.op) in OPERATORS:
            return _apply(type(node.op).__name__, _checked(node.left), _checked(node.right))
        case ast.BoolOp():
            return ast.BoolOp(node.op, [_checked(part) for part in node.values])
        case ast.Compare():
            return _comparison(node)
        case ast.IfExp():
            return ast.IfExp(*map(_checked, (node.test, node.body, node.orelse)))
    raise _refusal(node, "numbers, variables, arithmetic, comparisons and calls")


def _apply(function: str, *arguments: ast.expr) -> ast.expr:
    """Return the syntax tree of `function(variables, *arguments)`, for a name in `NAMESPACE`."""
    names = (ast.Name(name, ast.Load()) for name in (function, "variables"))
    return ast.Call(next(names), [*names, *arguments], [])


def _module_member(node: ast.expr) -> object:
    """Return the object with a name such as `np.exp`."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        members = MODULES.get(node.value.id, {})
        if node.attr in members:
            return members[node.attr]
    raise _refusal(node, "a function of math, np or random that is allowed here")


def _call(node: ast.Call) -> ast.expr:
    """Check a call of one of the functions listed above."""
    if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
        raise _refusal(node, "arguments by position")
    if isinstance(node.func, ast.Name):
        if node.func.id not in EXPRESSION_FUNCTIONS:
            raise _refusal(node.func, NAMES)
    else:
        function = _module_member(node.func)
        if not callable(function):
            raise _refusal(node.func, "a function")
    name, arguments = ast.unparse(node.func), map(_checked, node.args)
    call = _apply(name, *arguments)
    if name.startswith("np."):
        _check_arguments(node, function)
    return call


def _check_arguments(node: ast.Call, function: object) -> None:
    """Raise if a NumPy function has too few arguments, or an argument that it would write to."""
    if isinstance(function, np.ufunc):
        min_count = max_count = function.nin
    else:
        assert isinstance(node.func, ast.Attribute)
        min_count, max_count = ARGUMENTS[node.func.attr]
    if not min_count <= len(node.args) <= max_count:
        number = f"{min_count}" if min_count == max_count else f"{min_count} or {max_count}"
        raise _refusal(
            node, f"{number} argument{'s' * (max_count > 1)} of {ast.unparse(node.func)}"
        )


def _index(node: ast.expr) -> ast.expr:
    """Return an index, a name, a slice or a tuple of them; slices become calls of `slice`."""
    match node:
        case ast.Constant(value=str() as name):
            return ast.Constant(name)
        case ast.Constant(value=bool()):
            raise _refusal(node, "indices, slices or names")
        case ast.Slice():
            ends = (node.lower, node.upper, node.step)
            parts = [_checked(part) if part else ast.Constant(None) for part in ends]
            return ast.Call(ast.Name("slice", ast.Load()), parts, [])
        case ast.Tuple():
            return ast.Tuple([_index(part) for part in node.elts], ast.Load())
    return _checked(node)


def _comparison(node: ast.Compare) -> ast.expr:
    """Return `a < b`, or `a < b < c` as `a < (b_ := b) and b_ < c`."""
    for op in node.ops:
        if type(op) not in OPERATORS:
            raise _refusal(node, "comparisons by ==, !=, <, <=, > and >=")
    left, pairs = _checked(node.left), []
    for op, operand in zip(node.ops, node.comparators, strict=True):
        right = _checked(operand)
        name = f"operand at {operand.lineno}:{operand.col_offset}"
        if operand is not node.comparators[-1]:
            right = ast.NamedExpr(ast.Name(name, ast.Store()), right)
        pairs.append(_apply(type(op).__name__, left, right))
        left = ast.Name(name, ast.Load())
    return ast.BoolOp(ast.And(), pairs) if len(pairs) > 1 else pairs[0]


# --- the functions: they check their operands -----------------------------------------------------


def _largest(value: Any) -> int:
    """Return the size of the largest array in a variable, or in all variables."""
    if isinstance(value, Mapping):
        return max(map(_largest, value.values()), default=0)
    if isinstance(value, (list, tuple)):
        return max(len(value), *map(_largest, value), 0)
    return int(np.size(value))


def _check_size(variables: Variables, size: int) -> None:
    """Raise if an expression must not make an array of this size."""
    if size > MIN_ELEMENTS and size > (limit := max(MIN_ELEMENTS, _largest(variables))):
        raise InvalidArgument(
            f"reward_shaping: expected arrays of at most {limit} elements, got {size}"
        )


def _operands(variables: Variables, *values: object) -> list[Any]:
    """Return numbers and arrays to compute with; lists and tuples become arrays.

    Raises:
        InvalidArgument: If a value has another type, or the result would be too large.
    """
    operands, most_elements = [], 1
    for value in values:
        operand = np.asarray(value) if isinstance(value, (list, tuple)) else _float_if_huge(value)
        if not isinstance(operand, (bool, int, float)) and (
            not isinstance(operand, (np.ndarray, np.generic)) or operand.dtype.kind not in "biufc"
        ):
            raise InvalidArgument(
                f"reward_shaping: expected numbers or arrays of them, got {type(value)}"
            )
        operands.append(operand)
        most_elements *= getattr(operand, "size", 1)
    if most_elements > MIN_ELEMENTS and len(operands) > 1:
        shape = np.broadcast_shapes(*map(np.shape, operands))
        _check_size(variables, math.prod(shape))
    return operands


def _summands(variables: Variables, items: object, *start: object) -> list[Any]:
    """Return the arguments of `sum`; raise if it would add too many elements."""
    values = _operands(variables, items) + [_operands(variables, value)[0] for value in start]
    rows, *first = map(np.shape, values)
    _check_size(variables, math.prod((*rows[:1], *np.broadcast_shapes(rows[1:], *first))))
    return values


def _check_dot(variables: Variables, *values: object) -> None:
    """Raise if the product of two matrices is too large."""
    left, right = (np.asarray(_operands(variables, value)[0]) for value in values)
    if left.ndim and right.ndim:
        summed = max(left.shape[-1], 1)
        _check_size(variables, (left.size // summed) * (right.size // summed))


def _float_if_huge(value: object) -> object:
    """Convert integers of more than 64 bits to floats, because products could grow unbounded."""
    if type(value) is int and not -(2**63) <= value < 2**63:
        return float(value)
    return value


def _item(variables: Variables, items: Any, key: object) -> object:
    """Return an item, selected by name, index or slice."""
    if isinstance(items, np.ndarray):
        _check_indices(variables, items, key)
    return items[key]


def _check_indices(variables: Variables, items: np.ndarray, key: object) -> None:
    """Raise if index arrays would repeat too many items."""
    parts = key if isinstance(key, tuple) else (key,)
    arrays = [part for part in map(np.asarray, parts) if part.ndim and part.dtype.kind in "iu"]
    if arrays:
        repeated = math.prod(np.broadcast_shapes(*(array.shape for array in arrays)))
        # If some indices are masks, this is more than the number of selected items.
        size = math.prod(items.shape[len(arrays) :]) if len(arrays) == len(parts) else items.size
        _check_size(variables, repeated * size)


def _with_size_check(name: str, function: Callable[..., object]) -> Callable[..., object]:
    """Return a version of a function, named `name` in expressions, that checks argument sizes."""
    is_array_function = name.startswith("np.")

    def call(variables: Variables, *arguments: object) -> object:
        values = list(arguments)
        if function is sum:
            values = _summands(variables, *values)
        elif function is np.dot:
            _check_dot(variables, *values)
        elif function in BROADCASTING or isinstance(function, np.ufunc):
            values = _operands(variables, *values)
        elif is_array_function:
            values[:1] = _operands(variables, values[0])
        return function(*values) if is_array_function else _float_if_huge(function(*values))

    return call


_CALLABLES = {kind.__name__: function for kind, function in OPERATORS.items()}
_CALLABLES |= EXPRESSION_FUNCTIONS
for _module, _members in MODULES.items():
    _CALLABLES |= {
        f"{_module}.{name}": value for name, value in _members.items() if callable(value)
    }
NAMESPACE: dict[str, object] = {
    name: _with_size_check(name, function) for name, function in _CALLABLES.items()
}
NAMESPACE |= {"item": _item, "slice": slice, "__builtins__": {}}
"""The functions that a checked expression calls, by name; no expression has names like `Add`."""
