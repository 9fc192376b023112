"""Rewards divided by the deviation of the discounted return."""
cimport numpy as cnp
from gymcore_ext.arrays cimport ArrayRing, as_column
from gymcore_ext.wrappers.sums cimport moments
from libc.math cimport sqrt
from libc.stdint cimport uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memchr, memcpy

import numpy as np

cnp.import_array()


cdef class ReturnStats:
    """Discounted returns of the lanes of a batch, their mean and variance, and rewards in units of their deviation.

    The results are those of the same arithmetic on whole NumPy arrays, bit for bit: returns in float32, mean and
    variance in float64.

    Args:
        num_envs: number of lanes.
        next_step: whether the step after the end of an episode only resets its lane.
        same_step: whether the step that ends an episode resets its lane as well.

    Attributes:
        accumulated: float32 [num_envs], the discounted returns, changed in place.

    Example:
        >>> import numpy as np
        >>> stats, no = ReturnStats(2, True, False), np.array([False, False])
        >>> scaled, mean, var, added = stats.step(np.array([1.0, 3.0]), no, no, 0.0, 1.0, 0.0, 0.99, 1e-8, True)
        >>> scaled.round(4), mean, var, added
        (array([1., 3.]), 2.0, 1.0, 2)
    """
    cdef readonly cnp.ndarray accumulated
    cdef cnp.ndarray ended
    cdef Py_ssize_t n
    cdef bint next_step, same_step
    cdef ArrayRing outputs

    def __cinit__(self, Py_ssize_t num_envs, bint next_step, bint same_step):
        self.n = num_envs
        self.next_step, self.same_step = next_step, same_step
        self.accumulated, self.ended = np.zeros(num_envs, np.float32), np.zeros(num_envs, np.bool_)
        self.outputs = ArrayRing((num_envs,), np.float64)

    def reset(self, object mask):
        """Begin episodes, with returns of 0.

        Args:
            mask: bool [num_envs], the lanes; None for all.
        """
        where = slice(None) if mask is None else mask
        self.accumulated[where] = 0
        self.ended[where] = False

    def end(self, object mask):
        """Note that something else ends episodes: where a step resets, the next one resets these lanes.

        Args:
            mask: bool [num_envs], the lanes.
        """
        self.ended[mask] = True

    def step(
        self, object rewards, object terminated, object truncated, double mean, double var, double count,
        double gamma, double epsilon, bint update
    ):
        """Add the rewards of a step to the returns, these to the statistics, and scale the rewards.

        Lanes that this step has only reset are in none of it.

        Args:
            rewards: float64 [num_envs].
            terminated: bool [num_envs].
            truncated: bool [num_envs].
            mean: mean of the returns so far.
            var: their variance.
            count: what these count for.
            gamma: the discount factor.
            epsilon: added to the variance.
            update: whether the returns enter the statistics.

        Returns:
            `rewards / sqrt(var + epsilon)`, a float64 array that the caller may keep, mean and variance after this
            step, and how many returns have entered them.

        Raises:
            ValueError: an array of another shape.
        """
        cdef cnp.ndarray reward_array = as_column(rewards, cnp.NPY_DOUBLE, self.n, "rewards")
        cdef cnp.ndarray terminated_array = as_column(terminated, cnp.NPY_BOOL, self.n, "terminated")
        cdef cnp.ndarray truncated_array = as_column(truncated, cnp.NPY_BOOL, self.n, "truncated")
        cdef const double* reward = <const double*> cnp.PyArray_DATA(reward_array)
        cdef const uint8_t* terminal = <const uint8_t*> cnp.PyArray_DATA(terminated_array)
        cdef const uint8_t* cut = <const uint8_t*> cnp.PyArray_DATA(truncated_array)
        cdef float* total = <float*> cnp.PyArray_DATA(self.accumulated)
        cdef uint8_t* ended = <uint8_t*> cnp.PyArray_DATA(self.ended)
        cdef Py_ssize_t i, active = 0
        cdef float discount = <float> gamma, batch_mean, batch_var
        cdef double delta, whole, squares, deviation
        cdef void* outputs
        cdef float* scratch = <float*> malloc((self.n + 1) * sizeof(float))
        if scratch == NULL:
            raise MemoryError(f"no memory for {self.n} numbers")
        try:
            scaled = self.outputs.take(&outputs)
            with nogil:
                if not self.next_step or memchr(ended, 1, self.n) == NULL:
                    active = self.n
                    for i in range(active):
                        total[i] = <float> (<double> (total[i] * discount) * (1 - terminal[i]) + reward[i])
                    memcpy(scratch, total, active * sizeof(float))
                else:
                    for i in range(self.n):
                        if not ended[i]:
                            total[i] = <float> (<double> (total[i] * discount) * (1 - terminal[i]) + reward[i])
                            scratch[active] = total[i]
                            active += 1
                for i in range(self.n):
                    ended[i] = terminal[i] | cut[i]
                if self.same_step:
                    for i in range(self.n):
                        if ended[i]:
                            total[i] = 0
                if update and active:
                    moments(scratch, active, &batch_mean, &batch_var)
                    delta = batch_mean - mean
                    whole = count + <double> active
                    squares = var * count + <double> (batch_var * <float> active)
                    squares = squares + delta * delta * count * <double> active / whole
                    mean = mean + delta * <double> active / whole
                    var = squares / whole
                deviation = sqrt(var + epsilon)
                for i in range(self.n):
                    (<double*> outputs)[i] = reward[i] / deviation
        finally:
            free(scratch)
        return scaled, mean, var, active if update else 0

    def __reduce__(self):
        return ReturnStats, (self.n, self.next_step, self.same_step), (self.accumulated, self.ended)

    def __setstate__(self, kept):
        self.accumulated[...], self.ended[...] = kept
