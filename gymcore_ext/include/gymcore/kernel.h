/* The contract between the physics of one environment and the engine: one struct of sizes, names and loops.
 *
 * lanes.h makes one from the physics of a lane; a module hands it out as a PyCapsule named GYMCORE_KERNEL_CAPSULE
 * (`make_kernel` in gymcore_ext/physics/lane.pxd). The engine does not know which environment it runs, and the physics
 * does not know about batches, threads, time limits or autoreset.
 *
 * Loops work on lanes [lo, hi) of arrays whose base pointers stand for lane 0. They may not fail, allocate, lock or
 * call into Python.
 */
#ifndef GYMCORE_KERNEL_H
#define GYMCORE_KERNEL_H

#include "platform.h"
#include "rng.h"

#define GYMCORE_KERNEL_CAPSULE "gymcore_ext.kernel"
#define GYMCORE_FUNCTIONS_CAPSULE "gymcore_ext.lane_functions" /* of a gymcore_lane_functions */
#define GYMCORE_KERNEL_ABI 12

/* Arrays that observations, or infos, may consist of. */
#define GYMCORE_MAX_PARTS 16
#define GYMCORE_MAX_INFOS 32
/* Axes of an observation. */
#define GYMCORE_MAX_AXES 4

/* Structure-of-arrays memory of a batch: state[k][lane], and parameters[k][lane * parameter_stride], where the stride is
 * 0 when all lanes share one value of every parameter and 1 when each has its own. */
typedef struct {
    double *const *state;
    double *const *parameters;
    int64_t parameter_stride;
    gymcore_rng *rngs;        /* a stream a lane */
    const void *shared;       /* a table that all lanes share; NULL for a kernel without */
    void *lanes;              /* lanes that are not columns, such as structs; NULL for a kernel without */
    const uint8_t *resetting; /* lanes that begin a new episode instead: what they draw is undone; NULL for none */
    int32_t float32_actions;  /* whether the float64 actions of this step came as float32 */
} gymcore_columns;

/* Types of what a kernel reads and writes. */
enum {
    GYMCORE_FLOAT32, GYMCORE_FLOAT64, GYMCORE_INT64, GYMCORE_INT8, GYMCORE_UINT8,
    GYMCORE_INT16, GYMCORE_INT32, GYMCORE_UINT16, GYMCORE_UINT32, GYMCORE_UINT64, GYMCORE_BOOL
};

/* One of the arrays [lanes, ...] that an observation consists of, for a kernel that lists them. */
typedef struct {
    int32_t type;
    int32_t shape[GYMCORE_MAX_AXES]; /* the axes after the lanes, then zeros */
} gymcore_part;

/* Which lanes have an entry of the infos: all of them, those that did not begin an episode, those that terminate. */
enum { GYMCORE_ALWAYS, GYMCORE_STEPS, GYMCORE_TERMINATIONS };

/* One entry of the infos: an array [lanes], or [lanes, size] if size is more than 1. */
typedef struct {
    const char *name;
    int32_t type, size;
    int32_t when;
} gymcore_info_field;

/* Lanes that a step loop takes at most: what a whole step of them touches stays in the first-level cache. 128 to 512 are
 * equal within noise for CartPole. */
#define GYMCORE_BLOCK 256

/* What a step of one lane reports. */
typedef struct {
    double reward;
    int terminated;
} gymcore_outcome;

/* For kernels without parameters, or without reset options: a struct without float64 fields. */
typedef struct { char unused; } gymcore_none;

/* The flags that a step reports for a lane: GYMCORE_TERMINATED, GYMCORE_TRUNCATED, both or 0. The narrowest type in a
 * loop sets how many lanes one iteration covers. int16 gives 32 lanes, four vectors per variable, which is enough to
 * hide their latency. CartPole, 4096 lanes: 4.44 ns with int16, 4.68 with int32, 4.74 with uint8, 5.11 with float64. */
typedef int16_t gymcore_flag;
enum { GYMCORE_TERMINATED = 1, GYMCORE_TRUNCATED = 2 };

/* Step and observe at most GYMCORE_BLOCK lanes. Actions are int64 [lanes] (discrete), or float32 or float64 [lanes,
 * action_size] (continuous). Observations are one array float32, float64 or uint8 [lanes, observation_size],
 * observation_size arrays int64 [lanes], or the arrays that the kernel lists: `parts` points to the first row of each. */
typedef void gymcore_step_loop(const gymcore_columns *columns, const void *actions, void *const *parts,
                               double *rewards, gymcore_flag *ends, int64_t lo, int64_t hi);
/* Change what a step reports of lanes [lo, hi), after it was counted: returns are sums of the physics' rewards. */
typedef void gymcore_report_loop(const gymcore_columns *columns, double *rewards, uint8_t *terminated, int64_t lo,
                                 int64_t hi);
/* Write observations, or infos (an array for each field), of lanes[lo] to lanes[hi - 1]; of lanes lo to hi - 1 if `lanes`
 * is NULL. */
typedef void gymcore_write_loop(const gymcore_columns *columns, void *const *parts, const int64_t *lanes, int64_t lo,
                                int64_t hi);
typedef void gymcore_reset_loop(const gymcore_columns *columns, const double *reset_options, const int64_t *lanes,
                                int64_t count);

/* What steps one lane that is a struct of any layout. An environment supplies these functions, and the engine has the loops
 * over them (gymcore_ext/lanes/struct_lanes.pyx). `shared` is what all lanes have in common, `parameters` and `options` are
 * in the order in which the kernel names them, and `parts` and `infos` point to the rows of this lane. A function may not
 * lock or call into Python, and no exception of C++ may leave it. Those that are marked so may be NULL. */
typedef struct {
    int64_t size; /* sizeof(gymcore_lane_functions), as in gymcore_kernel */
    int32_t abi;  /* GYMCORE_KERNEL_ABI */
    void (*reset)(void *lane, const void *shared, const double *parameters, const double *options, gymcore_rng *rng);
    /* Returns how the step ended the episode: GYMCORE_TERMINATED, GYMCORE_TRUNCATED, both or 0. `float32_action` is whether
     * float64 values of the action came as float32. */
    int (*step)(void *lane, const void *shared, const double *parameters, const void *action, int32_t float32_action,
                gymcore_rng *rng, double *reward);
    void (*observe)(const void *lane, const void *shared, const double *parameters, void *const *parts);
    void (*write_infos)(const void *lane, const void *shared, void *const *infos); /* NULL without infos */
    /* Changes what a step reports, after it was counted. NULL: a step reports what was counted. */
    void (*report)(const void *lane, const void *shared, double *reward, uint8_t *terminated);
    /* Whether these bytes, which may come from anywhere, are a saved lane. NULL: whatever they are. */
    int (*check)(const void *saved, const void *shared);
    /* Why the lane cannot go on, as a number that its owner knows, until it is reset; or 0. NULL: it always can. */
    int (*faulted)(const void *lane);
    /* Take and release what a lane points to: a lane is zero before `make`, which returns whether it could be made. NULL: a
     * lane of zeros is complete. */
    int (*make)(void *lane, const void *shared);
    void (*free)(void *lane, const void *shared);
    /* Write a lane to memory that is zero, or read it from there, if it is not saved as it is because it has pointers. `save`
     * returns whether it could be saved. NULL: the bytes of the lane are copied. `saved` is aligned to 8 bytes. */
    int (*save)(void *lane, const void *shared, void *saved);
    void (*load)(void *lane, const void *shared, const void *saved);
} gymcore_lane_functions;

/* Instruction sets that a kernel may have loops for; how many it has depends on its compiler. */
#define GYMCORE_MAX_ISAS 4

/* The step for one instruction set. */
typedef struct {
    gymcore_step_loop *shared; /* parameters shared by all lanes */
    gymcore_step_loop *varied; /* parameters by lane */
} gymcore_step_loops;

/* A later version of the engine may add members at the end: `size` says which ones a module was compiled with, and the
 * others are 0. */
typedef struct {
    int64_t size; /* sizeof(gymcore_kernel) */
    int32_t abi;
    int32_t isa_count;
    const char *name;
    /* Names are one text, separated by blanks, in column order. */
    const char *state_names, *parameter_names, *reset_option_names;
    int32_t state_count, parameter_count, reset_option_count;
    int32_t observation_type; /* GYMCORE_FLOAT32, GYMCORE_FLOAT64, GYMCORE_INT64 or GYMCORE_UINT8 */
    int32_t observation_size;
    int32_t observation_shape[GYMCORE_MAX_AXES]; /* its axes, then zeros; all zero for one axis */
    int32_t part_count; /* arrays that an observation consists of, if they are listed; 0: as the fields above say */
    const gymcore_part *parts;
    int32_t discrete_actions; /* how many discrete actions, 0 for arrays, -1 if the shared table decides */
    int32_t action_size;      /* values of an action that is an array, or 0 */
    int32_t action_type;      /* of arrays: GYMCORE_FLOAT32, GYMCORE_FLOAT64 or GYMCORE_INT64 */
    int32_t action_shape[GYMCORE_MAX_AXES]; /* as observation_shape */
    const int64_t *action_ranges; /* lowest and number of integers that each value may be; NULL: [0, discrete_actions) */
    int32_t info_count;
    const gymcore_info_field *infos;
    double *parameter_defaults, *reset_option_defaults;
    gymcore_reset_loop *reset;
    gymcore_write_loop *observe;
    gymcore_write_loop *write_infos; /* NULL without infos */
    gymcore_report_loop *report;     /* NULL: a step reports what was counted */
    const char *shared_name; /* of the capsule that `shared` comes from, or NULL */
    const char *lanes_name;  /* of the capsule that `lanes` come from, or NULL */
    /* Whether something happened to lanes that Python must raise, as a simulation that failed; NULL: nothing can. */
    int (*faulted)(const void *lanes);
    gymcore_step_loops step[GYMCORE_MAX_ISAS]; /* baseline, then x86-64-v2, v3 and v4, as many as isa_count */
} gymcore_kernel;

/* Bytes of the members that every kernel of this ABI has: all but those that were added later. */
#define GYMCORE_OLDEST_KERNEL ((int64_t)sizeof(gymcore_kernel))

#endif
