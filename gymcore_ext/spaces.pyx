"""Arrays of the bounds of spaces: repeating them for a batch, and comparing them."""
cimport numpy as cnp
from libc.string cimport memcmp

import numpy as np

cnp.import_array()


def repeat(cnp.ndarray row not None, Py_ssize_t n):
    """Return `n` copies of an array as the rows of a new C-contiguous array.

    Raises:
        ValueError: If `n` is negative.
        TypeError: If `row` holds Python objects.
    """
    cdef cnp.ndarray source = cnp.PyArray_GETCONTIGUOUS(row)
    cdef const char* first = <const char*> cnp.PyArray_DATA(source)
    cdef Py_ssize_t size = cnp.PyArray_NBYTES(source)
    if row.dtype.hasobject:
        raise TypeError(f"row: expected an array without Python objects, got {row.dtype}")
    if n < 0:
        raise ValueError("negative dimensions are not allowed")
    if size > 0 and first[0] == 0 and memcmp(first, first + 1, size - 1) == 0:
        return np.zeros((n, *(<object> row).shape), row.dtype)  # the system allocates its pages only when they are used
    return source[np.newaxis].repeat(n, axis=0)


def identical(a, b):
    """Return whether both are NumPy arrays (not subclasses) of one shape and dtype, C-contiguous, with equal bytes."""
    cdef cnp.ndarray first, second
    if a is b:
        return True
    if not (cnp.PyArray_CheckExact(a) and cnp.PyArray_CheckExact(b)):
        return False
    first, second = a, b
    return (
        cnp.PyArray_SAMESHAPE(first, second) and cnp.PyArray_EquivArrTypes(first, second)
        and cnp.PyArray_IS_C_CONTIGUOUS(first) and cnp.PyArray_IS_C_CONTIGUOUS(second)
        and memcmp(cnp.PyArray_DATA(first), cnp.PyArray_DATA(second), cnp.PyArray_NBYTES(first)) == 0)
