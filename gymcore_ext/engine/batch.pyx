"""Batch: lane memory of one environment kernel, its output arrays, and stepping, resetting and rolling them out.

Python validates what actions mean (spaces, options) and turns ended lanes into infos; here arrays are checked once, the
GIL is released, and everything per lane happens in engine.pxd.
"""
cimport numpy as cnp
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memchr, memset

from gymcore_ext.engine.actions cimport checked_actions
from gymcore_ext.arrays cimport array_pointer, check_no_overlap, lane_pointer, make_room
from gymcore_ext.engine.step cimport (
    INT64, MOST_PARTS, STREAM_BYTES, STREAM_WORDS, advance, begin_deferred, flag_t, job_t, kernel_t, outputs_t, pool_run, pool_t,
)
from gymcore_ext.engine.episodes cimport DISABLED, NEXT_STEP, SAME_STEP, SINGLE
from gymcore_ext.engine.jobs cimport reset_job, reset_t, roll_job, rollout_t, step_job, subset_job, subset_t
from gymcore_ext.engine.lane_infos cimport info_names, infos_of_lane
from gymcore_ext.engine.lane_memory cimport ANY_USE, MAX_NUMBERS, STEP, STEP_LANES, LaneMemory
from gymcore_ext.engine.step_arrays cimport StepArrays, bind_parts, named_parts, take_extras, take_results
from gymcore_ext.engine.threads cimport Threads

import time

import numpy as np

from gymcore_ext.engine.lane_memory import kernel_facts

cnp.import_array()

# Below this many lanes a step is shorter than giving the GIL away and taking it back.
cdef enum:
    GIL_LANES = 512
    # Lanes that a thread takes at a time, and nanoseconds of work: enough to make the claim free, little enough to
    # balance cores of which one is slower.
    MOST_TAKEN = 2048
    LEAST_WORK = 5000
    # Steps in one call that are worth waking every thread.
    LONG_ROLLOUT = 4


cdef class Batch(LaneMemory):
    """Lanes of one environment: state, parameters, random streams and lifecycle of each, and the outputs of a step.

    Args:
        kernel: capsule of the environment's physics (`gymcore_ext.physics.<name>.kernel`).
        num_envs: number of lanes.
        limit: steps after which an episode is truncated, or 0 for none.
        mode: 0 next-step autoreset, 1 same-step autoreset, 2 none (stepping an ended lane is an error), 3 none and
            unchecked (the batch of one behind `make`).
        num_threads: threads that share a step; with `helpers` only if that is faster, and so many are woken for it.
        reuse: hand out the same output arrays at every step, instead of arrays that the caller may keep.
        statistics: report return, length and duration of ended episodes.
        errors: namespace of exception classes: InvalidAction, InvalidArgument, ArgumentTypeError, ResetNeeded,
            ClosedEnvironmentError, ConcurrentUseError.
        constants: capsule with the table that lanes share, for a kernel that has one.
        choices: how many discrete actions there are, if the kernel leaves that to its constants.
        isa: name of the instruction set to use; the best one by default.

    After an error nothing has changed. One thread at a time may use a batch; a second one gets ConcurrentUseError.
    """

    cdef Threads threads
    cdef int action_typenum
    cdef bint reuse
    cdef tuple action_shape, info_names
    cdef cnp.ndarray scratch       # float64 actions that came as float32; or None
    cdef StepArrays arrays
    cdef dict facts, subsets       # subsets: arrays for steps of fewer lanes, by their number
    cdef object before_reset

    def __cinit__(
        self, object kernel, Py_ssize_t num_envs, *, int64_t limit=0, int mode=0, int num_threads=1, bint reuse=False,
        bint statistics=False, object errors, object isa=None, object constants=None, int64_t choices=0, int helpers=-1,
    ):
        cdef const kernel_t* facts = self.lanes.kernel
        if num_threads < 1:
            raise errors.InvalidArgument(f"num_threads: expected at least 1, got {num_threads}")
        if mode not in (NEXT_STEP, SAME_STEP, DISABLED, SINGLE) or (mode == SINGLE and num_envs != 1):
            raise errors.InvalidArgument(f"mode: expected 0, 1, 2, or 3 with one lane, got {mode} with {num_envs}")
        if limit < 0:
            raise errors.InvalidArgument(f"limit: expected 0 for none or a positive number of steps, got {limit}")
        self.threads = Threads(num_threads, helpers)
        self.facts = kernel_facts(kernel)
        self.action_shape = (num_envs,)
        self.action_typenum = np.dtype(self.facts["action_dtype"]).num
        if facts.action_size:
            self.action_shape = (num_envs, facts.action_size)
        if self.action_typenum == cnp.NPY_FLOAT64:
            self.scratch = np.empty(self.action_shape[1:] if mode == SINGLE else self.action_shape)
        self.lanes.episodes.limit = <int32_t> min(limit, 0x7FFFFFFF) if limit else 0x7FFFFFFF
        self.lanes.episodes.mode = mode
        if mode == NEXT_STEP:
            self.lanes.columns.dead = self.lanes.episodes.ended
        self.info_names = info_names(self.facts)
        self.reuse = reuse
        self.arrays = self._arrays(num_envs)
        self.subsets = {}

    cdef StepArrays _arrays(self, Py_ssize_t n):
        return StepArrays(n, self.facts, self.lanes.episodes.mode, self.reuse, self.statistics)

    def close(self):
        """Stop the threads; every later call but `close` raises."""
        self._enter(ANY_USE)
        self.closed = True
        self.busy = False
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
            actions, shape, self.lanes.choices, typenum, None if kept else self.scratch,
            self.lanes.lifecycle, None if kept else self.threads, self.errors)

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
            f"step: {len(lanes)} of {self.num_envs} lanes ended and autoreset is disabled: reset lanes [{shown}] "
            "with reset(options={'reset_mask': mask}) first")

    cdef int64_t _run(self, const void* actions, outputs_t* out, int64_t steps) noexcept:
        """Step (steps = 0) or roll out every lane, by one thread or the pool."""
        cdef rollout_t job
        job.lanes = &self.lanes
        out.streamed = (
            self.lanes.parts == 1 and self.lanes.row_bytes <= 8 * STREAM_WORDS
            and self.lanes.row_bytes * self.lanes.num_envs * max(steps, 1) > STREAM_BYTES)
        job.actions = actions
        job.out = out
        job.steps = steps
        return self._share(roll_job if steps else step_job, &job, self.lanes.num_envs, steps)

    cdef int64_t _share(self, job_t job, void* context, int64_t n, int64_t steps) noexcept:
        """Do a job on [0, n), one step (steps = 0) or many of each lane, by one thread or the pool."""
        cdef pool_t* pool = self.threads.pool
        cdef int helpers = self.threads.count - 1 if steps >= LONG_ROLLOUT else self.threads.helpers
        cdef int64_t grain = self.lanes.kernel.grain, count
        cdef int64_t share = (n + self.threads.count - 1) // self.threads.count
        cdef int64_t least = grain or (min(share, LEAST_WORK // self.lanes.kernel.nanoseconds) + 64) & ~<int64_t> 63
        if pool != NULL and n > least:
            with nogil:
                count = pool_run(pool, job, context, n, least, grain or MOST_TAKEN, helpers)
        elif n < GIL_LANES and steps == 0 and grain == 0:
            count = job(context, 0, n)
        else:
            with nogil:
                count = job(context, 0, n)
        return count

    cdef int _raise_faults(self) except -1:
        """Let the owner of the lanes' physics say what happened to lanes; after a failure all want a reset."""
        if self.lanes.kernel.faulted == NULL or not self.lanes.kernel.faulted(self.lanes.columns.constants):
            return 0
        try:
            self.constants.hear_faults()
        except BaseException:
            self.ready = False
            raise
        return 0

    cdef int _prepare(self) except -1:
        """The pool of this process, and the clock."""
        self.threads.start()
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
            observations, rewards, terminated, truncated = take_results(arrays, &out)
            count = self._run(cnp.PyArray_DATA(checked), &out, 0)
            infos = self._finish(arrays, &out, None, count)
        finally:
            self.busy = False
        return observations, rewards, terminated, truncated, infos

    cdef dict _finish(self, StepArrays arrays, outputs_t* out, object lanes, int64_t ended):
        """Begin the episodes that were deferred, and return the infos of a step of these lanes (None for all)."""
        cdef const int64_t* indices = NULL if lanes is None else <const int64_t*> cnp.PyArray_DATA(
            <cnp.ndarray> lanes)
        if ended and self.lanes.defers_resets:
            try:
                arrays.final_infos.update(self.before_reset(arrays.ended, lanes))
            finally:
                begin_deferred(&self.lanes, out, indices, arrays.n)
        infos = arrays.finish(ended)
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
        self._enter(STEP_LANES)
        try:
            n = self._check_lanes(lanes)
            checked = self._actions(actions, (n,) + self.action_shape[1:])
            self._prepare()
            arrays = self._arrays_for(n)
            observations, rewards, terminated, truncated = take_results(arrays, &out)
            out.streamed = False
            job.lanes = &self.lanes
            job.actions = <const char*> cnp.PyArray_DATA(checked)
            job.action_bytes = self.lanes.action_bytes
            job.out = &out
            job.indices = <const int64_t*> cnp.PyArray_DATA(lanes)
            count = self._share(subset_job, &job, n, 0)
            infos = self._finish(arrays, &out, lanes, count)
        finally:
            self.busy = False
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

    def step_into(self, actions, observations, rewards, terminated, truncated):
        """Step every lane and write into arrays of the caller; returns the infos."""
        cdef outputs_t out
        cdef cnp.ndarray checked
        cdef dict infos
        cdef int64_t count
        self._enter(STEP)
        try:
            self._bind(&out, observations, rewards, terminated, truncated, (self.num_envs,))
            checked = self._actions(actions, self.action_shape)
            self._check_ended()
            self._prepare()
            take_extras(self.arrays, &out)
            count = self._run(cnp.PyArray_DATA(checked), &out, 0)
            infos = self._finish(self.arrays, &out, None, count)
        finally:
            self.busy = False
        return infos

    cdef int _bind(
        self, outputs_t* out, object observations, object rewards, object terminated, object truncated, tuple lead
    ) except -1:
        errors = self.errors
        taken = bind_parts(out.observations, observations, "observations", lead, self.facts, errors)
        out.rewards = <double*> array_pointer(rewards, "rewards", cnp.NPY_FLOAT64, lead, True, errors)
        out.terminated = <uint8_t*> array_pointer(terminated, "terminated", cnp.NPY_BOOL, lead, True, errors)
        out.truncated = <uint8_t*> array_pointer(truncated, "truncated", cnp.NPY_BOOL, lead, True, errors)
        check_no_overlap(taken + [("rewards", rewards), ("terminated", terminated), ("truncated", truncated)], errors)
        return 0

    def rollout(self, actions, observations, rewards, terminated, truncated, final_observations=None):
        """Step every lane through actions [T, num_envs, ...], writing arrays [T, num_envs, ...] of the caller.

        The GIL is free for the whole call. `final_observations` (float32 [T, num_envs, size], same-step autoreset) gets
        the last observation of every lane that ended at t, zeros elsewhere. Returns how many episodes ended.
        """
        cdef outputs_t out
        cdef cnp.ndarray checked
        cdef int64_t count, steps
        cdef bint deferred
        cdef tuple lead, shape
        self._enter(STEP)
        try:
            if self.lanes.episodes.mode == DISABLED:
                raise self.errors.InvalidArgument(
                    "rollout: expected autoreset_mode NEXT_STEP or SAME_STEP, got DISABLED, whose ended lanes must be "
                    "reset between steps")
            shape = np.shape(actions)
            if len(shape) < 1 or shape[0] < 1:
                raise self.errors.InvalidAction(f"actions: expected [T, num_envs, ...] with T >= 1, got shape {shape}")
            steps = shape[0]
            lead = (steps, self.num_envs)
            self._bind(&out, observations, rewards, terminated, truncated, lead)
            memset(out.final_observations, 0, sizeof(out.final_observations))
            memset(out.infos, 0, sizeof(out.infos))
            memset(out.final_infos, 0, sizeof(out.final_infos))
            out.ended = out.begun = NULL
            out.reports = NULL
            if final_observations is not None:
                if self.lanes.episodes.mode != SAME_STEP:
                    raise self.errors.InvalidArgument(
                        "final_observations: only same-step autoreset replaces final observations")
                taken = bind_parts(
                    out.final_observations, final_observations, "final_observations", lead, self.facts, self.errors)
                others = [("rewards", rewards), ("terminated", terminated), ("truncated", truncated)]
                check_no_overlap(named_parts("observations", observations) + others + taken, self.errors)
            checked = self._actions(actions, (steps,) + self.action_shape)
            self._prepare()
            deferred, self.lanes.defers_resets = self.lanes.defers_resets, False
            count = self._run(cnp.PyArray_DATA(checked), &out, steps)
            self.lanes.defers_resets = deferred
            self._raise_faults()
        finally:
            self.busy = False
        return count

    def step_single(self, int64_t action):
        """Step the only lane by a discrete action: observation float32 [size], reward, terminated."""
        return self._single(&action)

    def step_single_numbers(self, action):
        """Step the only lane by a continuous action [action_size]; returns as `step_single`."""
        return self._single(cnp.PyArray_DATA(self._actions(action, self.action_shape[1:])))

    cdef object _single(self, const void* action):
        cdef outputs_t out
        cdef double reward
        cdef uint8_t terminated, truncated
        cdef int64_t numbers[MOST_PARTS]
        self._enter(STEP)
        try:
            memset(&out, 0, sizeof(out))
            observation = self._take_row(&out, numbers)
            out.rewards = &reward
            out.terminated = &terminated
            out.truncated = &truncated
            if self.lanes.kernel.grain:
                with nogil:
                    advance(&self.lanes, action, &out, 0, 1)
            else:
                advance(&self.lanes, action, &out, 0, 1)
            self._raise_faults()
        finally:
            self.busy = False
        return self._row(observation, numbers), reward, terminated != 0

    cdef object _take_row(self, outputs_t* out, int64_t* numbers):
        """Where the observation of a batch of one goes: an array, or `numbers` if it is integers."""
        cdef int k
        if self.lanes.kernel.observation_type != INT64:
            return self.arrays.take_observations(out.observations)
        for k in range(self.lanes.parts):
            out.observations[k] = &numbers[k]

    cdef object _row(self, object array, int64_t* numbers):
        """The observation of a batch of one: the array, an int, or a tuple of ints."""
        if self.lanes.kernel.observation_type != INT64:
            return array
        if self.lanes.parts == 1:
            return numbers[0]
        return tuple([numbers[k] for k in range(self.lanes.parts)])

    # --- resetting ------------------------------------------------------------------------------------------------

    def reset(self, mask=None, bounds=None):
        """Begin new episodes, in the lanes of a bool [num_envs] mask or in all.

        Args:
            mask: lanes to reset, or None for all.
            bounds: values of the kernel's bounds in order (see `kernel_facts`), or None for its defaults.

        Returns:
            Observations of all lanes as `step` returns them (those of lanes left alone are what they were), and the
            infos of the lanes that were reset.
        """
        cdef const kernel_t* facts = self.lanes.kernel
        cdef double[MAX_NUMBERS + 1] limits
        cdef int64_t numbers[MOST_PARTS]
        cdef outputs_t out
        cdef cnp.ndarray chosen
        cdef reset_t job
        cdef pool_t* pool
        cdef int64_t count, k
        cdef bint single = self.lanes.episodes.mode == SINGLE
        cdef object infos
        for k in range(facts.bound_count):
            limits[k] = facts.bound_defaults[k] if bounds is None else bounds[k]
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
            self.arrays.take_infos(out.infos, mask, True)
            self._prepare()
            pool = self.threads.pool
            job.lanes = &self.lanes
            job.bounds = limits
            job.indices = <const int64_t*> cnp.PyArray_DATA(chosen)
            with nogil:
                if facts.grain and pool != NULL and count:
                    pool_run(pool, reset_job, &job, count, facts.grain, facts.grain, pool.workers)
                else:
                    reset_job(&job, 0, count)
                self.lanes.loops.observe(&self.lanes.columns, out.observations, 0, self.lanes.num_envs)
                if out.infos[0] != NULL:
                    facts.inform_lanes(
                        &self.lanes.columns, out.infos, <const int64_t*> cnp.PyArray_DATA(chosen), count)
            self.ready = True
            self._raise_faults()
            infos, self.arrays.infos = self.arrays.infos, None
        finally:
            self.busy = False
        if single:
            return self._row(array, numbers), infos_of_lane(&self.lanes, self.info_names, 0, True)
        return array, infos or {}

    def observe(self):
        """Observations of all lanes as they are, as `step` returns them."""
        cdef int64_t numbers[MOST_PARTS]
        cdef outputs_t out
        cdef bint single = self.lanes.episodes.mode == SINGLE
        self._enter(STEP_LANES)
        try:
            memset(&out, 0, sizeof(out))
            array = self._take_row(&out, numbers) if single else self.arrays.take_observations(out.observations)
            self.lanes.loops.observe(&self.lanes.columns, out.observations, 0, self.num_envs)
        finally:
            self.busy = False
        return self._row(array, numbers) if single else array

    def infos_of(self, Py_ssize_t lane, bint beginning=False):
        """Infos of one lane as a dict; of a lane that has only begun an episode, those that it has."""
        if not 0 <= lane < self.num_envs:
            raise IndexError(f"lane {lane} is not in [0, {self.num_envs})")
        return infos_of_lane(&self.lanes, self.info_names, lane, beginning)

    def run_physics(self, actions, observations, rewards):
        """Physics and observations of actions [T, num_envs, ...] alone, into arrays [num_envs, ...].

        No resets, limits or statistics: the limit that benchmarks compare the engine against.
        """
        cdef outputs_t out
        cdef cnp.ndarray checked, ends
        cdef int64_t step, steps = np.shape(actions)[0], n = self.num_envs
        cdef int64_t stride = n * self.lanes.action_bytes
        self._enter(STEP)
        try:
            flags = np.empty(n, np.bool_)
            self._bind(&out, observations, rewards, flags, flags.copy(), (n,))
            ends = np.empty(n, np.int16)
            checked = self._actions(actions, (steps,) + self.action_shape)
            with nogil:
                for step in range(steps):
                    self.lanes.loops.step_shared(
                        &self.lanes.columns, <const char*> cnp.PyArray_DATA(checked) + step * stride,
                        <void**> out.observations, out.rewards, <flag_t*> cnp.PyArray_DATA(ends), 0, n)
        finally:
            self.busy = False
