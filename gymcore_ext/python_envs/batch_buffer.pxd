"""BatchBuffer: batches that are written element by element."""
cimport cython
cimport numpy as cnp

from gymcore_ext.arrays cimport ArrayRing


@cython.final
cdef class BatchBuffer:
    cdef object layout
    cdef Py_ssize_t n
    cdef bint reuse
    cdef int kind
    cdef bint fixed                      # whether the memory belongs to another owner
    cdef str name                        # name of this part, for messages
    # An array.
    cdef ArrayRing ring
    cdef cnp.ndarray array               # the array that is being written; unless `fixed`, None after `batch`
    cdef char* data
    cdef Py_ssize_t row_bytes
    cdef object dtype
    cdef tuple shape
    cdef int typenum, rank
    cdef bint plain                      # whether elements can be copied as raw bytes
    # A tuple or dict.
    cdef list parts
    cdef tuple keys
    # Objects.
    cdef list objects
    cdef object finish

    cpdef int begin(self) except -1
    cdef int check_begun(self, str call) except -1
    cdef void* part_data(self, Py_ssize_t part) noexcept
    cpdef int write(self, Py_ssize_t row, object value) except -1
    cdef int write_array(self, Py_ssize_t row, object value) except -1
    cdef int convert(self, Py_ssize_t row, object value) except -1
    cpdef int copy_from(
        self, Py_ssize_t row, BatchBuffer source, Py_ssize_t source_row, Py_ssize_t count=*
    ) except -1
    cdef int check_row(self, Py_ssize_t row) except -1
    cpdef object batch(self)
    cdef object joined(self, list values)
