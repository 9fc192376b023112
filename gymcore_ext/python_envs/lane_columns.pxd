"""One number or flag a lane: checked access to what an environment returned."""

cdef object as_column(object array, int typenum, Py_ssize_t n, str name)
