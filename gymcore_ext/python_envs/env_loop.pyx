"""EnvLoop: environments written in Python, stepped one after another.

The synchronous engine has one over all its environments, a worker process of the asynchronous one over the lanes it
owns, so the two cannot disagree. Episodes are counted by the code of the compiled engine (episodes.pxd).

Methods of environments are looked up at every call: a program may replace `envs[i]` or an environment's `step` at any
time, and a lookup is a few nanoseconds.
"""
cimport numpy as cnp
from cpython.dict cimport PyDict_CheckExact
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_AsDouble, PyFloat_Check
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from cpython.tuple cimport PyTuple_CheckExact
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memchr, memset

from gymcore_ext.arrays cimport ArrayRing, array_pointer, claim, cut_off, make_room
from gymcore_ext.engine.episodes cimport (
    DISABLED, NEXT_STEP, SAME_STEP, begin_episode, clear_reports, count_step, episodes_t, report_episode, reports_t,
)
from gymcore_ext.python_envs.infos cimport InfoSlots, merge_lane
from gymcore_ext.python_envs.batch_buffer cimport BatchBuffer

from copy import deepcopy
from time import perf_counter

import numpy as np

cnp.import_array()


cdef class Outputs:
    """Where one call writes its results: `n` rows of recycled arrays, or memory that was bound once and for all."""

    cdef Py_ssize_t n
    cdef bint bound
    cdef BatchBuffer rows, final_rows
    cdef ArrayRing reward_ring, terminated_ring, truncated_ring, return_ring, length_ring, time_ring
    cdef object reward_array, terminated_array, truncated_array, return_array, length_array, time_array
    cdef double* rewards
    cdef uint8_t* terminated
    cdef uint8_t* truncated
    cdef reports_t reports

    cdef int begin(self) except -1:
        """Take arrays that nobody holds; their content is undefined."""
        if self.bound:
            return 0
        # References of ours, left by a call that failed, would keep the rings from using their arrays again.
        self.reward_array = self.terminated_array = self.truncated_array = None
        self.return_array = self.length_array = self.time_array = None
        self.reports.returns = NULL
        self.rows.begin()
        self.reward_array = self.reward_ring.take(<void**> &self.rewards)
        self.terminated_array = self.terminated_ring.take(<void**> &self.terminated)
        self.truncated_array = self.truncated_ring.take(<void**> &self.truncated)
        return 0

    cdef int begin_reports(self) except -1:
        """Take arrays of zeros for the statistics of this call, unless there are some."""
        if self.reports.returns != NULL:
            return 0
        self.return_array = self.return_ring.take(<void**> &self.reports.returns)
        self.length_array = self.length_ring.take(<void**> &self.reports.lengths)
        self.time_array = self.time_ring.take(<void**> &self.reports.times)
        clear_reports(&self.reports, 0, self.n)
        return 0

    cdef tuple take(self, object infos, object errors):
        """The five results of a step, which from now on are the caller's."""
        cdef tuple results
        if self.return_array is not None:
            if "episode" in infos:
                raise errors.InvalidArgument(
                    "episode_statistics: the environments have an info named 'episode' themselves; the infos of this "
                    f"step are {sorted(infos)}")
            infos["episode"] = {"r": self.return_array, "l": self.length_array, "t": self.time_array}
            infos["_episode"] = self.terminated_array | self.truncated_array
        results = (self.rows.batch(), self.reward_array, self.terminated_array, self.truncated_array, infos)
        self.reward_array = self.terminated_array = self.truncated_array = None
        self.return_array = self.length_array = self.time_array = None
        return results


cdef Outputs own_outputs(BatchBuffer rows, Py_ssize_t n, bint statistics):
    """Recycled arrays of `n` rows; `rows` are the observations'."""
    cdef Outputs self = Outputs.__new__(Outputs)
    self.n = n
    self.rows = rows
    self.reward_ring = ArrayRing((n,), np.float64)
    self.terminated_ring = ArrayRing((n,), np.bool_)
    self.truncated_ring = ArrayRing((n,), np.bool_)
    if statistics:
        self.return_ring = ArrayRing((n,), np.float64)
        self.length_ring = ArrayRing((n,), np.int64)
        self.time_ring = ArrayRing((n,), np.float64)
    return self


cdef Outputs bound_outputs(
    BatchBuffer rows, BatchBuffer final_rows, Py_ssize_t n, tuple columns, object statistics, object errors
):
    """Arrays of the caller: rewards, terminated, truncated, and three of statistics or None."""
    cdef Outputs self = Outputs.__new__(Outputs)
    self.n = n
    self.bound = True
    self.rows = rows
    self.final_rows = final_rows
    self.reward_array, self.terminated_array, self.truncated_array = columns
    self.rewards = <double*> array_pointer(
        self.reward_array, "rewards", cnp.NPY_FLOAT64, (n,), True, errors)
    self.terminated = <uint8_t*> array_pointer(
        self.terminated_array, "terminated", cnp.NPY_BOOL, (n,), True, errors)
    self.truncated = <uint8_t*> array_pointer(
        self.truncated_array, "truncated", cnp.NPY_BOOL, (n,), True, errors)
    if statistics is not None:
        self.return_array, self.length_array, self.time_array = statistics
        self.reports.returns = <double*> array_pointer(
            self.return_array, "statistics[0]", cnp.NPY_FLOAT64, (n,), True, errors)
        self.reports.lengths = <int64_t*> array_pointer(
            self.length_array, "statistics[1]", cnp.NPY_INT64, (n,), True, errors)
        self.reports.times = <double*> array_pointer(
            self.time_array, "statistics[2]", cnp.NPY_FLOAT64, (n,), True, errors)
    return self


cdef object copied_value(object value):
    """A deep copy."""
    if cnp.PyArray_CheckExact(value) and cnp.PyArray_TYPE(<cnp.ndarray> value) != cnp.NPY_OBJECT:
        return cnp.PyArray_NewCopy(<cnp.ndarray> value, cnp.NPY_KEEPORDER)
    return deepcopy(value)


cdef tuple checked(object result, Py_ssize_t size, object env, str method, str names):
    """What a method of an environment returned, as a tuple of this size."""
    cdef str old = " (the API before Gym 0.26; see gymcore.compat)"
    if isinstance(result, (tuple, list)):
        if len(result) == size:
            return tuple(result)
        hint = old if len(result) == 4 and size == 5 else ""
        raise ValueError(
            f"{method}() of {type(env).__name__}: expected {size} values ({names}), got {len(result)}{hint}")
    hint = old if method == "reset" else ""
    raise TypeError(
        f"{method}() of {type(env).__name__}: expected a tuple of {size} ({names}), got {type(result).__name__}{hint}")


cdef object infos_of(object infos, cnp.ndarray lanes, Py_ssize_t num_envs):
    """Rows of merged infos, for infos that were merged by a function that knows whole batches only."""
    cdef dict found = {}
    for key, value in infos.items():
        if isinstance(value, dict):
            value = infos_of(value, lanes, num_envs)
        elif isinstance(value, np.ndarray) and value.shape[:1] == (num_envs,):
            value = value[lanes]
        found[key] = value
    return found


cdef class EnvLoop:
    """The lanes [first, first + len(envs)) of a batch, each an environment written in Python.

    It returns batches (without `slots`), or writes every lane's row into memory that was bound at the start (with
    `slots`: a worker process). Its methods take lanes counted from 0; `failed_lane` is counted in the whole batch.

    Args:
        envs: the environments. The very list is used, so that one may be replaced between two calls.
        rows: room for observations, with memory of its own, or over memory of another owner: `num_envs` rows, of
            which those from `first` on are written. With `slots` it may be None: observations then go into the slots.
        mode: 0 next-step autoreset, 1 same-step, 2 none.
        first, num_envs: number of the first environment in the whole batch, and lanes of that (None: of `envs`).
        final_rows: with `slots` and same-step autoreset, room for the last observations of episodes.
        rewards, terminated, truncated: with `slots`, float64 and bool [len(envs)] to write to.
        statistics: None; True to report ended episodes in the infos; or, with `slots`, the three arrays [len(envs)] to
            write to (returns float64, lengths int64, seconds float64), zero where no episode has ended.
        slots: takes infos: `put(lane, info, final_info, extra)`, once for each lane that was reset or stepped. `extra`
            is None, or what no array holds, (of the observation, of the final one or None): objects as
            `BatchBuffer.read_objects` gives them or, without `rows`, the observations.
        add_info: `add_info(infos, info, lane)` returns the infos with those of a lane merged in; None merges them as
            `merge_info` does.
        errors: namespace of exception classes: InvalidArgument, ArgumentTypeError, ResetNeeded, InvalidAction,
            ConcurrentUseError.

    With `final_frames`, an environment is rendered before the reset in the step that ends its episode, and its final
    info gets the result as `final_frame`.

    After an exception in `reset` or `step` of an environment, `failed_lane` and `failed_call` say where it was, and
    every lane must be reset before the next step (unless it was InvalidAction: nothing was stepped). One thread at a
    time may use a loop.
    """

    cdef list envs
    cdef list last                       # the last observation of each lane; None where the rows keep it
    cdef Outputs outputs
    cdef dict subsets                    # outputs of fewer rows, by their number
    cdef object errors, add_info, slots
    cdef InfoSlots info_slots            # `slots`, where they are ours
    cdef episodes_t episodes
    cdef void* memory
    cdef bint ready
    cdef int busy
    cdef readonly bint statistics
    cdef readonly int mode
    cdef public bint final_frames        # whether lanes are rendered when their episode ends, with same-step autoreset
    cdef readonly Py_ssize_t count, first, num_envs
    cdef readonly Py_ssize_t failed_lane
    cdef readonly object failed_call
    # The running call: the lane that an exception would come from, and the merged infos.
    cdef Py_ssize_t lane
    cdef bint resetting
    cdef object infos

    def __cinit__(
        self, list envs, BatchBuffer rows, *, int mode, Py_ssize_t first=0, num_envs=None, BatchBuffer final_rows=None,
        rewards=None, terminated=None, truncated=None, statistics=None, slots=None, add_info=None, errors,
    ):
        cdef Py_ssize_t count = 0 if envs is None else len(envs)
        if count < 1:
            raise errors.InvalidArgument("envs: expected at least one environment, got none")
        if mode not in (NEXT_STEP, SAME_STEP, DISABLED):
            raise errors.InvalidArgument(f"mode: expected 0, 1 or 2, got {mode}")
        self.num_envs = count if num_envs is None else num_envs
        if first < 0 or first + count > self.num_envs:
            raise errors.InvalidArgument(
                f"first: expected {count} lanes within [0, {self.num_envs}), got them from {first} on")
        self.envs = envs
        self.count = count
        self.first = first
        self.mode = mode
        self.errors = errors
        self.slots = slots
        self.info_slots = slots if type(slots) is InfoSlots else None
        self.add_info = add_info
        self.statistics = statistics is not None and statistics is not False
        if slots is None:
            if rows is None or self.num_envs != count:
                raise errors.InvalidArgument("rows: expected rows for all environments, and them all, without slots")
            self.last = [None] * count
            self.outputs = own_outputs(rows, count, self.statistics)
        else:
            self.outputs = bound_outputs(
                rows, final_rows, count, (rewards, terminated, truncated), statistics if self.statistics else None,
                errors)
        for room in (rows, final_rows):
            if room is not None and room.n != self.num_envs:
                raise errors.InvalidArgument(f"rows: expected {self.num_envs} rows, got {room.n}")
        self.subsets = {}
        self.failed_lane = -1
        self.memory = PyMem_RawCalloc(count, 2 * sizeof(double) + sizeof(int32_t) + 1)
        if self.memory == NULL:
            raise MemoryError()
        self.episodes.returns = <double*> self.memory
        self.episodes.started = self.episodes.returns + count
        self.episodes.elapsed = <int32_t*> (self.episodes.started + count)
        self.episodes.ended = <uint8_t*> (self.episodes.elapsed + count)
        self.episodes.mode = mode

    def __dealloc__(self):
        PyMem_RawFree(self.memory)

    @property
    def needs_reset(self):
        """Whether every lane must be reset before the next step: none was yet, or an environment raised."""
        return self.wants_reset()

    cdef bint wants_reset(self) noexcept:
        if cut_off(&self.busy):  # in the middle of a step
            self.ready = False
        return not self.ready

    # --- one call at a time ---------------------------------------------------------------------------------------

    cdef int enter(self, list lanes) except -1:
        """Claim the loop for one call. Between this and `busy = 0` nothing may raise without lowering it."""
        if len(self.envs) != self.count:
            raise self.errors.InvalidArgument(f"envs: expected {self.count} environments, got {len(self.envs)}")
        self.check_lanes(lanes)
        infos = {}
        claim(&self.busy, "these environments are being stepped by one of themselves, or", self.errors)
        self.lane = -1
        self.infos = infos
        return 0

    cdef int check_lanes(self, list lanes) except -1:
        cdef Py_ssize_t lane
        if lanes is not None:
            for lane in lanes:
                if not 0 <= lane < self.count:
                    raise IndexError(f"lane {lane} is not in [0, {self.count})")
        return 0

    cdef int fail(self, object problem) except -1:
        """Note where an exception comes from, and that lanes have lost their results.

        After an action that an environment refused, all environments can go on.
        """
        if self.resetting or not isinstance(problem, self.errors.InvalidAction):
            self.ready = False
        if self.lane >= 0:
            self.failed_lane = self.first + self.lane
            self.failed_call = "reset" if self.resetting else "step"
        return 0

    cdef Outputs outputs_for(self, list lanes):
        """Where results of these lanes go."""
        cdef BatchBuffer rows = self.outputs.rows
        cdef Py_ssize_t n
        if lanes is None or self.outputs.bound or len(lanes) == self.count:
            return self.outputs
        n = len(lanes)
        if n not in self.subsets:
            make_room(self.subsets)
            self.subsets[n] = own_outputs(BatchBuffer(rows.layout, n, reuse=rows.reuse), n, self.statistics)
        return self.subsets[n]

    cdef int read_clock(self) except -1:
        if self.statistics:
            self.episodes.clock = perf_counter()
        return 0

    # --- resetting ------------------------------------------------------------------------------------------------

    def reset(self, list lanes=None, list seeds=None, options=None):
        """Begin new episodes in these lanes (None: in all), with a seed or None for each.

        Returns without slots the observations of all lanes (the last ones of lanes left alone) and the merged infos.
        Raises ResetNeeded if lanes are left out while all need a reset.
        """
        cdef Outputs out = self.outputs
        cdef Py_ssize_t k, lane, count = self.count if lanes is None else len(lanes)
        cdef bytearray written
        cdef tuple result
        self.failed_lane = -1
        self.failed_call = None
        if self.wants_reset() and lanes is not None and len(set(lanes)) < self.count:
            raise self.errors.ResetNeeded("reset: expected a reset of all lanes before one of some")
        if seeds is not None and len(seeds) != count:
            raise self.errors.InvalidArgument(f"seeds: expected {count}, got {len(seeds)}")
        self.enter(lanes)
        try:
            out.begin()
            written = bytearray(self.count)
            for k in range(count):
                lane = k if lanes is None else lanes[k]
                result = self.begin_lane(lane, None if seeds is None else seeds[k], options, False)
                written[lane] = 1
                self.deliver(out, lane, lane, result[0], result[1])
            if self.last is not None:
                for lane in range(self.count):
                    if not written[lane]:
                        self.lane = lane
                        out.rows.write_row(lane, self.last[lane])
            self.lane = -1
            self.ready = True
            if self.slots is not None:
                return None
            return out.rows.batch(), self.infos
        except BaseException as problem:
            self.fail(problem)
            raise
        finally:
            self.infos = None
            self.busy = 0

    cdef object env(self, Py_ssize_t lane):
        if lane >= len(self.envs):  # an environment has changed the list
            raise self.errors.InvalidArgument(f"envs: expected {self.count} environments, got {len(self.envs)}")
        return self.envs[lane]

    cdef tuple begin_lane(self, Py_ssize_t lane, object seed, object options, bint autoreset):
        """Reset an environment: its first observation and info."""
        cdef object env = self.env(lane)
        self.lane = lane
        self.resetting = True
        result = env.reset() if autoreset else env.reset(seed=seed, options=options)
        if not PyTuple_CheckExact(result) or len(<tuple> result) != 2:
            result = checked(result, 2, env, "reset", "observation, info")
        self.read_clock()
        begin_episode(&self.episodes, lane)
        return <tuple> result

    def mark_ended(self, list lanes=None):
        """Note that the episodes of these lanes (None: of all) have ended, as the caller reports.

        With same-step autoreset this does nothing: the lanes are in new episodes already.
        """
        cdef Py_ssize_t lane
        self.check_lanes(lanes)
        if self.mode == SAME_STEP:
            return
        if lanes is None:
            memset(self.episodes.ended, 1, self.count)
            return
        for lane in lanes:
            self.episodes.ended[lane] = 1

    # --- stepping -------------------------------------------------------------------------------------------------

    def step(self, list actions not None, list lanes=None):
        """Step lanes (None: all; each at most once) with one action for each.

        Returns:
            Without slots: observations, rewards float64, terminated bool, truncated bool and infos, a row for each of
            the lanes in their order. With slots: how many episodes ended.

        Raises:
            ResetNeeded: before `reset`, after an exception, or an ended lane in mode 2; nothing was stepped.
        """
        cdef Outputs out
        cdef Py_ssize_t k, lane, ended = 0, count = self.count if lanes is None else len(lanes)
        self.failed_lane = -1
        self.failed_call = None
        if self.wants_reset():
            raise self.errors.ResetNeeded("step: expected a reset of all lanes first")
        if len(actions) != count:
            raise self.errors.InvalidArgument(f"actions: expected {count}, got {len(actions)}")
        self.enter(lanes)
        try:
            self.check_ended(lanes)
            out = self.outputs_for(lanes)
            out.begin()
            try:
                for k in range(count):
                    lane = k if lanes is None else lanes[k]
                    ended += self.step_lane(out, lane if out.bound else k, lane, actions[k])
            except BaseException as problem:
                self.fail(problem)
                raise
            if self.slots is not None:
                return ended
            infos = self.infos
            if self.add_info is not None and lanes is not None and infos:
                infos = infos_of(infos, np.array(lanes, np.int64), self.num_envs)
            return out.take(infos, self.errors)
        finally:
            self.infos = None
            self.busy = 0

    def check_ended(self, list lanes=None):
        """Without autoreset: raise `ResetNeeded` if an episode has ended in one of these lanes (None: of all)."""
        self.check_lanes(lanes)
        if self.mode != DISABLED or memchr(self.episodes.ended, 1, self.count) == NULL:
            return
        ended = [
            self.first + lane for lane in (range(self.count) if lanes is None else lanes) if self.episodes.ended[lane]]
        if ended:
            shown = ", ".join(map(str, ended[:8])) + (", ..." if len(ended) > 8 else "")
            raise self.errors.ResetNeeded(
                f"step: environments [{shown}] have ended their episodes and autoreset is disabled; "
                "call reset(options={'reset_mask': terminations | truncations})")

    cdef bint step_lane(self, Outputs out, Py_ssize_t row, Py_ssize_t lane, object action) except -1:
        """Step one lane, or reset it where its episode ended in the step before; return whether it ended now."""
        cdef object env, result, observation, info
        cdef tuple five
        cdef double reward
        cdef bint terminated, truncated, ended
        if out.bound and self.statistics:
            clear_reports(&out.reports, row, row + 1)
        if self.mode == NEXT_STEP and self.episodes.ended[lane]:
            five = self.begin_lane(lane, None, None, True)
            out.rewards[row] = 0.0
            out.terminated[row] = 0
            out.truncated[row] = 0
            self.deliver(out, row, lane, five[0], five[1])
            return False

        env = self.env(lane)
        self.lane = lane
        self.resetting = False
        result = env.step(action)
        if not PyTuple_CheckExact(result) or len(<tuple> result) != 5:
            result = checked(result, 5, env, "step", "observation, reward, terminated, truncated, info")
        five = <tuple> result
        reward = as_number(five[1])
        terminated = as_flag(five[2])
        truncated = as_flag(five[3])
        observation = five[0]
        info = five[4]
        out.rewards[row] = reward
        out.terminated[row] = terminated
        out.truncated[row] = truncated
        ended = count_step(&self.episodes, lane, reward, terminated or truncated)
        if ended:
            if self.statistics:
                self.read_clock()
                out.begin_reports()
                report_episode(&self.episodes, &out.reports, lane, row)
            if self.mode == SAME_STEP:
                self.deliver_final(out, row, lane, observation, info)
                return True
        self.deliver(out, row, lane, observation, info)
        return ended

    # --- results of one lane --------------------------------------------------------------------------------------

    cdef int deliver(self, Outputs out, Py_ssize_t row, Py_ssize_t lane, object observation, object info) except -1:
        """Write an observation, and merge an info."""
        if self.slots is None:
            out.rows.write_row(row, observation)
            self.last[lane] = observation
            self.merge(out, row, lane, info)
        else:
            extra = write_bound(out.rows, self.first + lane, observation, False)
            self.put(lane, info, None, None if extra is None and out.rows is not None else (extra, None))
        return 0

    cdef int deliver_final(
        self, Outputs out, Py_ssize_t row, Py_ssize_t lane, object observation, object info
    ) except -1:
        """Reset a lane whose episode has ended, and hand out what the two episodes end and begin with."""
        cdef tuple begun
        cdef object extra, final
        # Copies: the environment may use the same objects again in reset.
        info = dict(info)
        if self.final_frames:
            info["final_frame"] = copied_value(self.env(lane).render())
        if self.slots is None:
            final = {"final_obs": copied_value(observation), "final_info": info}
            begun = self.begin_lane(lane, None, None, True)
            self.merge(out, row, lane, final)
            return self.deliver(out, row, lane, begun[0], begun[1])
        final = write_bound(out.final_rows, self.first + lane, observation, True)
        begun = self.begin_lane(lane, None, None, True)
        extra = write_bound(out.rows, self.first + lane, begun[0], False)
        if extra is None and final is None and out.rows is not None:
            self.put(lane, begun[1], info, None)
        else:
            self.put(lane, begun[1], info, (extra, final))
        return 0

    cdef int put(self, Py_ssize_t lane, object info, object final_info, object extra) except -1:
        if self.info_slots is not None:
            self.info_slots.put_info(self.first + lane, as_dict(info), final_info, extra)
        else:
            self.slots.put(self.first + lane, as_dict(info), final_info, extra)
        return 0

    cdef int merge(self, Outputs out, Py_ssize_t row, Py_ssize_t lane, object info) except -1:
        info = as_dict(info)
        if not len(<dict> info):
            return 0
        self.lane = -1  # from here on an exception is not the environment's
        if self.add_info is None:
            merge_lane(self.infos, info, row, out.n)
        else:
            self.infos = self.add_info(self.infos, info, lane)
        return 0

    # --- saving and restoring -------------------------------------------------------------------------------------

    def save_lane(self, Py_ssize_t lane):
        """State of a lane in the loop: its last observation (None if slots have it), ended, elapsed steps, return."""
        cdef BatchBuffer rows = self.outputs.rows
        self.check_lanes([lane])
        observation = None
        if self.last is not None:
            observation = copied_value(self.last[lane])
        elif rows is not None:
            observation = copied_value(rows.read(self.first + lane))
        return (
            observation, bool(self.episodes.ended[lane]), self.episodes.elapsed[lane], self.episodes.returns[lane])

    def load_lane(self, Py_ssize_t lane, tuple saved not None):
        """Take back what `save_lane` gave; the episode's clock starts anew."""
        self.check_lanes([lane])
        observation, ended, elapsed, returns = saved
        self.read_clock()
        begin_episode(&self.episodes, lane)
        self.episodes.ended[lane] = bool(ended)
        self.episodes.elapsed[lane] = elapsed
        self.episodes.returns[lane] = returns
        if self.last is not None:
            self.last[lane] = copied_value(observation)
        elif self.outputs.rows is not None:
            self.outputs.rows.write_row(self.first + lane, observation)

    def mark_ready(self):
        """Allow steps: the caller has brought every lane into a state of its own."""
        self.ready = True


cdef object write_bound(BatchBuffer rows, Py_ssize_t row, object observation, bint copied):
    """Write an observation into shared rows; return what they cannot hold, or None."""
    if rows is None:
        return copied_value(observation) if copied else observation
    rows.write_row(row, observation)
    if not rows.has_objects:
        return None
    extra = rows.read_objects(row)
    return deepcopy(extra) if copied else extra


cdef dict as_dict(object info):
    if PyDict_CheckExact(info):
        return <dict> info
    return dict(info) if info else {}


cdef double as_number(object value) except? -1:
    """A reward as float64: any number, and an array of one."""
    if PyFloat_Check(value):
        return PyFloat_AS_DOUBLE(value)
    if cnp.PyArray_Check(value):
        if cnp.PyArray_SIZE(<cnp.ndarray> value) != 1:
            raise ValueError(f"reward: expected a number, got an array of shape {value.shape}")
        value = value.item()
    try:
        return PyFloat_AsDouble(value)
    except TypeError as problem:
        raise TypeError(f"reward: expected a number, got {type(value).__name__}: {problem}") from None


cdef bint as_flag(object value) except -1:
    if value is False:
        return False
    if value is True:
        return True
    return bool(value)
