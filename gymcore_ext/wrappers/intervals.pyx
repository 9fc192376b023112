"""Clipping and rescaling of whole arrays of numbers between bounds, in one pass and one allocation."""
cimport numpy as cnp

import numpy as np

cnp.import_array()

cdef Py_ssize_t LONG = 32768  # Numbers from which on other threads may run meanwhile.

cdef enum:
    CLIP = 1
    SHRINK = 2

ctypedef fused real:
    float
    double


cdef inline void clip(
    const real* values, const real* low, const real* high, real* out, Py_ssize_t size, bint uniform
) noexcept nogil:
    """Like `np.clip`: a NaN stays one. Selections rather than branches, so that the loops are vectorised."""
    cdef Py_ssize_t i
    cdef real x, lo = low[0], hi = high[0]
    if uniform:
        for i in range(size):
            x = values[i]
            x = lo if x < lo else x
            out[i] = hi if x > hi else x
    else:
        for i in range(size):
            x = values[i]
            x = low[i] if x < low[i] else x
            out[i] = high[i] if x > high[i] else x


cdef inline void shrink(
    const real* values, const real* intercept, const real* gradient, real* out, Py_ssize_t size, bint uniform
) noexcept nogil:
    cdef Py_ssize_t i
    cdef real b = intercept[0], a = gradient[0]
    if uniform:
        for i in range(size):
            out[i] = (values[i] - b) / a
    else:
        for i in range(size):
            out[i] = (values[i] - intercept[i]) / gradient[i]


cdef void run(
    int what, int typenum, void* values, void* first, void* second, void* out, Py_ssize_t size, bint uniform
) noexcept nogil:
    if what == CLIP:
        if typenum == cnp.NPY_FLOAT32:
            clip(<float*> values, <float*> first, <float*> second, <float*> out, size, uniform)
        else:
            clip(<double*> values, <double*> first, <double*> second, <double*> out, size, uniform)
    elif typenum == cnp.NPY_FLOAT32:
        shrink(<float*> values, <float*> first, <float*> second, <float*> out, size, uniform)
    else:
        shrink(<double*> values, <double*> first, <double*> second, <double*> out, size, uniform)


cdef class Pair:
    """A function of arrays with two numbers for each element, of the shape and dtype of the arrays.

    Attributes:
        first: The one number of each element, not to be changed.
        second: The other one.
    """

    cdef readonly cnp.ndarray first, second
    cdef int what, rank, typenum
    cdef Py_ssize_t size
    cdef bint compiled, uniform

    def __cinit__(self, first, second):
        first, second = np.array(first, order="C"), np.array(second, order="C")
        if first.shape != second.shape or first.dtype != second.dtype:
            raise ValueError(f"the arrays differ: {first.dtype} {first.shape} and {second.dtype} {second.shape}")
        first.flags.writeable = second.flags.writeable = False
        self.first, self.second = first, second
        self.rank, self.size, self.typenum = first.ndim, first.size, first.dtype.num
        self.uniform = self.size > 0 and bool((first == first.flat[0]).all() and (second == second.flat[0]).all())
        self.compiled = self.size > 0 and self.rank > 0 and first.dtype in (np.float32, np.float64)

    def __reduce__(self):
        return type(self), (self.first, self.second)

    cdef bint fits(self, object values):
        """Whether `values` is an array of this shape and dtype, in one piece."""
        cdef int axis
        if not self.compiled or not cnp.PyArray_CheckExact(values):
            return False
        cdef cnp.ndarray array = values
        if (
            cnp.PyArray_TYPE(array) != self.typenum or cnp.PyArray_NDIM(array) != self.rank
            or not cnp.PyArray_ISCARRAY_RO(array)
        ):
            return False
        for axis in range(self.rank):
            if cnp.PyArray_DIM(array, axis) != cnp.PyArray_DIM(self.first, axis):
                return False
        return True

    cdef object general(self, object values):
        """The same by numpy, with its broadcasting and its rules of dtypes."""
        raise NotImplementedError

    def __call__(self, values):
        """Return a new array (a scalar for a scalar); `values` is left as it was.

        An array of another shape or dtype, or whatever else numpy takes, is treated as numpy does.
        """
        if not self.fits(values):
            return self.general(values)
        cdef cnp.ndarray array = values
        cdef cnp.ndarray result = cnp.PyArray_EMPTY(self.rank, cnp.PyArray_DIMS(array), self.typenum, 0)
        cdef void* x = cnp.PyArray_DATA(array)
        cdef void* first = cnp.PyArray_DATA(self.first)
        cdef void* second = cnp.PyArray_DATA(self.second)
        cdef void* out = cnp.PyArray_DATA(result)
        if self.size < LONG:
            run(self.what, self.typenum, x, first, second, out, self.size, self.uniform)
        else:
            with nogil:
                run(self.what, self.typenum, x, first, second, out, self.size, self.uniform)
        return result


cdef class Clip(Pair):
    """Moves numbers into intervals `[low, high]`, as `np.clip` does.

    At 64 rows of two float32 numbers 0.23 us, two ufuncs of numpy 1.1 us and `np.clip` 6.6 us; at 4096 rows 2, 4 and
    95 us.
    """

    def __cinit__(self, low, high):
        self.what = CLIP

    cdef object general(self, object values):
        return np.minimum(np.maximum(np.asanyarray(values), self.first), self.second)


cdef class Shrink(Pair):
    """`(values - intercept) / gradient`: the inverse of `gradient * values + intercept`.

    At 64 rows of two float32 numbers 0.2 us, two ufuncs of numpy 1.1 us; at 4096 rows 2.4 and 3.9 us.
    """

    def __cinit__(self, intercept, gradient):
        self.what = SHRINK

    cdef object general(self, object values):
        return np.subtract(values, self.first) / self.second
