"""Checks of a caller's actions, on which kernels rely."""
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

from gymcore_ext.arrays cimport has_shape
from gymcore_ext.engine.kernel cimport kernel_t
from gymcore_ext.engine.threads cimport FIRST_CALLS, cost_t

import numpy as np

cnp.import_array()

# Nanoseconds to check a value, by which `Threads.run` decides how many threads share a check. On one thread it takes a
# tenth of the time that two threads need for a step of 65536 lanes of CartPole.
cdef double CHECK_TIME = 0.125


ctypedef struct check_t:
    const lanes_t* lanes
    const void* values
    int typenum


cdef int64_t check_job(void* context, int64_t lo, int64_t hi) noexcept nogil:
    """Return 0 if all values [lo, hi) are valid actions."""
    cdef const check_t* check = <const check_t*> context
    cdef const int64_t* ranges = check.lanes.kernel.action_ranges
    cdef const float* narrow = <const float*> check.values
    cdef const double* wide = <const double*> check.values
    cdef int64_t k, width = max(check.lanes.kernel.action_size, 1), bad = 0
    if check.lanes.choices and ranges[0] == 0:
        return check.lanes.lifecycle.outside(<const int64_t*> check.values + lo, check.lanes.choices, hi - lo)
    if ranges != NULL:
        for k in range(lo, hi):
            bad |= (<uint64_t> (<const int64_t*> check.values)[k] - <uint64_t> ranges[k % width * 2]
                    >= <uint64_t> ranges[k % width * 2 + 1])
    elif check.typenum == cnp.NPY_FLOAT64:
        for k in range(lo, hi):
            bad += wide[k] != wide[k]
    else:
        for k in range(lo, hi):
            bad += narrow[k] != narrow[k]
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


cdef cnp.ndarray checked_actions(
    object actions, tuple shape, const lanes_t* lanes, int typenum, cnp.ndarray scratch, Threads threads, object errors
):
    """Return actions as a C-contiguous array of this shape and type (int64, float32 or float64), all values checked.

    An array that already has them is returned itself. Float32 actions for a float64 kernel are converted into `scratch`
    if it has their shape. If there is a scratch for integers, the result is a copy, to which no other thread writes.

    NumPy's own flags are read instead of the buffer protocol, which takes 0.2 us for each new array.
    """
    cdef cnp.ndarray array
    cdef check_t check
    cdef int given = -1   # the type of `actions` if they are an array of this shape and layout
    if (cnp.PyArray_CheckExact(actions) and cnp.PyArray_ISCARRAY_RO(<cnp.ndarray> actions)
            and has_shape(<cnp.ndarray> actions, shape)):
        given = cnp.PyArray_TYPE(<cnp.ndarray> actions)
    if given == typenum and typenum == cnp.NPY_INT64 and scratch is not None:
        array = scratch if has_shape(scratch, shape) else np.empty(shape, np.int64)
        memcpy(cnp.PyArray_DATA(array), cnp.PyArray_DATA(<cnp.ndarray> actions), cnp.PyArray_NBYTES(array))
    elif given == typenum:
        array = actions
    elif given == cnp.NPY_FLOAT32 and scratch is not None and has_shape(scratch, shape):
        array = scratch
        widen(<const float*> cnp.PyArray_DATA(<cnp.ndarray> actions), <double*> cnp.PyArray_DATA(scratch),
              cnp.PyArray_SIZE(scratch))
    else:
        array = convert(actions, shape, typenum, errors)
    check = check_t(lanes, cnp.PyArray_DATA(array), typenum)
    if count_bad(&check, cnp.PyArray_SIZE(array), threads):
        refuse(array, lanes.kernel, lanes.choices, errors)
    return array


cdef object convert(object actions, tuple shape, int typenum, object errors):
    """Convert actions of another type or layout to the array that the kernel needs; errors show what was given."""
    cdef bint integers = typenum == cnp.NPY_INT64
    wanted = cnp.PyArray_DescrFromType(typenum)
    try:
        array = np.asarray(actions)
    except (TypeError, ValueError) as error:
        raise errors.InvalidAction(
            f"actions: expected {wanted} array of shape {shape}, got {type(actions).__name__}: {error}") from None
    # Python's bool is an int, NumPy's is not: Discrete spaces contain only the former.
    numpy_bools = array.dtype == np.bool_ and not (
        isinstance(actions, (list, tuple)) and all(type(each) is bool for each in np.asarray(actions, object).flat))
    if array.shape != shape or numpy_bools or array.dtype.kind not in ("iub" if integers else "fiu"):
        raise errors.InvalidAction(
            f"actions: expected {wanted} array of shape {shape}, got {array.dtype} {array.shape}")
    if array.dtype == np.uint64 and integers:
        array = np.minimum(array, np.uint64(2**63 - 1))  # what int64 cannot hold stays out of range
    return np.require(array, wanted, "CA")


cdef object refuse(cnp.ndarray actions, const kernel_t* kernel, int64_t choices, object errors):
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
