"""Tables of transitions, and drawing from them: what tabular kernels share.

Draws are those of `numpy.random.Generator.random()`: the first outcome whose cumulative probability exceeds the draw.
"""
from libc.stdint cimport int8_t, int32_t, int64_t, uint64_t

from gymcore_ext.physics.lane cimport random, rng_t, skip, to_whole


# One outcome of an action in a state.
ctypedef struct transition_t:
    double cumulative        # probability of this outcome and those before it; of the last one it does not matter
    double probability, reward
    int32_t next, terminated


ctypedef struct table_t "gymcore_table":
    int64_t states, actions, width, stride   # stride: outcomes of a state
    uint64_t last            # where the outcomes of the last action in the last state begin
    transition_t* outcomes   # [states, actions, width]
    double* starts           # [states]: cumulative probability of the first state
    int8_t* masks            # [states, actions]: which actions change something; or NULL


cdef inline int64_t state_index(const table_t* table, double s) noexcept nogil:
    """The state as an index; callers may write any number into a lane, and no number may lead out of the table."""
    cdef int64_t index = <int64_t> to_whole(s)
    return index if index < table.states else 0


cdef inline const transition_t* draw_outcome(
    const table_t* table, double s, int64_t action, rng_t* rng
) noexcept nogil:
    """What an action leads to; one draw.

    No number leads out of the table: callers may write any into a lane, and another thread any into actions that have
    been checked. One comparison holds for both, as cheap as one for the state alone.
    """
    cdef uint64_t place = <uint64_t> to_whole(s) * <uint64_t> table.stride + <uint64_t> action * <uint64_t> table.width
    cdef const transition_t* outcome = table.outcomes + (place if place <= table.last else 0)
    cdef double draw
    cdef int64_t _k
    if table.width == 1:
        skip(rng)
        return outcome
    draw = random(rng)
    if table.width == 3:  # FrozenLake: neither comparison waits for the other
        return outcome + (outcome[0].cumulative <= draw) + (outcome[1].cumulative <= draw)
    # One after the other: as vector code, which a sum would become, so short a loop takes longer.
    for _k in range(table.width - 1):
        outcome += outcome.cumulative <= draw
    return outcome


cdef inline int64_t draw_start(const table_t* table, rng_t* rng) noexcept nogil:
    """A first state: the number of cumulative probabilities up to the draw; 0 if rounding leaves no state for it."""
    cdef double draw = random(rng)
    cdef int64_t low = 0, high = table.states, middle
    while low < high:
        middle = (low + high) // 2
        if table.starts[middle] <= draw:
            low = middle + 1
        else:
            high = middle
    return low if low < table.states else 0
