"""A lidar of rays over fixed ground, for Python."""
cimport numpy as cnp

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

    cdef scene_t scene
    cdef cnp.ndarray ground, boxes, spans, ends, fractions

    def __cinit__(self, corners, boxes, ends):
        corners, self.ends = np.array(corners, np.float32), np.array(ends, np.float64, order="C")
        boxes = np.array(boxes, np.float32).reshape(-1, 4, 2)
        shapes = np.shape(corners), np.shape(self.ends)
        if not all(len(shape) == 2 and shape[1] == 2 for shape in shapes) or shapes[0][0] < 2 or shapes[1][0] < 1:
            raise ValueError("expected corners [n, 2] with n >= 2 and ends [k, 2] with k >= 1")
        if (np.diff(corners[:, 0]) < 0).any():
            raise ValueError("corners: expected x in ascending order")
        self.ground, self.boxes = np.zeros((len(corners), 4), np.float32), np.zeros((len(boxes), 4, 4), np.float32)
        self.ground[:, :2], self.boxes[..., :2] = corners, boxes
        self.spans, self.fractions = np.empty((len(boxes), 2), np.float32), np.empty(len(self.ends), np.float32)
        self.scene.count, self.scene.box_count = len(corners), len(boxes)
        self.scene.ground = <side_t*> cnp.PyArray_DATA(self.ground)
        self.scene.boxes = <side_t*> cnp.PyArray_DATA(self.boxes)
        self.scene.spans = <span_t*> cnp.PyArray_DATA(self.spans)
        prepare_scene(&self.scene)

    def cast(self, double x, double y):
        """Return the fraction of each ray from (x, y) before its first hit, a list of floats; 1.0 for no hit."""
        cast_rays(&self.scene, <const double*> cnp.PyArray_DATA(self.ends), <int> len(self.ends), x, y,
                  <float*> cnp.PyArray_DATA(self.fractions))
        return self.fractions.tolist()
