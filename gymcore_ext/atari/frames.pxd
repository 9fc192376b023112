"""Frames of a screen as observations; see frames.h."""
from libc.stdint cimport int32_t, uint8_t


cdef extern from "atari/frames.h":
    enum:
        MAX_COLUMNS "GYMCORE_MAX_COLUMNS"

    ctypedef struct rescaling_t "gymcore_rescaling":
        int32_t rows, columns, height, width, row_taps, column_taps
        const int32_t* first_row
        const int32_t* first_column
        const float* row_weights
        const float* column_weights
        float scale, offset

    void rescale "gymcore_rescale"(
        const rescaling_t* self, const uint8_t* plane, uint8_t* target, int stride) noexcept nogil
    void apply_palette "gymcore_apply_palette"(
        const uint8_t* frame, const uint8_t* other, const uint8_t* palette, uint8_t* plane, int rows, int columns
    ) noexcept nogil


cdef class Resizer:
    cdef rescaling_t rescaling
    cdef readonly tuple size, target  # (rows, columns), (height, width)
    cdef tuple tables                 # what C points to
