"""Records of infos in shared memory, one a lane."""

from cpython.buffer cimport Py_buffer
from libc.stdint cimport uint64_t

from gymcore_ext.python_envs.info_records cimport RecordReader, RecordWriter


cdef class InfoSlots:
    cdef Py_buffer view
    cdef bint held
    cdef char* words
    cdef char* records
    cdef readonly Py_ssize_t num_envs, slot_bytes
    cdef RecordWriter writer
    cdef RecordReader reader
    cdef dict overflow

    cdef int check_lane(self, Py_ssize_t lane) except -1
    cdef uint64_t word_of(self, Py_ssize_t lane) except? 1
    # Encode: 0 when the record fits its slot, 1 when it went to the overflow.
    cdef int put_record(self, Py_ssize_t lane, dict info, object final_info, object extra) except -1
    cdef int write_record(
        self, RecordWriter writer, Py_ssize_t lane, dict info, object final_info, object extra) except -1
    cdef int open_record(self, RecordReader reader, Py_ssize_t lane, bytes blob) except -1
    cdef RecordReader take_reader(self)
    cdef tuple read_record(self, RecordReader reader, int flags)
