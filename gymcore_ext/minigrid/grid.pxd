"""Grid worlds: cells and objects, the lane that contains them, and the seven actions.

The rules are those of MiniGrid (M. Chevalier-Boisvert et al., "Minigrid & Miniworld", 2023): a world of `width` x
`height` cells, x to the right and y down, in which an agent turns, moves, carries one object and opens doors and boxes.
"""
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memcpy, strlen

from gymcore_ext.engine.kernel cimport TERMINATED, TRUNCATED, rng_t


cdef extern from *:
    """
    #define GYMCORE_RULES_CAPSULE "gymcore_ext.minigrid.rules"
    static const int minigrid_step_x[4] = {1, 0, -1, 0}, minigrid_step_y[4] = {0, 1, 0, -1};
    static inline const char *minigrid_name(int number)
    {
        static const char *const names[] = {
            "object", "empty", "wall", "floor", "door", "key", "ball", "box", "goal", "lava", "agent",
            "red", "green", "blue", "purple", "yellow", "grey"};
        return names[number];
    }
    """
    const char* RULES_CAPSULE "GYMCORE_RULES_CAPSULE"
    const int* STEP_X "minigrid_step_x"   # a step in each direction
    const int* STEP_Y "minigrid_step_y"
    const char* name_of "minigrid_name"(int number) noexcept nogil   # name of a kind, or of KINDS + a color


cdef extern from "minigrid/tiles.h":
    ctypedef struct tiles_t "gymcore_tiles":   # the pictures of cells of one size
        int size                               # pixels of a side


cdef enum:  # contents of a cell, with MiniGrid's numbers
    UNSEEN, EMPTY, WALL, FLOOR, DOOR, KEY, BALL, BOX, GOAL, LAVA, AGENT
    KINDS

cdef enum:
    RED, GREEN, BLUE, PURPLE, YELLOW, GRAY
    COLORS

cdef enum:  # states of a door
    OPEN, CLOSED, LOCKED
    STATES

cdef enum:
    LEFT, RIGHT, FORWARD, PICKUP, DROP, TOGGLE, DONE
    ACTIONS

cdef enum:
    MAX_SIDE = 250      # maximum width and height of a grid, in cells
    MAX_OBJECTS = 127   # maximum number of objects with an identity
    NOWHERE = 255       # both coordinates of an object that is not in the grid
    WORDS = 5           # count of numbers that a mission consists of
    TARGETS = 4         # count of numbers that rules store
    MAX_TEXT = 512      # maximum number of bytes of a mission

cdef enum:  # why a lane has no level
    NO_FAULT
    NO_PLACE       # no free cell for an object
    NO_CHOICE      # a random choice from an empty range
    OUTSIDE        # an object, the agent or a wall is outside of the grid
    NOT_CONNECTED  # rooms are not connected after many tries
    ENDLESS        # too many tries
    TOO_MANY       # more than MAX_OBJECTS or MAX_ROOMS
    BAD_DOOR       # a door or an opening replaces another one, or leads out of the grid
    BAD_START      # the agent starts in an object
    LONG_MISSION   # the mission is longer than the observation
    REJECTED       # the rules reject the level, and generate another one
    NO_GOAL        # no goal whose direction could be observed

# A cell: kind | color << 4 | state of a door << 7 | identity of its object << 9. Objects that the rules need not
# distinguish have identity 0. An empty cell is EMPTY.
ctypedef uint16_t cell_t


ctypedef struct object_t:  # an object with an identity
    uint8_t x, y      # NOWHERE while it is carried or in a box
    cell_t contents   # contents of a box; EMPTY for nothing


ctypedef struct grid_lane_t:
    # The cells follow, row by row, and then the bytes that the rules need (`extra_of`). There are no pointers, so that
    # a copy is a saved state. The fields that every step reads come last, next to the cells.
    object_t objects[MAX_OBJECTS + 1]     # indexed by identity; the first one stands for all objects without one
    uint8_t words[WORDS]                  # the mission: the number of its template, and the words that fill it
    uint8_t targets[TARGETS]              # positions or an identity that the mission refers to
    uint8_t goal_x, goal_y                # the first goal in row order, if its direction is observed
    uint8_t object_count                  # identities 1 to object_count exist
    uint8_t width, height, room_size      # sizes of the level; room_size is 0 unless it is a grid of rooms
    uint8_t fault
    uint8_t agent_x, agent_y, agent_dir   # direction: 0 right, 1 down, 2 left, 3 up
    cell_t carrying                       # EMPTY for nothing
    int32_t step_count, max_steps


ctypedef void (*generate_t)(build_t* build) noexcept nogil
ctypedef int (*step_t)(grid_lane_t* lane, int action, rng_t* rng, double* reward) noexcept nogil


ctypedef struct rules_t:
    # The rules of one kind of level.
    const char* arguments                 # names of the parameters that follow `max_steps`, separated by blanks
    generate_t generate
    generate_t attempt                    # generates one level, which `generate` may reject; NULL if unused
    step_t step                           # NULL: `act`
    # Apply, once, the changes after the first observation of an episode; NULL if there are none.
    void (*finish_reset)(grid_lane_t* lane) noexcept nogil
    # Write the mission, at most MAX_TEXT bytes, and return its length; NULL: use the templates of `missions`.
    int (*write_mission)(const grid_lane_t* lane, char* text) noexcept nogil
    # Templates, one per line; words[0] selects one. Each "%" is the next of `words`: a kind, or KINDS + a color.
    const char* missions
    int32_t mission_count
    # Return whether the extra bytes of a saved lane are valid; NULL if the rules have none.
    bint (*is_possible)(const grid_lane_t* lane) noexcept nogil
    int32_t extra_bytes
    int32_t action_count                  # number of actions; 0: all


ctypedef struct grid_spec_t:
    # The settings of a batch, which its lanes share.
    const rules_t* rules
    int32_t width, height
    int32_t room_size, columns, rows      # sizes of a grid of rooms; 0 for other levels
    int32_t see_through_walls
    int32_t view_size                     # number of cells that the agent sees ahead and across
    int32_t observes, layout              # numbers of OBSERVES and LAYOUTS in grid_lane.pyx
    int64_t image_size                    # number of elements of an image
    int32_t highlight                     # whether pictures of the whole grid highlight what the agent sees
    tiles_t* tiles                        # tiles of which observed images consist; or NULL
    const double* goal_directions         # indexed by dy and dx to the goal, [2 * height - 1, 2 * width - 1]; or NULL
    uint64_t resets                       # number of episodes that lanes began, which threads count together


cdef enum:
    MAX_ROOMS = 256
    REMOVED = 255   # stands for a door: the whole wall was removed


ctypedef struct room_t:
    uint8_t door_x[4]   # positions of doors or possible doors: right, down, left, up
    uint8_t door_y[4]
    uint8_t doors[4]    # 0 for none, REMOVED, or the identity of a door
    uint8_t locked


ctypedef struct build_t:
    # A level that is being generated. After a fault, the functions of building.pxd neither draw nor change anything.
    grid_lane_t* lane
    const grid_spec_t* spec
    rng_t* rng
    const double* numbers   # the parameters that follow `max_steps`
    cell_t* cells
    int width, height
    int fault
    int x, y                # position of the last object
    # For grids of rooms:
    int room_size, columns, rows
    uint32_t kinds          # a bit for each kind and color of objects in rooms: (kind - KEY) * 8 + color
    room_t rooms[MAX_ROOMS]


cdef inline char* append(char* at, const char* words) noexcept nogil:
    """Append words at the end of a text, and return the new end."""
    memcpy(at, words, strlen(words))
    return at + strlen(words)


# --- cells ------------------------------------------------------------------------------------------------------------

cdef inline cell_t make_cell(int kind, int color, int state=0) noexcept nogil:
    """Return a cell with an object that has no identity."""
    return <cell_t> (kind | color << 4 | state << 7)


cdef inline int kind_of(cell_t cell) noexcept nogil:
    return cell & 15


cdef inline int color_of(cell_t cell) noexcept nogil:
    return cell >> 4 & 7


cdef inline int state_of(cell_t cell) noexcept nogil:
    return cell >> 7 & 3


cdef inline int identity_of(cell_t cell) noexcept nogil:
    return cell >> 9


cdef inline bint can_overlap(cell_t cell) noexcept nogil:
    """Return whether the agent can enter a cell."""
    cdef int kind = kind_of(cell)
    return kind == EMPTY or kind == FLOOR or kind >= GOAL or (kind == DOOR and state_of(cell) == OPEN)


cdef inline bint can_pick_up(cell_t cell) noexcept nogil:
    return KEY <= kind_of(cell) <= BOX


cdef inline cell_t* cells_of(const grid_lane_t* lane) noexcept nogil:
    """Return the cells of the grid, [height, width]."""
    return <cell_t*> (lane + 1)


cdef inline size_t bytes_of_cells(size_t count) noexcept nogil:
    """Return the size of the fields and the cells of a lane, a multiple of 8."""
    return (sizeof(grid_lane_t) + count * sizeof(cell_t) + 7) // 8 * 8


cdef inline void* extra_of(const grid_lane_t* lane) noexcept nogil:
    """Return the bytes that the rules need, aligned for float64."""
    return <char*> lane + bytes_of_cells(lane.width * lane.height)


cdef inline size_t bytes_of_lane(const grid_spec_t* spec) noexcept nogil:
    """Return the size of a lane, a multiple of a cache line."""
    return (bytes_of_cells(spec.width * spec.height) + spec.rules.extra_bytes + 63) // 64 * 64


cdef inline cell_t cell_at(const grid_lane_t* lane, int x, int y) noexcept nogil:
    """Return a cell, or a wall outside of the grid."""
    if 0 <= x < lane.width and 0 <= y < lane.height:
        return cells_of(lane)[y * lane.width + x]
    return make_cell(WALL, GRAY)


cdef inline void set_cell(grid_lane_t* lane, int x, int y, cell_t cell) noexcept nogil:
    """Put an object, or EMPTY, into a cell of the grid."""
    cdef object_t* item = &lane.objects[identity_of(cell)]
    cells_of(lane)[y * lane.width + x] = cell
    item.x, item.y = <uint8_t> x, <uint8_t> y


cdef inline cell_t object_at(const grid_lane_t* lane, int identity) noexcept nogil:
    """Return an object that is in the grid or carried; EMPTY if it is in a box, or is a box that was opened."""
    cdef cell_t cell = lane.carrying
    cdef const object_t* item = &lane.objects[identity]
    if identity_of(cell) == identity:
        return cell
    cell = cell_at(lane, item.x, item.y)
    return cell if identity_of(cell) == identity else <cell_t> EMPTY


# --- a step -----------------------------------------------------------------------------------------------------------

cdef inline int front_x(const grid_lane_t* lane) noexcept nogil:
    return lane.agent_x + STEP_X[lane.agent_dir]


cdef inline int front_y(const grid_lane_t* lane) noexcept nogil:
    return lane.agent_y + STEP_Y[lane.agent_dir]


cdef inline cell_t front_cell(const grid_lane_t* lane) noexcept nogil:
    """Return the cell in front of the agent."""
    return cell_at(lane, front_x(lane), front_y(lane))


cdef inline double success_reward(const grid_lane_t* lane) noexcept nogil:
    """Return the reward of a success, which decreases with the number of steps."""
    return 1 - 0.9 * (<double> lane.step_count / lane.max_steps)


cdef inline void toggle(grid_lane_t* lane, int x, int y, cell_t cell) noexcept nogil:
    """Open or close a door, unlock it with a key of its color, or replace a box by its contents."""
    cdef object_t* item = &lane.objects[identity_of(cell)]
    if kind_of(cell) == BOX:
        item.x = item.y = NOWHERE
        set_cell(lane, x, y, item.contents)
    elif kind_of(cell) == DOOR and state_of(cell) != LOCKED:
        set_cell(lane, x, y, cell ^ CLOSED << 7)
    elif kind_of(cell) == DOOR and kind_of(lane.carrying) == KEY and color_of(lane.carrying) == color_of(cell):
        set_cell(lane, x, y, cell ^ LOCKED << 7)


cdef inline int act(grid_lane_t* lane, int action, double* reward) noexcept nogil:
    """Apply an action by the common rules, write the reward, and return TERMINATED and TRUNCATED flags."""
    cdef int x = front_x(lane), y = front_y(lane), flags = 0
    cdef cell_t cell = cell_at(lane, x, y)
    lane.step_count += 1
    reward[0] = 0.0
    if action == LEFT:
        lane.agent_dir = (lane.agent_dir + 3) & 3
    elif action == RIGHT:
        lane.agent_dir = (lane.agent_dir + 1) & 3
    elif action == FORWARD:
        if can_overlap(cell):
            lane.agent_x, lane.agent_y = <uint8_t> x, <uint8_t> y
            if kind_of(cell) == GOAL:
                reward[0] = success_reward(lane)
            if kind_of(cell) >= GOAL:
                flags = TERMINATED
    elif action == PICKUP:
        if can_pick_up(cell) and lane.carrying == EMPTY:
            set_cell(lane, x, y, EMPTY)
            lane.carrying = cell
            lane.objects[identity_of(cell)].x = lane.objects[identity_of(cell)].y = NOWHERE
    elif action == DROP:
        if cell == EMPTY and lane.carrying != EMPTY:
            set_cell(lane, x, y, lane.carrying)
            lane.carrying = EMPTY
    elif action == TOGGLE:
        toggle(lane, x, y, cell)
    if lane.step_count >= lane.max_steps:
        flags |= TRUNCATED
    return flags
