/* A small pool of threads that share the chunks of one batch with the thread that asks.
 *
 * The asking thread works too, and waits only for chunks that somebody has begun: a worker that the system does not run
 * cannot hold it up. Threads and locks are Python's portable ones (they need no GIL); workers spin for a moment before
 * they sleep, because waking a sleeping core costs more than a batch step. A pool does not live through fork(): its owner
 * drops it in the child (batch.pyx).
 */
#ifndef GYMCORE_POOL_H
#define GYMCORE_POOL_H

#include "Python.h"
#include "pythread.h"
#include "platform.h"

#if defined(_MSC_VER)
#include <intrin.h>
typedef volatile __int64 gymcore_atomic;
GYMCORE_INLINE int64_t gymcore_load(gymcore_atomic *a) { return _InterlockedOr64(a, 0); }
GYMCORE_INLINE void gymcore_store(gymcore_atomic *a, int64_t v) { _InterlockedExchange64(a, v); }
GYMCORE_INLINE int64_t gymcore_add(gymcore_atomic *a, int64_t v) { return _InterlockedExchangeAdd64(a, v) + v; }
GYMCORE_INLINE int gymcore_swap_if(gymcore_atomic *a, int64_t from, int64_t to)
{
    return _InterlockedCompareExchange64(a, to, from) == from;
}
#else
typedef volatile int64_t gymcore_atomic;
GYMCORE_INLINE int64_t gymcore_load(gymcore_atomic *a) { return __atomic_load_n(a, __ATOMIC_SEQ_CST); }
GYMCORE_INLINE void gymcore_store(gymcore_atomic *a, int64_t v) { __atomic_store_n(a, v, __ATOMIC_SEQ_CST); }
GYMCORE_INLINE int64_t gymcore_add(gymcore_atomic *a, int64_t v) { return __atomic_add_fetch(a, v, __ATOMIC_SEQ_CST); }
GYMCORE_INLINE int gymcore_swap_if(gymcore_atomic *a, int64_t from, int64_t to)
{
    return __atomic_compare_exchange_n(a, &from, to, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
#endif

GYMCORE_INLINE void gymcore_pause(void)
{
#if defined(__x86_64__) || defined(_M_X64)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Work on lanes [lo, hi); results are added up. */
typedef int64_t gymcore_job(void *context, int64_t lo, int64_t hi);

struct gymcore_pool;

typedef struct {
    struct gymcore_pool *pool;
    PyThread_type_lock wake, exited;
    gymcore_atomic asleep;
} gymcore_worker;

typedef struct gymcore_pool {
    gymcore_job *job;
    void *context;
    int64_t lanes, chunk;
    gymcore_atomic chunks_left;  /* chunks that nobody has begun */
    gymcore_atomic chunks_open;  /* chunks that are not finished */
    gymcore_atomic sum, stop, asker_asleep;
    PyThread_type_lock finished;
    int workers;
    gymcore_worker worker[1]; /* as many as `workers` */
} gymcore_pool;

#define GYMCORE_SPINS 4000
/* While others still work on the batch, waiting is worth more: a lane of heavy physics takes up to half a millisecond, and
 * who sleeps meanwhile is late for the next batch. */
#define GYMCORE_BUSY_SPINS 64000

/* Begin and finish one chunk; 0 when none is left. Fields of the job are read only after a chunk was claimed: the asker
 * cannot change them before that chunk is finished. */
GYMCORE_INLINE int gymcore_pool_chunk(gymcore_pool *pool)
{
    int64_t left = gymcore_load(&pool->chunks_left);
    while (left > 0 && !gymcore_swap_if(&pool->chunks_left, left, left - 1))
        left = gymcore_load(&pool->chunks_left);
    if (left <= 0)
        return 0;
    int64_t lo = (left - 1) * pool->chunk;
    int64_t hi = lo + pool->chunk < pool->lanes ? lo + pool->chunk : pool->lanes;
    gymcore_add(&pool->sum, pool->job(pool->context, lo, hi));
    if (gymcore_add(&pool->chunks_open, -1) == 0 && gymcore_swap_if(&pool->asker_asleep, 1, 0))
        PyThread_release_lock(pool->finished);
    return 1;
}

static void gymcore_pool_worker(void *argument)
{
    gymcore_worker *self = (gymcore_worker *)argument;
    gymcore_pool *pool = self->pool;
    while (!gymcore_load(&pool->stop)) {
        int spins = 0;
        while (gymcore_pool_chunk(pool))
            ;
        int busy = 0;
        while (spins < GYMCORE_SPINS && gymcore_load(&pool->chunks_left) <= 0 && !gymcore_load(&pool->stop)) {
            gymcore_pause();
            if (busy < GYMCORE_BUSY_SPINS && gymcore_load(&pool->chunks_open) > 0)
                busy++;
            else
                spins++;
        }
        if (spins < GYMCORE_SPINS)
            continue;
        gymcore_store(&self->asleep, 1);
        /* Look again: work that came before the flag was up woke nobody. Whoever lowers the flag owns the wake-up. */
        if ((gymcore_load(&pool->chunks_left) > 0 || gymcore_load(&pool->stop)) &&
            gymcore_swap_if(&self->asleep, 1, 0))
            continue;
        PyThread_acquire_lock(self->wake, WAIT_LOCK);
    }
    PyThread_release_lock(self->exited);
}

GYMCORE_INLINE void gymcore_pool_wake(gymcore_pool *pool)
{
    for (int i = 0; i < pool->workers; i++)
        if (gymcore_swap_if(&pool->worker[i].asleep, 1, 0))
            PyThread_release_lock(pool->worker[i].wake);
}

/* Run the job over all lanes in chunks and return the sum of its results. */
static int64_t gymcore_pool_run(gymcore_pool *pool, gymcore_job *job, void *context, int64_t lanes, int64_t chunk)
{
    int64_t chunks = (lanes + chunk - 1) / chunk;
    pool->job = job;
    pool->context = context;
    pool->lanes = lanes;
    pool->chunk = chunk;
    gymcore_store(&pool->sum, 0);
    gymcore_store(&pool->chunks_open, chunks);
    gymcore_store(&pool->chunks_left, chunks);
    gymcore_pool_wake(pool);
    while (gymcore_pool_chunk(pool))
        ;
    for (int spins = 0; spins < GYMCORE_BUSY_SPINS && gymcore_load(&pool->chunks_open) > 0; spins++)
        gymcore_pause();
    while (gymcore_load(&pool->chunks_open) > 0) {
        gymcore_store(&pool->asker_asleep, 1);
        if (gymcore_load(&pool->chunks_open) == 0 && gymcore_swap_if(&pool->asker_asleep, 1, 0))
            break;
        PyThread_acquire_lock(pool->finished, WAIT_LOCK);
    }
    return gymcore_load(&pool->sum);
}

/* Stop the workers, wait until they are gone, free everything. */
static void gymcore_pool_free(gymcore_pool *pool)
{
    gymcore_store(&pool->stop, 1);
    gymcore_pool_wake(pool);
    for (int i = 0; i < pool->workers; i++) {
        PyThread_acquire_lock(pool->worker[i].exited, WAIT_LOCK);
        PyThread_free_lock(pool->worker[i].exited);
        PyThread_free_lock(pool->worker[i].wake);
    }
    if (pool->finished)
        PyThread_free_lock(pool->finished);
    PyMem_RawFree(pool);
}

/* A lock that is held: acquiring it waits for somebody's release. */
static PyThread_type_lock gymcore_closed_lock(void)
{
    PyThread_type_lock lock = PyThread_allocate_lock();
    if (lock)
        PyThread_acquire_lock(lock, WAIT_LOCK);
    return lock;
}

/* A pool of `threads` threads, the asker included; NULL when the system gives no more locks or threads. */
static gymcore_pool *gymcore_pool_new(int threads)
{
    size_t size = sizeof(gymcore_pool) + sizeof(gymcore_worker) * (size_t)threads;
    gymcore_pool *pool = (gymcore_pool *)PyMem_RawCalloc(1, size);
    if (!pool)
        return NULL;
    pool->finished = gymcore_closed_lock();
    for (int i = 0; pool->finished && i < threads - 1; i++) {
        gymcore_worker *worker = &pool->worker[i];
        worker->pool = pool;
        worker->wake = gymcore_closed_lock();
        worker->exited = gymcore_closed_lock();
        if (!worker->wake || !worker->exited ||
            PyThread_start_new_thread(gymcore_pool_worker, worker) == PYTHREAD_INVALID_THREAD_ID) {
            if (worker->wake)
                PyThread_free_lock(worker->wake);
            if (worker->exited)
                PyThread_free_lock(worker->exited);
            gymcore_pool_free(pool);
            return NULL;
        }
        pool->workers++;
    }
    if (!pool->finished) {
        gymcore_pool_free(pool);
        return NULL;
    }
    return pool;
}

#endif
