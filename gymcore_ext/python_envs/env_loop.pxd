"""EnvLoop: environments written in Python, stepped one after another."""
from libc.stdint cimport uint8_t

from gymcore_ext.arrays cimport ArrayRing
from gymcore_ext.engine.episodes cimport episodes_t, reports_t
from gymcore_ext.python_envs.infos cimport InfoSlots
from gymcore_ext.python_envs.batch_buffer cimport BatchBuffer


cdef class Outputs:
    """Where one call writes its results: `n` rows of recycled arrays, or memory that was bound once and for all."""

    cdef Py_ssize_t n
    cdef bint bound
    cdef BatchBuffer rows, final_rows
    cdef ArrayRing reward_ring, terminated_ring, truncated_ring, return_ring, length_ring, time_ring
    cdef object reward_array, terminated_array, truncated_array, return_array, length_array, time_array
    cdef double* rewards
    cdef uint8_t* terminated
    cdef uint8_t* truncated
    cdef reports_t reports

    cdef int begin(self) except -1
    cdef int begin_reports(self) except -1
    cdef tuple take(self, object infos, object errors)


cdef class EnvLoop:
    cdef list envs
    cdef list last                       # the last observation of each lane; None where the rows keep it
    cdef Outputs outputs
    cdef dict subsets                    # outputs of fewer rows, by their number
    cdef object errors, add_info, slots
    cdef InfoSlots info_slots            # `slots`, where they are ours
    cdef episodes_t episodes
    cdef void* memory
    cdef bint ready, busy
    cdef readonly bint statistics
    cdef readonly int mode
    cdef public bint final_frames        # whether lanes are rendered when their episode ends, with same-step autoreset
    cdef readonly Py_ssize_t count, first, num_envs
    cdef readonly Py_ssize_t failed_lane
    cdef readonly object failed_call
    # Of the call that is running: the lane in which an exception would be, and the merged infos.
    cdef Py_ssize_t lane
    cdef bint resetting
    cdef object infos

    cdef int check_lanes(self, list lanes) except -1
    cdef int enter(self, list lanes) except -1
    cdef int fail(self, object problem) except -1
    cdef Outputs outputs_for(self, list lanes)
    cdef int read_clock(self) except -1
    cdef object env(self, Py_ssize_t lane)
    cdef tuple begin_lane(self, Py_ssize_t lane, object seed, object options, bint autoreset)
    cdef bint step_lane(self, Outputs out, Py_ssize_t row, Py_ssize_t lane, object action) except -1
    cdef int deliver(self, Outputs out, Py_ssize_t row, Py_ssize_t lane, object observation, object info) except -1
    cdef int deliver_final(
        self, Outputs out, Py_ssize_t row, Py_ssize_t lane, object observation, object info) except -1
    cdef int put(self, Py_ssize_t lane, object info, object final_info, object extra) except -1
    cdef int merge(self, Outputs out, Py_ssize_t row, Py_ssize_t lane, object info) except -1
