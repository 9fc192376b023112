"""The results of a step: recycled arrays, and the infos of lanes."""
cimport cython
cimport numpy as cnp
from libc.stdint cimport int64_t, uint8_t

from gymcore_ext.arrays cimport ArrayRing
from gymcore_ext.engine.step cimport lanes_t, outputs_t


@cython.final
cdef class StepArrays:
    cdef ArrayRing rewards, terminated, truncated, ends, returns, lengths, times
    cdef ArrayRing observation            # the array of an observation that is one array, or None
    cdef tuple observations, final        # rings of the arrays of observations, and in same-step mode of final ones
    cdef tuple layout                     # layout of observations that consist of several arrays, or None
    cdef tuple fields                     # for each info: name, name of the mask, and `when` of kernel.h
    cdef tuple values                     # an array for each entry of the infos of one lane
    cdef tuple infos, final_infos         # rings of the arrays of infos, or None
    cdef ArrayRing have_infos             # which rows have infos
    cdef ArrayRing active, agent_returns, agent_lengths  # of the agents of worlds, or None
    cdef object begun                     # bool [n]: lanes that began an episode in this step; or None
    cdef Py_ssize_t n
    # Results of the current step, dropped by `finish`: arrays of infos, flags of ended lanes, their final observations.
    cdef tuple taken_infos, taken_final_infos
    cdef object ended, final_observations, taken_active
    cdef dict episodes                    # return, length and duration of the episodes that ended, zeros elsewhere

    cdef object take_observations(self, void** parts)
    cdef int take_extras(self, outputs_t* out, bint finals) except -1
    cdef tuple take(self, outputs_t* out)
    cdef dict finish(self, int64_t count, uint8_t* terminated, dict more_infos, dict makers)
    cdef int take_info_arrays(self, void** parts, bint zeros) except -1
    cdef dict infos_of_reset(self, cnp.ndarray mask)
    cdef dict infos_of_lane(self, const lanes_t* lanes, bint beginning, bint numpy_scalars)
    cdef object _rows(self, cnp.ndarray mask)
    cdef object _terminations(self, const uint8_t* terminated)


cdef list bind_parts(void** parts, object arrays, str name, tuple lead, dict spec, object errors)
cdef tuple take_all(tuple sources, void** parts)
cdef object unboxed(cnp.ndarray part)
cdef dict rows_by_step(dict infos, int64_t steps)
cdef object float64_scalar(double number)
cdef object float32_scalar(double number)
cdef int narrow_infos(object infos, tuple names) except -1
