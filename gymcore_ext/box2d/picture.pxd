"""CarRacing's observation."""
from libc.stdint cimport uint8_t

from gymcore_ext.box2d.racing cimport progress_t, scene_t
from gymcore_ext.box2d.worlds cimport lane_t


cdef extern from "box2d/raster.h":
    enum:
        STATE "RASTER_STATE"  # pixels in a row and in a column


# Write uint8 [STATE, STATE, 3].
cdef void draw_observation(
    const progress_t* progress, const lane_t* lane, const scene_t* scene, uint8_t* observation) noexcept nogil
