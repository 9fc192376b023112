"""The engine's core: one step of a range of lanes. It depends neither on environments nor on Python.

A step computes physics and observation of every lane, then counts steps and applies the time limit, then resets the
lanes that need it and observes them again. Lanes that ended in the previous step (NEXT_STEP) go through the physics
with the others, and their reset overwrites the result: this is cheaper than excluding them from the vector loop.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

from gymcore_ext.engine.agents cimport (
    ACTIVE, agent_reports_t, agents_t, begin_agents, begin_agents_step, count_agents_step, hide_agents, report_agents,
)
from gymcore_ext.engine.episodes cimport (
    NEXT_STEP, SAME_STEP, begin_episode, clear_reports, episodes_t, report_episode, reports_t,
)
from gymcore_ext.engine.kernel cimport (
    BLOCK, MAX_INFOS, MAX_PARTS, columns_t, flag_t, kernel_t, rng_t, step_loop_t,
)


cdef extern from "gymcore/platform.h":
    void prefetch "GYMCORE_PREFETCH"(const void* address) noexcept nogil


cdef extern from "engine/lifecycle.h":
    ctypedef struct lifecycle_t "gymcore_lifecycle":
        int64_t (*count_step)(
            const double* rewards, const flag_t* ends, uint8_t* terminated, uint8_t* truncated, uint8_t* ended,
            int32_t* elapsed, double* returns, int32_t limit, int64_t lo, int64_t hi) noexcept nogil
        int64_t (*outside)(const int64_t* actions, int64_t choices, int64_t count) noexcept nogil

    const lifecycle_t* lifecycles "gymcore_lifecycles"
    int best_isa "gymcore_best_isa"() noexcept nogil
    void* shifted "gymcore_shifted"(const void* pointer, int64_t bytes) noexcept nogil
    enum:
        LIST_MARGIN "GYMCORE_LIST_MARGIN"
    int64_t flagged "gymcore_flagged"(
        const uint8_t* flags, int64_t lo, int64_t hi, int64_t* lanes) noexcept nogil


# Work on lanes [lo, hi). The results of all calls are summed.
ctypedef int64_t (*job_t)(void* context, int64_t lo, int64_t hi) noexcept nogil

cdef extern from "engine/pool.h":
    ctypedef struct pool_t "gymcore_pool":
        int workers, threads, adaptive
        int64_t ended
    int64_t clock_now "gymcore_clock"() noexcept nogil
    pool_t* pool_new "gymcore_pool_new"(int threads, bint adaptive)
    void pool_free "gymcore_pool_free"(pool_t* pool) noexcept nogil
    ctypedef struct range_t "gymcore_range":
        int64_t lo, hi
    int64_t NO_DEADLINE "GYMCORE_NO_DEADLINE"
    int64_t MAX_LANES "GYMCORE_MAX_LANES"
    int64_t pool_run "gymcore_pool_run"(
        pool_t* pool, job_t job, void* context, range_t* lanes, int64_t min_lanes, int64_t max_lanes, int helpers,
        int64_t until
    ) noexcept nogil
    int64_t run_alone "gymcore_run_alone"(
        job_t job, void* context, range_t* lanes, int64_t max_lanes, int64_t until) noexcept nogil


cdef enum:
    # Number of lanes that a rollout takes through many steps before the next lanes: their state stays in the caches.
    ROLLOUT_BLOCK = 4096


# How many arrays a step writes, the bytes of one lane in each of them and in the actions, and how many rewards it has.
ctypedef struct sizes_t:
    int parts, infos
    int64_t rewards, block     # the number of lanes in a block
    int64_t part_bytes[MAX_PARTS]
    int64_t info_bytes[MAX_INFOS]
    int64_t action_bytes
    int64_t central_bytes      # of the state for critics


ctypedef struct lanes_t:
    const kernel_t* kernel
    sizes_t sizes
    step_loop_t step           # physics of a step, for shared parameters or for parameters by lane
    const lifecycle_t* lifecycle
    columns_t columns
    episodes_t episodes
    agents_t agents
    int64_t num_envs
    int64_t choices            # values of a discrete action; 0 for arrays
    bint defers_resets         # SAME_STEP: a step does not reset ended lanes; `begin_deferred` does


ctypedef struct outputs_t:
    void* observations[MAX_PARTS]
    double* rewards
    uint8_t* terminated
    uint8_t* truncated
    uint8_t* ended             # which lanes ended in this step, before any reset; or NULL
    # SAME_STEP: last observations of ended lanes, zero elsewhere; or NULL
    void* final_observations[MAX_PARTS]
    void* infos[MAX_INFOS]        # an array for each field; or NULL
    void* final_infos[MAX_INFOS]  # SAME_STEP: as final_observations
    uint8_t* begun             # which lanes began an episode in this step; or NULL
    reports_t reports          # statistics of lanes that ended in this step, zero elsewhere; or NULL
    agent_reports_t agent_reports  # the same of agents
    uint8_t* active            # which agents took part; or NULL


cdef inline void shift(void** array, int64_t bytes) noexcept nogil:
    """Move the address of an array, if there is one."""
    if array[0] != NULL:
        array[0] = shifted(array[0], bytes)


cdef inline void shift_all(void** arrays, const int64_t* row_bytes, int count, int64_t rows) noexcept nogil:
    """Move the addresses of arrays by a number of rows, if there are any."""
    cdef int k
    for k in range(count if arrays[0] != NULL else 0):
        arrays[k] = shifted(arrays[k], rows * row_bytes[k])


cdef inline void clear_all(
    void* const* arrays, const int64_t* row_bytes, int count, int64_t lo, int64_t hi
) noexcept nogil:
    """Zero rows [lo, hi) of arrays, if there are any."""
    cdef int k
    for k in range(count if arrays[0] != NULL else 0):
        memset(<char*> arrays[k] + lo * row_bytes[k], 0, (hi - lo) * row_bytes[k])


cdef inline void shift_outputs(const lanes_t* self, outputs_t* out, int64_t rows) noexcept nogil:
    """Move the addresses of all arrays by a number of rows."""
    shift_all(out.observations, self.sizes.part_bytes, self.sizes.parts, rows)
    shift_all(out.final_observations, self.sizes.part_bytes, self.sizes.parts, rows)
    shift_all(out.infos, self.sizes.info_bytes, self.sizes.infos, rows)
    shift_all(out.final_infos, self.sizes.info_bytes, self.sizes.infos, rows)
    shift(<void**> &out.rewards, rows * self.sizes.rewards * <int64_t> sizeof(double))
    shift(<void**> &out.terminated, rows * self.sizes.rewards)
    shift(<void**> &out.truncated, rows * self.sizes.rewards)
    shift(<void**> &out.ended, rows)
    shift(<void**> &out.begun, rows)
    if out.reports.returns != NULL:
        shift(<void**> &out.reports.returns, rows * <int64_t> sizeof(double))
        shift(<void**> &out.reports.lengths, rows * <int64_t> sizeof(int64_t))
        shift(<void**> &out.reports.times, rows * <int64_t> sizeof(double))
    if self.agents.count:
        shift(<void**> &out.active, rows * self.agents.count)
        shift(<void**> &out.agent_reports.returns, rows * self.agents.count * <int64_t> sizeof(double))
        shift(<void**> &out.agent_reports.lengths, rows * self.agents.count * <int64_t> sizeof(int64_t))


cdef inline void count_begun(const lanes_t* self, uint8_t* begun, const int64_t* lanes, int64_t count) noexcept nogil:
    """Set the counters of lanes that have begun an episode."""
    cdef episodes_t episodes = self.episodes  # a copy, to which the compiler can see that nothing below writes
    cdef int64_t k
    for k in range(count):
        begin_episode(&episodes, lanes[k])
    if self.agents.count:
        for k in range(count):
            begin_agents(&self.agents, lanes[k])
    if begun != NULL:
        for k in range(count):
            begun[lanes[k]] = 1


cdef inline void prefetch_streams(const lanes_t* self, const int64_t* lanes, int64_t count) noexcept nogil:
    """Prefetch random streams, which are used too rarely to stay in a near cache.

    Without this, a step of 65,536 CartPoles takes 1.5 times as long.
    """
    cdef int64_t k
    for k in range(count):
        prefetch(&self.columns.rngs[lanes[k]].state_high)
        prefetch(&self.columns.rngs[lanes[k]].uinteger)


cdef inline int64_t discard_step(
    double* rewards, uint8_t* terminated, uint8_t* truncated, const uint8_t* ended, const int64_t* lanes, int64_t count
) noexcept nogil:
    """Clear the results of a step for lanes that are reset instead; return how many of their episodes it had ended."""
    cdef int64_t k, i, count_ended = 0
    for k in range(count):
        i = lanes[k]
        count_ended += ended[i]
        rewards[i] = 0.0
        terminated[i] = 0
        truncated[i] = 0
    return count_ended


cdef inline int64_t discard_agents_step(
    const lanes_t* self, const outputs_t* out, const int64_t* lanes, int64_t count
) noexcept nogil:
    """Do for worlds of agents what `discard_step` does for single agents."""
    cdef int64_t k, first, count_ended = 0, agents = self.agents.count
    for k in range(count):
        first = lanes[k] * agents
        count_ended += self.episodes.ended[lanes[k]]
        memset(out.rewards + first, 0, agents * sizeof(double))
        memset(out.terminated + first, 0, agents)
        memset(out.truncated + first, 0, agents)
        if out.active != NULL:
            memset(out.active + first, ACTIVE, agents)
    return count_ended


cdef inline void begin_lanes(
    const lanes_t* self, const outputs_t* out, const int64_t* lanes, int64_t count
) noexcept nogil:
    """Begin new episodes within a step; their observations replace those of the step."""
    self.kernel.reset(&self.columns, self.kernel.reset_option_defaults, lanes, count)
    self.kernel.observe(&self.columns, <void**> out.observations, lanes, 0, count)
    count_begun(self, out.begun, lanes, count)


cdef inline void observe_ended(
    const lanes_t* self, const outputs_t* out, const int64_t* lanes, int64_t count
) noexcept nogil:
    """Write the last observations and infos of lanes that ended."""
    if out.final_observations[0] != NULL:
        self.kernel.observe(&self.columns, <void**> out.final_observations, lanes, 0, count)
        if self.agents.count:
            hide_agents(
                &self.agents, self.kernel, self.sizes.part_bytes, <void**> out.final_observations, lanes, 0, count)
    if out.final_infos[0] != NULL:
        self.kernel.write_infos(&self.columns, <void**> out.final_infos, lanes, 0, count)


cdef inline int64_t advance_block(
    const lanes_t* self, const void* actions, const outputs_t* out, int64_t lo, int64_t hi
) noexcept nogil:
    """Step lanes [lo, hi), at most BLOCK of them; return how many episodes ended."""
    cdef int64_t lanes[BLOCK + LIST_MARGIN]
    cdef flag_t ends[BLOCK]
    cdef rng_t streams[BLOCK]
    cdef const episodes_t* episodes = &self.episodes
    cdef int64_t pending = 0, count, k
    cdef bint draws = self.columns.shared != NULL  # a kernel with a table draws for every lane
    if out.begun != NULL:
        memset(out.begun + lo, 0, hi - lo)
    if episodes.mode == NEXT_STEP:
        pending = flagged(episodes.ended, lo, hi, lanes)
        prefetch_streams(self, lanes, pending)
        for k in range(pending if draws else 0):
            streams[k] = self.columns.rngs[lanes[k]]
    if self.agents.count:
        begin_agents_step(&self.agents, self.kernel, <char*> actions, self.sizes.action_bytes, lo, hi)
    self.step(&self.columns, actions, <void**> out.observations, out.rewards,
              <flag_t*> shifted(ends, -lo * self.sizes.rewards * <int64_t> sizeof(flag_t)), lo, hi)
    if self.agents.count:
        count = count_agents_step(
            &self.agents, episodes, ends, out.rewards, out.terminated, out.truncated, out.active, lo, hi)
        hide_agents(&self.agents, self.kernel, self.sizes.part_bytes, <void**> out.observations, NULL, lo, hi)
    else:
        count = self.lifecycle.count_step(
            out.rewards, ends, out.terminated, out.truncated, episodes.ended, episodes.elapsed, episodes.returns,
            episodes.limit, lo, hi)
    if self.kernel.report != NULL:
        self.kernel.report(&self.columns, out.rewards, out.terminated, lo, hi)

    if pending:
        if self.agents.count:
            count -= discard_agents_step(self, out, lanes, pending)
        else:
            count -= discard_step(out.rewards, out.terminated, out.truncated, episodes.ended, lanes, pending)
        for k in range(pending if draws else 0):
            self.columns.rngs[lanes[k]] = streams[k]
        begin_lanes(self, out, lanes, pending)

    if out.ended != NULL:
        memcpy(out.ended + lo, episodes.ended + lo, hi - lo)
    if count and (episodes.mode == SAME_STEP or out.reports.returns != NULL):
        count = flagged(episodes.ended, lo, hi, lanes)
        if out.reports.returns != NULL:
            for k in range(count):
                report_episode(episodes, &out.reports, lanes[k], lanes[k])
                if self.agents.count:
                    report_agents(&self.agents, &out.agent_reports, lanes[k])
        if episodes.mode == SAME_STEP and not self.defers_resets:
            prefetch_streams(self, lanes, count)
            observe_ended(self, out, lanes, count)
            begin_lanes(self, out, lanes, count)

    if out.infos[0] != NULL:
        self.kernel.write_infos(&self.columns, <void**> out.infos, NULL, lo, hi)
    return count


cdef inline void begin_deferred(
    const lanes_t* self, const outputs_t* out, const int64_t* indices, int64_t n
) noexcept nogil:
    """Do the resets that a step has deferred. Row i of `out` belongs to lane indices[i], or to lane i if it is NULL."""
    cdef int64_t row, lane
    cdef outputs_t here
    for row in range(n):
        lane = row if indices == NULL else indices[row]
        if self.episodes.ended[lane]:
            here = out[0]
            shift_outputs(self, &here, row - lane)
            observe_ended(self, &here, &lane, 1)
            begin_lanes(self, &here, &lane, 1)
            if here.infos[0] != NULL:
                self.kernel.write_infos(&self.columns, here.infos, &lane, 0, 1)


cdef inline int64_t advance(
    const lanes_t* self, const void* actions, const outputs_t* out, int64_t lo, int64_t hi
) noexcept nogil:
    """Step lanes [lo, hi); return how many episodes ended."""
    cdef int64_t count = 0, block = lo, end
    # Rows of lanes that do not end in this step must be 0. One memset per array clears rows [lo, hi): a memset of each
    # block, 4 KiB for CartPole, takes nearly twice as long per byte on Zen processors.
    clear_reports(&out.reports, lo, hi)
    if self.agents.count and out.agent_reports.returns != NULL:
        memset(out.agent_reports.returns + lo * self.agents.count, 0, (hi - lo) * self.agents.count * sizeof(double))
        memset(out.agent_reports.lengths + lo * self.agents.count, 0, (hi - lo) * self.agents.count * sizeof(int64_t))
    clear_all(out.final_observations, self.sizes.part_bytes, self.sizes.parts, lo, hi)
    clear_all(out.final_infos, self.sizes.info_bytes, self.sizes.infos, lo, hi)
    while block < hi:
        end = min(block + self.sizes.block, hi)
        count += advance_block(self, actions, out, block, end)
        block = end
    return count


# --- jobs: what one thread does in a call -----------------------------------------------------------------------------

ctypedef struct call_t:
    lanes_t* lanes
    const char* actions
    outputs_t* out
    int64_t steps              # number of steps of a rollout
    int64_t began              # for a rollout: clock_now() when `lanes.episodes.clock` was set
    const int64_t* indices     # the lanes to reset, or those to step; NULL to step all
    const double* options      # reset options


cdef inline int64_t step_job(void* context, int64_t lo, int64_t hi) noexcept nogil:
    cdef const call_t* call = <const call_t*> context
    return advance(call.lanes, call.actions, call.out, lo, hi)


cdef inline int64_t rollout_job(void* context, int64_t lo, int64_t hi) noexcept nogil:
    """Step lanes [lo, hi) through arrays [steps, num_envs, ...], one block of lanes after the other."""
    cdef const call_t* call = <const call_t*> context
    cdef int64_t count = 0, block = lo, step, n = call.lanes.num_envs
    cdef outputs_t here
    cdef const lanes_t* lanes = call.lanes
    cdef lanes_t clocked
    cdef bint has_clock = lanes.episodes.started != NULL
    if has_clock:  # each thread needs a clock of its own
        clocked = lanes[0]
        lanes = &clocked
    while block < hi:
        here = call.out[0]
        for step in range(call.steps):
            if has_clock:
                clocked.episodes.clock = call.lanes.episodes.clock + (clock_now() - call.began) * 1e-9
            count += advance(lanes, call.actions + step * n * call.lanes.sizes.action_bytes, &here, block,
                             min(block + ROLLOUT_BLOCK, hi))
            shift_outputs(call.lanes, &here, n)
        block += ROLLOUT_BLOCK
    return count


cdef inline int64_t subset_job(void* context, int64_t lo, int64_t hi) noexcept nogil:
    """Step the lanes indices[lo:hi], each run of consecutive lanes at once; results go to rows [lo, hi)."""
    cdef const call_t* call = <const call_t*> context
    cdef outputs_t here
    cdef int64_t first, end, row = lo, count = 0
    while row < hi:
        first = call.indices[row]
        end = row + 1
        while end < hi and call.indices[end] == first + end - row:
            end += 1
        here = call.out[0]
        shift_outputs(call.lanes, &here, row - first)
        count += advance(call.lanes, shifted(call.actions, (row - first) * call.lanes.sizes.action_bytes), &here, first,
                         first + end - row)
        row = end
    return count


cdef inline int64_t reset_job(void* context, int64_t lo, int64_t hi) noexcept nogil:
    """Begin new episodes in the lanes indices[lo:hi]."""
    cdef const call_t* call = <const call_t*> context
    call.lanes.kernel.reset(&call.lanes.columns, call.options, call.indices + lo, hi - lo)
    count_begun(call.lanes, NULL, call.indices + lo, hi - lo)
    return 0
