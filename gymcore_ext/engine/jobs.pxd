"""What one thread does of a call: lanes [lo, hi) through a step or through a rollout, or some lanes through a step."""
from libc.stdint cimport int64_t

from gymcore_ext.engine.step cimport advance, lanes_t, moved, outputs_t, reset_lanes, roll


ctypedef struct rollout_t:
    lanes_t* lanes
    const void* actions
    outputs_t* out
    int64_t steps


cdef inline int64_t step_job(void* context, int64_t lo, int64_t hi) noexcept nogil:
    cdef rollout_t* job = <rollout_t*> context
    return advance(job.lanes, job.actions, job.out, lo, hi)


cdef inline int64_t roll_job(void* context, int64_t lo, int64_t hi) noexcept nogil:
    cdef rollout_t* job = <rollout_t*> context
    return roll(job.lanes, job.actions, job.out, job.steps, lo, hi)


ctypedef struct subset_t:
    lanes_t* lanes
    const char* actions
    int64_t action_bytes
    outputs_t* out
    const int64_t* indices


cdef inline int64_t subset_job(void* context, int64_t lo, int64_t hi) noexcept nogil:
    """Step the lanes indices[lo:hi], each run of neighbours at once; results go to rows [lo, hi)."""
    cdef subset_t* job = <subset_t*> context
    cdef outputs_t here
    cdef int64_t first, end, row = lo, count = 0
    while row < hi:
        first = job.indices[row]
        end = row + 1
        while end < hi and job.indices[end] == first + end - row:
            end += 1
        here = moved(job.lanes, job.out, row - first)
        count += advance(
            job.lanes, job.actions + (row - first) * job.action_bytes, &here, first, first + end - row)
        row = end
    return count


ctypedef struct reset_t:
    lanes_t* lanes
    const double* bounds
    const int64_t* indices


cdef inline int64_t reset_job(void* context, int64_t lo, int64_t hi) noexcept nogil:
    """Begin new episodes in the lanes indices[lo:hi]."""
    cdef reset_t* job = <reset_t*> context
    reset_lanes(job.lanes, job.bounds, job.indices + lo, hi - lo)
    return 0
