"""The arithmetic after a step of LunarLander: observation and shaping."""
from libc.math cimport fabs, sqrt

cimport cython
cimport numpy as cnp

cnp.import_array()


@cython.final
cdef class Observer:
    """Turns positions and velocities in metres into the observation, and into how good they are."""

    cdef double half_width, half_height, floor, fps

    def __cinit__(self, double half_width, double half_height, double floor, double fps):
        """Keep the sizes.

        Args:
            half_width: Of the picture, metres.
            half_height: Of the picture, metres.
            floor: y of a lander at rest on the pad, metres.
            fps: Steps a second.
        """
        self.half_width, self.half_height, self.floor, self.fps = half_width, half_height, floor, fps

    def observe(
        self, double x, double y, double x_speed, double y_speed, double angle, double turn, bint leg_1, bint leg_2
    ):
        """Return the observation, a new float32 [8]; the shaping; and whether x is outside the picture."""
        cdef cnp.npy_intp size = 8
        cdef cnp.ndarray observation = cnp.PyArray_EMPTY(1, &size, cnp.NPY_FLOAT32, 0)
        cdef float* out = <float*> cnp.PyArray_DATA(observation)
        cdef double touch_1 = 1.0 if leg_1 else 0.0, touch_2 = 1.0 if leg_2 else 0.0, shaping
        x = (x - self.half_width) / self.half_width
        y = (y - self.floor) / self.half_height
        x_speed = x_speed * self.half_width / self.fps
        y_speed = y_speed * self.half_height / self.fps
        out[0] = <float> x
        out[1] = <float> y
        out[2] = <float> x_speed
        out[3] = <float> y_speed
        out[4] = <float> angle
        out[5] = <float> (20.0 * turn / self.fps)
        out[6] = <float> touch_1
        out[7] = <float> touch_2
        # In Gymnasium's order of operations, of which each one rounds.
        shaping = -100.0 * sqrt(x * x + y * y) - 100.0 * sqrt(x_speed * x_speed + y_speed * y_speed)
        shaping = shaping - 100.0 * fabs(angle) + 10.0 * touch_1 + 10.0 * touch_2
        return observation, shaping, fabs(x) >= 1.0
