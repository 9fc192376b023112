/* The batch loops of one environment for one instruction set; lanes.h includes this once per set. */
#define LANE_LOOP(name) GYMCORE_JOIN(LANE(name), LANE_ISA)

/* `small_angles` is a constant where this is called, so the compiler writes the loop once for each value. */
GYMCORE_INLINE LANE_TARGET void LANE_LOOP(_step_where)(const gymcore_columns *columns, const void *actions, double *rewards,
                                                gymcore_flag *terminated, int64_t lo, int64_t hi, int small_angles)
{
    LANE_STATE(LANE_COLUMN)
    LANE(_parameters) parameters;
    LANE_PARAMETERS(LANE_LOAD_SHARED)
    parameters.small_angles = small_angles;
    GYMCORE_INDEPENDENT_LANES
    for (int64_t i = lo; i < hi; i++) { /* loop: step, shared parameters */
        LANE(_state) state;
        gymcore_outcome outcome;
        LANE_STATE(LANE_LOAD)
        LANE(_step)(&state, &parameters, LANE_ACTION_AT(i), &outcome);
        LANE_STATE(LANE_STORE)
        rewards[i] = outcome.reward;
        terminated[i] = (gymcore_flag)outcome.terminated;
    }
}

static GYMCORE_FLATTEN LANE_TARGET void LANE_LOOP(_step_shared)(const gymcore_columns *columns, const void *actions, double *rewards,
                                                gymcore_flag *terminated, int64_t lo, int64_t hi)
{
#ifdef LANE_SMALL_ANGLE
    const double *angles = columns->state[LANE(GYMCORE_JOIN(_at_, LANE_SMALL_ANGLE))];
    int64_t margins = 0;
    for (int64_t i = lo; i < hi; i++) { /* loop: look for large angles */
        margins |= gymcore_small_angle_margin(angles[i]);
    }
    if (margins >= 0) {
        LANE_LOOP(_step_where)(columns, actions, rewards, terminated, lo, hi, 1);
        return;
    }
#endif
    LANE_LOOP(_step_where)(columns, actions, rewards, terminated, lo, hi, 0);
}

static GYMCORE_FLATTEN LANE_TARGET void LANE_LOOP(_step_varied)(const gymcore_columns *columns, const void *actions, double *rewards,
                                                gymcore_flag *terminated, int64_t lo, int64_t hi)
{
    LANE_STATE(LANE_COLUMN)
    LANE_PARAMETERS(LANE_PARAMETER_COLUMN)
    GYMCORE_INDEPENDENT_LANES
    for (int64_t i = lo; i < hi; i++) { /* loop: step, parameters per lane */
        LANE(_state) state;
        LANE(_parameters) parameters;
        gymcore_outcome outcome;
        LANE_STATE(LANE_LOAD)
        LANE_PARAMETERS(LANE_LOAD_PARAMETER)
        parameters.small_angles = 0;
        LANE(_step)(&state, &parameters, LANE_ACTION_AT(i), &outcome);
        LANE_STATE(LANE_STORE)
        rewards[i] = outcome.reward;
        terminated[i] = (gymcore_flag)outcome.terminated;
    }
}

static GYMCORE_FLATTEN LANE_TARGET void LANE_LOOP(_observe)(const gymcore_columns *columns, float *observations, int64_t lo, int64_t hi)
{
    LANE_STATE(LANE_COLUMN)
    GYMCORE_INDEPENDENT_LANES
    for (int64_t i = lo; i < hi; i++) { /* loop: observe */
        LANE(_state) state;
        LANE_STATE(LANE_LOAD)
        LANE(_observe)(&state, observations + i * LANE_OBSERVATION_SIZE);
    }
}

#undef LANE_LOOP
#undef LANE_ISA
#undef LANE_TARGET
