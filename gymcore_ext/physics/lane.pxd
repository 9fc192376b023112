"""What the physics of one lane may use: random draws, deterministic mathematics, and the kernel's type."""
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t


cdef extern from "gymcore/kernel.h":
    const char* KERNEL_CAPSULE "GYMCORE_KERNEL_CAPSULE"

    ctypedef struct rng_t "gymcore_rng":
        uint64_t state_high, state_low, increment_high, increment_low
        uint32_t has_uint32, uinteger

    ctypedef struct outcome_t "gymcore_outcome":
        double reward
        int terminated

    ctypedef struct kernel_t "gymcore_kernel":
        int32_t abi

    # Uniform draw on [low, high), as numpy.random.Generator.uniform gives it.
    double uniform "gymcore_rng_uniform"(rng_t* rng, double low, double high) noexcept nogil
    # Uniform draw on [0, 1), as Generator.random().
    double random "gymcore_rng_double"(rng_t* rng) noexcept nogil
    # The generator's next 64 bits.
    uint64_t next64 "gymcore_rng_next64"(rng_t* rng) noexcept nogil
    # Uniform draw of 0 to choices - 1, as Generator.integers(choices).
    uint32_t below "gymcore_rng_below"(rng_t* rng, uint32_t choices) noexcept nogil


cdef extern from "gymcore/math.h":
    const double PI "GYMCORE_PI"
    const double TWO_PI "GYMCORE_TWO_PI"
    void sincos "gymcore_sincos"(double x, double* sine, double* cosine) noexcept nogil
    void sincos_within "gymcore_sincos_within"(bint small, double x, double* sine, double* cosine) noexcept nogil
    double sin "gymcore_sin"(double x) noexcept nogil
    double cos "gymcore_cos"(double x) noexcept nogil
    double floor "gymcore_floor"(double x) noexcept nogil
    uint64_t to_whole "gymcore_to_whole"(double x) noexcept nogil
    double from_whole "gymcore_from_whole"(uint64_t x) noexcept nogil
    int64_t less "gymcore_less"(int64_t a, int64_t b) noexcept nogil
    double mod_two_pi "gymcore_mod_two_pi"(double x) noexcept nogil
    double clip "gymcore_clip"(double x, double low, double high) noexcept nogil
    double negated "gymcore_negated"(int64_t condition, double x) noexcept nogil
    uint64_t bits "gymcore_bits"(double x) noexcept nogil
    double select "gymcore_select"(bint condition, double yes, double no) noexcept nogil
