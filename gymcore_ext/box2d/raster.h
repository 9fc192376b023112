/* Polygons on an image of 1000 x 800 pixels, and the image rescaled to 96 x 96: CarRacing's observation.
 *
 * Every pixel is the one that pygame-ce sets, whose functions Gymnasium draws with: `gfxdraw.aapolygon` and
 * `gfxdraw.filled_polygon` (ground), `draw.polygon` (car), and `transform.smoothscale` as it computes on x86-64.
 * Their arithmetic is kept; tests compare with them. The old pygame sets other pixels at the edges of the car.
 */
#ifndef GYMCORE_BOX2D_RASTER_H
#define GYMCORE_BOX2D_RASTER_H

#include <limits.h>
#include <math.h>
#include <stdint.h>

#include "gymcore/platform.h"

/* Coordinates are 16-bit numbers, as in pygame-ce. */
enum { RASTER_WIDTH = 1000, RASTER_HEIGHT = 800, RASTER_STATE = 96, RASTER_MAX_CORNERS = 16 };

/* The image is rescaled to cells, each the sum of an area that begins and ends within pixels. Areas are in 1 / 16384 of
 * a pixel; sums are multiplied by the inverse of a cell's area in 1 / 65536. */
enum {
    RASTER_ONE = 0x4000,
    RASTER_X_SPACE = RASTER_ONE * RASTER_WIDTH / RASTER_STATE,
    RASTER_Y_SPACE = RASTER_ONE * RASTER_HEIGHT / RASTER_STATE,
    RASTER_X_INVERSE = 0x40000000 / RASTER_X_SPACE,
    RASTER_Y_INVERSE = 0x40000000 / RASTER_Y_SPACE
};

typedef struct { int x, y; } raster_point;

/* Red, green and blue in 16 bits each, which hold sums of a run's pixels, and products with 256. */
typedef uint64_t raster_rgb;

/* A row of pixels is kept as 96 runs, of the 10 or 11 pixels each that end in one cell: 24 of 25 runs have one color. */
typedef struct {
    raster_rgb runs[RASTER_HEIGHT][RASTER_STATE];   /* the color of a run, or RASTER_MIXED */
    raster_rgb pixels[RASTER_HEIGHT][RASTER_WIDTH]; /* those of mixed runs; others are not set */
} raster_image;

#define RASTER_MIXED UINT64_MAX

/* The image of this thread: 7 MB, too much for one in every lane. Inlined, it would be looked up at every pixel. */
static GYMCORE_NOINLINE raster_image *raster_of_thread(void)
{
    static GYMCORE_THREAD raster_image image;
    return &image;
}

static inline raster_rgb raster_color(const uint8_t *rgb)
{
    return rgb[0] | (raster_rgb)rgb[1] << 16 | (raster_rgb)rgb[2] << 32;
}

static inline uint32_t raster_shade(raster_rgb color, int channel)
{
    return (color >> (16 * channel)) & 0xffff;
}

static inline void raster_fill(raster_rgb *pixels, int count, raster_rgb color)
{
    for (int i = 0; i < count; i++)
        pixels[i] = color;
}

static inline int raster_clamped(int value, int size)
{
    return value < 0 ? 0 : value > size ? size : value;
}

/* The run of a pixel; RASTER_STATE of the pixel after the last. */
static inline int raster_run_of(int x)
{
    return x * RASTER_ONE / RASTER_X_SPACE;
}

/* The first pixel of a run. */
static inline int raster_begin(int run)
{
    return (run * RASTER_X_SPACE + RASTER_ONE - 1) / RASTER_ONE;
}

/* The pixels of a row, for changing some of this run. */
static inline raster_rgb *raster_mixed(raster_image *image, int row, int run)
{
    raster_rgb *color = &image->runs[row][run];
    if (*color != RASTER_MIXED) {
        const int begin = raster_begin(run);
        raster_fill(image->pixels[row] + begin, raster_begin(run + 1) - begin, *color);
        *color = RASTER_MIXED;
    }
    return image->pixels[row];
}

/* Set those of the pixels `begin` to `end` - 1 that are in one run. */
static inline void raster_paint_within(raster_image *image, int row, int run, int begin, int end, raster_rgb color)
{
    const int run_begin = raster_begin(run), run_end = raster_begin(run + 1);
    const int first = begin < run_begin ? run_begin : begin, count = (end < run_end ? end : run_end) - first;
    if (count > 0)
        raster_fill(raster_mixed(image, row, run) + first, count, color);
}

/* Set the pixels between two of a row, both included. */
static inline void raster_paint(raster_image *image, int row, int x1, int x2, raster_rgb color)
{
    const int begin = raster_clamped(x1 < x2 ? x1 : x2, RASTER_WIDTH);
    const int end = raster_clamped((x1 < x2 ? x2 : x1) + 1, RASTER_WIDTH), last = raster_run_of(end);
    int run = raster_run_of(begin);
    if (run == last || raster_begin(run) < begin)
        raster_paint_within(image, row, run++, begin, end, color);
    raster_fill(image->runs[row] + run, last - run, color);
    if (run <= last)
        raster_paint_within(image, row, last, begin, end, color);
}

/* --- the world, whose y axis points up: its rows below `lowest` are hidden by the instruments ----------------------- */

enum { RASTER_LOWEST = 100 };

static inline void raster_span(raster_image *image, int x1, int x2, int y, raster_rgb color)
{
    if (y >= RASTER_LOWEST && y < RASTER_HEIGHT)
        raster_paint(image, RASTER_HEIGHT - 1 - y, x1, x2, color);
}

/* Mix a color into a pixel, by alpha of 0 to 254. */
static inline void raster_blend(raster_image *image, int x, int y, raster_rgb color, int alpha)
{
    if (x < 0 || x >= RASTER_WIDTH || y < RASTER_LOWEST || y >= RASTER_HEIGHT)
        return;
    raster_rgb *pixel = raster_mixed(image, RASTER_HEIGHT - 1 - y, raster_run_of(x)) + x;
    *pixel = ((*pixel * (raster_rgb)(256 - alpha) + color * (raster_rgb)alpha) >> 8) & 0x00ff00ff00ffu;
}

enum { RASTER_LEFT = 1, RASTER_RIGHT = 2, RASTER_TOP = 4, RASTER_BOTTOM = 8 };

static inline int raster_outside(raster_point p)
{
    return (p.x < 0 ? RASTER_LEFT : p.x >= RASTER_WIDTH ? RASTER_RIGHT : 0) |
           (p.y < 0 ? RASTER_TOP : p.y >= RASTER_HEIGHT ? RASTER_BOTTOM : 0);
}

/* Cut a line to the image, to whole pixels; returns 0 if nothing is left. The ends may change places. */
static int raster_clip(raster_point *first, raster_point *last)
{
    for (;;) {
        int code = raster_outside(*first);
        const int other = raster_outside(*last);
        if (!(code | other))
            return 1;
        if (code & other)
            return 0;
        if (!code) {
            const raster_point kept = *first;
            *first = *last, *last = kept;
            code = other;
        }
        const int is_upright = first->x == last->x;
        const float slope = is_upright ? 1.0f : (float)(last->y - first->y) / (float)(last->x - first->x);
        if (code & (RASTER_LEFT | RASTER_RIGHT)) {
            const int x = code & RASTER_LEFT ? 0 : RASTER_WIDTH - 1;
            first->y += (int)((float)(x - first->x) * slope);
            first->x = x;
        } else {
            const int y = code & RASTER_BOTTOM ? RASTER_HEIGHT - 1 : 0;
            if (!is_upright)
                first->x += (int)((float)(y - first->y) / slope);
            first->y = y;
        }
    }
}

/* An anti-aliased line without its last pixel: two pixels a step, which share the color. */
static void raster_smooth_line(raster_image *image, raster_point first, raster_point last, raster_rgb color)
{
    if (!raster_clip(&first, &last))
        return;
    const raster_point low = first.y > last.y ? last : first, high = first.y > last.y ? first : last;
    const int rise = high.y - low.y, sideways = high.x - low.x;
    if (sideways == 0) {
        for (int y = low.y; y <= high.y; y++)
            raster_span(image, low.x, low.x, y, color);
        return;
    }
    if (rise == 0) {
        raster_span(image, low.x, high.x, low.y, color);
        return;
    }
    const int direction = sideways < 0 ? -1 : 1, run = sideways * direction, is_steep = rise > run;
    const int length = is_steep ? rise : run;
    const uint64_t slope = (uint64_t)(((is_steep ? run : rise) << 16) / length) << 16; /* in 1 / 2^32 */
    raster_span(image, first.x, first.x, first.y, color);
    for (int k = 1; k < length; k++) {
        const int aside = (int)(k * slope >> 32), weight = (int)(k * slope >> 24) & 0xff;
        const int x = low.x + direction * (is_steep ? aside : k), y = low.y + (is_steep ? k : aside);
        raster_blend(image, x, y, color, (255 * (255 - weight)) >> 8);
        raster_blend(image, x + (is_steep ? direction : 0), y + !is_steep, color, (255 * weight) >> 8);
    }
}

static inline void raster_sort(int *values, int count)
{
    for (int i = 1; i < count; i++)
        for (int k = i; k > 0 && values[k - 1] > values[k]; k--) {
            const int value = values[k];
            values[k] = values[k - 1], values[k - 1] = value;
        }
}

/* The edge to a corner from the one before it, its lower end first. */
static inline void raster_edge(const raster_point *corners, int count, int i, raster_point *low, raster_point *high)
{
    const raster_point before = corners[i ? i - 1 : count - 1], here = corners[i];
    *low = before.y < here.y ? before : here;
    *high = before.y < here.y ? here : before;
}

static inline void raster_rows(const raster_point *corners, int count, int *lowest, int *highest)
{
    *lowest = INT_MAX, *highest = INT_MIN;
    for (int i = 0; i < count; i++) {
        *lowest = corners[i].y < *lowest ? corners[i].y : *lowest;
        *highest = corners[i].y > *highest ? corners[i].y : *highest;
    }
}

/* Fill the rows of a polygon between every other edge that crosses them and the next one. Crossings with the edges of the
 * ground are in 1 / 65536. Those with edges of a part of the car, in the order of the corners, are rounded down and up by
 * turns. */
static inline void raster_fill_rows(
    raster_image *image, const raster_point *corners, int count, int lowest, int highest, raster_rgb color, int is_ground)
{
    int crossings[RASTER_MAX_CORNERS];
    raster_point low, high;
    for (int y = lowest < RASTER_LOWEST ? RASTER_LOWEST : lowest; y <= highest && y < RASTER_HEIGHT; y++) {
        int found = 0;
        for (int i = 0; i < count; i++) {
            raster_edge(corners, count, i, &low, &high);
            if (low.y == high.y || y < low.y || y > high.y || (y == high.y && y < highest))
                continue;
            if (is_ground) {
                const int64_t share = 65536u * (uint32_t)(y - low.y) / (uint32_t)(high.y - low.y);
                crossings[found] = (int)(share * (high.x - low.x) + 65536 * (int64_t)low.x);
            } else {
                const float offset = (float)((int64_t)(y - low.y) * (high.x - low.x)) / (float)(high.y - low.y);
                crossings[found] = low.x + (int)(found % 2 ? ceilf(offset) : floorf(offset));
            }
            found++;
        }
        raster_sort(crossings, found);
        for (int i = 0; i + 1 < found; i += 2)
            if (is_ground)
                raster_span(image, (crossings[i] + 1 + 32768) >> 16, (crossings[i + 1] - 1 + 32768) >> 16, y, color);
            else
                raster_span(image, crossings[i], crossings[i + 1], y, color);
    }
}

/* The ground: an anti-aliased outline, and what is within. */
static void raster_ground(raster_image *image, const raster_point *corners, int count, raster_rgb color)
{
    int lowest, highest;
    for (int i = 0; i < count; i++)
        raster_smooth_line(image, corners[i], corners[(i + 1) % count], color);
    raster_rows(corners, count, &lowest, &highest);
    raster_fill_rows(image, corners, count, lowest, highest, color, 1);
}

/* A part of the car. */
static void raster_polygon(raster_image *image, const raster_point *corners, int count, raster_rgb color)
{
    int lowest, highest;
    raster_point low, high;
    raster_rows(corners, count, &lowest, &highest);
    raster_fill_rows(image, corners, count, lowest, highest, color, 0);
    for (int i = 0; i < count; i++) { /* horizontal edges: between the others, or of a polygon without height */
        raster_edge(corners, count, i, &low, &high);
        if (low.y == high.y && ((lowest < low.y && low.y < highest) || (lowest == highest && i > 0)))
            raster_span(image, low.x, high.x, low.y, color);
    }
}

/* --- the instruments, over the world: y points down ----------------------------------------------------------------- */

/* A rectangle between two corners, both included. */
static void raster_rectangle(raster_image *image, raster_point a, raster_point b, raster_rgb color)
{
    const int bottom = raster_clamped((a.y < b.y ? b.y : a.y) + 1, RASTER_HEIGHT);
    for (int y = raster_clamped(a.y < b.y ? a.y : b.y, RASTER_HEIGHT); y < bottom; y++)
        raster_paint(image, y, a.x, b.x, color);
}

/* Shades [height, width] of gray, with their left upper corner at x, y. */
static void raster_gray(raster_image *image, const uint8_t *shades, int height, int width, int row_length, int x, int y)
{
    const int begin = raster_clamped(x, RASTER_WIDTH), end = raster_clamped(x + width, RASTER_WIDTH);
    for (int row = raster_clamped(-y, height); row < height && y + row < RASTER_HEIGHT; row++)
        for (int column = begin; column < end; column++)
            raster_mixed(image, y + row, raster_run_of(column))[column] =
                shades[row * row_length + column - x] * (raster_rgb)0x000100010001u;
}

/* --- rescaling ------------------------------------------------------------------------------------------------------ */

/* What a cell covers of a row or column: pixels `first` to `last`, those two in part. */
typedef struct {
    int first, last;
    uint32_t first_weight, last_weight;
} raster_extent;

static inline raster_extent raster_extent_of(int cell, int space)
{
    const int begin = cell * space, end = begin + space;
    return (raster_extent){begin / RASTER_ONE, end / RASTER_ONE, (uint32_t)(RASTER_ONE - begin % RASTER_ONE),
                           (uint32_t)(end % RASTER_ONE)};
}

static inline uint32_t raster_part(uint32_t shade, uint32_t weight)
{
    return (4 * shade * weight) >> 16;
}

static void raster_rescale_cell(const raster_image *image, const raster_extent *rows, int cell, uint8_t *rgb)
{
    const raster_extent columns = raster_extent_of(cell, RASTER_X_SPACE);
    uint32_t sums[3] = {0, 0, 0};
    for (int y = rows->first; y <= rows->last; y++) {
        const uint32_t weight = y == rows->first ? rows->first_weight : y == rows->last ? rows->last_weight : RASTER_ONE;
        const raster_rgb *pixels = image->pixels[y], before = image->runs[y][cell ? cell - 1 : 0];
        const raster_rgb first = before == RASTER_MIXED ? pixels[columns.first] : before;
        raster_rgb last = image->runs[y][cell], whole = last * (raster_rgb)(columns.last - columns.first - 1);
        if (last == RASTER_MIXED) {
            last = pixels[columns.last];
            whole = 0;
            for (int x = columns.first + 1; x < columns.last; x++)
                whole += pixels[x];
        }
        for (int k = 0; k < 3; k++) {
            const uint32_t sum = raster_part(raster_shade(first, k), columns.first_weight) + raster_shade(whole, k) +
                                 raster_part(raster_shade(last, k), columns.last_weight);
            sums[k] += raster_part((sum * RASTER_X_INVERSE) >> 16, weight);
        }
    }
    for (int k = 0; k < 3; k++)
        rgb[k] = (uint8_t)((sums[k] * RASTER_Y_INVERSE) >> 16);
}

/* The image as an observation [96, 96, 3]. A cell of one color loses 1 of each shade by the rounding of its rows, and
 * another 1 by that of their sum. */
static void raster_rescale(const raster_image *image, uint8_t *state)
{
    for (int row = 0; row < RASTER_STATE; row++) {
        const raster_extent rows = raster_extent_of(row, RASTER_Y_SPACE);
        const raster_rgb *top = image->runs[rows.first];
        raster_rgb changes[RASTER_STATE] = {0};
        for (int y = rows.first + 1; y <= rows.last; y++)
            for (int cell = 0; cell < RASTER_STATE; cell++)
                changes[cell] |= image->runs[y][cell] ^ top[cell];
        for (int cell = 0; cell < RASTER_STATE; cell++, state += 3) {
            const int left = cell ? cell - 1 : 0;
            if (changes[cell] | changes[left] | (top[cell] ^ top[left]) || top[cell] == RASTER_MIXED)
                raster_rescale_cell(image, &rows, cell, state);
            else
                for (int k = 0; k < 3; k++)
                    state[k] = (uint8_t)(raster_shade(top[cell], k) > 2 ? raster_shade(top[cell], k) - 2 : 0);
        }
    }
}

#endif
