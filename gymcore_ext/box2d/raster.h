/* Polygons on an image of 1000 x 800 pixels, and the image rescaled to 96 x 96: CarRacing's observation.
 *
 * Every pixel is the one that pygame-ce sets, whose functions Gymnasium draws with: `gfxdraw.aapolygon` and
 * `gfxdraw.filled_polygon` (ground), `draw.polygon` (car), and `transform.smoothscale` as it computes on x86-64.
 * Their arithmetic is kept; tests compare with them. The old pygame sets other pixels at the edges of the car.
 */
#ifndef GYMCORE_BOX2D_RASTER_H
#define GYMCORE_BOX2D_RASTER_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "gymcore/platform.h"

/* Coordinates are 16-bit numbers, as in pygame-ce. */
enum { RASTER_WIDTH = 1000, RASTER_HEIGHT = 800, RASTER_STATE = 96, RASTER_MAX_CORNERS = 16 };

typedef struct { int x, y; } raster_point;

/* Pixels are the bytes red, green, blue and unused. */
typedef struct {
    uint32_t pixels[RASTER_HEIGHT][RASTER_WIDTH];
} raster_image;

/* The image of this thread: 3 MB, too much for one in every lane. */
static inline raster_image *raster_of_thread(void)
{
    static GYMCORE_THREAD raster_image image;
    return &image;
}

static inline uint32_t raster_color(const uint8_t *rgb)
{
    const uint8_t bytes[4] = {rgb[0], rgb[1], rgb[2], 0};
    uint32_t color;
    memcpy(&color, bytes, 4);
    return color;
}

static inline void raster_fill(uint32_t *pixels, int count, uint32_t color)
{
    for (int i = 0; i < count; i++)
        pixels[i] = color;
}

/* a / b, rounded down; b is positive. */
static inline int raster_quotient(int a, int b)
{
    return (a >= 0 ? a : a - b + 1) / b;
}

/* --- the world, whose y axis points up: its rows below `lowest` are hidden by the instruments ----------------------- */

static inline uint32_t *raster_row(raster_image *image, int y)
{
    return image->pixels[RASTER_HEIGHT - 1 - y];
}

enum { RASTER_LOWEST = 100 };

static inline void raster_span(raster_image *image, int x1, int x2, int y, uint32_t color)
{
    int left = x1 < x2 ? x1 : x2, right = x1 < x2 ? x2 : x1;
    if (y < RASTER_LOWEST || y >= RASTER_HEIGHT)
        return;
    if (left < 0)
        left = 0;
    if (right >= RASTER_WIDTH)
        right = RASTER_WIDTH - 1;
    raster_fill(raster_row(image, y) + left, right - left + 1, color);
}

/* Mix a color into a pixel, by alpha of 0 to 255. */
static inline void raster_blend(raster_image *image, int x, int y, uint32_t color, int alpha)
{
    if (x < 0 || x >= RASTER_WIDTH || y < RASTER_LOWEST || y >= RASTER_HEIGHT)
        return;
    uint8_t *pixel = (uint8_t *)(raster_row(image, y) + x);
    uint8_t channels[4];
    memcpy(channels, &color, 4);
    for (int k = 0; k < 3; k++) {
        const int change = (channels[k] - pixel[k]) * alpha;
        pixel[k] = (uint8_t)(alpha == 255 ? channels[k] : pixel[k] + raster_quotient(change, 256));
    }
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
static void raster_smooth_line(raster_image *image, raster_point first, raster_point last, uint32_t color)
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
    const uint32_t advance = (uint32_t)(((is_steep ? run : rise) << 16) / length) << 16;
    uint32_t error = 0;
    int x = low.x, y = low.y;
    raster_blend(image, first.x, first.y, color, 255);
    for (int k = 1; k < length; k++) {
        const uint32_t before = error;
        error += advance;
        const int turns = error <= before, weight = (int)(error >> 24);
        if (is_steep)
            x += turns * direction, y++;
        else
            x += direction, y += turns;
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
    *lowest = *highest = corners[0].y;
    for (int i = 1; i < count; i++) {
        if (corners[i].y < *lowest)
            *lowest = corners[i].y;
        if (corners[i].y > *highest)
            *highest = corners[i].y;
    }
}

/* The ground: an anti-aliased outline, and what is within. */
static void raster_ground(raster_image *image, const raster_point *corners, int count, uint32_t color)
{
    int crossings[RASTER_MAX_CORNERS], lowest, highest;
    raster_point low, high;
    for (int i = 0; i < count; i++)
        raster_smooth_line(image, corners[i], corners[(i + 1) % count], color);
    raster_rows(corners, count, &lowest, &highest);
    for (int y = lowest < RASTER_LOWEST ? RASTER_LOWEST : lowest; y <= highest && y < RASTER_HEIGHT; y++) {
        int found = 0;
        for (int i = 0; i < count; i++) {
            raster_edge(corners, count, i, &low, &high);
            if (low.y != high.y && ((y >= low.y && y < high.y) || (y == highest && y > low.y && y <= high.y)))
                crossings[found++] = (int)((int64_t)65536 * (y - low.y) / (high.y - low.y) * (high.x - low.x) +
                                           (int64_t)65536 * low.x);
        }
        raster_sort(crossings, found);
        for (int i = 0; i + 1 < found; i += 2)
            raster_span(image, (crossings[i] + 1 + 32768) >> 16, (crossings[i + 1] - 1 + 32768) >> 16, y, color);
    }
}

/* A part of the car. Of the edges that cross a row, in the order of the corners, every other one is rounded down and
 * those between them up. */
static void raster_polygon(raster_image *image, const raster_point *corners, int count, uint32_t color)
{
    int crossings[RASTER_MAX_CORNERS], lowest, highest;
    raster_point low, high;
    raster_rows(corners, count, &lowest, &highest);
    if (lowest == highest) {
        for (int i = 1; i < count; i++)
            raster_span(image, corners[i - 1].x, corners[i].x, lowest, color);
        return;
    }
    for (int y = lowest < RASTER_LOWEST ? RASTER_LOWEST : lowest; y <= highest && y < RASTER_HEIGHT; y++) {
        int found = 0;
        for (int i = 0; i < count; i++) {
            raster_edge(corners, count, i, &low, &high);
            if (low.y != high.y && ((y >= low.y && y < high.y) || (y == highest && high.y == highest))) {
                const int64_t advance = (int64_t)(y - low.y) * (high.x - low.x);
                const float offset = (float)advance / (float)(high.y - low.y);
                crossings[found] = low.x + (int)(found % 2 ? ceilf(offset) : floorf(offset));
                found++;
            }
        }
        raster_sort(crossings, found);
        for (int i = 0; i + 1 < found; i += 2)
            raster_span(image, crossings[i], crossings[i + 1], y, color);
    }
    for (int i = 0; i < count; i++) { /* horizontal edges between the others */
        raster_edge(corners, count, i, &low, &high);
        if (low.y == high.y && lowest < low.y && low.y < highest)
            raster_span(image, low.x, high.x, low.y, color);
    }
}

/* --- the instruments, over the world: y points down ----------------------------------------------------------------- */

static inline int raster_clamped(int value, int size)
{
    return value < 0 ? 0 : value > size ? size : value;
}

/* A rectangle between two corners, both included. */
static void raster_rectangle(raster_image *image, raster_point a, raster_point b, uint32_t color)
{
    const int left = raster_clamped(a.x < b.x ? a.x : b.x, RASTER_WIDTH);
    const int right = raster_clamped((a.x < b.x ? b.x : a.x) + 1, RASTER_WIDTH);
    const int bottom = raster_clamped((a.y < b.y ? b.y : a.y) + 1, RASTER_HEIGHT);
    for (int y = raster_clamped(a.y < b.y ? a.y : b.y, RASTER_HEIGHT); y < bottom; y++)
        raster_fill(image->pixels[y] + left, right - left, color);
}

/* Shades [height, width] of gray, with their left upper corner at x, y. */
static void raster_gray(raster_image *image, const uint8_t *shades, int height, int width, int row_length, int x, int y)
{
    for (int row = raster_clamped(-y, height); row < height && y + row < RASTER_HEIGHT; row++)
        for (int column = raster_clamped(-x, width); column < width && x + column < RASTER_WIDTH; column++)
            image->pixels[y + row][x + column] = shades[row * row_length + column] * 0x01010101u;
}

/* --- rescaling ------------------------------------------------------------------------------------------------------ */

/* The weights of areas are in 1 / 16384; sums are multiplied by the inverse of a pixel's area in 1 / 65536. */
enum {
    RASTER_ONE = 0x4000,
    RASTER_X_SPACE = RASTER_ONE * RASTER_WIDTH / RASTER_STATE,
    RASTER_Y_SPACE = RASTER_ONE * RASTER_HEIGHT / RASTER_STATE,
    RASTER_X_INVERSE = 0x40000000 / RASTER_X_SPACE,
    RASTER_Y_INVERSE = 0x40000000 / RASTER_Y_SPACE,
    RASTER_ROW = 3 * RASTER_STATE
};

static inline uint32_t raster_part(uint32_t shade, uint32_t weight)
{
    return (4 * shade * weight) >> 16;
}

/* A row of 1000 pixels to one of 96, as bytes red, green and blue. */
static void raster_rescale_row(const uint32_t *pixels, uint8_t *row)
{
    const uint64_t every_other = 0x00ff00ff00ff00ffu;
    uint32_t weight = RASTER_X_SPACE, sums[4] = {0, 0, 0, 0};
    for (int x = 0; x < RASTER_STATE; x++) {
        uint64_t even = 0, odd = 0, pair; /* red and blue, green: of two pixels at a time, in 16 bits each */
        uint32_t single;
        int whole = (int)((weight - 1) / RASTER_ONE);
        weight -= (uint32_t)whole * RASTER_ONE;
        for (; whole >= 2; whole -= 2, pixels += 2) {
            memcpy(&pair, pixels, 8);
            even += pair & every_other;
            odd += (pair >> 8) & every_other;
        }
        for (; whole; whole--) {
            single = *pixels++;
            even += single & every_other;
            odd += (single >> 8) & every_other;
        }
        even += even >> 32;
        odd += odd >> 32;
        sums[0] += even & 0xffff;
        sums[1] += odd & 0xffff;
        sums[2] += (even >> 16) & 0xffff;
        single = *pixels++;
        for (int k = 0; k < 3; k++) {
            const uint32_t shade = (single >> (8 * k)) & 0xff;
            row[3 * x + k] = (uint8_t)(((sums[k] + raster_part(shade, weight)) * RASTER_X_INVERSE) >> 16);
            sums[k] = raster_part(shade, RASTER_ONE - weight);
        }
        weight += RASTER_X_SPACE - RASTER_ONE;
    }
}

/* The image as an observation [96, 96, 3]. */
static void raster_rescale(const raster_image *image, uint8_t *state)
{
    uint8_t row[RASTER_ROW];
    uint16_t sums[RASTER_ROW];
    uint32_t weight = RASTER_Y_SPACE;
    memset(sums, 0, sizeof(sums));
    for (int y = 0; y < RASTER_HEIGHT; y++) {
        raster_rescale_row(image->pixels[y], row);
        if (weight > RASTER_ONE) {
            for (int k = 0; k < RASTER_ROW; k++)
                sums[k] = (uint16_t)(sums[k] + row[k]);
        } else {
            for (int k = 0; k < RASTER_ROW; k++) {
                state[k] = (uint8_t)(((sums[k] + raster_part(row[k], weight)) * RASTER_Y_INVERSE) >> 16);
                sums[k] = (uint16_t)raster_part(row[k], RASTER_ONE - weight);
            }
            state += RASTER_ROW;
            weight += RASTER_Y_SPACE;
        }
        weight -= RASTER_ONE;
    }
}

#endif
