"""Rays from one point onto ground of line segments and boxes, in Box2D's single precision.

The operations are those of Box2D 2.3's `b2EdgeShape::RayCast` and `b2PolygonShape::RayCast`, in their order, so that
fractions agree to the bit with `b2World::RayCast`. Ten rays take 1 us.
"""
from libc.math cimport sqrtf


ctypedef struct point_t:
    float x, y


ctypedef struct scene_t:
    int count                 # of corners: the ground's outline, x ascending
    const point_t* corners
    point_t* normals          # [count - 1]
    int box_count
    const point_t* boxes      # [box_count, 4], counter-clockwise
    point_t* planes           # [box_count, 4]
    point_t* spans            # [box_count]: from x to y along the ground


ctypedef struct fan_t:
    int count
    const double* ends        # [count, 2]: from the origin to the end of each ray
    double left, right        # how far they reach


cdef inline void normalize(point_t* vector) noexcept nogil:
    cdef float length = sqrtf(vector.x * vector.x + vector.y * vector.y), inverse
    if length < 1.1920928955078125e-07:  # the epsilon of float32, as in Box2D
        return
    inverse = <float> 1.0 / length
    vector.x *= inverse
    vector.y *= inverse


cdef inline void prepare_fan(fan_t* self, int count, const double* ends) noexcept nogil:
    cdef int k
    self.count = count
    self.ends = ends
    self.left = self.right = ends[0]
    for k in range(count):
        self.left = min(self.left, ends[2 * k])
        self.right = max(self.right, ends[2 * k])


cdef inline bint prepare_scene(scene_t* self) noexcept nogil:
    """Compute normals and spans; return false if x descends."""
    cdef int i, j
    cdef const point_t* at
    cdef const point_t* following
    for i in range(self.count - 1):
        at = &self.corners[i]
        if at[1].x - at[0].x < 0:
            return False
        self.normals[i].x = at[1].y - at[0].y
        self.normals[i].y = -(at[1].x - at[0].x)
        normalize(&self.normals[i])
    for i in range(self.box_count):
        self.spans[i].x = self.spans[i].y = self.boxes[4 * i].x
        for j in range(4):
            at = &self.boxes[4 * i + j]
            following = &self.boxes[4 * i + (j + 1) % 4]
            self.spans[i].x = min(self.spans[i].x, at.x)
            self.spans[i].y = max(self.spans[i].y, at.x)
            self.planes[4 * i + j].x = following.y - at.y
            self.planes[4 * i + j].y = -(following.x - at.x)
            normalize(&self.planes[4 * i + j])
    return True


cdef inline float hit_edge(
    const scene_t* self, int i, float x1, float y1, float dx, float dy, float best
) noexcept nogil:
    cdef point_t corner = self.corners[i], normal = self.normals[i]
    cdef float denominator = normal.x * dx + normal.y * dy
    cdef float t, rx, ry, s
    if denominator == 0:
        return best
    t = (normal.x * (corner.x - x1) + normal.y * (corner.y - y1)) / denominator
    if t < 0 or best < t:
        return best
    rx = self.corners[i + 1].x - corner.x
    ry = self.corners[i + 1].y - corner.y
    s = rx * rx + ry * ry
    if s == 0:
        return best
    s = ((x1 + t * dx - corner.x) * rx + (y1 + t * dy - corner.y) * ry) / s
    return best if s < 0 or s > 1 else t


cdef inline float hit_box(
    const scene_t* self, int i, float x1, float y1, float dx, float dy, float best
) noexcept nogil:
    cdef float lower = 0, upper = best, numerator, denominator
    cdef point_t normal, corner
    cdef int j
    cdef bint enters = False
    for j in range(4 * i, 4 * i + 4):
        normal, corner = self.planes[j], self.boxes[j]
        numerator = normal.x * (corner.x - x1) + normal.y * (corner.y - y1)
        denominator = normal.x * dx + normal.y * dy
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


cdef inline void cast_rays(
    const scene_t* self, const fan_t* fan, double x, double y, float* fractions
) noexcept nogil:
    """The fraction of each ray from (x, y) before its first hit; 1 for no hit."""
    cdef float margin = 0.125  # because of rounding
    cdef float low = <float> (x + fan.left) - margin, high = <float> (x + fan.right) + margin
    cdef float x1 = <float> x, y1 = <float> y, dx, dy, best
    cdef int ray, i, first = 0, last = self.count - 1
    while first < last and self.corners[first + 1].x < low:
        first += 1
    while last > first and self.corners[last - 1].x > high:
        last -= 1
    for ray in range(fan.count):
        dx = <float> (x + fan.ends[2 * ray]) - x1
        dy = <float> (y + fan.ends[2 * ray + 1]) - y1
        best = 1.0
        for i in range(first, last):
            best = hit_edge(self, i, x1, y1, dx, dy, best)
        for i in range(self.box_count):
            if self.spans[i].x <= high and self.spans[i].y >= low:
                best = hit_box(self, i, x1, y1, dx, dy, best)
        fractions[ray] = best
