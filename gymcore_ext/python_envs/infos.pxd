"""Infos: the functions that engines call without Python's calling convention."""
cimport numpy as cnp
from libc.stdint cimport uint64_t

cpdef void merge_info(
    object vector_infos, object env_info, Py_ssize_t env_num, Py_ssize_t num_envs, Py_ssize_t depth=*
) except *
cpdef object copied(object value)
cdef bint store_number(cnp.ndarray column, Py_ssize_t env_num, object value) except -1


cdef class InfoSlots:
    cdef object memory
    cdef dict overflow
    cdef uint64_t* words
    cdef char* slots
    cdef Py_ssize_t num_envs, slot_bytes

    cdef uint64_t word_of(self, Py_ssize_t lane) except? 0xFF
    cpdef bint put(self, Py_ssize_t lane, object info, object final_info=*, object extra=*) except -1
