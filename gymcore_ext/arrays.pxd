"""Output arrays that look fresh at every step and cost no allocation (DESIGN: fresh-looking arrays)."""

cdef class ArrayRing:
    cdef tuple shape
    cdef object dtype
    cdef bint reuse        # hand out one and the same array for ever
    cdef list arrays
    cdef void* pointers[3]
    cdef int oldest

    cdef object take(self, void** pointer)


cdef void* array_pointer(
    object array, str name, int typenum, tuple shape, bint writable, object errors) except NULL
