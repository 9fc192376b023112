"""Infos of one lane as a dict: for the single environments, which have no use for columns."""
cimport numpy as cnp
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from gymcore_ext.engine.step cimport FLOAT64, INT64, MOST_INFOS, info_field_t, lanes_t

import numpy as np

cnp.import_array()

# NumPy's types in the order of kernel.h.
cdef int[4] INFO_TYPES = [cnp.NPY_FLOAT32, cnp.NPY_FLOAT64, cnp.NPY_INT64, cnp.NPY_INT8]


cdef tuple info_names(dict facts):
    """Names of the infos of a kernel, which must not be too many."""
    if sum([(size * np.dtype(dtype).itemsize + 7) & ~7 for _, dtype, size in facts["infos"]]) > INFO_BYTES:
        raise ValueError(f"kernel: expected at most {INFO_BYTES} bytes of infos a lane")
    return tuple([name for name, _, _ in facts["infos"]])


cdef object info_value(const info_field_t* field, const char* data):
    """One entry of the infos of a lane: a float, an int, or an array of its own."""
    cdef cnp.npy_intp size = field.size
    cdef cnp.ndarray array
    if size == 1 and field.type == FLOAT64:
        return (<const double*> data)[0]
    if size == 1 and field.type == INT64:
        return (<const int64_t*> data)[0]
    array = cnp.PyArray_SimpleNew(1, &size, INFO_TYPES[field.type])
    memcpy(cnp.PyArray_DATA(array), data, cnp.PyArray_NBYTES(array))
    return array.item() if size == 1 else array


cdef dict infos_of_lane(const lanes_t* lanes, tuple names, int64_t lane, bint beginning):
    """All entries of a lane; those that it has if it has only begun an episode."""
    cdef void* parts[MOST_INFOS]
    cdef char place[INFO_BYTES]
    cdef int64_t bytes = 0
    cdef dict infos = {}
    cdef int part, count = lanes.kernel.info_count
    if count == 0:
        return infos
    for part in range(count):
        parts[part] = place + bytes - lane * lanes.info_bytes[part]
        bytes += (lanes.info_bytes[part] + 7) & ~<int64_t> 7
    lanes.kernel.inform_lanes(&lanes.columns, parts, &lane, 1)
    for part in range(count):
        if not beginning or not lanes.kernel.infos[part].only_steps:
            infos[names[part]] = info_value(
                &lanes.kernel.infos[part], <char*> parts[part] + lane * lanes.info_bytes[part])
    return infos
