"""Rays from one point onto ground of line segments and boxes, in Box2D's single precision.

The operations are those of Box2D 2.3's `b2EdgeShape::RayCast` and `b2PolygonShape::RayCast`, in their order, so that
fractions agree to the bit with `b2World::RayCast`. Ten rays take 1 us.
"""
from libc.math cimport sqrtf


ctypedef struct side_t:       # a segment of the ground or a box: from this corner to the next one
    float x, y
    float normal_x, normal_y


ctypedef struct span_t:       # the x that a box covers
    float left, right


ctypedef struct scene_t:
    int count                 # number of the ground's corners, whose x ascends
    side_t* ground            # [count]
    int box_count
    side_t* boxes             # [box_count, 4], counter-clockwise
    span_t* spans             # [box_count]


cdef inline void set_normal(side_t* side, const side_t* following) noexcept nogil:
    cdef float x = following.y - side.y, y = -(following.x - side.x)
    cdef float length = sqrtf(x * x + y * y), inverse = 1.0
    if length >= 1.1920928955078125e-07:  # the epsilon of float32, as in Box2D
        inverse = <float> 1.0 / length
    side.normal_x = x * inverse
    side.normal_y = y * inverse


cdef inline void prepare_scene(scene_t* self) noexcept nogil:
    """Compute the normals and spans of corners."""
    cdef int i, j
    cdef side_t* box
    for i in range(self.count - 1):
        set_normal(&self.ground[i], &self.ground[i + 1])
    for i in range(self.box_count):
        box = &self.boxes[4 * i]
        self.spans[i].left = self.spans[i].right = box.x
        for j in range(4):
            self.spans[i].left = min(self.spans[i].left, box[j].x)
            self.spans[i].right = max(self.spans[i].right, box[j].x)
            set_normal(&box[j], &box[(j + 1) % 4])


cdef inline float hit_segment(const side_t* side, float x1, float y1, float dx, float dy, float best) noexcept nogil:
    cdef float denominator = side.normal_x * dx + side.normal_y * dy
    cdef float t, rx, ry, s
    if denominator == 0:
        return best
    t = (side.normal_x * (side.x - x1) + side.normal_y * (side.y - y1)) / denominator
    if t < 0 or best < t:
        return best
    rx = side[1].x - side.x
    ry = side[1].y - side.y
    s = rx * rx + ry * ry
    if s == 0:
        return best
    s = ((x1 + t * dx - side.x) * rx + (y1 + t * dy - side.y) * ry) / s
    return best if s < 0 or s > 1 else t


cdef inline float hit_box(const side_t* sides, float x1, float y1, float dx, float dy, float best) noexcept nogil:
    cdef float lower = 0, upper = best, numerator, denominator
    cdef const side_t* side
    cdef int j
    cdef bint enters = False
    for j in range(4):
        side = &sides[j]
        numerator = side.normal_x * (side.x - x1) + side.normal_y * (side.y - y1)
        denominator = side.normal_x * dx + side.normal_y * dy
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
    const scene_t* self, const double* ends, int count, double x, double y, float* fractions
) noexcept nogil:
    """Compute the fraction of each ray from (x, y) before its first hit; 1 for no hit.

    `ends` [count, 2] are from the origin to the end of each ray.
    """
    cdef float margin = 0.125  # because of rounding
    cdef double left = ends[0], right = ends[0]
    cdef float low, high, x1 = <float> x, y1 = <float> y, dx, dy, best
    cdef int ray, i, first = 0, last = self.count - 1
    for ray in range(count):
        left = min(left, ends[2 * ray])
        right = max(right, ends[2 * ray])
    low = <float> (x + left) - margin
    high = <float> (x + right) + margin
    while first < last and self.ground[first + 1].x < low:
        first += 1
    while last > first and self.ground[last - 1].x > high:
        last -= 1
    for ray in range(count):
        dx = <float> (x + ends[2 * ray]) - x1
        dy = <float> (y + ends[2 * ray + 1]) - y1
        best = 1.0
        for i in range(first, last):
            best = hit_segment(&self.ground[i], x1, y1, dx, dy, best)
        for i in range(self.box_count):
            if self.spans[i].left <= high and self.spans[i].right >= low:
                best = hit_box(&self.boxes[4 * i], x1, y1, dx, dy, best)
        fractions[ray] = best
