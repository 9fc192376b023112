"""EnvLoop: environments written in Python, stepped one after another.

The synchronous engine has one loop for all of its environments, and each worker process of the asynchronous engine has
one for its lanes, so the two cannot disagree. The code of the compiled engine (episodes.pxd) counts episodes.

Methods of environments are looked up at every call, because a program may replace `envs[i]` or the `step` of an
environment at any time. A lookup takes a few nanoseconds.
"""
cimport numpy as cnp
from cpython.dict cimport PyDict_CheckExact
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from cpython.tuple cimport PyTuple_CheckExact
from libc.stdint cimport int32_t, int64_t, uint8_t

from gymcore_ext.arrays cimport clear_if_full, cut_off, mark_busy
from gymcore_ext.engine.episodes cimport (
    DISABLED, NEXT_STEP, SAME_STEP, begin_episode, clear_reports, count_step, episodes_t, report_episode, reports_t,
)
from gymcore_ext.python_envs.infos cimport InfoSlots, copied, merge_info
from gymcore_ext.python_envs.batch_buffer cimport BatchBuffer

from copy import deepcopy
from time import perf_counter

import numpy as np

cnp.import_array()

cdef object ndarray = np.ndarray

# Layouts of the results of a lane besides observations and infos: reward, terminated and truncated for each step;
# return, length and seconds for each episode that has ended.
REWARD_AND_END_LAYOUT = ("tuple", (("array", np.float64, ()), ("array", np.bool_, ()), ("array", np.bool_, ())))
EPISODE_STATS_LAYOUT = (
    "dict", ("r", "l", "t"), (("array", np.float64, ()), ("array", np.int64, ()), ("array", np.float64, ())))


cdef class Outputs:
    """The buffers for the results of one call: batches of the lanes of that call, or shared memory of all lanes."""

    cdef BatchBuffer observations, rewards_and_ends, episodes
    cdef double* rewards
    cdef uint8_t* terminated
    cdef uint8_t* truncated
    cdef reports_t reports               # into `episodes`, or NULL
    cdef object vectors                  # rewards [n, k] of environments whose rewards are vectors, or None

    def __cinit__(self, BatchBuffer observations, BatchBuffer rewards_and_ends, BatchBuffer episodes):
        self.observations = observations
        self.rewards_and_ends = rewards_and_ends
        self.episodes = episodes

    cdef int begin(self) except -1:
        """Begin new batches; their content is undefined."""
        if self.observations is not None:
            self.observations.begin()
        self.rewards_and_ends.begin()
        self.rewards = <double*> self.rewards_and_ends.part_data(0)
        self.terminated = <uint8_t*> self.rewards_and_ends.part_data(1)
        self.truncated = <uint8_t*> self.rewards_and_ends.part_data(2)
        self.vectors = None
        if self.episodes is not None:
            self.episodes.begin()
            self.reports.returns = <double*> self.episodes.part_data(0)
            self.reports.lengths = <int64_t*> self.episodes.part_data(1)
            self.reports.times = <double*> self.episodes.part_data(2)
        return 0

    cdef tuple take(self, object infos, bint has_ended, object errors):
        """Return the five results of a step, which then belong to the caller."""
        cdef list parts = self.rewards_and_ends.parts
        rewards = (<BatchBuffer> parts[0]).batch() if self.vectors is None else self.vectors
        terminated = (<BatchBuffer> parts[1]).batch()
        truncated = (<BatchBuffer> parts[2]).batch()
        if has_ended and self.episodes is not None:
            if "episode" in infos:
                raise errors.InvalidArgument(
                    "episode_statistics: the environments have an info named 'episode' themselves; the infos of this "
                    f"step are {sorted(infos)}")
            infos["episode"] = self.episodes.batch()
            infos["_episode"] = terminated | truncated
        return self.observations.batch(), rewards, terminated, truncated, infos


cdef tuple checked_result(object result, Py_ssize_t size, object env, str method, str names):
    """Return the result of a method of an environment as a tuple of this size, or raise."""
    if isinstance(result, (tuple, list)) and len(result) == size:
        return tuple(result)
    is_sequence = isinstance(result, (tuple, list))
    got = str(len(result)) if is_sequence else type(result).__name__
    if got == "4" or method == "reset" and not is_sequence:
        got += " (the API before Gym 0.26; see gymcore.compat)"
    expected = f"{size} values" if is_sequence else f"a tuple of {size}"
    raise (ValueError if is_sequence else TypeError)(
        f"{method}() of {env!s:.200}: expected {expected} ({names}), got {got}")


cdef object info_rows(object infos, cnp.ndarray lanes, Py_ssize_t num_envs):
    """Return some rows of infos that were merged by a function for whole batches."""
    cdef dict rows = {}
    for key, value in infos.items():
        if isinstance(value, dict):
            value = info_rows(value, lanes, num_envs)
        elif isinstance(value, np.ndarray) and value.shape[:1] == (num_envs,):
            value = value[lanes]
        rows[key] = value
    return rows


cdef class EnvLoop:
    """The lanes [first, first + len(envs)) of a batch, each an environment written in Python.

    Without `slots`, it returns batches. With `slots`, in a worker process, it writes the row of each lane to memory
    that is shared with another process. Methods count lanes from 0; `failed_lane` is an index of the whole batch.

    Args:
        envs: the environments. The list is not copied, so that the caller may replace environments between calls.
        observations: buffer for observations. With `slots` it may be None: observations then go into the slots.
        rewards_and_ends: buffer of the layout `REWARD_AND_END_LAYOUT`.
        episodes: None, or a buffer of the layout `EPISODE_STATS_LAYOUT`, with zeros for lanes whose last step ended no
            episode. Without slots, the infos of steps that end an episode contain it.
        mode: 0 next-step autoreset, 1 same-step, 2 none.
        add_info: `add_info(infos, info, lane)` merges the info of a lane into the infos and returns them; None to merge
            as `merge_info` does.
        errors: namespace of exception classes: InvalidArgument, ArgumentTypeError, ResetNeeded, InvalidAction,
            ConcurrentUseError.
        slots: receives the info, final info and `extra` of each lane that is reset or stepped. `extra` is None, or the
            observation, the final observation and the reward, each None if it is in a buffer. The slots and all buffers
            have a row for each lane of the whole batch; the rows from `first` on are written.
        first: index of the first environment in the whole batch.
        final_observations: with `slots` and same-step autoreset, buffer for the last observations of episodes.

    With `final_frames`, a step that ends an episode renders the environment before its reset, and adds the result to
    its final info as `final_frame`.

    Rewards are numbers, or vectors of one size k: a step then returns rewards [n, k] instead of [n].

    After an exception in `reset` or `step` of an environment, `failed_lane` and `failed_call` identify the call, and
    all lanes must be reset before the next step. One thread at a time may use a loop.
    """

    cdef list envs
    cdef list last                       # the last observation of each lane; None with slots
    cdef Outputs outputs
    cdef BatchBuffer final_observations
    cdef dict subsets                    # outputs with fewer rows, by the number of rows
    cdef object errors, add_info
    cdef InfoSlots slots
    cdef episodes_t episodes
    cdef void* memory
    cdef bint ready
    cdef int busy
    cdef int mode
    cdef public bint final_frames        # in same-step autoreset: whether lanes are rendered when their episodes end
    cdef Py_ssize_t count, first, num_envs
    cdef readonly Py_ssize_t failed_lane
    cdef readonly object failed_call
    # State of the running call: the lane whose environment is being called, or -1, and the merged infos.
    cdef Py_ssize_t lane
    cdef bint resetting
    cdef object infos
    cdef object vector                   # the reward of the lane being stepped, if it is a vector
    cdef Py_ssize_t reward_size          # elements of every reward: 0 for numbers, -1 before the first step

    def __cinit__(
        self, list envs, BatchBuffer observations, BatchBuffer rewards_and_ends, BatchBuffer episodes=None, *,
        int mode, add_info=None, errors, InfoSlots slots=None, Py_ssize_t first=0, BatchBuffer final_observations=None,
    ):
        cdef Py_ssize_t count = len(envs)
        cdef BatchBuffer buffer
        if count < 1:
            raise errors.InvalidArgument("envs: expected at least one environment, got none")
        if mode not in (NEXT_STEP, SAME_STEP, DISABLED):
            raise errors.InvalidArgument(f"mode: expected 0, 1 or 2, got {mode}")
        self.num_envs = count if slots is None else slots.num_envs
        if first < 0 or first + count > self.num_envs:
            raise errors.InvalidArgument(
                f"first: expected {count} lanes within [0, {self.num_envs}), got them from {first} on")
        self.envs = envs
        self.count = count
        self.first = first
        self.mode = mode
        self.errors = errors
        self.slots = slots
        self.add_info = add_info
        self.final_observations = final_observations
        if rewards_and_ends is None or (slots is None and observations is None):
            raise errors.InvalidArgument("expected buffers for rewards_and_ends and, without slots, observations")
        if slots is None:
            self.last = [None] * count
        self.outputs = Outputs(observations, rewards_and_ends, episodes)
        for name, buffer, layout in (
            ("observations", observations, None), ("final_observations", final_observations, None),
            ("rewards_and_ends", rewards_and_ends, REWARD_AND_END_LAYOUT),
            ("episodes", episodes, EPISODE_STATS_LAYOUT),
        ):
            if buffer is not None and (buffer.n != self.num_envs or buffer.layout != (layout or buffer.layout)):
                raise errors.InvalidArgument(
                    f"{name}: expected {self.num_envs} rows of layout {layout or buffer.layout}, got {buffer.n} of "
                    f"{buffer.layout}")
        self.subsets = {}
        self.reward_size = -1
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

    cpdef bint needs_reset(self) noexcept:
        """Return whether all lanes must be reset before the next step: none was yet, or an environment raised."""
        if cut_off(&self.busy):  # a fork in the middle of a step
            self.ready = False
        return not self.ready

    # --- one call at a time ---------------------------------------------------------------------------------------

    cdef Py_ssize_t enter(self, list lanes, list values, str name, bint resetting) except -1:
        """Mark the loop as busy for a call on `lanes` (None: on all), and return their number.

        `values`, if not None, must have one value for each of these lanes; `name` is its name in errors.
        The caller must set `busy = 0` when its call ends, even with an exception.
        """
        cdef Py_ssize_t count = self.count if lanes is None else len(lanes)
        self.failed_lane = -1
        self.failed_call = None
        if self.needs_reset() and not (resetting and (lanes is None or len(set(lanes)) == self.count)):
            raise self.errors.ResetNeeded(
                "reset: expected a reset of all lanes before one of some" if resetting else
                "step: expected a reset of all lanes first")
        if values is not None and len(values) != count:
            raise self.errors.InvalidArgument(f"{name}: expected {count}, got {len(values)}")
        self.check_envs()
        self.check_lanes(lanes)
        infos = {}
        mark_busy(&self.busy, "these environments are being stepped by one of themselves, or", self.errors)
        self.lane = -1
        self.infos = infos
        return count

    cdef int check_envs(self) except -1:
        if len(self.envs) != self.count:
            raise self.errors.InvalidArgument(f"envs: expected {self.count} environments, got {len(self.envs)}")
        return 0

    cdef int check_lanes(self, list lanes) except -1:
        cdef Py_ssize_t lane
        if lanes is not None:
            for lane in lanes:
                if not 0 <= lane < self.count:
                    raise IndexError(f"lane {lane} is not in [0, {self.count})")
        return 0

    cdef int record_failure(self) except -1:
        """Record which call of an environment raised, and that all lanes must be reset."""
        self.ready = False
        if self.lane >= 0:
            self.failed_lane = self.first + self.lane
            self.failed_call = "reset" if self.resetting else "step"
        return 0

    cdef Outputs outputs_for(self, list lanes):
        """Return the buffers for the results of these lanes."""
        cdef BatchBuffer whole = self.outputs.observations
        cdef Py_ssize_t n
        if lanes is None or self.slots is not None or len(lanes) == self.count:
            return self.outputs
        n = len(lanes)
        if n not in self.subsets:
            clear_if_full(self.subsets)
            self.subsets[n] = Outputs(
                BatchBuffer(whole.layout, n, reuse=whole.reuse), BatchBuffer(REWARD_AND_END_LAYOUT, n),
                None if self.outputs.episodes is None else BatchBuffer(EPISODE_STATS_LAYOUT, n))
        return self.subsets[n]

    cdef int read_clock(self) except -1:
        if self.outputs.episodes is not None:
            self.episodes.clock = perf_counter()
        return 0

    # --- resetting ------------------------------------------------------------------------------------------------

    def reset(self, list lanes=None, list seeds=None, options=None):
        """Begin new episodes in these lanes (None: in all), with a seed or None for each.

        Without slots, return the observations of all lanes (of the other lanes, the last ones) and the merged infos.
        Raise ResetNeeded if `lanes` lacks some while all lanes need a reset.
        """
        cdef Outputs out = self.outputs
        cdef Py_ssize_t k, lane, count = self.enter(lanes, seeds, "seeds", True)
        cdef tuple result
        self.vector = None
        try:
            out.begin()
            for k in range(count):
                lane = k if lanes is None else lanes[k]
                result = self.begin_lane(lane, None if seeds is None else seeds[k], options, False)
                self.deliver(out, self.first + lane, lane, result[0], result[1], None, None)
            if self.last is not None and lanes is not None:
                for lane in set(range(self.count)).difference(lanes):
                    self.lane = lane
                    out.observations.write(lane, self.last[lane])
            self.lane = -1
            self.ready = True
            return None if self.slots is not None else (out.observations.batch(), self.infos)
        except BaseException:
            self.record_failure()
            raise
        finally:
            self.infos = None
            self.busy = 0

    cdef object env(self, Py_ssize_t lane):
        """Return the environment of a lane, after a check that no environment has changed the size of the list."""
        self.check_envs()
        return self.envs[lane]

    cdef tuple begin_lane(self, Py_ssize_t lane, object seed, object options, bint autoreset):
        """Reset an environment, and return its first observation and info."""
        cdef object env = self.env(lane)
        self.lane = lane
        self.resetting = True
        result = env.reset() if autoreset else env.reset(seed=seed, options=options)
        if not PyTuple_CheckExact(result) or len(<tuple> result) != 2:
            result = checked_result(result, 2, env, "reset", "observation, info")
        self.read_clock()
        begin_episode(&self.episodes, lane)
        return <tuple> result

    def mark_ended(self, list lanes=None):
        """End the episodes of these lanes (None: of all), as if their last step had ended them.

        With same-step autoreset this does nothing, because the lanes are in new episodes already.
        """
        cdef Py_ssize_t lane
        self.check_lanes(lanes)
        if self.mode != SAME_STEP:
            for lane in range(self.count) if lanes is None else lanes:
                self.episodes.ended[lane] = 1

    # --- stepping -------------------------------------------------------------------------------------------------

    def step(self, list actions not None, list lanes=None):
        """Step lanes (None: all; each at most once) with one action for each.

        Returns:
            Without slots: observations, rewards float64, terminated bool, truncated bool and infos, with one row per
            lane, in the order of `lanes`. With slots: the number of episodes that ended.

        Raises:
            ResetNeeded: If lanes need a reset (see `needs_reset`). In mode 2 the caller must not step an ended lane.
        """
        cdef Outputs out
        cdef Py_ssize_t k, lane, ended = 0, count = self.enter(lanes, actions, "actions", False)
        try:
            out = self.outputs_for(lanes)
            out.begin()
            for k in range(count):
                lane = k if lanes is None else lanes[k]
                ended += self.step_lane(out, k if self.slots is None else self.first + lane, lane, actions[k])
            self.lane = -1
            if self.slots is not None:
                return ended
            infos = self.infos
            if self.add_info is not None and lanes is not None and infos:
                infos = info_rows(infos, np.array(lanes, np.int64), self.num_envs)
            return out.take(infos, ended > 0, self.errors)
        except BaseException:
            self.record_failure()
            raise
        finally:
            self.infos = None
            self.busy = 0

    def ended_lanes(self):
        """Return a mask of the lanes whose episodes have ended and which were not reset since, bool [count]."""
        return np.frombuffer((<char*> self.episodes.ended)[:self.count], np.bool_)

    cdef bint step_lane(self, Outputs out, Py_ssize_t row, Py_ssize_t lane, object action) except -1:
        """Step one lane, or reset it if its previous step ended the episode; return whether this step ended it."""
        cdef object env, result, observation, info
        cdef tuple values
        cdef double reward
        cdef bint terminated, truncated, ended
        clear_reports(&out.reports, row, row + 1)
        if self.mode == NEXT_STEP and self.episodes.ended[lane]:
            values = self.begin_lane(lane, None, None, True)
            self.vector = np.zeros(self.reward_size) if self.reward_size > 0 else None
            out.rewards[row] = 0.0
            out.terminated[row] = 0
            out.truncated[row] = 0
            self.deliver(out, row, lane, values[0], values[1], None, None)
            return False

        env = self.env(lane)
        self.lane = lane
        self.resetting = False
        result = env.step(action)
        if not PyTuple_CheckExact(result) or len(<tuple> result) != 5:
            result = checked_result(result, 5, env, "step", "observation, reward, terminated, truncated, info")
        values = <tuple> result
        reward = self.read_reward(out, values[1])
        terminated = values[2]
        truncated = values[3]
        observation = values[0]
        info = values[4]
        out.rewards[row] = reward
        out.terminated[row] = terminated
        out.truncated[row] = truncated
        ended = count_step(&self.episodes, lane, reward, terminated or truncated)
        if ended:
            if out.episodes is not None:
                self.read_clock()
                report_episode(&self.episodes, &out.reports, lane, row)
            if self.mode == SAME_STEP:
                self.deliver_final(out, row, lane, observation, info)
                return True
        self.deliver(out, row, lane, observation, info, None, None)
        return ended

    cdef double read_reward(self, Outputs out, object value) except? -1:
        """Return a reward that is a number; for a vector, store a copy in `self.vector` and return 0.

        `self.vector` is None after a reward that is a number.
        """
        cdef Py_ssize_t size = 0
        self.vector = None
        # Most rewards are floats: the other checks take 4 % of a step.
        if type(value) is not float and isinstance(value, (ndarray, list, tuple)):
            array = np.array(value)
            if array.dtype.kind not in "biuf":
                raise TypeError(f"reward: expected a number or a vector of numbers, got {value!r:.80}")
            if array.size == 1:
                value = array.item()
            elif array.ndim != 1 or array.size == 0:
                raise ValueError(f"reward: expected a number or a vector, got an array of shape {array.shape}")
            else:
                self.vector = array.astype(np.float64)
                size = array.size
                if out.episodes is not None:
                    raise self.errors.InvalidArgument(
                        f"episode_statistics: expected rewards that are numbers, got an array of shape {array.shape}")
        if size != self.reward_size:
            if self.reward_size >= 0:
                expected = f"a vector of {self.reward_size}" if self.reward_size else "a number"
                got = f"a vector of {size}" if size else "a number"
                raise ValueError(f"reward: expected {expected} as in other steps, got {got}")
            self.reward_size = size
        return 0.0 if size else as_number(value)

    # --- results of one lane --------------------------------------------------------------------------------------

    cdef int deliver(
        self, Outputs out, Py_ssize_t row, Py_ssize_t lane, object observation, object info, object final_info,
        object final_observation,
    ) except -1:
        """Write an observation, and merge or store the info, the final info and the final observation."""
        cdef object extra = None
        if self.slots is None:
            out.observations.write(row, observation)
            self.last[lane] = observation
            if self.vector is not None:
                if out.vectors is None:
                    out.vectors = np.zeros((out.rewards_and_ends.n, self.reward_size))
                out.vectors[row] = self.vector
            if final_info is not None:
                self.merge(out, row, lane, {"final_obs": final_observation, "final_info": final_info})
            self.merge(out, row, lane, info)
            return 0
        if out.observations is None:
            extra = observation, final_observation, self.vector
        else:
            out.observations.write(row, observation)
            if final_observation is not None or self.vector is not None:
                extra = None, final_observation, self.vector
        self.slots.put(self.first + lane, as_dict(info), final_info, extra)
        return 0

    cdef int deliver_final(
        self, Outputs out, Py_ssize_t row, Py_ssize_t lane, object observation, object info
    ) except -1:
        """Reset a lane whose episode has ended, and deliver the end of that episode and the start of the next."""
        cdef tuple first
        # Copy these: the environment may reuse the same objects in its reset.
        info = copied(as_dict(info))
        if self.final_frames:
            info["final_frame"] = deepcopy(self.env(lane).render())
        final_observation = None
        if self.final_observations is None:
            final_observation = deepcopy(observation)
        else:
            self.final_observations.write(row, observation)
        first = self.begin_lane(lane, None, None, True)
        return self.deliver(out, row, lane, first[0], first[1], info, final_observation)

    cdef int merge(self, Outputs out, Py_ssize_t row, Py_ssize_t lane, object info) except -1:
        info = as_dict(info)
        if not len(<dict> info):
            return 0
        self.lane = -1  # from here on, an exception does not come from the environment
        if self.add_info is None:
            merge_info(self.infos, info, row, out.rewards_and_ends.n)
        else:
            self.infos = self.add_info(self.infos, info, lane)
        return 0

    # --- saving and restoring -------------------------------------------------------------------------------------

    def save_lane(self, Py_ssize_t lane):
        """Return the state of a lane: last observation (None with slots), whether it ended, elapsed steps, return."""
        self.check_lanes([lane])
        return (
            None if self.last is None else deepcopy(self.last[lane]), bool(self.episodes.ended[lane]),
            self.episodes.elapsed[lane], self.episodes.returns[lane])

    def load_lane(self, Py_ssize_t lane, tuple saved not None):
        """Restore a state that `save_lane` returned. The duration of the episode counts from now."""
        self.check_lanes([lane])
        observation, ended, elapsed, returns = saved
        self.read_clock()
        begin_episode(&self.episodes, lane)
        self.episodes.ended[lane] = bool(ended)
        self.episodes.elapsed[lane] = elapsed
        self.episodes.returns[lane] = returns
        if self.last is not None:
            self.last[lane] = deepcopy(observation)

    def mark_ready(self):
        """Allow steps without a reset, because the caller has set the state of every lane."""
        self.ready = True


cdef dict as_dict(object info):
    if PyDict_CheckExact(info):
        return <dict> info
    return dict(info) if info else {}


cdef double as_number(object value) except? -1:
    """Return a reward as float64."""
    try:
        return value
    except TypeError as problem:
        raise TypeError(f"reward: expected a number, got {type(value).__name__}: {problem}") from None
