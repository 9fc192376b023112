/* What the engine does to every lane at every step besides physics: counting steps, summing rewards, the time limit,
 * and finding the lanes that ended. One implementation for all environments, compiled for every instruction set. */
#ifndef GYMCORE_LIFECYCLE_H
#define GYMCORE_LIFECYCLE_H

#include "flags.h"
#include "../include/gymcore/kernel.h"

/* A step limit that no count reaches. */
#define GYMCORE_NO_LIMIT INT32_MAX

/* Count a step of lanes [lo, hi), fewer than 2^16, and mark those that ended; ends[i - lo] is 1 where the physics terminated.
 * A lane at its limit is truncated, whether it terminated or not. Returns how many ended. */
typedef int64_t gymcore_count_loop(const double *rewards, const gymcore_flag *ends, uint8_t *terminated, uint8_t *truncated,
                                   uint8_t *ended,
                                   int32_t *elapsed, double *returns, int32_t limit, int64_t lo, int64_t hi);
/* Whether some of `count` discrete actions lie outside [0, choices). */
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

#endif
