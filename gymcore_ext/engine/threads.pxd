"""Threads that share the work of a batch, and how much work is worth sharing."""
cimport cython
from libc.stdint cimport int64_t

from gymcore_ext.engine.step cimport job_t, pool_t, range_t


cdef enum:
    # Nanoseconds below which a call takes less time than releasing and taking the GIL, and is not timed.
    BRIEF = 2000
    # The first FIRST_CALLS calls are timed, and then one of TIMED.
    FIRST_CALLS = 8
    TIMED = 64
    # Work between two checks for signals, in nanoseconds, and the same where a lane takes long: at the end of every
    # part threads wait for the last lane.
    PART = 2000000
    LONG_LANE = 20000
    LONG_PART = 10000000


ctypedef struct cost_t:
    # Measured time of a lane in nanoseconds; 0 before.
    double lane
    int64_t calls


cdef inline void add_time(cost_t* cost, double lane) noexcept nogil:
    """Update the time of a lane; a measurement that was interrupted counts little."""
    if cost.lane == 0.0 or lane < cost.lane and cost.calls < FIRST_CALLS:
        cost.lane = max(lane, 0.1)
    else:
        cost.lane += (max(min(lane, 2.0 * cost.lane), 0.1) - cost.lane) / 8.0


cdef inline int64_t part_time(const cost_t* cost) noexcept nogil:
    """Work between two checks for signals."""
    return LONG_PART if cost.lane > LONG_LANE else PART


@cython.final
cdef class Threads:
    cdef int count, generation
    cdef bint adaptive
    cdef pool_t* pool               # NULL for one thread, and until `_start`

    cdef int _start(self, int64_t wanted) except -1
    cdef int share(self, job_t job, void* context, int64_t count) except -1
    cdef int64_t run(self, job_t job, void* context, int64_t n, int64_t steps, cost_t* cost) except -1
    cdef int64_t _run_part(
        self, job_t job, void* context, range_t* lanes, int64_t steps, const cost_t* cost, int64_t until) except -1
    cdef void stop(self) noexcept
