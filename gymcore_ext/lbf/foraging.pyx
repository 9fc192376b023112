"""Level-based foraging: players on a field of cells load food together.

The docstring of `ForagingEnv` describes the game. Random draws are in the order of lbforaging.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcmp, memset

from gymcore_ext.engine.capsules cimport owned_capsule
from gymcore_ext.engine.kernel cimport TERMINATED, flag_t, rng_t
from gymcore_ext.lanes.lane_functions cimport functions_capsule, lane_functions_t

import numpy as np

cdef extern from "gymcore/rng.h":
    uint32_t below "gymcore_rng_below"(rng_t* rng, uint32_t choices) noexcept nogil
    uint32_t next32 "gymcore_rng_next32"(rng_t* rng) noexcept nogil

cdef enum:
    MAX_ITEMS = 256         # players, and foods
    MAX_LEVEL = 1000        # of a player
    MAX_TRIES = 1000        # to place a player, or all foods
    MAX_STEPS = 0x40000000  # of an episode
    TEAM = 3                # how many players a food needs at most
    NORTH = 1, SOUTH, WEST, EAST, LOAD  # actions; 0 is none

cdef const char* FIELD_CAPSULE = "gymcore_ext.lbf.field"

# A player or a food. Level 0: a player without a place before the first episode, or a food that was loaded.
ctypedef struct item_t:
    int32_t row, column, level

ctypedef struct lane_t:
    rng_t stream            # the random stream after the last reset
    int32_t steps
    int32_t total           # sum of the levels of foods at the beginning
    item_t items[1]         # players, then foods by row and column

ctypedef struct field_t:
    int32_t rows, columns, players, foods, size     # the size of an observation
    int32_t sight           # how many cells a player sees in each direction
    int32_t coop            # whether foods have their highest levels
    int32_t grid            # whether observations are grids of cells instead of lists of items
    int32_t shows_levels    # whether players see the levels of players
    int32_t normalizes      # whether the rewards of an episode sum up to 1 at most
    # Lowest and highest levels. A highest level of 0 stands for the sum of the `TEAM` lowest levels of players.
    int32_t player_levels[MAX_ITEMS][2]
    int32_t food_levels[MAX_ITEMS][2]

ctypedef struct parameters_t:
    double max_steps, penalty


cdef inline item_t* players_of(const lane_t* lane) noexcept nogil:
    return <item_t*> lane.items

cdef inline item_t* foods_of(const field_t* field, const lane_t* lane) noexcept nogil:
    return <item_t*> lane.items + field.players

# Return the square of the distance between an item and a cell.
cdef inline int square_distance(const item_t* item, int row, int column) noexcept nogil:
    return (item.row - row) * (item.row - row) + (item.column - column) * (item.column - column)

# Return whether there is one of these items in a cell.
cdef inline bint is_taken(const item_t* items, int count, int row, int column) noexcept nogil:
    cdef int k
    for k in range(count):
        if items[k].level and square_distance(&items[k], row, column) == 0:
            return True
    return False


# --- the beginning of an episode --------------------------------------------------------------------------------------

cdef void permute(rng_t* rng, int* order, int count) noexcept nogil:
    """Draw a permutation of [0, count), at most 512, as `Generator.permutation` does: random bits up to a mask."""
    cdef int k, other, mask
    for k in range(count):
        order[k] = k
    for k in range(count - 1, 0, -1):
        mask = 1
        while mask < k:
            mask = 2 * mask + 1
        other = <int> (next32(rng) & mask)
        while other > k:
            other = <int> (next32(rng) & mask)
        order[k], order[other] = order[other], order[k]

cdef inline int draw_from(rng_t* rng, int lowest, int highest) noexcept nogil:
    return lowest + <int> below(rng, <uint32_t> (highest - lowest + 1))

cdef void place_players(const field_t* field, lane_t* lane, rng_t* rng) noexcept nogil:
    """Give each player a free cell and a level. The cell where a player was before its turn is not free."""
    cdef int[MAX_ITEMS] order
    cdef item_t* players = players_of(lane)
    cdef int k, row, column, tries
    permute(rng, order, field.players)
    for k in range(field.players):
        for tries in range(MAX_TRIES + field.rows * field.columns):
            if tries < MAX_TRIES:
                row = draw_from(rng, 0, field.rows - 1)
                column = draw_from(rng, 0, field.columns - 1)
            elif players[k].level:
                break  # it stays where it was
            else:
                row, column = (tries - MAX_TRIES) // field.columns, (tries - MAX_TRIES) % field.columns
            if not is_taken(players, field.players, row, column):
                players[k].row, players[k].column = row, column
                players[k].level = draw_from(rng, field.player_levels[order[k]][0], field.player_levels[order[k]][1])
                break


cdef int sum_of_lowest_levels(const field_t* field, const lane_t* lane) noexcept nogil:
    """Return the sum of the lowest levels of `TEAM` players."""
    cdef int[MAX_ITEMS] levels
    cdef int k, i, total = 0
    for k in range(field.players):
        levels[k] = players_of(lane)[k].level
    for i in range(min(TEAM, field.players)):
        for k in range(i + 1, field.players):
            if levels[k] < levels[i]:
                levels[i], levels[k] = levels[k], levels[i]
        total += levels[i]
    return total


cdef void place_foods(const field_t* field, lane_t* lane, rng_t* rng) noexcept nogil:
    """Place foods away from the border, and so that no cell is next to two of them; there may be too little room."""
    cdef int[MAX_ITEMS] order
    cdef item_t* foods = foods_of(field, lane)
    cdef int lowest, highest, row, column, k, square, taken, _, count = 0
    lane.total = 0
    permute(rng, order, field.foods)
    for _ in range(MAX_TRIES):
        if count == field.foods:
            break
        row, column = draw_from(rng, 1, field.rows - 2), draw_from(rng, 1, field.columns - 2)
        taken = is_taken(players_of(lane), field.players, row, column)
        for k in range(count):
            square = square_distance(&foods[k], row, column)
            taken |= square <= 2 or square == 4
        if taken:
            continue
        highest = field.food_levels[order[count]][1] or sum_of_lowest_levels(field, lane)
        lowest = highest if field.coop else field.food_levels[order[count]][0]
        k = count
        while k and (foods[k - 1].row > row or (foods[k - 1].row == row and foods[k - 1].column > column)):
            foods[k] = foods[k - 1]
            k -= 1
        foods[k] = item_t(row, column, draw_from(rng, lowest, highest))
        lane.total += foods[k].level
        count += 1


cdef void reset(void* memory, const void* shared, const double* p, const double* options, rng_t* rng) noexcept nogil:
    """Begin an episode. If the stream was not set since the last reset, players begin from where they are."""
    cdef const field_t* field = <const field_t*> shared
    cdef lane_t* lane = <lane_t*> memory
    if memcmp(&lane.stream, rng, sizeof(rng_t)) != 0:
        memset(players_of(lane), 0, field.players * sizeof(item_t))
    memset(foods_of(field, lane), 0, field.foods * sizeof(item_t))
    place_players(field, lane, rng)
    place_foods(field, lane, rng)
    lane.steps = 0
    lane.stream = rng[0]


# --- one step ---------------------------------------------------------------------------------------------------------

cdef int food_next_to(const field_t* field, const lane_t* lane, const item_t* player) noexcept nogil:
    """Return the index of the food in one of the 4 cells beside a player, or -1."""
    cdef const item_t* foods = foods_of(field, lane)
    cdef int k
    for k in range(field.foods):
        if foods[k].level and square_distance(&foods[k], player.row, player.column) == 1:
            return k
    return -1


cdef void move(const field_t* field, lane_t* lane, const int64_t* actions) noexcept nogil:
    """Move players to cells without food, except to a cell that other players also go to or stay in."""
    cdef item_t[MAX_ITEMS] targets
    cdef item_t* players = players_of(lane)
    cdef item_t* target
    cdef int k, i
    cdef bint alone
    for k in range(field.players):
        target = &targets[k]
        target[0] = players[k]
        target.row += (actions[k] == SOUTH) - (actions[k] == NORTH)
        target.column += (actions[k] == EAST) - (actions[k] == WEST)
        if not (0 <= target.row < field.rows and 0 <= target.column < field.columns) or is_taken(
                foods_of(field, lane), field.foods, target.row, target.column):
            target[0] = players[k]
    for k in range(field.players):
        alone = True
        for i in range(field.players):
            alone &= i == k or targets[i].row != targets[k].row or targets[i].column != targets[k].column
        if alone:
            players[k] = targets[k]


cdef void load(
    const field_t* field, lane_t* lane, const parameters_t* p, const int64_t* actions, double* rewards
) noexcept nogil:
    """Let players load the foods beside them.

    A food is removed if the levels of its players sum up to at least its level. They share the reward; else they pay
    the penalty.
    """
    cdef int[MAX_ITEMS] loaded      # index of the food that a player loads, or -1
    cdef item_t* players = players_of(lane)
    cdef item_t* food
    cdef int k, i, level
    for k in range(field.players):
        loaded[k] = food_next_to(field, lane, &players[k]) if actions[k] == LOAD else -1
    for i in range(field.foods):
        food, level = foods_of(field, lane) + i, 0
        for k in range(field.players):
            level += players[k].level if loaded[k] == i else 0
        for k in range(field.players):
            if loaded[k] == i and level < food.level:
                rewards[k] = 0.0 - p.penalty
            elif loaded[k] == i:
                rewards[k] = <double> (players[k].level * food.level)
                if field.normalizes:
                    rewards[k] /= <double> (<int64_t> level * lane.total)
        if level >= food.level:
            food.level = 0


cdef int step_agents(
    void* memory, const void* shared, const double* numbers, const void* actions, rng_t* rng, const uint8_t* active,
    double* rewards, flag_t* ends
) noexcept nogil:
    cdef const field_t* field = <const field_t*> shared
    cdef const parameters_t* p = <const parameters_t*> numbers
    cdef lane_t* lane = <lane_t*> memory
    cdef int k
    move(field, lane, <const int64_t*> actions)
    load(field, lane, p, <const int64_t*> actions, rewards)
    lane.steps += 1
    if lane.steps >= p.max_steps:
        return TERMINATED
    for k in range(field.foods):
        if foods_of(field, lane)[k].level:
            return 0
    return TERMINATED


# --- observations -----------------------------------------------------------------------------------------------------

cdef inline float* put(float* out, int row, int column, int level, bint with_level) noexcept nogil:
    """Write an item, and return where the next one begins."""
    out[0], out[1] = row, column
    if with_level:
        out[2] = level
    return out + 2 + with_level


cdef void observe_items(const field_t* field, const lane_t* lane, int self, float* out) noexcept nogil:
    """Write the foods and players that a player sees, itself first, with places relative to the corner of its view."""
    cdef const item_t* player = players_of(lane) + self
    cdef const item_t* foods = foods_of(field, lane)
    cdef int top = max(player.row - field.sight, 0), left = max(player.column - field.sight, 0)
    cdef int height = player.row - top + field.sight, width = player.column - left + field.sight
    cdef int k, _, row, column, unseen = field.foods
    for k in range(field.foods):
        row, column = foods[k].row - top, foods[k].column - left
        if foods[k].level and 0 <= row <= height and 0 <= column <= width:
            out = put(out, row, column, foods[k].level, True)
            unseen -= 1
    for _ in range(unseen):
        out = put(out, -1, -1, 0, True)
    out = put(out, player.row - top, player.column - left, player.level, field.shows_levels)
    unseen = field.players - 1
    for k in range(field.players):
        row, column = players_of(lane)[k].row - top, players_of(lane)[k].column - left
        # As in lbforaging, next to a border this is farther than the sight.
        if k != self and 0 <= row <= 2 * field.sight and 0 <= column <= 2 * field.sight:
            out = put(out, row, column, players_of(lane)[k].level, field.shows_levels)
            unseen -= 1
    for _ in range(unseen):
        out = put(out, -1, -1, 0, field.shows_levels)


cdef void observe_grid(const field_t* field, const lane_t* lane, int self, float* out) noexcept nogil:
    """Write the cells around a player: levels of players, levels of foods, and whether a cell is free."""
    cdef const item_t* item
    cdef int side = 2 * field.sight + 1
    cdef int top = lane.items[self].row - field.sight, left = lane.items[self].column - field.sight
    cdef int k, row, column, cell
    memset(out, 0, 3 * side * side * sizeof(float))
    for row in range(max(0, -top), min(side, field.rows - top)):
        for column in range(max(0, -left), min(side, field.columns - left)):
            out[(2 * side + row) * side + column] = 1.0
    for k in range(field.players + field.foods):
        item = &lane.items[k]
        row, column = item.row - top, item.column - left
        if item.level and 0 <= row < side and 0 <= column < side:
            cell = row * side + column
            out[2 * side * side + cell] = 0.0
            if k < field.players:
                out[cell] = item.level if field.shows_levels else 1
            else:
                out[side * side + cell] = item.level


cdef void observe(const void* memory, const void* shared, const double* p, void* const* parts) noexcept nogil:
    cdef const field_t* field = <const field_t*> shared
    cdef float* out
    cdef int k
    for k in range(field.players):
        out = <float*> parts[0] + k * field.size
        if field.grid:
            observe_grid(field, <const lane_t*> memory, k, out)
        else:
            observe_items(field, <const lane_t*> memory, k, out)


cdef int check(const void* memory, const void* shared) noexcept nogil:
    """Return whether the items of a saved lane are in the field, with possible levels."""
    cdef const field_t* field = <const field_t*> shared
    cdef const lane_t* lane = <const lane_t*> memory
    cdef const item_t* item
    cdef int k, inside, total = 0
    for k in range(field.players + field.foods):
        item = &lane.items[k]
        inside = 0 <= item.row < field.rows and 0 <= item.column < field.columns
        if not inside or not 0 <= item.level <= TEAM * MAX_LEVEL:
            return False
        total += item.level if k >= field.players else 0
    return 0 <= lane.steps <= MAX_STEPS and total <= lane.total <= MAX_ITEMS * TEAM * MAX_LEVEL


cdef lane_functions_t functions
functions.reset, functions.observe, functions.check = reset, observe, check
functions.step_agents = step_agents
functions.shared_name = FIELD_CAPSULE
LANE_FUNCTIONS = functions_capsule(&functions)


# Description of a world, which all worlds of a batch share, as an array [1].
cdef field_t nothing
FIELD = np.asarray(<field_t[:1]> &nothing).dtype


def field_capsule(const field_t[::1] field):
    """Return a capsule of a description, for the functions of a lane; numbers in it are not checked."""
    return owned_capsule(<void*> &field[0], FIELD_CAPSULE, np.asarray(field))
