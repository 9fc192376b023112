"""Threads that share the work of a batch.

The measured time per lane decides how many threads share a job, whether the GIL is released and how often signals are
handled.
"""
cimport cython
from cpython.exc cimport PyErr_CheckSignals

from gymcore_ext.arrays cimport fork_generation
from gymcore_ext.engine.step cimport MAX_LANES, NO_DEADLINE, clock_now, pool_free, pool_new, pool_run, run_alone

# Times in nanoseconds.
cdef enum:
    # Work that a thread claims at a time, and its maximum number of lanes: enough to make the cost of claiming
    # negligible, and little enough to balance cores of different speed.
    MIN_WORK = 5000
    MAX_WORK = 50000
    MAX_TAKEN = 2048
    # Minimum work for a thread that is awake, and for one that must be woken first. CartPole on two cores of a virtual
    # machine: two threads do 20 us of work in 12 us if calls follow each other closely; otherwise they are as fast as
    # one at 80 us, and 1.2 times as fast at 160 us.
    WORK_TO_SHARE = 10000
    WORK_TO_WAKE = 80000
    # A job with at least this much work is always shared.
    LONG_WORK = 1000000
    # A rollout of at least this many steps is worth waking every thread.
    LONG_ROLLOUT = 4


@cython.final
cdef class Threads:
    """Up to `count` threads, including the calling one.

    They share every job or, if `adaptive`, those that are faster when shared.
    """

    def __cinit__(self, int count, bint adaptive):
        self.count = count
        self.adaptive = adaptive

    def __dealloc__(self):
        self.stop()

    cdef int _start(self, int64_t wanted) except -1:
        """Create a pool of at most `wanted` threads, unless this process has one already or one thread is enough."""
        if self.pool != NULL and self.generation == fork_generation:
            return 0
        self.pool = NULL
        wanted = min(self.count, wanted)
        if wanted <= 1:
            return 0
        self.pool = pool_new(<int> wanted, self.adaptive)
        self.generation = fork_generation
        if self.pool == NULL:
            raise RuntimeError(f"num_threads: the system gave no {wanted} threads")
        return 0

    cdef int share(self, job_t job, void* context, int64_t count) except -1:
        """Run a job on [0, count) without the GIL, on at most `count` threads. The batch must be marked as busy."""
        cdef range_t lanes
        cdef int64_t end = 0
        self._start(min(self.count, count))
        cdef pool_t* pool = self.pool
        with nogil:
            while end < count:
                lanes = range_t(end, min(count, end + MAX_LANES))
                end = lanes.hi
                if pool == NULL:
                    job(context, lanes.lo, lanes.hi)
                else:
                    pool_run(pool, job, context, &lanes, 1, 1, self.count - 1, NO_DEADLINE)
        return 0

    cdef int64_t run(self, job_t job, void* context, int64_t n, int64_t steps, cost_t* cost) except -1:
        """Run a job on lanes [0, n), with one step (steps = 0) or many of each lane. Return the sum of its results.

        Signals are handled every few milliseconds. If a handler raises, some lanes have not been processed.
        """
        cdef int64_t end = 0, count = 0, spent
        cdef int threads
        cdef range_t lanes
        cdef bint timed = cost.calls < FIRST_CALLS or cost.calls % TIMED == 0
        cost.calls += 1
        if n == 0:
            return 0
        if steps == 0 and not timed and cost.lane * n < BRIEF:
            return job(context, 0, n)
        spent = -clock_now()
        if cost.lane == 0.0:  # the time of the first lane is the first estimate
            with nogil:
                count = job(context, 0, 1)
            end = 1
            cost.lane = max(<double> (spent + clock_now()) / max(steps, 1), 0.1)
        while end < n:
            lanes = range_t(end, min(n, end + MAX_LANES))
            end = lanes.hi
            while True:
                count += self._run_part(job, context, &lanes, steps, cost, clock_now() + part_time(cost))
                if lanes.lo == lanes.hi:
                    break
                PyErr_CheckSignals()
        if timed:
            spent += clock_now()
            threads = self.pool.threads if self.pool != NULL else 1
            add_time(cost, <double> spent * threads / (n * max(steps, 1)))
        return count

    cdef int64_t _run_part(
        self, job_t job, void* context, range_t* lanes, int64_t steps, const cost_t* cost, int64_t until
    ) except -1:
        """Run a job on one thread or the pool until the time `until`; `lanes` is set to those that are left."""
        cdef int64_t count, n = lanes.hi - lanes.lo, work = <int64_t> (cost.lane * n)
        cdef int64_t min_lanes = max(<int64_t> (MIN_WORK / cost.lane), 1)
        cdef int64_t max_lanes = max(min(<int64_t> (MAX_WORK / cost.lane), MAX_TAKEN), 1)
        cdef int64_t helpers = self.count - 1
        if min_lanes >= 64:  # whole cache lines of flags
            min_lanes = (min(min_lanes, (n + self.count - 1) // self.count) + 64) & ~<int64_t> 63
        self._start(
            self.count if not self.adaptive
            else work // WORK_TO_SHARE if cost.calls >= FIRST_CALLS or work >= LONG_WORK else 0)
        if self.pool != NULL and n > min_lanes:
            if self.adaptive:
                self.pool.adaptive = work < LONG_WORK
                if steps < LONG_ROLLOUT:
                    helpers = max(min(self.count, work // WORK_TO_WAKE) - 1, 0)
            with nogil:
                count = pool_run(
                    self.pool, job, context, lanes, min_lanes, max(min_lanes, max_lanes), <int> helpers, until)
        else:
            if self.pool != NULL:
                self.pool.threads = 1
            with nogil:
                count = run_alone(job, context, lanes, max_lanes, until)
        return count

    cdef void stop(self) noexcept:
        """Stop the threads. In a forked child they do not exist, and the memory of their pool is not freed."""
        if self.pool != NULL and self.generation == fork_generation:
            pool_free(self.pool)
        self.pool = NULL
