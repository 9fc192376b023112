"""Merging the info dicts of many environments into one dict of arrays, and taking it apart again.

The layout of the merged dict is described in gymcore/vector/utils/infos.py. Nearly every value is a number of the type
of its column: those are written through a pointer, without NumPy's indexing. All else goes through NumPy.
"""
cimport numpy as cnp
from cpython.dict cimport PyDict_CheckExact
from cpython.long cimport PyLong_CheckExact
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdint cimport int64_t, uintptr_t
from libc.string cimport memmove

import numpy as np

cnp.import_array()


cdef extern from "Python.h":
    PyObject* PyDict_GetItemWithError(object dictionary, object key) except? NULL
    bint PyFloat_CheckExact(object value)
    double PyFloat_AS_DOUBLE(object value)
    long long PyLong_AsLongLongAndOverflow(object value, int* overflow) except? -1
    bint PyUnicode_CheckExact(object value)

cdef object ndarray = np.ndarray
cdef str FINAL_OBSERVATION = "final_obs"
cdef str NUMERIC_KINDS = "biufc"

cdef dict scalar_numbers = {
    np.dtype(code).type: np.dtype(code).num for code in "?bBhHiIlLqQefdgFDG"
}

# Keys met lately and their `_key`, by address of the key: forming the text costs as much as storing the value.
cdef enum:
    KEPT_KEYS = 256
cdef list kept_keys = [None] * KEPT_KEYS
cdef list kept_mask_keys = [None] * KEPT_KEYS


cdef bint is_number_type(int typenum) noexcept:
    """Whether values of this type number are plain numbers or booleans, without metadata."""
    return (cnp.NPY_BOOL <= typenum <= cnp.NPY_CLONGDOUBLE) or typenum == cnp.NPY_FLOAT16


cdef object lookup(object infos, object key):
    """`infos.get(key)`."""
    cdef PyObject* found
    if not PyDict_CheckExact(infos):
        return infos.get(key)
    found = PyDict_GetItemWithError(infos, key)
    return None if found == NULL else <object> found


cdef object mask_key_of(object key):
    """The key under which the mask of `key` is kept."""
    cdef Py_ssize_t place
    if not PyUnicode_CheckExact(key):
        return f"_{key}"
    place = (<uintptr_t> <PyObject*> key >> 4) & (KEPT_KEYS - 1)
    if kept_keys[place] is not key:
        kept_mask_keys[place] = f"_{key}"
        kept_keys[place] = key
    return kept_mask_keys[place]


cdef int set_mask(object mask, Py_ssize_t env_num) except -1:
    """`mask[env_num] = True`."""
    cdef cnp.ndarray array
    if type(mask) is ndarray:
        array = mask
        if (cnp.PyArray_NDIM(array) == 1 and cnp.PyArray_TYPE(array) == cnp.NPY_BOOL and cnp.PyArray_ISBEHAVED(array)
                and 0 <= env_num < cnp.PyArray_DIM(array, 0)):
            (<char*> cnp.PyArray_GETPTR1(array, env_num))[0] = 1
            return 0
    mask[<object> env_num] = True
    return 0


# --- merging ----------------------------------------------------------------------------------------------------------


def merge_info(object vector_infos, object env_info, Py_ssize_t env_num, Py_ssize_t num_envs):
    """Write one environment's info dict into the merged dict, in place.

    Args:
        vector_infos: The merged dict so far; an empty one to begin with.
        env_info: The info of one environment. Its values are copied into columns where the column
            is numeric, and referred to where it is an object array.
        env_num: Index of that environment.
        num_envs: Number of environments, the length of every column.

    Example:
        >>> infos = {}
        >>> merge_info(infos, {"speed": 1}, env_num=0, num_envs=3)
        >>> merge_info(infos, {"speed": 2.5}, env_num=2, num_envs=3)
        >>> infos["speed"], infos["_speed"]
        (array([1. , 0. , 2.5]), array([ True, False,  True]))
    """
    merge_lane(vector_infos, env_info, env_num, num_envs)


cdef int merge_lane(object vector_infos, object env_info, Py_ssize_t env_num, Py_ssize_t num_envs) except -1:
    for key, value in env_info.items():
        merge_value(vector_infos, key, value, env_num, num_envs)
    return 0


cdef int merge_value(object vector_infos, object key, object value, Py_ssize_t env_num, Py_ssize_t num_envs) except -1:
    """Write the value that one environment has for one key."""
    cdef object mask_key = mask_key_of(key)
    cdef object column = lookup(vector_infos, key)
    cdef object mask = lookup(vector_infos, mask_key)
    if mask is not None and type(column) is ndarray and store_as_it_is(column, env_num, value):
        return set_mask(mask, env_num)

    if isinstance(value, dict) and key != FINAL_OBSERVATION:
        if column is None:
            column = vector_infos[key] = {}
        if isinstance(column, dict):
            merge_lane(column, value, env_num, num_envs)
        else:
            column = vector_infos[key] = as_objects(column, mask)
            column[<object> env_num] = value
    else:
        if column is None:
            column = new_column(key, value, num_envs)
        elif isinstance(column, dict):
            column = dicts_as_objects(column, vector_infos[mask_key])
        vector_infos[key] = store(column, mask, env_num, value)

    if mask is None:
        mask = vector_infos[mask_key] = number_column(num_envs, cnp.NPY_BOOL)
    return set_mask(mask, env_num)


cdef bint store_as_it_is(cnp.ndarray column, Py_ssize_t env_num, object value) except -1:
    """Write a value that its column holds as it is; False, with nothing written, if that takes a closer look."""
    cdef int typenum = cnp.PyArray_TYPE(column), axis, overflow = 0
    cdef Py_ssize_t row
    cdef char* place
    cdef PyObject* found
    cdef PyObject* old
    cdef int64_t number
    cdef cnp.ndarray array
    if cnp.PyArray_NDIM(column) < 1 or not 0 <= env_num < cnp.PyArray_DIM(column, 0) or not cnp.PyArray_ISBEHAVED(
            column):
        return False
    place = <char*> cnp.PyArray_DATA(column) + env_num * cnp.PyArray_STRIDE(column, 0)

    if type(value) is ndarray and typenum != cnp.NPY_OBJECT:
        array = value
        if (not is_number_type(typenum) or cnp.PyArray_TYPE(array) != typenum
                or cnp.PyArray_NDIM(array) != cnp.PyArray_NDIM(column) - 1
                or not cnp.PyArray_ISCARRAY(column) or not cnp.PyArray_ISCARRAY_RO(array)):
            return False
        for axis in range(cnp.PyArray_NDIM(array)):
            if cnp.PyArray_DIM(array, axis) != cnp.PyArray_DIM(column, axis + 1):
                return False
        row = cnp.PyArray_NBYTES(array)
        memmove(place, cnp.PyArray_DATA(array), row)  # the array may be a row of this very column
        return True

    if cnp.PyArray_NDIM(column) != 1:
        return False
    if typenum == cnp.NPY_DOUBLE and PyFloat_CheckExact(value):
        (<double*> place)[0] = PyFloat_AS_DOUBLE(value)
        return True
    if typenum == cnp.NPY_OBJECT:
        if isinstance(value, dict):
            return False
        old = (<PyObject**> place)[0]
        Py_INCREF(value)
        (<PyObject**> place)[0] = <PyObject*> value
        Py_XDECREF(old)
        return True
    if value is True or value is False:
        number = value is True
    elif PyLong_CheckExact(value):
        number = PyLong_AsLongLongAndOverflow(value, &overflow)
        if overflow or typenum == cnp.NPY_BOOL:
            return False
    else:
        found = PyDict_GetItemWithError(scalar_numbers, type(value))
        if found == NULL or <int> <object> found != typenum:
            return False
        cnp.PyArray_ScalarAsCtype(value, place)
        return True
    if typenum == cnp.NPY_BOOL:
        place[0] = <char> number
    elif typenum == cnp.NPY_INT64:
        (<int64_t*> place)[0] = number
    elif typenum == cnp.NPY_DOUBLE:
        (<double*> place)[0] = <double> number
    else:
        return False
    return True


# --- columns ----------------------------------------------------------------------------------------------------------


cdef object number_column(cnp.npy_intp num_envs, int typenum):
    """Zeros, shape (num_envs,)."""
    return cnp.PyArray_ZEROS(1, &num_envs, typenum, 0)


cdef object object_column(Py_ssize_t num_envs):
    """An object array of None, shape (num_envs,)."""
    return np.full(num_envs, None, dtype=object)


cdef bint fits_int64(object value) except -1:
    """Whether an int is in the range of int64."""
    cdef int overflow = 0
    PyLong_AsLongLongAndOverflow(value, &overflow)
    return overflow == 0


cdef object new_column(object key, object value, Py_ssize_t num_envs):
    """An empty column that fits `value`."""
    if key == FINAL_OBSERVATION:
        return object_column(num_envs)
    if type(value) is float:
        return number_column(num_envs, cnp.NPY_DOUBLE)
    if type(value) is bool:
        return number_column(num_envs, cnp.NPY_BOOL)
    if type(value) is int and fits_int64(value):
        return number_column(num_envs, cnp.NPY_INT64)
    if isinstance(value, np.number):
        return np.zeros(num_envs, dtype=value.dtype)
    if isinstance(value, np.ndarray):
        return np.zeros((num_envs, *value.shape), dtype=value.dtype)
    return object_column(num_envs)


cdef object store(object column, object mask, Py_ssize_t env_num, object value):
    """Put `value` into row `env_num`; return the column, a wider one if it had to be replaced."""
    if not (column.ndim == 1 and column.dtype == object):
        dtype = common_dtype(column, value)
        if dtype is None:
            column = as_objects(column, mask)
        elif dtype != column.dtype:
            column = column.astype(dtype)
    column[<object> env_num] = value
    return column


cdef object common_dtype(object column, object value):
    """The dtype in which a column of this shape holds `value` too; None if there is none."""
    if isinstance(value, (np.generic, np.ndarray)):
        if value.shape not in ((), column.shape[1:]):
            return None
        dtype = column.dtype if column.dtype == object else value.dtype
    elif isinstance(value, bool):
        dtype = np.dtype(np.bool_)
    elif isinstance(value, float):
        dtype = np.dtype(np.float64)
    elif isinstance(value, int) and fits_int64(value):
        dtype = np.dtype(np.int64)
    elif value is None and column.dtype.kind == "f":
        return column.dtype  # NumPy stores None in a float array as nan
    elif isinstance(value, (list, tuple)) and column.ndim > 1:
        try:
            return common_dtype(column, np.asarray(value))
        except ValueError:  # ragged
            return None
    else:
        return None

    if dtype == column.dtype:
        return dtype
    both_numeric = dtype.kind in NUMERIC_KINDS and column.dtype.kind in NUMERIC_KINDS
    if not both_numeric and dtype.kind != column.dtype.kind:
        return None  # NumPy would turn the numbers into text
    return np.result_type(column.dtype, dtype)


cdef object as_objects(object column, object mask):
    """The column as an object array, with None where the mask is not set."""
    objects = object_column(len(column))
    if mask is not None:
        for env_num in np.flatnonzero(mask):
            objects[env_num] = column[env_num]
    return objects


cdef object dicts_as_objects(object column, object mask):
    """A merged dict as an object array of one dict per environment that gave one."""
    objects = object_column(len(mask))
    for env_num in np.flatnonzero(mask):
        objects[env_num] = split_info(column, int(env_num))
    return objects


# --- splitting --------------------------------------------------------------------------------------------------------


def split_info(object vector_infos, object env_num):
    """Return what the merged dict holds for one environment, as the dict that environment gave.

    Args:
        vector_infos: A merged dict. A column without a mask counts as present everywhere.
        env_num: Index of the environment.

    Example:
        >>> infos = {}
        >>> merge_info(infos, {"goal": "door", "pose": {"x": 1.5}}, env_num=1, num_envs=2)
        >>> split_info(infos, 0), split_info(infos, 1)
        ({}, {'goal': 'door', 'pose': {'x': np.float64(1.5)}})
    """
    info = {}
    masks = {mask_key_of(key) for key in vector_infos if not isinstance(key, str)}
    for key, column in vector_infos.items():
        if isinstance(key, str) and key.startswith("_") and (key[1:] in vector_infos or key in masks):
            continue
        mask = lookup(vector_infos, mask_key_of(key))
        if mask is None or mask[env_num]:
            info[key] = split_info(column, env_num) if isinstance(column, dict) else column[env_num]
    return info
