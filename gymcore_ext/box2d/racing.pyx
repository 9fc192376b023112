"""CarRacing's physics around Box2D, for one lane, and its kernels. What is seen of it is in picture.pyx.

Gymnasium's order of operations and of random draws, in its precision: Python's float64, rounded to float32 where a
number goes to Box2D. gymcore/envs/box2d/car_racing_python.py is the same in Python.
"""
cimport numpy as cnp
from libc.math cimport cos, fabs, sin, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset

from gymcore_ext.box2d.picture cimport STATE, draw_observation
from gymcore_ext.box2d.track cimport CHECKPOINTS, MAX_POINTS, find_borders, lay_out, track_point_t
from gymcore_ext.box2d.worlds cimport (
    LARGE, MANY, Worlds, apply_force, are_flags, are_within, body_def_t, body_t, contact_t, empty_world, family_t,
    fixture_def_t, is_within, joint_angle, joint_def_t, lane_t, listen, polygon_shape_t, set_functions, step_world,
    vec_t, world_t, worlds_t,
)
from gymcore_ext.engine.step cimport TERMINATIONS
from gymcore_ext.lanes.lane_functions cimport TERMINATED, functions_capsule, lane_functions_t
from gymcore_ext.physics.lane cimport below, rng_t, uniform

import numpy as np

from gymcore_ext.lanes.custom_kernel import CustomKernel

cnp.import_array()


cdef double SCALE = 6.0, FPS = 50.0, PI = 3.141592653589793
cdef double TRACK_RAD = 900 / SCALE, TRACK_WIDTH = 40 / SCALE, BORDER = 8 / SCALE
cdef double PLAYFIELD = 2000 / SCALE
cdef double SIZE = 0.02
cdef double WHEEL_RADIUS = 27 * SIZE, WHEEL_INERTIA = 4000 * SIZE * SIZE
cdef double PUSH = 1.0 / FPS * (100000000 * SIZE * SIZE)
cdef double FRICTION_LIMIT = 1000000 * SIZE * SIZE, GRASS_FRICTION = 0.6, TYRE = 205000 * SIZE * SIZE
cdef double[WHEELS] WHEELS_X = [-55 * SIZE, 55 * SIZE, -55 * SIZE, 55 * SIZE]
cdef double[WHEELS] WHEELS_Y = [80 * SIZE, 80 * SIZE, -82 * SIZE, -82 * SIZE]
# Steering, gas and brake by discrete action: nothing, right, left, gas, brake.
cdef double[5][3] CHOICES = [[-0.0, 0.0, 0.0], [0.6, 0.0, 0.0], [-0.6, 0.0, 0.0], [-0.0, 0.2, 0.0], [-0.0, 0.0, 0.8]]

cdef enum:  # what Python makes, in the order of `definitions`; the hull has four fixtures, and each wheel a joint
    TILE, TILE_FIXTURE, TILE_SHAPE, HULL, HULL_FIXTURES, WHEEL = 8, WHEEL_FIXTURE, JOINTS, DEFINITIONS = 14

# Numbers of a lane: those that the episode began with, and those that steps change.
PROGRESS = np.dtype([
    ("draws", np.float64, (CHECKPOINTS, 2)), ("road_color", np.float64, (3,)), ("bg_color", np.float64, (3,)),
    ("grass_color", np.float64, (3,)), ("reward", np.float64), ("prev_reward", np.float64), ("t", np.float64),
    ("shown_reward", np.float64), ("fuel_spent", np.float64), ("lap_complete_percent", np.float64),
    ("wheels", [(name, np.float64) for name in ("gas", "brake", "steer", "phase", "omega")], (WHEELS,)),
    ("skids", [("mark", np.int64), ("points", np.int32), ("on_grass", np.int32), ("begins", np.int32),
               ("tiles", np.int32)], (WHEELS,)),
    ("marks", [("points", np.float32, (MARK_POINTS, 2)), ("count", np.int32), ("on_grass", np.int32)], (MARKS,)),
    ("marks_made", np.int64), ("tile_visited_count", np.int32), ("new_lap", np.int32), ("lap", np.int32),
    ("first", np.int32), ("tiles", np.int32), ("retries", np.int32), ("domain_randomize", np.int32),
    ("unused", np.int32), ("visited", np.uint8, (MAX_TILES,)), ("touched", np.uint8, (MAX_TILES,)),
])


cpdef enum:
    LAP_FINISHED = 1
    LEFT_THE_FIELD = 2


# --- an episode -------------------------------------------------------------------------------------------------------

cdef inline void set_corner(quad_t* quad, int corner, const track_point_t* point, double aside) noexcept nogil:
    quad.x[corner] = point.x + aside * cos(point.beta)
    quad.y[corner] = point.y + aside * sin(point.beta)


cdef void pave(scene_t* scene, const track_point_t* track, int count) noexcept nogil:
    """Compute the quads that are drawn: each piece of road, and its border."""
    cdef char borders[MAX_TILES]
    cdef const track_point_t* here
    cdef const track_point_t* before
    cdef quad_t* quad = scene.quads
    cdef double side
    cdef int k
    find_borders(track, count, borders)
    for k in range(count):
        here = &track[k]
        before = &track[k - 1 if k else count - 1]
        set_corner(quad, 0, here, -TRACK_WIDTH)
        set_corner(quad, 1, here, TRACK_WIDTH)
        set_corner(quad, 2, before, TRACK_WIDTH)
        set_corner(quad, 3, before, -TRACK_WIDTH)
        find_middle(quad)
        quad.tile = k
        quad.is_border = False
        quad += 1
        if borders[k]:
            side = (before.beta > here.beta) - (before.beta < here.beta)
            set_corner(quad, 0, here, side * TRACK_WIDTH)
            set_corner(quad, 1, here, side * (TRACK_WIDTH + BORDER))
            set_corner(quad, 2, before, side * (TRACK_WIDTH + BORDER))
            set_corner(quad, 3, before, side * TRACK_WIDTH)
            find_middle(quad)
            quad.tile = k
            quad.is_border = True
            quad += 1
    scene.quad_count = <int> (quad - scene.quads)


cdef bint has_possible_marks(const progress_t* progress) noexcept nogil:
    """Whether all points of marks have room, and a mark that grows is of one wheel."""
    cdef const skid_t* skid
    cdef const mark_t* mark
    cdef int k, j
    for k in range(MARKS):
        mark = &progress.marks[k]
        if not 0 <= mark.count <= MARK_POINTS or not are_flags(&mark.on_grass, 1):
            return False
        for j in range(MARK_POINTS):
            if not (is_within(mark.points[j][0], -1e9, 1e9) and is_within(mark.points[j][1], -1e9, 1e9)):
                return False
    for k in range(WHEELS):
        skid = &progress.skids[k]
        if not (-1 <= skid.mark < progress.marks_made and 0 <= skid.points <= MARK_POINTS
                and 0 <= skid.tiles <= MAX_TILES and are_flags(&skid.on_grass, 2)):
            return False
        if skid.mark >= progress.marks_made - MARKS and skid.mark >= 0:
            if progress.marks[skid.mark % MARKS].count != skid.points:
                return False
            for j in range(k):
                if progress.skids[j].mark == skid.mark:
                    return False
    return True


cdef bint is_possible(const void* saved, bint was_reset) noexcept nogil:
    cdef const progress_t* progress = <const progress_t*> saved
    cdef track_point_t[MAX_POINTS] curve
    cdef int k, first = 0, last = 1
    for k in range(CHECKPOINTS if was_reset else 0):
        if not (is_within(progress.draws[2 * k], 0.0, 2 * PI * 1 / CHECKPOINTS)
                and is_within(progress.draws[2 * k + 1], TRACK_RAD / 3, TRACK_RAD)):
            return False
    if was_reset and not lay_out(progress.draws, curve, &first, &last):
        return False
    for k in range(MAX_TILES):
        if progress.visited[k] > 1 or progress.touched[k] > 1:
            return False
    return (
        progress.first == first and progress.tiles == last - 1 - first
        and are_within(progress.road_color, 9, 0.0, 255.0)  # also the other two
        and are_within(&progress.reward, 5, -LARGE, LARGE) and is_within(progress.lap_complete_percent, 0.0, 1.0)
        and are_within(&progress.wheels[0].gas, 5 * WHEELS, -LARGE, LARGE) and 0 <= progress.marks_made <= MANY
        and 0 <= progress.tile_visited_count <= progress.tiles and are_flags(&progress.new_lap, 1)
        and 0 <= progress.lap <= LEFT_THE_FIELD and progress.retries >= 0 and are_flags(&progress.domain_randomize, 1)
        and has_possible_marks(progress))


cdef void build(const worlds_t* self, void* memory) noexcept nogil:
    """The road of the progress' draws, and the car on it. Box2D lists contacts in the order of creation."""
    cdef car_t* car = <car_t*> memory
    cdef lane_t* lane = &car.lane
    cdef progress_t* progress = &car.progress
    cdef scene_t* scene = &car.scene
    cdef world_t* world = lane.world
    cdef polygon_shape_t shape = (<const polygon_shape_t*> self.definitions[<int> TILE_SHAPE])[0]
    cdef fixture_def_t fixture = (<const fixture_def_t*> self.definitions[<int> TILE_FIXTURE])[0]
    cdef body_def_t place
    cdef joint_def_t joint
    cdef vec_t corners[4]
    cdef const track_point_t* start
    cdef body_t* body
    cdef int k, j, first, last
    lay_out(progress.draws, scene.curve, &first, &last)
    start = &scene.curve[first]
    progress.first = first
    progress.tiles = scene.tile_count = last - 1 - first
    pave(scene, start, progress.tiles)
    fixture.shape = &shape
    for k in range(scene.quad_count):
        if scene.quads[k].is_border:
            continue
        for j in range(4):
            corners[j].x = <float> scene.quads[k].x[j]
            corners[j].y = <float> scene.quads[k].y[j]
        self.calls.set_polygon(&shape, corners, 4)
        body = self.calls.create_body(world, self.definitions[<int> TILE])
        self.calls.create_fixture(body, &fixture)
        scene.tiles[scene.quads[k].tile] = body
    place = (<const body_def_t*> self.definitions[<int> HULL])[0]
    place.position.x = <float> start.x
    place.position.y = <float> start.y
    place.angle = <float> start.beta
    lane.moving[0] = self.calls.create_body(world, &place)
    for k in range(4):
        self.calls.create_fixture(lane.moving[0], self.definitions[HULL_FIXTURES + k])
    place = (<const body_def_t*> self.definitions[<int> WHEEL])[0]
    place.angle = <float> start.beta
    for k in range(WHEELS):
        place.position.x = <float> (start.x + WHEELS_X[k])
        place.position.y = <float> (start.y + WHEELS_Y[k])
        lane.moving[1 + k] = self.calls.create_body(world, &place)
        self.calls.create_fixture(lane.moving[1 + k], self.definitions[<int> WHEEL_FIXTURE])
        joint = (<const joint_def_t*> self.definitions[JOINTS + k])[0]
        joint.body_a = lane.moving[0]
        joint.body_b = lane.moving[1 + k]
        lane.joints[k] = self.calls.create_joint(world, &joint)
    lane.moving_count = 1 + WHEELS
    lane.joint_count = WHEELS
    scene.progress = progress
    scene.lane = lane
    listen(&self.calls, lane, record_contact, scene)
    progress.reward = progress.prev_reward = progress.t = progress.shown_reward = progress.fuel_spent = 0.0
    progress.tile_visited_count = progress.new_lap = progress.lap = 0
    progress.marks_made = 0
    memset(progress.wheels, 0, sizeof(progress.wheels))
    memset(progress.skids, 0, sizeof(progress.skids))
    memset(progress.marks, 0, sizeof(progress.marks))
    memset(progress.visited, 0, MAX_TILES)
    memset(progress.touched, 0, MAX_TILES)
    for k in range(WHEELS):
        progress.skids[k].mark = -1


cdef void clear(const worlds_t* self, car_t* car) noexcept nogil:
    """Remove the last episode's bodies. The order decides the numbers of later ones."""
    cdef lane_t* lane = &car.lane
    cdef int k
    if lane.builds == 0 or lane.world.body_count != lane.body_count:
        empty_world(&self.calls, lane.world, 0.0)
        return
    lane.world.manager.listener = NULL
    for k in range(car.scene.tile_count):
        self.calls.destroy_body(lane.world, car.scene.tiles[k])
    for k in range(lane.moving_count):
        self.calls.destroy_body(lane.world, lane.moving[k])


cdef void draw_colors(progress_t* progress, rng_t* rng) noexcept nogil:
    cdef int k
    for k in range(3):
        progress.road_color[k] = uniform(rng, 0.0, 210.0)
    for k in range(3):
        progress.bg_color[k] = progress.grass_color[k] = uniform(rng, 0.0, 210.0)
    progress.grass_color[below(rng, 3)] += 20


cdef void begin(
    const worlds_t* self, void* memory, const double* parameters, const double* options, rng_t* rng
) noexcept nogil:
    cdef car_t* car = <car_t*> memory
    cdef progress_t* progress = &car.progress
    cdef double reward
    cdef int k, first, last
    clear(self, car)
    if progress.domain_randomize and options[0] != 0.0:
        draw_colors(progress, rng)
    progress.retries = -1
    while True:
        progress.retries += 1
        for k in range(CHECKPOINTS):
            progress.draws[2 * k] = uniform(rng, 0.0, 2 * PI * 1 / CHECKPOINTS)
            progress.draws[2 * k + 1] = uniform(rng, TRACK_RAD / 3, TRACK_RAD)
        if lay_out(progress.draws, car.scene.curve, &first, &last):
            break
    progress.lap_complete_percent = parameters[0]
    build(self, car)
    step(self, car, parameters, NULL, False, rng, &reward)


# --- a step -----------------------------------------------------------------------------------------------------------

cdef void record_contact(void* subject, const contact_t* contact, int32_t touches) noexcept nogil:
    """Count on how many pieces of road each wheel is, and reward the first visit of each."""
    cdef scene_t* scene = <scene_t*> subject
    cdef progress_t* progress = scene.progress
    cdef body_t* tile = contact.fixture_a.body
    cdef body_t* other = contact.fixture_b.body
    cdef int index = 0, wheel = 0
    if tile.type != 0:
        tile, other = other, tile
    while index < progress.tiles and scene.tiles[index] != tile:
        index += 1
    if index == progress.tiles:
        return
    progress.touched[index] = 1  # also by the hull: it is drawn in the plain color from now on
    while wheel < WHEELS and scene.lane.moving[1 + wheel] != other:
        wheel += 1
    if wheel == WHEELS:
        return
    progress.skids[wheel].tiles += 1 if touches else -1
    if not touches or progress.visited[index]:
        return
    progress.visited[index] = 1
    progress.reward += 1000.0 / progress.tiles
    progress.tile_visited_count += 1
    # As in Gymnasium, only the first visit of the start counts.
    if index == 0 and <double> progress.tile_visited_count / progress.tiles > progress.lap_complete_percent:
        progress.new_lap = 1


cdef inline double sign(double value) noexcept nogil:
    return 1.0 if value > 0 else -1.0 if value < 0 else value * 0.0


cdef void mark_skid(progress_t* progress, int wheel, const vec_t* here, bint skids, bint on_grass) noexcept nogil:
    """Begin, extend or end the mark that a wheel leaves. The oldest mark makes room, even while it grows."""
    cdef skid_t* skid = &progress.skids[wheel]
    cdef mark_t* mark
    if not skids:
        skid.begins = 0
        skid.mark = -1
    elif skid.mark >= 0 and skid.on_grass == on_grass and skid.points < MARK_POINTS:
        mark = &progress.marks[skid.mark % MARKS]
        if skid.mark >= progress.marks_made - MARKS:
            mark.points[skid.points][0] = here.x
            mark.points[skid.points][1] = here.y
            mark.count += 1
        skid.points += 1
    elif not skid.begins:  # a skid of one step leaves no mark
        skid.begins = 1
    else:
        mark = &progress.marks[progress.marks_made % MARKS]
        mark.points[0][0] = mark.points[1][0] = here.x
        mark.points[0][1] = mark.points[1][1] = here.y
        mark.count = skid.points = 2
        mark.on_grass = skid.on_grass = on_grass
        skid.mark = progress.marks_made
        skid.begins = 0
        progress.marks_made += 1


cdef inline void drive_wheel(const worlds_t* self, lane_t* lane, progress_t* progress, int k) noexcept nogil:
    """Turn a wheel and apply its tyre's force."""
    cdef wheel_t* wheel = &progress.wheels[k]
    cdef body_t* body = lane.moving[1 + k]
    cdef bint on_grass = progress.skids[k].tiles == 0
    cdef double missing = wheel.steer - joint_angle(lane.joints[k])
    cdef double grip = FRICTION_LIMIT * GRASS_FRICTION if on_grass else FRICTION_LIMIT * 1.0
    # The wheel's own axes in the world: to its side, and ahead a quarter turn from that.
    cdef double side_x = body.cosine * <float> 1.0 - body.sine * <float> 0.0
    cdef double side_y = body.sine * <float> 1.0 + body.cosine * <float> 0.0
    cdef double ahead_x = -side_y, ahead_y = side_x
    cdef double speed_ahead = ahead_x * body.velocity.x + ahead_y * body.velocity.y
    cdef double speed_side = side_x * body.velocity.x + side_y * body.velocity.y
    cdef double omega = wheel.omega, force_ahead, force_side, force
    self.calls.set_motor_speed(lane.joints[k], <float> (sign(missing) * min(50.0 * fabs(missing), 3.0)))
    # Power is torque times omega; the 5 keeps the torque finite at rest.
    omega += PUSH * wheel.gas / WHEEL_INERTIA / (fabs(omega) + 5.0)
    progress.fuel_spent += PUSH * wheel.gas
    if wheel.brake >= 0.9:
        omega = 0.0
    elif wheel.brake > 0:
        omega += -sign(omega) * min(15 * wheel.brake, fabs(omega))
    wheel.phase += omega * (1.0 / FPS)
    force_ahead = (-speed_ahead + omega * WHEEL_RADIUS) * TYRE
    force_side = -speed_side * TYRE
    force = sqrt(force_ahead * force_ahead + force_side * force_side)
    mark_skid(progress, k, &body.position, force > 2.0 * grip, on_grass)
    if force > grip:
        force_ahead = force_ahead / force * grip
        force_side = force_side / force * grip
    wheel.omega = omega - (1.0 / FPS) * force_ahead * WHEEL_RADIUS / WHEEL_INERTIA
    apply_force(body, <float> (force_side * side_x + force_ahead * ahead_x),
                <float> (force_side * side_y + force_ahead * ahead_y))


cdef int step(
    const worlds_t* self, void* memory, const double* parameters, const double* action, bint float32_action, rng_t* rng,
    double* reward
) noexcept nogil:
    """Drive for a fiftieth of a second; without an action (NULL) nothing is paid for it."""
    cdef lane_t* lane = &(<car_t*> memory).lane
    cdef progress_t* progress = &(<car_t*> memory).progress
    cdef wheel_t* wheels = progress.wheels
    cdef const body_t* hull = lane.moving[0]
    cdef int flags = 0
    cdef int k
    if action != NULL:
        wheels[0].steer = wheels[1].steer = -action[0]
        for k in range(WHEELS):
            if k >= 2:
                wheels[k].gas += min(min(max(action[1], 0.0), 1.0) - wheels[k].gas, 0.1)
            wheels[k].brake = action[2]
    for k in range(WHEELS):
        drive_wheel(self, lane, progress, k)
    step_world(&self.calls, lane)
    progress.t += 1.0 / FPS
    progress.shown_reward = progress.reward  # without the step's cost
    progress.lap = 0
    reward[0] = 0.0
    if action == NULL:
        return 0
    progress.reward -= 0.1
    progress.fuel_spent = 0.0
    reward[0] = progress.reward - progress.prev_reward
    progress.prev_reward = progress.reward
    if progress.tile_visited_count == progress.tiles or progress.new_lap:
        flags, progress.lap = TERMINATED, LAP_FINISHED
    if fabs(hull.position.x) > PLAYFIELD or fabs(hull.position.y) > PLAYFIELD:
        flags, progress.lap = TERMINATED, LEFT_THE_FIELD
        reward[0] = -100.0
    return flags


cdef void observe(const worlds_t* self, const void* memory, void* observation) noexcept nogil:
    cdef const car_t* car = <const car_t*> memory
    draw_observation(&car.progress, &car.lane, &car.scene, <uint8_t*> observation)


cdef void write_infos(const void* car, const void* shared, void* const* infos) noexcept nogil:
    (<uint8_t*> infos[0])[0] = (<const car_t*> car).progress.lap == LAP_FINISHED


# --- the kernels ------------------------------------------------------------------------------------------------------

cdef family_t family
family.begin, family.is_possible, family.build = begin, is_possible, build
family.step, family.observe = step, observe
family.choices, family.choice_count, family.action_size = CHOICES[0], 5, 3
family.definition_count = DEFINITIONS
family.lane_bytes, family.progress_bytes, family.world_bytes = sizeof(car_t), sizeof(progress_t), 65536

cdef lane_functions_t functions_of_lane
set_functions(&functions_of_lane)
functions_of_lane.write_infos = write_infos
_functions = functions_capsule(&functions_of_lane)


def _declare_kernel(action, ranges=()):
    return CustomKernel(
        "racing", parts=((np.uint8, (STATE, STATE, 3)),), action=action, ranges=ranges,
        parameters={"lap_complete_percent": 0.95}, reset_options={"randomize": 1.0},
        infos=(("lap_finished", np.bool_, 1, TERMINATIONS),), functions=_functions).capsule


kernel = _declare_kernel((np.float64, (3,)))
discrete_kernel = _declare_kernel((np.int64, ()), ((0, 5),))


cdef class Cars(Worlds):
    """Worlds of racing cars, for a batch of one of the kernels.

    Args:
        lowest: the lowest score that can be shown.
        shades: uint8 [scores, height, width]: the texts "-000", and of all scores from `lowest` on, white on black.
        widths: int32 [scores], of the texts.
    """

    cdef texts_t texts
    cdef tuple arrays  # of the texts

    def __cinit__(self, *, int lowest, object shades, object widths, **options):
        cdef int64_t i
        shades, widths = np.ascontiguousarray(shades, np.uint8), np.ascontiguousarray(widths, np.int32)
        if (shades.ndim != 3 or not 1 < len(shades) == len(widths) or widths.min() < 0
                or widths.max() > shades.shape[2]):
            raise ValueError(f"shades: expected uint8 [scores, height, width], got {shades.dtype} {np.shape(shades)}")
        self.set_up_worlds(&family, PROGRESS, _functions)
        self.arrays = shades, widths
        self.texts.shades = <const uint8_t*> cnp.PyArray_DATA(<cnp.ndarray> shades)
        self.texts.widths = <const int32_t*> cnp.PyArray_DATA(<cnp.ndarray> widths)
        self.texts.lowest, self.texts.highest = lowest, lowest + len(shades) - 2
        self.texts.height, self.texts.width = shades.shape[1], shades.shape[2]
        for i in range(len(self)):
            self._car(i).scene.texts = &self.texts

    cdef car_t* _car(self, Py_ssize_t lane) except NULL:
        return <car_t*> self._lane(lane)

    def track(self, Py_ssize_t lane):
        """float64 [tiles, 4]: alpha, beta, x and y of the points of the center line."""
        cdef const progress_t* progress = &self._car(lane).progress
        cdef const track_point_t* track = self._car(lane).scene.curve + progress.first
        return np.array([(track[k].alpha, track[k].beta, track[k].x, track[k].y) for k in range(progress.tiles)])

    def quads(self, Py_ssize_t lane):
        """float64 [quads, 4, 2]: corners of the pieces of road, each followed by its border if it has one, and int
        [quads]: which piece of road, or -1 for a border."""
        cdef const scene_t* scene = &self._car(lane).scene
        cdef Py_ssize_t k, j
        corners = [[(scene.quads[k].x[j], scene.quads[k].y[j]) for j in range(4)] for k in range(scene.quad_count)]
        return np.array(corners), np.array(
            [-1 if scene.quads[k].is_border else scene.quads[k].tile for k in range(scene.quad_count)])
