"""Lanes that are structs of any layout: the loops over them, their memory and their saved states.

An environment supplies the functions of one lane (`gymcore_lane_functions` of kernel.h). This module does the rest: it
skips lanes that will be reset, and handles parameters by lane, rows of outputs, faults and saved states.
"""
cimport cython
cimport numpy as cnp
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy, memset

from gymcore_ext.engine.kernel cimport (
    FUNCTIONS_CAPSULE, KERNEL_ABI, MAX_INFOS, MAX_PARTS, OLDEST_FUNCTIONS, TERMINATED, TRUNCATED, columns_t, flag_t,
    kernel_t,
)
from gymcore_ext.engine.kernels cimport MAX_NUMBERS, pointer_of, read_kernel, set_sizes
from gymcore_ext.engine.threads cimport Threads
from gymcore_ext.lanes.lane_functions cimport lane_functions_t

import numpy as np

cnp.import_array()


# --- loops ------------------------------------------------------------------------------------------------------------

cdef inline const double* parameters_of(
    const columns_t* columns, int count, int64_t lane, double* values
) noexcept nogil:
    """Copy the parameters of a lane to `values`, and return `values`."""
    cdef int k
    for k in range(count):
        values[k] = columns.parameters[k][lane * columns.parameter_stride]
    return values


cdef inline void* const* rows_of(
    void* const* arrays, const int64_t* bytes, int count, int64_t lane, void** rows
) noexcept nogil:
    """Store the address of a lane's row in each array in `rows`, and return `rows`."""
    cdef int k
    for k in range(count):
        rows[k] = <char*> arrays[k] + lane * bytes[k]
    return rows


cdef inline void check_fault(struct_lanes_t* self, const void* lane) noexcept nogil:
    if self.functions.faulted != NULL and self.functions.faulted(lane):
        store32(&self.faulted, FAULT)


cdef void step_structs(
    const columns_t* columns, const void* actions, void* const* parts, double* rewards, flag_t* ends, int64_t lo,
    int64_t hi
) noexcept nogil:
    cdef struct_lanes_t* self = <struct_lanes_t*> columns.lanes
    cdef double values[MAX_NUMBERS]
    cdef void* rows[MAX_PARTS]
    cdef int64_t i
    cdef void* lane
    cdef int flags
    parameters_of(columns, self.parameters, lo, values)
    for i in range(lo, hi):
        rewards[i] = 0.0
        ends[i] = 0
        if columns.resetting != NULL and columns.resetting[i]:
            continue
        lane = lane_at(self, i)
        if columns.parameter_stride:
            parameters_of(columns, self.parameters, i, values)
        flags = self.functions.step(
            lane, self.shared, values, <const char*> actions + i * self.sizes.action_bytes, &columns.rngs[i],
            &rewards[i])
        ends[i] = <flag_t> (flags & (TERMINATED | TRUNCATED))
        if flags != ends[i]:
            store32(&self.faulted, WRONG_FLAGS)
        self.functions.observe(
            lane, self.shared, values, rows_of(parts, self.sizes.part_bytes, self.sizes.parts, i, rows))
        check_fault(self, lane)


cdef void step_worlds(
    const columns_t* columns, const void* actions, void* const* parts, double* rewards, flag_t* ends, int64_t lo,
    int64_t hi
) noexcept nogil:
    """Step worlds of agents. Rewards and ends are [lanes, agents]."""
    cdef struct_lanes_t* self = <struct_lanes_t*> columns.lanes
    cdef double values[MAX_NUMBERS]
    cdef void* rows[MAX_PARTS]
    cdef int64_t i, k, agents = self.sizes.rewards
    cdef void* lane
    cdef int flags
    memset(rewards + lo * agents, 0, (hi - lo) * agents * sizeof(double))
    memset(ends + lo * agents, 0, (hi - lo) * agents * sizeof(flag_t))
    parameters_of(columns, self.parameters, lo, values)
    for i in range(lo, hi):
        if columns.resetting != NULL and columns.resetting[i]:
            continue
        lane = lane_at(self, i)
        if columns.parameter_stride:
            parameters_of(columns, self.parameters, i, values)
        flags = self.functions.step_agents(
            lane, self.shared, values, <const char*> actions + i * self.sizes.action_bytes, &columns.rngs[i],
            columns.active + i * agents, &rewards[i * agents], &ends[i * agents])
        for k in range(i * agents, (i + 1) * agents):
            ends[k] |= <flag_t> flags
            if ends[k] & ~(TERMINATED | TRUNCATED):
                store32(&self.faulted, WRONG_FLAGS)
        self.functions.observe(
            lane, self.shared, values, rows_of(parts, self.sizes.part_bytes, self.sizes.parts, i, rows))
        check_fault(self, lane)


cdef void reset_structs(
    const columns_t* columns, const double* options, const int64_t* lanes, int64_t count
) noexcept nogil:
    cdef struct_lanes_t* self = <struct_lanes_t*> columns.lanes
    cdef double values[MAX_NUMBERS]
    cdef int64_t k
    cdef void* lane
    for k in range(count):
        lane = lane_at(self, lanes[k])
        self.functions.reset(
            lane, self.shared, parameters_of(columns, self.parameters, lanes[k], values), options,
            &columns.rngs[lanes[k]])
        check_fault(self, lane)


cdef void observe_structs(
    const columns_t* columns, void* const* parts, const int64_t* lanes, int64_t lo, int64_t hi
) noexcept nogil:
    cdef const struct_lanes_t* self = <const struct_lanes_t*> columns.lanes
    cdef double values[MAX_NUMBERS]
    cdef void* rows[MAX_PARTS]
    cdef int64_t i, k
    for k in range(lo, hi):
        i = k if lanes == NULL else lanes[k]
        self.functions.observe(
            lane_at(self, i), self.shared, parameters_of(columns, self.parameters, i, values),
            rows_of(parts, self.sizes.part_bytes, self.sizes.parts, i, rows))


cdef void write_struct_infos(
    const columns_t* columns, void* const* infos, const int64_t* lanes, int64_t lo, int64_t hi
) noexcept nogil:
    cdef const struct_lanes_t* self = <const struct_lanes_t*> columns.lanes
    cdef void* rows[MAX_INFOS]
    cdef int64_t i, k
    for k in range(lo, hi):
        i = k if lanes == NULL else lanes[k]
        self.functions.write_infos(
            lane_at(self, i), self.shared, rows_of(infos, self.sizes.info_bytes, self.sizes.infos, i, rows))


cdef void central_states_of_structs(
    const columns_t* columns, void* const* parts, const int64_t* lanes, int64_t lo, int64_t hi
) noexcept nogil:
    cdef const struct_lanes_t* self = <const struct_lanes_t*> columns.lanes
    cdef double values[MAX_NUMBERS]
    cdef int64_t i, k
    for k in range(lo, hi):
        i = k if lanes == NULL else lanes[k]
        self.functions.central_state(
            lane_at(self, i), self.shared, parameters_of(columns, self.parameters, i, values),
            <char*> parts[0] + i * self.sizes.central_bytes)


cdef void report_structs(
    const columns_t* columns, double* rewards, uint8_t* terminated, int64_t lo, int64_t hi
) noexcept nogil:
    cdef const struct_lanes_t* self = <const struct_lanes_t*> columns.lanes
    cdef int64_t i
    for i in range(lo, hi):
        self.functions.report(lane_at(self, i), self.shared, &rewards[i], &terminated[i])
        terminated[i] = terminated[i] != 0


cdef int structs_faulted(const void* lanes) noexcept nogil:
    return load32(&(<struct_lanes_t*> lanes).faulted)


cdef int use_functions(kernel_t* kernel, lane_functions_t* functions, object capsule) except -1:
    """Copy the functions of a capsule to `functions`, and set the loops of a kernel to those that call them."""
    cdef const lane_functions_t* given = <const lane_functions_t*> pointer_of(
        capsule, FUNCTIONS_CAPSULE, "functions", TypeError)
    if given.abi != KERNEL_ABI or given.size < OLDEST_FUNCTIONS:
        raise ValueError(f"functions: built for another engine than one of ABI {KERNEL_ABI}: build their package again")
    memset(functions, 0, sizeof(lane_functions_t))
    memcpy(functions, given, min(given.size, <int64_t> sizeof(lane_functions_t)))
    steps = (functions.step != NULL) + (functions.step_agents != NULL)
    if functions.reset == NULL or functions.observe == NULL or steps != 1:
        raise ValueError("functions: expected reset, observe, and either step or step_agents")
    if (functions.step == NULL) != (kernel.agents > 0):
        raise ValueError("functions: expected step_agents for worlds of agents, and step for single agents")
    if (functions.save == NULL) != (functions.load == NULL):
        raise ValueError("functions: expected save and load, or none of both")
    if functions.make != NULL and functions.save == NULL:
        raise ValueError("functions: expected save and load with make: the pointers of a lane cannot be copied")
    kernel.functions = functions
    kernel.step[0].shared = step_structs if kernel.agents == 0 else step_worlds
    kernel.reset, kernel.observe = reset_structs, observe_structs
    if functions.write_infos != NULL:
        kernel.write_infos = write_struct_infos
    if functions.report != NULL:
        kernel.report = report_structs
    if kernel.central.shape[0]:
        if functions.central_state == NULL:
            raise ValueError("functions: expected central_state, since the kernel declares its array")
        kernel.central_state = central_states_of_structs
    kernel.faulted = structs_faulted
    return 0


# --- memory and states ------------------------------------------------------------------------------------------------

cdef enum:
    SAVE, LOAD, CHECK


ctypedef struct copying_t:      # a job that saves or loads lanes, or checks saved lanes
    int operation                  # SAVE, LOAD or CHECK
    struct_lanes_t* lanes
    const int64_t* indices
    char* rows
    int64_t size                # bytes of a saved lane
    uint8_t* done               # whether each lane was saved or loaded, or is valid


cdef bint copy_lane(const copying_t* job, int64_t k) noexcept nogil:
    """Save, load or check a lane; return whether that succeeded."""
    cdef struct_lanes_t* self = job.lanes
    cdef const lane_functions_t* functions = &self.functions
    cdef void* lane = lane_at(self, job.indices[k])
    cdef int64_t size = job.size
    cdef char* data = job.rows + k * size
    if job.operation == CHECK:
        return functions.check == NULL or functions.check(data, self.shared)
    if job.operation == LOAD:
        if functions.load != NULL:
            functions.load(lane, self.shared, data)
        else:
            memcpy(lane, data, size)
        check_fault(self, lane)
        return True
    if functions.save != NULL:
        memset(data, 0, size)  # `save` may leave bytes out
        return functions.save(lane, self.shared, data)
    memcpy(data, lane, size)
    return True


cdef int64_t copy_job(void* context, int64_t lo, int64_t hi) noexcept nogil:
    cdef copying_t* job = <copying_t*> context
    cdef int64_t k
    for k in range(lo, hi):
        job.done[k] = copy_lane(job, k)
    return 0


@cython.no_gc_clear  # the objects that lanes point to must exist when the lanes are freed
cdef class LaneStore:
    """Base class of lanes that are structs, whose bytes are 0 at first.

    A saved lane consists of the bytes that its `save` function writes; without that function, of the bytes of the lane.

    Attributes:
        saved_dtype: dtype of one saved lane.

    Saving, loading and checking use the threads of the batch, so the batch must be marked as busy.
    """

    cdef int set_up(
        self, object kernel, Py_ssize_t num_lanes, Py_ssize_t lane_bytes, const void* shared, object references,
        list saved_fields=None
    ) except -1:
        """Allocate the lanes.

        Args:
            kernel: capsule of their kernel, which was made with the functions of a lane.
            num_lanes: number of lanes.
            lane_bytes: size of the struct.
            shared: data that all lanes share.
            references: objects that `shared` and the lanes point to, to keep them alive.
            saved_fields: dtype fields that `save` writes, in whole words; None if the bytes of lanes are copied.
        """
        cdef Py_ssize_t k
        if num_lanes < 1 or lane_bytes < 1:
            raise ValueError(f"lanes: expected at least one of at least one byte, got {num_lanes} of {lane_bytes}")
        cdef kernel_t declared
        read_kernel(kernel, &declared)
        if declared.functions == NULL:
            raise ValueError("kernel: expected one with functions of a lane")
        set_sizes(&declared, &self.lanes.sizes)
        self.lanes.parameters = declared.parameter_count
        self.lanes.functions = (<const lane_functions_t*> declared.functions)[0]
        if (saved_fields is None) != (self.lanes.functions.save == NULL):
            raise ValueError("saved lanes: expected their fields for functions that save, and only for them")
        self.set_lanes(kernel, &self.lanes, num_lanes)
        self.references = references
        # Whole words, so that all elements are aligned. The memory of a lane is at least as long.
        saved_fields = saved_fields or [("lane", np.uint8, ((lane_bytes + 7) // 8 * 8,))]
        self.saved_dtype = np.dtype(saved_fields)
        if self.saved_dtype.itemsize % 8:
            raise ValueError(f"saved lanes: expected whole words, got {self.saved_dtype}")
        self.threads = Threads(1, False)
        self.lanes.shared = shared
        # Each lane has cache lines of its own, so that threads do not share them.
        self.lanes.stride = (lane_bytes + 63) // 64 * 64
        self.allocated = PyMem_RawCalloc(num_lanes + 1, self.lanes.stride)
        if self.allocated == NULL:
            raise MemoryError(f"no memory for {num_lanes} lanes of {lane_bytes} bytes")
        self.lanes.memory = <char*> ((<size_t> self.allocated + 63) & ~<size_t> 63)
        for k in range(num_lanes):
            if self.lanes.functions.make != NULL and not self.lanes.functions.make(lane_at(&self.lanes, k), shared):
                raise MemoryError(f"lane {k} of {num_lanes} could not be made")
            self.lanes.num_lanes = k + 1  # __dealloc__ frees this many
        return 0

    def __dealloc__(self):
        cdef int64_t k
        if self.lanes.functions.free != NULL:
            for k in range(self.lanes.num_lanes):
                self.lanes.functions.free(lane_at(&self.lanes, k), self.lanes.shared)
        PyMem_RawFree(self.allocated)

    cdef char* _lane(self, Py_ssize_t lane) except NULL:
        if not 0 <= lane < self.lanes.num_lanes:
            raise IndexError(f"lane {lane} is not in [0, {self.lanes.num_lanes})")
        return <char*> lane_at(&self.lanes, lane)

    def view(self):
        """Return a view of the bytes of all lanes, uint8 [num_lanes, bytes from one lane to the next]."""
        cdef cnp.npy_intp[2] shape = [self.lanes.num_lanes, self.lanes.stride]
        array = cnp.PyArray_SimpleNewFromData(2, shape, cnp.NPY_UINT8, self.lanes.memory)
        cnp.set_array_base(array, self)
        return array

    def take_faults(self):
        """Return the lanes with faults, `[(lane, fault), ...]`. The next step does not report these faults again."""
        cdef unsigned int faulted = load32(&self.lanes.faulted)
        store32(&self.lanes.faulted, 0)
        if faulted == WRONG_FLAGS:
            raise ValueError("step: expected GYMCORE_TERMINATED, GYMCORE_TRUNCATED, both or 0, got other flags")
        if self.lanes.functions.faulted == NULL:
            return []
        faults = [(i, self.lanes.functions.faulted(self._lane(i))) for i in range(self.lanes.num_lanes)]
        return [(lane, fault) for lane, fault in faults if fault]

    # --- states ---------------------------------------------------------------------------------------------------

    cdef object _copy(self, int operation, object indices, cnp.ndarray saved):
        """Save, load or check lanes, int64 [n], in an array [n]; return a mask of those for which it succeeded."""
        cdef copying_t copying
        if saved.dtype != self.saved_dtype or saved.ndim != 1 or np.shape(saved) != np.shape(indices):
            raise ValueError(
                f"saved: expected {np.shape(indices)} of {self.saved_dtype}, got {np.shape(saved)} of {saved.dtype}")
        if operation == SAVE and not cnp.PyArray_ISWRITEABLE(saved):
            raise ValueError("saved: expected a writable array")
        indices = np.array(indices, np.int64, order="C")  # a copy that no other thread can change
        for lane in indices.tolist():
            self._lane(lane)
        cdef cnp.ndarray rows = np.zeros(len(indices), self.saved_dtype)  # aligned; fields of records may not be
        if operation != SAVE:
            rows[:] = saved
        done = np.zeros(len(indices), np.bool_)
        copying.operation, copying.lanes = operation, &self.lanes
        copying.indices = <const int64_t*> cnp.PyArray_DATA(<cnp.ndarray> indices)
        copying.rows = <char*> cnp.PyArray_DATA(rows)
        copying.size = self.saved_dtype.itemsize
        copying.done = <uint8_t*> cnp.PyArray_DATA(<cnp.ndarray> done)
        self.threads.share(copy_job, &copying, len(indices))
        if operation == SAVE:
            saved[:] = rows
        return done

    def save(self, indices, cnp.ndarray saved not None):
        """Write lanes, int64 [n], into an array [n] of `saved_dtype`."""
        done = self._copy(SAVE, indices, saved)
        if not done.all():
            self.refuse_to_save(indices[np.argmin(done)])

    def refuse_to_save(self, lane):
        """Raise the error for a lane that could not be saved."""
        raise ValueError(f"lane {lane} cannot be saved")

    def load(self, indices, cnp.ndarray saved not None):
        """Restore lanes from valid elements, and raise the faults that the restored lanes have."""
        self._copy(LOAD, indices, saved)
        if load32(&self.lanes.faulted):
            self.raise_faults()

    def valid(self, cnp.ndarray saved not None):
        """Return which elements of an array of `saved_dtype` are valid lanes, bool [len(saved)]."""
        return self._copy(CHECK, np.zeros(np.shape(saved), np.int64), saved)


cdef class StructLanes(LaneStore):
    """Lanes that need nothing but the functions of one lane.

    Args:
        kernel: capsule of the kernel, which was made with the functions of a lane.
        num_lanes: number of lanes.
        lane_bytes: size of the struct.
        saved_bytes: bytes that `save` of the functions writes, a multiple of 8; 0 if the bytes of lanes are copied.
        shared: capsule of the data that all lanes share, named `shared_name` of the functions; None without a name.
        on_fault: function that raises, called with the lanes that have a fault, `[(lane, fault), ...]`. None if
            the functions report no faults.

    Raises:
        ValueError: If a size is not positive, or the kernel has no functions.
        TypeError: If `shared` is not the capsule that the functions expect.
    """

    def __cinit__(
        self, *, object kernel, Py_ssize_t num_lanes, Py_ssize_t lane_bytes, Py_ssize_t saved_bytes=0,
        object shared=None, object on_fault=None,
    ):
        cdef kernel_t declared
        read_kernel(kernel, &declared)
        cdef const char* name = NULL
        if declared.functions != NULL:
            name = (<const lane_functions_t*> declared.functions).shared_name
        if name == NULL and shared is not None:
            raise TypeError(f"shared: expected None for functions without shared_name, got {type(shared).__name__}")
        self.on_fault = on_fault
        self.set_up(
            kernel, num_lanes, lane_bytes,
            NULL if name == NULL else pointer_of(shared, name, "shared", TypeError), shared,
            [("lane", np.uint8, (saved_bytes,))] if saved_bytes else None)

    def raise_faults(self):
        """Call `on_fault` with the lanes that have a fault."""
        self.on_fault(self.take_faults())
