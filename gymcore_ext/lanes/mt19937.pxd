"""gymcore/mt19937.h: MT19937, and NumPy's RandomState."""
from libc.stdint cimport int64_t, uint32_t


cdef extern from "gymcore/mt19937.h":
    enum:
        MT_WORDS "GYMCORE_MT_WORDS"
    ctypedef struct mt19937_t "gymcore_mt19937":
        uint32_t words[MT_WORDS]
        uint32_t used
    ctypedef struct random_state_t "gymcore_random_state":
        mt19937_t mt
    bint mt_is_valid "gymcore_mt_is_valid"(const mt19937_t* mt) noexcept nogil
    void mt_seed_word "gymcore_mt_seed_word"(mt19937_t* mt, uint32_t seed) noexcept nogil
    uint32_t mt_next "gymcore_mt_next32"(mt19937_t* mt) noexcept nogil
    double mt_double "gymcore_mt_double"(mt19937_t* mt) noexcept nogil
    uint32_t mt_below "gymcore_mt_below"(mt19937_t* mt, uint32_t choices) noexcept nogil
    bint random_state_is_valid "gymcore_random_state_is_valid"(const random_state_t* stream) noexcept nogil
    double random_state_normal "gymcore_random_state_normal"(random_state_t* stream) noexcept nogil
    void random_state_seed_range "gymcore_random_state_seed_range"(
        random_state_t* first, int64_t stride, int64_t lanes, uint32_t* words, int count) noexcept nogil
