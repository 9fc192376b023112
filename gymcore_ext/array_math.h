/* The functions of math.h over whole arrays, for every instruction set: what gymcore_ext.lane_math offers to Python.
 * Outputs do not overlap inputs. */
#ifndef MATH_ISA
#ifndef GYMCORE_ARRAY_MATH_H
#define GYMCORE_ARRAY_MATH_H

#include "include/gymcore/math.h"

typedef void gymcore_sincos_loop(const double *x, double *sine, double *cosine, int64_t count);
typedef void gymcore_mod_loop(const double *x, double *remainder, int64_t count);
typedef void gymcore_clip_loop(const double *x, double low, double high, double *clipped, int64_t count);

typedef struct {
    gymcore_sincos_loop *sincos;
    gymcore_mod_loop *mod_two_pi;
    gymcore_clip_loop *clip;
} gymcore_array_math;

#define MATH_ISA _baseline
#define MATH_TARGET
#include "array_math.h"
#if GYMCORE_ISA_COUNT > 1
#define MATH_ISA _v2
#define MATH_TARGET GYMCORE_TARGET_V2
#include "array_math.h"
#define MATH_ISA _v3
#define MATH_TARGET GYMCORE_TARGET_V3
#include "array_math.h"
#define MATH_ISA _v4
#define MATH_TARGET GYMCORE_TARGET_V4
#include "array_math.h"
#endif

static const gymcore_array_math gymcore_array_maths[GYMCORE_ISA_COUNT] = {
    { gymcore_sincos_array_baseline, gymcore_mod_array_baseline, gymcore_clip_array_baseline },
#if GYMCORE_ISA_COUNT > 1
    { gymcore_sincos_array_v2, gymcore_mod_array_v2, gymcore_clip_array_v2 },
    { gymcore_sincos_array_v3, gymcore_mod_array_v3, gymcore_clip_array_v3 },
    { gymcore_sincos_array_v4, gymcore_mod_array_v4, gymcore_clip_array_v4 },
#endif
};

#endif /* GYMCORE_ARRAY_MATH_H */

#else /* MATH_ISA: the loops of one instruction set */

#define MATH_LOOP(name) GYMCORE_JOIN(gymcore_##name, MATH_ISA)

static GYMCORE_FLATTEN MATH_TARGET void MATH_LOOP(sincos_array)(const double *x, double *sine, double *cosine,
                                                                int64_t count)
{
    GYMCORE_INDEPENDENT_LANES
    for (int64_t i = 0; i < count; i++) /* loop: sine and cosine */
        gymcore_sincos(x[i], sine + i, cosine + i);
}

static GYMCORE_FLATTEN MATH_TARGET void MATH_LOOP(mod_array)(const double *x, double *remainder, int64_t count)
{
    GYMCORE_INDEPENDENT_LANES
    for (int64_t i = 0; i < count; i++) /* loop: mod two pi */
        remainder[i] = gymcore_mod_two_pi(x[i]);
}

static GYMCORE_FLATTEN MATH_TARGET void MATH_LOOP(clip_array)(const double *x, double low, double high, double *clipped,
                                                              int64_t count)
{
    GYMCORE_INDEPENDENT_LANES
    for (int64_t i = 0; i < count; i++) /* loop: clip */
        clipped[i] = gymcore_clip(x[i], low, high);
}

#undef MATH_LOOP
#undef MATH_ISA
#undef MATH_TARGET

#endif
