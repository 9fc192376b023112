/* What the engine does to every lane at every step besides physics: counting steps, summing rewards, the time limit,
 * and finding the lanes that ended. One implementation for all environments, compiled for every instruction set. */
#ifndef GYMCORE_LIFECYCLE_H
#define GYMCORE_LIFECYCLE_H

#include "kernel.h"

/* A step limit that no count reaches. */
#define GYMCORE_NO_LIMIT INT32_MAX

/* Count a step of lanes [lo, hi) and mark those that ended; ends[i - lo] is 1 where the physics terminated. A lane at its limit is truncated, whether it terminated or
 * not. Returns how many ended. */
typedef int64_t gymcore_count_loop(const double *rewards, const gymcore_flag *ends, uint8_t *terminated, uint8_t *truncated,
                                   uint8_t *ended,
                                   int32_t *elapsed, double *returns, int32_t limit, int64_t lo, int64_t hi);
/* How many of `count` discrete actions lie outside [0, choices). */
typedef int64_t gymcore_discrete_check(const int64_t *actions, int64_t choices, int64_t count);
/* How many of `count` float32 values are nan. */
typedef int64_t gymcore_nan_check(const float *values, int64_t count);
/* The same of float64 values. */
typedef int64_t gymcore_wide_nan_check(const double *values, int64_t count);

typedef struct {
    gymcore_count_loop *count_step;
    gymcore_discrete_check *outside;
    gymcore_nan_check *nans;
    gymcore_wide_nan_check *wide_nans;
} gymcore_lifecycle;

#define LIFECYCLE_ISA _baseline
#define LIFECYCLE_TARGET
#include "lifecycle_loops.h"
#if GYMCORE_ISA_COUNT > 1
#define LIFECYCLE_ISA _v3
#define LIFECYCLE_TARGET GYMCORE_TARGET_V3
#include "lifecycle_loops.h"
#define LIFECYCLE_ISA _v4
#define LIFECYCLE_TARGET GYMCORE_TARGET_V4
#include "lifecycle_loops.h"
#endif

static const gymcore_lifecycle gymcore_lifecycles[GYMCORE_ISA_COUNT] = {
    { gymcore_count_step_baseline, gymcore_outside_baseline, gymcore_nans_baseline, gymcore_wide_nans_baseline },
#if GYMCORE_ISA_COUNT > 1
    { gymcore_count_step_v3, gymcore_outside_v3, gymcore_nans_v3, gymcore_wide_nans_v3 },
    { gymcore_count_step_v4, gymcore_outside_v4, gymcore_nans_v4, gymcore_wide_nans_v4 },
#endif
};

/* The best instruction set that this processor has and this build carries: an index of gymcore_kernel.loops. */
static int gymcore_best_isa(void)
{
#if GYMCORE_ISA_COUNT > 1
    __builtin_cpu_init();
    int v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    int v4 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl");
    return v3 ? (v4 ? 2 : 1) : 0;
#else
    return 0;
#endif
}

/* Bit k is whether flags[k] is not 0. */
GYMCORE_INLINE uint64_t gymcore_eight_bits(const uint8_t *flags)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    uint64_t bits = 0;
    for (int k = 0; k < 8; k++)
        bits |= (uint64_t)(flags[k] != 0) << k;
    return bits;
#else
    const uint64_t low = 0x7f7f7f7f7f7f7f7fULL;
    uint64_t eight;
    memcpy(&eight, flags, 8);
    eight = ((((eight & low) + low) | eight) & ~low) >> 7; /* 1 for every byte that is not 0 */
    return (eight * 0x0102040810204080ULL) >> 56;
#endif
}

/* Write the indices i of [lo, hi) with flags[i] != 0 to `lanes`, in order; return how many. */
GYMCORE_INLINE int64_t gymcore_flagged(const uint8_t *flags, int64_t lo, int64_t hi, int64_t *lanes)
{
    int64_t count = 0, i = lo;
    /* A bit for each of 64 flags, and then those that are set: what branches depends on 64 of them at once. */
    for (; i + 64 <= hi; i += 64) {
        uint64_t set = 0;
        for (int k = 0; k < 8; k++)
            set |= gymcore_eight_bits(flags + i + 8 * k) << (8 * k);
        for (; set; set &= set - 1)
            lanes[count++] = i + gymcore_lowest_bit(set);
    }
    for (; i < hi; i++)
        if (flags[i])
            lanes[count++] = i;
    return count;
}

#endif
