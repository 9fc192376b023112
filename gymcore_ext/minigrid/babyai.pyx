"""BabyAI's rules: levels that are grids of rooms with an instruction.

Reference environments: BabyAI-*-v0 and -v1 of minigrid 3.2; random numbers are drawn in their order. Levels that the
reference rejects with `RejectSampling` or `RecursionError` are generated again with the next random numbers.
"""
from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport uint8_t, uint16_t
from libc.string cimport memset

from gymcore_ext.minigrid.building cimport (
    ANY, COLOR_ORDER, MANY_TRIES, add_distractors, add_door, add_object, build_corridor, build_locked_box,
    chosen_kind, connect_all, draw_bool, draw_color, draw_element, draw_fraction, draw_int, draw_subset, fail,
    has_neighbor, is_endless, make_rooms, new_object, number, place_agent_in_room, place_in_room, put, remove_wall,
    room_at, room_of,
)
from gymcore_ext.minigrid.grid cimport (
    BALL, BLUE, BOX, COLORS, DOOR, EMPTY, ENDLESS, GRAY, KEY, LOCKED, MAX_SIDE, NOT_CONNECTED, NO_CHOICE, NO_FAULT,
    NO_PLACE, RED, REJECTED, RULES_CAPSULE, STEP_X, STEP_Y, build_t, cell_t, color_of, generate_t, kind_of,
    make_cell, object_at, object_t, rules_t, state_of,
)
from gymcore_ext.minigrid.instructions cimport (
    ANYWHERE, ANY_COLOR, ANY_KIND, GO_TO, ON_LEFT, OPEN_DOOR, PICK_UP, PUT_NEXT, VERBS, description_t,
    give_start_object, instruction_of, instruction_t, is_next_to, is_possible_instruction, mark_objects, matches,
    step_instruction, task_t, write_instruction,
)


cdef enum:
    MANY_LEVELS = 10_000   # rejected levels before generation fails


# --- instructions -----------------------------------------------------------------------------------------------------

cdef inline description_t describe(int kind, int color=ANY_COLOR, int location=ANYWHERE) noexcept nogil:
    return description_t(<uint8_t> kind, <uint8_t> color, <uint8_t> location, False)


cdef inline description_t describe_object(build_t* b, int identity) noexcept nogil:
    """Return the description of an object by kind and color; after a fault, a description of EMPTY."""
    cdef cell_t cell = <cell_t> EMPTY if b.fault else object_at(b.lane, identity)
    return describe(kind_of(cell), color_of(cell))


cdef inline void change_appearance(build_t* b, int identity, cell_t appearance) noexcept nogil:
    """Change kind, color or state of an object, but not its identity."""
    put(b, b.lane.objects[identity].x, b.lane.objects[identity].y, appearance | <cell_t> (identity << 9))


cdef inline task_t* add_task(build_t* b, int verb, description_t described, int clause=0) noexcept nogil:
    """Add a task to a clause of the instruction, which has at most two, and return it."""
    cdef instruction_t* instr = instruction_of(b.lane)
    cdef task_t* task = &instr.tasks[2 * clause + (instr.counts[clause] > 0)]
    instr.counts[clause] = 1 + (instr.counts[clause] > 0)
    task.verb = <uint8_t> verb
    task.objects[0] = described
    return task


cdef inline void add_put_next(build_t* b, description_t described, description_t beside, int clause=0) noexcept nogil:
    add_task(b, PUT_NEXT, described, clause).objects[1] = beside


cdef inline void reverse_clauses(build_t* b) noexcept nogil:
    """Swap the clauses, so that the second one is carried out first."""
    cdef instruction_t* instr = instruction_of(b.lane)
    cdef int k
    for k in range(2):
        instr.tasks[k], instr.tasks[2 + k] = instr.tasks[2 + k], instr.tasks[k]
    instr.counts[0], instr.counts[1] = instr.counts[1], instr.counts[0]
    instr.backwards = True


# --- conditions -------------------------------------------------------------------------------------------------------

cdef inline void reject_if(build_t* b, bint condition) noexcept nogil:
    if condition:
        fail(b, REJECTED)


cdef bint are_reachable(build_t* b) noexcept nogil:
    """Return whether the agent can reach all objects through doors, without moving any object."""
    cdef uint8_t is_reached[MAX_SIDE * MAX_SIDE]
    cdef uint16_t stack[MAX_SIDE * MAX_SIDE]
    cdef const object_t* item
    cdef int count = 1, place, other, side
    memset(is_reached, 0, b.width * b.height)
    stack[0] = <uint16_t> (b.lane.agent_y * b.width + b.lane.agent_x)
    is_reached[stack[0]] = True
    while count:
        count -= 1
        place = stack[count]
        if b.cells[place] != EMPTY and kind_of(b.cells[place]) != DOOR:
            continue
        for side in range(4):   # walls surround the grid
            other = place + STEP_Y[side] * b.width + STEP_X[side]
            if not is_reached[other]:
                is_reached[other] = True
                stack[count] = <uint16_t> other
                count += 1
    for place in range(1, b.lane.object_count + 1):
        item = &b.lane.objects[place]
        if not is_reached[item.y * b.width + item.x]:
            return False
    return True


cdef inline void require_reachable(build_t* b) noexcept nogil:
    reject_if(b, not b.fault and not are_reachable(b))


cdef void reject_trivial(build_t* b) noexcept nogil:
    """Reject an instruction to put an object next to itself, or next to one that it is already beside."""
    cdef const instruction_t* instr = instruction_of(b.lane)
    cdef const object_t* item
    cdef int k, identity, marks
    for k in range(4):
        for identity in range(1, b.lane.object_count + 1):
            marks = instr.marks[identity] >> 2 * k & 3
            item = &b.lane.objects[identity]
            reject_if(b, instr.tasks[k].verb == PUT_NEXT and marks & 1 and (
                marks == 3 or is_next_to(b.lane, item.x, item.y, 2 * k + 1)))


cdef void reject_needed_keys(build_t* b) noexcept nogil:
    """Reject an instruction about a key that opens a locked door."""
    cdef const instruction_t* instr = instruction_of(b.lane)
    cdef const description_t* described
    cdef cell_t door
    cdef int k, identity
    for identity in range(1, b.lane.object_count + 1):
        door = object_at(b.lane, identity)
        for k in range(8):
            described = &instr.tasks[k >> 1].objects[k & 1]
            reject_if(b, kind_of(door) == DOOR and state_of(door) == LOCKED and described.kind == KEY
                      and described.color == color_of(door))


cdef void generate(build_t* b) noexcept nogil:
    """Generate levels until one is accepted, and set the time limit if the lane has none."""
    cdef instruction_t* instr = instruction_of(b.lane)
    cdef int rounds = 0, k, moves = 0
    while rounds < MANY_LEVELS:
        b.fault = NO_FAULT
        memset(instr, 0, sizeof(instruction_t))
        make_rooms(b)
        b.spec.rules.attempt(b)
        if not b.fault:
            mark_objects(b.lane)
            reject_trivial(b)
        if b.fault not in (REJECTED, NO_PLACE, NOT_CONNECTED, ENDLESS):
            break
        # Some faults take much longer than others, so they count as more rounds: NOT_CONNECTED comes after thousands of
        # doors, ENDLESS after a million positions. MiniGrid never gives up there: about one in 800 levels of SynthS5R2
        # has no room for the agent.
        rounds += 100 if b.fault == NOT_CONNECTED else MANY_LEVELS // 8 if b.fault == ENDLESS else 1
    if b.fault == REJECTED:
        b.fault = ENDLESS
    if b.lane.max_steps == 0:
        for k in range(4):
            if k & 1 < instr.counts[k >> 1]:
                moves += 2 if instr.tasks[k].verb == PUT_NEXT else 1
        b.lane.max_steps = moves * b.room_size * b.room_size * b.columns * b.rows


# --- parts of levels --------------------------------------------------------------------------------------------------

cdef inline int place_agent_and_objects(build_t* b, int count, bint unique=False) noexcept nogil:
    """Place the agent, connect all rooms, and add objects that it can reach; return the first object."""
    cdef int first
    place_agent_in_room(b)
    connect_all(b)
    first = add_distractors(b, ANY, ANY, count, unique)
    require_reachable(b)
    return first


cdef inline void place_agent_outside(build_t* b, int room) noexcept nogil:
    cdef int rounds = 0
    while not is_endless(b, &rounds, MANY_TRIES):
        place_agent_in_room(b)
        if room_of(b, b.lane.agent_x, b.lane.agent_y) != room:
            break


cdef int lock_random_room(build_t* b, int distractors, bint other_colors, int* door) noexcept nogil:
    """Lock a room, put its key into any room, connect the other rooms, and place the agent outside of the locked one.

    The reference environment intends to keep the key out of the locked room, but its comparison with `is` never does.

    Args:
        b: The level.
        distractors: Number of further objects in each room.
        other_colors: Whether, with a probability of 1/2, no other door has the color of the locked one.
        door: Set to the identity of the locked door.

    Returns:
        The index of the locked room.
    """
    cdef uint8_t colors[COLORS]
    cdef int column = draw_int(b, 0, b.columns), row = draw_int(b, 0, b.rows), key_column, key_row, i, j, count = 0
    door[0] = add_door(b, column, row, ANY, ANY, True)
    key_column = draw_int(b, 0, b.columns)
    key_row = draw_int(b, 0, b.rows)
    add_object(b, key_column, key_row, KEY, describe_object(b, door[0]).color)
    other_colors = other_colors and draw_bool(b)
    for i in range(COLORS):
        if not (other_colors and COLOR_ORDER[i] == describe_object(b, door[0]).color):
            colors[count] = COLOR_ORDER[i]
            count += 1
    connect_all(b, colors, count)
    for i in range(b.columns):
        for j in range(b.rows):
            add_distractors(b, i, j, distractors, False)
    place_agent_outside(b, row * b.columns + column)
    require_reachable(b)
    return row * b.columns + column


cdef inline int add_four_doors(build_t* b, int locked) noexcept nogil:
    """Add a door to each side of the middle room, in random order; return the first one."""
    cdef int first = add_door(b, 1, 1, ANY, ANY, locked), _
    for _ in range(3):
        add_door(b, 1, 1, ANY, ANY, locked)
    return first


# --- levels -----------------------------------------------------------------------------------------------------------

cdef void go_to(build_t* b) noexcept nogil:
    """Parameters: number of objects; whether all doors are open."""
    cdef int first = place_agent_and_objects(b, number(b, 0)), k
    cdef cell_t cell
    add_task(b, GO_TO, describe_object(b, first + draw_int(b, 0, number(b, 0))))
    for k in range(1, b.lane.object_count + 1):
        cell = object_at(b.lane, k)
        if number(b, 1) and kind_of(cell) == DOOR:
            change_appearance(b, k, make_cell(DOOR, color_of(cell)))


cdef void go_to_red_ball(build_t* b) noexcept nogil:
    """Parameters: number of other objects; whether they are gray."""
    cdef int first, k
    place_agent_in_room(b)
    add_object(b, 0, 0, BALL, RED)
    first = add_distractors(b, ANY, ANY, number(b, 0), False)
    for k in range(first, b.lane.object_count + 1):
        if number(b, 1):
            change_appearance(b, k, make_cell(describe_object(b, k).kind, GRAY))
    require_reachable(b)
    add_task(b, GO_TO, describe(BALL, RED))


cdef void go_to_red_blue_ball(build_t* b) noexcept nogil:
    """Parameter: number of other objects."""
    cdef cell_t cell
    cdef int k, color
    place_agent_in_room(b)
    add_distractors(b, ANY, ANY, number(b, 0), False)
    for k in range(1, b.lane.object_count + 1):
        cell = object_at(b.lane, k)
        reject_if(b, kind_of(cell) == BALL and (color_of(cell) == RED or color_of(cell) == BLUE))
    color = BLUE if draw_int(b, 0, 2) else RED
    add_object(b, 0, 0, BALL, color)
    require_reachable(b)
    add_task(b, GO_TO, describe(BALL, color))


cdef void go_to_object_in_locked_room(build_t* b) noexcept nogil:
    cdef int door, room = lock_random_room(b, 2, False, &door)
    add_task(b, GO_TO, describe_object(b, add_distractors(b, room % b.columns, room // b.columns, 1, False)))


cdef void go_to_door(build_t* b) noexcept nogil:
    cdef int first = add_four_doors(b, ANY)
    place_agent_in_room(b, 1, 1)
    add_task(b, GO_TO, describe_object(b, first + draw_int(b, 0, 4)))


cdef void go_to_object_or_door(build_t* b) noexcept nogil:
    cdef int first
    place_agent_in_room(b, 1, 1)
    first = add_distractors(b, 1, 1, 8, False)
    add_four_doors(b, ANY)
    require_reachable(b)
    add_task(b, GO_TO, describe_object(b, first + draw_int(b, 0, 12)))


cdef void open_any(build_t* b) noexcept nogil:
    cdef uint8_t doors[256 * 4]
    cdef int count = 0, column, row, side
    place_agent_and_objects(b, 18)
    for column in range(b.columns):
        for row in range(b.rows):
            for side in range(4):
                if room_at(b, column, row).doors[side]:
                    doors[count] = room_at(b, column, row).doors[side]
                    count += 1
    add_task(b, OPEN_DOOR, describe_object(b, draw_element(b, doors, count)))


cdef void open_red_door(build_t* b) noexcept nogil:
    add_door(b, 0, 0, 0, RED, False)
    place_agent_in_room(b, 0, 0)
    add_task(b, OPEN_DOOR, describe(DOOR, RED))


cdef void open_door(build_t* b) noexcept nogil:
    """Parameters: whether opening another door fails; description of the door: 1 color, 2 location, 0 random."""
    cdef uint8_t colors[4]
    cdef int k, by = number(b, 1)
    draw_subset(b, COLOR_ORDER, COLORS, 4, colors)
    for k in range(4):
        add_door(b, 1, 1, k, colors[k], False)
    if by == 0:
        by = 1 + draw_int(b, 0, 2)
    if by == 1:
        add_task(b, OPEN_DOOR, describe(DOOR, colors[0])).strict = number(b, 0) != 0
    else:
        add_task(b, OPEN_DOOR, describe(DOOR, ANY_COLOR, ON_LEFT + draw_int(b, 0, 4))).strict = number(b, 0) != 0
    place_agent_in_room(b, 1, 1)


cdef void open_two_doors(build_t* b) noexcept nogil:
    """Parameters: 1 + color of each door, 0 for a random one; whether opening the second door first fails."""
    cdef uint8_t colors[2]
    cdef int k
    draw_subset(b, COLOR_ORDER, COLORS, 2, colors)
    for k in range(2):
        if 0 < number(b, k) <= COLORS:
            colors[k] = <uint8_t> (number(b, k) - 1)
        add_door(b, 1, 1, 0 if k else 2, colors[k], False)
    place_agent_in_room(b, 1, 1)
    add_task(b, OPEN_DOOR, describe(DOOR, colors[0])).strict = number(b, 2) != 0
    add_task(b, OPEN_DOOR, describe(DOOR, colors[1]), 1)


cdef void open_in_order(build_t* b) noexcept nogil:
    """Parameters: number of doors; whether opening another door fails."""
    cdef uint8_t colors[COLORS]
    cdef uint8_t doors[COLORS]
    cdef uint8_t chosen[2]
    cdef int k, mode, count = number(b, 0)
    if not 2 <= count <= COLORS:
        fail(b, NO_CHOICE)
        return
    draw_subset(b, COLOR_ORDER, COLORS, count, colors)
    for k in range(count):
        doors[k] = <uint8_t> add_door(b, 1, 1, ANY, colors[k], False)
    place_agent_in_room(b, 1, 1)
    draw_subset(b, doors, count, 2, chosen)
    mode = draw_int(b, 0, 3)
    for k in range(2 if mode else 1):
        add_task(b, OPEN_DOOR, describe_object(b, chosen[k]), k).strict = number(b, 1) != 0
    if mode == 2:
        reverse_clauses(b)


cdef void pick_up(build_t* b) noexcept nogil:
    add_task(b, PICK_UP, describe_object(b, place_agent_and_objects(b, 18) + draw_int(b, 0, 18)))


cdef void pick_up_blocked(build_t* b) noexcept nogil:
    cdef int first
    place_agent_in_room(b)
    connect_all(b)
    first = add_distractors(b, ANY, ANY, 20, False)
    reject_if(b, not b.fault and are_reachable(b))
    add_task(b, PICK_UP, describe_object(b, first + draw_int(b, 0, 20)))


cdef void pick_up_distinct(build_t* b) noexcept nogil:
    """Parameter: whether picking up another object fails."""
    cdef int first = add_distractors(b, ANY, ANY, 5), by
    cdef description_t described
    place_agent_in_room(b, 0, 0)
    described = describe_object(b, first + draw_int(b, 0, 5))
    by = draw_int(b, 0, 3)
    if by == 0:
        described.color = ANY_COLOR
    elif by == 1:
        described.kind = ANY_KIND
    add_task(b, PICK_UP, described).strict = number(b, 0) != 0


cdef void pick_up_above(build_t* b) noexcept nogil:
    cdef int target = add_object(b, 1, 0)
    add_door(b, 1, 1, 3, ANY, False)
    place_agent_in_room(b, 1, 1)
    connect_all(b)
    add_task(b, PICK_UP, describe_object(b, target))


cdef void pick_up_only(build_t* b) noexcept nogil:
    add_object(b, 0, 0, BALL)
    place_agent_in_room(b)
    add_task(b, PICK_UP, describe(BALL))


cdef void find_object(build_t* b) noexcept nogil:
    # The reference environment draws a row for the column, and a column for the row.
    cdef int column = draw_int(b, 0, b.rows), row = draw_int(b, 0, b.columns), target = add_object(b, column, row)
    place_agent_in_room(b, 1, 1)
    connect_all(b)
    add_task(b, PICK_UP, describe(describe_object(b, target).kind))


cdef void key_corridor(build_t* b) noexcept nogil:
    """Parameter: kind of the object."""
    add_task(b, PICK_UP, describe(describe_object(b, build_corridor(b, chosen_kind(b, 0))).kind))


cdef void act_on_object_or_door(build_t* b) noexcept nogil:
    cdef int first = add_distractors(b, 1, 1, 5)
    cdef description_t described
    add_four_doors(b, False)
    place_agent_in_room(b, 1, 1)
    described = describe_object(b, first + draw_int(b, 0, 9))
    add_task(b, GO_TO if draw_bool(b) else OPEN_DOOR if described.kind == DOOR else PICK_UP, described)


cdef void put_next_local(build_t* b) noexcept nogil:
    """Parameter: number of objects."""
    cdef int count = number(b, 0), first = place_agent_and_objects(b, count, True), moved, beside
    moved = draw_int(b, 0, count)
    beside = draw_int(b, 0, count - 1)
    add_put_next(b, describe_object(b, first + moved), describe_object(b, first + beside + (beside >= moved)))


cdef inline void fill_two_rooms(build_t* b, int count, int* left, int* right) noexcept nogil:
    """Put the agent and objects into a room, and objects into the next room; write the first object of each."""
    place_agent_in_room(b, 0, 0)
    left[0] = add_distractors(b, 0, 0, count)
    right[0] = add_distractors(b, 1, 0, count)
    remove_wall(b, 0, 0, 0)


cdef void put_next(build_t* b) noexcept nogil:
    """Parameters: number of objects per room; whether the agent gets the object to move after the first observation."""
    cdef int moved, beside
    fill_two_rooms(b, number(b, 0), &moved, &beside)
    moved += draw_int(b, 0, number(b, 0))
    beside += draw_int(b, 0, number(b, 0))
    if draw_bool(b):
        moved, beside = beside, moved
    add_put_next(b, describe_object(b, moved), describe_object(b, beside))
    if number(b, 1):
        instruction_of(b.lane).start_object = <uint8_t> moved


cdef void move_two_across(build_t* b) noexcept nogil:
    """Parameter: number of objects per room."""
    cdef int[2] firsts
    cdef int[2] picks
    cdef int[2] others
    cdef int count = number(b, 0), side
    fill_two_rooms(b, count, &firsts[0], &firsts[1])
    for side in range(2):
        picks[side] = draw_int(b, 0, count)
        others[side] = draw_int(b, 0, count - 1)
        others[side] += firsts[side] + (others[side] >= picks[side])
        picks[side] += firsts[side]
    add_put_next(b, describe_object(b, picks[0]), describe_object(b, picks[1]))
    add_put_next(b, describe_object(b, others[1]), describe_object(b, others[0]), 1)


cdef void unlock(build_t* b) noexcept nogil:
    cdef int door
    lock_random_room(b, 3, True, &door)
    add_task(b, OPEN_DOOR, describe_object(b, door))


cdef void unlock_local(build_t* b) noexcept nogil:
    """Parameter: whether there are other objects."""
    cdef int door = add_door(b, 1, 1, ANY, ANY, True)
    add_object(b, 1, 1, KEY, describe_object(b, door).color)
    add_distractors(b, 1, 1, 3 if number(b, 0) else 0)
    place_agent_in_room(b, 1, 1)
    add_task(b, OPEN_DOOR, describe(DOOR))


cdef void key_in_box(build_t* b) noexcept nogil:
    cdef int door = add_door(b, 1, 1, ANY, ANY, True), box
    cdef cell_t key = new_object(b, KEY, describe_object(b, door).color)
    box = place_in_room(b, 1, 1, new_object(b, BOX, draw_color(b)))
    b.lane.objects[box].contents = key if box else <cell_t> EMPTY
    place_agent_in_room(b, 1, 1)
    add_task(b, OPEN_DOOR, describe(DOOR))


cdef void unlock_pick_up(build_t* b) noexcept nogil:
    """Parameters: whether there are other objects; whether a ball blocks the door, and the mission says just "box"."""
    cdef int box = build_locked_box(b, number(b, 1), 4 if number(b, 0) else 0)
    add_task(b, PICK_UP, describe(BOX) if number(b, 1) else describe_object(b, box))


cdef void unlock_to_unlock(build_t* b) noexcept nogil:
    cdef uint8_t colors[2]
    draw_subset(b, COLOR_ORDER, COLORS, 2, colors)
    add_door(b, 0, 0, 0, colors[0], True)
    add_object(b, 2, 0, KEY, colors[0])
    add_door(b, 1, 0, 0, colors[1], True)
    add_object(b, 1, 0, KEY, colors[1])
    add_object(b, 0, 0, BALL)
    place_agent_in_room(b, 1, 0)
    add_task(b, PICK_UP, describe(BALL))


# --- every instruction of the language --------------------------------------------------------------------------------

# The kinds that a description may have, in the order of the draws.
cdef uint8_t[4] DESCRIBED_KINDS = [BOX, BALL, KEY, DOOR]


cdef int lock_room(build_t* b) noexcept nogil:
    """Lock a random room, put its key into another one, and return the index of the locked room."""
    cdef int rounds = 0, column = 0, row = 0, side = 0, door, locked
    while not is_endless(b, &rounds, MANY_TRIES):
        column, row, side = draw_int(b, 0, b.columns), draw_int(b, 0, b.rows), draw_int(b, 0, 4)
        if has_neighbor(b, column, row, side):
            break
    door = add_door(b, column, row, side, ANY, True)
    locked = row * b.columns + column
    rounds = 0
    while not is_endless(b, &rounds, MANY_TRIES):
        column, row = draw_int(b, 0, b.columns), draw_int(b, 0, b.rows)
        if row * b.columns + column != locked:
            add_object(b, column, row, KEY, describe_object(b, door).color)
            break
    return locked


cdef description_t draw_description(build_t* b, int first, int count, int locked) noexcept nogil:
    """Draw descriptions of `count` kinds from the `first` one on, until an object matches.

    Parameter 2: whether locations are drawn, too; 4: whether a matching object may be in the locked room.
    """
    cdef description_t described = describe(BOX)
    cdef const object_t* item
    cdef int _, color, identity, last = b.room_size - 1
    cdef int left = locked % b.columns * last, top = locked // b.columns * last
    for _ in range(101):
        color = draw_int(b, 0, COLORS + 1)
        described = describe(
            draw_element(b, &DESCRIBED_KINDS[first], count), COLOR_ORDER[color - 1] if color else <int> ANY_COLOR)
        if number(b, 2) and draw_bool(b):
            described.location = <uint8_t> (ON_LEFT + draw_int(b, 0, 4))
        for identity in range(1, b.lane.object_count + 1):
            item = &b.lane.objects[identity]
            if not b.fault and matches(b.lane, &described, identity) and (
                number(b, 4) or locked < 0
                or not (left <= item.x <= left + last and top <= item.y <= top + last)
            ):
                return described
    fail(b, REJECTED)
    return described


cdef int draw_digit(build_t* b, int k) noexcept nogil:
    """Return one of the octal digits of parameter `k`, chosen at random."""
    cdef int digits = number(b, k), count = 0
    while count < 6 and digits >> 3 * count:
        count += 1
    return digits >> 3 * draw_int(b, 0, count) & 7


cdef void draw_task(build_t* b, int clause, int locked) noexcept nogil:
    cdef int verb = draw_digit(b, 5) - 1
    cdef description_t described
    if not 0 <= verb < VERBS:
        fail(b, NO_CHOICE)
        return
    if verb == OPEN_DOOR:
        described = draw_description(b, 3, 1, locked)
    else:
        described = draw_description(b, 0, 4 if verb == GO_TO else 3, locked)
    if verb == PUT_NEXT:
        add_put_next(b, described, draw_description(b, 0, 4, locked), clause)
    else:
        add_task(b, verb, described, clause)


cdef void any_instruction(build_t* b) noexcept nogil:
    """Parameters: number of objects; probability of a locked room; whether descriptions have locations; whether objects
    may block the way; whether all matching objects may be in the locked room; octal digits of verbs + 1; octal digits
    of forms of the instruction (1 a task, 2 two tasks, 3 two clauses).
    """
    cdef int locked = -1, form, clause, _
    if draw_fraction(b) < b.numbers[1]:
        locked = lock_room(b)
    connect_all(b)
    add_distractors(b, ANY, ANY, number(b, 0), False)
    place_agent_outside(b, locked)
    if not number(b, 3):
        require_reachable(b)
    form = draw_digit(b, 6)
    for clause in range(2 if form == 3 else 1):
        for _ in range(2 if form == 2 or form == 3 and draw_int(b, 0, 2) else 1):
            draw_task(b, clause, locked)
    if form == 3 and draw_int(b, 0, 2):
        reverse_clauses(b)
    if number(b, 3):
        reject_needed_keys(b)


# --- for Python -------------------------------------------------------------------------------------------------------

cdef rules_t[32] rules_memory
RULES = {}


cdef int add_rules(const char* name, generate_t attempt, const char* arguments="") except -1:
    cdef rules_t* rules = &rules_memory[len(RULES)]
    rules.arguments, rules.attempt, rules.extra_bytes = arguments, attempt, sizeof(instruction_t)
    rules.generate, rules.finish_reset, rules.step = generate, give_start_object, step_instruction
    rules.write_mission, rules.is_possible = write_instruction, is_possible_instruction
    RULES[name.decode()] = PyCapsule_New(rules, RULES_CAPSULE, NULL)
    return 0


add_rules("GoTo", go_to, "num_dists doors_open")
add_rules("GoToRedBall", go_to_red_ball, "num_dists grey")
add_rules("GoToRedBlueBall", go_to_red_blue_ball, "num_dists")
add_rules("GoToImpUnlock", go_to_object_in_locked_room)
add_rules("GoToDoor", go_to_door)
add_rules("GoToObjDoor", go_to_object_or_door)
add_rules("Open", open_any)
add_rules("OpenRedDoor", open_red_door)
add_rules("OpenDoor", open_door, "debug select_by")
add_rules("OpenTwoDoors", open_two_doors, "first_color second_color strict")
add_rules("OpenDoorsOrder", open_in_order, "num_doors debug")
add_rules("Pickup", pick_up)
add_rules("UnblockPickup", pick_up_blocked)
add_rules("PickupDist", pick_up_distinct, "debug")
add_rules("PickupAbove", pick_up_above)
add_rules("OneRoom", pick_up_only)
add_rules("FindObj", find_object)
add_rules("KeyCorridor", key_corridor, "obj_type")
add_rules("ActionObjDoor", act_on_object_or_door)
add_rules("PutNextLocal", put_next_local, "num_objs")
add_rules("PutNext", put_next, "objs_per_room start_carrying")
add_rules("MoveTwoAcross", move_two_across, "objs_per_room")
add_rules("Unlock", unlock)
add_rules("UnlockLocal", unlock_local, "distractors")
add_rules("KeyInBox", key_in_box)
add_rules("UnlockPickup", unlock_pick_up, "distractors blocked")
add_rules("UnlockToUnlock", unlock_to_unlock)
add_rules(
    "LevelGen", any_instruction,
    "num_dists locked_room_prob locations unblocking implicit_unlock action_kinds instr_kinds")
