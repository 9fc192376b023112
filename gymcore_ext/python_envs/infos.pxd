"""Merged infos: what the engines use without going through Python calls."""

cimport numpy as cnp

# Type numbers of the NumPy scalar types whose values are plain numbers, by type.
cdef dict scalar_numbers

cdef bint is_number_type(int typenum) noexcept
cdef object lookup(object infos, object key)
cdef object mask_key_of(object key)
cdef object number_column(cnp.npy_intp num_envs, int typenum)
cdef int set_mask(object mask, Py_ssize_t env_num) except -1

# As `merge_info` does it, for one key and for a whole dict.
cdef int merge_value(object vector_infos, object key, object value, Py_ssize_t env_num, Py_ssize_t num_envs) except -1
cdef int merge_lane(object vector_infos, object env_info, Py_ssize_t env_num, Py_ssize_t num_envs) except -1
