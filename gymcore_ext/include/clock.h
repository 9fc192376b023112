/* The time, for those who wait. */
#ifndef GYMCORE_CLOCK_H
#define GYMCORE_CLOCK_H

#include "platform.h"

#if defined(_WIN32)
#include <windows.h>
#else
#include <time.h>
#endif

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
