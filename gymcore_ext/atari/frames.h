/* Observations from frames of a screen: palette, maximum of two frames, and rescaling by areas.
 *
 * Rescaling equals cv2.resize with INTER_AREA, to the bit: each row is rescaled from left to right and added to those
 * above it, all in float32 and in this order. A row that equals the row above it, as most rows of most games do, costs
 * only a comparison.
 */
#ifndef GYMCORE_FRAMES_H
#define GYMCORE_FRAMES_H

#include <stdint.h>
#include <string.h>

#include "gymcore/platform.h"

/* Maximum number of pixels of a row of the screen. */
#define GYMCORE_MAX_COLUMNS 256

typedef struct {
    int32_t rows, columns;          /* size of the screen */
    int32_t height, width;          /* size of an observed frame */
    int32_t row_taps, column_taps;  /* maximum number of rows, and of columns, that one observed pixel covers */
    const int32_t *first_row, *first_column;   /* [height], [width] */
    const float *row_weights, *column_weights; /* [height, row_taps], [width, column_taps] */
    float scale, offset;            /* applied to the weighted sum before it is rounded */
} gymcore_rescaling;

GYMCORE_INLINE void gymcore_rescale_row(const gymcore_rescaling *self, const uint8_t *GYMCORE_RESTRICT source,
                                       float *GYMCORE_RESTRICT target, const int taps)
{
    const float *weights = self->column_weights;
    for (int x = 0; x < self->width; x++, weights += taps) {
        const uint8_t *place = source + self->first_column[x];
        float sum = (float)place[0] * weights[0];
        for (int k = 1; k < taps; k++)
            sum += (float)place[k] * weights[k];
        target[x] = sum;
    }
}

/* Rescale a plane [rows, columns], and write every `stride`-th byte from `target` on. */
static void gymcore_rescale(const gymcore_rescaling *self, const uint8_t *plane, uint8_t *target, int stride)
{
    float narrow[GYMCORE_MAX_COLUMNS], sums[GYMCORE_MAX_COLUMNS];
    const float *weights = self->row_weights;
    const uint8_t *last = NULL;
    int width = self->width;
    for (int y = 0; y < self->height; y++) {
        const uint8_t *source = plane + (size_t)self->first_row[y] * (size_t)self->columns;
        memset(sums, 0, sizeof(float) * (size_t)width);
        for (int k = 0; k < self->row_taps; k++, source += self->columns) {
            const float weight = *weights++;
            if (weight == 0)
                continue;
            if (!last || memcmp(last, source, (size_t)self->columns)) {
                if (self->column_taps == 3) /* 160 to 84 pixels: twice as fast with a constant */
                    gymcore_rescale_row(self, source, narrow, 3);
                else
                    gymcore_rescale_row(self, source, narrow, self->column_taps);
            }
            last = source;
            for (int x = 0; x < width; x++)
                sums[x] += weight * narrow[x];
        }
        for (int x = 0; x < width; x++, target += stride) {
            /* Adding 1.5 * 2^23 rounds half to even and leaves the integer in the lowest bits. */
            float rounded = (sums[x] * self->scale + self->offset) + 12582912.0f;
            uint32_t bits;
            memcpy(&bits, &rounded, 4);
            *target = (uint8_t)bits;
        }
    }
}

/* Convert a frame of color indices [rows, columns] with a palette. If `other` is not NULL, take the brighter pixel of both. */
static void gymcore_apply_palette(const uint8_t *frame, const uint8_t *other, const uint8_t *palette, uint8_t *plane,
                                  int rows, int columns)
{
    const size_t n = (size_t)columns;
    for (int y = 0; y < rows; y++, frame += n, plane += n, other = other ? other + n : NULL) {
        if (y && memcmp(frame, frame - n, n) == 0 && (!other || memcmp(other, other - n, n) == 0)) {
            memcpy(plane, plane - n, n);
        } else if (!other || memcmp(frame, other, n) == 0) {
            for (int x = 0; x < columns; x++)
                plane[x] = palette[frame[x]];
        } else {
            for (int x = 0; x < columns; x++) {
                uint8_t a = palette[frame[x]], b = palette[other[x]];
                plane[x] = a > b ? a : b;
            }
        }
    }
}

#endif
