"""Layouts: which arrays the elements of a space consist of."""

cdef object parts_of(tuple layout)
cpdef object grouped(tuple layout, object arrays)
cpdef list leaves(tuple layout, str name, object value, object type_error, object value_error)
