"""A kernel for a `Batch` whose lanes are MuJoCo simulations.

A lane consists of the addresses of an mjData and an mjModel (its own or a shared one), registers, and a table of the
addresses of the spaces of programs. A step of a lane computes the controls, simulates (`advance`), and computes reward,
termination and infos. One thread at a time steps a lane; shared models are only read.
"""
cimport numpy as cnp
from cpython.object cimport PyObject
from libc.float cimport FLT_MAX
from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy, memset

from gymcore_ext.engine.kernel cimport INT64, flag_t, info_field_t, rng_t
from gymcore_ext.lanes.custom_kernel cimport CustomKernel
from gymcore_ext.lanes.lane_functions cimport TERMINATED, functions_capsule, lane_functions_t
from gymcore_ext.lanes.mt19937 cimport random_state_is_valid, random_state_seed_range, random_state_t
from gymcore_ext.lanes.struct_lanes cimport LaneStore
from gymcore_ext.mujoco.program cimport (
    ACTION, ARCTAN2, CALL, COEFFICIENTS, CONSTANTS, CONTACTS, DOT, EVERY, EXHAUSTED, FIRST_ARRAY, FUSED_DOT,
    INITIAL_STATE, INTEGER, NORMAL, OBSERVATION, OPCODES, PARAMETERS, REGISTERS, REPEAT_UNLESS, SINE, SKIP_UNLESS,
    SPLINE, STORE, SUM, UNIFORM, operation_t, run_program, ufunc_loop_t,
)

from math import prod

import numpy as np

cnp.import_array()


cdef extern from "mujoco/mujoco_calls.h":
    enum:
        DIVERGED "GYMCORE_DIVERGED"
        FAILED "GYMCORE_FAILED"

    ctypedef struct mujoco_t "gymcore_mujoco_functions":
        void* step
        void* forward
        void* reset_data
        void* rne_post_constraint
        void* step1
        void* step2
        void* accelerate
        void* constrain
        void* sense
        void* actuate
        void* check_acceleration
        void* runge_kutta
        int (*state_size)(const void* model, int signature) noexcept nogil
        void (*get_state)(const void* model, const void* data, double* state, int signature) noexcept nogil
        void (*set_state)(const void* model, void* data, const double* state, int signature) noexcept nogil
        void** control

    mujoco_t mujoco "gymcore_mujoco"
    int contact_place "gymcore_contact_place"

    ctypedef struct fault_t "gymcore_fault":
        int severity
        char* text

    void step2_runge_kutta "gymcore_step2_runge_kutta"(const void* model, void* data) noexcept nogil
    void record "gymcore_record"(fault_t* fault, int severity, const char* text) noexcept nogil
    int mujoco_call "gymcore_mujoco_call"(
        void* function, int count, void* then, const void* model, void* data, fault_t* fault, const int* stop
    ) noexcept nogil


cdef extern from *:
    """static int gymcore_raise_pending(void) { return PyErr_Occurred() ? -1 : 0; }"""
    int raise_pending "gymcore_raise_pending"() except -1


# NumPy's own declaration differs between versions.
cdef extern from "numpy/ufuncobject.h":
    ctypedef struct ufunc_t "PyUFuncObject":
        void** functions
        void** data


# Names of the symbols that are used by address, in the order of mujoco_calls.h: functions of every version, the
# handlers of MuJoCo 4 and of MuJoCo 3, and the variable with the callback that computes controls.
MUJOCO_FUNCTIONS = (
    "mj_step", "mj_forward", "mj_resetData", "mj_rnePostConstraint",
    "mj_step1", "mj_step2", "mj_fwdAcceleration", "mj_fwdConstraint", "mj_sensorAcc",
    "mj_fwdActuation", "mj_checkAcc", "mj_RungeKutta",
    "mj_stateSize", "mj_getState", "mj_setState",
    "_mjPRIVATE_setTlsLogHandler",
    "_mjPRIVATE__get_tls_error_fn", "_mjPRIVATE__get_tls_warning_fn",
    "_mjPRIVATE__set_tls_error_fn", "_mjPRIVATE__set_tls_warning_fn",
    "mjcb_control",
)

# As `operation_t` in program.pxd.
OPERAND = np.dtype([("space", np.int32), ("offset", np.int32), ("stride", np.int32)])
OPERATION = np.dtype([*((name, np.int32) for name in ("code", "count", "target", "follows_action")),
                      *((name, OPERAND) for name in ("out", "a", "b", "c"))])

# The programs compute, in this order: the initial state; infos of a reset; controls, and numbers that are read before a
# step; reward, termination and infos; the observation; and the state for critics.
PHASES = ("start", "begun", "before", "after", "observe", "central")
cdef enum:
    START, BEGUN, BEFORE, AFTER, OBSERVE, CENTRAL, PHASE_COUNT

# Calls of the program of a start: mj_forward; mj_resetData; the part of mj_forward before actuators, and that after
# them; and steps.
CALLS = ("forward", "reset", "place", "accelerate", "advance")
cdef enum:
    FORWARD, RESET, PLACE, ACCELERATE, ADVANCE, CALL_COUNT
    MAX_CALLS = 1000000


ctypedef struct program_t:
    operation_t* operations
    int64_t length


ctypedef struct simulation_t:      # followed by the addresses of its spaces, its registers and its observation
    const void* model
    void* data
    double** bases           # address of each space
    double* observation      # where an observation of several arrays is computed
    random_state_t* random_state  # the stream of RandomState, or NULL
    fault_t fault


ctypedef struct simulations_t:
    program_t programs[PHASE_COUNT]
    int32_t frame_skip
    void* second_half                    # of a simulation step whose first half is mj_step1; NULL for whole steps
    int32_t fresh                        # register with 1 until the first start after a seed, or -1
    int32_t part_count                   # arrays of an observation
    const int64_t* part_sizes
    int64_t agents                       # of a world, or 0
    int32_t info_count
    int64_t info_width                   # infos are in registers, after reward and termination
    const info_field_t* fields
    int32_t signature, state_size        # MuJoCo's code for its integration state, and the state's size
    bint has_random_state                # whether lanes have a stream of RandomState
    int32_t array_count
    const int64_t* array_sizes           # 0 for arrays that are not saved: those of the model that programs only read
    const bint* float32_arrays           # which arrays are float32; states have them as float64
    const bint* float32_actions          # of LaneOwner
    int stopped                          # whether `owner` has an exception that is not raised yet
    PyObject* owner


# NumPy's loops over float64, from SINE to ARCTAN2.
cdef ufunc_loop_t loops[ARCTAN2 - SINE + 1]


cdef int set_loop(ufunc_loop_t* loop, object function) except -1:
    cdef ufunc_t* ufunc = <ufunc_t*> function
    cdef int k = function.types.index("d" * function.nin + "->d")
    (<void**> &loop.run)[0], loop.data = ufunc.functions[k], ufunc.data[k]
    return 0


for _k, _function in enumerate((np.sin, np.cos, np.exp, np.log1p, np.cosh, np.tanh, np.arcsinh, np.arctan2)):
    set_loop(&loops[<int> _k], _function)


cdef inline int64_t run_phase(
    const simulations_t* self, simulation_t* lane, int phase, bint float32=False, int64_t first=0, rng_t* rng=NULL
) noexcept nogil:
    return run_program(
        self.programs[phase].operations, first, self.programs[phase].length, lane.bases, loops, rng, lane.random_state,
        float32)


cdef void store_exception(simulations_t* self) noexcept with gil:
    """Store the exception of this thread, if it has one, unless an earlier one is stored."""
    try:
        raise_pending()
    except BaseException as exception:
        if not self.stopped:
            (<Simulations> self.owner).exception = exception
            self.stopped = True


cdef int call(
    simulations_t* self, simulation_t* lane, void* function, int count=1, void* then=NULL, bint registered=False
) noexcept nogil:
    """Call `function` `count` times and then `then` on a lane; return the highest severity."""
    cdef int severity
    if not registered and mujoco.control != NULL and mujoco.control[0] != NULL:
        return call_registered(self, lane, function, count, then)
    severity = mujoco_call(function, count, then, lane.model, lane.data, &lane.fault, &self.stopped)
    if severity == FAILED:
        store_exception(self)
    return severity


cdef int call_registered(
    simulations_t* self, simulation_t* lane, void* function, int count, void* then
) noexcept with gil:
    """Do as `call`, in a thread that Python knows: in others, MuJoCo's package would drop exceptions of a callback."""
    with nogil:
        return call(self, lane, function, count, then, registered=True)


cdef int advance(simulations_t* self, simulation_t* lane, int count) noexcept nogil:
    """Step the simulation; return the highest severity."""
    cdef int severity
    if self.second_half == NULL:
        return call(self, lane, mujoco.step, count, mujoco.rne_post_constraint)
    # All that follows from positions and velocities belongs to the end of a step: the first half of each first step was
    # made at the end of the call before.
    if count == 1:
        return call(self, lane, self.second_half, 1, mujoco.step1)
    severity = call(self, lane, self.second_half)
    return severity if severity == FAILED else max(
        severity, call(self, lane, mujoco.step, count - 1, mujoco.step1))


cdef int make_call(simulations_t* self, simulation_t* lane, int function, int count) noexcept nogil:
    """Make one of CALLS."""
    if function == FORWARD:
        return call(self, lane, mujoco.forward)
    if function == RESET:
        return call(self, lane, mujoco.reset_data)
    if function == PLACE:
        return call(self, lane, mujoco.step1)
    if function == ADVANCE:
        return advance(self, lane, count)
    if call(self, lane, mujoco.accelerate, 1, mujoco.constrain) == FAILED:
        return FAILED
    # mj_sensorAcc alone would use the accelerations of bodies of the call before.
    return call(self, lane, mujoco.rne_post_constraint, 1, mujoco.sense)


cdef void begin(simulations_t* self, simulation_t* lane, rng_t* rng) noexcept nogil:
    """Run the program of a start, and the calls in it."""
    cdef const operation_t* op
    cdef int64_t at = 0
    while at < self.programs[<int> START].length:
        at = run_phase(self, lane, START, False, at, rng)
        if at == EXHAUSTED:
            record(&lane.fault, FAILED, "no draw satisfied the condition of the start")
            return
        op = self.programs[<int> START].operations + at - 1
        if op.code == CALL and make_call(self, lane, op.target, op.count) == FAILED:
            return
    if self.fresh >= 0:
        lane.bases[REGISTERS][self.fresh] = 0.0


# --- the functions of a lane ------------------------------------------------------------------------------------------

cdef int step(
    void* memory, const void* shared, const double* parameters, const void* action, rng_t* rng, double* reward
) noexcept nogil:
    cdef simulations_t* self = <simulations_t*> shared
    cdef simulation_t* lane = <simulation_t*> memory
    cdef const double* results = lane.bases[REGISTERS]
    cdef int severity
    if self.stopped:  # skip all lanes
        return 0
    lane.bases[PARAMETERS] = <double*> parameters
    lane.bases[ACTION] = <double*> action
    run_phase(self, lane, BEFORE, self.float32_actions[0])
    severity = advance(self, lane, self.frame_skip)
    if severity == FAILED:
        return 0
    run_phase(self, lane, AFTER, self.float32_actions[0])
    reward[0] = results[0]
    return TERMINATED if results[1] != 0.0 or severity == DIVERGED else 0


cdef int step_agents(
    void* memory, const void* shared, const double* parameters, const void* action, rng_t* rng, const uint8_t* active,
    double* rewards, flag_t* ends
) noexcept nogil:
    """Step a world, whose agents share the reward and the end."""
    cdef double reward = 0.0
    cdef int flags = step(memory, shared, parameters, action, rng, &reward)
    cdef int64_t k
    for k in range((<const simulations_t*> shared).agents):
        rewards[k] = reward
    return flags


cdef void reset(
    void* memory, const void* shared, const double* parameters, const double* options, rng_t* rng
) noexcept nogil:
    cdef simulations_t* self = <simulations_t*> shared
    cdef simulation_t* lane = <simulation_t*> memory
    lane.bases[PARAMETERS] = <double*> parameters
    if call(self, lane, mujoco.reset_data) != FAILED:
        begin(self, lane, rng)
    memset(lane.bases[REGISTERS] + 2, 0, 8 * self.info_width)
    run_phase(self, lane, BEGUN)


cdef void observe(const void* memory, const void* shared, const double* parameters, void* const* parts) noexcept nogil:
    cdef const simulations_t* self = <const simulations_t*> shared
    cdef simulation_t* lane = <simulation_t*> memory
    cdef int64_t k
    cdef double* numbers = lane.observation if self.part_count > 1 else <double*> parts[0]
    lane.bases[PARAMETERS] = <double*> parameters
    lane.bases[OBSERVATION] = numbers
    run_phase(self, lane, OBSERVE)
    for k in range(self.part_count if self.part_count > 1 else 0):
        memcpy(parts[k], numbers, 8 * self.part_sizes[k])
        numbers += self.part_sizes[k]


cdef void central_state(const void* memory, const void* shared, const double* parameters, void* state) noexcept nogil:
    cdef simulation_t* lane = <simulation_t*> memory
    lane.bases[PARAMETERS] = <double*> parameters
    lane.bases[OBSERVATION] = <double*> state
    run_phase(<const simulations_t*> shared, lane, CENTRAL)


cdef void write_infos(const void* memory, const void* shared, void* const* infos) noexcept nogil:
    cdef const simulations_t* self = <const simulations_t*> shared
    cdef const double* values = (<const simulation_t*> memory).bases[REGISTERS] + 2
    cdef int64_t i, j
    for i in range(self.info_count):
        for j in range(self.fields[i].size):
            if self.fields[i].type == INT64:
                (<int64_t*> infos[i])[j] = <int64_t> values[0] if fabs(values[0]) < 2.0 ** 62 else 0
            else:
                (<double*> infos[i])[j] = values[0]
            values += 1


cdef int faulted(const void* lane) noexcept nogil:
    return (<const simulation_t*> lane).fault.severity


cdef int save(void* memory, const void* shared, void* saved) noexcept nogil:
    """Save MuJoCo's integration state, and all arrays that programs read, so that observations are restored exactly."""
    cdef const simulations_t* self = <const simulations_t*> shared
    cdef simulation_t* lane = <simulation_t*> memory
    cdef double* numbers = <double*> saved
    cdef int k
    cdef int64_t i
    mujoco.get_state(lane.model, lane.data, numbers, self.signature)
    numbers += self.state_size
    for k in range(self.array_count):
        if self.float32_arrays[k]:
            for i in range(self.array_sizes[k]):
                numbers[i] = (<float*> lane.bases[FIRST_ARRAY + k])[i]
        else:
            memcpy(numbers, lane.bases[FIRST_ARRAY + k], 8 * self.array_sizes[k])
        numbers += self.array_sizes[k]
    if lane.random_state != NULL:
        memcpy(numbers, lane.random_state, sizeof(random_state_t))
    return True


cdef const double* load_arrays(const simulations_t* self, simulation_t* lane, const double* numbers) noexcept nogil:
    """Copy saved arrays to a lane; return the end of what was read."""
    cdef int k
    cdef int64_t i
    for k in range(self.array_count):
        if self.float32_arrays[k]:
            for i in range(self.array_sizes[k]):
                (<float*> lane.bases[FIRST_ARRAY + k])[i] = <float> numbers[i]
        else:
            memcpy(lane.bases[FIRST_ARRAY + k], numbers, 8 * self.array_sizes[k])
        numbers += self.array_sizes[k]
    return numbers


cdef void load(void* memory, const void* shared, const void* saved) noexcept nogil:
    cdef simulations_t* self = <simulations_t*> shared
    cdef simulation_t* lane = <simulation_t*> memory
    cdef const double* numbers = <const double*> saved
    load_arrays(self, lane, numbers + self.state_size)  # those of the model are needed below
    call(self, lane, mujoco.reset_data)
    mujoco.set_state(lane.model, lane.data, numbers, self.signature)
    # `forward` computes what `set_state` does not set, such as positions of geoms. It changes the state, which is
    # therefore set once more.
    call(self, lane, mujoco.forward)
    mujoco.set_state(lane.model, lane.data, numbers, self.signature)
    numbers = load_arrays(self, lane, numbers + self.state_size)
    if lane.random_state != NULL:
        memcpy(lane.random_state, numbers, sizeof(random_state_t))
    if self.fresh >= 0:
        lane.bases[REGISTERS][self.fresh] = 0.0


cdef int check(const void* saved, const void* shared) noexcept nogil:
    """Check float32 arrays and the random stream; `Simulations.valid` checks that numbers are finite."""
    cdef const simulations_t* self = <const simulations_t*> shared
    cdef const double* numbers = <const double*> saved + self.state_size
    cdef int k
    cdef int64_t i
    for k in range(self.array_count):
        for i in range(self.array_sizes[k] if self.float32_arrays[k] else 0):
            if fabs(numbers[i]) > FLT_MAX:
                return False
        numbers += self.array_sizes[k]
    return not self.has_random_state or random_state_is_valid(<const random_state_t*> numbers)


cdef lane_functions_t functions_of_lane
functions_of_lane.reset, functions_of_lane.step, functions_of_lane.observe = reset, step, observe
functions_of_lane.write_infos, functions_of_lane.faulted = write_infos, faulted
functions_of_lane.save, functions_of_lane.load, functions_of_lane.check = save, load, check
cdef lane_functions_t functions_of_world = functions_of_lane
functions_of_world.step, functions_of_world.step_agents = NULL, step_agents
functions_of_world.central_state = central_state


cdef check_program(str phase, operations, list sizes, list writable, int energy=-1, frozenset float32=frozenset()):
    """Raise if an operand is outside its space, or a result is in a read-only space.

    Args:
        phase: One of PHASES, or a name for messages.
        operations: An array of OPERATION.
        sizes: Number of elements of each space.
        writable: Spaces that may have results, besides the registers and the observation.
        energy: The space of data.energy, or -1.
        float32: Spaces with float32 numbers.
    """
    for place, operation in enumerate(operations.tolist()):
        code, count, target, _, *operands = operation
        wrong = not 0 <= code < OPCODES or count < 0 or operands[0][0] not in (REGISTERS, OBSERVATION, *writable)
        wrong |= code in (UNIFORM, NORMAL, INTEGER, REPEAT_UNLESS, SKIP_UNLESS, CALL) and phase != "start"
        wrong |= code == REPEAT_UNLESS and not (count and 0 <= target < place)
        wrong |= code == SKIP_UNLESS and not (count and place < target <= len(operations))
        wrong |= code == CALL and not (0 <= target < CALL_COUNT and count <= MAX_CALLS)
        # It reads memory before the energies.
        wrong |= code == CONTACTS and (energy < 0 or operands[1][:2] != (energy, 0))
        wrong |= code in (COEFFICIENTS, SPLINE) and count < 2 or code == SPLINE and target < 3
        wrong |= code == STORE and operands[0][0] not in float32
        for k, (space, offset, stride) in enumerate(operands):
            used = count
            wrong |= used > 0 and space in float32 and (code, k) != (STORE, 0)
            if code in (COEFFICIENTS, SPLINE) and k < 2:  # squares
                used = (target if code == SPLINE and k == 1 else count) ** 2
                stride = stride if code == COEFFICIENTS and k == 1 else 1
            elif k == 0:  # results are consecutive
                used, stride = 1 if code in (SUM, EVERY, DOT, FUSED_DOT) else count, 1
            if code == CALL:
                used = 0
            inside = 0 <= space < len(sizes) and offset >= 0 and stride >= 0
            wrong |= not inside or offset + (used - 1) * stride >= sizes[space]
        if wrong:
            raise ValueError(f"program {phase}: operation {place} {operation} leaves its spaces {sizes}")


def run(operations, spaces, bint float32_actions, list writable=None, int energy=-1):
    """Run a program without draws on its spaces, which are contiguous float64 arrays; return the observation.

    `writable` has the indices of spaces that may have results, besides the registers and the observation. `energy` is
    the index of the energies of an mjData, or -1.

    Raises:
        ValueError: If an operand is outside its space.
    """
    cdef cnp.ndarray program = np.ascontiguousarray(operations, OPERATION)
    cdef list arrays = [np.ascontiguousarray(space, np.float64) for space in spaces]
    cdef cnp.ndarray bases = np.array([<size_t> cnp.PyArray_DATA(<cnp.ndarray> array) for array in arrays], np.uintp)
    check_program("value", program, [array.size for array in arrays], writable or [], energy)
    run_program(
        <operation_t*> cnp.PyArray_DATA(program), 0, cnp.PyArray_SIZE(program), <double**> cnp.PyArray_DATA(bases),
        loops, NULL, NULL, float32_actions)
    return arrays[<int> OBSERVATION]


cdef class Simulations(LaneStore):
    """Simulations of a batch, and the kernel that steps them.

    Args:
        program: A `gymcore.envs.mujoco.program.Program`, or an object with these attributes:

            - parameters: Maps names to defaults.
            - registers: Number of registers of a lane. The first ones are the reward, whether the episode has ended,
              and the infos.
            - arrays: Pairs ("data" or "model", name) of float64 arrays, or of float32 arrays that the start writes.
            - constants: Numbers.
            - programs: Maps each of PHASES to an array of OPERATION.
            - infos: Tuples (name, np.float64 or np.int64, size, whether infos of resets lack it).
            - parts: The shapes of the arrays of an observation.
            - observation_size, action_size: Counts of numbers; central_size: that of the state for critics, or 0.
            - writes: Indices in `arrays` of arrays of the model that the start writes; each lane then has its own
              model.
            - synchronized: Whether what follows from positions and velocities belongs to the end of a step.
            - random_state: Whether starts draw as NumPy's RandomState.
            - fresh: Register that is 1 until the first start after a seed, or -1.
        models: An mjModel of MuJoCo's Python package for each lane; lanes may share one.
        datas: An mjData for each lane, which must not be stepped elsewhere at the same time.
        frame_skip: Number of simulation steps per step.
        signature: MuJoCo's mjSTATE_INTEGRATION.
        on_fault: Called after a call in which a simulation failed, diverged or warned, with the lanes, their messages
            and whether a simulation failed. If one failed, it must raise, and all lanes must then be reset.
        agents: In a world of agents, the arguments `parts`, `action`, `agents` and `first_agents` of a `CustomKernel`.

    Raises:
        ValueError: If an operand of a program is outside its space.
    """

    cdef simulations_t sims
    cdef cnp.ndarray starts      # the initial states from the reset options, float64 [num_lanes, nq + nv]
    cdef list arrays, sizes
    cdef frozenset float32_spaces
    cdef object on_fault, exception
    cdef readonly list models, datas

    def __cinit__(
        self, object program, *, list models, list datas, int frame_skip, int signature, object on_fault,
        dict agents=None,
    ):
        cdef Py_ssize_t i
        cdef simulation_t* lane
        cdef CustomKernel kernel
        cdef cnp.ndarray operations, saved, float32, part_sizes
        cdef cnp.ndarray constants = np.array(program.constants, np.float64)
        cdef int registers = program.registers
        self.models, self.datas, self.on_fault = list(models), list(datas), on_fault
        check_simulation(datas[0])
        self.arrays = list(program.arrays)
        self.sizes = [getattr(datas[0] if owner == "data" else models[0], name).size for owner, name in self.arrays]
        float32 = np.array([getattr(datas[0] if owner == "data" else models[0], name).dtype == np.float32
                            for owner, name in self.arrays], np.intc)
        self.float32_spaces = frozenset((FIRST_ARRAY + np.flatnonzero(float32)).tolist())
        self.sims.float32_arrays = <bint*> cnp.PyArray_DATA(float32)
        self.sims.owner = <PyObject*> self
        self.sims.float32_actions = &self.float32_actions
        self.sims.frame_skip = frame_skip
        self.sims.fresh = program.fresh
        if program.synchronized:
            is_runge_kutta = models[0].opt.integrator == 1  # mjINT_RK4
            self.sims.second_half = <void*> step2_runge_kutta if is_runge_kutta else mujoco.step2
        self.sims.info_count = len(program.infos)
        self.sims.info_width = sum([size for _, _, size, _ in program.infos])
        if registers < 2 + self.sims.info_width:
            raise ValueError(f"registers: expected at least {2 + self.sims.info_width}, got {registers}")
        if not -1 <= self.sims.fresh < registers:
            raise ValueError(f"fresh: expected -1 or one of {registers} registers, got {self.sims.fresh}")
        saved = np.array([size * (owner == "data" or k in program.writes)
                          for k, (size, (owner, _)) in enumerate(zip(self.sizes, self.arrays))], np.int64)
        self.sims.array_count, self.sims.array_sizes = len(saved), <int64_t*> cnp.PyArray_DATA(saved)
        self.sims.signature = signature
        self.sims.state_size = mujoco.state_size(<const void*> <size_t> models[0]._address, signature)
        arguments = {"parts": tuple([(np.float64, shape) for shape in program.parts]),
                     "action": (np.float64, (program.action_size,)), **(agents or {})}
        if program.central_size:
            arguments["central"] = (np.float64, (program.central_size,))
        functions = functions_capsule(&functions_of_world if agents else &functions_of_lane)
        kernel = CustomKernel(
            "mujoco", parameters=program.parameters, infos=program.infos, functions=functions, **arguments)
        part_sizes = np.array([prod(shape) for _, shape in arguments["parts"]], np.int64)
        if part_sizes.sum() != program.observation_size or kernel.kernel.action_size != program.action_size:
            raise ValueError(f"agents: expected {program.observation_size} numbers to observe, and "
                             f"{program.action_size} of actions, got {agents}")
        self.sims.part_count, self.sims.part_sizes = len(part_sizes), <int64_t*> cnp.PyArray_DATA(part_sizes)
        self.sims.agents = kernel.kernel.agents
        self.sims.fields = kernel.kernel.infos
        self.sims.has_random_state = program.random_state
        fields = [("numbers", np.float64, (self.sims.state_size + saved.sum(),))]
        if program.random_state:
            fields.append(("random_state", np.uint8, (sizeof(random_state_t),)))
        self.set_up(
            kernel.capsule, len(datas),
            sizeof(simulation_t) + (FIRST_ARRAY + len(saved)) * sizeof(double*)
            + (registers + program.observation_size) * sizeof(double) + program.random_state * sizeof(random_state_t),
            &self.sims, [constants, saved, float32, part_sizes], fields)
        self.starts = np.full((len(datas), models[0].nq + models[0].nv), np.nan)
        for i in range(len(datas)):
            lane = <simulation_t*> self._lane(i)
            lane.bases = <double**> (lane + 1)
            lane.bases[REGISTERS] = <double*> (lane.bases + FIRST_ARRAY + len(saved))
            lane.observation = lane.bases[REGISTERS] + registers
            if program.random_state:
                lane.random_state = <random_state_t*> (lane.observation + <int> program.observation_size)
            lane.bases[CONSTANTS] = <double*> cnp.PyArray_DATA(constants)
            lane.bases[INITIAL_STATE] = <double*> cnp.PyArray_GETPTR2(self.starts, i, 0)
            self._bind_lane(i)
        self.seed_streams(0, 0, len(datas))  # so that streams can draw before they are seeded
        energy = FIRST_ARRAY + self.arrays.index(("data", "energy")) if ("data", "energy") in self.arrays else -1
        data_spaces = [FIRST_ARRAY + k for k, (owner, _) in enumerate(self.arrays) if owner == "data"]
        for phase, name in enumerate(PHASES):
            operations = np.array(program.programs[name], OPERATION)
            sizes = [registers, constants.size, len(program.parameters), self.starts.shape[1],
                     program.action_size if name in ("before", "after") else 0,
                     {"observe": program.observation_size, "central": program.central_size}.get(name, 0), *self.sizes]
            writable = data_spaces if name in ("start", "before") else []
            if name == "start":
                writable = writable + [FIRST_ARRAY + k for k in program.writes]
            check_program(name, operations, sizes, writable, energy, self.float32_spaces)
            self.references.append(operations)
            self.sims.programs[<int> phase].operations = <operation_t*> cnp.PyArray_DATA(operations)
            self.sims.programs[<int> phase].length = cnp.PyArray_SIZE(operations)

    cdef _bind_lane(self, Py_ssize_t i):
        """Set the addresses of the arrays of a lane's model and data."""
        cdef cnp.ndarray array
        cdef simulation_t* lane = <simulation_t*> self._lane(i)
        check_simulation(self.datas[i])
        lane.model = <const void*> <size_t> self.models[i]._address
        lane.data = <void*> <size_t> self.datas[i]._address
        for k, (owner, name) in enumerate(self.arrays):
            array = getattr(self.datas[i] if owner == "data" else self.models[i], name)
            expected = np.float32 if FIRST_ARRAY + k in self.float32_spaces else np.float64
            if array.dtype != expected or not cnp.PyArray_IS_C_CONTIGUOUS(array) or array.size != self.sizes[k]:
                raise ValueError(f"{owner}.{name}: expected {self.sizes[k]} contiguous {expected.__name__} numbers as "
                                 f"in lane 0, got {array.size} {array.dtype}")
            lane.bases[FIRST_ARRAY + k] = <double*> cnp.PyArray_DATA(array)

    def raise_faults(self):
        """Pass the faults since the last call to `on_fault`, or raise the exception of a callback."""
        cdef simulation_t* lane
        lanes, texts, failed = [], [], False
        for i, severity in self.take_faults():
            lane = <simulation_t*> self._lane(i)
            lane.fault.severity = 0
            lanes.append(i)
            texts.append((<bytes> lane.fault.text).decode(errors="replace"))
            failed = failed or severity == FAILED
        exception, self.exception, self.sims.stopped = self.exception, None, False
        if exception is not None:
            raise exception
        if lanes:
            self.on_fault(lanes, texts, failed)

    def valid(self, cnp.ndarray saved not None):
        """Return what `LaneStore.valid` does, but all numbers of a valid lane must be finite, too."""
        return LaneStore.valid(self, saved) & np.isfinite(saved["numbers"]).all(axis=1)

    def set_initial_state(self, qpos, qvel):
        """Set the initial state of the next resets: float64 [num_lanes, nq] and [num_lanes, nv], or one row for all.

        The program still draws its random numbers. It sets the elements that are nan.
        """
        cdef int nq = self.models[0].nq
        self.starts[:, :nq] = qpos
        self.starts[:, nq:] = qvel

    def seed_streams(self, entropy, Py_ssize_t lo, Py_ssize_t hi):
        """Seed the streams of RandomState of lanes lo, lo + 1, ... of [lo, hi) with entropy, entropy + 1, ..."""
        cdef uint32_t[::1] words
        cdef int count = max(1, (entropy.bit_length() + 31) // 32)
        if hi > lo and (<simulation_t*> self._lane(lo)).random_state != NULL:
            words = np.frombuffer(bytearray(int(entropy).to_bytes(4 * count + 4, "little")), np.uint32)
            random_state_seed_range(
                (<simulation_t*> self._lane(lo)).random_state, self.lanes.stride, hi - lo, &words[0], count)
        for lane in range(lo, hi if self.sims.fresh >= 0 else lo):
            (<simulation_t*> self._lane(lane)).bases[REGISTERS][self.sims.fresh] = 1.0

    def set_model(self, Py_ssize_t lane, model):
        """Replace the model of a lane by another one of the same sizes."""
        self._lane(lane)
        self.models[lane] = model
        self._bind_lane(lane)


def take_steps(model, data, int count):
    """Call `mj_step` `count` times and `mj_rnePostConstraint` once, with the GIL released.

    Returns:
        None, or a message and whether MuJoCo failed. After a failure the data must be reset.
    """
    cdef const void* model_address = <const void*> <size_t> model._address
    cdef void* data_address = <void*> <size_t> data._address
    cdef fault_t fault
    cdef int stop = False
    check_simulation(data)
    memset(&fault, 0, sizeof(fault))
    with nogil:
        mujoco_call(mujoco.step, count, mujoco.rne_post_constraint, model_address, data_address, &fault, &stop)
    if fault.severity == FAILED:
        raise_pending()
    if fault.severity:
        return (<bytes> fault.text).decode(errors="replace"), fault.severity == FAILED


def set_functions(dict addresses, int place_of_contacts):
    """Set the addresses of MUJOCO_FUNCTIONS, for the whole process, and `gymcore_contact_place`.

    Raises:
        ValueError: If a function is missing. The handlers of one version are enough, and "mjcb_control" is optional.
    """
    cdef size_t address
    pointers = {name: addresses.get(name, 0) for name in MUJOCO_FUNCTIONS}
    required = [address for name, address in pointers.items() if name.startswith("mj_")]
    handler, *older_handlers = [address for name, address in pointers.items() if name.startswith("_mj")]
    if not all(required) or not (handler or all(older_handlers)):
        raise ValueError(f"functions: expected {MUJOCO_FUNCTIONS}, got {sorted(addresses)}")
    global contact_place
    contact_place = place_of_contacts
    for k, address in enumerate(pointers.values()):
        (<void**> &mujoco)[<int> k] = <void*> address


cdef int check_simulation(object data) except -1:
    """Raise if functions are not set, or if MuJoCo would use own threads, which have no trap (mujoco_calls.h)."""
    if mujoco.step == NULL:
        raise ValueError("functions: expected a call of set_functions first")
    if getattr(data, "threadpool", 0):
        raise ValueError("data: expected a simulation without a thread pool: an error in it would end the process")
    return 0
