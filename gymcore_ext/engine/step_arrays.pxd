"""The arrays that steps of a compiled batch return."""
cimport numpy as cnp
from libc.stdint cimport int64_t, uint8_t

from gymcore_ext.arrays cimport ArrayRing
from gymcore_ext.engine.episodes cimport report_t
from gymcore_ext.engine.step cimport outputs_t


cdef class StepArrays:
    cdef ArrayRing rewards, terminated, truncated, ends, returns, lengths, times
    cdef ArrayRing observation            # the array of an observation that is one array, or None
    cdef tuple observations, finals       # rings of the arrays that observations consist of
    cdef tuple info_rings, final_info_rings, mask_rings
    cdef tuple info_names, mask_names
    cdef tuple step_infos                 # of each of the infos whether a lane that begins an episode has none
    cdef object begun                     # bool [n]: lanes that began an episode in this step; or None
    cdef Py_ssize_t n
    cdef report_t* reports                # of lanes that ended, undefined elsewhere; or NULL
    # Of the step that is running, until `finish`: which lanes ended, and what they ended with.
    cdef object ended, final_observations
    cdef dict infos, final_infos          # None for a kernel without infos

    cdef object take_observations(self, void** parts)
    cdef int take_infos(self, void** parts, object mask, bint beginning) except -1
    cdef int leave_out_infos(self) except -1
    cdef int take_final_infos(self, void** parts) except -1
    cdef int take_ends(self, outputs_t* out) except -1
    cdef dict finish(self, int64_t ended)
    cdef dict episodes(self)


cdef inline int take_extras(StepArrays arrays, outputs_t* out) except -1:
    """Take what a step writes besides observations, rewards and flags."""
    out.ended = NULL
    out.final_observations[0] = NULL
    out.infos[0] = NULL
    out.final_infos[0] = NULL
    out.begun = NULL
    out.reports = NULL
    if arrays.info_rings is not None:
        arrays.take_infos(out.infos, None, False)
        if arrays.begun is not None:
            out.begun = <uint8_t*> cnp.PyArray_DATA(<cnp.ndarray> arrays.begun)
    return arrays.take_ends(out) if arrays.ends is not None else 0


cdef inline tuple take_results(StepArrays arrays, outputs_t* out):
    """Take all that a step writes; return the arrays of observations, rewards and flags."""
    observations = arrays.take_observations(out.observations)
    rewards = arrays.rewards.take(<void**> &out.rewards)
    terminated = arrays.terminated.take(<void**> &out.terminated)
    truncated = arrays.truncated.take(<void**> &out.truncated)
    take_extras(arrays, out)
    return observations, rewards, terminated, truncated


cdef list named_parts(str name, object arrays)
cdef list bind_parts(void** parts, object arrays, str name, tuple lead, dict facts, object errors)
