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
    uint16_t count = 0; /* not as wide as the sum of a batch: adding up bytes in eight at a time is a third of the loop */
    GYMCORE_INDEPENDENT_LANES
    for (int64_t i = lo; i < hi; i++) { /* loop: count steps */
        int32_t steps = elapsed[i] + (elapsed[i] < GYMCORE_NO_LIMIT - 1); /* an endless episode stops counting */
        uint8_t late = steps >= limit, over = (uint8_t)ends[i - lo], end = over | late;
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
    /* The highest bit says negative: of the action, or of what is left up to the last choice. */
    uint64_t bits = 0;
    GYMCORE_UNROLLED
    for (int64_t i = 0; i < count; i++) /* loop: check actions */
        bits |= (uint64_t)actions[i] | ((uint64_t)choices - 1 - (uint64_t)actions[i]);
    return (int64_t)(bits >> 63);
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
