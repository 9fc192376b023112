"""BipedalWalker's physics around Box2D, for one lane, and its kernel.

Operations and random draws have Gymnasium's order and precision: Python's float64, rounded to float32 for Box2D.
gymcore/envs/box2d/bipedal_walker_python.py has the same physics in Python.
"""
from libc.math cimport cos, fabs, sin, sqrtf
from libc.stdint cimport int32_t, int64_t

from gymcore_ext.box2d.structures cimport apply_force, body_t, contact_t, joint_angle, joint_speed, vec_t
from gymcore_ext.box2d.worlds cimport (
    MAX_COUNT, MAX_NUMBER, Worlds, add_edge, add_moving_body, add_quad, are_within, empty_world, family_t,
    remove_bodies, report_feet, step_world, world_lane_t, worlds_t,
)
from gymcore_ext.lanes.lane_functions cimport TERMINATED
from gymcore_ext.physics.lane cimport below, random, rng_t, uniform

import numpy as np

from gymcore_ext.box2d.worlds import LANE_FUNCTIONS
from gymcore_ext.lanes.custom_kernel import CustomKernel


cdef enum:
    POINTS = 200          # points of the ground
    START = 20            # number of flat steps at the start
    GRASS_STEPS = 10      # longest stretch between obstacles
    BOXES = 40            # maximum: pits have two in ten steps, stumps one in six, stairs four in seventeen
    RAYS = 10
    OBSERVED = 24
    GRASS = 0
    STUMP, STAIRS, PIT

cdef enum:  # parameters
    HARDCORE, FRESH_WORLDS

cdef double FPS = 50.0, SCALE = 30.0
cdef double WIDTH = 600 / SCALE, HEIGHT = 400 / SCALE
cdef double STEP = 14 / SCALE, LEVEL = 400 / SCALE / 4
cdef double GOAL = (POINTS - GRASS_STEPS) * STEP
cdef double LIDAR_RANGE = 160 / SCALE, MARGIN = 0.125  # margin of the range of rays, because of rounding
cdef double GRAVITY = -10.0, MOTORS_TORQUE = 80.0, TORQUE_COST = 0.00035 * 80
cdef double[4] SPEEDS = [4.0, 6.0, 4.0, 6.0]

cdef enum:  # indices of the definitions that Python makes; from LEGS on a body, a fixture and a joint for each part
    GROUND, BOX, BOX_SHAPE, EDGE, EDGE_SHAPE, HULL, HULL_FIXTURE, LEGS, DEFINITIONS = 19


ctypedef struct walker_episode_t:
    double heights[POINTS]    # the members up to box_count are drawn
    double boxes[BOXES][4][2]
    double clouds[10][11]     # position and five corners of each cloud
    double push
    int64_t box_count
    int64_t steps             # steps change this member and the following ones
    double prev_shaping, scroll
    float fractions[RAYS]     # the part of each ray of the lidar before its first hit
    int32_t has_shaping, game_over
    int32_t feet[2]           # whether they touch the ground


ctypedef struct walker_t:
    world_lane_t lane
    walker_episode_t episode
    vec_t ground[POINTS]      # corners that rays can hit
    vec_t boxes[4 * BOXES]    # corners of boxes, counter-clockwise from a left one


cdef double[RAYS][2] ray_ends
cdef int _ray
for _ray in range(RAYS):
    ray_ends[_ray] = [sin(1.5 * _ray / 10.0) * LIDAR_RANGE, -(cos(1.5 * _ray / 10.0) * LIDAR_RANGE)]


# --- the lidar: rays from one point to ground that consists of line segments and boxes --------------------------------

cdef inline vec_t normal_of(const vec_t* corner, const vec_t* following) noexcept nogil:
    """Return the normal of the side from a corner to the following one."""
    cdef vec_t normal
    cdef float x = following.y - corner.y, y = -(following.x - corner.x)
    cdef float length = sqrtf(x * x + y * y), inverse = 1.0
    if length >= 1.1920928955078125e-07:  # the epsilon of float32, as in Box2D
        inverse = <float> 1.0 / length
    normal.x, normal.y = x * inverse, y * inverse
    return normal


cdef inline float hit_segment(
    const vec_t* corner, vec_t normal, float x1, float y1, float dx, float dy, float best
) noexcept nogil:
    """Return the fraction of a ray before it hits the side from a corner to the next one; at most `best`."""
    cdef float denominator = normal.x * dx + normal.y * dy
    cdef float t, rx, ry, s
    if denominator == 0:
        return best
    t = (normal.x * (corner.x - x1) + normal.y * (corner.y - y1)) / denominator
    if t < 0 or best < t:
        return best
    rx = corner[1].x - corner.x
    ry = corner[1].y - corner.y
    s = rx * rx + ry * ry
    if s == 0:
        return best
    s = ((x1 + t * dx - corner.x) * rx + (y1 + t * dy - corner.y) * ry) / s
    return best if s < 0 or s > 1 else t


cdef inline float hit_box(
    const vec_t* corners, const vec_t* normals, float x1, float y1, float dx, float dy, float best
) noexcept nogil:
    cdef float lower = 0, upper = best, numerator, denominator
    cdef int j
    cdef bint enters = False
    for j in range(4):
        numerator = normals[j].x * (corners[j].x - x1) + normals[j].y * (corners[j].y - y1)
        denominator = normals[j].x * dx + normals[j].y * dy
        if denominator == 0:
            if numerator < 0:
                return best
        elif denominator < 0 and numerator < lower * denominator:
            lower = numerator / denominator
            enters = True
        elif denominator > 0 and numerator < upper * denominator:
            upper = numerator / denominator
        if upper < lower:
            return best
    return lower if enters else best


cdef void cast_rays(const walker_t* walker, double x, double y, float* fractions) noexcept nogil:
    """Compute the fraction of each ray of the lidar from (x, y) before its first hit, or 1 without a hit.

    The operations are those of Box2D 2.3's `b2EdgeShape::RayCast` and `b2PolygonShape::RayCast`, in their order and
    single precision, so that fractions agree to the bit with `b2World::RayCast`. Ten rays take 1 us.
    """
    cdef float x1 = <float> x, y1 = <float> y
    cdef float low = <float> (x - MARGIN), high = <float> (x + LIDAR_RANGE + MARGIN)
    cdef const vec_t* corner
    cdef vec_t[RAYS] ways
    cdef vec_t[4] normals
    cdef int ray, i, j
    for ray in range(RAYS):
        ways[ray].x, ways[ray].y = <float> (x + ray_ends[ray][0]) - x1, <float> (y + ray_ends[ray][1]) - y1
        fractions[ray] = 1.0
    for i in range(POINTS - 1):
        corner = &walker.ground[i]
        if corner[1].x < low or corner.x > high:
            continue
        normals[0] = normal_of(corner, corner + 1)
        for ray in range(RAYS):
            fractions[ray] = hit_segment(corner, normals[0], x1, y1, ways[ray].x, ways[ray].y, fractions[ray])
    for i in range(<int> walker.episode.box_count):
        corner = &walker.boxes[4 * i]
        if corner[1].x < low or corner.x > high:
            continue
        for j in range(4):
            normals[j] = normal_of(&corner[j], &corner[(j + 1) % 4])
        for ray in range(RAYS):
            fractions[ray] = hit_box(corner, normals, x1, y1, ways[ray].x, ways[ray].y, fractions[ray])


# --- an episode -------------------------------------------------------------------------------------------------------

cdef inline int draw_integer(rng_t* rng, int low, int high) noexcept nogil:
    return low + <int> below(rng, high - low)


cdef void add_box(walker_episode_t* episode, double left, double right, double y1, double y2) noexcept nogil:
    """Add a box whose first two corners are at y1, the others at y2."""
    cdef int64_t box = episode.box_count
    cdef int k
    if box >= BOXES:
        return
    episode.box_count += 1
    for k in range(4):
        episode.boxes[box][k][0] = left if k == 0 or k == 3 else right
        episode.boxes[box][k][1] = y1 if k < 2 else y2


cdef void generate_ground(walker_episode_t* episode, rng_t* rng, bint hardcore) noexcept nogil:
    """Draw the ground and its obstacles, in Gymnasium's order."""
    cdef int i, s, kind = GRASS, left = START, stairs = 0, stair_width = 0, rise = 0
    cdef bint begins = False
    cdef double x, y = LEVEL, slope = 0.0, base = 0.0
    episode.box_count = 0
    for i in range(POINTS):
        x = i * STEP
        if kind == GRASS and not begins:
            slope = 0.8 * slope + 0.01 * ((y < LEVEL) - (y > LEVEL))
            if i > START:
                slope += (-1.0 + 2.0 * random(rng)) / SCALE
            y += slope
        elif kind == PIT and begins:
            left = draw_integer(rng, 3, 5)
            add_box(episode, x, x + STEP, y, y - 4 * STEP)
            add_box(episode, x + STEP * left, x + STEP + STEP * left, y, y - 4 * STEP)
            left += 2
            base = y
        elif kind == PIT:
            y = base
            if left > 1:
                y -= 4 * STEP
        elif kind == STUMP and begins:
            left = draw_integer(rng, 1, 3)
            add_box(episode, x, x + left * STEP, y, y + left * STEP)
        elif kind == STAIRS and begins:
            rise = 1 if random(rng) > 0.5 else -1
            stair_width = draw_integer(rng, 4, 5)
            stairs = draw_integer(rng, 3, 5)
            base = y
            for s in range(stairs):
                add_box(episode, x + (s * stair_width) * STEP, x + ((1 + s) * stair_width) * STEP,
                        y + (s * rise) * STEP, y + (-1 + s * rise) * STEP)
            left = stairs * stair_width
        elif kind == STAIRS:
            s = stairs * stair_width - left - rise
            y = base + (<double> s / stair_width * rise) * STEP
        begins = False
        episode.heights[i] = y
        left -= 1
        if left == 0:
            left = draw_integer(rng, GRASS_STEPS // 2, GRASS_STEPS)
            kind = draw_integer(rng, 1, 4) if kind == GRASS and hardcore else GRASS
            begins = True


cdef bint is_valid(const void* saved, bint was_reset) noexcept nogil:
    cdef const walker_episode_t* episode = <const walker_episode_t*> saved
    cdef const double* box
    cdef int k
    if not 0 <= episode.box_count <= BOXES:
        return False
    for k in range(<int> episode.box_count):
        box = &episode.boxes[k][0][0]  # as add_box makes them
        if not (box[0] == box[6] and box[2] == box[4] and box[1] == box[3] and box[5] == box[7]
                and box[2] - box[0] >= 0.1 and fabs(box[1] - box[5]) >= 0.1):
            return False
    return (
        are_within[double](episode.heights, episode.clouds, -1e4, 1e4)
        and are_within[double](episode.clouds, &episode.push, 0.0, 1.0)
        and -5.0 <= episode.push <= 5.0 and 0 <= episode.steps <= MAX_COUNT
        and are_within[double](&episode.prev_shaping, episode.fractions, -MAX_NUMBER, MAX_NUMBER)
        and are_within[float](episode.fractions, &episode.has_shaping, 0, 1)
        and are_within[int32_t](&episode.has_shaping, &episode.feet[2], 0, 1))


cdef void begin(
    const worlds_t* self, world_lane_t* lane, const double* parameters, const double* options, rng_t* rng
) noexcept nogil:
    cdef walker_episode_t* episode = &(<walker_t*> lane).episode
    cdef int k
    generate_ground(episode, rng, parameters[<int> HARDCORE] != 0.0)
    for k in range(10 * 11):
        (&episode.clouds[0][0])[k] = random(rng)
    episode.push = uniform(rng, -5.0, 5.0)
    if parameters[<int> FRESH_WORLDS] != 0.0:
        empty_world(self, lane, GRAVITY)
    else:
        remove_bodies(self, lane, GRAVITY, False)


cdef void build(const worlds_t* self, world_lane_t* lane) noexcept nogil:
    """Create ground and walker, and apply the push. The order of creation decides the order of contacts in Box2D."""
    cdef walker_t* walker = <walker_t*> lane
    cdef walker_episode_t* episode = &walker.episode
    cdef body_t* hull
    cdef int j, k, corner
    for k in range(<int> episode.box_count):
        add_quad(self, lane, GROUND, &episode.boxes[k][0][0])
        for j in range(4):
            corner = 3 - j if episode.boxes[k][0][1] >= episode.boxes[k][2][1] else j  # stairs and pits are clockwise
            walker.boxes[4 * k + j].x = <float> episode.boxes[k][corner][0]
            walker.boxes[4 * k + j].y = <float> episode.boxes[k][corner][1]
    for k in range(POINTS):
        walker.ground[k].x, walker.ground[k].y = <float> (k * STEP), <float> episode.heights[k]
    for k in range(POINTS - 1):
        add_edge(self, self.calls.create_body(lane.world, self.definitions[<int> GROUND]), EDGE,
                 k * STEP, episode.heights[k], (k + 1) * STEP, episode.heights[k + 1])
    hull = add_moving_body(self, lane, self.definitions[<int> HULL], self.definitions[<int> HULL_FIXTURE], 0, NULL)
    apply_force(hull, <float> episode.push, 0.0)
    for k in range(4):
        add_moving_body(self, lane, self.definitions[LEGS + 3 * k], self.definitions[LEGS + 3 * k + 1],
                        k if k % 2 else 0, self.definitions[LEGS + 3 * k + 2])


cdef void report_contact(world_lane_t* lane, const contact_t* contact, bint touches) noexcept nogil:
    cdef walker_episode_t* episode = &(<walker_t*> lane).episode
    report_feet(lane, contact, touches, 2, 2, &episode.game_over, episode.feet)


# --- a step -----------------------------------------------------------------------------------------------------------

cdef void observe(const worlds_t* self, const world_lane_t* lane, void* observation) noexcept nogil:
    cdef float* observed = <float*> observation
    cdef const walker_episode_t* episode = &(<const walker_t*> lane).episode
    cdef const body_t* hull = lane.moving[0]
    cdef int leg, k
    observed[0] = hull.angle
    observed[1] = <float> (2.0 * hull.angular_velocity / FPS)
    observed[2] = <float> (0.3 * hull.velocity.x * WIDTH / FPS)
    observed[3] = <float> (0.3 * hull.velocity.y * HEIGHT / FPS)
    for leg in range(2):
        k = 4 + 5 * leg
        observed[k] = joint_angle(lane.joints[2 * leg])
        observed[k + 1] = <float> (joint_speed(lane.joints[2 * leg]) / SPEEDS[0])
        observed[k + 2] = <float> (joint_angle(lane.joints[2 * leg + 1]) + 1.0)
        observed[k + 3] = <float> (joint_speed(lane.joints[2 * leg + 1]) / SPEEDS[1])
        observed[k + 4] = episode.feet[leg]
    for k in range(RAYS):
        observed[14 + k] = episode.fractions[k]


cdef inline double reward_of(double gain, const double* action, bint float32) noexcept nogil:
    """Return the reward, computed in the precision of the action, one motor after the other, as Gymnasium rounds."""
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
    const worlds_t* self, world_lane_t* lane, const double* parameters, const double* action, rng_t* rng, double* reward
) noexcept nogil:
    cdef walker_t* walker = <walker_t*> lane
    cdef walker_episode_t* episode = &walker.episode
    cdef const body_t* hull = lane.moving[0]
    cdef double x, shaping
    cdef int flags = 0
    cdef int k
    for k in range(4):
        self.calls.set_motor_speed(
            lane.joints[k], <float> (SPEEDS[k] if action[k] > 0 else -SPEEDS[k] if action[k] < 0 else 0.0))
        self.calls.set_motor_torque(lane.joints[k], <float> (MOTORS_TORQUE * min(fabs(action[k]), 1.0)))
    step_world(self, lane)
    episode.steps += 1
    x = hull.position.x
    cast_rays(walker, x, hull.position.y, episode.fractions)
    episode.scroll = x - WIDTH / 5
    shaping = 130 * x / SCALE - 5.0 * fabs(hull.angle)
    reward[0] = reward_of(
        shaping - episode.prev_shaping if episode.has_shaping else 0.0, action, self.float32_actions[0])
    episode.prev_shaping = shaping
    episode.has_shaping = 1
    if episode.game_over or x < 0:
        flags, reward[0] = TERMINATED, -100.0
    if x > GOAL:
        flags = TERMINATED
    return flags


# --- the kernel -------------------------------------------------------------------------------------------------------

cdef walker_episode_t no_episode
cdef walker_episode_t[:] no_episodes = <walker_episode_t[:1]> &no_episode
EPISODE_DTYPE = np.asarray(no_episodes).dtype

cdef double[4] NO_ACTION = [0.0, 0.0, 0.0, 0.0]
cdef family_t family
family.begin, family.is_valid, family.build, family.report = begin, is_valid, build, report_contact
family.step, family.observe = step, observe
family.action_size, family.first_action = 4, NO_ACTION
family.definition_count = DEFINITIONS
family.lane_bytes, family.episode_bytes, family.world_bytes = sizeof(walker_t), sizeof(walker_episode_t), 65536
family.drawn_bytes = EPISODE_DTYPE.fields["steps"][1]

kernel = CustomKernel(
    "walker", parts=((np.float32, (OBSERVED,)),), action=(np.float64, (4,)),
    parameters={"hardcore": 0.0, "fresh_worlds": 0.0}, functions=LANE_FUNCTIONS).capsule


cdef class Walkers(Worlds):
    """Worlds of walkers, for a batch of the kernel."""

    def __cinit__(self, **options):
        self.set_up_worlds(&family, EPISODE_DTYPE)
