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
    cdef fan_t fan
    cdef tuple arrays
    cdef cnp.ndarray fractions

    def __cinit__(self, corners, boxes, ends):
        cdef cnp.ndarray ground = np.array(corners, np.float32, order="C")
        cdef cnp.ndarray solids = np.array(boxes, np.float32, order="C").reshape(-1, 4, 2)
        cdef cnp.ndarray rays = np.array(ends, np.float64, order="C")
        cdef cnp.ndarray normals, planes, spans
        shapes = np.shape(ground), np.shape(rays)
        if not all(len(shape) == 2 and shape[1] == 2 for shape in shapes) or shapes[0][0] < 2 or shapes[1][0] < 1:
            raise ValueError("expected corners [n, 2] with n >= 2 and ends [k, 2] with k >= 1")
        normals, planes, spans = np.empty_like(ground), np.empty_like(solids), np.empty_like(solids[:, 0])
        self.arrays = ground, solids, rays, normals, planes, spans
        self.fractions = np.empty(len(rays), np.float32)
        self.scene.count, self.scene.box_count = len(ground), len(solids)
        self.scene.corners = <const point_t*> cnp.PyArray_DATA(ground)
        self.scene.normals = <point_t*> cnp.PyArray_DATA(normals)
        self.scene.boxes = <const point_t*> cnp.PyArray_DATA(solids)
        self.scene.planes = <point_t*> cnp.PyArray_DATA(planes)
        self.scene.spans = <point_t*> cnp.PyArray_DATA(spans)
        prepare_fan(&self.fan, len(rays), <const double*> cnp.PyArray_DATA(rays))
        if not prepare_scene(&self.scene):
            raise ValueError("corners: expected x in ascending order")

    def cast(self, double x, double y):
        """Return the fraction of each ray from (x, y) before its first hit, a list of floats; 1.0 for no hit."""
        cast_rays(&self.scene, &self.fan, x, y, <float*> cnp.PyArray_DATA(self.fractions))
        return self.fractions.tolist()
