"""LunarLander's physics around Box2D, for one lane, and its kernels.

Gymnasium's order of operations and of random draws, in its precision: Python's float64, rounded to float32 where a
number goes to Box2D. gymcore/envs/box2d/lunar_lander_python.py is the same in Python.
"""
from libc.math cimport cos, fabs, sin, sqrt, tanh
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from gymcore_ext.box2d.worlds cimport (
    AWAKE, LARGE, MANY, Worlds, apply_force, apply_impulse, apply_torque, are_flags, are_within, body_t, edge_shape_t,
    empty_world, family_t, fixture_def_t, is_within, joint_def_t, lane_t, listen_to_feet, step_world, vec_t,
    world_point, world_t, worlds_t,
)
from gymcore_ext.lanes.lane_functions cimport TERMINATED
from gymcore_ext.physics.lane cimport below, random, rng_t, uniform

import numpy as np

from gymcore_ext.box2d.worlds import FUNCTIONS_OF_LANE
from gymcore_ext.lanes.custom_kernel import CustomKernel


cdef enum:
    CHUNKS = 11        # points of the ground
    HEIGHTS = 12
    OBSERVED = 8
    SMOKE_STEPS = 26   # steps that a particle is visible, from the one that emits it on

cdef double FPS = 50.0, SCALE = 30.0
cdef double WIDTH = 600 / SCALE, HEIGHT = 400 / SCALE
cdef double HALF_WIDTH = WIDTH / 2, HALF_HEIGHT = HEIGHT / 2
cdef double HELIPAD_Y = HEIGHT / 4
cdef double REST_Y = HELIPAD_Y + 18 / SCALE       # of a lander that stands on the pad
cdef double PI = 3.141592653589793
cdef double MAIN_ENGINE_POWER = 13.0, SIDE_ENGINE_POWER = 0.6
cdef double MAIN_ENGINE_AT = 4 / SCALE, SIDE_ENGINE_AWAY = 12.0, SIDE_ENGINE_HEIGHT = 14.0  # the latter in pixels
PARAMETERS = {"gravity": -10.0, "enable_wind": 0.0, "wind_power": 15.0, "turbulence_power": 1.5}
cdef enum:  # of them
    GRAVITY, ENABLE_WIND, WIND_POWER, TURBULENCE_POWER
# Main engine and side engine by discrete action: none, left, main, right.
cdef double[4][2] CHOICES = [[0.0, 0.0], [0.0, -1.0], [1.0, 0.0], [0.0, 1.0]]

cdef enum:  # what Python makes, in the order of `definitions`
    GROUND, BEDROCK, EDGE, EDGE_SHAPE, HULL, HULL_FIXTURE, LEG_FIXTURE, LEG1, JOINT1, LEG2, JOINT2
    DEFINITIONS

# Numbers of a lane: those that the episode began with, and those that steps change.
PROGRESS = np.dtype([
    ("heights", np.float64, (HEIGHTS,)), ("push", np.float64, (2,)), ("gravity", np.float64),
    ("prev_shaping", np.float64), ("wind_idx", np.int64), ("torque_idx", np.int64), ("steps", np.int64),
    ("has_shaping", np.int32), ("game_over", np.int32), ("legs", np.int32, (2,)),
])


ctypedef struct progress_t:
    double heights[HEIGHTS]
    double push[2]
    double gravity, prev_shaping
    int64_t wind_idx, torque_idx, steps
    int32_t has_shaping
    int32_t touches[3]   # the hull has, the legs do


ctypedef struct puff_t:    # where a particle began, and its velocity
    double x, y, x_speed, y_speed, is_there


ctypedef struct lander_t:
    lane_t lane
    progress_t progress
    puff_t puffs[SMOKE_STEPS][2]  # what the main engine and a side engine have emitted in the last steps


ctypedef struct engines_t:
    double main, side, direction


# --- an episode -------------------------------------------------------------------------------------------------------

cdef void ground_heights(const double* heights, double* ground) noexcept nogil:
    """The heights of the ground's points, from what was drawn: smooth, and flat around the pad."""
    cdef double bent[HEIGHTS]
    cdef int k
    for k in range(HEIGHTS):
        bent[k] = HELIPAD_Y if CHUNKS // 2 - 2 <= k <= CHUNKS // 2 + 2 else heights[k]
    for k in range(CHUNKS):
        ground[k] = 0.33 * (bent[HEIGHTS - 1 if k == 0 else k - 1] + bent[k] + bent[k + 1])


cdef bint is_possible(const void* saved, bint was_reset) noexcept nogil:
    cdef const progress_t* progress = <const progress_t*> saved
    return (
        are_within(progress.heights, HEIGHTS, 0.0, HEIGHT / 2) and are_within(progress.push, 2, -1000.0, 1000.0)
        and is_within(progress.gravity, -12.0, 0.0) and is_within(progress.prev_shaping, -LARGE, LARGE)
        and -MANY <= progress.wind_idx <= MANY and -MANY <= progress.torque_idx <= MANY
        and 0 <= progress.steps <= MANY and are_flags(&progress.has_shaping, 1) and are_flags(progress.touches, 3))


cdef void build(const worlds_t* self, void* memory) noexcept nogil:
    """Ground, hull and legs of an episode, and the push. Box2D lists contacts in the order of creation."""
    cdef lander_t* lander = <lander_t*> memory
    cdef lane_t* lane = &lander.lane
    cdef progress_t* progress = &lander.progress
    cdef world_t* world = lane.world
    cdef body_t* body = self.calls.create_body(world, self.definitions[<int> GROUND])
    cdef edge_shape_t shape = (<const edge_shape_t*> self.definitions[<int> EDGE_SHAPE])[0]
    cdef fixture_def_t fixture = (<const fixture_def_t*> self.definitions[<int> EDGE])[0]
    cdef joint_def_t joint
    cdef double ground[CHUNKS]
    cdef int k
    self.calls.create_fixture(body, self.definitions[<int> BEDROCK])
    ground_heights(progress.heights, ground)
    fixture.shape = &shape
    for k in range(CHUNKS - 1):
        shape.vertex1.x = <float> (WIDTH / (CHUNKS - 1) * k)
        shape.vertex1.y = <float> ground[k]
        shape.vertex2.x = <float> (WIDTH / (CHUNKS - 1) * (k + 1))
        shape.vertex2.y = <float> ground[k + 1]
        self.calls.create_fixture(body, &fixture)
    lane.moving[0] = self.calls.create_body(world, self.definitions[<int> HULL])
    self.calls.create_fixture(lane.moving[0], self.definitions[<int> HULL_FIXTURE])
    for k in range(2):
        body = self.calls.create_body(world, self.definitions[LEG1 + 2 * k])
        self.calls.create_fixture(body, self.definitions[<int> LEG_FIXTURE])
        joint = (<const joint_def_t*> self.definitions[JOINT1 + 2 * k])[0]
        joint.body_a = lane.moving[0]
        joint.body_b = body
        lane.joints[k] = self.calls.create_joint(world, &joint)
        lane.moving[1 + k] = body
    lane.moving_count = 3
    lane.joint_count = 2
    listen_to_feet(&self.calls, lane, lane.moving[1], lane.moving[2], progress.touches)
    apply_force(lane.moving[0], <float> progress.push[0], <float> progress.push[1])
    progress.steps = progress.has_shaping = 0
    memset(lander.puffs, 0, sizeof(lander.puffs))


cdef void begin(
    const worlds_t* self, void* memory, const double* parameters, const double* options, rng_t* rng
) noexcept nogil:
    cdef lander_t* lander = <lander_t*> memory
    cdef progress_t* progress = &lander.progress
    cdef double reward
    cdef int k
    for k in range(HEIGHTS):
        progress.heights[k] = uniform(rng, 0.0, HEIGHT / 2)
    progress.push[0] = uniform(rng, -1000.0, 1000.0)
    progress.push[1] = uniform(rng, -1000.0, 1000.0)
    progress.gravity = parameters[<int> GRAVITY]
    if parameters[<int> ENABLE_WIND] != 0.0:
        progress.wind_idx = <int64_t> below(rng, 2 * 9999) - 9999
        progress.torque_idx = <int64_t> below(rng, 2 * 9999) - 9999
    empty_world(&self.calls, lander.lane.world, <float> progress.gravity)
    build(self, lander)
    step(self, lander, parameters, CHOICES[0], False, rng, &reward)


# --- a step -----------------------------------------------------------------------------------------------------------

cdef inline engines_t engines_of(const double* action) noexcept nogil:
    """The power of each engine, and the side that the side engine is on."""
    cdef engines_t engines
    cdef double main = action[0], side = action[1]
    engines.main = (min(main, 1.0) + 1.0) * 0.5 if main > 0.0 else 0.0
    engines.side = engines.direction = 0.0
    if fabs(side) > 0.5:
        engines.side = min(fabs(side), 1.0)
        engines.direction = 1.0 if side > 0.0 else -1.0
    return engines


cdef inline double gust(int64_t index) noexcept nogil:
    """The wind at a position in its course: Gymnasium's sum of two sines, which never repeats."""
    return tanh(sin(0.02 * index) + sin(PI * 0.01 * index))


cdef inline void emit(puff_t* puff, const body_t* hull, double x, double y, double along, double across, double speed
                      ) noexcept nogil:
    """Note a particle from a nozzle at x, y in pixels of the hull."""
    cdef vec_t nozzle = world_point(hull, <float> (x / SCALE), <float> (y / SCALE))
    puff.x = nozzle.x
    puff.y = nozzle.y
    puff.x_speed = hull.velocity.x + along * speed
    puff.y_speed = hull.velocity.y + across * speed
    puff.is_there = 1.0


cdef void run_engines(lander_t* lander, engines_t engines, double along, double across) noexcept nogil:
    """Emit smoke, then push the hull. Two random numbers, metres, scatter both. Numbers are Gymnasium's."""
    cdef body_t* hull = lander.lane.moving[0]
    cdef puff_t* puffs = lander.puffs[lander.progress.steps % SMOKE_STEPS]
    cdef double x, y, at, up_x = sin(hull.angle), up_y = cos(hull.angle)
    cdef double origin_x = hull.position.x, origin_y = hull.position.y
    if engines.main != 0.0:
        emit(&puffs[0], hull, 0.0, -10.0, up_x - 9 * across * up_y, -up_y - 9 * across * up_x,
             6.0 * engines.main * (1.0 + 9 * along))
    if engines.side != 0.0:
        emit(&puffs[1], hull, -14.0 * engines.direction, 12.0, engines.direction * -up_y, -engines.direction * up_x,
             3.5 * engines.side * (1.0 + 9 * along))
    if engines.main != 0.0:
        at = MAIN_ENGINE_AT + 2 * along
        x = up_x * at + -up_y * across
        y = -up_y * at - up_x * across
        apply_impulse(
            hull, <float> (-x * MAIN_ENGINE_POWER * engines.main), <float> (-y * MAIN_ENGINE_POWER * engines.main),
            <float> (origin_x + x), <float> (origin_y + y))
    if engines.side != 0.0:
        at = 3 * across + engines.direction * SIDE_ENGINE_AWAY / SCALE
        x = up_x * along + -up_y * at
        y = -up_y * along - up_x * at
        apply_impulse(
            hull, <float> (-x * SIDE_ENGINE_POWER * engines.side), <float> (-y * SIDE_ENGINE_POWER * engines.side),
            <float> (origin_x + x - up_x * 17 / SCALE), <float> (origin_y + y + up_y * SIDE_ENGINE_HEIGHT / SCALE))


cdef inline void look(const lander_t* lander, double* seen) noexcept nogil:
    cdef const progress_t* progress = &lander.progress
    cdef const body_t* hull = lander.lane.moving[0]
    seen[0] = (hull.position.x - HALF_WIDTH) / HALF_WIDTH
    seen[1] = (hull.position.y - REST_Y) / HALF_HEIGHT
    seen[2] = hull.velocity.x * HALF_WIDTH / FPS
    seen[3] = hull.velocity.y * HALF_HEIGHT / FPS
    seen[4] = hull.angle
    seen[5] = 20.0 * hull.angular_velocity / FPS
    seen[6] = progress.touches[1]
    seen[7] = progress.touches[2]


cdef int step(
    const worlds_t* self, void* memory, const double* parameters, const double* action, bint float32_action, rng_t* rng,
    double* reward
) noexcept nogil:
    cdef lander_t* lander = <lander_t*> memory
    cdef progress_t* progress = &lander.progress
    cdef body_t* hull = lander.lane.moving[0]
    cdef double seen[OBSERVED]
    cdef double along, across, shaping, force = 0.0, torque = 0.0
    cdef engines_t engines = engines_of(action)
    cdef bint blows = parameters[<int> ENABLE_WIND] != 0.0 and not (progress.touches[1] or progress.touches[2])
    cdef int flags = 0
    if blows:
        force = gust(progress.wind_idx) * parameters[<int> WIND_POWER]
        torque = gust(progress.torque_idx) * parameters[<int> TURBULENCE_POWER]
        progress.wind_idx += 1
        progress.torque_idx += 1
    along = (-1.0 + 2.0 * random(rng)) / SCALE
    across = (-1.0 + 2.0 * random(rng)) / SCALE
    if blows:
        apply_force(hull, <float> force, 0.0)
        apply_torque(hull, <float> torque)
    memset(lander.puffs[progress.steps % SMOKE_STEPS], 0, 2 * sizeof(puff_t))
    if engines.main != 0.0 or engines.side != 0.0:
        run_engines(lander, engines, along, across)
    progress.steps += 1
    step_world(&self.calls, &lander.lane)

    look(lander, seen)
    shaping = -100.0 * sqrt(seen[0] * seen[0] + seen[1] * seen[1])
    shaping -= 100.0 * sqrt(seen[2] * seen[2] + seen[3] * seen[3])
    shaping = shaping - 100.0 * fabs(seen[4]) + 10.0 * seen[6] + 10.0 * seen[7]
    reward[0] = shaping - progress.prev_shaping if progress.has_shaping else 0.0
    progress.prev_shaping = shaping
    progress.has_shaping = 1
    reward[0] -= engines.main * 0.30
    reward[0] -= engines.side * 0.03
    if progress.touches[0] or fabs(seen[0]) >= 1.0:
        flags, reward[0] = TERMINATED, -100.0
    if not hull.flags & AWAKE:
        flags, reward[0] = TERMINATED, 100.0
    return flags


cdef void observe(const worlds_t* self, const void* lane, void* observation) noexcept nogil:
    cdef double seen[OBSERVED]
    cdef int k
    look(<const lander_t*> lane, seen)
    for k in range(OBSERVED):
        (<float*> observation)[k] = <float> seen[k]


# --- the kernels ------------------------------------------------------------------------------------------------------

cdef family_t family
family.begin, family.is_possible, family.build = begin, is_possible, build
family.step, family.observe = step, observe
family.choices, family.choice_count, family.action_size = CHOICES[0], 4, 2
family.definition_count = DEFINITIONS
family.lane_bytes, family.progress_bytes, family.world_bytes = sizeof(lander_t), sizeof(progress_t), 8192

kernel = CustomKernel(
    "lander", parts=((np.float32, (OBSERVED,)),), action=(np.int64, ()), ranges=((0, 4),), parameters=PARAMETERS,
    functions=FUNCTIONS_OF_LANE).capsule
continuous_kernel = CustomKernel(
    "lander", parts=((np.float32, (OBSERVED,)),), action=(np.float64, (2,)), parameters=PARAMETERS,
    functions=FUNCTIONS_OF_LANE).capsule


cdef class Landers(Worlds):
    """Worlds of landers, for a batch of one of the kernels."""

    def __cinit__(self, **options):
        self.set_up_worlds(&family, PROGRESS, FUNCTIONS_OF_LANE)

    @property
    def smoke(self):
        """float64 [lanes, steps, 2, 5]: what the main engine and a side engine have emitted in the last steps."""
        return self._columns(
            sizeof(lane_t) + sizeof(progress_t), np.dtype((np.float64, (SMOKE_STEPS, 2, sizeof(puff_t) // 8))))

    def ground(self, Py_ssize_t lane):
        """The heights of the ground's points, metres."""
        cdef double heights[CHUNKS]
        ground_heights((<lander_t*> self._lane(lane)).progress.heights, heights)
        return [heights[k] for k in range(CHUNKS)]
