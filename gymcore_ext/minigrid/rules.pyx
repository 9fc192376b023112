"""MiniGrid's rules: how levels are generated, and which events besides a goal and lava end episodes.

Reference environments: MiniGrid-*-v0 and -v1 of minigrid 3.2; random numbers are drawn in their order. The table at
the end lists the arguments of each set of rules, in the order in which `number` counts them.
"""
from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport uint8_t

from gymcore_ext.minigrid.building cimport (
    ANY, COLOR_ORDER, add_door, add_object, build_corridor, build_locked_box, chosen_kind, color_of_object,
    draw_color, draw_int, draw_kind, draw_place, draw_subset, fail, fill, is_endless, make_rooms, new_object,
    number, place, place_agent, place_agent_in_room, place_anywhere, place_in_room, put, reject_t, set_agent,
    shuffle, wall_around, walls,
)
from gymcore_ext.minigrid.grid cimport (
    BALL, BLUE, BOX, CLOSED, COLORS, DONE, DOOR, DROP, EMPTY, FORWARD, GOAL, GRAY, GREEN, KEY, KINDS, LAVA, LEFT,
    LOCKED, MAX_ROOMS, OPEN, PICKUP, RED, RULES_CAPSULE, STEP_X, STEP_Y, TERMINATED, TOGGLE, TOO_MANY, WALL, YELLOW,
    act, build_t, cell_at, cell_t, cells_of, color_of, front_cell, front_x, front_y, generate_t, grid_lane_t,
    identity_of, kind_of, make_cell, object_at, object_t, rng_t, rules_t, state_of, step_t, success_reward,
)


cdef enum:
    MANY_LEVELS = 100_000   # maximum number of tries to draw a chain of rooms


# --- parts of levels --------------------------------------------------------------------------------------------------

cdef inline cell_t goal() noexcept nogil:
    return make_cell(GOAL, GREEN)


cdef inline cell_t obstacle(bint is_wall=False) noexcept nogil:
    """Return a wall, or lava."""
    return make_cell(WALL, GRAY) if is_wall else make_cell(LAVA, RED)


cdef inline void start_at(build_t* b, int first) noexcept nogil:
    """Place the agent with the position and direction of three parameters, or anywhere if the first one is 0."""
    if number(b, first):
        set_agent(b, number(b, first), number(b, first + 1), number(b, first + 2))
    else:
        place_agent(b, 0, 0, b.width, b.height)


cdef inline void set_mission(build_t* b, int text, int word1=0, int word2=0, int word3=0, int word4=0) noexcept nogil:
    """Set the mission: the number of its template, and the kinds and KINDS + colors that fill it."""
    cdef uint8_t* words = b.lane.words
    words[0], words[1], words[2], words[3], words[4] = (
        <uint8_t> text, <uint8_t> word1, <uint8_t> word2, <uint8_t> word3, <uint8_t> word4)


cdef inline void set_target(build_t* b, int first, int x, int y) noexcept nogil:
    """Store a position that the mission refers to."""
    b.lane.targets[first], b.lane.targets[first + 1] = <uint8_t> x, <uint8_t> y


cdef inline int end(grid_lane_t* lane, bint success, double* reward) noexcept nogil:
    """End the episode, with a reward for success."""
    reward[0] = success_reward(lane) if success else 0.0
    return TERMINATED


cdef inline bint is_beside(const grid_lane_t* lane, int first) noexcept nogil:
    """Return whether the agent is next to a stored position."""
    return abs(lane.agent_x - lane.targets[first]) + abs(lane.agent_y - lane.targets[first + 1]) == 1


# --- levels with a goal -----------------------------------------------------------------------------------------------

cdef void empty(build_t* b) noexcept nogil:
    wall_around(b, 0, 0, b.width, b.height)
    put(b, b.width - 2, b.height - 2, goal())
    start_at(b, 0)


cdef void divide(build_t* b, int count, bint doors) noexcept nogil:
    """Divide the grid into count x count rooms, with openings or doors between them."""
    cdef int width = b.width // count, height = b.height // count, column, row, x, y, k
    wall_around(b, 0, 0, b.width, b.height)
    for row in range(count):
        for column in range(count):
            x, y = column * width, row * height
            if column < count - 1:
                walls(b, x + width, y, 1, height)
                k = draw_int(b, y + 1, y + height - doors)
                put(b, x + width, k, make_cell(DOOR, draw_color(b), CLOSED) if doors else <cell_t> EMPTY)
            if row < count - 1:
                walls(b, x, y + height, width, 1)
                k = draw_int(b, x + 1, x + width - doors)
                put(b, k, y + height, make_cell(DOOR, draw_color(b), CLOSED) if doors else <cell_t> EMPTY)


cdef void four_rooms(build_t* b) noexcept nogil:
    divide(b, 2, False)
    if number(b, 0):
        put(b, number(b, 0), number(b, 1), EMPTY)
        set_agent(b, number(b, 0), number(b, 1), draw_int(b, 0, 4))
    else:
        place_agent(b, 0, 0, b.width, b.height)
    if number(b, 2):
        put(b, number(b, 2), number(b, 3), goal())
    else:
        place_anywhere(b, goal())


cdef void door_key(build_t* b) noexcept nogil:
    cdef int split
    wall_around(b, 0, 0, b.width, b.height)
    put(b, b.width - 2, b.height - 2, goal())
    split = draw_int(b, 2, b.width - 2)
    walls(b, split, 0, 1, b.height)
    place_agent(b, 0, 0, split, b.height)
    put(b, split, draw_int(b, 1, b.height - 2), make_cell(DOOR, YELLOW, LOCKED))
    place(b, make_cell(KEY, YELLOW), 0, 0, split, b.height)


cdef void lava_gap(build_t* b) noexcept nogil:
    cdef int x, y
    wall_around(b, 0, 0, b.width, b.height)
    set_agent(b, 1, 1, 0)
    put(b, b.width - 2, b.height - 2, goal())
    x = draw_int(b, 2, b.width - 2)
    y = draw_int(b, 1, b.height - 1)
    fill(b, x, 1, 1, b.height - 2, obstacle(number(b, 0)))
    put(b, x, y, EMPTY)
    set_mission(b, number(b, 0))


cdef void crossing(build_t* b) noexcept nogil:
    """Put rivers into some even columns and rows, with openings along a random path to the goal."""
    cdef uint8_t rivers[256]
    cdef uint8_t path[256]
    cdef bint is_chosen[256]
    cdef uint8_t lines[2][130]   # ascending columns and rows of rivers, between those of the outer walls
    cdef int counts[2]
    cdef int axis, k, across, along, downs = (b.width - 3) // 2, total = 2 * downs
    cdef cell_t river = obstacle(number(b, 1))
    wall_around(b, 0, 0, b.width, b.height)
    set_agent(b, 1, 1, 0)
    put(b, b.width - 2, b.height - 2, goal())
    for k in range(total):
        rivers[k], is_chosen[k] = <uint8_t> k, False
    shuffle(b, rivers, total)
    for k in range(min(number(b, 0), total)):
        is_chosen[rivers[k]] = True
    counts[0] = counts[1] = lines[0][0] = lines[1][0] = 0
    for k in range(total):
        if is_chosen[k]:
            axis = k >= downs
            path[counts[0] + counts[1]] = axis
            counts[axis] += 1
            lines[axis][counts[axis]] = <uint8_t> (2 + 2 * (k - axis * downs))
    for axis in range(2):
        for k in range(1, counts[axis] + 1):
            if axis:
                fill(b, 1, lines[1][k], b.width - 2, 1, river)
            else:
                fill(b, lines[0][k], 1, 1, b.height - 2, river)
        lines[axis][counts[axis] + 1] = <uint8_t> (b.width - 1)
    total = counts[0] + counts[1]
    shuffle(b, path, total)
    counts[0] = counts[1] = 0   # number of rivers that the path has crossed, by axis
    for k in range(total):
        axis = path[k]
        across, along = lines[axis][counts[axis] + 1], counts[not axis]
        along = draw_int(b, lines[not axis][along] + 1, lines[not axis][along + 1])
        put(b, along if axis else across, across if axis else along, EMPTY)
        counts[axis] += 1
    set_mission(b, number(b, 1))


cdef void dist_shift(build_t* b) noexcept nogil:
    wall_around(b, 0, 0, b.width, b.height)
    put(b, b.width - 2, 1, goal())
    fill(b, 3, 1, b.width - 6, 1, obstacle())
    fill(b, 3, number(b, 3), b.width - 6, 1, obstacle())
    start_at(b, 0)


cdef struct chain_room_t:   # a room of a chain
    int x, y, width, height, door_x, door_y


cdef bint draw_room(build_t* b, chain_room_t* rooms, int count, int door_x, int door_y, int side) noexcept nogil:
    """Draw a room behind a door in one of its walls; return whether it fits into the grid without overlap."""
    cdef chain_room_t* room = &rooms[count]
    cdef int k
    room.width = draw_int(b, 4, number(b, 2) + 1)
    room.height = draw_int(b, 4, number(b, 2) + 1)
    room.x = room.door_x = door_x
    room.y = room.door_y = door_y
    if count and side & 1:
        room.x = draw_int(b, door_x - room.width + 2, door_x)
        room.y = door_y - room.height + 1 if side == 1 else door_y
    elif count:
        room.x = door_x - room.width + 1 if side == 0 else door_x
        room.y = draw_int(b, door_y - room.height + 2, door_y)
    if room.x < 0 or room.y < 0 or room.x + room.width > b.width or room.y + room.height >= b.height:
        return False
    for k in range(count - 1):
        if not (
            room.x + room.width < rooms[k].x or rooms[k].x + rooms[k].width <= room.x
            or room.y + room.height < rooms[k].y or rooms[k].y + rooms[k].height <= room.y
        ):
            return False
    return True


cdef int draw_chain(build_t* b, chain_room_t* rooms, int wanted) noexcept nogil:
    """Draw up to `wanted` rooms, each behind a door of the last one, with eight tries each; return their number."""
    cdef int x = draw_int(b, 0, b.width - 2), y = draw_int(b, 0, b.width - 2), side = 2, out, count
    cdef chain_room_t* room
    if not draw_room(b, rooms, 0, x, y, side):
        return 0
    for count in range(1, wanted):
        room = &rooms[count - 1]
        for _ in range(8):
            out = draw_int(b, 0, 3)
            out += out >= side
            if out & 1:
                x = room.x + draw_int(b, 1, room.width - 1)
                y = room.y + room.height - 1 if out == 1 else room.y
            else:
                x = room.x + room.width - 1 if out == 0 else room.x
                y = room.y + draw_int(b, 1, room.height - 1)
            if draw_room(b, rooms, count, x, y, out + 2 & 3):
                side = out + 2 & 3
                break
        else:
            return count
    return wanted


cdef void multi_room(build_t* b) noexcept nogil:
    cdef chain_room_t rooms[MAX_ROOMS]
    cdef chain_room_t* room = rooms
    cdef int k, color, before = COLORS, rounds = 0, count = draw_int(b, number(b, 0), number(b, 1) + 1)
    if not 0 < count <= MAX_ROOMS:
        fail(b, TOO_MANY)
    while not is_endless(b, &rounds, MANY_LEVELS) and draw_chain(b, rooms, count) < count:
        pass
    if b.fault:
        return
    for k in range(count):
        room = &rooms[k]
        wall_around(b, room.x, room.y, room.width, room.height)
        if k > 0:
            color = draw_int(b, 0, COLORS - (k > 1))
            color += color >= before
            put(b, room.door_x, room.door_y, make_cell(DOOR, COLOR_ORDER[color], CLOSED))
            before = color
    place_agent(b, rooms[0].x, rooms[0].y, rooms[0].width, rooms[0].height)
    place(b, goal(), room.x, room.y, room.width, room.height)


cdef void locked_room(build_t* b) noexcept nogil:
    """Build a hallway between six rooms with doors of all colors. One room is locked and contains the goal."""
    cdef int left = b.width // 2 - 2, right = b.width // 2 + 2, third = b.height // 3, k, locked, key_room, rounds = 0
    cdef uint8_t colors[COLORS]
    wall_around(b, 0, 0, b.width, b.height)
    walls(b, left, 0, 1, b.height)
    walls(b, right, 0, 1, b.height)
    for k in range(3):
        walls(b, 0, k * third, left, 1)
        walls(b, right, k * third, b.width - right, 1)
    locked = draw_int(b, 0, 6)
    put_in_side_room(b, locked, goal())
    draw_subset(b, COLOR_ORDER, COLORS, COLORS, colors)
    for k in range(6):
        put(
            b, right if k & 1 else left, k // 2 * third + 3,
            make_cell(DOOR, colors[k], LOCKED if k == locked else CLOSED))
    key_room = locked
    while key_room == locked and not is_endless(b, &rounds, MANY_LEVELS):
        key_room = draw_int(b, 0, 6)
    put_in_side_room(b, key_room, make_cell(KEY, colors[locked]))
    place_agent(b, left, 0, right - left, b.height)
    set_mission(b, 0, KINDS + colors[locked], KINDS + colors[key_room], KINDS + colors[locked])


cdef void put_in_side_room(build_t* b, int k, cell_t cell) noexcept nogil:
    cdef int left = b.width // 2 + 2 if k & 1 else 0, top = k // 2 * (b.height // 3)
    cdef int x = draw_int(b, left + 1, left + b.width // 2 - 2)
    put(b, x, draw_int(b, top + 1, top + b.height // 3), cell)


# --- levels with objects ----------------------------------------------------------------------------------------------

cdef void fetch(build_t* b) noexcept nogil:
    cdef int kind, target
    cdef cell_t cell
    wall_around(b, 0, 0, b.width, b.height)
    for _ in range(number(b, 0)):
        kind = KEY + draw_int(b, 0, 2)
        place_anywhere(b, new_object(b, kind, draw_color(b)))
        if b.fault:
            return
    place_agent(b, 0, 0, b.width, b.height)
    target = draw_int(b, 1, number(b, 0) + 1)
    cell = object_at(b.lane, target)
    set_mission(b, draw_int(b, 0, 5), KINDS + color_of(cell), kind_of(cell))


cdef int step_fetch(grid_lane_t* lane, int action, rng_t* rng, double* reward) noexcept nogil:
    cdef int flags = act(lane, action, reward)
    if lane.carrying != EMPTY:
        flags |= end(
            lane, kind_of(lane.carrying) == lane.words[2] and KINDS + color_of(lane.carrying) == lane.words[1], reward)
    return flags


cdef bint is_near_object(const build_t* b, int x, int y) noexcept nogil:
    """Return whether a position is that of an object or one of its eight neighbors."""
    cdef const object_t* item
    cdef int k
    for k in range(1, b.lane.object_count + 1):
        item = &b.lane.objects[k]
        if abs(x - item.x) <= 1 and abs(y - item.y) <= 1:
            return True
    return False


cdef int place_different_objects(build_t* b, reject_t reject) noexcept nogil:
    """Place `number(b, 0)` distinct objects and the agent, and return the identity of a random object."""
    cdef int rounds = 0, count = 0, kind, color
    cdef uint8_t known[COLORS]
    wall_around(b, 0, 0, b.width, b.height)
    for color in range(COLORS):
        known[color] = 0
    while count < number(b, 0) and not is_endless(b, &rounds, MANY_LEVELS):
        kind = draw_kind(b)
        color = draw_color(b)
        if known[color] >> kind & 1:
            continue
        known[color] |= 1 << kind
        place(b, new_object(b, kind, color), 0, 0, b.width, b.height, reject)
        count += 1
    place_agent(b, 0, 0, b.width, b.height)
    return draw_int(b, 1, number(b, 0) + 1)


cdef cell_t target_object(build_t* b, int identity) noexcept nogil:
    """Store the position of an object, and return the object."""
    set_target(b, 0, b.lane.objects[identity].x, b.lane.objects[identity].y)
    return object_at(b.lane, identity)


cdef void go_to_object(build_t* b) noexcept nogil:
    cdef cell_t target = target_object(b, place_different_objects(b, NULL))
    set_mission(b, 0, KINDS + color_of(target), kind_of(target))


cdef void put_near(build_t* b) noexcept nogil:
    cdef int moved = place_different_objects(b, is_near_object), target = moved, rounds = 0
    cdef cell_t cell = target_object(b, moved), other
    while target == moved and not is_endless(b, &rounds, MANY_LEVELS):
        target = draw_int(b, 1, number(b, 0) + 1)
    other = target_object(b, target)
    set_mission(b, 0, KINDS + color_of(cell), kind_of(cell), KINDS + color_of(other), kind_of(other))


cdef int step_put_near(grid_lane_t* lane, int action, rng_t* rng, double* reward) noexcept nogil:
    cdef cell_t carried = lane.carrying
    cdef int flags = act(lane, action, reward)
    if action == PICKUP and lane.carrying != EMPTY:
        if kind_of(lane.carrying) != lane.words[2] or KINDS + color_of(lane.carrying) != lane.words[1]:
            flags |= TERMINATED
    if action == DROP and carried != EMPTY:
        flags |= end(
            lane, lane.carrying == EMPTY and abs(front_x(lane) - lane.targets[0]) <= 1
            and abs(front_y(lane) - lane.targets[1]) <= 1, reward)
    return flags


cdef void go_to_door(build_t* b) noexcept nogil:
    cdef int width = draw_int(b, 5, b.width + 1), height = draw_int(b, 5, b.height + 1), k = 0, rounds = 0, target
    cdef int known = 0, color
    cdef uint8_t x[4]
    cdef uint8_t y[4]
    cdef uint8_t colors[4]
    wall_around(b, 0, 0, width, height)
    x[0], y[0] = <uint8_t> draw_int(b, 2, width - 2), 0
    x[1], y[1] = <uint8_t> draw_int(b, 2, width - 2), <uint8_t> (height - 1)
    x[2], y[2] = 0, <uint8_t> draw_int(b, 2, height - 2)
    x[3], y[3] = <uint8_t> (width - 1), <uint8_t> draw_int(b, 2, height - 2)
    while k < 4 and not is_endless(b, &rounds, MANY_LEVELS):
        color = draw_color(b)
        colors[k] = <uint8_t> color
        k += not known >> color & 1
        known |= 1 << color
    if b.fault:
        return
    for k in range(4):
        put(b, x[k], y[k], make_cell(DOOR, colors[k], CLOSED))
    place_agent(b, 0, 0, width, height)
    target = draw_int(b, 0, 4)
    set_target(b, 0, x[target], y[target])
    set_mission(b, 0, KINDS + colors[target])


cdef int step_go_to(grid_lane_t* lane, int action, rng_t* rng, double* reward) noexcept nogil:
    cdef int flags = act(lane, action, reward)
    if action == TOGGLE:
        flags |= TERMINATED
    if action == DONE:
        flags |= end(lane, is_beside(lane, 0), reward)
    return flags


cdef void playground(build_t* b) noexcept nogil:
    cdef int kind
    divide(b, 3, True)
    place_agent(b, 0, 0, b.width, b.height)
    for _ in range(12):
        kind = draw_kind(b)
        place_anywhere(b, make_cell(kind, draw_color(b)))


cdef void dynamic_obstacles(build_t* b) noexcept nogil:
    cdef int obstacles = number(b, 3), _
    if 2 * obstacles > b.width + 2:
        obstacles = b.width // 2
    wall_around(b, 0, 0, b.width, b.height)
    put(b, b.width - 2, b.height - 2, goal())
    start_at(b, 0)
    for _ in range(obstacles):
        place(b, new_object(b, BALL, BLUE), 0, 0, b.width, b.height, NULL, 100)
        if b.fault:
            return


cdef int step_dynamic_obstacles(grid_lane_t* lane, int action, rng_t* rng, double* reward) noexcept nogil:
    """Move each obstacle to a random empty cell around it, if there is one, and then the agent."""
    cdef cell_t cell, front = front_cell(lane)
    cdef build_t b
    cdef object_t item
    cdef int k, flags
    b.lane, b.rng, b.cells = lane, rng, cells_of(lane)
    b.width, b.height, b.fault = lane.width, lane.height, 0
    for k in range(1, lane.object_count + 1):
        item = lane.objects[k]
        cell = cell_at(lane, item.x, item.y)
        if identity_of(cell) != k or kind_of(cell) != BALL:  # for example, a box in a state that a caller has set
            continue
        if draw_place(&b, item.x - 1, item.y - 1, 3, 3, NULL, 100):
            put(&b, b.x, b.y, cell)
            put(&b, item.x, item.y, EMPTY)
    flags = act(lane, action if action <= FORWARD else LEFT, reward)
    if action == FORWARD and front != EMPTY and kind_of(front) != GOAL:
        reward[0] = -1.0
        flags |= TERMINATED
    return flags


cdef void memory(build_t* b) noexcept nogil:
    """The targets are the positions of success and of failure."""
    cdef int middle = b.height // 2, last, kind, upper
    wall_around(b, 0, 0, b.width, b.height)
    last = draw_int(b, 4, b.width - 2) if number(b, 0) else b.width - 3
    walls(b, 1, middle - 2, 4, 1)
    walls(b, 1, middle + 2, 4, 1)
    walls(b, 4, middle - 1, 1, 1)
    walls(b, 4, middle + 1, 1, 1)
    walls(b, 5, middle - 1, last - 5, 1)
    walls(b, 5, middle + 1, last - 5, 1)
    walls(b, last, 0, 1, b.height)
    put(b, last, middle, EMPTY)
    walls(b, last + 2, 0, 1, b.height)
    set_agent(b, draw_int(b, 1, last + 1), middle, 0)
    kind = KEY + draw_int(b, 0, 2)
    put(b, 1, middle - 1, make_cell(kind, GREEN))
    upper = BALL - draw_int(b, 0, 2)
    put(b, last + 1, middle - 2, make_cell(upper, GREEN))
    put(b, last + 1, middle + 2, make_cell(KEY + BALL - upper, GREEN))
    set_target(b, 0, last + 1, middle - 1 if kind == upper else middle + 1)
    set_target(b, 2, last + 1, middle + 1 if kind == upper else middle - 1)


cdef int step_memory(grid_lane_t* lane, int action, rng_t* rng, double* reward) noexcept nogil:
    cdef int flags = act(lane, TOGGLE if action == PICKUP else action, reward)
    cdef bint success = lane.agent_x == lane.targets[0] and lane.agent_y == lane.targets[1]
    if success or lane.agent_x == lane.targets[2] and lane.agent_y == lane.targets[3]:
        flags |= end(lane, success, reward)
    return flags


cdef void red_blue_doors(build_t* b) noexcept nogil:
    cdef int size = b.height
    wall_around(b, 0, 0, 2 * size, size)
    wall_around(b, size // 2, 0, size, size)
    place_agent(b, size // 2, 0, size, size)
    set_target(b, 0, size // 2, draw_int(b, 1, size - 1))
    set_target(b, 2, size // 2 + size - 1, draw_int(b, 1, size - 1))
    put(b, b.lane.targets[0], b.lane.targets[1], make_cell(DOOR, RED, CLOSED))
    put(b, b.lane.targets[2], b.lane.targets[3], make_cell(DOOR, BLUE, CLOSED))


cdef inline bint is_open(const grid_lane_t* lane, int first) noexcept nogil:
    """Return whether there is an open door at a stored position."""
    cdef cell_t cell = cell_at(lane, lane.targets[first], lane.targets[first + 1])
    return kind_of(cell) == DOOR and state_of(cell) == OPEN


cdef int step_red_blue_doors(grid_lane_t* lane, int action, rng_t* rng, double* reward) noexcept nogil:
    cdef bint red = is_open(lane, 0), blue = is_open(lane, 2)
    cdef int flags = act(lane, action, reward)
    if is_open(lane, 2):
        flags |= end(lane, red, reward)
    elif is_open(lane, 0) and blue:
        flags |= end(lane, False, reward)
    return flags


# --- grids of rooms ---------------------------------------------------------------------------------------------------

cdef inline void set_object_to_pick_up(build_t* b, int identity) noexcept nogil:
    """Set the mission of picking up an object."""
    cdef cell_t cell = object_at(b.lane, identity)
    b.lane.targets[0] = <uint8_t> identity
    set_mission(b, 0, KINDS + color_of(cell), kind_of(cell))


cdef int step_pick_up(grid_lane_t* lane, int action, rng_t* rng, double* reward) noexcept nogil:
    cdef int flags = act(lane, action, reward)
    if action == PICKUP and lane.carrying != EMPTY and identity_of(lane.carrying) == lane.targets[0]:
        flags |= end(lane, True, reward)
    return flags


cdef void unlock(build_t* b) noexcept nogil:
    cdef int door
    make_rooms(b)
    door = add_door(b, 0, 0, 0, ANY, True)
    set_target(b, 0, b.x, b.y)
    add_object(b, 0, 0, KEY, color_of_object(b, door))
    place_agent_in_room(b, 0, 0)


cdef int step_unlock(grid_lane_t* lane, int action, rng_t* rng, double* reward) noexcept nogil:
    cdef int flags = act(lane, action, reward)
    if action == TOGGLE and is_open(lane, 0):
        flags |= end(lane, True, reward)
    return flags


cdef void unlock_pickup(build_t* b) noexcept nogil:
    make_rooms(b)
    set_object_to_pick_up(b, build_locked_box(b, number(b, 0), 0))


cdef void key_corridor(build_t* b) noexcept nogil:
    make_rooms(b)
    set_object_to_pick_up(b, build_corridor(b, chosen_kind(b, 0)))


cdef inline void block_door(build_t* b, int side) noexcept nogil:
    """Put a ball in front of the door that was added last."""
    put(b, b.x - STEP_X[side], b.y - STEP_Y[side], make_cell(BALL, GREEN))


cdef void add_key(build_t* b, int column, int row, int color, bint in_box) noexcept nogil:
    cdef cell_t item = new_object(b, KEY, color), box
    if in_box:
        box = new_object(b, BOX, GRAY)
        b.lane.objects[identity_of(box)].contents = item
        item = box
    place_in_room(b, column, row, item)


cdef void obstructed_maze_1d(build_t* b) noexcept nogil:
    cdef uint8_t colors[COLORS]
    cdef int target
    make_rooms(b)
    draw_subset(b, COLOR_ORDER, COLORS, COLORS, colors)
    add_door(b, 0, 0, 0, colors[0], True)
    if number(b, 1):
        block_door(b, 0)
    add_key(b, 0, 0, colors[0], number(b, 0))
    target = add_object(b, 1, 0, BALL, BLUE)
    place_agent_in_room(b, 0, 0)
    set_object_to_pick_up(b, target)


cdef void obstructed_maze(build_t* b) noexcept nogil:
    """Add doors from the middle room to side rooms, and locked doors from there to the corners, one with the ball."""
    cdef uint8_t colors[COLORS]
    cdef bint in_box = number(b, 2), blocked = number(b, 3), keys_last = number(b, 5)
    cdef int k, column, row, turn, side, color, quarters = max(0, min(number(b, 4), 4)), target
    make_rooms(b)
    draw_subset(b, COLOR_ORDER, COLORS, COLORS, colors)
    for k in range(quarters):
        column, row = 1 + STEP_X[k], 1 + STEP_Y[k]
        add_door(b, 1, 1, k, colors[k], False)
        for turn in range(-1, 2, 2):
            side, color = k + turn & 3, colors[(k + turn + COLORS) % COLORS]
            add_door(b, column, row, side, color, True)
            if blocked:
                block_door(b, side)
            if not keys_last:
                add_key(b, column, row, color, in_box)
        if keys_last:
            for turn in range(-1, 2, 2):
                add_key(b, column, row, colors[(k + turn + COLORS) % COLORS], in_box)
    k = draw_int(b, 0, quarters)
    target = add_object(b, 0 if k & 2 else 2, 2 if k == 1 or k == 2 else 0, BALL, BLUE)
    place_agent_in_room(b, number(b, 0), number(b, 1))
    set_object_to_pick_up(b, target)


# --- the rules --------------------------------------------------------------------------------------------------------

cdef rules_t[32] rules_memory
RULES = {}


cdef int add_rules(
    const char* name, const char* arguments, generate_t generate, const char* missions, step_t step=NULL,
    int action_count=0,
) except -1:
    cdef rules_t* rules = &rules_memory[len(RULES)]
    rules.arguments, rules.generate, rules.step = arguments, generate, step
    rules.missions, rules.mission_count = missions, (<bytes> missions).count(b"\n") + 1
    rules.action_count = action_count
    RULES[name.decode()] = PyCapsule_New(rules, RULES_CAPSULE, NULL)
    return 0


add_rules(b"Empty", b"agent_start_pos agent_start_dir", empty, b"get to the green goal square")
add_rules(b"FourRooms", b"agent_pos goal_pos", four_rooms, b"reach the goal")
add_rules(b"DoorKey", b"", door_key, b"use the key to open the door and then get to the goal")
add_rules(
    b"LavaGap", b"obstacle_type", lava_gap,
    b"avoid the lava and get to the green goal square\nfind the opening and get to the green goal square")
add_rules(
    b"Crossing", b"num_crossings obstacle_type", crossing,
    b"avoid the lava and get to the green goal square\nfind the opening and get to the green goal square")
add_rules(b"DistShift", b"agent_start_pos agent_start_dir strip2_row", dist_shift, b"get to the green goal square")
add_rules(b"MultiRoom", b"minNumRooms maxNumRooms maxRoomSize", multi_room, b"traverse the rooms to get to the goal")
add_rules(b"LockedRoom", b"", locked_room, b"get the % key from the % room, unlock the % door and go to the goal")
add_rules(
    b"Fetch", b"numObjs", fetch,
    b"get a % %\ngo get a % %\nfetch a % %\ngo fetch a % %\nyou must fetch a % %", step_fetch)
add_rules(b"GoToObject", b"numObjs", go_to_object, b"go to the % %", step_go_to)
add_rules(b"PutNear", b"numObjs", put_near, b"put the % % near the % %", step_put_near)
add_rules(b"GoToDoor", b"", go_to_door, b"go to the % door", step_go_to)
add_rules(b"Playground", b"", playground, b"")
add_rules(
    b"DynamicObstacles", b"agent_start_pos agent_start_dir n_obstacles", dynamic_obstacles,
    b"get to the green goal square", step_dynamic_obstacles, FORWARD + 1)
add_rules(b"Memory", b"random_length", memory, b"go to the matching object at the end of the hallway", step_memory)
add_rules(b"RedBlueDoors", b"", red_blue_doors, b"open the red door then the blue door", step_red_blue_doors)
add_rules(b"Unlock", b"", unlock, b"open the door", step_unlock)
add_rules(b"UnlockPickup", b"blocked", unlock_pickup, b"pick up the % %", step_pick_up)
add_rules(b"KeyCorridor", b"obj_type", key_corridor, b"pick up the % %", step_pick_up)
add_rules(b"ObstructedMaze1D", b"key_in_box blocked", obstructed_maze_1d, b"pick up the % %", step_pick_up)
add_rules(
    b"ObstructedMaze", b"agent_room key_in_box blocked num_quarters keys_last", obstructed_maze,
    b"pick up the % %", step_pick_up)
