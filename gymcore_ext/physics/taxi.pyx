"""Taxi: a table of transitions, and a passenger who may change destination once.

Reference environment: Taxi-v4. State: s, the action that led there (-1 in a first state), the probability that it did,
and whether the passenger is still to change destination. Observation: s, which is
((row * 5 + column) * 5 + passenger) * 4 + destination, where passenger 4 is in the taxi.
"""
from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport int8_t, int64_t
from libc.string cimport memcpy, memset

from gymcore_ext.physics.lane cimport KERNEL_CAPSULE, below, kernel_t, outcome_t, random, rng_t, to_whole
from gymcore_ext.physics.tables cimport draw_start, drawn_t, find_outcome, outcome_at, state_index, table_t


cdef extern from *:
    """
    #define LANE_NAME taxi
    #define LANE_STATE(F) F(s) F(lastaction) F(prob) F(fickle_step)
    #define LANE_PARAMETERS(F) F(fickle_passenger, 0.0) F(fickle_probability, 0.3)
    #define LANE_BOUNDS(F)
    #define LANE_OBSERVATION_INTEGERS 1
    #define LANE_DISCRETE_ACTIONS -1
    #define LANE_DRAWS
    #define LANE_UNIFORM (table->width > 1)
    #define LANE_CONSTANTS "gymcore_ext.table"
    #define LANE_CONSTANTS_TYPE gymcore_table
    #define LANE_TABLE_USUALLY(F) F(cumulative, NULL)
    #define LANE_USUALLY(F) F(fickle_passenger, 0.0)
    #define LANE_INFOS(F) F(prob, float64, 1) F(action_mask, int8, 6)
    #include "physics/table.h"
    #define LANE_NANOSECONDS 7
    #include "gymcore/lanes.h"
    """
    ctypedef struct taxi_state:
        double s, lastaction, prob, fickle_step
    ctypedef struct taxi_parameters:
        double fickle_passenger, fickle_probability
        table_t table
    ctypedef struct taxi_bounds:
        double end
    ctypedef struct taxi_infos:
        double* prob
        int8_t* action_mask
    const kernel_t taxi_kernel


cdef inline void taxi_reset "taxi_reset"(
    taxi_state* s, const taxi_parameters* p, const taxi_bounds* b, rng_t* rng
) noexcept nogil:
    s.s = <double> draw_start(&p.table, rng)
    s.lastaction = -1.0
    s.prob = 1.0
    s.fickle_step = 0.0
    if p.fickle_passenger != 0.0:
        s.fickle_step = random(rng) < p.fickle_probability


cdef inline int64_t taxi_find "taxi_find"(
    const taxi_state* s, const taxi_parameters* p, int64_t action, int64_t draw
) noexcept nogil:
    return find_outcome(&p.table, s.s, action, draw)


cdef inline void taxi_step "taxi_step"(
    taxi_state* s, const taxi_parameters* p, int64_t action, outcome_t* out, int64_t place, int64_t draw, rng_t* rng
) noexcept nogil:
    cdef drawn_t drawn = outcome_at(&p.table, place, s.s, action, draw)
    cdef int64_t there = drawn.next, here, destination
    # The first drive with a passenger in the taxi.
    if p.fickle_passenger != 0.0 and s.fickle_step != 0.0:
        here = state_index(&p.table, s.s)
        if (here // 4 % 5 == 4) & (here // 20 != there // 20):
            s.fickle_step = 0.0
            destination = below(rng, 3)
            destination += destination >= here % 4
            there = there // 4 * 4 + destination
    s.s = <double> there
    s.lastaction = <double> action
    s.prob = drawn.probability
    out.reward = drawn.reward
    out.terminated = drawn.terminated


cdef inline void taxi_observe "taxi_observe"(const taxi_state* s, int64_t* observation) noexcept nogil:
    observation[0] = <int64_t> to_whole(s.s)


cdef inline void taxi_inform "taxi_inform"(
    const taxi_state* s, const taxi_parameters* p, taxi_infos* infos
) noexcept nogil:
    infos.prob[0] = s.prob
    if (p.table.masks != NULL) & (p.table.actions == 6):
        memcpy(infos.action_mask, &p.table.masks[state_index(&p.table, s.s)], 6)
    else:
        memset(infos.action_mask, 0, 6)


kernel = PyCapsule_New(<void*> &taxi_kernel, KERNEL_CAPSULE, NULL)
