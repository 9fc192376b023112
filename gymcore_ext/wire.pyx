"""Values of Python and arrays of NumPy as msgpack, and back; `gymcore.remote.wire` says what for.

A reader sees bytes that anybody can have written: nothing is read or allocated before its size has been checked against
the bytes that are there. It is compiled because every step of a remote environment waits for four of these calls.
"""
cimport numpy as cnp
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_Resize
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

import math
import sys

import numpy as np

cnp.import_array()

DTYPES = ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8")

cdef dict NAMES = {np.dtype(name).newbyteorder("="): name for name in DTYPES}  # by this machine's dtypes
cdef bint LITTLE_ENDIAN = sys.byteorder == "little"
cdef dict LITTLE = {name: np.dtype(name) for name in DTYPES}

cpdef enum:
    MAX_HEADER_BYTES = 1 << 20
    MAX_SMALL_BYTES = 4096
    MAX_SMALL_ARRAYS = 64
    MAX_VALUES = 100_000
    MAX_DEPTH = 32
    MAX_AXES = 32

# A list's first item says what it stands for.
cdef enum:
    ARRAY
    OBJECTS
    SCALAR
    LIST
    TUPLE

# First bytes of msgpack; a number, or so many of the bytes that follow, say how long it is.
cdef enum:
    FIXMAP = 0x80
    FIXARRAY = 0x90
    FIXSTR = 0xA0
    NIL = 0xC0
    FALSE = 0xC2
    TRUE = 0xC3
    BIN8 = 0xC4
    FLOAT32 = 0xCA
    FLOAT64 = 0xCB
    UINT8 = 0xCC
    UINT64 = 0xCF
    INT8 = 0xD0
    INT64 = 0xD3
    STR8 = 0xD9
    ARRAY16 = 0xDC
    MAP16 = 0xDE
    NEGATIVE = 0xE0


def encode(message):
    """Return the frames of a message: the header, and large arrays as memoryviews of bytes.

    Raises:
        TypeError: There is something in it that does not travel.
        ValueError: It is too large or nested too deeply.
    """
    cdef Writer writer = Writer()
    writer.value(message, 0)
    return [bytes(memoryview(writer.out)[:writer.used]), *writer.frames]


def decode(list frames):
    """Return the message of some frames; its arrays have memory of their own.

    Raises:
        ValueError: They are not what `encode` returns.
    """
    cdef Reader reader
    cdef Py_buffer header
    if not frames or len(frames[0]) > MAX_HEADER_BYTES:
        raise ValueError("message: expected a header of at most 1 MiB")
    reader = Reader(frames)
    PyObject_GetBuffer(frames[0], &header, PyBUF_SIMPLE)
    try:
        reader.at = <const unsigned char*> header.buf
        reader.end = reader.at + header.len
        message = reader.value(0)
        if reader.at != reader.end:
            raise ValueError(f"message: expected one value in the header, got {reader.end - reader.at} more bytes")
    finally:
        PyBuffer_Release(&header)
    if reader.next_frame != len(frames):
        raise ValueError(f"message: expected {reader.next_frame - 1} arrays, got {len(frames) - 1}")
    return message


cdef class Writer:
    """Appends values to a header, and large arrays to a list of frames."""
    cdef:
        bytearray out
        Py_ssize_t used
        int small
        list frames

    def __cinit__(self):
        self.out = bytearray(1024)
        self.frames = []

    cdef char* room(self, Py_ssize_t size) except NULL:
        """Return where so many bytes are to be written."""
        cdef Py_ssize_t at = self.used
        if at + size > MAX_HEADER_BYTES:
            raise ValueError(f"message: expected at most {MAX_HEADER_BYTES} bytes beside arrays, got {at + size}")
        if at + size > len(self.out):
            PyByteArray_Resize(self.out, 2 * (at + size))
        self.used = at + size
        return PyByteArray_AS_STRING(self.out) + at

    cdef int put(self, int first, uint64_t number, int size) except -1:
        """Append a byte, and a number as so many bytes."""
        cdef char* to = self.room(1 + size)
        cdef int k
        to[0] = <char> first
        for k in range(size, 0, -1):
            to[k] = <char> (number & 0xFF)
            number >>= 8
        return 0

    cdef int length(self, Py_ssize_t count, int fixed, int limit, int tag8, int tag16) except -1:
        """Append how long something is; `fixed` takes what is below the limit, the tags 8, 16 and 32 bits."""
        if count < limit:
            return self.put(fixed | count, 0, 0)
        if tag8 and count < 1 << 8:
            return self.put(tag8, count, 1)
        return self.put(tag16, count, 2) if count < 1 << 16 else self.put(tag16 + 1, count, 4)

    cdef int integer(self, number) except -1:
        cdef int64_t signed
        cdef uint64_t unsigned
        if not -2**63 <= number < 2**64:
            raise ValueError(f"message: expected integers of 64 bits, got {number}")
        if number >= 0:
            unsigned = number
            if unsigned < 1 << 7:
                return self.put(<int> unsigned, 0, 0)
            if unsigned < 1 << 8:
                return self.put(UINT8, unsigned, 1)
            if unsigned < 1 << 16:
                return self.put(UINT8 + 1, unsigned, 2)
            return self.put(UINT8 + 2, unsigned, 4) if unsigned >> 32 == 0 else self.put(UINT64, unsigned, 8)
        signed = number
        if signed >= -32:
            return self.put(signed & 0xFF, 0, 0)
        if signed >= -(1 << 7):
            return self.put(INT8, signed, 1)
        if signed >= -(1 << 15):
            return self.put(INT8 + 1, signed, 2)
        return self.put(INT8 + 2, signed, 4) if signed >= -2**31 else self.put(INT64, signed, 8)

    cdef int text(self, str value) except -1:
        cdef bytes data
        try:
            data = value.encode()
        except UnicodeEncodeError:
            raise ValueError(f"message: expected text that UTF-8 can express, got {value!r:.80}") from None
        self.length(len(data), FIXSTR, 32, STR8, STR8 + 1)
        memcpy(self.room(len(data)), <const char*> data, len(data))
        return 0

    cdef int value(self, value, int depth) except -1:
        cdef double number
        cdef uint64_t bits
        kind = type(value)
        if value is None:
            return self.put(NIL, 0, 0)
        if kind is bool:
            return self.put(TRUE if value else FALSE, 0, 0)
        if kind is int:
            return self.integer(value)
        if kind is float:
            number = value
            memcpy(&bits, &number, 8)
            return self.put(FLOAT64, bits, 8)
        if kind is str:
            return self.text(value)
        if depth > MAX_DEPTH:
            raise ValueError(f"message: expected at most {MAX_DEPTH} levels of nesting")
        if isinstance(value, np.ndarray):
            return self.array(value, depth)
        if isinstance(value, (list, tuple)):
            self.length(1 + len(value), FIXARRAY, 16, 0, ARRAY16)
            self.put(LIST if isinstance(value, list) else TUPLE, 0, 0)
            return self.values(value, depth)
        if isinstance(value, dict):
            self.length(len(value), FIXMAP, 16, 0, MAP16)
            for key, one in value.items():
                if type(key) is not str:
                    raise TypeError(f"message: expected strings as keys, got {key!r}")
                self.text(key)
                self.value(one, depth + 1)
            return 0
        if isinstance(value, np.generic):
            self.put(FIXARRAY | 3, 0, 0)
            self.put(SCALAR, 0, 0)
            self.text(wire_name(value.dtype))
            return self.value(value.item(), depth)
        raise TypeError(f"message: expected numbers, strings and arrays, got {kind}")

    cdef int values(self, values, int depth) except -1:
        for value in values:
            self.value(value, depth + 1)
        return 0

    cdef int shape(self, tuple shape) except -1:
        self.length(len(shape), FIXARRAY, 16, 0, ARRAY16)
        for count in shape:
            self.integer(count)
        return 0

    cdef int array(self, value, int depth) except -1:
        cdef cnp.ndarray array
        cdef Py_ssize_t size
        if value.dtype.kind in "OU":
            self.put(FIXARRAY | 3, 0, 0)
            self.put(OBJECTS, 0, 0)
            self.shape(value.shape)
            self.length(value.size, FIXARRAY, 16, 0, ARRAY16)
            return self.values(value.ravel().tolist(), depth)
        name = wire_name(value.dtype)
        array = np.asarray(value, LITTLE[name], order="C")
        size = cnp.PyArray_NBYTES(array)
        is_small = size <= MAX_SMALL_BYTES and self.small < MAX_SMALL_ARRAYS
        self.put(FIXARRAY | 4 if is_small else FIXARRAY | 3, 0, 0)
        self.put(ARRAY, 0, 0)
        self.text(name)
        self.shape(value.shape)
        if is_small:
            self.small += 1
            self.length(size, 0, 0, BIN8, BIN8 + 1)
            memcpy(self.room(size), cnp.PyArray_DATA(array), size)
        else:
            self.frames.append((<object> array).data.cast("B") if size else b"")
        return 0


cdef class Reader:
    """Takes values off a header, and large arrays off the frames after it."""
    cdef:
        const unsigned char* at
        const unsigned char* end
        Py_ssize_t count
        Py_ssize_t next_frame
        list frames

    def __cinit__(self, list frames):
        self.frames = frames
        self.next_frame = 1

    cdef const unsigned char* take(self, uint64_t size) except NULL:
        """Return where so many bytes are, which have been read then."""
        cdef const unsigned char* at = self.at
        if size > <uint64_t> (self.end - at):
            raise ValueError(f"message: expected {size} more bytes of the header, got {self.end - at}")
        self.at = at + size
        return at

    cdef uint64_t number(self, int size) except? 77:
        """Return the number of so many bytes."""
        cdef const unsigned char* at = self.take(size)
        cdef uint64_t number = 0
        cdef int k
        for k in range(size):
            number = number << 8 | at[k]
        return number

    cdef Py_ssize_t length(self, int first, int fixed, int limit, int tag8, int tag16, str what) except -1:
        """Return how long something is; the arguments are those of `Writer.length`, after the byte that was read."""
        if fixed <= first < fixed + limit:
            return first - fixed
        if tag8 and first == tag8:
            return self.number(1)
        if first == tag16:
            return self.number(2)
        if first == tag16 + 1:
            return self.number(4)
        raise ValueError(f"message: expected {what}, got a byte {first:#x}")

    cdef Py_ssize_t items(self, Py_ssize_t count, int depth) except -1:
        """Return how many values there are in a list or a map, if there can be so many."""
        self.count += count
        if depth > MAX_DEPTH or self.count > MAX_VALUES:
            raise ValueError(f"message: expected at most {MAX_VALUES} values in {MAX_DEPTH} levels")
        if count > self.end - self.at:
            raise ValueError(f"message: expected {count} values, got {self.end - self.at} bytes")
        return count

    cdef str text(self, int first):
        cdef Py_ssize_t size = self.length(first, FIXSTR, 32, STR8, STR8 + 1, "a text")
        cdef const unsigned char* at = self.take(size)
        try:
            return PyUnicode_DecodeUTF8(<const char*> at, size, NULL)
        except UnicodeDecodeError:
            raise ValueError("message: expected text in UTF-8") from None

    cdef object plain(self, int first):
        """Return a value that is neither a list nor a map; its first byte has been read."""
        cdef uint64_t bits
        cdef double number
        cdef uint32_t single_bits
        cdef float single
        if first < FIXMAP:
            return first
        if first >= NEGATIVE:
            return first - 256
        if first == NIL:
            return None
        if first == TRUE or first == FALSE:
            return first == TRUE
        if first == FLOAT64:
            bits = self.number(8)
            memcpy(&number, &bits, 8)
            return number
        if first == FLOAT32:
            single_bits = self.number(4)
            memcpy(&single, &single_bits, 4)
            return single
        if UINT8 <= first <= UINT64:
            return self.number(1 << (first - UINT8))
        if first == INT8:
            return <int8_t> self.number(1)
        if first == INT8 + 1:
            return <int16_t> self.number(2)
        if first == INT8 + 2:
            return <int32_t> self.number(4)
        if first == INT64:
            return <int64_t> self.number(8)
        return self.text(first)

    cdef object value(self, int depth):
        cdef int first = self.take(1)[0]
        cdef Py_ssize_t _k
        if FIXMAP <= first < FIXARRAY or first == MAP16 or first == MAP16 + 1:
            result = {}
            for _k in range(self.items(self.length(first, FIXMAP, 16, 0, MAP16, "a map"), depth)):
                key = self.text(self.take(1)[0])
                result[key] = self.value(depth + 1)
            return result
        if FIXARRAY <= first < FIXSTR or first == ARRAY16 or first == ARRAY16 + 1:
            return self.tagged(self.items(self.length(first, FIXARRAY, 16, 0, ARRAY16, "a list"), depth), depth)
        return self.plain(first)

    cdef list values(self, Py_ssize_t count, int depth):
        cdef Py_ssize_t _k
        return [self.value(depth + 1) for _k in range(count)]

    cdef object tagged(self, Py_ssize_t count, int depth):
        """Return what a list of so many values stands for, the first of which is the tag."""
        cdef int tag
        if count == 0:
            raise ValueError("message: expected a list with a tag, got an empty one")
        tag = self.take(1)[0]
        if tag == LIST:
            return self.values(count - 1, depth)
        if tag == TUPLE:
            return tuple(self.values(count - 1, depth))
        if tag == ARRAY and 3 <= count <= 4:
            return self.array(count == 4)
        if tag == OBJECTS and count == 3:
            return self.objects(depth)
        if tag == SCALAR and count == 3:
            return self.scalar()
        raise ValueError(f"message: expected a tag below 5 and its values, got {tag} and {count - 1} values")

    cdef tuple shape(self):
        cdef Py_ssize_t count = self.length(self.take(1)[0], FIXARRAY, 16, 0, ARRAY16, "a shape"), _k
        if count > MAX_AXES:
            raise ValueError(f"message: expected at most {MAX_AXES} axes, got {count}")
        shape = tuple([self.plain(self.take(1)[0]) for _k in range(count)])
        for axis in shape:
            if type(axis) is not int or not 0 <= axis < 2**31:
                raise ValueError(f"message: expected axes from 0 to 2**31 - 1, got {shape!r:.80}")
        return shape

    cdef object dtype(self):
        name = self.text(self.take(1)[0])
        if name not in LITTLE:
            raise ValueError(f"message: expected a dtype of {DTYPES}, got {name!r:.40}")
        return LITTLE[name]

    cdef object array(self, bint is_small):
        cdef cnp.ndarray array
        cdef Py_buffer frame
        cdef Py_ssize_t size
        dtype, shape = self.dtype(), self.shape()
        expected = math.prod(shape) * dtype.itemsize
        if is_small:
            size = self.length(self.take(1)[0], 0, 0, BIN8, BIN8 + 1, "bytes")
            if size > MAX_SMALL_BYTES:
                raise ValueError(f"message: expected at most {MAX_SMALL_BYTES} bytes in the header, got {size}")
        elif self.next_frame == len(self.frames):
            raise ValueError(f"message: expected more than {self.next_frame - 1} arrays")
        else:
            size = len(self.frames[self.next_frame])
        if size != expected:
            raise ValueError(f"message: expected {expected} bytes of {dtype} {shape!r:.80}, got {size}")
        array = np.empty(shape, dtype)
        if is_small:
            memcpy(cnp.PyArray_DATA(array), self.take(size), size)
        else:
            PyObject_GetBuffer(self.frames[self.next_frame], &frame, PyBUF_SIMPLE)
            memcpy(cnp.PyArray_DATA(array), frame.buf, size)
            PyBuffer_Release(&frame)
            self.next_frame += 1
        return array if LITTLE_ENDIAN else (<object> array).astype(dtype.newbyteorder("="))

    cdef object objects(self, int depth):
        shape = self.shape()
        count = self.length(self.take(1)[0], FIXARRAY, 16, 0, ARRAY16, "a list")
        if math.prod(shape) != count:
            raise ValueError(f"message: expected values of shape {shape!r:.80}, got {count}")
        array = np.empty(self.items(count, depth), object)
        for k, value in enumerate(self.values(count, depth)):
            array[k] = value
        return array.reshape(shape)

    cdef object scalar(self):
        dtype, value = self.dtype(), self.plain(self.take(1)[0])
        try:
            if type(value) not in (bool, int, float):
                raise TypeError
            with np.errstate(all="ignore"):  # a float too large is infinite
                return np.array(value, dtype.newbyteorder("="))[()]
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"message: expected a number of {dtype}, got {value!r:.40}") from None


cdef str wire_name(dtype):
    name = NAMES.get(dtype) or NAMES.get(dtype.newbyteorder("="))
    if name is None:
        raise TypeError(f"message: expected numbers or bools, got {dtype}")
    return name
