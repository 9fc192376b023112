"""Random draws with NumPy's distributions, equal to those of a numpy.random.Generator with the stream of a lane."""
from libc.stdint cimport int64_t, uint64_t

from gymcore_ext.engine.bitgen cimport bitgen_of, bitgen_t
from gymcore_ext.engine.kernel cimport rng_double, rng_t

cdef extern from "numpy/random/distributions.h":
    double random_standard_normal(bitgen_t* bitgen) noexcept nogil
    uint64_t random_bounded_uint64(
        bitgen_t* bitgen, uint64_t offset, uint64_t span, uint64_t mask, bint masked) noexcept nogil


cdef double normal(rng_t* rng) noexcept nogil:
    cdef bitgen_t bitgen = bitgen_of(rng)
    return random_standard_normal(&bitgen)


cdef int64_t integer(rng_t* rng, int64_t low, int64_t high) noexcept nogil:
    cdef bitgen_t bitgen = bitgen_of(rng)
    if high <= low:
        return low
    return <int64_t> random_bounded_uint64(&bitgen, <uint64_t> low, <uint64_t> high - 1 - <uint64_t> low, 0, False)


# Addresses of these functions, by the names that loops of gymcore.jit call.
DRAWS = {
    "gymcore_draw_random": <size_t> &rng_double,
    "gymcore_draw_normal": <size_t> &normal,
    "gymcore_draw_integer": <size_t> &integer,
}
