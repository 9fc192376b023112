"""Packs tables of transitions into the memory that tabular kernels read."""
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from libc.stdint cimport int8_t, int64_t, uint64_t
from libc.string cimport memcpy, memset

cdef const char* TABLE_CAPSULE = "gymcore_ext.table"


cdef void free_table(object capsule) noexcept:
    PyMem_RawFree(PyCapsule_GetPointer(capsule, TABLE_CAPSULE))


def pack(const outcome_of_t[:, :, ::1] outcomes, const double[::1] starts, const int8_t[:, ::1] masks=None):
    """The table as a capsule, a copy, for the `constants` of a batch.

    Args:
        outcomes: [states, actions, width], records of `cumulative`, `probability`, `reward` (float64), `next` and
            `terminated` (int32). Cumulative probabilities of an action never decrease, and the last one is taken for
            infinity.
        starts: float64 [states], cumulative probability of the first state.
        masks: int8 [states, actions], or None; of more than eight actions they are left out.

    Raises:
        ValueError: shapes that do not agree, or a state that there is not. What numbers mean is the caller's to check.
    """
    cdef int64_t states = outcomes.shape[0], actions = outcomes.shape[1], width = outcomes.shape[2]
    cdef int64_t count = states * actions * width, k
    cdef size_t outcome_bytes = count * sizeof(outcome_of_t), start_bytes = states * sizeof(double)
    cdef int64_t last
    cdef const outcome_of_t* first
    cdef table_t* table
    cdef char* place
    if count == 0 or starts.shape[0] != states:
        raise ValueError(f"starts: expected {states} states, at least one, got {starts.shape[0]}")
    if masks is not None and (masks.shape[0] != states or masks.shape[1] != actions):
        raise ValueError(f"masks: expected shape {(states, actions)}")
    first = &outcomes[0, 0, 0]
    for k in range(count):
        if not 0 <= first[k].next < states:
            raise ValueError(f"outcomes: expected states below {states}, got {first[k].next}")
    table = <table_t*> PyMem_RawMalloc(sizeof(table_t) + outcome_bytes + start_bytes + states * 8)
    if table == NULL:
        raise MemoryError(f"no memory for a table of {states} states and {actions} actions")
    place = <char*> (table + 1)
    memcpy(place, first, outcome_bytes)
    memcpy(place + outcome_bytes, &starts[0], start_bytes)
    table.states = states
    table.actions = actions
    table.width = width
    table.stride = actions * width
    table.outcomes = <const outcome_of_t*> place
    table.starts = <const double*> (place + outcome_bytes)
    # Draws lie in [0, 1): they begin behind the states that have none of it, and not behind the first that closes it.
    table.first_start = 0
    while table.first_start < states - 1 and starts[table.first_start] <= 0.0:
        table.first_start += 1
    last = table.first_start
    while last < states - 1 and starts[last] < 1.0:
        last += 1
    table.start_count = last + 1 - table.first_start
    table.masks = NULL
    if masks is not None and actions <= 8:
        place += outcome_bytes + start_bytes
        table.masks = <const uint64_t*> place
        memset(place, 0, states * 8)
        for k in range(states):
            memcpy(place + 8 * k, &masks[k, 0], actions)
    return PyCapsule_New(table, TABLE_CAPSULE, free_table)
