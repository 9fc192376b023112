"""Batch: lane memory of one environment kernel, its output arrays, and stepping, resetting and rolling them out.

Python validates what actions mean (spaces, options) and turns ended lanes into infos; here arrays are checked once, the
GIL is released, and everything per lane happens in step.pxd.
"""
cimport numpy as cnp
from cpython.exc cimport PyErr_CheckSignals
from cpython.pycapsule cimport PyCapsule_GetContext, PyCapsule_GetPointer
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memchr, memcpy, memset

from gymcore_ext.arrays cimport (
    ArrayRing, array_pointer, check_no_overlap, copy_bytes, fork_generation, has_shape, lane_pointer, make_room,
)
from gymcore_ext.engine.step cimport (
    BLOCK, FLOAT64, INT64, JOB_CAPSULE, MAX_INFOS, MAX_PARTS, MOST_LANES, NEVER, STREAM_BYTES, STREAM_WORDS,
    TERMINATIONS, advance, begin_deferred, clock_now, flag_t, info_field_t, job_t, kernel_t, lanes_t, lifecycle_t,
    moved, outputs_t, pool_free, pool_new, pool_run, pool_t, range_t, reset_job, reset_t, roll_job, rollout_t,
    run_alone, shifted, step_job, subset_job, subset_t,
)
from gymcore_ext.engine.episodes cimport DISABLED, NEXT_STEP, SAME_STEP, SINGLE
from gymcore_ext.engine.lane_memory cimport ANY_USE, MAX_NUMBERS, STEP, LaneMemory

import time

import numpy as np

from gymcore_ext.engine.lane_memory import kernel_spec

cnp.import_array()

cdef extern from "numpy/arrayobject.h":
    object PyArray_Scalar(void* data, cnp.dtype dtype, object base)

cdef cnp.dtype DOUBLE = np.dtype(np.float64)
cdef cnp.dtype FLOAT = np.dtype(np.float32)

# --- threads ---------------------------------------------------------------------------------------------------------

cdef class Threads:
    """Up to `count` threads, the asking one among them.

    They share every job; or, if it `chooses`, what has proved to be faster shared.
    """

    cdef int count, generation
    cdef bint chooses
    cdef pool_t* pool               # NULL for one thread, and until `start`

    def __cinit__(self, int count, bint chooses):
        self.count = count
        self.chooses = chooses

    def __dealloc__(self):
        self.stop()

    cdef int start(self, int64_t wanted) except -1:
        """Have a pool of this process, if so many threads are more than one."""
        if self.pool != NULL and self.generation == fork_generation:
            return 0
        self.pool = NULL
        wanted = min(self.count, wanted)
        if wanted <= 1:
            return 0
        self.pool = pool_new(<int> wanted, self.chooses)
        self.generation = fork_generation
        if self.pool == NULL:
            raise RuntimeError(f"num_threads: the system gave no {wanted} threads")
        return 0

    def share(self, object job, int64_t count):
        """Do a job on [0, count) without the GIL; the batch must be claimed.

        The job is a capsule of a `job_t`, whose context is the capsule's. Threads that do not run are not started.
        """
        cdef job_t function = <job_t> PyCapsule_GetPointer(job, JOB_CAPSULE)
        cdef void* context = PyCapsule_GetContext(job)
        cdef range_t lanes = range_t(0, count)
        self.start(min(self.count, count))
        cdef pool_t* pool = self.pool
        with nogil:
            if pool == NULL or count == 0:
                function(context, 0, count)
            else:
                pool_run(pool, function, context, &lanes, 1, 1, self.count - 1, NEVER)

    cdef void stop(self) noexcept:
        """End the threads. In the child of a fork they do not exist: their memory is left alone."""
        if self.pool != NULL and self.generation == fork_generation:
            pool_free(self.pool)
        self.pool = NULL


# --- the one check between a caller's actions and the kernels, which trust what they get ------------------------------

cdef enum:
    # Values from which on threads share the check, with the GIL free: one alone takes a tenth of the time that two need
    # for a step of 65536 lanes of CartPole.
    SHARED_VALUES = 16384
    # Values that a thread looks at before it asks for more.
    CHECK_LEAST = 4096
    CHECK_MOST = 8192
    # Values between two looks at signals.
    CHECK_PART = 1048576


ctypedef struct check_t:
    const lifecycle_t* loops
    const void* values
    int64_t discrete
    const int64_t* ranges          # of each value of an action, or NULL
    int64_t width                  # values of an action
    int typenum


cdef int64_t check_job(void* context, int64_t lo, int64_t hi) noexcept nogil:
    """0 if all values [lo, hi) are actions."""
    cdef const check_t* check = <const check_t*> context
    cdef int64_t k, bad = 0
    if check.ranges != NULL:
        for k in range(lo, hi):
            bad |= (<uint64_t> (<const int64_t*> check.values)[k] - <uint64_t> check.ranges[k % check.width * 2]
                    >= <uint64_t> check.ranges[k % check.width * 2 + 1])
        return bad
    if check.discrete:
        return check.loops.outside(<const int64_t*> check.values + lo, check.discrete, hi - lo)
    if check.typenum == cnp.NPY_FLOAT64:
        return check.loops.wide_nans(<const double*> check.values + lo, hi - lo)
    return check.loops.nans(<const float*> check.values + lo, hi - lo)


cdef int64_t count_bad(check_t* check, int64_t size, Threads threads) except -1:
    """0 if all values are actions; the caller must own the threads, or give None."""
    cdef int64_t lo = 0, hi, bad, ended
    cdef range_t part
    cdef pool_t* pool = NULL
    if size < SHARED_VALUES:
        return check_job(check, 0, size)
    if threads is not None:
        pool = threads.pool if threads.generation == fork_generation else NULL
    while True:
        hi = min(size, lo + CHECK_PART)
        with nogil:
            if pool != NULL:
                # A check is no step: the one that follows is not to take the threads for awake because of it.
                ended = pool.ended
                part = range_t(lo, hi)
                bad = pool_run(pool, check_job, check, &part, CHECK_LEAST, CHECK_MOST, 0, NEVER)
                pool.ended = ended
            else:
                bad = check_job(check, lo, hi)
        if bad or hi == size:
            return bad
        PyErr_CheckSignals()
        lo = hi


cdef void widen(const float* source, double* target, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count):
        target[i] = source[i]


cdef cnp.ndarray checked_actions(
    object actions, tuple shape, const kernel_t* kernel, int64_t discrete, int typenum, cnp.ndarray scratch,
    const lifecycle_t* loops, Threads threads, object errors
):
    """Actions as a C-contiguous array of the shape and type, every value checked.

    The type is int64, and values below `discrete` or in the ranges of the kernel; or float32 or float64. Float32
    actions that are to be float64 go into `scratch`, if it has their shape: it is what is returned then. Where there is
    a scratch for integers, the array is a copy, which no other thread writes to.

    An array that is one already is returned as it is. NumPy's own flags are read instead of the buffer protocol, which
    takes 0.2 us on an array it has not seen before.
    """
    cdef cnp.ndarray array
    cdef check_t check
    cdef int given = -1   # the type of an array of this shape and layout
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
    check.loops = loops
    check.values = cnp.PyArray_DATA(array)
    check.discrete = discrete
    check.ranges = kernel.action_ranges
    check.width = max(kernel.action_size, 1)
    check.typenum = typenum
    if count_bad(&check, cnp.PyArray_SIZE(array), threads):
        refuse(array, kernel, discrete, errors)
    return array


cdef object convert(object actions, tuple shape, int typenum, object errors):
    """Actions of another type or layout as the array the kernel wants; the message says what came."""
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


cdef object refuse(cnp.ndarray actions, const kernel_t* kernel, int64_t discrete, object errors):
    """Raise for the first action that is out of range or nan."""
    cdef int64_t k, width = max(kernel.action_size, 1)
    array = actions.copy()
    if kernel.action_ranges != NULL:
        first = np.array([kernel.action_ranges[2 * k] for k in range(width)])
        end = first + [kernel.action_ranges[2 * k + 1] for k in range(width)]
        bad = ((array.reshape(-1, width) < first) | (array.reshape(-1, width) >= end)).reshape(array.shape)
    else:
        bad = (array < 0) | (array >= discrete) if discrete else np.isnan(array)
    if not bad.any():
        raise errors.InvalidAction("actions: expected an array that nobody changes during the call")
    where = tuple(int(k) for k in np.argwhere(bad)[0])
    name = f"actions[{', '.join(map(str, where))}]"
    if kernel.action_ranges != NULL:
        k = np.ravel_multi_index(where, array.shape) % width
        raise errors.InvalidAction(f"{name} = {array[where]} is outside [{first[k]}, {end[k]})")
    if discrete:
        raise errors.InvalidAction(f"{name} = {array[where]} is outside Discrete({discrete})")
    raise errors.InvalidAction(f"{name} = nan: expected a number")


# --- the arrays that a step returns ----------------------------------------------------------------------------------

cdef tuple rings(list shapes, bint reuse):
    """For each of some (dtype, shape) what hands out such arrays."""
    return tuple([ArrayRing(shape, dtype, reuse) for dtype, shape in shapes])


cdef tuple rings_of_infos(Py_ssize_t n, tuple fields, bint reuse):
    return tuple([ArrayRing((n,) if size == 1 else (n, size), dtype, reuse) for _, dtype, size in fields])


cdef object take_all(tuple sources, void** parts):
    """The next array of each ring, as a tuple."""
    cdef Py_ssize_t k
    return tuple([(<ArrayRing> sources[k]).take(&parts[k]) for k in range(len(sources))])


cdef class StepArrays:
    """Recycled arrays for the results of a step of `n` lanes.

    Args:
        n: number of rows.
        spec: sizes and types of the kernel (`kernel_spec`).
        mode: when lanes begin new episodes (`episodes.pxd`). In the batch of one behind `make` an observation of floats
            has no axis of lanes, and infos are asked for one by one.
        reuse: hand out the same arrays at every step, instead of arrays that the caller may keep.
        statistics: whether there are returns, lengths and durations of episodes.
    """

    cdef ArrayRing rewards, terminated, truncated, ends, returns, lengths, times
    cdef ArrayRing observation            # the array of an observation that is one array, or None
    cdef tuple observations, finals       # rings of the arrays that observations consist of
    cdef tuple layout                     # of observations of several arrays, or None
    cdef tuple info_rings, final_info_rings, mask_rings
    cdef tuple info_names, mask_names
    cdef tuple step_infos                 # of each of the infos whether a lane that begins an episode has none
    cdef tuple termination_infos          # names of those that only lanes which terminate have
    cdef object begun                     # bool [n]: lanes that began an episode in this step; or None
    cdef Py_ssize_t n
    # The running step, until `finish`: which lanes ended, and their last observations.
    cdef object ended, final_observations
    cdef dict infos, final_infos          # None for a kernel without infos
    cdef dict episodes                    # return, length and duration of the episodes that ended, zeros elsewhere

    def __cinit__(self, Py_ssize_t n, dict spec, int mode, bint reuse, bint statistics):
        cdef bint finals = mode == SAME_STEP
        cdef tuple lead = () if mode == SINGLE else (n,)
        cdef list shapes = [(dtype, lead + shape) for dtype, shape in spec["observation_parts"]]
        self.n = n
        self.layout = spec["layout"]
        self.observations = rings(shapes, reuse)
        if self.layout is None:
            self.observation = self.observations[0]
        self.rewards = ArrayRing((n,), np.float64, reuse)
        self.terminated = ArrayRing((n,), np.bool_, reuse)
        self.truncated = ArrayRing((n,), np.bool_, reuse)
        if finals or statistics:
            self.ends = ArrayRing((n,), np.bool_, reuse)
        if finals:
            self.finals = rings(shapes, reuse)
        if statistics:
            self.returns, self.times = ArrayRing((n,), np.float64, reuse), ArrayRing((n,), np.float64, reuse)
            self.lengths = ArrayRing((n,), np.int64, reuse)
        if spec["infos"] and mode != SINGLE:
            self.info_names = tuple([name for name, _, _ in spec["infos"]])
            self.mask_names = tuple([f"_{name}" for name in self.info_names])
            self.info_rings = rings_of_infos(n, spec["infos"], reuse)
            self.mask_rings = rings([(np.bool_, (n,))] * len(self.info_names), reuse)
            if finals:
                self.final_info_rings = rings_of_infos(n, spec["infos"], reuse)
            self.step_infos = tuple([name in spec["step_infos"] for name in self.info_names])
            self.termination_infos = spec["termination_infos"]
            if spec["step_infos"]:
                self.begun = np.zeros(n, np.bool_)

    cdef object take_observations(self, void** parts):
        """An array, or a tuple or dict of arrays, for observations, and where each begins."""
        if self.observation is not None:
            return self.observation.take(&parts[0])
        return grouped(self.layout, iter(take_all(self.observations, parts)))

    cdef int take_infos(self, void** parts, object mask, bint beginning) except -1:
        """Arrays for the infos of the lanes of a mask (None for all): zeros where the mask is not set.

        Lanes that begin an episode have not all of them.
        """
        cdef Py_ssize_t k
        cdef void* flags
        cdef ArrayRing ring
        cdef object array
        # Ours must be gone before a ring is asked, or its array would never be free.
        self.infos = None
        if self.info_rings is None:
            return 0
        infos = {}
        for k in range(len(self.info_rings)):
            ring = self.info_rings[k]
            array = ring.take(&parts[k])
            if beginning and self.step_infos[k]:
                continue
            infos[self.info_names[k]] = array
            ring = self.mask_rings[k]
            infos[self.mask_names[k]] = ring.take(&flags)
            if mask is None:
                memset(flags, 1, self.n)
            else:
                copy_bytes(flags, cnp.PyArray_DATA(<cnp.ndarray> mask), self.n)
                memset(parts[k], 0, cnp.PyArray_NBYTES(<cnp.ndarray> array))
        self.infos = infos
        return 0

    cdef int leave_out_infos(self) except -1:
        """Take back what lanes that began an episode in this step do not have."""
        cdef Py_ssize_t k
        if self.begun is None or memchr(cnp.PyArray_DATA(<cnp.ndarray> self.begun), 1, self.n) == NULL:
            return 0
        others = ~self.begun
        some = others.any()
        for k in range(len(self.info_names)):
            if self.step_infos[k] and some:
                self.infos[self.mask_names[k]][...] = others
            elif self.step_infos[k]:
                del self.infos[self.info_names[k]], self.infos[self.mask_names[k]]
        return 0

    cdef int leave_out_terminations(self, cnp.ndarray terminated) except -1:
        """Take back what only lanes that terminate have: they have it in the final infos, if there are any."""
        cdef dict infos
        for infos in (self.infos, self.final_infos):
            for name in self.termination_infos if infos else ():
                if infos is (self.infos if self.finals is None else self.final_infos) and terminated.any():
                    infos[f"_{name}"] = terminated.copy()
                else:
                    infos.pop(name, None)
                    infos.pop(f"_{name}", None)
        return 0

    cdef int take_final_infos(self, void** parts) except -1:
        """Arrays for the last infos of lanes that end in a step."""
        cdef Py_ssize_t k
        self.final_infos = {}
        if self.final_info_rings is None:
            return 0
        arrays = take_all(self.final_info_rings, parts)
        for k in range(len(arrays)):
            self.final_infos[self.info_names[k]] = arrays[k]
            self.final_infos[self.mask_names[k]] = self.ended
        return 0

    cdef int take_ends(self, outputs_t* out) except -1:
        # Ours must be gone before a ring is asked.
        self.ended = self.final_infos = self.episodes = None
        self.ended = self.ends.take(<void**> &out.ended)
        if self.finals is not None:
            self.final_observations = None
            self.final_observations = take_all(self.finals, out.final_observations)
            if self.observation is not None:
                self.final_observations = self.final_observations[0]
            self.take_final_infos(out.final_infos)
        if self.returns is not None:
            self.episodes = {
                "r": self.returns.take(<void**> &out.reports.returns),
                "l": self.lengths.take(<void**> &out.reports.lengths),
                "t": self.times.take(<void**> &out.reports.times)}
        return 0

    cdef dict finish(self, int64_t ended, uint8_t* terminated):
        """The infos of a step in which that many episodes ended, as Gymnasium lays them out; the caller's from now on.
        """
        cdef dict infos = {}
        cdef cnp.npy_intp size = self.n
        if self.infos is not None:
            self.leave_out_infos()
            if self.termination_infos:
                self.leave_out_terminations(cnp.PyArray_SimpleNewFromData(1, &size, cnp.NPY_BOOL, terminated))
            infos, self.infos = self.infos, None
        if self.ends is None:
            return infos
        if ended and self.finals is not None:
            last = self.final_observations
            infos["final_obs"] = last if self.layout is None else last_rows(last, self.layout, self.ended)
            infos["_final_obs"] = self.ended
            infos["final_info"] = self.final_infos
            infos["_final_info"] = self.ended
        if ended and self.episodes is not None:
            infos["episode"] = self.episodes
            infos["_episode"] = self.ended
        self.ended = self.final_observations = self.final_infos = self.episodes = None
        return infos


cdef tuple parts_in(tuple layout):
    return layout[1] if layout[0] == "tuple" else layout[2]


cdef object grouped(tuple layout, object parts):
    """The arrays that an iterator gives as an observation of this layout (see batch_buffer.pyx)."""
    if layout[0] == "array":
        return next(parts)
    values = [grouped(part, parts) for part in parts_in(layout)]
    return tuple(values) if layout[0] == "tuple" else dict(zip(layout[1], values))


cdef list leaves(tuple layout, str name, object value, object errors):
    """The arrays of an observation of this layout, with their names."""
    cdef list found = []
    if layout[0] == "array":
        return [(name, value)]
    kind = tuple if layout[0] == "tuple" else dict
    keys = range(len(layout[1])) if kind is tuple else layout[1]
    if not isinstance(value, kind) or len(value) != len(keys):
        got = f"{len(value)} of them" if isinstance(value, kind) else type(value).__name__
        raise errors.ArgumentTypeError(f"{name}: expected a {kind.__name__} of {len(keys)} arrays, got {got}")
    for key, part in zip(keys, parts_in(layout)):
        if kind is dict and key not in value:
            raise errors.InvalidArgument(f"{name}: expected the keys {list(keys)}, got {list(value)}")
        found += leaves(part, f"{name}[{key!r}]", value[key], errors)
    return found


cdef object last_rows(tuple columns, tuple layout, object mask):
    """Observations of several arrays as an object array: that of each lane of the mask, None elsewhere."""
    rows = np.full(len(mask), None, object)
    for lane in np.flatnonzero(mask).tolist():
        rows[lane] = grouped(layout, iter([unboxed(np.array(column[lane])) for column in columns]))
    return rows


cdef object unboxed(object part):
    """The observation of one lane: an int where it is one, or the array."""
    return part.item() if part.ndim == 0 and part.dtype == np.int64 else part


cdef int take_extras(StepArrays arrays, outputs_t* out) except -1:
    """Take what a step writes besides observations, rewards and flags."""
    out.ended = NULL
    out.final_observations[0] = NULL
    out.infos[0] = NULL
    out.final_infos[0] = NULL
    out.begun = NULL
    out.reports.returns = NULL
    if arrays.info_rings is not None:
        arrays.take_infos(out.infos, None, False)
        if arrays.begun is not None:
            out.begun = <uint8_t*> cnp.PyArray_DATA(<cnp.ndarray> arrays.begun)
    return arrays.take_ends(out) if arrays.ends is not None else 0


cdef tuple take_results(StepArrays arrays, outputs_t* out):
    """Take all that a step writes; return the arrays of observations, rewards and flags."""
    observations = arrays.take_observations(out.observations)
    rewards = arrays.rewards.take(<void**> &out.rewards)
    terminated = arrays.terminated.take(<void**> &out.terminated)
    truncated = arrays.truncated.take(<void**> &out.truncated)
    take_extras(arrays, out)
    return observations, rewards, terminated, truncated


cdef list bind_parts(void** parts, object arrays, str name, tuple lead, dict spec, object errors):
    """Where the arrays of observations [*lead, ...] that a caller gave begin; as pairs (name, array) too."""
    cdef Py_ssize_t k
    cdef list named = [(name, arrays)] if spec["layout"] is None else leaves(spec["layout"], name, arrays, errors)
    for k in range(len(named)):
        dtype, shape = spec["observation_parts"][k]
        parts[k] = array_pointer(named[k][1], named[k][0], np.dtype(dtype).num, lead + shape, True, errors)
    return named


# --- infos of one lane as a dict: for the single environments, which have no use for columns -------------------------

# Bytes that all infos of a lane may take.
cdef enum:
    INFO_BYTES = 4096

# NumPy's types in the order of kernel.h.
cdef int[11] INFO_TYPES = [
    cnp.NPY_FLOAT32, cnp.NPY_FLOAT64, cnp.NPY_INT64, cnp.NPY_INT8, cnp.NPY_UINT8,
    cnp.NPY_INT16, cnp.NPY_INT32, cnp.NPY_UINT16, cnp.NPY_UINT32, cnp.NPY_UINT64, cnp.NPY_BOOL,
]


cdef tuple info_names(dict spec):
    """Names of the infos of a kernel, which must not be too many."""
    if sum([(size * np.dtype(dtype).itemsize + 7) & ~7 for _, dtype, size in spec["infos"]]) > INFO_BYTES:
        raise ValueError(f"kernel: expected at most {INFO_BYTES} bytes of infos a lane")
    return tuple([name for name, _, _ in spec["infos"]])


cdef object info_value(const info_field_t* field, char* data, bint numpy_scalars):
    """One entry of the infos of a lane: a float, an int, or an array of its own; or NumPy's numbers."""
    cdef cnp.npy_intp size = field.size
    cdef cnp.ndarray array
    if size == 1 and numpy_scalars:
        return PyArray_Scalar(data, cnp.PyArray_DescrFromType(INFO_TYPES[field.type]), None)
    if size == 1 and field.type == FLOAT64:
        return (<const double*> data)[0]
    if size == 1 and field.type == INT64:
        return (<const int64_t*> data)[0]
    array = cnp.PyArray_SimpleNew(1, &size, INFO_TYPES[field.type])
    memcpy(cnp.PyArray_DATA(array), data, cnp.PyArray_NBYTES(array))
    return array.item() if size == 1 else array


cdef object float32_scalar(double number):
    cdef float rounded = <float> number
    return PyArray_Scalar(&rounded, FLOAT, None)


cdef int narrow_infos(object infos, tuple names) except -1:
    """Convert some of the infos of a batch, if there are any, to float32."""
    for name in names:
        if infos and name in infos:
            infos[name] = infos[name].astype(np.float32)
    return 0


cdef dict infos_of_lane(const lanes_t* lanes, tuple names, int64_t lane, bint beginning, bint numpy_scalars):
    """All entries of a lane but those of a termination; those that it has if it has only begun an episode."""
    cdef void* parts[MAX_INFOS]
    cdef char place[INFO_BYTES]
    cdef int64_t bytes = 0
    cdef dict infos = {}
    cdef int part, count = lanes.kernel.info_count
    if count == 0:
        return infos
    for part in range(count):
        parts[part] = shifted(place, bytes - lane * lanes.info_bytes[part])
        bytes += (lanes.info_bytes[part] + 7) & ~<int64_t> 7
    lanes.kernel.write_infos(&lanes.columns, parts, &lane, 0, 1)
    for part in range(count):
        if not lanes.kernel.infos[part].when if beginning else lanes.kernel.infos[part].when != TERMINATIONS:
            infos[names[part]] = info_value(
                &lanes.kernel.infos[part], <char*> shifted(parts[part], lane * lanes.info_bytes[part]),
                numpy_scalars)
    return infos


# --- stepping --------------------------------------------------------------------------------------------------------

# Times in nanoseconds.
cdef enum:
    # Below this a call is shorter than giving the GIL away and taking it back, and is not timed.
    BRIEF = 2000
    # The first calls are timed, and then one of so many.
    FIRST_CALLS = 8
    TIMED = 64
    # Work that a thread takes at a time, and at most so many lanes: enough to make the claim free, little enough to
    # balance cores of which one is slower.
    LEAST_WORK = 5000
    MOST_WORK = 50000
    MOST_TAKEN = 2048
    # Minimum work of a thread that is awake, and of one that must be woken first. Two cores of a virtual machine,
    # CartPole: two threads share 20 us of work in 12 us if calls follow each other closely; if not, they are as fast as
    # one at 80 us, and 1.2x at 160 us.
    WORK_TO_SHARE = 10000
    WORK_TO_WAKE = 80000
    # Work that is always shared.
    LONG_WORK = 1000000
    # Steps in one call that are worth waking every thread.
    LONG_ROLLOUT = 4
    # Work between two looks at signals, and the same where a lane takes long: at the end of every part threads wait for
    # the last lane.
    PART = 2000000
    LONG_LANE = 20000
    LONG_PART = 10000000
    # Lanes that a rollout takes through many steps before it turns to others: their state stays in the caches.
    ROLLED_LANES = 4096


ctypedef struct cost_t:
    # How long a lane takes, in nanoseconds: as measured, 0 before.
    double lane
    int64_t calls


cdef inline bint is_timed(const cost_t* cost) noexcept nogil:
    return cost.calls < FIRST_CALLS or cost.calls % TIMED == 0


cdef inline void note_time(cost_t* cost, double lane) noexcept nogil:
    """Take a measurement into account; one that was interrupted counts little."""
    if cost.lane == 0.0 or lane < cost.lane and cost.calls < FIRST_CALLS:
        cost.lane = max(lane, 0.1)
    else:
        cost.lane += (max(min(lane, 2.0 * cost.lane), 0.1) - cost.lane) / 8.0


cdef class Batch(LaneMemory):
    """Lanes of one environment: state, parameters, random streams and lifecycle of each, and the outputs of a step.

    Args:
        kernel: capsule of the environment's physics (`gymcore_ext.physics.<name>.kernel`).
        num_envs: number of lanes.
        limit: steps after which an episode is truncated, or 0 for none.
        mode: 0 next-step autoreset, 1 same-step autoreset, 2 none (stepping an ended lane is an error), 3 none and
            unchecked (the batch of one behind `make`).
        num_threads: threads that share a step, or None: as many as its measured time is worth, up to `max_threads`.
        reuse: hand out the same output arrays at every step, instead of arrays that the caller may keep.
        statistics: report return, length and duration of ended episodes.
        errors: namespace of exception classes: InvalidAction, InvalidArgument, ArgumentTypeError, ResetNeeded,
            ClosedEnvironmentError, ConcurrentUseError.
        shared: capsule with the table that lanes share, for a kernel that has one.
        store: object that owns the lanes, for a kernel whose lanes are not columns.
        choices: how many discrete actions there are, if the kernel leaves that to the shared table.
        layout: how the arrays of an observation are grouped (see batch_buffer.pyx); None for one array, or a tuple.
        copies_actions: whether the kernel wants integers that nobody changes while it reads them.
        isa: name of the instruction set to use; the best one by default.

    After an error nothing has changed. One thread at a time may use a batch; a second one gets ConcurrentUseError.
    Signals are handled every few milliseconds; after an exception of their handlers all lanes must be reset.
    """

    cdef readonly Threads threads
    cdef int action_typenum
    cdef bint reuse, observes_numbers
    cdef tuple action_shape, info_names
    cdef cnp.ndarray scratch       # float64 actions that came as float32, or integers that are copied; or None
    cdef StepArrays arrays
    cdef readonly dict spec        # kernel_spec, and the layout of observations
    cdef dict subsets              # arrays for steps of fewer lanes, by their number
    cdef object before_reset
    cdef cost_t step_cost, reset_cost
    cdef int64_t rolled            # steps of lanes that a rollout takes between two looks at signals, as last measured
    # Names of infos, and in a batch of one "reward", that are float32 after a float32 action. A batch of one converts
    # them itself, because NumPy would take 9 % of a step of Reacher for it.
    cdef public tuple float32_numbers
    cdef public bint numpy_scalars  # whether a batch of one returns its reward and infos as NumPy's scalars
    cdef readonly bint truncated   # whether the last step of a batch of one truncated its episode

    def __cinit__(
        self, object kernel, Py_ssize_t num_envs, *, int64_t limit=0, int mode=0, object num_threads=1,
        int max_threads=1, bint reuse=False, bint statistics=False, object errors, object isa=None, object shared=None,
        object store=None, int64_t choices=0, tuple layout=None, bint copies_actions=False,
    ):
        cdef const kernel_t* spec = self.lanes.kernel
        if num_threads is not None and num_threads < 1:
            raise errors.InvalidArgument(f"num_threads: expected at least 1, got {num_threads}")
        if mode not in (NEXT_STEP, SAME_STEP, DISABLED, SINGLE) or (mode == SINGLE and num_envs != 1):
            raise errors.InvalidArgument(f"mode: expected 0, 1, 2, or 3 with one lane, got {mode} with {num_envs}")
        if limit < 0:
            raise errors.InvalidArgument(f"limit: expected 0 for none or a positive number of steps, got {limit}")
        self.threads = Threads(max_threads if num_threads is None else num_threads, num_threads is None)
        self.spec = kernel_spec(kernel)
        if layout is None and len(self.spec["observation_parts"]) > 1:
            layout = ("tuple", tuple([("array", *part) for part in self.spec["observation_parts"]]))
        self.spec["layout"] = layout if layout is None or layout[0] != "array" else None
        self.action_shape = (num_envs,)
        self.action_typenum = np.dtype(self.spec["action_dtype"]).num
        if spec.action_size:
            self.action_shape = (num_envs, *self.spec["action_shape"])
        if self.action_typenum == cnp.NPY_FLOAT64 or (copies_actions and self.action_typenum == cnp.NPY_INT64):
            self.scratch = np.empty(
                self.action_shape[1:] if mode == SINGLE else self.action_shape, self.spec["action_dtype"])
        self.float32_numbers = ()
        self.lanes.episodes.limit = <int32_t> min(limit, 0x7FFFFFFF) if limit else 0x7FFFFFFF
        self.lanes.episodes.mode = mode
        if mode == NEXT_STEP:
            self.lanes.columns.resetting = self.lanes.episodes.ended
        self.observes_numbers = (
            spec.part_count == 0 and spec.observation_type == INT64
            and (spec.observation_size > 1) == (self.spec["layout"] is not None))
        self.info_names = info_names(self.spec)
        self.reuse = reuse
        self.arrays = self._arrays(num_envs)
        self.subsets = {}
        self.rolled = 1

    cdef StepArrays _arrays(self, Py_ssize_t n):
        return StepArrays(n, self.spec, self.lanes.episodes.mode, self.reuse, self.statistics)

    def close(self):
        """Stop the threads; every later call but `close` raises."""
        self._enter(ANY_USE)
        self.closed = True
        self.busy = 0
        self.threads.stop()

    # --- stepping -------------------------------------------------------------------------------------------------

    cdef cnp.ndarray _actions(self, object actions, tuple shape, bint kept=False):
        """Checked actions of the shape, in the layout of the kernel; for this call alone, unless to be kept."""
        # What is kept may be checked while another thread steps: neither scratch nor pool are free then.
        cdef int typenum = self.action_typenum
        if typenum == cnp.NPY_FLOAT64:
            # Costs of float32 actions are float32, as in NumPy: a kernel for float64 is told what came.
            float32 = cnp.PyArray_Check(actions) and cnp.PyArray_TYPE(<cnp.ndarray> actions) == cnp.NPY_FLOAT32
            if kept:
                typenum = cnp.NPY_FLOAT32 if float32 else cnp.NPY_FLOAT64
            else:
                self.lanes.columns.float32_actions = float32
        return checked_actions(
            actions, shape, self.lanes.kernel, self.lanes.choices, typenum, None if kept else self.scratch,
            self.lanes.lifecycle, None if kept else self.threads, self.errors)

    cdef int _check_ended(self) except -1:
        """In DISABLED mode a lane that ended must be reset before it is stepped."""
        if self.lanes.episodes.mode != DISABLED or memchr(self.lanes.episodes.ended, 1, self.num_envs) == NULL:
            return 0
        self._refuse(np.flatnonzero(self.view_lifecycle()[0]))

    cdef int _refuse(self, cnp.ndarray ended) except -1:
        """Raise because these lanes have ended."""
        lanes = ended.tolist()
        shown = ", ".join(map(str, lanes[:8])) + (", ..." if len(lanes) > 8 else "")
        raise self.errors.ResetNeeded(
            f"step: environments [{shown}] have ended their episodes and autoreset is disabled; "
            "call reset(options={'reset_mask': terminations | truncations})")

    cdef int64_t _run(self, const void* actions, outputs_t* out, int64_t steps) except -1:
        """Step (steps = 0) or roll out every lane, by one thread or the pool."""
        cdef rollout_t job
        cdef int64_t count, spent, n = self.lanes.num_envs
        job.lanes = &self.lanes
        out.streamed = (
            self.lanes.parts == 1 and self.lanes.row_bytes[0] <= 8 * STREAM_WORDS
            and self.lanes.row_bytes[0] * n * max(steps, 1) > STREAM_BYTES)
        job.actions = actions
        job.out = out
        job.steps = 0
        if steps == 0:
            return self._share(step_job, &job, n, 0, &self.step_cost)
        count = 0
        while True:
            job.steps = min(max(self.rolled // min(n, ROLLED_LANES), 1), steps)
            spent = -clock_now()
            count += self._share(roll_job, &job, n, job.steps, &self.step_cost)
            spent += clock_now()
            self.rolled = max(min(2 * self.rolled, n * job.steps * self._aim() // max(spent, 1)), 1)
            steps -= job.steps
            if steps == 0:
                return count
            self._handle_signals()
            job.actions = <const char*> job.actions + job.steps * n * self.lanes.action_bytes
            out[0] = moved(&self.lanes, out, job.steps * n)

    cdef int _handle_signals(self) except -1:
        """Let Python handle its signals in the middle of a call, which an exception of theirs ends."""
        try:
            PyErr_CheckSignals()
        except BaseException:
            self.ready = False
            raise
        return 0

    cdef inline int64_t _aim(self) noexcept:
        """Work between two looks at signals."""
        return LONG_PART if self.step_cost.lane > LONG_LANE else PART

    cdef int64_t _share(self, job_t job, void* context, int64_t n, int64_t steps, cost_t* cost) except -1:
        """Do a job on [0, n), one step (steps = 0) or many of each lane, and handle signals every few milliseconds.

        How many threads share it, whether the GIL is released and how often signals are looked at follow from the time
        that lanes took before.
        """
        cdef int64_t end = 0, count = 0, spent
        cdef int threads
        cdef range_t left
        cdef bint timed = is_timed(cost)
        cost.calls += 1
        if n == 0:
            return 0
        if steps == 0 and not timed and cost.lane * n < BRIEF:
            return job(context, 0, n)
        spent = -clock_now()
        if cost.lane == 0.0:  # one lane says how to go on
            with nogil:
                count = job(context, 0, 1)
            end = 1
            cost.lane = max(<double> (spent + clock_now()) / max(steps, 1), 0.1)
        while end < n:
            left = range_t(end, min(n, end + MOST_LANES))
            end = left.hi
            while True:
                count += self._do(job, context, &left, steps, cost, clock_now() + self._aim())
                if left.lo == left.hi:
                    break
                self._handle_signals()
        if timed:
            spent += clock_now()
            threads = self.threads.pool.threads if self.threads.pool != NULL else 1
            note_time(cost, <double> spent * threads / (n * max(steps, 1)))
        return count

    cdef int64_t _do(
        self, job_t job, void* context, range_t* lanes, int64_t steps, const cost_t* cost, int64_t until
    ) except -1:
        """Do a job, by one thread or the pool, and begin no lane after a time; `lanes` has what is left then."""
        cdef Threads threads = self.threads
        cdef int64_t count, n = lanes.hi - lanes.lo, work = <int64_t> (cost.lane * n)
        cdef int64_t least = max(<int64_t> (LEAST_WORK / cost.lane), 1)
        cdef int64_t most = max(min(<int64_t> (MOST_WORK / cost.lane), MOST_TAKEN), 1)
        cdef int64_t helpers = threads.count - 1
        if least >= 64:  # whole cache lines of flags
            least = (min(least, (n + threads.count - 1) // threads.count) + 64) & ~<int64_t> 63
        threads.start(
            threads.count if not threads.chooses
            else work // WORK_TO_SHARE if cost.calls >= FIRST_CALLS or work >= LONG_WORK else 0)
        if threads.pool != NULL and n > least:
            if threads.chooses:
                threads.pool.chooses = work < LONG_WORK
                if steps < LONG_ROLLOUT:
                    helpers = max(min(threads.count, work // WORK_TO_WAKE) - 1, 0)
            with nogil:
                count = pool_run(threads.pool, job, context, lanes, least, max(least, most), <int> helpers, until)
        else:
            if threads.pool != NULL:
                threads.pool.threads = 1
            with nogil:
                count = run_alone(job, context, lanes, most, until)
        return count

    cdef int _raise_faults(self) except -1:
        """Let the owner of the lanes' physics say what happened to lanes; after a failure all want a reset."""
        if self.lanes.kernel.faulted == NULL or not self.lanes.kernel.faulted(self.lanes.columns.lanes):
            return 0
        try:
            self.store.raise_faults()
        except BaseException:
            self.ready = False
            raise
        return 0

    cdef int _prepare(self) except -1:
        """The clock of the statistics."""
        if self.statistics:
            self.lanes.episodes.clock = time.perf_counter()
        return 0

    def step(self, actions):
        """Step every lane.

        Args:
            actions: int64 [num_envs], or float32 or float64 [num_envs, action_size] as the
                kernel wants; other integer and float types are converted.

        Returns:
            observations (float32 [num_envs, size], or int64 [num_envs], or a tuple of these), rewards float64
            [num_envs], terminated and truncated bool [num_envs], and the infos as Gymnasium lays them out (arrays that
            the caller may keep).
        """
        cdef outputs_t out
        cdef StepArrays arrays = self.arrays
        cdef dict infos
        cdef int64_t count
        self._enter(STEP)
        try:
            checked = self._actions(actions, self.action_shape)
            self._check_ended()
            self._prepare()
            observations, rewards, terminated, truncated = take_results(arrays, &out)
            count = self._run(cnp.PyArray_DATA(checked), &out, 0)
            infos = self._finish(arrays, &out, None, count)
        finally:
            self.busy = 0
        return observations, rewards, terminated, truncated, infos

    cdef dict _finish(self, StepArrays arrays, outputs_t* out, object lanes, int64_t ended):
        """Begin the episodes that were deferred, and return the infos of a step of these lanes (None for all)."""
        cdef int64_t* indices = NULL if lanes is None else <int64_t*> cnp.PyArray_DATA(<cnp.ndarray> lanes)
        if ended and self.lanes.defers_resets:
            try:
                arrays.final_infos.update(self.before_reset(arrays.ended, lanes))
            finally:
                begin_deferred(&self.lanes, out, indices, arrays.n)
        infos = arrays.finish(ended, out.terminated)
        if self.float32_numbers and self.lanes.columns.float32_actions:
            narrow_infos(infos, self.float32_numbers)
            narrow_infos(infos.get("final_info"), self.float32_numbers)
        self._raise_faults()
        return infos

    def set_before_reset(self, before_reset):
        """Have ended lanes looked at in same-step autoreset before they begin their next episode.

        Args:
            before_reset: `before_reset(ended, lanes)` returns more entries for the final infos of a step in which
                episodes ended: `ended` bool [n] says in which rows, `lanes` int64 [n] which lanes they are (None for
                all). Lanes still have their last state. None to stop.
        """
        self.before_reset = before_reset
        self.lanes.defers_resets = before_reset is not None and self.lanes.episodes.mode == SAME_STEP

    def step_lanes(self, actions, cnp.ndarray lanes not None):
        """Step some lanes; the others are not touched.

        Args:
            actions: int64 [n] or float32 [n, action_size]; other integer and float types are converted.
            lanes: int64 [n], which lanes, each at most once.

        Returns:
            As `step`, with a row for each of the lanes in their order.
        """
        cdef outputs_t out
        cdef subset_t job
        cdef cnp.ndarray checked
        cdef StepArrays arrays
        cdef dict infos
        cdef int64_t count, n
        self._enter(STEP)
        try:
            n = self._check_lanes(lanes)
            checked = self._actions(actions, (n,) + self.action_shape[1:])
            self._prepare()
            arrays = self._arrays_for(n)
            observations, rewards, terminated, truncated = take_results(arrays, &out)
            out.streamed = False
            job.lanes = &self.lanes
            job.actions = <const char*> cnp.PyArray_DATA(checked)
            job.action_bytes = self.lanes.action_bytes
            job.out = &out
            job.indices = <const int64_t*> cnp.PyArray_DATA(lanes)
            count = self._share(subset_job, &job, n, 0, &self.step_cost)
            infos = self._finish(arrays, &out, lanes, count)
        finally:
            self.busy = 0
        return observations, rewards, terminated, truncated, infos

    def checked_actions(self, actions, Py_ssize_t n):
        """Actions of `n` lanes in the layout of the kernel, every value checked; maybe the very array."""
        return self._actions(actions, (n,) + self.action_shape[1:], True)

    def check_lanes(self, cnp.ndarray lanes not None):
        """Raise unless these lanes, int64 [n], may be stepped."""
        self._check_lanes(lanes)

    cdef StepArrays _arrays_for(self, Py_ssize_t n):
        if n == self.num_envs:
            return self.arrays
        if n not in self.subsets:
            make_room(self.subsets)
            self.subsets[n] = self._arrays(n)
        return self.subsets[n]

    cdef Py_ssize_t _check_lanes(self, cnp.ndarray lanes) except -1:
        """How many lanes these are; raises for an index that is none, and an ended lane in DISABLED mode."""
        cdef Py_ssize_t k, n = cnp.PyArray_SIZE(lanes)
        cdef const int64_t* indices = lane_pointer(lanes, "lanes", self.num_envs, self.errors)
        if self.lanes.episodes.mode == DISABLED:
            for k in range(n):
                if self.lanes.episodes.ended[indices[k]]:
                    self._refuse(lanes[self.view_lifecycle()[0][lanes]])
        return n

    def step_into(self, actions, observations, rewards, terminated, truncated, final_observations=None):
        """Step every lane and write into arrays of the caller; returns the infos."""
        return self.bind_step(actions, observations, rewards, terminated, truncated, final_observations)()

    def bind_step(self, actions, observations, rewards, terminated, truncated, final_observations=None):
        """Check arrays once for many steps.

        Args:
            actions: of every lane; an array is read at each step, other things now.
            observations: as `step` returns them; written, as the others.
            rewards: float64, or float32, rounded.
            terminated: bool [num_envs].
            truncated: bool [num_envs].
            final_observations: None, or in same-step autoreset arrays for the last observations of lanes that ended,
                which become `final_obs` of the infos; zeros elsewhere.

        Returns:
            A function without arguments, which steps every lane and returns the infos.
        """
        cdef BoundStep bound = BoundStep.__new__(BoundStep)
        self._enter(STEP)
        try:
            given = actions if isinstance(actions, cnp.ndarray) else self._actions(actions, self.action_shape, True)
            if isinstance(rewards, cnp.ndarray) and cnp.PyArray_TYPE(rewards) == cnp.NPY_FLOAT32:
                bound.rewards, rewards = rewards, np.empty(self.num_envs)
                array_pointer(bound.rewards, "rewards", cnp.NPY_FLOAT32, (self.num_envs,), True, self.errors)
            bound.written = self._bind(
                &bound.out, given, observations, rewards, terminated, truncated, (self.num_envs,), final_observations)
        finally:
            self.busy = 0
        memcpy(bound.finals, bound.out.final_observations, sizeof(bound.finals))
        bound.batch, bound.actions, bound.final_observations = self, given, final_observations
        bound.wide_rewards = rewards
        return bound

    cdef list _bind(
        self, outputs_t* out, object actions, object observations, object rewards, object terminated, object truncated,
        tuple lead, object final_observations=None
    ):
        """Write into these arrays, none of which may share memory with another or with the actions; return them."""
        errors = self.errors
        taken = bind_parts(out.observations, observations, "observations", lead, self.spec, errors)
        out.rewards = <double*> array_pointer(rewards, "rewards", cnp.NPY_FLOAT64, lead, True, errors)
        out.terminated = <uint8_t*> array_pointer(terminated, "terminated", cnp.NPY_BOOL, lead, True, errors)
        out.truncated = <uint8_t*> array_pointer(truncated, "truncated", cnp.NPY_BOOL, lead, True, errors)
        if final_observations is not None:
            if self.lanes.episodes.mode != SAME_STEP:
                raise errors.InvalidArgument(
                    "final_observations: only same-step autoreset replaces final observations")
            taken += bind_parts(
                out.final_observations, final_observations, "final_observations", lead, self.spec, errors)
        taken += [("rewards", rewards), ("terminated", terminated), ("truncated", truncated), ("actions", actions)]
        check_no_overlap(taken, errors)
        return taken

    cdef int64_t _steps(self, object actions) except -1:
        """T of actions [T, num_envs, ...]."""
        cdef tuple shape = tuple(np.shape(actions))  # that of a tensor is a subclass
        if len(shape) < 1 or shape[0] < 1:
            raise self.errors.InvalidAction(f"actions: expected [T, num_envs, ...] with T >= 1, got shape {shape}")
        return shape[0]

    def rollout(self, actions, observations, rewards, terminated, truncated, final_observations=None):
        """Step every lane through actions [T, num_envs, ...], writing arrays [T, num_envs, ...] of the caller.

        The GIL is released nearly all the time. `final_observations` (float32 [T, num_envs, size], same-step autoreset)
        gets the last observation of every lane that ended at t, and zeros elsewhere. Returns how many episodes ended.
        """
        cdef outputs_t out
        cdef cnp.ndarray checked
        cdef int64_t count, steps
        cdef bint deferred
        self._enter(STEP)
        try:
            if self.lanes.episodes.mode == DISABLED:
                raise self.errors.InvalidArgument(
                    "rollout: expected autoreset_mode NEXT_STEP or SAME_STEP, got DISABLED, whose ended lanes must be "
                    "reset between steps")
            steps = self._steps(actions)
            checked = self._actions(actions, (steps,) + self.action_shape)
            memset(&out, 0, sizeof(out))
            self._bind(
                &out, checked, observations, rewards, terminated, truncated, (steps, self.num_envs), final_observations)
            self._prepare()
            deferred, self.lanes.defers_resets = self.lanes.defers_resets, False
            try:
                count = self._run(cnp.PyArray_DATA(checked), &out, steps)
            finally:
                self.lanes.defers_resets = deferred
            self._raise_faults()
        finally:
            self.busy = 0
        return count

    def step_single(self, int64_t action):
        """Step the only lane by a discrete action: observation float32 [size], reward, terminated."""
        self._check_single()
        cdef int64_t first = 0 if self.lanes.kernel.action_ranges == NULL else self.lanes.kernel.action_ranges[0]
        if not 0 <= action - first < self.lanes.choices:
            raise self.errors.InvalidAction(
                f"action = {action} is outside Discrete({self.lanes.choices}{f', start={first}' if first else ''})")
        return self._single(&action)

    def step_single_numbers(self, action):
        """Step the only lane by a continuous action [action_size]; returns as `step_single`."""
        self._check_single()
        return self._single(cnp.PyArray_DATA(self._actions(action, self.action_shape[1:])))

    cdef int _check_single(self) except -1:
        """Raise unless this is the batch of a single environment: lanes of others are stepped together."""
        if self.lanes.episodes.mode != SINGLE:
            raise self.errors.Error(
                "a lane of a vector environment: reset and step the vector environment instead")
        return 0

    cdef object _single(self, const void* action):
        cdef outputs_t out
        cdef double reward
        cdef uint8_t terminated, truncated
        cdef int64_t numbers[MAX_PARTS]
        self._enter(STEP)
        try:
            memset(&out, 0, sizeof(out))
            observation = self._take_row(&out, numbers)
            out.rewards = &reward
            out.terminated = &terminated
            out.truncated = &truncated
            self._advance_single(action, &out)
            self._raise_faults()
        finally:
            self.busy = 0
        self.truncated = truncated
        number = PyArray_Scalar(&reward, DOUBLE, None) if self.numpy_scalars else reward
        if self.lanes.columns.float32_actions and "reward" in self.float32_numbers:
            number = float32_scalar(reward)
        return self._row(observation, numbers), number, terminated != 0

    cdef void _advance_single(self, const void* action, outputs_t* out) noexcept:
        """Step the only lane, without the GIL if that takes long."""
        cdef cost_t* cost = &self.step_cost
        cdef int64_t begun
        if is_timed(cost):
            begun = clock_now()
            with nogil:
                advance(&self.lanes, action, out, 0, 1)
            note_time(cost, <double> (clock_now() - begun))
        elif cost.lane < BRIEF:
            advance(&self.lanes, action, out, 0, 1)
        else:
            with nogil:
                advance(&self.lanes, action, out, 0, 1)
        cost.calls += 1

    cdef object _take_row(self, outputs_t* out, int64_t* numbers):
        """Where the observation of a batch of one goes: an array, or `numbers` if it is integers."""
        cdef int k
        if not self.observes_numbers:
            return self.arrays.take_observations(out.observations)
        for k in range(self.lanes.parts):
            out.observations[k] = &numbers[k]

    cdef object _row(self, object array, int64_t* numbers):
        """The observation of a batch of one: an array, an int, or a tuple or dict of these."""
        if not self.observes_numbers:
            if self.arrays.layout is None:
                return array
            parts = [unboxed(part) for _, part in leaves(self.arrays.layout, "", array, self.errors)]
            return grouped(self.arrays.layout, iter(parts))
        if self.lanes.parts == 1:
            return numbers[0]
        return tuple([numbers[k] for k in range(self.lanes.parts)])

    # --- resetting ------------------------------------------------------------------------------------------------

    def reset(self, mask=None, options=None):
        """Begin new episodes, in the lanes of a bool [num_envs] mask or in all.

        Args:
            mask: lanes to reset, or None for all.
            options: values of the kernel's reset options in order (see `kernel_spec`), or None for its defaults.

        Returns:
            Observations of all lanes as `step` returns them (those of lanes left alone are what they were), and the
            infos of the lanes that were reset.
        """
        cdef const kernel_t* spec = self.lanes.kernel
        cdef double[MAX_NUMBERS + 1] limits
        cdef int64_t numbers[MAX_PARTS]
        cdef outputs_t out
        cdef cnp.ndarray chosen
        cdef reset_t job
        cdef int64_t count, k
        cdef bint single = self.lanes.episodes.mode == SINGLE
        cdef object infos
        for k in range(spec.reset_option_count):
            limits[k] = spec.reset_option_defaults[k] if options is None else options[k]
        self._enter(ANY_USE)
        try:
            if self.closed:
                raise self.errors.ClosedEnvironmentError("the environment was closed; make a new one")
            if mask is None:
                chosen = np.arange(self.num_envs, dtype=np.int64)
            elif not self.ready and not mask.all():
                raise self.errors.ResetNeeded("reset: expected a reset of all lanes before one with a reset_mask")
            else:
                array_pointer(mask, "mask", cnp.NPY_BOOL, (self.num_envs,), False, self.errors)
                chosen = np.flatnonzero(mask).astype(np.int64, copy=False)
            count = cnp.PyArray_SIZE(chosen)
            memset(&out, 0, sizeof(out))
            array = self._take_row(&out, numbers) if single else self.arrays.take_observations(out.observations)
            self.arrays.take_infos(out.infos, mask, True)
            self._prepare()
            job.lanes = &self.lanes
            job.options = limits
            job.indices = <const int64_t*> cnp.PyArray_DATA(chosen)
            self._share(reset_job, &job, count, 0, &self.reset_cost)
            with nogil:
                spec.observe(&self.lanes.columns, out.observations, NULL, 0, self.num_envs)
                if out.infos[0] != NULL:
                    spec.write_infos(
                        &self.lanes.columns, out.infos, <const int64_t*> cnp.PyArray_DATA(chosen), 0, count)
            self.ready = True
            self._raise_faults()
            infos, self.arrays.infos = self.arrays.infos, None
        finally:
            self.busy = 0
        if single:
            return self._row(array, numbers), infos_of_lane(
                &self.lanes, self.info_names, 0, True, self.numpy_scalars)
        return array, infos or {}

    def empty_observations(self, tuple lead):
        """New arrays [*lead, ...] for observations, grouped as `step` returns them."""
        arrays = [np.empty(lead + shape, dtype) for dtype, shape in self.spec["observation_parts"]]
        return arrays[0] if self.spec["layout"] is None else grouped(self.spec["layout"], iter(arrays))

    def observe(self):
        """Observations of all lanes as they are, as `step` returns them."""
        cdef int64_t numbers[MAX_PARTS]
        cdef outputs_t out
        cdef bint single = self.lanes.episodes.mode == SINGLE
        self._enter(STEP)
        try:
            memset(&out, 0, sizeof(out))
            array = self._take_row(&out, numbers) if single else self.arrays.take_observations(out.observations)
            self.lanes.kernel.observe(&self.lanes.columns, out.observations, NULL, 0, self.num_envs)
        finally:
            self.busy = 0
        return self._row(array, numbers) if single else array

    def infos_of(self, Py_ssize_t lane, bint beginning=False):
        """Infos of one lane as a dict; of a lane that has only begun an episode, those that it has."""
        if not 0 <= lane < self.num_envs:
            raise IndexError(f"lane {lane} is not in [0, {self.num_envs})")
        infos = infos_of_lane(&self.lanes, self.info_names, lane, beginning, self.numpy_scalars)
        if self.lanes.columns.float32_actions and not beginning:
            for name in self.float32_numbers:
                if name in infos:
                    infos[name] = float32_scalar(infos[name])
        return infos

    def run_physics(self, actions, observations, rewards):
        """Physics and observations of actions [T, num_envs, ...] alone, into arrays [num_envs, ...].

        No resets, limits or statistics: the limit that benchmarks compare the engine against.
        """
        cdef outputs_t out
        cdef cnp.ndarray checked, ends
        cdef int64_t block, step, steps, n = self.num_envs
        cdef int64_t stride = n * self.lanes.action_bytes
        self._enter(STEP)
        try:
            steps = self._steps(actions)
            checked = self._actions(actions, (steps,) + self.action_shape)
            flags = np.empty(n, np.bool_)
            self._bind(&out, checked, observations, rewards, flags, flags.copy(), (n,))
            ends = np.empty(n, np.int16)
            with nogil:
                for step in range(steps):
                    for block in range(n // BLOCK + 1):
                        self.lanes.step(
                            &self.lanes.columns, <const char*> cnp.PyArray_DATA(checked) + step * stride,
                            <void**> out.observations, out.rewards, <flag_t*> cnp.PyArray_DATA(ends),
                            block * BLOCK, min(block * BLOCK + BLOCK, n))
        finally:
            self.busy = 0


cdef class BoundStep:
    """A step of every lane from and into arrays that were checked before; see `Batch.bind_step`.

    `step` takes arrays and returns them; this does neither, so that a rollout in arrays of the caller is as fast.
    """

    cdef Batch batch
    cdef outputs_t out
    cdef void* finals[MAX_PARTS]
    cdef object actions, final_observations
    cdef list written               # the arrays that `out` leads to: dicts of them may change
    cdef object wide_rewards        # float64, as they are computed
    cdef object rewards             # float32, or None if the rewards are written as they are

    def __call__(self):
        cdef Batch batch = self.batch
        cdef StepArrays arrays = batch.arrays
        cdef dict infos
        cdef int64_t count
        batch._enter(STEP)
        try:
            checked = batch._actions(self.actions, batch.action_shape)
            batch._check_ended()
            batch._prepare()
            take_extras(arrays, &self.out)
            if self.final_observations is not None:
                memcpy(self.out.final_observations, self.finals, sizeof(self.finals))
                arrays.final_observations = self.final_observations
            count = batch._run(cnp.PyArray_DATA(<cnp.ndarray> checked), &self.out, 0)
            if self.rewards is not None:
                self.rewards[...] = self.wide_rewards
            infos = batch._finish(arrays, &self.out, None, count)
        finally:
            batch.busy = 0
        return infos
