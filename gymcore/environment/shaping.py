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
from typing import Any

import numpy as np

from gymcore.base.arguments import count
from gymcore.error import ArgumentTypeError, InvalidArgument

__all__ = ["VARIABLES", "parse_expression"]

VARIABLES = ("states", "actions", "terminal", "reward", "next_states")

Variables = Mapping[str, Any]
Evaluate = Callable[[Variables], Any]
"""A compiled part of an expression: a function that maps the variables to the part's value."""

MAX_LENGTH = 10_000
"""Maximum number of characters; it bounds the recursion of the parser."""


MIN_ELEMENTS = 1024
"""Number of elements that an array may have even if all variables are smaller."""
MAX_DIGITS = 300
"""Maximum number of digits for rounding, on either side of the point; it bounds the time."""
MAX_DIFFERENCES = 32


def _power(base: Any, exponent: Any) -> Any:
    """Return a power in floating point; Python integers could grow without bound."""
    with np.errstate(all="ignore"):
        return np.float64(base) ** exponent


def _round(value: Any, digits: Any = None) -> Any:
    """Equivalent of `round`."""
    if digits is None:
        return round(value)
    return round(value, count("reward_shaping: digits of round", digits, -MAX_DIGITS, MAX_DIGITS))


def _round_array(value: Any, digits: Any = 0) -> Any:
    """Equivalent of `np.round`."""
    return np.round(
        value, count("reward_shaping: digits of round", digits, -MAX_DIGITS, MAX_DIGITS)
    )


def _differences(value: Any, times: Any = 1) -> Any:
    """Equivalent of `np.diff`."""
    return np.diff(value, count("reward_shaping: n of diff", times, 0, MAX_DIFFERENCES))


UNARY: dict[type, Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Not: operator.not_,
}
BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
COMPARE = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (abs, bool, float, int, len, max, min)
} | {"round": _round, "sum": sum}
NAMES = f"one of {', '.join((*VARIABLES, *FUNCTIONS))}"
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
MODULES: dict[str, dict[str, Any]] = {
    "math": {name: getattr(math, name) for name in MATH_NAMES.split()},
    "np": {name: getattr(np, name) for name in NUMPY_NAMES.split()},
    "random": {name: getattr(random, name) for name in ("gauss", "random", "uniform")},
}
MODULES["np"] |= {"diff": _differences, "round": _round_array}
# Functions other than ufuncs whose arguments are broadcast against each other.
BROADCASTING = (max, min, random.gauss, random.uniform, np.clip, np.where)
# Minimum and maximum number of arguments of NumPy functions that are not ufuncs. Any further
# argument would be a dtype or an output array.
REDUCTIONS = "all any argmax argmin cumsum diff max mean median min prod round std sum var"
ARGUMENTS = {"clip": (3, 3), "dot": (2, 2), "where": (3, 3)}
ARGUMENTS |= dict.fromkeys(REDUCTIONS.split(), (1, 2))


def parse_expression(expression: str) -> Evaluate:
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
        tree = ast.parse(expression.strip(), mode="eval")
        body = tree.body
        compiled = (
            _tuple([_compiled(part) for part in body.elts], 2, expression)
            if isinstance(body, ast.Tuple)
            else _compiled(body)
        )
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError) as problem:
        if isinstance(problem, InvalidArgument):
            raise
        raise InvalidArgument(
            f"reward_shaping: expected an expression, got {expression[:100]!r} ({problem})"
        ) from None
    return _explained(compiled, expression)


def _explained(compiled: Evaluate, expression: str) -> Evaluate:
    """Return a function whose exceptions name the expression that failed."""

    def evaluate(variables: Variables) -> Any:
        try:
            return compiled(variables)
        except InvalidArgument:
            raise
        except Exception as problem:
            raise InvalidArgument(
                f"reward_shaping: {expression:.100} failed: {type(problem).__name__}: {problem}"
            ) from problem

    return evaluate


def _tuple(parts: list[Evaluate], length: int, expression: str) -> Evaluate:
    """Compile several values into a function that returns a tuple."""
    if len(parts) != length:
        raise InvalidArgument(
            f"reward_shaping: expected reward, or (reward, terminal), got {expression[:100]!r}"
        )
    return lambda variables: tuple(part(variables) for part in parts)


def _refuse(node: ast.AST, expected: str) -> InvalidArgument:
    """Return the error for a part that is not allowed."""
    return InvalidArgument(f"reward_shaping: expected {expected}, got {ast.unparse(node)!r}")


def _compiled(node: ast.expr) -> Evaluate:
    """Compile a part of an expression."""
    if isinstance(node, ast.Constant):
        return _constant(node)
    if isinstance(node, ast.Name):
        name = node.id
        if name not in VARIABLES:
            raise _refuse(node, NAMES)
        return lambda variables: variables[name]
    if isinstance(node, ast.Attribute):
        value = _attribute(node)
        if callable(value):
            raise _refuse(node, "a call")
        return lambda variables: value
    if isinstance(node, ast.Call):
        return _call(node)
    if isinstance(node, ast.Subscript):
        return _item(node)
    if isinstance(node, ast.UnaryOp) and type(node.op) in UNARY:
        unary, operand = UNARY[type(node.op)], _compiled(node.operand)
        return lambda variables: unary(operand(variables))
    if isinstance(node, ast.BinOp) and type(node.op) in BINARY:
        binary = BINARY[type(node.op)]
        left, right = _compiled(node.left), _compiled(node.right)
        return lambda variables: _bounded(
            binary(*_operands(variables, left(variables), right(variables)))
        )
    if isinstance(node, ast.BoolOp):
        return _logic(node)
    if isinstance(node, ast.Compare):
        return _comparison(node)
    if isinstance(node, ast.IfExp):
        test, then, other = map(_compiled, (node.test, node.body, node.orelse))
        return lambda variables: then(variables) if test(variables) else other(variables)
    raise _refuse(node, "numbers, variables, arithmetic, comparisons and calls")


def _constant(node: ast.Constant) -> Evaluate:
    """Compile a number."""
    value = node.value
    if not isinstance(value, (bool, int, float)):
        raise _refuse(node, "a number")
    # An unbounded integer would allow unbounded products.
    number = float(value) if isinstance(value, int) and abs(value) > 2**53 else value
    return lambda variables: number


def _attribute(node: ast.expr) -> Any:
    """Return the object with a name such as `np.exp`."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        members = MODULES.get(node.value.id, {})
        if node.attr in members:
            return members[node.attr]
    raise _refuse(node, "a function of math, np or random that is allowed here")


def _call(node: ast.Call) -> Evaluate:
    """Compile a call of one of the functions listed above."""
    if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
        raise _refuse(node, "arguments by position")
    if isinstance(node.func, ast.Name):
        if node.func.id not in FUNCTIONS:
            raise _refuse(node.func, NAMES)
        function = FUNCTIONS[node.func.id]
    else:
        function = _attribute(node.func)
        if not callable(function):
            raise _refuse(node.func, "a function")
    arguments = [_compiled(argument) for argument in node.args]
    is_array_function = ast.unparse(node.func).startswith("np.")
    if is_array_function:
        _check_arguments(node, function)

    def call(variables: Variables) -> Any:
        values = [part(variables) for part in arguments]
        if function is sum:
            values = _summands(variables, *values)
        elif function is np.dot:
            _check_dot(variables, *values)
        elif function in BROADCASTING or isinstance(function, np.ufunc):
            values = _operands(variables, *values)
        elif is_array_function:
            values[:1] = _operands(variables, values[0])
        return function(*values) if is_array_function else _bounded(function(*values))

    return call


def _check_arguments(node: ast.Call, function: Any) -> None:
    """Raise if a NumPy function has too few arguments, or an argument that it would write to."""
    if isinstance(function, np.ufunc):
        min_count = max_count = function.nin
    else:
        assert isinstance(node.func, ast.Attribute)
        min_count, max_count = ARGUMENTS[node.func.attr]
    if not min_count <= len(node.args) <= max_count:
        number = f"{min_count}" if min_count == max_count else f"{min_count} or {max_count}"
        raise _refuse(node, f"{number} argument{'s' * (max_count > 1)} of {ast.unparse(node.func)}")


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


def _operands(variables: Variables, *values: Any) -> list[Any]:
    """Return numbers and arrays to compute with; lists and tuples become arrays.

    Raises:
        InvalidArgument: If a value has another type, or the result would be too large.
    """
    operands = []
    for value in values:
        operand = np.asarray(value) if isinstance(value, (list, tuple)) else _bounded(value)
        if not isinstance(operand, (bool, int, float)) and (
            not isinstance(operand, (np.ndarray, np.generic)) or operand.dtype.kind not in "biufc"
        ):
            raise InvalidArgument(
                f"reward_shaping: expected numbers or arrays of them, got {type(value)}"
            )
        operands.append(operand)
    if len(operands) > 1:
        shape = np.broadcast_shapes(*map(np.shape, operands))
        _check_size(variables, math.prod(shape))
    return operands


def _summands(variables: Variables, items: Any, *start: Any) -> list[Any]:
    """Return the arguments of `sum`; raise if it would add too many elements."""
    values = _operands(variables, items) + [_operands(variables, value)[0] for value in start]
    rows, *first = map(np.shape, values)
    _check_size(variables, math.prod((*rows[:1], *np.broadcast_shapes(rows[1:], *first))))
    return values


def _check_dot(variables: Variables, *values: Any) -> None:
    """Raise if the product of two matrices is too large."""
    left, right = (np.asarray(_operands(variables, value)[0]) for value in values)
    if left.ndim and right.ndim:
        summed = max(left.shape[-1], 1)
        _check_size(variables, (left.size // summed) * (right.size // summed))


def _bounded(value: Any) -> Any:
    """Convert integers of more than 64 bits to floats, because products could grow unbounded."""
    if type(value) is int and not -(2**63) <= value < 2**63:
        return float(value)
    return value


def _item(node: ast.Subscript) -> Evaluate:
    """Compile the selection of an item, by name, index or slice."""
    value = _compiled(node.value)
    index = _index(node.slice)

    def item(variables: Variables) -> Any:
        items, key = value(variables), index(variables)
        if isinstance(items, np.ndarray):
            _check_indices(variables, items, key)
        return items[key]

    return item


def _check_indices(variables: Variables, items: np.ndarray, key: Any) -> None:
    """Raise if index arrays would repeat too many items."""
    parts = key if isinstance(key, tuple) else (key,)
    arrays = [part for part in map(np.asarray, parts) if part.ndim and part.dtype.kind in "iu"]
    if arrays:
        repeated = math.prod(np.broadcast_shapes(*(array.shape for array in arrays)))
        # If some indices are masks, this is more than the number of selected items.
        size = math.prod(items.shape[len(arrays) :]) if len(arrays) == len(parts) else items.size
        _check_size(variables, repeated * size)


def _index(node: ast.expr) -> Evaluate:
    """Compile an index, a name, a slice or a tuple of them."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        name = node.value
        return lambda variables: name
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        raise _refuse(node, "indices, slices or names")
    if isinstance(node, ast.Slice):
        parts = [_compiled(part) if part else None for part in (node.lower, node.upper, node.step)]
        return lambda variables: slice(*(part and part(variables) for part in parts))
    if isinstance(node, ast.Tuple):
        indices = [_index(part) for part in node.elts]
        return lambda variables: tuple(index(variables) for index in indices)
    return _compiled(node)


def _logic(node: ast.BoolOp) -> Evaluate:
    """Compile `a and b` or `a or b`, with any number of parts."""
    parts = [_compiled(part) for part in node.values]
    decides = isinstance(node.op, ast.Or)

    def evaluate(variables: Variables) -> Any:
        value = None
        for part in parts:
            value = part(variables)
            if bool(value) is decides:
                break
        return value

    return evaluate


def _comparison(node: ast.Compare) -> Evaluate:
    """Compile `a < b`, or a chain of comparisons."""
    for op in node.ops:
        if type(op) not in COMPARE:
            raise _refuse(node, "comparisons by ==, !=, <, <=, > and >=")
    operators = [COMPARE[type(op)] for op in node.ops]
    operands = [_compiled(part) for part in (node.left, *node.comparators)]

    def evaluate(variables: Variables) -> Any:
        result: Any = True
        left = operands[0](variables)
        for compare, operand in zip(operators, operands[1:], strict=True):
            right = operand(variables)
            result = compare(*_operands(variables, left, right))
            if len(operators) > 1 and not result:
                break
            left = right
        return result

    return evaluate
