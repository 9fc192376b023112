"""Bounds of spaces: one row repeated, rows stacked, both sides checked, arrays compared.

Only arrays of bounds are known here. What a space is, and what happens to bounds that do not fit, is Python's part.
"""
cimport numpy as cnp
from libc.math cimport INFINITY
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t
from libc.string cimport memcmp, memset

from gymcore_ext.arrays cimport copy_bytes

import numpy as np

cnp.import_array()

ctypedef fused number_t:
    float
    double
    int8_t
    int32_t
    int64_t
    uint8_t

# Rows are copied in blocks of about this many bytes, which stay in the first cache while they are read again.
cdef enum:
    BLOCK = 16384


def repeat(cnp.ndarray row not None, Py_ssize_t n):
    """Return `n` copies of an array as the rows of a new C-contiguous array.

    Raises:
        ValueError: `n` is negative.
        TypeError: `row` holds Python objects.
    """
    cdef cnp.ndarray source = contiguous(row), result
    cdef const char* first = <const char*> cnp.PyArray_DATA(source)
    cdef Py_ssize_t size = cnp.PyArray_NBYTES(source), total, done, block
    cdef bint equal_bytes = size > 0 and memcmp(first, first + 1, size - 1) == 0
    cdef char* to
    if n < 0:
        raise ValueError("negative dimensions are not allowed")
    shape = (n, *(<object> row).shape)
    if equal_bytes and first[0] == 0:
        return np.zeros(shape, source.dtype)  # pages that nobody reads are never touched
    result = np.empty(shape, source.dtype)
    to = <char*> cnp.PyArray_DATA(result)
    total = size * n
    with nogil:
        if equal_bytes:
            memset(to, first[0], total)
        elif total > 0:
            copy_bytes(to, first, size)
            done = block = size
            while done < total:
                if done < BLOCK:
                    block = done
                copy_bytes(to + done, to, min(block, total - done))
                done += block
    return result


def stack(list arrays not None):
    """Return arrays of one shape and dtype as the rows of a new C-contiguous array.

    Raises:
        ValueError: No arrays, or shapes or dtypes that differ.
        TypeError: An element is not an array, or holds Python objects.
    """
    cdef cnp.ndarray first, row, result
    cdef Py_ssize_t i, size, n = len(arrays)
    cdef char* to
    if n == 0:
        raise ValueError("arrays: expected at least one array, got none")
    first = contiguous(arrays[0])
    result = np.empty((n, *(<object> first).shape), first.dtype)
    to = <char*> cnp.PyArray_DATA(result)
    size = cnp.PyArray_NBYTES(first)
    for i in range(n):
        row = contiguous(arrays[i])
        if not alike(first, row):
            raise ValueError(
                f"arrays[{i}]: expected {first.dtype} array of shape {(<object> first).shape}, "
                f"got {row.dtype} {(<object> row).shape}"
            )
        copy_bytes(to + i * size, cnp.PyArray_DATA(row), size)
    return result


def identical(one, other):
    """Return whether both are NumPy arrays (of no subclass) of one shape and dtype, C-contiguous, with the same bytes.

    Arrays that are not identical may still have equal numbers.
    """
    if one is other:
        return True
    if not (cnp.PyArray_CheckExact(one) and cnp.PyArray_CheckExact(other)) or not alike(one, other):
        return False
    if not (cnp.PyArray_IS_C_CONTIGUOUS(one) and cnp.PyArray_IS_C_CONTIGUOUS(other)):
        return False
    return memcmp(cnp.PyArray_DATA(one), cnp.PyArray_DATA(other), cnp.PyArray_NBYTES(one)) == 0


def finite_sides(low, high):
    """Check the bounds of a Box, and return where they are finite.

    Returns:
        Two new bool arrays, False where `low` is -inf and where `high` is inf. None where Python has to look: other
        dtypes than float32, float64, int8, int32, int64, uint8 and bool, subclasses of arrays, shapes or dtypes that
        differ, a NaN, or a lower bound above its upper bound.
    """
    cdef cnp.ndarray lower, upper
    cdef int kind
    if not (cnp.PyArray_CheckExact(low) and cnp.PyArray_CheckExact(high)) or not alike(low, high):
        return None
    if not cnp.PyArray_ISNOTSWAPPED(<cnp.ndarray> low):
        return None
    lower = cnp.PyArray_FROM_OF(low, cnp.NPY_ARRAY_CARRAY_RO)
    upper = cnp.PyArray_FROM_OF(high, cnp.NPY_ARRAY_CARRAY_RO)
    kind = cnp.PyArray_TYPE(lower)
    if kind == cnp.NPY_FLOAT:
        return _finite_sides[float](lower, upper)
    if kind == cnp.NPY_DOUBLE:
        return _finite_sides[double](lower, upper)
    if kind == cnp.NPY_INT8:
        return _finite_sides[int8_t](lower, upper)
    if kind == cnp.NPY_INT32:
        return _finite_sides[int32_t](lower, upper)
    if kind == cnp.NPY_INT64:
        return _finite_sides[int64_t](lower, upper)
    if kind == cnp.NPY_UINT8 or kind == cnp.NPY_BOOL:
        return _finite_sides[uint8_t](lower, upper)
    return None


cdef object _finite_sides(cnp.ndarray lower, cnp.ndarray upper, number_t* _=NULL):
    """The arrays of `finite_sides`, or None; `lower` and `upper` are C-contiguous arrays of `number_t`."""
    cdef const number_t* low = <const number_t*> cnp.PyArray_DATA(lower)
    cdef const number_t* high = <const number_t*> cnp.PyArray_DATA(upper)
    cdef cnp.ndarray below = np.empty((<object> lower).shape, bool), above = np.empty((<object> lower).shape, bool)
    cdef uint8_t* is_below = <uint8_t*> cnp.PyArray_DATA(below)
    cdef uint8_t* is_above = <uint8_t*> cnp.PyArray_DATA(above)
    cdef bint ordered = True
    cdef Py_ssize_t i
    for i in range(cnp.PyArray_SIZE(lower)):
        ordered &= low[i] <= high[i]  # False for a NaN
        is_below[i] = low[i] != -INFINITY
        is_above[i] = high[i] != INFINITY
    return (below, above) if ordered else None


cdef cnp.ndarray contiguous(cnp.ndarray array):
    """The array itself if it is C-contiguous, else a copy that is: its bytes are all there is to it."""
    if array is None or array.dtype.hasobject:
        raise TypeError(f"expected an array without Python objects, got {'None' if array is None else array.dtype}")
    return cnp.PyArray_GETCONTIGUOUS(array)


cdef bint alike(cnp.ndarray one, cnp.ndarray other):
    """Return whether two arrays have equal shapes and dtypes."""
    return cnp.PyArray_SAMESHAPE(one, other) and cnp.PyArray_EquivArrTypes(one, other)
