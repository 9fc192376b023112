"""Games: lanes whose physics is that of the Arcade Learning Environment (ALE), with a kernel for a `Batch`.

A lane consists of an ALEInterface of the package ale-py, the last observed frame at the size of the screen, and the
stack of observed frames. ALE's C++ functions are called by address, without the GIL; one thread at a time steps a lane.
Python loads ROMs, which may raise an exception. None of the functions called here throws once a ROM is loaded.

Sticky actions are drawn here, in the same way as in ALE, because ALE's saved states lack the action that it repeats. So
emulators draw no random numbers, and a lane is seeded by restoring the state after its ROM was loaded. In some games,
ALE draws a mode in each reset; for these resets the emulator gets the lane's generator.
"""
cimport numpy as cnp
from libc.math cimport cos, fabs, sin
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from gymcore_ext.atari.frames cimport Resizer, apply_palette, rescale, rescaling_t
from gymcore_ext.engine.kernel cimport flag_t
from gymcore_ext.lanes.lane_functions cimport TERMINATED, TRUNCATED, functions_capsule, lane_functions_t
from gymcore_ext.lanes.mt19937 cimport MT_WORDS, mt19937_t, mt_is_valid, mt_next, mt_seed_word
from gymcore_ext.lanes.struct_lanes cimport LaneStore
from gymcore_ext.physics.lane cimport below, rng_t

from math import prod

import numpy as np

from gymcore_ext.lanes.custom_kernel import CustomKernel

cnp.import_array()


# C++ symbols of the functions of ALE that are called, and of the `operator delete` of its C++ library, by the names of
# the members of `ale_t`.
SYMBOLS = {
    "act": "_ZN3ale12ALEInterface3actENS_6ActionEf",
    "reset_game": "_ZN3ale12ALEInterface10reset_gameEv",
    "lives": "_ZN3ale12ALEInterface5livesEv",
    "frame_number": "_ZNK3ale12ALEInterface14getFrameNumberEv",
    "episode_frame_number": "_ZNK3ale12ALEInterface21getEpisodeFrameNumberEv",
    "game_over": "_ZNK3ale12ALEInterface9game_overEb",
    "game_truncated": "_ZNK3ale12ALEInterface14game_truncatedEv",
    "screen": "_ZNK3ale12ALEInterface9getScreenEv",
    "clone": "_ZN3ale12ALEInterface10cloneStateEb",
    "restore": "_ZN3ale12ALEInterface12restoreStateERKNS_8ALEStateE",
    "free": "_ZdlPv",
}

# What the length of an episode counts: frames of the game, including no-ops, as counted by ALE; frames of the
# episode after its reset; or steps of the game, tested after a whole step.
LIMITS = ("game_frames", "frames", "steps")
cdef enum:
    GAME_FRAMES, FRAMES, STEPS

cdef enum:
    # Actions of ALE; those of a player are below ACTIONS.
    NOOP, FIRE
    ACTIONS = 18
    # Spare bytes of a saved emulator: the numbers of its random generator are text of varying length.
    SPARE = 512
    # Offset of the address of the environment in an ALEInterface, and offsets in that environment: of the address of
    # the generator of sticky actions, and of their probability.
    ENVIRONMENT = 0x18
    RANDOM = 0x80020
    PROBABILITY = 0x80158

cdef int64_t MAX_COUNT = <int64_t> 1 << 52  # limit of frames and steps in a saved lane, so that no count overflows
cdef double MAX_SCORE = 1e15


ctypedef struct screen_t:  # the head of ALE's ALEScreen
    int rows, columns
    const uint8_t* pixels


ctypedef struct state_t:  # ALE's ALEState, which `clone` returns by value
    int32_t paddles[2]
    int32_t limits[2]        # limits of the paddles
    int32_t frames, episode_frames
    const uint8_t* memory    # serialized memory of the emulator: a std::string of libstdc++
    int64_t size
    int64_t local[2]         # such a string stores up to 15 characters here
    int32_t mode, difficulty


ctypedef struct random_t:  # ALE's Random::Impl
    uint32_t seed
    uint64_t words[MT_WORDS]    # a std::mt19937 of libstdc++
    uint64_t used


ctypedef struct ale_t:  # in the order of SYMBOLS
    int (*act)(void* ale, int action, float strength) noexcept nogil
    void (*reset_game)(void* ale) noexcept nogil
    int (*lives)(void* ale) noexcept nogil
    int (*frame_number)(const void* ale) noexcept nogil
    int (*episode_frame_number)(const void* ale) noexcept nogil
    uint8_t (*game_over)(const void* ale, int with_truncation) noexcept nogil
    uint8_t (*game_truncated)(const void* ale) noexcept nogil
    const screen_t* (*screen)(const void* ale) noexcept nogil
    state_t (*clone)(void* ale, int with_random) noexcept nogil
    void (*restore)(void* ale, const state_t* state) noexcept nogil
    void (*free)(const void* memory) noexcept nogil


ctypedef struct stages_t:  # a `Pipeline`; gymcore/envs/atari/pipelines.py explains its fields
    int32_t frameskip, maxpool, channels, channels_first, stack_num, noop_min, noop_max, noop_rng, fire
    int32_t fire_first, pad_zeros, episodic_life, life_loss_info, last_life_counts, life_loss_ends_step
    int32_t life_loss_continues, shows_end, limit, limit_unit, reward_clipping, continuous


ctypedef struct game_episode_t:
    mt19937_t noop_twister, sticky_twister  # generators of counts of no-ops, and of sticky actions
    int32_t action           # the last action, which may be repeated
    float strength           # how far an action moves the paddles
    int32_t lives
    int32_t is_new           # whether the next reset begins a new game in any case
    int32_t life_loss_ends   # whether a lost life is reported as `terminated` although the episode continues
    int32_t game_over
    int32_t oldest           # index of the oldest frame in the stack
    int64_t frames, steps    # frames of the episode, steps of the game
    double reward, game_return


ctypedef struct game_t:
    void* ale                # NULL without a ROM
    uint8_t* plane           # [channels, rows, columns]: the last frame that was observed, before it was rescaled
    uint8_t* captured        # [rows, columns]: the second last frame of a step, without the palette
    uint8_t* stack           # [stack_num, frame_bytes]
    float repeat_probability  # probability of sticky actions, the parameter of the kernel
    int32_t wrong_screen     # whether the size of the screen has changed, because a program loaded another ROM
    int64_t index            # index of the lane
    game_episode_t episode


ctypedef struct saved_t:     # the head of a saved lane; the memory of its emulator, plane and stack follow
    int64_t size             # size of the emulator's memory; 0 without an emulator
    game_episode_t episode
    state_t state            # without its memory


ctypedef struct games_t:
    ale_t calls
    stages_t stages
    rescaling_t rescaling
    const uint8_t* palette   # [channels, 256]
    const int32_t* actions   # ALE's action for each of ours; if continuous, [3, 3, 2]: horizontal, vertical, fire
    int32_t last_action      # the highest of our actions
    float threshold
    int32_t reports_lanes    # whether infos have the index of a lane
    int32_t resets_draw      # whether ALE draws random numbers when it resets the game
    int64_t frame_bytes, screen_bytes
    int64_t memory_bytes     # maximum size of the memory of an emulator in a saved lane


# --- random numbers ---------------------------------------------------------------------------------------------------

cdef uint32_t twister_below(mt19937_t* self, uint32_t choices) noexcept nogil:
    """Return a random number from 0 to choices - 1, as std::uniform_int_distribution of libstdc++ does.

    D. Lemire as in gymcore/rng.h.
    """
    cdef uint64_t product = <uint64_t> mt_next(self) * choices
    cdef uint32_t threshold = -choices % choices
    while <uint32_t> product < threshold:
        product = <uint64_t> mt_next(self) * choices
    return <uint32_t> (product >> 32)


# --- frames -----------------------------------------------------------------------------------------------------------

cdef inline uint8_t* stacked_frame(const games_t* self, const game_t* lane, int age) noexcept nogil:
    """Return a frame of the stack; `age` 0 is the oldest one."""
    return lane.stack + ((lane.episode.oldest + age) % self.stages.stack_num) * self.frame_bytes


cdef inline void push_frame(const games_t* self, game_t* lane, bint is_new) noexcept nogil:
    """Replace the oldest frame of the stack by the plane, or by a copy of the newest frame if `is_new` is false."""
    cdef uint8_t* target = stacked_frame(self, lane, 0)
    cdef int channel
    cdef int64_t pixels = self.frame_bytes // self.stages.channels
    cdef bint planar = self.stages.channels_first
    if is_new:
        for channel in range(self.stages.channels):
            rescale(&self.rescaling, lane.plane + channel * self.screen_bytes,
                    target + channel * (pixels if planar else 1), 1 if planar else self.stages.channels)
    elif self.stages.stack_num > 1:
        memcpy(target, stacked_frame(self, lane, self.stages.stack_num - 1), self.frame_bytes)
    lane.episode.oldest = (lane.episode.oldest + 1) % self.stages.stack_num


cdef inline void apply_palettes(
    const games_t* self, game_t* lane, const uint8_t* frame, const uint8_t* other
) noexcept nogil:
    """Set the plane to a frame, or to the maximum of two frames."""
    cdef int channel
    for channel in range(self.stages.channels):
        apply_palette(frame, other, self.palette + 256 * channel, lane.plane + channel * self.screen_bytes,
                      self.rescaling.rows, self.rescaling.columns)


cdef inline const uint8_t* screen_pixels(const games_t* self, game_t* lane) noexcept nogil:
    """Return the pixels of the screen. If its size is wrong, set `wrong_screen` and return other pixels."""
    cdef const screen_t* screen = self.calls.screen(lane.ale)
    if screen.rows == self.rescaling.rows and screen.columns == self.rescaling.columns:
        return screen.pixels
    lane.wrong_screen = 1
    return lane.plane


# --- one lane ---------------------------------------------------------------------------------------------------------

cdef inline int play_frame(const games_t* self, game_t* lane, int action, float strength) noexcept nogil:
    """Play one frame; return the reward."""
    cdef game_episode_t* episode = &lane.episode
    cdef bint draws = lane.repeat_probability != 0.0 or self.resets_draw
    if not draws or mt_next(&episode.sticky_twister) / 4294967296.0 >= lane.repeat_probability:
        episode.action = action
        episode.strength = strength
    if draws:
        mt_next(&episode.sticky_twister)  # the draw of a second player
    return self.calls.act(lane.ale, episode.action, episode.strength)


cdef inline float* probability_of(void* ale) noexcept nogil:
    """Return the address of an emulator's probability of sticky actions."""
    return <float*> ((<char**> (<char*> ale + ENVIRONMENT))[0] + PROBABILITY)


cdef inline random_t* random_of(void* ale) noexcept nogil:
    """Return an emulator's generator of sticky actions."""
    return (<random_t**> ((<char**> (<char*> ale + ENVIRONMENT))[0] + RANDOM))[0]


cdef void lend_generator(game_t* lane) noexcept nogil:
    """Copy the lane's generator of sticky actions to its emulator, which then draws them."""
    cdef random_t* random = random_of(lane.ale)
    cdef int i
    for i in range(MT_WORDS):
        random.words[i] = lane.episode.sticky_twister.words[i]
    random.used = lane.episode.sticky_twister.used
    probability_of(lane.ale)[0] = lane.repeat_probability


cdef void take_generator(game_t* lane) noexcept nogil:
    """Copy the emulator's random generator for sticky actions to the lane, which draws from it from then on."""
    cdef const random_t* random = random_of(lane.ale)
    cdef int i
    for i in range(MT_WORDS):
        lane.episode.sticky_twister.words[i] = <uint32_t> random.words[i]
    lane.episode.sticky_twister.used = <uint32_t> random.used
    probability_of(lane.ale)[0] = 0.0


cdef inline void reset_game(const games_t* self, game_t* lane) noexcept nogil:
    if self.resets_draw:
        lend_generator(lane)
    self.calls.reset_game(lane.ale)
    if self.resets_draw:
        take_generator(lane)
    lane.episode.action = NOOP


cdef inline flag_t play_step(const games_t* self, game_t* lane, int action, float strength) noexcept nogil:
    """Play one step; return the flags that say how it ended the episode, or 0."""
    cdef const stages_t* stages = &self.stages
    cdef game_episode_t* episode = &lane.episode
    cdef const ale_t* ale = &self.calls
    cdef int t, lives, color, score = 0, skip = stages.frameskip
    cdef bint over = False, limit_reached = False, lost = False, capturing, ends, first = False, last = False
    cdef flag_t flags
    episode.steps += 1
    for t in range(skip):
        score += play_frame(self, lane, action, strength)
        episode.frames += 1
        over = ale.game_over(lane.ale, 0)
        if stages.limit_unit == GAME_FRAMES:
            limit_reached = ale.game_truncated(lane.ale)
        elif stages.limit_unit == FRAMES:
            limit_reached = stages.limit and episode.frames >= stages.limit
        lives = ale.lives(lane.ale)
        lost = lives < episode.lives and (lives > 0 or stages.last_life_counts)
        ends = over or limit_reached or (lost and stages.episodic_life and stages.life_loss_ends_step)
        capturing = not ends or stages.shows_end
        if t == skip - 2 and capturing:
            memcpy(lane.captured, screen_pixels(self, lane), self.screen_bytes)
            first = True
        if t == skip - 1 and capturing:
            last = True
        if ends:
            break
    episode.lives = ale.lives(lane.ale)
    if stages.limit_unit == STEPS:
        limit_reached = stages.limit and episode.steps >= stages.limit

    # If a step ends early, the observation is made of the frames before its end.
    if last:
        apply_palettes(self, lane, screen_pixels(self, lane), lane.captured if first and stages.maxpool else NULL)
    elif first and stages.shows_end:
        apply_palettes(self, lane, lane.captured, NULL)
    elif first and stages.maxpool:
        for t in range(stages.channels * self.screen_bytes):
            color = 256 * (t // self.screen_bytes) + lane.captured[t % self.screen_bytes]
            lane.plane[t] = max(lane.plane[t], self.palette[color])
    push_frame(self, lane, last or (first and (stages.shows_end or stages.maxpool)))

    episode.reward = score
    episode.game_return += score
    episode.game_over = over or limit_reached
    episode.life_loss_ends = lost and stages.life_loss_info
    flags = TERMINATED if over or (lost and stages.episodic_life) else 0
    if limit_reached and (stages.limit_unit == GAME_FRAMES or not (flags or episode.life_loss_ends)):
        flags |= TRUNCATED
    elif limit_reached and stages.limit_unit == STEPS:
        flags = TRUNCATED
    elif limit_reached:
        flags = TERMINATED
    return flags


cdef void reset(
    void* memory, const void* shared, const double* parameters, const double* options, rng_t* rng
) noexcept nogil:
    """Begin an episode: a new game, or the continuation of a game after a lost life."""
    cdef const games_t* self = <const games_t*> shared
    cdef game_t* lane = <game_t*> memory
    cdef const stages_t* stages = &self.stages
    cdef game_episode_t* episode = &lane.episode
    cdef const ale_t* ale = &self.calls
    cdef bint continues = stages.episodic_life and stages.life_loss_continues
    cdef bint is_new_game = episode.is_new or episode.game_over or not continues
    cdef int noops = 0, age
    lane.repeat_probability = <float> parameters[0]
    lane.wrong_screen = 0
    if stages.noop_max > 0:
        noops = stages.noop_min + (
            below(rng, stages.noop_max) if stages.noop_rng else twister_below(&episode.noop_twister, stages.noop_max))
    noops -= stages.fire
    if is_new_game:
        reset_game(self, lane)
        episode.steps = 0
        episode.game_return = 0.0
    if stages.fire and stages.fire_first:
        play_frame(self, lane, FIRE, 1.0)
    while noops > 0:
        noops -= 1
        play_frame(self, lane, NOOP, 1.0)
        if ale.game_over(lane.ale, 1):
            reset_game(self, lane)
            is_new_game = True
    if stages.fire and not stages.fire_first:
        play_frame(self, lane, FIRE, 1.0)
    apply_palettes(self, lane, screen_pixels(self, lane), NULL)
    if is_new_game:
        episode.oldest = 0
        if stages.pad_zeros:
            memset(lane.stack, 0, stages.stack_num * self.frame_bytes)
    push_frame(self, lane, True)
    if is_new_game and not stages.pad_zeros:
        episode.oldest = 0
        for age in range(1, stages.stack_num):
            memcpy(stacked_frame(self, lane, age), lane.stack, self.frame_bytes)
    episode.lives = ale.lives(lane.ale)
    episode.is_new = episode.life_loss_ends = episode.game_over = 0
    episode.frames = 0
    episode.reward = 0.0


cdef inline int continuous_action(const games_t* self, const float* action) noexcept nogil:
    """Return ALE's action for a radius, an angle and the strength of fire."""
    cdef float x = action[0] * <float> cos(action[1]), y = action[0] * <float> sin(action[1])
    cdef int horizontal = (x > self.threshold) - (x < -self.threshold) + 1
    cdef int vertical = (y > self.threshold) - (y < -self.threshold) + 1
    return self.actions[6 * horizontal + 2 * vertical + (action[2] > self.threshold)]


# --- the functions of a lane ------------------------------------------------------------------------------------------

cdef int step(
    void* memory, const void* shared, const double* parameters, const void* action, rng_t* rng, double* reward
) noexcept nogil:
    cdef const games_t* self = <const games_t*> shared
    cdef game_t* lane = <game_t*> memory
    cdef const float* numbers = <const float*> action
    cdef flag_t flags
    lane.repeat_probability = <float> parameters[0]
    if self.stages.continuous:
        flags = play_step(self, lane, continuous_action(self, numbers), numbers[0])
    else:
        # The index is limited here too: another thread may have changed the action after its check.
        flags = play_step(
            self, lane, self.actions[min((<const uint64_t*> action)[0], <uint64_t> self.last_action)], 1.0)
    reward[0] = lane.episode.reward
    return flags


cdef void report(const void* lane, const void* shared, double* reward, uint8_t* terminated) noexcept nogil:
    """Clip the reward, and report a lost life as an end."""
    if (<const games_t*> shared).stages.reward_clipping:
        reward[0] = (reward[0] > 0.0) - (reward[0] < 0.0)
    terminated[0] |= (<const game_t*> lane).episode.life_loss_ends


cdef void observe(const void* memory, const void* shared, const double* parameters, void* const* parts) noexcept nogil:
    cdef const games_t* self = <const games_t*> shared
    cdef const game_t* lane = <const game_t*> memory
    cdef int64_t newest = self.stages.stack_num - lane.episode.oldest  # frames from the oldest to the end
    cdef uint8_t* row = <uint8_t*> parts[0]
    memcpy(row, stacked_frame(self, lane, 0), newest * self.frame_bytes)
    memcpy(row + newest * self.frame_bytes, lane.stack, lane.episode.oldest * self.frame_bytes)


cdef int faulted(const void* lane) noexcept nogil:
    return (<const game_t*> lane).wrong_screen


# The infos. Lives and frame numbers are those of ALE. The reward is not clipped. Return and length are those of the
# game so far, over all of its lives; `game_over` is whether the game is over. `env_id` is the index of the lane, in
# presets of libraries that report it.
INFOS = (
    ("lives", np.int64, 1), ("frame_number", np.int64, 1), ("episode_frame_number", np.int64, 1),
    ("reward", np.float64, 1), ("game_return", np.float64, 1), ("game_length", np.int64, 1), ("game_over", np.int64, 1),
    ("env_id", np.int64, 1),
)


cdef void write_infos(const void* memory, const void* shared, void* const* infos) noexcept nogil:
    cdef const ale_t* calls = &(<const games_t*> shared).calls
    cdef const game_t* lane = <const game_t*> memory
    (<int64_t*> infos[0])[0] = lane.episode.lives
    (<int64_t*> infos[1])[0] = 0 if lane.ale == NULL else calls.frame_number(lane.ale)
    (<int64_t*> infos[2])[0] = 0 if lane.ale == NULL else calls.episode_frame_number(lane.ale)
    (<double*> infos[3])[0] = lane.episode.reward
    (<double*> infos[4])[0] = lane.episode.game_return
    (<int64_t*> infos[5])[0] = lane.episode.steps
    (<int64_t*> infos[6])[0] = lane.episode.game_over
    if (<const games_t*> shared).reports_lanes:
        (<int64_t*> infos[7])[0] = lane.index


# --- states -----------------------------------------------------------------------------------------------------------

PLAYER_ACTIONS, STATE_BYTES = ACTIONS, sizeof(state_t)


cdef int save(void* memory, const void* shared, void* saved) noexcept nogil:
    cdef const games_t* self = <const games_t*> shared
    cdef game_t* lane = <game_t*> memory
    cdef saved_t* head = <saved_t*> saved
    cdef uint8_t* emulator = <uint8_t*> (head + 1)
    cdef uint8_t* plane = emulator + self.memory_bytes
    cdef void* stack = plane + self.screen_bytes * self.stages.channels
    cdef state_t state
    head.episode = lane.episode
    head.episode.oldest = 0
    memcpy(plane, lane.plane, self.screen_bytes * self.stages.channels)
    observe(lane, self, NULL, &stack)
    if lane.ale == NULL:
        return True
    state = self.calls.clone(lane.ale, 0)
    if state.size <= self.memory_bytes:
        head.size, head.state = state.size, state
        head.state.memory = NULL
        head.state.local[0] = head.state.local[1] = 0
        memcpy(emulator, state.memory, state.size)
    if state.size >= <int64_t> sizeof(state.local):
        self.calls.free(state.memory)
    return state.size <= self.memory_bytes


cdef void load(void* memory, const void* shared, const void* saved) noexcept nogil:
    cdef const games_t* self = <const games_t*> shared
    cdef game_t* lane = <game_t*> memory
    cdef const saved_t* head = <const saved_t*> saved
    cdef const uint8_t* emulator = <const uint8_t*> (head + 1)
    cdef const uint8_t* plane = emulator + self.memory_bytes
    cdef state_t state = head.state
    lane.episode = head.episode
    memcpy(lane.plane, plane, self.screen_bytes * self.stages.channels)
    memcpy(lane.stack, plane + self.screen_bytes * self.stages.channels, self.frame_bytes * self.stages.stack_num)
    if head.size and lane.ale != NULL:
        state.memory, state.size = emulator, head.size
        self.calls.restore(lane.ale, &state)


cdef int check(const void* saved, const void* shared) noexcept nogil:
    """Check every number of the episode. Python checks the emulator's state; any bytes are valid frames."""
    cdef const games_t* self = <const games_t*> shared
    cdef const saved_t* head = <const saved_t*> saved
    cdef const game_episode_t* episode = &head.episode
    return (
        0 <= head.size <= self.memory_bytes
        and mt_is_valid(&episode.noop_twister) and mt_is_valid(&episode.sticky_twister)
        and 0 <= episode.action < ACTIONS and 0.0 <= episode.strength and episode.strength <= 1.0
        and 0 <= episode.is_new <= 1 and 0 <= episode.life_loss_ends <= 1 and 0 <= episode.game_over <= 1
        and 0 <= episode.oldest < self.stages.stack_num
        and 0 <= episode.frames <= MAX_COUNT and 0 <= episode.steps <= MAX_COUNT
        and fabs(episode.reward) <= MAX_SCORE and fabs(episode.game_return) <= MAX_SCORE)


cdef lane_functions_t functions_of_lane
functions_of_lane.reset, functions_of_lane.step, functions_of_lane.observe = reset, step, observe
functions_of_lane.write_infos, functions_of_lane.report, functions_of_lane.faulted = write_infos, report, faulted
functions_of_lane.save, functions_of_lane.load, functions_of_lane.check = save, load, check


cdef class Games(LaneStore):
    """Games of a batch, and the kernel that plays them.

    Args:
        functions: Addresses of the functions in SYMBOLS, by the same names.
        num_lanes: Number of games.
        stages: Integers by the names in `stages_t`.
        resizer: Rescales frames from the size of the screen to the size of observed frames.
        palette: The observed value of each color, uint8 [channels, 256].
        actions: ALE's number of each action, int32.
        threshold: The value above which a number of a continuous action counts as pressed.
        observation_shape: The shape of an observation of one lane.
        state_size: Bytes of a serialized state of the game.
        resets_draw: Whether ALE draws random numbers when it resets the game.
        reports_lanes: Whether infos have `env_id`, the index of a lane.

    Raises:
        ValueError: If the arguments do not fit each other.
    """

    cdef games_t games
    cdef readonly list ales       # an ALEInterface for each lane, or None

    def __cinit__(
        self, *, dict functions, Py_ssize_t num_lanes, dict stages, Resizer resizer not None, object palette,
        object actions, float threshold, tuple observation_shape, int64_t state_size, bint resets_draw,
        bint reports_lanes,
    ):
        cdef Py_ssize_t k
        cdef game_t* lane
        cdef int64_t plane_bytes, stack_bytes
        cdef void** calls = <void**> &self.games.calls
        self.ales = [None] * num_lanes
        for k, name in enumerate(SYMBOLS):
            calls[k] = <void*> <size_t> functions[name]
        self.games.stages = stages
        self.games.rescaling = resizer.rescaling
        cdef cnp.ndarray colors = np.array(palette, np.uint8, order="C")
        cdef cnp.ndarray numbers = np.array(actions, np.int32)
        for array, shape in ((colors, (self.games.stages.channels, 256)), (numbers, (len(actions),))):
            if array.shape != shape or not array.size:
                raise ValueError(f"expected shape {shape}, got {array.shape}")
        self.games.palette = <const uint8_t*> cnp.PyArray_DATA(colors)
        self.games.actions = <const int32_t*> cnp.PyArray_DATA(numbers)
        self.games.last_action = len(actions) - 1
        self.games.threshold = threshold
        self.games.resets_draw, self.games.reports_lanes = resets_draw, reports_lanes
        self.games.screen_bytes = <int64_t> self.games.rescaling.rows * self.games.rescaling.columns
        self.games.frame_bytes = (
            <int64_t> self.games.rescaling.height * self.games.rescaling.width * self.games.stages.channels)
        self.games.memory_bytes = (state_size + SPARE + 7) // 8 * 8
        plane_bytes = self.games.screen_bytes * self.games.stages.channels
        stack_bytes = self.games.frame_bytes * self.games.stages.stack_num
        if stages["continuous"] and len(actions) != 18 or prod(observation_shape) != stack_bytes:
            raise ValueError(f"observation_shape: expected {stack_bytes} bytes, got {observation_shape}")
        kernel = CustomKernel(
            "atari", parts=((np.uint8, observation_shape),),
            action=(np.float32, (3,)) if stages["continuous"] else (np.int64, ()),
            ranges=() if stages["continuous"] else ((0, len(actions)),),
            parameters={"repeat_action_probability": 0.0}, infos=INFOS if reports_lanes else INFOS[:len(INFOS) - 1],
            functions=functions_capsule(&functions_of_lane))
        self.set_up(
            kernel.capsule, num_lanes,
            sizeof(game_t) + plane_bytes + self.games.screen_bytes + stack_bytes, &self.games,
            [resizer, colors, numbers],
            [("size", np.int64), ("episode", np.uint8, (sizeof(game_episode_t),)),
             ("state", np.int32, (sizeof(state_t) // 4,)), ("memory", np.uint8, (self.games.memory_bytes,)),
             ("plane", np.uint8, (plane_bytes,)), ("stack", np.uint8, (stack_bytes,))])
        for k in range(num_lanes):
            lane = <game_t*> self._lane(k)
            lane.index = k
            self.seed_generators(k, 0, 0)  # so that they can draw before they are seeded
            lane.plane = <uint8_t*> (lane + 1)
            lane.captured = lane.plane + plane_bytes
            lane.stack = lane.captured + self.games.screen_bytes

    def set_ale(self, Py_ssize_t lane, object ale, size_t address):
        """Set the ALEInterface of a lane, with a ROM and without sticky actions, and its address; or None and 0."""
        (<game_t*> self._lane(lane)).ale = <void*> address
        self.ales[lane] = ale

    def seed_generators(self, Py_ssize_t lane, uint32_t noop_seed, uint32_t sticky_seed):
        """Seed the generators of no-ops and of sticky actions. The next reset begins a new game."""
        cdef game_episode_t* episode = &(<game_t*> self._lane(lane)).episode
        memset(episode, 0, sizeof(game_episode_t))
        episode.is_new = 1
        episode.strength = 1.0
        mt_seed_word(&episode.noop_twister, noop_seed)
        mt_seed_word(&episode.sticky_twister, sticky_seed)

    def take_generator(self, Py_ssize_t lane, float probability):
        """Copy the generator of sticky actions from the emulator of a lane, which was loaded with this probability.

        Raises:
            ValueError: If the memory layout of the emulator is not the expected one.
        """
        cdef game_t* game = <game_t*> self._lane(lane)
        cdef const float* place = NULL if game.ale == NULL else probability_of(game.ale)
        # The probability follows the number of frames per action, which is 1.
        if place == NULL or place[0] != probability or (<const int64_t*> place - 1)[0] != 1:
            raise ValueError(f"probability: expected that of the emulator, got {probability}")
        if random_of(game.ale).used > MT_WORDS:
            raise ValueError(f"generator: expected at most {MT_WORDS} drawn numbers, got {random_of(game.ale).used}")
        take_generator(game)
