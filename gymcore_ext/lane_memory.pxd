"""LaneMemory: where the lanes of a batch live."""
cimport numpy as cnp

from gymcore_ext.engine cimport lanes_t


# How many parameters, and how many reset bounds, a kernel may have.
cdef enum:
    MAX_NUMBERS = 64


cdef class LaneMemory:
    cdef lanes_t lanes
    cdef double** columns             # state columns, then parameter columns
    cdef void* memory
    cdef double* varied               # per-lane parameters, when there are any
    cdef double[MAX_NUMBERS] shared           # parameters that all lanes share
    cdef bint busy, ready, closed, statistics
    cdef object errors, capsule
    cdef readonly Py_ssize_t num_envs
    cdef readonly str isa

    cdef _allocate(self)
    cdef size_t _padded(self) noexcept
    cdef int _enter(self, bint needs_reset) except -1
    cdef cnp.ndarray _view(self, void* data, int typenum, tuple shape)
