"""CarRacing's physics around Box2D, for one lane, and its kernels. What is seen of it is in picture.pyx.

Operations and random draws have Gymnasium's order and precision: Python's float64, rounded to float32 for Box2D.
gymcore/envs/box2d/car_racing_python.py has the same physics in Python.
"""
cimport numpy as cnp
from libc.math cimport atan2, cos, fabs, sin, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t

from gymcore_ext.box2d.picture cimport STATE, draw_observation
from gymcore_ext.box2d.structures cimport apply_force, body_def_t, body_t, contact_t, joint_angle, vec_t
from gymcore_ext.box2d.worlds cimport (
    MAX_COUNT, MAX_NUMBER, Worlds, add_moving_body, add_quad, are_within, family_t, remove_bodies, step_world,
    world_lane_t, worlds_t,
)
from gymcore_ext.engine.kernel cimport TERMINATIONS
from gymcore_ext.lanes.lane_functions cimport TERMINATED
from gymcore_ext.physics.lane cimport PI, below, rng_t, uniform

import numpy as np

from gymcore_ext.box2d.worlds import LANE_FUNCTIONS
from gymcore_ext.lanes.custom_kernel import CustomKernel

cnp.import_array()


cdef enum:
    MAX_POINTS = 2500    # most points of a curve
    BORDER_LENGTH = 4    # minimum number of pieces of a hard turn

cdef double SCALE = 6.0, FPS = 50.0
cdef double TRACK_RAD = 900 / SCALE, TRACK_WIDTH = 40 / SCALE, BORDER = 8 / SCALE
cdef double TRACK_DETAIL = 21 / SCALE, TRACK_TURN = 0.31, START_ALPHA = 2 * PI * (-0.5) / CHECKPOINTS
cdef double PLAYFIELD = 2000 / SCALE
cdef double SIZE = 0.02
cdef double WHEEL_RADIUS = 27 * SIZE, WHEEL_INERTIA = 4000 * SIZE * SIZE
cdef double PUSH = 1.0 / FPS * (100000000 * SIZE * SIZE)
cdef double FRICTION_LIMIT = 1000000 * SIZE * SIZE, GRASS_FRICTION = 0.6, TYRE = 205000 * SIZE * SIZE
cdef double[WHEELS] WHEELS_X = [-55 * SIZE, 55 * SIZE, -55 * SIZE, 55 * SIZE]
cdef double[WHEELS] WHEELS_Y = [80 * SIZE, 80 * SIZE, -82 * SIZE, -82 * SIZE]
# Steering, gas and brake by discrete action: nothing, right, left, gas, brake.
cdef double[5][3] CHOICES = [[-0.0, 0.0, 0.0], [0.6, 0.0, 0.0], [-0.6, 0.0, 0.0], [-0.0, 0.2, 0.0], [-0.0, 0.0, 0.8]]

cdef enum:  # indices of the definitions that Python makes; the hull has four fixtures, and each wheel a joint
    TILE, TILE_FIXTURE, TILE_SHAPE, HULL, HULL_FIXTURES, WHEEL = 8, WHEEL_FIXTURE, JOINTS, DEFINITIONS = 14


cpdef enum:
    LAP_FINISHED = 1
    LEFT_THE_FIELD = 2


ctypedef struct track_point_t:
    double alpha, beta, x, y   # direction from the origin, angle of the car, position

ctypedef struct curve_t:
    track_point_t points[MAX_POINTS]
    int first, tiles           # the track consists of the points from `first` on, one for each tile


# --- the track --------------------------------------------------------------------------------------------------------

cdef bint compute_curve(const double* draws, curve_t* curve) noexcept nogil:
    """Compute a curve from the drawn angle and radius of each checkpoint. Return false if it is not closed.

    The curve is Gymnasium's. It starts on the x axis and turns toward one checkpoint after the other, for five laps.
    The last complete lap is the track. The same draws result in the same track, to the bit.
    """
    cdef double[CHECKPOINTS] alphas, to_x, to_y
    cdef double alpha, radius, before, turn, sideways, ahead_x, ahead_y, x = 1.5 * TRACK_RAD, y = 0.0, beta = 0.0
    cdef track_point_t* points = curve.points
    cdef int k, last = 0, count = 0, target = 0, laps = 0
    cdef bint on_other_side = False
    for k in range(CHECKPOINTS):
        alpha = 2 * PI * k / CHECKPOINTS + draws[2 * k]
        radius = draws[2 * k + 1]
        if k == 0:
            alpha, radius = 0.0, 1.5 * TRACK_RAD
        elif k == CHECKPOINTS - 1:
            alpha, radius = 2 * PI * k / CHECKPOINTS, 1.5 * TRACK_RAD
        alphas[k] = alpha
        to_x[k] = radius * cos(alpha)
        to_y[k] = radius * sin(alpha)
    while count < MAX_POINTS and laps <= 4:
        alpha = atan2(y, x)
        if on_other_side and alpha > 0:
            laps += 1
            on_other_side = False
        if alpha < 0:
            on_other_side = True
            alpha += 2 * PI
        # Find the next checkpoint ahead; after the last one, the angle continues below that of the first.
        while alpha > alphas[target % CHECKPOINTS]:
            target += 1
            if target % CHECKPOINTS == 0:
                alpha -= 2 * PI
        k = target % CHECKPOINTS
        ahead_x = cos(beta)
        ahead_y = sin(beta)
        # Distance of the checkpoint to the side, in pixels of the original.
        sideways = (ahead_x * (to_x[k] - x) + ahead_y * (to_y[k] - y)) * SCALE
        while beta - alpha > 1.5 * PI:
            beta -= 2 * PI
        while beta - alpha < -1.5 * PI:
            beta += 2 * PI
        before = beta
        turn = min(TRACK_TURN, fabs(0.001 * sideways))
        if sideways > 0.3:
            beta -= turn
        elif sideways < -0.3:
            beta += turn
        x += -ahead_y * TRACK_DETAIL
        y += ahead_x * TRACK_DETAIL
        points[count].alpha = alpha
        points[count].beta = before * 0.5 + beta * 0.5
        points[count].x = x
        points[count].y = y
        count += 1
    # Search backward for the points where the curve passes the start: the last two bound the track.
    curve.first = 0
    for k in range(count - 1, 0, -1):
        if points[k].alpha > START_ALPHA and points[k - 1].alpha <= START_ALPHA:
            if last:
                curve.first = k
                break
            last = k
    curve.tiles = last - 1 - curve.first
    if curve.first == 0 or curve.tiles < 1:
        return False
    x = cos(points[curve.first].beta) * (points[curve.first].x - points[last - 2].x)
    y = sin(points[curve.first].beta) * (points[curve.first].y - points[last - 2].y)
    return sqrt(x * x + y * y) <= TRACK_DETAIL


cdef void find_borders(const track_point_t* track, int count, char* borders) noexcept nogil:
    """Determine whether each piece of the track is in a hard turn, and so has a red and white border."""
    cdef double turn
    cdef int k, back, left, right
    for k in range(count):
        left = right = 0
        for back in range(BORDER_LENGTH):
            turn = track[(k - back + count) % count].beta - track[(k - back - 1 + count) % count].beta
            left += turn > TRACK_TURN * 0.2
            right += turn < -(TRACK_TURN * 0.2)
        borders[k] = left == BORDER_LENGTH or right == BORDER_LENGTH
    for k in range(count):
        for back in range(BORDER_LENGTH):
            borders[(k - back + count) % count] |= borders[k]


# --- an episode -------------------------------------------------------------------------------------------------------

cdef void set_corners(
    double* corners, const track_point_t* here, const track_point_t* before, double near, double far
) noexcept nogil:
    """Set the corners of a quadrilateral between two points of the track, from `near` to `far` meters beside it."""
    cdef const track_point_t* point
    cdef double aside
    cdef int k
    for k in range(4):
        point = here if k < 2 else before
        aside = near if k == 0 or k == 3 else far
        corners[2 * k] = point.x + aside * cos(point.beta)
        corners[2 * k + 1] = point.y + aside * sin(point.beta)


cdef bint is_valid(const void* saved, bint was_reset) noexcept nogil:
    cdef const car_episode_t* episode = <const car_episode_t*> saved
    cdef curve_t curve
    cdef int k
    curve.first = curve.tiles = 0
    for k in range(CHECKPOINTS if was_reset else 0):
        if not (0.0 <= episode.draws[k][0] <= 2 * PI * 1 / CHECKPOINTS
                and TRACK_RAD / 3 <= episode.draws[k][1] <= TRACK_RAD):
            return False
    if was_reset and not compute_curve(&episode.draws[0][0], &curve):
        return False
    return (
        are_within[double](episode.road_color, &episode.lap_complete_percent, 0.0, 255.0)
        and 0.0 <= episode.lap_complete_percent <= 1.0 and 0 <= episode.domain_randomize <= 1 and episode.retries >= 0
        and episode.first == curve.first and episode.tiles == curve.tiles
        and are_within[double](&episode.reward, &episode.marks_made, -MAX_NUMBER, MAX_NUMBER)
        and 0 <= episode.marks_made <= MAX_COUNT
        and are_within[int64_t](episode.skid_mark, episode.skid_points, 0, episode.marks_made)
        and are_within[int32_t](episode.skid_points, episode.skid_on_grass, 0, MARK_POINTS)
        and are_within[int32_t](episode.skid_on_grass, episode.wheel_tiles, 0, 1)
        and are_within[int32_t](episode.wheel_tiles, episode.mark_counts, 0, MAX_TILES)
        and are_within[int32_t](episode.mark_counts, episode.mark_on_grass, 0, MARK_POINTS)
        and are_within[int32_t](episode.mark_on_grass, episode.marks, 0, 1)
        and are_within[float](episode.marks, &episode.tile_visited_count, -1e9, 1e9)
        and 0 <= episode.tile_visited_count <= episode.tiles and 0 <= episode.new_lap <= 1
        and 0 <= episode.lap <= LEFT_THE_FIELD
        and are_within[uint8_t](episode.visited, &episode.touched[MAX_TILES], 0, 1))


cdef void draw_colors(car_episode_t* episode, rng_t* rng) noexcept nogil:
    cdef int k
    for k in range(3):
        episode.road_color[k] = uniform(rng, 0.0, 210.0)
    for k in range(3):
        episode.bg_color[k] = episode.grass_color[k] = uniform(rng, 0.0, 210.0)
    episode.grass_color[below(rng, 3)] += 20


cdef void begin(
    const worlds_t* self, world_lane_t* lane, const double* parameters, const double* options, rng_t* rng
) noexcept nogil:
    cdef car_episode_t* episode = &(<car_t*> lane).episode
    cdef curve_t curve
    cdef bint is_closed = False
    cdef int k
    remove_bodies(self, lane, 0.0, True)
    if episode.domain_randomize and options[0] != 0.0:
        draw_colors(episode, rng)
    episode.retries = -1
    while not is_closed:
        episode.retries += 1
        for k in range(CHECKPOINTS):
            episode.draws[k][0] = uniform(rng, 0.0, 2 * PI * 1 / CHECKPOINTS)
            episode.draws[k][1] = uniform(rng, TRACK_RAD / 3, TRACK_RAD)
        is_closed = compute_curve(&episode.draws[0][0], &curve)
    episode.lap_complete_percent = parameters[0]


cdef void build(const worlds_t* self, world_lane_t* lane) noexcept nogil:
    """Create road and car from the episode's draws. The order of creation decides the order of contacts in Box2D."""
    cdef car_t* car = <car_t*> lane
    cdef curve_t curve
    cdef const track_point_t* start
    cdef const track_point_t* before
    cdef body_def_t place
    cdef body_t* hull
    cdef double side
    cdef int k
    compute_curve(&car.episode.draws[0][0], &curve)
    start = &curve.points[curve.first]
    car.episode.first, car.episode.tiles = curve.first, curve.tiles
    find_borders(start, curve.tiles, car.has_border)
    for k in range(curve.tiles):
        before = &start[k - 1 if k else curve.tiles - 1]
        set_corners(car.roads[k][0], &start[k], before, -TRACK_WIDTH, TRACK_WIDTH)
        if car.has_border[k]:
            side = (before.beta > start[k].beta) - (before.beta < start[k].beta)
            set_corners(car.borders[k][0], &start[k], before, side * TRACK_WIDTH, side * (TRACK_WIDTH + BORDER))
        car.tiles[k] = add_quad(self, lane, TILE, car.roads[k][0])
    place = (<const body_def_t*> self.definitions[<int> HULL])[0]
    place.position.x, place.position.y = <float> start.x, <float> start.y
    place.angle = <float> start.beta
    hull = add_moving_body(self, lane, &place, self.definitions[<int> HULL_FIXTURES], 0, NULL)
    for k in range(1, 4):
        self.calls.create_fixture(hull, self.definitions[HULL_FIXTURES + k])
    place = (<const body_def_t*> self.definitions[<int> WHEEL])[0]
    place.angle = <float> start.beta
    for k in range(WHEELS):
        place.position.x, place.position.y = <float> (start.x + WHEELS_X[k]), <float> (start.y + WHEELS_Y[k])
        add_moving_body(self, lane, &place, self.definitions[<int> WHEEL_FIXTURE], 0, self.definitions[JOINTS + k])


cdef void report_contact(world_lane_t* lane, const contact_t* contact, bint touches) noexcept nogil:
    """Count the pieces of road that each wheel is on, and reward the first visit of each piece."""
    cdef car_t* car = <car_t*> lane
    cdef car_episode_t* episode = &car.episode
    cdef body_t* tile = contact.fixture_a.body
    cdef body_t* other = contact.fixture_b.body
    cdef int index = 0, wheel = 0
    if tile.type != 0:
        tile, other = other, tile
    while index < episode.tiles and car.tiles[index] != tile:
        index += 1
    if index == episode.tiles:
        return
    episode.touched[index] = 1  # a wheel or the hull touches it: from now on, the piece has the plain color
    while wheel < WHEELS and lane.moving[1 + wheel] != other:
        wheel += 1
    if wheel == WHEELS:
        return
    episode.wheel_tiles[wheel] += 1 if touches else -1
    if not touches or episode.visited[index]:
        return
    episode.visited[index] = 1
    episode.reward += 1000.0 / episode.tiles
    episode.tile_visited_count += 1
    # As in Gymnasium, a lap is complete only at the first visit of the start.
    if index == 0 and <double> episode.tile_visited_count / episode.tiles > episode.lap_complete_percent:
        episode.new_lap = 1


# --- a step -----------------------------------------------------------------------------------------------------------

cdef inline double sign(double value) noexcept nogil:
    return 1.0 if value > 0 else -1.0 if value < 0 else value * 0.0


cdef void mark_skid(car_episode_t* episode, int wheel, const vec_t* here, bint skids, bint on_grass) noexcept nogil:
    """Begin, extend or end the mark of a wheel. A new mark replaces the oldest one, even while that one grows."""
    cdef int64_t mark = episode.skid_mark[wheel]
    cdef int points = episode.skid_points[wheel], slot
    if not skids:
        episode.skid_begins[wheel] = 0
        episode.skid_mark[wheel] = 0
    elif mark > 0 and episode.skid_on_grass[wheel] == on_grass and points < MARK_POINTS:
        if mark > episode.marks_made - MARKS:
            slot = (mark - 1) % MARKS
            episode.marks[slot][points][0], episode.marks[slot][points][1] = here.x, here.y
            episode.mark_counts[slot] = points + 1
        episode.skid_points[wheel] += 1
    elif not episode.skid_begins[wheel]:  # a skid of one step leaves no mark
        episode.skid_begins[wheel] = 1
    else:
        slot = episode.marks_made % MARKS
        for points in range(2):
            episode.marks[slot][points][0], episode.marks[slot][points][1] = here.x, here.y
        episode.mark_counts[slot] = episode.skid_points[wheel] = 2
        episode.mark_on_grass[slot] = episode.skid_on_grass[wheel] = on_grass
        episode.marks_made += 1
        episode.skid_mark[wheel] = episode.marks_made
        episode.skid_begins[wheel] = 0


cdef inline void drive_wheel(const worlds_t* self, world_lane_t* lane, car_episode_t* episode, int k) noexcept nogil:
    """Turn a wheel and apply the force of its tire."""
    cdef body_t* body = lane.moving[1 + k]
    cdef bint on_grass = episode.wheel_tiles[k] == 0
    cdef double missing = episode.steer[k] - joint_angle(lane.joints[k])
    cdef double grip = FRICTION_LIMIT * GRASS_FRICTION if on_grass else FRICTION_LIMIT * 1.0
    # The axes of the wheel in the world: to its side, and a quarter turn from that, ahead.
    cdef double side_x = body.cosine * <float> 1.0 - body.sine * <float> 0.0
    cdef double side_y = body.sine * <float> 1.0 + body.cosine * <float> 0.0
    cdef double ahead_x = -side_y, ahead_y = side_x
    cdef double speed_ahead = ahead_x * body.velocity.x + ahead_y * body.velocity.y
    cdef double speed_side = side_x * body.velocity.x + side_y * body.velocity.y
    cdef double omega = episode.omega[k], force_ahead, force_side, force
    self.calls.set_motor_speed(lane.joints[k], <float> (sign(missing) * min(50.0 * fabs(missing), 3.0)))
    # Power is torque times omega; adding 5 keeps the torque finite at rest.
    omega += PUSH * episode.gas[k] / WHEEL_INERTIA / (fabs(omega) + 5.0)
    episode.fuel_spent += PUSH * episode.gas[k]
    if episode.brake[k] >= 0.9:
        omega = 0.0
    elif episode.brake[k] > 0:
        omega += -sign(omega) * min(15 * episode.brake[k], fabs(omega))
    episode.phase[k] += omega * (1.0 / FPS)
    force_ahead = (-speed_ahead + omega * WHEEL_RADIUS) * TYRE
    force_side = -speed_side * TYRE
    force = sqrt(force_ahead * force_ahead + force_side * force_side)
    mark_skid(episode, k, &body.position, force > 2.0 * grip, on_grass)
    if force > grip:
        force_ahead = force_ahead / force * grip
        force_side = force_side / force * grip
    episode.omega[k] = omega - (1.0 / FPS) * force_ahead * WHEEL_RADIUS / WHEEL_INERTIA
    apply_force(body, <float> (force_side * side_x + force_ahead * ahead_x),
                <float> (force_side * side_y + force_ahead * ahead_y))


cdef int step(
    const worlds_t* self, world_lane_t* lane, const double* parameters, const double* action, rng_t* rng, double* reward
) noexcept nogil:
    """Drive for a fiftieth of a second. Without an action (NULL), the step costs no reward."""
    cdef car_episode_t* episode = &(<car_t*> lane).episode
    cdef const body_t* hull = lane.moving[0]
    cdef int flags = 0
    cdef int k
    if action != NULL:
        episode.steer[0] = episode.steer[1] = -action[0]
        for k in range(WHEELS):
            if k >= 2:
                episode.gas[k] += min(min(max(action[1], 0.0), 1.0) - episode.gas[k], 0.1)
            episode.brake[k] = action[2]
    for k in range(WHEELS):
        drive_wheel(self, lane, episode, k)
    step_world(self, lane)
    episode.t += 1.0 / FPS
    episode.shown_reward = episode.reward  # without the cost of this step
    episode.lap = 0
    reward[0] = 0.0
    if action == NULL:
        return 0
    episode.reward -= 0.1
    episode.fuel_spent = 0.0
    reward[0] = episode.reward - episode.prev_reward
    episode.prev_reward = episode.reward
    if episode.tile_visited_count == episode.tiles or episode.new_lap:
        flags, episode.lap = TERMINATED, LAP_FINISHED
    if fabs(hull.position.x) > PLAYFIELD or fabs(hull.position.y) > PLAYFIELD:
        flags, episode.lap = TERMINATED, LEFT_THE_FIELD
        reward[0] = -100.0
    return flags


cdef void observe(const worlds_t* self, const world_lane_t* lane, void* observation) noexcept nogil:
    draw_observation(<const car_t*> lane, <const score_images_t*> self.score_images, <uint8_t*> observation)


cdef void write_infos(const world_lane_t* lane, void* const* infos) noexcept nogil:
    (<uint8_t*> infos[0])[0] = (<const car_t*> lane).episode.lap == LAP_FINISHED


# --- the kernels ------------------------------------------------------------------------------------------------------

cdef car_episode_t no_episode
cdef car_episode_t[:] no_episodes = <car_episode_t[:1]> &no_episode
EPISODE_DTYPE = np.asarray(no_episodes).dtype

cdef family_t family
family.begin, family.is_valid, family.build, family.report = begin, is_valid, build, report_contact
family.step, family.observe, family.write_infos = step, observe, write_infos
family.choices, family.choice_count, family.action_size = CHOICES[0], 5, 3
family.definition_count = DEFINITIONS
family.lane_bytes, family.episode_bytes, family.world_bytes = sizeof(car_t), sizeof(car_episode_t), 65536
family.drawn_bytes = EPISODE_DTYPE.fields["reward"][1]


def _declare_kernel(action, ranges=()):
    return CustomKernel(
        "racing", parts=((np.uint8, (STATE, STATE, 3)),), action=action, ranges=ranges,
        parameters={"lap_complete_percent": 0.95}, reset_options={"randomize": 1.0},
        infos=(("lap_finished", np.bool_, 1, TERMINATIONS),), functions=LANE_FUNCTIONS).capsule


kernel = _declare_kernel((np.float64, (3,)))
discrete_kernel = _declare_kernel((np.int64, ()), ((0, 5),))


cdef class Cars(Worlds):
    """Worlds of racing cars, for a batch of one of the kernels.

    Args:
        lowest: the lowest score that can be shown.
        shades: uint8 [scores, height, width]: the text "-000" and those of all scores from `lowest` on, white on black.
        widths: int32 [scores], widths of the images.
    """

    cdef score_images_t score_images
    cdef tuple arrays  # keeps the arrays of the images alive

    def __cinit__(self, *, int lowest, object shades, object widths, **options):
        shades, widths = np.ascontiguousarray(shades, np.uint8), np.ascontiguousarray(widths, np.int32)
        if (shades.ndim != 3 or not 1 < len(shades) == len(widths) or widths.min() < 0
                or widths.max() > shades.shape[2]):
            raise ValueError(f"shades: expected uint8 [scores, height, width], got {shades.dtype} {np.shape(shades)}")
        self.set_up_worlds(&family, EPISODE_DTYPE)
        self.arrays = shades, widths
        self.score_images.shades = <const uint8_t*> cnp.PyArray_DATA(<cnp.ndarray> shades)
        self.score_images.widths = <const int32_t*> cnp.PyArray_DATA(<cnp.ndarray> widths)
        self.score_images.lowest, self.score_images.highest = lowest, lowest + len(shades) - 2
        self.score_images.height, self.score_images.width = shades.shape[1], shades.shape[2]
        self.shared.score_images = &self.score_images
