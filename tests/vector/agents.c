/* A world of three agents that end at different times: `herd`, whose agents have the same spaces, and `chase`, of two mice
 * (agents 0 and 1) and a cat. Results of agents that have ended are wrong on purpose: the engine must drop them. */
#include "gymcore/kernel.h"

enum { AGENTS = 3 };

typedef struct {
    double position[AGENTS];
    int64_t life[AGENTS], world_life, steps;
} world;

static int64_t draw(gymcore_rng *rng, int64_t count)
{
    return 1 + (int64_t)(gymcore_rng_double(rng) * (double)count);
}

static void reset(void *lane, const void *shared, const double *parameters, const double *options, gymcore_rng *rng)
{
    world *self = lane;
    self->steps = 0;
    self->world_life = draw(rng, 8);
    for (int k = 0; k < AGENTS; k++) {
        self->life[k] = draw(rng, 5);
        self->position[k] = gymcore_rng_double(rng);
    }
}

static int step(void *lane, const void *shared, const double *parameters, const void *action, gymcore_rng *rng,
                const uint8_t *active, double *rewards, gymcore_flag *ends)
{
    world *self = lane;
    const int64_t *actions = action;
    self->steps++;
    for (int k = 0; k < AGENTS; k++) {
        double sum = 0.0;
        for (int j = 0; j < AGENTS; j++)
            sum += (double)actions[j] * (j == k ? 1.0 : 0.25);
        self->position[k] += sum;
        if (!active[k]) {
            rewards[k] = 99.0;
            ends[k] = GYMCORE_TERMINATED;
            continue;
        }
        rewards[k] = parameters[0] * self->position[k] + gymcore_rng_double(rng);
        if (self->steps == self->life[k])
            ends[k] = self->life[k] % 2 ? GYMCORE_TERMINATED : GYMCORE_TRUNCATED;
    }
    return self->steps == self->world_life ? GYMCORE_TERMINATED : 0;
}

static void observe_herd(const void *lane, const void *shared, const double *parameters, void *const *parts)
{
    const world *self = lane;
    for (int k = 0; k < AGENTS; k++) {
        ((double *)parts[0])[2 * k] = self->position[k];
        ((double *)parts[0])[2 * k + 1] = (double)self->life[k];
    }
}

static void observe_chase(const void *lane, const void *shared, const double *parameters, void *const *parts)
{
    const world *self = lane;
    double *cat = parts[0], *mice = parts[1]; /* keys of a Dict are sorted */
    cat[0] = self->position[2];
    for (int k = 0; k < 2; k++) {
        mice[2 * k] = self->position[k];
        mice[2 * k + 1] = (double)self->life[k];
    }
}

static void write_infos(const void *lane, const void *shared, void *const *infos)
{
    const world *self = lane;
    *(int64_t *)infos[0] = self->steps;
    for (int k = 0; k < AGENTS; k++)
        for (int j = 0; j < 3; j++)
            ((int8_t *)infos[1])[3 * k + j] = (int8_t)((self->steps + k + j) % 2);
}

static void central_state(const void *lane, const void *shared, const double *parameters, void *state)
{
    const world *self = lane;
    for (int k = 0; k < AGENTS; k++) {
        ((float *)state)[k] = (float)(parameters[0] * self->position[k]);
        ((float *)state)[AGENTS + k] = (float)self->life[k];
    }
}

#define FUNCTIONS(observe_name)                                                                                        \
    {                                                                                                                  \
        .size = sizeof(gymcore_lane_functions), .abi = GYMCORE_KERNEL_ABI, .reset = reset, .observe = observe_name,    \
        .write_infos = write_infos, .step_agents = step, .central_state = central_state                                \
    }
gymcore_lane_functions herd = FUNCTIONS(observe_herd), chase = FUNCTIONS(observe_chase);
int64_t lane_bytes = sizeof(world);
