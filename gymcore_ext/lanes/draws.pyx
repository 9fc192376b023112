"""Random draws with NumPy's distributions, equal to those of a numpy.random.Generator with the stream of a lane."""
from libc.stdint cimport int64_t, uint64_t

from gymcore_ext.engine.bitgen cimport bitgen_of, bitgen_t
from gymcore_ext.engine.kernel cimport rng_t

cdef extern from "numpy/random/distributions.h":
    double random_standard_normal(bitgen_t* bitgen) noexcept nogil
    uint64_t random_bounded_uint64(
        bitgen_t* bitgen, uint64_t offset, uint64_t span, uint64_t mask, bint masked) noexcept nogil


# NumPy's distributions as functions of a stream.
cdef extern from *:
    """
    #include "gymcore/rng.h"

    static uint64_t draws_next64(void *rng) { return gymcore_rng_next64(rng); }
    static uint32_t draws_next32(void *rng) { return gymcore_rng_next32(rng); }
    static double draw_random(void *rng) { return gymcore_rng_double(rng); }

    #define BITS &(bitgen_t){rng, draws_next64, draws_next32, draw_random, draws_next64}
    #define DRAW_0(type, name) static type draw_##name(void *rng) { return random_##name(BITS); }
    #define DRAW_1(type, name, number) \\
        static type draw_##name(void *rng, number a) { return random_##name(BITS, a); }
    #define DRAW_2(type, name) \\
        static type draw_##name(void *rng, double a, double b) { return random_##name(BITS, a, b); }
    #define FILL(name, type) \\
        static void draw_##name(void *rng, type low, type span, npy_intp count, type *out) \\
        { random_bounded_##name##_fill(BITS, low, span, count, false, out); }

    DRAW_0(double, standard_normal) DRAW_0(double, standard_exponential)
    DRAW_0(float, standard_uniform_f) DRAW_0(float, standard_normal_f) DRAW_0(float, standard_exponential_f)
    DRAW_1(double, exponential, double) DRAW_1(double, standard_gamma, double) DRAW_1(float, standard_gamma_f, float)
    DRAW_1(int64_t, geometric, double) DRAW_1(int64_t, poisson, double) DRAW_1(uint64_t, interval, uint64_t)
    DRAW_2(double, beta) DRAW_2(double, gamma) DRAW_2(double, laplace) DRAW_2(double, lognormal) DRAW_2(double, normal)
    FILL(bool, npy_bool) FILL(uint8, uint8_t) FILL(uint16, uint16_t) FILL(uint32, uint32_t)

    static double draw_uniform(void *rng, double low, double high) { return low + (high - low) * draw_random(rng); }

    static double draw_triangular(void *rng, double left, double mode, double right)
    {
        return random_triangular(BITS, left, mode, right);
    }

    static int64_t draw_binomial(void *rng, int64_t n, double p)
    {
        binomial_t saved = {0};
        return random_binomial(BITS, p, n, &saved);
    }

    #define ADDRESS(name) {#name, (size_t)draw_##name}
    static const struct { const char *name; size_t address; } draws[] = {
        ADDRESS(beta), ADDRESS(binomial), ADDRESS(exponential), ADDRESS(gamma), ADDRESS(geometric), ADDRESS(interval),
        ADDRESS(laplace), ADDRESS(lognormal), ADDRESS(normal), ADDRESS(poisson), ADDRESS(random),
        ADDRESS(standard_exponential), ADDRESS(standard_gamma), ADDRESS(standard_normal), ADDRESS(triangular),
        ADDRESS(uniform), {"random_f", (size_t)draw_standard_uniform_f}, ADDRESS(standard_normal_f),
        ADDRESS(standard_exponential_f), ADDRESS(standard_gamma_f), ADDRESS(bool), ADDRESS(uint8), ADDRESS(uint16),
        ADDRESS(uint32), {NULL, 0}
    };
    """
    ctypedef struct draw_t:
        const char* name
        size_t address
    const draw_t* draws


cdef double normal(rng_t* rng) noexcept nogil:
    cdef bitgen_t bitgen = bitgen_of(rng)
    return random_standard_normal(&bitgen)


cdef int64_t integer(rng_t* rng, int64_t low, int64_t high) noexcept nogil:
    cdef bitgen_t bitgen = bitgen_of(rng)
    if high <= low:
        return low
    return <int64_t> random_bounded_uint64(&bitgen, <uint64_t> low, <uint64_t> high - 1 - <uint64_t> low, 0, False)


# Addresses of functions of a stream, by the names of NumPy's methods (with `_f` for float32), and of its integer types
# for arrays of these.
DRAWS = {"integer": <size_t> &integer}
cdef int k = 0
while draws[k].name != NULL:
    DRAWS[draws[k].name.decode()] = draws[k].address
    k += 1
