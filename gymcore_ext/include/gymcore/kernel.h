/* The contract between the physics of one environment and the engine: one struct of sizes, names and loops.
 *
 * lanes.h generates it from the physics of a lane, and a module provides it as a PyCapsule named GYMCORE_KERNEL_CAPSULE
 * (`make_kernel` in gymcore_ext/physics/lane.pxd). The engine does not know which environment it runs, and the physics
 * does not know about batches, threads, time limits or autoreset.
 *
 * Loops process lanes [lo, hi) of arrays; pointers to arrays point to lane 0. Loops may not fail, allocate, lock or call
 * into Python.
 */
#ifndef GYMCORE_KERNEL_H
#define GYMCORE_KERNEL_H

#include "platform.h"
#include "rng.h"

#define GYMCORE_KERNEL_CAPSULE "gymcore_ext.kernel"
#define GYMCORE_FUNCTIONS_CAPSULE "gymcore_ext.lane_functions" /* of a gymcore_lane_functions */
#define GYMCORE_KERNEL_ABI 16

/* Maximum numbers of arrays of an observation, and of infos. */
#define GYMCORE_MAX_PARTS 16
#define GYMCORE_MAX_INFOS 32
/* Maximum number of axes of an array of an observation. */
#define GYMCORE_MAX_AXES 4
/* Maximum number of agents of a world. A block of a step loop has at most this many agents in all its lanes. */
#define GYMCORE_MAX_AGENTS 256

/* Structure-of-arrays memory of a batch: state[k][lane], and parameters[k][lane * parameter_stride], where the stride is
 * 0 when all lanes share one value of every parameter and 1 when each has its own. */
typedef struct {
    double *const *state;
    double *const *parameters;
    int64_t parameter_stride;
    gymcore_rng *rngs;        /* the stream of each lane */
    const void *shared;       /* a table that all lanes share, or NULL */
    void *lanes;              /* lanes that are not columns, such as structs, or NULL */
    /* Flags of lanes that are reset after the step loop, because their episodes have ended; NULL for none. A step loop may
     * skip or step them. If it steps them, `step` must return from any state, and its results are discarded. It must not
     * draw from the streams of these lanes, unless `shared` is a table: then the engine restores the streams. */
    const uint8_t *resetting;
    /* [lanes, agents] during a step: 1 for agents that take part in it, 0 for agents that ended before. NULL without agents. */
    const uint8_t *active;
} gymcore_columns;

/* Types of the numbers that a kernel reads and writes. The value 0, and so a zero-initialized struct, means int64. */
enum {
    GYMCORE_INT64, GYMCORE_FLOAT32, GYMCORE_FLOAT64, GYMCORE_INT8, GYMCORE_UINT8,
    GYMCORE_INT16, GYMCORE_INT32, GYMCORE_UINT16, GYMCORE_UINT32, GYMCORE_UINT64, GYMCORE_BOOL
};

/* One of the arrays [lanes, ...] that an observation consists of. */
typedef struct {
    int32_t type;
    int32_t shape[GYMCORE_MAX_AXES]; /* the axes after the lanes, then zeros */
    int32_t first_agent; /* in a world of agents: the agent that the first row of the first axis belongs to */
} gymcore_part;

/* Which lanes have an entry of the infos: all lanes, those that did not begin an episode, or those that terminate. */
enum { GYMCORE_ALWAYS, GYMCORE_STEPS, GYMCORE_TERMINATIONS };

/* One entry of the infos: an array [lanes], or [lanes, size] if size is more than 1, or [lanes, *shape] if there is one. */
typedef struct {
    const char *name;
    int32_t type, size;
    int32_t when;
    int32_t shape[GYMCORE_MAX_AXES]; /* axes whose product is the size, then zeros; all zero for one axis or none */
} gymcore_info_field;

/* Maximum number of lanes of a step loop, so that the memory of their step stays in the first-level cache. For CartPole,
 * 128 to 512 are equal within noise. */
#define GYMCORE_BLOCK 256

/* The results of a step of one lane. */
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

/* Step and observe at most GYMCORE_BLOCK lanes. Actions are [lanes], or [lanes, action_size] if action_size is not 0.
 * `parts` has the address of the first row of each array of the observations. Rewards and ends are [lanes]; in worlds of
 * agents [lanes, agents], where those of agents that are not active are ignored, and so are their observations. */
typedef void gymcore_step_loop(const gymcore_columns *columns, const void *actions, void *const *parts,
                               double *rewards, gymcore_flag *ends, int64_t lo, int64_t hi);
/* Change the rewards and flags that lanes [lo, hi) report, after counting: returns are sums of the unchanged rewards. */
typedef void gymcore_report_loop(const gymcore_columns *columns, double *rewards, uint8_t *terminated, int64_t lo,
                                 int64_t hi);
/* Write observations, or infos (one array per field), of lanes[lo] to lanes[hi - 1], or of lanes lo to hi - 1 if `lanes`
 * is NULL. */
typedef void gymcore_write_loop(const gymcore_columns *columns, void *const *parts, const int64_t *lanes, int64_t lo,
                                int64_t hi);
typedef void gymcore_reset_loop(const gymcore_columns *columns, const double *reset_options, const int64_t *lanes,
                                int64_t count);

/* The functions of one lane that is a struct of any layout. An environment supplies them, and the engine has the loops over
 * them (gymcore_ext/lanes/struct_lanes.pyx). `shared` is the data that all lanes share, `parameters` and `options` are in
 * the order in which the kernel names them, and `parts` and `infos` point to the rows of this lane. A function may not lock
 * or call into Python, and no C++ exception may leave it. Functions may be NULL where a comment explains what that means. */
typedef struct {
    int64_t size; /* sizeof(gymcore_lane_functions), as in gymcore_kernel */
    int32_t abi;
    void (*reset)(void *lane, const void *shared, const double *parameters, const double *options, gymcore_rng *rng);
    /* Returns how the step ended the episode: GYMCORE_TERMINATED, GYMCORE_TRUNCATED, both or 0. */
    int (*step)(void *lane, const void *shared, const double *parameters, const void *action, gymcore_rng *rng,
                double *reward);
    void (*observe)(const void *lane, const void *shared, const double *parameters, void *const *parts);
    void (*write_infos)(const void *lane, const void *shared, void *const *infos); /* NULL without infos */
    /* Changes the reward and flag that a step reports, after they were counted. NULL: a step reports them unchanged. */
    void (*report)(const void *lane, const void *shared, double *reward, uint8_t *terminated);
    /* Returns whether these bytes, which may come from any source, are a valid saved lane. NULL: all bytes are valid. */
    int (*check)(const void *saved, const void *shared);
    /* Returns the fault that stops the lane until it is reset, a number that its owner defines, or 0. NULL: no faults. */
    int (*faulted)(const void *lane);
    /* Allocate and free the memory that a lane points to. The bytes of a lane are 0 before `make`, which returns whether
     * it succeeded. NULL: a lane needs no other memory. A `make` needs a `save`, because pointers cannot be copied. */
    int (*make)(void *lane, const void *shared);
    void (*free)(void *lane, const void *shared);
    /* Save a lane with pointers to zeroed memory, or load it from there. `save` returns whether it succeeded. `saved` is
     * aligned to 8 bytes. NULL: the bytes of the lane are copied. */
    int (*save)(void *lane, const void *shared, void *saved);
    void (*load)(void *lane, const void *shared, const void *saved);
    const char *shared_name; /* name of the capsule that `shared` comes from; NULL without one */
    /* Takes the place of `step`, which is then NULL, in a world of agents. An action contains the actions of all agents, in
     * order; `active`, `rewards` and `ends` are [agents]. `active` is 1 for agents that take part, and 0 for agents that
     * ended in an earlier step: their actions are 0, or the lowest integers, and their results are ignored. Rewards and ends
     * are 0 before the call. `ends` are the flags of the agents. Returns the flags that all active agents get in addition,
     * because the world ends. */
    int (*step_agents)(void *lane, const void *shared, const double *parameters, const void *action, gymcore_rng *rng,
                       const uint8_t *active, double *rewards, gymcore_flag *ends);
    /* Writes the state of a world for critics, the array that its kernel declares. NULL if it declares none. */
    void (*central_state)(const void *lane, const void *shared, const double *parameters, void *state);
} gymcore_lane_functions;

/* Maximum number of instruction sets of a kernel's loops; the compiler determines the number. */
#define GYMCORE_MAX_ISAS 4

/* The step for one instruction set. */
typedef struct {
    gymcore_step_loop *shared; /* parameters shared by all lanes */
    gymcore_step_loop *varied; /* parameters by lane */
} gymcore_step_loops;

/* A later version of the engine may add members at the end. `size` shows which members a module was compiled with; for the
 * engine, the others are 0. Any other change of these structs increases GYMCORE_KERNEL_ABI. */
typedef struct {
    int64_t size; /* sizeof(gymcore_kernel) */
    int32_t abi;
    int32_t isa_count;
    const char *name;
    /* Names are one string, separated by blanks, in column order. */
    const char *state_names, *parameter_names, *reset_option_names;
    int32_t state_count, parameter_count, reset_option_count;
    int32_t part_count; /* arrays that an observation consists of */
    const gymcore_part *parts;
    int32_t action_type; /* GYMCORE_FLOAT32, GYMCORE_FLOAT64 or GYMCORE_INT64 */
    int32_t action_size; /* values of an action that is an array, 0 for a discrete action */
    int32_t action_shape[GYMCORE_MAX_AXES]; /* its axes, then zeros; all zero for one axis */
    /* The lowest value and the number of values of each integer; the number is -1 if the shared table decides. */
    const int64_t *action_ranges;
    int32_t info_count;
    const gymcore_info_field *infos;
    double *parameter_defaults, *reset_option_defaults;
    gymcore_reset_loop *reset;
    gymcore_write_loop *observe;
    gymcore_write_loop *write_infos; /* NULL without infos */
    gymcore_report_loop *report;     /* NULL: a step reports the counted values */
    const char *shared_name; /* name of the capsule that `shared` comes from, or NULL */
    int32_t has_lanes;       /* whether the lanes are not columns, but memory that the store of a batch owns */
    const gymcore_lane_functions *functions; /* functions of lanes that are structs, or NULL */
    /* Returns whether lanes have a fault that Python must raise, such as a failed simulation. NULL: no faults. */
    int (*faulted)(const void *lanes);
    int32_t agents; /* number of agents of a world, at most GYMCORE_MAX_AGENTS; 0 if a lane is a single agent */
    /* [agents + 1]: the numbers agent_actions[k] to agent_actions[k + 1] - 1 of an action are those of agent k. */
    const int32_t *agent_actions;
    gymcore_part central;              /* the array of the state for critics */
    gymcore_write_loop *central_state; /* writes it to parts[0]. NULL: there is none */
    gymcore_step_loops step[GYMCORE_MAX_ISAS]; /* baseline, then x86-64-v2, v3 and v4, as many as isa_count */
} gymcore_kernel;

/* Size of the structs when this ABI was introduced, without members that were added later. */
#define GYMCORE_OLDEST_KERNEL ((int64_t)sizeof(gymcore_kernel))
#define GYMCORE_OLDEST_FUNCTIONS ((int64_t)sizeof(gymcore_lane_functions))

#endif
