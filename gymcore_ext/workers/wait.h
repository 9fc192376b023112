/* Atomic words in memory that processes share, and sleeping until one of them changes.
 *
 * Linux: a futex, which works between processes wherever each has the page mapped. Elsewhere, or with GYMCORE_NO_FUTEX:
 * short sleeps between looks at the word, because no portable call wakes another process without an object to clean up.
 *
 * Every access is sequentially consistent: "I published, then I look whether you sleep" against "I say that I sleep, then
 * I look whether you published" is right under no weaker order, and stand-alone fences are invisible to ThreadSanitizer.
 */
#ifndef GYMCORE_WAIT_H
#define GYMCORE_WAIT_H

#include <errno.h>
#include "clock.h"
#include "platform.h"

#if defined(__linux__) && !defined(GYMCORE_NO_FUTEX)
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#if !defined(SYS_futex) && defined(SYS_futex_time64)
#define SYS_futex SYS_futex_time64
#endif
#define GYMCORE_FUTEX 1
#endif

typedef volatile uint32_t gymcore_word;
typedef volatile uint64_t gymcore_word64;

#if defined(_MSC_VER)
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
GYMCORE_INLINE uint64_t gymcore_increment64(gymcore_word64 *a)
{
    return (uint64_t)_InterlockedIncrement64((volatile __int64 *)a);
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
GYMCORE_INLINE uint64_t gymcore_increment64(gymcore_word64 *a) { return __atomic_add_fetch(a, 1, __ATOMIC_SEQ_CST); }
/* Whether `*a` was `from` and is `to` now. */
GYMCORE_INLINE int gymcore_replace64(gymcore_word64 *a, uint64_t from, uint64_t to)
{
    return __atomic_compare_exchange_n(a, &from, to, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
#endif

/* One turn of a spinning loop. */
GYMCORE_INLINE void gymcore_relax(void)
{
#if defined(_MSC_VER)
    YieldProcessor();
#elif defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Whether it slept that long: a signal ends it. */
GYMCORE_INLINE int gymcore_nap(int64_t nanoseconds)
{
#if defined(_WIN32)
    Sleep((DWORD)((nanoseconds + 999999) / 1000000));
    return 1;
#else
    struct timespec time = {(time_t)(nanoseconds / 1000000000), (long)(nanoseconds % 1000000000)};
    return nanosleep(&time, NULL) == 0;
#endif
}

/* Sleep while `*word` is `value`, at the latest until the clock says `until`. May return early for no reason: callers look
 * again. `mask` names the sleepers that a wake-up can select; it is not 0. */
static inline void gymcore_wait(gymcore_word *word, uint32_t value, uint32_t mask, int64_t until)
{
#if defined(GYMCORE_FUTEX)
    struct timespec time = {(time_t)(until / 1000000000), (long)(until % 1000000000)};
    if (syscall(SYS_futex, word, FUTEX_WAIT_BITSET, value, &time, NULL, mask) == -1 && errno != EAGAIN &&
        errno != EINTR && errno != ETIMEDOUT)
        gymcore_nap(1000000); /* a sandbox without futexes: slow, but neither wrong nor busy */
#else
    int64_t nap = 20000;
    (void)mask;
    while (gymcore_load32(word) == value) {
        int64_t left = until - gymcore_clock();
        if (left <= 0)
            return;
        if (!gymcore_nap(nap < left ? nap : left))
            return;
        nap = nap < 500000 ? 2 * nap : 1000000;
    }
#endif
}

/* Wake the sleepers whose mask has a bit of this one. */
GYMCORE_INLINE void gymcore_wake(gymcore_word *word, uint32_t mask)
{
#if defined(GYMCORE_FUTEX)
    syscall(SYS_futex, word, FUTEX_WAKE_BITSET, INT_MAX, NULL, NULL, mask);
#else
    (void)word;
    (void)mask;
#endif
}

#endif
