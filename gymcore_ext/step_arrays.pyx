"""StepArrays: the arrays that steps of a compiled batch, or of some of its lanes, return."""
from gymcore_ext.arrays cimport ArrayRing
from gymcore_ext.engine cimport outputs_t

import numpy as np


cdef class StepArrays:
    """Recycled arrays for the results of a step of `n` lanes.

    Args:
        n: number of rows.
        shape: of the observations, (n, size); (size,) for the batch of one behind `make`.
        reuse: hand out the same arrays at every step, instead of arrays that the caller may keep.
        finals: whether there are final observations.
        statistics: whether there are returns, lengths and durations of episodes.
    """

    def __cinit__(self, Py_ssize_t n, tuple shape, bint reuse, bint finals, bint statistics):
        self.observations = ArrayRing(shape, np.float32, reuse)
        self.rewards = ArrayRing((n,), np.float64, reuse)
        self.terminated = ArrayRing((n,), np.bool_, reuse)
        self.truncated = ArrayRing((n,), np.bool_, reuse)
        if finals or statistics:
            self.ends = ArrayRing((n,), np.bool_, reuse)
        if finals:
            self.finals = ArrayRing(shape, np.float32, reuse)
        if statistics:
            self.returns = ArrayRing((n,), np.float64, reuse)
            self.lengths = ArrayRing((n,), np.int64, reuse)
            self.times = ArrayRing((n,), np.float64, reuse)

    cdef int take_ends(self, outputs_t* out) except -1:
        # Ours must be gone before a ring is asked, or its array would never be free.
        self.ended = None
        self.ended = self.ends.take(<void**> &out.ended)
        if self.finals is not None:
            self.final_observations = None
            self.final_observations = self.finals.take(<void**> &out.final_observations)
        if self.returns is not None:
            self.episode_returns = self.episode_lengths = self.episode_times = None
            self.episode_returns = self.returns.take(<void**> &out.reports.returns)
            self.episode_lengths = self.lengths.take(<void**> &out.reports.lengths)
            self.episode_times = self.times.take(<void**> &out.reports.times)
        return 0
