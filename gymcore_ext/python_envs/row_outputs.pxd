"""What a loop over Python environments writes to and returns."""
cimport numpy as cnp
from libc.stdint cimport uint8_t

from gymcore_ext.arrays cimport ArrayRing
from gymcore_ext.engine.episodes cimport reports_t
from gymcore_ext.python_envs.rows cimport Rows


cdef class Outputs:
    """Where one call writes its results: `n` rows of recycled arrays, or memory that was bound once and for all."""

    cdef Py_ssize_t n
    cdef bint bound
    cdef Rows rows, final_rows
    cdef ArrayRing reward_ring, terminated_ring, truncated_ring, return_ring, length_ring, time_ring
    cdef object reward_array, terminated_array, truncated_array, return_array, length_array, time_array
    cdef double* rewards
    cdef uint8_t* terminated
    cdef uint8_t* truncated
    cdef reports_t reports

    cdef int begin(self) except -1
    cdef int begin_reports(self) except -1
    cdef tuple take(self, object infos, object errors)


# Recycled arrays of `n` rows.
cdef Outputs own_outputs(Rows rows, Py_ssize_t n, bint statistics)
# Arrays of the caller: rewards, terminated, truncated, and three of statistics or None.
cdef Outputs bound_outputs(
    Rows rows, Rows final_rows, Py_ssize_t n, tuple columns, object statistics, object errors)
# A deep copy.
cdef object apart(object value)
# What a method of an environment returned, as a tuple of this size; anything else is an error naming the method.
cdef tuple checked(object result, Py_ssize_t size, object env, str method, str names)
# Rows of merged infos, for infos that were merged by a function that knows whole batches only.
cdef object infos_of(object infos, cnp.ndarray lanes, Py_ssize_t num_envs)
