"""LaneMemory: where the lanes of a batch live."""
cimport numpy as cnp

from gymcore_ext.engine.kernel cimport kernel_t, step_loops_t
from gymcore_ext.engine.step cimport lanes_t, sizes_t
from gymcore_ext.engine.threads cimport Threads


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


cdef class LaneOwner:
    cdef object __weakref__
    cdef readonly object kernel
    cdef void* columns_lanes          # `lanes` of the kernel's columns
    cdef Py_ssize_t num_lanes
    cdef Threads threads              # of the batch

    cdef int own(self, object kernel, void* lanes, Py_ssize_t num_lanes) except -1


cdef class LaneMemory:
    cdef kernel_t kernel              # a copy of what the capsule has
    cdef lanes_t lanes
    cdef const step_loops_t* loops
    cdef double** columns             # state columns, then parameter columns
    cdef void* memory
    cdef double* parameters           # [parameter_count], or [parameter_count, num_envs] if lanes differ
    cdef int busy
    cdef bint ready, closed, statistics
    cdef object errors, capsule, references
    cdef readonly object store        # what owns lanes that are not columns, or None
    cdef readonly Py_ssize_t num_envs
    cdef readonly str isa

    cdef _allocate(self)
    cdef int _set_store(self, object store) except -1
    cdef size_t _padded(self) noexcept
    cdef int _enter(self, int use) except -1
    cdef cnp.ndarray _view(self, void* data, int typenum, tuple shape)


cdef int read_kernel(object capsule, kernel_t* kernel) except -1
cdef int set_sizes(const kernel_t* kernel, sizes_t* sizes) except -1
cdef void* pointer_of(object capsule, const char* name, str argument, object type_error) except NULL
