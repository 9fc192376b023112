"""Checks of a caller's actions, on which kernels rely."""
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

from gymcore_ext.arrays cimport has_shape
from gymcore_ext.engine.kernel cimport kernel_t
from gymcore_ext.engine.threads cimport FIRST_CALLS, cost_t

import numpy as np

cnp.import_array()

# Nanoseconds to check one value, from which `Threads.run` decides how many threads share a check. A check on one thread
# takes a tenth of the time that two threads need for a step of 65536 lanes of CartPole.
cdef double CHECK_TIME = 0.125

cdef tuple FLOATS = (cnp.NPY_FLOAT32, cnp.NPY_FLOAT64)


ctypedef struct check_t:
    const lanes_t* lanes
    const void* values
    int typenum


cdef int64_t check_job(void* context, int64_t lo, int64_t hi) noexcept nogil:
    """Return 0 if all values [lo, hi) are valid actions."""
    cdef const check_t* check = <const check_t*> context
    cdef const int64_t* ranges = check.lanes.kernel.action_ranges
    cdef const float* floats = <const float*> check.values
    cdef const double* doubles = <const double*> check.values
    cdef int64_t k, width = max(check.lanes.kernel.action_size, 1), column = lo % width, bad = 0
    if check.lanes.choices and ranges[0] == 0:
        return check.lanes.lifecycle.outside(<const int64_t*> check.values + lo, check.lanes.choices, hi - lo)
    if ranges != NULL:
        for k in range(lo, hi):
            bad |= (<uint64_t> (<const int64_t*> check.values)[k] - <uint64_t> ranges[2 * column]
                    >= <uint64_t> ranges[2 * column + 1])
            column = column + 1 if column + 1 < width else 0
    elif check.typenum == cnp.NPY_FLOAT64:
        for k in range(lo, hi):
            bad += doubles[k] != doubles[k]
    else:
        for k in range(lo, hi):
            bad += floats[k] != floats[k]
    return bad


cdef int64_t count_bad(check_t* check, int64_t size, Threads threads) except -1:
    """Return 0 if all values are valid actions."""
    cdef cost_t cost = cost_t(CHECK_TIME, FIRST_CALLS)
    # A check is not a step: the next step must not conclude from it that the threads are awake.
    cdef int64_t ended = 0 if threads.pool == NULL else threads.pool.ended
    cdef int64_t bad = threads.run(check_job, check, size, 0, &cost)
    if threads.pool != NULL:
        threads.pool.ended = ended
    return bad


cdef void widen(const float* source, double* target, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count):
        target[i] = source[i]


cdef void narrow(const double* source, float* target, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count):
        target[i] = <float> source[i]


cdef cnp.ndarray given_actions(object actions, tuple shape, const lanes_t* lanes, int typenum, object errors):
    """Return actions as an array of this shape: int64 for a kernel with integers, otherwise float32 or float64.

    NumPy's own flags are read instead of the buffer protocol, which takes 0.2 us for each new array.
    """
    cdef int given
    if (cnp.PyArray_CheckExact(actions) and cnp.PyArray_ISCARRAY_RO(<cnp.ndarray> actions)
            and has_shape(<cnp.ndarray> actions, shape)):
        given = cnp.PyArray_TYPE(<cnp.ndarray> actions)
        if given == typenum or (typenum == cnp.NPY_FLOAT64 and given == cnp.NPY_FLOAT32):
            return actions
    return action_array(
        actions, np.dtype(np.int64 if typenum == cnp.NPY_INT64 else np.float32), shape, "actions", errors,
        lanes.kernel.action_size == 0)


cdef cnp.ndarray checked_actions(
    cnp.ndarray array, tuple shape, const lanes_t* lanes, int typenum, bint copies, cnp.ndarray scratch,
    Threads threads, object errors
):
    """Return actions of this type whose values were checked: the array itself if it has the type, unless `copies`.

    A copy is made in `scratch` if the shapes agree. No other thread can write to it.
    """
    cdef check_t check
    cdef int given = cnp.PyArray_TYPE(array)
    cdef cnp.ndarray source = array
    if given != typenum or copies:
        array = scratch if scratch is not None and has_shape(scratch, shape) else cnp.PyArray_EMPTY(
            cnp.PyArray_NDIM(source), cnp.PyArray_DIMS(source), typenum, 0)
        if given == typenum:
            memcpy(cnp.PyArray_DATA(array), cnp.PyArray_DATA(source), cnp.PyArray_NBYTES(array))
        elif typenum == cnp.NPY_FLOAT64:
            widen(<const float*> cnp.PyArray_DATA(source), <double*> cnp.PyArray_DATA(array), cnp.PyArray_SIZE(array))
        else:
            narrow(<const double*> cnp.PyArray_DATA(source), <float*> cnp.PyArray_DATA(array), cnp.PyArray_SIZE(array))
    check = check_t(lanes, cnp.PyArray_DATA(array), typenum)
    if count_bad(&check, cnp.PyArray_SIZE(array), threads):
        raise_invalid(array, lanes.kernel, lanes.choices, errors)
    return array


def action_array(object actions, object dtype, tuple shape, str name, object errors, bint numbers=False):
    """Return actions as a C-contiguous array of this shape, or raise `errors.InvalidAction`, which names `name`.

    `numbers` is whether an action is a number, as those of Discrete are. An integer dtype must be able to hold all
    values. For a floating-point dtype, float32 and float64 actions keep their type; other types are promoted with
    `dtype` as NumPy does, to float64 at most. The result may share memory with `actions`.
    """
    expected = f"{name}: expected {dtype} array of shape {shape}"
    try:
        array = np.asarray(actions)
    except (TypeError, ValueError) as error:
        raise errors.InvalidAction(f"{expected}, got {type(actions).__name__}: {error}") from None
    given, takes_floats = array.dtype, dtype.kind == "f"
    valid = array.shape == shape and given.kind in ("fiub" if takes_floats else "iub")
    if valid and numbers and given == np.bool_:  # Discrete spaces contain Python's bool, but not NumPy's
        valid = isinstance(actions, (list, tuple)) and all(
            [type(each) is bool for each in np.asarray(actions, object).flat])
    if not valid or (given == np.uint64 and not takes_floats and not np.can_cast(given, dtype)):
        raise errors.InvalidAction(f"{expected}, got {given} {array.shape}")
    if takes_floats:
        dtype = given if given.isnative and given.num in FLOATS else np.result_type(given, dtype)
        dtype = dtype if dtype.num in FLOATS else np.dtype(np.float64)
    with np.errstate(over="ignore"):
        converted = np.require(array, dtype, "CA")
    if not takes_floats and not np.can_cast(given, dtype) and not np.array_equal(converted, array):
        raise errors.InvalidAction(f"{expected}, got {given} values that {dtype} cannot hold")
    return converted


def joined_actions(object actions, tuple groups, tuple lead, object dtype, object errors):
    """Return a dict with the actions of groups of agents as an array [*lead, size], in the order of the groups.

    `groups` has the name and the shape of an action of each group.
    """
    names = [name for name, _ in groups]
    if not isinstance(actions, dict) or actions.keys() != set(names):
        given = f"keys {list(actions)}" if isinstance(actions, dict) else type(actions).__name__
        raise errors.InvalidAction(f"actions: expected a dict with the groups {names}, got {given}")
    return np.concatenate([
        action_array(actions[name], dtype, lead + shape, f"actions[{name!r}]", errors).reshape(lead + (-1,))
        for name, shape in groups], axis=-1)


cdef object raise_invalid(cnp.ndarray actions, const kernel_t* kernel, int64_t choices, object errors):
    """Raise for the first action that is out of range or nan."""
    cdef int64_t k, width = max(kernel.action_size, 1)
    array = actions.copy()
    bad = np.isnan(array)
    if kernel.action_ranges != NULL:
        first = np.array([kernel.action_ranges[2 * k] for k in range(width)])
        end = first + [choices or kernel.action_ranges[2 * k + 1] for k in range(width)]
        bad = ((array.reshape(-1, width) < first) | (array.reshape(-1, width) >= end)).reshape(array.shape)
    if not bad.any():
        raise errors.InvalidAction("actions: expected an array that nobody changes during the call")
    where = tuple(np.argwhere(bad)[0].tolist())
    name = f"actions[{', '.join(map(str, where))}]"
    if kernel.action_ranges == NULL:
        raise errors.InvalidAction(f"{name} = nan: expected a number")
    k = np.ravel_multi_index(where, array.shape) % width
    expected = f"Discrete({choices})" if choices and first[0] == 0 else f"[{first[k]}, {end[k]})"
    raise errors.InvalidAction(f"{name} = {array[where]} is outside {expected}")
