/* Pictures of cells, drawn as in MiniGrid: at three times the size, and then averaged.
 *
 * Shapes, in fractions of a cell, are those of minigrid 3.2, so that every pixel is equal. Any thread that first needs a
 * picture draws it, without a lock: several threads may draw the same picture, and one of them publishes it. */
#ifndef GYMCORE_MINIGRID_TILES_H
#define GYMCORE_MINIGRID_TILES_H

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "../engine/atomics.h"

enum { GYMCORE_RECTANGLE = 1, GYMCORE_CIRCLE, GYMCORE_WAVES };

typedef struct {
    int form; /* 0 ends a list of shapes */
    double brightness, a, b, c, d; /* left, right, top and bottom of a rectangle; center and radius of a circle */
} gymcore_shape;

#define GYMCORE_RECT(brightness, left, right, top, bottom) {GYMCORE_RECTANGLE, brightness, left, right, top, bottom}
#define GYMCORE_INSET(brightness, edge) GYMCORE_RECT(brightness, edge, 1 - (edge), edge, 1 - (edge))
#define GYMCORE_DISC(brightness, x, y, radius) {GYMCORE_CIRCLE, brightness, x, y, radius, 0}
#define GYMCORE_MAX_SHAPES 6

/* Shapes by kind, the topmost first: empty, wall, floor, door (one for each state), key, ball, box, goal, lava. */
static const gymcore_shape gymcore_shapes[][GYMCORE_MAX_SHAPES] = {
    {{0}},
    {GYMCORE_INSET(1, 0)},
    {GYMCORE_RECT(0.5, 0.031, 1, 0.031, 1)},
    {GYMCORE_RECT(0, 0.92, 0.96, 0.04, 0.96), GYMCORE_RECT(1, 0.88, 1, 0, 1)},
    {GYMCORE_DISC(1, 0.75, 0.50, 0.08), GYMCORE_INSET(0, 0.12), GYMCORE_INSET(1, 0.08), GYMCORE_INSET(0, 0.04),
     GYMCORE_INSET(1, 0)},
    {GYMCORE_RECT(1, 0.52, 0.75, 0.50, 0.56), GYMCORE_RECT(0.45, 0.06, 0.94, 0.06, 0.94), GYMCORE_INSET(1, 0)},
    {GYMCORE_DISC(0, 0.56, 0.28, 0.064), GYMCORE_DISC(1, 0.56, 0.28, 0.190), GYMCORE_RECT(1, 0.38, 0.50, 0.81, 0.88),
     GYMCORE_RECT(1, 0.38, 0.50, 0.59, 0.66), GYMCORE_RECT(1, 0.50, 0.63, 0.31, 0.88)},
    {GYMCORE_DISC(1, 0.5, 0.5, 0.31)},
    {GYMCORE_RECT(1, 0.16, 0.84, 0.47, 0.53), GYMCORE_RECT(0, 0.18, 0.82, 0.18, 0.82),
     GYMCORE_RECT(1, 0.12, 0.88, 0.12, 0.88)},
    {GYMCORE_INSET(1, 0)},
    {{GYMCORE_WAVES, 0, 0, 0, 0, 0}, GYMCORE_INSET(1, 0)},
};
enum {
    GYMCORE_LAVA = sizeof(gymcore_shapes) / sizeof(gymcore_shapes[0]) - 1,
    /* With six colors, five agents (none, or one in each direction), and with or without a highlight. */
    GYMCORE_TILES = (GYMCORE_LAVA + 1) * 6 * 5 * 2,
};

typedef struct {
    int size;                            /* side in pixels */
    gymcore_word64 pixels[GYMCORE_TILES]; /* addresses of uint8 [size, size, 3]; 0 if not drawn */
} gymcore_tiles;

/* Return whether a point lies on one of the three zigzag lines of lava. */
static int gymcore_in_waves(double x, double y)
{
    static const float xs[] = {0.1f, 0.3f, 0.5f, 0.7f, 0.9f};
    for (int wave = 0; wave < 3; wave++) {
        float ys[] = {(float)(0.3 + 0.2 * wave), (float)(0.4 + 0.2 * wave)};
        if (y < ys[0] - 0.031 || y > ys[1] + 0.031)
            continue;
        for (int k = 0; k < 4; k++) {
            float x0 = xs[k], y0 = ys[k % 2], right = xs[k + 1] - x0, down = ys[(k + 1) % 2] - y0;
            float length = sqrtf(right * right + down * down);
            double dx = right / length, dy = down / length;
            double along = (x - x0) * dx + (y - y0) * dy;
            along = along < 0 ? 0 : along > length ? length : along;
            double from_x = x - (x0 + along * dx), from_y = y - (y0 + along * dy);
            if (sqrt(from_x * from_x + from_y * from_y) <= 0.03)
                return 1;
        }
    }
    return 0;
}

static int gymcore_in_shape(const gymcore_shape *s, double x, double y)
{
    if (s->form == GYMCORE_RECTANGLE)
        return x >= s->a && x <= s->b && y >= s->c && y <= s->d;
    if (s->form == GYMCORE_CIRCLE)
        return (x - s->a) * (x - s->a) + (y - s->b) * (y - s->b) <= s->c * s->c;
    return gymcore_in_waves(x, y);
}

/* Return whether a point lies in the triangle of an agent that faces right, from its barycentric coordinates. */
static int gymcore_in_agent(double x, double y)
{
    float x0 = 0.12f, y0 = 0.19f, ax = 0.12f - x0, ay = 0.81f - y0, bx = 0.87f - x0, by = 0.50f - y0;
    float aa = ax * ax + ay * ay, ab = ax * bx + ay * by, bb = bx * bx + by * by, scale = 1 / (aa * bb - ab * ab);
    double a = (x - x0) * ax + (y - y0) * ay, b = (x - x0) * bx + (y - y0) * by;
    double u = (bb * a - ab * b) * scale, v = (aa * b - ab * a) * scale;
    return u >= 0 && v >= 0 && u + v < 1;
}

/* Draw a picture into an image whose rows are `stride` bytes apart. */
static void gymcore_draw_tile(const gymcore_tiles *tiles, int number, uint8_t *image, size_t stride)
{
    static const uint8_t colors[][3] = {
        {255, 0, 0}, {0, 255, 0}, {0, 0, 255}, {112, 39, 195}, {255, 255, 0}, {100, 100, 100}};
    static const uint8_t lava[] = {255, 128, 0}, red[] = {255, 0, 0}, gray[] = {100, 100, 100};
    int highlight = number % 2, direction = number / 2 % 5 - 1, kind = number / 60, side = 3 * tiles->size;
    const uint8_t *color = kind == GYMCORE_LAVA ? lava : colors[number / 10 % 6];
    for (int row = 0; row < tiles->size; row++, image += stride)
        for (int column = 0; column < tiles->size; column++) {
            double means[3] = {0};
            for (int i = 3 * row; i < 3 * row + 3; i++) {
                int sums[3] = {0};
                for (int j = 3 * column; j < 3 * column + 3; j++) {
                    double x = (j + 0.5) / side, y = (i + 0.5) / side, brightness = 1;
                    int from_i = i, from_j = j; /* position of this point in an agent that faces right */
                    for (int k = 0; k < direction; k++) {
                        int turned = side - 1 - from_j;
                        from_j = from_i, from_i = turned;
                    }
                    const uint8_t *rgb = color;
                    if (direction >= 0 && gymcore_in_agent((from_j + 0.5) / side, (from_i + 0.5) / side))
                        rgb = red;
                    else {
                        const gymcore_shape *shape = gymcore_shapes[kind];
                        while (shape->form && !gymcore_in_shape(shape, x, y))
                            shape++;
                        if (shape->form)
                            brightness = shape->brightness;
                        else {
                            rgb = gray;
                            brightness = x <= 0.031 || y <= 0.031; /* the lines of the grid */
                        }
                    }
                    for (int c = 0; c < 3; c++) {
                        uint8_t value = (uint8_t)(brightness * rgb[c]);
                        sums[c] += highlight ? (uint8_t)(value + 0.30 * (255 - value)) : value;
                    }
                }
                for (int c = 0; c < 3; c++)
                    means[c] += sums[c] / 3.0;
            }
            for (int c = 0; c < 3; c++)
                image[3 * column + c] = (uint8_t)(means[c] / 3.0);
        }
}

/* Draw a picture and publish it; return its address, or 0 if there is no memory for it. */
GYMCORE_COLD static uint64_t gymcore_make_tile(gymcore_tiles *tiles, int number)
{
    size_t stride = (size_t)tiles->size * 3;
    uint8_t *pixels = (uint8_t *)malloc(stride * (size_t)tiles->size);
    if (pixels == NULL)
        return 0;
    gymcore_draw_tile(tiles, number, pixels, stride);
    if (gymcore_replace64(&tiles->pixels[number], 0, (uint64_t)(uintptr_t)pixels))
        return (uint64_t)(uintptr_t)pixels;
    free(pixels); /* another thread was faster */
    return gymcore_load64(&tiles->pixels[number]);
}

/* Return the picture of a cell, uint8 [size, size, 3], or NULL if there is no memory for it. */
GYMCORE_INLINE const uint8_t *gymcore_tile(gymcore_tiles *tiles, int number)
{
    uint64_t pixels = gymcore_load64(&tiles->pixels[number]);
    return (const uint8_t *)(uintptr_t)(pixels ? pixels : gymcore_make_tile(tiles, number));
}

static void gymcore_free_tiles(gymcore_tiles *tiles)
{
    for (int number = 0; number < GYMCORE_TILES; number++)
        free((void *)(uintptr_t)gymcore_load64(&tiles->pixels[number]));
}

#endif
