"""Kernels that are declared in Python."""
from libc.stdint cimport int64_t

from gymcore_ext.engine.kernels cimport MAX_NUMBERS
from gymcore_ext.engine.kernel cimport (
    MAX_INFOS, MAX_PARTS, faulted_t, info_field_t, kernel_t, part_t, reset_loop_t, step_loop_t, write_loop_t,
)
from gymcore_ext.lanes.lane_functions cimport lane_functions_t


cdef enum:
    # Maximum number of integers of an action.
    MAX_VALUES = 64


cdef class CustomKernel:
    cdef kernel_t kernel
    cdef lane_functions_t functions   # of a lane that is a struct
    cdef double numbers[MAX_NUMBERS]
    cdef double options[MAX_NUMBERS]
    cdef part_t parts[MAX_PARTS]
    cdef info_field_t fields[MAX_INFOS]
    cdef int64_t ranges[2 * MAX_VALUES]
    cdef list references           # objects that the kernel points to

    cdef int use_loops(
        self, step_loop_t step, reset_loop_t reset, write_loop_t observe, write_loop_t write_infos, faulted_t faulted
    ) except -1
    cdef const char* _text(self, str text)
