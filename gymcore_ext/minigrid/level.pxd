"""One lane of a grid world, for what runs lanes."""
from gymcore_ext.minigrid.grid cimport level_t, rng_t


cdef void reset(
    void* memory, const void* shared, const double* parameters, const double* reset_options, rng_t* rng) noexcept nogil
cdef int step(
    void* memory, const void* shared, const double* parameters, const void* action, rng_t* rng, double* reward
) noexcept nogil
cdef void observe(const void* memory, const void* shared, void* const* parts) noexcept nogil
cdef int check(const void* memory, const void* shared) noexcept nogil


cdef class Level:
    cdef level_t level
    cdef tuple arrays
