"""A lidar: rays from one point onto ground of line segments and boxes, in Box2D's single precision."""
from libc.math cimport sqrtf

cimport cython
import numpy as np

cdef float MARGIN = 0.125  # Added to the span of the rays because of rounding.


cdef inline void normalize(float* x, float* y) noexcept nogil:
    cdef float length = sqrtf(x[0] * x[0] + y[0] * y[0])
    cdef float inverse
    if length < 1.1920928955078125e-07:  # The epsilon of float32, as in Box2D.
        return
    inverse = <float> 1.0 / length
    x[0] *= inverse
    y[0] *= inverse


@cython.final
cdef class Rays:
    """A fan of rays with fixed directions and lengths, over fixed ground.

    The operations are those of Box2D 2.3's `b2EdgeShape::RayCast` and `b2PolygonShape::RayCast`, in their order, so
    that fractions agree to the bit with `b2World.RayCast`. That calls Python for each fixture near a ray: 10 rays take
    60 us there and 1 us here, where the rest of BipedalWalker's step takes about 60 us.
    """

    cdef float[:, ::1] corners
    cdef float[:, ::1] normals
    cdef float[:, :, ::1] boxes
    cdef float[:, :, ::1] planes
    cdef float[:, ::1] spans
    cdef double[:, ::1] ends
    cdef double left, right

    def __cinit__(self, corners, boxes, ends):
        """Take the ground and the rays.

        Args:
            corners: float32 [n, 2], x ascending: the ground's outline.
            boxes: float32 [m, 4, 2]: convex shapes on it, corners counter-clockwise.
            ends: float64 [k, 2]: from the origin to the end of each ray.
        """
        self.corners = np.array(corners, np.float32, order="C")
        self.boxes = np.array(boxes, np.float32, order="C").reshape(-1, 4, 2)
        self.ends = np.array(ends, np.float64, order="C")
        if self.corners.shape[0] < 2 or self.corners.shape[1] != 2 or self.ends.shape[0] < 1 or self.ends.shape[1] != 2:
            raise ValueError("expected corners [n, 2] with n >= 2 and ends [k, 2] with k >= 1")
        self.normals = np.empty((self.corners.shape[0] - 1, 2), np.float32)
        self.planes = np.empty((self.boxes.shape[0], 4, 2), np.float32)
        self.spans = np.empty((self.boxes.shape[0], 2), np.float32)
        if not self.prepare():
            raise ValueError("corners: expected x in ascending order")

    @cython.boundscheck(False)
    @cython.wraparound(False)
    cdef bint prepare(self) noexcept nogil:
        # Compute normals and spans; return false if x descends.
        cdef Py_ssize_t i, j, following
        cdef float x
        self.left = self.right = self.ends[0, 0]
        for i in range(self.ends.shape[0]):
            self.left = min(self.left, self.ends[i, 0])
            self.right = max(self.right, self.ends[i, 0])
        for i in range(self.normals.shape[0]):
            x = self.corners[i + 1, 0] - self.corners[i, 0]
            if x < 0:
                return False
            self.normals[i, 0] = self.corners[i + 1, 1] - self.corners[i, 1]
            self.normals[i, 1] = -x
            normalize(&self.normals[i, 0], &self.normals[i, 1])
        for i in range(self.boxes.shape[0]):
            self.spans[i, 0] = self.spans[i, 1] = self.boxes[i, 0, 0]
            for j in range(4):
                following = (j + 1) % 4
                x = self.boxes[i, j, 0]
                self.spans[i, 0] = min(self.spans[i, 0], x)
                self.spans[i, 1] = max(self.spans[i, 1], x)
                self.planes[i, j, 0] = self.boxes[i, following, 1] - self.boxes[i, j, 1]
                self.planes[i, j, 1] = -(self.boxes[i, following, 0] - x)
                normalize(&self.planes[i, j, 0], &self.planes[i, j, 1])
        return True

    @cython.boundscheck(False)
    @cython.wraparound(False)
    def cast(self, double x, double y):
        """Return the fraction of each ray from (x, y) before its first hit, a list of floats; 1.0 for no hit."""
        cdef Py_ssize_t ray, i, first = 0, last = self.normals.shape[0]
        cdef float low = <float> (x + self.left) - MARGIN, high = <float> (x + self.right) + MARGIN
        cdef float x1 = <float> x, y1 = <float> y, dx, dy, best
        cdef list fractions = []
        while first < last and self.corners[first + 1, 0] < low:
            first += 1
        while last > first and self.corners[last - 1, 0] > high:
            last -= 1
        for ray in range(self.ends.shape[0]):
            dx = <float> (x + self.ends[ray, 0]) - x1
            dy = <float> (y + self.ends[ray, 1]) - y1
            best = 1.0
            for i in range(first, last):
                best = self.hit_edge(i, x1, y1, dx, dy, best)
            for i in range(self.boxes.shape[0]):
                if self.spans[i, 0] <= high and self.spans[i, 1] >= low:
                    best = self.hit_box(i, x1, y1, dx, dy, best)
            fractions.append(best)
        return fractions

    @cython.boundscheck(False)
    @cython.wraparound(False)
    @cython.cdivision(True)
    cdef inline float hit_edge(
        self, Py_ssize_t i, float x1, float y1, float dx, float dy, float best
    ) noexcept nogil:
        cdef float vx = self.corners[i, 0], vy = self.corners[i, 1]
        cdef float nx = self.normals[i, 0], ny = self.normals[i, 1]
        cdef float denominator = nx * dx + ny * dy
        cdef float t, rx, ry, s
        if denominator == 0:
            return best
        t = (nx * (vx - x1) + ny * (vy - y1)) / denominator
        if t < 0 or best < t:
            return best
        rx = self.corners[i + 1, 0] - vx
        ry = self.corners[i + 1, 1] - vy
        s = rx * rx + ry * ry
        if s == 0:
            return best
        s = ((x1 + t * dx - vx) * rx + (y1 + t * dy - vy) * ry) / s
        return best if s < 0 or s > 1 else t

    @cython.boundscheck(False)
    @cython.wraparound(False)
    @cython.cdivision(True)
    cdef inline float hit_box(
        self, Py_ssize_t i, float x1, float y1, float dx, float dy, float best
    ) noexcept nogil:
        cdef float lower = 0, upper = best, numerator, denominator, nx, ny
        cdef Py_ssize_t j
        cdef bint enters = False
        for j in range(4):
            nx = self.planes[i, j, 0]
            ny = self.planes[i, j, 1]
            numerator = nx * (self.boxes[i, j, 0] - x1) + ny * (self.boxes[i, j, 1] - y1)
            denominator = nx * dx + ny * dy
            if denominator == 0:
                if numerator < 0:
                    return best
            elif denominator < 0 and numerator < lower * denominator:
                lower = numerator / denominator
                enters = True
            elif denominator > 0 and numerator < upper * denominator:
                upper = numerator / denominator
            if upper < lower:
                return best
        return lower if enters else best
