"""One number or flag a lane: checked access to what an environment returned."""
cimport numpy as cnp

import numpy as np

cnp.import_array()


cdef object as_column(object array, int typenum, Py_ssize_t n, str name):
    """The array itself if it is contiguous, of this type and shape (n,), else a converted copy."""
    cdef cnp.ndarray column
    if isinstance(array, cnp.ndarray):
        column = array
        if (cnp.PyArray_TYPE(column) == typenum and cnp.PyArray_NDIM(column) == 1 and cnp.PyArray_DIM(column, 0) == n
                and cnp.PyArray_ISCARRAY_RO(column)):
            return column
    converted = np.ascontiguousarray(array, cnp.PyArray_DescrFromType(typenum))
    if converted.shape != (n,) or np.ndim(array) != 1:
        raise ValueError(f"{name}: expected shape ({n},), got {np.shape(array)}")
    return converted
