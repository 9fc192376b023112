"""Resizer: frames rescaled by areas, as `cv2.resize` with INTER_AREA does it, to the bit, without OpenCV."""
cimport numpy as cnp
from libc.stdint cimport uint8_t

import math

import numpy as np

cnp.import_array()


def area_weights(int size, int target):
    """Return which of `size` source pixels each of `target` pixels covers: the first ones, and weights [target, taps].

    The float32 weights are OpenCV's: a thousandth of a pixel does not count. If `size` is a multiple of `target`, they
    are 1, and the sum is divided at the end.
    """
    cdef double scale = 1.0 / (<double> target / <double> size)
    whole = size % target == 0
    taps = size // target if whole else math.ceil(scale) + 1
    firsts = np.zeros(target, np.int32)
    weights = np.zeros((target, taps), np.float32)
    for place in range(target):
        begin = place * scale
        end = begin + scale
        covered = min(scale, size - begin)
        last = min(math.floor(end), size - 1)
        first = min(math.ceil(begin), last)
        row = [1.0 / covered] * (last - first)
        if whole:
            first, row = place * taps, [1.0] * taps
        else:
            if first - begin > 1e-3:
                row.insert(0, (first - begin) / covered)
                first -= 1
            if end - last > 1e-3:
                row.append(min(end - last, 1.0, covered) / covered)
        # Weights of 0 come first where there would be too few pixels after the last one.
        spare = max(0, first + taps - size)
        firsts[place] = first - spare
        weights[place, spare:spare + len(row)] = row
    return firsts, weights


cdef class Resizer:
    """Rescales frames uint8 [rows, columns] or [rows, columns, 3].

    Args:
        size: rows and columns.
        target: height and width, at most as large.
    """

    def __cinit__(self, tuple size, tuple target):
        cdef rescaling_t* to = &self.rescaling
        rows, columns = self.size = size
        height, width = self.target = target
        if not (0 < height <= rows and 0 < width <= columns <= MAX_COLUMNS):
            raise ValueError(f"expected a size of at most {size} and {MAX_COLUMNS} columns, got {target}")
        cdef cnp.ndarray first_row, first_column, row_weights, column_weights
        first_row, row_weights = area_weights(rows, height)
        first_column, column_weights = area_weights(columns, width)
        to.rows, to.columns, to.height, to.width = rows, columns, height, width
        to.row_taps, to.column_taps = row_weights.shape[1], column_weights.shape[1]
        to.scale = 1.0
        if rows % height == 0 and columns % width == 0:
            # Whole blocks are added up and divided; those of two by two round halves up.
            to.scale = 1.0 / (to.row_taps * to.column_taps)
            to.offset = 0.125 if to.row_taps == to.column_taps == 2 else 0.0
        elif rows % height == 0:
            row_weights /= to.row_taps
        elif columns % width == 0:
            column_weights /= to.column_taps
        self.tables = first_row, first_column, row_weights, column_weights
        to.first_row = <int32_t*> cnp.PyArray_DATA(first_row)
        to.first_column = <int32_t*> cnp.PyArray_DATA(first_column)
        to.row_weights = <float*> cnp.PyArray_DATA(row_weights)
        to.column_weights = <float*> cnp.PyArray_DATA(column_weights)
        self.plane = np.empty(size, np.uint8)

    def __call__(self, cnp.ndarray frame not None, cnp.ndarray out not None):
        """Rescale a frame into an array [height, width] or [height, width, 3] of the caller, which is returned."""
        cdef int channels = 3 if frame.ndim == 3 else 1, channel, row, column
        cdef const uint8_t* source
        cdef tuple tail = (3,) if channels == 3 else ()
        for array, shape in ((frame, self.size + tail), (out, self.target + tail)):
            if array.dtype != np.uint8 or np.shape(array) != shape or not array.flags.c_contiguous:
                raise ValueError(f"expected contiguous uint8 {shape}, got {array.dtype} {np.shape(array)}")
        if not out.flags.writeable:
            raise ValueError("out: expected a writable array")
        for channel in range(channels):
            source = <const uint8_t*> cnp.PyArray_DATA(frame) + channel
            if channels == 3:
                for row in range(self.rescaling.rows):
                    for column in range(self.rescaling.columns):
                        self.plane[row, column] = source[0]
                        source += 3
                source = &self.plane[0, 0]
            rescale(&self.rescaling, source, <uint8_t*> cnp.PyArray_DATA(out) + channel, channels)
        return out
