"""Packs tables of transitions into the memory that tabular kernels read."""
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from libc.math cimport ceil
from libc.stdint cimport INT64_MAX as NO_DRAW, int8_t, int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

import numpy as np

cdef const char* TABLE_CAPSULE = "gymcore_ext.table"


# One outcome of an action, as a caller gives it.
ctypedef struct outcome_of_t:
    double cumulative        # probability of this outcome and those before it
    double probability
    double reward
    int32_t next
    int32_t terminated


cdef void free_table(object capsule) noexcept:
    PyMem_RawFree(PyCapsule_GetPointer(capsule, TABLE_CAPSULE))


cdef int64_t least_draw(double probability):
    """The least draw that stands for a number that is not below the probability."""
    return <int64_t> ceil(probability * DRAWS) if probability < 1.0 else NO_DRAW


cdef tuple distinct_values(object outcomes):
    """Pairs of probability and reward, float64 [count, 2], that differ in any bit; and which one outcomes have."""
    pairs = np.stack([outcomes["probability"], outcomes["reward"]], axis=-1).reshape(-1, 2)
    found, places = np.unique(pairs.view(np.uint64), axis=0, return_inverse=True)
    return np.ascontiguousarray(found).view(np.float64), places.reshape(-1).astype(np.uint32)


cdef object common_cumulative(const outcome_of_t[:, :, ::1] outcomes, const transition_t* packed):
    """Cumulative probabilities, float64 [width - 1], that are those of every action with different outcomes.

    None if there are no such, or if there are more than two of them.
    """
    cdef int64_t rows = outcomes.shape[0] * outcomes.shape[1], width = outcomes.shape[2], row, k
    cdef const outcome_of_t* first = &outcomes[0, 0, 0]
    cdef const outcome_of_t* other = NULL
    for row in range(rows):
        for k in range(1, width):
            if memcmp(&packed[row * width], &packed[row * width + k], sizeof(transition_t)) != 0:
                break
        else:
            continue
        if other == NULL:
            other = first + row * width
        for k in range(width - 1):
            if first[row * width + k].cumulative != other[k].cumulative:
                return None
    if other == NULL:
        other = first
    if width > 3:
        return None
    return np.array([other[k].cumulative for k in range(width - 1)], np.float64)


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
    cdef int64_t count = states * actions * width, k, last
    cdef const outcome_of_t* first
    cdef const double[:, ::1] values
    cdef const uint32_t[::1] places
    cdef const double[::1] cumulative
    cdef table_t* table
    cdef transition_t* packed
    cdef char* place
    if count == 0 or starts.shape[0] != states:
        raise ValueError(f"starts: expected {states} states, at least one, got {starts.shape[0]}")
    if masks is not None and (masks.shape[0] != states or masks.shape[1] != actions):
        raise ValueError(f"masks: expected shape {(states, actions)}")
    first = &outcomes[0, 0, 0]
    for k in range(count):
        if not 0 <= first[k].next < states:
            raise ValueError(f"outcomes: expected states below {states}, got {first[k].next}")
    values, places = distinct_values(np.asarray(outcomes))
    table = <table_t*> PyMem_RawCalloc(
        1, sizeof(table_t) + values.shape[0] * sizeof(value_t) + 8 * (2 * count + 2 * states))
    if table == NULL:
        raise MemoryError(f"no memory for a table of {states} states and {actions} actions")
    capsule = PyCapsule_New(table, TABLE_CAPSULE, free_table)
    table.states = states
    table.actions = actions
    table.width = width
    table.stride = actions * width
    place = <char*> (table + 1)
    memcpy(place, &values[0, 0], values.shape[0] * sizeof(value_t))
    table.values = <const value_t*> place
    place += values.shape[0] * sizeof(value_t)
    packed = <transition_t*> place
    for k in range(count):
        packed[k].next = 2 * <uint32_t> first[k].next + (first[k].terminated != 0)
        packed[k].value = places[k]
    table.outcomes = packed
    place += 8 * count
    memcpy(place, &starts[0], 8 * states)
    table.starts = <const double*> place
    place += 8 * states
    # Draws lie in [0, 1): they begin behind the states that have none of it, and not behind the first that closes it.
    while table.first_start < states - 1 and starts[table.first_start] <= 0.0:
        table.first_start += 1
    last = table.first_start
    while last < states - 1 and starts[last] < 1.0:
        last += 1
    table.start_count = last + 1 - table.first_start
    if masks is not None and actions <= 8:
        table.masks = <const uint64_t*> place
        for k in range(states):
            memcpy(place + 8 * k, &masks[k, 0], actions)
    place += 8 * states
    table.first = table.second = NO_DRAW
    if width > 1:
        shared = common_cumulative(outcomes, packed)
        if shared is None:
            cumulative = np.asarray(outcomes)["cumulative"][:, :, :-1].ravel()
            memcpy(place, &cumulative[0], 8 * cumulative.shape[0])
            table.cumulative = <const double*> place
        else:
            table.first = least_draw(shared[0])
            if width > 2:
                table.second = least_draw(shared[1])
    return capsule
