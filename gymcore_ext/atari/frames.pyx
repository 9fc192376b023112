"""Resizer: rescales frames with weights of rows and columns, which gymcore.rendering.area_resizer computes."""
cimport numpy as cnp
from libc.stdint cimport int32_t, uint8_t

import numpy as np

cnp.import_array()

COLUMNS = MAX_COLUMNS


cdef class Resizer:
    """Rescales frames uint8 [rows, columns] or [rows, columns, 3].

    Args:
        size: rows and columns.
        first_row: the first row that each row of the target covers, [height].
        row_weights: weights of this row and the following ones, [height, taps].
        first_column: the first column that each column of the target covers, [width].
        column_weights: weights of this column and the following ones, [width, taps].
        scale: factor of the weighted sum, before it is rounded.
        offset: number that is then added.
    """

    def __cinit__(
        self, tuple size, const int32_t[::1] first_row, const float[:, ::1] row_weights,
        const int32_t[::1] first_column, const float[:, ::1] column_weights, float scale, float offset,
    ):
        cdef rescaling_t* to = &self.rescaling
        self.size, self.target = size, (len(row_weights), len(column_weights))
        self.tables = first_row, row_weights, first_column, column_weights
        to.rows, to.columns = size
        to.height, to.width = self.target
        to.row_taps, to.column_taps = row_weights.shape[1], column_weights.shape[1]
        to.first_row, to.row_weights = &first_row[0], &row_weights[0, 0]
        to.first_column, to.column_weights = &first_column[0], &column_weights[0, 0]
        to.scale, to.offset = scale, offset

    def __call__(self, cnp.ndarray frame not None, cnp.ndarray out not None):
        """Rescale a frame into the caller's array [height, width] or [height, width, 3], and return it."""
        cdef int channels = 3 if frame.ndim == 3 else 1, channel
        cdef tuple tail = (3,) if channels == 3 else ()
        cdef cnp.ndarray plane
        for array, shape in ((frame, self.size + tail), (out, self.target + tail)):
            if array.dtype != np.uint8 or np.shape(array) != shape or not array.flags.c_contiguous:
                raise ValueError(f"expected contiguous uint8 {shape}, got {array.dtype} {np.shape(array)}")
        if not out.flags.writeable:
            raise ValueError("out: expected a writable array")
        for channel in range(channels):
            plane = np.ascontiguousarray(frame[:, :, channel] if channels == 3 else frame)
            rescale(&self.rescaling, <const uint8_t*> cnp.PyArray_DATA(plane),
                    <uint8_t*> cnp.PyArray_DATA(out) + channel, channels)
        return out
