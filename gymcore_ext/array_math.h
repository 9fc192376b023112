/* The functions of math.h over whole arrays, for every instruction set: what gymcore_ext.lane_math offers to Python.
 * Outputs do not overlap inputs. */
#ifndef GYMCORE_ISA
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

#define MATH_LOOP(name, isa) GYMCORE_JOIN(gymcore_##name, isa)
#define GYMCORE_LOOPS "array_math.h"
#include "include/gymcore/instruction_sets.h"

#define MATH_LOOPS(isa) { MATH_LOOP(sincos_array, isa), MATH_LOOP(mod_array, isa), MATH_LOOP(clip_array, isa) },
static const gymcore_array_math gymcore_array_maths[] = { GYMCORE_EACH_ISA(MATH_LOOPS) };

#endif /* GYMCORE_ARRAY_MATH_H */

#else /* the loops of one instruction set */

static GYMCORE_FLATTEN GYMCORE_TARGET void MATH_LOOP(sincos_array, GYMCORE_ISA)(
    const double *x, double *sine, double *cosine, int64_t count)
{
    GYMCORE_INDEPENDENT_LANES
    for (int64_t i = 0; i < count; i++) /* loop: sine and cosine */
        gymcore_sincos(x[i], sine + i, cosine + i);
}

static GYMCORE_FLATTEN GYMCORE_TARGET void MATH_LOOP(mod_array, GYMCORE_ISA)(
    const double *x, double *remainder, int64_t count)
{
    GYMCORE_INDEPENDENT_LANES
    for (int64_t i = 0; i < count; i++) /* loop: mod two pi */
        remainder[i] = gymcore_mod_two_pi(x[i]);
}

static GYMCORE_FLATTEN GYMCORE_TARGET void MATH_LOOP(clip_array, GYMCORE_ISA)(
    const double *x, double low, double high, double *clipped, int64_t count)
{
    GYMCORE_INDEPENDENT_LANES
    for (int64_t i = 0; i < count; i++) /* loop: clip */
        clipped[i] = gymcore_clip(x[i], low, high);
}

#endif
