"""Worlds of several agents: who takes part in a step, and how the rewards and ends of agents are counted.

A lane is a world. Its agents may end before it does: from the next step on, an agent's action and results are zeros.
The world ends with its last agent.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memchr, memset

from gymcore_ext.engine.episodes cimport episodes_t
from gymcore_ext.engine.kernel cimport INT64, TERMINATED, TRUNCATED, flag_t, kernel_t


# States of an agent. `begin_agents_step` turns LEAVING into GONE.
cdef enum:
    GONE = 0
    ACTIVE = 1
    LEAVING = 2                # ended in the last step


ctypedef struct agents_t:
    int64_t count              # agents of a world; 0 if a lane is a single agent
    uint8_t* states            # [lanes, count], as the following arrays
    double* returns
    int32_t* lengths


# Arrays [n, agents] for the reports of agents in worlds that ended; NULL for no reports.
ctypedef struct agent_reports_t:
    double* returns
    int64_t* lengths


cdef inline void begin_agents(const agents_t* self, int64_t lane) noexcept nogil:
    """Let all agents of a world take part."""
    memset(self.states + lane * self.count, ACTIVE, self.count)
    memset(self.returns + lane * self.count, 0, self.count * sizeof(double))
    memset(self.lengths + lane * self.count, 0, self.count * sizeof(int32_t))


cdef inline bint all_present(const agents_t* self, int64_t lo, int64_t hi) noexcept nogil:
    """Return whether no agent of lanes [lo, hi) has left."""
    return memchr(self.states + lo * self.count, GONE, (hi - lo) * self.count) == NULL


cdef inline void begin_agents_step(
    const agents_t* self, const kernel_t* kernel, char* actions, int64_t action_bytes, int64_t lo, int64_t hi
) noexcept nogil:
    """Let agents of lanes [lo, hi) leave that ended in the last step, and clear the actions of all that have left."""
    cdef int64_t lane, k, item = action_bytes / kernel.action_size
    cdef int32_t number
    cdef char* row
    for k in range(lo * self.count, hi * self.count):
        self.states[k] &= ACTIVE
    if all_present(self, lo, hi):
        return
    for lane in range(lo, hi):
        row = actions + lane * action_bytes
        for k in range(self.count):
            if self.states[lane * self.count + k] == GONE:
                for number in range(kernel.agent_actions[k], kernel.agent_actions[k + 1]):
                    if kernel.action_type == INT64:
                        (<int64_t*> row)[number] = kernel.action_ranges[2 * number]
                    else:
                        memset(row + number * item, 0, item)


cdef inline int64_t count_agents_step(
    const agents_t* self, const episodes_t* episodes, const flag_t* ends, double* rewards, uint8_t* terminated,
    uint8_t* truncated, uint8_t* active, int64_t lo, int64_t hi
) noexcept nogil:
    """Count a step of lanes [lo, hi), whose flags begin at `ends`; return how many worlds ended."""
    cdef int64_t lane, k, count = 0
    cdef flag_t flags, at_limit
    cdef uint8_t state
    cdef bint goes_on
    cdef double total
    for lane in range(lo, hi):
        episodes.elapsed[lane] += episodes.elapsed[lane] < 0x7FFFFFFE  # no overflow in an endless episode
        at_limit = TRUNCATED if episodes.elapsed[lane] >= episodes.limit else 0
        goes_on, total = False, 0.0
        for k in range(lane * self.count, (lane + 1) * self.count):
            state = self.states[k]
            flags = (ends[k - lo * self.count] | at_limit) & (TERMINATED | TRUNCATED) if state else 0
            if not state:
                rewards[k] = 0.0
            terminated[k] = flags & TERMINATED
            truncated[k] = flags >> 1
            self.states[k] = LEAVING if flags else state
            self.returns[k] += rewards[k]
            self.lengths[k] += state
            if state and not flags:
                goes_on = True
            total += rewards[k]
            if active != NULL:
                active[k] = state
        episodes.returns[lane] += total
        episodes.ended[lane] = not goes_on
        count += not goes_on
    return count


cdef inline void hide_agents(
    const agents_t* self, const kernel_t* kernel, const int64_t* part_bytes, void* const* parts, const int64_t* lanes,
    int64_t lo, int64_t hi
) noexcept nogil:
    """Zero the observations of agents that have left, of lanes[lo] to lanes[hi - 1], or of lanes lo to hi - 1."""
    cdef int64_t i, lane, bytes
    cdef int32_t part, row
    cdef const uint8_t* states
    for i in range(lo, hi):
        lane = i if lanes == NULL else lanes[i]
        if all_present(self, lane, lane + 1):
            continue
        for part in range(kernel.part_count):
            bytes = part_bytes[part] / kernel.parts[part].shape[0]
            states = self.states + lane * self.count + kernel.parts[part].first_agent
            for row in range(kernel.parts[part].shape[0]):
                if states[row] == GONE:
                    memset(<char*> parts[part] + lane * part_bytes[part] + row * bytes, 0, bytes)


cdef inline void report_agents(
    const agents_t* self, const agent_reports_t* out, int64_t lane
) noexcept nogil:
    cdef int64_t k
    for k in range(lane * self.count, (lane + 1) * self.count):
        out.returns[k] = self.returns[k]
        out.lengths[k] = self.lengths[k]
