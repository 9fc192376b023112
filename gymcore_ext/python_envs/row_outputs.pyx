"""What a loop over Python environments writes to and returns: recycled arrays, or memory of the caller."""
cimport numpy as cnp
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memset

from gymcore_ext.arrays cimport ArrayRing, array_pointer
from gymcore_ext.python_envs.rows cimport Rows

from copy import deepcopy

import numpy as np

cnp.import_array()


cdef class Outputs:
    cdef int begin(self) except -1:
        """Take arrays that nobody holds; their content is undefined."""
        if self.bound:
            return 0
        # References of ours, left by a call that failed, would keep the rings from using their arrays again.
        self.reward_array = self.terminated_array = self.truncated_array = None
        self.return_array = self.length_array = self.time_array = None
        self.reports.returns = NULL
        self.rows.start()
        self.reward_array = self.reward_ring.take(<void**> &self.rewards)
        self.terminated_array = self.terminated_ring.take(<void**> &self.terminated)
        self.truncated_array = self.truncated_ring.take(<void**> &self.truncated)
        return 0

    cdef int begin_reports(self) except -1:
        """Take arrays of zeros for the statistics of this call, unless there are some."""
        if self.reports.returns != NULL:
            return 0
        self.return_array = self.return_ring.take(<void**> &self.reports.returns)
        self.length_array = self.length_ring.take(<void**> &self.reports.lengths)
        self.time_array = self.time_ring.take(<void**> &self.reports.times)
        memset(self.reports.returns, 0, self.n * sizeof(double))
        memset(self.reports.lengths, 0, self.n * sizeof(int64_t))
        memset(self.reports.times, 0, self.n * sizeof(double))
        return 0

    cdef tuple take(self, object infos, object errors):
        """The five results of a step, which from now on are the caller's."""
        cdef tuple results
        if self.return_array is not None:
            add_episodes(
                infos, self.terminated_array | self.truncated_array, self.return_array, self.length_array,
                self.time_array, errors)
        results = (self.rows.finished(), self.reward_array, self.terminated_array, self.truncated_array, infos)
        self.reward_array = self.terminated_array = self.truncated_array = None
        self.return_array = self.length_array = self.time_array = None
        return results


cdef Outputs own_outputs(Rows rows, Py_ssize_t n, bint statistics):
    """Recycled arrays of `n` rows; `rows` are the observations'."""
    cdef Outputs self = Outputs.__new__(Outputs)
    self.n = n
    self.rows = rows
    self.reward_ring = ArrayRing((n,), np.float64)
    self.terminated_ring = ArrayRing((n,), np.bool_)
    self.truncated_ring = ArrayRing((n,), np.bool_)
    if statistics:
        self.return_ring = ArrayRing((n,), np.float64)
        self.length_ring = ArrayRing((n,), np.int64)
        self.time_ring = ArrayRing((n,), np.float64)
    return self


cdef Outputs bound_outputs(Rows rows, Rows final_rows, Py_ssize_t n, tuple columns, object statistics, object errors):
    """Arrays of the caller: rewards, terminated, truncated, and three of statistics or None."""
    cdef Outputs self = Outputs.__new__(Outputs)
    self.n = n
    self.bound = True
    self.rows = rows
    self.final_rows = final_rows
    self.reward_array, self.terminated_array, self.truncated_array = columns
    self.rewards = <double*> array_pointer(
        self.reward_array, "rewards", cnp.NPY_FLOAT64, (n,), True, errors)
    self.terminated = <uint8_t*> array_pointer(
        self.terminated_array, "terminated", cnp.NPY_BOOL, (n,), True, errors)
    self.truncated = <uint8_t*> array_pointer(
        self.truncated_array, "truncated", cnp.NPY_BOOL, (n,), True, errors)
    if statistics is not None:
        self.return_array, self.length_array, self.time_array = statistics
        self.reports.returns = <double*> array_pointer(
            self.return_array, "statistics[0]", cnp.NPY_FLOAT64, (n,), True, errors)
        self.reports.lengths = <int64_t*> array_pointer(
            self.length_array, "statistics[1]", cnp.NPY_INT64, (n,), True, errors)
        self.reports.times = <double*> array_pointer(
            self.time_array, "statistics[2]", cnp.NPY_FLOAT64, (n,), True, errors)
    return self


def add_episodes(infos, ended, returns, lengths, times, errors):
    """Report the episodes that ended in a step.

    Args:
        infos: the merged infos of the step; gets `episode` with `r`, `l` and `t`, and `_episode`.
        ended: bool [n], which episodes ended.
        returns: float64 [n], like the next two 0 where no episode has ended.
        lengths: int64 [n].
        times: float64 [n] (s).
        errors: namespace of InvalidArgument, which is raised if the environments have an `episode` of their own.
    """
    if "episode" in infos:
        raise errors.InvalidArgument(
            "episode_statistics: the environments have an info named 'episode' themselves; the infos of this step are "
            f"{sorted(infos)}")
    infos["episode"] = {"r": returns, "l": lengths, "t": times}
    infos["_episode"] = ended


cdef object apart(object value):
    """A deep copy."""
    if cnp.PyArray_CheckExact(value) and cnp.PyArray_TYPE(<cnp.ndarray> value) != cnp.NPY_OBJECT:
        return cnp.PyArray_NewCopy(<cnp.ndarray> value, cnp.NPY_KEEPORDER)
    return deepcopy(value)


cdef tuple checked(object result, Py_ssize_t size, object env, str method, str names):
    """What a method of an environment returned, as a tuple of this size."""
    if isinstance(result, (tuple, list)):
        if len(result) == size:
            return tuple(result)
        old = " (the API before Gym 0.26; see gymcore.compat)" if len(result) == 4 and size == 5 else ""
        raise ValueError(
            f"{method}() of {type(env).__name__}: expected {size} values ({names}), got {len(result)}{old}")
    raise TypeError(
        f"{method}() of {type(env).__name__}: expected a tuple of {size} ({names}), got {type(result).__name__}")


cdef object infos_of(object infos, cnp.ndarray lanes, Py_ssize_t num_envs):
    """Rows of merged infos, for infos that were merged by a function that knows whole batches only."""
    cdef dict found = {}
    for key, value in infos.items():
        if isinstance(value, dict):
            value = infos_of(value, lanes, num_envs)
        elif isinstance(value, np.ndarray) and value.shape[:1] == (num_envs,):
            value = value[lanes]
        found[key] = value
    return found
