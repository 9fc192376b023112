"""Kernels that are declared in Python."""
from gymcore_ext.engine.kernel cimport kernel_t
from gymcore_ext.lanes.lane_functions cimport lane_functions_t


cdef class CustomKernel:
    cdef kernel_t kernel
    cdef lane_functions_t functions   # the functions for one lane that is a struct
    cdef list references           # objects that the kernel points to

    cdef const char* _c_string(self, str text)
    cdef void* _c_array(self, object values, object dtype) except NULL
