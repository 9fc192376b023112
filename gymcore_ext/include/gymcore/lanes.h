/* Expands the physics of one lane into loops over a batch, and describes it to the engine (kernel.h).
 *
 * A Cython module defines the physics under C names that begin with the name of the environment, such as `pole`. Its structs
 * have float64 fields only, each of which becomes a column of lane memory; `make_kernel` passes their names to the engine:
 *   pole_state            the state of a lane
 *   pole_parameters       parameters, which users may set for all lanes or for each lane
 *   pole_reset_options    the values of `reset(options=...)`
 * and functions for one lane, which the compiler inlines into the loops below and turns into vector code:
 *   void pole_reset(pole_state *, const pole_parameters *, const pole_reset_options *, gymcore_rng *)
 *   void pole_step(pole_state *, const pole_parameters *, int64_t action | const float *action, gymcore_outcome *)
 *                               is also called for lanes whose episodes have ended (their results are discarded), and for any
 *                               state that a caller has set: loops must end, and indices be in range, for all states
 *   void pole_observe(const pole_state *, float *observation | int64_t *observation)
 *
 * Before it includes this file, it defines
 *   LANE_NAME                   the environment's C name
 *   LANE_OBSERVATION_SIZE       float32 values of one observation, or LANE_OBSERVATION_INTEGERS, int64 values
 *   LANE_DISCRETE_ACTIONS       number of actions (-1: the table decides), or LANE_CONTINUOUS_ACTIONS, float32 values of one
 * and optionally
 *   LANE_STEP_USES_RNG          a step uses random numbers, which a separate loop draws first. The step is then vector code:
 *                               void pole_draw(pole_state *, const pole_parameters *, int64_t action | const float *action,
 *                                              gymcore_rng *)
 *                               With a table, this function does not exist: the last argument of a step is gymcore_rng *
 *   LANE_TABLE                  struct that all lanes share; reset and step take a const pointer to it after the parameters.
 *                               gymcore_draw_outcomes draws for many lanes first; the result is an argument of the step
 *   LANE_TABLE_NAME             name of the capsules that hold a table
 *   LANE_INFOS(F)               F(name, FLOAT64 | INT64 | INT8, size) for every entry of the infos; then there is also
 *                               void pole_write_infos(const pole_state *, [const table *,] void *const *infos), which
 *                               writes each entry of the lane to the pointer of its place in the list
 *   LANE_PARAMETERS, LANE_RESET_OPTIONS   the type of the struct, if its name is not the above: gymcore_none for none
 */
#ifndef GYMCORE_ISA

#include "kernel.h"
#include "math.h"

/* Functions of the physics that Cython declares inline. */
#undef CYTHON_INLINE
#define CYTHON_INLINE inline GYMCORE_ALWAYS_INLINE

#define LANE(suffix) GYMCORE_JOIN(LANE_NAME, suffix)
#define LANE_LOOP(suffix, isa) GYMCORE_JOIN(LANE(suffix), isa)
#ifndef LANE_PARAMETERS
#define LANE_PARAMETERS LANE(_parameters)
#endif
#ifndef LANE_RESET_OPTIONS
#define LANE_RESET_OPTIONS LANE(_reset_options)
#endif

/* The number of columns of a struct, and loops that copy one lane from columns to the struct and back. The counts are
 * constants, so compilers unroll these loops. */
#define LANE_FIELDS(type) ((int)(sizeof(type) / sizeof(double)))
#define LANE_STATE_COLUMNS                                                                                             \
    double *GYMCORE_RESTRICT column[LANE_FIELDS(LANE(_state))];                                                        \
    GYMCORE_UNROLLED_FULLY                                                                                             \
    for (int k = 0; k < LANE_FIELDS(LANE(_state)); k++)                                                                \
        column[k] = columns->state[k];
#define LANE_LOAD_STATE                                                                                                \
    LANE(_state) state;                                                                                                \
    GYMCORE_UNROLLED_FULLY                                                                                             \
    for (int k = 0; k < LANE_FIELDS(LANE(_state)); k++)                                                                \
        ((double *)&state)[k] = column[k][i];
#define LANE_STORE_STATE                                                                                               \
    GYMCORE_UNROLLED_FULLY                                                                                             \
    for (int k = 0; k < LANE_FIELDS(LANE(_state)); k++)                                                                \
        column[k][i] = ((double *)&state)[k];
#define LANE_PARAMETER_COLUMNS                                                                                         \
    const double *GYMCORE_RESTRICT parameter[LANE_FIELDS(LANE_PARAMETERS) + 1];                                        \
    GYMCORE_UNROLLED_FULLY                                                                                             \
    for (int k = 0; k < LANE_FIELDS(LANE_PARAMETERS); k++)                                                             \
        parameter[k] = columns->parameters[k];
#define LANE_LOAD_PARAMETERS(place)                                                                                    \
    GYMCORE_UNROLLED_FULLY                                                                                             \
    for (int k = 0; k < LANE_FIELDS(LANE_PARAMETERS); k++)                                                             \
        ((double *)&parameters)[k] = parameter[k][place];

#ifdef LANE_DISCRETE_ACTIONS
#define LANE_ACTION_TYPE int64_t
#define LANE_ACTION(i) ((const int64_t *)actions)[i]
static const int64_t LANE(_action_range)[] = { 0, LANE_DISCRETE_ACTIONS };
#else
#define LANE_ACTION_TYPE const float *
#define LANE_ACTION(i) ((const float *)actions + (i) * LANE_CONTINUOUS_ACTIONS)
#endif

#ifdef LANE_OBSERVATION_INTEGERS
#define LANE_PART_COUNT LANE_OBSERVATION_INTEGERS
static const gymcore_part LANE(_parts)[LANE_PART_COUNT] = { { GYMCORE_INT64, { 0 } } }; /* the others are zero: the same */
#define LANE_OBSERVATION_NUMBER int64_t
#define LANE_OBSERVATION_COLUMNS                                                                                       \
    int64_t *GYMCORE_RESTRICT observations[LANE_PART_COUNT];                                                           \
    GYMCORE_UNROLLED_FULLY                                                                                             \
    for (int k = 0; k < LANE_PART_COUNT; k++)                                                                          \
        observations[k] = (int64_t *)parts[k];
#define LANE_OBSERVE                                                                                                   \
    int64_t row[LANE_PART_COUNT];                                                                                      \
    LANE(_observe)(&state, row);                                                                                       \
    GYMCORE_UNROLLED_FULLY                                                                                             \
    for (int k = 0; k < LANE_PART_COUNT; k++)                                                                          \
        observations[k][i] = row[k];
#else
#define LANE_PART_COUNT 1
static const gymcore_part LANE(_parts)[] = { { GYMCORE_FLOAT32, { LANE_OBSERVATION_SIZE } } };
#define LANE_OBSERVATION_NUMBER float
#define LANE_OBSERVATION_COLUMNS float *GYMCORE_RESTRICT observations = (float *)parts[0];
#define LANE_OBSERVE LANE(_observe)(&state, observations + i * LANE_OBSERVATION_SIZE);
#endif

/* A copy of the table, because a compiler need not reload a local variable after every store. */
#ifdef LANE_TABLE
#define LANE_TABLE_COPY const LANE_TABLE table = *(const LANE_TABLE *)columns->shared;
#define LANE_TABLE_TYPE const LANE_TABLE *,
#define LANE_TABLE_ARGUMENT &table,
#define LANE_OUTCOME_TYPE , int64_t
#define LANE_OUTCOME_ARGUMENT , outcomes[i - lo]
GYMCORE_INLINE void gymcore_draw_outcomes(const LANE_TABLE *, gymcore_rng *, const double *, const int64_t *, int64_t *,
                                          int64_t);
#else
#define LANE_TABLE_COPY
#define LANE_TABLE_TYPE
#define LANE_TABLE_ARGUMENT
#define LANE_OUTCOME_TYPE
#define LANE_OUTCOME_ARGUMENT
#define LANE_TABLE_NAME NULL
#endif

#if defined(LANE_STEP_USES_RNG) && defined(LANE_TABLE)
#define LANE_RNG_TYPE , gymcore_rng *
#define LANE_RNG_ARGUMENT , rngs + i
#else
#define LANE_RNG_TYPE
#define LANE_RNG_ARGUMENT
#endif

GYMCORE_INLINE void LANE(_reset)(LANE(_state) *, const LANE_PARAMETERS *, LANE_TABLE_TYPE const LANE_RESET_OPTIONS *,
                                 gymcore_rng *);
GYMCORE_INLINE void LANE(_step)(LANE(_state) *, const LANE_PARAMETERS *, LANE_TABLE_TYPE LANE_ACTION_TYPE,
                                gymcore_outcome * LANE_OUTCOME_TYPE LANE_RNG_TYPE);
GYMCORE_INLINE void LANE(_observe)(const LANE(_state) *, LANE_OBSERVATION_NUMBER *);
#if defined(LANE_STEP_USES_RNG) && !defined(LANE_TABLE)
GYMCORE_INLINE void LANE(_draw)(LANE(_state) *, const LANE_PARAMETERS *, LANE_ACTION_TYPE, gymcore_rng *);
#endif

static void LANE(_reset_lanes)(const gymcore_columns *columns, const double *reset_options, const int64_t *lanes,
                               int64_t count)
{
    LANE_STATE_COLUMNS
    LANE_PARAMETER_COLUMNS
    LANE_TABLE_COPY
    LANE_RESET_OPTIONS options;
    memcpy(&options, reset_options, sizeof(double) * LANE_FIELDS(LANE_RESET_OPTIONS));
    for (int64_t k = 0; k < count; k++) {
        int64_t i = lanes[k];
        LANE_PARAMETERS parameters;
        LANE(_state) state;
        LANE_LOAD_PARAMETERS(i * columns->parameter_stride)
        LANE(_reset)(&state, &parameters, LANE_TABLE_ARGUMENT &options, columns->rngs + i);
        LANE_STORE_STATE
    }
}

static void LANE(_observe_lanes)(const gymcore_columns *columns, void *const *parts, const int64_t *lanes, int64_t lo,
                                 int64_t hi)
{
    LANE_STATE_COLUMNS
    LANE_OBSERVATION_COLUMNS
    for (int64_t k = lo; k < hi; k++) {
        int64_t i = lanes ? lanes[k] : k;
        LANE_LOAD_STATE
        LANE_OBSERVE
    }
}

#ifdef LANE_INFOS
GYMCORE_INLINE void LANE(_write_infos)(const LANE(_state) *, LANE_TABLE_TYPE void *const *);

#define LANE_INFO_FIELD(name, type, size) { #name, GYMCORE_##type, size, 0 },
static const gymcore_info_field LANE(_info_fields)[] = { LANE_INFOS(LANE_INFO_FIELD) };
#define LANE_INFO_COUNT ((int)(sizeof LANE(_info_fields) / sizeof LANE(_info_fields)[0]))
#define LANE_BYTES_FLOAT64 8
#define LANE_BYTES_INT64 8
#define LANE_BYTES_INT8 1
#define LANE_INFO_BYTES(name, type, size) LANE_BYTES_##type * size,

static void LANE(_write_infos_of_lanes)(const gymcore_columns *columns, void *const *parts, const int64_t *lanes,
                                        int64_t lo, int64_t hi)
{
    static const int64_t bytes[] = { LANE_INFOS(LANE_INFO_BYTES) };
    void *infos[LANE_INFO_COUNT];
    LANE_STATE_COLUMNS
    LANE_TABLE_COPY
    for (int64_t k = lo; k < hi; k++) {
        int64_t i = lanes ? lanes[k] : k;
        LANE_LOAD_STATE
        for (int part = 0; part < LANE_INFO_COUNT; part++)
            infos[part] = (char *)parts[part] + i * bytes[part];
        LANE(_write_infos)(&state, LANE_TABLE_ARGUMENT infos);
    }
}
#endif

/* The step loops, which are the second half of this file. */
#define GYMCORE_LOOPS "lanes.h"
#include "instruction_sets.h"
#define LANE_STEP_LOOPS(isa) { LANE_LOOP(_step_shared, isa), LANE_LOOP(_step_varied, isa) },

static double LANE(_parameter_defaults)[LANE_FIELDS(LANE_PARAMETERS) + 1];
static double LANE(_reset_option_defaults)[LANE_FIELDS(LANE_RESET_OPTIONS) + 1];

/* `make_kernel` sets the names and defaults. */
static gymcore_kernel LANE(_kernel) = {
    .size = sizeof(gymcore_kernel),
    .abi = GYMCORE_KERNEL_ABI,
    .isa_count = GYMCORE_ISA_COUNT,
    .name = GYMCORE_TEXT(LANE_NAME),
    .state_count = LANE_FIELDS(LANE(_state)),
    .parameter_count = LANE_FIELDS(LANE_PARAMETERS),
    .reset_option_count = LANE_FIELDS(LANE_RESET_OPTIONS),
    .part_count = LANE_PART_COUNT,
    .parts = LANE(_parts),
#ifdef LANE_DISCRETE_ACTIONS
    .action_type = GYMCORE_INT64,
    .action_ranges = LANE(_action_range),
#else
    .action_type = GYMCORE_FLOAT32,
    .action_size = LANE_CONTINUOUS_ACTIONS,
#endif
#ifdef LANE_INFOS
    .info_count = LANE_INFO_COUNT,
    .infos = LANE(_info_fields),
    .write_infos = LANE(_write_infos_of_lanes),
#endif
    .parameter_defaults = LANE(_parameter_defaults),
    .reset_option_defaults = LANE(_reset_option_defaults),
    .reset = LANE(_reset_lanes),
    .observe = LANE(_observe_lanes),
    .shared_name = LANE_TABLE_NAME,
    .step = { GYMCORE_EACH_ISA(LANE_STEP_LOOPS) },
};

#else /* the loops of one instruction set */

/* `varied` is a constant in each call. Lanes are observed in the same loop: a separate loop would reload the state that
 * this one has in registers, and could not overlap with the latency of the step. */
GYMCORE_INLINE GYMCORE_TARGET void LANE_LOOP(_step_lanes, GYMCORE_ISA)(
    const gymcore_columns *columns, const void *actions, void *const *parts, double *rewards, gymcore_flag *terminated,
    int64_t lo, int64_t hi, int varied)
{
    LANE_STATE_COLUMNS
    LANE_PARAMETER_COLUMNS
    LANE_TABLE_COPY
    LANE_OBSERVATION_COLUMNS
    LANE_PARAMETERS parameters;
#ifdef LANE_STEP_USES_RNG
    gymcore_rng *GYMCORE_RESTRICT rngs = columns->rngs;
#endif
    if (!varied) {
        LANE_LOAD_PARAMETERS(0)
    }
#ifdef LANE_TABLE
    int64_t outcomes[GYMCORE_BLOCK];
    gymcore_draw_outcomes(&table, columns->rngs + lo, column[0] + lo, (const int64_t *)actions + lo, outcomes, hi - lo);
#elif defined(LANE_STEP_USES_RNG)
    int64_t stepped[GYMCORE_BLOCK], count = 0;
    for (int64_t i = lo; i < hi; i++) { /* list the lanes that are not reset; branches would be mispredicted */
        stepped[count] = i;
        count += !(columns->resetting && columns->resetting[i]);
    }
    for (int64_t k = 0; k < count; k++) {
        int64_t i = stepped[k];
        if (varied) {
            LANE_LOAD_PARAMETERS(i)
        }
        LANE_LOAD_STATE
        LANE(_draw)(&state, &parameters, LANE_ACTION(i), rngs + i);
        LANE_STORE_STATE
    }
#endif
    GYMCORE_INDEPENDENT_LANES
    for (int64_t i = lo; i < hi; i++) { /* loop: step */
        gymcore_outcome outcome;
        if (varied) {
            LANE_LOAD_PARAMETERS(i)
        }
        LANE_LOAD_STATE
        LANE(_step)(&state, &parameters, LANE_TABLE_ARGUMENT LANE_ACTION(i), &outcome LANE_OUTCOME_ARGUMENT
                    LANE_RNG_ARGUMENT);
        LANE_STORE_STATE
        LANE_OBSERVE
        rewards[i] = outcome.reward;
        terminated[i] = outcome.terminated != 0;
    }
}

static GYMCORE_FLATTEN GYMCORE_TARGET void LANE_LOOP(_step_shared, GYMCORE_ISA)(
    const gymcore_columns *columns, const void *actions, void *const *parts, double *rewards, gymcore_flag *terminated,
    int64_t lo, int64_t hi)
{
    LANE_LOOP(_step_lanes, GYMCORE_ISA)(columns, actions, parts, rewards, terminated, lo, hi, 0);
}

static GYMCORE_FLATTEN GYMCORE_TARGET void LANE_LOOP(_step_varied, GYMCORE_ISA)(
    const gymcore_columns *columns, const void *actions, void *const *parts, double *rewards, gymcore_flag *terminated,
    int64_t lo, int64_t hi)
{
    LANE_LOOP(_step_lanes, GYMCORE_ISA)(columns, actions, parts, rewards, terminated, lo, hi, 1);
}

#endif
