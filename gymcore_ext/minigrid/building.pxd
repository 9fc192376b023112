"""Generating a level: MiniGrid's random draws in its order, walls, objects, and grids of rooms.

After a fault, these functions neither draw nor change anything, and the first fault remains, so that their callers need
not check for faults. Loops of callers must end after a fault and after too many rounds (`is_endless`).
"""
from libc.stdint cimport uint32_t, uint8_t

from gymcore_ext.minigrid.grid cimport (
    BAD_DOOR, BALL, BOX, CLOSED, COLORS, DOOR, EMPTY, ENDLESS, GRAY, KEY, LOCKED, MAX_OBJECTS, MAX_ROOMS,
    NOT_CONNECTED, NOWHERE, NO_CHOICE, NO_PLACE, OUTSIDE, REMOVED, STEP_X, STEP_Y, TOO_MANY, WALL, build_t, cell_t,
    color_of, front_cell, identity_of, kind_of, make_cell, object_at, object_t, rng_t, room_t, set_cell,
)


cdef extern from "gymcore/rng.h":
    uint32_t below "gymcore_rng_below"(rng_t* rng, uint32_t choices) noexcept nogil
    uint32_t next32 "gymcore_rng_next32"(rng_t* rng) noexcept nogil
    double random "gymcore_rng_double"(rng_t* rng) noexcept nogil


cdef enum:
    ANY = -1                  # a random kind, color, side or room
    MANY_TRIES = 1_000_000    # limit where MiniGrid retries forever; a grid with one free cell needs far fewer tries
    ROOM_TRIES = 1000         # maximum number of tries to place an object in a room
    MANY_DOORS = 5000         # maximum number of tries to connect rooms

ctypedef bint (*reject_t)(const build_t* b, int x, int y) noexcept nogil

cdef extern from *:
    """
    static const uint8_t minigrid_colors[6] = {2, 1, 5, 3, 0, 4}, minigrid_kinds[3] = {5, 6, 7};
    """
    const uint8_t* COLOR_ORDER "minigrid_colors"   # alphabetical, as MiniGrid draws colors
    const uint8_t* KIND_ORDER "minigrid_kinds"     # key, ball, box


# --- faults and draws -------------------------------------------------------------------------------------------------

cdef inline void fail(build_t* b, int fault) noexcept nogil:
    """Record a fault, unless there is one."""
    if not b.fault:
        b.fault = fault


cdef inline bint is_endless(build_t* b, int* rounds, int limit) noexcept nogil:
    """Count a round of a loop, and return whether the loop must end: after a fault, or after too many rounds."""
    rounds[0] += 1
    if rounds[0] > limit:
        fail(b, ENDLESS)
    return b.fault != 0


cdef inline int number(const build_t* b, int k) noexcept nogil:
    """Return a parameter of the lane as an integer."""
    cdef double value = b.numbers[k]
    return <int> value if -1e6 < value < 1e6 else 0


cdef inline int chosen_kind(const build_t* b, int k) noexcept nogil:
    """Return the kind of object that a parameter selects: 0 for ANY, 1 to 3 for key, ball and box."""
    return KEY - 1 + min(number(b, k), 3) if number(b, k) > 0 else <int> ANY


cdef inline int draw_int(build_t* b, int low, int high) noexcept nogil:
    """Draw an integer from low to high - 1: `_rand_int`."""
    if low >= high:
        fail(b, NO_CHOICE)
    return low if b.fault else low + <int> below(b.rng, <uint32_t> (high - low))


cdef inline bint draw_bool(build_t* b) noexcept nogil:
    """Draw a bool: `_rand_bool`."""
    return draw_int(b, 0, 2) == 0


cdef inline double draw_fraction(build_t* b) noexcept nogil:
    """Draw a number from [0, 1): `_rand_float(0, 1)`."""
    return 0.0 if b.fault else random(b.rng)


cdef inline int draw_element(build_t* b, const uint8_t* elements, int count) noexcept nogil:
    """Draw an element: `_rand_elem`."""
    return elements[draw_int(b, 0, count)] if count > 0 else draw_int(b, 0, 0)


cdef inline int draw_color(build_t* b) noexcept nogil:
    """Draw a color: `_rand_color`."""
    return draw_element(b, COLOR_ORDER, COLORS)


cdef inline int draw_kind(build_t* b) noexcept nogil:
    """Draw a key, a ball or a box."""
    return draw_element(b, KIND_ORDER, 3)


cdef inline void draw_subset(build_t* b, const uint8_t* elements, int count, int size, uint8_t* subset) noexcept nogil:
    """Draw distinct elements of at most 255: `_rand_subset`."""
    cdef uint8_t left[256]
    cdef int k, i, place
    for k in range(count):
        left[k] = elements[k]
    for k in range(size):
        place = draw_int(b, 0, count - k)
        subset[k] = left[place]
        for i in range(place, count - k - 1):
            left[i] = left[i + 1]


cdef inline void shuffle(build_t* b, uint8_t* elements, int count) noexcept nogil:
    """Shuffle at most 256 elements as `Generator.shuffle` does, with masked random bits, redrawn if out of range."""
    cdef int k, other, mask
    if b.fault:
        return
    for k in range(count - 1, 0, -1):
        mask = k | k >> 1
        mask |= mask >> 2
        mask |= mask >> 4
        other = <int> (next32(b.rng) & mask)
        while other > k:
            other = <int> (next32(b.rng) & mask)
        elements[k], elements[other] = elements[other], elements[k]


# --- cells and objects ------------------------------------------------------------------------------------------------

cdef inline void put(build_t* b, int x, int y, cell_t cell) noexcept nogil:
    """Put an object, or EMPTY, into a cell: `Grid.set`, `put_obj`."""
    if not (0 <= x < b.width and 0 <= y < b.height):
        fail(b, OUTSIDE)
    if not b.fault:
        set_cell(b.lane, x, y, cell)


cdef inline void fill(build_t* b, int x, int y, int width, int height, cell_t cell) noexcept nogil:
    """Fill a rectangle with an object without identity: `horz_wall`, `vert_wall`."""
    cdef int i, j
    if x < 0 or y < 0 or x + width > b.width or y + height > b.height:
        fail(b, OUTSIDE)
    if b.fault:
        return
    for j in range(y, y + height):
        for i in range(x, x + width):
            b.cells[j * b.width + i] = cell


cdef inline void walls(build_t* b, int x, int y, int width, int height) noexcept nogil:
    fill(b, x, y, width, height, make_cell(WALL, GRAY))


cdef inline void wall_around(build_t* b, int x, int y, int width, int height) noexcept nogil:
    """Put walls along the border of a rectangle: `wall_rect`."""
    walls(b, x, y, width, 1)
    walls(b, x, y + height - 1, width, 1)
    walls(b, x, y, 1, height)
    walls(b, x + width - 1, y, 1, height)


cdef inline cell_t new_object(build_t* b, int kind, int color, int state=0) noexcept nogil:
    """Return a new object with the next identity, which is not in the grid yet."""
    cdef int identity = b.lane.object_count + 1
    cdef object_t* item
    if identity > MAX_OBJECTS:
        fail(b, TOO_MANY)
    if b.fault:
        return make_cell(kind, color, state)
    b.lane.object_count = <uint8_t> identity
    item = &b.lane.objects[identity]
    item.x = item.y = NOWHERE
    item.contents = EMPTY
    return make_cell(kind, color, state) | <cell_t> (identity << 9)


cdef inline bint is_agent_at(const build_t* b, int x, int y) noexcept nogil:
    return b.lane.agent_x == x and b.lane.agent_y == y


cdef inline bint draw_place(
    build_t* b, int x, int y, int width, int height, reject_t reject, int max_tries
) noexcept nogil:
    """Draw an empty cell (b.x, b.y) of a rectangle, without the agent and not rejected; return whether there is one."""
    cdef int right = min(max(x, 0) + width, b.width), lower = min(max(y, 0) + height, b.height)
    for _ in range(max_tries + 1):
        b.x = draw_int(b, max(x, 0), right)
        b.y = draw_int(b, max(y, 0), lower)
        if b.fault:
            return False
        if b.cells[b.y * b.width + b.x] != EMPTY or is_agent_at(b, b.x, b.y):
            continue
        if reject == NULL or not reject(b, b.x, b.y):
            return True
    return False


cdef inline void place(
    build_t* b, cell_t cell, int x, int y, int width, int height, reject_t reject=NULL, int max_tries=MANY_TRIES
) noexcept nogil:
    """Put an object into a random empty cell of a rectangle: `place_obj`."""
    if draw_place(b, x, y, width, height, reject, max_tries):
        put(b, b.x, b.y, cell)
    else:
        fail(b, NO_PLACE)


cdef inline void place_anywhere(build_t* b, cell_t cell) noexcept nogil:
    """Put an object into a random empty cell of the grid."""
    place(b, cell, 0, 0, b.width, b.height)


cdef inline void set_agent(build_t* b, int x, int y, int direction) noexcept nogil:
    if not (0 <= x < b.width and 0 <= y < b.height):
        fail(b, OUTSIDE)
    if not b.fault:
        b.lane.agent_x, b.lane.agent_y, b.lane.agent_dir = <uint8_t> x, <uint8_t> y, <uint8_t> (direction & 3)


cdef inline void place_agent(build_t* b, int x, int y, int width, int height, int max_tries=MANY_TRIES) noexcept nogil:
    """Put the agent into a random empty cell of a rectangle, in a random direction: `place_agent`."""
    b.lane.agent_x = b.lane.agent_y = NOWHERE
    if not draw_place(b, x, y, width, height, NULL, max_tries):
        fail(b, NO_PLACE)
    set_agent(b, b.x, b.y, draw_int(b, 0, 4))


# --- grids of rooms ---------------------------------------------------------------------------------------------------

cdef inline room_t* room_at(build_t* b, int column, int row) noexcept nogil:
    """Return a room. If it does not exist, record a fault and return the first room."""
    if 0 <= column < b.columns and 0 <= row < b.rows:
        return &b.rooms[row * b.columns + column]
    fail(b, OUTSIDE)
    return &b.rooms[0]


cdef inline int room_start(const build_t* b, int column) noexcept nogil:
    return column * (b.room_size - 1)


cdef inline int room_of(const build_t* b, int x, int y) noexcept nogil:
    """Return the index of the room of a position: `room_from_pos`. Left and upper walls belong to a room."""
    return y // (b.room_size - 1) * b.columns + x // (b.room_size - 1)


cdef inline bint has_neighbor(const build_t* b, int column, int row, int side) noexcept nogil:
    return 0 <= column + STEP_X[side] < b.columns and 0 <= row + STEP_Y[side] < b.rows


cdef inline bint is_near_agent(const build_t* b, int x, int y) noexcept nogil:
    """Return whether a position is the agent's or next to it: `reject_next_to`."""
    return abs(b.lane.agent_x - x) + abs(b.lane.agent_y - y) < 2


cdef inline void make_rooms(build_t* b) noexcept nogil:
    """Make a grid of closed, empty rooms with the agent in the middle: `RoomGrid._gen_grid`."""
    cdef int column, row, x, y, last = b.room_size - 1
    cdef room_t* room
    cdef const room_t* neighbor
    if not b.rows:
        fail(b, NO_CHOICE)
    b.kinds = 0
    b.lane.object_count = 0
    fill(b, 0, 0, b.width, b.height, EMPTY)
    for row in range(b.rows + 1):
        walls(b, 0, row * last, b.width, 1)
    for column in range(b.columns + 1):
        walls(b, column * last, 0, 1, b.height)
    for row in range(b.rows):
        for column in range(b.columns):
            room = room_at(b, column, row)
            x, y = column * last, row * last
            room.locked = 0
            room.doors[0] = room.doors[1] = room.doors[2] = room.doors[3] = 0
            if column < b.columns - 1:
                room.door_x[0] = <uint8_t> (x + last)
                room.door_y[0] = <uint8_t> draw_int(b, y + 1, y + last)
            if row < b.rows - 1:
                room.door_x[1] = <uint8_t> draw_int(b, x + 1, x + last)
                room.door_y[1] = <uint8_t> (y + last)
            if column > 0:
                neighbor = room - 1
                room.door_x[2], room.door_y[2] = neighbor.door_x[0], neighbor.door_y[0]
            if row > 0:
                neighbor = room - b.columns
                room.door_x[3], room.door_y[3] = neighbor.door_x[1], neighbor.door_y[1]
    set_agent(b, b.columns // 2 * last + b.room_size // 2, b.rows // 2 * last + b.room_size // 2, 0)


cdef inline int place_in_room(build_t* b, int column, int row, cell_t cell) noexcept nogil:
    """Put an object into a random cell of a room, not next to the agent, and return its identity."""
    room_at(b, column, row)
    place(b, cell, room_start(b, column), room_start(b, row), b.room_size, b.room_size, is_near_agent, ROOM_TRIES)
    if KEY <= kind_of(cell) <= BOX:
        b.kinds |= <uint32_t> 1 << (kind_of(cell) - KEY) * 8 + color_of(cell)
    return identity_of(cell)


cdef inline int add_object(build_t* b, int column, int row, int kind=ANY, int color=ANY) noexcept nogil:
    """Put a new key, ball or box into a room, and return its identity."""
    if kind == ANY:
        kind = draw_kind(b)
    if color == ANY:
        color = draw_color(b)
    return place_in_room(b, column, row, new_object(b, kind, color))


cdef inline int add_door(build_t* b, int column, int row, int side=ANY, int color=ANY, int locked=ANY) noexcept nogil:
    """Put a new door at (b.x, b.y), between a room and its neighbor, and return its identity."""
    cdef room_t* room = room_at(b, column, row)
    cdef cell_t door
    cdef int rounds = 0
    if side == ANY:
        while not is_endless(b, &rounds, MANY_TRIES):
            side = draw_int(b, 0, 4)
            if has_neighbor(b, column, row, side) and not room.doors[side]:
                break
    if color == ANY:
        color = draw_color(b)
    if locked == ANY:
        locked = draw_bool(b)
    if not b.fault and (room.doors[side] or not has_neighbor(b, column, row, side)):
        fail(b, BAD_DOOR)
    if b.fault:
        return 0
    room.locked = locked != 0
    door = new_object(b, DOOR, color, LOCKED if locked else CLOSED)
    b.x, b.y = room.door_x[side], room.door_y[side]
    put(b, b.x, b.y, door)
    room.doors[side] = <uint8_t> identity_of(door)
    room_at(b, column + STEP_X[side], row + STEP_Y[side]).doors[side + 2 & 3] = room.doors[side]
    return identity_of(door)


cdef inline void remove_wall(build_t* b, int column, int row, int side) noexcept nogil:
    """Remove the wall between a room and its neighbor."""
    cdef room_t* room = room_at(b, column, row)
    cdef int x = room_start(b, column), y = room_start(b, row), last = b.room_size - 1
    if not b.fault and (room.doors[side] or not has_neighbor(b, column, row, side)):
        fail(b, BAD_DOOR)
    if b.fault:
        return
    if side & 1:
        fill(b, x + 1, y + last if side == 1 else y, last - 1, 1, EMPTY)
    else:
        fill(b, x + last if side == 0 else x, y + 1, 1, last - 1, EMPTY)
    room.doors[side] = REMOVED
    room_at(b, column + STEP_X[side], row + STEP_Y[side]).doors[side + 2 & 3] = REMOVED


cdef inline void place_agent_in_room(build_t* b, int column=ANY, int row=ANY) noexcept nogil:
    """Put the agent into a room so that it faces no object: `RoomGrid.place_agent`."""
    cdef int rounds = 0
    cdef cell_t front
    if column == ANY:
        column = draw_int(b, 0, b.columns)
    if row == ANY:
        row = draw_int(b, 0, b.rows)
    room_at(b, column, row)
    while not is_endless(b, &rounds, MANY_TRIES):
        place_agent(b, room_start(b, column), room_start(b, row), b.room_size, b.room_size, ROOM_TRIES)
        front = front_cell(b.lane)
        if front == EMPTY or kind_of(front) == WALL:
            break


cdef inline bint are_connected(build_t* b) noexcept nogil:
    """Return whether doors lead from the agent's room to all others."""
    cdef uint8_t is_reached[MAX_ROOMS]
    cdef int stack[MAX_ROOMS]
    cdef int count = 1, reached = 1, k, room, other
    for room in range(b.columns * b.rows):
        is_reached[room] = 0
    stack[0] = room_of(b, b.lane.agent_x, b.lane.agent_y)
    is_reached[stack[0]] = 1
    while count:
        count -= 1
        room = stack[count]
        for k in range(4):
            other = room + STEP_X[k] + STEP_Y[k] * b.columns
            if b.rooms[room].doors[k] and not is_reached[other]:
                is_reached[other] = 1
                reached += 1
                stack[count] = other
                count += 1
    return reached == b.columns * b.rows


cdef inline void connect_all(build_t* b, const uint8_t* colors=COLOR_ORDER, int count=COLORS) noexcept nogil:
    """Add doors of random `colors` between random rooms until all are connected."""
    cdef int column, row, side, other
    if b.fault:
        return
    for _ in range(MANY_DOORS + 1):
        if are_connected(b):
            return
        column = draw_int(b, 0, b.columns)
        row = draw_int(b, 0, b.rows)
        side = draw_int(b, 0, 4)
        if not has_neighbor(b, column, row, side) or b.rooms[row * b.columns + column].doors[side]:
            continue
        other = (row + STEP_Y[side]) * b.columns + column + STEP_X[side]
        if b.rooms[row * b.columns + column].locked or b.rooms[other].locked:
            continue
        add_door(b, column, row, side, draw_element(b, colors, count), False)
        if b.fault:
            return
    fail(b, NOT_CONNECTED)


cdef inline int add_distractors(build_t* b, int column=ANY, int row=ANY, int count=10, bint unique=True) noexcept nogil:
    """Add random objects to a room, or to random rooms; return the first of their consecutive identities."""
    cdef int first = b.lane.object_count + 1, added = 0, rounds = 0, color, kind, x, y
    while added < count and not is_endless(b, &rounds, MANY_TRIES):
        color = draw_color(b)
        kind = draw_kind(b)
        if unique and b.kinds >> (kind - KEY) * 8 + color & 1:
            continue
        x = draw_int(b, 0, b.columns) if column == ANY else column
        y = draw_int(b, 0, b.rows) if row == ANY else row
        add_object(b, x, y, kind, color)
        added += 1
    return first


# --- levels of both families ------------------------------------------------------------------------------------------

cdef inline int color_of_object(build_t* b, int identity) noexcept nogil:
    return color_of(object_at(b.lane, identity))


cdef inline int build_locked_box(build_t* b, bint blocked, int distractors) noexcept nogil:
    """Put a box behind a locked door, and the key, other objects and the agent in front of it; return the box."""
    cdef int box = add_object(b, 1, 0, BOX), door = add_door(b, 0, 0, 0, ANY, True), x = b.x - 1, y = b.y
    if blocked:
        put(b, x, y, new_object(b, BALL, draw_color(b)))
    add_object(b, 0, 0, KEY, color_of_object(b, door))
    add_distractors(b, ANY, ANY, distractors)
    place_agent_in_room(b, 0, 0)
    return box


cdef inline int build_corridor(build_t* b, int kind) noexcept nogil:
    """Join the second column of rooms to a corridor, with a locked object on its right and the key on its left."""
    cdef int row, door, target
    for row in range(1, b.rows):
        remove_wall(b, 1, row, 3)
    row = draw_int(b, 0, b.rows)
    door = add_door(b, 2, row, 2, ANY, True)
    target = add_object(b, 2, row, kind)
    row = draw_int(b, 0, b.rows)
    add_object(b, 0, row, KEY, color_of_object(b, door))
    place_agent_in_room(b, 1, b.rows // 2)
    connect_all(b)
    return target
