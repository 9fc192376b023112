"""Kernels that are declared in Python."""
from libc.stdint cimport int64_t

from gymcore_ext.engine.lane_memory cimport MAX_NUMBERS
from gymcore_ext.engine.step cimport MAX_INFOS, MAX_PARTS, columns_t, info_field_t, kernel_t, part_t, step_loop_t


cdef enum:
    # Integers of an action.
    MAX_VALUES = 64


ctypedef void (*reset_loop_t)(
    const columns_t* columns, const double* options, const int64_t* lanes, int64_t count) noexcept nogil
ctypedef void (*write_loop_t)(
    const columns_t* columns, void* const* parts, const int64_t* lanes, int64_t lo, int64_t hi) noexcept nogil
ctypedef int (*faulted_t)(const void* lanes) noexcept nogil


cdef class CustomKernel:
    cdef kernel_t kernel
    cdef double numbers[MAX_NUMBERS]
    cdef double options[MAX_NUMBERS]
    cdef part_t parts[MAX_PARTS]
    cdef info_field_t fields[MAX_INFOS]
    cdef int64_t ranges[2 * MAX_VALUES]
    cdef list texts                # what C points to
    cdef const char* lanes_name    # of capsules: no other kernel takes them

    cdef int use_loops(
        self, step_loop_t step, reset_loop_t reset, write_loop_t observe, write_loop_t write_infos, faulted_t faulted
    ) except -1
    cdef const char* _text(self, str text)
