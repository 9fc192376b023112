/* Expands the physics of one lane into batch loops, and describes them to the engine (kernel.h).
 *
 * Before including it, define
 *   LANE_NAME                    the environment's C name, say `pole`
 *   LANE_STATE(F)                F(field) for every float64 of a lane's state
 *   LANE_PARAMETERS(F)           F(field, default) for every constructor parameter
 *   LANE_BOUNDS(F)               F(field, default) for every number that `reset(options=...)` takes
 *   LANE_OBSERVATION_SIZE        float32 values of one observation, or
 *   LANE_OBSERVATION_INTEGERS    int64 values of one observation
 *   LANE_SMALL_ANGLE             optional: a field of the state, an angle that is nearly always small; `small_angles` of the
 *                                parameters then says whether it is in all lanes of a loop (see gymcore_sincos_within)
 *   LANE_USUALLY(F)              optional: F(field, value) for switches among the parameters; lanes that have these values, and
 *                                small angles, are stepped by a loop in which they are constants
 *   LANE_TABLE_USUALLY(F)        optional, with LANE_CONSTANTS: the same of the `table`
 *   LANE_DISCRETE_ACTIONS        how many actions (-1: the constants say it), or LANE_CONTINUOUS_ACTIONS: float32 values
 *                                of one action
 *   LANE_DRAWS                   optional: a step draws random numbers; the function then takes a gymcore_rng * at the end
 *   LANE_UNIFORM                 optional, with LANE_DRAWS and LANE_CONSTANTS: every step draws a uniform number first, 53 bits; the
 *                                function takes it before the gymcore_rng *, where this expression of the `table` says
 *                                that it matters (else it gets 0). Before that comes what `find` returned, which is called
 *                                for many lanes first, in a loop that can be vector code. Drawing for many lanes and then looking at what it means is
 *                                faster than both in one loop, whose body is too long for the processor to overlap
 *   LANE_ROUNDS                  optional: before its step a lane draws numbers below this one, not known how many. All that
 *                                changes its state happens then; the step itself says what came of it, and lanes that are
 *                                dead (kernel.h) are not changed at all
 *   LANE_DEALS                   optional: a reset nearly always takes five or six halves of words of the stream
 *   LANE_CONSTANTS               optional: name of the capsules with a table that all lanes share, which the functions
 *                                find at `table` of the parameters, a copy of this struct: what a local copy holds need
 *                                not be read again after every store
 *   LANE_CONSTANTS_TYPE          with LANE_CONSTANTS: the struct
 *   LANE_NANOSECONDS             optional: about what a step of a lane takes when the loop is vector code of four float64, 5
 *                                if not defined; how many threads share the steps of a batch follows from it
 *   LANE_INFOS(F)                optional: F(field, type, size) for every entry of the infos; type is float64, int64, int8
 * and define afterwards, in Cython, with these C names:
 *   void pole_reset(pole_state *, const pole_parameters *, const pole_bounds *, gymcore_rng *)
 *   void pole_step(pole_state *, const pole_parameters *, int64_t action | const float *action, gymcore_outcome *)
 *   int64_t pole_find(const pole_state *, const pole_parameters *, int64_t action, int64_t draw), with LANE_UNIFORM
 *   int pole_waits(const pole_state *, int64_t action) and
 *   int64_t pole_round(double *const *state, int64_t lane, int64_t action, int64_t draw), with LANE_ROUNDS: whether a lane
 *       draws, and what a draw means, which says whether the lane draws again; `state` are the columns in the order of
 *       LANE_STATE. Lanes that wait are listed and go through a round together, so that no branch depends on a random
 *       number
 *   int pole_deal(pole_state *, const uint32_t *halves), with LANE_DEALS: a reset by the next six halves of words of the
 *       stream, of which it takes five or six, and returns how many; or 0 to have pole_reset do it, draw by draw
 *   void pole_observe(const pole_state *, float | int64_t *observation)
 *   void pole_inform(const pole_state *, const pole_parameters *, pole_infos *), if there are infos: where to write each
 * The compiler inlines them into every loop below and vectorises over lanes.
 */
#include "../../engine/flags.h"
#include "kernel.h"
#include "math.h"

#define LANE(suffix) GYMCORE_JOIN(LANE_NAME, suffix)
#define LANE_FIELD(field, ...) double field;
#define LANE_ONE(...) +1
#define LANE_NAME_OF(field, ...) #field " "
#define LANE_DEFAULT(field, value) value,

typedef struct { LANE_STATE(LANE_FIELD) } LANE(_state);
typedef struct {
    LANE_PARAMETERS(LANE_FIELD)
#ifdef LANE_CONSTANTS
    LANE_CONSTANTS_TYPE table;
#endif
    int small_angles;      /* see LANE_SMALL_ANGLE */
} LANE(_parameters);
typedef struct { LANE_BOUNDS(LANE_FIELD) double end; /* a struct may not be empty */ } LANE(_bounds);

#if defined(LANE_DISCRETE_ACTIONS)
typedef int64_t LANE(_action);
#define LANE_ACTION_AT(i) (((const int64_t *)actions)[i])
#define LANE_ACTION_SIZE 0
#else
typedef const float *LANE(_action);
#define LANE_ACTION_AT(i) ((const float *)actions + (i) * LANE_CONTINUOUS_ACTIONS)
#define LANE_ACTION_SIZE LANE_CONTINUOUS_ACTIONS
#define LANE_DISCRETE_ACTIONS 0
#endif

#ifdef LANE_OBSERVATION_INTEGERS
#define LANE_OBSERVATION_SIZE LANE_OBSERVATION_INTEGERS
#define LANE_OBSERVATION_TYPE GYMCORE_INT64
typedef int64_t LANE(_number);
#define LANE_OBSERVATION_PARTS                                                                                         \
    int64_t *columns_of[LANE_OBSERVATION_SIZE];                                                                        \
    for (int k = 0; k < LANE_OBSERVATION_SIZE; k++)                                                                    \
        columns_of[k] = (int64_t *)parts[k];
#define LANE_OBSERVE_ROW(i)                                                                                            \
    int64_t row[LANE_OBSERVATION_SIZE];                                                                                \
    LANE(_observe)(&state, row);                                                                                       \
    for (int k = 0; k < LANE_OBSERVATION_SIZE; k++)                                                                    \
        columns_of[k][i] = row[k];
#else
#define LANE_OBSERVATION_TYPE GYMCORE_FLOAT32
typedef float LANE(_number);
#define LANE_OBSERVATION_PARTS float *observations = (float *)parts[0];
#define LANE_OBSERVE_ROW(i) LANE(_observe)(&state, observations + (i) * LANE_OBSERVATION_SIZE);
#endif

#if defined(LANE_UNIFORM)
#define LANE_STREAMS gymcore_rng *GYMCORE_RESTRICT streams = columns->rngs;
#define LANE_STEP(action) LANE(_step)(&state, &parameters, action, &outcome, found[i], draws[i], streams + i)
GYMCORE_INLINE int64_t LANE(_find)(const LANE(_state) *, const LANE(_parameters) *, LANE(_action), int64_t);
GYMCORE_INLINE void LANE(_step)(LANE(_state) *, const LANE(_parameters) *, LANE(_action), gymcore_outcome *, int64_t,
                                int64_t, gymcore_rng *);
#elif defined(LANE_DRAWS)
#define LANE_STREAMS gymcore_rng *GYMCORE_RESTRICT streams = columns->rngs;
#define LANE_STEP(action) LANE(_step)(&state, &parameters, action, &outcome, streams + i)
GYMCORE_INLINE void LANE(_step)(LANE(_state) *, const LANE(_parameters) *, LANE(_action), gymcore_outcome *,
                                gymcore_rng *);
#else
#define LANE_STREAMS
#define LANE_STEP(action) LANE(_step)(&state, &parameters, action, &outcome)
GYMCORE_INLINE void LANE(_step)(LANE(_state) *, const LANE(_parameters) *, LANE(_action), gymcore_outcome *);
#endif

GYMCORE_INLINE void LANE(_reset)(LANE(_state) *, const LANE(_parameters) *, const LANE(_bounds) *, gymcore_rng *);
GYMCORE_INLINE void LANE(_observe)(const LANE(_state) *, LANE(_number) *);

#define LANE_STATE_INDEX(field, ...) LANE(_at_##field),
enum { LANE_STATE(LANE_STATE_INDEX) LANE(_state_end) };
#define LANE_PARAMETER_INDEX(field, ...) LANE(_with_##field),
enum { LANE_PARAMETERS(LANE_PARAMETER_INDEX) LANE(_parameters_end) };

#define LANE_COLUMN(field, ...) double *GYMCORE_RESTRICT column_##field = columns->state[LANE(_at_##field)];
#define LANE_COLUMN_OF(field, ...) column_##field,
#define LANE_PARAMETER_COLUMN(field, ...) \
    const double *GYMCORE_RESTRICT parameter_##field = columns->parameters[LANE(_with_##field)];
#define LANE_LOAD(field, ...) state.field = column_##field[i];
#define LANE_STORE(field, ...) column_##field[i] = state.field;
#define LANE_LOAD_PARAMETER(field, ...) parameters.field = parameter_##field[i];
#ifndef LANE_NANOSECONDS
#define LANE_NANOSECONDS 5
#endif
#ifndef LANE_USUALLY
#define LANE_USUALLY(F)
#endif
#ifndef LANE_TABLE_USUALLY
#define LANE_TABLE_USUALLY(F)
#endif
#define LANE_TABLE_IS_USUAL(field, value) &&((const LANE_CONSTANTS_TYPE *)columns->constants)->field == (value)
#define LANE_TABLE_SET_USUAL(field, value) parameters.table.field = value;
#define LANE_IS_USUAL(field, value) &&columns->parameters[LANE(_with_##field)][0] == (value)
#define LANE_SET_USUAL(field, value) parameters.field = value;
#define LANE_LOAD_SHARED(field, ...) parameters.field = columns->parameters[LANE(_with_##field)][0];

#ifdef LANE_ROUNDS
#define LANE_STEPPED
#else
#define LANE_STEPPED LANE_STATE(LANE_STORE)
#endif

#ifdef LANE_CONSTANTS
#define LANE_LOAD_CONSTANTS parameters.table = *(const LANE_CONSTANTS_TYPE *)columns->constants;
#else
#define LANE_LOAD_CONSTANTS
#endif

#define LANE_LOAD_STRIDED(field, ...) \
    parameters.field = columns->parameters[LANE(_with_##field)][i * columns->parameter_stride];

#ifdef LANE_DEALS
#define LANE_RESET_LOOP(isa) _reset_dealt_##isa
GYMCORE_INLINE int LANE(_deal)(LANE(_state) *, const uint32_t *);
#else
#define LANE_RESET_LOOP(isa) _reset_each_##isa
#endif

static void LANE(_observe_lanes)(const gymcore_columns *columns, void *const *parts, const int64_t *lanes, int64_t count)
{
    LANE_STATE(LANE_COLUMN)
    LANE_OBSERVATION_PARTS
    for (int64_t k = 0; k < count; k++) {
        int64_t i = lanes[k];
        LANE(_state) state;
        LANE_STATE(LANE_LOAD)
        LANE_OBSERVE_ROW(i)
    }
}

#ifdef LANE_ROUNDS
GYMCORE_INLINE int LANE(_waits)(const LANE(_state) *, LANE(_action));
GYMCORE_INLINE int64_t LANE(_round)(double *const *, int64_t, LANE(_action), int64_t);
#endif

#ifdef LANE_INFOS
#define LANE_INFO_FIELD(field, type, size) gymcore_##type *field;
typedef struct { LANE_INFOS(LANE_INFO_FIELD) } LANE(_infos);
GYMCORE_INLINE void LANE(_inform)(const LANE(_state) *, const LANE(_parameters) *, LANE(_infos) *);

#define LANE_INFO_INDEX(field, type, size) LANE(_info_##field),
enum { LANE_INFOS(LANE_INFO_INDEX) LANE(_infos_end) };
#define LANE_INFO_COLUMN(field, type, size)                                                                            \
    gymcore_##type *GYMCORE_RESTRICT info_##field = (gymcore_##type *)parts[LANE(_info_##field)];
#define LANE_INFO_ROW(field, type, size) infos.field = info_##field + i * size;
#define LANE_INFORM_ROW                                                                                                \
    LANE(_state) state;                                                                                                \
    LANE(_infos) infos;                                                                                                \
    LANE_STATE(LANE_LOAD)                                                                                              \
    LANE_PARAMETERS(LANE_LOAD_STRIDED)                                                                                 \
    LANE_INFOS(LANE_INFO_ROW)                                                                                          \
    LANE(_inform)(&state, &parameters, &infos);

static void LANE(_inform_range)(const gymcore_columns *columns, void *const *parts, int64_t lo, int64_t hi)
{
    LANE(_parameters) parameters;
    LANE_LOAD_CONSTANTS
    parameters.small_angles = 0;
    LANE_STATE(LANE_COLUMN)
    LANE_INFOS(LANE_INFO_COLUMN)
    GYMCORE_UNROLLED
    for (int64_t i = lo; i < hi; i++) {
        LANE_INFORM_ROW
    }
}

static void LANE(_inform_lanes)(const gymcore_columns *columns, void *const *parts, const int64_t *lanes, int64_t count)
{
    LANE(_parameters) parameters;
    LANE_LOAD_CONSTANTS
    parameters.small_angles = 0;
    LANE_STATE(LANE_COLUMN)
    LANE_INFOS(LANE_INFO_COLUMN)
    for (int64_t k = 0; k < count; k++) {
        int64_t i = lanes[k];
        LANE_INFORM_ROW
    }
}

#define LANE_INFO_FACTS(field, type, size) { #field, GYMCORE_INFO_TYPE_##type, size },
#define GYMCORE_INFO_TYPE_float64 GYMCORE_FLOAT64
#define GYMCORE_INFO_TYPE_int64 GYMCORE_INT64
#define GYMCORE_INFO_TYPE_int8 GYMCORE_INT8
static const gymcore_info_field LANE(_info_fields)[] = { LANE_INFOS(LANE_INFO_FACTS) };
#endif

#define LANE_ISA _baseline
#define LANE_TARGET
#include "lane_loops.h"
#if GYMCORE_ISA_COUNT > 1
#define LANE_ISA _v3
#define LANE_TARGET GYMCORE_TARGET_V3
#include "lane_loops.h"
#define LANE_ISA _v4
#define LANE_TARGET GYMCORE_TARGET_V4
#include "lane_loops.h"
#endif

static const double LANE(_parameter_defaults)[] = { LANE_PARAMETERS(LANE_DEFAULT) 0.0 }; /* none may be empty */
static const double LANE(_bound_defaults)[] = { LANE_BOUNDS(LANE_DEFAULT) 0.0 };

static const gymcore_kernel LANE(_kernel) = {
    GYMCORE_KERNEL_ABI,
    GYMCORE_ISA_COUNT,
    GYMCORE_TEXT(LANE_NAME),
    "" LANE_STATE(LANE_NAME_OF),
    "" LANE_PARAMETERS(LANE_NAME_OF),
    "" LANE_BOUNDS(LANE_NAME_OF),
    0 LANE_STATE(LANE_ONE),
    0 LANE_PARAMETERS(LANE_ONE),
    0 LANE_BOUNDS(LANE_ONE),
    LANE_OBSERVATION_TYPE,
    LANE_OBSERVATION_SIZE,
    LANE_DISCRETE_ACTIONS,
    LANE_ACTION_SIZE,
    GYMCORE_FLOAT32, /* actions */
    LANE(_parameter_defaults),
    LANE(_bound_defaults),
    LANE(_observe_lanes),
#ifdef LANE_DRAWS
    1,
#else
    0,
#endif
#ifdef LANE_ROUNDS
    1,
#else
    0,
#endif
#ifdef LANE_INFOS
    LANE(_infos_end),
    LANE(_info_fields),
    LANE(_inform_range),
    LANE(_inform_lanes),
#else
    0,
    NULL,
    NULL,
    NULL,
#endif
#ifdef LANE_CONSTANTS
    LANE_CONSTANTS,
#else
    NULL,
#endif
    0, /* grain */
    LANE_NANOSECONDS,
    NULL, /* faulted */
    {
        { LANE(_step_shared_baseline), LANE(_step_varied_baseline), LANE(_observe_baseline), LANE(LANE_RESET_LOOP(baseline)) },
#if GYMCORE_ISA_COUNT > 1
        { LANE(_step_shared_v3), LANE(_step_varied_v3), LANE(_observe_v3), LANE(LANE_RESET_LOOP(v3)) },
        { LANE(_step_shared_v4), LANE(_step_varied_v4), LANE(_observe_v4), LANE(LANE_RESET_LOOP(v4)) },
#endif
    },
};
