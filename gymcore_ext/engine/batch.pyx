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
from gymcore_ext.engine.kernel cimport BLOCK, MAX_PARTS, flag_t, kernel_t
from gymcore_ext.engine.lane_memory cimport ANY_USE, MAX_NUMBERS, STEP, LaneMemory, LaneOwner
from gymcore_ext.engine.outputs cimport (
    StepArrays, bind_parts, float32_scalar, float64_scalar, infos_of_lane, narrow_infos, take_all, unboxed,
)
from gymcore_ext.engine.step cimport (
    ROLLOUT_BLOCK, STREAM_BYTES, STREAM_WORDS, advance, begin_deferred, call_t, clock_now, job_t, outputs_t, reset_job,
    rollout_job, shift_outputs, step_job, subset_job,
)
from gymcore_ext.engine.threads cimport BRIEF, Threads, add_time, cost_t, is_timed, part_time
from gymcore_ext.layouts cimport grouped

import time

import numpy as np

from gymcore_ext.engine.lane_memory import kernel_spec

cnp.import_array()


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
        store: owner of the lanes, for a kernel whose lanes are not columns.
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
    cdef dict arrays_by_size       # arrays for steps of some lanes, by their number
    cdef object before_reset
    cdef cost_t step_cost, reset_cost
    cdef int64_t rollout_part      # steps of lanes between two checks for signals in a rollout, as last measured
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
        if self.store is not None:
            (<LaneOwner> self.store).threads = self.threads
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
        are_integers = all([part == (np.int64, ()) for part in self.spec["observation_parts"]])
        is_flat = layout is None or layout[0] == "array" or (
            layout[0] == "tuple" and all([part[0] == "array" for part in layout[1]]))
        self.observes_numbers = mode == SINGLE and are_integers and is_flat
        self.reuse = reuse
        self.arrays_by_size = {}
        self.arrays = self._arrays_for(num_envs)
        self.rollout_part = 1

    def close(self):
        """Stop the threads; every later call but `close` raises."""
        self._enter(ANY_USE)
        self.closed = True
        self.busy = 0
        self.threads.stop()

    # --- stepping -------------------------------------------------------------------------------------------------

    cdef cnp.ndarray _actions(self, object actions, tuple shape, bint keep=False):
        """Return checked actions in the layout of the kernel; unless `keep`, they are valid in this call only."""
        # Another thread, which uses scratch and pool, may step while actions to keep are checked.
        cdef int typenum = self.action_typenum
        if typenum == cnp.NPY_FLOAT64:
            # NumPy computes costs of float32 actions in float32: a kernel for float64 learns which type was given.
            float32 = cnp.PyArray_Check(actions) and cnp.PyArray_TYPE(<cnp.ndarray> actions) == cnp.NPY_FLOAT32
            if keep:
                typenum = cnp.NPY_FLOAT32 if float32 else cnp.NPY_FLOAT64
            else:
                self.lanes.columns.float32_actions = float32
        return checked_actions(
            actions, shape, &self.lanes, typenum, None if keep else self.scratch, None if keep else self.threads,
            self.errors)

    cdef int _check_ended(self, cnp.ndarray lanes) except -1:
        """Raise in DISABLED mode if one of the lanes, or of all for None, has ended: it must be reset first."""
        if self.lanes.episodes.mode != DISABLED or memchr(self.lanes.episodes.ended, 1, self.num_envs) == NULL:
            return 0
        flags = self.view_lifecycle()[0]
        ended = (np.flatnonzero(flags) if lanes is None else lanes[flags[lanes]]).tolist()
        if not ended:
            return 0
        shown = ", ".join(map(str, ended[:8])) + (", ..." if len(ended) > 8 else "")
        raise self.errors.ResetNeeded(
            f"step: environments [{shown}] have ended their episodes and autoreset is disabled; "
            "call reset(options={'reset_mask': terminations | truncations})")

    cdef int64_t _run(self, const void* actions, outputs_t* out, int64_t steps) except -1:
        """Step (steps = 0) or roll out every lane, by one thread or the pool."""
        cdef call_t call
        cdef int64_t count = 0, spent, n = self.lanes.num_envs, row_bytes = self.lanes.sizes.part_bytes[0]
        out.streamed = (
            self.lanes.sizes.parts == 1 and row_bytes <= 8 * STREAM_WORDS
            and row_bytes * n * max(steps, 1) > STREAM_BYTES)
        call.lanes, call.actions, call.out = &self.lanes, <const char*> actions, out
        if steps == 0:
            return self._share(step_job, &call, n, 0, &self.step_cost)
        while True:
            call.steps = min(max(self.rollout_part // min(n, ROLLOUT_BLOCK), 1), steps)
            spent = -clock_now()
            count += self._share(rollout_job, &call, n, call.steps, &self.step_cost)
            spent += clock_now()
            self.rollout_part = max(
                min(2 * self.rollout_part, n * call.steps * part_time(&self.step_cost) // max(spent, 1)), 1)
            steps -= call.steps
            if steps == 0:
                return count
            self.ready = False
            PyErr_CheckSignals()
            call.actions += call.steps * n * self.lanes.sizes.action_bytes
            shift_outputs(&self.lanes, out, call.steps * n)

    cdef int64_t _share(self, job_t job, void* context, int64_t n, int64_t steps, cost_t* cost) except -1:
        """Run a job on [0, n), one step (steps = 0) or many of each lane, by one thread or several."""
        # An exception of a signal handler ends the job in the middle: all lanes must be reset then.
        self.ready = False
        cdef int64_t count = self.threads.run(job, context, n, steps, cost)
        self.ready = True
        return count

    cdef int _raise_faults(self) except -1:
        """Raise the faults of lanes, if there are any; after an exception all lanes must be reset."""
        if self.lanes.kernel.faulted == NULL or not self.lanes.kernel.faulted(self.lanes.columns.lanes):
            return 0
        try:
            self.store.raise_faults()
        except BaseException:
            self.ready = False
            raise
        return 0

    cdef int _set_clock(self) except -1:
        """Set the time of the statistics."""
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
        return self._step(actions, None)

    cdef tuple _step(self, object actions, cnp.ndarray lanes):
        """Step every lane, or some of them."""
        cdef outputs_t out
        cdef call_t call
        cdef StepArrays arrays = self.arrays
        cdef tuple shape = self.action_shape
        cdef dict infos
        cdef int64_t count
        self._enter(STEP)
        try:
            if lanes is None:
                checked = self._actions(actions, shape)
                self._check_ended(None)
            else:
                self.check_lanes(lanes)
                count = cnp.PyArray_SIZE(lanes)
                arrays, shape = self._arrays_for(count), (count,) + shape[1:]
                checked = self._actions(actions, shape)
            self._set_clock()
            observations, rewards, terminated, truncated = arrays.take(&out)
            if lanes is None:
                count = self._run(cnp.PyArray_DATA(checked), &out, 0)
            else:
                out.streamed = False
                call.lanes, call.actions, call.out = &self.lanes, <const char*> cnp.PyArray_DATA(checked), &out
                call.indices = <const int64_t*> cnp.PyArray_DATA(lanes)
                count = self._share(subset_job, &call, count, 0, &self.step_cost)
            infos = self._finish(arrays, &out, lanes, count)
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
        """Set a function that same-step autoreset calls before ended lanes begin their next episode.

        Args:
            before_reset: `before_reset(ended, lanes)` returns more entries for the final infos of a step in which
                episodes ended: `ended` bool [n] marks these rows, and `lanes` int64 [n] are the lanes of all rows
                (None for all lanes). Lanes still have their last state. None for no function.
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
        return self._step(actions, lanes)

    def checked_actions(self, actions, Py_ssize_t n):
        """Return actions of `n` lanes in the layout of the kernel, every value checked; the array itself if it fits."""
        return self._actions(actions, (n,) + self.action_shape[1:], True)

    def check_lanes(self, cnp.ndarray lanes not None):
        """Raise unless these lanes, int64 [n], may be stepped."""
        lane_pointer(lanes, "lanes", self.num_envs, self.errors)
        self._check_ended(lanes)

    cdef StepArrays _arrays_for(self, Py_ssize_t n):
        """Return the output arrays for steps of `n` lanes."""
        if n not in self.arrays_by_size:
            make_room(self.arrays_by_size)
            self.arrays_by_size[n] = StepArrays(n, self.spec, self.lanes.episodes.mode, self.reuse, self.statistics)
        return self.arrays_by_size[n]

    def step_into(self, actions, observations, rewards, terminated, truncated, final_observations=None):
        """Step every lane and write into arrays of the caller; returns the infos."""
        return self.bind_step(actions, observations, rewards, terminated, truncated, final_observations)()

    def bind_step(self, actions, observations, rewards, terminated, truncated, final_observations=None):
        """Check arrays once for many steps.

        Args:
            actions: of every lane; an array is read at each step, other objects now.
            observations: as `step` returns them; like the following, written at each step.
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
        """Let `out` write into these arrays, which may share no memory with each other or the actions; return them."""
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
        """Return T of actions [T, num_envs, ...]."""
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
            self._set_clock()
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
        cdef int64_t first = 0 if self.lanes.choices == 0 else self.lanes.kernel.action_ranges[0]
        if not 0 <= action - first < self.lanes.choices:
            raise self.errors.InvalidAction(
                f"action = {action} is outside Discrete({self.lanes.choices}{f', start={first}' if first else ''})")
        return self._single(&action)

    def step_single_numbers(self, action):
        """Step the only lane by a continuous action [action_size]; returns as `step_single`."""
        self._check_single()
        return self._single(cnp.PyArray_DATA(self._actions(action, self.action_shape[1:])))

    cdef int _check_single(self) except -1:
        """Raise unless this is the batch of a single environment: other batches step their lanes together."""
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
            observation = self._take_observations(&out, numbers)
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
        return self._observations(observation, numbers), number, terminated != 0

    cdef void _advance_single(self, const void* action, outputs_t* out) noexcept:
        """Step the only lane, without the GIL if that takes long; a quarter of a microsecond faster than `_run`."""
        cdef cost_t* cost = &self.step_cost
        cdef int64_t begin
        if is_timed(cost):
            begin = clock_now()
            with nogil:
                advance(&self.lanes, action, out, 0, 1)
            add_time(cost, <double> (clock_now() - begin))
        elif cost.lane < BRIEF:
            advance(&self.lanes, action, out, 0, 1)
        else:
            with nogil:
                advance(&self.lanes, action, out, 0, 1)
        cost.calls += 1

    cdef object _take_observations(self, outputs_t* out, int64_t* numbers):
        """Bind arrays for observations and return them; in a batch of one, integers go to `numbers` instead."""
        cdef int k
        if self.observes_numbers:
            for k in range(self.lanes.sizes.parts):
                out.observations[k] = &numbers[k]
            return None
        if self.lanes.episodes.mode == SINGLE and self.arrays.layout is not None:
            return take_all(self.arrays.observations, out.observations)
        return self.arrays.take_observations(out.observations)

    cdef object _observations(self, object arrays, int64_t* numbers):
        """Return what was written; in a batch of one, an array, an int, or a tuple or dict of these."""
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
            Observations of all lanes as `step` returns them (those of lanes left alone are what they were), and the
            infos of the lanes that were reset.
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
            self.arrays.take_infos(out.infos, mask is not None)
            self._set_clock()
            call.lanes, call.options = &self.lanes, limits
            call.indices = <const int64_t*> cnp.PyArray_DATA(chosen)
            self._share(reset_job, &call, count, 0, &self.reset_cost)
            with nogil:
                spec.observe(&self.lanes.columns, out.observations, NULL, 0, self.num_envs)
                if out.infos[0] != NULL:
                    spec.write_infos(&self.lanes.columns, out.infos, call.indices, 0, count)
            self.ready = True
            self._raise_faults()
            if self.lanes.episodes.mode == SINGLE:
                infos = infos_of_lane(&self.lanes, self.spec["infos"], 0, True, self.numpy_scalars)
            else:
                infos = self.arrays.infos_of_reset(mask)
        finally:
            self.busy = 0
        return self._observations(arrays, numbers), infos

    def empty_observations(self, tuple lead):
        """New arrays [*lead, ...] for observations, grouped as `step` returns them."""
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
            self.lanes.kernel.observe(&self.lanes.columns, out.observations, NULL, 0, self.num_envs)
        finally:
            self.busy = 0
        return self._observations(arrays, numbers)

    def infos_of(self, Py_ssize_t lane, bint beginning=False):
        """Return the infos of one lane as a dict; `beginning`: only those that a lane has before its first step."""
        if not 0 <= lane < self.num_envs:
            raise IndexError(f"lane {lane} is not in [0, {self.num_envs})")
        infos = infos_of_lane(&self.lanes, self.spec["infos"], lane, beginning, self.numpy_scalars)
        if self.lanes.columns.float32_actions and not beginning:
            for name in self.float32_numbers:
                if name in infos:
                    infos[name] = float32_scalar(infos[name])
        return infos

    def run_physics(self, actions, observations, rewards):
        """Run only physics and observations for actions [T, num_envs, ...], into arrays [num_envs, ...].

        There are no resets, limits or statistics: benchmarks compare the engine with this.
        """
        cdef outputs_t out
        cdef cnp.ndarray checked, ends
        cdef int64_t block, step, steps, n = self.num_envs
        cdef int64_t stride = n * self.lanes.sizes.action_bytes
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
    cdef list written               # keeps the arrays that `out` points to, also if a dict of them changes
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
            batch._check_ended(None)
            batch._set_clock()
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
