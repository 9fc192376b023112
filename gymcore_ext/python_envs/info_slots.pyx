"""Infos of the lanes of a batch in memory that processes share, and merging them as they lie there.

Memory: a word a lane (0: no infos; else FILLED, flags, and the bytes of the record), then a slot a lane. A record is up
to three items: extra, final info, info (info_records.pyx). Words lie side by side, so that lanes without infos cost a
reader a few cache lines for all of them. A word is 0 while its slot is written: a writer that dies in the middle leaves
a lane without infos. A record larger than its slot goes to the overflow, as bytes that its owner sends another way.
"""
cimport cython
cimport numpy as cnp
from cpython.buffer cimport PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_Size
from libc.stdint cimport int64_t, uint64_t, uintptr_t
from libc.string cimport memcpy

from gymcore_ext.python_envs.info_records cimport (
    TAG_BOOL, TAG_DICT, TAG_FLOAT, TAG_INT, TAG_SCALAR, RecordReader, RecordWriter, known_key_t,
)
from gymcore_ext.python_envs.infos cimport (
    is_number_type, lookup, mask_key_of, merge_lane, merge_value, number_column, set_mask,
)

import numpy as np

cnp.import_array()


cdef extern from "Python.h":
    Py_ssize_t PY_SSIZE_T_MAX

cdef extern from "engine/atomics.h":
    ctypedef uint64_t gymcore_word64
    uint64_t gymcore_load64(gymcore_word64* word) noexcept
    void gymcore_store64(gymcore_word64* word, uint64_t value) noexcept

cdef enum:
    # Flags of a word; the rest, from bit 8 on, is the number of bytes.
    FILLED = 1
    HAS_EXTRA = 2
    HAS_FINAL = 4
    OVERFLOWED = 8

# Of all slots: no product of sizes is larger than what Py_ssize_t holds.
cdef Py_ssize_t MOST_BYTES = PY_SSIZE_T_MAX // 2

cdef object ndarray = np.ndarray


cdef Py_ssize_t words_bytes(Py_ssize_t num_envs) noexcept:
    """Bytes of the words, in cache lines."""
    return (8 * num_envs + 63) & ~<Py_ssize_t> 63


cdef Py_ssize_t slot_size(Py_ssize_t num_envs, Py_ssize_t slot_bytes) except -1:
    """Bytes of a slot, in words."""
    if not 1 <= num_envs <= MOST_BYTES // 64:
        raise ValueError(f"num_envs: expected at least 1 and at most {MOST_BYTES // 64}, got {num_envs}")
    if not 0 <= slot_bytes <= MOST_BYTES // num_envs:
        raise ValueError(f"slot_bytes: expected 0 to {MOST_BYTES // num_envs} bytes, got {slot_bytes}")
    return (slot_bytes + 7) & ~<Py_ssize_t> 7


@cython.no_gc_clear  # which would forget the buffer without releasing it
cdef class InfoSlots:
    """Infos of lanes in shared memory: one process puts, another gets.

    Args:
        memory: a writable buffer; it is held for as long as the slots live.
        offset: first byte of the slots, a multiple of 8.
        num_envs: number of lanes.
        slot_bytes: bytes a lane; larger records overflow.

    The memory is used as it is: zeros are lanes without infos. Putting and getting at the same time is not coordinated
    here, but a record that changes while it is read is a ValueError at worst.
    """

    def __cinit__(self, memory, Py_ssize_t offset, Py_ssize_t num_envs, Py_ssize_t slot_bytes):
        cdef Py_ssize_t needed = InfoSlots.nbytes(num_envs, slot_bytes)
        PyObject_GetBuffer(memory, &self.view, PyBUF_WRITABLE)
        self.held = True
        if offset < 0 or self.view.len - offset < needed:
            raise ValueError(
                f"memory: expected {needed} bytes from byte {offset} on, got a buffer of {self.view.len} bytes")
        self.words = <char*> self.view.buf + offset
        if <uintptr_t> self.words & 7:
            raise ValueError(f"offset: expected a multiple of 8 in aligned memory, got {offset}")
        self.records = self.words + words_bytes(num_envs)
        self.num_envs = num_envs
        self.slot_bytes = slot_size(num_envs, slot_bytes)
        self.writer = RecordWriter()
        self.reader = RecordReader()
        self.overflow = {}

    def __dealloc__(self):
        if self.held:
            PyBuffer_Release(&self.view)

    @staticmethod
    def nbytes(Py_ssize_t num_envs, Py_ssize_t slot_bytes):
        """Bytes of memory that so many slots take."""
        cdef Py_ssize_t size = slot_size(num_envs, slot_bytes)
        return words_bytes(num_envs) + num_envs * size

    cdef int check_lane(self, Py_ssize_t lane) except -1:
        if not 0 <= lane < self.num_envs:
            raise IndexError(f"lane: expected one of {self.num_envs}, got {lane}")
        return 0

    cdef uint64_t word_of(self, Py_ssize_t lane) except? 1:
        """What is said of a lane: 0 for nothing."""
        self.check_lane(lane)
        return <uint64_t> gymcore_load64(<gymcore_word64*> self.words + lane)

    # --- writing ------------------------------------------------------------------------------------------------------

    def put(self, Py_ssize_t lane, object info, object final_info=None, object extra=None):
        """Encode what a lane has to say, in place of what it said before.

        Args:
            lane: the lane.
            info: the info dict of its environment; any mapping that `dict` takes.
            final_info: the last info of an episode that ended, or None.
            extra: any object, or None.

        Returns:
            Whether the record fits its slot; else it waits in `take_overflow`.

        Raises:
            TypeError: for a value that cannot be pickled, naming the keys that lead to it. The lane is empty then.
        """
        return self.put_record(lane, info if type(info) is dict else dict(info), final_info, extra) == 0

    cdef int put_record(self, Py_ssize_t lane, dict info, object final_info, object extra) except -1:
        cdef gymcore_word64* word
        cdef RecordWriter writer
        self.check_lane(lane)
        word = <gymcore_word64*> self.words + lane
        if gymcore_load64(word) != 0:
            gymcore_store64(word, 0)
            if self.overflow:
                self.overflow.pop(lane, None)
        if (info is None or PyDict_Size(info) == 0) and final_info is None and extra is None:
            return 0
        # Pickling runs code of the values, which may come here again: it finds no writer then, and makes its own.
        writer = self.writer or RecordWriter()
        self.writer = None
        try:
            return self.write_record(writer, lane, info, final_info, extra)
        finally:
            self.writer = writer

    cdef int write_record(
        self, RecordWriter writer, Py_ssize_t lane, dict info, object final_info, object extra
    ) except -1:
        cdef gymcore_word64* word = <gymcore_word64*> self.words + lane
        cdef uint64_t flags = FILLED
        cdef size_t nbytes
        writer.begin(8)  # the word again, for a record that travels alone
        if extra is not None:
            flags |= HAS_EXTRA
            if writer.write(extra, 0):
                writer.fail("extra")
        if final_info is not None:
            flags |= HAS_FINAL
            if writer.write(final_info, 0):
                writer.fail("final_info")
        if writer.write_dict({} if info is None else info, 0):
            writer.fail("info")

        nbytes = writer.used - 8
        flags |= nbytes << 8
        if nbytes <= <size_t> self.slot_bytes:
            memcpy(self.records + lane * self.slot_bytes, writer.data + 8, nbytes)
            gymcore_store64(word, <int64_t> flags)
            return 0
        (<uint64_t*> writer.data)[0] = flags
        self.overflow[lane] = PyBytes_FromStringAndSize(writer.data, writer.used)
        gymcore_store64(word, OVERFLOWED)
        return 1

    def take_overflow(self):
        """Return the records that fit no slot, bytes by lane, and forget them."""
        taken = self.overflow
        self.overflow = {}
        return taken

    def clear(self, Py_ssize_t lane):
        """Make a lane one without infos."""
        self.check_lane(lane)
        gymcore_store64(<gymcore_word64*> self.words + lane, 0)
        self.overflow.pop(lane, None)

    # --- reading ------------------------------------------------------------------------------------------------------

    def empty(self, Py_ssize_t lane):
        """Whether a lane has nothing to say."""
        return self.word_of(lane) == 0

    def overflowed(self, Py_ssize_t lane):
        """Whether the record of a lane has to come another way."""
        return self.word_of(lane) == OVERFLOWED

    cdef int open_record(self, RecordReader reader, Py_ssize_t lane, bytes blob) except -1:
        """Begin reading a lane's record, or the blob that stands for it; its flags, 0 if there is none."""
        cdef uint64_t word
        cdef const char* record
        cdef size_t limit
        self.check_lane(lane)
        if blob is None:
            word = self.word_of(lane)
            record = self.records + lane * self.slot_bytes
            limit = self.slot_bytes
            if word == 0:
                return 0
            if word == OVERFLOWED:
                raise ValueError(f"lane {lane}: the info record of more than {self.slot_bytes} bytes did not come")
        else:
            if PyBytes_GET_SIZE(blob) < 8:
                raise ValueError(f"lane {lane}: expected an info record, got {PyBytes_GET_SIZE(blob)} bytes")
            memcpy(&word, PyBytes_AS_STRING(blob), 8)
            record = PyBytes_AS_STRING(blob) + 8
            limit = PyBytes_GET_SIZE(blob) - 8
        if word & 0xFF & ~<uint64_t> (FILLED | HAS_EXTRA | HAS_FINAL) or not word & FILLED or word >> 8 > limit:
            raise ValueError(f"lane {lane}: no info record begins with {word:#x}")
        reader.begin(record, word >> 8, lane)
        return word & 0xFF

    def get(self, Py_ssize_t lane, bytes blob=None):
        """Decode the record of a lane.

        Args:
            lane: the lane.
            blob: its record, if it overflowed.

        Returns:
            The info dict, the final info or None, the extra or None.

        Raises:
            ValueError: for a record that is not whole, or that overflowed when no blob is given.
        """
        cdef RecordReader reader = self.take_reader()
        try:
            return self.read_record(reader, self.open_record(reader, lane, blob))
        finally:
            self.reader = reader

    cdef RecordReader take_reader(self):
        """The reader, or another one while it is in use: unpickling runs code that may come here again."""
        cdef RecordReader reader = self.reader or RecordReader()
        self.reader = None
        return reader

    cdef tuple read_record(self, RecordReader reader, int flags):
        extra = final_info = None
        info = {}
        if flags & HAS_EXTRA:
            extra = reader.read(0)
        if flags & HAS_FINAL:
            final_info = reader.read(0)
        if flags:
            info = reader.read(0)
            if not isinstance(info, dict):
                reader.broken("no dict")
            if reader.at != reader.end:
                reader.broken("more bytes than items")
        return info, final_info, extra


# --- merging ----------------------------------------------------------------------------------------------------------


def merge_slots(
    object vector_infos, InfoSlots slots, Py_ssize_t first, Py_ssize_t count, object final_obs=None,
    dict overflow=None, *, object lanes=None, object num_envs=None,
):
    """Merge the records of lanes, as `get` and `merge_info` would one by one.

    Numbers go from the record into their column without becoming Python objects.

    Args:
        vector_infos: the merged dict so far, changed in place.
        slots: the records.
        first: first row of the merged dict.
        count: number of rows.
        final_obs: called with (lane, extra) for every lane with a final info, which is then merged as
            {"final_obs": what it returns, "final_info": the final info} before the info; without it, final infos are
            merged alone.
        overflow: records that fit no slot, by lane.
        lanes: the lanes whose records become the rows [first, first + count); by default, lanes of these numbers.
        num_envs: rows of the merged dict; as many as slots by default.

    Returns:
        The extras that are not None, by lane.

    Raises:
        ValueError: as `InfoSlots.get`. Lanes before that one are merged.
    """
    cdef Py_ssize_t k, lane, rows = slots.num_envs if num_envs is None else num_envs
    cdef RecordReader reader
    cdef dict extras = {}
    if not 0 <= count <= rows or not 0 <= first <= rows - count:
        raise IndexError(f"rows: expected some of {rows}, got {count} from {first} on")
    reader = slots.take_reader()
    try:
        reader.merge += 1
        for k in range(count):
            lane = first + k if lanes is None else <Py_ssize_t> lanes[k]
            if slots.word_of(lane) != 0:
                merge_record(vector_infos, slots, reader, lane, first + k, rows, final_obs, overflow, extras)
    finally:
        slots.reader = reader
    return extras


cdef int merge_record(
    object infos, InfoSlots slots, RecordReader reader, Py_ssize_t lane, Py_ssize_t row, Py_ssize_t num_envs,
    object final_obs, dict overflow, dict extras
) except -1:
    """Merge what one lane says into a row."""
    cdef bytes blob = overflow.get(lane) if overflow and slots.word_of(lane) == OVERFLOWED else None
    cdef int flags = slots.open_record(reader, lane, blob)
    cdef uint64_t word
    extra = None
    if flags == 0:
        return 0
    if flags & HAS_EXTRA:
        extra = extras[lane] = reader.read(0)
    if flags & HAS_FINAL:
        if final_obs is not None:
            merge_value(infos, "final_obs", final_obs(lane, extra), row, num_envs)
        reader.merge += 1
        merge_item(reader, infos, "final_info", NULL, reader.next_word(), row, num_envs, 0)
    word = reader.next_word()
    if word & 0xFF == TAG_DICT:
        merge_items(reader, infos, word, row, num_envs, 0)
    else:
        reader.merge += 1
        info = reader.read_item(word, 0)
        if not isinstance(info, dict):
            reader.broken("no dict")
        merge_lane(infos, info, row, num_envs)
    if reader.at != reader.end:
        reader.broken("more bytes than items")
    return 0


cdef int merge_items(
    RecordReader reader, object infos, uint64_t word, Py_ssize_t row, Py_ssize_t num_envs, int depth
) except -1:
    """Merge the entries of the dict that begins with a word."""
    cdef known_key_t* known
    cdef Py_ssize_t _k
    for _k in range(reader.count(word, depth, 16)):
        key = reader.read_key(&known)
        merge_item(reader, infos, key, known, reader.next_word(), row, num_envs, depth + 1)
    return 0


cdef int merge_item(
    RecordReader reader, object infos, object key, known_key_t* known, uint64_t word, Py_ssize_t row,
    Py_ssize_t num_envs, int depth
) except -1:
    """Merge the value that begins with a word; `merge_value` of a value that is not decoded yet."""
    cdef known_key_t other
    cdef int tag = word & 0xFF
    if known == NULL:
        other.merge = 0
        known = &other
    if (known.merge == reader.merge and known.owner == <void*> infos and known.word == word) or (
            tag in (TAG_BOOL, TAG_INT, TAG_FLOAT, TAG_SCALAR)
            and find_column(reader, infos, key, known, word, num_envs)):
        if tag == TAG_BOOL:
            (known.column + row * known.column_stride)[0] = reader.next_word() != 0
        elif known.size == 8:
            memcpy(known.column + row * known.column_stride, reader.take(8), 8)
        else:
            memcpy(known.column + row * known.column_stride, reader.take(known.size), known.size)
        (known.mask + row * known.mask_stride)[0] = 1
        return 0

    if tag == TAG_DICT and key != "final_obs":
        column = lookup(infos, key)
        if column is None:
            column = infos[key] = {}
        if isinstance(column, dict):
            merge_items(reader, column, word, row, num_envs, depth)
            mask_key = mask_key_of(key)
            mask = lookup(infos, mask_key)
            if mask is None:
                mask = infos[mask_key] = number_column(num_envs, cnp.NPY_BOOL)
            return set_mask(mask, row)

    reader.merge += 1  # from here on columns may be other ones
    return merge_value(infos, key, reader.read_item(word, depth), row, num_envs)


cdef bint find_column(
    RecordReader reader, object infos, object key, known_key_t* known, uint64_t word, Py_ssize_t num_envs
) except -1:
    """Whether numbers that begin with this word are written to the column of `key` as they are; notes where."""
    cdef cnp.ndarray column, mask
    cdef int typenum = word >> 8 & 0xFF
    found = lookup(infos, key)
    if type(found) is not ndarray:
        return False
    column = found
    found = lookup(infos, mask_key_of(key))
    if type(found) is not ndarray:
        return False
    mask = found
    if word == TAG_FLOAT:
        typenum = cnp.NPY_DOUBLE
    elif word == TAG_INT:
        typenum = cnp.NPY_INT64
    elif word == TAG_BOOL:
        typenum = cnp.NPY_BOOL
    elif not is_number_type(typenum) or word >> 16:
        return False
    if not is_column(column, typenum, num_envs) or not is_column(mask, cnp.NPY_BOOL, num_envs):
        return False
    known.size = cnp.PyArray_ITEMSIZE(column)
    known.column = <char*> cnp.PyArray_DATA(column)
    known.column_stride = cnp.PyArray_STRIDE(column, 0)
    known.mask = <char*> cnp.PyArray_DATA(mask)
    known.mask_stride = cnp.PyArray_STRIDE(mask, 0)
    known.word = word
    known.owner = <void*> infos
    known.merge = reader.merge
    return True


cdef bint is_column(cnp.ndarray array, int typenum, Py_ssize_t num_envs) noexcept:
    """Whether values of this type can be written to every row through a pointer."""
    return (
        cnp.PyArray_NDIM(array) == 1 and cnp.PyArray_DIM(array, 0) == num_envs
        and cnp.PyArray_TYPE(array) == typenum and cnp.PyArray_ISBEHAVED(array))
