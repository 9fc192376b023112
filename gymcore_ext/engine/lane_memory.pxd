"""LaneMemory: where the lanes of a batch live."""
cimport numpy as cnp

from gymcore_ext.engine.step cimport kernel_t, lanes_t, step_loops_t


# How many parameters, and how many reset options, a kernel may have.
cdef enum:
    MAX_NUMBERS = 64

# Bytes that all infos of a lane may take, each in whole words.
cdef enum:
    INFO_BYTES = 4096

# What a batch is claimed for.
cdef enum:
    ANY_USE = 0
    STEP = 1             # of lanes that must have been reset


cdef class LaneMemory:
    cdef kernel_t kernel              # a copy of what the capsule has
    cdef lanes_t lanes
    cdef const step_loops_t* loops
    cdef double** columns             # state columns, then parameter columns
    cdef void* memory
    cdef double* varied               # per-lane parameters, when there are any
    cdef double[MAX_NUMBERS] shared           # parameters that all lanes share
    cdef int busy
    cdef bint ready, closed, statistics
    cdef object errors, capsule, references
    cdef readonly object store        # what owns lanes that are not columns, or None
    cdef readonly Py_ssize_t num_envs
    cdef readonly str isa

    cdef _allocate(self)
    cdef int _set_shared(self, object shared) except -1
    cdef int _set_store(self, object store) except -1
    cdef size_t _padded(self) noexcept
    cdef int _enter(self, int use) except -1
    cdef cnp.ndarray _view(self, void* data, int typenum, tuple shape)


cdef int read_kernel(object capsule, kernel_t* kernel) except -1
