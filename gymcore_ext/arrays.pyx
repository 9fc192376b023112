"""NumPy arrays at the border: recycled outputs, and checked access to arrays of the caller."""
cimport numpy as cnp
from cpython.object cimport PyObject
from cpython.pythread cimport PyThread_get_thread_ident
from libc.stdint cimport int64_t


cdef extern from "Python.h":
    PyObject* PyList_GET_ITEM(object sequence, Py_ssize_t index)

import functools
import os

import numpy as np

cnp.import_array()

fork_generation = 1


def _count_fork():
    global fork_generation
    fork_generation += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)


cdef extern from *:
    """
    /* In a free-threaded build, a reference count does not show that no other thread holds an object. */
    #ifdef Py_GIL_DISABLED
    #define GYMCORE_HOLDERS(object) 1000000
    #else
    #define GYMCORE_HOLDERS(object) Py_REFCNT(object)
    #endif
    """
    Py_ssize_t holders "GYMCORE_HOLDERS"(PyObject* object)


cdef class ArrayRing:
    """Hands out arrays of one shape and dtype that the caller may keep forever.

    An array is handed out again only when the ring holds its only reference: views, memoryviews and DLPack capsules of
    it count, since each of them holds the array. A caller that drops its arrays (a training loop) gets the same few in
    turn, and nothing is allocated; one that keeps them gets new ones.
    """

    def __cinit__(self, tuple shape, object dtype, bint reuse=False):
        self.shape = shape
        self.rank = len(shape)
        self.shape_array = np.array(shape, np.intp)
        self.sizes = <cnp.npy_intp*> cnp.PyArray_DATA(self.shape_array)
        self.dtype = np.dtype(dtype)
        self.typenum = self.dtype.num
        self.reuse = reuse
        self.arrays = []

    cdef bint intact(self, cnp.ndarray array, int k) noexcept:
        """Return whether the array still has its shape and flags, which a caller may have changed in place."""
        return (
            cnp.PyArray_NDIM(array) == self.rank and cnp.PyArray_ISCARRAY(array)
            and cnp.PyArray_TYPE(array) == self.typenum and cnp.PyArray_DATA(array) == self.pointers[k]
            and cnp.PyArray_CompareLists(cnp.PyArray_DIMS(array), self.sizes, self.rank))

    cdef object take(self, void** pointer):
        """Return an array whose content is undefined, and write the address of its first byte to `pointer`."""
        cdef Py_ssize_t k, count = len(self.arrays)
        cdef object array
        for k in range(count):
            if self.reuse or holders(PyList_GET_ITEM(self.arrays, k)) == 1:
                array = self.arrays[k]
                if self.intact(array, k):
                    pointer[0] = self.pointers[k]
                    return array
                break
        else:
            k = count
        array = np.empty(self.shape, self.dtype)
        if k == 3:
            k = self.oldest
            self.oldest = (k + 1) % 3
        if k < count:
            self.arrays[k] = array
        else:
            self.arrays.append(array)
        pointer[0] = self.pointers[k] = cnp.PyArray_DATA(<cnp.ndarray> array)
        return array


cdef bint has_shape(cnp.ndarray array, tuple shape):
    """Return whether an array has exactly this shape."""
    cdef Py_ssize_t k, rank = len(shape)
    if cnp.PyArray_NDIM(array) != rank:
        return False
    for k in range(rank):
        if cnp.PyArray_DIM(array, k) != <Py_ssize_t> shape[k]:
            return False
    return True


cdef void* array_pointer(
    object array, str name, int typenum, tuple shape, bint writable, object errors
) except NULL:
    """Return the address of a C-contiguous array of exactly this dtype and shape; raise for anything else.

    `errors` has the exception classes InvalidArgument and ArgumentTypeError, whose messages begin with `name`.
    """
    cdef cnp.ndarray checked
    if not isinstance(array, cnp.ndarray):
        raise errors.ArgumentTypeError(f"{name}: expected a NumPy array of shape {shape}, got {type(array).__name__}")
    checked = array
    if cnp.PyArray_TYPE(checked) == typenum and cnp.PyArray_ISCARRAY(checked) and has_shape(checked, shape):
        return cnp.PyArray_DATA(checked)
    if checked.dtype.num != typenum or not cnp.PyArray_ISNOTSWAPPED(checked) or (<object> checked).shape != shape:
        raise errors.InvalidArgument(
            f"{name}: expected {np.dtype(cnp.PyArray_DescrFromType(typenum))} array of shape {shape}, "
            f"got {checked.dtype} {(<object> checked).shape}"
        )
    if not cnp.PyArray_IS_C_CONTIGUOUS(checked) or not cnp.PyArray_ISALIGNED(checked):
        raise errors.InvalidArgument(f"{name}: expected a C-contiguous array, got strides {(<object> checked).strides}")
    if writable and not cnp.PyArray_ISWRITEABLE(checked):
        raise errors.InvalidArgument(f"{name}: expected a writable array, got a read-only one")
    return cnp.PyArray_DATA(checked)


cdef int check_no_overlap(list named, object errors) except -1:
    """Raise if two C-contiguous arrays share memory: the engine writes each of them as if it were the only one.

    `named` is a list of pairs (name, array).
    """
    cdef Py_ssize_t i, k, count = len(named)
    cdef cnp.ndarray array, other
    cdef char* start
    cdef char* place
    for i in range(count):
        array = named[i][1]
        start = <char*> cnp.PyArray_DATA(array)
        for k in range(i):
            other = named[k][1]
            place = <char*> cnp.PyArray_DATA(other)
            if start < place + cnp.PyArray_NBYTES(other) and place < start + cnp.PyArray_NBYTES(array):
                raise errors.InvalidArgument(
                    f"{named[i][0]}: expected memory of its own, got that of {named[k][0]}")
    return 0


cdef cnp.ndarray as_column(object array, int typenum, Py_ssize_t n, str name):
    """Return the array itself if it is contiguous, of this type and shape (n,), otherwise a converted copy."""
    cdef cnp.ndarray column
    if isinstance(array, cnp.ndarray):
        column = array
        if (cnp.PyArray_TYPE(column) == typenum and cnp.PyArray_NDIM(column) == 1 and cnp.PyArray_DIM(column, 0) == n
                and cnp.PyArray_ISCARRAY_RO(column)):
            return column
    converted = np.require(array, cnp.PyArray_DescrFromType(typenum), "CA")
    if converted.shape != (n,) or np.ndim(array) != 1:
        raise ValueError(f"{name}: expected shape ({n},), got {np.shape(array)}")
    return converted


cdef const int64_t* lane_pointer(object lanes, str name, Py_ssize_t num_envs, object errors) except NULL:
    """Return a pointer to lane indices, int64 [n], or raise if one of them is not in [0, num_envs)."""
    cdef Py_ssize_t k, count = np.size(lanes)
    cdef const int64_t* indices = <const int64_t*> array_pointer(
        lanes, name, cnp.NPY_INT64, (count,), False, errors)
    for k in range(count):
        if not 0 <= indices[k] < num_envs:
            raise errors.InvalidArgument(f"{name}: expected indices below {num_envs}, got {indices[k]}")
    return indices


def are_lanes(cnp.ndarray lanes not None, Py_ssize_t num_envs):
    """Return whether an int64 array [n] holds distinct indices below `num_envs`, and at least one."""
    cdef Py_ssize_t k, count = cnp.PyArray_SIZE(lanes)
    cdef const int64_t* indices = <const int64_t*> cnp.PyArray_DATA(lanes)
    cdef char* seen
    if (
        cnp.PyArray_TYPE(lanes) != cnp.NPY_INT64 or cnp.PyArray_NDIM(lanes) != 1
        or not cnp.PyArray_ISCARRAY_RO(lanes)
    ):
        raise TypeError(f"lanes: expected a contiguous int64 array [n], got {lanes.dtype} {np.shape(lanes)}")
    if not 0 < count <= num_envs:
        return False
    marks = bytearray(num_envs)
    seen = marks
    for k in range(count):
        if not 0 <= indices[k] < num_envs or seen[indices[k]]:
            return False
        seen[indices[k]] = 1
    return True


# --- one caller at a time --------------------------------------------------------------------------------------------

cdef class CurrentCaller:
    """The thread that is running a method wrapped by `one_at_a_time`, which may call other methods of its object.

    Copies and pickles begin without a thread.
    """

    def __reduce__(self):
        return CurrentCaller, ()


def one_at_a_time(errors):
    """Decorate a method so that a second thread gets `errors.ConcurrentUseError`; methods may call each other.

    The object's attribute `_caller` is a `CurrentCaller`, which all of its decorated methods share.
    """
    def decorate(method):
        @functools.wraps(method)
        def call(self, *args, **kwargs):
            cdef CurrentCaller caller = self._caller
            cdef unsigned long thread = <unsigned long> PyThread_get_thread_ident()
            cdef unsigned long before = caller.thread if caller.generation == fork_generation else 0
            if before != 0 and before != thread:
                raise errors.ConcurrentUseError(
                    f"{method.__name__}: another thread is using {type(self).__name__}; use one at a time")
            caller.thread, caller.generation = thread, fork_generation
            try:
                return method(self, *args, **kwargs)
            finally:
                caller.thread = before
        return call
    return decorate
