"""The one check between a caller's actions and the kernels, which trust what they get."""
cimport numpy as cnp
from libc.stdint cimport int64_t

from gymcore_ext.engine.step cimport lifecycle_t
from gymcore_ext.engine.threads cimport Threads


cdef cnp.ndarray checked_actions(
    object actions, tuple shape, int64_t discrete, int typenum, cnp.ndarray scratch,
    const lifecycle_t* loops, Threads threads, object errors)
