/* The loops of lifecycle.h for one instruction set. */
#define LIFECYCLE_LOOP(name) GYMCORE_JOIN(gymcore_##name, LIFECYCLE_ISA)

static LIFECYCLE_TARGET int64_t LIFECYCLE_LOOP(count_step)(const double *GYMCORE_RESTRICT rewards,
                                                           const gymcore_flag *GYMCORE_RESTRICT ends,
                                                           uint8_t *GYMCORE_RESTRICT terminated,
                                                           uint8_t *GYMCORE_RESTRICT truncated,
                                                           uint8_t *GYMCORE_RESTRICT ended,
                                                           int32_t *GYMCORE_RESTRICT elapsed,
                                                           double *GYMCORE_RESTRICT returns, int32_t limit, int64_t lo,
                                                           int64_t hi)
{
    int64_t count = 0;
    GYMCORE_INDEPENDENT_LANES
    for (int64_t i = lo; i < hi; i++) { /* loop: count steps */
        int32_t steps = elapsed[i] + (elapsed[i] < GYMCORE_NO_LIMIT - 1); /* an endless episode stops counting */
        uint8_t late = steps >= limit, over = ends[i - lo] != 0, end = over | late;
        elapsed[i] = steps;
        returns[i] += rewards[i];
        terminated[i] = over;
        truncated[i] = late;
        ended[i] = end;
        count += end;
    }
    return count;
}

static LIFECYCLE_TARGET int64_t LIFECYCLE_LOOP(outside)(const int64_t *actions, int64_t choices, int64_t count)
{
    int64_t found = 0;
    for (int64_t i = 0; i < count; i++) /* loop: check actions */
        found += (uint64_t)actions[i] >= (uint64_t)choices;
    return found;
}

static LIFECYCLE_TARGET int64_t LIFECYCLE_LOOP(nans)(const float *values, int64_t count)
{
    int64_t found = 0;
    for (int64_t i = 0; i < count; i++) /* loop: look for nan */
        found += values[i] != values[i];
    return found;
}

static LIFECYCLE_TARGET int64_t LIFECYCLE_LOOP(wide_nans)(const double *values, int64_t count)
{
    int64_t found = 0;
    for (int64_t i = 0; i < count; i++) /* loop: look for wide nan */
        found += values[i] != values[i];
    return found;
}

#undef LIFECYCLE_LOOP
#undef LIFECYCLE_ISA
#undef LIFECYCLE_TARGET
