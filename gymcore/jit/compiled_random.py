"""The methods of `rng`, compiled: draws of `numpy.random.Generator` from the stream of a lane.

Numba compiles a method for the types of each call, without the branches that `isinstance` excludes.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import types
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

BYTES = ir.IntType(8).as_pointer()

# Options of functions that only compiled code calls.
WITHOUT_WRAPPERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
jitable = register_jitable(**WITHOUT_WRAPPERS)

# The arguments of NumPy's distributions, with its defaults, and the condition that NumPy checks.
_DISTRIBUTIONS = {
    "random": ("", "True"),
    "uniform": ("low=0.0, high=1.0", "0 <= high - low < np.inf"),
    "normal": ("loc=0.0, scale=1.0", "scale >= 0"),
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
# Those that draw numbers of type float32 if the argument `dtype` is given.
_TYPED = ("random", "standard_normal", "standard_exponential", "standard_gamma")


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


# All of them, because code from the cache calls some that nothing else has asked for.
for _name, _address in DRAWS.items():
    llvm.add_symbol(f"gymcore_draw_{_name}", _address)


def _function(name, returns, *arguments):
    """Return a function of a stream in C."""
    return types.ExternalFunction(f"gymcore_draw_{name}", returns(_stream_type, *arguments))


def _method(function):
    """Make a function a method of `rng`."""

    @functools.wraps(function)
    def choose(*arguments, **keywords):
        return function

    overload_method(StreamType, function.__name__, jit_options=WITHOUT_WRAPPERS)(choose)
    return jitable(function)


def is_none(kind):
    """Return whether an argument of an overload is None or left out."""
    return kind is None or isinstance(kind, (types.NoneType, types.Omitted))


# --- distributions --------------------------------------------------------------------------------


def _results(out, size, values, dtype):
    """Return `out`, or a new array of a size, or of the shape to which values are broadcast."""


@overload(_results, jit_options=WITHOUT_WRAPPERS)
def _overload_results(out, size, values, dtype):
    if isinstance(out, types.Array):
        return lambda out, size, values, dtype: out
    if not is_none(size):
        return lambda out, size, values, dtype: np.empty(size, dtype)
    arrays = [k for k, kind in enumerate(values) if isinstance(kind, types.Array)]
    a, b, c = (arrays + arrays[-1:] * 2)[:3]
    return lambda out, size, values, dtype: np.empty(
        np.broadcast_shapes(values[a].shape, values[b].shape, values[c].shape), dtype
    )


_TEXT = """
def draw(rng, {names}):
    if not ({check}):
        raise ValueError("rng.{name}: expected {check}")
    return drawn(rng, {names})

def one(rng, {arguments}):
    return draw(rng, {names})

def many(rng, {arguments}):
    results = new(out, size, ({names}), number)
    for index in np.ndindex(results.shape):
        results[index] = draw(rng, {elements})
    return results
"""


def _define(name, parameters, check):
    """Define a method of `rng` for numbers, sizes, and arrays of parameters."""
    parts = parameters.split(", ") if parameters else []
    names = [part.partition("=")[0] for part in parts]
    options = ["size=None", *["dtype=None"] * (name in _TYPED), "out=None"]
    text = _TEXT.format(
        name=name,
        check=check,
        arguments=", ".join([*parts, *options]),
        names="".join(f"{name}, " for name in names),
        elements=", ".join(f"np.broadcast_to({name}, results.shape)[index]" for name in names),
    )

    def functions(number, suffix):
        kinds = [types.int64 if name == "n" else number for name in names]
        number = types.int64 if name in _INTEGRAL else number
        drawn = _function(f"{name}{suffix}", number, *kinds)
        namespace = {"np": np, "new": _results, "number": as_dtype(number).type, "drawn": drawn}
        exec(text, namespace)
        jitable(namespace["draw"])
        return namespace["one"], namespace["many"]

    wide = functions(types.float64, "")
    narrow = functions(types.float32, "_f") if name in _TYPED else wide

    @functools.wraps(wide[0])
    def choose(*arguments, **keywords):
        given = inspect.signature(wide[0]).bind(*arguments, **keywords).arguments
        dtype = getattr(given.get("dtype"), "dtype", types.float64)
        number, several = narrow if dtype == types.float32 else wide
        is_many = any(isinstance(kind, types.Array) for kind in given.values())
        return several if is_many or not is_none(given.get("size")) else number

    overload_method(StreamType, name, jit_options=WITHOUT_WRAPPERS)(choose)


for _name, _arguments in _DISTRIBUTIONS.items():
    _define(_name, *_arguments)


# --- integers, choices and orders -----------------------------------------------------------------

_draw_integer = _function("integer", types.int64, types.int64, types.int64)
_interval = _function("interval", types.uint64, types.uint64)


@jitable
def _integer(rng, low, high):
    if high <= low:
        raise ValueError("rng.integers: expected low < high")
    return _draw_integer(rng, low, high)


@overload_method(StreamType, "integers", jit_options=WITHOUT_WRAPPERS)
def _integers(rng, low, high=None, size=None, dtype=None, endpoint=False):
    kind = getattr(dtype, "dtype", types.int64)
    is_one = is_none(size) and not any(isinstance(k, types.Array) for k in (low, high))
    if kind not in (types.int64, types.uint64):
        draw = _narrow_integers(as_dtype(kind), is_one)
    else:
        draw = _one_integer if is_one else _many_integers
    if is_none(high):
        return lambda rng, low, high=None, size=None, dtype=None, endpoint=False: draw(
            rng, 0, low + endpoint, size, dtype
        )
    return lambda rng, low, high=None, size=None, dtype=None, endpoint=False: draw(
        rng, low, high + endpoint, size, dtype
    )


@jitable
def _one_integer(rng, low, high, size, dtype):
    return _integer(rng, low, high)


@jitable
def _many_integers(rng, low, high, size, dtype):
    results = _results(None, size, (low, high), np.int64)
    lows, highs = np.broadcast_to(low, results.shape), np.broadcast_to(high, results.shape)
    for index in np.ndindex(results.shape):
        results[index] = _integer(rng, lows[index], highs[index])
    return results


def _narrow_integers(dtype, is_one):
    """Return a function that draws integers with NumPy's functions for their size."""
    is_bool, first, end = dtype == np.bool_, 0, 2
    if not is_bool:
        first, end = np.iinfo(dtype).min, np.iinfo(dtype).max + 1
    name = "bool" if is_bool else f"uint{8 * dtype.itemsize}"
    number = types.boolean if is_bool else getattr(types, name)
    fill = _function(name, types.void, number, number, types.intp, types.voidptr)

    @jitable
    def integers(rng, low, high, size, dtype):
        if not first <= low < high <= end:
            raise ValueError("rng.integers: expected low < high, and both in the range of dtype")
        results = np.empty(1 if is_one else size, dtype)
        fill(rng, low, high - 1 - low, results.size, results.ctypes)
        return results[0] if is_one else results

    return integers


def _tolerance(p):
    """Return the difference from 1 that NumPy allows for a sum of probabilities."""


@overload(_tolerance, jit_options=WITHOUT_WRAPPERS)
def _overload_tolerance(p):
    tolerance = np.sqrt(np.finfo("f4" if p.dtype == types.float32 else "f8").eps)
    return lambda p: tolerance


@jitable
def _check_probabilities(p, count):
    total = 0.0
    for probability in p:
        if probability < 0.0:
            raise ValueError("rng.choice: expected probabilities p of 0 or more")
        total += probability
    if len(p) != count or not abs(total - 1.0) <= _tolerance(p):
        raise ValueError("rng.choice: expected a probability for each option, with a sum of 1")
    return total


@jitable
def _index(rng, n, p):
    """Draw an index with probabilities p."""
    total = _check_probabilities(p, n)
    drawn = rng.random()
    below = 0.0
    for k, probability in enumerate(p):
        below += probability
        if below / total > drawn:
            return k
    return len(p) - 1


@jitable
def _shuffle_indices(rng, indices, first):
    for i in range(len(indices) - 1, first - 1, -1):
        j = _draw_integer(rng, 0, i + 1)
        indices[i], indices[j] = indices[j], indices[i]


@jitable
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
        drawn = _draw_integer(rng, 0, last + 1)
        indices[k] = last if np.any(indices[:k] == drawn) else drawn
    if shuffle:
        _shuffle_indices(rng, indices, 1)
    return indices


@jitable
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


@overload(_indices, jit_options=WITHOUT_WRAPPERS)
def _overload_indices(rng, n, size, replace, p, shuffle):
    no_p = is_none(p)
    if is_none(size):
        if no_p:
            return lambda rng, n, size, replace, p, shuffle: _integer(rng, 0, n)
        return lambda rng, n, size, replace, p, shuffle: _index(rng, n, p)

    def indices(rng, n, size, replace, p, shuffle):
        results = np.empty(size, np.int64)
        flat = results.reshape(-1)
        if replace:
            for k in range(flat.size):
                flat[k] = _indices(rng, n, None, True, p, False)
        elif no_p:
            flat[:] = _distinct(rng, n, flat.size, shuffle)
        else:
            _check_probabilities(p, n)
            flat[:] = _distinct_weighted(rng, _copied(p), flat.size)
        return results

    return indices


@_method
def choice(rng, a, size=None, replace=True, p=None, axis=0, shuffle=True):
    """Choose an option, or an array of options."""
    if axis != 0:
        raise ValueError("rng.choice: expected axis=0")
    if isinstance(a, int):
        return _indices(rng, a, size, replace, p, shuffle)
    if isinstance(a, tuple) and isinstance(size, (int, tuple)):
        return np.array(a)[_indices(rng, len(a), size, replace, p, shuffle)]
    return a[_indices(rng, len(a), size, replace, p, shuffle)]


@_method
def shuffle(rng, x):
    """Reorder an array along its first axis."""
    for i in range(len(x) - 1, 0, -1):
        j = np.int64(_interval(rng, i))
        if x.ndim == 1:
            x[i], x[j] = x[j], x[i]
        else:
            _swap(x[i], x[j])


@jitable
def _swap(x, y):
    for index in np.ndindex(x.shape):
        x[index], y[index] = y[index], x[index]


@_method
def permutation(rng, x):
    """Return the elements of an array, or the integers below a number, in another order."""
    result = _copied(x)
    rng.shuffle(result)
    return result


@jitable
def _copied(x):
    if isinstance(x, int):
        return np.arange(x)
    if isinstance(x, tuple):
        return np.array(x)
    return x.copy()
