/* The functions of math.h over whole arrays, for every instruction set: what gymcore_ext.lane_math offers to Python.
 * Outputs do not overlap inputs. */
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
#include "array_math_loops.h"
#if GYMCORE_ISA_COUNT > 1
#define MATH_ISA _v3
#define MATH_TARGET GYMCORE_TARGET_V3
#include "array_math_loops.h"
#define MATH_ISA _v4
#define MATH_TARGET GYMCORE_TARGET_V4
#include "array_math_loops.h"
#endif

static const gymcore_array_math gymcore_array_maths[GYMCORE_ISA_COUNT] = {
    { gymcore_sincos_array_baseline, gymcore_mod_array_baseline, gymcore_clip_array_baseline },
#if GYMCORE_ISA_COUNT > 1
    { gymcore_sincos_array_v3, gymcore_mod_array_v3, gymcore_clip_array_v3 },
    { gymcore_sincos_array_v4, gymcore_mod_array_v4, gymcore_clip_array_v4 },
#endif
};

#endif
