"""The inner loops of NumPy's ufuncs, for compiled code whose results must have the bits of NumPy's."""
from cpython.object cimport PyObject
from libc.math cimport cos, pow, powf, sin
from libc.string cimport memcmp

import numpy as np


cdef extern from *:
    """
    #define NO_IMPORT_ARRAY
    #define NO_IMPORT_UFUNC
    #include "numpy/arrayobject.h"
    #include "numpy/ufuncobject.h"
    """
    ctypedef struct PyUFuncObject:
        int nin, nout, nargs, ntypes
        void** functions
        void** data
        const char* types


# The addresses of functions of the C library; `powf` computes powers of numbers of type np.float32.
COS, POW, POWF, SIN = <size_t> &cos, <size_t> &pow, <size_t> &powf, <size_t> &sin


def loop_of(ufunc, bytes numbers):
    """Return the addresses of the loop of a ufunc and of its `data`, which is 0 for none.

    The loop is a `PyUFuncGenericFunction`, which needs no GIL.

    Args:
        ufunc: one of NumPy's ufuncs.
        numbers: NumPy's type numbers of the arguments, one byte each.

    Raises:
        ValueError: If the ufunc has no such loop.
    """
    if not isinstance(ufunc, np.ufunc):
        raise TypeError(f"ufunc: expected one of NumPy's, got {ufunc!r:.80}")
    cdef PyUFuncObject* self = <PyUFuncObject*> <PyObject*> ufunc
    cdef int k
    for k in range(self.ntypes if len(numbers) == self.nargs else 0):
        if memcmp(self.types + k * self.nargs, <const char*> numbers, self.nargs) == 0:
            return <size_t> self.functions[k], <size_t> (NULL if self.data == NULL else self.data[k])
    raise ValueError(f"{ufunc!r}: no loop for type numbers {list(numbers)}")
