/* A small pool of threads that share the lanes of a batch with the calling thread.
 *
 * The calling thread works too, and waits only for lanes that a worker has claimed, so a worker that the scheduler has
 * preempted cannot delay it unless it already holds lanes. Each thread claims fewer lanes each time, so that a slow
 * thread hardly delays the others. The caller claims lanes from the top and workers from the bottom, so that most lanes
 * stay in the caches of one core from step to step. Threads and locks are Python's portable ones, which need no GIL.
 * Waking a sleeping core costs more than the step of a small batch, so workers spin for a moment before they sleep. They
 * are woken only if the work is worth it, or if calls follow each other so closely that they will stay awake. If other
 * processes use the processors, sharing can be slower than not sharing, so an adaptive pool measures both. A pool does
 * not survive fork(): its owner (`Threads` in threads.pyx) drops it in the child.
 */
#ifndef GYMCORE_POOL_H
#define GYMCORE_POOL_H

#include "Python.h"
#include "pythread.h"
#include "atomics.h"

/* Work on lanes [lo, hi). The results of all calls are summed. */
typedef int64_t gymcore_job(void *context, int64_t lo, int64_t hi);

/* A range of lanes. */
typedef struct {
    int64_t lo, hi;
} gymcore_range;

/* A deadline that never passes. */
#define GYMCORE_NO_DEADLINE INT64_MAX

struct gymcore_pool;

typedef struct {
    struct gymcore_pool *pool;
    PyThread_type_lock wake, exited;
    gymcore_word64 asleep;
} gymcore_worker;

/* Whether jobs that come soon after each other are shared with the workers. Short trials of the other choice alternate
 * with longer and longer periods of the better one. Sharing must gain GYMCORE_MIN_GAIN, because it occupies more
 * processors. */
typedef struct {
    int shared, is_trial;       /* the current choice, and whether it is on trial */
    int64_t until, hold_time;   /* end of the current period, and length of a period of the better choice */
    int64_t lanes[2], spent[2]; /* lanes and nanoseconds of the last period of each choice: alone, shared */
} gymcore_choice;

#define GYMCORE_TRIAL_NS 5000000
#define GYMCORE_MIN_HOLD_NS 50000000
#define GYMCORE_MAX_HOLD_NS 1600000000
#define GYMCORE_MIN_GAIN 1.2

GYMCORE_INLINE void gymcore_choose(gymcore_choice *choice, int64_t lanes, int64_t begun, int64_t ended)
{
    choice->lanes[choice->shared] += lanes;
    choice->spent[choice->shared] += ended - begun;
    if (ended < choice->until)
        return;
    if (choice->is_trial) {
        double alone = (double)choice->spent[0] / (double)choice->lanes[0];
        int better = GYMCORE_MIN_GAIN * (double)choice->spent[1] / (double)choice->lanes[1] < alone;
        if (better == choice->shared)
            choice->hold_time = GYMCORE_MIN_HOLD_NS;
        else if (choice->hold_time < GYMCORE_MAX_HOLD_NS)
            choice->hold_time *= 2;
        choice->shared = better;
    } else {
        choice->shared = !choice->shared;
    }
    choice->is_trial = !choice->is_trial;
    choice->until = ended + (choice->is_trial ? GYMCORE_TRIAL_NS : choice->hold_time);
    choice->lanes[choice->shared] = choice->spent[choice->shared] = 0;
}

typedef struct gymcore_pool {
    gymcore_job *job;
    void *context;
    int64_t first;               /* the lane that `unclaimed` counts from */
    gymcore_word64 unclaimed;    /* lanes that no thread has claimed: [lower half, upper half) of the word */
    gymcore_word64 lanes_open;   /* number of lanes that are not finished */
    gymcore_word64 min_lanes, max_lanes; /* bounds of how many lanes a thread claims at a time */
    gymcore_word64 sum, stop, caller_asleep;
    PyThread_type_lock finished;
    int64_t ended; /* when the last call ended */
    int adaptive;  /* whether the caller does a job alone if that is faster */
    int threads;   /* number of threads that shared the last call */
    gymcore_choice choice;
    int workers;
    gymcore_worker worker[1]; /* [workers] */
} gymcore_pool;

/* An idle worker spins for AWAKE_NS before it sleeps. A call that begins within SOON_NS of the previous one can rely on
 * workers that are awake. Two threads for 4096 lanes of CartPole: a call takes 0.6 of the time of one thread if it begins
 * at once after another, and twice the time if a sleeping worker is woken for it. */
#define GYMCORE_AWAKE_NS 80000
#define GYMCORE_SOON_NS 50000
/* Polls of the work between readings of the clock. */
#define GYMCORE_SPINS 64
/* Polls while other threads still work on the batch. Here longer spinning pays: a lane of heavy physics takes up to half a
 * millisecond, and a thread that sleeps meanwhile is late for the next batch. */
#define GYMCORE_BUSY_SPINS 64000
/* Flags of one cache line. A thread that claims as many lanes or more claims whole cache lines of flags. */
#define GYMCORE_LINE_FLAGS 64

/* Maximum number of lanes of one job: each half of a 64-bit word holds a bound of the range of unclaimed lanes. */
#define GYMCORE_MAX_LANES ((int64_t)1 << 31)
#define GYMCORE_LANES(lo, hi) ((int64_t)((uint64_t)(hi) << 32 | (uint64_t)(lo)))
#define GYMCORE_LOWEST(unclaimed) ((int64_t)((uint64_t)(unclaimed) & 0xffffffff))
#define GYMCORE_HIGHEST(unclaimed) ((int64_t)((uint64_t)(unclaimed) >> 32))

GYMCORE_INLINE int gymcore_pool_empty(gymcore_pool *pool)
{
    int64_t unclaimed = gymcore_load64(&pool->unclaimed);
    return GYMCORE_LOWEST(unclaimed) >= GYMCORE_HIGHEST(unclaimed);
}

/* Claim and process some lanes; return 0 if none are left. The job is read only after lanes were claimed: the caller cannot
 * change it before they are finished. The number of lanes to claim may be that of the previous job, which is harmless. */
GYMCORE_INLINE int gymcore_pool_take(gymcore_pool *pool, int caller)
{
    int64_t unclaimed, lo, hi, rest;
    do {
        unclaimed = gymcore_load64(&pool->unclaimed);
        lo = GYMCORE_LOWEST(unclaimed);
        hi = GYMCORE_HIGHEST(unclaimed);
        if (lo >= hi)
            return 0;
        int64_t min_lanes = gymcore_load64(&pool->min_lanes), max_lanes = gymcore_load64(&pool->max_lanes);
        int64_t share = (hi - lo) / (2 * (pool->workers + 1));
        share = share < min_lanes ? min_lanes : share > max_lanes ? max_lanes : share;
        share = share < hi - lo ? share : hi - lo;
        int64_t whole = share < GYMCORE_LINE_FLAGS ? 1 : GYMCORE_LINE_FLAGS;
        if (caller) {
            int64_t from = (hi - share) / whole * whole;
            lo = from > lo ? from : lo;
            rest = GYMCORE_LANES(GYMCORE_LOWEST(unclaimed), lo);
        } else {
            int64_t to = (lo + share) / whole * whole;
            hi = to > lo ? to : hi;
            rest = GYMCORE_LANES(hi, GYMCORE_HIGHEST(unclaimed));
        }
    } while (!gymcore_replace64(&pool->unclaimed, unclaimed, rest));
    gymcore_add64(&pool->sum, pool->job(pool->context, pool->first + lo, pool->first + hi));
    if (gymcore_add64(&pool->lanes_open, lo - hi) == 0 && gymcore_replace64(&pool->caller_asleep, 1, 0))
        PyThread_release_lock(pool->finished);
    return 1;
}

/* Spin until there is work or the pool stops; return 0 when it is time to sleep. */
GYMCORE_INLINE int gymcore_pool_spin(gymcore_pool *pool)
{
    int64_t until = gymcore_clock() + GYMCORE_AWAKE_NS;
    int busy = 0;
    for (int spins = 1; gymcore_pool_empty(pool) && !gymcore_load64(&pool->stop); spins++) {
        gymcore_pause();
        if (spins % GYMCORE_SPINS)
            continue;
        if (busy < GYMCORE_BUSY_SPINS && gymcore_load64(&pool->lanes_open) > 0) {
            busy += GYMCORE_SPINS;
            until = gymcore_clock() + GYMCORE_AWAKE_NS;
        } else if (gymcore_clock() > until) {
            return 0;
        }
    }
    return 1;
}

static void gymcore_pool_worker(void *argument)
{
    gymcore_worker *self = (gymcore_worker *)argument;
    gymcore_pool *pool = self->pool;
    while (!gymcore_load64(&pool->stop)) {
        while (gymcore_pool_take(pool, 0))
            ;
        if (gymcore_pool_spin(pool))
            continue;
        gymcore_store64(&self->asleep, 1);
        /* Check again: work that was posted before `asleep` was set did not wake this thread. If another thread clears
         * `asleep` first, it also releases the lock, so this thread must acquire it. */
        if ((!gymcore_pool_empty(pool) || gymcore_load64(&pool->stop)) &&
            gymcore_replace64(&self->asleep, 1, 0))
            continue;
        PyThread_acquire_lock(self->wake, WAIT_LOCK);
    }
    PyThread_release_lock(self->exited);
}

GYMCORE_INLINE void gymcore_pool_wake(gymcore_pool *pool, int count)
{
    for (int i = 0; i < pool->workers && i < count; i++)
        if (gymcore_replace64(&pool->worker[i].asleep, 1, 0))
            PyThread_release_lock(pool->worker[i].wake);
}

/* Cancel all lanes that no thread has claimed, and return their range. */
GYMCORE_INLINE gymcore_range gymcore_pool_drop(gymcore_pool *pool)
{
    int64_t unclaimed;
    gymcore_range rest;
    do {
        unclaimed = gymcore_load64(&pool->unclaimed);
        rest = (gymcore_range){GYMCORE_LOWEST(unclaimed), GYMCORE_HIGHEST(unclaimed)};
        if (rest.lo >= rest.hi)
            return (gymcore_range){0, 0};
    } while (!gymcore_replace64(&pool->unclaimed, unclaimed, 0));
    gymcore_add64(&pool->lanes_open, rest.lo - rest.hi);
    return rest;
}

/* Run the pool's job on lanes [first, first + lanes), but claim none after the time `until`; return the range of lanes
 * that are left, relative to `first`. */
static gymcore_range gymcore_pool_share(gymcore_pool *pool, int64_t first, int64_t lanes, int helpers, int64_t until)
{
    gymcore_range rest = {0, 0};
    pool->first = first;
    gymcore_store64(&pool->lanes_open, lanes);
    gymcore_store64(&pool->unclaimed, GYMCORE_LANES(0, lanes));
    gymcore_pool_wake(pool, helpers);
    while (gymcore_pool_take(pool, 1))
        if (until != GYMCORE_NO_DEADLINE && gymcore_clock() >= until)
            rest = gymcore_pool_drop(pool);
    for (int spins = 0; spins < GYMCORE_BUSY_SPINS && gymcore_load64(&pool->lanes_open) > 0; spins++)
        gymcore_pause();
    while (gymcore_load64(&pool->lanes_open) > 0) {
        gymcore_store64(&pool->caller_asleep, 1);
        if (gymcore_load64(&pool->lanes_open) == 0 && gymcore_replace64(&pool->caller_asleep, 1, 0))
            break;
        PyThread_acquire_lock(pool->finished, WAIT_LOCK);
    }
    return rest;
}

/* Run a job on the calling thread alone, on at most `max_lanes` at a time; see `gymcore_pool_run`. */
GYMCORE_INLINE int64_t gymcore_run_alone(
    gymcore_job *job, void *context, gymcore_range *lanes, int64_t max_lanes, int64_t until)
{
    int64_t sum = 0;
    do {
        int64_t hi = lanes->hi - lanes->lo > max_lanes ? lanes->lo + max_lanes : lanes->hi;
        sum += job(context, lanes->lo, hi);
        lanes->lo = hi;
    } while (lanes->lo < lanes->hi && (until == GYMCORE_NO_DEADLINE || gymcore_clock() < until));
    return sum;
}

/* Run a job on lanes, at least one and at most GYMCORE_MAX_LANES, and return the sum of its results. No lane is claimed
 * after the time `until`; `lanes` is set to those that are left. A thread claims `min_lanes` to `max_lanes` at a time.
 * `helpers` is the number of workers that are worth waking; if calls follow each other closely, all workers help. */
static int64_t gymcore_pool_run(
    gymcore_pool *pool, gymcore_job *job, void *context, gymcore_range *lanes, int64_t min_lanes, int64_t max_lanes,
    int helpers, int64_t until)
{
    int64_t begun = gymcore_clock(), count = lanes->hi - lanes->lo, sum;
    int soon = begun - pool->ended < GYMCORE_SOON_NS;
    pool->threads = 1;
    if (pool->adaptive && !(soon ? pool->choice.shared : helpers)) {
        sum = gymcore_run_alone(job, context, lanes, max_lanes, until);
    } else {
        pool->threads += soon ? pool->workers : helpers < pool->workers ? helpers : pool->workers;
        pool->job = job;
        pool->context = context;
        gymcore_store64(&pool->min_lanes, min_lanes);
        gymcore_store64(&pool->max_lanes, max_lanes);
        gymcore_store64(&pool->sum, 0);
        gymcore_range rest = gymcore_pool_share(pool, lanes->lo, count, soon ? pool->workers : helpers, until);
        *lanes = (gymcore_range){lanes->lo + rest.lo, lanes->lo + rest.hi};
        sum = gymcore_load64(&pool->sum);
    }
    pool->ended = gymcore_clock();
    if (pool->adaptive && soon)
        gymcore_choose(&pool->choice, count - (lanes->hi - lanes->lo), begun, pool->ended);
    return sum;
}

/* Return a lock that is already held, so that acquiring it waits for a release. */
static PyThread_type_lock gymcore_closed_lock(void)
{
    PyThread_type_lock lock = PyThread_allocate_lock();
    if (lock)
        PyThread_acquire_lock(lock, WAIT_LOCK);
    return lock;
}

static void gymcore_free_lock(PyThread_type_lock lock)
{
    if (lock)
        PyThread_free_lock(lock);
}

/* Stop the workers, wait until they have exited, and free everything. */
static void gymcore_pool_free(gymcore_pool *pool)
{
    gymcore_store64(&pool->stop, 1);
    gymcore_pool_wake(pool, pool->workers);
    for (int i = 0; i < pool->workers; i++)
        PyThread_acquire_lock(pool->worker[i].exited, WAIT_LOCK);
    for (int i = 0; i <= pool->workers; i++) { /* <=: includes the locks of a worker that could not be started */
        gymcore_free_lock(pool->worker[i].exited);
        gymcore_free_lock(pool->worker[i].wake);
    }
    gymcore_free_lock(pool->finished);
    PyMem_RawFree(pool);
}

/* Return a pool of `threads` threads, including the caller; NULL if the system has no more memory, locks or threads. */
static gymcore_pool *gymcore_pool_new(int threads, int adaptive)
{
    size_t size = sizeof(gymcore_pool) + sizeof(gymcore_worker) * (size_t)threads;
    gymcore_pool *pool = (gymcore_pool *)PyMem_RawCalloc(1, size);
    if (!pool)
        return NULL;
    pool->adaptive = adaptive;
    pool->choice = (gymcore_choice){1, 0, gymcore_clock() + 2 * GYMCORE_TRIAL_NS, GYMCORE_MIN_HOLD_NS, {0, 0}, {0, 0}};
    pool->finished = gymcore_closed_lock();
    while (pool->finished && pool->workers < threads - 1) {
        gymcore_worker *worker = &pool->worker[pool->workers];
        worker->pool = pool;
        worker->wake = gymcore_closed_lock();
        worker->exited = gymcore_closed_lock();
        if (!worker->wake || !worker->exited ||
            PyThread_start_new_thread(gymcore_pool_worker, worker) == PYTHREAD_INVALID_THREAD_ID)
            break;
        pool->workers++;
    }
    if (pool->finished && pool->workers == threads - 1)
        return pool;
    gymcore_pool_free(pool);
    return NULL;
}

#endif
