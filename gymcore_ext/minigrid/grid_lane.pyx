"""One lane of a grid world: generating a level, a step, observations, and checks of saved lanes.

Observations equal those of MiniGrid and its wrappers, to the bit. Visibility is that of its `process_vis`: row by row,
starting at the agent, light spreads to both sides through transparent cells, and from each cell that it reaches to the
three cells ahead.
"""
cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memcpy, memset, strchr

from gymcore_ext.minigrid.grid cimport (
    ACTIONS, AGENT, BAD_START, BOX, COLORS, DOOR, EMPTY, GOAL, GRAY, KINDS, LAVA, LONG_MISSION, MAX_OBJECTS, MAX_ROOMS,
    MAX_SIDE, MAX_TEXT, NOWHERE, NO_FAULT, NO_GOAL, OPEN, RED, RULES_CAPSULE, STATES, STEP_X, STEP_Y, TARGETS, WALL,
    WORDS, act, append, build_t, bytes_of_lane, can_overlap, can_pick_up, cell_at, cell_t, cells_of, color_of,
    grid_lane_t, grid_spec_t, identity_of, kind_of, make_cell, name_of, object_t, rng_t, rules_t, state_of, tiles_t,
)

from gymcore_ext.arrays cimport clear_if_full
from gymcore_ext.engine.capsules cimport owned_capsule
from gymcore_ext.lanes.lane_functions cimport functions_capsule, lane_functions_t

import math

import numpy as np

cnp.import_array()


cdef extern from "minigrid/tiles.h":
    const uint8_t* picture_of "gymcore_tile"(tiles_t* tiles, int number) noexcept nogil
    void draw_tile "gymcore_draw_tile"(const tiles_t* tiles, int number, uint8_t* image, size_t stride) noexcept nogil
    void free_tiles "gymcore_free_tiles"(tiles_t* tiles) noexcept
    ctypedef uint64_t word64 "gymcore_word64"
    uint64_t load64 "gymcore_load64"(word64* word) noexcept
    uint64_t add64 "gymcore_add64"(word64* word, uint64_t value) noexcept nogil


cdef const char* SPEC_CAPSULE = "gymcore_ext.minigrid.grid_spec"

# Contents of images, and sets of arrays that observations consist of. `grid_spec_t` has their indices here.
OBSERVES = ("partial", "one_hot", "full", "symbolic", "rgb_partial", "rgb")
LAYOUTS = ("dict", "image", "flat")


cdef enum:
    MAX_VIEW = 63          # cells, so that the bits of a word suffice for a row
    MAX_TILE_SIZE = 256    # pixels
    APPEARANCE = 511       # the bits of a cell without the identity of its object
    LETTERS = 28           # a to z, blank and comma
    FLAT_TEXT = 96         # number of characters of the mission in a flat observation
    CHANNELS = KINDS + COLORS + STATES   # length of the one-hot vectors
    MANY = 1 << 30         # maximum number of steps, so that no count of them overflows

cdef enum:  # as OBSERVES
    PARTIAL, ONE_HOT, FULL, SYMBOLIC, RGB_PARTIAL, RGB

cdef enum:  # as LAYOUTS: image, direction and mission; the image alone; image and mission in one vector
    DICT, IMAGE, FLAT


ctypedef struct view_t:
    cell_t cells[MAX_VIEW * MAX_VIEW]   # [across, ahead], as in the image; the agent is in the middle of the last row
    uint64_t rows[MAX_VIEW]             # for each step ahead, a bit for each visible cell across


# Kind, color, state and transparency of a cell, by its lowest nine bits: one byte each, the kind in the lowest one.
# This is also their order in memory, because all supported processors are little-endian.
cdef uint32_t appearances[APPEARANCE + 1]
# Number of the first of the ten pictures of a cell: without an agent, and with one in each direction; each of them
# first without, then with highlighting.
cdef uint16_t first_tiles[APPEARANCE + 1]


cdef void fill_appearances() noexcept:
    cdef cell_t cell
    cdef int kind
    for cell in range(APPEARANCE + 1):
        kind = kind_of(cell) if is_possible_object(cell) else <int> EMPTY
        kind += state_of(cell) if kind == DOOR else STATES - 1 if kind > DOOR else 0
        first_tiles[cell] = <uint16_t> (10 * (COLORS * (kind - EMPTY) + color_of(cell) % COLORS))
        appearances[cell] = (
            kind_of(cell) | color_of(cell) << 8 | state_of(cell) << 16
            | <uint32_t> (kind_of(cell) != WALL and (kind_of(cell) != DOOR or state_of(cell) == OPEN)) << 24)


fill_appearances()


# --- missions ---------------------------------------------------------------------------------------------------------

cdef int write_mission(const grid_lane_t* lane, const grid_spec_t* spec, char* text) noexcept nogil:
    """Write the mission, at most MAX_TEXT bytes, and return its length."""
    cdef const char* template
    cdef char* at = text
    cdef int word = 1
    if spec.rules.write_mission != NULL:
        return spec.rules.write_mission(lane, text)
    template = spec.rules.missions
    for _ in range(lane.words[0]):
        template = strchr(template, c"\n") + 1
    while template[0] and template[0] != c"\n":
        if template[0] == c"%":
            at = append(at, name_of(lane.words[word]))
            word += 1
        else:
            at[0] = template[0]
            at += 1
        template += 1
    return <int> (at - text)


# --- an episode -------------------------------------------------------------------------------------------------------

cdef bint find_goal(grid_lane_t* lane, const grid_spec_t* spec) noexcept nogil:
    cdef int k
    for k in range(spec.width * spec.height):
        if kind_of(cells_of(lane)[k]) == GOAL:
            lane.goal_x, lane.goal_y = <uint8_t> (k % spec.width), <uint8_t> (k // spec.width)
            return True
    return False


cdef void clear(grid_lane_t* lane, const grid_spec_t* spec) noexcept nogil:
    """Clear the grid, and remove the agent from it."""
    cdef cell_t* cells = cells_of(lane)
    cdef int k
    lane.step_count = 0
    lane.max_steps = 1
    lane.agent_x = lane.agent_y = NOWHERE
    lane.agent_dir = lane.object_count = lane.goal_x = lane.goal_y = 0
    lane.width, lane.height, lane.room_size = <uint8_t> spec.width, <uint8_t> spec.height, <uint8_t> spec.room_size
    lane.fault = NO_FAULT
    lane.carrying = EMPTY
    memset(lane.words, 0, sizeof(lane.words))
    memset(lane.targets, 0, sizeof(lane.targets))
    lane.objects[0].x = lane.objects[0].y = 0
    lane.objects[0].contents = EMPTY
    for k in range(spec.width * spec.height):
        cells[k] = EMPTY


cdef void reset(
    void* memory, const void* shared, const double* parameters, const double* reset_options, rng_t* rng
) noexcept nogil:
    cdef grid_lane_t* lane = <grid_lane_t*> memory
    cdef const grid_spec_t* spec = <const grid_spec_t*> shared
    cdef char text[MAX_TEXT]
    cdef build_t build
    add64(<word64*> &(<grid_spec_t*> spec).resets, 1)
    clear(lane, spec)
    lane.max_steps = <int32_t> parameters[0] if 0.0 < parameters[0] <= MANY else 0
    build.lane, build.spec, build.rng = lane, spec, rng
    build.numbers = parameters + 1
    build.cells = cells_of(lane)
    build.width, build.height = spec.width, spec.height
    build.room_size, build.columns, build.rows = spec.room_size, spec.columns, spec.rows
    build.fault = build.x = build.y = 0
    spec.rules.generate(&build)
    if not build.fault and not can_overlap(cell_at(lane, lane.agent_x, lane.agent_y)):
        build.fault = BAD_START
    if not build.fault and spec.layout == FLAT and write_mission(lane, spec, text) > FLAT_TEXT:
        build.fault = LONG_MISSION
    if not build.fault and spec.goal_directions != NULL and not find_goal(lane, spec):
        build.fault = NO_GOAL
    if build.fault:
        clear(lane, spec)
        lane.agent_x = lane.agent_y = 1
        lane.fault = <uint8_t> build.fault


cdef int step(
    void* memory, const void* shared, const double* parameters, const void* action, rng_t* rng, double* reward
) noexcept nogil:
    cdef grid_lane_t* lane = <grid_lane_t*> memory
    cdef const grid_spec_t* spec = <const grid_spec_t*> shared
    if spec.rules.step != NULL:
        return spec.rules.step(lane, <int> (<const int64_t*> action)[0], rng, reward)
    return act(lane, <int> (<const int64_t*> action)[0], reward)


# --- what the agent sees ----------------------------------------------------------------------------------------------

cdef inline void clip_range(int start, int step, int limit, int size, int* low, int* high) noexcept nogil:
    """Write the range of k in [0, size) for which 0 <= start + k * step < limit; step is 1 or -1."""
    low[0] = max(0, -start if step > 0 else start - limit + 1)
    high[0] = min(size, limit - start if step > 0 else start + 1)


cdef inline uint64_t spread_to_higher_bits(uint64_t light, uint64_t clear) noexcept nogil:
    """Return the clear cells of a row that light reaches by spreading to higher bits.

    The addition carries each lit bit through the clear bits above it, and so flips those of them that are not lit.
    """
    light &= clear
    return ((clear ^ (clear + light)) | light) & clear


cdef inline uint64_t spread_to_lower_bits(uint64_t light, uint64_t clear, int size) noexcept nogil:
    """Return the clear cells of a row that light reaches by spreading to lower bits."""
    cdef int shift = 1
    light &= clear
    while shift < size:
        light |= clear & light >> shift
        clear &= clear >> shift
        shift *= 2
    return light


cdef inline void cast_shadows(view_t* view, int size) noexcept nogil:
    cdef uint64_t first = 1, last = first << (size - 1), row, clear, reached, ahead = first << (size // 2)
    cdef int i, j
    for j in range(size - 1, -1, -1):
        row = ahead
        clear = 0
        for i in range(size):
            clear |= <uint64_t> (appearances[view.cells[i * size + j] & APPEARANCE] >> 24) << i
        reached = spread_to_higher_bits(row, clear & ~last)
        row |= reached << 1
        ahead = reached | reached << 1
        reached = spread_to_lower_bits(row, clear & ~first, size)
        row |= reached >> 1
        ahead |= reached | reached >> 1
        view.rows[j] = row


cdef inline void extract_view(const grid_lane_t* lane, const grid_spec_t* spec, view_t* view, int size) noexcept nogil:
    """Rotate the grid so that the agent faces up, copy the cells ahead of it, and determine which are visible."""
    cdef int ahead_x = STEP_X[lane.agent_dir], ahead_y = STEP_Y[lane.agent_dir], right_x = -ahead_y, right_y = ahead_x
    cdef int x = lane.agent_x + ahead_x * (size - 1) - right_x * (size // 2)
    cdef int y = lane.agent_y + ahead_y * (size - 1) - right_y * (size // 2)
    cdef int i_step = right_y * spec.width + right_x, j_step = -ahead_y * spec.width - ahead_x
    cdef int i, j, i_low, i_high, j_low, j_high
    cdef const cell_t* column
    if right_x:
        clip_range(x, right_x, spec.width, size, &i_low, &i_high)
        clip_range(y, -ahead_y, spec.height, size, &j_low, &j_high)
    else:
        clip_range(y, right_y, spec.height, size, &i_low, &i_high)
        clip_range(x, -ahead_x, spec.width, size, &j_low, &j_high)
    if i_high - i_low < size or j_high - j_low < size:
        for i in range(size * size):
            view.cells[i] = make_cell(WALL, GRAY)
    for i in range(i_low, i_high):
        column = cells_of(lane) + y * spec.width + x + i * i_step
        for j in range(j_low, j_high):
            view.cells[i * size + j] = column[j * j_step]
    if spec.see_through_walls:
        for j in range(size):
            view.rows[j] = ~<uint64_t> 0
    else:
        cast_shadows(view, size)
    view.cells[(size // 2 + 1) * size - 1] = lane.carrying


cdef void view_of(const grid_lane_t* lane, const grid_spec_t* spec, view_t* view) noexcept nogil:
    if spec.view_size == 7:   # the default, as loops with a constant count
        extract_view(lane, spec, view, 7)
    else:
        extract_view(lane, spec, view, spec.view_size)


cdef inline void encode_cell(uint32_t appearance, bint one_hot, uint8_t* image) noexcept nogil:
    """Write kind, color and state of a cell, as numbers or as one-hot vectors."""
    if one_hot:
        memset(image, 0, CHANNELS)
        image[appearance & 15] = image[KINDS + (appearance >> 8 & 7)] = 1
        image[KINDS + COLORS + (appearance >> 16 & 3)] = 1
    else:
        image[0], image[1], image[2] = <uint8_t> appearance, <uint8_t> (appearance >> 8), <uint8_t> (appearance >> 16)


cdef inline void encode_view(const view_t* view, int size, bint one_hot, uint8_t* image) noexcept nogil:
    """Write the cells that the agent sees, and zeros for invisible cells."""
    cdef int i, j, channels = CHANNELS if one_hot else 3
    cdef uint32_t appearance
    for i in range(size):
        for j in range(size):
            appearance = appearances[view.cells[i * size + j] & APPEARANCE] & -<uint32_t> (view.rows[j] >> i & 1)
            if one_hot or (i == size - 1 and j == size - 1):
                encode_cell(appearance, one_hot, image)
            else:
                memcpy(image, &appearance, 4)   # one store; the next cell overwrites the fourth byte
            image += channels


cdef void encode_grid(const grid_lane_t* lane, const grid_spec_t* spec, uint8_t* image) noexcept nogil:
    """Write the whole grid, [width, height, 3], with the agent as an object whose state is its direction."""
    cdef const cell_t* cells = cells_of(lane)
    cdef int x, y
    for x in range(spec.width):
        for y in range(spec.height):
            encode_cell(appearances[cells[y * spec.width + x] & APPEARANCE], False, image + (x * spec.height + y) * 3)
    image += (lane.agent_x * spec.height + lane.agent_y) * 3
    image[0], image[1], image[2] = AGENT, RED, lane.agent_dir


cdef void write_symbols(const grid_lane_t* lane, const grid_spec_t* spec, int64_t* image) noexcept nogil:
    """Write position and kind of every cell, [width, height, 3]; the kind of an empty cell is -1."""
    cdef const cell_t* cells = cells_of(lane)
    cdef int x, y, kind
    for x in range(spec.width):
        for y in range(spec.height):
            kind = kind_of(cells[y * spec.width + x])
            if x == lane.agent_x and y == lane.agent_y:
                kind = AGENT
            image[0], image[1], image[2] = x, y, -1 if kind == EMPTY else kind
            image += 3


cdef inline void copy_rows(uint8_t* image, const uint8_t* tile, int side, size_t stride) noexcept nogil:
    cdef int row
    for row in range(side):
        memcpy(image + row * stride, tile + row * side * 3, side * 3)


cdef inline void copy_tile(
    tiles_t* tiles, cell_t cell, int direction, bint highlight, uint8_t* image, size_t stride
) noexcept nogil:
    """Copy the picture of a cell to an image. `direction` is that of the agent in the cell, or -1 without an agent."""
    cdef int number = first_tiles[cell & APPEARANCE] + 2 * (direction + 1) + highlight
    cdef const uint8_t* tile = picture_of(tiles, number)
    if tile == NULL:   # out of memory
        draw_tile(tiles, number, image, stride)
    elif tiles.size == 8:   # the default size: copies of a constant size are faster
        copy_rows(image, tile, 8, stride)
    else:
        copy_rows(image, tile, tiles.size, stride)


cdef void draw_view(const view_t* view, const grid_spec_t* spec, uint8_t* image) noexcept nogil:
    """Draw the cells that the agent sees."""
    cdef int i, j, size = spec.view_size
    cdef size_t side = spec.tiles.size, stride = 3 * side * size
    cdef bint visible
    for j in range(size):
        for i in range(size):
            visible = view.rows[j] >> i & 1
            copy_tile(
                spec.tiles, view.cells[i * size + j] if visible else <cell_t> EMPTY,
                3 if i == size // 2 and j == size - 1 else -1, visible, image + (j * stride + i * 3) * side, stride)


cdef void draw_grid(
    const grid_lane_t* lane, const grid_spec_t* spec, const view_t* view, uint8_t* image
) noexcept nogil:
    """Draw the whole grid."""
    cdef int ahead_x = STEP_X[lane.agent_dir], ahead_y = STEP_Y[lane.agent_dir]
    cdef int x, y, i, j, size = spec.view_size
    cdef size_t side = spec.tiles.size, stride = 3 * side * spec.width
    cdef bint here, visible
    for y in range(spec.height):
        for x in range(spec.width):
            j = size - 1 - (x - lane.agent_x) * ahead_x - (y - lane.agent_y) * ahead_y
            i = size // 2 - (x - lane.agent_x) * ahead_y + (y - lane.agent_y) * ahead_x
            visible = spec.highlight and 0 <= i < size and 0 <= j < size and view.rows[j] >> i & 1
            here = x == lane.agent_x and y == lane.agent_y
            copy_tile(
                spec.tiles, cells_of(lane)[y * spec.width + x], lane.agent_dir if here else -1, visible,
                image + (y * stride + x * 3) * side, stride)


cdef void write_letters(const grid_lane_t* lane, const grid_spec_t* spec, uint8_t* letters) noexcept nogil:
    """Write the mission as one-hot vectors of its characters, [FLAT_TEXT, LETTERS]."""
    cdef char text[MAX_TEXT]
    cdef int k, letter
    memset(letters, 0, LETTERS * FLAT_TEXT)
    for k in range(min(write_mission(lane, spec, text), FLAT_TEXT)):
        letter = 26 if text[k] == c" " else 27 if text[k] == c"," else text[k] - c"a"
        letters[k * LETTERS + letter] = 1


cdef void write_image(const grid_lane_t* lane, const grid_spec_t* spec, uint8_t* image) noexcept nogil:
    cdef view_t view
    if spec.observes == FULL:
        encode_grid(lane, spec, image)
    elif spec.observes == SYMBOLIC:
        write_symbols(lane, spec, <int64_t*> image)
    else:
        view_of(lane, spec, &view)
        if spec.observes == RGB_PARTIAL:
            draw_view(&view, spec, image)
        elif spec.observes == RGB:
            draw_grid(lane, spec, &view, image)
        elif spec.view_size == 7 and spec.observes == PARTIAL:
            encode_view(&view, 7, False, image)
        else:
            encode_view(&view, spec.view_size, spec.observes == ONE_HOT, image)


cdef void observe(const void* memory, const void* shared, const double* parameters, void* const* parts) noexcept nogil:
    cdef const grid_lane_t* lane = <const grid_lane_t*> memory
    cdef const grid_spec_t* spec = <const grid_spec_t*> shared
    write_image(lane, spec, <uint8_t*> parts[0])
    if spec.layout == FLAT:
        write_letters(lane, spec, <uint8_t*> parts[0] + spec.image_size)
    elif spec.layout == DICT:
        (<int64_t*> parts[1])[0] = lane.agent_dir
        if spec.goal_directions != NULL:
            (<double*> parts[2])[0] = spec.goal_directions[
                (lane.goal_y - lane.agent_y + spec.height - 1) * (2 * spec.width - 1)
                + lane.goal_x - lane.agent_x + spec.width - 1]


# --- saved lanes ------------------------------------------------------------------------------------------------------

cdef bint is_possible_object(cell_t cell) noexcept nogil:
    cdef int kind = kind_of(cell)
    return (
        EMPTY <= kind <= LAVA and color_of(cell) < COLORS and state_of(cell) < (STATES if kind == DOOR else 1)
        and (kind != EMPTY or cell == EMPTY))


cdef bint is_possible_cell(cell_t cell, const grid_lane_t* lane) noexcept nogil:
    return is_possible_object(cell) and identity_of(cell) <= lane.object_count


cdef bint is_in_itself(const grid_lane_t* lane, int box) noexcept nogil:
    """Return whether a box contains itself, or another box that does."""
    cdef int _
    for _ in range(lane.object_count + 1):
        if box == 0 or kind_of(lane.objects[box].contents) != BOX:
            return False
        box = identity_of(lane.objects[box].contents)
    return True


cdef int check(const void* memory, const void* shared) noexcept nogil:
    """Return whether every number of a saved lane is in its range. All are 0 before the first reset."""
    cdef const grid_lane_t* lane = <const grid_lane_t*> memory
    cdef const grid_spec_t* spec = <const grid_spec_t*> shared
    cdef const object_t* item
    cdef size_t byte
    cdef int k
    if lane.max_steps == 0:
        for byte in range(bytes_of_lane(spec)):
            if (<const char*> memory)[byte]:
                return False
        return True
    if not (
        lane.width == spec.width and lane.height == spec.height and lane.room_size == spec.room_size
        and 0 <= lane.step_count <= MANY and 0 < lane.max_steps
        and lane.agent_x < spec.width and lane.agent_y < spec.height
        and lane.agent_dir < 4 and lane.fault == NO_FAULT and lane.object_count <= MAX_OBJECTS
        and lane.goal_x < spec.width and lane.goal_y < spec.height
        and lane.words[0] < max(spec.rules.mission_count, 1)
        and is_possible_cell(lane.carrying, lane) and (lane.carrying == EMPTY or can_pick_up(lane.carrying))
    ):
        return False
    for k in range(1, WORDS):
        if lane.words[k] >= KINDS + COLORS:
            return False
    for k in range(lane.object_count + 1):
        item = &lane.objects[k]
        if not is_possible_cell(item.contents, lane) or is_in_itself(lane, k):
            return False
        if not (item.x < spec.width and item.y < spec.height or item.x == NOWHERE == item.y):
            return False
    for k in range(spec.width * spec.height):
        if not is_possible_cell(cells_of(lane)[k], lane):
            return False
    return spec.rules.is_possible == NULL or spec.rules.is_possible(lane)


cdef int fault_of(const void* memory) noexcept nogil:
    return (<const grid_lane_t*> memory).fault


cdef lane_functions_t functions
functions.reset = reset
functions.step = step
functions.observe = observe
functions.check = check
functions.faulted = fault_of
functions.shared_name = SPEC_CAPSULE
LANE_FUNCTIONS = functions_capsule(&functions)

# Texts of faults, by their numbers in grid.pxd.
FAULT_TEXTS = ("", *(f"the level {text}" for text in (
    "found no place for an object", "chose among nothing", "put something outside of the grid",
    "did not connect all rooms", "did not end", f"has more than {MAX_OBJECTS} objects or {MAX_ROOMS} rooms",
    "put a door where there is one, or no room", "put the agent into an object",
    "has a mission that is longer than the observation", "rejected all levels", "has no goal",
)))


# --- for Python -------------------------------------------------------------------------------------------------------

cdef tuple image_shape(const grid_spec_t* spec):
    if spec.observes == FULL or spec.observes == SYMBOLIC:
        return spec.width, spec.height, 3
    if spec.observes == RGB:
        return spec.height * spec.tiles.size, spec.width * spec.tiles.size, 3
    if spec.observes == RGB_PARTIAL:
        return spec.view_size * spec.tiles.size, spec.view_size * spec.tiles.size, 3
    return spec.view_size, spec.view_size, CHANNELS if spec.observes == ONE_HOT else 3


cdef class Tiles:
    """Pictures of cells of one size. Each is drawn when it is first needed."""

    cdef tiles_t tiles

    def __cinit__(self, int size):
        if not 1 <= size <= MAX_TILE_SIZE:
            raise ValueError(f"tile_size: expected 1 to {MAX_TILE_SIZE} pixels, got {size}")
        self.tiles.size = size

    def __dealloc__(self):
        free_tiles(&self.tiles)


cdef class GridSpec:
    """The settings of a batch, which its lanes share: rules, sizes of grids, and the content of observations.

    Args:
        rules: A capsule of `rules.RULES` or `babyai.RULES`.
        width, height: Size of the grid in cells.
        rooms: Size of a room in cells, including both walls, columns and rows; zeros if levels are not grids of rooms.
        view_size: Number of cells that the agent sees ahead and across; odd.
        see_through_walls: Whether the agent sees the cells behind walls and closed doors.
        observes: What the image shows, one of OBSERVES.
        layout: Which arrays an observation consists of, one of LAYOUTS.
        highlight: Whether pictures of the whole grid highlight what the agent sees.
        tile_size: Side of a cell in pixels, if the image is a picture.
        goal_directions: float64 [2 * height - 1, 2 * width - 1] for the third array of an observation: the element at
            [height - 1 + y, width - 1 + x] if the goal is x cells to the right of the agent and y below it.

    Attributes:
        parts: Dtype and shape of each array of an observation.

    Raises:
        ValueError: If a number is out of range, or an array has another shape.
    """

    cdef grid_spec_t spec
    cdef Tiles tiles            # tiles of observations
    cdef dict frame_tiles       # tiles of frames, by their size
    cdef object goal_directions
    cdef readonly tuple parts

    def __cinit__(
        self, rules, int width, int height, rooms=(0, 0, 0), *, int view_size=7, bint see_through_walls=False,
        str observes="partial", str layout="dict", bint highlight=True, int tile_size=8, goal_directions=None,
    ):
        cdef const double[:, ::1] directions = goal_directions
        cdef grid_spec_t* spec = &self.spec
        cdef int64_t room_size, columns, rows
        room_size, columns, rows = rooms
        spec.rules = <const rules_t*> PyCapsule_GetPointer(rules, RULES_CAPSULE)
        if not (3 <= width <= MAX_SIDE and 3 <= height <= MAX_SIDE):
            raise ValueError(f"width, height: expected 3 to {MAX_SIDE} cells, got {width} x {height}")
        if room_size and not (
            room_size >= 3 and columns > 0 and rows > 0 and columns * rows <= MAX_ROOMS
            and width == columns * (room_size - 1) + 1 and height == rows * (room_size - 1) + 1
        ):
            raise ValueError(f"expected a grid of at most {MAX_ROOMS} rooms that has the given width and height")
        if not 3 <= view_size <= MAX_VIEW or view_size % 2 == 0:
            raise ValueError(f"view_size: expected an odd number from 3 to {MAX_VIEW}, got {view_size}")
        spec.width, spec.height, spec.highlight = width, height, highlight
        spec.room_size, spec.columns, spec.rows = room_size, columns, rows
        spec.view_size, spec.see_through_walls = view_size, see_through_walls
        spec.observes, spec.layout = OBSERVES.index(observes), LAYOUTS.index(layout)
        if spec.layout == FLAT and spec.observes == SYMBOLIC:
            raise ValueError("layout: symbolic images are not flat")
        if spec.observes >= RGB_PARTIAL:
            self.tiles = Tiles(tile_size)
            spec.tiles = &self.tiles.tiles
        if goal_directions is not None:
            if directions.shape[0] != 2 * height - 1 or directions.shape[1] != 2 * width - 1:
                raise ValueError("goal_directions: expected an array [2 * height - 1, 2 * width - 1]")
            spec.goal_directions = &directions[0, 0]
        self.goal_directions, self.frame_tiles = goal_directions, {}
        kind, shape = np.dtype(np.int64 if spec.observes == SYMBOLIC else np.uint8), image_shape(spec)
        spec.image_size = math.prod(shape)
        if spec.image_size >= 1 << 31:
            raise ValueError(f"expected an image of fewer than 2**31 numbers, got shape {shape}")
        if spec.layout == FLAT:
            shape = (spec.image_size + LETTERS * FLAT_TEXT,)
        self.parts = (kind, shape), (np.dtype(np.int64), ()), (np.dtype(np.float64), ())
        self.parts = self.parts[:1 if spec.layout else 2 if goal_directions is None else 3]

    @property
    def capsule(self):
        """Capsule of the `shared` data of lanes, which keeps this object alive."""
        return owned_capsule(&self.spec, SPEC_CAPSULE, self)

    @property
    def lane_bytes(self):
        """Size of a lane in bytes."""
        return bytes_of_lane(&self.spec)

    @property
    def lane_dtype(self):
        """Structured dtype of the first bytes of a lane; rules append bytes of their own."""
        byte = np.uint8
        return np.dtype([
            ("objects", [("x", byte), ("y", byte), ("contents", np.uint16)], (MAX_OBJECTS + 1,)),
            ("words", byte, (WORDS,)), ("targets", byte, (TARGETS,)), ("goal_x", byte), ("goal_y", byte),
            ("object_count", byte), ("width", byte), ("height", byte), ("room_size", byte), ("fault", byte),
            ("agent_x", byte), ("agent_y", byte), ("agent_dir", byte), ("carrying", np.uint16),
            ("step_count", np.int32), ("max_steps", np.int32),
            ("cells", np.uint16, (self.spec.height, self.spec.width)),
        ], align=True)

    @property
    def arguments(self):
        """Names of the arguments in a lane's parameters after `max_steps`; a position consists of two parameters."""
        return self.spec.rules.arguments.decode().split()

    @property
    def num_actions(self):
        """Number of actions."""
        return self.spec.rules.action_count or ACTIONS

    @property
    def episode(self):
        """A number that changes whenever a lane begins an episode or its state is set."""
        return load64(<word64*> &self.spec.resets)

    def renew_episode(self):
        """Change `episode`, after the state of a lane was set."""
        add64(<word64*> &self.spec.resets, 1)

    cdef grid_lane_t* _checked(self, const uint8_t[::1] lane) except NULL:
        if lane.shape[0] != self.lane_bytes or not check(&lane[0], &self.spec):
            raise ValueError("lane: expected the bytes of a lane of this level")
        return <grid_lane_t*> &lane[0]

    def finish_reset(self, uint8_t[::1] lane):
        """Apply the changes after the first observation of an episode, unless they have been applied."""
        if self.spec.rules.finish_reset != NULL:
            self.spec.rules.finish_reset(self._checked(lane))

    def frame(self, const uint8_t[::1] lane, int tile_size, bint agent_pov, bint highlight):
        """Return a picture of the cells that the agent sees, or of the whole grid, uint8 [height, width, 3]."""
        cdef grid_spec_t spec = self.spec
        cdef Tiles tiles
        if tile_size not in self.frame_tiles:
            clear_if_full(self.frame_tiles)
            self.frame_tiles[tile_size] = Tiles(tile_size)
        tiles = self.frame_tiles[tile_size]
        spec.observes, spec.highlight, spec.tiles = RGB_PARTIAL if agent_pov else RGB, highlight, &tiles.tiles
        frame = np.empty(image_shape(&spec), np.uint8)
        write_image(self._checked(lane), &spec, <uint8_t*> cnp.PyArray_DATA(frame))
        return frame

    def mission(self, const uint8_t[::1] lane):
        """Return the mission of a lane."""
        cdef char text[MAX_TEXT]
        return text[:write_mission(self._checked(lane), &self.spec, text)].decode()


cdef class Missions:
    """The missions of the lanes of a batch.

    Args:
        spec: What the lanes share.
        lanes: Memory of the lanes, uint8 [num_lanes, bytes from one lane to the next].
        elapsed: Number of steps of their episodes, int32 [num_lanes].

    Attributes:
        texts: The missions when they were last read, a read-only object array [num_lanes]. If a mission changes, a new
            array replaces it.
    """

    cdef GridSpec spec
    cdef const uint8_t[:, ::1] lanes
    cdef const int32_t[::1] elapsed
    cdef uint64_t resets        # number of resets of lanes when the missions were read
    cdef readonly object texts

    def __cinit__(self, GridSpec spec, lanes, elapsed):
        self.spec, self.lanes, self.elapsed = spec, lanes, elapsed
        if len(lanes) != len(elapsed) or self.lanes.shape[1] < spec.lane_bytes:
            raise ValueError("lanes: expected the memory of lanes of this level")
        self.texts = np.empty(len(lanes), object)
        self.texts.flags.writeable = False

    @property
    def are_current(self):
        """Whether no lane has begun an episode, and no state was set, since the missions were read."""
        return load64(<word64*> &self.spec.spec.resets) == self.resets

    def read(self, bint all_lanes):
        """Read the missions of all lanes, or only of those in new episodes; the others must be current."""
        cdef char text[MAX_TEXT]
        cdef Py_ssize_t lane
        cdef uint64_t resets = load64(<word64*> &self.spec.spec.resets)
        texts = self.texts
        for lane in range(len(self.elapsed)):
            if self.elapsed[lane] and not all_lanes:
                continue
            mission = text[:write_mission(<const grid_lane_t*> &self.lanes[lane, 0], &self.spec.spec, text)].decode()
            if texts[lane] != mission:
                texts = self.texts.copy() if texts is self.texts else texts
                texts[lane] = mission
        texts.flags.writeable = False
        self.texts, self.resets = texts, resets
