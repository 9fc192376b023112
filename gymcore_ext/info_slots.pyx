"""Infos of the lanes of a batch in memory that processes share, and merging them as they lie there.

Memory: a word a lane (0: no infos; else FILLED, flags, and the bytes of the record), then a slot a lane. A record is up
to three items: extra, final info, info (info_records.pyx). Words lie side by side, so that lanes without infos cost a
reader a few cache lines for all of them. A word is 0 while its slot is written: a writer that dies in the middle leaves
a lane without infos. A record larger than its slot goes to the overflow, as bytes that its owner sends another way.
"""
cimport numpy as cnp
from cpython.buffer cimport PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_Size
from libc.stdint cimport int64_t, uint64_t, uintptr_t
from libc.string cimport memcpy

from gymcore_ext.info_records cimport (
    TAG_BOOL, TAG_DICT, TAG_FLOAT, TAG_INT, TAG_SCALAR, RecordReader, RecordWriter, known_key_t,
)
from gymcore_ext.infos cimport lookup, mask_key_of, merge_lane, merge_value, set_mask

import numpy as np

cnp.import_array()


cdef extern from "pool.h":
    ctypedef int64_t gymcore_atomic
    int64_t gymcore_load(gymcore_atomic* word) noexcept
    void gymcore_store(gymcore_atomic* word, int64_t value) noexcept

cdef enum:
    # Flags of a word; the rest, from bit 8 on, is the number of bytes.
    FILLED = 1
    HAS_EXTRA = 2
    HAS_FINAL = 4
    OVERFLOWED = 8

cdef object ndarray = np.ndarray


cdef Py_ssize_t words_bytes(Py_ssize_t num_envs) noexcept:
    """Bytes of the words, in cache lines."""
    return (8 * num_envs + 63) & ~<Py_ssize_t> 63


cdef Py_ssize_t slot_size(Py_ssize_t num_envs, Py_ssize_t slot_bytes) except -1:
    """Bytes of a slot, in words."""
    if num_envs < 1:
        raise ValueError(f"num_envs: expected at least 1, got {num_envs}")
    if slot_bytes < 0:
        raise ValueError(f"slot_bytes: expected a number of bytes, got {slot_bytes}")
    return (slot_bytes + 7) & ~<Py_ssize_t> 7


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
        return words_bytes(num_envs) + num_envs * slot_size(num_envs, slot_bytes)

    cdef int check_lane(self, Py_ssize_t lane) except -1:
        if not 0 <= lane < self.num_envs:
            raise IndexError(f"lane: expected one of {self.num_envs}, got {lane}")
        return 0

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
        cdef gymcore_atomic* word
        cdef RecordWriter writer = self.writer
        cdef uint64_t flags = FILLED
        cdef size_t nbytes
        self.check_lane(lane)
        word = <gymcore_atomic*> self.words + lane
        if gymcore_load(word) != 0:
            gymcore_store(word, 0)
            if self.overflow:
                self.overflow.pop(lane, None)
        if (info is None or PyDict_Size(info) == 0) and final_info is None and extra is None:
            return 0

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
            gymcore_store(word, <int64_t> flags)
            return 0
        (<uint64_t*> writer.data)[0] = flags
        self.overflow[lane] = PyBytes_FromStringAndSize(writer.data, writer.used)
        gymcore_store(word, OVERFLOWED)
        return 1

    def take_overflow(self):
        """Return the records that fit no slot, bytes by lane, and forget them."""
        taken = self.overflow
        self.overflow = {}
        return taken

    def clear(self, Py_ssize_t lane):
        """Make a lane one without infos."""
        self.check_lane(lane)
        gymcore_store(<gymcore_atomic*> self.words + lane, 0)
        self.overflow.pop(lane, None)

    # --- reading ------------------------------------------------------------------------------------------------------

    def overflowed(self, Py_ssize_t lane):
        """Whether the record of a lane has to come another way."""
        self.check_lane(lane)
        return gymcore_load(<gymcore_atomic*> self.words + lane) == OVERFLOWED

    cdef int open_record(self, Py_ssize_t lane, bytes blob) except -1:
        cdef uint64_t word
        cdef const char* record
        cdef size_t limit
        self.check_lane(lane)
        if blob is None:
            word = <uint64_t> gymcore_load(<gymcore_atomic*> self.words + lane)
            record = self.records + lane * self.slot_bytes
            limit = self.slot_bytes
            if word == 0:
                return 0
            if word == OVERFLOWED:
                raise ValueError(f"lane {lane}: the info record overflowed its {self.slot_bytes} bytes, and no blob came")
        else:
            if PyBytes_GET_SIZE(blob) < 8:
                raise ValueError(f"lane {lane}: expected an info record, got {PyBytes_GET_SIZE(blob)} bytes")
            memcpy(&word, PyBytes_AS_STRING(blob), 8)
            record = PyBytes_AS_STRING(blob) + 8
            limit = PyBytes_GET_SIZE(blob) - 8
        if word & 0xFF & ~<uint64_t> (FILLED | HAS_EXTRA | HAS_FINAL) or not word & FILLED or word >> 8 > limit:
            raise ValueError(f"lane {lane}: no info record begins with {word:#x}")
        self.reader.begin(record, word >> 8, lane)
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
        cdef int flags = self.open_record(lane, blob)
        cdef RecordReader reader = self.reader
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


def merge_slots(
    object vector_infos, InfoSlots slots, Py_ssize_t first, Py_ssize_t count, object final_obs=None, dict overflow=None
):
    """Merge the records of lanes [first, first + count), as `get` and `merge_info` would one by one.

    Args:
        vector_infos: the merged dict so far, changed in place.
        slots: the records.
        first: first lane.
        count: number of lanes.
        final_obs: called with (lane, extra) for every lane with a final info, which is then merged as
            {"final_obs": what it returns, "final_info": the final info} before the info; without it, final infos are
            merged alone.
        overflow: records that fit no slot, by lane.

    Returns:
        The extras, by lane.

    Raises:
        ValueError: as `InfoSlots.get`. Lanes before that one are merged.
    """
    extras = {}
    for lane in range(first, first + count):
        info, final_info, extra = slots.get(lane, None if overflow is None else overflow.get(lane))
        if extra is not None:
            extras[lane] = extra
        if final_info is not None:
            final = {"final_info": final_info}
            if final_obs is not None:
                final = {"final_obs": final_obs(lane, extra), "final_info": final_info}
            merge_lane(vector_infos, final, lane, slots.num_envs)
        merge_lane(vector_infos, info, lane, slots.num_envs)
    return extras
