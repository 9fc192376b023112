"""The track of CarRacing: a closed curve through twelve checkpoints.

The curve is Gymnasium's: it starts on the x axis and turns toward one checkpoint after the other, five times round; the
last lap that closes is the track. The same draws give the same track, to the bit.
"""
from libc.math cimport atan2, cos, fabs, sin, sqrt


cdef enum:
    CHECKPOINTS = 12
    MAX_POINTS = 2500
    BORDER_LENGTH = 4    # pieces of a hard turn, at least

ctypedef struct track_point_t:
    double alpha, beta, x, y   # its direction from the origin, the car's angle there, its position

ctypedef struct curve_t:
    track_point_t points[MAX_POINTS]
    int first, tiles           # the track is the points from `first` on, one for each of its tiles


cdef inline bint compute_curve(const double* draws, curve_t* curve) noexcept nogil:
    """Compute a curve from the noise of the angle and the radius of each checkpoint. False if it is not closed."""
    cdef double PI = 3.141592653589793, SCALE = 6.0
    cdef double RADIUS = 900 / SCALE, DETAIL = 21 / SCALE, TURN_RATE = 0.31, START = 2 * PI * (-0.5) / CHECKPOINTS
    cdef double[CHECKPOINTS] alphas, to_x, to_y
    cdef double alpha, radius, before, turn, sideways, ahead_x, ahead_y, x = 1.5 * RADIUS, y = 0.0, beta = 0.0
    cdef track_point_t* points = curve.points
    cdef int k, last = 0, count = 0, target = 0, laps = 0
    cdef bint on_other_side = False
    for k in range(CHECKPOINTS):
        alpha = 2 * PI * k / CHECKPOINTS + draws[2 * k]
        radius = draws[2 * k + 1]
        if k == 0:
            alpha, radius = 0.0, 1.5 * RADIUS
        elif k == CHECKPOINTS - 1:
            alpha, radius = 2 * PI * k / CHECKPOINTS, 1.5 * RADIUS
        alphas[k] = alpha
        to_x[k] = radius * cos(alpha)
        to_y[k] = radius * sin(alpha)
    while count < MAX_POINTS and laps <= 4:
        alpha = atan2(y, x)
        if on_other_side and alpha > 0:
            laps += 1
            on_other_side = False
        if alpha < 0:
            on_other_side = True
            alpha += 2 * PI
        # The next checkpoint ahead; after the last one the angle goes on below the first.
        while alpha > alphas[target % CHECKPOINTS]:
            target += 1
            if target % CHECKPOINTS == 0:
                alpha -= 2 * PI
        k = target % CHECKPOINTS
        ahead_x = cos(beta)
        ahead_y = sin(beta)
        # How far the checkpoint is to the side, in pixels of the original.
        sideways = (ahead_x * (to_x[k] - x) + ahead_y * (to_y[k] - y)) * SCALE
        while beta - alpha > 1.5 * PI:
            beta -= 2 * PI
        while beta - alpha < -1.5 * PI:
            beta += 2 * PI
        before = beta
        turn = min(TURN_RATE, fabs(0.001 * sideways))
        if sideways > 0.3:
            beta -= turn
        elif sideways < -0.3:
            beta += turn
        x += -ahead_y * DETAIL
        y += ahead_x * DETAIL
        points[count].alpha = alpha
        points[count].beta = before * 0.5 + beta * 0.5
        points[count].x = x
        points[count].y = y
        count += 1
    # Where the curve passes the start, from the end: the last two passes bound the track.
    curve.first = 0
    for k in range(count - 1, 0, -1):
        if points[k].alpha > START and points[k - 1].alpha <= START:
            if last:
                curve.first = k
                break
            last = k
    curve.tiles = last - 1 - curve.first
    if curve.first == 0 or curve.tiles < 1:
        return False
    x = cos(points[curve.first].beta) * (points[curve.first].x - points[last - 2].x)
    y = sin(points[curve.first].beta) * (points[curve.first].y - points[last - 2].y)
    return sqrt(x * x + y * y) <= DETAIL


cdef inline void find_borders(const track_point_t* track, int count, char* borders) noexcept nogil:
    """Find whether each piece of the track has a red and white border: it is in a hard turn."""
    cdef double turn
    cdef int k, back, left, right
    for k in range(count):
        left = right = 0
        for back in range(BORDER_LENGTH):
            turn = track[(k - back + count) % count].beta - track[(k - back - 1 + count) % count].beta
            left += turn > 0.31 * 0.2
            right += turn < -(0.31 * 0.2)
        borders[k] = left == BORDER_LENGTH or right == BORDER_LENGTH
    for k in range(count):
        for back in range(BORDER_LENGTH):
            borders[(k - back + count) % count] |= borders[k]
