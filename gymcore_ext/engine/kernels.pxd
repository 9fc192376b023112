"""Kernels: reading their capsules, and the owners of lanes that are not columns."""
from libc.stdint cimport int64_t

from gymcore_ext.engine.kernel cimport kernel_t
from gymcore_ext.engine.step cimport sizes_t
from gymcore_ext.engine.threads cimport Threads


# Maximum number of parameters of a kernel, and of its reset options.
cdef enum:
    MAX_NUMBERS = 64


cdef class LaneOwner:
    cdef object __weakref__
    cdef readonly object kernel
    cdef void* columns_lanes          # `lanes` of the kernel's columns
    cdef Py_ssize_t num_lanes
    cdef Threads threads              # the threads of the batch
    cdef bint float32_actions         # whether float64 actions of the batch's last step were given as float32

    cdef int set_lanes(self, object kernel, void* lanes, Py_ssize_t num_lanes) except -1


cdef int read_kernel(object capsule, kernel_t* kernel) except -1
cdef int64_t choices_of(const kernel_t* kernel) noexcept
cdef int set_sizes(const kernel_t* kernel, sizes_t* sizes) except -1
cdef void* pointer_of(object capsule, const char* name, str argument, object type_error) except NULL
