"""The array toolkit: checked access to arrays of callers, lane indices, busy flags and recycled output arrays."""

cimport numpy as cnp
from libc.stdint cimport int64_t


cdef enum:
    MOST_AXES = 64         # NumPy's own limit
    MAX_CACHED_SIZES = 4   # a program steps subsets of a few different sizes


cdef class ArrayRing:
    cdef tuple shape
    cdef int rank, typenum
    cdef cnp.npy_intp sizes[MOST_AXES]
    cdef object dtype
    cdef bint reuse        # always hand out the same array
    cdef list arrays
    cdef void* pointers[3]
    cdef int oldest

    cdef bint intact(self, cnp.ndarray array, int k) noexcept
    cdef object take(self, void** pointer)


# Whether an array has exactly this shape.
cdef bint has_shape(cnp.ndarray array, tuple shape)

# The first byte of a C-contiguous array of exactly this dtype and shape; anything else is an error naming it.
cdef void* array_pointer(
    object array, str name, int typenum, tuple shape, bint writable, object errors) except NULL

# Raise if two of the C-contiguous arrays, pairs (name, array), share memory.
cdef int check_no_overlap(list named, object errors) except -1

# The array itself if it is contiguous, of this type and shape (n,), else a converted copy.
cdef cnp.ndarray as_column(object array, int typenum, Py_ssize_t n, str name)

# The first of the indices of lanes, int64 [n], every one of which is below `num_envs`.
cdef const int64_t* lane_pointer(object lanes, str name, Py_ssize_t num_envs, object errors) except NULL


# How often this process is the child of a fork, plus 1. A thread that had claimed an object is not in the child.
cdef int fork_generation


cdef inline int claim(int* busy, str use, object errors) except -1:
    """Raise the busy flag of an object for one call, which lowers it in a `finally`; a second call is an error.

    The `finally` must be compiled too, and follow at once: a signal handler may raise between two lines of Python.
    """
    if busy[0] == fork_generation:
        raise errors.ConcurrentUseError(f"{use} by another thread; use one at a time")
    busy[0] = fork_generation
    return 0


cdef inline bint cut_off(int* busy) noexcept:
    """Whether a fork has cut off the call that raised the busy flag, which is lowered then."""
    if busy[0] == 0 or busy[0] == fork_generation:
        return False
    busy[0] = 0
    return True


cdef class Turn:
    cdef unsigned long thread   # that is inside, or 0
    cdef int generation         # in which it came


cdef inline int make_room(dict by_size) except -1:
    """Empty a cache of arrays by their number of rows, if it is full."""
    if len(by_size) == MAX_CACHED_SIZES:
        by_size.clear()
    return 0
