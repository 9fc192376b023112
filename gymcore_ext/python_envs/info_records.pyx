"""The binary form of infos: what engines pass from process to process.

Types come back exactly: None, bool, int of any size, float, complex, str, bytes, NumPy scalars and arrays of numbers,
and dicts (of str keys), lists and tuples of these. Everything else is pickled, by cloudpickle if pickle cannot. Both
sides are the same program on the same machine, so numbers are in its byte order, and types are NumPy's type numbers.

A reader trusts nothing: a record that was cut off or overwritten in the middle is a ValueError, whatever its bytes are,
and no pickle is loaded whose checksum is wrong.
"""
cimport numpy as cnp
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.long cimport PyLong_CheckExact
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

from gymcore_ext.python_envs.infos cimport is_number_type, scalar_numbers

import pickle
import sys
from binascii import crc32

import numpy as np

cnp.import_array()


cdef extern from "Python.h":
    PyObject* PyDict_GetItemWithError(object dictionary, object key) except? NULL
    bint PyComplex_CheckExact(object value)
    double PyComplex_RealAsDouble(object value)
    double PyComplex_ImagAsDouble(object value)
    object PyComplex_FromDoubles(double real, double imaginary)
    bint PyFloat_CheckExact(object value)
    double PyFloat_AS_DOUBLE(object value)
    long long PyLong_AsLongLongAndOverflow(object value, int* overflow) except? -1
    bint PyUnicode_CheckExact(object value)
    bint PyUnicode_IS_ASCII(object value)
    const char* PyUnicode_AsUTF8AndSize(object value, Py_ssize_t* size) except NULL
    object PyUnicode_DecodeUTF8(const char* text, Py_ssize_t size, const char* errors)

cdef extern from "numpy/arrayobject.h":
    object PyArray_Scalar(void* data, cnp.dtype dtype, object base)

cdef enum:
    # Deeper containers are pickled: lists that hold themselves would never end.
    MOST_DEPTH = 24
    MOST_AXES = 64
    # A writer gives memory beyond this back.
    KEPT_BYTES = 1 << 20
    # Flags of an array.
    FORTRAN = 1
    SWAPPED = 2

cdef object ndarray = np.ndarray

# Of every numeric type number: its dtype, and bytes of a value.
cdef list number_dtypes = [None] * 256
cdef size_t[256] number_sizes
memset(number_sizes, 0, sizeof(number_sizes))
for _dtype in map(np.dtype, "?bBhHiIlLqQefdgFDG"):
    number_dtypes[_dtype.num] = _dtype
    number_sizes[_dtype.num] = _dtype.itemsize


cdef inline size_t padded(size_t nbytes) noexcept:
    return (nbytes + 7) & ~<size_t> 7


cdef class RecordWriter:
    """Memory that grows, and values encoded into it."""

    def __cinit__(self):
        self.path = []

    def __dealloc__(self):
        PyMem_Free(self.data)

    cdef int begin(self, size_t reserved) except -1:
        """Begin a record whose first bytes the caller fills."""
        if self.capacity > KEPT_BYTES:
            PyMem_Free(self.data)
            self.data = NULL
            self.capacity = 0
        self.used = 0
        self.place(reserved)
        return 0

    cdef char* place(self, size_t nbytes) except NULL:
        """Room for bytes, padded to words by zeros. Valid until the next call."""
        cdef size_t needed = self.used + padded(nbytes), capacity
        cdef char* data
        if needed > self.capacity:
            capacity = max(needed, 2 * self.capacity, <size_t> 512)
            data = <char*> PyMem_Realloc(self.data, capacity)
            if data == NULL:
                raise MemoryError
            self.data = data
            self.capacity = capacity
        data = self.data + self.used
        if needed != self.used:
            memset(self.data + needed - 8, 0, 8)
        self.used = needed
        return data

    cdef int word(self, uint64_t value) except -1:
        (<uint64_t*> self.place(8))[0] = value
        return 0

    cdef int write(self, object value, int depth) except -1:
        """Encode a value; 1 if it cannot be (`reason` says why, `path` where)."""
        cdef uint64_t* words
        cdef PyObject* found
        if PyFloat_CheckExact(value):
            words = <uint64_t*> self.place(16)
            words[0] = TAG_FLOAT
            (<double*> &words[1])[0] = PyFloat_AS_DOUBLE(value)
            return 0
        if value is True or value is False:
            words = <uint64_t*> self.place(16)
            words[0] = TAG_BOOL
            words[1] = value is True
            return 0
        if PyLong_CheckExact(value):
            return self.write_int(value)
        if PyUnicode_CheckExact(value):
            return self.write_str(TAG_STR, value)
        if value is None:
            return self.word(TAG_NONE)
        if PyComplex_CheckExact(value):
            words = <uint64_t*> self.place(24)
            words[0] = TAG_COMPLEX
            (<double*> &words[1])[0] = PyComplex_RealAsDouble(value)
            (<double*> &words[2])[0] = PyComplex_ImagAsDouble(value)
            return 0
        found = PyDict_GetItemWithError(scalar_numbers, type(value))
        if found != NULL:
            return self.write_scalar(value, <object> found)
        if type(value) is ndarray:
            if is_number_type(cnp.PyArray_TYPE(<cnp.ndarray> value)):
                return self.write_array(value)
        elif type(value) is bytes:
            return self.write_bytes(TAG_BYTES, PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value))
        elif depth < MOST_DEPTH:
            if type(value) is dict:
                return self.write_dict(value, depth)
            if type(value) is list:
                return self.write_items(TAG_LIST, value, depth)
            if type(value) is tuple:
                return self.write_items(TAG_TUPLE, value, depth)
        return self.write_pickle(value)

    cdef int write_bytes(self, uint64_t tag, const char* data, size_t nbytes) except -1:
        self.word(tag | <uint64_t> nbytes << 8)
        memcpy(self.place(nbytes), data, nbytes)
        return 0

    cdef int write_int(self, object value) except -1:
        cdef int overflow = 0
        cdef int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow)
        cdef uint64_t* words
        if overflow:
            data = value.to_bytes(value.bit_length() // 8 + 1, sys.byteorder, signed=True)
            return self.write_bytes(TAG_BIG_INT, PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))
        words = <uint64_t*> self.place(16)
        words[0] = TAG_INT
        words[1] = <uint64_t> number
        return 0

    cdef int write_str(self, uint64_t tag, str value) except -1:
        cdef Py_ssize_t nbytes
        cdef const char* text
        if PyUnicode_IS_ASCII(value):
            text = PyUnicode_AsUTF8AndSize(value, &nbytes)
            return self.write_bytes(tag, text, nbytes)
        data = value.encode("utf-8", "surrogatepass")
        return self.write_bytes(tag, PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))

    cdef int write_dict(self, dict value, int depth) except -1:
        cdef uint64_t entries = 0
        cdef size_t start = self.used
        for key in value:
            if not PyUnicode_CheckExact(key):
                return self.write_pickle(value)
        self.word(TAG_DICT)
        for key, item in value.items():
            self.write_str(TAG_KEY, key)
            if self.write(item, depth + 1):
                self.path.append(key)
                return 1
            entries += 1
        (<uint64_t*> (self.data + start))[0] = TAG_DICT | entries << 8
        return 0

    cdef int write_items(self, uint64_t tag, object value, int depth) except -1:
        cdef uint64_t items = 0
        cdef size_t start = self.used
        self.word(tag)
        for item in value:
            if self.write(item, depth + 1):
                self.path.append(items)
                return 1
            items += 1
        (<uint64_t*> (self.data + start))[0] = tag | items << 8
        return 0

    cdef int write_scalar(self, object value, int typenum) except -1:
        self.word(TAG_SCALAR | typenum << 8)
        cnp.PyArray_ScalarAsCtype(value, self.place(number_sizes[typenum]))
        return 0

    cdef int write_array(self, object value) except -1:
        cdef cnp.ndarray array = value
        cdef uint64_t flags = 0
        cdef int axis, rank = cnp.PyArray_NDIM(array)
        cdef uint64_t* words
        if cnp.PyArray_IS_F_CONTIGUOUS(array) and not cnp.PyArray_IS_C_CONTIGUOUS(array):
            flags = FORTRAN
        elif not cnp.PyArray_IS_C_CONTIGUOUS(array):
            array = np.ascontiguousarray(array)
        if not cnp.PyArray_ISNOTSWAPPED(array):
            flags |= SWAPPED
        words = <uint64_t*> self.place(8 + 8 * <size_t> rank)
        words[0] = TAG_ARRAY | <uint64_t> cnp.PyArray_TYPE(array) << 8 | flags << 16 | <uint64_t> rank << 24
        for axis in range(rank):
            words[1 + axis] = cnp.PyArray_DIM(array, axis)
        memcpy(self.place(cnp.PyArray_NBYTES(array)), cnp.PyArray_DATA(array), cnp.PyArray_NBYTES(array))
        return 0

    cdef int write_pickle(self, object value) except -1:
        try:
            data = pickle.dumps(value, 5)
        except Exception:
            try:
                import cloudpickle
                data = cloudpickle.dumps(value, 5)
            except Exception as error:
                del self.path[:]
                self.reason = f"a value of type {type(value).__name__} cannot be pickled: {error}"
                return 1
        self.word(TAG_PICKLE | <uint64_t> PyBytes_GET_SIZE(data) << 8)
        self.word(crc32(data))
        memcpy(self.place(PyBytes_GET_SIZE(data)), PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))
        return 0

    cdef int fail(self, str name) except -1:
        """Raise what a `write` of the named value that returned 1 means."""
        raise TypeError(f"{name}{''.join(f'[{key!r}]' for key in reversed(self.path))}: {self.reason}")


cdef class RecordReader:
    """Values decoded from memory that may hold anything.

    Keys that were read at the same place before come back as the same objects: records of one environment have the same
    keys at the same places.
    """

    def __cinit__(self):
        memset(self.known, 0, sizeof(self.known))
        self.keys = [None] * KEY_SLOTS

    cdef void begin(self, const char* data, size_t nbytes, Py_ssize_t lane) noexcept:
        """Read a record of so many bytes, which must stay where they are."""
        self.data = data
        self.at = 0
        self.end = nbytes & ~<size_t> 7
        self.lane = lane

    cdef int broken(self, str what) except -1:
        raise ValueError(f"info record of lane {self.lane}: {what} at byte {self.at} of {self.end}")

    cdef uint64_t next_word(self) except? 0:
        if self.at >= self.end:
            self.broken("the record ends")
        self.at += 8
        # Read once: another process may write here, if it should not.
        return (<const volatile uint64_t*> (self.data + self.at - 8))[0]

    cdef const char* take(self, uint64_t nbytes) except NULL:
        """The next bytes, and the padding after them."""
        cdef const char* data = self.data + self.at
        if nbytes > self.end - self.at:
            self.broken(f"{nbytes} bytes expected")
        self.at += padded(nbytes)
        return data

    cdef object read_key(self, known_key_t** known):
        """A key of a dict, and its entry of the known keys (NULL if it has none)."""
        cdef size_t place = self.at
        cdef uint64_t word = self.next_word()
        cdef Py_ssize_t nbytes = <Py_ssize_t> (word >> 8)
        cdef const char* text
        cdef known_key_t* entry = &self.known[(place >> 3) & (KEY_SLOTS - 1)]
        if word & 0xFF != TAG_KEY:
            self.broken("a key expected")
        text = self.take(nbytes)
        known[0] = entry
        if entry.text != NULL and entry.length == nbytes and memcmp(entry.text, text, nbytes) == 0:
            return self.keys[(place >> 3) & (KEY_SLOTS - 1)]
        key = PyUnicode_DecodeUTF8(text, nbytes, "surrogatepass")
        if not PyUnicode_IS_ASCII(key):
            known[0] = NULL
            return key
        entry.merge = 0
        entry.text = PyUnicode_AsUTF8AndSize(key, &entry.length)
        self.keys[(place >> 3) & (KEY_SLOTS - 1)] = key
        return key

    cdef Py_ssize_t count(self, uint64_t word, int depth, size_t item_bytes) except -1:
        """Items of a container, which are not more than fit in what is left."""
        if depth >= MOST_DEPTH:
            self.broken("containers too deep")
        if word >> 8 > (self.end - self.at) // item_bytes:
            self.broken(f"{word >> 8} items")
        return <Py_ssize_t> (word >> 8)

    cdef object read(self, int depth):
        """The next value."""
        return self.read_item(self.next_word(), depth)

    cdef object read_item(self, uint64_t word, int depth):
        """The value that begins with a word."""
        cdef int tag = word & 0xFF
        cdef uint64_t nbytes = word >> 8
        cdef uint64_t payload
        cdef Py_ssize_t _k
        cdef list items
        cdef const char* data
        if tag == TAG_FLOAT:
            payload = self.next_word()
            return (<double*> &payload)[0]
        if tag == TAG_INT:
            return <int64_t> self.next_word()
        if tag == TAG_BOOL:
            return self.next_word() != 0
        if tag == TAG_NONE:
            return None
        if tag == TAG_STR:
            return PyUnicode_DecodeUTF8(self.take(nbytes), <Py_ssize_t> nbytes, "surrogatepass")
        if tag == TAG_DICT:
            return self.read_dict(word, depth)
        if tag == TAG_SCALAR:
            return self.read_scalar(word)
        if tag == TAG_ARRAY:
            return self.read_array(word)
        if tag == TAG_BYTES:
            return PyBytes_FromStringAndSize(self.take(nbytes), <Py_ssize_t> nbytes)
        if tag == TAG_BIG_INT:
            number = PyBytes_FromStringAndSize(self.take(nbytes), <Py_ssize_t> nbytes)
            return int.from_bytes(number, sys.byteorder, signed=True)
        if tag == TAG_LIST or tag == TAG_TUPLE:
            items = []
            for _k in range(self.count(word, depth, 8)):
                items.append(self.read(depth + 1))
            return items if tag == TAG_LIST else tuple(items)
        if tag == TAG_COMPLEX:
            data = self.take(16)
            return PyComplex_FromDoubles((<const double*> data)[0], (<const double*> data)[1])
        if tag == TAG_PICKLE:
            return self.read_pickle(word)
        self.broken(f"unknown item {tag}")

    cdef dict read_dict(self, uint64_t word, int depth):
        cdef Py_ssize_t _k
        cdef known_key_t* known
        cdef dict result = {}
        for _k in range(self.count(word, depth, 16)):
            key = self.read_key(&known)
            result[key] = self.read(depth + 1)
        return result

    cdef object read_scalar(self, uint64_t word):
        cdef uint64_t typenum = word >> 8
        if typenum > 255 or number_sizes[typenum] == 0:
            self.broken(f"no number type {typenum}")
        return PyArray_Scalar(<void*> self.take(number_sizes[typenum]), <cnp.dtype> number_dtypes[typenum], None)

    cdef object read_array(self, uint64_t word):
        cdef uint64_t typenum = word >> 8 & 0xFF, flags = word >> 16 & 0xFF, rank = word >> 24, axis, size
        cdef uint64_t nbytes = number_sizes[typenum]
        cdef cnp.npy_intp[MOST_AXES] shape
        cdef bint empty = False
        cdef const char* data
        if nbytes == 0 or flags > (FORTRAN | SWAPPED) or rank > MOST_AXES:
            self.broken("no array")
        for axis in range(rank):
            size = self.next_word()
            if size == 0:
                empty = True
            elif size > (<uint64_t> 1 << 62) // nbytes:
                self.broken("an array too large")
            else:
                nbytes *= size
            shape[axis] = <cnp.npy_intp> size
        data = self.take(0 if empty else nbytes)
        array = cnp.PyArray_EMPTY(<int> rank, shape, <int> typenum, flags & FORTRAN)
        memcpy(cnp.PyArray_DATA(array), data, cnp.PyArray_NBYTES(array))
        return array.view(array.dtype.newbyteorder()) if flags & SWAPPED else array

    cdef object read_pickle(self, uint64_t word):
        cdef uint64_t checksum = self.next_word()
        data = PyBytes_FromStringAndSize(self.take(word >> 8), <Py_ssize_t> (word >> 8))
        if crc32(data) != checksum:
            self.broken("a damaged pickle")
        try:
            return pickle.loads(data)
        except Exception as error:
            raise ValueError(
                f"info record of lane {self.lane}: a pickled value cannot be loaded here: {error}") from error
