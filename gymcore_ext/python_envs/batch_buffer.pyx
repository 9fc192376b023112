"""BatchBuffer: a batch of elements of a space, written element by element, in memory of its own or of another owner.

A layout (layouts.pyx) describes which arrays an element consists of.
"""
cimport cython
cimport numpy as cnp

from gymcore_ext.arrays cimport ArrayRing, copy_bytes
from gymcore_ext.layouts cimport parts_of
from gymcore_ext.python_envs.infos cimport store_number

from math import prod

import numpy as np

cnp.import_array()

cdef enum:
    ARRAY = 0
    TUPLE = 1
    DICT = 2
    OBJECTS = 3
    # Every array in the memory of another owner begins at a cache line.
    ALIGNMENT = 64

cdef dict KINDS = {"array": ARRAY, "tuple": TUPLE, "dict": DICT, "objects": OBJECTS}


@cython.final
cdef class BatchBuffer:
    """`n` elements of one layout, which become a batch when all are written.

    A value that is an array of exactly this dtype and shape is copied as raw bytes. NumPy writes any other value, and
    converts between types of the same kind (float64 to float32, not float to int).

    Args:
        layout: layout of an element.
        n: number of elements.
        reuse: whether every batch consists of the same arrays, instead of arrays that the caller may keep forever.
        memory: a writable buffer to use instead of memory of its own, `nbytes(layout, n)` bytes of it. The distances
            between arrays are multiples of 64 bytes. Objects are stored in lists of this process.
        offset: index of the byte in `memory` where the batch begins.
        name: name of an element in messages.

    Raises:
        ValueError: If the memory is too small or read-only.
    """

    def __cinit__(
        self, object layout, Py_ssize_t n, *, bint reuse=False, object memory=None, Py_ssize_t offset=0,
        str name="observation",
    ):
        cdef BatchBuffer part
        if n < 0:
            raise ValueError(f"n: expected at least 0, got {n}")
        if not isinstance(layout, tuple) or not layout or layout[0] not in KINDS:
            raise ValueError(f"layout: expected a tuple that begins with one of {sorted(KINDS)}, got {layout!r}")
        self.layout = layout
        self.n = n
        self.reuse = reuse
        self.fixed = memory is not None
        self.name = name
        self.kind = KINDS[layout[0]]
        if self.kind == ARRAY:
            self.dtype = np.dtype(layout[1])
            self.shape = tuple(layout[2])
            self.rank = len(self.shape)
            self.typenum = self.dtype.num
            self.plain = self.dtype.isnative and self.dtype.kind in "biufc"
            self.row_bytes = self.dtype.itemsize * prod(self.shape)
            if self.fixed:
                # frombuffer refuses a size of 0.
                count = n * self.row_bytes
                flat = np.frombuffer(memory, np.uint8, count, offset) if count else np.empty(0, np.uint8)
                if not flat.flags.writeable:
                    raise ValueError("memory: expected a writable buffer, got a read-only one")
                self.array = flat.view(self.dtype).reshape((n, *self.shape))
                self.data = <char*> cnp.PyArray_DATA(self.array)
            else:
                self.ring = ArrayRing((n, *self.shape), self.dtype, reuse)
        elif self.kind == OBJECTS:
            self.finish = layout[1]
        else:
            layouts = parts_of(layout)
            self.keys = tuple(layout[1] if self.kind == DICT else range(len(layouts)))
            if len(self.keys) != len(layouts):
                raise ValueError(f"layout: expected a layout for each of the keys {self.keys}, got {len(layouts)}")
            self.parts = []
            for key, part_layout in zip(self.keys, layouts):
                part = BatchBuffer(
                    part_layout, n, reuse=reuse, memory=memory, offset=offset, name=f"{name}[{key!r}]")
                offset += BatchBuffer.nbytes(part_layout, n)
                self.parts.append(part)

    @staticmethod
    def nbytes(object layout, Py_ssize_t n):
        """Return the bytes of memory that a batch needs, a multiple of 64; objects need none."""
        if layout[0] == "array":
            return -(-n * np.dtype(layout[1]).itemsize * prod(layout[2]) // ALIGNMENT) * ALIGNMENT
        if layout[0] == "objects":
            return 0
        return sum([BatchBuffer.nbytes(part, n) for part in parts_of(layout)])

    cdef void* part_data(self, Py_ssize_t part) noexcept:
        """Return the address of a part that is an array; it changes with `begin`."""
        return (<BatchBuffer> self.parts[part]).data

    # --- writing --------------------------------------------------------------------------------------------------

    cpdef int begin(self) except -1:
        """Begin a batch. With memory of its own, the content of each row is undefined until the row is written."""
        cdef BatchBuffer part
        if self.parts is not None:
            for part in self.parts:
                part.begin()
        elif self.kind == OBJECTS:
            self.objects = [None] * self.n
        elif not self.fixed:
            self.array = None  # drop our reference, so that the ring may recycle the array
            self.array = self.ring.take(<void**> &self.data)
        return 0

    cdef int check_begun(self, str call) except -1:
        """Raise if there is no batch of arrays or objects between `begin` and `batch`."""
        if self.array is None and self.objects is None:
            raise RuntimeError(f"{call}: expected begin() first")
        return 0

    cdef int check_row(self, Py_ssize_t row) except -1:
        if not 0 <= row < self.n:
            raise IndexError(f"row {row} is not in [0, {self.n})")
        return 0

    cpdef int write(self, Py_ssize_t row, object value) except -1:
        """Write one element.

        Args:
            row: index of the element.
            value: an element of the space, as an environment returns it.

        Raises:
            ValueError: If an array has another shape.
            TypeError: If values are of another kind, such as floats for integers.
            KeyError: If a dict lacks one of the keys.
        """
        cdef Py_ssize_t k
        self.check_row(row)
        if self.array is not None:
            return self.write_array(row, value)
        if self.parts is not None:
            for k in range(len(self.parts)):
                (<BatchBuffer> self.parts[k]).write(row, value[self.keys[k]])
            return 0
        self.check_begun("write")
        self.objects[row] = value
        return 0

    cdef int write_array(self, Py_ssize_t row, object value) except -1:
        cdef cnp.ndarray array
        if self.plain:
            if cnp.PyArray_CheckExact(value):
                array = <cnp.ndarray> value
                if (
                    cnp.PyArray_TYPE(array) == self.typenum
                    and cnp.PyArray_NDIM(array) == self.rank
                    and cnp.PyArray_ISCARRAY_RO(array)
                    and cnp.PyArray_CompareLists(cnp.PyArray_DIMS(array), cnp.PyArray_DIMS(self.array) + 1, self.rank)
                ):
                    copy_bytes(self.data + row * self.row_bytes, cnp.PyArray_DATA(array), self.row_bytes)
                    return 0
            elif self.rank == 0 and store_number(self.array, row, value):
                return 0
        return self.convert(row, value)

    cdef int convert(self, Py_ssize_t row, object value) except -1:
        """Write a value that is not an array, or an array of another dtype or memory layout."""
        try:
            array = np.asanyarray(value)
        except ValueError as problem:
            raise ValueError(f"{self.name}: expected an array of shape {self.shape}: {problem}") from None
        if array.shape != self.shape:
            raise ValueError(
                f"{self.name}: expected an array of shape {self.shape} ({self.dtype}), got shape {array.shape}")
        try:
            np.copyto(self.array[row, ...], array, casting="same_kind")
        except TypeError as problem:
            raise TypeError(f"{self.name}: expected {self.dtype}, got {array.dtype}: {problem}") from None
        return 0

    cpdef int copy_from(
        self, Py_ssize_t row, BatchBuffer source, Py_ssize_t source_row, Py_ssize_t count=1
    ) except -1:
        """Copy rows [source_row, source_row + count) of a batch of the same layout to the rows from `row` on."""
        cdef Py_ssize_t k
        if source is None:
            raise TypeError("source: expected a BatchBuffer, got None")
        if count < 0 or not 0 <= row <= self.n - count or not 0 <= source_row <= source.n - count:
            raise IndexError(
                f"{count} rows from {row}, and from {source_row} of the source, are not in [0, {self.n}) and "
                f"[0, {source.n})")
        if (self.kind != source.kind or self.row_bytes != source.row_bytes or self.typenum != source.typenum
                or self.keys != source.keys):
            raise ValueError(f"source: expected rows of layout {self.layout}, got {source.layout}")
        if self.parts is not None:
            for k in range(len(self.parts)):
                (<BatchBuffer> self.parts[k]).copy_from(row, <BatchBuffer> source.parts[k], source_row, count)
            return 0
        self.check_begun("copy")
        source.check_begun("copy")
        if self.kind == ARRAY:
            copy_bytes(
                self.data + row * self.row_bytes, source.data + source_row * source.row_bytes, count * self.row_bytes)
        else:
            self.objects[row:row + count] = source.objects[source_row:source_row + count]
        return 0

    def gather(self, BatchBuffer source, list source_rows not None):
        """Copy rows of a batch of the same layout to rows 0, 1, ..., in the order of `source_rows`."""
        cdef Py_ssize_t row
        for row in range(len(source_rows)):
            self.copy_from(row, source, source_rows[row])

    # --- reading --------------------------------------------------------------------------------------------------

    cpdef object batch(self):
        """Return the batch: an array [n, ...], a tuple, or a new dict. Memory of its own then needs `begin` again.

        Arrays in the memory of another owner are views of it. With `reuse`, they are always the same arrays.
        """
        cdef BatchBuffer part
        if self.parts is not None:
            return self.joined([part.batch() for part in self.parts])
        self.check_begun("batch")
        batch = self.array if self.kind == ARRAY else self.finish(self.objects)
        if not self.fixed:
            self.array = self.objects = None
        return batch

    def read(self, Py_ssize_t row):
        """Return one element, with copies of arrays, NumPy scalars for shape (), and objects themselves."""
        cdef BatchBuffer part
        self.check_row(row)
        if self.parts is not None:
            return self.joined([part.read(row) for part in self.parts])
        self.check_begun("read")
        if self.kind == OBJECTS:
            return self.objects[row]
        return self.array[row].copy()

    cdef object joined(self, list values):
        """Return the tuple or dict whose parts have these values."""
        return tuple(values) if self.kind == TUPLE else dict(zip(self.keys, values))
