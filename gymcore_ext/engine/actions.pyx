"""The one check between a caller's actions and the kernels, which trust what they get."""
cimport numpy as cnp
from libc.stdint cimport int64_t

from gymcore_ext.arrays cimport has_shape
from gymcore_ext.engine.step cimport lifecycle_t, pool_run, pool_t
from gymcore_ext.engine.threads cimport Threads

import numpy as np

cnp.import_array()

cdef enum:
    # Values from which on threads share the check, with the GIL free: one alone takes a tenth of the time that two need
    # for a step of 65536 lanes of CartPole.
    SHARED_VALUES = 16384
    # Values that a thread looks at before it asks for more.
    CHECK_LEAST = 4096
    CHECK_MOST = 8192


ctypedef struct check_t:
    const lifecycle_t* loops
    const void* values
    int64_t discrete
    int typenum


cdef int64_t check_job(void* context, int64_t lo, int64_t hi) noexcept nogil:
    """0 if all values [lo, hi) are actions."""
    cdef const check_t* check = <const check_t*> context
    if check.discrete:
        return check.loops.outside(<const int64_t*> check.values + lo, check.discrete, hi - lo)
    if check.typenum == cnp.NPY_FLOAT64:
        return check.loops.wide_nans(<const double*> check.values + lo, hi - lo)
    return check.loops.nans(<const float*> check.values + lo, hi - lo)


cdef int64_t count_bad(check_t* check, int64_t size, Threads threads) except -1:
    """0 if all values are actions; the caller must own the threads, or give None."""
    cdef int64_t bad, ended
    cdef pool_t* pool = NULL
    if size < SHARED_VALUES:
        return check_job(check, 0, size)
    if threads is not None:
        threads.start()
        pool = threads.pool
    with nogil:
        if pool != NULL:
            # A check is no step: the one that follows is not to take the threads for awake because of it.
            ended = pool.ended
            bad = pool_run(pool, check_job, check, size, CHECK_LEAST, CHECK_MOST, threads.helpers)
            pool.ended = ended
        else:
            bad = check_job(check, 0, size)
    return bad


cdef void widen(const float* source, double* target, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count):
        target[i] = source[i]


cdef cnp.ndarray checked_actions(
    object actions, tuple shape, int64_t discrete, int typenum, cnp.ndarray scratch,
    const lifecycle_t* loops, Threads threads, object errors
):
    """Actions as a C-contiguous array of the shape and type, every value checked.

    The type is int64, and values below `discrete`; or, where that is 0, float32 or float64. Float32 actions that are to
    be float64 go into `scratch`, if it has their shape: it is what is returned then.

    An array that is one already is returned as it is. NumPy's own flags are read instead of the buffer protocol, which
    takes 0.2 us on an array it has not seen before.
    """
    cdef cnp.ndarray array
    cdef check_t check
    if (
        cnp.PyArray_CheckExact(actions)
        and cnp.PyArray_TYPE(<cnp.ndarray> actions) == typenum
        and cnp.PyArray_ISCARRAY_RO(<cnp.ndarray> actions)
        and has_shape(<cnp.ndarray> actions, shape)
    ):
        array = actions
    elif (
        typenum == cnp.NPY_FLOAT64
        and scratch is not None
        and cnp.PyArray_CheckExact(actions)
        and cnp.PyArray_TYPE(<cnp.ndarray> actions) == cnp.NPY_FLOAT32
        and cnp.PyArray_ISCARRAY_RO(<cnp.ndarray> actions)
        and has_shape(<cnp.ndarray> actions, shape)
        and has_shape(scratch, shape)
    ):
        array = scratch
        widen(<const float*> cnp.PyArray_DATA(<cnp.ndarray> actions), <double*> cnp.PyArray_DATA(scratch),
              cnp.PyArray_SIZE(scratch))
    else:
        array = convert(actions, shape, discrete, typenum, errors)
    check.loops = loops
    check.values = cnp.PyArray_DATA(array)
    check.discrete = discrete
    check.typenum = typenum
    if count_bad(&check, cnp.PyArray_SIZE(array), threads):
        refuse(array, discrete, errors)
    return array


cdef object convert(object actions, tuple shape, int64_t discrete, int typenum, object errors):
    """Actions of another type or layout as the array the kernel wants; the message says what came."""
    wanted = cnp.PyArray_DescrFromType(typenum)
    try:
        array = np.asarray(actions)
    except (TypeError, ValueError) as error:
        raise errors.InvalidAction(
            f"actions: expected {wanted} array of shape {shape}, got {type(actions).__name__}: {error}") from None
    if array.shape != shape or array.dtype.kind not in ("iub" if discrete else "fiu"):
        raise errors.InvalidAction(
            f"actions: expected {wanted} array of shape {shape}, got {array.dtype} {array.shape}")
    if array.dtype == np.uint64 and discrete:
        array = np.minimum(array, np.uint64(2**63 - 1))  # what int64 cannot hold stays out of range
    return np.ascontiguousarray(array, wanted)


cdef object refuse(cnp.ndarray array, int discrete, object errors):
    """Raise for the first action that is out of range or nan."""
    bad = (array < 0) | (array >= discrete) if discrete else np.isnan(array)
    where = tuple(int(k) for k in np.argwhere(bad)[0])
    name = f"actions[{', '.join(map(str, where))}]"
    if discrete:
        raise errors.InvalidAction(f"{name} = {array[where]} is outside Discrete({discrete})")
    raise errors.InvalidAction(f"{name} = nan: expected a number")
