# cython: preliminary_late_includes_cy28=True
"""Any environment of finitely many states and actions: a table says what an action in a state leads to.

State: s, the action that led there (-1 in a first state), and the probability that it did. Observation: s.
One draw a step and one a reset, as `categorical_sample` of Gymnasium's tabular environments.
"""
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from libc.stdint cimport int8_t, int64_t
from libc.string cimport memcpy

from gymcore_ext.physics.lane cimport kernel_t, make_kernel, none_t, outcome_t, rng_t, to_whole
from gymcore_ext.physics.tabular cimport draw_outcome, draw_start, table_t, transition_t


ctypedef struct State "tabular_state":
    double s, lastaction, prob

cdef extern from *:
    """
    #define LANE_NAME tabular
    #define LANE_PARAMETERS gymcore_none
    #define LANE_RESET_OPTIONS gymcore_none
    #define LANE_OBSERVATION_INTEGERS 1
    #define LANE_DISCRETE_ACTIONS -1
    #define LANE_STEP_USES_RNG
    #define LANE_TABLE gymcore_table
    #define LANE_TABLE_NAME "gymcore_ext.table"
    #define LANE_INFOS(F) F(prob, FLOAT64, 1)
    #define LANE_COST 7
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
    State* s, const none_t* p, const table_t* table, int64_t action, outcome_t* out, rng_t* rng
) noexcept nogil:
    cdef const transition_t* drawn = draw_outcome(table, s.s, action, rng)
    s.s = <double> drawn.next
    s.lastaction = <double> action
    s.prob = drawn.probability
    out.reward = drawn.reward
    out.terminated = drawn.terminated


cdef inline void observe "tabular_observe"(const State* s, int64_t* observation) noexcept nogil:
    observation[0] = <int64_t> to_whole(s.s)


cdef inline void write_infos "tabular_write_infos"(
    const State* s, const table_t* table, void* const* infos
) noexcept nogil:
    (<double*> infos[0])[0] = s.prob


cdef State state
kernel = make_kernel(&tabular_kernel, state, {}, {})


# --- tables -----------------------------------------------------------------------------------------------------------

cdef void free_table(object capsule) noexcept:
    PyMem_RawFree(PyCapsule_GetPointer(capsule, TABLE_CAPSULE))


def pack(const transition_t[:, :, ::1] outcomes, const double[::1] starts, const int8_t[:, ::1] masks=None):
    """The table as a capsule, a copy, for the `constants` of a batch.

    Args:
        outcomes: [states, actions, width], records of `cumulative`, `probability`, `reward` (float64), `next` and
            `terminated` (int32). Cumulative probabilities of an action never decrease, and the last one is taken for
            infinity.
        starts: float64 [states], cumulative probability of the first state.
        masks: int8 [states, actions], which actions change something; or None.

    Raises:
        ValueError: shapes that do not agree, or a state that there is not. What numbers mean is the caller's to check.
    """
    cdef int64_t states = outcomes.shape[0], actions = outcomes.shape[1], width = outcomes.shape[2]
    cdef int64_t count = states * actions * width, k
    cdef table_t* table
    if count == 0 or starts.shape[0] != states:
        raise ValueError(f"starts: expected {states} states, at least one, got {starts.shape[0]}")
    if masks is not None and (masks.shape[0] != states or masks.shape[1] != actions):
        raise ValueError(f"masks: expected shape {(states, actions)}")
    table = <table_t*> PyMem_RawCalloc(
        1, sizeof(table_t) + count * sizeof(transition_t) + states * (sizeof(double) + actions))
    if table == NULL:
        raise MemoryError(f"no memory for a table of {states} states and {actions} actions")
    capsule = PyCapsule_New(table, TABLE_CAPSULE, free_table)
    table.states = states
    table.actions = actions
    table.width = width
    table.stride = actions * width
    table.last = count - width
    table.outcomes = <transition_t*> (table + 1)
    memcpy(table.outcomes, &outcomes[0, 0, 0], count * sizeof(transition_t))
    for k in range(count):  # of the copy, which nobody can change any more
        if not 0 <= table.outcomes[k].next < states:
            raise ValueError(f"outcomes: expected states below {states}, got {table.outcomes[k].next}")
    table.starts = <double*> (table.outcomes + count)
    memcpy(table.starts, &starts[0], states * sizeof(double))
    if masks is not None:
        table.masks = <int8_t*> (table.starts + states)
        memcpy(table.masks, &masks[0, 0], states * actions)
    return capsule
