"""Instructions of BabyAI: what they describe, whether they are done, and their text.

An instruction is one clause or two, which are carried out in order; a clause is one task or two, in any order. An
object matches a description by what and where it is when the episode begins, and keeps the mark of it afterwards.

Reference: M. Chevalier-Boisvert et al., "BabyAI: A Platform to Study the Sample Efficiency of Grounded Language
Learning" (ICLR 2019), and the classes of minigrid's `envs.babyai.core.verifier`.
"""
from libc.stdint cimport uint8_t

from gymcore_ext.minigrid.grid cimport (
    BOX, COLORS, DOOR, DROP, EMPTY, GREY, KINDS, MAX_OBJECTS, NAMES, NOWHERE, OPEN, PICKUP, STEP_X, STEP_Y, TERMINATED,
    TOGGLE, UNSEEN, act, append, can_pick_up, cell_at, cell_t, color_of, extra_of, front_cell, front_x, front_y,
    identity_of, kind_of, lane_t, level_t, object_at, object_t, rng_t, set_cell, state_of, success_reward,
)


cdef enum:  # what a task asks for
    GO_TO, PICK_UP, OPEN_DOOR, PUT_NEXT
    VERBS

cdef enum:  # where a described object is, seen from where the agent starts
    ANYWHERE, ON_LEFT, ON_RIGHT, IN_FRONT, BEHIND
    LOCATIONS

cdef enum:
    ANY_KIND = UNSEEN
    ANY_COLOR = COLORS


ctypedef struct description_t:
    uint8_t kind, color, location
    uint8_t several             # whether more than one object matches


ctypedef struct task_t:
    uint8_t verb
    uint8_t strict              # whether opening another door, or picking up another object, is a failure
    description_t objects[2]    # what; and what to put it next to


ctypedef struct missing_t:
    uint8_t x, y, marks


ctypedef struct instruction_t:
    task_t tasks[4]             # of the first clause to be carried out, then of the second one
    uint8_t counts[2]           # tasks of each clause
    uint8_t backwards           # whether the text names the second clause first
    uint8_t clause              # which clause is being carried out
    uint8_t done                # bit k: task k is done
    uint8_t carried             # identity of the object that the agent gets after the first observation
    # Marked objects that were picked up, or opened, since the last drop action, and where. Until then they count as
    # being there, as the reference environment looks for objects only when something is dropped.
    uint8_t missing_count
    missing_t missing[MAX_OBJECTS]
    uint8_t marks[MAX_OBJECTS + 1]  # by identity, bit 2 k + i: matches description i of task k


cdef inline instruction_t* instruction_of(const lane_t* lane, const level_t* level) noexcept nogil:
    return <instruction_t*> extra_of(lane, level)


# --- descriptions -----------------------------------------------------------------------------------------------------

cdef inline bint is_located(const lane_t* lane, const level_t* level, int location, int x, int y) noexcept nogil:
    """Whether a position is in the agent's room, walls included, and in that direction from the agent."""
    cdef int last = level.room_size - 1, dx = STEP_X[lane.agent_dir], dy = STEP_Y[lane.agent_dir]
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


cdef inline bint matches(
    const lane_t* lane, const level_t* level, const description_t* described, int identity
) noexcept nogil:
    """Whether an object in the grid is as described."""
    cdef cell_t cell = object_at(lane, level, identity)
    if cell == EMPTY or not (described.kind == ANY_KIND or described.kind == kind_of(cell)):
        return False
    if not (described.color == ANY_COLOR or described.color == color_of(cell)):
        return False
    return described.location == ANYWHERE or is_located(
        lane, level, described.location, lane.objects[identity].x, lane.objects[identity].y
    )


cdef inline void mark_objects(const lane_t* lane, const level_t* level) noexcept nogil:
    """Mark the objects that the instruction describes."""
    cdef instruction_t* self = instruction_of(lane, level)
    cdef description_t* described
    cdef int k, identity, count
    for k in range(8):
        described = &self.tasks[k >> 1].objects[k & 1]
        if k >> 1 & 1 >= self.counts[k >> 2] or (k & 1 and self.tasks[k >> 1].verb != PUT_NEXT):
            continue
        # Walls are grey objects too.
        count = 2 * (described.kind == ANY_KIND and described.color == GREY)
        for identity in range(1, lane.object_count + 1):
            if matches(lane, level, described, identity):
                self.marks[identity] |= 1 << k
                count += 1
        described.several = count > 1


cdef inline bint is_next_to(const lane_t* lane, const level_t* level, int x, int y, int mark) noexcept nogil:
    """Whether a cell beside a position holds an object with a mark."""
    cdef const instruction_t* self = instruction_of(lane, level)
    cdef int side
    for side in range(4):
        if self.marks[identity_of(cell_at(lane, level, x + STEP_X[side], y + STEP_Y[side]))] >> mark & 1:
            return True
    return False


# --- tasks ------------------------------------------------------------------------------------------------------------

cdef inline int task_outcome(
    const lane_t* lane, const level_t* level, int k, int action, int carried_before
) noexcept nogil:
    """1 if an action did task k, -1 if it may not be done, 0 otherwise.

    `carried_before` is the identity of what the agent carried when the task was last looked at, 0 for nothing or never.
    """
    cdef const instruction_t* self = instruction_of(lane, level)
    cdef const task_t* task = &self.tasks[k]
    cdef int x = front_x(lane), y = front_y(lane), mark = 2 * k, i
    cdef cell_t cell = cell_at(lane, level, x, y)
    if task.verb == GO_TO:
        for i in range(self.missing_count):
            if self.missing[i].x == x and self.missing[i].y == y and self.missing[i].marks >> mark & 1:
                return 1
        return self.marks[identity_of(cell)] >> mark & 1
    if task.verb == OPEN_DOOR and action == TOGGLE and kind_of(cell) == DOOR:
        return 1 if self.marks[identity_of(cell)] >> mark & 1 and state_of(cell) == OPEN else -task.strict
    if task.verb == PICK_UP and action == PICKUP and lane.carrying != EMPTY:
        return 1 if not carried_before and self.marks[identity_of(lane.carrying)] >> mark & 1 else -task.strict
    if task.verb == PUT_NEXT and action == DROP and carried_before and identity_of(cell) == carried_before:
        return self.marks[carried_before] >> mark & 1 and is_next_to(lane, level, x, y, mark + 1)
    return 0


cdef inline int clause_outcome(
    const lane_t* lane, const level_t* level, int action, int carried_before
) noexcept nogil:
    """As `task_outcome`, for the clause that is being carried out. One of two tasks cannot fail."""
    cdef instruction_t* self = instruction_of(lane, level)
    cdef int first = 2 * self.clause, k
    if self.counts[self.clause] == 1:
        return task_outcome(lane, level, first, action, carried_before)
    for k in range(first, first + 2):
        if not self.done >> k & 1 and task_outcome(lane, level, k, action, carried_before) > 0:
            self.done |= 1 << k
    return self.done >> first & 3 == 3


cdef inline void hand_over(lane_t* lane, const level_t* level) noexcept nogil:
    """Let the agent carry the object that it begins with."""
    cdef instruction_t* self = instruction_of(lane, level)
    cdef object_t* item = &lane.objects[self.carried]
    cdef cell_t cell
    if self.carried:
        cell = object_at(lane, level, self.carried)
        if can_pick_up(cell) and lane.carrying == EMPTY:
            set_cell(lane, level, item.x, item.y, EMPTY)
            item.x = item.y = NOWHERE
            lane.carrying = cell
        self.carried = 0


cdef inline int follow(lane_t* lane, const level_t* level, int action, rng_t* rng, double* reward) noexcept nogil:
    """Act, and end the episode when the instruction is done or cannot be done any more."""
    cdef instruction_t* self = instruction_of(lane, level)
    cdef int x = front_x(lane), y = front_y(lane), flags, outcome
    cdef int carried_before = identity_of(lane.carrying) if lane.step_count else 0
    cdef cell_t cell
    hand_over(lane, level)
    cell = cell_at(lane, level, x, y)
    flags = act(lane, level, action, reward)
    if action == DROP:
        self.missing_count = 0
    elif (action == PICKUP or action == TOGGLE) and cell != EMPTY and self.missing_count < MAX_OBJECTS:
        if identity_of(front_cell(lane, level)) != identity_of(cell) and self.marks[identity_of(cell)]:
            self.missing[self.missing_count] = missing_t(<uint8_t> x, <uint8_t> y, self.marks[identity_of(cell)])
            self.missing_count += 1
    outcome = clause_outcome(lane, level, action, carried_before)
    if outcome > 0 and self.clause == 0 and self.counts[1]:
        # The next clause is looked at for the first time, after the same action.
        self.clause = 1
        outcome = clause_outcome(lane, level, action, 0)
    if outcome:
        flags |= TERMINATED
        reward[0] = success_reward(lane) if outcome > 0 else 0.0
    return flags


# --- text -------------------------------------------------------------------------------------------------------------

cdef extern from *:
    """
    /* By the numbers of locations and verbs. */
    static const char *const minigrid_location_words[] = {
        "", " on your left", " on your right", " in front of you", " behind you"};
    static const char *const minigrid_verb_words[] = {"go to ", "pick up ", "open ", "put "};
    """
    const char** LOCATION_WORDS "minigrid_location_words"
    const char** VERB_WORDS "minigrid_verb_words"


cdef inline char* append_description(char* at, const description_t* described) noexcept nogil:
    at = append(at, "a " if described.several else "the ")
    if described.color != ANY_COLOR:
        at = append(append(at, NAMES[KINDS + described.color]), " ")
    return append(append(at, NAMES[described.kind]), LOCATION_WORDS[described.location])


cdef inline char* append_clause(char* at, const instruction_t* self, int clause) noexcept nogil:
    cdef const task_t* task
    cdef int k
    for k in range(self.counts[clause]):
        task = &self.tasks[2 * clause + k]
        at = append(append(at, " and " if k else ""), VERB_WORDS[task.verb])
        at = append_description(at, &task.objects[0])
        if task.verb == PUT_NEXT:
            at = append_description(append(at, " next to "), &task.objects[1])
    return at


cdef inline int write_instruction(const lane_t* lane, const level_t* level, char* text) noexcept nogil:
    """Write the instruction, at most 350 bytes, and return how many."""
    cdef const instruction_t* self = instruction_of(lane, level)
    cdef char* at = append_clause(text, self, self.backwards)
    if self.counts[1]:
        at = append_clause(append(at, " after you " if self.backwards else ", then "), self, not self.backwards)
    return <int> (at - text)


cdef inline bint is_possible_instruction(const lane_t* lane, const level_t* level) noexcept nogil:
    """Whether every number of a saved instruction is one that it can have."""
    cdef const instruction_t* self = instruction_of(lane, level)
    cdef const description_t* described
    cdef int k
    for k in range(8):
        described = &self.tasks[k >> 1].objects[k & 1]
        if not (
            self.tasks[k >> 1].verb < VERBS and self.tasks[k >> 1].strict <= 1
            and (described.kind == ANY_KIND or DOOR <= described.kind <= BOX)
            and described.color <= ANY_COLOR and described.location < LOCATIONS
        ):
            return False
    return (
        self.counts[0] <= 2 and self.counts[1] <= 2 and self.backwards <= 1 and self.clause <= 1
        and self.carried <= lane.object_count and self.missing_count <= MAX_OBJECTS and not self.marks[0])
