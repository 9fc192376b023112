"""Flat tables of transitions, and drawing from them: what tabular kernels share.

Draws are those of `numpy.random.Generator.random()`: the first outcome whose cumulative probability exceeds the draw,
or the first one of all if rounding leaves none.
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t

from gymcore_ext.physics.lane cimport random, rng_t, to_whole


cdef extern from "gymcore/rng.h":
    const double DRAWS "GYMCORE_DRAWS"

cdef extern from "physics/table.h":
    ctypedef struct transition_t "gymcore_transition":
        uint32_t next, value

    ctypedef struct value_t "gymcore_transition_value":
        double probability, reward

    ctypedef struct table_t "gymcore_table":
        int64_t states, actions, width, stride
        const transition_t* outcomes
        const value_t* values
        const double* cumulative
        int64_t first, second
        const double* starts
        int64_t first_start, start_count
        const uint64_t* masks


ctypedef struct drawn_t:
    double probability, reward
    int64_t next
    int terminated


cdef inline int64_t state_index(const table_t* table, double s) noexcept nogil:
    """The state as an index; callers may write any number into a lane, and no number may lead out of the table."""
    cdef int64_t index = <int64_t> to_whole(s)
    return index & -<int64_t> (index < table.states)


cdef inline int64_t find_outcome(const table_t* table, double s, int64_t action, int64_t draw) noexcept nogil:
    """Where in the table an action leads; `outcome_at` finishes it where the table is not of the usual kind."""
    # Factors of 32 bits: vectors have no other multiplication.
    cdef uint64_t row = <uint64_t> <uint32_t> state_index(table, s) * <uint32_t> table.stride
    return row + <uint64_t> <uint32_t> action * <uint32_t> table.width + (table.first <= draw) + (table.second <= draw)


cdef inline drawn_t outcome_at(
    const table_t* table, int64_t place, double s, int64_t action, int64_t draw
) noexcept nogil:
    """What an action leads to, as a uniform draw has it; `place` is what `find_outcome` returned."""
    cdef const double* cumulative
    cdef const transition_t* outcome
    cdef const value_t* value
    cdef drawn_t drawn
    cdef int64_t k
    if table.cumulative != NULL:
        cumulative = table.cumulative + (state_index(table, s) * table.actions + action) * (table.width - 1)
        for k in range(table.width - 1):
            place += cumulative[k] <= <double> draw / DRAWS
    outcome = table.outcomes + place
    value = table.values + outcome.value
    drawn.probability = value.probability
    drawn.reward = value.reward
    drawn.next = outcome.next >> 1
    drawn.terminated = outcome.next & 1
    return drawn


cdef inline int64_t draw_start(const table_t* table, rng_t* rng) noexcept nogil:
    """A first state: the number of cumulative probabilities up to the draw, by bisection without a branch."""
    cdef double draw = random(rng)
    cdef const double* base = table.starts + table.first_start
    cdef int64_t half, length = table.start_count
    while length > 1:
        half = length // 2
        base += half if base[half - 1] <= draw else 0
        length -= half
    if base[0] <= draw:
        return 0
    return base - table.starts
