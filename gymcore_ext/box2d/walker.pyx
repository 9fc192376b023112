"""BipedalWalker's physics around Box2D, for one lane, and its kernel.

Gymnasium's order of operations and of random draws, in its precision: Python's float64, rounded to float32 where a
number goes to Box2D. gymcore/envs/box2d/bipedal_walker_python.py is the same in Python.
"""
from libc.math cimport cos, fabs, sin
from libc.stdint cimport int32_t, int64_t

from gymcore_ext.box2d.rays cimport cast_rays, fan_t, point_t, prepare_fan, prepare_scene, scene_t
from gymcore_ext.box2d.worlds cimport (
    LARGE, MANY, Worlds, apply_force, are_flags, are_within, body_t, edge_shape_t, empty_world, family_t, fixture_def_t,
    is_within, joint_angle, joint_def_t, joint_speed, lane_t, listen_to_feet, polygon_shape_t, step_world, vec_t,
    world_t, worlds_t,
)
from gymcore_ext.lanes.lane_functions cimport TERMINATED
from gymcore_ext.physics.lane cimport below, random, rng_t, uniform

import numpy as np

from gymcore_ext.box2d.worlds import FUNCTIONS_OF_LANE
from gymcore_ext.lanes.custom_kernel import CustomKernel


cdef enum:
    POINTS = 200          # of the ground
    START = 20            # flat steps at the start
    GRASS_STEPS = 10      # longest stretch between obstacles
    BOXES = 40            # at most: pits have two in ten steps, stumps one in six, stairs four in seventeen
    RAYS = 10
    CLOUD_NUMBERS = 110   # a place and five corners for each of ten
    OBSERVED = 24
    GRASS = 0
    STUMP, STAIRS, PIT

cdef enum:  # parameters
    HARDCORE, FRESH_WORLDS

cdef double FPS = 50.0, SCALE = 30.0
cdef double WIDTH = 600 / SCALE, HEIGHT = 400 / SCALE
cdef double STEP = 14 / SCALE, LEVEL = 400 / SCALE / 4
cdef double GOAL = (POINTS - GRASS_STEPS) * STEP
cdef double MOTORS_TORQUE = 80.0, TORQUE_COST = 0.00035 * 80
cdef double[4] SPEEDS = [4.0, 6.0, 4.0, 6.0]

cdef enum:  # what Python makes, in the order of `definitions`; from LEGS on a body, a fixture and a joint for each
    GROUND, BOX, BOX_SHAPE, EDGE, EDGE_SHAPE, HULL, HULL_FIXTURE, LEGS, DEFINITIONS = 19

# Numbers of a lane: those that the episode began with, and those that steps change.
PROGRESS = np.dtype([
    ("heights", np.float64, (POINTS,)), ("boxes", np.float64, (BOXES, 4, 2)), ("clouds", np.float64, (10, 11)),
    ("push", np.float64), ("prev_shaping", np.float64), ("scroll", np.float64), ("steps", np.int64),
    ("fractions", np.float32, (RAYS,)), ("box_count", np.int32), ("has_shaping", np.int32), ("game_over", np.int32),
    ("feet", np.int32, (2,)), ("unused", np.int32),
])


ctypedef struct progress_t:
    double heights[POINTS]
    double boxes[BOXES][8]
    double clouds[CLOUD_NUMBERS]
    double push, prev_shaping, scroll
    int64_t steps
    float fractions[RAYS]
    int32_t box_count, has_shaping
    int32_t touches[3]   # the hull has, the feet do
    int32_t unused


ctypedef struct ground_t:  # what rays hit
    scene_t scene
    point_t corners[POINTS]
    point_t normals[POINTS]
    point_t boxes[4 * BOXES]
    point_t planes[4 * BOXES]
    point_t spans[BOXES]


ctypedef struct walker_t:
    lane_t lane
    progress_t progress
    ground_t ground


cdef double[2 * RAYS] ray_ends
cdef fan_t fan
cdef int _ray
for _ray in range(RAYS):
    ray_ends[2 * _ray] = sin(1.5 * _ray / 10.0) * (160 / SCALE)
    ray_ends[2 * _ray + 1] = -(cos(1.5 * _ray / 10.0) * (160 / SCALE))
prepare_fan(&fan, RAYS, ray_ends)


# --- an episode -------------------------------------------------------------------------------------------------------

cdef inline int integer(rng_t* rng, int low, int high) noexcept nogil:
    return low + <int> below(rng, high - low)


cdef void add_box(progress_t* progress, double left, double right, double y1, double y2) noexcept nogil:
    """A box whose first two corners are at y1, the others at y2."""
    cdef double* box = progress.boxes[progress.box_count]
    if progress.box_count >= BOXES:
        return
    progress.box_count += 1
    box[0] = box[6] = left
    box[2] = box[4] = right
    box[1] = box[3] = y1
    box[5] = box[7] = y2


cdef void draw_ground(progress_t* progress, rng_t* rng, bint hardcore) noexcept nogil:
    """Draw the ground and its obstacles, in Gymnasium's order."""
    cdef int i, s, kind = GRASS, left = START, stairs = 0, stair_width = 0, rise = 0
    cdef bint begins = False
    cdef double x, y = LEVEL, slope = 0.0, base = 0.0
    progress.box_count = 0
    for i in range(POINTS):
        x = i * STEP
        if kind == GRASS and not begins:
            slope = 0.8 * slope + 0.01 * ((y < LEVEL) - (y > LEVEL))
            if i > START:
                slope += (-1.0 + 2.0 * random(rng)) / SCALE
            y += slope
        elif kind == PIT and begins:
            left = integer(rng, 3, 5)
            add_box(progress, x, x + STEP, y, y - 4 * STEP)
            add_box(progress, x + STEP * left, x + STEP + STEP * left, y, y - 4 * STEP)
            left += 2
            base = y
        elif kind == PIT:
            y = base
            if left > 1:
                y -= 4 * STEP
        elif kind == STUMP and begins:
            left = integer(rng, 1, 3)
            add_box(progress, x, x + left * STEP, y, y + left * STEP)
        elif kind == STAIRS and begins:
            rise = 1 if random(rng) > 0.5 else -1
            stair_width = integer(rng, 4, 5)
            stairs = integer(rng, 3, 5)
            base = y
            for s in range(stairs):
                add_box(progress, x + (s * stair_width) * STEP, x + ((1 + s) * stair_width) * STEP,
                        y + (s * rise) * STEP, y + (-1 + s * rise) * STEP)
            left = stairs * stair_width
        elif kind == STAIRS:
            s = stairs * stair_width - left - rise
            y = base + (<double> s / stair_width * rise) * STEP
        begins = False
        progress.heights[i] = y
        left -= 1
        if left == 0:
            left = integer(rng, GRASS_STEPS // 2, GRASS_STEPS)
            kind = integer(rng, 1, 4) if kind == GRASS and hardcore else GRASS
            begins = True


cdef bint is_possible(const void* saved, bint was_reset) noexcept nogil:
    cdef const progress_t* progress = <const progress_t*> saved
    cdef const double* box
    cdef int k
    if not 0 <= progress.box_count <= BOXES:
        return False
    for k in range(progress.box_count):
        box = progress.boxes[k]  # as add_box makes them
        if not (are_within(box, 8, -1e4, 1e4) and box[0] == box[6] and box[2] == box[4] and box[1] == box[3]
                and box[5] == box[7] and box[2] - box[0] >= 0.1 and fabs(box[1] - box[5]) >= 0.1):
            return False
    for k in range(RAYS):
        if not is_within(progress.fractions[k], 0.0, 1.0):
            return False
    return (
        are_within(progress.heights, POINTS, -1e4, 1e4) and are_within(progress.clouds, CLOUD_NUMBERS, 0.0, 1.0)
        and is_within(progress.push, -5.0, 5.0) and is_within(progress.prev_shaping, -LARGE, LARGE)
        and is_within(progress.scroll, -LARGE, LARGE) and 0 <= progress.steps <= MANY
        and are_flags(&progress.has_shaping, 1) and are_flags(progress.touches, 3))


cdef void prepare_rays(ground_t* ground, const progress_t* progress) noexcept nogil:
    cdef const double* box
    cdef int k, j, from_
    for k in range(POINTS):
        ground.corners[k].x = <float> (k * STEP)
        ground.corners[k].y = <float> progress.heights[k]
    for k in range(progress.box_count):
        box = progress.boxes[k]
        for j in range(4):  # stumps come counter-clockwise, stairs and pits clockwise
            from_ = j if box[1] < box[5] else 3 - j
            ground.boxes[4 * k + j].x = <float> box[2 * from_]
            ground.boxes[4 * k + j].y = <float> box[2 * from_ + 1]
    ground.scene.count = POINTS
    ground.scene.corners = ground.corners
    ground.scene.normals = ground.normals
    ground.scene.box_count = progress.box_count
    ground.scene.boxes = ground.boxes
    ground.scene.planes = ground.planes
    ground.scene.spans = ground.spans
    prepare_scene(&ground.scene)


cdef void build(const worlds_t* self, void* memory) noexcept nogil:
    """Ground and walker of an episode, and the push. Box2D lists contacts in the order of creation."""
    cdef walker_t* walker = <walker_t*> memory
    cdef lane_t* lane = &walker.lane
    cdef progress_t* progress = &walker.progress
    cdef world_t* world = lane.world
    cdef polygon_shape_t box = (<const polygon_shape_t*> self.definitions[<int> BOX_SHAPE])[0]
    cdef fixture_def_t box_fixture = (<const fixture_def_t*> self.definitions[<int> BOX])[0]
    cdef edge_shape_t edge = (<const edge_shape_t*> self.definitions[<int> EDGE_SHAPE])[0]
    cdef fixture_def_t edge_fixture = (<const fixture_def_t*> self.definitions[<int> EDGE])[0]
    cdef joint_def_t joint
    cdef vec_t corners[4]
    cdef body_t* body
    cdef int k, j
    box_fixture.shape = &box
    for k in range(progress.box_count):
        for j in range(4):
            corners[j].x = <float> progress.boxes[k][2 * j]
            corners[j].y = <float> progress.boxes[k][2 * j + 1]
        self.calls.set_polygon(&box, corners, 4)
        self.calls.create_fixture(self.calls.create_body(world, self.definitions[<int> GROUND]), &box_fixture)
    edge_fixture.shape = &edge
    for k in range(POINTS - 1):
        edge.vertex1.x = <float> (k * STEP)
        edge.vertex1.y = <float> progress.heights[k]
        edge.vertex2.x = <float> ((k + 1) * STEP)
        edge.vertex2.y = <float> progress.heights[k + 1]
        self.calls.create_fixture(self.calls.create_body(world, self.definitions[<int> GROUND]), &edge_fixture)
    lane.moving[0] = self.calls.create_body(world, self.definitions[<int> HULL])
    self.calls.create_fixture(lane.moving[0], self.definitions[<int> HULL_FIXTURE])
    apply_force(lane.moving[0], <float> progress.push, 0.0)
    for k in range(4):
        body = self.calls.create_body(world, self.definitions[LEGS + 3 * k])
        self.calls.create_fixture(body, self.definitions[LEGS + 3 * k + 1])
        joint = (<const joint_def_t*> self.definitions[LEGS + 3 * k + 2])[0]
        joint.body_a = lane.moving[k if k % 2 else 0]
        joint.body_b = body
        lane.joints[k] = self.calls.create_joint(world, &joint)
        lane.moving[1 + k] = body
    lane.moving_count = 5
    lane.joint_count = 4
    listen_to_feet(&self.calls, lane, lane.moving[2], lane.moving[4], progress.touches)
    prepare_rays(&walker.ground, progress)
    progress.steps = progress.has_shaping = 0
    progress.scroll = 0.0


cdef void clear(const worlds_t* self, lane_t* lane, bint fresh_world) noexcept nogil:
    """Remove the last episode's bodies. The order decides the numbers of later ones, and those that of contacts."""
    cdef world_t* world = lane.world
    cdef body_t* body
    cdef body_t* following
    cdef int k
    if fresh_world or lane.builds == 0 or world.body_count != lane.body_count:
        empty_world(&self.calls, world, -10.0)
        return
    world.manager.listener = NULL
    body = lane.moving[0].next
    while body != NULL:
        following = body.next
        self.calls.destroy_body(world, body)
        body = following
    for k in range(lane.moving_count):
        self.calls.destroy_body(world, lane.moving[k])


cdef void begin(
    const worlds_t* self, void* memory, const double* parameters, const double* options, rng_t* rng
) noexcept nogil:
    cdef walker_t* walker = <walker_t*> memory
    cdef progress_t* progress = &walker.progress
    cdef double[4] nothing = [0.0, 0.0, 0.0, 0.0]
    cdef double reward
    cdef int k
    draw_ground(progress, rng, parameters[<int> HARDCORE] != 0.0)
    for k in range(CLOUD_NUMBERS):
        progress.clouds[k] = random(rng)
    progress.push = uniform(rng, -5.0, 5.0)
    clear(self, &walker.lane, parameters[<int> FRESH_WORLDS] != 0.0)
    build(self, walker)
    step(self, walker, parameters, nothing, False, rng, &reward)


# --- a step -----------------------------------------------------------------------------------------------------------

cdef void observe(const worlds_t* self, const void* memory, void* observation) noexcept nogil:
    cdef float* seen = <float*> observation
    cdef const progress_t* progress = &(<const walker_t*> memory).progress
    cdef const lane_t* lane = &(<const walker_t*> memory).lane
    cdef const body_t* hull = lane.moving[0]
    cdef int leg, k
    seen[0] = hull.angle
    seen[1] = <float> (2.0 * hull.angular_velocity / FPS)
    seen[2] = <float> (0.3 * hull.velocity.x * WIDTH / FPS)
    seen[3] = <float> (0.3 * hull.velocity.y * HEIGHT / FPS)
    for leg in range(2):
        k = 4 + 5 * leg
        seen[k] = joint_angle(lane.joints[2 * leg])
        seen[k + 1] = <float> (joint_speed(lane.joints[2 * leg]) / SPEEDS[0])
        seen[k + 2] = <float> (joint_angle(lane.joints[2 * leg + 1]) + 1.0)
        seen[k + 3] = <float> (joint_speed(lane.joints[2 * leg + 1]) / SPEEDS[1])
        seen[k + 4] = progress.touches[1 + leg]
    for k in range(RAYS):
        seen[14 + k] = progress.fractions[k]


cdef inline double reward_of(double gain, const double* action, bint float32) noexcept nogil:
    """In the precision of the action, one motor after the other, as Gymnasium rounds."""
    cdef float narrow = <float> gain
    cdef double wide = gain
    cdef int k
    for k in range(4):
        if float32:
            narrow -= <float> min(fabs(action[k]), 1.0) * <float> TORQUE_COST
        else:
            wide -= min(fabs(action[k]), 1.0) * TORQUE_COST
    return narrow if float32 else wide


cdef int step(
    const worlds_t* self, void* memory, const double* parameters, const double* action, bint float32_action, rng_t* rng,
    double* reward
) noexcept nogil:
    cdef walker_t* walker = <walker_t*> memory
    cdef progress_t* progress = &walker.progress
    cdef lane_t* lane = &walker.lane
    cdef const body_t* hull = lane.moving[0]
    cdef double x, shaping
    cdef int flags = 0
    cdef int k
    for k in range(4):
        self.calls.set_motor_speed(
            lane.joints[k], <float> (SPEEDS[k] if action[k] > 0 else -SPEEDS[k] if action[k] < 0 else 0.0))
        self.calls.set_motor_torque(lane.joints[k], <float> (MOTORS_TORQUE * min(fabs(action[k]), 1.0)))
    step_world(&self.calls, lane)
    progress.steps += 1
    x = hull.position.x
    cast_rays(&walker.ground.scene, &fan, x, hull.position.y, progress.fractions)
    progress.scroll = x - WIDTH / 5
    shaping = 130 * x / SCALE - 5.0 * fabs(hull.angle)
    reward[0] = reward_of(
        shaping - progress.prev_shaping if progress.has_shaping else 0.0, action, float32_action)
    progress.prev_shaping = shaping
    progress.has_shaping = 1
    if progress.touches[0] or x < 0:
        flags, reward[0] = TERMINATED, -100.0
    if x > GOAL:
        flags = TERMINATED
    return flags


# --- the kernel -------------------------------------------------------------------------------------------------------

cdef family_t family
family.begin, family.is_possible, family.build = begin, is_possible, build
family.step, family.observe = step, observe
family.action_size = 4
family.definition_count = DEFINITIONS
family.lane_bytes, family.progress_bytes, family.world_bytes = sizeof(walker_t), sizeof(progress_t), 65536

kernel = CustomKernel(
    "walker", parts=((np.float32, (OBSERVED,)),), action=(np.float64, (4,)),
    parameters={"hardcore": 0.0, "fresh_worlds": 0.0}, functions=FUNCTIONS_OF_LANE).capsule


cdef class Walkers(Worlds):
    """Worlds of walkers, for a batch of the kernel."""

    def __cinit__(self, **options):
        self.set_up_worlds(&family, PROGRESS, FUNCTIONS_OF_LANE)
