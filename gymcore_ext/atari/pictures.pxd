"""Frames of a screen as observations; see pictures.h."""
from libc.stdint cimport int32_t, uint8_t


cdef extern from "atari/pictures.h":
    enum:
        MAX_COLUMNS "GYMCORE_MAX_COLUMNS"

    ctypedef struct shrinking_t "gymcore_shrinking":
        int32_t rows, columns, height, width, row_taps, column_taps
        const int32_t* first_row
        const int32_t* first_column
        const float* row_weights
        const float* column_weights
        float scale, offset

    void shrink "gymcore_shrink"(
        const shrinking_t* self, const uint8_t* plane, uint8_t* target, int stride) noexcept nogil
    void shade "gymcore_shade"(
        const uint8_t* frame, const uint8_t* other, const uint8_t* shades, uint8_t* plane, int rows, int columns
    ) noexcept nogil
    void brighten "gymcore_brighten"(
        const uint8_t* frame, const uint8_t* shades, uint8_t* plane, int count) noexcept nogil


cdef class Resizer:
    cdef shrinking_t shrinking
    cdef readonly tuple size, target  # (rows, columns), (height, width)
    cdef tuple tables                 # the arrays that C points to
    cdef uint8_t[:, ::1] plane
