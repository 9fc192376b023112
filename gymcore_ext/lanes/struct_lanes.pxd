"""Lanes that are structs of any layout, stepped by the functions of one lane that an environment supplies."""
cimport numpy as cnp
from libc.stdint cimport int64_t, uint64_t

from gymcore_ext.engine.step cimport MAX_INFOS, MAX_PARTS, job_t, kernel_t
from gymcore_ext.engine.threads cimport Threads
from gymcore_ext.lanes.lane_functions cimport lane_functions_t


ctypedef struct struct_lanes_t:
    # What the `lanes` of the kernel's columns point to.
    lane_functions_t functions
    const void* shared         # what all lanes have in common
    char* memory
    int64_t stride, num_lanes  # bytes from a lane to the next one
    int parts, infos, parameters
    int64_t part_bytes[MAX_PARTS]  # of a lane, in each array
    int64_t info_bytes[MAX_INFOS]
    int64_t action_bytes
    int faulted                # whether a lane has a fault that was not raised


cdef inline void* lane_at(const struct_lanes_t* self, int64_t lane) noexcept nogil:
    return self.memory + lane * self.stride


cdef int set_loops(kernel_t* kernel, object functions) except -1
cdef uint64_t digest(const char* data, int64_t size) noexcept nogil


cdef class LaneStore:
    cdef object __weakref__
    cdef struct_lanes_t lanes
    cdef readonly object kernel
    cdef object functions, references
    cdef readonly object saved_dtype
    cdef public Threads threads
    cdef const char* lanes_name    # of capsules: no other kernel takes them
    cdef void* allocated

    cdef int set_up(
        self, object kernel, object functions, Py_ssize_t num_lanes, Py_ssize_t lane_bytes, const void* shared,
        object references, list saved_fields=*) except -1
    cdef char* _lane(self, Py_ssize_t lane) except NULL
    cdef object _share(self, job_t job, object indices, cnp.ndarray saved, bint writes)


cdef class StructLanes(LaneStore):
    cdef public object on_fault
