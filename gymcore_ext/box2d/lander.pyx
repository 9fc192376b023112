"""LunarLander's physics around Box2D, for one lane, and its kernels.

Operations and random draws have Gymnasium's order and precision: Python's float64, rounded to float32 for Box2D.
gymcore/envs/box2d/lunar_lander_python.py has the same physics in Python.
"""
from libc.math cimport cos, fabs, sin, sqrt, tanh
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from gymcore_ext.box2d.structures cimport (
    AWAKE, apply_force, apply_impulse, apply_torque, body_t, contact_t, vec_t, world_point,
)
from gymcore_ext.box2d.worlds cimport (
    MAX_COUNT, MAX_NUMBER, Worlds, add_body, add_edge, add_moving_body, are_within, empty_world, family_t, report_feet,
    step_world, world_lane_t, worlds_t,
)
from gymcore_ext.lanes.lane_functions cimport TERMINATED
from gymcore_ext.physics.lane cimport PI, below, random, rng_t, uniform

import numpy as np

from gymcore_ext.box2d.worlds import LANE_FUNCTIONS
from gymcore_ext.lanes.custom_kernel import CustomKernel


cdef enum:
    CHUNKS = 11        # points of the ground
    HEIGHTS = 12
    OBSERVED = 8
    SMOKE_STEPS = 26   # number of steps for which a particle is visible, including the one that emits it

cdef double FPS = 50.0, SCALE = 30.0
cdef double WIDTH = 600 / SCALE, HEIGHT = 400 / SCALE
cdef double HALF_WIDTH = WIDTH / 2, HALF_HEIGHT = HEIGHT / 2
cdef double HELIPAD_Y = HEIGHT / 4
cdef double REST_Y = HELIPAD_Y + 18 / SCALE       # height of a lander that stands on the pad
cdef double MAIN_ENGINE_AT = 4 / SCALE, SIDE_ENGINE_AWAY = 12.0, SIDE_ENGINE_HEIGHT = 14.0  # the latter in pixels
cdef dict PARAMETERS = {
    "gravity": -10.0, "enable_wind": 0.0, "wind_power": 15.0, "turbulence_power": 1.5, "main_engine_power": 13.0,
    "side_engine_power": 0.6, "dispersion": 1.0, "initial_random": 1000.0,
}
cdef enum:  # indices of parameters
    GRAVITY, ENABLE_WIND, WIND_POWER, TURBULENCE_POWER, MAIN_POWER, SIDE_POWER, DISPERSION, INITIAL_RANDOM
# Main engine and side engine by discrete action: none, left, main, right.
cdef double[4][2] CHOICES = [[0.0, 0.0], [0.0, -1.0], [1.0, 0.0], [0.0, 1.0]]

cdef enum:  # indices of the definitions that Python makes
    GROUND, BEDROCK, EDGE, EDGE_SHAPE, HULL, HULL_FIXTURE, LEG_FIXTURE, LEG1, JOINT1, LEG2, JOINT2
    DEFINITIONS


ctypedef struct lander_episode_t:
    double heights[HEIGHTS]  # the members up to torque_idx are drawn
    double push[2]
    double gravity
    int64_t wind_idx, torque_idx
    int64_t steps            # steps change this member and the following ones
    double prev_shaping
    int32_t has_shaping, game_over
    int32_t legs[2]          # whether they touch the ground


ctypedef struct particle_t:  # its initial position and its velocity
    double x, y, x_speed, y_speed, is_there


ctypedef struct lander_t:
    world_lane_t lane
    lander_episode_t episode
    particle_t particles[SMOKE_STEPS][2]  # particles of the main engine and of a side engine in the last steps


ctypedef struct engines_t:
    double main, side, direction


# --- an episode -------------------------------------------------------------------------------------------------------

cdef bint is_valid(const void* saved, bint was_reset) noexcept nogil:
    cdef const lander_episode_t* episode = <const lander_episode_t*> saved
    return (
        are_within[double](episode.heights, episode.push, 0.0, HEIGHT / 2)
        and are_within[double](episode.push, &episode.gravity, -1e6, 1e6) and -12.0 <= episode.gravity <= 0.0
        and are_within[int64_t](&episode.wind_idx, &episode.steps, -MAX_COUNT, MAX_COUNT)
        and 0 <= episode.steps <= MAX_COUNT and -MAX_NUMBER <= episode.prev_shaping <= MAX_NUMBER
        and are_within[int32_t](&episode.has_shaping, &episode.legs[2], 0, 1))


cdef void begin(
    const worlds_t* self, world_lane_t* lane, const double* parameters, const double* options, rng_t* rng
) noexcept nogil:
    cdef lander_episode_t* episode = &(<lander_t*> lane).episode
    cdef int k
    for k in range(HEIGHTS):
        episode.heights[k] = uniform(rng, 0.0, HEIGHT / 2)
    for k in range(2):
        episode.push[k] = uniform(rng, -parameters[<int> INITIAL_RANDOM], parameters[<int> INITIAL_RANDOM])
    episode.gravity = parameters[<int> GRAVITY]
    if parameters[<int> ENABLE_WIND] != 0.0:
        episode.wind_idx = <int64_t> below(rng, 2 * 9999) - 9999
        episode.torque_idx = <int64_t> below(rng, 2 * 9999) - 9999
    empty_world(self, lane, episode.gravity)


cdef void build(const worlds_t* self, world_lane_t* lane) noexcept nogil:
    """Create ground, hull and legs, and apply the push. The order of creation decides that of contacts in Box2D."""
    cdef lander_t* lander = <lander_t*> lane
    cdef body_t* body = add_body(self, lane, self.definitions[<int> GROUND], self.definitions[<int> BEDROCK])
    cdef double[CHUNKS] ground
    cdef double[HEIGHTS] heights
    cdef double piece = WIDTH / (CHUNKS - 1)
    cdef int k
    for k in range(HEIGHTS):  # flat around the pad
        heights[k] = HELIPAD_Y if CHUNKS // 2 - 2 <= k <= CHUNKS // 2 + 2 else lander.episode.heights[k]
    for k in range(CHUNKS):
        ground[k] = 0.33 * (heights[k - 1 if k else HEIGHTS - 1] + heights[k] + heights[k + 1])
    for k in range(CHUNKS - 1):
        add_edge(self, body, EDGE, piece * k, ground[k], piece * (k + 1), ground[k + 1])
    body = add_moving_body(self, lane, self.definitions[<int> HULL], self.definitions[<int> HULL_FIXTURE], 0, NULL)
    for k in range(2):
        add_moving_body(self, lane, self.definitions[LEG1 + 2 * k], self.definitions[<int> LEG_FIXTURE], 0,
                        self.definitions[JOINT1 + 2 * k])
    apply_force(body, <float> lander.episode.push[0], <float> lander.episode.push[1])
    memset(lander.particles, 0, sizeof(lander.particles))


cdef void report_contact(world_lane_t* lane, const contact_t* contact, bint touches) noexcept nogil:
    cdef lander_episode_t* episode = &(<lander_t*> lane).episode
    report_feet(lane, contact, touches, 1, 1, &episode.game_over, episode.legs)


# --- a step -----------------------------------------------------------------------------------------------------------

cdef inline engines_t engines_of(const double* action) noexcept nogil:
    """Return the power of each engine, and the direction of the side engine."""
    cdef engines_t engines
    cdef double main = action[0], side = action[1]
    engines.main = (min(main, 1.0) + 1.0) * 0.5 if main > 0.0 else 0.0
    engines.side = engines.direction = 0.0
    if fabs(side) > 0.5:
        engines.side = min(fabs(side), 1.0)
        engines.direction = 1.0 if side > 0.0 else -1.0
    return engines


cdef inline double gust(int64_t index) noexcept nogil:
    """Return the wind at an index: tanh of a sum of two sines that never repeats, as in Gymnasium."""
    return tanh(sin(0.02 * index) + sin(PI * 0.01 * index))


cdef inline void emit_particle(
    particle_t* particle, const body_t* hull, double x, double y, double along, double across, double speed
) noexcept nogil:
    """Record a particle from a nozzle at x, y in pixels of the hull."""
    cdef vec_t nozzle = world_point(hull, <float> (x / SCALE), <float> (y / SCALE))
    particle.x, particle.y = nozzle.x, nozzle.y
    particle.x_speed = hull.velocity.x + along * speed
    particle.y_speed = hull.velocity.y + across * speed
    particle.is_there = 1.0


cdef void run_engines(
    lander_t* lander, const double* parameters, engines_t engines, double along, double across
) noexcept nogil:
    """Emit smoke, then push the hull. Two random numbers, in meters, scatter both. The constants are Gymnasium's."""
    cdef body_t* hull = lander.lane.moving[0]
    cdef particle_t* particles = lander.particles[lander.episode.steps % SMOKE_STEPS]
    cdef double x, y, at, up_x = sin(hull.angle), up_y = cos(hull.angle)
    cdef double main_power = parameters[<int> MAIN_POWER], side_power = parameters[<int> SIDE_POWER]
    cdef double origin_x = hull.position.x, origin_y = hull.position.y
    if engines.main != 0.0:
        emit_particle(&particles[0], hull, 0.0, -10.0, up_x - 9 * across * up_y, -up_y - 9 * across * up_x,
                      6.0 * engines.main * (1.0 + 9 * along))
    if engines.side != 0.0:
        emit_particle(&particles[1], hull, -14.0 * engines.direction, 12.0, engines.direction * -up_y,
                      -engines.direction * up_x, 3.5 * engines.side * (1.0 + 9 * along))
    if engines.main != 0.0:
        at = MAIN_ENGINE_AT + 2 * along
        x = up_x * at + -up_y * across
        y = -up_y * at - up_x * across
        apply_impulse(
            hull, <float> (-x * main_power * engines.main), <float> (-y * main_power * engines.main),
            <float> (origin_x + x), <float> (origin_y + y))
    if engines.side != 0.0:
        at = 3 * across + engines.direction * SIDE_ENGINE_AWAY / SCALE
        x = up_x * along + -up_y * at
        y = -up_y * along - up_x * at
        apply_impulse(
            hull, <float> (-x * side_power * engines.side), <float> (-y * side_power * engines.side),
            <float> (origin_x + x - up_x * 17 / SCALE), <float> (origin_y + y + up_y * SIDE_ENGINE_HEIGHT / SCALE))


cdef inline void observe_numbers(const lander_t* lander, double* observed) noexcept nogil:
    """Compute an observation in float64."""
    cdef const body_t* hull = lander.lane.moving[0]
    observed[0] = (hull.position.x - HALF_WIDTH) / HALF_WIDTH
    observed[1] = (hull.position.y - REST_Y) / HALF_HEIGHT
    observed[2] = hull.velocity.x * HALF_WIDTH / FPS
    observed[3] = hull.velocity.y * HALF_HEIGHT / FPS
    observed[4] = hull.angle
    observed[5] = 20.0 * hull.angular_velocity / FPS
    observed[6] = lander.episode.legs[0]
    observed[7] = lander.episode.legs[1]


cdef int step(
    const worlds_t* self, world_lane_t* lane, const double* parameters, const double* action, rng_t* rng, double* reward
) noexcept nogil:
    cdef lander_t* lander = <lander_t*> lane
    cdef lander_episode_t* episode = &lander.episode
    cdef body_t* hull = lander.lane.moving[0]
    cdef double observed[OBSERVED]
    cdef double along, across, shaping, force = 0.0, torque = 0.0
    cdef engines_t engines = engines_of(action)
    cdef bint blows = parameters[<int> ENABLE_WIND] != 0.0 and not (episode.legs[0] or episode.legs[1])
    cdef int flags = 0
    if blows:
        force = gust(episode.wind_idx) * parameters[<int> WIND_POWER]
        torque = gust(episode.torque_idx) * parameters[<int> TURBULENCE_POWER]
        episode.wind_idx += 1
        episode.torque_idx += 1
    along = parameters[<int> DISPERSION] * (-1.0 + 2.0 * random(rng)) / SCALE
    across = parameters[<int> DISPERSION] * (-1.0 + 2.0 * random(rng)) / SCALE
    if blows:
        apply_force(hull, <float> force, 0.0)
        apply_torque(hull, <float> torque)
    memset(lander.particles[episode.steps % SMOKE_STEPS], 0, 2 * sizeof(particle_t))
    if engines.main != 0.0 or engines.side != 0.0:
        run_engines(lander, parameters, engines, along, across)
    episode.steps += 1
    step_world(self, lane)

    observe_numbers(lander, observed)
    shaping = -100.0 * sqrt(observed[0] * observed[0] + observed[1] * observed[1])
    shaping -= 100.0 * sqrt(observed[2] * observed[2] + observed[3] * observed[3])
    shaping = shaping - 100.0 * fabs(observed[4]) + 10.0 * observed[6] + 10.0 * observed[7]
    reward[0] = shaping - episode.prev_shaping if episode.has_shaping else 0.0
    episode.prev_shaping = shaping
    episode.has_shaping = 1
    reward[0] -= engines.main * 0.30
    reward[0] -= engines.side * 0.03
    if episode.game_over or fabs(observed[0]) >= 1.0:
        flags, reward[0] = TERMINATED, -100.0
    if not hull.flags & AWAKE:
        flags, reward[0] = TERMINATED, 100.0
    return flags


cdef void observe(const worlds_t* self, const world_lane_t* lane, void* observation) noexcept nogil:
    cdef double observed[OBSERVED]
    cdef int k
    observe_numbers(<const lander_t*> lane, observed)
    for k in range(OBSERVED):
        (<float*> observation)[k] = <float> observed[k]


# --- the kernels ------------------------------------------------------------------------------------------------------

cdef lander_episode_t no_episode
cdef lander_episode_t[:] no_episodes = <lander_episode_t[:1]> &no_episode
EPISODE_DTYPE = np.asarray(no_episodes).dtype

cdef family_t family
family.begin, family.is_valid, family.build, family.report = begin, is_valid, build, report_contact
family.step, family.observe = step, observe
family.choices, family.choice_count, family.action_size, family.first_action = CHOICES[0], 4, 2, CHOICES[0]
family.definition_count = DEFINITIONS
family.lane_bytes, family.episode_bytes, family.world_bytes = sizeof(lander_t), sizeof(lander_episode_t), 8192
family.drawn_bytes = EPISODE_DTYPE.fields["steps"][1]

kernel = CustomKernel(
    "lander", parts=((np.float32, (OBSERVED,)),), action=(np.int64, ()), ranges=((0, 4),), parameters=PARAMETERS,
    functions=LANE_FUNCTIONS).capsule
continuous_kernel = CustomKernel(
    "lander", parts=((np.float32, (OBSERVED,)),), action=(np.float64, (2,)), parameters=PARAMETERS,
    functions=LANE_FUNCTIONS).capsule


cdef class Landers(Worlds):
    """Worlds of landers, for a batch of one of the kernels."""

    def __cinit__(self, **options):
        self.set_up_worlds(&family, EPISODE_DTYPE)

    @property
    def smoke(self):
        """float64 [lanes, steps, 2, 5], a view: particles of the main engine and of a side engine in the last steps."""
        return self._columns(
            sizeof(world_lane_t) + sizeof(lander_episode_t),
            np.dtype((np.float64, (SMOKE_STEPS, 2, sizeof(particle_t) // 8))))
