"""BatchBuffer: a batch of elements of a space, written element by element, in memory of its own or of another owner.

A layout (layouts.pyx) says what an element is made of.
"""
cimport cython
cimport numpy as cnp
from cpython.long cimport PyLong_CheckExact
from libc.stdint cimport int64_t

from gymcore_ext.arrays cimport MOST_AXES, ArrayRing, copy_bytes
from gymcore_ext.layouts cimport parts_of

import numpy as np

cnp.import_array()

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object value, int* overflow) except? -1

cdef extern from "numpy/arrayobject.h":
    void PyArray_ScalarAsCtype(object scalar, void* place)

cdef enum:
    ARRAY = 0
    TUPLE = 1
    DICT = 2
    OBJECTS = 3
    # Every array over foreign memory begins at a cache line.
    ALIGNMENT = 64

cdef dict KINDS = {"array": ARRAY, "tuple": TUPLE, "dict": DICT, "objects": OBJECTS}


cdef Py_ssize_t array_bytes(object layout, Py_ssize_t n) except -1:
    cdef object size = n * np.dtype(layout[1]).itemsize
    for length in layout[2]:
        size *= length
    return size


cdef Py_ssize_t aligned(Py_ssize_t nbytes) noexcept:
    return (nbytes + ALIGNMENT - 1) & ~<Py_ssize_t> (ALIGNMENT - 1)


@cython.final
cdef class BatchBuffer:
    """`n` elements of one layout, which become a batch when all are written.

    A value that is an array of the very dtype and shape is copied byte by byte; anything else goes through NumPy, which
    converts between types of the same kind (float64 to float32, not float to int).

    Args:
        layout: what an element is made of.
        n: how many there are.
        reuse: whether every batch is the same arrays, instead of arrays that the caller may keep forever.
        memory: a writable buffer to use instead of memory of its own: `nbytes(layout, n)` of it. Every array begins at
            a multiple of 64 bytes after the first one. Objects are kept in lists of this process.
        offset: the byte of it where the batch begins.

    Raises:
        ValueError: the memory is too small or read-only.
    """

    def __cinit__(self, object layout, Py_ssize_t n, *, bint reuse=False, object memory=None, Py_ssize_t offset=0):
        cdef BatchBuffer part
        self.fixed = memory is not None
        self._shape_up(layout, n, reuse or self.fixed)
        if self.kind == TUPLE or self.kind == DICT:
            self.parts = []
            for part_layout in parts_of(layout):
                self.parts.append(BatchBuffer(part_layout, n, reuse=reuse, memory=memory, offset=offset))
                offset += BatchBuffer.nbytes(part_layout, n) if self.fixed else 0
            self.has_objects = any([part.has_objects for part in self.parts])
        elif self.kind == OBJECTS:
            self.objects = [None] * n if self.fixed else None
            self.has_objects = True
        elif self.fixed:
            self._lay_over(memory, offset)
        else:
            self.ring = ArrayRing((n, *self.shape), self.dtype, reuse)
        self._take_path("observation")

    def _lay_over(self, memory, Py_ssize_t offset):
        cdef Py_ssize_t count = self.n * self.row_bytes
        # frombuffer takes no empty piece.
        flat = np.frombuffer(memory, np.uint8, count, offset) if count else np.empty(0, np.uint8)
        if not flat.flags.writeable:
            raise ValueError("memory: expected a writable buffer, got a read-only one")
        self.array = flat.view(self.dtype).reshape((self.n, *self.shape))
        self.data = <char*> cnp.PyArray_DATA(self.array)

    def _shape_up(self, layout, Py_ssize_t n, bint reuse):
        cdef int axis
        if n < 0:
            raise ValueError(f"n: expected at least 0, got {n}")
        if not isinstance(layout, tuple) or not layout or layout[0] not in KINDS:
            raise ValueError(f"layout: expected a tuple that begins with one of {sorted(KINDS)}, got {layout!r}")
        self.layout = layout
        self.n = n
        self.reuse = reuse
        self.kind = KINDS[layout[0]]
        if self.kind == ARRAY:
            self.dtype = np.dtype(layout[1])
            self.scalar = self.dtype.type
            self.shape = tuple(layout[2])
            self.rank = len(self.shape)
            self.typenum = self.dtype.num
            self.plain = self.dtype.isnative and self.dtype.kind in "biufc"
            self.row_bytes = array_bytes(layout, 1)
            if self.rank >= MOST_AXES:
                raise ValueError(f"layout: expected fewer than {MOST_AXES} axes, got {self.rank}")
            for axis in range(self.rank):
                self.sizes[axis] = self.shape[axis]
        elif self.kind == DICT:
            self.keys = tuple(layout[1])
            if len(self.keys) != len(layout[2]):
                raise ValueError(f"layout: expected a layout for each of the keys {self.keys}, got {len(layout[2])}")
        elif self.kind == OBJECTS:
            self.finish = layout[1]

    def _take_path(self, str path):
        cdef BatchBuffer part
        self.path = path
        for k, part in enumerate(self.parts or ()):
            part._take_path(f"{path}[{self.keys[k] if self.kind == DICT else k!r}]")

    @staticmethod
    def nbytes(object layout, Py_ssize_t n):
        """Bytes of memory that a batch needs, a multiple of 64; objects need none."""
        if layout[0] == "array":
            return aligned(array_bytes(layout, n))
        if layout[0] == "objects":
            return 0
        return sum([BatchBuffer.nbytes(part, n) for part in parts_of(layout)])

    # --- writing --------------------------------------------------------------------------------------------------

    cpdef int begin(self) except -1:
        """Begin a batch. With memory of its own the content of every row is undefined until it is written."""
        cdef BatchBuffer part
        if self.kind == ARRAY:
            if not self.fixed:
                self.array = None  # a reference of ours would keep the ring from using the array again
                self.array = self.ring.take(<void**> &self.data)
        elif self.kind == OBJECTS:
            if not self.fixed:
                self.objects = [None] * self.n
        else:
            for part in self.parts:
                part.begin()
        return 0

    cdef int check_row(self, Py_ssize_t row) except -1:
        if not 0 <= row < self.n:
            raise IndexError(f"row {row} is not in [0, {self.n})")
        return 0

    def write(self, Py_ssize_t row, object value):
        """Write one element.

        Args:
            row: where.
            value: an element of the space, as an environment returns it.

        Raises:
            ValueError: an array of another shape.
            TypeError: values of another kind, such as floats for integers.
            KeyError: a dict without one of the keys.
        """
        self.check_row(row)
        self.write_row(row, value)

    cdef int write_row(self, Py_ssize_t row, object value) except -1:
        cdef Py_ssize_t k
        if self.kind == ARRAY:
            return self.write_array(row, value)
        if self.kind == OBJECTS:
            if self.objects is None:
                raise RuntimeError("write: expected begin() first")
            self.objects[row] = value
        else:
            for k in range(len(self.parts)):
                key = self.keys[k] if self.kind == DICT else k
                (<BatchBuffer> self.parts[k]).write_row(row, value[key])
        return 0

    cdef int write_array(self, Py_ssize_t row, object value) except -1:
        cdef cnp.ndarray array
        cdef int axis, overflow = 0
        cdef long long number
        cdef char* place = self.data + row * self.row_bytes
        if self.array is None:
            raise RuntimeError("write: expected begin() first")
        if self.plain:
            if cnp.PyArray_CheckExact(value):
                array = <cnp.ndarray> value
                if (
                    cnp.PyArray_TYPE(array) == self.typenum
                    and cnp.PyArray_NDIM(array) == self.rank
                    and cnp.PyArray_ISCARRAY_RO(array)
                ):
                    for axis in range(self.rank):
                        if cnp.PyArray_DIM(array, axis) != self.sizes[axis]:
                            break
                    else:
                        copy_bytes(place, cnp.PyArray_DATA(array), self.row_bytes)
                        return 0
            elif self.rank == 0:
                if self.typenum == cnp.NPY_INT64 and PyLong_CheckExact(value):
                    number = PyLong_AsLongLongAndOverflow(value, &overflow)
                    if not overflow:
                        (<int64_t*> place)[0] = number
                        return 0
                elif type(value) is self.scalar:
                    PyArray_ScalarAsCtype(value, place)
                    return 0
        return self.convert(row, value)

    cdef int convert(self, Py_ssize_t row, object value) except -1:
        """Write a value of another type or layout in memory."""
        try:
            array = np.asanyarray(value)
        except ValueError as problem:
            raise ValueError(f"{self.path}: expected an array of shape {self.shape}: {problem}") from None
        if array.shape != self.shape:
            raise ValueError(
                f"{self.path}: expected an array of shape {self.shape} ({self.dtype}), got shape {array.shape}")
        try:
            np.copyto(self.array[row, ...], array, casting="same_kind")
        except TypeError as problem:
            raise TypeError(f"{self.path}: expected {self.dtype}, got {array.dtype}: {problem}") from None
        return 0

    def copy_from(self, Py_ssize_t row, BatchBuffer source not None, Py_ssize_t source_row, Py_ssize_t count=1):
        """Copy rows [source_row, source_row + count) of a batch of the same layout to those from `row` on."""
        if count < 0 or not 0 <= row <= self.n - count or not 0 <= source_row <= source.n - count:
            raise IndexError(
                f"{count} rows from {row}, and from {source_row} of the source, are not in [0, {self.n}) and "
                f"[0, {source.n})")
        self.copy_rows(row, source, source_row, count)

    cdef int copy_rows(self, Py_ssize_t row, BatchBuffer source, Py_ssize_t source_row, Py_ssize_t count) except -1:
        cdef Py_ssize_t k
        if self.kind != source.kind or self.row_bytes != source.row_bytes or self.typenum != source.typenum:
            raise ValueError(f"source: expected rows of layout {self.layout}, got {source.layout}")
        if self.kind == ARRAY:
            if self.array is None or source.array is None:
                raise RuntimeError("copy: expected begin() of both first")
            copy_bytes(
                self.data + row * self.row_bytes, source.data + source_row * source.row_bytes, count * self.row_bytes)
        elif self.kind == OBJECTS:
            if self.objects is None or source.objects is None:
                raise RuntimeError("copy: expected begin() of both first")
            self.objects[row:row + count] = source.objects[source_row:source_row + count]
        else:
            if len(self.parts) != len(source.parts) or self.keys != source.keys:
                raise ValueError(f"source: expected rows of layout {self.layout}, got {source.layout}")
            for k in range(len(self.parts)):
                (<BatchBuffer> self.parts[k]).copy_rows(row, <BatchBuffer> source.parts[k], source_row, count)
        return 0

    # --- reading --------------------------------------------------------------------------------------------------

    cpdef object batch(self):
        """The batch: an array [n, ...], a tuple, or a new dict. With memory of its own it needs `begin` again.

        Arrays in given memory are views of it, and those of `reuse` always the same.
        """
        cdef BatchBuffer part
        cdef Py_ssize_t k
        if self.kind == ARRAY:
            array = self.array
            if array is None:
                raise RuntimeError("batch: expected begin() first")
            if not self.fixed:
                self.array = None
            return array
        if self.kind == OBJECTS:
            if self.objects is None:
                raise RuntimeError("batch: expected begin() first")
            objects = list(self.objects)
            if not self.fixed:
                self.objects = None
            return self.finish(objects)
        if self.kind == TUPLE:
            return tuple([part.batch() for part in self.parts])
        return {self.keys[k]: (<BatchBuffer> self.parts[k]).batch() for k in range(len(self.parts))}

    def read(self, Py_ssize_t row):
        """One element: a copy of arrays, a NumPy scalar where the shape is (), and objects themselves."""
        cdef BatchBuffer part
        cdef Py_ssize_t k
        self.check_row(row)
        if self.kind == ARRAY:
            if self.array is None:
                raise RuntimeError("read: expected begin() first")
            if self.rank == 0:
                return cnp.PyArray_ToScalar(self.data + row * self.row_bytes, self.array)
            return self.array[row].copy()
        if self.kind == OBJECTS:
            if self.objects is None:
                raise RuntimeError("read: expected begin() first")
            return self.objects[row]
        if self.kind == TUPLE:
            return tuple([part.read(row) for part in self.parts])
        return {self.keys[k]: (<BatchBuffer> self.parts[k]).read(row) for k in range(len(self.parts))}

    # --- objects, which no array holds ----------------------------------------------------------------------------

    def read_objects(self, Py_ssize_t row):
        """The objects of one row, leaf by leaf, in the order of the layout."""
        cdef BatchBuffer part
        if self.kind == OBJECTS:
            return [self.read(row)]
        return [leaf for part in self.parts or () for leaf in part.read_objects(row)]
