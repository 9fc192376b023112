"""BabyAI's instructions: the objects that they describe, whether they are carried out, and their text.

An instruction consists of one or two clauses, which are carried out in order, and a clause of one or two tasks, which
are carried out in any order. Objects that match a description when the episode begins are marked permanently.

Reference: M. Chevalier-Boisvert et al., "BabyAI: A Platform to Study the Sample Efficiency of Grounded Language
Learning" (ICLR 2019), and the classes of minigrid's `envs.babyai.core.verifier`.
"""
from libc.stdint cimport uint8_t

from gymcore_ext.minigrid.grid cimport (
    BOX, COLORS, DOOR, DROP, EMPTY, GRAY, KINDS, MAX_OBJECTS, NOWHERE, OPEN, PICKUP, STEP_X, STEP_Y, TERMINATED,
    TOGGLE, UNSEEN, act, append, can_pick_up, cell_at, cell_t, color_of, extra_of, front_cell, front_x, front_y,
    grid_lane_t, identity_of, kind_of, name_of, object_at, object_t, rng_t, set_cell, state_of, success_reward,
)


cdef enum:  # verbs of tasks
    GO_TO, PICK_UP, OPEN_DOOR, PUT_NEXT
    VERBS

cdef enum:  # locations in descriptions, relative to the agent's first position and direction
    ANYWHERE, ON_LEFT, ON_RIGHT, IN_FRONT, BEHIND
    LOCATIONS

cdef enum:
    ANY_KIND = UNSEEN
    ANY_COLOR = COLORS


ctypedef struct description_t:
    uint8_t kind, color, location
    uint8_t several             # whether more than one object matches, so that the text begins with "a"


ctypedef struct task_t:
    uint8_t verb
    uint8_t strict              # whether opening another door, or picking up another object, is a failure
    description_t objects[2]    # the object, and the object to put it next to


ctypedef struct missing_t:
    uint8_t x, y, marks


ctypedef struct instruction_t:
    task_t tasks[4]             # two tasks of the first clause to be carried out, two of the second one
    uint8_t counts[2]           # number of tasks of each clause
    uint8_t backwards           # whether the text names the second clause first
    uint8_t clause              # the clause that is being carried out
    uint8_t done                # bit k: task k is done
    uint8_t start_object        # identity of the object that the agent gets after the first observation, or 0
    # Positions and marks of objects that were picked up or opened since the last drop action. For "go to", they are
    # still there, because the reference environment updates positions only when an object is dropped.
    uint8_t missing_count
    missing_t missing[MAX_OBJECTS]
    uint8_t marks[MAX_OBJECTS + 1]  # indexed by identity; bit 2 k + i: the object matches description i of task k


cdef inline instruction_t* instruction_of(const grid_lane_t* lane) noexcept nogil:
    return <instruction_t*> extra_of(lane)


# --- descriptions -----------------------------------------------------------------------------------------------------

cdef inline bint is_located(const grid_lane_t* lane, int location, int x, int y) noexcept nogil:
    """Return whether a position is in the agent's room, including its walls, and in a direction from the agent."""
    cdef int last = lane.room_size - 1, dx = STEP_X[lane.agent_dir], dy = STEP_Y[lane.agent_dir]
    cdef int left = lane.agent_x // last * last, top = lane.agent_y // last * last, ahead, right
    if not (left <= x <= left + last and top <= y <= top + last):
        return False
    x, y = x - lane.agent_x, y - lane.agent_y
    ahead, right = x * dx + y * dy, y * dx - x * dy
    if location == ON_LEFT:
        return right < 0
    if location == ON_RIGHT:
        return right > 0
    return ahead > 0 if location == IN_FRONT else ahead < 0


cdef inline bint matches(const grid_lane_t* lane, const description_t* described, int identity) noexcept nogil:
    """Return whether an object in the grid matches a description."""
    cdef cell_t cell = object_at(lane, identity)
    cdef const object_t* item
    if cell == EMPTY or not (described.kind == ANY_KIND or described.kind == kind_of(cell)):
        return False
    if not (described.color == ANY_COLOR or described.color == color_of(cell)):
        return False
    item = &lane.objects[identity]
    return described.location == ANYWHERE or is_located(lane, described.location, item.x, item.y)


cdef inline void mark_objects(const grid_lane_t* lane) noexcept nogil:
    """Mark the objects that the instruction describes."""
    cdef instruction_t* instr = instruction_of(lane)
    cdef description_t* described
    cdef int k, identity, count
    for k in range(8):
        described = &instr.tasks[k >> 1].objects[k & 1]
        if k >> 1 & 1 >= instr.counts[k >> 2] or (k & 1 and instr.tasks[k >> 1].verb != PUT_NEXT):
            continue
        # Walls are gray objects, too.
        count = 2 * (described.kind == ANY_KIND and described.color == GRAY)
        for identity in range(1, lane.object_count + 1):
            if matches(lane, described, identity):
                instr.marks[identity] |= 1 << k
                count += 1
        described.several = count > 1


cdef inline bint is_next_to(const grid_lane_t* lane, int x, int y, int mark) noexcept nogil:
    """Return whether a neighbor of a position has an object with a mark."""
    cdef const instruction_t* instr = instruction_of(lane)
    cdef int side
    for side in range(4):
        if instr.marks[identity_of(cell_at(lane, x + STEP_X[side], y + STEP_Y[side]))] >> mark & 1:
            return True
    return False


# --- tasks ------------------------------------------------------------------------------------------------------------

cdef inline int task_outcome(const grid_lane_t* lane, int k, int action, int carried_before) noexcept nogil:
    """Return 1 if an action completed task k, -1 if the task failed, otherwise 0.

    `carried_before` is the identity of the object that the agent carried when the task was last checked, or 0.
    """
    cdef const instruction_t* instr = instruction_of(lane)
    cdef const task_t* task = &instr.tasks[k]
    cdef int x = front_x(lane), y = front_y(lane), mark = 2 * k, i
    cdef cell_t cell = cell_at(lane, x, y)
    if task.verb == GO_TO:
        for i in range(instr.missing_count):
            if instr.missing[i].x == x and instr.missing[i].y == y and instr.missing[i].marks >> mark & 1:
                return 1
        return instr.marks[identity_of(cell)] >> mark & 1
    if task.verb == OPEN_DOOR and action == TOGGLE and kind_of(cell) == DOOR:
        return 1 if instr.marks[identity_of(cell)] >> mark & 1 and state_of(cell) == OPEN else -task.strict
    if task.verb == PICK_UP and action == PICKUP and lane.carrying != EMPTY:
        return 1 if not carried_before and instr.marks[identity_of(lane.carrying)] >> mark & 1 else -task.strict
    if task.verb == PUT_NEXT and action == DROP and carried_before and identity_of(cell) == carried_before:
        return instr.marks[carried_before] >> mark & 1 and is_next_to(lane, x, y, mark + 1)
    return 0


cdef inline int clause_outcome(const grid_lane_t* lane, int action, int carried_before) noexcept nogil:
    """Return the outcome of the current clause as `task_outcome` does; never failure if it has two tasks."""
    cdef instruction_t* instr = instruction_of(lane)
    cdef int first = 2 * instr.clause, k
    if instr.counts[instr.clause] == 1:
        return task_outcome(lane, first, action, carried_before)
    for k in range(first, first + 2):
        if not instr.done >> k & 1 and task_outcome(lane, k, action, carried_before) > 0:
            instr.done |= 1 << k
    return instr.done >> first & 3 == 3


cdef inline void give_start_object(grid_lane_t* lane) noexcept nogil:
    """Let the agent carry the object that the level gives it after the first observation."""
    cdef instruction_t* instr = instruction_of(lane)
    cdef object_t* item = &lane.objects[instr.start_object]
    cdef cell_t cell
    if instr.start_object:
        cell = object_at(lane, instr.start_object)
        if can_pick_up(cell) and lane.carrying == EMPTY:
            set_cell(lane, item.x, item.y, EMPTY)
            item.x = item.y = NOWHERE
            lane.carrying = cell
        instr.start_object = 0


cdef inline int step_instruction(grid_lane_t* lane, int action, rng_t* rng, double* reward) noexcept nogil:
    """Apply an action, and end the episode when the instruction is carried out or has failed."""
    cdef instruction_t* instr = instruction_of(lane)
    cdef int x = front_x(lane), y = front_y(lane), flags, outcome
    cdef int carried_before = identity_of(lane.carrying) if lane.step_count else 0
    cdef cell_t cell
    give_start_object(lane)
    cell = cell_at(lane, x, y)
    flags = act(lane, action, reward)
    if action == DROP:
        instr.missing_count = 0
    elif (action == PICKUP or action == TOGGLE) and cell != EMPTY and instr.missing_count < MAX_OBJECTS:
        if identity_of(front_cell(lane)) != identity_of(cell) and instr.marks[identity_of(cell)]:
            instr.missing[instr.missing_count] = missing_t(<uint8_t> x, <uint8_t> y, instr.marks[identity_of(cell)])
            instr.missing_count += 1
    outcome = clause_outcome(lane, action, carried_before)
    if outcome > 0 and instr.clause == 0 and instr.counts[1]:
        # Check the same action against the next clause, as its first action.
        instr.clause = 1
        outcome = clause_outcome(lane, action, 0)
    if outcome:
        flags |= TERMINATED
        reward[0] = success_reward(lane) if outcome > 0 else 0.0
    return flags


# --- text -------------------------------------------------------------------------------------------------------------

cdef extern from *:
    """
    /* Indexed by locations and verbs. */
    static const char *const minigrid_location_words[] = {
        "", " on your left", " on your right", " in front of you", " behind you"};
    static const char *const minigrid_verb_words[] = {"go to ", "pick up ", "open ", "put "};
    """
    const char** LOCATION_WORDS "minigrid_location_words"
    const char** VERB_WORDS "minigrid_verb_words"


cdef inline char* append_description(char* at, const description_t* described) noexcept nogil:
    at = append(at, "a " if described.several else "the ")
    if described.color != ANY_COLOR:
        at = append(append(at, name_of(KINDS + described.color)), " ")
    return append(append(at, name_of(described.kind)), LOCATION_WORDS[described.location])


cdef inline char* append_clause(char* at, const instruction_t* instr, int clause) noexcept nogil:
    cdef const task_t* task
    cdef int k
    for k in range(instr.counts[clause]):
        task = &instr.tasks[2 * clause + k]
        at = append(append(at, " and " if k else ""), VERB_WORDS[task.verb])
        at = append_description(at, &task.objects[0])
        if task.verb == PUT_NEXT:
            at = append_description(append(at, " next to "), &task.objects[1])
    return at


cdef inline int write_instruction(const grid_lane_t* lane, char* text) noexcept nogil:
    """Write the instruction, at most 350 bytes, and return its length."""
    cdef const instruction_t* instr = instruction_of(lane)
    cdef char* at = append_clause(text, instr, instr.backwards)
    if instr.counts[1]:
        at = append_clause(append(at, " after you " if instr.backwards else ", then "), instr, not instr.backwards)
    return <int> (at - text)


cdef inline bint is_possible_instruction(const grid_lane_t* lane) noexcept nogil:
    """Return whether every number of a saved instruction is in its range."""
    cdef const instruction_t* instr = instruction_of(lane)
    cdef const description_t* described
    cdef int k
    for k in range(8):
        described = &instr.tasks[k >> 1].objects[k & 1]
        if not (
            instr.tasks[k >> 1].verb < VERBS and instr.tasks[k >> 1].strict <= 1
            and (described.kind == ANY_KIND or DOOR <= described.kind <= BOX)
            and described.color <= ANY_COLOR and described.location < LOCATIONS
        ):
            return False
    return (
        instr.counts[0] <= 2 and instr.counts[1] <= 2 and instr.backwards <= 1 and instr.clause <= 1
        and instr.start_object <= lane.object_count and instr.missing_count <= MAX_OBJECTS and not instr.marks[0])
