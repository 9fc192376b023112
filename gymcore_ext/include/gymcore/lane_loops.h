/* The batch loops of one environment for one instruction set; lanes.h includes this once per set. */
#define LANE_LOOP(name) GYMCORE_JOIN(LANE(name), LANE_ISA)

/* `usual` and `small_angles` are constants where this is called, so the compiler writes the loop once for each value. */
GYMCORE_INLINE LANE_TARGET void LANE_LOOP(_step_where)(const gymcore_columns *columns, const void *actions,
                                                       void *const *parts, double *rewards, gymcore_flag *terminated,
                                                       int64_t lo, int64_t hi, const int64_t *draws,
                                                       const int64_t *found, int usual, int small_angles)
{
    LANE_STATE(LANE_COLUMN)
    LANE(_parameters) parameters;
    LANE_PARAMETERS(LANE_LOAD_SHARED)
    LANE_LOAD_CONSTANTS
    if (usual) {
        LANE_USUALLY(LANE_SET_USUAL)
        LANE_TABLE_USUALLY(LANE_TABLE_SET_USUAL)
    }
    parameters.small_angles = small_angles;
    LANE_STREAMS
    LANE_OBSERVATION_PARTS
#ifdef LANE_UNIFORM
    GYMCORE_UNROLLED
#endif
    GYMCORE_INDEPENDENT_LANES
    for (int64_t i = lo; i < hi; i++) { /* loop: step, shared parameters */
        LANE(_state) state;
        gymcore_outcome outcome;
        LANE_STATE(LANE_LOAD)
        LANE_STEP(LANE_ACTION_AT(i));
        LANE_STEPPED
        LANE_OBSERVE_ROW(i)
        rewards[i] = outcome.reward;
        terminated[i] = outcome.terminated != 0;
    }
}

#define LANE_STEPS(name, usual, small_angles)                                                                          \
    static GYMCORE_OUTLINED GYMCORE_FLATTEN LANE_TARGET void LANE_LOOP(name)(                                          \
        const gymcore_columns *columns, const void *actions, void *const *parts, double *rewards,                      \
        gymcore_flag *terminated, int64_t lo, int64_t hi, const int64_t *draws, const int64_t *found)                   \
    {                                                                                                                  \
        LANE_LOOP(_step_where)                                                                                         \
        (columns, actions, parts, rewards, terminated, lo, hi, draws, found, usual, small_angles);                     \
    }
LANE_STEPS(_step_usual, 1, 1)
LANE_STEPS(_step_small, 0, 1)
LANE_STEPS(_step_any, 0, 0)
#undef LANE_STEPS

GYMCORE_INLINE LANE_TARGET void LANE_LOOP(_step_varied_where)(const gymcore_columns *columns, const void *actions, void *const *parts,
                                                double *rewards, gymcore_flag *terminated, int64_t lo, int64_t hi,
                                                const int64_t *draws, const int64_t *found)
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
        LANE_STEPPED
        LANE_OBSERVE_ROW(i)
        rewards[i] = outcome.reward;
        terminated[i] = outcome.terminated != 0;
    }
}

#ifdef LANE_UNIFORM
/* Draw a number for each of at most GYMCORE_DRAW_BLOCK lanes, and find what their steps begin with. */
GYMCORE_INLINE LANE_TARGET void LANE_LOOP(_find_all)(const gymcore_columns *columns, const void *actions,
                                                     int64_t *GYMCORE_RESTRICT draws, int64_t *GYMCORE_RESTRICT found,
                                                     int64_t lo, int64_t hi)
{
    LANE_STATE(LANE_COLUMN)
    LANE(_parameters) parameters;
    const LANE_CONSTANTS_TYPE *table = &parameters.table;
    LANE_LOAD_CONSTANTS
    if (LANE_UNIFORM) {
        gymcore_rng_draws(columns->rngs + lo, draws, hi - lo);
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

#ifdef LANE_ROUNDS
/* One round of `count` lanes, in two loops with all registers to themselves: their draws, and what they mean; returns how
 * many lanes wait for another, which are listed in the place of these. */
static GYMCORE_OUTLINED GYMCORE_FLATTEN LANE_TARGET void LANE_LOOP(_draw_all)(gymcore_rng *rngs, const int64_t *lanes,
                                                                              uint32_t *GYMCORE_RESTRICT halves,
                                                                              int64_t count)
{
    gymcore_rng_halves(rngs, lanes, halves, count);
}

static GYMCORE_OUTLINED GYMCORE_FLATTEN LANE_TARGET int64_t LANE_LOOP(_round_all)(const gymcore_columns *columns,
                                                                                  const void *actions,
                                                                                  int64_t *GYMCORE_RESTRICT lanes,
                                                                                  const uint32_t *GYMCORE_RESTRICT halves,
                                                                                  int64_t count)
{
    LANE_STATE(LANE_COLUMN)
    double *const state_columns[] = { LANE_STATE(LANE_COLUMN_OF) };
    int64_t left = 0;
    for (int64_t k = 0; k < count; k++) {
        int64_t i = lanes[k], draw = gymcore_rng_choose(columns->rngs + i, LANE_ROUNDS, halves[k]);
        lanes[left] = i;
        left += LANE(_round)(state_columns, i, LANE_ACTION_AT(i), draw);
    }
    return left;
}

/* Take lanes [lo, hi), at most GYMCORE_ROUND_BLOCK, through their rounds. */
static GYMCORE_OUTLINED GYMCORE_FLATTEN LANE_TARGET void LANE_LOOP(_rounds)(const gymcore_columns *columns,
                                                                            const void *actions, int64_t lo, int64_t hi)
{
    LANE_STATE(LANE_COLUMN)
    int64_t waiting[GYMCORE_ROUND_BLOCK + GYMCORE_LIST_MARGIN];
    uint32_t halves[GYMCORE_ROUND_BLOCK];
    uint8_t waits[GYMCORE_ROUND_BLOCK];
    GYMCORE_INDEPENDENT_LANES
    for (int64_t i = lo; i < hi; i++) { /* loop: wait */
        LANE(_state) state;
        LANE_STATE(LANE_LOAD)
        waits[i - lo] = (uint8_t)LANE(_waits)(&state, LANE_ACTION_AT(i));
    }
    if (columns->dead)
        for (int64_t i = lo; i < hi; i++)
            waits[i - lo] &= columns->dead[i] == 0;
    int64_t count = gymcore_flagged(waits - lo, lo, hi, waiting);
    while (count > 0) {
        LANE_LOOP(_draw_all)(columns->rngs, waiting, halves, count);
        count = LANE_LOOP(_round_all)(columns, actions, waiting, halves, count);
    }
}
#endif

static LANE_TARGET void LANE_LOOP(_step_shared)(const gymcore_columns *columns, const void *actions, void *const *parts,
                                                double *rewards, gymcore_flag *terminated, int64_t lo, int64_t hi)
{
    int usual = 1 LANE_USUALLY(LANE_IS_USUAL) LANE_TABLE_USUALLY(LANE_TABLE_IS_USUAL);
#if defined(LANE_UNIFORM)
    int64_t draws[GYMCORE_DRAW_BLOCK], found[GYMCORE_DRAW_BLOCK];
    for (int64_t first = lo; first < hi; first += GYMCORE_DRAW_BLOCK) {
        int64_t end = first + GYMCORE_DRAW_BLOCK < hi ? first + GYMCORE_DRAW_BLOCK : hi;
        LANE_LOOP(_find_all)(columns, actions, draws, found, first, end);
        (usual ? LANE_LOOP(_step_usual) : LANE_LOOP(_step_any))(columns, actions, parts, rewards, terminated, first, end,
                                                                draws - first, found - first);
    }
#else
    int64_t margins = 0;
#ifdef LANE_ROUNDS
    for (int64_t first = lo; first < hi; first += GYMCORE_ROUND_BLOCK)
        LANE_LOOP(_rounds)(columns, actions, first, first + GYMCORE_ROUND_BLOCK < hi ? first + GYMCORE_ROUND_BLOCK : hi);
#endif
#ifdef LANE_SMALL_ANGLE
    const double *angles = columns->state[LANE(GYMCORE_JOIN(_at_, LANE_SMALL_ANGLE))];
    GYMCORE_UNROLLED
    for (int64_t i = lo; i < hi; i++) { /* loop: look for large angles */
        margins |= gymcore_small_angle_margin(angles[i]);
    }
#endif
    (margins < 0 ? LANE_LOOP(_step_any) : usual ? LANE_LOOP(_step_usual) : LANE_LOOP(_step_small))(
        columns, actions, parts, rewards, terminated, lo, hi, NULL, NULL);
#endif
}

static GYMCORE_FLATTEN LANE_TARGET void LANE_LOOP(_step_varied)(const gymcore_columns *columns, const void *actions, void *const *parts,
                                                double *rewards, gymcore_flag *terminated, int64_t lo, int64_t hi)
{
#ifdef LANE_UNIFORM
    int64_t draws[GYMCORE_DRAW_BLOCK], found[GYMCORE_DRAW_BLOCK];
    for (int64_t first = lo; first < hi; first += GYMCORE_DRAW_BLOCK) {
        int64_t end = first + GYMCORE_DRAW_BLOCK < hi ? first + GYMCORE_DRAW_BLOCK : hi;
        LANE_LOOP(_find_all)(columns, actions, draws, found, first, end);
        LANE_LOOP(_step_varied_where)(columns, actions, parts, rewards, terminated, first, end, draws - first, found - first);
    }
#else
#ifdef LANE_ROUNDS
    for (int64_t first = lo; first < hi; first += GYMCORE_ROUND_BLOCK)
        LANE_LOOP(_rounds)(columns, actions, first, first + GYMCORE_ROUND_BLOCK < hi ? first + GYMCORE_ROUND_BLOCK : hi);
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

static GYMCORE_FLATTEN LANE_TARGET void LANE_LOOP(_reset_each)(const gymcore_columns *columns, gymcore_rng *rngs,
                                                               const double *bounds, const int64_t *lanes,
                                                               int64_t count)
{
    LANE_STATE(LANE_COLUMN)
    LANE(_bounds) limits;
    LANE(_state) state;
    LANE(_parameters) parameters;
    memcpy(&limits, bounds, sizeof limits);
    LANE_LOAD_CONSTANTS
    parameters.small_angles = 0;
    for (int64_t k = 0; k < count; k++) {
        int64_t i = lanes[k];
        LANE_PARAMETERS(LANE_LOAD_STRIDED)
        LANE(_reset)(&state, &parameters, &limits, rngs + i);
        LANE_STATE(LANE_STORE)
    }
}

#ifdef LANE_DEALS
/* The streams of at most GYMCORE_AHEAD_BLOCK lanes in a loop of their own: it is a chain of multiplications, of which the
 * processor overlaps more the shorter the loop is. */
static GYMCORE_OUTLINED GYMCORE_FLATTEN LANE_TARGET void LANE_LOOP(_look)(const gymcore_rng *rngs, const int64_t *lanes,
                                                                          gymcore_ahead *aheads, int64_t count)
{
    gymcore_rng_look(rngs, lanes, aheads, count);
}

static GYMCORE_FLATTEN LANE_TARGET void LANE_LOOP(_reset_dealt)(const gymcore_columns *columns, gymcore_rng *rngs,
                                                                const double *bounds, const int64_t *lanes,
                                                                int64_t count)
{
    LANE_STATE(LANE_COLUMN)
    LANE(_state) state;
    gymcore_ahead aheads[GYMCORE_AHEAD_BLOCK];
    int64_t refused[GYMCORE_AHEAD_BLOCK + 1];
    while (count > 0) {
        int64_t some = count < GYMCORE_AHEAD_BLOCK ? count : GYMCORE_AHEAD_BLOCK, refusals = 0;
        LANE_LOOP(_look)(rngs, lanes, aheads, some);
        for (int64_t k = 0; k < some; k++) {
            int64_t i = lanes[k];
            int64_t taken = LANE(_deal)(&state, gymcore_next_halves(aheads + k));
            if (taken == 0) { /* nearly never */
                refused[refusals++] = i;
                continue;
            }
            gymcore_rng_take(rngs + i, aheads + k, taken);
            LANE_STATE(LANE_STORE)
        }
        if (refusals)
            LANE_LOOP(_reset_each)(columns, rngs, bounds, refused, refusals);
        lanes += some;
        count -= some;
    }
}
#endif

#undef LANE_LOOP
#undef LANE_ISA
#undef LANE_TARGET
