"""CarRacing's physics around Box2D, for one lane, its observation, and its kernels.

Gymnasium's order of operations and of random draws, in its precision: Python's float64, rounded to float32 where a
number goes to Box2D. gymcore/envs/box2d/car_racing_python.py is the same in Python.
"""
cimport numpy as cnp
from libc.math cimport copysign, cos, fabs, fmod, hypot, rint, signbit, sin, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memset

from gymcore_ext.box2d.track cimport CHECKPOINTS, MAX_POINTS, find_borders, lay_out, track_point_t
from gymcore_ext.box2d.worlds cimport (
    BOOL, POLYGON, UINT8, Worlds, apply_force, below, body_def_t, body_t, contact_t, empty_world, family_t,
    fixture_def_t, fixture_t, joint_angle, joint_def_t, lane_t, listen, make_kernel, polygon_shape_t, step_world,
    uniform, vec_t, world_t, worlds_t,
)
from gymcore_ext.engine.step cimport TERMINATED, TERMINATIONS, columns_t, flag_t, info_field_t, rng_t

import numpy as np

cnp.import_array()


cdef extern from "box2d/raster.h":
    enum:
        IMAGE_WIDTH "RASTER_WIDTH"
        IMAGE_HEIGHT "RASTER_HEIGHT"
        STATE "RASTER_STATE"
        HIDDEN_ROWS "RASTER_LOWEST"
        MAX_CORNERS "RASTER_MAX_CORNERS"

    ctypedef struct pixel_t "raster_point":
        int x, y

    ctypedef struct image_t "raster_image":
        uint32_t pixels[IMAGE_HEIGHT][IMAGE_WIDTH]

    image_t* image_of_thread "raster_of_thread"() noexcept nogil
    uint32_t color_of "raster_color"(const uint8_t* rgb) noexcept nogil
    void fill "raster_fill"(uint32_t* pixels, int count, uint32_t color) noexcept nogil
    void draw_ground "raster_ground"(image_t* image, const pixel_t* corners, int count, uint32_t color) noexcept nogil
    void draw_polygon "raster_polygon"(image_t* image, const pixel_t* corners, int count, uint32_t color) noexcept nogil
    void draw_rectangle "raster_rectangle"(image_t* image, pixel_t a, pixel_t b, uint32_t color) noexcept nogil
    void draw_gray "raster_gray"(
        image_t* image, const uint8_t* shades, int height, int width, int row_length, int x, int y) noexcept nogil
    void rescale "raster_rescale"(const image_t* image, uint8_t* state) noexcept nogil


cdef enum:
    WHEELS = 4
    MARKS = 30         # of skidding wheels that are kept
    MARK_POINTS = 30   # of one of them
    MAX_TILES = 2504   # a track has some 300
    SQUARES = 20       # of darker grass, in a row

cdef double SCALE = 6.0, FPS = 50.0, PI = 3.141592653589793
cdef double TRACK_RAD = 900 / SCALE, TRACK_WIDTH = 40 / SCALE, BORDER = 8 / SCALE
cdef double PLAYFIELD = 2000 / SCALE, GRASS_DIM = PLAYFIELD / 20.0, ZOOM = 2.7
cdef double SIZE = 0.02
cdef double WHEEL_RADIUS = 27 * SIZE, WHEEL_WIDTH = 14 * SIZE, WHEEL_INERTIA = 4000 * SIZE * SIZE
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


ctypedef struct wheel_t:
    double gas, brake, steer, phase, omega


ctypedef struct skid_t:     # of a wheel
    int64_t mark            # the number of the mark that it makes, or -1
    int32_t points, on_grass
    int32_t begins          # whether it has skidded for a step
    int32_t tiles           # how many it is on


ctypedef struct mark_t:
    float points[MARK_POINTS][2]
    int32_t count, on_grass


cpdef enum:
    LAP_FINISHED = 1
    LEFT_THE_FIELD = 2

ctypedef struct progress_t:
    double draws[2 * CHECKPOINTS]
    double road_color[3]
    double bg_color[3]
    double grass_color[3]
    double reward, prev_reward, t, shown_reward, fuel_spent, lap_complete_percent
    wheel_t wheels[WHEELS]
    skid_t skids[WHEELS]
    mark_t marks[MARKS]
    int64_t marks_made
    int32_t tile_visited_count, new_lap
    int32_t lap             # how it ended in the last step: 0, LAP_FINISHED or LEFT_THE_FIELD
    int32_t first           # the number of the track's first point in the curve
    int32_t tiles, retries, domain_randomize, unused
    uint8_t visited[MAX_TILES]
    uint8_t touched[MAX_TILES]


ctypedef struct quad_t:     # on the ground
    double x[4]
    double y[4]
    double middle_x, middle_y
    int tile                # which piece of road, or -1 for a border
    uint32_t color          # of a border


ctypedef struct texts_t:    # scores as text: -0, and all from the lowest to the highest one
    const uint8_t* shades   # [scores, height, width]
    const int32_t* widths   # [scores]
    int32_t lowest, highest, height, width


ctypedef struct scene_t:    # what the progress implies: the world is built again from it
    progress_t* progress
    lane_t* lane
    const texts_t* texts
    track_point_t curve[MAX_POINTS]
    body_t* tiles[MAX_TILES]
    quad_t quads[2 * MAX_TILES]
    int quad_count, tile_count


# --- an episode -------------------------------------------------------------------------------------------------------

cdef inline scene_t* scene_of(const worlds_t* self, int64_t i) noexcept nogil:
    return <scene_t*> self.extra + i


cdef inline void set_corner(quad_t* quad, int corner, const track_point_t* point, double aside) noexcept nogil:
    quad.x[corner] = point.x + aside * cos(point.beta)
    quad.y[corner] = point.y + aside * sin(point.beta)


cdef inline void find_middle(quad_t* quad) noexcept nogil:
    quad.middle_x = (quad.x[0] + quad.x[1] + quad.x[2] + quad.x[3]) / 4
    quad.middle_y = (quad.y[0] + quad.y[1] + quad.y[2] + quad.y[3]) / 4


cdef uint8_t[2][3] BORDER_COLORS = [[255, 255, 255], [255, 0, 0]]
cdef quad_t[SQUARES * SQUARES] grass
cdef int _row, _column, _corner
for _column in range(SQUARES):
    for _row in range(SQUARES):
        for _corner in range(4):
            grass[SQUARES * _column + _row].x[_corner] = (
                GRASS_DIM * (2 * _column - 20) + (GRASS_DIM if _corner in (0, 3) else 0.0))
            grass[SQUARES * _column + _row].y[_corner] = (
                GRASS_DIM * (2 * _row - 20) + (GRASS_DIM if _corner >= 2 else 0.0))
        find_middle(&grass[SQUARES * _column + _row])


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
        quad += 1
        if borders[k]:
            side = (before.beta > here.beta) - (before.beta < here.beta)
            set_corner(quad, 0, here, side * TRACK_WIDTH)
            set_corner(quad, 1, here, side * (TRACK_WIDTH + BORDER))
            set_corner(quad, 2, before, side * (TRACK_WIDTH + BORDER))
            set_corner(quad, 3, before, side * TRACK_WIDTH)
            find_middle(quad)
            quad.tile = -1
            quad.color = color_of(BORDER_COLORS[k % 2])
            quad += 1
    scene.quad_count = <int> (quad - scene.quads)


cdef void build(const worlds_t* self, int64_t i) noexcept nogil:
    """The road of the progress' draws, and the car on it. Box2D lists contacts in the order of creation."""
    cdef lane_t* lane = &self.lanes[i]
    cdef progress_t* progress = <progress_t*> self.progress + i
    cdef scene_t* scene = scene_of(self, i)
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
        if scene.quads[k].tile < 0:
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
    listen(&self.calls, lane, note_contact, scene)
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


cdef void clear(const worlds_t* self, int64_t i) noexcept nogil:
    """Remove the last episode's bodies. The order decides the numbers of later ones."""
    cdef lane_t* lane = &self.lanes[i]
    cdef int k
    if lane.builds == 0 or lane.world.body_count != lane.body_count:
        empty_world(&self.calls, lane.world, 0.0)
        return
    lane.world.manager.listener = NULL
    for k in range(scene_of(self, i).tile_count):
        self.calls.destroy_body(lane.world, scene_of(self, i).tiles[k])
    for k in range(lane.moving_count):
        self.calls.destroy_body(lane.world, lane.moving[k])


cdef void draw_colors(progress_t* progress, rng_t* rng) noexcept nogil:
    cdef int k
    for k in range(3):
        progress.road_color[k] = uniform(rng, 0.0, 210.0)
    for k in range(3):
        progress.bg_color[k] = progress.grass_color[k] = uniform(rng, 0.0, 210.0)
    progress.grass_color[below(rng, 3)] += 20


cdef void begin(const worlds_t* self, const columns_t* columns, int64_t i, const double* options) noexcept nogil:
    cdef progress_t* progress = <progress_t*> self.progress + i
    cdef scene_t* scene = scene_of(self, i)
    cdef rng_t* rng = &columns.rngs[i]
    cdef double reward
    cdef int k, first, last
    clear(self, i)
    if progress.domain_randomize and options[0] != 0.0:
        draw_colors(progress, rng)
    progress.retries = -1
    while True:
        progress.retries += 1
        for k in range(CHECKPOINTS):
            progress.draws[2 * k] = uniform(rng, 0.0, 2 * PI * 1 / CHECKPOINTS)
            progress.draws[2 * k + 1] = uniform(rng, TRACK_RAD / 3, TRACK_RAD)
        if lay_out(progress.draws, scene.curve, &first, &last):
            break
    progress.lap_complete_percent = columns.parameters[0][i * columns.parameter_stride]
    build(self, i)
    step(self, columns, i, NULL, &reward)


# --- a step -----------------------------------------------------------------------------------------------------------

cdef void note_contact(void* subject, const contact_t* contact, int32_t touches) noexcept nogil:
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


cdef flag_t step(
    const worlds_t* self, const columns_t* columns, int64_t i, const double* action, double* reward
) noexcept nogil:
    """Drive for a fiftieth of a second; without an action (NULL) nothing is paid for it."""
    cdef lane_t* lane = &self.lanes[i]
    cdef progress_t* progress = <progress_t*> self.progress + i
    cdef wheel_t* wheels = progress.wheels
    cdef const body_t* hull = lane.moving[0]
    cdef flag_t flags = 0
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


# --- the observation --------------------------------------------------------------------------------------------------

ctypedef struct view_t:    # from the world to the image, whose y axis points up
    double zoom, x, y, cosine, sine


cdef inline void rotation(double angle, double* cosine, double* sine) noexcept nogil:
    """Cosine and sine as pygame's vectors have them: exact near quarter turns."""
    cdef double near = 1e-6, quarter = PI / 2
    cdef int turns
    angle = fmod(angle, 2 * PI)
    if angle < 0:
        angle += 2 * PI
    if fmod(angle + near, quarter) < 2 * near:
        turns = <int> ((angle + near) / quarter) % 4
        cosine[0] = 1.0 if turns == 0 else -1.0 if turns == 2 else 0.0
        sine[0] = 1.0 if turns == 1 else -1.0 if turns == 3 else 0.0
    else:
        cosine[0] = cos(angle)
        sine[0] = sin(angle)


cdef view_t view_behind(const body_t* hull, double t) noexcept nogil:
    """The view that follows the car: from far away at first, near after a second."""
    cdef view_t view
    cdef double x, y
    view.zoom = 0.1 * SCALE * max(1 - t, 0) + ZOOM * SCALE * min(t, 1)
    rotation(-hull.angle, &view.cosine, &view.sine)
    x = -<double> hull.position.x * view.zoom
    y = -<double> hull.position.y * view.zoom
    view.x = IMAGE_WIDTH / 2.0 + (view.cosine * x - view.sine * y)
    view.y = IMAGE_HEIGHT / 4.0 + (view.sine * x + view.cosine * y)
    return view


cdef inline bint place(const view_t* view, double x, double y, double* to_x, double* to_y) noexcept nogil:
    """Where a point is in the image; false if it is so far away that pygame has no such number."""
    to_x[0] = (view.cosine * x - view.sine * y) * view.zoom + view.x
    to_y[0] = (view.sine * x + view.cosine * y) * view.zoom + view.y
    return fabs(to_x[0]) < 32767 and fabs(to_y[0]) < 32767


cdef void draw_quad(image_t* image, const view_t* view, const quad_t* quad, uint32_t color) noexcept nogil:
    cdef pixel_t corners[4]
    cdef double x, y, left = 1e9, right = -1e9, low = 1e9, high = -1e9
    cdef int k
    for k in range(4):
        if not place(view, quad.x[k], quad.y[k], &x, &y):
            return
        left, right, low, high = min(left, x), max(right, x), min(low, y), max(high, y)
        corners[k].x = <int> x
        corners[k].y = <int> y
    if right > -2 and left < IMAGE_WIDTH + 2 and high > HIDDEN_ROWS - 2 and low < IMAGE_HEIGHT + 2:
        draw_ground(image, corners, 4, color)


cdef inline uint32_t mixed_color(const double* color, double more) noexcept nogil:
    cdef uint8_t rgb[3]
    cdef int k
    for k in range(3):
        rgb[k] = <uint8_t> <int> (color[k] + more)
    return color_of(rgb)


cdef void draw_scenery(
    image_t* image, const view_t* view, const progress_t* progress, const scene_t* scene, double x, double y
) noexcept nogil:
    """Draw the field, its darker squares of grass, road and borders; the car is at x, y."""
    cdef double reach = (hypot(IMAGE_WIDTH / 2.0, IMAGE_HEIGHT * 0.75) + 2.0) / view.zoom
    cdef double far = (reach + GRASS_DIM) * (reach + GRASS_DIM), away_x, away_y
    cdef uint32_t green = mixed_color(progress.bg_color, 0.0), color
    cdef const quad_t* quad
    cdef quad_t field
    cdef int k
    cdef bint is_all = max(fabs(x), fabs(y)) + reach < PLAYFIELD
    fill(image.pixels[0], (IMAGE_HEIGHT - HIDDEN_ROWS) * IMAGE_WIDTH, green if is_all else 0)
    if not is_all:
        for k in range(4):
            field.x[k] = PLAYFIELD if k < 2 else -PLAYFIELD
            field.y[k] = PLAYFIELD if k == 0 or k == 3 else -PLAYFIELD
        draw_quad(image, view, &field, green)
    for k in range(SQUARES * SQUARES + scene.quad_count):
        if k < SQUARES * SQUARES:
            quad = &grass[k]
        else:
            quad = &scene.quads[k - SQUARES * SQUARES]
        away_x = quad.middle_x - x
        away_y = quad.middle_y - y
        if not away_x * away_x + away_y * away_y < far:
            continue
        if k < SQUARES * SQUARES:
            color = mixed_color(progress.grass_color, 0.0)
        elif quad.tile < 0:
            color = quad.color
        else:
            color = mixed_color(
                progress.road_color, 0.0 if progress.touched[quad.tile] else 0.01 * (quad.tile % 3) * 255)
        draw_quad(image, view, quad, color)


cdef void draw_part(
    image_t* image, const view_t* view, const body_t* body, const vec_t* corners, int count, uint32_t color
) noexcept nogil:
    cdef pixel_t pixels[MAX_CORNERS]
    cdef double x, y
    cdef float body_x, body_y
    cdef int k
    for k in range(count):
        body_x = (body.cosine * corners[k].x - body.sine * corners[k].y) + body.position.x
        body_y = (body.sine * corners[k].x + body.cosine * corners[k].y) + body.position.y
        if not place(view, body_x, body_y, &x, &y):
            return
        pixels[k].x = <int> x
        pixels[k].y = <int> y
    draw_polygon(image, pixels, count, color)


cdef void draw_stripe(image_t* image, const view_t* view, const body_t* body, double phase) noexcept nogil:
    """The white stripe across a turning wheel, unless it is below."""
    cdef uint8_t[3] white = [77, 77, 77]
    cdef vec_t corners[4]
    cdef double near = cos(phase), far = cos(phase + 1.2)
    cdef bint is_below = sin(phase) > 0, far_is_below = sin(phase + 1.2) > 0
    cdef int k
    if is_below and far_is_below:
        return
    if is_below:
        near = copysign(1.0, near)
    if far_is_below:
        far = copysign(1.0, far)
    for k in range(4):
        corners[k].x = <float> (WHEEL_WIDTH if k == 1 or k == 2 else -WHEEL_WIDTH)
        corners[k].y = <float> (27 * (near if k < 2 else far) * SIZE)
    draw_part(image, view, body, corners, 4, color_of(white))


cdef void draw_car(image_t* image, const view_t* view, const lane_t* lane, const progress_t* progress) noexcept nogil:
    cdef const polygon_shape_t* shape
    cdef const fixture_t* fixture
    cdef const polygon_shape_t* shapes[8]
    cdef uint8_t[3] red = [204, 0, 0]
    cdef int k, count
    for k in range(1, 2 + WHEELS):
        count = 0
        fixture = lane.moving[k % (1 + WHEELS)].fixtures
        while fixture != NULL and count < 8:
            shapes[count] = <const polygon_shape_t*> fixture.shape
            count += shapes[count].type == POLYGON  # a program may have added another shape
            fixture = fixture.next
        while count:  # Box2D lists the newest first
            count -= 1
            shape = shapes[count]
            draw_part(image, view, lane.moving[k % (1 + WHEELS)], shape.vertices, shape.count,
                      0 if k <= WHEELS else color_of(red))
        if k <= WHEELS:
            draw_stripe(image, view, lane.moving[k], progress.wheels[k - 1].phase)


cdef inline int whole(double value) noexcept nogil:
    return <int> min(max(value, -1e6), 1e6)


cdef inline void draw_bar(
    image_t* image, double left, double top, double right, double bottom, int red, int green, int blue
) noexcept nogil:
    cdef uint8_t[3] rgb = [red, green, blue]
    cdef pixel_t a, b
    a.x, a.y, b.x, b.y = whole(left), whole(top), whole(right), whole(bottom)
    draw_rectangle(image, a, b, color_of(rgb))


cdef inline void draw_upright(image_t* image, int k, double value, double shown, int red, int green, int blue
                              ) noexcept nogil:
    cdef double width = IMAGE_WIDTH / 40.0, height = IMAGE_HEIGHT / 40.0
    if fabs(value) > 1e-4:
        draw_bar(image, k * width, IMAGE_HEIGHT - (height + height * shown), (k + 1) * width, IMAGE_HEIGHT - height,
                 red, green, blue)


cdef inline void draw_lying(image_t* image, int k, double value, double shown, int red, int green) noexcept nogil:
    cdef double width = IMAGE_WIDTH / 40.0, height = IMAGE_HEIGHT / 40.0
    if fabs(value) > 1e-4:
        draw_bar(image, k * width, IMAGE_HEIGHT - 4 * height, (k + shown) * width, IMAGE_HEIGHT - 2 * height,
                 red, green, 0)


cdef void draw_instruments(
    image_t* image, const lane_t* lane, const progress_t* progress, const texts_t* texts
) noexcept nogil:
    """Draw speeds, steering, turning and the score into the lowest eighth of the image."""
    cdef const body_t* hull = lane.moving[0]
    cdef double speed = sqrt(
        <double> hull.velocity.x * hull.velocity.x + <double> hull.velocity.y * hull.velocity.y)
    cdef double angle = joint_angle(lane.joints[0]), turning = hull.angular_velocity
    cdef double reward = rint(progress.shown_reward)
    cdef int k, score = 0
    draw_bar(image, 0, IMAGE_HEIGHT - HIDDEN_ROWS, IMAGE_WIDTH, IMAGE_HEIGHT, 0, 0, 0)
    draw_upright(image, 5, speed, 0.02 * speed, 255, 255, 255)
    for k in range(WHEELS):
        draw_upright(image, 7 + k, progress.wheels[k].omega, 0.01 * progress.wheels[k].omega, 51 if k >= 2 else 0, 0,
                     255)
    draw_lying(image, 20, angle, -10.0 * angle, 0, 255)
    draw_lying(image, 30, turning, -0.8 * turning, 255, 0)
    if not reward >= texts.lowest:  # nor if it is not a number
        reward = texts.lowest
    if reward != 0.0 or not signbit(reward):
        score = 1 + <int> min(reward, <double> texts.highest) - texts.lowest
    draw_gray(image, texts.shades + <int64_t> score * texts.height * texts.width, texts.height, texts.widths[score],
              texts.width, 60 - texts.widths[score] // 2, IMAGE_HEIGHT - IMAGE_HEIGHT // 16 - texts.height // 2)


cdef void observe(const worlds_t* self, int64_t i, void* observation) noexcept nogil:
    cdef const progress_t* progress = <progress_t*> self.progress + i
    cdef const lane_t* lane = &self.lanes[i]
    cdef const body_t* hull = lane.moving[0]
    cdef image_t* image = image_of_thread()
    cdef view_t view = view_behind(hull, progress.t)
    draw_scenery(image, &view, progress, scene_of(self, i), hull.position.x, hull.position.y)
    draw_car(image, &view, lane, progress)
    draw_instruments(image, lane, progress, scene_of(self, i).texts)
    rescale(image, <uint8_t*> observation)


# --- the kernels ------------------------------------------------------------------------------------------------------

cdef void write_infos(
    const columns_t* columns, void* const* parts, const int64_t* lanes, int64_t lo, int64_t hi
) noexcept nogil:
    cdef const progress_t* progress = <progress_t*> (<const worlds_t*> columns.constants).progress
    cdef int64_t k, i
    for k in range(lo, hi):
        i = k if lanes == NULL else lanes[k]
        (<uint8_t*> parts[0])[i] = progress[i].lap == LAP_FINISHED


cdef info_field_t[1] infos
infos[0].name = "lap_finished"
infos[0].type = BOOL
infos[0].size = 1
infos[0].when = TERMINATIONS
cdef double[1] defaults = [0.95]
cdef double[1] option_defaults = [1.0]
cdef family_t family
family.begin = begin
family.build = build
family.step = step
family.observe = observe
family.choices = CHOICES[0]
family.choice_count = 5
family.definition_count = DEFINITIONS
family.world_bytes = 65536
family.progress_bytes = sizeof(progress_t)
family.extra_bytes = sizeof(scene_t)
family.observation_bytes = 3 * STATE * STATE
family.kernel.name = "racing"
family.kernel.constants_name = "gymcore_ext.box2d.racing"
family.kernel.parameter_names = "lap_complete_percent"
family.kernel.reset_option_names = "randomize"
family.kernel.parameter_count = family.kernel.reset_option_count = 1
family.kernel.parameter_defaults = defaults
family.kernel.reset_option_defaults = option_defaults
family.kernel.observation_type = UINT8
family.kernel.observation_size = 3 * STATE * STATE
family.kernel.observation_shape[0] = family.kernel.observation_shape[1] = STATE
family.kernel.observation_shape[2] = 3
family.kernel.action_size = 3
family.kernel.info_count = 1
family.kernel.infos = infos
family.kernel.write_infos = write_infos
family.kernel.cost = 1_500_000

kernel = make_kernel(&family, False)
discrete_kernel = make_kernel(&family, True)


cdef class Cars(Worlds):
    """Worlds of racing cars, for the `constants` of a batch of one of the kernels.

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
        self.set_up(&family, PROGRESS)
        self.arrays = shades, widths
        self.texts.shades = <const uint8_t*> cnp.PyArray_DATA(<cnp.ndarray> shades)
        self.texts.widths = <const int32_t*> cnp.PyArray_DATA(<cnp.ndarray> widths)
        self.texts.lowest, self.texts.highest = lowest, lowest + len(shades) - 2
        self.texts.height, self.texts.width = shades.shape[1], shades.shape[2]
        for i in range(self.shared.num_lanes):
            scene_of(&self.shared, i).texts = &self.texts

    def track(self, Py_ssize_t lane):
        """float64 [tiles, 4]: alpha, beta, x and y of the points of the center line."""
        self._lane(lane)
        cdef const progress_t* progress = <progress_t*> self.shared.progress + lane
        cdef const track_point_t* track = scene_of(&self.shared, lane).curve + progress.first
        return np.array([(track[k].alpha, track[k].beta, track[k].x, track[k].y) for k in range(progress.tiles)])

    def quads(self, Py_ssize_t lane):
        """float64 [quads, 4, 2]: corners of the pieces of road, each followed by its border if it has one, and int
        [quads]: which piece of road, or -1 for a border."""
        self._lane(lane)
        cdef const scene_t* scene = scene_of(&self.shared, lane)
        cdef Py_ssize_t k, j
        corners = [[(scene.quads[k].x[j], scene.quads[k].y[j]) for j in range(4)] for k in range(scene.quad_count)]
        return np.array(corners), np.array([scene.quads[k].tile for k in range(scene.quad_count)])
