"""Grid worlds: cells and objects, the lane that holds them, and what the seven actions do.

The rules are those of MiniGrid (M. Chevalier-Boisvert et al., "Minigrid & Miniworld", 2023): a world of `width` x
`height` cells, x to the right and y down, in which an agent turns, moves, carries one object and opens doors and boxes.
"""
from libc.stdint cimport int32_t, uint16_t, uint32_t, uint8_t
from libc.string cimport memcpy, strlen

from gymcore_ext.engine.step cimport TERMINATED, TRUNCATED, rng_t


cdef extern from *:
    """
    #define GYMCORE_RULES_CAPSULE "gymcore_ext.minigrid.rules"
    static const int minigrid_step_x[4] = {1, 0, -1, 0}, minigrid_step_y[4] = {0, 1, 0, -1};
    static const char *const minigrid_names[] = {
        "object", "empty", "wall", "floor", "door", "key", "ball", "box", "goal", "lava", "agent",
        "red", "green", "blue", "purple", "yellow", "grey"};
    """
    const char* RULES_CAPSULE "GYMCORE_RULES_CAPSULE"
    const int* STEP_X "minigrid_step_x"   # a step in each direction
    const int* STEP_Y "minigrid_step_y"
    const char** NAMES "minigrid_names"   # of kinds in missions, and from KINDS on of colors


cdef enum:  # what a cell holds, with MiniGrid's numbers
    UNSEEN, EMPTY, WALL, FLOOR, DOOR, KEY, BALL, BOX, GOAL, LAVA, AGENT
    KINDS

cdef enum:
    RED, GREEN, BLUE, PURPLE, YELLOW, GREY
    COLORS

cdef enum:  # states of a door
    OPEN, CLOSED, LOCKED
    STATES

cdef enum:
    LEFT, RIGHT, FORWARD, PICKUP, DROP, TOGGLE, DONE
    ACTIONS

cdef enum:
    MAX_SIDE = 250      # cells
    MAX_OBJECTS = 127   # with an identity
    NOWHERE = 255       # both coordinates of an object that is not in the grid
    WORDS = 6           # numbers that a mission's text is made from
    NOTES = 9           # numbers that a level's rules remember
    MAX_TEXT = 512      # bytes of a mission

cdef enum:  # why a lane has no level
    NO_FAULT
    NO_PLACE       # no place was found for an object
    NO_CHOICE      # a choice among nothing
    OUTSIDE        # something would be outside of the grid
    NOT_CONNECTED  # rooms were not connected after many doors
    ENDLESS        # generation went on for too long
    TOO_MANY       # more objects than have an identity
    BAD_DOOR       # a door or an opening where there is one, or no neighbour
    BAD_START      # the agent starts in an object
    LONG_MISSION   # more text than an observation holds
    REJECTED       # a level that its own rules reject, which is generated again
    NO_GOAL        # no goal to observe the direction of

# What a cell holds: its kind, its color << 4, the state of a door << 7, and the identity of an object << 9, which is 0
# for cells that nothing distinguishes. An empty cell is EMPTY.
ctypedef uint16_t cell_t


ctypedef struct object_t:  # an object with an identity
    uint8_t x, y      # where it is; NOWHERE while it is carried, or in a box
    cell_t contents   # of a box; EMPTY for nothing


ctypedef struct lane_t:
    # Followed by width * height cells, row by row, and by the bytes that the level's rules ask for (`extra_of`).
    # Plain bytes without pointers: a copy is a saved state. What every step reads comes last, next to the cells.
    object_t objects[MAX_OBJECTS + 1]     # by identity; the first one stands for all objects without
    int32_t step_count, max_steps
    cell_t carrying                       # EMPTY for nothing
    uint8_t agent_x, agent_y, agent_dir   # direction: 0 right, 1 down, 2 left, 3 up
    uint8_t fault
    uint8_t object_count                  # identities 1 to object_count exist
    uint8_t goal_x, goal_y                # the first goal, row by row, if its direction is observed
    uint8_t words[WORDS]                  # the mission: a line of the rules' missions, and what fills it
    uint8_t notes[NOTES]                  # what the level's rules remember: positions, identities


ctypedef void (*generate_t)(build_t* build) noexcept nogil
ctypedef int (*step_t)(lane_t* lane, const level_t* level, int action, rng_t* rng, double* reward) noexcept nogil


ctypedef struct rules_t:
    # What distinguishes one kind of level from others.
    const char* arguments                 # what the lane's parameters after max_steps say: names, separated by blanks
    generate_t generate
    generate_t attempt                    # what `generate` calls until a level is accepted; NULL: nothing
    step_t step                           # NULL: `act` is all that a step does
    # What happens after the first observation of an episode, once; NULL: nothing.
    void (*begin)(lane_t* lane, const level_t* level) noexcept nogil
    # Write the mission, at most MAX_TEXT bytes, and return how many. NULL: from `missions`.
    int (*write_mission)(const lane_t* lane, const level_t* level, char* text) noexcept nogil
    # Lines of text, by words[0]; "%" stands for the next of `words`, a kind (below KINDS) or KINDS + a color.
    const char* missions
    int32_t mission_count
    # Whether a saved lane's notes and extra bytes can be; NULL: any are.
    bint (*is_possible)(const lane_t* lane, const level_t* level) noexcept nogil
    int32_t extra_bytes
    int32_t action_count                  # actions that the level offers; 0: all


ctypedef struct level_t:
    # What the lanes of a batch share.
    const rules_t* rules
    int32_t width, height
    int32_t room_size, columns, rows      # of levels that are grids of rooms, otherwise 0
    int32_t see_through_walls
    int32_t view_size                     # cells that the agent sees ahead and across
    int32_t observes, layout              # what an observation is (level.pyx)
    int32_t image_size                    # numbers of an image
    int32_t tile_size                     # pixels
    int32_t highlight                     # whether pixels of the whole grid show what the agent sees
    const uint8_t* tiles                  # [n, tile_size, tile_size, 3]
    const int32_t* tile_of                # the first of ten tiles of what a cell holds, by its lowest nine bits
    const double* goal_directions         # by dy and dx to the goal, [2 * height - 1, 2 * width - 1]; or NULL


cdef enum:
    MAX_ROOMS = 256
    REMOVED = 255   # instead of a door: the whole wall is missing


ctypedef struct room_t:
    uint8_t door_x[4]   # where a door is or would be: right, down, left, up
    uint8_t door_y[4]
    uint8_t doors[4]    # 0: none, REMOVED, or the identity of a door
    uint8_t locked


ctypedef struct build_t:
    # A level that is being generated. After a fault, functions of building.pxd draw nothing and change nothing.
    lane_t* lane
    const level_t* level
    rng_t* rng
    const double* numbers   # the lane's parameters after max_steps
    cell_t* cells
    int width, height
    int fault
    int x, y                # where the last object was placed
    # Of levels that are grids of rooms:
    int room_size, columns, rows
    uint32_t kinds          # of the objects in rooms: bit (kind - KEY) * 8 + color
    room_t rooms[MAX_ROOMS]


cdef inline char* append(char* at, const char* words) noexcept nogil:
    """Write words, and return where they end."""
    memcpy(at, words, strlen(words))
    return at + strlen(words)


# --- cells ------------------------------------------------------------------------------------------------------------

cdef inline cell_t make_cell(int kind, int color, int state=0) noexcept nogil:
    """A cell with an object that has no identity."""
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
    """Whether the agent can stand in a cell."""
    cdef int kind = kind_of(cell)
    return kind == EMPTY or kind == FLOOR or kind >= GOAL or (kind == DOOR and state_of(cell) == OPEN)


cdef inline bint can_pick_up(cell_t cell) noexcept nogil:
    return KEY <= kind_of(cell) <= BOX


cdef inline cell_t* cells_of(const lane_t* lane) noexcept nogil:
    """The cells of the grid, [height, width]."""
    return <cell_t*> (lane + 1)


cdef inline void* extra_of(const lane_t* lane, const level_t* level) noexcept nogil:
    """The bytes that the level's rules ask for, aligned for float64."""
    return <char*> lane + (sizeof(lane_t) + level.width * level.height * sizeof(cell_t) + 7) // 8 * 8


cdef inline size_t bytes_of_lane(const level_t* level) noexcept nogil:
    """A multiple of a cache line."""
    return (<size_t> extra_of(NULL, level) + level.rules.extra_bytes + 63) // 64 * 64


cdef inline cell_t cell_at(const lane_t* lane, const level_t* level, int x, int y) noexcept nogil:
    """What a cell holds; a wall outside of the grid."""
    if 0 <= x < level.width and 0 <= y < level.height:
        return cells_of(lane)[y * level.width + x]
    return make_cell(WALL, GREY)


cdef inline void set_cell(lane_t* lane, const level_t* level, int x, int y, cell_t cell) noexcept nogil:
    """Put an object, or EMPTY, into a cell inside of the grid."""
    cdef object_t* item = &lane.objects[identity_of(cell)]
    cells_of(lane)[y * level.width + x] = cell
    item.x, item.y = <uint8_t> x, <uint8_t> y


cdef inline cell_t object_at(const lane_t* lane, const level_t* level, int identity) noexcept nogil:
    """An object with an identity, wherever it is in the grid or carried; EMPTY in a box, or after one was opened."""
    cdef cell_t cell = lane.carrying
    cdef const object_t* item = &lane.objects[identity]
    if identity_of(cell) == identity:
        return cell
    cell = cell_at(lane, level, item.x, item.y)
    return cell if identity_of(cell) == identity else <cell_t> EMPTY


# --- a step -----------------------------------------------------------------------------------------------------------

cdef inline int front_x(const lane_t* lane) noexcept nogil:
    return lane.agent_x + STEP_X[lane.agent_dir]


cdef inline int front_y(const lane_t* lane) noexcept nogil:
    return lane.agent_y + STEP_Y[lane.agent_dir]


cdef inline cell_t front_cell(const lane_t* lane, const level_t* level) noexcept nogil:
    """What the cell in front of the agent holds."""
    return cell_at(lane, level, front_x(lane), front_y(lane))


cdef inline double success_reward(const lane_t* lane) noexcept nogil:
    """The reward of a success, which is smaller the later it comes."""
    return 1 - 0.9 * (<double> lane.step_count / lane.max_steps)


cdef inline void toggle(lane_t* lane, const level_t* level, int x, int y, cell_t cell) noexcept nogil:
    """Open or close a door, unlock it with a key of its color, or replace a box by its contents."""
    cdef object_t* item = &lane.objects[identity_of(cell)]
    if kind_of(cell) == BOX:
        item.x = item.y = NOWHERE
        set_cell(lane, level, x, y, item.contents)
    elif kind_of(cell) == DOOR and state_of(cell) != LOCKED:
        set_cell(lane, level, x, y, cell ^ CLOSED << 7)
    elif kind_of(cell) == DOOR and kind_of(lane.carrying) == KEY and color_of(lane.carrying) == color_of(cell):
        set_cell(lane, level, x, y, cell ^ LOCKED << 7)


cdef inline int act(lane_t* lane, const level_t* level, int action, double* reward) noexcept nogil:
    """Do what an action does in every level, write its reward and return how the episode ended."""
    cdef int x = front_x(lane), y = front_y(lane), flags = 0
    cdef cell_t cell = cell_at(lane, level, x, y)
    lane.step_count += 1
    reward[0] = 0.0
    if action == LEFT:
        lane.agent_dir = lane.agent_dir + 3 & 3
    elif action == RIGHT:
        lane.agent_dir = lane.agent_dir + 1 & 3
    elif action == FORWARD:
        if can_overlap(cell):
            lane.agent_x, lane.agent_y = <uint8_t> x, <uint8_t> y
            if kind_of(cell) == GOAL:
                reward[0] = success_reward(lane)
            if kind_of(cell) >= GOAL:
                flags = TERMINATED
    elif action == PICKUP:
        if can_pick_up(cell) and lane.carrying == EMPTY:
            set_cell(lane, level, x, y, EMPTY)
            lane.carrying = cell
            lane.objects[identity_of(cell)].x = lane.objects[identity_of(cell)].y = NOWHERE
    elif action == DROP:
        if cell == EMPTY and lane.carrying != EMPTY:
            set_cell(lane, level, x, y, lane.carrying)
            lane.carrying = EMPTY
    elif action == TOGGLE:
        toggle(lane, level, x, y, cell)
    if lane.step_count >= lane.max_steps:
        flags |= TRUNCATED
    return flags
