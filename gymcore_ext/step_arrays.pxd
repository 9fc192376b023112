"""The arrays that steps of a compiled batch return."""
from gymcore_ext.arrays cimport ArrayRing
from gymcore_ext.engine cimport outputs_t


cdef class StepArrays:
    cdef ArrayRing observations, rewards, terminated, truncated, ends, finals, returns, lengths, times
    # Of the last step: which lanes ended, and what they ended with.
    cdef readonly object ended, final_observations, episode_returns, episode_lengths, episode_times

    cdef int take_ends(self, outputs_t* out) except -1


cdef inline int take_extras(StepArrays arrays, outputs_t* out) except -1:
    """Take what a step writes besides observations, rewards and flags."""
    out.ended = NULL
    out.final_observations = NULL
    out.reports.returns = NULL
    return arrays.take_ends(out) if arrays.ends is not None else 0
