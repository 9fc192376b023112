# cython: preliminary_late_includes_cy28=True
"""Taxi: a table of transitions, and a passenger who may change destination once.

Reference environment: Taxi-v4. State: s, the action that led there (-1 in a first state), the probability of that
outcome, and whether the passenger will still change destination. Observation: s, which is
((row * 5 + column) * 5 + passenger) * 4 + destination, where passenger 4 is in the taxi.
"""
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from gymcore_ext.physics.lane cimport below, kernel_t, make_kernel, none_t, outcome_t, random, rng_t, to_whole
from gymcore_ext.physics.tabular cimport draw_outcomes, draw_start, state_index, table_t, take_outcome  # no-cython-lint


ctypedef struct State "taxi_state":
    double s, lastaction, prob, fickle_step

ctypedef struct Parameters "taxi_parameters":
    double fickle_passenger, fickle_probability

cdef extern from *:
    """
    #define LANE_NAME taxi
    #define LANE_RESET_OPTIONS gymcore_none
    #define LANE_OBSERVATION_INTEGERS 1
    #define LANE_DISCRETE_ACTIONS -1
    #define LANE_STEP_USES_RNG
    #define LANE_TABLE gymcore_table
    #define LANE_TABLE_NAME "gymcore_ext.table"
    #define LANE_INFOS(F) F(prob, FLOAT64, 1) F(action_mask, INT8, 6)
    #include "gymcore/lanes.h"
    """
    kernel_t taxi_kernel


cdef inline void reset "taxi_reset"(
    State* s, const Parameters* p, const table_t* table, const none_t* options, rng_t* rng
) noexcept nogil:
    s.s = <double> draw_start(table, rng)
    s.lastaction = -1.0
    s.prob = 1.0
    s.fickle_step = <double> (p.fickle_passenger != 0.0 and random(rng) < p.fickle_probability)


cdef inline void step "taxi_step"(
    State* s, const Parameters* p, const table_t* table, int64_t action, outcome_t* out, int64_t outcome, rng_t* rng
) noexcept nogil:
    cdef int64_t after = take_outcome(table, outcome, &s.prob, out), before, destination
    # The passenger may change the destination when the taxi first moves with the passenger in it.
    if p.fickle_passenger != 0.0 and s.fickle_step != 0.0:
        before = state_index(table, s.s)
        if before // 4 % 5 == 4 and before // 20 != after // 20:
            s.fickle_step = 0.0
            destination = below(rng, 3)
            destination += destination >= before % 4
            after = after // 4 * 4 + destination
    s.s = <double> after
    s.lastaction = <double> action


cdef inline void observe "taxi_observe"(const State* s, int64_t* observation) noexcept nogil:
    observation[0] = <int64_t> to_whole(s.s)


cdef inline void write_infos "taxi_write_infos"(
    const State* s, const table_t* table, void* const* infos
) noexcept nogil:
    (<double*> infos[0])[0] = s.prob
    if table.masks != NULL and table.actions == 6:
        memcpy(infos[1], table.masks + state_index(table, s.s) * 6, 6)
    else:
        memset(infos[1], 0, 6)


cdef State state
kernel = make_kernel(&taxi_kernel, state, Parameters(0.0, 0.3), {})
