"""Batch: lane memory of one environment kernel, its output arrays, and stepping, resetting and rolling them out.

Python validates what actions mean (spaces, options) and turns ended lanes into infos; here arrays are checked once, the
GIL is released, and everything per lane happens in step.pxd. actions.pyx checks actions, outputs.pyx has the arrays of
a step, and threads.pyx the threads that share one.
"""
cimport numpy as cnp
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memchr, memcpy, memset

from gymcore_ext.arrays cimport array_pointer, check_no_overlap, lane_pointer, make_room
from gymcore_ext.engine.actions cimport checked_actions
from gymcore_ext.engine.episodes cimport DISABLED, NEXT_STEP, SAME_STEP, SINGLE
from gymcore_ext.engine.lane_memory cimport ANY_USE, MAX_NUMBERS, STEP, LaneMemory
from gymcore_ext.engine.outputs cimport (
    StepArrays, bind_parts, float32_scalar, float64_scalar, infos_of_lane, narrow_infos, take_all, unboxed,
)
from gymcore_ext.engine.step cimport (
    BLOCK, INT64, MAX_PARTS, STREAM_BYTES, STREAM_WORDS, advance, begin_deferred, clock_now, flag_t, job_t, kernel_t,
    moved, outputs_t, reset_job, reset_t, roll_job, rollout_t, step_job, subset_job, subset_t,
)
from gymcore_ext.engine.threads cimport BRIEF, Threads, add_time, cost_t, is_timed, part_time
from gymcore_ext.layouts cimport grouped

import time

import numpy as np

from gymcore_ext.engine.lane_memory import kernel_spec

cnp.import_array()

# Lanes that a rollout takes through many steps before it turns to others: their state stays in the caches.
cdef enum:
    ROLLED_LANES = 4096


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
    cdef tuple action_shape
    cdef cnp.ndarray scratch       # float64 actions that came as float32, or integers that are copied; or None
    cdef StepArrays arrays
    cdef readonly dict spec        # kernel_spec, and the layout of observations
    cdef dict subsets              # arrays for steps of fewer lanes, by their number
    cdef object before_reset
    cdef cost_t step_cost, reset_cost
    cdef int64_t rolled            # steps of lanes between two checks for signals in a rollout, as last measured
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
        if hasattr(self.store, "threads"):
            self.store.threads = self.threads
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
            actions, shape, &self.lanes, typenum, None if kept else self.scratch, None if kept else self.threads,
            self.errors)

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
            self.rolled = max(min(2 * self.rolled, n * job.steps * part_time(&self.step_cost) // max(spent, 1)), 1)
            steps -= job.steps
            if steps == 0:
                return count
            self.ready = False
            PyErr_CheckSignals()
            job.actions = <const char*> job.actions + job.steps * n * self.lanes.action_bytes
            out[0] = moved(&self.lanes, out, job.steps * n)

    cdef int64_t _share(self, job_t job, void* context, int64_t n, int64_t steps, cost_t* cost) except -1:
        """Do a job on [0, n), one step (steps = 0) or many of each lane, by one thread or several."""
        # An exception of a signal handler ends the job in the middle: all lanes must be reset then.
        self.ready = False
        cdef int64_t count = self.threads.run(job, context, n, steps, cost)
        self.ready = True
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
            observations, rewards, terminated, truncated = arrays.take(&out)
            count = self._run(cnp.PyArray_DATA(checked), &out, 0)
            infos = self._finish(arrays, &out, None, count)
        finally:
            self.busy = 0
        return observations, rewards, terminated, truncated, infos

    cdef dict _finish(self, StepArrays arrays, outputs_t* out, object lanes, int64_t ended):
        """Begin the episodes that were deferred, and return the infos of a step of these lanes (None for all)."""
        cdef int64_t* indices = NULL if lanes is None else <int64_t*> cnp.PyArray_DATA(<cnp.ndarray> lanes)
        cdef dict more_infos = {}
        if ended and self.lanes.defers_resets:
            try:
                more_infos = self.before_reset(arrays.ended, lanes)
            finally:
                begin_deferred(&self.lanes, out, indices, arrays.n)
        infos = arrays.finish(ended, out.terminated, more_infos)
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
            observations, rewards, terminated, truncated = arrays.take(&out)
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
        number = float64_scalar(reward) if self.numpy_scalars else reward
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
            add_time(cost, <double> (clock_now() - begun))
        elif cost.lane < BRIEF:
            advance(&self.lanes, action, out, 0, 1)
        else:
            with nogil:
                advance(&self.lanes, action, out, 0, 1)
        cost.calls += 1

    cdef object _take_row(self, outputs_t* out, int64_t* numbers):
        """Where the observation of a batch of one goes: arrays, or `numbers` if it is integers."""
        cdef int k
        if not self.observes_numbers:
            return take_all(self.arrays.observations, out.observations)
        for k in range(self.lanes.parts):
            out.observations[k] = &numbers[k]

    cdef object _row(self, object arrays, int64_t* numbers):
        """The observation of a batch of one: an array, an int, or a tuple or dict of these."""
        if not self.observes_numbers:
            if self.arrays.layout is None:
                return arrays[0]
            return grouped(self.arrays.layout, iter([unboxed(array) for array in arrays]))
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
            self.arrays.take_infos(out.infos, mask is not None)
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
            infos = self.arrays.infos_of_reset(mask)
        finally:
            self.busy = 0
        if single:
            return self._row(array, numbers), infos_of_lane(
                &self.lanes, self.spec["infos"], 0, True, self.numpy_scalars)
        return array, infos

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
        infos = infos_of_lane(&self.lanes, self.spec["infos"], lane, beginning, self.numpy_scalars)
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
            arrays.take_extras(&self.out)
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
