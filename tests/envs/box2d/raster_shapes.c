/* Draw shapes with raster.h, for test_raster.py. */
#include "box2d/raster.h"

enum { GROUND, CAR, RECTANGLE };

typedef struct {
    int kind;
    uint8_t rgb[4];
    raster_point corners[4];
} shape;

void draw(const shape *shapes, int count, uint8_t *state)
{
    raster_image *image = raster_of_thread();
    raster_fill(image->runs[0], RASTER_HEIGHT * RASTER_STATE, 0);
    for (const shape *it = shapes; it < shapes + count; it++) {
        if (it->kind == GROUND)
            raster_ground(image, it->corners, 4, raster_color(it->rgb));
        else if (it->kind == CAR)
            raster_polygon(image, it->corners, 4, raster_color(it->rgb));
        else
            raster_rectangle(image, it->corners[0], it->corners[1], raster_color(it->rgb));
    }
    raster_rescale(image, state);
}
