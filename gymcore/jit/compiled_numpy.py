"""Functions and operators of NumPy and Python, compiled so that their results have the same bits.

Numba computes most of them in the same way. `REPLACED` and `METHODS` are those that it computes
with other functions, in another order, or not at all. Transcendental functions, sums and matrix
products run NumPy's own loops. Numbers do not change the type of an array of numbers (NEP 50).
"""

from __future__ import annotations

import ast
import math
import operator
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic, overload
from numba.np.numpy_support import as_dtype

from gymcore.jit import math as jit_math
from gymcore.jit.compiled_random import BYTES, WITHOUT_WRAPPERS, is_none, jitable
from gymcore_ext.lanes.ufunc_loops import COS, POW, POWF, SIN, loop_of

# What compiled code calls instead of functions, of methods of arrays, and of operators.
REPLACED: dict[Any, Callable[..., Any]] = {}
METHODS: dict[str, Callable[..., Any]] = {}
OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {}


def _replaces(*functions: Any, method: str = "") -> Callable[[Any], Callable[..., Any]]:
    """Return a decorator of a function that returns an implementation for types of arguments."""

    def register(choose):
        def stub(*args, **kwargs):
            raise NotImplementedError

        overload(stub, jit_options=WITHOUT_WRAPPERS)(choose)
        REPLACED.update(dict.fromkeys(functions, stub))
        METHODS.update({method: stub} if method else {})
        return stub

    return register


def _internal(choose):
    return _replaces()(choose)


def is_array(kind: Any) -> bool:
    """Return whether a type is that of an array."""
    return isinstance(kind, types.Array)


def _float_type(kind: Any, other: Any = np.float64) -> Any:
    """Return NumPy's type of floats, or of the elements of an array of floats; else `other`."""
    dtype = getattr(kind, "dtype", kind)
    return as_dtype(dtype).type if isinstance(dtype, types.Float) else other


# --- functions of the C library -------------------------------------------------------------------


def _c_function(name: str, address: int) -> Any:
    """Return an intrinsic of a tuple of numbers that calls a function without side effects.

    LLVM does not know the name: it would replace a power by products, whose bits differ.
    """
    symbol = f"gymcore_{name}"
    llvm.add_symbol(symbol, address)

    @intrinsic
    def call(typing_context, inputs):
        def generate(context, builder, signature, args):
            numbers = cgutils.unpack_tuple(builder, args[0], len(inputs))
            kind = ir.FunctionType(numbers[0].type, [number.type for number in numbers])
            function = cgutils.get_or_insert_function(builder.module, kind, symbol)
            function.attributes.update(("readnone", "nounwind"))
            return builder.call(function, numbers)

        return inputs.dtype(inputs), generate

    return call


_pow, _powf = _c_function("pow", POW), _c_function("powf", POWF)
_FUNCTIONS = {np.cos: _c_function("cos", COS), np.sin: _c_function("sin", SIN)}


@cache
def uses_c_library(ufunc: np.ufunc) -> bool:
    """Return whether NumPy computes a function of a number as the C library does, to the bit."""
    if ufunc not in _FUNCTIONS:
        return False
    rng = np.random.default_rng(0)
    values = (rng.uniform(-1.0, 1.0, 5000) * 10.0 ** rng.integers(-3, 7, 5000)).tolist()
    return list(map(getattr(math, ufunc.__name__), values)) == list(map(ufunc, values))


# --- NumPy's loops --------------------------------------------------------------------------------


def _loop(ufunc: np.ufunc) -> Any:
    """Return an intrinsic (out, inputs, dims, steps) that calls NumPy's loop for the type of `out`.

    If `out` is a NumPy type, it returns a number.
    """
    addresses = {}
    for number in (np.float64, np.float32, np.int64):
        dtype = np.dtype(number)
        if dtype.char * ufunc.nargs in (text.replace("->", "") for text in ufunc.types):
            loop_and_data = addresses[dtype] = loop_of(ufunc, bytes([dtype.num] * ufunc.nargs))
            for part, address in zip(("", "_data"), loop_and_data, strict=True):
                llvm.add_symbol(f"gymcore_{ufunc.__name__}_{dtype.name}{part}", address)

    @intrinsic
    def call(typing_context, out, inputs, dims, steps):
        dtype = as_dtype(out.dtype)
        symbols = [f"gymcore_{ufunc.__name__}_{dtype.name}{part}" for part in ("", "_data")]

        def generate(context, builder, signature, args):
            def stored(value):
                return builder.bitcast(cgutils.alloca_once_value(builder, value), BYTES)

            def packed(value, kind):
                values = cgutils.unpack_tuple(builder, value, len(kind))
                return stored(cgutils.pack_array(builder, values))

            kinds = *inputs, out
            result = cgutils.alloca_once(builder, context.get_value_type(out.dtype))
            values = [*cgutils.unpack_tuple(builder, args[1], len(inputs)), args[0]]
            pointers = [
                builder.bitcast(context.make_array(kind)(context, builder, value).data, BYTES)
                if is_array(kind)
                else (stored(value) if kind is not out else builder.bitcast(result, BYTES))
                for value, kind in zip(values, kinds, strict=True)
            ]
            kind = ir.FunctionType(ir.VoidType(), [BYTES] * 4)
            function, data = (
                cgutils.get_or_insert_function(builder.module, kind, symbol) for symbol in symbols
            )
            data = builder.bitcast(data, BYTES) if addresses[dtype][1] else ir.Constant(BYTES, None)
            arrays = stored(cgutils.pack_array(builder, pointers))
            builder.call(function, [arrays, packed(args[2], dims), packed(args[3], steps), data])
            return context.get_dummy_value() if is_array(out) else builder.load(result)

        return (types.none if is_array(out) else out.dtype)(out, inputs, dims, steps), generate

    return call


def _elementwise(ufunc: np.ufunc) -> None:
    """Replace a ufunc of one or two inputs by NumPy's loop for the type in which it computes."""
    loop, count = _loop(ufunc), ufunc.nin

    @_internal
    def compute(x, y, dtype):
        kinds = (x, y)[:count]
        dtypes = [as_dtype(kind.dtype) for kind in kinds if is_array(kind)] or [np.dtype("f8")]
        wide = [np.dtype("f8") if d.kind in "iu" and d.itemsize > 2 else d for d in dtypes]
        number = np.result_type(*wide).type if is_none(dtype) else as_dtype(dtype.dtype).type
        if not issubclass(number, np.floating):
            raise TypingError(f"np.{ufunc.__name__}: convert arrays of small integers to floats")
        size = np.dtype(number).itemsize
        steps = (*(size * is_array(kind) for kind in kinds), size)
        if not any(steps[:-1]):
            if number is np.float64 and uses_c_library(ufunc):
                function = _FUNCTIONS[ufunc]
                return lambda x, y, dtype: function((number(x),))
            return lambda x, y, dtype: loop(number, (number(x), number(y))[:count], (1,), (0, 0, 0))

        def many(x, y, dtype):
            out = np.empty(_shape(x, y), number)
            inputs = (_full(x, out, number), _full(y, out, number))[:count]
            loop(out, inputs, (out.size,), steps)
            return out

        return many

    def unary(x, dtype=None):
        return lambda x, dtype=None: compute(x, 0.0, dtype)

    def binary(x, y, dtype=None):
        return lambda x, y, dtype=None: compute(x, y, dtype)

    _replaces(ufunc)(unary if count == 1 else binary)


@_internal
def _shape(x, y):
    if is_array(x) and is_array(y):
        return lambda x, y: np.broadcast_shapes(x.shape, y.shape)
    return (lambda x, y: x.shape) if is_array(x) else (lambda x, y: y.shape)


@_internal
def _full(x, out, number):
    if is_array(x):
        return lambda x, out, number: np.broadcast_to(x, out.shape).astype(number)
    return lambda x, out, number: number(x)


_TRANSCENDENTAL = (
    *(np.arccos, np.arccosh, np.arcsin, np.arcsinh, np.arctan, np.arctan2, np.arctanh, np.cbrt),
    *(np.cos, np.cosh, np.exp, np.exp2, np.expm1, np.hypot, np.log, np.log10, np.log1p, np.log2),
    *(np.power, np.sin, np.sinh, np.tan, np.tanh),
)
for _ufunc in _TRANSCENDENTAL:
    _elementwise(_ufunc)
_add, _multiply_matrices = _loop(np.add), _loop(np.matmul)


def _is_transposed(a):
    """Return whether an array is the transposed of one in C order, whose order NumPy follows."""
    return is_array(a) and a.layout == "F" and a.ndim > 1


def _by_axis(a, axis, number, reduce_row):
    """Return a function that reduces one of the two axes of an array, or None if there is no axis.

    `reduce_row` gets all rows, whose strides it may need, and the index of one.
    """
    if is_none(axis):
        return None
    if not is_array(a) or a.ndim != 2 or not isinstance(axis, types.Integer):
        raise TypingError("axis: expected a number, and an array of two axes")
    row = jitable(reduce_row)

    @jitable
    def of_rows(rows):
        result = np.empty(len(rows), number)
        for k in range(len(rows)):
            result[k] = row(rows, k)
        return result

    def along(a, axis=None):
        if axis not in (-2, -1, 0, 1):
            raise ValueError("axis: expected -2 to 1")
        return of_rows(a) if axis in (-1, 1) else of_rows(a.T)

    return along


@_replaces(np.sum, method="sum")
def _sum(a, axis=None):
    """Add floats in NumPy's order: in pairs along the axis of the smallest stride, else in turn."""
    if isinstance(a, types.BaseTuple):
        return lambda a, axis=None: _sum(_array(a), axis)
    number = _float_type(a, np.int64)

    def row(rows, k):
        if len(rows) == 1 or rows.strides[1] <= rows.strides[0]:
            return _sum(rows[k])
        total = number(0)
        for i in range(rows.shape[1]):
            total += number(rows[k, i])
        return total

    if not is_none(axis):
        return _by_axis(a, axis, number, row)
    if _is_transposed(a):
        return lambda a, axis=None: _sum(a.T)
    if number is np.int64:
        return lambda a, axis=None: np.sum(a.astype(number))
    size = np.dtype(number).itemsize

    def add(a, axis=None):
        total, values = np.zeros(1, number), np.ascontiguousarray(a)
        _add(total, (total, values), (values.size,), (0, size, 0))
        return total[0]

    return add


def _reduction(function, *names, method):
    """Replace a reduction whose result does not depend on the order of the elements."""

    @_replaces(function, *names, method=method)
    def reduction(a, axis=None):
        if isinstance(a, types.BaseTuple):
            return lambda a, axis=None: reduction_of(_array(a), axis)
        number = np.bool_ if function in (np.any, np.all) else as_dtype(a.dtype).type
        by_axis = _by_axis(a, axis, number, lambda rows, k: function(rows[k]))
        return by_axis or (lambda a, axis=None: function(a))

    reduction_of = reduction
    return reduction


_reduction(np.max, np.amax, method="max")
_reduction(np.min, np.amin, method="min")
_any, _all = _reduction(np.any, method="any"), _reduction(np.all, method="all")


@_replaces(any)
def _any_item(items):
    return lambda items: _any(_as_array(items))


@_replaces(all)
def _all_items(items):
    return lambda items: _all(_as_array(items))


@_replaces(sum)
def _sum_of_items(items, start=0):
    """Add floats in the order of the items.

    From Python 3.12 on, their rounding errors are added at the end, as in Python: Neumaier, ZAMM 54
    (1974).
    """
    is_row = (is_array(items) and items.ndim == 1) or isinstance(items, types.UniTuple)
    if sys.version_info < (3, 12) or not is_row or not isinstance(items.dtype, types.Float):
        return lambda items, start=0: sum(items, start)
    is_whole = not isinstance(start, types.Float)  # Python adds the first float without an error

    def add(items, start=0):
        result, errors = float(start), 0.0
        for k, item in enumerate(items):
            value, before = float(item), result
            result += value
            if k or not is_whole:
                first, second = (before, value) if abs(before) >= abs(value) else (value, before)
                errors += first - result + second
        return result + errors if math.isfinite(errors) else result

    return add


@_replaces(np.mean, method="mean")
def _mean(a, axis=None):
    if isinstance(a, types.BaseTuple):
        return lambda a, axis=None: _mean(_array(a), axis)
    number = _float_type(a)
    if is_none(axis):
        return lambda a, axis=None: number(_sum(a)) / number(a.size)
    return lambda a, axis=None: _sum(a, axis).astype(number) / number(a.shape[axis])


@_replaces(np.average)
def _average(a, axis=None, weights=None):
    if is_none(weights):
        return lambda a, axis=None, weights=None: _mean(a, axis)
    if not is_none(axis):
        raise TypingError("np.average: expected weights or an axis")
    return lambda a, axis=None, weights=None: _weighted(_as_array(a), _as_array(weights))


@_internal
def _weighted(a, weights):
    dtypes = [as_dtype(a.dtype), as_dtype(weights.dtype)]
    number = np.result_type(*dtypes, *[np.float64] * (dtypes[0].kind in "iub")).type

    def average(a, weights):
        factors = weights.astype(number)
        total = _sum(factors)
        if total == 0:
            raise ZeroDivisionError("np.average: expected weights whose sum is not 0")
        return _sum(a.astype(number) * factors) / total

    return average


@_replaces(np.var, method="var")
def _var(a):
    if isinstance(a, types.BaseTuple):
        return lambda a: _var(_array(a))
    if _is_transposed(a):
        return lambda a: _var(a.T)
    number = _float_type(a)

    def var(a):
        offsets = a.astype(number) - number(_mean(a))
        return number(_sum(offsets * offsets)) / number(a.size)

    return var


@_replaces(np.std, method="std")
def _std(a):
    return lambda a: np.sqrt(_var(a))


@_replaces(np.matmul, np.dot, method="dot")
def _matmul(a, b):
    number = _float_type(a, np.int64)
    if number is not _float_type(b, np.int64):
        number = np.float64
    dtype_of_result = np.result_type(as_dtype(a.dtype), as_dtype(b.dtype)).type
    wraps = issubclass(dtype_of_result, np.integer) and dtype_of_result is not np.int64
    rows, columns, size = a.ndim == 2, b.ndim == 2, np.dtype(number).itemsize
    # Vectors have one axis less than matrices.
    result = jitable(
        (lambda out: out)
        if rows and columns
        else (lambda out: out.reshape(-1))
        if rows or columns
        else (lambda out: out[0, 0])
    )

    def matmul(a, b):
        x, y = np.ascontiguousarray(a).astype(number), np.ascontiguousarray(b).astype(number)
        n, k, m = (len(x) if rows else 1), len(y), (y.shape[-1] if columns else 1)
        out = np.empty((n, m), number)
        steps = (0, 0, 0, k * size, size, m * size, size, m * size, size)
        _multiply_matrices(out, (x, y), (1, n, k, m), steps)
        return result(out.astype(dtype_of_result) if wraps else out)

    return matmul


@_replaces(np.linalg.norm)
def _norm(x, ord=None):
    if isinstance(x, types.BaseTuple):
        return lambda x, ord=None: _norm(_array(x), ord)
    if _is_transposed(x):
        return lambda x, ord=None: _norm(x.T, ord)
    number = _float_type(x)
    if not is_none(ord) and x.ndim > 1:
        raise TypingError("np.linalg.norm: `ord` is for one axis")

    root = _powf if number is np.float32 else _pow

    def norm(x, ord=None):
        values = np.abs(x.astype(number).reshape(-1))
        if ord == 2:
            return np.sqrt(number(_matmul(values, values)))
        if ord == 1:
            return number(_sum(values))
        if math.isinf(ord):
            return values.max() if ord > 0 else values.min()
        if ord == 0:
            return number(np.count_nonzero(values))
        total = number(_sum(_powers(values, ord)))
        return root((total, number(1) / number(ord)))

    def euclidean(x, ord=None):
        values = x.astype(number).reshape(-1)
        return np.sqrt(number(_matmul(values, values)))

    return euclidean if is_none(ord) else norm


# --- numbers and arrays ---------------------------------------------------------------------------


@_replaces(np.array)
def _array(object, dtype=None):
    """Convert numbers, arrays, and tuples of these; lists have been converted to tuples."""
    kind = object.dtype if is_array(object) and is_none(dtype) else dtype
    if is_array(object):
        number = as_dtype(getattr(kind, "dtype", kind)).type
        return lambda object, dtype=None: object.astype(number)
    first = object[0] if isinstance(object, types.BaseTuple) else object
    if not isinstance(first, types.Number | types.Boolean):
        if is_none(dtype):
            return lambda object, dtype=None: np.stack(_arrays(object))
        return lambda object, dtype=None: np.stack(_arrays(object)).astype(dtype)
    if is_none(dtype):
        return lambda object, dtype=None: np.array(object)
    return lambda object, dtype=None: np.array(object).astype(dtype)


@_replaces(np.asarray)
def _as_array(object, dtype=None):
    """Return an array itself, if it has the dtype."""
    if is_array(object) and (is_none(dtype) or getattr(dtype, "dtype", None) == object.dtype):
        return lambda object, dtype=None: object
    return lambda object, dtype=None: _array(object, dtype)


@_replaces(np.concatenate)
def _concatenate(arrays, axis=0):
    """Join arrays; the rows of an array along the first axis only."""
    if is_array(arrays) and getattr(axis, "literal_value", getattr(axis, "value", axis)) == 0:
        if arrays.ndim == 3:
            return lambda arrays, axis=0: arrays.copy().reshape((-1, arrays.shape[2]))
        return lambda arrays, axis=0: arrays.copy().reshape(-1)
    return lambda arrays, axis=0: np.concatenate(_arrays(arrays), axis)


@_replaces(np.stack)
def _stack(arrays, axis=0):
    if is_array(arrays):
        return lambda arrays, axis=0: np.stack((arrays,), axis)[0]
    return lambda arrays, axis=0: np.stack(_arrays(arrays), axis)


@_replaces(np.hstack)
def _hstack(tup):
    return lambda tup: np.hstack(_rows(tup))


@_internal
def copied(x):
    """Return a copy of an array, or a number itself."""
    return (lambda x: x.copy()) if is_array(x) else (lambda x: x)


@_internal
def _arrays(items):
    if len(items) == 1:
        return lambda items: (_as_array(items[0]),)
    return lambda items: (_as_array(items[0]), *_arrays(items[1:]))


@_internal
def _rows(items):
    if len(items) == 1:
        return lambda items: (np.atleast_1d(_as_array(items[0])),)
    return lambda items: (np.atleast_1d(_as_array(items[0])), *_rows(items[1:]))


def _convert(context, builder, signature, args):
    value = context.cast(builder, args[0], signature.args[0], signature.return_type)
    return impl_ret_borrowed(context, builder, signature.return_type, value)


# These are intrinsics, as functions would be compiled for every type.
@intrinsic
def wide(typing_context, x):
    """Convert a number to the type that Python computes with."""
    kind = types.float64 if isinstance(x, types.Float) else x
    return (types.int64 if isinstance(x, types.Integer) else kind)(x), _convert


def _weak_type(x, other):
    """Return the type in which NumPy computes with a number and an array."""
    dtype = other.dtype if is_array(other) else None
    floats = isinstance(x, types.Float) and isinstance(dtype, types.Float)
    if floats or (isinstance(x, types.Integer | types.Boolean) and isinstance(dtype, types.Number)):
        return dtype
    return x


@intrinsic
def weak(typing_context, x, other):
    """Convert a number to the type of an array, if NumPy computes in that type."""
    return _weak_type(x, other)(x, other), _convert


@_internal
def outcome(result):
    """Return the reward, and the sum of the flags 1 (terminated) and 2 (truncated)."""
    if len(result) == 2:
        return lambda result: (result[0], result[1])
    return lambda result: (result[0], int(bool(result[1])) | int(bool(result[2])) << 1)


@_internal
def unpack(values, count):
    """Return the elements of an array, whose number is not checked, as a tuple."""
    if not is_array(values) or values.ndim != 1:
        return lambda values, count: values
    if not isinstance(count, types.IntegerLiteral):
        return None  # Numba asks again with the literal
    items = ", ".join(f"values[{k}]" for k in range(count.literal_value))
    return eval(f"lambda values, count: ({items},)")


def _call(typing_context, function, kinds):
    """Return the code of a call, and the signature of the function, for types of arguments."""
    called = typing_context.resolve_value_type(function)
    inner = called.get_call_type(typing_context, kinds, {})

    def generate(context, builder, signature, args):
        values = [
            context.cast(builder, value, kind, wanted)
            for value, kind, wanted in zip(args, signature.args, inner.args, strict=True)
        ]
        return context.get_function(called, inner)(builder, values)

    return inner.return_type, generate


@intrinsic
def set_item(typing_context, array, index, items):
    """Assign to `array[index]`; arrays by item, as Numba takes ten times as long for them."""
    parts = index if isinstance(index, types.BaseTuple) else (index,)
    is_basic = all(isinstance(part, types.Integer | types.SliceType) for part in parts)
    num_numbers = sum(isinstance(part, types.Integer) for part in parts)
    is_row = isinstance(items, types.BaseTuple)
    is_row &= is_array(array) and num_numbers < array.ndim
    copies = is_array(array) and (is_array(items) or is_row) and is_basic
    function = _assign_part if copies else operator.setitem
    function = _assign_masked if _is_mask(array, index) else function
    result, generate = _call(typing_context, function, (array, index, items))
    return result(array, index, items), generate


@intrinsic
def get_item(typing_context, array, index):
    """Return `array[index]`, also for masks of several axes, which Numba does not take."""
    function = _masked if _is_mask(array, index) else operator.getitem
    result, generate = _call(typing_context, function, (array, index))
    return result(array, index), generate


def _is_mask(array, index):
    is_mask = is_array(index) and isinstance(index.dtype, types.Boolean)
    return is_array(array) and is_mask and index.ndim == array.ndim > 1


@jitable
def _check_mask(array, mask):
    if array.shape != mask.shape:
        raise IndexError("expected a mask of the shape of the array")


@_internal
def _masked(array, mask):
    def masked(array, mask):
        _check_mask(array, mask)
        result, count = np.empty(mask.sum(), array.dtype), 0
        for place, is_chosen in np.ndenumerate(mask):
            if is_chosen:
                result[count] = array[place]
                count += 1
        return result

    return masked


@_internal
def _assign_masked(array, mask, items):
    has_items = is_array(items)

    def assign(array, mask, items):
        _check_mask(array, mask)
        if has_items:
            items = items.copy()  # it may overlap the array
            if items.size not in (1, mask.sum()):
                raise ValueError("expected a value for each element that the mask chooses")
        count = 0
        for place, is_chosen in np.ndenumerate(mask):
            if is_chosen:
                array[place] = items[count % len(items)] if has_items else items
                count += 1

    return assign


@_internal
def _assign_part(array, index, items):
    return lambda array, index, items: copy_items(array[index], items)


@intrinsic
def _store(typing_context, array, items):
    """Assign the items of a tuple to the elements of an array."""
    calls = [_call(typing_context, operator.setitem, (array, types.intp, kind)) for kind in items]

    def generate(context, builder, signature, args):
        values = cgutils.unpack_tuple(builder, args[1], len(items))
        for k, (value, kind, (result, set_one)) in enumerate(
            zip(values, items, calls, strict=True)
        ):
            index = context.get_constant(types.intp, k)
            set_one(context, builder, result(array, types.intp, kind), (args[0], index, value))
        return context.get_dummy_value()

    return types.none(array, items), generate


@_internal
def copy_items(array, items):
    """Assign to `array[:]`."""
    is_row = isinstance(items, types.BaseTuple) and array.ndim == 1 and len(items) > 1
    if is_row and all(isinstance(kind, types.Number | types.Boolean) for kind in items):
        count = len(items)

        def store(array, items):
            if len(array) != count:
                raise ValueError("expected an array of the same length")
            _store(array, items)

        return store
    if isinstance(items, types.BaseTuple):
        return lambda array, items: _assign(array, _array(items))
    return lambda array, items: _assign(array, items)


@_internal
def _assign(array, items):
    if not is_array(items) or not is_array(array) or array.ndim < items.ndim:

        def fill(array, items):
            array[:] = items

        return fill
    if array.ndim > items.ndim:

        def repeat(array, items):
            for k in range(len(array)):
                _assign(array[k], items)

        return repeat
    if not array.layout == items.layout == "C":
        return lambda array, items: _copy(array, items.copy())
    return lambda array, items: _copy(array, items)


@_internal
def _copy(array, items):
    put = operator.setitem if array.ndim == 1 else jitable(_copy_row)

    def copy(array, items):
        count = len(array)
        if len(items) == 1:
            for k in range(count):
                put(array, k, items[0])
        elif len(items) != count:
            raise ValueError("expected an array of the same length")
        elif array.ctypes.data <= items.ctypes.data:
            for k in range(count):
                put(array, k, items[k])
        else:  # the arrays may overlap
            for k in range(count):
                put(array, count - 1 - k, items[count - 1 - k])

    return copy


def _copy_row(array, k, row):
    _copy(array[k], row)


def _compared_type(x, other):
    """Return the type in which NumPy compares a number with an array; integers are exact."""
    is_integer = is_array(other) and isinstance(other.dtype, types.Integer)
    return x if is_integer else _weak_type(x, other)


def _of_two(function: Any, choose: Any = lambda a, b: None, weak_type: Any = _weak_type) -> Any:
    """Replace a function of two arguments by one for weak numbers.

    Args:
        function: The function.
        choose: A function that returns what is called instead for types of arguments, or None.
        weak_type: A function that returns the type which a number gets beside an array.
    """

    @intrinsic
    def call(typing_context, a, b):
        kinds = (a, b) if is_array(a) == is_array(b) else (weak_type(a, b), weak_type(b, a))
        result, generate = _call(typing_context, choose(*kinds) or function, kinds)
        return result(a, b), generate

    REPLACED[function] = call
    return call


@_internal
def _divide_integers(a, b):
    return lambda a, b: np.multiply(a, 1.0) / np.multiply(b, 1.0)  # Numba divides int8 in float32


def _division(a, b):
    has_floats = any(_float_type(kind, None) for kind in (a, b))
    return None if has_floats or not (is_array(a) or is_array(b)) else _divide_integers


@_internal
def _fmod_integers(a, b):
    def fmod(a, b):
        sign = np.where(a < 0, -1, 1)
        return sign * (np.abs(a) % np.abs(b))

    return fmod


def _fmod(a, b):
    return None if any(_float_type(kind, None) for kind in (a, b)) else _fmod_integers


_OPERATIONS: dict[type[ast.AST], Any] = {
    **{ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Mod: operator.mod},
    **{ast.FloorDiv: operator.floordiv, ast.BitAnd: operator.and_, ast.BitOr: operator.or_},
    **{ast.BitXor: operator.xor, ast.LShift: operator.lshift, ast.RShift: operator.rshift},
}
_COMPARISONS: dict[type[ast.AST], Any] = {
    **{ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge},
    **{ast.Eq: operator.eq, ast.NotEq: operator.ne},
}
OPERATORS.update({node: _of_two(function) for node, function in _OPERATIONS.items()})
OPERATORS.update(
    (node, _of_two(function, weak_type=_compared_type)) for node, function in _COMPARISONS.items()
)
OPERATORS.update({ast.Div: _of_two(operator.truediv, _division), ast.MatMult: _matmul})
for _function in (np.add, np.subtract, np.multiply, np.mod, np.floor_divide, np.fmin, np.fmax):
    _of_two(_function)
_of_two(np.fmod, _fmod)
_of_two(np.divide, _division)
_maximum, _minimum = _of_two(np.maximum), _of_two(np.minimum)


@_replaces(abs)
def _abs(x):
    return (lambda x: np.abs(x)) if is_array(x) else (lambda x: abs(x))


@_replaces(np.sign)
def _sign(x):
    """Return the sign, which is 0.0 of -0.0."""
    if _float_type(x, None):
        return lambda x: np.sign(x) + weak(0.0, x)
    return lambda x: np.sign(x)


@_internal
def invert(x):
    """Compute `~x`, which is an integer for a bool of Python."""
    if isinstance(x, types.Boolean):
        raise TypingError("`~` of a bool is -1 or -2, and always true; write `not`")
    return lambda x: ~x


@_replaces(np.clip, method="clip")
def _clip(a, a_min, a_max):
    if any(map(is_array, (a, a_min, a_max))):
        return lambda a, a_min, a_max: _minimum(_maximum(a, a_min), a_max)

    def clip(a, a_min, a_max):
        raised = a_min if a < a_min else a
        return a_max if raised > a_max else raised

    return clip


@_replaces(np.argsort, method="argsort")
def _argsort(a, axis=-1, kind=None):
    """Keep the order of equal items; without `kind`, NumPy's order of them depends on the CPU."""
    if is_none(kind):
        raise TypingError("np.argsort: expected kind='stable', which orders equal items")

    def argsort(a, axis=-1, kind=None):
        if kind != "stable" or axis not in (-1, a.ndim - 1):
            raise ValueError("np.argsort: expected kind='stable', and the last axis")
        return np.argsort(a, kind="mergesort")

    return argsort


@_replaces(np.where)
def _where(condition, x=None, y=None):
    if is_none(x):
        return lambda condition, x=None, y=None: np.nonzero(condition)
    if any(map(is_array, (condition, x, y))):
        return lambda condition, x=None, y=None: np.where(condition, weak(x, y), weak(y, x))
    return lambda condition, x=None, y=None: x if condition else y


# --- powers ---------------------------------------------------------------------------------------


@jitable
def _squared(a):
    """Return the square of a number, and the rounding error of the square (T. J. Dekker, 1971)."""
    shifted = a * 134217729.0
    high = shifted - (shifted - a)
    low = a - high
    square = a * a
    return square, ((high * high - square) + 2.0 * high * low) + low * low


@jitable
def _product_error(a, b, product):
    """Return the rounding error of a product (T. J. Dekker, 1971)."""
    shifted_a, shifted_b = a * 134217729.0, b * 134217729.0
    high_a, high_b = shifted_a - (shifted_a - a), shifted_b - (shifted_b - b)
    low_a, low_b = a - high_a, b - high_b
    return low_a * low_b - (((product - high_a * high_b) - low_a * high_b) - high_a * low_b)


def _rounds_squares() -> bool:
    """Return whether the C library rounds squares that are not almost halfway as IEEE 754 does."""
    values = np.random.default_rng(0).uniform(1.0, 2.0, 5000).tolist()
    squares = ((x, *_squared(x)) for x in values)
    return all(math.pow(x, 2.0) == y for x, y, error in squares if y + 1.1 * error == y)


# Powers of the GNU library and musl err by less than 0.54 units in the last place.
ROUNDS_SQUARES = _rounds_squares()


@jitable
def _float64_power(x, y):
    if ROUNDS_SQUARES and y == 2.0:
        square, error = _squared(x)
        # Not subnormal, and not almost halfway between two numbers.
        if square > 1e-280 and square + 1.1 * error == square:
            return square
    return _pow((x, y))


@_replaces(math.pow)
def _float_power(x, y):
    return lambda x, y: _float64_power(float(x), float(y))


@_replaces(jit_math.powf)
def _float32_power(x, y):
    return lambda x, y: np.float64(_powf((np.float32(x), np.float32(y))))


@_replaces(math.fmod)
def _float_remainder(x, y):
    return lambda x, y: np.fmod(float(x), float(y))


@_replaces(math.log)
def _log(x, base=None):
    if is_none(base):
        return lambda x, base=None: math.log(x)
    return lambda x, base=None: math.log(x) / math.log(base)


@_replaces(math.prod)
def _product_of_items(iterable):
    kinds = iterable if isinstance(iterable, types.BaseTuple) else (iterable,)
    first = 1.0 if any(_float_type(kind, None) for kind in kinds) else 1

    def product(iterable):
        result = first
        for item in _as_array(iterable):
            result *= wide(item)
        return result

    return product


@_replaces(math.isclose)
def _isclose(a, b, rel_tol=1e-9, abs_tol=0.0):
    def isclose(a, b, rel_tol=1e-9, abs_tol=0.0):
        if a == b or math.isinf(a) or math.isinf(b):
            return a == b
        difference = abs(b - a)
        return difference <= max(rel_tol * max(abs(a), abs(b)), abs_tol)

    return isclose


@_replaces(math.hypot)
def _hypot(x, y):
    """Round the length once, as Python does; the C library's hypot differs in 0.6 % of results."""

    def hypot(x, y):
        if math.isinf(x) or math.isinf(y):
            return math.inf
        big, small = max(abs(x), abs(y)), min(abs(x), abs(y))
        if big == 0.0 or math.isnan(x) or math.isnan(y):
            return x + y if big != 0.0 else 0.0
        exponent = math.frexp(big)[1]
        first, first_error = _squared(math.ldexp(big, -exponent))
        second, second_error = _squared(math.ldexp(small, -exponent))
        total = first + second
        rest = (first - total + second) + (first_error + second_error)
        length = math.sqrt(total)
        square, square_error = _squared(length)
        length += ((total - square) - square_error + rest) / (2.0 * length)
        return math.ldexp(length, exponent)

    return hypot


@_internal
def power(x, y):
    """Compute the power of Python or NumPy; integers have exponents of 0 or more."""
    floats = any(_float_type(kind, None) for kind in (x, y))
    if is_array(x) or is_array(y):
        if floats:
            return lambda x, y: _powers(x, y)
        return lambda x, y: np.power(weak(x, y), weak(y, x))
    if floats:
        return lambda x, y: _float64_power(float(x), float(y))

    def integer_power(x, y):
        if y < 0:
            raise ValueError("** of two integers: expected an exponent of 0 or more")
        result = 1
        for _ in range(y):
            result *= x
        return result

    return integer_power


_powers = REPLACED[np.power]
OPERATORS[ast.Pow] = REPLACED[pow] = power


@_internal
def power_in_place(x, y):
    """Compute `x **= y`, which changes arrays."""
    if not is_array(x):
        return lambda x, y: power(x, y)

    def change(x, y):
        x[:] = power(x, y)
        return x

    return change


@_replaces(np.power)
def _power_of(x1, x2, dtype=None):
    floats = any(_float_type(kind, None) for kind in (x1, x2))
    if floats or not is_none(dtype):
        return lambda x1, x2, dtype=None: _powers(x1, x2, dtype)
    return lambda x1, x2, dtype=None: power(x1, x2)


# --- rounding and ranges --------------------------------------------------------------------------


@_replaces(round)
def _round(number, ndigits=None):
    """Round to the nearest decimal, and halves to even, as Python does."""
    if is_none(ndigits):
        return lambda number, ndigits=None: round(number)
    if not isinstance(number, types.Float):

        def whole_to_digits(number, ndigits=None):
            if ndigits < 0:
                raise ValueError("round: expected 0 to 22 digits")
            return int(number)

        return whole_to_digits

    def to_digits(number, ndigits=None):
        value = float(number)
        if not 0 <= ndigits <= 22:
            raise ValueError("round: expected 0 to 22 digits")
        scale = 1.0
        for _ in range(ndigits):
            scale *= 10.0
        scaled = value * scale
        if not abs(scaled) < 4503599627370496.0:  # no digits are left out
            return value
        whole = np.rint(scaled)
        rest = scaled - whole
        if abs(rest) == 0.5:  # the rounding error of the product tells on which side it is
            error = _product_error(value, scale, scaled)
            whole += (rest > 0.0) * (error > 0.0) - (rest < 0.0) * (error < 0.0)
        return math.copysign(whole / scale, value)

    return to_digits


@_replaces(np.arange)
def _arange(start, stop=None, step=None, dtype=None):
    """Return NumPy's numbers: the second is `start + step`, and the others have its distance."""
    kinds = [kind for kind in (start, stop, step) if not is_none(kind)]
    if not is_none(dtype) or not any(isinstance(kind, types.Float) for kind in kinds):
        return lambda start, stop=None, step=None, dtype=None: np.arange(start, stop, step, dtype)
    has_stop, has_step = not is_none(stop), not is_none(step)

    def arange(start, stop=None, step=None, dtype=None):
        first, last = (float(start), float(stop)) if has_stop else (0.0, float(start))
        width = float(step) if has_step else 1.0
        count = (last - first) / width
        if not count < 2147483648.0:
            raise ValueError("np.arange: expected a step other than 0, and fewer numbers")
        result = np.empty(math.ceil(max(count, 0.0)))
        distance = (first + width) - first
        for k in range(len(result)):
            result[k] = first + k * distance
        if len(result) > 1:
            result[1] = first + width
        return result

    return arange


# --- indices of arrays ----------------------------------------------------------------------------


@_replaces(np.ravel_multi_index)
def _ravel_multi_index(multi_index, dims):
    def ravel_multi_index(multi_index, dims):
        index = 0
        for k in range(len(dims)):
            if not 0 <= multi_index[k] < dims[k]:
                raise ValueError("np.ravel_multi_index: expected indices within the shape")
            index = index * dims[k] + multi_index[k]
        return index

    return ravel_multi_index


@_replaces(np.unravel_index)
def _unravel_index(indices, shape):
    if getattr(shape, "count", 0) != 2:
        raise TypingError("np.unravel_index: expected a shape of two numbers")

    def unravel_index(indices, shape):
        if not 0 <= indices < shape[0] * shape[1]:
            raise ValueError("np.unravel_index: expected an index within the shape")
        return indices // shape[1], indices % shape[1]

    return unravel_index


@_replaces(np.full)
def _filled(shape, fill_value, dtype=None):
    if not is_none(dtype):
        return lambda shape, fill_value, dtype=None: np.full(shape, fill_value, dtype)
    number = as_dtype(types.unliteral(fill_value)).type  # Numba rejects a literal
    return lambda shape, fill_value, dtype=None: np.full(shape, fill_value, number)


@_replaces(np.reshape)
def _reshape(a, shape):
    """Return an array of another shape; of a transposed array, NumPy copies the elements."""
    if _is_transposed(a):
        return lambda a, shape: np.ascontiguousarray(a).reshape(shape)
    return lambda a, shape: a.reshape(shape)


@_internal
def flat(array):
    """Return `array.flat` as an array, as Numba's does not check indices."""
    if not is_array(array):  # a field of the state
        return lambda array: array.flat
    if array.layout != "C":
        raise TypingError("flat: expected an array that is contiguous")
    return lambda array: array.reshape(-1)


@_replaces(np.diagonal, method="diagonal")
def _diagonal(a, offset=0):
    return lambda a, offset=0: np.diag(a, offset)


@jitable
def _check_indices(indices, size):
    """Raise `IndexError` for indices out of range, which Numba's own functions do not check."""
    for index in indices.flat:
        if not -size <= index < size:
            raise IndexError("index is out of bounds")


@_replaces(np.delete)
def _delete(arr, obj):
    if not is_array(obj) or isinstance(obj.dtype, types.Boolean):
        return lambda arr, obj: np.delete(arr, obj)

    def delete(arr, obj):
        _check_indices(obj, arr.size)
        return np.delete(arr, obj)

    return delete


@_replaces(np.take_along_axis)
def _take_along_axis(arr, indices, axis):
    def take(arr, indices, axis):
        _check_indices(indices, arr.shape[axis])
        return np.take_along_axis(arr, indices, axis)

    return take


@_replaces(np.roll)
def _roll(a, shift, axis=None):
    if is_none(axis):
        return lambda a, shift, axis=None: np.roll(a, shift)
    if a.ndim != 2:
        raise TypingError("np.roll: expected an array of two axes, or no axis")

    def roll(a, shift, axis=None):
        result = np.empty_like(a)
        rows, columns = a.shape
        down, right = (shift, 0) if axis in (0, -2) else (0, shift)
        for i in range(rows):
            for k in range(columns):
                result[(i + down) % rows, (k + right) % columns] = a[i, k]
        return result

    return roll


@_replaces(np.pad)
def _pad(array, pad_width, mode="constant", constant_values=0):
    if array.ndim != 2 or not isinstance(pad_width, types.BaseTuple):
        raise TypingError("np.pad: expected an array of two axes, and two tuples of two numbers")

    def pad(array, pad_width, mode="constant", constant_values=0):
        if mode != "constant":
            raise ValueError("np.pad: expected mode='constant'")
        (above, below), (left, right) = pad_width
        rows, columns = array.shape
        shape = (above + rows + below, left + columns + right)
        result = np.full(shape, constant_values, array.dtype)
        result[above : above + rows, left : left + columns] = array
        return result

    return pad
