"""Checks of a caller's actions, on which kernels rely."""
cimport numpy as cnp

from gymcore_ext.engine.step cimport lanes_t
from gymcore_ext.engine.threads cimport Threads

cdef cnp.ndarray given_actions(object actions, tuple shape, const lanes_t* lanes, int typenum, object errors)
cdef cnp.ndarray checked_actions(
    cnp.ndarray array, tuple shape, const lanes_t* lanes, int typenum, bint copies, cnp.ndarray scratch,
    Threads threads, object errors)
