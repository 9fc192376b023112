"""Lanes that are structs of any layout. An environment supplies the functions that step one lane."""
cimport numpy as cnp
from libc.stdint cimport int64_t

from gymcore_ext.engine.kernel cimport kernel_t
from gymcore_ext.engine.kernels cimport LaneOwner
from gymcore_ext.engine.step cimport sizes_t
from gymcore_ext.lanes.lane_functions cimport lane_functions_t


cdef extern from "engine/atomics.h":
    ctypedef unsigned int word_t "gymcore_word"
    unsigned int load32 "gymcore_load32"(word_t* word) noexcept nogil
    void store32 "gymcore_store32"(word_t* word, unsigned int value) noexcept nogil


# Problems that threads report to the caller of a step.
cdef enum:
    FAULT = 1                  # a lane has a fault
    WRONG_FLAGS = 2            # a step returned flags that kernel.h does not define


ctypedef struct struct_lanes_t:
    # `lanes` of the kernel's columns points to this struct.
    lane_functions_t functions
    const void* shared         # data that all lanes share
    char* memory
    int64_t stride, num_lanes  # bytes from a lane to the next one
    sizes_t sizes
    int parameters
    word_t faulted             # a problem that was not raised yet: FAULT, WRONG_FLAGS or 0


cdef inline void* lane_at(const struct_lanes_t* self, int64_t lane) noexcept nogil:
    return self.memory + lane * self.stride


cdef int use_functions(kernel_t* kernel, lane_functions_t* functions, object capsule) except -1


cdef class LaneStore(LaneOwner):
    cdef struct_lanes_t lanes
    cdef object references
    cdef readonly object saved_dtype
    cdef void* allocated

    cdef int set_up(
        self, object kernel, Py_ssize_t num_lanes, Py_ssize_t lane_bytes, const void* shared, object references,
        list saved_fields=*) except -1
    cdef char* _lane(self, Py_ssize_t lane) except NULL
    cdef object _copy(self, int operation, object indices, cnp.ndarray saved)


cdef class StructLanes(LaneStore):
    cdef public object on_fault
