"""Infos: merging those of many environments into one dict of arrays, splitting it, passing infos between processes.

The layout of the merged dict is described in gymcore/vector/utils/infos.py. Nearly every value is a number of the type
of its column, which is written through a pointer. NumPy writes everything else.

`InfoSlots` stores infos in shared memory: one word per lane (0: no info; else flags), then one slot per lane. A slot
can store dicts of numbers and of arrays of numbers, nested to any depth. An info with anything else, or one that does
not fit, is pickled, and its owner sends it through a pipe. The word is 0 while its slot is being written, so a writer
that dies in the middle leaves a lane without an info.
"""
cimport numpy as cnp
from cpython.dict cimport PyDict_CheckExact
from cpython.long cimport PyLong_CheckExact
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from cpython.sequence cimport PySequence_GetItem
from cpython.tuple cimport PyTuple_CheckExact
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

from gymcore_ext.arrays cimport ArrayRing

import pickle
from copy import deepcopy

import numpy as np

cnp.import_array()


cdef extern from "Python.h":
    bint PyFloat_CheckExact(object value)
    double PyFloat_AS_DOUBLE(object value)
    long long PyLong_AsLongLongAndOverflow(object value, int* overflow) except? -1
    bint PyUnicode_CheckExact(object value)
    bint PyUnicode_IS_ASCII(object value)
    const char* PyUnicode_AsUTF8AndSize(object value, Py_ssize_t* size) except NULL
    object PyUnicode_DecodeUTF8(const char* text, Py_ssize_t size, const char* errors)

cdef extern from "numpy/arrayobject.h":
    object PyArray_Scalar(void* data, cnp.dtype dtype, object base)

cdef extern from "engine/atomics.h":
    ctypedef uint64_t word64 "gymcore_word64"
    void store64 "gymcore_store64"(word64* word, uint64_t value) noexcept

cdef object ndarray = np.ndarray
cdef str FINAL_OBSERVATION = "final_obs"
cdef str NUMERIC_KINDS = "biufc"

# NumPy's type number (such as NPY_FLOAT64) of each class of scalars.
cdef dict scalar_numbers = {np.dtype(code).type: np.dtype(code).num for code in "?bBhHiIlLqQefdgFDG"}
cdef frozenset number_types = frozenset(scalar_numbers.values())

# `_key` by key, because forming the text costs as much as storing a value.
cdef dict mask_keys = {}
cdef enum:
    MAX_MASK_KEYS = 256

# Maximum depth of nested dicts in an info. A dict that contains itself has no end, and each level uses some of the
# stack. The maximum is the same in every process, so that a worker refuses an info that its parent could not merge.
cdef enum:
    MAX_DEPTH = 256


cdef int check_depth(Py_ssize_t depth) except -1:
    if depth > MAX_DEPTH:
        raise RecursionError(f"info: expected at most {MAX_DEPTH} nested dicts")
    return 0


cdef int check_nesting(object value, Py_ssize_t depth) except -1:
    """Raise a RecursionError if dicts are nested too deeply to be merged."""
    if isinstance(value, dict):
        check_depth(depth)
        for part in value.values():
            check_nesting(part, depth + 1)
    return 0


cdef object lookup(object infos, object key):
    """Return `infos.get(key)`; for a dict, this takes a third of the time."""
    return (<dict> infos).get(key) if PyDict_CheckExact(infos) else infos.get(key)


cdef object mask_key_of(object key):
    """Return the key of the mask of `key`."""
    if not PyUnicode_CheckExact(key):
        return f"_{key}"
    mask_key = mask_keys.get(key)
    if mask_key is None:
        if len(mask_keys) >= MAX_MASK_KEYS:
            mask_keys.clear()
        mask_keys[key] = mask_key = f"_{key}"
    return mask_key


# --- merging ----------------------------------------------------------------------------------------------------------


cpdef void merge_info(
    object vector_infos, object env_info, Py_ssize_t env_num, Py_ssize_t num_envs, Py_ssize_t depth=1
) except *:
    """Merge the info dict of one environment into the merged dict, in place.

    Args:
        vector_infos: The merged dict so far; empty at first.
        env_info: The info of one environment. Its values are copied, except for objects that are not arrays, lists,
            tuples, dicts or sets.
        env_num: Index of that environment.
        num_envs: Number of environments, which is the length of every column.
        depth: 1 for a whole info; more for a dict inside of it.

    Raises:
        RecursionError: If more than 256 dicts are nested, as in a dict that contains itself.

    Examples:
        >>> infos = {}
        >>> merge_info(infos, {"speed": 1}, env_num=0, num_envs=3)
        >>> merge_info(infos, {"speed": 2.5}, env_num=2, num_envs=3)
        >>> infos["speed"], infos["_speed"]
        (array([1. , 0. , 2.5]), array([ True, False,  True]))
    """
    check_depth(depth)
    for key, value in env_info.items():
        mask_key = mask_key_of(key)
        column = lookup(vector_infos, key)
        mask = lookup(vector_infos, mask_key)
        if mask is not None and type(column) is ndarray and store_number(column, env_num, value):
            set_mask(mask, env_num)
            continue
        if isinstance(value, dict) and key != FINAL_OBSERVATION and (column is None or isinstance(column, dict)):
            if column is None:
                column = vector_infos[key] = {}
            merge_info(column, value, env_num, num_envs, depth + 1)
        else:
            if column is None:
                column = new_column(key, value, num_envs)
            elif isinstance(column, dict):
                column = as_objects(column, mask, num_envs)
            vector_infos[key] = store_value(column, mask, env_num, value)
        if mask is None:
            mask = vector_infos[mask_key] = number_column(num_envs, cnp.NPY_BOOL)
        set_mask(mask, env_num)


cpdef object copied(object value):
    """Return a deep copy of an info or action, which shares values that cannot be copied with the original.

    An environment may change the arrays and lists of an info in the next reset, and those of an action in its step.

    Examples:
        >>> copied({"position": np.zeros(2)[:1], "lock": ...})
        {'position': array([0.]), 'lock': Ellipsis}
    """
    if cnp.PyArray_CheckExact(value) and not value.dtype.hasobject:
        return cnp.PyArray_NewCopy(<cnp.ndarray> value, cnp.NPY_KEEPORDER)
    if PyTuple_CheckExact(value):  # such as an observation; `deepcopy` takes ten times as long
        return tuple([copied(part) for part in <tuple> value])
    try:
        return deepcopy(value)
    except Exception:
        if PyDict_CheckExact(value):
            return {key: copied(part) for key, part in value.items()}
        if type(value) is list:
            return [copied(part) for part in <list> value]
        return value


cdef int set_mask(object mask, Py_ssize_t env_num) except -1:
    """Set `mask[env_num] = True`."""
    if type(mask) is not ndarray or not store_number(mask, env_num, True):
        mask[<object> env_num] = True
    return 0


cdef bint store_number(cnp.ndarray column, Py_ssize_t env_num, object value) except -1:
    """Write a number that the column can hold exactly; for anything else, write nothing and return False."""
    cdef int typenum = cnp.PyArray_TYPE(column), overflow = 0
    cdef char* place
    cdef int64_t number
    if cnp.PyArray_NDIM(column) != 1 or not 0 <= env_num < cnp.PyArray_DIM(column, 0) or not cnp.PyArray_ISBEHAVED(
            column):
        return False
    place = <char*> cnp.PyArray_GETPTR1(column, env_num)
    if typenum == cnp.NPY_DOUBLE and PyFloat_CheckExact(value):
        (<double*> place)[0] = PyFloat_AS_DOUBLE(value)
        return True
    if value is True or value is False:
        number = value is True
    elif PyLong_CheckExact(value):
        number = PyLong_AsLongLongAndOverflow(value, &overflow)
        if overflow or typenum == cnp.NPY_BOOL:
            return False
    else:
        value_typenum = scalar_numbers.get(type(value))
        if value_typenum is None or <int> value_typenum != typenum:
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


cdef cnp.ndarray number_column(cnp.npy_intp num_envs, int typenum):
    """Return zeros of shape (num_envs,)."""
    return cnp.PyArray_ZEROS(1, &num_envs, typenum, 0)


cdef cnp.ndarray object_column(cnp.npy_intp num_envs):
    """Return an object array of None, of shape (num_envs,)."""
    return cnp.PyArray_EMPTY(1, &num_envs, cnp.NPY_OBJECT, 0)


cdef object new_column(object key, object value, Py_ssize_t num_envs):
    """Return a column of zeros or None that can hold `value`."""
    if key == FINAL_OBSERVATION:
        return object_column(num_envs)
    kind = type(value)
    if (kind is int or kind is float or kind is bool) and number_type(value) is not None:
        return number_column(num_envs, number_type(value))
    if isinstance(value, (np.number, ndarray)):
        return np.zeros((num_envs, *value.shape), value.dtype)
    return object_column(num_envs)


cdef object number_type(object value):
    """Return NumPy's type number for a Python number; None for anything else, and for integers beyond int64."""
    if isinstance(value, bool):
        return cnp.NPY_BOOL
    if isinstance(value, float):
        return cnp.NPY_DOUBLE
    return cnp.NPY_INT64 if isinstance(value, int) and -2**63 <= value < 2**63 else None


cdef object store_value(object column, object mask, Py_ssize_t env_num, object value):
    """Write `value` to row `env_num`; return the column, or a copy of a wider dtype if `value` needs one."""
    if not (column.ndim == 1 and column.dtype == object):
        dtype = common_dtype(column, value)
        if dtype is None:
            column = as_objects(column, mask, len(column))
        elif dtype != column.dtype:
            column = column.astype(dtype)
    # The environment may change what it has put into its info.
    if isinstance(value, (cnp.ndarray, list, tuple, dict, set)) and column.dtype == object:
        value = copied(value)
    column[<object> env_num] = value
    return column


cdef object common_dtype(object column, object value):
    """Return a dtype in which a column of this shape can hold `value` too; None if there is none."""
    if isinstance(value, (np.generic, np.ndarray)):
        if value.shape not in ((), column.shape[1:]):
            return None
        dtype = column.dtype if column.dtype == object else value.dtype
    elif number_type(value) is not None:
        dtype = cnp.PyArray_DescrFromType(number_type(value))
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


cdef cnp.ndarray as_objects(object column, object mask, Py_ssize_t num_envs):
    """Return an object array with each environment's value of an array or merged dict; None if its mask is not set."""
    objects = object_column(num_envs)
    for env_num in [] if mask is None else np.flatnonzero(mask).tolist():
        objects[env_num] = split_info(column, env_num) if isinstance(column, dict) else column[env_num]
    return objects


# --- splitting --------------------------------------------------------------------------------------------------------


def split_info(object vector_infos, object env_num):
    """Return the info of one environment from a merged dict.

    Args:
        vector_infos: A merged dict. All environments have the entries of a column without a mask.
        env_num: Index of the environment.

    Examples:
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
        mask = vector_infos.get(mask_key_of(key))
        if mask is None or mask[env_num]:
            info[key] = split_info(column, env_num) if isinstance(column, dict) else column[env_num]
    return info


def split_rows(object batch, cnp.ndarray mask not None):
    """Return an object array with the element of a batch for each lane in `mask`, and None elsewhere.

    Args:
        batch: An array, whose elements are views of rows, or a merged dict, whose elements are dicts as `split_info`
            returns them. An object array is returned itself.
        mask: A bool array [n].

    Examples:
        >>> split_rows(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([False, True]))
        array([None, array([3., 4.])], dtype=object)
    """
    return split_into(None, batch, mask)


cdef object split_into(ArrayRing ring, object batch, cnp.ndarray mask):
    """Return what `split_rows` returns, in an array of the ring if there is one."""
    cdef const char* is_set = cnp.PyArray_BYTES(mask)
    cdef Py_ssize_t i, stride
    cdef PyObject** objects
    cdef PyObject* replaced
    cdef void* pointer
    cdef bint merged = isinstance(batch, dict)
    if not merged and cnp.PyArray_TYPE(<cnp.ndarray?> batch) == cnp.NPY_OBJECT:
        return batch
    if cnp.PyArray_NDIM(mask) != 1 or cnp.PyArray_TYPE(mask) != cnp.NPY_BOOL:
        raise ValueError(f"mask: expected bool [n], got {mask.dtype} {np.shape(mask)}")
    rows = object_column(cnp.PyArray_DIM(mask, 0)) if ring is None else ring.take(&pointer)
    objects, stride = <PyObject**> cnp.PyArray_DATA(<cnp.ndarray> rows), cnp.PyArray_STRIDE(mask, 0)
    for i in range(cnp.PyArray_DIM(mask, 0)):
        if is_set[i * stride] or objects[i] != <PyObject*> None:
            value = None
            if is_set[i * stride]:
                value = split_info(batch, i) if merged else PySequence_GetItem(batch, i)
            Py_INCREF(value)
            replaced, objects[i] = objects[i], <PyObject*> value
            Py_XDECREF(replaced)
    return rows


cdef class RowSplitter:
    """`split_rows` with arrays that are recycled, which takes half the time: see ArrayRing."""
    cdef ArrayRing ring

    def __call__(self, object batch, cnp.ndarray mask not None):
        if self.ring is None or self.ring.sizes[0] != cnp.PyArray_SIZE(mask):
            self.ring = ArrayRing((cnp.PyArray_SIZE(mask),), object)
        return split_into(self.ring, batch, mask)

    def __reduce__(self):
        return RowSplitter, ()


# --- infos in shared memory -------------------------------------------------------------------------------------------

cdef enum:
    # Flags of a lane's word.
    FILLED = 1
    HAS_FINAL = 2
    OVERFLOWED = 4
    # A value consists of a word, tag | detail << 8, followed by its data in whole words.
    BOOL = 1
    INT = 2
    FLOAT = 3
    SCALAR = 4      # detail: NumPy type number
    ARRAY = 5       # detail: NumPy type number | axes << 8; the length of each axis as npy_intp, then the values
    DICT = 6        # detail: number of entries; each has a word with the length of its key, the key, and a value

ctypedef struct byte_cursor_t:
    char* at
    char* end

cdef char* next_bytes(byte_cursor_t* cursor, size_t nbytes) noexcept:
    """Return the address of the next bytes, padded to words, and pass them; NULL if there are not enough."""
    cdef char* place = cursor.at
    nbytes = (nbytes + 7) & ~<size_t> 7
    if nbytes > <size_t> (cursor.end - place):
        return NULL
    cursor.at += nbytes
    return place


cdef bint put_bytes(byte_cursor_t* cursor, const void* data, size_t nbytes) noexcept:
    cdef char* place = next_bytes(cursor, nbytes)
    if place != NULL and nbytes:
        memcpy(place, data, nbytes)
    return place != NULL


cdef bint put_word(byte_cursor_t* cursor, uint64_t word) noexcept:
    return put_bytes(cursor, &word, 8)


cdef bint put_value(byte_cursor_t* cursor, object value) except -1:
    """Write a value; return False if it does not fit, or is not a number, an array of numbers, or a dict of these."""
    cdef double real
    cdef int64_t number
    cdef int overflow = 0
    cdef char* place
    if PyFloat_CheckExact(value):
        real = PyFloat_AS_DOUBLE(value)
        return put_word(cursor, FLOAT) and put_bytes(cursor, &real, 8)
    if value is True or value is False:
        number = value is True
        return put_word(cursor, BOOL) and put_word(cursor, number)
    if PyLong_CheckExact(value):
        number = PyLong_AsLongLongAndOverflow(value, &overflow)
        return not overflow and put_word(cursor, INT) and put_word(cursor, number)
    if PyDict_CheckExact(value):
        return put_dict(cursor, value)
    if type(value) is ndarray:
        return put_array(cursor, value)
    typenum = scalar_numbers.get(type(value))
    if typenum is None or not put_word(cursor, SCALAR | <uint64_t> <int> typenum << 8):
        return False
    place = next_bytes(cursor, value.itemsize)
    if place != NULL:
        cnp.PyArray_ScalarAsCtype(value, place)
    return place != NULL


cdef bint put_dict(byte_cursor_t* cursor, dict value) except -1:
    cdef Py_ssize_t length
    cdef const char* text
    if not put_word(cursor, DICT | <uint64_t> len(value) << 8):
        return False
    for key, item in value.items():
        if not PyUnicode_CheckExact(key) or not PyUnicode_IS_ASCII(key):
            return False
        text = PyUnicode_AsUTF8AndSize(key, &length)
        if not (put_word(cursor, length) and put_bytes(cursor, text, length) and put_value(cursor, item)):
            return False
    return True


cdef bint put_array(byte_cursor_t* cursor, cnp.ndarray array) except -1:
    cdef int rank = cnp.PyArray_NDIM(array)
    if cnp.PyArray_TYPE(array) not in number_types or not cnp.PyArray_ISCARRAY_RO(array):
        return False
    return (
        put_word(cursor, ARRAY | <uint64_t> cnp.PyArray_TYPE(array) << 8 | <uint64_t> rank << 16)
        and put_bytes(cursor, cnp.PyArray_DIMS(array), rank * sizeof(cnp.npy_intp))
        and put_bytes(cursor, cnp.PyArray_DATA(array), cnp.PyArray_NBYTES(array)))


cdef uint64_t take_word(byte_cursor_t* cursor) noexcept:
    return (<uint64_t*> next_bytes(cursor, 8))[0]


cdef object take_value(byte_cursor_t* cursor):
    """Read a value that `put_value` has written."""
    cdef uint64_t word = take_word(cursor)
    cdef uint64_t payload
    cdef int rank, typenum
    cdef cnp.ndarray array
    if word & 0xFF == FLOAT:
        payload = take_word(cursor)
        return (<double*> &payload)[0]
    if word & 0xFF == INT:
        return <int64_t> take_word(cursor)
    if word & 0xFF == BOOL:
        return take_word(cursor) != 0
    if word & 0xFF == DICT:
        result = {}
        for _ in range(word >> 8):
            payload = take_word(cursor)
            key = PyUnicode_DecodeUTF8(next_bytes(cursor, payload), <Py_ssize_t> payload, NULL)
            result[key] = take_value(cursor)
        return result
    typenum = word >> 8 & 0xFF
    if word & 0xFF == SCALAR:
        dtype = cnp.PyArray_DescrFromType(typenum)
        return PyArray_Scalar(next_bytes(cursor, dtype.itemsize), dtype, None)
    rank = word >> 16
    array = cnp.PyArray_EMPTY(rank, <cnp.npy_intp*> next_bytes(cursor, rank * sizeof(cnp.npy_intp)), typenum, 0)
    memcpy(cnp.PyArray_DATA(array), next_bytes(cursor, cnp.PyArray_NBYTES(array)), cnp.PyArray_NBYTES(array))
    return array


cdef class InfoSlots:
    """Infos of lanes in shared memory. One process writes, and another reads after the lane was reported as done.

    Args:
        memory: a writable buffer, to which the slots keep a reference. Zeros mean lanes without infos.
        offset: index of the first byte of the slots, a multiple of 8.
        num_envs: number of lanes.
        slot_bytes: bytes per lane; larger infos overflow.
    """

    def __cinit__(self, memory, Py_ssize_t offset, Py_ssize_t num_envs, Py_ssize_t slot_bytes):
        array = np.frombuffer(memory, np.int64, InfoSlots.nbytes(num_envs, slot_bytes) // 8, offset)
        if not array.flags.writeable or not array.flags.aligned:
            raise ValueError("memory: expected a writable buffer, and an offset that is a multiple of 8")
        self.memory = array
        self.words = <uint64_t*> cnp.PyArray_DATA(array)
        self.slots = <char*> (self.words + num_envs)
        self.num_envs = num_envs
        self.slot_bytes = 8 * ((slot_bytes + 7) // 8)
        self.overflow = {}

    cdef uint64_t word_of(self, Py_ssize_t lane) except? 0xFF:
        """Return the word of a lane: 0 for no info."""
        if not 0 <= lane < self.num_envs:
            raise IndexError(f"lane: expected one of {self.num_envs}, got {lane}")
        return self.words[lane]

    @staticmethod
    def nbytes(num_envs, slot_bytes):
        """Return the bytes of memory that these slots need."""
        if num_envs < 1 or slot_bytes < 0:
            raise ValueError(f"expected at least one lane and slots of some bytes, got {num_envs} of {slot_bytes}")
        return 8 * num_envs * (1 + (slot_bytes + 7) // 8)

    cpdef bint put(self, Py_ssize_t lane, object info, object final_info=None, object extra=None) except -1:
        """Store the infos of a lane, which replace its previous ones.

        Args:
            lane: index of the lane.
            info: the info dict of its environment; any mapping that `dict` accepts.
            final_info: the last info of an episode that ended, or None.
            extra: any object, or None.

        Returns:
            Whether they fit into the slot; otherwise `take_overflow` will return their pickle.

        Raises:
            TypeError: If a value cannot be pickled; the message names the keys that lead to it. The lane is then empty.
        """
        cdef byte_cursor_t cursor
        cdef uint64_t flags = FILLED
        if self.word_of(lane) != 0:
            store64(<word64*> &self.words[lane], 0)
            self.overflow.pop(lane, None)
        info = info if type(info) is dict else dict(info)
        if not info and final_info is None and extra is None:
            return True
        check_nesting(info, 1)
        check_nesting(final_info, 1)
        cursor.at = self.slots + lane * self.slot_bytes
        cursor.end = cursor.at + self.slot_bytes
        if final_info is not None:
            flags |= HAS_FINAL
        if extra is None and (final_info is None or put_value(&cursor, final_info)) and put_dict(&cursor, info):
            store64(<word64*> &self.words[lane], flags)
            return True
        self.overflow[lane] = pickled({"info": info, "final_info": final_info, "extra": extra}, "", 0)
        store64(<word64*> &self.words[lane], OVERFLOWED)
        return False

    def take_overflow(self):
        """Return the pickles of infos that do not fit into slots, by lane, and forget them."""
        taken = self.overflow
        self.overflow = {}
        return taken

    def filled(self):
        """Return the lanes that have infos, in order."""
        cdef Py_ssize_t lane
        return [lane for lane in range(self.num_envs) if self.words[lane] != 0]

    def overflowed(self, lanes):
        """Return those of the given lanes whose infos do not fit into their slots."""
        return [lane for lane in lanes if self.word_of(lane) == OVERFLOWED]

    def get(self, Py_ssize_t lane, bytes overflow=None):
        """Return the infos of a lane.

        Args:
            lane: index of the lane.
            overflow: the pickle of its infos, if they overflowed.

        Returns:
            The info dict, the final info or None, the extra object or None.

        Raises:
            ValueError: If the infos overflowed and the pickle is missing, or cannot be loaded here.
        """
        cdef byte_cursor_t cursor
        cdef uint64_t word = self.word_of(lane)
        if word == 0:
            return {}, None, None
        if word == OVERFLOWED:
            if overflow is None:
                raise ValueError(f"lane {lane}: its info of more than {self.slot_bytes} bytes did not come")
            try:
                parts = pickle.loads(overflow)
            except Exception as error:
                raise ValueError(f"info of lane {lane}: a pickled value cannot be loaded here: {error}") from error
            return parts["info"], parts["final_info"], parts["extra"]
        cursor.at = self.slots + lane * self.slot_bytes
        cursor.end = cursor.at + self.slot_bytes
        final_info = take_value(&cursor) if word & HAS_FINAL else None
        return take_value(&cursor), final_info, None


cdef bytes pickled(object value, str name, int depth):
    """Return a pickle (by cloudpickle if necessary). A TypeError names the innermost part that cannot be pickled."""
    try:
        try:
            return pickle.dumps(value, 5)
        except Exception:
            import cloudpickle
            return cloudpickle.dumps(value, 5)
    except Exception as problem:
        parts = ()
        if depth < 8 and isinstance(value, dict):
            parts = value.items()
        elif depth < 8 and isinstance(value, (list, tuple)):
            parts = enumerate(value)
        for key, part in parts:
            pickled(part, f"{name}[{key!r}]" if name else key, depth + 1)
        kind = type(value).__name__
        raise TypeError(f"{name or 'info'}: a value of type {kind} cannot be pickled: {problem}") from None
