"""CarRacing's observation: the car from above, and the instruments. Nothing here changes the lane.

The operations are Gymnasium's, in their order and precision. Numbers of pixels, colors and scales are those of
Gymnasium's `CarRacing._render` and `Car.draw`. The image of 1000 x 800 pixels is rescaled to 96 x 96. Every pixel
equals that of pygame-ce, which Gymnasium draws with: `gfxdraw.aapolygon` and `gfxdraw.filled_polygon` for the ground,
`draw.polygon` for the car, and `transform.smoothscale` as it computes on x86-64. Their arithmetic is reproduced, and
tests compare with them. The old pygame sets other pixels at the edges of the car.
"""
cimport numpy as cnp
from libc.limits cimport INT_MAX, INT_MIN
from libc.math cimport ceilf, copysign, cos, fabs, floorf, fmod, hypot, rint, signbit, sin, sqrt
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from gymcore_ext.box2d.racing cimport WHEELS, car_episode_t, car_t, score_images_t
from gymcore_ext.box2d.structures cimport POLYGON, body_t, fixture_t, joint_angle, polygon_shape_t, vec_t, world_point

import numpy as np

cnp.import_array()


cdef enum:
    WIDTH = 1000
    HEIGHT = 800
    HIDDEN_ROWS = 100  # number of the lowest rows, which the instruments cover
    MAX_CORNERS = 16   # most corners of a polygon
    SQUARES = 20       # squares of darker grass in a row

cdef enum:
    # The image is rescaled to cells. Each is the sum over an area whose edges may lie inside of pixels. The unit of
    # areas is 1 / 16384 pixel. Sums are multiplied by the inverse of a cell's area, whose unit is 1 / 65536.
    ONE = 0x4000
    X_SPACE = 0x4000 * 1000 // 96
    Y_SPACE = 0x4000 * 800 // 96
    X_INVERSE = 0x40000000 // X_SPACE
    Y_INVERSE = 0x40000000 // Y_SPACE

# Red, green and blue in 16 bits each, which suffice for sums of the pixels of a run, and for products with 256.
ctypedef uint64_t rgb_t

cdef extern from *:
    """
    #include "gymcore/platform.h"
    typedef struct { uint64_t runs[800][96], pixels[800][1000]; } image_t;

    /* One image per thread: 7 MB per lane would be too much. Inlining would compute its address for every pixel. */
    static GYMCORE_NOINLINE image_t *image_of_thread(void)
    {
        static GYMCORE_THREAD image_t image;
        return &image;
    }
    """
    # A row of pixels is stored as 96 runs of the 10 or 11 pixels that end in a cell: 24 of 25 runs have one color.
    ctypedef struct image_t:
        rgb_t runs[HEIGHT][STATE]    # the color of a run, or MIXED
        rgb_t pixels[HEIGHT][WIDTH]  # set only for mixed runs

    image_t* image_of_thread() noexcept nogil
    const rgb_t MIXED "UINT64_MAX"

ctypedef struct pixel_t:  # coordinates are 16-bit numbers, as in pygame-ce
    int x, y

cdef double COLUMN = WIDTH / 40.0, ROW = HEIGHT / 40.0  # the grid of the instruments, in pixels
cdef double SCALE = 6.0, PI = 3.141592653589793
cdef double PLAYFIELD = 2000 / SCALE, GRASS_DIM = PLAYFIELD / 20.0, ZOOM = 2.7
cdef double SIZE = 0.02, WHEEL_WIDTH = 14 * SIZE
cdef rgb_t HULL_COLOR = rgb(204, 0, 0), STRIPE_COLOR = rgb(77, 77, 77), VIOLET = rgb(51, 0, 255)
cdef rgb_t BLACK = 0, WHITE = rgb(255, 255, 255), RED = rgb(255, 0, 0), GREEN = rgb(0, 255, 0), BLUE = rgb(0, 0, 255)


# --- pixels -----------------------------------------------------------------------------------------------------------

cdef inline rgb_t rgb(uint8_t red, uint8_t green, uint8_t blue) noexcept nogil:
    return red | <rgb_t> green << 16 | <rgb_t> blue << 32


cdef inline uint32_t shade_of(rgb_t color, int channel) noexcept nogil:
    return (color >> (16 * channel)) & 0xffff


cdef inline void fill(rgb_t* pixels, int count, rgb_t color) noexcept nogil:
    cdef int k
    for k in range(count):
        pixels[k] = color


cdef inline int clamped(int value, int size) noexcept nogil:
    return 0 if value < 0 else size if value > size else value


cdef inline int run_of(int x) noexcept nogil:
    """Return the run of a pixel, or STATE for the pixel after the last one."""
    return x * ONE // X_SPACE


cdef inline int first_pixel_of(int run) noexcept nogil:
    """Return the first pixel of a run."""
    return (run * X_SPACE + ONE - 1) // ONE


cdef inline rgb_t* mixed(image_t* image, int row, int run) noexcept nogil:
    """Return the pixels of a row, after marking this run as mixed, so that its pixels may be changed."""
    cdef rgb_t* color = &image.runs[row][run]
    if color[0] != MIXED:
        fill(&image.pixels[row][first_pixel_of(run)], first_pixel_of(run + 1) - first_pixel_of(run), color[0])
        color[0] = MIXED
    return image.pixels[row]


cdef inline void paint_within(image_t* image, int row, int run, int begin, int end, rgb_t color) noexcept nogil:
    """Set the pixels of a run among the pixels `begin` to `end` - 1."""
    cdef int first = max(begin, first_pixel_of(run)), count = min(end, first_pixel_of(run + 1)) - first
    if count > 0:
        fill(mixed(image, row, run) + first, count, color)


cdef inline void paint(image_t* image, int row, int x1, int x2, rgb_t color) noexcept nogil:
    """Set the pixels of a row from `x1` to `x2`, inclusive, in either order."""
    cdef int begin = clamped(min(x1, x2), WIDTH), end = clamped(max(x1, x2) + 1, WIDTH)
    cdef int run = run_of(begin), last = run_of(end)
    if run == last or first_pixel_of(run) < begin:
        paint_within(image, row, run, begin, end, color)
        run += 1
    fill(&image.runs[row][0] + run, last - run, color)
    if run <= last:
        paint_within(image, row, last, begin, end, color)


# --- polygons: their y axis points up ---------------------------------------------------------------------------------

cdef inline void draw_span(image_t* image, int x1, int x2, int y, rgb_t color) noexcept nogil:
    if HIDDEN_ROWS <= y < HEIGHT:
        paint(image, HEIGHT - 1 - y, x1, x2, color)


cdef inline void blend(image_t* image, int x, int y, rgb_t color, int alpha) noexcept nogil:
    """Blend a color into a pixel, with alpha from 0 to 254."""
    cdef rgb_t* pixel
    if 0 <= x < WIDTH and HIDDEN_ROWS <= y < HEIGHT:
        pixel = mixed(image, HEIGHT - 1 - y, run_of(x)) + x
        pixel[0] = ((pixel[0] * <rgb_t> (256 - alpha) + color * <rgb_t> alpha) >> 8) & <rgb_t> 0x00ff00ff00ff


cdef inline int side_of(int value, int size) noexcept nogil:
    """Return on which side a coordinate is outside of the image: -1, 1, or 0 for inside."""
    return -1 if value < 0 else value >= size


cdef bint clip_line(pixel_t* first, pixel_t* last) noexcept nogil:
    """Clip a line to the image, to whole pixels; return false if nothing is left. This may swap the ends."""
    cdef int x, y, aside, above, last_aside, last_above
    cdef float slope
    while True:
        aside, above = side_of(first.x, WIDTH), side_of(first.y, HEIGHT)
        last_aside, last_above = side_of(last.x, WIDTH), side_of(last.y, HEIGHT)
        if not (aside or above or last_aside or last_above):
            return True
        if aside * last_aside > 0 or above * last_above > 0:
            return False
        if not (aside or above):
            first[0], last[0] = last[0], first[0]
            aside, above = last_aside, last_above
        slope = <float> 1.0 if first.x == last.x else <float> (last.y - first.y) / <float> (last.x - first.x)
        if aside:
            x = 0 if aside < 0 else WIDTH - 1
            first.y += <int> (<float> (x - first.x) * slope)
            first.x = x
        else:
            y = 0 if above < 0 else HEIGHT - 1
            if first.x != last.x:
                first.x += <int> (<float> (y - first.y) / slope)
            first.y = y


cdef void draw_line(image_t* image, pixel_t first, pixel_t last, rgb_t color) noexcept nogil:
    """Draw an anti-aliased line without its last pixel: two pixels per step, which share the color."""
    cdef pixel_t low, high
    cdef int rise, run, direction, length, k, x, y, aside, weight
    cdef uint64_t slope
    cdef bint is_steep
    if not clip_line(&first, &last):
        return
    low, high = (last, first) if first.y > last.y else (first, last)
    rise, run, direction = high.y - low.y, high.x - low.x, 1
    if rise == 0 or run == 0:
        for y in range(low.y, high.y + 1):
            draw_span(image, low.x, high.x, y, color)
        return
    if run < 0:
        run, direction = -run, -1
    is_steep = rise > run
    length = max(rise, run)
    slope = <uint64_t> ((min(rise, run) << 16) // length) << 16  # in 1 / 2^32
    draw_span(image, first.x, first.x, first.y, color)
    for k in range(1, length):
        aside, weight = <int> (k * slope >> 32), <int> (k * slope >> 24) & 0xff
        x = low.x + direction * (aside if is_steep else k)
        y = low.y + (k if is_steep else aside)
        blend(image, x, y, color, (255 * (255 - weight)) >> 8)
        blend(image, x + (direction if is_steep else 0), y + (not is_steep), color, (255 * weight) >> 8)


cdef inline void draw_polygon(
    image_t* image, const pixel_t* corners, int count, rgb_t color, bint is_ground
) noexcept nogil:
    """Draw ground, with an anti-aliased outline, or a part of the car.

    Each row is filled between its first and second crossing with an edge, its third and fourth, and so on. For the
    ground, the unit of crossings is 1 / 65536 pixel. For a part of the car, crossings are alternately rounded down and
    up, in the order of the corners.
    """
    cdef pixel_t[MAX_CORNERS] low, high  # the ends of the edge from the previous corner to each corner
    cdef int[MAX_CORNERS] crossings
    cdef int lowest = INT_MAX, highest = INT_MIN, crossing, crossing_count, i, k, y
    cdef int64_t share
    cdef float offset
    for i in range(count if is_ground else 0):
        draw_line(image, corners[i], corners[i + 1 if i + 1 < count else 0], color)
    for i in range(count):
        low[i], high[i] = corners[i - 1 if i else count - 1], corners[i]
        if low[i].y > high[i].y:
            low[i], high[i] = high[i], low[i]
        lowest, highest = min(lowest, low[i].y), max(highest, high[i].y)
    for y in range(max(lowest, HIDDEN_ROWS), min(highest + 1, HEIGHT)):
        crossing_count = 0
        for i in range(count):
            if low[i].y == high[i].y or not low[i].y <= y <= high[i].y or y == high[i].y < highest:
                continue
            if is_ground:
                share = <uint32_t> 65536 * <uint32_t> (y - low[i].y) // <uint32_t> (high[i].y - low[i].y)
                crossing = <int> (share * (high[i].x - low[i].x) + 65536 * <int64_t> low[i].x)
            else:
                offset = <float> (<int64_t> (y - low[i].y) * (high[i].x - low[i].x)) / <float> (high[i].y - low[i].y)
                crossing = low[i].x + <int> (ceilf(offset) if crossing_count % 2 else floorf(offset))
            k = crossing_count
            while k > 0 and crossings[k - 1] > crossing:
                crossings[k] = crossings[k - 1]
                k -= 1
            crossings[k] = crossing
            crossing_count += 1
        for i in range(0, crossing_count - 1, 2):
            if is_ground:
                draw_span(image, (crossings[i] + 1 + 32768) >> 16, (crossings[i + 1] - 1 + 32768) >> 16, y, color)
            else:
                draw_span(image, crossings[i], crossings[i + 1], y, color)
    for i in range(0 if is_ground else count):  # inner horizontal edges, and those of a polygon without height
        if low[i].y == high[i].y and (lowest < low[i].y < highest or (lowest == highest and i > 0)):
            draw_span(image, low[i].x, high[i].x, low[i].y, color)


# --- the world --------------------------------------------------------------------------------------------------------

ctypedef struct camera_t:    # the transformation from the world to the image
    double zoom, x, y, cosine, sine
    double car_x, car_y, reach  # ground is drawn if it is less than `reach` from the car


cdef camera_t camera_behind(const body_t* hull, double t) noexcept nogil:
    """Return the camera that follows the car. It zooms in during the first second."""
    cdef camera_t camera
    cdef double x, y, angle = fmod(-hull.angle, 2 * PI), near = 1e-6, quarter = PI / 2
    cdef int turns
    # Cosine and sine are exact near quarter turns, as in pygame's vectors.
    if angle < 0:
        angle += 2 * PI
    camera.cosine, camera.sine = cos(angle), sin(angle)
    if fmod(angle + near, quarter) < 2 * near:
        turns = <int> ((angle + near) / quarter) % 4
        camera.cosine = 1.0 if turns == 0 else -1.0 if turns == 2 else 0.0
        camera.sine = 1.0 if turns == 1 else -1.0 if turns == 3 else 0.0
    camera.zoom = 0.1 * SCALE * max(1 - t, 0) + ZOOM * SCALE * min(t, 1)
    camera.car_x, camera.car_y = hull.position.x, hull.position.y
    x = -camera.car_x * camera.zoom
    y = -camera.car_y * camera.zoom
    camera.x = WIDTH / 2.0 + (camera.cosine * x - camera.sine * y)
    camera.y = HEIGHT / 4.0 + (camera.sine * x + camera.cosine * y)
    camera.reach = (hypot(WIDTH / 2.0, HEIGHT * 0.75) + 2.0) / camera.zoom
    return camera


cdef inline void draw_shape(
    image_t* image, const camera_t* camera, const double* corners, int count, rgb_t color, bint is_ground
) noexcept nogil:
    """Draw a polygon of corners [count, 2] in the world, unless all are outside of the image, or one is so far away
    that pygame cannot represent it."""
    cdef pixel_t[MAX_CORNERS] pixels
    cdef double x, y, left = 1e9, right = -1e9, low = 1e9, high = -1e9
    cdef int k
    for k in range(count):
        x = (camera.cosine * corners[2 * k] - camera.sine * corners[2 * k + 1]) * camera.zoom + camera.x
        y = (camera.sine * corners[2 * k] + camera.cosine * corners[2 * k + 1]) * camera.zoom + camera.y
        if not (fabs(x) < 32767 and fabs(y) < 32767):
            return
        left, right, low, high = min(left, x), max(right, x), min(low, y), max(high, y)
        pixels[k].x, pixels[k].y = <int> x, <int> y
    if right > -2 and left < WIDTH + 2 and high > HIDDEN_ROWS - 2 and low < HEIGHT + 2:
        draw_polygon(image, pixels, count, color, is_ground)


cdef inline void draw_ground(image_t* image, const camera_t* camera, const double* corners, rgb_t color) noexcept nogil:
    """Draw a quadrilateral of the ground, unless it is far from the car, which saves a tenth of a step."""
    cdef double x = corners[0] - camera.car_x, y = corners[1] - camera.car_y
    cdef double reach = camera.reach + 1.5 * GRASS_DIM  # more than the distance between two corners
    if x * x + y * y < reach * reach:
        draw_shape(image, camera, corners, 4, color, True)


cdef inline rgb_t brightened(const double* color, double more) noexcept nogil:
    return rgb(<int> (color[0] + more), <int> (color[1] + more), <int> (color[2] + more))


cdef void draw_scenery(image_t* image, const camera_t* camera, const car_t* car) noexcept nogil:
    """Draw the field, its darker squares of grass, the road and its borders."""
    cdef const car_episode_t* episode = &car.episode
    cdef rgb_t field_color = brightened(episode.bg_color, 0.0), grass_color = brightened(episode.grass_color, 0.0)
    cdef rgb_t[3] road_colors
    cdef double[4][2] field = [
        [PLAYFIELD, PLAYFIELD], [PLAYFIELD, -PLAYFIELD], [-PLAYFIELD, -PLAYFIELD], [-PLAYFIELD, PLAYFIELD]]
    cdef bint sees_field_only = max(fabs(camera.car_x), fabs(camera.car_y)) + camera.reach < PLAYFIELD
    cdef double[4][2] square
    cdef double left, low
    cdef int k
    fill(image.runs[0], (HEIGHT - HIDDEN_ROWS) * STATE, field_color if sees_field_only else 0)
    if not sees_field_only:
        draw_shape(image, camera, field[0], 4, field_color, True)
    for k in range(SQUARES * SQUARES):
        left, low = GRASS_DIM * (2 * (k // SQUARES) - 20), GRASS_DIM * (2 * (k % SQUARES) - 20)
        square = [[left + GRASS_DIM, low], [left, low], [left, low + GRASS_DIM], [left + GRASS_DIM, low + GRASS_DIM]]
        draw_ground(image, camera, square[0], grass_color)
    for k in range(3):
        road_colors[k] = brightened(episode.road_color, 0.01 * k * 255)
    for k in range(episode.tiles):
        draw_ground(image, camera, car.roads[k][0], road_colors[0 if episode.touched[k] else k % 3])
        if car.has_border[k]:
            draw_ground(image, camera, car.borders[k][0], RED if k % 2 else WHITE)


cdef void draw_body_polygon(
    image_t* image, const camera_t* camera, const body_t* body, const vec_t* corners, int count, rgb_t color
) noexcept nogil:
    cdef double[MAX_CORNERS][2] points
    cdef vec_t corner
    cdef int k
    for k in range(count):
        corner = world_point(body, corners[k].x, corners[k].y)
        points[k][0], points[k][1] = corner.x, corner.y
    draw_shape(image, camera, points[0], count, color, False)


cdef void draw_stripe(image_t* image, const camera_t* camera, const body_t* body, double phase) noexcept nogil:
    """Draw the stripe across a turning wheel, unless it is on the lower side."""
    cdef vec_t[4] corners
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
    draw_body_polygon(image, camera, body, corners, 4, STRIPE_COLOR)


cdef void draw_car(image_t* image, const camera_t* camera, const car_t* car) noexcept nogil:
    cdef const polygon_shape_t* shape
    cdef const body_t* body
    cdef const fixture_t* fixture
    cdef rgb_t color
    cdef int k
    for k in range(1, 2 + WHEELS):
        body = car.lane.moving[k % (1 + WHEELS)]  # the hull is the last one
        color = BLACK if k <= WHEELS else HULL_COLOR
        fixture = body.fixtures
        while fixture != NULL:
            shape = <const polygon_shape_t*> fixture.shape
            if shape.type == POLYGON:  # a program may have added another shape
                draw_body_polygon(image, camera, body, shape.vertices, shape.count, color)
            fixture = fixture.next
        if k <= WHEELS:
            draw_stripe(image, camera, body, car.episode.phase[k - 1])


# --- the instruments, in front of the world: y points down ------------------------------------------------------------

cdef inline int to_pixel(double value) noexcept nogil:
    """Cut off the fraction of a coordinate, and limit it to values that fit into an int."""
    return <int> min(max(value, -1e6), 1e6)


cdef void draw_rectangle(image_t* image, double x1, double y1, double x2, double y2, rgb_t color) noexcept nogil:
    """Draw a rectangle between two corners, inclusive."""
    cdef int y, top = to_pixel(min(y1, y2)), bottom = to_pixel(max(y1, y2))
    for y in range(clamped(top, HEIGHT), clamped(bottom + 1, HEIGHT)):
        paint(image, y, to_pixel(x1), to_pixel(x2), color)


cdef void draw_bar(
    image_t* image, double value, double left, double right, double top, double bottom, rgb_t color
) noexcept nogil:
    """Draw a bar for a value that is not zero, between two of 40 columns; `top` and `bottom` count from below."""
    if fabs(value) > 1e-4:
        draw_rectangle(image, left * COLUMN, HEIGHT - top, right * COLUMN, HEIGHT - bottom, color)


cdef void draw_score(image_t* image, const score_images_t* images, int index) noexcept nogil:
    """Draw a text at the lower left."""
    cdef int width = images.widths[index], left = 60 - width // 2, top = HEIGHT - HEIGHT // 16 - images.height // 2
    cdef const uint8_t* shades = images.shades + <int64_t> index * images.height * images.width
    cdef int row, x
    for row in range(clamped(-top, images.height), clamped(HEIGHT - top, images.height)):
        for x in range(clamped(left, WIDTH), clamped(left + width, WIDTH)):
            mixed(image, top + row, run_of(x))[x] = shades[row * images.width + x - left] * <rgb_t> 0x000100010001


cdef void draw_instruments(image_t* image, const car_t* car, const score_images_t* images) noexcept nogil:
    """Draw speeds, steering, rotation and the score in the lowest eighth of the image."""
    cdef const body_t* hull = car.lane.moving[0]
    cdef double speed = sqrt(
        <double> hull.velocity.x * hull.velocity.x + <double> hull.velocity.y * hull.velocity.y)
    cdef double angle = joint_angle(car.lane.joints[0]), turning = hull.angular_velocity
    cdef double reward = rint(car.episode.shown_reward)
    cdef double omega
    cdef int k, score = 0
    draw_bar(image, 1.0, 0, 40, HIDDEN_ROWS, 0, BLACK)
    draw_bar(image, speed, 5, 6, ROW + ROW * (0.02 * speed), ROW, WHITE)
    for k in range(WHEELS):
        omega = car.episode.omega[k]
        draw_bar(image, omega, 7 + k, 8 + k, ROW + ROW * (0.01 * omega), ROW, VIOLET if k >= 2 else BLUE)
    draw_bar(image, angle, 20, 20 + -10.0 * angle, 4 * ROW, 2 * ROW, GREEN)
    draw_bar(image, turning, 30, 30 + -0.8 * turning, 4 * ROW, 2 * ROW, RED)
    if not reward >= images.lowest:  # or if it is nan
        reward = images.lowest
    if reward != 0.0 or not signbit(reward):
        score = 1 + <int> min(reward, <double> images.highest) - images.lowest
    draw_score(image, images, score)


# --- rescaling --------------------------------------------------------------------------------------------------------

cdef inline uint32_t overlap(int pixel, int begin, int end) noexcept nogil:
    """Return how much of a pixel lies between `begin` and `end`, in 1 / 16384 pixel."""
    return min((pixel + 1) * ONE, end) - max(pixel * ONE, begin)


cdef inline uint32_t weighted(uint32_t shade, uint32_t weight) noexcept nogil:
    return (4 * shade * weight) >> 16


cdef void rescale_cell(const image_t* image, int row, int cell, uint8_t* rgb) noexcept nogil:
    cdef int left = cell * X_SPACE, right = left + X_SPACE, top = row * Y_SPACE, bottom = top + Y_SPACE
    cdef int first = left // ONE, last = right // ONE, k, x, y
    cdef uint32_t first_weight = overlap(first, left, right), last_weight = overlap(last, left, right), weight, shade
    cdef uint32_t[3] sums = [0, 0, 0]
    cdef const rgb_t* pixels
    cdef rgb_t before, within, after
    for y in range(top // ONE, bottom // ONE + 1):
        weight = overlap(y, top, bottom)
        pixels = image.pixels[y]
        before, after = image.runs[y][cell - 1 if cell else 0], image.runs[y][cell]
        within = after * <rgb_t> (last - first - 1)
        if before == MIXED:
            before = pixels[first]
        if after == MIXED:
            after, within = pixels[last], 0
            for x in range(first + 1, last):
                within += pixels[x]
        for k in range(3):
            shade = (weighted(shade_of(before, k), first_weight) + shade_of(within, k)
                     + weighted(shade_of(after, k), last_weight))
            sums[k] += weighted((shade * X_INVERSE) >> 16, weight)
    for k in range(3):
        rgb[k] = <uint8_t> ((sums[k] * Y_INVERSE) >> 16)


cdef void rescale(const image_t* image, uint8_t* state) noexcept nogil:
    """Rescale the image to an observation [STATE, STATE, 3].

    If all pixels of a cell have the same color, rounding down makes the mean of each row 1 lower than the color, and
    the mean of these means another 1 lower.
    """
    cdef rgb_t[STATE] changes
    cdef const rgb_t* top
    cdef int row, y, cell, left, k
    for row in range(STATE):
        top = image.runs[row * Y_SPACE // ONE]
        memset(changes, 0, sizeof(changes))
        for y in range(row * Y_SPACE // ONE + 1, (row + 1) * Y_SPACE // ONE + 1):
            for cell in range(STATE):
                changes[cell] |= image.runs[y][cell] ^ top[cell]
        for cell in range(STATE):
            left = cell - 1 if cell else 0
            if changes[cell] | changes[left] | (top[cell] ^ top[left]) or top[cell] == MIXED:
                rescale_cell(image, row, cell, state)
            else:
                for k in range(3):
                    state[k] = <uint8_t> (max(shade_of(top[cell], k), <uint32_t> 2) - 2)
            state += 3


cdef void draw_observation(const car_t* car, const score_images_t* images, uint8_t* observation) noexcept nogil:
    cdef image_t* image = image_of_thread()
    cdef camera_t camera = camera_behind(car.lane.moving[0], car.episode.t)
    draw_scenery(image, &camera, car)
    draw_car(image, &camera, car)
    draw_instruments(image, car, images)
    rescale(image, observation)


def draw_shapes(list shapes):
    """Return an observation of shapes on a black image, uint8 [STATE, STATE, 3], for tests.

    A shape is ("ground", "car" or "rectangle"; red, green and blue; 3 to 16 corners in pixels, 2 of a rectangle).
    """
    cdef image_t* image = image_of_thread()
    cdef pixel_t[MAX_CORNERS] pixels
    cdef cnp.ndarray state = np.empty((STATE, STATE, 3), np.uint8)
    cdef int k
    fill(image.runs[0], HEIGHT * STATE, 0)
    for kind, (red, green, blue), corners in shapes:
        k = 0
        for x, y in corners[:MAX_CORNERS]:
            pixels[k].x, pixels[k].y = x, y
            k += 1
        if kind == "rectangle":
            draw_rectangle(image, pixels[0].x, pixels[0].y, pixels[1].x, pixels[1].y, rgb(red, green, blue))
        else:
            draw_polygon(image, pixels, k, rgb(red, green, blue), kind == "ground")
    rescale(image, <uint8_t*> cnp.PyArray_DATA(state))
    return state
