"""Batch: the lanes of one kernel and the output arrays of their steps, with methods to step, reset and roll them out.

Python checks options and spaces. A batch checks arrays once and releases the GIL; step.pxd has the work for each lane.
kernels.pyx reads kernels, actions.pyx checks actions, outputs.pyx has the arrays of a step, and threads.pyx the threads
that share a step.
"""
cimport numpy as cnp
from cpython.exc cimport PyErr_CheckSignals
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memchr, memcpy, memset

from gymcore_ext.arrays cimport (
    array_pointer, check_no_overlap, clear_if_full, cut_off, lane_pointer, mark_busy,
)
from gymcore_ext.engine.actions cimport checked_actions, given_actions
from gymcore_ext.engine.agents cimport ACTIVE, GONE, hide_agents
from gymcore_ext.engine.episodes cimport DISABLED, NEXT_STEP, SAME_STEP, SINGLE
from gymcore_ext.engine.kernel cimport (
    KERNEL_CAPSULE, MAX_PARTS, kernel_t, rng_double, rng_seed_range, rng_t, step_loops_t,
)
from gymcore_ext.engine.kernels cimport MAX_NUMBERS, LaneOwner, choices_of, pointer_of, read_kernel, set_sizes
from gymcore_ext.engine.outputs cimport (
    StepArrays, bind_parts, float32_scalar, float64_scalar, narrow_infos, rows_by_step, take_all, unboxed,
)
from gymcore_ext.engine.step cimport (
    ROLLOUT_BLOCK, begin_deferred, call_t, clock_now, job_t, lanes_t, lifecycles, outputs_t, reset_job, rollout_job,
    shift_outputs, step_job, subset_job,
)
from gymcore_ext.engine.threads cimport Threads, cost_t, part_time
from gymcore_ext.layouts cimport grouped

import time
from math import prod

import numpy as np

from gymcore_ext.engine.actions import joined_actions
from gymcore_ext.engine.kernels import ISA_NAMES, choose_isa, kernel_spec

cnp.import_array()


# Why a batch is marked as busy; selects the checks of `_enter`.
cdef enum:
    ANY_USE = 0
    STEP = 1             # the lanes must have been reset


# Checks actions without the threads of a batch, which another caller may be using.
cdef Threads ALONE = Threads(1, False)


cdef list zeroed(list fields):
    """Return a zeroed array for each (dtype, shape). They adjoin in memory, and the first begins at a cache line."""
    cdef list sizes = [np.dtype(dtype).itemsize * prod(shape) for dtype, shape in fields]
    cdef list arrays = []
    cdef cnp.ndarray memory = np.zeros(sum(sizes) + 64, np.uint8)
    first = -<Py_ssize_t> cnp.PyArray_DATA(memory) & 63
    for size, (dtype, shape) in zip(sizes, fields):
        arrays.append(memory[first:first + size].view(dtype).reshape(shape))
        first += size
    return arrays


cdef cnp.ndarray row_pointers(cnp.ndarray matrix):
    """Return the addresses of the rows of a C-contiguous matrix."""
    return <size_t> cnp.PyArray_DATA(matrix) + np.arange(matrix.shape[0], dtype=np.uintp) * <size_t> matrix.strides[0]


cdef class Batch:
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
        store: owner of the lanes, for a kernel whose lanes are not columns.
        choices: how many discrete actions there are, if the kernel leaves that to the shared table.
        layout: how the arrays of an observation are grouped (see batch_buffer.pyx); None for one array, or a tuple.
        copies_actions: whether the kernel, like struct lanes, needs actions that no other thread can change meanwhile.
        isa: name of the instruction set to use; the best one by default.
        action_groups: in a world of agents that differ, name and shape of the actions of each group: actions are dicts.

    In a world of agents, rewards, terminated and truncated are [num_envs, agents].

    Views keep the memory of the lanes alive, even after `close`. A call that refuses its arguments has changed nothing.
    One thread at a time may use a batch; a second one gets ConcurrentUseError. Signals are handled every few
    milliseconds; if a handler raises, all lanes must be reset.
    """

    cdef kernel_t kernel           # a copy of the capsule's kernel
    cdef lanes_t lanes
    cdef const step_loops_t* loops
    # Lane memory: state [state_count, lanes], the others [lanes], where `lanes` may be more than num_envs.
    cdef cnp.ndarray state, rngs, ended, elapsed, returns, started
    cdef cnp.ndarray agent_states, agent_returns, agent_lengths   # [lanes, agents]
    cdef cnp.ndarray parameters    # [parameter_count, 1], or [parameter_count, num_envs] if lanes differ
    cdef cnp.ndarray state_rows, parameter_rows   # addresses of their rows
    cdef int busy
    cdef bint ready, closed, statistics
    cdef object errors, references
    cdef readonly LaneOwner store  # the owner of lanes that are not columns, or None
    cdef readonly Py_ssize_t num_envs
    cdef readonly str isa
    cdef Threads threads
    cdef int action_typenum
    cdef bint reuse, observes_numbers, copies_actions
    cdef bint float32_actions      # whether float64 actions of the last step were given as float32
    cdef tuple action_shape, action_groups
    cdef cnp.ndarray scratch       # copies of actions, or None
    cdef StepArrays arrays
    cdef readonly dict spec        # kernel_spec, and the layout of observations
    cdef dict arrays_by_size       # arrays for steps of some lanes, by their number
    cdef object before_reset
    cdef public dict lazy_infos    # makers of entries of the infos of same-step mode (lazy_dict.pyx), or None
    cdef cost_t step_cost, reset_cost
    cdef int64_t rollout_part      # steps of lanes between two checks for signals in a rollout, as last measured
    # Names of infos, and in a batch of one "reward", that are float32 after a float32 action. A batch of one converts
    # them here: NumPy would take 9 % of a step of Reacher.
    cdef public tuple float32_numbers
    cdef public bint numpy_scalars  # whether a batch of one returns its reward and infos as NumPy's scalars
    cdef readonly bint truncated   # whether the last step of a batch of one truncated its episode

    def __cinit__(
        self, object kernel, Py_ssize_t num_envs, *, int64_t limit=0, int mode=0, object num_threads=1,
        int max_threads=1, bint reuse=False, bint statistics=False, object errors, object isa=None, object shared=None,
        object store=None, int64_t choices=0, tuple layout=None, bint copies_actions=False, tuple action_groups=None,
    ):
        cdef const kernel_t* spec = &self.kernel
        read_kernel(kernel, &self.kernel)
        set_sizes(spec, &self.lanes.sizes)
        if num_envs < 1:
            raise errors.InvalidArgument(f"num_envs: expected at least 1, got {num_envs}")
        if num_threads is not None and num_threads < 1:
            raise errors.InvalidArgument(f"num_threads: expected at least 1, got {num_threads}")
        if mode not in (NEXT_STEP, SAME_STEP, DISABLED, SINGLE) or (mode == SINGLE and num_envs != 1):
            raise errors.InvalidArgument(f"mode: expected 0, 1, 2, or 3 with one lane, got {mode} with {num_envs}")
        if limit < 0:
            raise errors.InvalidArgument(f"limit: expected 0 for none or a positive number of steps, got {limit}")
        # A kernel of another package may carry fewer instruction sets: an older compiler built it.
        cdef int level = min(<int> choose_isa(isa), spec.isa_count - 1)
        self.isa = ISA_NAMES[level]
        self.errors = errors
        self.references = kernel, shared
        self.num_envs = num_envs
        self.statistics = statistics
        self.reuse = reuse
        self.lanes.kernel = spec
        self.loops = &spec.step[level]
        self.lanes.lifecycle = &lifecycles[level]
        self.lanes.num_envs = num_envs
        self.lanes.episodes.limit = <int32_t> min(limit, 0x7FFFFFFF) if limit else 0x7FFFFFFF
        self.lanes.episodes.mode = mode
        self.lanes.choices = choices_of(spec)
        if self.lanes.choices < 0:  # the table decides
            self.lanes.choices = choices
            if choices < 1:
                raise errors.InvalidArgument(f"choices: expected how many actions there are, got {choices}")
        if spec.shared_name != NULL:  # the kernel trusts what its own module has put into the capsule
            self.lanes.columns.shared = pointer_of(shared, spec.shared_name, "shared", errors.ArgumentTypeError)
        self.threads = Threads(max_threads if num_threads is None else num_threads, num_threads is None)
        if spec.has_lanes:
            self._set_store(kernel, store)
        self.spec = kernel_spec(kernel)
        self._allocate()
        parts = self.spec["observation_parts"]
        if layout is None and len(parts) > 1:
            layout = ("tuple", tuple([("array", *part) for part in parts]))
        self.spec["layout"] = layout if layout is None or layout[0] != "array" else None
        is_flat = layout is None or layout[0] == "array" or (
            layout[0] == "tuple" and all([part[0] == "array" for part in layout[1]]))
        self.observes_numbers = mode == SINGLE and is_flat and all([part == (np.int64, ()) for part in parts])
        self.action_shape = (num_envs, *self.spec["action_shape"])
        self.action_typenum = np.dtype(self.spec["action_dtype"]).num
        self.action_groups = action_groups
        self.copies_actions = copies_actions or spec.functions != NULL or spec.agents
        if self.copies_actions or self.action_typenum == cnp.NPY_FLOAT64:
            self.scratch = np.empty(
                self.action_shape[1:] if mode == SINGLE else self.action_shape, self.spec["action_dtype"])
        self.float32_numbers = ()
        self.arrays_by_size = {}
        self.arrays = self._arrays_for(num_envs)
        self.rollout_part = 1

    cdef int _set_store(self, object kernel, object store) except -1:
        """Use the lanes of `store`, which are not columns."""
        cdef LaneOwner owner
        if not isinstance(store, LaneOwner):
            raise self.errors.ArgumentTypeError(f"store: expected the owner of lanes, got {type(store).__name__}")
        owner = store
        cdef void* stepped = pointer_of(owner.kernel, KERNEL_CAPSULE, "store.kernel", self.errors.ArgumentTypeError)
        if stepped != PyCapsule_GetPointer(kernel, KERNEL_CAPSULE):
            raise self.errors.ArgumentTypeError("store: expected lanes of this kernel, got those of another one")
        if owner.num_lanes != self.num_envs:
            raise self.errors.InvalidArgument(f"store: expected {self.num_envs} lanes, got {owner.num_lanes}")
        self.store, self.lanes.columns.lanes, owner.threads = owner, owner.columns_lanes, self.threads
        return 0

    cdef int _allocate(self) except -1:
        """Allocate zeroed lane memory, in which each column begins at a cache line."""
        cdef Py_ssize_t n = (self.num_envs + 63) & ~63 if self.num_envs > 64 else self.num_envs
        agents = n, self.kernel.agents
        try:
            (self.state, self.returns, self.started, self.agent_returns, self.rngs, self.elapsed, self.agent_lengths,
             self.ended, self.agent_states) = zeroed([
                (np.float64, (self.kernel.state_count, n)), (np.float64, (n,)),
                (np.float64, (n if self.statistics else 0,)), (np.float64, agents),
                (np.uint64, (n, sizeof(rng_t) // 8)), (np.int32, (n,)), (np.int32, agents), (np.bool_, (n,)),
                (np.uint8, agents)])
        except (MemoryError, OverflowError, ValueError):
            name = self.kernel.name.decode()
            raise MemoryError(f"num_envs: no memory for {self.num_envs} lanes of {name}") from None
        self.state_rows = row_pointers(self.state)
        self.lanes.columns.state = <double**> cnp.PyArray_DATA(self.state_rows)
        self.lanes.columns.rngs = <rng_t*> cnp.PyArray_DATA(self.rngs)
        self.lanes.episodes.returns = <double*> cnp.PyArray_DATA(self.returns)
        if self.statistics:
            self.lanes.episodes.started = <double*> cnp.PyArray_DATA(self.started)
        self.lanes.episodes.elapsed = <int32_t*> cnp.PyArray_DATA(self.elapsed)
        self.lanes.episodes.ended = <uint8_t*> cnp.PyArray_DATA(self.ended)
        self.lanes.agents.count = self.kernel.agents
        if self.kernel.agents:
            self.lanes.agents.states = <uint8_t*> cnp.PyArray_DATA(self.agent_states)
            self.lanes.agents.returns = <double*> cnp.PyArray_DATA(self.agent_returns)
            self.lanes.agents.lengths = <int32_t*> cnp.PyArray_DATA(self.agent_lengths)
            self.lanes.columns.active = self.lanes.agents.states
        if self.lanes.episodes.mode == NEXT_STEP:
            self.lanes.columns.resetting = self.lanes.episodes.ended
        defaults = [self.kernel.parameter_defaults[k] for k in range(self.kernel.parameter_count)]
        self._use_parameters(np.array(defaults, np.float64).reshape(-1, 1))
        return 0

    # --- one caller at a time -------------------------------------------------------------------------------------

    cdef int _enter(self, int use) except -1:
        """Mark the batch as busy for one call. The caller must set `busy = 0` at its end, even after an exception."""
        if cut_off(&self.busy):  # a fork in the middle of a step
            self.ready = False
        if use != ANY_USE and not self.busy:
            if self.closed:
                raise self.errors.ClosedEnvironmentError("the environment was closed; make a new one")
            if not self.ready:
                raise self.errors.ResetNeeded("step: expected reset() before the first step()")
        return mark_busy(&self.busy, "this batch is being stepped", self.errors)

    def close(self):
        """Stop the threads. Later steps and resets raise ClosedEnvironmentError."""
        self._enter(ANY_USE)
        self.closed = True
        self.busy = 0
        self.threads.stop()
        self.threads.count = 1  # so that saving lanes later does not start them again

    def exclusively(self, function):
        """Call a function that reads or writes views, and return its result. Other callers get an error meanwhile."""
        self._enter(ANY_USE)
        try:
            return function()
        finally:
            self.busy = 0

    def mark_ready(self, lanes=None):
        """Allow steps without a reset: the caller has written every lane's state.

        Args:
            lanes: indices of lanes whose duration counts from now; None for all lanes of a batch that was not ready.
        """
        if self.statistics and (lanes is not None or not self.ready):
            self.started[slice(None) if lanes is None else lanes] = time.perf_counter()
        if lanes is None and not self.ready:
            self.agent_states[...] = ACTIVE
        self.ready = True

    def require_reset(self):
        """Require a reset before the next step, as for a new batch."""
        self.ready = False

    @property
    def is_ready(self):
        """Whether the lanes have a state, because `reset` or `mark_ready` was called."""
        if cut_off(&self.busy):
            self.ready = False
        return self.ready

    # --- random streams -------------------------------------------------------------------------------------------

    def seed(self, object entropy, Py_ssize_t lo, Py_ssize_t hi):
        """Seed lanes lo, lo + 1, ... of [lo, hi) with entropy, entropy + 1, ... (a non-negative int of any size)."""
        cdef uint32_t[::1] words
        cdef int count = max(1, (entropy.bit_length() + 31) // 32)
        if not 0 <= lo <= hi <= self.num_envs:
            raise IndexError(f"lanes [{lo}, {hi}) are not in [0, {self.num_envs})")
        words = np.frombuffer(bytearray(int(entropy).to_bytes(4 * count + 4, "little")), np.uint32)
        self._enter(ANY_USE)
        try:
            with nogil:
                rng_seed_range(self.lanes.columns.rngs + lo, hi - lo, &words[0], count)
            if self.store is not None:
                self.store.seed_streams(entropy, lo, hi)
        finally:
            self.busy = 0

    def random(self, object lanes, Py_ssize_t size):
        """Draw float64 [n, size] on [0, 1) for lanes, int64 [n]; each row equals Generator.random(size)."""
        cdef const int64_t* indices = lane_pointer(lanes, "lanes", self.num_envs, self.errors)
        cdef Py_ssize_t k, i, n = len(lanes)
        cdef cnp.ndarray drawn = np.empty((n, size))
        cdef double* place = <double*> cnp.PyArray_DATA(drawn)
        self._enter(ANY_USE)
        for k in range(n):
            for i in range(size):
                place[k * size + i] = rng_double(self.lanes.columns.rngs + indices[k])
        self.busy = 0
        return drawn

    # --- views and parameters -------------------------------------------------------------------------------------

    def view_state(self):
        """Return a view, float64 [state_count, num_envs], with a row for each state column."""
        return self.state[:, :self.num_envs]

    def view_random(self):
        """Return a view, uint64 [num_envs, 5]: state (high, low), increment (high, low), buffered 32-bit half."""
        return self.rngs[:self.num_envs]

    def view_lifecycle(self):
        """Return three views [num_envs]: ended (bool), elapsed (int32), returns (float64)."""
        return self.ended[:self.num_envs], self.elapsed[:self.num_envs], self.returns[:self.num_envs]

    def view_agents(self):
        """Return three views [num_envs, agents]: states (uint8, see agents.pxd), returns (float64), lengths (int32)."""
        return [array[:self.num_envs] for array in (self.agent_states, self.agent_returns, self.agent_lengths)]

    def get_parameters(self):
        """Return a copy, float64 [parameter_count, num_envs], or [parameter_count, 1] if all lanes share them."""
        return self.parameters.copy()

    def set_parameters(self, cnp.ndarray values not None):
        """Copy parameters: float64 [parameter_count, 1] for all lanes, or [parameter_count, num_envs] for each."""
        cdef bint shared = cnp.PyArray_NDIM(values) == 2 and cnp.PyArray_DIM(values, 1) == 1
        array_pointer(
            values, "parameters", cnp.NPY_FLOAT64, (self.kernel.parameter_count, 1 if shared else self.num_envs),
            False, self.errors)
        self._enter(ANY_USE)
        try:
            self._use_parameters(values.copy())
        finally:
            self.busy = 0

    cdef int _use_parameters(self, cnp.ndarray values) except -1:
        cdef bint shared = cnp.PyArray_DIM(values, 1) == 1
        self.parameter_rows = row_pointers(values)
        self.parameters = values
        self.lanes.columns.parameters = <double**> cnp.PyArray_DATA(self.parameter_rows)
        self.lanes.columns.parameter_stride = 0 if shared else 1
        self.lanes.step = self.loops.shared if shared else self.loops.varied
        return 0

    # --- stepping -------------------------------------------------------------------------------------------------

    cdef cnp.ndarray _actions(self, object actions, tuple shape, bint keep=False, bint joined=False):
        """Return checked actions in the layout of the kernel, in which those of groups may be `joined` already.

        Only copies (`keep`) stay valid after this call.
        """
        cdef int typenum = self.action_typenum
        cdef cnp.ndarray given
        if self.action_groups is not None and not joined:
            actions = joined_actions(
                actions, self.action_groups, shape[:len(shape) - 1], np.dtype(self.spec["action_dtype"]), self.errors)
        given = given_actions(actions, shape, &self.lanes, typenum, self.errors)
        # NumPy computes costs of float32 actions in float32, so lanes with float64 actions need the given type.
        if keep and typenum == cnp.NPY_FLOAT64:
            typenum = cnp.PyArray_TYPE(given)
        elif not keep:
            self.float32_actions = cnp.PyArray_TYPE(given) == cnp.NPY_FLOAT32
            if self.store is not None:
                self.store.float32_actions = self.float32_actions
        # Actions to keep are checked without `scratch` and the pool: another thread may be stepping with them.
        return checked_actions(
            given, shape, &self.lanes, typenum, keep or self.copies_actions, None if keep else self.scratch,
            ALONE if keep else self.threads, self.errors)

    cdef int _check_ended(self, cnp.ndarray lanes) except -1:
        """In DISABLED mode, raise if one of these lanes (None: of all) has ended and was not reset."""
        if self.lanes.episodes.mode != DISABLED or memchr(self.lanes.episodes.ended, 1, self.num_envs) == NULL:
            return 0
        flags = self.view_lifecycle()[0]
        ended = (np.flatnonzero(flags) if lanes is None else lanes[flags[lanes]]).tolist()
        if not ended:
            return 0
        shown = ", ".join(map(str, ended[:8])) + (", ..." if len(ended) > 8 else "")
        mask = "terminations | truncations"
        if self.lanes.agents.count:
            mask = f"~(infos['active'] & ~({mask})).any(axis=1)"
        raise self.errors.ResetNeeded(
            f"step: environments [{shown}] have ended their episodes and autoreset is disabled; "
            f"call reset(options={{'reset_mask': {mask}}})")

    cdef int64_t _run_job(self, job_t job, void* context, int64_t n, int64_t steps, cost_t* cost) except -1:
        """Run a job on [0, n), with one step (steps = 0) or many of each lane, on one thread or several."""
        # If a signal handler raises, the job stops in the middle, and all lanes must be reset.
        self.ready = False
        cdef int64_t count = self.threads.run(job, context, n, steps, cost)
        self.ready = True
        return count

    cdef int _raise_faults(self) except -1:
        """Raise the faults of lanes, if there are any. After an exception, all lanes must be reset."""
        if self.lanes.kernel.faulted == NULL or not self.lanes.kernel.faulted(self.lanes.columns.lanes):
            return 0
        try:
            self.store.raise_faults()
        except BaseException:
            self.ready = False
            raise
        return 0

    cdef int _set_clock(self) except -1:
        """Set the current time for the statistics."""
        if self.statistics:
            self.lanes.episodes.clock = time.perf_counter()
        return 0

    def step(self, actions):
        """Step every lane.

        Args:
            actions: int64 [num_envs], or float32 or float64 [num_envs, action_size], as the
                kernel needs them; other integer and float types are converted.

        Returns:
            observations (float32 [num_envs, size], or int64 [num_envs], or a tuple of these), rewards float64
            [num_envs], terminated and truncated bool [num_envs], and the infos as Gymnasium lays them out (arrays that
            the caller may keep).
        """
        return self._step(actions, None)

    cdef tuple _step(self, object actions, cnp.ndarray lanes):
        """Step every lane, or some. (An optional argument of `step` itself would cost 4 % of a step of 64 lanes.)"""
        cdef outputs_t out
        cdef StepArrays arrays = self.arrays
        cdef tuple shape = self.action_shape
        self._enter(STEP)
        try:
            if lanes is not None:
                lane_pointer(lanes, "lanes", self.num_envs, self.errors)
                arrays = self._arrays_for(cnp.PyArray_SIZE(lanes))
                shape = (arrays.n,) + shape[1:]
            checked = self._actions(actions, shape, False, lanes is not None)
            self._check_ended(lanes)
            observations, rewards, terminated, truncated = arrays.take(&out)
            infos = self._advance(checked, &out, arrays, lanes)
        finally:
            self.busy = 0
        return observations, rewards, terminated, truncated, infos

    cdef dict _advance(self, cnp.ndarray actions, outputs_t* out, StepArrays arrays, cnp.ndarray lanes):
        """Step every lane, or some of them, with checked actions, and return the infos."""
        cdef call_t call
        cdef job_t job = step_job
        cdef int64_t ended
        cdef dict more_infos = {}
        self._set_clock()
        call.lanes, call.actions, call.out, call.indices = &self.lanes, cnp.PyArray_BYTES(actions), out, NULL
        if lanes is not None:
            call.indices = <const int64_t*> cnp.PyArray_DATA(lanes)
            job = subset_job
        ended = self._run_job(job, &call, arrays.n, 0, &self.step_cost)
        if ended and self.lanes.defers_resets:
            try:
                more_infos = self.before_reset(arrays.ended, lanes)
            finally:
                with nogil:
                    begin_deferred(&self.lanes, out, call.indices, arrays.n)
        infos = self._infos(arrays, ended, out.terminated, more_infos)
        self._raise_faults()
        return infos

    cdef dict _infos(self, StepArrays arrays, int64_t ended, uint8_t* terminated, dict more_infos):
        """Return the infos of a step in which `ended` episodes ended."""
        infos = arrays.finish(ended, terminated, more_infos, self.lazy_infos)
        if self.float32_numbers and self.float32_actions:
            narrow_infos(infos.get("final_info"), self.float32_numbers)
            narrow_infos(infos, self.float32_numbers)
        return infos

    def set_before_reset(self, before_reset):
        """Set a function that same-step autoreset calls before ended lanes begin their next episode.

        Args:
            before_reset: `before_reset(ended, lanes)` returns more entries for the final infos of a step in which
                episodes ended, or None for no function. `ended`, bool [n], marks the rows of these episodes; `lanes`,
                int64 [n], has the lane of each row (None for all lanes). Lanes still have their last state.
        """
        self.before_reset = before_reset
        self.lanes.defers_resets = before_reset is not None and self.lanes.episodes.mode == SAME_STEP

    def step_subset(self, actions, cnp.ndarray lanes not None):
        """Step some lanes, and leave the others unchanged.

        Args:
            actions: int64 [n] or float32 [n, action_size]; other integer and float types are converted.
                Those of groups of agents in the layout of the kernel, as `checked_actions` returns them.
            lanes: int64 [n], indices of the lanes, each at most once.

        Returns:
            As `step`, with one row per lane, in the order of `lanes`.
        """
        return self._step(actions, lanes)

    def checked_actions(self, actions, Py_ssize_t n):
        """Return a copy of actions of `n` lanes in the layout of the kernel, every value checked."""
        return self._actions(actions, (n,) + self.action_shape[1:], True)

    cdef StepArrays _arrays_for(self, Py_ssize_t n):
        """Return the output arrays for steps of `n` lanes."""
        if n not in self.arrays_by_size:
            clear_if_full(self.arrays_by_size)
            self.arrays_by_size[n] = StepArrays(n, self.spec, self.lanes.episodes.mode, self.reuse, self.statistics)
        return self.arrays_by_size[n]

    def bind_step(self, actions, observations, rewards, terminated, truncated, final_observations=None, lanes=None):
        """Check arrays once for many steps.

        Args:
            actions: those of all lanes, read and checked at each step.
            observations: as `step` returns them; these and the following arrays are written at each step.
            rewards: float64, or float32, to which rewards are rounded.
            terminated: bool [num_envs].
            truncated: bool [num_envs].
            final_observations: None, or in same-step autoreset arrays for the last observations of lanes that ended,
                which become `final_obs` of the infos; zeros elsewhere.
            lanes: int64 [n], as for `step_subset`; arrays then have n rows. None for all lanes.

        Returns:
            A function without arguments, which steps the lanes and returns the infos.
        """
        return BoundStep(self, actions, observations, rewards, terminated, truncated, final_observations, lanes)

    cdef list _bind(
        self, outputs_t* out, object actions, object observations, object rewards, object terminated, object truncated,
        tuple lead, object final_observations=None
    ):
        """Point `out` to these arrays, which must not share memory with each other or the actions; return them all."""
        errors = self.errors
        taken = bind_parts(out.observations, observations, "observations", lead, self.spec, errors)
        of_agents = lead + self.spec["agents"]
        out.rewards = <double*> array_pointer(rewards, "rewards", cnp.NPY_FLOAT64, of_agents, True, errors)
        out.terminated = <uint8_t*> array_pointer(terminated, "terminated", cnp.NPY_BOOL, of_agents, True, errors)
        out.truncated = <uint8_t*> array_pointer(truncated, "truncated", cnp.NPY_BOOL, of_agents, True, errors)
        if final_observations is not None:
            if self.lanes.episodes.mode != SAME_STEP:
                raise errors.InvalidArgument(
                    "final_observations: only same-step autoreset replaces final observations")
            taken += bind_parts(
                out.final_observations, final_observations, "final_observations", lead, self.spec, errors)
        taken += [("rewards", rewards), ("terminated", terminated), ("truncated", truncated)]
        taken += [("actions", each) for each in (actions.values() if isinstance(actions, dict) else [actions])]
        check_no_overlap(taken, errors)
        return taken

    cdef int64_t _num_steps(self, object actions) except -1:
        """Return the number of steps T of actions [T, num_envs, ...]."""
        if self.action_groups is not None and isinstance(actions, dict):
            actions = next(iter(actions.values()), ())
        shape = tuple(np.shape(actions))  # the shape of a tensor is a subclass of tuple
        if len(shape) < 1 or shape[0] < 1:
            raise self.errors.InvalidAction(f"actions: expected [T, num_envs, ...] with T >= 1, got shape {shape}")
        return shape[0]

    def rollout(
        self, actions, observations, rewards, terminated, truncated, final_observations=None, bint reports=False
    ):
        """Step every lane through actions [T, num_envs, ...], and write to the caller's arrays [T, num_envs, ...].

        The GIL is released nearly all the time. `final_observations` (float32 [T, num_envs, size], same-step autoreset)
        receives the last observation of every lane that ended at t, and zeros elsewhere. If `reports`, the returned
        dict has arrays [T, num_envs, ...] laid out as the infos of a step, without `final_obs`; otherwise it is empty.
        """
        cdef outputs_t out
        cdef call_t call
        cdef cnp.ndarray checked
        cdef StepArrays arrays = None
        cdef int64_t count = 0, spent, n = self.num_envs, steps, done = 0
        cdef uint8_t* ends
        cdef bint defers_resets
        self._enter(STEP)
        try:
            if self.lanes.episodes.mode == DISABLED:
                raise self.errors.InvalidArgument(
                    "rollout: expected autoreset_mode NEXT_STEP or SAME_STEP, got DISABLED, whose ended lanes must be "
                    "reset between steps")
            steps = self._num_steps(actions)
            checked = self._actions(actions, (steps,) + self.action_shape)
            memset(&out, 0, sizeof(out))
            if reports and (self.lanes.sizes.infos or self.statistics or self.lanes.agents.count):
                arrays = self._arrays_for(steps * n)
                arrays.take_extras(&out, False)
            self._bind(
                &out, checked, observations, rewards, terminated, truncated, (steps, n), final_observations)
            ends = out.terminated
            self._set_clock()
            call.began = clock_now()
            call.lanes, call.actions, call.out = &self.lanes, cnp.PyArray_BYTES(checked), &out
            defers_resets, self.lanes.defers_resets = self.lanes.defers_resets, False
            try:
                while True:
                    call.steps = min(max(self.rollout_part // min(n, ROLLOUT_BLOCK), 1), steps - done)
                    spent = -clock_now()
                    count += self._run_job(rollout_job, &call, n, call.steps, &self.step_cost)
                    spent += clock_now()
                    self.rollout_part = max(
                        min(2 * self.rollout_part, n * call.steps * part_time(&self.step_cost) // max(spent, 1)), 1)
                    done += call.steps
                    if done == steps:
                        break
                    self.ready = False
                    PyErr_CheckSignals()
                    call.actions += call.steps * n * self.lanes.sizes.action_bytes
                    shift_outputs(&self.lanes, &out, call.steps * n)
            finally:
                self.lanes.defers_resets = defers_resets
            infos = {} if arrays is None else rows_by_step(self._infos(arrays, count, ends, {}), steps)
            self._raise_faults()
        finally:
            self.busy = 0
        return infos

    def step_single(self, int64_t action):
        """Step the only lane with a discrete action; return observation (float32 [size]), reward and terminated."""
        self._check_single()
        cdef int64_t first = 0 if self.lanes.choices == 0 else self.lanes.kernel.action_ranges[0]
        if not 0 <= action - first < self.lanes.choices:
            raise self.errors.InvalidAction(
                f"action = {action} is outside Discrete({self.lanes.choices}{f', start={first}' if first else ''})")
        return self._single(&action)

    def step_single_array(self, action):
        """Step the only lane with an action that is an array [action_size]; return the results of `step_single`."""
        self._check_single()
        return self._single(cnp.PyArray_DATA(self._actions(action, self.action_shape[1:])))

    cdef int _check_single(self) except -1:
        """Raise unless this is the batch of a single environment: other batches step their lanes together."""
        if self.lanes.episodes.mode != SINGLE:
            raise self.errors.Error(
                "a lane of a vector environment: reset and step the vector environment instead")
        if self.lanes.agents.count:
            raise self.errors.UnsupportedMode(
                "step: a world of several agents has no single reward; use make_vec(), or "
                "gymcore.interop.pettingzoo.parallel_env() for one world")
        return 0

    cdef object _single(self, const void* action):
        cdef outputs_t out
        cdef call_t call
        cdef double reward
        cdef uint8_t terminated, truncated
        cdef int64_t numbers[MAX_PARTS]
        self._enter(STEP)
        try:
            memset(&out, 0, sizeof(out))
            observation = self._take_observations(&out, numbers)
            out.rewards = &reward
            out.terminated = &terminated
            out.truncated = &truncated
            call.lanes, call.actions, call.out = &self.lanes, <const char*> action, &out
            self._run_job(step_job, &call, 1, 0, &self.step_cost)
            self._raise_faults()
        finally:
            self.busy = 0
        self.truncated = truncated
        number = float64_scalar(reward) if self.numpy_scalars else reward
        if self.float32_actions and "reward" in self.float32_numbers:
            number = float32_scalar(reward)
        return self._observations(observation, numbers), number, terminated != 0

    cdef object _take_observations(self, outputs_t* out, int64_t* numbers):
        """Point `out` to new observation arrays and return them; in a batch of one, integers go to `numbers`.

        With arrays instead, a step of Blackjack would take twice as long, and a step of FrozenLake an eighth longer.
        """
        cdef int k
        if self.observes_numbers:
            for k in range(self.lanes.sizes.parts):
                out.observations[k] = &numbers[k]
            return None
        if self.lanes.episodes.mode == SINGLE and self.arrays.layout is not None:
            return take_all(self.arrays.observations, out.observations)
        return self.arrays.take_observations(out.observations)

    cdef object _observations(self, object arrays, int64_t* numbers):
        """Return the written observations; in a batch of one, an array, an int, or a tuple or dict of these."""
        layout = self.arrays.layout
        if self.observes_numbers:
            return numbers[0] if layout is None else tuple([numbers[k] for k in range(self.lanes.sizes.parts)])
        if self.lanes.episodes.mode == SINGLE and layout is not None:
            return grouped(layout, iter([unboxed(array) for array in arrays]))
        return arrays

    # --- resetting ------------------------------------------------------------------------------------------------

    def reset(self, mask=None, options=None):
        """Begin new episodes, in the lanes of a bool [num_envs] mask or in all.

        Args:
            mask: lanes to reset, or None for all.
            options: values of the kernel's reset options in order (see `kernel_spec`), or None for its defaults.

        Returns:
            Observations of all lanes as `step` returns them (those of the other lanes are unchanged), and the infos of
            the lanes that were reset.
        """
        cdef const kernel_t* spec = self.lanes.kernel
        cdef double[MAX_NUMBERS + 1] limits
        cdef int64_t numbers[MAX_PARTS]
        cdef outputs_t out
        cdef cnp.ndarray chosen
        cdef call_t call
        cdef int64_t count, k
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
            arrays = self._take_observations(&out, numbers)
            self.arrays.take_info_arrays(out.infos, mask is not None)
            self._set_clock()
            call.lanes, call.options = &self.lanes, limits
            call.indices = <const int64_t*> cnp.PyArray_DATA(chosen)
            self._run_job(reset_job, &call, count, 0, &self.reset_cost)
            with nogil:
                self._write_observations(&out)
                if out.infos[0] != NULL:
                    spec.write_infos(&self.lanes.columns, out.infos, call.indices, 0, count)
            self.ready = True
            self._raise_faults()
            if self.lanes.episodes.mode == SINGLE:
                infos = self.arrays.infos_of_lane(&self.lanes, True, self.numpy_scalars)
            else:
                infos = self.arrays.infos_of_reset(mask)
            if self.lanes.agents.count:
                infos["active"] = self.view_agents()[0] != GONE
                infos["_active"] = np.ones(self.num_envs, np.bool_)
        finally:
            self.busy = 0
        return self._observations(arrays, numbers), infos

    cdef void _write_observations(self, outputs_t* out) noexcept nogil:
        """Observe all lanes."""
        self.lanes.kernel.observe(&self.lanes.columns, out.observations, NULL, 0, self.num_envs)
        if self.lanes.agents.count:
            hide_agents(
                &self.lanes.agents, self.lanes.kernel, self.lanes.sizes.part_bytes, out.observations, NULL, 0,
                self.num_envs)

    def empty_observations(self, tuple lead):
        """Return new arrays [*lead, ...] for observations, grouped as `step` returns them."""
        arrays = [np.empty(lead + shape, dtype) for dtype, shape in self.spec["observation_parts"]]
        return arrays[0] if self.spec["layout"] is None else grouped(self.spec["layout"], iter(arrays))

    def observe(self):
        """Return the current observations of all lanes, as `step` returns them."""
        cdef int64_t numbers[MAX_PARTS]
        cdef outputs_t out
        self._enter(STEP)
        try:
            memset(&out, 0, sizeof(out))
            arrays = self._take_observations(&out, numbers)
            with nogil:
                self._write_observations(&out)
        finally:
            self.busy = 0
        return self._observations(arrays, numbers)

    def central_state(self):
        """Return a new array [num_envs, ...] with the state of each lane for critics; None if the kernel has none."""
        cdef void* parts[1]
        if self.lanes.kernel.central_state == NULL:
            return None
        dtype, shape = self.spec["central_state"]
        states = np.empty((self.num_envs, *shape), dtype)
        parts[0] = cnp.PyArray_DATA(<cnp.ndarray> states)
        self._enter(STEP)
        try:
            with nogil:
                self.lanes.kernel.central_state(&self.lanes.columns, parts, NULL, 0, self.num_envs)
            self._raise_faults()
        finally:
            self.busy = 0
        return states

    def infos(self, bint beginning=False):
        """Return the infos of the only lane as a dict; if `beginning`, only those that exist before its first step."""
        self._check_single()
        infos = self.arrays.infos_of_lane(&self.lanes, beginning, self.numpy_scalars)
        if self.float32_actions and not beginning:
            for name in self.float32_numbers:
                if name in infos:
                    infos[name] = float32_scalar(infos[name])
        return infos


cdef class BoundStep:
    """A function that steps lanes between arrays that were checked once; see `Batch.bind_step`."""

    cdef Batch batch
    cdef outputs_t out
    cdef void* finals[MAX_PARTS]
    cdef object actions, final_observations
    cdef list written               # the arrays that `out` points to, in case the caller changes a dict of them
    cdef object wide_rewards        # float64, as they are computed
    cdef object rewards             # float32, or None if the rewards are written as they are
    cdef cnp.ndarray lanes          # None for all
    cdef StepArrays arrays          # for infos
    cdef tuple action_shape

    def __cinit__(
        self, Batch batch not None, actions, observations, rewards, terminated, truncated, final_observations,
        lanes,
    ):
        cdef Py_ssize_t n = batch.num_envs, parts = batch.lanes.sizes.parts
        batch._enter(STEP)
        try:
            self.arrays, self.action_shape = batch.arrays, batch.action_shape
            if lanes is not None:
                lane_pointer(lanes, "lanes", n, batch.errors)
                self.lanes, n = lanes.copy(), len(lanes)
                self.arrays, self.action_shape = batch._arrays_for(n), (n,) + batch.action_shape[1:]
            if batch.action_groups is None:
                given = given_actions(actions, self.action_shape, &batch.lanes, batch.action_typenum, batch.errors)
            else:  # checked here, and joined at each step
                joined_actions(
                    actions, batch.action_groups, (n,), np.dtype(batch.spec["action_dtype"]), batch.errors)
                given = {name: np.asarray(each) for name, each in actions.items()}
            if isinstance(rewards, cnp.ndarray) and cnp.PyArray_TYPE(rewards) == cnp.NPY_FLOAT32:
                self.rewards, rewards = rewards, np.empty((n, *batch.spec["agents"]))
                array_pointer(self.rewards, "rewards", cnp.NPY_FLOAT32, rewards.shape, True, batch.errors)
            self.written = batch._bind(
                &self.out, given, observations, rewards, terminated, truncated, (n,), final_observations)
        finally:
            batch.busy = 0
        memcpy(self.finals, self.out.final_observations, sizeof(self.finals))
        if final_observations is not None and self.arrays.layout is not None:
            final_observations = tuple([array for _, array in self.written[parts:2 * parts]])
        self.batch, self.actions, self.final_observations = batch, actions, final_observations
        self.wide_rewards = rewards

    def __call__(self):
        cdef Batch batch = self.batch
        cdef StepArrays arrays = self.arrays
        batch._enter(STEP)
        try:
            checked = batch._actions(self.actions, self.action_shape)
            batch._check_ended(self.lanes)
            arrays.take_extras(&self.out, self.final_observations is None)
            if self.final_observations is not None:
                memcpy(self.out.final_observations, self.finals, sizeof(self.finals))
                arrays.final_observations = self.final_observations
            infos = batch._advance(checked, &self.out, arrays, self.lanes)
            if self.lanes is not None:
                infos["env_id"] = self.lanes.copy()
            if self.rewards is not None:
                self.rewards[...] = self.wide_rewards
        finally:
            batch.busy = 0
        return infos
