"""Returns, lengths and durations of the episodes of a batch."""
cimport numpy as cnp
from gymcore_ext.arrays cimport ArrayRing
from gymcore_ext.lane_columns cimport as_column
from libc.math cimport rint
from libc.stdint cimport int64_t, uint8_t

import numpy as np

cnp.import_array()


cdef class EpisodeCounts:
    """Counts the episodes of all lanes of a batch.

    Args:
        num_envs: number of lanes.
        next_step: whether the step after the end of an episode only resets its lane.
        same_step: whether the step that ends an episode resets its lane as well.

    Attributes:
        returns: float64 [num_envs], sum of the rewards of the current episode; changed in place, as all of these.
        lengths: int64 [num_envs], its steps.
        starts: float64 [num_envs], when it began, in seconds of the caller's clock.
        ended: bool [num_envs], whether the last step ended an episode.

    Example:
        >>> import numpy as np
        >>> counts = EpisodeCounts(2, True, False)
        >>> counts.reset(None, 10.0)
        >>> no, yes = np.array([False, False]), np.array([False, True])
        >>> counts.step(np.array([1.0, 2.0]), no, no, 11.0)
        >>> returns, lengths, times, ended = counts.step(np.array([1.0, 2.0]), yes, no, 12.5)
        >>> returns, lengths, times
        (array([0., 4.]), array([0, 2]), array([0. , 2.5]))
    """
    cdef readonly cnp.ndarray returns, lengths, starts, ended
    cdef Py_ssize_t n
    cdef bint next_step, same_step
    cdef ArrayRing shown_returns, shown_lengths, shown_times, shown_ended

    def __cinit__(self, Py_ssize_t num_envs, bint next_step, bint same_step):
        self.n = num_envs
        self.next_step, self.same_step = next_step, same_step
        self.returns, self.starts = np.zeros(num_envs), np.zeros(num_envs)
        self.lengths, self.ended = np.zeros(num_envs, np.int64), np.zeros(num_envs, np.bool_)
        self.shown_returns, self.shown_times = ArrayRing((num_envs,), np.float64), ArrayRing((num_envs,), np.float64)
        self.shown_lengths, self.shown_ended = ArrayRing((num_envs,), np.int64), ArrayRing((num_envs,), np.bool_)

    def reset(self, object mask, double now):
        """Begin episodes.

        Args:
            mask: bool [num_envs], the lanes; None for all.
            now: the time, in seconds.
        """
        where = slice(None) if mask is None else mask
        self.returns[where] = 0
        self.lengths[where] = 0
        self.starts[where] = now
        self.ended[where] = False

    def end(self, object mask):
        """Note that something else ends episodes: where a step resets, the next one resets these lanes.

        Args:
            mask: bool [num_envs], the lanes.
        """
        self.ended[mask] = True

    def step(self, object rewards, object terminated, object truncated, double now):
        """Count a step of all lanes.

        Args:
            rewards: float64 [num_envs].
            terminated: bool [num_envs].
            truncated: bool [num_envs].
            now: the time, in seconds.

        Returns:
            None if no episode has ended. Else return, length and duration of those that have, zeros elsewhere, and
            which these are: arrays [num_envs] that the caller may keep. Durations are rounded to microseconds.

        Raises:
            ValueError: an array of another shape.
        """
        cdef cnp.ndarray reward_array = as_column(rewards, cnp.NPY_DOUBLE, self.n, "rewards")
        cdef cnp.ndarray terminated_array = as_column(terminated, cnp.NPY_BOOL, self.n, "terminated")
        cdef cnp.ndarray truncated_array = as_column(truncated, cnp.NPY_BOOL, self.n, "truncated")
        cdef const double* reward = <const double*> cnp.PyArray_DATA(reward_array)
        cdef const uint8_t* terminal = <const uint8_t*> cnp.PyArray_DATA(terminated_array)
        cdef const uint8_t* cut = <const uint8_t*> cnp.PyArray_DATA(truncated_array)
        cdef double* total = <double*> cnp.PyArray_DATA(self.returns)
        cdef int64_t* length = <int64_t*> cnp.PyArray_DATA(self.lengths)
        cdef double* start = <double*> cnp.PyArray_DATA(self.starts)
        cdef uint8_t* ended = <uint8_t*> cnp.PyArray_DATA(self.ended)
        cdef Py_ssize_t i, count = 0
        cdef uint8_t begins
        cdef void* returns
        cdef void* lengths
        cdef void* times
        cdef void* ends
        with nogil:
            for i in range(self.n):
                begins = self.next_step and ended[i]
                if begins:
                    total[i] = 0
                    length[i] = 0
                    start[i] = now
                else:
                    total[i] += reward[i]
                    length[i] += 1
                ended[i] = terminal[i] | cut[i]
                count += ended[i]
        if not count:
            return None
        shown_returns, shown_lengths = self.shown_returns.take(&returns), self.shown_lengths.take(&lengths)
        shown_times, shown_ended = self.shown_times.take(&times), self.shown_ended.take(&ends)
        with nogil:
            for i in range(self.n):
                (<uint8_t*> ends)[i] = ended[i]
                (<double*> returns)[i] = total[i] if ended[i] else 0
                (<int64_t*> lengths)[i] = length[i] if ended[i] else 0
                (<double*> times)[i] = rint((now - start[i]) * 1e6) / 1e6 if ended[i] else 0
                if self.same_step and ended[i]:
                    total[i] = 0
                    length[i] = 0
                    start[i] = now
        return shown_returns, shown_lengths, shown_times, shown_ended
