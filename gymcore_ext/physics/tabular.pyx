"""Any environment of finitely many states and actions: a table says what an action in a state leads to.

State: s, the action that led there (-1 in a first state), and the probability that it did. Observation: s.
One draw a step and one a reset, as `categorical_sample` of Gymnasium's tabular environments.
"""
from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport int64_t

from gymcore_ext.physics.lane cimport KERNEL_CAPSULE, kernel_t, outcome_t, rng_t, to_whole
from gymcore_ext.physics.tables cimport draw_start, drawn_t, find_outcome, outcome_at, table_t


cdef extern from *:
    """
    #define LANE_NAME tabular
    #define LANE_STATE(F) F(s) F(lastaction) F(prob)
    #define LANE_PARAMETERS(F)
    #define LANE_BOUNDS(F)
    #define LANE_OBSERVATION_INTEGERS 1
    #define LANE_DISCRETE_ACTIONS -1
    #define LANE_DRAWS
    #define LANE_UNIFORM (table->width > 1)
    #define LANE_CONSTANTS "gymcore_ext.table"
    #define LANE_CONSTANTS_TYPE gymcore_table
    #define LANE_TABLE_USUALLY(F) F(cumulative, NULL)
    #define LANE_INFOS(F) F(prob, float64, 1)
    #define LANE_NANOSECONDS 7
    #include "physics/table.h"
    #include "gymcore/lanes.h"
    """
    ctypedef struct tabular_state:
        double s, lastaction, prob
    ctypedef struct tabular_parameters:
        table_t table
    ctypedef struct tabular_bounds:
        double end
    ctypedef struct tabular_infos:
        double* prob
    const kernel_t tabular_kernel


cdef inline void tabular_reset "tabular_reset"(
    tabular_state* s, const tabular_parameters* p, const tabular_bounds* b, rng_t* rng
) noexcept nogil:
    s.s = <double> draw_start(&p.table, rng)
    s.lastaction = -1.0
    s.prob = 1.0


cdef inline int64_t tabular_find "tabular_find"(
    const tabular_state* s, const tabular_parameters* p, int64_t action, int64_t draw
) noexcept nogil:
    return find_outcome(&p.table, s.s, action, draw)


cdef inline void tabular_step "tabular_step"(
    tabular_state* s, const tabular_parameters* p, int64_t action, outcome_t* out, int64_t place, int64_t draw,
    rng_t* rng
) noexcept nogil:
    cdef drawn_t drawn = outcome_at(&p.table, place, s.s, action, draw)
    s.s = <double> drawn.next
    s.lastaction = <double> action
    s.prob = drawn.probability
    out.reward = drawn.reward
    out.terminated = drawn.terminated


cdef inline void tabular_observe "tabular_observe"(const tabular_state* s, int64_t* observation) noexcept nogil:
    observation[0] = <int64_t> to_whole(s.s)


cdef inline void tabular_inform "tabular_inform"(
    const tabular_state* s, const tabular_parameters* p, tabular_infos* infos
) noexcept nogil:
    infos.prob[0] = s.prob


kernel = PyCapsule_New(<void*> &tabular_kernel, KERNEL_CAPSULE, NULL)
