"""Copying bytes, by a loop where the C library's copy is slow (copy.h)."""


cdef extern from "engine/copy.h":
    void copy_bytes "gymcore_copy"(void* target, const void* source, size_t size) noexcept nogil
