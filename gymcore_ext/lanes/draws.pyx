"""Random draws with NumPy's distributions, equal to those of a numpy.random.Generator with the stream of a lane."""
from libc.stdint cimport int64_t, uint64_t

from gymcore_ext.engine.bitgen cimport bitgen_of, bitgen_t, next_double, next_uint32, next_uint64
from gymcore_ext.engine.kernel cimport rng_double, rng_t

cdef extern from "numpy/random/distributions.h":
    double random_standard_normal(bitgen_t* bitgen) noexcept nogil
    uint64_t random_bounded_uint64(
        bitgen_t* bitgen, uint64_t offset, uint64_t span, uint64_t mask, bint masked) noexcept nogil


cdef extern from *:
    """
    #define DRAW(name) {#name, (size_t)random_##name}
    static const struct { const char *name; size_t address; } numpy_draws[] = {
        DRAW(beta), DRAW(binomial), DRAW(exponential), DRAW(gamma), DRAW(geometric), DRAW(interval), DRAW(laplace),
        DRAW(lognormal), DRAW(poisson), DRAW(standard_exponential), DRAW(standard_gamma), DRAW(triangular),
        DRAW(bounded_bool_fill), DRAW(bounded_uint8_fill), DRAW(bounded_uint16_fill), DRAW(bounded_uint32_fill),
        {NULL, 0}
    };
    """
    ctypedef struct draw_t:
        const char* name
        size_t address
    const draw_t* numpy_draws


cdef double normal(rng_t* rng) noexcept nogil:
    cdef bitgen_t bitgen = bitgen_of(rng)
    return random_standard_normal(&bitgen)


cdef int64_t integer(rng_t* rng, int64_t low, int64_t high) noexcept nogil:
    cdef bitgen_t bitgen = bitgen_of(rng)
    if high <= low:
        return low
    return <int64_t> random_bounded_uint64(&bitgen, <uint64_t> low, <uint64_t> high - 1 - <uint64_t> low, 0, False)


# Addresses of functions, by the names that loops of gymcore.jit call: draws from a stream, the functions of a bit
# generator of NumPy, and NumPy's distributions.
DRAWS = {
    "gymcore_draw_random": <size_t> &rng_double,
    "gymcore_draw_normal": <size_t> &normal,
    "gymcore_draw_integer": <size_t> &integer,
    "gymcore_next_uint64": <size_t> &next_uint64,
    "gymcore_next_uint32": <size_t> &next_uint32,
    "gymcore_next_double": <size_t> &next_double,
}
cdef int k = 0
while numpy_draws[k].name != NULL:
    DRAWS["gymcore_numpy_" + numpy_draws[k].name.decode()] = numpy_draws[k].address
    k += 1
