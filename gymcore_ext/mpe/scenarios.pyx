"""The scenarios of MPE: how a world begins, rewards and observations.

docs/environments/mpe.md describes the games. Agents are in the order of mpe2, adversaries first.
"""
cimport numpy as cnp
from libc.math cimport INFINITY, M_PI, fabs
from libc.stdint cimport uint8_t
from libc.string cimport memcpy, memset

from gymcore_ext.engine.capsules cimport owned_capsule
from gymcore_ext.engine.kernel cimport TERMINATED, TRUNCATED, flag_t, rng_t
from gymcore_ext.lanes.lane_functions cimport functions_capsule, lane_functions_t
from gymcore_ext.mpe.world cimport (
    LENGTH, MAX_AGENTS, MAX_LANDMARKS, RADIUS, act, bytes_of_lane, call, count_touching, distance, entity_count,
    entity_t, kind, lane_t, loop_t, message, move, nearest, norm, parameters_t, position, product_t, push_apart, put,
    put_one_hot, put_relative, put_zeros, square_distance, touch, ufunc_t, velocity, world_t,
)
from gymcore_ext.physics.lane cimport below, uniform

import numpy as np

from gymcore_ext.lanes.ufunc_loops import loop_of

cnp.import_array()

cdef extern from *:
    """
    /* The function with which NumPy multiplies two vectors of float64. */
    static void *mpe_dot(void)
    {
        PyArray_Descr *descr = PyArray_DescrFromType(NPY_DOUBLE);
        void *dot = (void *)PyDataType_GetArrFuncs(descr)->dotfunc;
        Py_DECREF(descr);
        return dot;
    }
    """
    void* numpy_dot "mpe_dot"()

cdef const char* WORLD_CAPSULE = "gymcore_ext.mpe.world"


# --- numbers ----------------------------------------------------------------------------------------------------------

cdef double sum_of(const double* numbers, int count) noexcept nogil:
    """Return the sum of at most 128 numbers, as np.sum computes it."""
    cdef double[8] sums
    cdef double total = 0.0
    cdef int whole = count - count % 8 if count >= 8 else 0
    cdef int k
    if whole:
        for k in range(8):
            sums[k] = numbers[k]
        for k in range(8, whole):
            sums[k % 8] += numbers[k]
        total = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]))
    for k in range(whole, count):
        total += numbers[k]
    return total


cdef void assign(const double* costs, int count, int* columns) noexcept nogil:
    """Find the column of each row of finite costs [count, count] with the least sum of costs.

    Each row in turn takes the free column at the end of the shortest path of exchanges (R. Jonker and A. Volgenant,
    "A shortest augmenting path algorithm for dense and sparse linear assignment problems", 1987).
    """
    cdef double[MAX_AGENTS] row_prices, column_prices, lengths
    cdef int[MAX_AGENTS] rows, previous
    cdef bint[MAX_AGENTS] done
    cdef double shortest, length
    cdef int start, row, column, k, nearest_column
    for k in range(count):
        row_prices[k] = column_prices[k] = 0.0
        rows[k] = columns[k] = -1
    for start in range(count):
        for k in range(count):
            lengths[k], done[k], previous[k] = INFINITY, False, start
        row, shortest = start, 0.0
        while True:  # at most `count` times: each time one more column is done
            nearest_column = -1
            for k in range(count):
                if done[k]:
                    continue
                length = shortest + costs[row * count + k] - row_prices[row] - column_prices[k]
                if length < lengths[k]:
                    lengths[k], previous[k] = length, row
                if nearest_column < 0 or lengths[k] < lengths[nearest_column]:
                    nearest_column = k
            column, shortest = nearest_column, lengths[nearest_column]
            done[column] = True
            row = rows[column]
            if row < 0:
                break
        row_prices[start] += shortest
        for k in range(count):
            if done[k] and k != column:
                row_prices[rows[k]] += shortest - lengths[k]
                column_prices[k] -= shortest - lengths[k]
        while True:  # exchange the columns along the path
            row = previous[column]
            rows[column] = row
            column, columns[row] = columns[row], column
            if row == start:
                break


cdef bint reward_targets(
    const world_t* world, const lane_t* lane, const double* targets, double* rewards
) noexcept nogil:
    """Reward all agents for being near targets [agents, 2], one agent at each; return whether all are there."""
    cdef double[MAX_AGENTS * MAX_AGENTS] costs
    cdef double[MAX_AGENTS] distances
    cdef int[MAX_AGENTS] columns
    cdef int n = world.agents
    cdef bint success = True
    cdef double length
    cdef int a, k
    for a in range(n):
        for k in range(n):
            length = norm(
                world, position(lane, a)[0] - targets[2 * k], position(lane, a)[1] - targets[2 * k + 1])
            costs[a * n + k] = length if length < 1e100 else 1e100  # finite for `assign`
    assign(costs, n, columns)
    for k in range(n):
        distances[k] = costs[k * n + columns[k]]
        success &= distances[k] < 0.05
        distances[k] = 2.0 if distances[k] > 2.0 else distances[k]
    length = sum_of(distances, n) / n
    for k in range(n):
        rewards[k] = 0.0 - length
    return success


# --- partial observability --------------------------------------------------------------------------------------------

ctypedef struct ordered_t:    # entities by a length, those of equal lengths as they were added
    int count
    int[MAX_AGENTS + MAX_LANDMARKS] entities
    double[MAX_AGENTS + MAX_LANDMARKS] lengths


cdef void insert(ordered_t* ordered, int entity, double length) noexcept nogil:
    cdef int place = ordered.count
    while place and length < ordered.lengths[place - 1]:
        ordered.entities[place], ordered.lengths[place] = ordered.entities[place - 1], ordered.lengths[place - 1]
        place -= 1
    ordered.entities[place], ordered.lengths[place] = entity, length
    ordered.count += 1


cdef void order(
    ordered_t* ordered, const world_t* world, const lane_t* lane, int agent, int lo, int hi, int limit
) noexcept nogil:
    """Order the `limit` nearest of the entities [lo, hi) other than the agent by their distance to it."""
    cdef int k
    ordered.count = 0
    for k in range(lo, hi):
        if k != agent:
            insert(ordered, k, norm(
                world, position(lane, k)[0] - position(lane, agent)[0],
                position(lane, k)[1] - position(lane, agent)[1]))
    ordered.count = min(ordered.count, limit)


cdef float* put_nearest(
    float* out, const world_t* world, const lane_t* lane, int agent, int lo, int hi, int limit
) noexcept nogil:
    """Write the relative positions of the `limit` nearest entities, then zeros; of all entities without a limit."""
    cdef ordered_t ordered
    cdef int k
    if limit == 0:
        for k in range(lo, hi):
            if k != agent:
                out = put_relative(out, lane, agent, k)
        return out
    order(&ordered, world, lane, agent, lo, hi, limit)
    for k in range(ordered.count):
        out = put_relative(out, lane, agent, ordered.entities[k])
    return put_zeros(out, 2 * (limit - ordered.count))


cdef float* put_landmarks(float* out, const world_t* world, const lane_t* lane, int agent) noexcept nogil:
    return put_nearest(out, world, lane, agent, world.agents, entity_count(world), world.landmark_neighbors)


cdef float* put_agents(float* out, const world_t* world, const lane_t* lane, int agent) noexcept nogil:
    return put_nearest(out, world, lane, agent, 0, world.agents, world.agent_neighbors)


# --- beginnings -------------------------------------------------------------------------------------------------------

cdef inline void place_entities(
    const world_t* world, lane_t* lane, int lo, int hi, double reach, rng_t* rng
) noexcept nogil:
    cdef int k
    for k in range(2 * lo, 2 * hi):
        lane.numbers[k] = uniform(rng, -reach, reach)


cdef void place(const world_t* world, lane_t* lane, const parameters_t* p, rng_t* rng) noexcept nogil:
    """Choose goals, then places of agents and landmarks."""
    cdef int k
    for k in range(world.goals):
        lane.goals[k] = below(rng, world.landmarks)
    place_entities(world, lane, 0, world.agents, 1.0, rng)
    place_entities(world, lane, world.agents, entity_count(world), world.reach, rng)


cdef void place_tag(const world_t* world, lane_t* lane, const parameters_t* p, rng_t* rng) noexcept nogil:
    place(world, lane, p, rng)
    if p.curriculum_stage < 2.0:
        lane.prey_speed = 0.75 if p.curriculum_stage >= 1.0 else 0.5


cdef void place_world_comm(const world_t* world, lane_t* lane, const parameters_t* p, rng_t* rng) noexcept nogil:
    place(world, lane, p, rng)  # food and forests are placed twice
    place_entities(
        world, lane, entity_count(world) - world.food - world.forests, entity_count(world), world.reach, rng)


cdef void place_line(const world_t* world, lane_t* lane, const parameters_t* p, rng_t* rng) noexcept nogil:
    """Place the second landmark at LENGTH from the first, in a random direction that does not leave the world."""
    cdef const double* center = position(lane, world.agents)
    cdef double* end = position(lane, world.agents + 1)
    cdef double angle
    place_entities(world, lane, 0, world.agents, 1.0, rng)
    place_entities(world, lane, world.agents, world.agents + 1, world.reach, rng)
    angle = uniform(rng, 0.0, 2.0 * M_PI)
    for _ in range(72):
        lane.direction[0], lane.direction[1] = call(&world.numpy.cos, angle), call(&world.numpy.sin, angle)
        end[0], end[1] = center[0] + LENGTH * lane.direction[0], center[1] + LENGTH * lane.direction[1]
        if fabs(end[0]) < 1.0 and fabs(end[1]) < 1.0:
            return
        angle += 5.0 * (M_PI / 180.0)


# --- simple, adversary, push ------------------------------------------------------------------------------------------

cdef inline int goal_of(const world_t* world, const lane_t* lane, int k) noexcept nogil:
    return world.agents + lane.goals[k]


cdef bint simple_reward(const world_t* world, lane_t* lane, const parameters_t* p, double* rewards) noexcept nogil:
    rewards[0] = -square_distance(lane, 0, 1)
    return False


cdef float* simple_observe(const world_t* world, const lane_t* lane, int agent, float* out) noexcept nogil:
    out = put(out, velocity(world, lane, agent), 2)
    return put_landmarks(out, world, lane, agent)


cdef float* formation_observe(const world_t* world, const lane_t* lane, int agent, float* out) noexcept nogil:
    out = put(out, velocity(world, lane, agent), 2)
    out = put(out, position(lane, agent), 2)
    return put_landmarks(out, world, lane, agent)


cdef bint adversary_reward(const world_t* world, lane_t* lane, const parameters_t* p, double* rewards) noexcept nogil:
    cdef int goal = goal_of(world, lane, 0)
    cdef double away = distance(lane, 0, goal)
    cdef double good = -nearest(lane, goal, 1, world.agents) + away
    cdef int a
    rewards[0] = -away
    for a in range(1, world.agents):
        rewards[a] = good
    return False


cdef float* adversary_observe(const world_t* world, const lane_t* lane, int agent, float* out) noexcept nogil:
    if agent:
        out = put_relative(out, lane, agent, goal_of(world, lane, 0))
    out = put_landmarks(out, world, lane, agent)
    return put_agents(out, world, lane, agent)


cdef bint push_reward(const world_t* world, lane_t* lane, const parameters_t* p, double* rewards) noexcept nogil:
    cdef int goal = goal_of(world, lane, 0)
    rewards[0] = distance(lane, 1, goal) - distance(lane, 0, goal)
    rewards[1] = -distance(lane, 1, goal)
    return False


cdef float* push_observe(const world_t* world, const lane_t* lane, int agent, float* out) noexcept nogil:
    cdef int k
    out = put(out, velocity(world, lane, agent), 2)
    if agent:
        out = put_relative(out, lane, agent, goal_of(world, lane, 0))
        for k in range(3):  # its color tells the goal
            out[k] = 0.75 if k == lane.goals[0] + 1 else 0.25
        out += 3
    out = put_landmarks(out, world, lane, agent)
    if agent:
        for k in range(world.agents, entity_count(world)):
            out = put(out, world.entities[k].color, 3)
    return put_agents(out, world, lane, agent)


# --- crypto, speaker_listener, reference ------------------------------------------------------------------------------

cdef inline double misunderstanding(const world_t* world, const lane_t* lane, int agent) noexcept nogil:
    """Return how far a message is from the color of the goal; 0 for no message."""
    cdef const entity_t* goal = &world.entities[goal_of(world, lane, 0)]
    cdef const double* words = message(world, lane, agent)
    cdef double total = 0.0
    cdef bint silence = True
    cdef int k
    for k in range(4):
        silence &= words[k] == 0.0
        total += (words[k] - goal.color[k]) * (words[k] - goal.color[k])
    return 0.0 if silence else total


cdef bint crypto_reward(const world_t* world, lane_t* lane, const parameters_t* p, double* rewards) noexcept nogil:
    """Eve (0) and Bob (1) guess the goal of Alice (2)."""
    cdef double eve = misunderstanding(world, lane, 0)
    rewards[0] = 0.0 - eve
    rewards[1] = rewards[2] = eve - misunderstanding(world, lane, 1)
    return False


cdef float* crypto_observe(const world_t* world, const lane_t* lane, int agent, float* out) noexcept nogil:
    if agent == 2:
        out = put(out, world.entities[goal_of(world, lane, 0)].color, 4)
    if agent:
        out = put(out, world.entities[goal_of(world, lane, 1)].color, 4)
    return out if agent == 2 else put(out, message(world, lane, 2), 4)


cdef bint speaker_reward(const world_t* world, lane_t* lane, const parameters_t* p, double* rewards) noexcept nogil:
    rewards[0] = rewards[1] = -square_distance(lane, 1, goal_of(world, lane, 0))
    return False


cdef float* speaker_observe(const world_t* world, const lane_t* lane, int agent, float* out) noexcept nogil:
    if agent == 0:
        return put(out, world.entities[goal_of(world, lane, 0)].color, 3)
    out = simple_observe(world, lane, agent, out)
    return put(out, message(world, lane, 0), world.words)


cdef bint reference_reward(const world_t* world, lane_t* lane, const parameters_t* p, double* rewards) noexcept nogil:
    """Each agent knows the landmark to which the other one must go."""
    cdef double first = -distance(lane, 1, goal_of(world, lane, 0))
    cdef double second = -distance(lane, 0, goal_of(world, lane, 1))
    cdef double shared = (first + second) / 2.0 * (1.0 - p.local_ratio)
    rewards[0] = shared + first * p.local_ratio
    rewards[1] = shared + second * p.local_ratio
    return False


cdef float* reference_observe(const world_t* world, const lane_t* lane, int agent, float* out) noexcept nogil:
    out = simple_observe(world, lane, agent, out)
    out = put(out, world.entities[goal_of(world, lane, agent)].color, 3)
    return put(out, message(world, lane, 1 - agent), world.words)


# --- spread -----------------------------------------------------------------------------------------------------------

cdef bint spread_reward(const world_t* world, lane_t* lane, const parameters_t* p, double* rewards) noexcept nogil:
    cdef double shared = 0.0
    cdef bint success = True
    cdef double gap
    cdef int a, b
    for b in range(world.agents, entity_count(world)):
        gap = nearest(lane, b, 0, world.agents)
        success &= gap < 0.1
        shared -= gap
    for a in range(world.agents):
        rewards[a] = 0.0
    if p.curriculum_stage >= 1.0:
        for a in range(world.agents):
            for b in range(a + 1, world.agents):
                if touch(world, lane, a, b):
                    rewards[a] -= 1.0
                    rewards[b] -= 1.0
    for a in range(world.agents):
        rewards[a] = shared * (1.0 - p.local_ratio) + rewards[a] * p.local_ratio
    return success


cdef float* spread_observe(const world_t* world, const lane_t* lane, int agent, float* out) noexcept nogil:
    cdef int others = world.agent_neighbors if world.agent_neighbors else world.agents - 1
    out = put_agents(formation_observe(world, lane, agent, out), world, lane, agent)
    return put_zeros(out, world.words * others)  # the messages of agents that cannot speak


# --- tag, world_comm --------------------------------------------------------------------------------------------------

cdef inline double outside(const world_t* world, double x) noexcept nogil:
    """Return the penalty for being near the border of the world, or outside of it."""
    cdef double penalty
    x = fabs(x)
    if x < 0.9:
        return 0.0
    if x < 1.0:
        return (x - 0.9) * 10.0
    penalty = call(&world.numpy.exp, 2.0 * x - 2.0)
    return 10.0 if penalty > 10.0 else penalty


cdef bint tag_reward(const world_t* world, lane_t* lane, const parameters_t* p, double* rewards) noexcept nogil:
    cdef bint success = True
    cdef int total = 0
    cdef int a, caught
    for a in range(world.adversaries, world.agents):
        caught = count_touching(world, lane, a, a + 1, 0, world.adversaries)
        total += caught
        success &= caught > 0
        rewards[a] = 0.0 - 10.0 * caught
        rewards[a] -= outside(world, position(lane, a)[0])
        rewards[a] -= outside(world, position(lane, a)[1])
    for a in range(world.adversaries):
        rewards[a] = 10.0 * total
    return success


cdef float* tag_observe(const world_t* world, const lane_t* lane, int agent, float* out) noexcept nogil:
    cdef ordered_t ordered
    cdef int k
    out = put_agents(formation_observe(world, lane, agent, out), world, lane, agent)
    if world.agent_neighbors == 0:
        for k in range(world.adversaries, world.agents):
            if k != agent:
                out = put(out, velocity(world, lane, k), 2)
        return out
    order(&ordered, world, lane, agent, 0, world.agents, world.agent_neighbors)
    for k in ordered.entities[:ordered.count]:
        out = put_zeros(out, 2) if world.entities[k].adversary else put(out, velocity(world, lane, k), 2)
    return put_zeros(out, 2 * (world.agent_neighbors - ordered.count))


cdef bint world_comm_reward(const world_t* world, lane_t* lane, const parameters_t* p, double* rewards) noexcept nogil:
    cdef int food = entity_count(world) - world.food - world.forests
    cdef int total = count_touching(world, lane, world.adversaries, world.agents, 0, world.adversaries)
    cdef double reward
    cdef int a
    for a in range(world.adversaries):
        rewards[a] = 0.0 - 0.1 * nearest(lane, a, world.adversaries, world.agents)
        for _ in range(total):
            rewards[a] += 5.0
    for a in range(world.adversaries, world.agents):
        reward = 0.0 - 5.0 * count_touching(world, lane, a, a + 1, 0, world.adversaries)
        reward -= 2.0 * outside(world, position(lane, a)[0])
        reward -= 2.0 * outside(world, position(lane, a)[1])
        for _ in range(count_touching(world, lane, a, a + 1, food, food + world.food)):
            reward += 2.0
        rewards[a] = reward - 0.05 * nearest(lane, a, food, food + world.food)
    return False


cdef inline bint is_hidden(
    const world_t* world, const lane_t* lane, int agent, int other, int first_forest
) noexcept nogil:
    """Return whether an agent does not see another: one of them is in a forest, and they share none."""
    cdef bint inside, other_inside
    cdef bint hidden = False
    cdef int k
    for k in range(first_forest, entity_count(world)):
        inside, other_inside = touch(world, lane, agent, k), touch(world, lane, other, k)
        if inside and other_inside:
            return False
        hidden |= inside or other_inside
    return hidden and agent != 0  # agent 0, the leader, sees all


cdef float* world_comm_observe(const world_t* world, const lane_t* lane, int agent, float* out) noexcept nogil:
    cdef int first_forest = entity_count(world) - world.forests
    cdef bint good = agent >= world.adversaries
    cdef bint[MAX_AGENTS] hidden
    cdef float* forests
    cdef int k
    out = formation_observe(world, lane, agent, out)
    for k in range(world.agents):
        if k == agent:
            continue
        hidden[k] = is_hidden(world, lane, agent, k, first_forest)
        out = put_zeros(out, 2) if hidden[k] else put_relative(out, lane, agent, k)
    forests = out  # agents that are not adversaries see them before velocities
    if good:
        out += world.forests
    for k in range(world.adversaries, world.agents):
        if k != agent:
            out = put_zeros(out, 2) if hidden[k] else put(out, velocity(world, lane, k), 2)
    if not good:
        forests = out
        out += world.forests
    for k in range(world.forests):
        forests[k] = 1.0 if touch(world, lane, agent, first_forest + k) else -1.0
    return out if good else put(out, message(world, lane, 0), world.words)


# --- formation, line --------------------------------------------------------------------------------------------------

cdef bint formation_reward(const world_t* world, lane_t* lane, const parameters_t* p, double* rewards) noexcept nogil:
    """Targets are on a circle around the landmark. The first one has the least angle of all agents."""
    cdef double[2 * MAX_AGENTS] targets
    cdef const double* center = position(lane, world.agents)
    cdef int n = world.agents
    cdef double first_angle = INFINITY
    cdef double angle
    cdef int a, k
    for a in range(n):
        angle = call(&world.numpy.arctan2, position(lane, a)[1] - center[1], position(lane, a)[0] - center[0])
        angle = angle + 2.0 * M_PI if angle < 0.0 else angle
        first_angle = angle if angle < first_angle else first_angle
    for k in range(n):
        angle = first_angle + k * (2.0 * M_PI / n)
        targets[2 * k] = center[0] + RADIUS * call(&world.numpy.cos, angle)
        targets[2 * k + 1] = center[1] + RADIUS * call(&world.numpy.sin, angle)
    return reward_targets(world, lane, targets, rewards)


cdef bint line_reward(const world_t* world, lane_t* lane, const parameters_t* p, double* rewards) noexcept nogil:
    """Targets are between the two landmarks, at equal distances."""
    cdef double[2 * MAX_AGENTS] targets
    cdef double gap = LENGTH / (world.agents - 1) if world.agents > 1 else 0.0
    cdef int k
    for k in range(2 * world.agents):
        targets[k] = position(lane, world.agents)[k % 2] + (k // 2) * gap * lane.direction[k % 2]
    return reward_targets(world, lane, targets, rewards)


# --- collect_treasure -------------------------------------------------------------------------------------------------

cdef void place_treasures(const world_t* world, lane_t* lane, const parameters_t* p, rng_t* rng) noexcept nogil:
    cdef int k
    lane.treasures = rng[0]  # steps repeat the draws of the reset
    place_entities(world, lane, 0, world.agents, 1.0, rng)
    for k in range(world.agents):
        kind(world, lane, k)[0] = -1.0
    for k in range(world.agents, entity_count(world)):
        kind(world, lane, k)[0] = below(rng, world.kinds)
        place_entities(world, lane, k, k + 1, world.reach, rng)


cdef double collect(const world_t* world, lane_t* lane) noexcept nogil:
    """Let collectors pick treasures up and deliver them; place again those that were picked up before this step.

    Returns the reward of all agents for the treasures that were picked up or delivered.
    """
    cdef double reward = 0.0
    cdef int collectors = world.agents - world.kinds
    cdef double* held
    cdef double* treasure
    cdef int a, k
    for k in range(world.agents, entity_count(world)):
        treasure = kind(world, lane, k)
        if treasure[0] < 0.0:
            uniform(&lane.treasures, 0.0, 1.0)
            place_entities(world, lane, k, k + 1, world.reach, &lane.treasures)
            treasure[0] = below(&lane.treasures, world.kinds)
            continue
        for a in range(collectors):
            held = kind(world, lane, a)
            if held[0] < 0.0 and touch(world, lane, a, k):
                reward += 5.0
                held[0], treasure[0] = treasure[0], -1.0
                position(lane, k)[0] = position(lane, k)[1] = -999.0
                break
    for a in range(collectors):
        held = kind(world, lane, a)
        for k in range(world.kinds):
            if held[0] == k and touch(world, lane, a, collectors + k):
                reward += 5.0
                held[0] = -1.0
    return reward


cdef bint collect_reward(const world_t* world, lane_t* lane, const parameters_t* p, double* rewards) noexcept nogil:
    cdef int collectors = world.agents - world.kinds
    cdef double shared = collect(world, lane)
    cdef double gap, shortest, x, y
    cdef int a, k
    for a in range(world.agents):
        rewards[a] = 0.0
        shortest = INFINITY
        if a < collectors:
            for k in range(collectors):
                if k != a and touch(world, lane, a, k):
                    rewards[a] -= 5.0
            if kind(world, lane, a)[0] < 0.0:
                for k in range(world.agents, entity_count(world)):
                    gap = distance(lane, a, k)
                    if kind(world, lane, k)[0] >= 0.0 and gap < shortest:
                        shortest = gap
            else:
                for k in range(world.kinds):
                    if kind(world, lane, a)[0] == k:
                        shortest = distance(lane, a, collectors + k)
        else:
            x = y = 0.0
            for k in range(collectors):
                gap = distance(lane, a, k)
                if kind(world, lane, k)[0] == a - collectors and gap < shortest:
                    shortest = gap
                x += position(lane, k)[0]
                y += position(lane, k)[1]
            if shortest == INFINITY:
                shortest = norm(world, x / collectors - position(lane, a)[0], y / collectors - position(lane, a)[1])
        if shortest < INFINITY:
            rewards[a] -= 0.1 * shortest
        rewards[a] += shared
    return False


cdef float* collect_observe(const world_t* world, const lane_t* lane, int agent, float* out) noexcept nogil:
    """Others and treasures are ordered by distance; treasures that were picked up are zeros at the end."""
    cdef ordered_t others, treasures
    cdef int collectors = world.agents - world.kinds
    cdef int k
    others.count = treasures.count = 0
    for k in range(entity_count(world)):
        if k >= world.agents:
            insert(&treasures, k, 1e6 if kind(world, lane, k)[0] < 0.0 else distance(lane, k, agent))
        elif k != agent:
            insert(&others, k, distance(lane, k, agent))
    out = put(out, position(lane, agent), 2)
    out = put(out, velocity(world, lane, agent), 2)
    if agent < collectors:
        out = put_one_hot(out, kind(world, lane, agent)[0], world.kinds)
    for k in others.entities[:others.count]:
        out = put_relative(out, lane, agent, k)
        out = put(out, velocity(world, lane, k), 2)
        out = put_one_hot(out, k - collectors if k >= collectors else -1, world.kinds)
        out = put_one_hot(out, kind(world, lane, k)[0], world.kinds)
    for k in treasures.entities[:treasures.count]:
        if kind(world, lane, k)[0] < 0.0:
            out = put_zeros(out, 2 + world.kinds)
        else:
            out = put_relative(out, lane, agent, k)
            out = put_one_hot(out, kind(world, lane, k)[0], world.kinds)
    return out


# --- functions of a lane ----------------------------------------------------------------------------------------------

cdef void reset(void* memory, const void* shared, const double* p, const double* options, rng_t* rng) noexcept nogil:
    cdef const world_t* world = <const world_t*> shared
    cdef lane_t* lane = <lane_t*> memory
    cdef int k
    memset(lane, 0, bytes_of_lane(world))
    lane.prey_speed = 1.0
    world.place(world, lane, <const parameters_t*> p, rng)
    for k in range(2 * entity_count(world)):
        lane.extent = max(lane.extent, fabs(lane.numbers[k]))


cdef int step_agents(
    void* memory, const void* shared, const double* numbers, const void* actions, rng_t* rng, const uint8_t* active,
    double* rewards, flag_t* ends
) noexcept nogil:
    cdef const world_t* world = <const world_t*> shared
    cdef const parameters_t* p = <const parameters_t*> numbers
    cdef lane_t* lane = <lane_t*> memory
    cdef double[2 * MAX_AGENTS] forces
    cdef bint success
    act(world, lane, actions, forces)
    push_apart(world, lane, forces)
    move(world, lane, forces)
    success = world.reward(world, lane, p, rewards)
    lane.steps += 1
    if lane.steps >= p.max_cycles:  # which hides a success, as in mpe2
        return TRUNCATED
    return TERMINATED if success and world.ends_on_success else 0


cdef void observe(const void* memory, const void* shared, const double* p, void* const* parts) noexcept nogil:
    cdef const world_t* world = <const world_t*> shared
    cdef int k
    for k in range(world.agents):
        world.observe(world, <const lane_t*> memory, k, <float*> parts[world.parts[k]] + world.part_places[k])


cdef int check(const void* memory, const void* shared) noexcept nogil:
    """Return whether the goals of a saved lane are landmarks, and its steps can be counted on."""
    cdef const world_t* world = <const world_t*> shared
    cdef const lane_t* lane = <const lane_t*> memory
    cdef int landmarks = max(world.landmarks, 1)
    return 0 <= lane.goals[0] < landmarks and 0 <= lane.goals[1] < landmarks and 0 <= lane.steps < 1 << 30


cdef lane_functions_t functions
functions.reset, functions.observe, functions.check = reset, observe, check
functions.step_agents = step_agents
functions.shared_name = WORLD_CAPSULE
LANE_FUNCTIONS = functions_capsule(&functions)


# --- descriptions of worlds -------------------------------------------------------------------------------------------

ctypedef struct scenario_t:
    const char* name
    void (*place)(const world_t*, lane_t*, const parameters_t*, rng_t*) noexcept nogil
    bint (*reward)(const world_t*, lane_t*, const parameters_t*, double*) noexcept nogil
    float* (*observe)(const world_t*, const lane_t*, int, float*) noexcept nogil

cdef enum:
    SCENARIOS = 12

cdef scenario_t[SCENARIOS] scenarios = [
    scenario_t("simple", place, simple_reward, simple_observe),
    scenario_t("simple_adversary", place, adversary_reward, adversary_observe),
    scenario_t("simple_crypto", place, crypto_reward, crypto_observe),
    scenario_t("simple_formation", place, formation_reward, formation_observe),
    scenario_t("simple_line", place_line, line_reward, formation_observe),
    scenario_t("simple_push", place, push_reward, push_observe),
    scenario_t("simple_reference", place, reference_reward, reference_observe),
    scenario_t("simple_speaker_listener", place, speaker_reward, speaker_observe),
    scenario_t("simple_spread", place, spread_reward, spread_observe),
    scenario_t("simple_tag", place_tag, tag_reward, tag_observe),
    scenario_t("simple_world_comm", place_world_comm, world_comm_reward, world_comm_observe),
    scenario_t("collect_treasure", place_treasures, collect_reward, collect_observe),
]

# The fields of an entity. `acceleration` is the force of an action, and `color` what others observe.
ENTITY = np.dtype([
    ("size", "f8"), ("mass", "f8"), ("acceleration", "f8"), ("max_speed", "f8"), ("color", "f8", 4), ("moves", "i4"),
    ("collides", "i4"), ("speaks", "i4"), ("adversary", "i4")])


cdef class World:
    """Description of a world, which all worlds of a batch share.

    Args:
        scenario: name of the scenario.
        entities: agents, then landmarks, an array of type `ENTITY`. Adversaries are the first agents.
        agents: number of agents.
        words: length of a message.
        goals: number of landmarks that a reset chooses.
        reach: landmarks begin in [-reach, reach].
        food, forests: numbers of the last landmarks, food first.
        kinds: number of types of treasures, and of the last agents, which are their deposits.
        agent_neighbors, landmark_neighbors: how many of the nearest others an agent observes; 0 for all.
        continuous: whether actions are numbers in [0, 1].
        ends_on_success: whether success ends an episode.

    Raises:
        ValueError: If a number of entities does not fit.
    """

    cdef world_t world
    cdef readonly tuple action_sizes          # numbers of each agent's action, or how many values a discrete one has
    cdef readonly tuple observation_sizes     # length of each agent's observation

    def __cinit__(
        self, str scenario, entities, *, int agents, int words=0, int goals=0, double reach=1.0, int food=0,
        int forests=0, int kinds=0, int agent_neighbors=0, int landmark_neighbors=0, bint continuous=False,
        bint ends_on_success=False,
    ):
        cdef world_t* world = &self.world
        cdef const entity_t[::1] rows = np.ascontiguousarray(entities, ENTITY)
        cdef int k
        world.agents, world.landmarks = agents, len(rows) - agents
        if not (0 < agents <= MAX_AGENTS and 0 <= world.landmarks <= MAX_LANDMARKS):
            raise ValueError(
                f"expected 1 to {MAX_AGENTS} agents and at most {MAX_LANDMARKS} landmarks, got {agents} and "
                f"{world.landmarks}")
        world.words, world.goals, world.reach = words, goals, reach
        world.food, world.forests, world.kinds = food, forests, kinds
        world.agent_neighbors, world.landmark_neighbors = agent_neighbors, landmark_neighbors
        world.continuous, world.ends_on_success = continuous, ends_on_success
        for k in range(len(rows)):
            memcpy(&world.entities[k], &rows[k], sizeof(entity_t))
            world.adversaries += k < agents and rows[k].adversary
        if food + forests > world.landmarks or kinds >= agents or min(food, forests, kinds, words, goals) < 0:
            raise ValueError("expected numbers of food, forests and deposits that fit the entities")
        if min(agent_neighbors, landmark_neighbors) < 0 or words > 16 or goals > 2:
            raise ValueError("expected numbers of neighbors, words and goals that fit a lane")
        for k in range(SCENARIOS):
            if scenarios[k].name == scenario.encode():
                world.place, world.reward, world.observe = (
                    scenarios[k].place, scenarios[k].reward, scenarios[k].observe)
        if world.place == NULL:
            raise ValueError(f"scenario: unknown name {scenario!r}")
        for k, ufunc in enumerate((np.logaddexp, np.exp, np.sin, np.cos, np.arctan2)):
            loop, data = loop_of(ufunc, bytes([cnp.NPY_DOUBLE] * ufunc.nargs))
            (&world.numpy.logaddexp)[k] = ufunc_t(<loop_t> <size_t> loop, <void*> <size_t> data, ufunc.nin)
        world.numpy.dot = <product_t> numpy_dot()
        self.measure()

    cdef int measure(self) except -1:
        """Set the sizes of actions and observations."""
        cdef const world_t* world = &self.world
        cdef int longest = 64 + (entity_count(world) + world.agent_neighbors + world.landmark_neighbors) * (
            8 + 2 * world.kinds + world.words)
        cdef float[::1] out = np.zeros(longest, np.float32)
        cdef char[::1] lane = np.zeros(bytes_of_lane(world), np.int8)
        cdef int k, place = 0
        sizes = []
        for k in range(world.agents):
            count = 5 if world.entities[k].moves else 0 if world.continuous else 1
            if world.entities[k].speaks:
                count = count + world.words if world.continuous else count * world.words
            sizes.append(count)
            self.world.action_places[k] = place
            place += count if world.continuous else 1
        self.action_sizes = tuple(sizes)
        self.observation_sizes = tuple(
            [world.observe(world, <lane_t*> &lane[0], k, &out[0]) - &out[0] for k in range(world.agents)])
        return 0

    @property
    def lane_bytes(self):
        """Size of the state of a world."""
        return bytes_of_lane(&self.world)

    @property
    def capsule(self):
        """Capsule of the description, for the functions of a lane."""
        return owned_capsule(&self.world, WORLD_CAPSULE, self)

    @property
    def lane_dtype(self):
        """Dtype of the state of a world."""
        agents, entities = self.world.agents, entity_count(&self.world)
        return np.dtype([
            ("treasures", np.uint64, 5), ("prey_speed", np.float64), ("extent", np.float64),
            ("direction", np.float64, 2), ("steps", np.int32), ("goals", np.int32, 2), ("unused", np.int32),
            ("positions", np.float64, (entities, 2)), ("velocities", np.float64, (agents, 2)),
            ("messages", np.float64, (agents, self.world.words)),
            ("kinds", np.float64, entities if self.world.kinds else 0)])

    def set_observation_rows(self, parts):
        """Set in which array of an observation each agent has its row, one after another."""
        cdef int k
        sizes = {}
        for k, part in enumerate(parts):
            self.world.parts[k], self.world.part_places[k] = part, sizes.get(part, 0)
            sizes[part] = self.world.part_places[k] + self.observation_sizes[k]
