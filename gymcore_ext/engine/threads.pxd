"""Threads that share the chunks of a batch with the one that asks."""
from gymcore_ext.engine.step cimport pool_t


cdef class Threads:
    cdef int count, helpers, generation
    cdef bint chooses
    cdef pool_t* pool               # NULL for one thread, and until `start`

    cdef int start(self) except -1
    cdef void stop(self) noexcept
