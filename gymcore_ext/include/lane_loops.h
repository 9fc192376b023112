/* The batch loops of one environment for one instruction set; lanes.h includes this once per set. */
#define LANE_LOOP(name) GYMCORE_JOIN(LANE(name), LANE_ISA)

/* `usual` and `small_angles` are constants where this is called, so the compiler writes the loop once for each value. */
GYMCORE_INLINE LANE_TARGET void LANE_LOOP(_step_where)(const gymcore_columns *columns, const void *actions, void *const *parts,
                                                double *rewards, gymcore_flag *terminated, int64_t lo, int64_t hi, int usual,
                                                int small_angles, const double *draws, const int64_t *found)
{
    LANE_STATE(LANE_COLUMN)
    LANE(_parameters) parameters;
    LANE_PARAMETERS(LANE_LOAD_SHARED)
    if (usual) {
        LANE_USUALLY(LANE_SET_USUAL)
    }
    LANE_LOAD_CONSTANTS
    parameters.small_angles = small_angles;
    LANE_STREAMS
    LANE_OBSERVATION_PARTS
    GYMCORE_INDEPENDENT_LANES
    for (int64_t i = lo; i < hi; i++) { /* loop: step, shared parameters */
        LANE(_state) state;
        gymcore_outcome outcome;
        LANE_STATE(LANE_LOAD)
        LANE_STEP(LANE_ACTION_AT(i));
        LANE_STATE(LANE_STORE)
        LANE_OBSERVE_ROW(i)
        rewards[i] = outcome.reward;
        terminated[i] = (gymcore_flag)outcome.terminated;
    }
}

GYMCORE_INLINE LANE_TARGET void LANE_LOOP(_step_varied_where)(const gymcore_columns *columns, const void *actions, void *const *parts,
                                                double *rewards, gymcore_flag *terminated, int64_t lo, int64_t hi,
                                                const double *draws, const int64_t *found)
{
    LANE_STATE(LANE_COLUMN)
    LANE_PARAMETERS(LANE_PARAMETER_COLUMN)
    LANE_STREAMS
    LANE_OBSERVATION_PARTS
    LANE(_parameters) parameters;
    LANE_LOAD_CONSTANTS
    parameters.small_angles = 0;
    GYMCORE_INDEPENDENT_LANES
    for (int64_t i = lo; i < hi; i++) { /* loop: step, parameters per lane */
        LANE(_state) state;
        gymcore_outcome outcome;
        LANE_STATE(LANE_LOAD)
        LANE_PARAMETERS(LANE_LOAD_PARAMETER)
        LANE_STEP(LANE_ACTION_AT(i));
        LANE_STATE(LANE_STORE)
        LANE_OBSERVE_ROW(i)
        rewards[i] = outcome.reward;
        terminated[i] = (gymcore_flag)outcome.terminated;
    }
}

#ifdef LANE_UNIFORM
/* Draw a number for each of at most GYMCORE_DRAW_BLOCK lanes, and find what their steps begin with. */
GYMCORE_INLINE LANE_TARGET void LANE_LOOP(_find_all)(const gymcore_columns *columns, const void *actions,
                                                     double *GYMCORE_RESTRICT draws, int64_t *GYMCORE_RESTRICT found,
                                                     int64_t lo, int64_t hi)
{
    LANE_STATE(LANE_COLUMN)
    LANE(_parameters) parameters;
    const LANE_CONSTANTS_TYPE *table = &parameters.table;
    LANE_LOAD_CONSTANTS
    if (LANE_UNIFORM) {
        gymcore_rng_doubles(columns->rngs + lo, draws, hi - lo);
    } else {
        gymcore_rng_advance_all(columns->rngs + lo, hi - lo);
        memset(draws, 0, (size_t)(hi - lo) * sizeof *draws);
    }
    GYMCORE_INDEPENDENT_LANES
    for (int64_t i = lo; i < hi; i++) { /* loop: find */
        LANE(_state) state;
        LANE_STATE(LANE_LOAD)
        found[i - lo] = LANE(_find)(&state, &parameters, LANE_ACTION_AT(i), draws[i - lo]);
    }
}
#endif

static GYMCORE_FLATTEN LANE_TARGET void LANE_LOOP(_step_shared)(const gymcore_columns *columns, const void *actions, void *const *parts,
                                                double *rewards, gymcore_flag *terminated, int64_t lo, int64_t hi)
{
#ifdef LANE_UNIFORM
    double draws[GYMCORE_DRAW_BLOCK];
    int64_t found[GYMCORE_DRAW_BLOCK];
    for (int64_t first = lo; first < hi; first += GYMCORE_DRAW_BLOCK) {
        int64_t end = first + GYMCORE_DRAW_BLOCK < hi ? first + GYMCORE_DRAW_BLOCK : hi;
        LANE_LOOP(_find_all)(columns, actions, draws, found, first, end);
        LANE_LOOP(_step_where)(columns, actions, parts, rewards, terminated, first, end, 0, 0, draws - first, found - first);
    }
    return;
#endif
#ifdef LANE_ROUNDS
    for (int64_t first = lo; first < hi; first += GYMCORE_DRAW_BLOCK)
        LANE(_rounds)(columns, actions, first, first + GYMCORE_DRAW_BLOCK < hi ? first + GYMCORE_DRAW_BLOCK : hi);
#endif
#ifdef LANE_SMALL_ANGLE
    const double *angles = columns->state[LANE(GYMCORE_JOIN(_at_, LANE_SMALL_ANGLE))];
    int64_t margins = 0;
    for (int64_t i = lo; i < hi; i++) { /* loop: look for large angles */
        margins |= gymcore_small_angle_margin(angles[i]);
    }
    if (margins >= 0) {
        if (1 LANE_USUALLY(LANE_IS_USUAL))
            LANE_LOOP(_step_where)(columns, actions, parts, rewards, terminated, lo, hi, 1, 1, NULL, NULL);
        else
            LANE_LOOP(_step_where)(columns, actions, parts, rewards, terminated, lo, hi, 0, 1, NULL, NULL);
        return;
    }
#endif
    LANE_LOOP(_step_where)(columns, actions, parts, rewards, terminated, lo, hi, 0, 0, NULL, NULL);
}

static GYMCORE_FLATTEN LANE_TARGET void LANE_LOOP(_step_varied)(const gymcore_columns *columns, const void *actions, void *const *parts,
                                                double *rewards, gymcore_flag *terminated, int64_t lo, int64_t hi)
{
#ifdef LANE_UNIFORM
    double draws[GYMCORE_DRAW_BLOCK];
    int64_t found[GYMCORE_DRAW_BLOCK];
    for (int64_t first = lo; first < hi; first += GYMCORE_DRAW_BLOCK) {
        int64_t end = first + GYMCORE_DRAW_BLOCK < hi ? first + GYMCORE_DRAW_BLOCK : hi;
        LANE_LOOP(_find_all)(columns, actions, draws, found, first, end);
        LANE_LOOP(_step_varied_where)(columns, actions, parts, rewards, terminated, first, end, draws - first, found - first);
    }
#else
#ifdef LANE_ROUNDS
    for (int64_t first = lo; first < hi; first += GYMCORE_DRAW_BLOCK)
        LANE(_rounds)(columns, actions, first, first + GYMCORE_DRAW_BLOCK < hi ? first + GYMCORE_DRAW_BLOCK : hi);
#endif
    LANE_LOOP(_step_varied_where)(columns, actions, parts, rewards, terminated, lo, hi, NULL, NULL);
#endif
}

static GYMCORE_FLATTEN LANE_TARGET void LANE_LOOP(_observe)(const gymcore_columns *columns, void *const *parts, int64_t lo, int64_t hi)
{
    LANE_STATE(LANE_COLUMN)
    LANE_OBSERVATION_PARTS
    GYMCORE_INDEPENDENT_LANES
    for (int64_t i = lo; i < hi; i++) { /* loop: observe */
        LANE(_state) state;
        LANE_STATE(LANE_LOAD)
        LANE_OBSERVE_ROW(i)
    }
}

#undef LANE_LOOP
#undef LANE_ISA
#undef LANE_TARGET
