/* The functions of gymcore/math.h over arrays, for every instruction set. Outputs do not overlap inputs. */
#ifndef GYMCORE_ISA
#include "gymcore/math.h"

#define MATH_LOOP(name) GYMCORE_FLATTEN GYMCORE_TARGET void GYMCORE_JOIN(name, GYMCORE_ISA)
#define GYMCORE_LOOPS "array_math.c"
#include "gymcore/instruction_sets.h"

#else /* the loops of one instruction set */

MATH_LOOP(sincos_array)(const double *x, double *sine, double *cosine, int64_t count)
{
    GYMCORE_INDEPENDENT_LANES
    for (int64_t i = 0; i < count; i++) /* loop: sine and cosine */
        gymcore_sincos(x[i], sine + i, cosine + i);
}

MATH_LOOP(mod_array)(const double *x, double *remainder, int64_t count)
{
    GYMCORE_INDEPENDENT_LANES
    for (int64_t i = 0; i < count; i++) /* loop: mod two pi */
        remainder[i] = gymcore_mod_two_pi(x[i]);
}

MATH_LOOP(clip_array)(const double *x, double low, double high, double *clipped, int64_t count)
{
    GYMCORE_INDEPENDENT_LANES
    for (int64_t i = 0; i < count; i++) /* loop: clip */
        clipped[i] = gymcore_clip(x[i], low, high);
}

#endif
