"""RWARE: robots of a warehouse that bring shelves to goals.

The docstring of `WarehouseEnv` describes the game. Random draws are in the order of rware, and robots that exclude each
other move as its graphs of networkx decide.
"""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from gymcore_ext.engine.capsules cimport owned_capsule
from gymcore_ext.engine.kernel cimport TERMINATED, flag_t, rng_t
from gymcore_ext.lanes.lane_functions cimport functions_capsule, lane_functions_t

import numpy as np

cdef extern from "gymcore/rng.h":
    uint32_t below "gymcore_rng_below"(rng_t* rng, uint32_t choices) noexcept nogil

cdef enum:
    MAX_CELLS = 10000       # above, Generator.choice draws otherwise
    MAX_ROBOTS = 255
    MAX_LAYERS = 16         # of an image
    MAX_STEPS = 0x40000000  # of an episode
    SET_SIZE = 512          # of the table of a Python set of MAX_ROBOTS + 1 cells
    UP = 0, DOWN, LEFT, RIGHT                                                               # directions
    NOTHING = 0, FORWARD, TURN_LEFT, TURN_RIGHT, TOGGLE_LOAD                                # actions
    GLOBAL = 0, INDIVIDUAL, TWO_STAGE                                                       # types of rewards
    FLATTENED = 0, DICT, IMAGE, IMAGE_DICT                                                  # types of observations
    SHELVES = 0, REQUESTS, ROBOTS, DIRECTIONS, LOADS, GOALS, ACCESSIBLE, LAYER_TYPES        # layers of images

# By direction: the step to the cell in front, and the directions after turns.
cdef int[4] ROW_STEPS = [-1, 1, 0, 0]
cdef int[4] COLUMN_STEPS = [0, 0, -1, 1]
cdef int[4] LEFT_OF = [LEFT, RIGHT, DOWN, UP]
cdef int[4] RIGHT_OF = [RIGHT, LEFT, UP, DOWN]

cdef const char* WAREHOUSE_CAPSULE = "gymcore_ext.rware.warehouse"


ctypedef struct robot_t:
    int32_t cell            # row * columns + column
    uint8_t direction, loaded, delivered, unused

# The state of a world: this struct, robots, the shelf in each cell (1, 2, ... by cells at the beginning; 0 for none),
# the robot in each cell (likewise), whether each shelf is requested, and the messages of robots.
ctypedef struct lane_t:
    int32_t steps, inactive_steps
    robot_t robots[1]

ctypedef struct warehouse_t:
    int32_t rows, columns, cells, robots, shelves, goals, requests
    int32_t bits            # size of a message
    int32_t sight, seen     # how many cells a robot sees in each direction, and in all
    int32_t reward_type, observation_type, layers
    int32_t directional     # whether images are turned in the direction of the robot
    int32_t normalized      # whether coordinates are in [0, 1]
    int32_t layer_types[MAX_LAYERS]
    int32_t goal_cells[MAX_CELLS]
    uint8_t highway[MAX_CELLS]      # whether a cell is not for shelves
    uint8_t is_goal[MAX_CELLS]

ctypedef struct parameters_t:
    double max_steps, max_inactivity_steps      # 0 for no limit


cdef inline uint16_t* shelves_of(const warehouse_t* self, const lane_t* lane) noexcept nogil:
    return <uint16_t*> (<robot_t*> lane.robots + self.robots)

cdef inline uint8_t* robots_of(const warehouse_t* self, const lane_t* lane) noexcept nogil:
    return <uint8_t*> (shelves_of(self, lane) + self.cells)

cdef inline uint8_t* requests_of(const warehouse_t* self, const lane_t* lane) noexcept nogil:
    return robots_of(self, lane) + self.cells

cdef inline uint8_t* messages_of(const warehouse_t* self, const lane_t* lane) noexcept nogil:
    return requests_of(self, lane) + self.shelves


# --- the beginning of an episode --------------------------------------------------------------------------------------

cdef void draw_distinct(rng_t* rng, int choices, int count, uint8_t* drawn, int* order) noexcept nogil:
    """Mark distinct numbers in [0, choices), and return their order, as `Generator.choice` does.

    R. W. Floyd's sampling: J. Bentley, "Programming pearls: a sample of brilliance" (1987). Then they are shuffled.
    """
    cdef int k, number, other
    for k in range(count):
        number = <int> below(rng, choices - count + k + 1)
        if drawn[number]:
            number = choices - count + k
        drawn[number] = True
        order[k] = number
    for k in range(count - 1, 0, -1):
        other = <int> below(rng, k + 1)
        order[k], order[other] = order[other], order[k]


cdef void reset(void* memory, const void* shared, const double* p, const double* options, rng_t* rng) noexcept nogil:
    cdef const warehouse_t* self = <const warehouse_t*> shared
    cdef lane_t* lane = <lane_t*> memory
    cdef int[MAX_CELLS] order
    cdef int k, shelf = 0
    memset(lane, 0, messages_of(self, lane) - <uint8_t*> lane + self.robots * self.bits)
    for k in range(self.cells):
        shelf += not self.highway[k]
        shelves_of(self, lane)[k] = 0 if self.highway[k] else shelf
    draw_distinct(rng, self.cells, self.robots, robots_of(self, lane), order)
    for k in range(self.robots):
        lane.robots[k].cell, lane.robots[k].direction = order[k], below(rng, 4)
        robots_of(self, lane)[order[k]] = k + 1
    draw_distinct(rng, self.shelves, self.requests, requests_of(self, lane), order)


# --- which robots move ------------------------------------------------------------------------------------------------

ctypedef struct plan_t:
    int targets[MAX_ROBOTS]     # the cell to which a robot wants to go, or its own
    int ahead[MAX_ROBOTS]       # the robot in this cell, or -1
    int exits[MAX_ROBOTS]       # the free cell to which the queue that a robot is in leads, or -1
    int lengths[MAX_ROBOTS]     # number of robots in the longest queue of which a robot is the first
    bint moves[MAX_ROBOTS]      # whether a robot gets to its target


cdef int target_of(const warehouse_t* self, const lane_t* lane, const robot_t* robot) noexcept nogil:
    """Return the cell in front of a robot; its own at a border, or if it carries a shelf and another one is there."""
    cdef int row = robot.cell // self.columns + ROW_STEPS[robot.direction]
    cdef int column = robot.cell % self.columns + COLUMN_STEPS[robot.direction]
    cdef int cell = row * self.columns + column, other
    if not (0 <= row < self.rows and 0 <= column < self.columns):
        return robot.cell
    other = robots_of(self, lane)[cell]
    if robot.loaded and shelves_of(self, lane)[cell] and not (other and lane.robots[other - 1].loaded):
        return robot.cell
    return cell


cdef void insert(int16_t* slots, int size, uint64_t code, int entry) noexcept nogil:
    """Put an entry with a hash code into a free slot, as CPython's sets do."""
    cdef uint64_t mask = size - 1, perturbation = code, place = code & mask, probe
    while True:
        for probe in range(10 if place + 9 <= mask else 1):
            if slots[place + probe] < 0:
                slots[place + probe] = entry
                return
        perturbation >>= 5
        place = (5 * place + 1 + perturbation) & mask


cdef void order_as_set(int* cells, int count, int columns) noexcept nogil:
    """Sort at most MAX_ROBOTS + 1 distinct cells as a set to which pairs (column, row) were added in order."""
    cdef int16_t[SET_SIZE] slots
    cdef int[MAX_ROBOTS + 1] added
    cdef uint64_t[MAX_ROBOTS + 1] codes
    cdef uint64_t code
    cdef int k, i, axis, size = 8
    memset(slots, 0xFF, sizeof(slots))
    for k in range(count):
        added[k], code = cells[k], 2870177450012600261U  # as CPython's tuples: XXH64 by Y. Collet, in part
        for axis in range(2):
            code += 14029467366897019727U * <uint64_t> (cells[k] // columns if axis else cells[k] % columns)
            code = 11400714785074694791U * (code << 31 | code >> 33)
        codes[k] = code + (2U ^ 2870177450012600261U ^ 3527539U)
        insert(slots, size, codes[k], k)
        if 5 * (k + 1) >= 3 * (size - 1):
            while size <= 4 * (k + 1):
                size *= 2
            memset(slots, 0xFF, sizeof(slots))
            for i in range(k + 1):
                insert(slots, size, codes[i], i)
    k = 0
    for i in range(size):
        if slots[i] >= 0:
            cells[k] = added[slots[i]]
            k += 1


cdef void rank(const warehouse_t* self, const lane_t* lane, const plan_t* plan, int exit, int* ranks) noexcept nogil:
    """Rank the robots that queue for a free cell by their place in rware's graph of this queue.

    Nodes of the graph of all queues are the cell and the target of each robot, in this order. Those of a queue have the
    order of a set of a set, to which a breadth-first search added them, if they are fewer than half of all nodes.
    """
    cdef int[MAX_ROBOTS + 1] cells, origins
    cdef int k, i, robot, count = 0, total = self.robots
    for k in range(self.robots - 1, -1, -1):
        ranks[k] = 2 * k
        total += plan.ahead[k] < 0
        if plan.exits[k] == exit:
            cells[0], origins[0], count = lane.robots[k].cell, -1, 1
        for i in range(k - 1, -1, -1):
            if plan.targets[i] == lane.robots[k].cell:
                ranks[k] = 2 * i + 1
        for i in range(k if plan.ahead[k] < 0 else 0):
            if plan.targets[i] == plan.targets[k]:
                total -= 1
                break
    i = 0
    while i < count:
        robot = robots_of(self, lane)[cells[i]]
        if robot and plan.targets[robot - 1] != origins[i]:
            cells[count], origins[count] = plan.targets[robot - 1], cells[i]
            count += 1
        for k in range(self.robots):
            if plan.targets[k] == cells[i] and lane.robots[k].cell != origins[i]:
                cells[count], origins[count] = lane.robots[k].cell, cells[i]
                count += 1
        i += 1
    if 2 * count < total:
        order_as_set(cells, count, self.columns)
        order_as_set(cells, count, self.columns)
        for i in range(count):
            robot = robots_of(self, lane)[cells[i]]
            if robot:
                ranks[robot - 1] = i


cdef void advance_queue(const warehouse_t* self, const lane_t* lane, plan_t* plan, int exit) noexcept nogil:
    """Let the longest queue for a free cell move; if several are, the one whose robot comes first in the graph."""
    cdef int[MAX_ROBOTS] ranks
    cdef int k, first, cell = exit
    rank(self, lane, plan, exit, ranks)
    while cell >= 0:
        first = -1
        for k in range(self.robots):
            if plan.targets[k] == cell and (
                first < 0 or plan.lengths[k] > plan.lengths[first]
                or (plan.lengths[k] == plan.lengths[first] and ranks[k] < ranks[first])
            ):
                first = k
        cell = -1
        if first >= 0:
            plan.moves[first], cell = True, lane.robots[first].cell


cdef void make_plan(const warehouse_t* self, const lane_t* lane, const int64_t* actions, plan_t* plan) noexcept nogil:
    """Decide which robots move: the longest queue for each free cell, and circles of robots, but not of two."""
    cdef int k, robot, length
    for k in range(self.robots):
        plan.targets[k] = lane.robots[k].cell
        if actions[k * (1 + self.bits)] == FORWARD:
            plan.targets[k] = target_of(self, lane, &lane.robots[k])
        plan.ahead[k] = robots_of(self, lane)[plan.targets[k]] - 1
        plan.lengths[k] = 1
    for k in range(self.robots):
        robot, length = k, 1
        while plan.ahead[robot] >= 0 and plan.ahead[robot] != k and length <= self.robots:
            robot, length = plan.ahead[robot], length + 1
            plan.lengths[robot] = max(plan.lengths[robot], length)
        plan.exits[k] = plan.targets[robot] if plan.ahead[robot] < 0 else -1
        plan.moves[k] = plan.ahead[robot] == k and length != 2
    for k in range(self.robots):
        if plan.ahead[k] < 0:
            advance_queue(self, lane, plan, plan.targets[k])


# --- one step ---------------------------------------------------------------------------------------------------------

cdef void move(const warehouse_t* self, lane_t* lane, const plan_t* plan) noexcept nogil:
    """Move robots, and the shelves that they carry, all at once."""
    cdef uint16_t[MAX_ROBOTS] carried
    cdef robot_t* robot
    cdef int k
    for k in range(self.robots):
        robot, carried[k] = &lane.robots[k], 0
        if plan.moves[k]:
            robots_of(self, lane)[robot.cell] = 0
        if plan.moves[k] and robot.loaded:
            carried[k], shelves_of(self, lane)[robot.cell] = shelves_of(self, lane)[robot.cell], 0
    for k in range(self.robots):
        if plan.moves[k]:
            lane.robots[k].cell = plan.targets[k]
            robots_of(self, lane)[plan.targets[k]] = k + 1
        if carried[k]:
            shelves_of(self, lane)[plan.targets[k]] = carried[k]


cdef void act(const warehouse_t* self, lane_t* lane, robot_t* robot, int64_t action, double* reward) noexcept nogil:
    """Turn a robot, or let it take or put down a shelf."""
    if action == TURN_LEFT:
        robot.direction = LEFT_OF[robot.direction]
    elif action == TURN_RIGHT:
        robot.direction = RIGHT_OF[robot.direction]
    elif action == TOGGLE_LOAD and not robot.loaded:
        robot.loaded = shelves_of(self, lane)[robot.cell] != 0
    elif action == TOGGLE_LOAD and not self.highway[robot.cell]:
        reward[0] = 0.5 if robot.delivered else 0.0
        robot.loaded = robot.delivered = False


cdef void request_another(const warehouse_t* self, uint8_t* requested, int delivered, rng_t* rng) noexcept nogil:
    """Request a shelf that is not requested in place of a delivered one; the same again if there is no other."""
    cdef int k, left = <int> below(rng, self.shelves - self.requests)
    for k in range(self.shelves):
        left -= not requested[k]
        if left < 0:
            requested[k], requested[delivered] = True, False
            return


cdef bint deliver(const warehouse_t* self, lane_t* lane, rng_t* rng, double* rewards) noexcept nogil:
    """Reward robots for requested shelves in goals, and request others. Return whether there were any."""
    cdef bint delivered = False
    cdef int goal, shelf, robot, k
    for goal in range(self.goals):
        shelf = shelves_of(self, lane)[self.goal_cells[goal]] - 1
        robot = robots_of(self, lane)[self.goal_cells[goal]] - 1
        if shelf < 0 or not requests_of(self, lane)[shelf]:
            continue
        delivered = True
        request_another(self, requests_of(self, lane), shelf, rng)
        for k in range(self.robots):
            if k == robot or self.reward_type == GLOBAL:
                rewards[k] += 0.5 if self.reward_type == TWO_STAGE else 1.0
        lane.robots[robot].delivered = self.reward_type == TWO_STAGE
    return delivered


cdef int step_agents(
    void* memory, const void* shared, const double* numbers, const void* inputs, rng_t* rng, const uint8_t* active,
    double* rewards, flag_t* ends
) noexcept nogil:
    cdef const warehouse_t* self = <const warehouse_t*> shared
    cdef const parameters_t* p = <const parameters_t*> numbers
    cdef const int64_t* action = <const int64_t*> inputs
    cdef lane_t* lane = <lane_t*> memory
    cdef plan_t plan
    cdef int k, bit
    make_plan(self, lane, action, &plan)
    move(self, lane, &plan)
    for k in range(self.robots):
        act(self, lane, &lane.robots[k], action[0], rewards + k)
        for bit in range(self.bits):
            messages_of(self, lane)[k * self.bits + bit] = <uint8_t> action[1 + bit]
        action += 1 + self.bits
    lane.steps += 1
    lane.inactive_steps = 0 if deliver(self, lane, rng, rewards) else lane.inactive_steps + 1
    if (p.max_steps and lane.steps >= p.max_steps) or (
            p.max_inactivity_steps and lane.inactive_steps >= p.max_inactivity_steps):
        return TERMINATED
    return 0


# --- observations -----------------------------------------------------------------------------------------------------

ctypedef struct cell_t:
    bint inside, requested, loaded
    int robot, shelf, direction, cell   # numbers are 0 for none


cdef cell_t seen_at(const warehouse_t* self, const lane_t* lane, int row, int column) noexcept nogil:
    """Return what is in a cell: zeros outside, and a direction of 0 without a robot."""
    cdef cell_t seen
    memset(&seen, 0, sizeof(seen))
    if 0 <= row < self.rows and 0 <= column < self.columns:
        seen.inside, seen.cell = True, row * self.columns + column
        seen.robot, seen.shelf = robots_of(self, lane)[seen.cell], shelves_of(self, lane)[seen.cell]
        seen.requested = seen.shelf and requests_of(self, lane)[seen.shelf - 1]
        if seen.robot:
            seen.direction, seen.loaded = lane.robots[seen.robot - 1].direction, lane.robots[seen.robot - 1].loaded
    return seen


cdef void observe_numbers(const warehouse_t* self, const lane_t* lane, int k, float* out) noexcept nogil:
    """Write a robot's place, load and direction, and what is in the cells around it."""
    cdef const robot_t* robot = &lane.robots[k]
    cdef int row = robot.cell // self.columns, column = robot.cell % self.columns
    cdef int y, x, bit
    cdef cell_t seen
    memset(out, 0, (8 + self.seen * (7 + self.bits)) * sizeof(float))
    out[0] = <float> (<double> column / (self.columns - 1 if self.normalized else 1))
    out[1] = <float> (<double> row / (self.rows - 1 if self.normalized else 1))
    out[2], out[3 + robot.direction], out[7] = robot.loaded, 1.0, self.highway[robot.cell]
    out += 8
    for y in range(row - self.sight, row + self.sight + 1):
        for x in range(column - self.sight, column + self.sight + 1):
            seen = seen_at(self, lane, y, x)
            out[0], out[1 + seen.direction] = seen.robot != 0, 1.0
            for bit in range(self.bits if seen.robot else 0):
                out[5 + bit] = messages_of(self, lane)[(seen.robot - 1) * self.bits + bit]
            out[5 + self.bits], out[6 + self.bits] = seen.shelf != 0, seen.requested
            out += 7 + self.bits


cdef void observe_parts(const warehouse_t* self, const lane_t* lane, int k, void* const* parts) noexcept nogil:
    """Write the same as arrays of a dict: four of the robot, and others of the cells around it."""
    cdef const robot_t* robot = &lane.robots[k]
    cdef int row = robot.cell // self.columns, column = robot.cell % self.columns
    cdef int y, x, bit
    cdef int64_t place = k * self.seen
    cdef cell_t seen
    (<int8_t*> parts[0])[k], (<int64_t*> parts[1])[k] = robot.loaded, robot.direction
    if self.normalized:  # as in rware, without fractions
        (<float*> parts[2])[2 * k] = column // (self.columns - 1)
        (<float*> parts[2])[2 * k + 1] = row // (self.rows - 1)
    else:
        (<int32_t*> parts[2])[2 * k], (<int32_t*> parts[2])[2 * k + 1] = column, row
    (<int8_t*> parts[3])[k] = self.highway[robot.cell]
    for y in range(row - self.sight, row + self.sight + 1):
        for x in range(column - self.sight, column + self.sight + 1):
            seen = seen_at(self, lane, y, x)
            (<int64_t*> parts[4])[place] = seen.direction
            (<int8_t*> parts[5])[place], (<int8_t*> parts[6])[place] = seen.robot != 0, seen.shelf != 0
            for bit in range(self.bits):
                (<int8_t*> parts[7])[place * self.bits + bit] = (
                    messages_of(self, lane)[(seen.robot - 1) * self.bits + bit] if seen.robot else 0)
            (<int8_t*> parts[7 + (self.bits > 0)])[place] = seen.requested
            place += 1


cdef void observe_image(const warehouse_t* self, const lane_t* lane, int k, float* out) noexcept nogil:
    """Write layers of the cells around a robot; if images are directional, the cell in front of it is above it."""
    cdef const robot_t* robot = &lane.robots[k]
    cdef int down = -ROW_STEPS[robot.direction if self.directional else UP]
    cdef int across = COLUMN_STEPS[robot.direction if self.directional else UP]
    cdef int y, x, row, column, layer
    cdef float[LAYER_TYPES] values
    cdef cell_t seen, swapped
    memset(out, 0, self.layers * self.seen * sizeof(float))
    for y in range(-self.sight, self.sight + 1):
        for x in range(-self.sight, self.sight + 1):
            row = robot.cell // self.columns + y * down + x * across
            column = robot.cell % self.columns + x * down - y * across
            seen = seen_at(self, lane, row, column)
            swapped = seen_at(self, lane, column, row)  # rware swaps rows and columns in two layers
            values[SHELVES], values[REQUESTS], values[ROBOTS] = seen.shelf != 0, seen.requested, seen.robot != 0
            values[DIRECTIONS], values[LOADS] = swapped.direction + (swapped.robot != 0), swapped.loaded
            values[GOALS], values[ACCESSIBLE] = self.is_goal[seen.cell], seen.robot == 0
            for layer in range(self.layers if seen.inside else 0):
                out[layer * self.seen] = values[self.layer_types[layer]]
            out += 1


cdef void observe(const void* memory, const void* shared, const double* p, void* const* parts) noexcept nogil:
    cdef const warehouse_t* self = <const warehouse_t*> shared
    cdef const lane_t* lane = <const lane_t*> memory
    cdef float* features
    cdef int k
    for k in range(self.robots):
        if self.observation_type == FLATTENED:
            observe_numbers(self, lane, k, <float*> parts[0] + k * (8 + self.seen * (7 + self.bits)))
        elif self.observation_type == DICT:
            observe_parts(self, lane, k, parts)
        else:
            observe_image(self, lane, k, <float*> parts[self.observation_type > IMAGE] + k * self.layers * self.seen)
        if self.observation_type == IMAGE_DICT:
            features = <float*> parts[0] + 6 * k
            memset(features, 0, 6 * sizeof(float))
            features[lane.robots[k].direction] = 1.0
            features[4], features[5] = self.highway[lane.robots[k].cell], lane.robots[k].loaded


cdef int check(const void* memory, const void* shared) noexcept nogil:
    """Return whether the robots and shelves of a saved lane are where they can be, each once."""
    cdef const warehouse_t* self = <const warehouse_t*> shared
    cdef const lane_t* lane = <const lane_t*> memory
    cdef const robot_t* robot
    cdef uint8_t[MAX_CELLS + 1] taken
    cdef int k, shelf, robots = 0, shelves = 0, requests = 0, on_highway = 0
    memset(taken, 0, sizeof(taken))
    for k in range(self.robots):
        robot = &lane.robots[k]
        if not 0 <= robot.cell < self.cells or robots_of(self, lane)[robot.cell] != k + 1:
            return False
        if robot.direction > RIGHT or robot.loaded > (shelves_of(self, lane)[robot.cell] > 0) or robot.delivered > 1:
            return False
        on_highway += robot.loaded and self.highway[robot.cell]
    for k in range(self.cells):
        shelf = shelves_of(self, lane)[k]
        if shelf > self.shelves or (shelf and taken[shelf]):
            return False
        taken[shelf] = True
        shelves += shelf != 0
        robots += robots_of(self, lane)[k] != 0
        on_highway -= shelf and self.highway[k]
    for k in range(self.shelves + self.robots * self.bits):
        if requests_of(self, lane)[k] > 1:
            return False
        requests += requests_of(self, lane)[k] if k < self.shelves else 0
    return (
        robots == self.robots and shelves == self.shelves and requests == self.requests and on_highway == 0
        and 0 <= lane.inactive_steps <= lane.steps <= MAX_STEPS)


cdef lane_functions_t functions
functions.reset, functions.observe, functions.check = reset, observe, check
functions.step_agents = step_agents
functions.shared_name = WAREHOUSE_CAPSULE
LANE_FUNCTIONS = functions_capsule(&functions)


# What the worlds of a batch have in common, as an array [1].
cdef warehouse_t nothing
WAREHOUSE = np.asarray(<warehouse_t[:1]> &nothing).dtype
cdef robot_t nobody
ROBOT = np.asarray(<robot_t[:1]> &nobody).dtype


def warehouse_capsule(const warehouse_t[::1] warehouse):
    """Return a capsule of a description, for the functions of a lane; numbers in it are not checked."""
    return owned_capsule(<void*> &warehouse[0], WAREHOUSE_CAPSULE, np.asarray(warehouse))
