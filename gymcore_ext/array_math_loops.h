/* The loops of array_math.h for one instruction set. */
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
