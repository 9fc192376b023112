"""The methods of `rng`, compiled: draws of `numpy.random.Generator` from the stream of a lane."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing import Signature
from numba.extending import (
    intrinsic,
    models,
    overload,
    overload_method,
    register_jitable,
    register_model,
)
from numba.np.numpy_support import as_dtype

from gymcore_ext.lanes.draws import DRAWS

Values = Sequence[ir.Value]
# The signature of an intrinsic, and the function that generates its code.
Generated = tuple[Signature, Callable[..., ir.Value]]
Overload = Callable[..., object]

BYTES = ir.IntType(8).as_pointer()

# The arguments of NumPy's distributions, with its defaults, and the condition that NumPy checks.
_DISTRIBUTIONS = {
    "random": ("", "True"),
    "uniform": ("low=0.0, high=1.0", "True"),
    "normal": ("loc=0.0, scale=1.0", "True"),
    "standard_normal": ("", "True"),
    "lognormal": ("mean=0.0, sigma=1.0", "sigma >= 0"),
    "exponential": ("scale=1.0", "scale >= 0"),
    "standard_exponential": ("", "True"),
    "laplace": ("loc=0.0, scale=1.0", "scale >= 0"),
    "gamma": ("shape, scale=1.0", "shape >= 0 and scale >= 0"),
    "standard_gamma": ("shape", "shape >= 0"),
    "beta": ("a, b", "a > 0 and b > 0"),
    "triangular": ("left, mode, right", "left <= mode <= right and left < right"),
    "binomial": ("n, p", "n >= 0 and 0 <= p <= 1"),
    "poisson": ("lam=1.0", "0 <= lam < 9.2e18"),
    "geometric": ("p", "0 < p <= 1"),
}
_INTEGRAL = ("binomial", "geometric", "poisson")


class StreamType(types.Type):
    """Type of `rng`: a pointer to the words of a lane's stream."""

    def __init__(self):
        """Set the name of the type."""
        super().__init__(name="LaneRandom")


_stream_type = StreamType()


@register_model(StreamType)
class StreamModel(models.PrimitiveModel):
    """Data model of a stream: an untyped pointer."""

    def __init__(self, manager, stream):
        """Set the data representation."""
        super().__init__(manager, stream, BYTES)


@intrinsic
def stream(typing_context, rngs, lane):
    """Return the stream of a lane from an array uint64 [lanes, 5]."""

    def generate(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        words = builder.mul(args[1], ir.Constant(args[1].type, 5))
        return builder.bitcast(builder.gep(array.data, [words]), BYTES)

    return _stream_type(rngs, types.int64), generate


@intrinsic
def _pointer(typing_context, rng):
    return types.voidptr(rng), lambda context, builder, signature, args: args[0]


@intrinsic
def _bit_generator(typing_context, rng):
    """Return the address of a `bitgen_t` of NumPy on the stack, which draws from the stream."""
    names = ("next_uint64", "next_uint32", "next_double", "next_uint64")

    def generate(context, builder, signature, args):
        members = cgutils.alloca_once(builder, ir.ArrayType(BYTES, 5))
        kind = ir.FunctionType(ir.VoidType(), [])
        functions = [
            cgutils.get_or_insert_function(builder.module, kind, f"gymcore_{name}")
            for name in names
        ]
        for k, value in enumerate((args[0], *functions)):
            builder.store(
                builder.bitcast(value, BYTES), cgutils.gep_inbounds(builder, members, 0, k)
            )
        return builder.bitcast(members, BYTES)

    return types.voidptr(rng), generate


@intrinsic
def _binomial_state(typing_context, rng):
    """Return the address of a zeroed `binomial_t`, which saves what is computed from n and p."""
    kind = ir.ArrayType(ir.IntType(64), 32)

    def generate(context, builder, signature, args):
        pointer = cgutils.alloca_once(builder, kind)
        builder.store(ir.Constant(kind, None), pointer)
        return builder.bitcast(pointer, BYTES)

    return types.voidptr(rng), generate


def _function(name, *arguments, returns):
    return types.ExternalFunction(name, returns(types.voidptr, *arguments))


for _name, _value in DRAWS.items():
    llvm.add_symbol(_name, _value)
_draw_random = _function("gymcore_draw_random", returns=types.float64)
_draw_normal = _function("gymcore_draw_normal", returns=types.float64)
_interval = _function("gymcore_numpy_interval", types.uint64, returns=types.uint64)
_draw_integer = _function("gymcore_draw_integer", types.int64, types.int64, returns=types.int64)


def is_none(kind):
    """Return whether an argument of an overload is None or left out."""
    return kind is None or isinstance(kind, (types.NoneType, types.Omitted))


# --- distributions --------------------------------------------------------------------------------


def _at(value, shape, index):
    """Return a number, or an element of an array that is broadcast to a shape."""


@overload(_at)
def _overload_at(value, shape, index):
    if isinstance(value, types.Array):
        return lambda value, shape, index: np.broadcast_to(value, shape)[index]
    return lambda value, shape, index: value


def _results(out, size, values, dtype):
    """Return `out`, or a new array of a size, or of the shape to which values are broadcast."""


@overload(_results)
def _overload_results(out, size, values, dtype):
    if isinstance(out, types.Array):
        return lambda out, size, values, dtype: out
    if not is_none(size):
        return lambda out, size, values, dtype: np.empty(size, dtype)
    kinds = enumerate(values)
    arrays = [k for k, kind in kinds if isinstance(kind, types.Array)]
    a, b, c = (arrays + arrays[-1:] * 2)[:3]
    return lambda out, size, values, dtype: np.empty(
        np.broadcast_shapes(values[a].shape, values[b].shape, values[c].shape), dtype
    )


def _draw(name, count):
    """Return a function (rng, ...) that draws one number."""
    if name == "binomial":
        kinds = types.float64, types.int64, types.voidptr
        draw = _function("gymcore_numpy_binomial", *kinds, returns=types.int64)
        return lambda rng, n, p: draw(_bit_generator(rng), p, n, _binomial_state(rng))
    returns = types.int64 if name in _INTEGRAL else types.float64
    draw = _function(f"gymcore_numpy_{name}", *(types.float64,) * count, returns=returns)
    known: dict[str, Callable[..., Any]] = {
        "random": lambda rng: _draw_random(_pointer(rng)),
        "uniform": lambda rng, low, high: low + (high - low) * _draw_random(_pointer(rng)),
        "standard_normal": lambda rng: _draw_normal(_pointer(rng)),
        "normal": lambda rng, loc, scale: loc + scale * _draw_normal(_pointer(rng)),
    }
    by_count: list[Callable[..., Any]] = [
        lambda rng: draw(_bit_generator(rng)),
        lambda rng, a: draw(_bit_generator(rng), a),
        lambda rng, a, b: draw(_bit_generator(rng), a, b),
        lambda rng, a, b, c: draw(_bit_generator(rng), a, b, c),
    ]
    return known.get(name, by_count[count])


_TEXT = """
def draw(rng, {names}):
    if not ({check}):
        raise ValueError("rng.{name}: expected {check}")
    return drawn(rng, {names})

def method(rng, {arguments}):
    kinds = [{names}size, out]
    return many if any(isinstance(k, Array) for k in kinds) or not is_none(size) else one

def one(rng, {arguments}):
    return draw(rng, {names})

def many(rng, {arguments}):
    results = new(out, size, ({names}), dtype)
    for index in np.ndindex(results.shape):
        results[index] = draw(rng, {elements})
    return results
"""


def _define(name, parameters, check):
    """Define a method of `rng` for numbers, sizes, and arrays of parameters."""
    parts = parameters.split(", ") if parameters else []
    names = [part.partition("=")[0] for part in parts]
    namespace = {
        **{"np": np, "Array": types.Array, "is_none": is_none, "at": _at, "new": _results},
        "drawn": register_jitable(_draw(name, len(names))),
        "dtype": np.int64 if name in _INTEGRAL else np.float64,
    }
    text = _TEXT.format(
        name=name,
        check=check,
        arguments=", ".join([*parts, "size=None", "out=None"]),
        names="".join(f"{name}, " for name in names),
        elements=", ".join(f"at({name}, results.shape, index)" for name in names),
    )
    exec(text, namespace)
    register_jitable(namespace["draw"])
    overload_method(StreamType, name)(namespace["method"])


for _name, _arguments in _DISTRIBUTIONS.items():
    _define(_name, *_arguments)


# --- integers, choices and orders -----------------------------------------------------------------


@overload_method(StreamType, "integers")
def _integers(rng, low, high=None, size=None, dtype=None, endpoint=False):
    kind = getattr(dtype, "dtype", types.int64)
    no_high, no_size = is_none(high), is_none(size)
    if kind not in (types.int64, types.uint64):
        integers = _narrow_integers(as_dtype(kind), no_size)
    elif no_size and not isinstance(low, types.Array) and not isinstance(high, types.Array):
        integers = register_jitable(
            lambda rng, low, high, size, dtype: _draw_integer(_pointer(rng), low, high)
        )
    else:
        integers = _many_integers
    if no_high:
        return lambda rng, low, high=None, size=None, dtype=None, endpoint=False: integers(
            rng, 0, low + endpoint, size, dtype
        )
    return lambda rng, low, high=None, size=None, dtype=None, endpoint=False: integers(
        rng, low, high + endpoint, size, dtype
    )


@register_jitable
def _many_integers(rng, low, high, size, dtype):
    results = _results(None, size, (low, high), np.int64)
    shape = results.shape
    for index in np.ndindex(shape):
        lowest, last = _at(low, shape, index), _at(high, shape, index)
        results[index] = _draw_integer(_pointer(rng), lowest, last)
    return results


def _narrow_integers(dtype, is_scalar):
    """Return a function that draws integers with NumPy's functions for their size."""
    name = "bool" if dtype == np.bool_ else f"uint{8 * dtype.itemsize}"
    number = types.boolean if dtype == np.bool_ else getattr(types, name)
    fill = types.ExternalFunction(
        f"gymcore_numpy_bounded_{name}_fill",
        types.void(types.voidptr, number, number, types.intp, types.boolean, types.voidptr),
    )

    @register_jitable
    def integers(rng, low, high, size, dtype):
        results = np.empty(1 if is_scalar else size, dtype)
        span = high - 1 - low
        fill(_bit_generator(rng), low, span, results.size, False, _address(results))
        return results[0] if is_scalar else results

    return integers


@intrinsic
def _address(typing_context, array):
    def generate(context, builder, signature, args):
        value = context.make_array(signature.args[0])(context, builder, args[0])
        return builder.bitcast(value.data, BYTES)

    return types.voidptr(array), generate


@register_jitable
def _index(rng, p):
    """Draw an index with probabilities p."""
    total = 0.0
    for probability in p:
        total += probability
    drawn = rng.random()
    below = 0.0
    for k, probability in enumerate(p):
        below += probability
        if below / total > drawn:
            return k
    return len(p) - 1


@register_jitable
def _shuffle_indices(rng, indices, first):
    for i in range(len(indices) - 1, first - 1, -1):
        j = _draw_integer(_pointer(rng), 0, i + 1)
        indices[i], indices[j] = indices[j], indices[i]


@register_jitable
def _distinct(rng, n, count, shuffle):
    """Draw distinct indices below n with the algorithms that NumPy chooses."""
    if count > n:
        raise ValueError("rng.choice: more numbers than options, which replace=False does not give")
    if n > 10_000 and count > n // (50 if shuffle else 20):
        permutation = np.arange(n)
        _shuffle_indices(rng, permutation, max(n - count, 1))
        return permutation[n - count :].copy()
    # R. Floyd's algorithm: J. Bentley, "Programming Pearls: A Sample of Brilliance" (1987).
    indices = np.empty(count, np.int64)
    for k in range(count):
        last = n - count + k
        drawn = _draw_integer(_pointer(rng), 0, last + 1)
        indices[k] = last if np.any(indices[:k] == drawn) else drawn
    if shuffle:
        _shuffle_indices(rng, indices, 1)
    return indices


@register_jitable
def _distinct_weighted(rng, p, count):
    """Draw distinct indices with probabilities p, as NumPy does: reject those drawn before."""
    left = p
    if count > np.count_nonzero(p > 0):
        raise ValueError("rng.choice: more numbers than options with a probability above 0")
    indices = np.empty(count, np.int64)
    done = 0
    while done < count:
        drawn = np.empty(count - done)
        for k in range(len(drawn)):
            drawn[k] = rng.random()
        left[indices[:done]] = 0.0
        cumulative = np.cumsum(left)
        cumulative /= cumulative[-1]
        for number in drawn:
            k = np.searchsorted(cumulative, number, side="right")
            if not np.any(indices[:done] == k):
                indices[done] = k
                done += 1
    return indices


def _indices(rng, n, size, replace, p, shuffle):
    """Return one index, or an array of indices."""


@overload(_indices)
def _overload_indices(rng, n, size, replace, p, shuffle):
    no_p = is_none(p)
    if is_none(size):
        if no_p:
            return lambda rng, n, size, replace, p, shuffle: _draw_integer(_pointer(rng), 0, n)
        return lambda rng, n, size, replace, p, shuffle: _index(rng, p)

    def indices(rng, n, size, replace, p, shuffle):
        results = np.empty(size, np.int64)
        flat = results.reshape(-1)
        if replace:
            for k in range(flat.size):
                flat[k] = _indices(rng, n, None, True, p, False)
        elif no_p:
            flat[:] = _distinct(rng, n, flat.size, shuffle)
        else:
            flat[:] = _distinct_weighted(rng, _copied(p), flat.size)
        return results

    return indices


@overload_method(StreamType, "choice")
def _choice(
    rng,
    a,
    size=None,
    replace=True,
    p=None,
    axis=0,
    shuffle=True,
):
    if isinstance(a, types.Integer):
        return lambda rng, a, size=None, replace=True, p=None, axis=0, shuffle=True: _indices(
            rng, a, size, replace, p, shuffle
        )
    if isinstance(a, types.BaseTuple) and not is_none(size):
        return lambda rng, a, size=None, replace=True, p=None, axis=0, shuffle=True: np.array(a)[
            _indices(rng, len(a), size, replace, p, shuffle)
        ]
    return lambda rng, a, size=None, replace=True, p=None, axis=0, shuffle=True: a[
        _indices(rng, len(a), size, replace, p, shuffle)
    ]


@overload_method(StreamType, "shuffle")
def _shuffle(rng, x):
    is_vector = x.ndim == 1

    def shuffle(rng, x):
        for i in range(len(x) - 1, 0, -1):
            j = np.int64(_interval(_bit_generator(rng), i))
            if is_vector:
                x[i], x[j] = x[j], x[i]
            else:
                _swap(x[i], x[j])

    return shuffle


@register_jitable
def _swap(x, y):
    for index in np.ndindex(x.shape):
        x[index], y[index] = y[index], x[index]


@overload_method(StreamType, "permutation")
def _permutation(rng, x):
    def permutation(rng, x):
        result = _copied(x)
        rng.shuffle(result)
        return result

    return permutation


def _copied(x):
    """Return a copy of an array, or the integers below a number."""


@overload(_copied)
def _overload_copied(x):
    if isinstance(x, types.Integer):
        return lambda x: np.arange(x)
    if isinstance(x, types.BaseTuple):
        return lambda x: np.array(x)
    return lambda x: x.copy()
