"""The engine's core: lane memory, and how one step of a range of lanes runs. Knows no environment and no Python.

Order of a step: physics and observation of every lane, counting and time limit, then the lanes that need a reset, which
are observed again. Lanes that ended in the step before (NEXT_STEP) go through the physics with the others and are
overwritten by their reset: cheaper than leaving them out of the vector loop.
"""
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from gymcore_ext.engine.episodes cimport (
    NEXT_STEP, SAME_STEP, begin_episode, clear_reports, episodes_t, report_episode, reports_t,
)


cdef extern from "gymcore/kernel.h":
    const char* KERNEL_CAPSULE "GYMCORE_KERNEL_CAPSULE"
    int KERNEL_ABI "GYMCORE_KERNEL_ABI"
    int ISA_COUNT "GYMCORE_ISA_COUNT"
    int64_t OLDEST_KERNEL "GYMCORE_OLDEST_KERNEL"
    enum:
        MAX_PARTS "GYMCORE_MAX_PARTS"
        MAX_INFOS "GYMCORE_MAX_INFOS"
        BLOCK "GYMCORE_BLOCK"
        MAX_AXES "GYMCORE_MAX_AXES"
        FLOAT64 "GYMCORE_FLOAT64"
        INT64 "GYMCORE_INT64"
        UINT8 "GYMCORE_UINT8"
        TERMINATED "GYMCORE_TERMINATED"
        TERMINATIONS "GYMCORE_TERMINATIONS"
        TRUNCATED "GYMCORE_TRUNCATED"

    ctypedef struct rng_t "gymcore_rng":
        uint64_t state_high, state_low, increment_high, increment_low
        uint32_t has_uint32, uinteger

    ctypedef struct columns_t "gymcore_columns":
        double** state
        double** parameters
        int64_t parameter_stride
        rng_t* rngs
        const void* shared
        void* lanes
        const uint8_t* resetting
        int32_t float32_actions

    ctypedef struct part_t "gymcore_part":
        int32_t type
        int32_t* shape

    ctypedef struct info_field_t "gymcore_info_field":
        const char* name
        int32_t type, size, when

    ctypedef int16_t flag_t "gymcore_flag"


ctypedef void (*step_loop_t)(
    const columns_t*, const void*, void* const*, double*, flag_t*, int64_t, int64_t) noexcept nogil

cdef extern from "gymcore/kernel.h":
    ctypedef void (*write_loop_t)(
        const columns_t*, void* const*, const int64_t*, int64_t, int64_t) noexcept nogil
    ctypedef void (*reset_loop_t)(const columns_t*, const double*, const int64_t*, int64_t) noexcept nogil
    ctypedef void (*report_loop_t)(const columns_t*, double*, uint8_t*, int64_t, int64_t) noexcept nogil

    ctypedef struct step_loops_t "gymcore_step_loops":
        step_loop_t shared, varied

    ctypedef struct kernel_t "gymcore_kernel":
        int64_t size
        int32_t abi, isa_count
        const char* name
        const char* state_names
        const char* parameter_names
        const char* reset_option_names
        int32_t state_count, parameter_count, reset_option_count
        int32_t observation_type, observation_size, discrete_actions, action_size, action_type
        int32_t* observation_shape
        int32_t part_count
        const part_t* parts
        int32_t* action_shape
        const int64_t* action_ranges
        int32_t info_count
        const info_field_t* infos
        double* parameter_defaults
        double* reset_option_defaults
        reset_loop_t reset
        write_loop_t observe, write_infos
        report_loop_t report
        const char* shared_name
        const char* lanes_name
        int (*faulted)(const void* lanes) noexcept nogil
        step_loops_t* step

    void rng_seed_range "gymcore_rng_seed_range"(
        rng_t* rngs, int64_t lanes, uint32_t* words, int count) noexcept nogil
    uint64_t rng_next64 "gymcore_rng_next64"(rng_t* rng) noexcept nogil
    uint32_t rng_next32 "gymcore_rng_next32"(rng_t* rng) noexcept nogil
    double rng_double "gymcore_rng_double"(rng_t* rng) noexcept nogil


cdef extern from "gymcore/platform.h":
    void prefetch "gymcore_prefetch"(const void* address) noexcept nogil
    void prefetch_range "gymcore_prefetch_range"(const void* address, int64_t bytes) noexcept nogil
    void stream "gymcore_stream"(void* target, const void* source, int64_t bytes) noexcept nogil
    void stream_fence "gymcore_stream_fence"() noexcept nogil


cdef extern from "engine/lifecycle.h":
    ctypedef int64_t (*count_loop_t)(
        const double*, const flag_t*, uint8_t*, uint8_t*, uint8_t*, int32_t*, double*, int32_t, int64_t, int64_t
    ) noexcept nogil

    ctypedef struct lifecycle_t "gymcore_lifecycle":
        count_loop_t count_step
        int64_t (*outside)(const int64_t* actions, int64_t choices, int64_t count) noexcept nogil
        int64_t (*nans)(const float* values, int64_t count) noexcept nogil
        int64_t (*wide_nans)(const double* values, int64_t count) noexcept nogil

    const lifecycle_t* lifecycles "gymcore_lifecycles"
    int best_isa "gymcore_best_isa"() noexcept nogil
    void* shifted "gymcore_shifted"(const void* pointer, int64_t bytes) noexcept nogil
    enum:
        LIST_MARGIN "GYMCORE_LIST_MARGIN"
    int64_t flagged "gymcore_flagged"(
        const uint8_t* flags, int64_t lo, int64_t hi, int64_t* lanes) noexcept nogil


# Work on lanes [lo, hi); results are added up. In a capsule with its context it is work for `Threads.share`.
ctypedef int64_t (*job_t)(void* context, int64_t lo, int64_t hi) noexcept nogil

cdef extern from "engine/pool.h":
    const char* JOB_CAPSULE "GYMCORE_JOB_CAPSULE"
    ctypedef struct pool_t "gymcore_pool":
        int workers, threads, chooses
        int64_t ended
    int64_t clock_now "gymcore_clock"() noexcept nogil
    pool_t* pool_new "gymcore_pool_new"(int threads, bint chooses)
    void pool_free "gymcore_pool_free"(pool_t* pool) noexcept nogil
    ctypedef struct range_t "gymcore_range":
        int64_t lo, hi
    int64_t NEVER "GYMCORE_NEVER"
    int64_t MOST_LANES "GYMCORE_MOST_LANES"
    int64_t pool_run "gymcore_pool_run"(
        pool_t* pool, job_t job, void* context, range_t* lanes, int64_t least, int64_t most, int helpers, int64_t until
    ) noexcept nogil
    int64_t run_alone "gymcore_run_alone"(
        job_t job, void* context, range_t* lanes, int64_t most, int64_t until) noexcept nogil


cdef enum:
    # Lanes that a rollout takes through all its steps before the next ones.
    ROLL_BLOCK = 4096
    # Lanes from which on a batch is too large for the second-level cache.
    PREFETCH_LANES = 16384
    # Observations of at most this many words of eight bytes are streamed when a call writes more than STREAM_BYTES of
    # them: they would push everything else out of the caches, and be pushed out themselves before anybody reads them.
    STREAM_WORDS = 8
    STREAM_BYTES = 8 << 20


ctypedef struct lanes_t:
    const kernel_t* kernel
    step_loop_t step           # physics of a step, for shared parameters or for parameters by lane
    const lifecycle_t* lifecycle
    columns_t columns
    rng_t* rngs
    episodes_t episodes
    int64_t num_envs
    int64_t choices            # discrete actions; 0 for continuous ones
    # What observing lanes writes: how many arrays, and bytes of a row of each.
    int parts
    int64_t row_bytes[MAX_PARTS]
    int64_t info_bytes[MAX_INFOS]
    int64_t action_bytes       # of a lane's action
    bint defers_resets         # SAME_STEP: leave ended lanes as they are, for `begin_deferred`


ctypedef struct outputs_t:
    bint streamed              # write observations and rewards past the caches
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
    reports_t reports          # of lanes that ended in this step, zero elsewhere; or NULL


cdef inline void move_parts(const lanes_t* self, void** parts, int64_t rows) noexcept nogil:
    """Shift the arrays of observations by rows, if they are there."""
    cdef int k
    if parts[0] != NULL:
        for k in range(self.parts):
            parts[k] = shifted(parts[k], rows * self.row_bytes[k])


cdef inline void move_infos(const lanes_t* self, void** parts, int64_t rows) noexcept nogil:
    """Shift the arrays of infos by rows, if they are there."""
    cdef int k
    if parts[0] != NULL:
        for k in range(self.kernel.info_count):
            parts[k] = shifted(parts[k], rows * self.info_bytes[k])


cdef inline outputs_t moved(const lanes_t* self, const outputs_t* out, int64_t rows) noexcept nogil:
    """Outputs whose row i is row i + rows of these."""
    cdef outputs_t here = out[0]
    move_parts(self, here.observations, rows)
    move_parts(self, here.final_observations, rows)
    move_infos(self, here.infos, rows)
    move_infos(self, here.final_infos, rows)
    here.rewards = <double*> shifted(here.rewards, rows * <int64_t> sizeof(double))
    here.terminated = <uint8_t*> shifted(here.terminated, rows)
    here.truncated = <uint8_t*> shifted(here.truncated, rows)
    if here.ended != NULL:
        here.ended = <uint8_t*> shifted(here.ended, rows)
    if here.begun != NULL:
        here.begun = <uint8_t*> shifted(here.begun, rows)
    if here.reports.returns != NULL:
        here.reports.returns = <double*> shifted(here.reports.returns, rows * <int64_t> sizeof(double))
        here.reports.lengths = <int64_t*> shifted(here.reports.lengths, rows * <int64_t> sizeof(int64_t))
        here.reports.times = <double*> shifted(here.reports.times, rows * <int64_t> sizeof(double))
    return here


cdef inline void count_begun(const lanes_t* self, uint8_t* begun, const int64_t* lanes, int64_t count) noexcept nogil:
    """Note that these lanes begin an episode."""
    cdef episodes_t episodes = self.episodes  # a copy: the compiler knows that nothing below writes to it
    cdef int64_t k
    for k in range(count):
        begin_episode(&episodes, lanes[k])
    if begun != NULL:
        for k in range(count):
            begun[lanes[k]] = 1


cdef inline void prefetch_streams(const lanes_t* self, const int64_t* lanes, int64_t count) noexcept nogil:
    """Ask for random streams, used too rarely to stay in a near cache: they come while physics is computed."""
    cdef int64_t k
    for k in range(count):
        prefetch(&self.rngs[lanes[k]].state_high)
        prefetch(&self.rngs[lanes[k]].uinteger)


cdef inline int64_t take_back(
    double* rewards, uint8_t* terminated, uint8_t* truncated, const uint8_t* ended, const int64_t* lanes, int64_t count
) noexcept nogil:
    """Undo what was written of a step of lanes that are reset instead; return how many of them it had ended."""
    cdef int64_t k, i, over = 0
    for k in range(count):
        i = lanes[k]
        over += ended[i]
        rewards[i] = 0.0
        terminated[i] = 0
        truncated[i] = 0
    return over


cdef inline void begin_lanes(
    const lanes_t* self, const outputs_t* out, const int64_t* lanes, int64_t count
) noexcept nogil:
    """Begin new episodes within a step, and observe them in place of what the step has observed."""
    self.kernel.reset(&self.columns, self.kernel.reset_option_defaults, lanes, count)
    self.kernel.observe(&self.columns, <void**> out.observations, lanes, 0, count)
    count_begun(self, out.begun, lanes, count)


cdef inline void observe_ended(
    const lanes_t* self, const outputs_t* out, const int64_t* lanes, int64_t count
) noexcept nogil:
    """Write last observations and infos of lanes that ended."""
    if out.final_observations[0] != NULL:
        self.kernel.observe(&self.columns, <void**> out.final_observations, lanes, 0, count)
    if out.final_infos[0] != NULL:
        self.kernel.write_infos(&self.columns, <void**> out.final_infos, lanes, 0, count)


cdef inline void clear_ended(const lanes_t* self, const outputs_t* out, int64_t lo, int64_t hi) noexcept nogil:
    """Zero final observations, infos and reports: only lanes that end in this step have any."""
    cdef int k
    clear_reports(&out.reports, lo, hi)
    if out.final_observations[0] != NULL:
        for k in range(self.parts):
            memset(<char*> out.final_observations[k] + lo * self.row_bytes[k], 0, (hi - lo) * self.row_bytes[k])
    if out.final_infos[0] != NULL:
        for k in range(self.kernel.info_count):
            memset(<char*> out.final_infos[k] + lo * self.info_bytes[k], 0, (hi - lo) * self.info_bytes[k])


cdef inline int64_t advance_block(
    const lanes_t* self, const void* actions, const outputs_t* out, int64_t lo, int64_t hi
) noexcept nogil:
    """Step lanes [lo, hi), at most BLOCK of them; return how many episodes ended."""
    cdef int64_t lanes[BLOCK + LIST_MARGIN]
    cdef flag_t ends[BLOCK]
    cdef rng_t streams[BLOCK]
    cdef int64_t pending = 0, count, k, drawn = self.columns.shared != NULL  # tables draw for every lane
    cdef const episodes_t* episodes = &self.episodes
    if out.begun != NULL:
        memset(out.begun + lo, 0, hi - lo)
    if episodes.mode == NEXT_STEP:
        pending = flagged(episodes.ended, lo, hi, lanes)
        prefetch_streams(self, lanes, pending)
        for k in range(pending * drawn):  # what they draw in the physics never happened
            streams[k] = self.rngs[lanes[k]]
    self.step(&self.columns, actions, <void**> out.observations, out.rewards,
              <flag_t*> shifted(ends, -lo * <int64_t> sizeof(flag_t)), lo, hi)
    count = self.lifecycle.count_step(
        out.rewards, ends, out.terminated, out.truncated, episodes.ended, episodes.elapsed, episodes.returns,
        episodes.limit, lo, hi)
    if self.kernel.report != NULL:
        self.kernel.report(&self.columns, out.rewards, out.terminated, lo, hi)

    if pending:
        count -= take_back(out.rewards, out.terminated, out.truncated, episodes.ended, lanes, pending)
        for k in range(pending * drawn):
            self.rngs[lanes[k]] = streams[k]
        begin_lanes(self, out, lanes, pending)

    if out.ended != NULL:
        memcpy(out.ended + lo, episodes.ended + lo, hi - lo)
    if count and (episodes.mode == SAME_STEP or out.reports.returns != NULL):
        count = flagged(episodes.ended, lo, hi, lanes)
        if episodes.mode == SAME_STEP:
            prefetch_streams(self, lanes, count)
        if out.reports.returns != NULL:
            for k in range(count):
                report_episode(episodes, &out.reports, lanes[k], lanes[k])
        if episodes.mode == SAME_STEP and not self.defers_resets:
            observe_ended(self, out, lanes, count)
            begin_lanes(self, out, lanes, count)

    if out.infos[0] != NULL:
        self.kernel.write_infos(&self.columns, <void**> out.infos, NULL, lo, hi)
    return count


cdef inline void begin_deferred(
    const lanes_t* self, const outputs_t* out, const int64_t* indices, int64_t n
) noexcept nogil:
    """Begin the episodes that a step of these lanes (NULL for all) has deferred; row i is that of lane indices[i]."""
    cdef int64_t row, lane
    cdef outputs_t here
    for row in range(n):
        lane = row if indices == NULL else indices[row]
        if self.episodes.ended[lane]:
            here = moved(self, out, row - lane)
            observe_ended(self, &here, &lane, 1)
            begin_lanes(self, &here, &lane, 1)
            if here.infos[0] != NULL:
                self.kernel.write_infos(&self.columns, here.infos, &lane, 0, 1)


cdef inline void prefetch_block(
    const lanes_t* self, const void* actions, const outputs_t* out, int64_t lo, int64_t hi
) noexcept nogil:
    """Ask for the memory of lanes [lo, hi) that a step reads or writes."""
    cdef int64_t n = hi - lo
    cdef int64_t action_bytes = self.action_bytes
    cdef int k
    for k in range(self.kernel.state_count):
        prefetch_range(self.columns.state[k] + lo, 8 * n)
    prefetch_range(self.episodes.returns + lo, 8 * n)
    prefetch_range(self.episodes.elapsed + lo, 4 * n)
    prefetch_range(self.episodes.ended + lo, n)
    prefetch_range(<const char*> actions + action_bytes * lo, action_bytes * n)
    if not out.streamed:
        for k in range(self.parts):
            prefetch_range(<char*> out.observations[k] + self.row_bytes[k] * lo, self.row_bytes[k] * n)
        prefetch_range(out.rewards + lo, 8 * n)
    prefetch_range(out.terminated + lo, n)
    prefetch_range(out.truncated + lo, n)


cdef inline int64_t advance_streamed(
    const lanes_t* self, const void* actions, const outputs_t* out, int64_t lo, int64_t hi
) noexcept nogil:
    """`advance` for results that no cache can hold: a block at a time in a scratch, then past the caches."""
    cdef double observations[BLOCK * STREAM_WORDS]
    cdef double rewards[BLOCK]
    cdef int64_t count = 0, block = lo, end, size = self.row_bytes[0]
    cdef outputs_t here = out[0]
    while block < hi:
        end = min(block + BLOCK, hi)
        if self.num_envs >= PREFETCH_LANES and end < hi:
            prefetch_block(self, actions, out, end, min(end + BLOCK, hi))
        here.observations[0] = shifted(observations, -block * size)
        here.rewards = <double*> shifted(rewards, -block * <int64_t> sizeof(double))
        count += advance_block(self, actions, &here, block, end)
        stream(<char*> out.observations[0] + block * size, observations, size * (end - block))
        stream(out.rewards + block, rewards, 8 * (end - block))
        block = end
    stream_fence()
    return count


cdef inline int64_t advance(
    const lanes_t* self, const void* actions, const outputs_t* out, int64_t lo, int64_t hi
) noexcept nogil:
    """Step lanes [lo, hi); return how many episodes ended."""
    cdef int64_t count = 0, block = lo
    # At once: a memset of the 4 KiB that a block of CartPole has takes nearly twice as long a byte on Zen processors.
    clear_ended(self, out, lo, hi)
    if out.streamed:
        return advance_streamed(self, actions, out, lo, hi)
    while block < hi:
        # A large batch streams through main memory in a dozen short pieces a block, too short for the processor's own
        # prefetcher: at a million lanes of CartPole a third of the time was waiting.
        if self.num_envs >= PREFETCH_LANES and block + BLOCK < hi:
            prefetch_block(self, actions, out, block + BLOCK, min(block + 2 * BLOCK, hi))
        count += advance_block(self, actions, out, block, min(block + BLOCK, hi))
        block += BLOCK
    return count


cdef inline int64_t roll(
    const lanes_t* self, const void* actions, const outputs_t* out, int64_t steps, int64_t lo, int64_t hi
) noexcept nogil:
    """Step lanes [lo, hi) through arrays [steps, num_envs, ...]: all steps of one block before the next block."""
    cdef int64_t count = 0, block = lo, step, width = self.num_envs
    cdef int64_t action_bytes = width * self.action_bytes
    cdef outputs_t here
    while block < hi:
        here = out[0]
        for step in range(steps):
            count += advance(
                self, <const char*> actions + step * action_bytes, &here, block, min(block + ROLL_BLOCK, hi))
            move_parts(self, here.observations, width)
            move_parts(self, here.final_observations, width)
            here.rewards += width
            here.terminated += width
            here.truncated += width
        block += ROLL_BLOCK
    return count


# --- what one thread does of a call -----------------------------------------------------------------------------------

ctypedef struct rollout_t:
    lanes_t* lanes
    const void* actions
    outputs_t* out
    int64_t steps


cdef inline int64_t step_job(void* context, int64_t lo, int64_t hi) noexcept nogil:
    cdef rollout_t* job = <rollout_t*> context
    return advance(job.lanes, job.actions, job.out, lo, hi)


cdef inline int64_t roll_job(void* context, int64_t lo, int64_t hi) noexcept nogil:
    cdef rollout_t* job = <rollout_t*> context
    return roll(job.lanes, job.actions, job.out, job.steps, lo, hi)


ctypedef struct subset_t:
    lanes_t* lanes
    const char* actions
    int64_t action_bytes
    outputs_t* out
    const int64_t* indices


cdef inline int64_t subset_job(void* context, int64_t lo, int64_t hi) noexcept nogil:
    """Step the lanes indices[lo:hi], each run of neighbours at once; results go to rows [lo, hi)."""
    cdef subset_t* job = <subset_t*> context
    cdef outputs_t here
    cdef int64_t first, end, row = lo, count = 0
    while row < hi:
        first = job.indices[row]
        end = row + 1
        while end < hi and job.indices[end] == first + end - row:
            end += 1
        here = moved(job.lanes, job.out, row - first)
        count += advance(
            job.lanes, shifted(job.actions, (row - first) * job.action_bytes), &here, first, first + end - row)
        row = end
    return count


ctypedef struct reset_t:
    lanes_t* lanes
    const double* options
    const int64_t* indices


cdef inline int64_t reset_job(void* context, int64_t lo, int64_t hi) noexcept nogil:
    """Begin new episodes in the lanes indices[lo:hi]."""
    cdef reset_t* job = <reset_t*> context
    job.lanes.kernel.reset(&job.lanes.columns, job.options, job.indices + lo, hi - lo)
    count_begun(job.lanes, NULL, job.indices + lo, hi - lo)
    return 0


# --- the random stream of a lane as NumPy's C interface for bit generators, which its distributions draw from ---------

cdef extern from "numpy/random/bitgen.h":
    ctypedef struct bitgen_t:
        void* state
        uint64_t (*next_uint64)(void* state) noexcept nogil
        uint32_t (*next_uint32)(void* state) noexcept nogil
        double (*next_double)(void* state) noexcept nogil
        uint64_t (*next_raw)(void* state) noexcept nogil


cdef inline uint64_t next_uint64(void* state) noexcept nogil:
    return rng_next64(<rng_t*> state)


cdef inline uint32_t next_uint32(void* state) noexcept nogil:
    return rng_next32(<rng_t*> state)


cdef inline double next_double(void* state) noexcept nogil:
    return rng_double(<rng_t*> state)


cdef inline void bind_bitgen(bitgen_t* bitgen, rng_t* rng) noexcept nogil:
    """Let the generator draw from this stream."""
    bitgen.state = rng
    bitgen.next_uint64 = next_uint64
    bitgen.next_raw = next_uint64
    bitgen.next_uint32 = next_uint32
    bitgen.next_double = next_double
