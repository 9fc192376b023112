"""StepArrays: the arrays that steps of a compiled batch, or of some of its lanes, return."""
cimport numpy as cnp
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memchr, memset

from gymcore_ext.arrays cimport ArrayRing, array_pointer
from gymcore_ext.copying cimport copy_bytes
from gymcore_ext.engine.step cimport outputs_t
from gymcore_ext.engine.episodes cimport SAME_STEP, SINGLE, report_t, round_half_even

import numpy as np

cnp.import_array()

cdef tuple rings(list shapes, object dtype, bint reuse):
    return tuple([ArrayRing(shape, dtype, reuse) for shape in shapes])


cdef object take_all(tuple sources, void** parts):
    """The next array of each ring, as a tuple."""
    cdef Py_ssize_t k
    return tuple([(<ArrayRing> sources[k]).take(&parts[k]) for k in range(len(sources))])


cdef class StepArrays:
    """Recycled arrays for the results of a step of `n` lanes.

    Args:
        n: number of rows.
        facts: sizes and types of the kernel (`kernel_facts`).
        mode: when lanes begin new episodes (`episodes.pxd`). In the batch of one behind `make` an observation of floats
            has no axis of lanes, and infos are asked for one by one.
        reuse: hand out the same arrays at every step, instead of arrays that the caller may keep.
        statistics: whether there are returns, lengths and durations of episodes.
    """

    def __cinit__(self, Py_ssize_t n, dict facts, int mode, bint reuse, bint statistics):
        cdef bint finals = mode == SAME_STEP
        cdef list shapes = [(n, facts["observation_size"])]
        if facts["observation_dtype"] is np.int64:
            shapes = [(n,)] * facts["observation_size"]
        elif mode == SINGLE:
            shapes = [(facts["observation_size"],)]
        self.n = n
        self.observations = rings(shapes, facts["observation_dtype"], reuse)
        if len(shapes) == 1:
            self.observation = self.observations[0]
        self.rewards = ArrayRing((n,), np.float64, reuse)
        self.terminated = ArrayRing((n,), np.bool_, reuse)
        self.truncated = ArrayRing((n,), np.bool_, reuse)
        if finals or statistics:
            self.ends = ArrayRing((n,), np.bool_, reuse)
        if finals:
            self.finals = rings(shapes, facts["observation_dtype"], reuse)
        if statistics:
            self.returns, self.times = ArrayRing((n,), np.float64, reuse), ArrayRing((n,), np.float64, reuse)
            self.lengths = ArrayRing((n,), np.int64, reuse)
            self.reports = <report_t*> PyMem_RawMalloc(n * sizeof(report_t))
            if self.reports == NULL:
                raise MemoryError(f"episode_statistics: no memory for {n} lanes")
        if facts["infos"] and mode != SINGLE:
            self._prepare_infos(n, facts["infos"], finals, reuse)
            self.step_infos = tuple([name in facts["step_infos"] for name in self.info_names])
            if facts["step_infos"]:
                self.begun = np.zeros(n, np.bool_)

    def __dealloc__(self):
        PyMem_RawFree(self.reports)

    def _prepare_infos(self, Py_ssize_t n, tuple fields, bint finals, bint reuse):
        self.info_names = tuple([name for name, _, _ in fields])
        self.mask_names = tuple([f"_{name}" for name in self.info_names])
        made = [ArrayRing((n,) if size == 1 else (n, size), dtype, reuse) for _, dtype, size in fields]
        self.info_rings = tuple(made)
        self.mask_rings = rings([(n,)] * len(fields), np.bool_, reuse)
        if finals:
            self.final_info_rings = tuple([
                ArrayRing((n,) if size == 1 else (n, size), dtype, reuse) for _, dtype, size in fields])

    cdef object take_observations(self, void** parts):
        """An array, or a tuple of arrays, for observations, and where each begins."""
        if self.observation is not None:
            return self.observation.take(&parts[0])
        return take_all(self.observations, parts)

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
        self.ended = self.final_infos = None
        self.ended = self.ends.take(<void**> &out.ended)
        if self.finals is not None:
            self.final_observations = None
            self.final_observations = take_all(self.finals, out.final_observations)
            if self.observation is not None:
                self.final_observations = self.final_observations[0]
            self.take_final_infos(out.final_infos)
        out.reports = self.reports
        return 0

    cdef dict finish(self, int64_t ended):
        """The infos of a step in which that many episodes ended, as Gymnasium lays them out; the caller's from now on.
        """
        cdef dict infos = {}
        if self.infos is not None:
            self.leave_out_infos()
            infos, self.infos = self.infos, None
        if self.ends is None:
            return infos
        if ended and self.finals is not None:
            last = self.final_observations
            infos["final_obs"] = rows_of_numbers(last, self.ended) if isinstance(last, tuple) else last
            infos["_final_obs"] = self.ended
            infos["final_info"] = self.final_infos
            infos["_final_info"] = self.ended
        if ended and self.reports != NULL:
            infos["episode"] = self.episodes()
            infos["_episode"] = self.ended
        self.ended = self.final_observations = self.final_infos = None
        return infos

    cdef dict episodes(self):
        """Return, length and duration of the episodes that ended in the step, as arrays [n]; zeros elsewhere."""
        cdef double* totals
        cdef double* seconds
        cdef int64_t* lengths
        cdef const uint8_t* ended = <const uint8_t*> cnp.PyArray_DATA(<cnp.ndarray> self.ended)
        cdef Py_ssize_t i, n = self.n
        cdef report_t* report
        cdef dict columns = {
            "r": self.returns.take(<void**> &totals), "l": self.lengths.take(<void**> &lengths),
            "t": self.times.take(<void**> &seconds)}
        memset(totals, 0, n * sizeof(double))
        memset(lengths, 0, n * sizeof(int64_t))
        memset(seconds, 0, n * sizeof(double))
        for i in range(n):
            if ended[i]:
                report = &self.reports[i]
                totals[i] = report.total
                lengths[i] = report.length
                seconds[i] = round_half_even(report.seconds * 1e6) / 1e6
        return columns


cdef object rows_of_numbers(tuple columns, object mask):
    """Observations that are tuples of numbers as an object array: a tuple for each lane of the mask, None elsewhere."""
    rows = np.full(len(mask), None, object)
    for lane in np.flatnonzero(mask).tolist():
        rows[lane] = tuple([column[lane].item() for column in columns])
    return rows


cdef list named_parts(str name, object arrays):
    """Pairs (name, array) of the array, or the arrays of the tuple, that a caller gave."""
    if isinstance(arrays, tuple):
        return [(f"{name}[{k}]", array) for k, array in enumerate(arrays)]
    return [(name, arrays)]


cdef list bind_parts(void** parts, object arrays, str name, tuple lead, dict facts, object errors):
    """Where the arrays of observations [*lead, ...] that a caller gave begin; as pairs (name, array) too."""
    cdef Py_ssize_t k
    cdef int size = facts["observation_size"]
    cdef bint integers = facts["observation_dtype"] is np.int64
    cdef int typenum = np.dtype(facts["observation_dtype"]).num
    cdef tuple shape = lead if integers else lead + (size,)
    if integers and size > 1 and (not isinstance(arrays, tuple) or len(arrays) != size):
        got = f"{len(arrays)} of them" if isinstance(arrays, tuple) else type(arrays).__name__
        raise errors.ArgumentTypeError(f"{name}: expected a tuple of {size} int64 arrays of shape {shape}, got {got}")
    if isinstance(arrays, tuple) and not (integers and size > 1):
        raise errors.ArgumentTypeError(f"{name}: expected a NumPy array of shape {shape}, got tuple")
    named = named_parts(name, arrays)
    for k in range(len(named)):
        parts[k] = array_pointer(named[k][1], named[k][0], typenum, shape, True, errors)
    return named
