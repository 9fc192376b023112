"""Cubic splines through square grids, in the order of operations of `scipy.ndimage.zoom(grid, width / grid_width)`.

M. Unser, "Splines: A perfect fit for signal and image processing" (1999): the coefficients of the B-splines follow from
the values by a recursive filter along each axis, for grids that are mirrored at their borders.
"""
from libc.math cimport floor, fmin, pow
from libc.stdint cimport int64_t


cdef inline void filter_line(double* line, int64_t count, int64_t stride) noexcept nogil:
    """Replace values, at distances of `stride`, by the coefficients of their spline."""
    cdef double pole = -0.2679491924311227  # sqrt(3) - 2
    cdef double gain = (1.0 - pole) * (1.0 - 1.0 / pole)
    cdef double around = pow(pole, count - 1), power = pole
    cdef int64_t last = (count - 1) * stride, k
    for k in range(count):
        line[k * stride] *= gain
    line[0] += around * line[last]
    for k in range(1, count - 1):
        line[0] += power * (line[k * stride] + around * line[last - k * stride])
        power *= pole
    line[0] /= 1.0 - around * around
    for k in range(1, count):
        line[k * stride] += pole * line[(k - 1) * stride]
    line[last] = (pole * line[last - stride] + line[last]) * pole / (pole * pole - 1.0)
    for k in range(count - 2, -1, -1):
        line[k * stride] = pole * (line[(k + 1) * stride] - line[k * stride])


cdef inline void filter_grid(double* grid, int64_t width) noexcept nogil:
    """Replace the values of a grid by the coefficients of their spline."""
    cdef int64_t k
    for k in range(width):
        filter_line(grid + k, width, width)
    for k in range(width):
        filter_line(grid + k * width, width, 1)


cdef inline void place_point(
    int64_t k, int64_t width, int64_t grid_width, int64_t* neighbors, double* weights
) noexcept nogil:
    """Compute the four coefficients that point k of `width` depends on along an axis, and their weights."""
    cdef double place = fmin(k * (<double> (grid_width - 1) / <double> (width - 1)), <double> (grid_width - 1))
    cdef double x = place - floor(place), y = 1.0 - x
    cdef int64_t first = <int64_t> floor(place) - 1, i, at
    weights[0] = y * y * y / 6.0
    weights[1] = (x * x * (x - 2.0) * 3.0 + 4.0) / 6.0
    weights[2] = (y * y * (y - 2.0) * 3.0 + 4.0) / 6.0
    weights[3] = 1.0 - weights[0] - weights[1] - weights[2]
    for i in range(4):
        at = first + i
        neighbors[i] = -at if at < 0 else at if at < grid_width else 2 * (grid_width - 1) - at


cdef inline void sample_spline(double* out, int64_t width, const double* grid, int64_t grid_width) noexcept nogil:
    """Compute a grid of `width` times `width` points, given the coefficients of a spline."""
    cdef int64_t rows[4]
    cdef int64_t columns[4]
    cdef double row_weights[4]
    cdef double column_weights[4]
    cdef double result
    cdef int64_t i, j, k, m
    for i in range(width):
        place_point(i, width, grid_width, rows, row_weights)
        for j in range(width):
            place_point(j, width, grid_width, columns, column_weights)
            result = 0.0
            for k in range(4):
                for m in range(4):
                    result += grid[rows[k] * grid_width + columns[m]] * row_weights[k] * column_weights[m]
            out[i * width + j] = result
