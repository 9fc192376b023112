"""NumPy's C interface for bit generators over the random stream of a lane, for NumPy's distributions."""
from libc.stdint cimport uint32_t, uint64_t

from gymcore_ext.engine.kernel cimport rng_double, rng_next32, rng_next64, rng_t


cdef extern from "numpy/random/bitgen.h":
    ctypedef struct bitgen_t:
        void* state
        uint64_t (*next_uint64)(void* state) noexcept nogil
        uint32_t (*next_uint32)(void* state) noexcept nogil
        double (*next_double)(void* state) noexcept nogil
        uint64_t (*next_raw)(void* state) noexcept nogil


cdef inline uint64_t next_uint64(void* state) noexcept nogil:
    return rng_next64(<rng_t*> state)


cdef inline uint32_t next_uint32(void* state) noexcept nogil:
    return rng_next32(<rng_t*> state)


cdef inline double next_double(void* state) noexcept nogil:
    return rng_double(<rng_t*> state)


cdef inline bitgen_t bitgen_of(rng_t* rng) noexcept nogil:
    """Return a bit generator that draws from this stream."""
    return bitgen_t(rng, next_uint64, next_uint32, next_double, next_uint64)
