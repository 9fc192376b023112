"""CarRacing's observation: the car from above, and the instruments. Nothing here changes the lane.

Gymnasium's operations, in their order and precision; raster.h sets the pixels that pygame-ce does. Numbers of pixels,
colors and scales are those of Gymnasium's `CarRacing._render` and `Car.draw`.
"""
from libc.math cimport copysign, cos, fabs, fmod, hypot, rint, signbit, sin, sqrt
from libc.stdint cimport int64_t, uint8_t, uint64_t

from gymcore_ext.box2d.racing cimport WHEELS, car_t, episode_t, find_middle, quad_t, texts_t
from gymcore_ext.box2d.structures cimport POLYGON, body_t, fixture_t, joint_angle, polygon_shape_t, vec_t, world_point


cdef extern from "box2d/raster.h":
    enum:
        IMAGE_WIDTH "RASTER_WIDTH"
        IMAGE_HEIGHT "RASTER_HEIGHT"
        HIDDEN_ROWS "RASTER_LOWEST"
        MAX_CORNERS "RASTER_MAX_CORNERS"

    ctypedef struct pixel_t "raster_point":
        int x, y

    ctypedef uint64_t rgb_t "raster_rgb"

    ctypedef struct image_t "raster_image":
        rgb_t runs[IMAGE_HEIGHT][STATE]

    image_t* image_of_thread "raster_of_thread"() noexcept nogil
    rgb_t color_of "raster_color"(const uint8_t* rgb) noexcept nogil
    void fill "raster_fill"(rgb_t* pixels, int count, rgb_t color) noexcept nogil
    void draw_ground "raster_ground"(image_t* image, const pixel_t* corners, int count, rgb_t color) noexcept nogil
    void draw_polygon "raster_polygon"(image_t* image, const pixel_t* corners, int count, rgb_t color) noexcept nogil
    void draw_rectangle "raster_rectangle"(image_t* image, pixel_t a, pixel_t b, rgb_t color) noexcept nogil
    void draw_gray "raster_gray"(
        image_t* image, const uint8_t* shades, int height, int width, int row_length, int x, int y) noexcept nogil
    void rescale "raster_rescale"(const image_t* image, uint8_t* state) noexcept nogil


cdef enum:
    SQUARES = 20       # squares of darker grass in a row
    MAX_SHAPES = 8     # shapes of a body that are drawn; the hull has four

cdef double COLUMN = IMAGE_WIDTH / 40.0, ROW = IMAGE_HEIGHT / 40.0  # pixels; the grid of the instruments
cdef double SCALE = 6.0, PI = 3.141592653589793
cdef double PLAYFIELD = 2000 / SCALE, GRASS_DIM = PLAYFIELD / 20.0, ZOOM = 2.7
cdef double SIZE = 0.02, WHEEL_WIDTH = 14 * SIZE
cdef uint8_t[3] HULL_COLOR = [204, 0, 0], STRIPE_COLOR = [77, 77, 77]
cdef uint8_t[2][3] BORDER_COLORS = [[255, 255, 255], [255, 0, 0]]
cdef uint8_t[3] BLACK = [0, 0, 0], WHITE = [255, 255, 255], RED = [255, 0, 0], GREEN = [0, 255, 0]
cdef uint8_t[3] BLUE = [0, 0, 255], VIOLET = [51, 0, 255]
cdef quad_t[SQUARES * SQUARES] grass
cdef int _row, _column, _corner
for _column in range(SQUARES):
    for _row in range(SQUARES):
        for _corner in range(4):
            grass[SQUARES * _column + _row].corners[_corner] = [
                GRASS_DIM * (2 * _column - 20) + (GRASS_DIM if _corner in (0, 3) else 0.0),
                GRASS_DIM * (2 * _row - 20) + (GRASS_DIM if _corner >= 2 else 0.0)]
        find_middle(&grass[SQUARES * _column + _row])


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
    """Return the view that follows the car: from far away at first, near after a second."""
    cdef view_t view
    cdef double x, y
    view.zoom = 0.1 * SCALE * max(1 - t, 0) + ZOOM * SCALE * min(t, 1)
    rotation(-hull.angle, &view.cosine, &view.sine)
    x = -<double> hull.position.x * view.zoom
    y = -<double> hull.position.y * view.zoom
    view.x = IMAGE_WIDTH / 2.0 + (view.cosine * x - view.sine * y)
    view.y = IMAGE_HEIGHT / 4.0 + (view.sine * x + view.cosine * y)
    return view


cdef inline bint project(const view_t* view, double x, double y, double* to_x, double* to_y) noexcept nogil:
    """Compute where a point is in the image; false if it is so far away that pygame has no such number."""
    to_x[0] = (view.cosine * x - view.sine * y) * view.zoom + view.x
    to_y[0] = (view.sine * x + view.cosine * y) * view.zoom + view.y
    return fabs(to_x[0]) < 32767 and fabs(to_y[0]) < 32767


cdef void draw_quad(image_t* image, const view_t* view, const quad_t* quad, rgb_t color) noexcept nogil:
    cdef pixel_t corners[4]
    cdef double x, y, left = 1e9, right = -1e9, low = 1e9, high = -1e9
    cdef int k
    for k in range(4):
        if not project(view, quad.corners[k][0], quad.corners[k][1], &x, &y):
            return
        left, right, low, high = min(left, x), max(right, x), min(low, y), max(high, y)
        corners[k].x, corners[k].y = <int> x, <int> y
    if right > -2 and left < IMAGE_WIDTH + 2 and high > HIDDEN_ROWS - 2 and low < IMAGE_HEIGHT + 2:
        draw_ground(image, corners, 4, color)


cdef inline rgb_t mixed_color(const double* color, double more) noexcept nogil:
    cdef uint8_t rgb[3]
    cdef int k
    for k in range(3):
        rgb[k] = <uint8_t> <int> (color[k] + more)
    return color_of(rgb)


cdef inline bint is_near(const quad_t* quad, double x, double y, double reach) noexcept nogil:
    """Return whether the middle of a quad is nearer to x, y than `reach`."""
    cdef double away_x = quad.middle[0] - x, away_y = quad.middle[1] - y
    return away_x * away_x + away_y * away_y < reach * reach


cdef void draw_scenery(image_t* image, const view_t* view, const car_t* car, double x, double y) noexcept nogil:
    """Draw the field, its darker squares of grass, road and borders; the car is at x, y."""
    cdef const episode_t* episode = &car.episode
    cdef double reach = (hypot(IMAGE_WIDTH / 2.0, IMAGE_HEIGHT * 0.75) + 2.0) / view.zoom
    cdef rgb_t field_color = mixed_color(episode.bg_color, 0.0), color = mixed_color(episode.grass_color, 0.0)
    cdef const quad_t* quad
    cdef quad_t field
    cdef int k
    cdef bint is_all = max(fabs(x), fabs(y)) + reach < PLAYFIELD
    fill(image.runs[0], (IMAGE_HEIGHT - HIDDEN_ROWS) * STATE, field_color if is_all else 0)
    if not is_all:
        for k in range(4):
            field.corners[k] = [PLAYFIELD if k < 2 else -PLAYFIELD, PLAYFIELD if k == 0 or k == 3 else -PLAYFIELD]
        draw_quad(image, view, &field, field_color)
    reach += GRASS_DIM
    for k in range(SQUARES * SQUARES):
        if is_near(&grass[k], x, y, reach):
            draw_quad(image, view, &grass[k], color)
    for k in range(car.quad_count):
        quad = &car.quads[k]
        if is_near(quad, x, y, reach):
            if quad.is_border:
                color = color_of(BORDER_COLORS[quad.tile % 2])
            else:
                color = mixed_color(
                    episode.road_color, 0.0 if episode.touched[quad.tile] else 0.01 * (quad.tile % 3) * 255)
            draw_quad(image, view, quad, color)


cdef void draw_part(
    image_t* image, const view_t* view, const body_t* body, const vec_t* corners, int count, rgb_t color
) noexcept nogil:
    cdef pixel_t pixels[MAX_CORNERS]
    cdef double x, y
    cdef vec_t corner
    cdef int k
    for k in range(count):
        corner = world_point(body, corners[k].x, corners[k].y)
        if not project(view, corner.x, corner.y, &x, &y):
            return
        pixels[k].x, pixels[k].y = <int> x, <int> y
    draw_polygon(image, pixels, count, color)


cdef void draw_stripe(image_t* image, const view_t* view, const body_t* body, double phase) noexcept nogil:
    """Draw the white stripe across a turning wheel, unless it is on the lower side."""
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
    draw_part(image, view, body, corners, 4, color_of(STRIPE_COLOR))


cdef void draw_car(image_t* image, const view_t* view, const car_t* car) noexcept nogil:
    cdef const polygon_shape_t* shape
    cdef const body_t* body
    cdef const fixture_t* fixture
    cdef const polygon_shape_t* shapes[MAX_SHAPES]
    cdef int k, count
    for k in range(1, 2 + WHEELS):
        count = 0
        body = car.lane.moving[k % (1 + WHEELS)]  # the hull is the last one
        fixture = body.fixtures
        while fixture != NULL and count < MAX_SHAPES:
            shapes[count] = <const polygon_shape_t*> fixture.shape
            count += shapes[count].type == POLYGON  # a program may have added another shape
            fixture = fixture.next
        while count:  # Box2D lists the newest first
            count -= 1
            shape = shapes[count]
            draw_part(image, view, body, shape.vertices, shape.count, 0 if k <= WHEELS else color_of(HULL_COLOR))
        if k <= WHEELS:
            draw_stripe(image, view, body, car.episode.phase[k - 1])


cdef inline int to_pixel(double value) noexcept nogil:
    """Cut off the fraction of a coordinate, and limit it to values that fit into an int."""
    return <int> min(max(value, -1e6), 1e6)


cdef inline void draw_bar(
    image_t* image, double left, double top, double right, double bottom, const uint8_t* color
) noexcept nogil:
    cdef pixel_t a, b
    a.x, a.y, b.x, b.y = to_pixel(left), to_pixel(top), to_pixel(right), to_pixel(bottom)
    draw_rectangle(image, a, b, color_of(color))


cdef inline void draw_vertical_bar(
    image_t* image, int k, double value, double shown, const uint8_t* color
) noexcept nogil:
    """Draw a bar in the k-th of 40 columns, `shown` fortieths of the image high."""
    if fabs(value) > 1e-4:
        draw_bar(image, k * COLUMN, IMAGE_HEIGHT - (ROW + ROW * shown), (k + 1) * COLUMN, IMAGE_HEIGHT - ROW, color)


cdef inline void draw_horizontal_bar(
    image_t* image, int k, double value, double shown, const uint8_t* color
) noexcept nogil:
    """Draw a bar from the k-th of 40 columns on, `shown` columns wide."""
    if fabs(value) > 1e-4:
        draw_bar(image, k * COLUMN, IMAGE_HEIGHT - 4 * ROW, (k + shown) * COLUMN, IMAGE_HEIGHT - 2 * ROW, color)


cdef void draw_instruments(image_t* image, const car_t* car, const texts_t* texts) noexcept nogil:
    """Draw speeds, steering, turning and the score into the lowest eighth of the image."""
    cdef const body_t* hull = car.lane.moving[0]
    cdef double speed = sqrt(
        <double> hull.velocity.x * hull.velocity.x + <double> hull.velocity.y * hull.velocity.y)
    cdef double angle = joint_angle(car.lane.joints[0]), turning = hull.angular_velocity
    cdef double reward = rint(car.episode.shown_reward)
    cdef double omega
    cdef int k, score = 0
    draw_bar(image, 0, IMAGE_HEIGHT - HIDDEN_ROWS, IMAGE_WIDTH, IMAGE_HEIGHT, BLACK)
    draw_vertical_bar(image, 5, speed, 0.02 * speed, WHITE)
    for k in range(WHEELS):
        omega = car.episode.omega[k]
        draw_vertical_bar(image, 7 + k, omega, 0.01 * omega, &VIOLET[0] if k >= 2 else &BLUE[0])
    draw_horizontal_bar(image, 20, angle, -10.0 * angle, GREEN)
    draw_horizontal_bar(image, 30, turning, -0.8 * turning, RED)
    if not reward >= texts.lowest:  # nor if it is not a number
        reward = texts.lowest
    if reward != 0.0 or not signbit(reward):
        score = 1 + <int> min(reward, <double> texts.highest) - texts.lowest
    draw_gray(image, texts.shades + <int64_t> score * texts.height * texts.width, texts.height, texts.widths[score],
              texts.width, 60 - texts.widths[score] // 2, IMAGE_HEIGHT - IMAGE_HEIGHT // 16 - texts.height // 2)


cdef void draw_observation(const car_t* car, const texts_t* texts, uint8_t* observation) noexcept nogil:
    cdef const body_t* hull = car.lane.moving[0]
    cdef image_t* image = image_of_thread()
    cdef view_t view = view_behind(hull, car.episode.t)
    draw_scenery(image, &view, car, hull.position.x, hull.position.y)
    draw_car(image, &view, car)
    draw_instruments(image, car, texts)
    rescale(image, observation)
