"""Flat tables of transitions, and drawing from them: what tabular kernels share.

Draws are those of `numpy.random.Generator.random()`: the first outcome whose cumulative probability exceeds the draw,
or the first one of all if rounding leaves none.
"""
from libc.stdint cimport int32_t, int64_t, uint64_t

from gymcore_ext.physics.lane cimport random, rng_t, to_whole


cdef extern from "table.h":
    ctypedef struct outcome_of_t "gymcore_transition":
        double cumulative
        double probability
        double reward
        int32_t next
        int32_t terminated

    ctypedef struct table_t "gymcore_table":
        int64_t states, actions, width
        int64_t stride
        const outcome_of_t* outcomes
        const double* starts
        int64_t first_start, start_count
        const uint64_t* masks


cdef inline int64_t state_index(const table_t* table, double s) noexcept nogil:
    """The state as an index; callers may write any number into a lane, and no number may lead out of the table."""
    cdef int64_t index = <int64_t> to_whole(s)
    return index if index < table.states else 0


cdef inline const outcome_of_t* outcome_at(
    const table_t* table, int64_t s, int64_t action, double draw
) noexcept nogil:
    """What an action leads to, as a uniform draw has it."""
    cdef const outcome_of_t* row = table.outcomes + (s * table.stride + action * table.width)
    cdef int64_t k, place = 0
    if table.width > 1:
        place = row[0].cumulative <= draw
        if table.width > 2:
            place += row[1].cumulative <= draw
            for k in range(2, table.width - 1):
                place += row[k].cumulative <= draw
    return row + place


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
