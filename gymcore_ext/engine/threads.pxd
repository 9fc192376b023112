"""Threads that share the work of a batch, and how much work is worth sharing."""
cimport cython
from libc.stdint cimport int64_t

from gymcore_ext.engine.step cimport job_t, pool_t, range_t


cdef enum:
    # Nanoseconds. Shorter calls take less time than releasing and acquiring the GIL, so they hold it and are not timed.
    BRIEF = 2000
    # The first FIRST_CALLS calls are timed, and then one call in TIMED.
    FIRST_CALLS = 8
    TIMED = 64
    # Nanoseconds of work between checks for signals. LONG_PART is for lanes that take longer than LONG_LANE: threads
    # wait for each other at the end of each part, so parts must be long relative to one lane.
    PART = 2000000
    LONG_LANE = 20000
    LONG_PART = 10000000


ctypedef struct cost_t:
    # Measured time of a lane in nanoseconds; 0 before the first measurement.
    double lane
    int64_t calls


cdef inline void add_time(cost_t* cost, double lane) noexcept nogil:
    """Update the time of a lane. One long measurement, which may have been interrupted, changes it little."""
    if cost.lane == 0.0 or lane < cost.lane and cost.calls < FIRST_CALLS:
        cost.lane = max(lane, 0.1)
    else:
        cost.lane += (max(min(lane, 2.0 * cost.lane), 0.1) - cost.lane) / 8.0


cdef inline int64_t part_time(const cost_t* cost) noexcept nogil:
    """Return the nanoseconds of work between two checks for signals."""
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
