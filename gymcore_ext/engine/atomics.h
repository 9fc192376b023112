/* Atomic words that threads and processes share, the pause of a spin loop, and the clock.
 *
 * Every access is sequentially consistent. One side publishes work, then checks for a sleeper; the other announces its
 * sleep, then checks for work. With acquire and release, both could miss each other. ThreadSanitizer cannot see fences.
 */
#ifndef GYMCORE_ATOMICS_H
#define GYMCORE_ATOMICS_H

#include <stdatomic.h>
#include "../include/gymcore/platform.h"

#if defined(_WIN32)
#include <windows.h>
#else
#include <time.h>
#endif

#if ATOMIC_INT_LOCK_FREE != 2 || ATOMIC_LLONG_LOCK_FREE != 2
#error "words shared by processes need lock-free 64-bit atomics: a lock would not be shared"
#endif

typedef _Atomic uint32_t gymcore_word;
typedef _Atomic uint64_t gymcore_word64;

GYMCORE_INLINE uint32_t gymcore_load32(gymcore_word *a) { return atomic_load(a); }
GYMCORE_INLINE void gymcore_store32(gymcore_word *a, uint32_t v) { atomic_store(a, v); }
GYMCORE_INLINE uint32_t gymcore_swap32(gymcore_word *a, uint32_t v) { return atomic_exchange(a, v); }
GYMCORE_INLINE void gymcore_increment32(gymcore_word *a) { atomic_fetch_add(a, 1); }
GYMCORE_INLINE uint64_t gymcore_load64(gymcore_word64 *a) { return atomic_load(a); }
GYMCORE_INLINE void gymcore_store64(gymcore_word64 *a, uint64_t v) { atomic_store(a, v); }
/* Add v and return the sum. */
GYMCORE_INLINE uint64_t gymcore_add64(gymcore_word64 *a, uint64_t v) { return atomic_fetch_add(a, v) + v; }
/* Set `*a` to `to` if it is `from`; return whether it was. */
GYMCORE_INLINE int gymcore_replace64(gymcore_word64 *a, uint64_t from, uint64_t to)
{
    return atomic_compare_exchange_strong(a, &from, to);
}

/* Pause for one turn of a spin loop. */
GYMCORE_INLINE void gymcore_pause(void)
{
#if defined(_MSC_VER)
    YieldProcessor();
#elif defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Monotonic time in nanoseconds. */
GYMCORE_INLINE int64_t gymcore_clock(void)
{
#if defined(_WIN32)
    LARGE_INTEGER now, rate;
    QueryPerformanceCounter(&now);
    QueryPerformanceFrequency(&rate);
    return (int64_t)((double)now.QuadPart * 1e9 / (double)rate.QuadPart);
#else
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
#endif
}

#endif
