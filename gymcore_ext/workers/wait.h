/* Sleeping until an atomic word (atomics.h) in memory that processes share changes.
 *
 * On Linux, this is a futex, which works between processes wherever each has mapped the page. Elsewhere, and with
 * GYMCORE_NO_FUTEX, sleeps alternate with polls: no portable call wakes another process without an object to clean up.
 */
#ifndef GYMCORE_WAIT_H
#define GYMCORE_WAIT_H

#include <errno.h>
#include "../engine/atomics.h"

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

/* Return the number of the CPU that runs this thread, counted from 1, or 0 if it is unknown. */
GYMCORE_INLINE uint32_t gymcore_cpu(void)
{
#if defined(GYMCORE_FUTEX)
    int sched_getcpu(void); /* <sched.h> has it only with _GNU_SOURCE */
    return (uint32_t)(sched_getcpu() + 1);
#else
    return 0;
#endif
}

/* Sleep. Return 0 if a signal interrupted it. */
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

/* Sleep while `*word` is `value`, but not beyond the time `until`. It may return early, so callers must check again. `mask`
 * has the bits by which a wake-up can select this sleeper; it is not 0. */
static inline void gymcore_wait(gymcore_word *word, uint32_t value, uint32_t mask, int64_t until)
{
#if defined(GYMCORE_FUTEX)
    struct timespec time = {(time_t)(until / 1000000000), (long)(until % 1000000000)};
    if (syscall(SYS_futex, word, FUTEX_WAIT_BITSET, value, &time, NULL, mask) == -1 && errno != EAGAIN &&
        errno != EINTR && errno != ETIMEDOUT)
        gymcore_nap(1000000); /* the sandbox has no futexes; this is slow, but correct */
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

/* Wake the sleepers whose masks share a bit with `mask`. */
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
