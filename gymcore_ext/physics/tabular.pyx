# cython: preliminary_late_includes_cy28=True
"""Any environment with finitely many states and actions: a table has the outcomes of each action in each state.

State: s, the action that led there (-1 in a first state), and the probability of that outcome. Observation: s.
Each step and each reset draws once, as `categorical_sample` of Gymnasium's tabular environments does.
"""
from libc.stdint cimport int8_t, int32_t, int64_t

from gymcore_ext.engine.capsules cimport owned_capsule
from gymcore_ext.physics.lane cimport kernel_t, make_kernel, none_t, outcome_t, rng_t, to_whole
from gymcore_ext.physics.tabular cimport draw_outcomes, draw_start, table_t, take_outcome, transition_t, value_t  # no-cython-lint


ctypedef struct State "tabular_state":
    double s, lastaction, prob

cdef extern from *:
    """
    #define LANE_NAME tabular
    #define LANE_PARAMETERS gymcore_none
    #define LANE_RESET_OPTIONS gymcore_none
    #define LANE_OBSERVATION_INTEGERS 1
    #define LANE_DISCRETE_ACTIONS -1
    #define LANE_TABLE gymcore_table
    #define LANE_TABLE_NAME "gymcore_ext.table"
    #define LANE_INFOS(F) F(prob, FLOAT64, 1)
    #include "gymcore/lanes.h"
    """
    const char* TABLE_CAPSULE "LANE_TABLE_NAME"
    kernel_t tabular_kernel


cdef inline void reset "tabular_reset"(
    State* s, const none_t* p, const table_t* table, const none_t* options, rng_t* rng
) noexcept nogil:
    s.s = <double> draw_start(table, rng)
    s.lastaction = -1.0
    s.prob = 1.0


cdef inline void step "tabular_step"(
    State* s, const none_t* p, const table_t* table, int64_t action, outcome_t* out, int64_t outcome
) noexcept nogil:
    s.s = <double> take_outcome(table, outcome, &s.prob, out)
    s.lastaction = <double> action


cdef inline void observe "tabular_observe"(const State* s, int64_t* observation) noexcept nogil:
    observation[0] = <int64_t> to_whole(s.s)


cdef inline void write_infos "tabular_write_infos"(
    const State* s, const table_t* table, void* const* infos
) noexcept nogil:
    (<double*> infos[0])[0] = s.prob


cdef State state
kernel = make_kernel(&tabular_kernel, state, {}, {})


cdef class Table:
    """A table, and the arrays that it points to."""

    cdef table_t table
    cdef tuple arrays


def pack(
    const int64_t[:, ::1] values, const double[::1] starts, const int64_t[:, ::1] limits,
    const int32_t[:, :, ::1] outcomes, int64_t actions, int64_t first, int64_t second, const int8_t[:, ::1] masks=None,
):
    """Return a table as a capsule for a batch. The arguments are fields of `table_t`, which the caller has checked."""
    cdef Table self = Table()
    cdef table_t* table = &self.table
    self.arrays = values, starts, limits, outcomes, masks
    table.states, table.actions, table.width = starts.shape[0], actions, outcomes.shape[1]
    table.stride, table.last = actions * table.width, (outcomes.shape[0] - 1) * table.width
    table.first, table.second = first, second
    table.values, table.starts = <value_t*> &values[0, 0], <double*> &starts[0]
    table.limits = <int64_t*> &limits[0, 0] if limits.shape[0] else NULL
    table.outcomes = <transition_t*> &outcomes[0, 0, 0]
    table.masks = NULL if masks is None else <int8_t*> &masks[0, 0]
    return owned_capsule(table, TABLE_CAPSULE, self)
