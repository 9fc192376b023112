"""Returns, lengths and durations of the episodes of a batch."""
cimport numpy as cnp
from cpython.object cimport PyObject
from gymcore_ext.arrays cimport ArrayRing, as_column
from libc.math cimport rint
from libc.stdint cimport int64_t, uint8_t

from collections import deque

import numpy as np

cnp.import_array()

cdef extern from *:
    """
    /* Reference counts of a free-threaded build do not say that nobody else holds an object. */
    #ifdef Py_GIL_DISABLED
    #define GYMCORE_HELD(object) 1
    #else
    #define GYMCORE_HELD(object) (Py_REFCNT(object) > 1)
    #endif
    """
    bint is_held "GYMCORE_HELD"(PyObject* object)

cdef enum:
    MOST_PENDING = 4096


cdef class _Latest:
    """A deque of the latest numbers, filled when somebody looks.

    Making a NumPy number costs more than counting a step. So numbers are kept in an array, which drops the oldest where
    the deque would, and go into the deque when it is asked for, or at once while somebody else holds it.
    """
    cdef object deque
    cdef cnp.ndarray pending
    cdef Py_ssize_t room, first, count
    cdef bint drops

    def __cinit__(self, object queue, object dtype):
        self.put(queue, dtype)

    cdef int put(self, object queue, object dtype) except -1:
        most = queue.maxlen
        self.deque = queue
        self.drops = most is not None and most <= MOST_PENDING
        self.room = most if self.drops else MOST_PENDING
        self.pending = np.zeros(self.room, dtype)
        self.first = self.count = 0
        return 0

    cdef int note(self, const int64_t* place) except -1:
        """Keep the eight bytes of a number."""
        cdef Py_ssize_t k
        if self.count == self.room:
            if self.room == 0:
                return 0
            if self.drops:
                self.first = (self.first + 1) % self.room
                self.count -= 1
            else:
                self.fill()
        k = self.first + self.count
        if k >= self.room:
            k -= self.room
        (<int64_t*> cnp.PyArray_DATA(self.pending))[k] = place[0]
        self.count += 1
        return 0

    cdef int fill(self) except -1:
        """Put what is kept into the deque."""
        if self.count:
            self.deque.extend(np.roll(self.pending, -self.first)[:self.count])
            self.first = self.count = 0
        return 0


cdef class EpisodeCounts:
    """Counts the episodes of all lanes of a batch.

    Args:
        num_envs: number of lanes.
        next_step: whether the step after the end of an episode only resets its lane.
        same_step: whether the step that ends an episode resets its lane as well.
        most: how many episodes the queues keep; None for all.

    Attributes:
        episodes: how many have ended.
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
        >>> found, ended = counts.step(np.array([1.0, 2.0]), yes, no, 12.5)
        >>> found
        {'r': array([0., 4.]), 'l': array([0, 2]), 't': array([0. , 2.5])}
        >>> counts.get_queue("l")
        deque([np.int64(2)], maxlen=100)
    """
    cdef readonly cnp.ndarray returns, lengths, starts, ended
    cdef public object episodes
    cdef _Latest latest_returns, latest_lengths, latest_times
    cdef Py_ssize_t n
    cdef bint next_step, same_step
    cdef ArrayRing shown_returns, shown_lengths, shown_times, shown_ended

    def __cinit__(self, Py_ssize_t num_envs, bint next_step, bint same_step, object most=100):
        self.n = num_envs
        self.episodes = 0
        self.latest_returns = _Latest(deque((), most), np.float64)
        self.latest_lengths = _Latest(deque((), most), np.int64)
        self.latest_times = _Latest(deque((), most), np.float64)
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
            None if no episode has ended. Else `{"r": returns, "l": lengths, "t": durations}` of those that have, zeros
            elsewhere, and which these are: arrays [num_envs] that the caller may keep. Durations are rounded to
            microseconds.

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
        for i in range(self.n):
            (<uint8_t*> ends)[i] = ended[i]
            if ended[i]:
                (<double*> returns)[i] = total[i]
                (<int64_t*> lengths)[i] = length[i]
                (<double*> times)[i] = rint((now - start[i]) * 1e6) / 1e6
                self.latest_returns.note(<int64_t*> returns + i)
                self.latest_lengths.note(<int64_t*> lengths + i)
                self.latest_times.note(<int64_t*> times + i)
                if self.same_step:
                    total[i] = 0
                    length[i] = 0
                    start[i] = now
            else:
                (<double*> returns)[i] = 0
                (<int64_t*> lengths)[i] = 0
                (<double*> times)[i] = 0
        self.episodes += count
        for latest in (self.latest_returns, self.latest_lengths, self.latest_times):
            if is_held(<PyObject*> (<_Latest> latest).deque):
                (<_Latest> latest).fill()
        return {"r": shown_returns, "l": shown_lengths, "t": shown_times}, shown_ended

    cdef _Latest latest(self, str key):
        return {"r": self.latest_returns, "l": self.latest_lengths, "t": self.latest_times}[key]

    def get_queue(self, str key):
        """The deque of the latest returns ("r"), lengths ("l") or durations ("t"), up to date.

        It stays so as long as somebody holds it.

        Args:
            key: which.
        """
        cdef _Latest latest = self.latest(key)
        latest.fill()
        return latest.deque

    def set_queue(self, str key, object queue):
        """Fill another deque from now on.

        Args:
            key: which, as for `get_queue`.
            queue: the deque; numbers are added to it.
        """
        self.latest(key).put(queue, np.int64 if key == "l" else np.float64)

    def __reduce__(self):
        queues = {key: self.get_queue(key) for key in "rlt"}
        arrays = self.returns, self.lengths, self.starts, self.ended
        return EpisodeCounts, (self.n, self.next_step, self.same_step), (queues, arrays, self.episodes)

    def __setstate__(self, kept):
        queues, arrays, self.episodes = kept
        for key, queue in queues.items():
            self.set_queue(key, queue)
        for own, values in zip((self.returns, self.lengths, self.starts, self.ended), arrays):
            own[...] = values
