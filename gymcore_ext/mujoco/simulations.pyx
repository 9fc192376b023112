"""A kernel for a `Batch` whose lanes are MuJoCo simulations.

A lane consists of the addresses of an mjData and an mjModel (its own or a shared one), registers, and a table of the
addresses of the spaces of programs. A step of a lane computes the controls, calls `mj_step` for each frame and
`mj_rnePostConstraint` once, and computes reward, termination and infos. One thread at a time steps a lane; models are
only read.
"""
cimport numpy as cnp
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF, Py_XDECREF
from libc.math cimport fabs, isfinite
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset, strncpy

from gymcore_ext.engine.kernel cimport INT64, info_field_t, rng_t
from gymcore_ext.lanes.custom_kernel cimport CustomKernel
from gymcore_ext.lanes.lane_functions cimport TERMINATED, functions_capsule, lane_functions_t
from gymcore_ext.lanes.struct_lanes cimport LaneStore
from gymcore_ext.mujoco.program cimport (
    ACTION, CONSTANTS, EVERY, FIRST_ARRAY, NORMAL, OBSERVATION, OPCODES, REGISTERS, REPEAT_UNLESS, SUM, UNIFORM,
    WEIGHTED_ROWS, operation_t, run_program, ufunc_loop_t,
)

import numpy as np

cnp.import_array()


cdef extern from "mujoco/mujoco_calls.h":
    enum:
        FAULT_TEXT "GYMCORE_FAULT_TEXT"
        DIVERGED "GYMCORE_DIVERGED"
        FAILED "GYMCORE_FAILED"

    ctypedef struct mujoco_t "gymcore_mujoco":  # of pointers to FUNCTIONS, HANDLERS and CALLBACK, in their order
        void* forward
        void* reset_data
        int (*state_size)(const void* model, int signature) noexcept nogil
        void (*get_state)(const void* model, const void* data, double* state, int signature) noexcept nogil
        void (*set_state)(const void* model, void* data, const double* state, int signature) noexcept nogil
        void** control

    ctypedef struct trap_t "gymcore_trap":
        int outcome
        char* text

    void trap_open "gymcore_trap_open"(trap_t* trap, const mujoco_t* calls) noexcept nogil
    void trap_close "gymcore_trap_close"(trap_t* trap, const mujoco_t* calls) noexcept nogil
    int mujoco_call "gymcore_mujoco_call"(
        trap_t* trap, void* function, const void* model, void* data, int count, PyObject** stop) noexcept nogil
    int mujoco_step "gymcore_mujoco_step"(
        const mujoco_t* calls, trap_t* trap, const void* model, void* data, int count, PyObject** stop) noexcept nogil


cdef extern from *:
    """static int gymcore_raise_pending(void) { return PyErr_Occurred() ? -1 : 0; }"""
    int raise_pending "gymcore_raise_pending"() except -1


# NumPy's own declaration differs between versions.
cdef extern from "numpy/ufuncobject.h":
    ctypedef struct ufunc_t "PyUFuncObject":
        int ntypes
        void** functions
        void** data
        const char* types


# The functions that every version has, and two rows of handlers, of which a version has one (mujoco_calls.h).
FUNCTIONS = (
    "mj_step", "mj_forward", "mj_resetData", "mj_rnePostConstraint", "mj_stateSize", "mj_getState", "mj_setState",
)
HANDLERS = (
    ("_mjPRIVATE_setTlsLogHandler",),
    ("_mjPRIVATE__get_tls_error_fn", "_mjPRIVATE__get_tls_warning_fn",
     "_mjPRIVATE__set_tls_error_fn", "_mjPRIVATE__set_tls_warning_fn"),
)
# The variable with the function that computes controls.
CALLBACK = ("mjcb_control",)

# As `operation_t` in program.pxd.
OPERAND = np.dtype([("space", np.int32), ("offset", np.int32), ("stride", np.int32)])
OPERATION = np.dtype([*((name, np.int32) for name in ("code", "count", "width", "follows_action")),
                      *((name, OPERAND) for name in ("out", "a", "b", "c"))])

# The programs of a description compute, in this order: the initial state, infos of a reset, what a step needs from
# before it and the controls, reward, termination and infos, and the observation.
PHASES = ("start", "begun", "before", "after", "observe")
cdef enum:
    START, BEGUN, BEFORE, AFTER, OBSERVE, PHASE_COUNT

# The first spaces of arrays, of the data.
FIRST_ARRAYS = ("qpos", "qvel", "ctrl")
cdef enum:
    QPOS = FIRST_ARRAY
    QVEL = FIRST_ARRAY + 1


ctypedef struct program_t:
    operation_t* operations
    int64_t length


ctypedef struct lane_t:      # the addresses of its spaces and its registers follow
    const void* model
    void* data
    double** bases           # where each space begins
    # Initial positions and velocities that replace those of the program, or NULL.
    const double* qpos
    const double* qvel
    int outcome
    char text[FAULT_TEXT]


ctypedef struct simulations_t:
    mujoco_t calls
    ufunc_loop_t sine_cosine[2]
    program_t programs[PHASE_COUNT]
    int32_t frame_skip, parameter_count, qpos_size, qvel_size
    int32_t reward, terminated           # registers
    int32_t infos, info_count, info_width
    const info_field_t* fields
    int32_t signature, state_size        # of MuJoCo's integration state
    int32_t array_count, saved_size      # of arrays, and of numbers of a saved lane
    const int64_t* array_sizes           # 0 for arrays of the model, which are not saved
    PyObject* exception                  # of a callback in Python, the first one that is not raised yet


cdef inline bint run_phase(
    const simulations_t* self, lane_t* lane, int phase, rng_t* rng=NULL, bint float32=False
) noexcept nogil:
    return run_program(
        self.programs[phase].operations, self.programs[phase].length, lane.bases, self.sine_cosine, rng, float32)


cdef inline void load_parameters(const simulations_t* self, lane_t* lane, const double* parameters) noexcept nogil:
    """Copy the lane's parameters into the first registers."""
    memcpy(lane.bases[REGISTERS], parameters, self.parameter_count * sizeof(double))


cdef void take_exception(PyObject** place) noexcept with gil:
    """Take this thread's exception, if there is one, and store it if the place is empty."""
    try:
        raise_pending()
    except BaseException as exception:
        if place[0] == NULL:
            Py_INCREF(exception)
            place[0] = <PyObject*> exception


cdef inline void record_fault(simulations_t* self, lane_t* lane, int outcome, const char* text) noexcept nogil:
    """Record the worst outcome of a lane for `raise_faults`."""
    if outcome == FAILED:
        take_exception(&self.exception)
    if outcome > lane.outcome:
        lane.outcome = outcome
        strncpy(lane.text, text, FAULT_TEXT)


# --- the functions of a lane ------------------------------------------------------------------------------------------

cdef int step(
    void* memory, const void* shared, const double* parameters, const void* action, int32_t float32_action, rng_t* rng,
    double* reward
) noexcept nogil:
    cdef simulations_t* self = <simulations_t*> shared
    cdef lane_t* lane = <lane_t*> memory
    cdef trap_t trap
    cdef int outcome
    cdef bint terminated = False
    if self.exception != NULL:  # all lanes are left out
        return 0
    load_parameters(self, lane, parameters)
    lane.bases[ACTION] = <double*> action
    trap_open(&trap, &self.calls)
    run_phase(self, lane, BEFORE, NULL, float32_action)
    outcome = mujoco_step(&self.calls, &trap, lane.model, lane.data, self.frame_skip, &self.exception)
    if outcome:
        record_fault(self, lane, outcome, trap.text)
    trap_close(&trap, &self.calls)
    if outcome != FAILED:
        run_phase(self, lane, AFTER, NULL, float32_action)
        reward[0] = lane.bases[REGISTERS][self.reward]
        terminated = lane.bases[REGISTERS][self.terminated] != 0.0 or outcome == DIVERGED
    return TERMINATED if terminated else 0


cdef void reset(
    void* memory, const void* shared, const double* parameters, const double* options, rng_t* rng
) noexcept nogil:
    cdef simulations_t* self = <simulations_t*> shared
    cdef lane_t* lane = <lane_t*> memory
    cdef trap_t trap
    cdef int outcome
    load_parameters(self, lane, parameters)
    trap_open(&trap, &self.calls)
    outcome = mujoco_call(&trap, self.calls.reset_data, lane.model, lane.data, 1, NULL)
    if outcome == 0 and not run_phase(self, lane, START, rng):
        record_fault(self, lane, FAILED, "no draw satisfied the condition of the start")
    if lane.qpos != NULL:
        memcpy(lane.bases[QPOS], lane.qpos, 8 * self.qpos_size)
    if lane.qvel != NULL:
        memcpy(lane.bases[QVEL], lane.qvel, 8 * self.qvel_size)
    if outcome == 0:
        outcome = mujoco_call(&trap, self.calls.forward, lane.model, lane.data, 1, NULL)
    if outcome:
        record_fault(self, lane, outcome, trap.text)
    trap_close(&trap, &self.calls)
    memset(lane.bases[REGISTERS] + self.infos, 0, 8 * self.info_width)
    run_phase(self, lane, BEGUN)


cdef void observe(const void* memory, const void* shared, const double* parameters, void* const* parts) noexcept nogil:
    cdef lane_t* lane = <lane_t*> memory
    load_parameters(<const simulations_t*> shared, lane, parameters)
    lane.bases[OBSERVATION] = <double*> parts[0]
    run_phase(<const simulations_t*> shared, lane, OBSERVE)


cdef void write_infos(const void* memory, const void* shared, void* const* infos) noexcept nogil:
    cdef const simulations_t* self = <const simulations_t*> shared
    cdef const double* values = (<const lane_t*> memory).bases[REGISTERS] + self.infos
    cdef int64_t i, j
    for i in range(self.info_count):
        for j in range(self.fields[i].size):
            if self.fields[i].type == INT64:
                (<int64_t*> infos[i])[j] = <int64_t> values[0] if fabs(values[0]) < 2.0 ** 62 else 0
            else:
                (<double*> infos[i])[j] = values[0]
            values += 1


cdef int faulted(const void* lane) noexcept nogil:
    return (<const lane_t*> lane).outcome


cdef int save(void* memory, const void* shared, void* saved) noexcept nogil:
    """Write MuJoCo's integration state and all arrays that programs read: a restored lane is observed like this one."""
    cdef const simulations_t* self = <const simulations_t*> shared
    cdef lane_t* lane = <lane_t*> memory
    cdef double* numbers = <double*> saved
    cdef int k
    self.calls.get_state(lane.model, lane.data, numbers, self.signature)
    numbers += self.state_size
    for k in range(self.array_count):
        memcpy(numbers, lane.bases[FIRST_ARRAY + k], 8 * self.array_sizes[k])
        numbers += self.array_sizes[k]
    return True


cdef int check(const void* saved, const void* shared) noexcept nogil:
    cdef int64_t k
    for k in range((<const simulations_t*> shared).saved_size):
        if not isfinite((<const double*> saved)[k]):
            return False
    return True


cdef void load(void* memory, const void* shared, const void* saved) noexcept nogil:
    cdef simulations_t* self = <simulations_t*> shared
    cdef lane_t* lane = <lane_t*> memory
    cdef const double* numbers = <const double*> saved
    cdef trap_t trap
    cdef int k, outcome
    trap_open(&trap, &self.calls)
    mujoco_call(&trap, self.calls.reset_data, lane.model, lane.data, 1, NULL)
    self.calls.set_state(lane.model, lane.data, numbers, self.signature)
    # Updates what programs do not read, such as positions in frames, but changes the state.
    outcome = mujoco_call(&trap, self.calls.forward, lane.model, lane.data, 1, NULL)
    if outcome:
        record_fault(self, lane, outcome, trap.text)
    trap_close(&trap, &self.calls)
    self.calls.set_state(lane.model, lane.data, numbers, self.signature)
    numbers += self.state_size
    for k in range(self.array_count):
        memcpy(lane.bases[FIRST_ARRAY + k], numbers, 8 * self.array_sizes[k])
        numbers += self.array_sizes[k]


cdef lane_functions_t functions_of_lane
functions_of_lane.reset, functions_of_lane.step, functions_of_lane.observe = reset, step, observe
functions_of_lane.write_infos, functions_of_lane.faulted = write_infos, faulted
functions_of_lane.save, functions_of_lane.load, functions_of_lane.check = save, load, check


cdef check_program(str phase, operations, list sizes, list writable):
    """Raise if an operand is outside its space, or a result in a space that is read-only.

    Args:
        phase: One of PHASES, or a name for messages.
        operations: An array of OPERATION.
        sizes: Count of numbers in each space.
        writable: Spaces for results besides the registers and the observation.
    """
    for place, operation in enumerate(operations.tolist()):
        code, count, width, _, *operands = operation
        wrong = not 0 <= code < OPCODES or count < 0 or width < 0 or not sizes[<int> REGISTERS]
        wrong |= code in (UNIFORM, NORMAL, REPEAT_UNLESS) and phase != "start"
        wrong |= code == REPEAT_UNLESS and width >= place
        wrong |= code in (REPEAT_UNLESS, WEIGHTED_ROWS) and not count
        wrong |= operands[0][0] not in (REGISTERS, OBSERVATION, *writable) or operands[0][2] not in (0, 1)
        for k, (space, offset, stride) in enumerate(operands):
            used = count
            if k == 0 and code in (SUM, EVERY):
                used = 1
            if code == WEIGHTED_ROWS:
                used, stride = (width, count, count * width, 0)[k], 1 if k == 2 else stride
            if not 0 <= space < len(sizes) or offset < 0 or stride < 0:
                wrong = True
            elif k == 0 or space != REGISTERS or offset or stride:
                last = (used - 1) * (1 if k == 0 else stride) if used else -1
                wrong |= offset + last >= sizes[space]
        if wrong:
            raise ValueError(f"program {phase}: operation {place} {operation} leaves its spaces {sizes}")


def run(operations, spaces, bint float32_actions):
    """Run a program without draws over its spaces, float64 arrays of rank 1; return the observation.

    Raises:
        ValueError: An operand is outside its space.
    """
    cdef cnp.ndarray program = np.ascontiguousarray(operations, OPERATION)
    cdef list arrays = [np.ascontiguousarray(space, np.float64) for space in spaces]
    cdef cnp.ndarray bases = np.array([<size_t> cnp.PyArray_DATA(<cnp.ndarray> array) for array in arrays], np.uintp)
    cdef ufunc_loop_t sine_cosine[2]
    check_program("value", program, [array.size for array in arrays], [])
    set_loop(&sine_cosine[0], np.sin)
    set_loop(&sine_cosine[1], np.cos)
    run_program(
        <operation_t*> cnp.PyArray_DATA(program), cnp.PyArray_SIZE(program), <double**> cnp.PyArray_DATA(bases),
        sine_cosine, NULL, float32_actions)
    return arrays[<int> OBSERVATION]


cdef const double* start_row(object start, Py_ssize_t lane):
    """Return a lane's row of an initial state [1 or num_lanes, size]; NULL for None."""
    if start is None:
        return NULL
    return <const double*> cnp.PyArray_GETPTR2(start, lane % cnp.PyArray_DIM(start, 0), 0)


cdef class Simulations(LaneStore):
    """Simulations of a batch, and the kernel that steps them.

    Args:
        functions: Addresses of MuJoCo's functions: a dict with FUNCTIONS, one row of HANDLERS, and CALLBACK.
        models: An mjModel of MuJoCo's Python package for each lane; lanes may share one.
        datas: An mjData for each lane, which must not be stepped elsewhere at the same time.
        arrays: Pairs ("data" or "model", name) of the float64 arrays that programs use, beginning with FIRST_ARRAYS.
        programs: Maps each of PHASES to an array of OPERATION.
        constants: The constants of the programs, float64.
        registers: Number of registers of a lane; the first ones are its parameters.
        parameters: Maps names to defaults.
        observation_size: Count of numbers in an observation.
        action_size: Count of numbers in an action.
        infos: Tuples (name, np.float64 or np.int64, size, whether resets leave it out).
        info_register, reward_register, terminated_register: Registers of these results.
        frame_skip: Simulation steps in a step.
        signature: MuJoCo's mjSTATE_INTEGRATION.
        on_fault: Called with lanes, texts and whether one failed, after a call in which a simulation failed, diverged
            or gave a warning. Raises for a failure, after which all lanes must be reset.

    Raises:
        ValueError: An operand of a program is outside its space.
    """

    cdef simulations_t sims
    cdef CustomKernel declared
    cdef tuple starts
    cdef list sizes              # of the arrays
    cdef object on_fault
    cdef readonly list models, datas
    cdef readonly tuple arrays
    cdef readonly Py_ssize_t registers

    def __cinit__(
        self, *, dict functions, list models, list datas, list arrays, dict programs, object constants,
        Py_ssize_t registers, dict parameters, int observation_size, int action_size, tuple infos, int info_register,
        int reward_register, int terminated_register, int frame_skip, int signature, object on_fault,
    ):
        cdef Py_ssize_t i
        cdef lane_t* lane
        cdef cnp.ndarray fixed = np.ascontiguousarray(constants, np.float64)
        self.models = list(models)
        self.datas = list(datas)
        self.arrays = tuple(arrays)
        self.registers = registers
        width = sum([size for _, _, size, _ in infos])
        results = (len(parameters) - 1, info_register + width - 1, reward_register, terminated_register)
        if info_register < 0 or not 0 <= min(results[2:]) or not max(*results, 0) < registers:
            raise ValueError(f"registers: expected more than {max(*results, 0)} and no negative ones, got {registers}")
        self.on_fault = on_fault
        self.sims.frame_skip = frame_skip
        self.sims.parameter_count = len(parameters)
        self.sims.reward = reward_register
        self.sims.terminated = terminated_register
        self.sims.infos = info_register
        self.sims.info_count = len(infos)
        self.sims.info_width = width
        set_functions(&self.sims.calls, functions)
        set_loop(&self.sims.sine_cosine[0], np.sin)
        set_loop(&self.sims.sine_cosine[1], np.cos)
        self.sizes = [getattr(datas[0] if owner == "data" else models[0], name).size for owner, name in arrays]
        saved = np.array([size * (owner == "data") for size, (owner, _) in zip(self.sizes, arrays)], np.int64)
        self.sims.array_count, self.sims.array_sizes = len(saved), <int64_t*> cnp.PyArray_DATA(<cnp.ndarray> saved)
        self.sims.signature = signature
        self.sims.state_size = self.sims.calls.state_size(<const void*> <size_t> models[0]._address, signature)
        self.sims.saved_size = self.sims.state_size + saved.sum()
        self.declared = CustomKernel(
            "mujoco", parts=((np.float64, (observation_size,)),), action=(np.float64, (action_size,)),
            parameters=parameters, infos=infos, functions=functions_capsule(&functions_of_lane))
        self.sims.fields = self.declared.kernel.infos
        self.set_up(
            self.declared.capsule, len(datas),
            sizeof(lane_t) + (FIRST_ARRAY + len(arrays)) * sizeof(double*) + registers * sizeof(double), &self.sims,
            [fixed, saved], [("numbers", np.float64, (self.sims.saved_size,))])
        for i in range(len(datas)):
            lane = <lane_t*> self._lane(i)
            lane.bases = <double**> (lane + 1)
            lane.bases[REGISTERS] = <double*> (lane.bases + FIRST_ARRAY + len(arrays))
            lane.bases[CONSTANTS] = <double*> cnp.PyArray_DATA(fixed)
            self._bind_lane(i)
        self._set_programs(programs, len(constants), action_size, observation_size)

    def __dealloc__(self):
        Py_XDECREF(self.sims.exception)

    cdef _bind_lane(self, Py_ssize_t i):
        """Set the addresses of the arrays of a lane's model and data."""
        cdef cnp.ndarray array
        cdef lane_t* lane = <lane_t*> self._lane(i)
        check_threads(self.datas[i])
        lane.model = <const void*> <size_t> self.models[i]._address
        lane.data = <void*> <size_t> self.datas[i]._address
        for k, (owner, name) in enumerate(self.arrays):
            array = getattr(self.datas[i] if owner == "data" else self.models[i], name)
            if array.dtype != np.float64 or not cnp.PyArray_IS_C_CONTIGUOUS(array):
                raise ValueError(f"{owner}.{name}: expected a contiguous float64 array, got {array.dtype}")
            if array.size != self.sizes[k]:
                raise ValueError(f"{owner}.{name}: expected {self.sizes[k]} numbers as in lane 0, got {array.size}")
            lane.bases[FIRST_ARRAY + k] = <double*> cnp.PyArray_DATA(array)

    cdef _set_programs(self, dict programs, Py_ssize_t constants, int action_size, int row_size):
        cdef cnp.ndarray operations
        if self.arrays[:3] != tuple([("data", name) for name in FIRST_ARRAYS]):
            raise ValueError(f"arrays: expected data.{FIRST_ARRAYS} first, got {self.arrays[:3]}")
        self.sims.qpos_size, self.sims.qvel_size = self.sizes[:2]
        arrays = [FIRST_ARRAY + k for k, (owner, _) in enumerate(self.arrays) if owner == "data"]
        for phase, name in enumerate(PHASES):
            operations = np.ascontiguousarray(programs[name], OPERATION)
            sizes = [self.registers, constants, action_size if name in ("before", "after") else 0,
                     row_size if name == "observe" else 0, *self.sizes]
            check_program(name, operations, sizes, arrays if name in ("start", "before") else [])
            self.references.append(operations)
            self.sims.programs[<int> phase].operations = <operation_t*> cnp.PyArray_DATA(operations)
            self.sims.programs[<int> phase].length = cnp.PyArray_SIZE(operations)

    def raise_faults(self):
        """Pass the faults of lanes since the last call to `on_fault`, or raise the exception of a callback."""
        cdef lane_t* lane
        lanes, texts, failed = [], [], False
        for i, outcome in self.take_faults():
            lane = <lane_t*> self._lane(i)
            lane.outcome = 0
            lanes.append(i)
            texts.append((<bytes> lane.text).decode(errors="replace"))
            failed = failed or outcome == FAILED
        raise_exception(&self.sims.exception)
        if lanes:
            self.on_fault(lanes, texts, failed)

    def start_from(self, qpos=None, qvel=None):
        """Set the initial state of the next resets: float64 [1 or num_lanes, nq] and [1 or num_lanes, nv].

        The program still draws its random numbers. None means that the program sets the initial state.
        """
        cdef Py_ssize_t i
        cdef lane_t* lane
        # Copies, which the caller cannot change.
        starts = tuple([None if given is None else np.array(given, np.float64, order="C") for given in (qpos, qvel)])
        for name, start, size in zip(FIRST_ARRAYS, starts, self.sizes):
            if start is not None and start.shape not in ((1, size), (len(self), size)):
                raise ValueError(f"{name}: expected shape [1 or {len(self)}, {size}], got {start.shape}")
        self.starts = starts
        for i in range(len(self)):
            lane = <lane_t*> self._lane(i)
            lane.qpos, lane.qvel = start_row(starts[0], i), start_row(starts[1], i)

    def set_model(self, Py_ssize_t lane, model):
        """Give a lane another model of the same sizes."""
        self._lane(lane)
        self.models[lane] = model
        self._bind_lane(lane)


cdef class Stepper:
    """Steps single simulations and returns MuJoCo's messages, which are neither printed nor written to a file.

    Args:
        functions: Addresses of MuJoCo's functions, see `Simulations`.
    """

    cdef mujoco_t calls

    def __cinit__(self, dict functions):
        set_functions(&self.calls, functions)

    def step(self, model, data, int count):
        """Call `mj_step` `count` times and `mj_rnePostConstraint` once, with the GIL released.

        Returns:
            None, or a message and whether MuJoCo failed. After a failure the data must be reset.
        """
        cdef const void* model_address = <const void*> <size_t> model._address
        cdef void* data_address = <void*> <size_t> data._address
        cdef trap_t trap
        cdef PyObject* exception = NULL
        cdef int outcome
        check_threads(data)
        with nogil:
            trap_open(&trap, &self.calls)
            outcome = mujoco_step(&self.calls, &trap, model_address, data_address, count, &exception)
            trap_close(&trap, &self.calls)
            if outcome == FAILED:
                take_exception(&exception)
        raise_exception(&exception)
        if outcome == 0:
            return None
        return (<bytes> trap.text).decode(errors="replace"), outcome == FAILED


cdef int check_threads(object data) except -1:
    """Raise if MuJoCo's own threads, which have no trap (mujoco_calls.h), would compute the simulation."""
    if getattr(data, "threadpool", 0):
        raise ValueError("data: expected a simulation without a thread pool: an error in it would end the process")
    return 0


cdef int raise_exception(PyObject** place) except -1:
    """Raise the exception that `take_exception` has stored, if there is one."""
    if place[0] == NULL:
        return 0
    exception = <object> place[0]
    place[0] = NULL
    Py_DECREF(exception)  # `exception` has a reference of its own
    raise exception


cdef int set_functions(mujoco_t* calls, dict functions) except -1:
    """Set the addresses of MuJoCo's functions: FUNCTIONS, one row of HANDLERS, and CALLBACK if it exists."""
    cdef void** slots = <void**> calls
    cdef size_t address
    names = FUNCTIONS + HANDLERS[0] + HANDLERS[1] + CALLBACK
    for k, name in enumerate(names):
        address = functions.get(name, 0)
        slots[<int> k] = <void*> address
    if not functions.keys() >= set(FUNCTIONS) or not any(functions.keys() >= set(row) for row in HANDLERS):
        raise ValueError(f"functions: expected {FUNCTIONS} and a row of {HANDLERS}, got {sorted(functions)}")
    return 0


cdef int set_loop(ufunc_loop_t* loop, object function) except -1:
    """Set NumPy's float64 loop of a ufunc of one argument."""
    cdef ufunc_t* loops = <ufunc_t*> function
    cdef int k
    for k in range(loops.ntypes):
        if loops.types[2 * k] == cnp.NPY_DOUBLE and loops.types[2 * k + 1] == cnp.NPY_DOUBLE:
            (<void**> &loop.run)[0], loop.data = loops.functions[k], loops.data[k]
            return 0
    raise ValueError(f"{function}: no loop over float64")
