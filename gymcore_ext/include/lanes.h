/* Expands the physics of one lane into batch loops, and describes them to the engine (kernel.h).
 *
 * Before including it, define
 *   LANE_NAME                    the environment's C name, say `pole`
 *   LANE_STATE(F)                F(field) for every float64 of a lane's state
 *   LANE_PARAMETERS(F)           F(field, default) for every constructor parameter
 *   LANE_BOUNDS(F)               F(field, default) for every number that `reset(options=...)` takes
 *   LANE_OBSERVATION_SIZE        float32 values of one observation
 *   LANE_SMALL_ANGLE             optional: a field of the state, an angle that is nearly always small; `small_angles` of the
 *                                parameters then says whether it is in all lanes of a loop (see gymcore_sincos_within)
 *   LANE_DISCRETE_ACTIONS        how many actions, or LANE_CONTINUOUS_ACTIONS: float32 values of one action
 * and define afterwards, in Cython, with these C names:
 *   void pole_reset(pole_state *, const pole_parameters *, const pole_bounds *, gymcore_rng *)
 *   void pole_step(pole_state *, const pole_parameters *, int64_t action | const float *action, gymcore_outcome *)
 *   void pole_observe(const pole_state *, float *observation)
 * The compiler inlines them into every loop below and vectorises over lanes.
 */
#include "kernel.h"
#include "lane_math.h"

#define LANE(suffix) GYMCORE_JOIN(LANE_NAME, suffix)
#define LANE_FIELD(field, ...) double field;
#define LANE_ONE(...) +1
#define LANE_NAME_OF(field, ...) #field " "
#define LANE_DEFAULT(field, value) value,

typedef struct { LANE_STATE(LANE_FIELD) } LANE(_state);
typedef struct { LANE_PARAMETERS(LANE_FIELD) int small_angles; /* see LANE_SMALL_ANGLE */ } LANE(_parameters);
typedef struct { LANE_BOUNDS(LANE_FIELD) } LANE(_bounds);

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

GYMCORE_INLINE void LANE(_reset)(LANE(_state) *, const LANE(_parameters) *, const LANE(_bounds) *, gymcore_rng *);
GYMCORE_INLINE void LANE(_step)(LANE(_state) *, const LANE(_parameters) *, LANE(_action), gymcore_outcome *);
GYMCORE_INLINE void LANE(_observe)(const LANE(_state) *, float *);

#define LANE_STATE_INDEX(field, ...) LANE(_at_##field),
enum { LANE_STATE(LANE_STATE_INDEX) LANE(_state_end) };
#define LANE_PARAMETER_INDEX(field, ...) LANE(_with_##field),
enum { LANE_PARAMETERS(LANE_PARAMETER_INDEX) LANE(_parameters_end) };

#define LANE_COLUMN(field, ...) double *GYMCORE_RESTRICT column_##field = columns->state[LANE(_at_##field)];
#define LANE_PARAMETER_COLUMN(field, ...) \
    const double *GYMCORE_RESTRICT parameter_##field = columns->parameters[LANE(_with_##field)];
#define LANE_LOAD(field, ...) state.field = column_##field[i];
#define LANE_STORE(field, ...) column_##field[i] = state.field;
#define LANE_LOAD_PARAMETER(field, ...) parameters.field = parameter_##field[i];
#define LANE_LOAD_SHARED(field, ...) parameters.field = columns->parameters[LANE(_with_##field)][0];

#define LANE_LOAD_STRIDED(field, ...) \
    parameters.field = columns->parameters[LANE(_with_##field)][i * columns->parameter_stride];

static void LANE(_reset_lanes)(const gymcore_columns *columns, gymcore_rng *rngs, const double *bounds,
                               const int64_t *lanes, int64_t count)
{
    LANE_STATE(LANE_COLUMN)
    LANE(_bounds) limits;
    LANE(_state) state;
    LANE(_parameters) parameters;
    memcpy(&limits, bounds, sizeof limits);
    for (int64_t k = 0; k < count; k++) {
        int64_t i = lanes[k];
        LANE_PARAMETERS(LANE_LOAD_STRIDED)
        LANE(_reset)(&state, &parameters, &limits, rngs + i);
        LANE_STATE(LANE_STORE)
    }
}

static void LANE(_observe_lanes)(const gymcore_columns *columns, float *observations, const int64_t *lanes, int64_t count)
{
    LANE_STATE(LANE_COLUMN)
    for (int64_t k = 0; k < count; k++) {
        int64_t i = lanes[k];
        LANE(_state) state;
        LANE_STATE(LANE_LOAD)
        LANE(_observe)(&state, observations + i * LANE_OBSERVATION_SIZE);
    }
}

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

static const double LANE(_parameter_defaults)[] = { LANE_PARAMETERS(LANE_DEFAULT) };
static const double LANE(_bound_defaults)[] = { LANE_BOUNDS(LANE_DEFAULT) };

static const gymcore_kernel LANE(_kernel) = {
    GYMCORE_KERNEL_ABI,
    GYMCORE_ISA_COUNT,
    GYMCORE_TEXT(LANE_NAME),
    LANE_STATE(LANE_NAME_OF),
    LANE_PARAMETERS(LANE_NAME_OF),
    LANE_BOUNDS(LANE_NAME_OF),
    0 LANE_STATE(LANE_ONE),
    0 LANE_PARAMETERS(LANE_ONE),
    0 LANE_BOUNDS(LANE_ONE),
    LANE_OBSERVATION_SIZE,
    LANE_DISCRETE_ACTIONS,
    LANE_ACTION_SIZE,
    LANE(_parameter_defaults),
    LANE(_bound_defaults),
    LANE(_reset_lanes),
    LANE(_observe_lanes),
    {
        { LANE(_step_shared_baseline), LANE(_step_varied_baseline), LANE(_observe_baseline) },
#if GYMCORE_ISA_COUNT > 1
        { LANE(_step_shared_v3), LANE(_step_varied_v3), LANE(_observe_v3) },
        { LANE(_step_shared_v4), LANE(_step_varied_v4), LANE(_observe_v4) },
#endif
    },
};
