"""Output arrays that look fresh at every step and cost no allocation (DESIGN: fresh-looking arrays)."""

cimport numpy as cnp


cdef enum:
    MOST_AXES = 64         # NumPy's own limit


cdef class ArrayRing:
    cdef tuple shape
    cdef int rank, typenum
    cdef cnp.npy_intp sizes[MOST_AXES]
    cdef object dtype
    cdef bint reuse        # hand out one and the same array for ever
    cdef list arrays
    cdef void* pointers[3]
    cdef int oldest

    cdef bint intact(self, cnp.ndarray array, int k) noexcept
    cdef object take(self, void** pointer)


cdef void* array_pointer(
    object array, str name, int typenum, tuple shape, bint writable, object errors) except NULL

cdef int check_apart(list named, object errors) except -1
