"""Random draws for the functions of a lane, also in other packages; gymcore_ext/physics/lane.pxd has inline ones."""
from libc.stdint cimport int64_t

from gymcore_ext.engine.kernel cimport rng_t

# Draw as Generator.standard_normal() does.
cdef double normal(rng_t* rng) noexcept nogil
# Draw as Generator.integers(low, high) does; an empty range returns its lower end.
cdef int64_t integer(rng_t* rng, int64_t low, int64_t high) noexcept nogil
