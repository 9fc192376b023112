"""The results of a step: recycled arrays, and the infos of lanes.

An entry of the infos consists of an array, whose rows the kernel writes, and a mask of the rows that have the entry:
according to `when` of kernel.h, all rows with infos, those that did not begin an episode, or those that terminated.
"""
cimport cython
from libc.string cimport memchr, memcpy, memset

from gymcore_ext.arrays cimport array_pointer, copy_bytes
from gymcore_ext.engine.episodes cimport SAME_STEP, SINGLE
from gymcore_ext.engine.kernel cimport MAX_INFOS, TERMINATIONS
from gymcore_ext.engine.step cimport sizes_t
from gymcore_ext.layouts cimport grouped, leaves
from gymcore_ext.lazy_dict cimport lazy_dict

import numpy as np

cnp.import_array()

cdef extern from "numpy/arrayobject.h":
    object PyArray_Scalar(void* data, cnp.dtype dtype, object base)


# --- arrays -----------------------------------------------------------------------------------------------------------

cdef tuple rings(object shapes, bint reuse):
    """Return an ArrayRing for each (dtype, shape)."""
    return tuple([ArrayRing(shape, dtype, reuse) for dtype, shape in shapes])


cdef tuple take_all(tuple sources, void** parts):
    """Return the next array of each ring, and store their addresses in `parts`."""
    cdef Py_ssize_t k
    return tuple([(<ArrayRing> sources[k]).take(&parts[k]) for k in range(len(sources))])


cdef dict named_infos(tuple fields, tuple arrays, object always, object steps, object terminations):
    """Return infos in Gymnasium's layout: an array and a mask for each entry.

    The other arguments are the masks for each `when` of kernel.h; entries whose mask is None are omitted.
    """
    cdef tuple rows = (always, steps, terminations)  # by `when`
    cdef dict infos = {}
    cdef Py_ssize_t k
    for k in range(0 if arrays is None else len(fields)):
        name, mask_name, when = fields[k]
        if rows[when] is not None:
            infos[name], infos[mask_name] = arrays[k], rows[when]
    return infos


@cython.final
cdef class StepArrays:
    """Recycled arrays for the results of a step of `n` lanes.

    Args:
        n: number of rows.
        spec: sizes and types of the kernel (`kernel_spec`).
        mode: autoreset mode (`episodes.pxd`). In SINGLE, observations have no lane axis, and `infos_of_lane` returns
            the infos.
        reuse: hand out the same arrays at every step, instead of arrays that the caller may keep.
        statistics: whether there are returns, lengths and durations of episodes.
    """

    def __cinit__(self, Py_ssize_t n, dict spec, int mode, bint reuse, bint statistics):
        cdef tuple lead = () if mode == SINGLE else (n,)
        cdef list shapes = [(dtype, lead + shape) for dtype, shape in spec["observation_parts"]]
        cdef list info_shapes = [(dtype, (n, *shape)) for _, dtype, shape, _ in spec["infos"]]
        cdef tuple of_agents = (n, *spec["agents"])
        self.n = n
        self.layout = spec["layout"]
        self.observations = rings(shapes, reuse)
        if self.layout is None:
            self.observation = self.observations[0]
        self.rewards = ArrayRing(of_agents, np.float64, reuse)
        self.terminated = ArrayRing(of_agents, np.bool_, reuse)
        self.truncated = ArrayRing(of_agents, np.bool_, reuse)
        if mode == SAME_STEP:
            self.final = rings(shapes, reuse)
        if mode == SAME_STEP or statistics:
            self.ends = ArrayRing((n,), np.bool_, reuse)
        if statistics:
            self.returns, self.times = ArrayRing((n,), np.float64, reuse), ArrayRing((n,), np.float64, reuse)
            self.lengths = ArrayRing((n,), np.int64, reuse)
        self.fields = tuple([(name, f"_{name}", when) for name, _, _, when in spec["infos"]])
        self.values = tuple([np.zeros(shape, dtype) for _, dtype, shape, _ in spec["infos"]])
        if spec["agents"]:
            self.active, self.have_infos = ArrayRing(of_agents, np.bool_, reuse), ArrayRing((n,), np.bool_, reuse)
            if statistics:
                self.agent_returns = ArrayRing(of_agents, np.float64, reuse)
                self.agent_lengths = ArrayRing(of_agents, np.int64, reuse)
        if info_shapes and mode != SINGLE:
            self.infos = rings(info_shapes, reuse)
            self.have_infos = self.have_infos or ArrayRing((n,), np.bool_, reuse)
            if mode == SAME_STEP:
                self.final_infos = rings(info_shapes, reuse)
            if any([when for _, _, when in self.fields]):
                self.begun = np.zeros(n, np.bool_)

    # These methods drop their own references first: a ring recycles an array only if no other reference to it exists.

    cdef object take_observations(self, void** parts):
        """Return an array, or a tuple or dict of arrays, for observations, and store their addresses in `parts`."""
        if self.observation is not None:
            return self.observation.take(&parts[0])
        return grouped(self.layout, iter(take_all(self.observations, parts)))

    cdef int take_info_arrays(self, void** parts, bint zeros) except -1:
        """Take arrays for infos, store their addresses in `parts`, and fill them with zeros if `zeros`."""
        self.taken_infos = None
        if self.infos is not None:
            self.taken_infos = take_all(self.infos, parts)
            for array in self.taken_infos if zeros else ():
                array[...] = 0
        return 0

    cdef int take_extras(self, outputs_t* out, bint finals) except -1:
        """Take the arrays of a step besides observations, rewards and flags; final observations only if `finals`."""
        out.ended = out.begun = NULL
        out.final_observations[0] = out.infos[0] = out.final_infos[0] = NULL
        out.reports.returns = out.agent_reports.returns = NULL
        out.active = NULL
        if self.active is not None:
            self.taken_active = None
            self.taken_active = self.active.take(<void**> &out.active)
        if self.infos is not None:
            self.take_info_arrays(out.infos, False)
        if self.begun is not None:
            out.begun = <uint8_t*> cnp.PyArray_DATA(<cnp.ndarray> self.begun)
        if self.ends is None:
            return 0
        self.ended = self.episodes = self.final_observations = self.taken_final_infos = None
        self.ended = self.ends.take(<void**> &out.ended)
        if self.final is not None and finals:
            self.final_observations = take_all(self.final, out.final_observations)
            if self.observation is not None:
                self.final_observations = self.final_observations[0]
        if self.final_infos is not None:
            self.taken_final_infos = take_all(self.final_infos, out.final_infos)
        if self.returns is not None:
            self.episodes = {
                "r": self.returns.take(<void**> &out.reports.returns),
                "l": self.lengths.take(<void**> &out.reports.lengths),
                "t": self.times.take(<void**> &out.reports.times)}
            if self.agent_returns is not None:
                self.episodes["agent_r"] = self.agent_returns.take(<void**> &out.agent_reports.returns)
                self.episodes["agent_l"] = self.agent_lengths.take(<void**> &out.agent_reports.lengths)
        return 0

    cdef tuple take(self, outputs_t* out):
        """Take all arrays of a step; return those of observations, rewards and flags."""
        observations = self.take_observations(out.observations)
        rewards = self.rewards.take(<void**> &out.rewards)
        terminated = self.terminated.take(<void**> &out.terminated)
        truncated = self.truncated.take(<void**> &out.truncated)
        self.take_extras(out, True)
        return observations, rewards, terminated, truncated

    cdef dict finish(self, int64_t count, uint8_t* terminated, dict more_infos, dict makers):
        """Return the infos of a step in which `count` episodes ended, in Gymnasium's layout, and drop their arrays.

        In same-step mode, `more_infos` is added to the final infos, and infos with final observations are a `LazyDict`
        with these makers, unless `makers` is None.
        """
        cdef dict infos = {}
        cdef object always, steps, terminations = None
        if self.infos is not None:
            always = steps = self._rows(None)
            if self.begun is not None:
                terminations = self._terminations(terminated)
                if memchr(cnp.PyArray_DATA(<cnp.ndarray> self.begun), 1, self.n) != NULL:
                    steps = None if self.begun.all() else ~self.begun
            infos = named_infos(
                self.fields, self.taken_infos, always, steps, terminations if self.final is None else None)
            self.taken_infos = None
        if self.taken_active is not None:
            infos["active"], infos["_active"] = self.taken_active, self._rows(None)
            self.taken_active = None
        if self.ends is None:
            return infos
        if count and self.final is not None:
            last = self.final_observations
            if last is not None:
                if makers is not None:
                    infos = <dict> lazy_dict(infos, makers)  # a subclass: its entries are stored as those of a dict
                infos["final_obs"] = last if self.layout is None else final_rows(last, self.layout, self.ended)
                infos["_final_obs"] = self.ended
            infos["final_info"] = named_infos(
                self.fields, self.taken_final_infos, self.ended, self.ended, terminations) | more_infos
            infos["_final_info"] = self.ended
        if count and self.episodes is not None:
            infos["episode"] = self.episodes
            infos["_episode"] = self.ended
        self.ended = self.episodes = self.final_observations = self.taken_final_infos = None
        return infos

    cdef dict infos_of_reset(self, cnp.ndarray mask):
        """Return the infos of a reset of the lanes of a mask (None: of all lanes)."""
        infos = {} if self.infos is None else named_infos(self.fields, self.taken_infos, self._rows(mask), None, None)
        self.taken_infos = None
        return infos

    cdef dict infos_of_lane(self, const lanes_t* lanes, bint beginning, bint numpy_scalars):
        """Return the infos of the only lane, except those of terminations; if `beginning`, only those of a reset."""
        cdef const sizes_t* sizes = &lanes.sizes
        cdef void* parts[MAX_INFOS]
        cdef cnp.ndarray value, array
        cdef dict infos = {}
        cdef int k, when
        if sizes.infos == 0:
            return infos
        for k in range(sizes.infos):
            parts[k] = cnp.PyArray_DATA(<cnp.ndarray> self.values[k])
        lanes.kernel.write_infos(&lanes.columns, parts, NULL, 0, 1)
        for k, (name, _, when) in enumerate(self.fields):
            if not when if beginning else when != TERMINATIONS:
                value = <cnp.ndarray> self.values[k]
                if lanes.kernel.infos[k].size != 1:
                    array = cnp.PyArray_EMPTY(
                        cnp.PyArray_NDIM(value), cnp.PyArray_DIMS(value), cnp.PyArray_TYPE(value), 0)
                    memcpy(cnp.PyArray_DATA(array), cnp.PyArray_DATA(value), sizes.info_bytes[k])
                    infos[name] = array
                elif numpy_scalars:
                    infos[name] = cnp.PyArray_ToScalar(cnp.PyArray_DATA(value), value)
                else:
                    infos[name] = cnp.PyArray_GETITEM(value, cnp.PyArray_BYTES(value))
        return infos

    cdef object _rows(self, cnp.ndarray mask):
        """Return a mask of the rows with infos, bool [n]: a copy of `mask`, or all rows if it is None."""
        cdef void* rows
        array = self.have_infos.take(&rows)
        if mask is None:
            memset(rows, 1, self.n)
        else:
            copy_bytes(rows, cnp.PyArray_DATA(mask), self.n)
        return array

    cdef object _terminations(self, const uint8_t* terminated):
        """Return a new mask of the lanes that terminated, or None if no lane did."""
        cdef cnp.ndarray rows
        if memchr(terminated, 1, self.n) == NULL:
            return None
        rows = np.empty(self.n, np.bool_)
        memcpy(cnp.PyArray_DATA(rows), terminated, self.n)
        return rows


cdef object final_rows(tuple columns, tuple layout, object mask):
    """Return an object array with the grouped observation of each lane of the mask, and None elsewhere."""
    rows = np.full(len(mask), None, object)
    for lane in np.flatnonzero(mask).tolist():
        rows[lane] = grouped(layout, iter([unboxed(np.array(column[lane])) for column in columns]))
    return rows


cdef object unboxed(cnp.ndarray part):
    """Return the observation of one lane: an int for an int64 scalar, otherwise the array."""
    is_int = cnp.PyArray_NDIM(part) == 0 and cnp.PyArray_TYPE(part) == cnp.NPY_INT64
    return (<int64_t*> cnp.PyArray_DATA(part))[0] if is_int else part


cdef list bind_parts(void** parts, object arrays, str name, tuple lead, dict spec, object errors):
    """Check a caller's observation arrays [*lead, ...], store their addresses, and return pairs (name, array)."""
    cdef list named = [(name, arrays)]
    cdef Py_ssize_t k
    if spec["layout"] is not None:
        named = [(leaf_name, array) for leaf_name, _, array in leaves(
            spec["layout"], name, arrays, errors.ArgumentTypeError, errors.InvalidArgument)]
    for k, (dtype, shape) in enumerate(spec["observation_parts"]):
        parts[k] = array_pointer(named[k][1], named[k][0], np.dtype(dtype).num, lead + shape, True, errors)
    return named


cdef dict rows_by_step(dict infos, int64_t steps):
    """Return infos of [steps * n] rows as views [steps, n]."""
    return {
        name: rows_by_step(rows, steps) if isinstance(rows, dict) else rows.reshape((steps, -1) + rows.shape[1:])
        for name, rows in infos.items()}


cdef object float64_scalar(double number):
    return PyArray_Scalar(&number, cnp.PyArray_DescrFromType(cnp.NPY_FLOAT64), None)


cdef object float32_scalar(double number):
    cdef float rounded = <float> number
    return PyArray_Scalar(&rounded, cnp.PyArray_DescrFromType(cnp.NPY_FLOAT32), None)


cdef int narrow_infos(object infos, tuple names) except -1:
    """Convert the named entries of the infos of a batch to float32, if there are any."""
    for name in names:
        if infos and name in infos:
            infos[name] = infos[name].astype(np.float32)
    return 0
