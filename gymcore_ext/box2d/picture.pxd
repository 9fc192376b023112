"""CarRacing's observation."""
from libc.stdint cimport uint8_t

from gymcore_ext.box2d.racing cimport car_t, score_images_t


cdef enum:
    STATE = 96  # number of pixels in a row and in a column


# Write an observation, uint8 [STATE, STATE, 3].
cdef void draw_observation(const car_t* car, const score_images_t* images, uint8_t* observation) noexcept nogil
