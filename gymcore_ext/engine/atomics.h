/* Atomic words, which threads and processes share, the pause of a spinning loop, and the clock.
 *
 * Every access is sequentially consistent: "I published, then I look whether you sleep" against "I say that I sleep, then
 * I look whether you published" is right under no weaker order, and stand-alone fences are invisible to ThreadSanitizer.
 */
#ifndef GYMCORE_ATOMICS_H
#define GYMCORE_ATOMICS_H

#include "../include/gymcore/platform.h"

#if defined(_WIN32)
#include <windows.h>
#else
#include <time.h>
#endif

typedef volatile uint32_t gymcore_word;
typedef volatile uint64_t gymcore_word64;

#if defined(_MSC_VER)
#include <intrin.h>
GYMCORE_INLINE uint32_t gymcore_load32(gymcore_word *a) { return (uint32_t)_InterlockedOr((volatile long *)a, 0); }
GYMCORE_INLINE void gymcore_store32(gymcore_word *a, uint32_t v) { _InterlockedExchange((volatile long *)a, (long)v); }
GYMCORE_INLINE uint32_t gymcore_swap32(gymcore_word *a, uint32_t v)
{
    return (uint32_t)_InterlockedExchange((volatile long *)a, (long)v);
}
GYMCORE_INLINE void gymcore_increment32(gymcore_word *a) { _InterlockedIncrement((volatile long *)a); }
GYMCORE_INLINE uint64_t gymcore_load64(gymcore_word64 *a) { return (uint64_t)_InterlockedOr64((volatile __int64 *)a, 0); }
GYMCORE_INLINE void gymcore_store64(gymcore_word64 *a, uint64_t v)
{
    _InterlockedExchange64((volatile __int64 *)a, (__int64)v);
}
/* Add v; the sum. */
GYMCORE_INLINE uint64_t gymcore_add64(gymcore_word64 *a, uint64_t v)
{
    return (uint64_t)_InterlockedExchangeAdd64((volatile __int64 *)a, (__int64)v) + v;
}
/* Whether `*a` was `from` and is `to` now. */
GYMCORE_INLINE int gymcore_replace64(gymcore_word64 *a, uint64_t from, uint64_t to)
{
    return (uint64_t)_InterlockedCompareExchange64((volatile __int64 *)a, (__int64)to, (__int64)from) == from;
}
#else
#if !(__GCC_ATOMIC_LLONG_LOCK_FREE == 2 && __GCC_ATOMIC_INT_LOCK_FREE == 2)
#error "words shared by processes need lock-free 64-bit atomics: a lock would not be shared"
#endif
GYMCORE_INLINE uint32_t gymcore_load32(gymcore_word *a) { return __atomic_load_n(a, __ATOMIC_SEQ_CST); }
GYMCORE_INLINE void gymcore_store32(gymcore_word *a, uint32_t v) { __atomic_store_n(a, v, __ATOMIC_SEQ_CST); }
GYMCORE_INLINE uint32_t gymcore_swap32(gymcore_word *a, uint32_t v) { return __atomic_exchange_n(a, v, __ATOMIC_SEQ_CST); }
GYMCORE_INLINE void gymcore_increment32(gymcore_word *a) { __atomic_add_fetch(a, 1, __ATOMIC_SEQ_CST); }
GYMCORE_INLINE uint64_t gymcore_load64(gymcore_word64 *a) { return __atomic_load_n(a, __ATOMIC_SEQ_CST); }
GYMCORE_INLINE void gymcore_store64(gymcore_word64 *a, uint64_t v) { __atomic_store_n(a, v, __ATOMIC_SEQ_CST); }
/* Add v; the sum. */
GYMCORE_INLINE uint64_t gymcore_add64(gymcore_word64 *a, uint64_t v) { return __atomic_add_fetch(a, v, __ATOMIC_SEQ_CST); }
/* Whether `*a` was `from` and is `to` now. */
GYMCORE_INLINE int gymcore_replace64(gymcore_word64 *a, uint64_t from, uint64_t to)
{
    return __atomic_compare_exchange_n(a, &from, to, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
#endif

/* One turn of a spinning loop. */
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

/* Nanoseconds of a clock that nobody sets. */
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
