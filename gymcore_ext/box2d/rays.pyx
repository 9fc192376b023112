"""A lidar of rays over fixed ground, for Python."""
cimport numpy as cnp

from gymcore_ext.box2d.structures cimport vec_t

import numpy as np

cnp.import_array()


cdef class Rays:
    """A fan of rays with fixed directions and lengths, over fixed ground.

    Box2D's own `RayCast` calls Python for each fixture near a ray, which takes 60 us for ten rays.

    Args:
        corners: float32 [n, 2], x ascending: the ground's outline.
        boxes: float32 [m, 4, 2]: convex shapes on it, corners counter-clockwise.
        ends: float64 [k, 2]: from the origin to the end of each ray.
    """

    cdef cnp.ndarray corners, boxes, ends

    def __cinit__(self, corners, boxes, ends):
        self.corners, self.ends = np.array(corners, np.float32, order="C"), np.array(ends, np.float64, order="C")
        self.boxes = np.array(boxes, np.float32, order="C").reshape(-1, 4, 2)
        shapes = np.shape(self.corners), np.shape(self.ends)
        if not all(len(shape) == 2 and shape[1] == 2 for shape in shapes) or shapes[0][0] < 2 or shapes[1][0] < 1:
            raise ValueError("expected corners [n, 2] with n >= 2 and ends [k, 2] with k >= 1")
        if (np.diff(self.corners[:, 0]) < 0).any():
            raise ValueError("corners: expected x in ascending order")

    def cast(self, double x, double y):
        """Return the fraction of each ray from (x, y) before its first hit, a list of floats; 1.0 for no hit."""
        cdef cnp.ndarray fractions = np.empty(len(self.ends), np.float32)
        cast_rays(
            <const vec_t*> cnp.PyArray_DATA(self.corners), <int> len(self.corners),
            <const vec_t*> cnp.PyArray_DATA(self.boxes), <int> len(self.boxes),
            <const double*> cnp.PyArray_DATA(self.ends), <int> len(self.ends), x, y,
            <float*> cnp.PyArray_DATA(fractions))
        return fractions.tolist()
