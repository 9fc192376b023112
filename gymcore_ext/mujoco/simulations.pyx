"""A kernel for a `Batch` whose lanes are MuJoCo simulations.

A lane consists of an mjData, an mjModel (its own or a shared one), registers, and a table of the addresses of the
spaces of programs. A step of a lane computes the controls, calls `mj_step` for each frame and `mj_rnePostConstraint`
once, and computes reward, termination and infos. One thread at a time steps a lane; models are only read.
"""
cimport numpy as cnp
from cpython.exc cimport PyErr_Fetch, PyErr_NormalizeException
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_XDECREF
from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset, strncpy

from gymcore_ext.engine.capsules cimport owned_capsule
from gymcore_ext.engine.step cimport INT64, bind_bitgen, bitgen_t, columns_t, flag_t, info_field_t, rng_t
from gymcore_ext.lanes.custom_kernel cimport CustomKernel
from gymcore_ext.mujoco.program cimport (
    ACTION, CONSTANTS, EVERY, FIRST_ARRAY, NORMAL, OBSERVATION, OPCODES, REGISTERS, REPEAT_UNLESS, SUM, UNIFORM,
    WEIGHTED_ROWS, functions_t, normal_t, operation_t, run_program, ufunc_loop_t,
)

import numpy as np

cnp.import_array()


cdef extern from "numpy/random/distributions.h":
    double random_standard_normal(bitgen_t* bitgen) noexcept nogil


cdef extern from "mujoco/mujoco_calls.h":
    enum:
        FAULT_TEXT "GYMCORE_FAULT_TEXT"
        DIVERGED "GYMCORE_DIVERGED"
        FAILED "GYMCORE_FAILED"

    ctypedef struct mujoco_t "gymcore_mujoco":  # of pointers to FUNCTIONS, HANDLERS and CALLBACK, in their order
        void* forward
        void* reset_data
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


# NumPy's own declaration differs between versions.
cdef extern from "numpy/ufuncobject.h":
    ctypedef struct ufunc_t "PyUFuncObject":
        int ntypes
        void** functions
        void** data
        const char* types


# The functions that every version has, and two rows of handlers, of which a version has one (mujoco_calls.h).
FUNCTIONS = ("mj_step", "mj_forward", "mj_resetData", "mj_rnePostConstraint")
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


ctypedef struct lane_t:
    const void* model
    void* data
    double** bases           # where each space begins
    int outcome
    char text[FAULT_TEXT]


ctypedef struct simulations_t:
    mujoco_t calls
    functions_t functions
    program_t programs[PHASE_COUNT]
    lane_t* lanes
    int64_t num_lanes
    int32_t frame_skip, parameter_count, action_size, row_size, qpos_size, qvel_size
    int32_t reward, terminated           # registers
    int32_t infos, info_count, info_width
    const info_field_t* fields
    PyObject* exception                  # of a callback in Python, the first one that is not raised yet
    # Initial positions and velocities that replace those of the program: [lanes or 1, size], or NULL.
    const double* qpos
    const double* qvel
    int64_t start_stride                 # in lanes: 0 or 1


cdef inline bint run_phase(
    const simulations_t* self, lane_t* lane, int phase, rng_t* rng=NULL, bitgen_t* bitgen=NULL, bint float32=False
) noexcept nogil:
    return run_program(
        self.programs[phase].operations, self.programs[phase].length, lane.bases, &self.functions, rng,
        <normal_t> random_standard_normal, bitgen, float32)


cdef inline void load_parameters(const columns_t* columns, lane_t* lane, int count, int64_t i) noexcept nogil:
    """Copy the lane's parameters into the first registers."""
    cdef int k
    for k in range(count):
        lane.bases[REGISTERS][k] = columns.parameters[k][i * columns.parameter_stride]


cdef void take_exception(PyObject** place) noexcept with gil:
    """Take this thread's exception, if there is one, and store it if the place is empty."""
    cdef PyObject* kind
    cdef PyObject* value
    cdef PyObject* traceback
    PyErr_Fetch(&kind, &value, &traceback)
    if kind == NULL:
        return
    PyErr_NormalizeException(&kind, &value, &traceback)
    if traceback != NULL:
        (<object> value).__traceback__ = <object> traceback
    if place[0] == NULL:
        place[0], value = value, NULL
    Py_XDECREF(kind)
    Py_XDECREF(value)
    Py_XDECREF(traceback)


cdef inline void record_fault(simulations_t* self, lane_t* lane, int outcome, const char* text) noexcept nogil:
    """Record the worst outcome of a lane for `raise_faults`."""
    if outcome == FAILED:
        take_exception(&self.exception)
    if outcome > lane.outcome:
        lane.outcome = outcome
        strncpy(lane.text, text, FAULT_TEXT - 1)


cdef void step_lanes(
    const columns_t* columns, const void* actions, void* const* parts, double* rewards, flag_t* terminated, int64_t lo,
    int64_t hi
) noexcept nogil:
    cdef simulations_t* self = <simulations_t*> columns.lanes
    cdef trap_t trap
    cdef lane_t* lane
    cdef int outcome
    cdef int64_t i
    trap_open(&trap, &self.calls)
    for i in range(lo, hi):
        rewards[i] = 0.0
        terminated[i] = 0
        # Lanes that are about to begin a new episode are left out, and all lanes after an exception.
        if (columns.resetting != NULL and columns.resetting[i]) or self.exception != NULL:
            continue
        lane = &self.lanes[i]
        load_parameters(columns, lane, self.parameter_count, i)
        lane.bases[ACTION] = <double*> actions + i * self.action_size
        run_phase(self, lane, BEFORE, NULL, NULL, columns.float32_actions)
        outcome = mujoco_step(&self.calls, &trap, lane.model, lane.data, self.frame_skip, &self.exception)
        if outcome:
            record_fault(self, lane, outcome, trap.text)
        if outcome != FAILED:
            run_phase(self, lane, AFTER, NULL, NULL, columns.float32_actions)
            rewards[i] = lane.bases[REGISTERS][self.reward]
            terminated[i] = lane.bases[REGISTERS][self.terminated] != 0.0 or outcome == DIVERGED
        lane.bases[OBSERVATION] = <double*> parts[0] + i * self.row_size
        run_phase(self, lane, OBSERVE)
    trap_close(&trap, &self.calls)


cdef void reset_lanes(
    const columns_t* columns, const double* options, const int64_t* lanes, int64_t count
) noexcept nogil:
    cdef simulations_t* self = <simulations_t*> columns.lanes
    cdef bitgen_t bitgen
    cdef trap_t trap
    cdef lane_t* lane
    cdef int outcome
    cdef int64_t i, k
    trap_open(&trap, &self.calls)
    for k in range(count):
        i = lanes[k]
        lane = &self.lanes[i]
        load_parameters(columns, lane, self.parameter_count, i)
        outcome = mujoco_call(&trap, self.calls.reset_data, lane.model, lane.data, 1, NULL)
        bind_bitgen(&bitgen, &columns.rngs[i])
        if outcome == 0 and not run_phase(self, lane, START, &columns.rngs[i], &bitgen):
            record_fault(self, lane, FAILED, "no draw satisfied the condition of the start")
        if self.qpos != NULL:
            memcpy(lane.bases[QPOS], self.qpos + i * self.start_stride * self.qpos_size, 8 * self.qpos_size)
        if self.qvel != NULL:
            memcpy(lane.bases[QVEL], self.qvel + i * self.start_stride * self.qvel_size, 8 * self.qvel_size)
        if outcome == 0:
            outcome = mujoco_call(&trap, self.calls.forward, lane.model, lane.data, 1, NULL)
        if outcome:
            record_fault(self, lane, outcome, trap.text)
        memset(lane.bases[REGISTERS] + self.infos, 0, 8 * self.info_width)
        run_phase(self, lane, BEGUN)
    trap_close(&trap, &self.calls)


cdef void observe_lanes(
    const columns_t* columns, void* const* parts, const int64_t* lanes, int64_t lo, int64_t hi
) noexcept nogil:
    cdef simulations_t* self = <simulations_t*> columns.lanes
    cdef lane_t* lane
    cdef int64_t i, k
    for k in range(lo, hi):
        i = k if lanes == NULL else lanes[k]
        lane = &self.lanes[i]
        load_parameters(columns, lane, self.parameter_count, i)
        lane.bases[OBSERVATION] = <double*> parts[0] + i * self.row_size
        run_phase(self, lane, OBSERVE)


cdef void write_infos(
    const columns_t* columns, void* const* parts, const int64_t* lanes, int64_t lo, int64_t hi
) noexcept nogil:
    cdef const simulations_t* self = <const simulations_t*> columns.lanes
    cdef const info_field_t* field
    cdef const double* values
    cdef int64_t i, j, k, row
    for k in range(lo, hi):
        row = k if lanes == NULL else lanes[k]
        values = self.lanes[row].bases[REGISTERS] + self.infos
        for i in range(self.info_count):
            field = &self.fields[i]
            for j in range(row * field.size, (row + 1) * field.size):
                if field.type == INT64:
                    (<int64_t*> parts[i])[j] = <int64_t> values[0] if fabs(values[0]) < 2.0 ** 62 else 0
                else:
                    (<double*> parts[i])[j] = values[0]
                values += 1


cdef int faulted(const void* lanes) noexcept nogil:
    cdef const simulations_t* self = <const simulations_t*> lanes
    cdef int64_t i
    for i in range(self.num_lanes):
        if self.lanes[i].outcome:
            return 1
    return 0


cdef class Simulations:
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
        on_fault: Called with lanes, texts and whether one failed, after a call in which a simulation failed, diverged
            or gave a warning. Raises for a failure, after which all lanes must be reset.

    Raises:
        ValueError: An operand of a program is outside its space.
    """

    cdef simulations_t sims
    cdef CustomKernel _kernel
    cdef list references           # keeps alive what C points to
    cdef tuple starts
    cdef object on_fault
    cdef readonly list models, datas
    cdef readonly tuple arrays
    cdef readonly Py_ssize_t registers

    def __cinit__(
        self, *, dict functions, list models, list datas, list arrays, dict programs, object constants,
        Py_ssize_t registers, dict parameters, int observation_size, int action_size, tuple infos, int info_register,
        int reward_register, int terminated_register, int frame_skip, object on_fault,
    ):
        cdef Py_ssize_t n = len(datas)
        self.references = []
        self.models = list(models)
        self.datas = list(datas)
        self.arrays = tuple(arrays)
        self.registers = registers
        width = sum([size for _, _, size, _ in infos])
        results = (len(parameters) - 1, info_register + width - 1, reward_register, terminated_register)
        if info_register < 0 or not 0 <= min(results[2:]) or not max(*results, 0) < registers:
            raise ValueError(f"registers: expected more than {max(*results, 0)} and no negative ones, got {registers}")
        self.on_fault = on_fault
        self.sims.num_lanes = n
        self.sims.frame_skip = frame_skip
        self.sims.parameter_count = len(parameters)
        self.sims.action_size = action_size
        self.sims.row_size = observation_size
        self.sims.reward = reward_register
        self.sims.terminated = terminated_register
        self.sims.infos = info_register
        self.sims.info_count = len(infos)
        self.sims.info_width = width
        set_functions(&self.sims.calls, functions)
        self.sims.functions.sine = <ufunc_loop_t> double_loop(np.sin, &self.sims.functions.sine_data)
        self.sims.functions.cosine = <ufunc_loop_t> double_loop(np.cos, &self.sims.functions.cosine_data)
        self._make_lanes(n, constants)
        self._set_programs(programs, len(constants))
        self._kernel = CustomKernel(
            "mujoco", parts=((np.float64, (observation_size,)),), action=(np.float64, (action_size,)),
            parameters=parameters, infos=infos)
        self._kernel.use_loops(step_lanes, reset_lanes, observe_lanes, write_infos, faulted)
        self.sims.fields = self._kernel.kernel.infos

    def __len__(self):
        return self.sims.num_lanes

    @property
    def kernel(self):
        """The kernel that steps these simulations, a capsule."""
        return self._kernel.capsule

    @property
    def capsule(self):
        """The lanes, for a batch of this kernel; it keeps them alive."""
        return owned_capsule(&self.sims, self._kernel.lanes_name, self)

    def __dealloc__(self):
        cdef int64_t i
        if self.sims.lanes != NULL:
            for i in range(self.sims.num_lanes):
                PyMem_RawFree(self.sims.lanes[i].bases)
        Py_XDECREF(self.sims.exception)
        PyMem_RawFree(self.sims.lanes)

    cdef _make_lanes(self, Py_ssize_t n, object constants):
        """Allocate lanes with their registers, and set the addresses of their spaces."""
        cdef cnp.ndarray fixed = np.ascontiguousarray(constants, np.float64)
        cdef cnp.ndarray registers = np.zeros((n, self.registers))
        cdef Py_ssize_t i
        self.references += [fixed, registers]
        self.sims.lanes = <lane_t*> PyMem_RawCalloc(n, sizeof(lane_t))
        if self.sims.lanes == NULL:
            raise MemoryError(f"no memory for {n} lanes")
        for i in range(n):
            self.sims.lanes[i].bases = <double**> PyMem_RawCalloc(FIRST_ARRAY + len(self.arrays), sizeof(double*))
            if self.sims.lanes[i].bases == NULL:
                raise MemoryError(f"no memory for {n} lanes")
            self.sims.lanes[i].bases[REGISTERS] = <double*> cnp.PyArray_DATA(registers) + i * self.registers
            self.sims.lanes[i].bases[CONSTANTS] = <double*> cnp.PyArray_DATA(fixed)
            self._bind_lane(i)

    cdef _bind_lane(self, Py_ssize_t i):
        """Set the addresses of the arrays of a lane's model and data."""
        cdef cnp.ndarray array
        check_threads(self.datas[i])
        self.sims.lanes[i].model = <const void*> <size_t> self.models[i]._address
        self.sims.lanes[i].data = <void*> <size_t> self.datas[i]._address
        for k, (owner, name) in enumerate(self.arrays):
            array = getattr(self.datas[i] if owner == "data" else self.models[i], name)
            if array.dtype != np.float64 or not cnp.PyArray_IS_C_CONTIGUOUS(array):
                raise ValueError(f"{owner}.{name}: expected a contiguous float64 array, got {array.dtype}")
            if array.size != self._size(k):
                raise ValueError(f"{owner}.{name}: expected {self._size(k)} numbers as in lane 0, got {array.size}")
            self.sims.lanes[i].bases[FIRST_ARRAY + k] = <double*> cnp.PyArray_DATA(array)

    cdef _set_programs(self, dict programs, Py_ssize_t constants):
        cdef cnp.ndarray operations
        cdef dict sizes = {k: self._size(k) for k in range(len(self.arrays))}
        if self.arrays[:3] != tuple([("data", name) for name in FIRST_ARRAYS]):
            raise ValueError(f"arrays: expected data.{FIRST_ARRAYS} first, got {self.arrays[:3]}")
        self.sims.qpos_size = sizes[0]
        self.sims.qvel_size = sizes[1]
        for phase, name in enumerate(PHASES):
            operations = np.ascontiguousarray(programs[name], OPERATION)
            self._check(name, operations, [
                self.registers, constants, self.sims.action_size if name in ("before", "after") else 0,
                self.sims.row_size if name == "observe" else 0, *sizes.values()])
            self.references.append(operations)
            self.sims.programs[<int> phase].operations = <operation_t*> cnp.PyArray_DATA(operations)
            self.sims.programs[<int> phase].length = cnp.PyArray_SIZE(operations)

    def _size(self, Py_ssize_t k):
        owner, name = self.arrays[k]
        return getattr(self.datas[0] if owner == "data" else self.models[0], name).size

    def _check(self, str phase, operations, list sizes):
        """Raise if an operand is outside its space, or a result in a space that is read-only."""
        writable = [REGISTERS, OBSERVATION]
        if phase in ("start", "before"):
            writable += [FIRST_ARRAY + k for k, (owner, _) in enumerate(self.arrays) if owner == "data"]
        for place, operation in enumerate(operations.tolist()):
            code, count, width, follows_action, *operands = operation
            wrong = not 0 <= code < OPCODES or count < 0 or width < 0
            wrong |= code in (UNIFORM, NORMAL, REPEAT_UNLESS) and phase != "start"
            wrong |= code == REPEAT_UNLESS and width >= place
            wrong |= code in (REPEAT_UNLESS, WEIGHTED_ROWS) and not count
            wrong |= operands[0][0] not in writable or operands[0][2] not in (0, 1)
            for k, (space, offset, stride) in enumerate(operands):
                used = count
                if k == 0 and code in (SUM, EVERY):
                    used = 1
                if code == WEIGHTED_ROWS:
                    used, stride = (width, count, count * width, 0)[k], 1 if k == 2 else stride
                if k == 0 and follows_action and code != SUM:
                    used = max(used, count)  # this many results are rounded
                if not 0 <= space < len(sizes) or offset < 0 or stride < 0:
                    wrong = True
                elif k == 0 or space != REGISTERS or offset or stride:
                    last = (used - 1) * (1 if k == 0 else stride) if used else -1
                    wrong |= offset + last >= sizes[space]
            if wrong:
                raise ValueError(f"program {phase}: operation {place} {operation} leaves its spaces {sizes}")

    def raise_faults(self):
        """Pass the faults of lanes since the last call to `on_fault`, or raise the exception of a callback."""
        cdef int64_t i
        lanes, texts, failed = [], [], False
        for i in range(self.sims.num_lanes):
            if self.sims.lanes[i].outcome:
                lanes.append(i)
                texts.append((<bytes> self.sims.lanes[i].text).decode(errors="replace"))
                failed = failed or self.sims.lanes[i].outcome == FAILED
                self.sims.lanes[i].outcome = 0
        raise_exception(&self.sims.exception)
        if lanes:
            self.on_fault(lanes, texts, failed)

    def start_from(self, qpos=None, qvel=None):
        """Set the initial state of the next resets: float64 [1 or num_lanes, nq] and [1 or num_lanes, nv].

        The program still draws its random numbers. None means that the program sets the initial state.
        """
        # Copies, which the caller cannot change.
        starts = [None if given is None else np.array(given, np.float64, order="C") for given in (qpos, qvel)]
        rows = {len(start) for start in starts if start is not None and start.ndim == 2}
        for name, start, size in zip(("qpos", "qvel"), starts, (self.sims.qpos_size, self.sims.qvel_size)):
            if start is not None and (
                len(rows) > 1 or start.shape not in ((1, size), (self.sims.num_lanes, size))
            ):
                raise ValueError(f"{name}: expected shape [1 or {self.sims.num_lanes}, {size}], got {start.shape}")
        self.starts = qpos, qvel = tuple(starts)
        self.sims.qpos = NULL if qpos is None else <double*> cnp.PyArray_DATA(qpos)
        self.sims.qvel = NULL if qvel is None else <double*> cnp.PyArray_DATA(qvel)
        given = qvel if qpos is None else qpos
        self.sims.start_stride = 0 if given is None or len(given) == 1 else 1

    def set_model(self, Py_ssize_t lane, model):
        """Give a lane another model of the same sizes."""
        if not 0 <= lane < self.sims.num_lanes:
            raise IndexError(f"lane {lane} is not in [0, {self.sims.num_lanes})")
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


cdef void* double_loop(object function, void** data) except NULL:
    """Return NumPy's float64 loop of a ufunc of one argument."""
    cdef ufunc_t* loops = <ufunc_t*> function
    cdef int k
    if not isinstance(function, np.ufunc):
        raise TypeError(f"function: expected a ufunc, got {function!r}")
    for k in range(loops.ntypes):
        if loops.types[2 * k] == cnp.NPY_DOUBLE and loops.types[2 * k + 1] == cnp.NPY_DOUBLE:
            data[0] = <void*> loops.data[k]
            return <void*> loops.functions[k]
    raise ValueError(f"{function}: no loop over float64")
