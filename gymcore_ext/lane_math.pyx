"""The elementary functions that physics uses (include/gymcore/math.h), over NumPy arrays.

For tests, for authors of kernels who want to know what `sin` in a kernel gives, and for code that must compute the same
bits on every machine, which NumPy's own functions do not promise.
"""
cimport numpy as cnp
from libc.stdint cimport int64_t

import numpy as np

from gymcore_ext.engine.lane_memory import choose_isa


cdef extern from "array_math.h":
    ctypedef struct array_math_t "gymcore_array_math":
        void (*sincos)(const double* x, double* sine, double* cosine, int64_t count) noexcept nogil
        void (*mod_two_pi)(const double* x, double* remainder, int64_t count) noexcept nogil
        void (*clip)(const double* x, double low, double high, double* clipped, int64_t count) noexcept nogil

    const array_math_t* array_maths "gymcore_array_maths"

cnp.import_array()


cdef double* data(cnp.ndarray array) noexcept:
    return <double*> cnp.PyArray_DATA(array)


def sincos(x, *, isa=None):
    """Sine and cosine of every element.

    Errors: see include/gymcore/math.h. For nan, infinities and |x| from 2^51 on the results mean nothing.

    Args:
        x: radians; anything that `numpy.asarray` makes float64 of.
        isa: name of the instruction set to use (`gymcore_ext.engine.lane_memory.ISA_NAMES`); the best one by default.
            All of them give the same bits.

    Returns:
        Two new float64 arrays of the shape of `x`.

    Raises:
        ValueError: an instruction set that this machine lacks; an `x` that is not an array of numbers.

    Example:
        >>> sine, cosine = sincos([0.0, 1.0])
        >>> cosine.tolist()
        [1.0, 0.5403023058681398]
    """
    values = np.asarray(x, np.float64, "C")
    sine, cosine = np.empty(values.shape), np.empty(values.shape)
    array_maths[<int> choose_isa(isa)].sincos(data(values), data(sine), data(cosine), values.size)
    return sine, cosine


def mod_two_pi(x, *, isa=None):
    """Every element modulo the double nearest 2 pi: bit for bit what Python's `x % (2 * math.pi)` is, for |x| < 2^30.

    Args:
        x: radians; anything that `numpy.asarray` makes float64 of.
        isa: as for `sincos`.

    Returns:
        A new float64 array of the shape of `x`.

    Raises:
        ValueError: as for `sincos`.

    Example:
        >>> mod_two_pi([7.0, -1.0]).tolist() == [7.0 % 6.283185307179586, -1.0 % 6.283185307179586]
        True
    """
    values = np.asarray(x, np.float64, "C")
    remainder = np.empty(values.shape)
    array_maths[<int> choose_isa(isa)].mod_two_pi(data(values), data(remainder), values.size)
    return remainder


def clip(x, double low, double high, *, isa=None):
    """Every element raised to `low`, then lowered to `high`; nan stays nan.

    Args:
        x: anything that `numpy.asarray` makes float64 of.
        low: least value; a number.
        high: largest value; it wins where `low` is above it.
        isa: as for `sincos`.

    Returns:
        A new float64 array of the shape of `x`.

    Raises:
        ValueError: as for `sincos`.
        TypeError: bounds that are not numbers.

    Example:
        >>> clip([-2.0, 0.5, 2.0], -1.0, 1.0).tolist()
        [-1.0, 0.5, 1.0]
    """
    values = np.asarray(x, np.float64, "C")
    clipped = np.empty(values.shape)
    array_maths[<int> choose_isa(isa)].clip(data(values), low, high, data(clipped), values.size)
    return clipped
