"""Kernels that are declared in Python.

`CustomKernel` is the declaration. The `store` of its batch is one of three: `StructLanes` (structs, and functions of
one lane), `LaneLoops` (arrays of state, and loops over them that gymcore.jit generates), or `LaneResults` (results that
an ArrayVectorEnv has computed for all lanes).
gymcore.jit generates loops, not functions of one lane, because LLVM can neither inline nor vectorize functions behind
pointers: a lane of CartPole would take 35 ns instead of 8.
"""
cimport numpy as cnp
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

from gymcore_ext.arrays cimport copy_bytes
from gymcore_ext.engine.capsules cimport owned_capsule
from gymcore_ext.engine.kernel cimport (
    ISA_COUNT, KERNEL_ABI, KERNEL_CAPSULE, MAX_AXES, MAX_INFOS, MAX_PARTS, columns_t, flag_t, info_field_t, kernel_t,
    part_t,
)
from gymcore_ext.engine.kernels cimport MAX_NUMBERS, LaneOwner, read_kernel
from gymcore_ext.lanes.struct_lanes cimport use_functions

from math import prod

import numpy as np

from gymcore_ext.engine.kernels import TYPES

cnp.import_array()

cdef extern from "engine/atomics.h":
    ctypedef unsigned int word_t "gymcore_word"
    unsigned int load32 "gymcore_load32"(word_t* word) noexcept nogil
    unsigned int swap32 "gymcore_swap32"(word_t* word, unsigned int value) noexcept nogil
    void store32 "gymcore_store32"(word_t* word, unsigned int value) noexcept nogil
    void pause "gymcore_pause"() noexcept nogil

cdef enum:
    # Maximum number of arrays of a lane's state.
    MAX_FIELDS = 64

# The loops of LaneLoops, and the first arrays of each; those of state, parameters and outputs follow. The address
# before the first array is that of a failure_t.
LOOPS = ("step", "reset", "observe", "write_infos", "central_state")
FIRST_ARRAYS = ("rngs", "lanes", "actions", "rewards", "ends", "active")
cdef enum:
    FIRST_FIELD = 6             # the number of these arrays


# part_t and info_field_t of kernel.h.
PART = np.dtype([("type", np.int32), ("shape", np.int32, (MAX_AXES,)), ("first_agent", np.int32)])
INFO_FIELD = np.dtype([
    ("name", np.uintp), ("type", np.int32), ("size", np.int32), ("when", np.int32), ("shape", np.int32, (MAX_AXES,)),
], align=True)


# A loop over lanes [lo, hi), or over lanes[lo] to lanes[hi - 1] if `listed`. In a step, `lanes` is instead a mask of
# lanes that the loop may skip. `varied` is whether each lane has its own parameters. In a reset, the array of actions
# contains the reset options.
ctypedef void (*loop_t)(void** arrays, int64_t varied, int64_t listed, int64_t lo, int64_t hi) noexcept nogil


# The exception of the lowest lane that raised one.
ctypedef struct failure_t:
    word_t lock, raised
    int64_t lane, loop
    const char* pickled        # class, arguments and place of the exception, pickled by Numba
    int64_t size


ctypedef struct loops_t:
    failure_t failure
    loop_t loops[5]            # in the order of LOOPS
    int outputs[5]             # how many arrays each of them writes
    const kernel_t* kernel
    int fields, failed
    void* arrays[MAX_FIELDS]   # the arrays of the state
    int64_t bytes[MAX_FIELDS]  # size of what a reset clears in each array for one lane


ctypedef struct results_t:
    int parts
    int64_t agents             # of a world, or 0
    int64_t bytes[MAX_PARTS]
    char* last[MAX_PARTS]
    const char* first[MAX_PARTS]
    const double* rewards
    const uint8_t* ends


cdef void record_failure(
    failure_t* failure, int64_t lane, int64_t loop, const char* pickled, int64_t size
) noexcept nogil:
    while swap32(&failure.lock, 1):
        pause()
    if not load32(&failure.raised) or lane < failure.lane:
        failure.lane, failure.loop, failure.pickled, failure.size = lane, loop, pickled, size
        store32(&failure.raised, 1)
    store32(&failure.lock, 0)


# The address of the function that compiled loops call for an exception.
RECORD_FAILURE_ADDRESS = <size_t> &record_failure


cdef inline void run_loop(
    int loop, const columns_t* columns, const void* lanes, const void* inputs, double* rewards, flag_t* ends,
    void* const* parts, bint listed, int64_t lo, int64_t hi
) noexcept nogil:
    """Run a loop over the FIRST_ARRAYS, followed by the arrays of state, parameters and outputs."""
    cdef const loops_t* self = <const loops_t*> columns.lanes
    cdef void* memory[1 + FIRST_FIELD + MAX_FIELDS + MAX_NUMBERS + MAX_INFOS]
    cdef void** arrays = memory + 1
    cdef int k
    if self.failed:
        return
    memory[0] = <void*> &self.failure
    arrays[0], arrays[1], arrays[2] = columns.rngs, <void*> lanes, <void*> inputs
    arrays[3], arrays[4], arrays[5] = rewards, ends, <void*> columns.active
    for k in range(self.fields):
        arrays[FIRST_FIELD + k] = self.arrays[k]
    for k in range(self.kernel.parameter_count):
        arrays[FIRST_FIELD + self.fields + k] = <void*> columns.parameters[k]
    for k in range(self.outputs[loop]):
        arrays[FIRST_FIELD + self.fields + self.kernel.parameter_count + k] = parts[k]
    self.loops[loop](arrays, columns.parameter_stride, listed, lo, hi)


cdef void step_loops(
    const columns_t* columns, const void* actions, void* const* parts, double* rewards, flag_t* ends, int64_t lo,
    int64_t hi
) noexcept nogil:
    run_loop(0, columns, columns.resetting, actions, rewards, ends, parts, columns.resetting != NULL, lo, hi)


cdef void reset_loops(
    const columns_t* columns, const double* options, const int64_t* lanes, int64_t count
) noexcept nogil:
    """Zero the state of lanes except for what outlasts episodes, and reset them."""
    cdef const loops_t* self = <const loops_t*> columns.lanes
    cdef int64_t k, field
    for k in range(count):
        for field in range(self.fields):
            memset(<char*> self.arrays[field] + lanes[k] * self.bytes[field], 0, self.bytes[field])
    run_loop(1, columns, lanes, options, NULL, NULL, NULL, True, 0, count)


cdef void observe_loops(
    const columns_t* columns, void* const* parts, const int64_t* lanes, int64_t lo, int64_t hi
) noexcept nogil:
    run_loop(2, columns, lanes, NULL, NULL, NULL, parts, lanes != NULL, lo, hi)


cdef void write_infos_loops(
    const columns_t* columns, void* const* parts, const int64_t* lanes, int64_t lo, int64_t hi
) noexcept nogil:
    run_loop(3, columns, lanes, NULL, NULL, NULL, parts, lanes != NULL, lo, hi)


cdef void central_state_loops(
    const columns_t* columns, void* const* parts, const int64_t* lanes, int64_t lo, int64_t hi
) noexcept nogil:
    run_loop(4, columns, lanes, NULL, NULL, NULL, parts, lanes != NULL, lo, hi)


cdef int loops_failed(const void* lanes) noexcept nogil:
    cdef loops_t* self = <loops_t*> lanes
    return self.failed or load32(&self.failure.raised)


cdef void observe_results(
    const columns_t* columns, void* const* parts, const int64_t* lanes, int64_t lo, int64_t hi
) noexcept nogil:
    cdef const results_t* self = <const results_t*> columns.lanes
    cdef int64_t i, lane
    cdef int k
    for k in range(self.parts):
        for i in range(lo, hi):
            lane = i if lanes == NULL else lanes[i]
            copy_bytes(<char*> parts[k] + lane * self.bytes[k], self.last[k] + lane * self.bytes[k], self.bytes[k])


cdef inline void copy_results(
    const results_t* self, void* const* parts, double* rewards, flag_t* ends, int64_t lo, int64_t hi, int64_t agents
) noexcept nogil:
    cdef int64_t i
    cdef int k
    memcpy(rewards + lo * agents, self.rewards + lo * agents, (hi - lo) * agents * sizeof(double))
    for i in range(lo * agents, hi * agents):
        ends[i] = self.ends[i]
    for k in range(self.parts):
        copy_bytes(<char*> parts[k] + lo * self.bytes[k], self.last[k] + lo * self.bytes[k], (hi - lo) * self.bytes[k])


cdef void step_results(
    const columns_t* columns, const void* actions, void* const* parts, double* rewards, flag_t* ends, int64_t lo,
    int64_t hi
) noexcept nogil:
    copy_results(<const results_t*> columns.lanes, parts, rewards, ends, lo, hi, 1)


cdef void step_world_results(
    const columns_t* columns, const void* actions, void* const* parts, double* rewards, flag_t* ends, int64_t lo,
    int64_t hi
) noexcept nogil:
    cdef const results_t* self = <const results_t*> columns.lanes
    copy_results(self, parts, rewards, ends, lo, hi, self.agents)


cdef void reset_results(
    const columns_t* columns, const double* options, const int64_t* lanes, int64_t count
) noexcept nogil:
    cdef const results_t* self = <const results_t*> columns.lanes
    cdef int64_t i, offset
    cdef int k
    for k in range(self.parts):
        for i in range(count):
            offset = lanes[i] * self.bytes[k]
            memcpy(self.last[k] + offset, self.first[k] + offset, self.bytes[k])


cdef class CustomKernel:
    """Declaration of a kernel for a `Batch`.

    Args:
        name: name of the environment.
        parts: (dtype, shape) of each array of an observation.
        action: dtype and shape of one action.
        ranges: lowest value and number of values of each integer of an action; none for floats.
        parameters: default values by name.
        reset_options: default values by name.
        infos: (name, dtype, size or shape) of each entry of the infos, followed by `when` of kernel.h or not.
        functions: capsule of the functions of one lane, if lanes are structs. They must live as long as the process.
        loops: without functions, whether the store is LaneLoops or LaneResults.
        agents: in a world of agents, how many numbers of an action each of them has.
        first_agents: the agent of the first row of each array of an observation; the next agents have the next rows.
        central: dtype and shape of the state for critics, if there is one.

    Raises:
        ValueError: If there are too many arrays, parameters, options or infos, or kernels do not have a dtype.
    """

    def __cinit__(
        self, str name, *, tuple parts, tuple action, tuple ranges=(), dict parameters=None, dict reset_options=None,
        tuple infos=(), object functions=None, bint loops=True, tuple agents=(), tuple first_agents=(),
        tuple central=None,
    ):
        cdef kernel_t* kernel = &self.kernel
        cdef kernel_t checked
        cdef int k
        parameters, reset_options = parameters or {}, reset_options or {}
        dtype, shape = action
        self.references = []
        kernel.size = sizeof(kernel_t)
        kernel.abi = KERNEL_ABI
        kernel.isa_count = ISA_COUNT
        kernel.name = self._c_string(name)
        kernel.state_names = ""
        kernel.parameter_names = self._c_string(" ".join(parameters))
        kernel.parameter_count = len(parameters)
        kernel.parameter_defaults = <double*> self._c_array(
            [<double> value for value in parameters.values()], np.float64)
        kernel.reset_option_names = self._c_string(" ".join(reset_options))
        kernel.reset_option_count = len(reset_options)
        kernel.reset_option_defaults = <double*> self._c_array(
            [<double> value for value in reset_options.values()], np.float64)
        kernel.part_count = len(parts)
        kernel.parts = <const part_t*> self._c_array(
            [(type_number(part_dtype), axes_of(part_shape), first) for (part_dtype, part_shape), first in zip(
                parts, first_agents or [0] * len(parts), strict=True)], PART)
        kernel.action_type = type_number(dtype)
        if prod(shape) >= 1 << 31:
            raise ValueError(f"action: expected fewer than 2**31 numbers, got shape {shape}")
        kernel.action_size = prod(shape) if shape else 0
        for k, length in enumerate(axes_of(shape)):
            kernel.action_shape[k] = length
        if ranges:
            kernel.action_ranges = <const int64_t*> self._c_array(ranges, np.int64)
        kernel.info_count = len(infos)
        kernel.infos = <const info_field_t*> self._c_array([
            (<size_t> self._c_string(info_name), type_number(info_dtype), prod(np.atleast_1d(info_size).tolist()),
             sum(when), axes_of(info_size if isinstance(info_size, tuple) else ()))
            for info_name, info_dtype, info_size, *when in infos], INFO_FIELD)
        kernel.agents = len(agents)
        kernel.agent_actions = <const int32_t*> self._c_array(np.cumsum([0, *agents]), np.int32)
        if central is not None:
            kernel.central.type = type_number(central[0])
            for k, length in enumerate(axes_of(central[1] or (1,))):
                kernel.central.shape[k] = length
        kernel.has_lanes = True
        if functions is not None:
            self.references.append(functions)
            use_functions(kernel, &self.functions, functions)
            if kernel.info_count and kernel.write_infos == NULL:
                raise ValueError(f"infos: expected none without the function write_infos, got {infos}")
        elif loops:
            kernel.step[0].shared, kernel.reset, kernel.observe = step_loops, reset_loops, observe_loops
            kernel.write_infos, kernel.faulted = write_infos_loops, loops_failed
            if central is not None:
                kernel.central_state = central_state_loops
        else:
            kernel.step[0].shared = step_world_results if kernel.agents else step_results
            kernel.reset, kernel.observe = reset_results, observe_results
        for k in range(ISA_COUNT):
            kernel.step[k].shared = kernel.step[k].varied = kernel.step[0].shared
        read_kernel(self.capsule, &checked)

    cdef const char* _c_string(self, str text):
        encoded = text.encode()
        self.references.append(encoded)
        return encoded

    cdef void* _c_array(self, object values, object dtype) except NULL:
        array = np.array(values, dtype)
        self.references.append(array)
        return cnp.PyArray_DATA(<cnp.ndarray> array)

    @property
    def capsule(self):
        """A new capsule of the kernel, for a `Batch`."""
        return owned_capsule(&self.kernel, KERNEL_CAPSULE, self)


cdef int32_t type_number(object dtype) except -1:
    """Return the number of a dtype in kernel.h."""
    for k, known in enumerate(TYPES):
        if np.dtype(dtype) == known:
            return k
    raise ValueError(f"expected one of {', '.join([np.dtype(known).name for known in TYPES])}, got {np.dtype(dtype)}")


cdef tuple axes_of(tuple shape):
    if len(shape) > MAX_AXES or 0 in shape or max(shape, default=0) >= 1 << 31:
        raise ValueError(f"expected at most {MAX_AXES} axes of 1 to 2**31 - 1 elements, got shape {shape}")
    return shape + (0,) * (MAX_AXES - len(shape))


cdef class LaneLoops(LaneOwner):
    """The state of lanes, and the loops that step them.

    Args:
        kernel: the kernel of the lanes.
        fields: arrays [num_lanes, ...] of the state, C-contiguous and writable.
        loops: addresses of functions by the names in LOOPS; those of infos and of the state for critics only if the
            kernel has them.
        owner: an object that keeps the loops alive.
        lasting: indices of the fields that outlast episodes; a reset clears the others.

    A loop that is written in Python calls `fail` instead of raising; the method of the batch then raises. A compiled
    loop calls the function at RECORD_FAILURE_ADDRESS, and goes on with the next lane.
    """

    cdef loops_t loops
    cdef readonly list fields
    cdef object owner, problem

    def __cinit__(
        self, CustomKernel kernel not None, list fields not None, dict loops not None, owner,
        list lasting not None,
    ):
        cdef int k
        if not 0 < len(fields) <= MAX_FIELDS:
            raise ValueError(f"fields: expected 1 to {MAX_FIELDS} arrays, got {len(fields)}")
        self.set_lanes(kernel.capsule, &self.loops, len(fields[0]))
        self.fields = fields
        self.owner = owner
        for k, array in enumerate(fields):
            if not array.flags.carray or len(array) != self.num_lanes:
                raise ValueError(f"fields[{k}]: expected a C-contiguous array of {self.num_lanes} lanes")
            self.loops.arrays[k] = cnp.PyArray_DATA(<cnp.ndarray> array)
            self.loops.bytes[k] = 0 if k in lasting else array.nbytes // self.num_lanes
        self.loops.kernel, self.loops.fields = &kernel.kernel, len(fields)
        parts = kernel.kernel.part_count
        for k, count in enumerate((parts, 0, parts, kernel.kernel.info_count, 1)):
            self.loops.outputs[k] = count
        for k, name in enumerate(LOOPS):
            if name in loops:
                self.loops.loops[k] = <loop_t> <size_t> loops[name]

    def fail(self, problem, int64_t lane=-1, int64_t loop=0):
        """Set the exception that the running method of the batch raises, unless an earlier one is set."""
        if not self.loops.failed:
            self.problem, self.loops.failure.lane, self.loops.failure.loop = problem, lane, loop
        self.loops.failed = 1

    def take_fault(self):
        """Return lane, name of the loop, and exception of a fault, and forget it.

        The lane is -1 if it is unknown. The exception of a compiled loop is the pickle of its class, arguments and
        place.
        """
        cdef failure_t* failure = &self.loops.failure
        problem, self.problem = self.problem, None
        if problem is None:
            problem = failure.pickled[:failure.size]
        self.loops.failed = 0
        store32(&failure.raised, 0)
        return failure.lane, LOOPS[failure.loop], problem


cdef class LaneResults(LaneOwner):
    """Results that were computed for all lanes of a batch before its step.

    Args:
        kernel: the kernel of the lanes.
        last: arrays [num_lanes, ...] of the observations after the step; a reset replaces rows by those of `first`.
        first: such arrays of the first observations of episodes; only the rows of lanes that begin one are read.
        rewards: float64 [num_lanes]; in worlds of agents [num_lanes, agents].
        ends: uint8, of the same shape: 1 for lanes or agents that terminated, 2 for those that were truncated, 3 for
            both.
    """

    cdef results_t results
    cdef list references

    def __cinit__(self, CustomKernel kernel not None, list last not None, list first not None, rewards, ends):
        cdef int k
        self.set_lanes(kernel.capsule, &self.results, len(rewards))
        self.references = [*last, *first, rewards, ends]
        for array in self.references:
            if not array.flags.carray or len(array) != self.num_lanes:
                raise ValueError(f"expected C-contiguous arrays of {self.num_lanes} lanes")
        self.results.parts, self.results.agents = kernel.kernel.part_count, kernel.kernel.agents
        for k in range(self.results.parts):
            self.results.last[k] = <char*> cnp.PyArray_DATA(<cnp.ndarray> last[k])
            self.results.first[k] = <const char*> cnp.PyArray_DATA(<cnp.ndarray> first[k])
            self.results.bytes[k] = last[k].nbytes // self.num_lanes
        self.results.rewards = <const double*> cnp.PyArray_DATA(<cnp.ndarray> rewards)
        self.results.ends = <const uint8_t*> cnp.PyArray_DATA(<cnp.ndarray> ends)
