"""Records of infos in shared memory, one a lane."""

from cpython.buffer cimport Py_buffer

from gymcore_ext.info_records cimport RecordReader, RecordWriter


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
    # Encode: 0 when the record fits its slot, 1 when it went to the overflow.
    cdef int put_record(self, Py_ssize_t lane, dict info, object final_info, object extra) except -1
    # Begin reading a lane's record: what it holds (0: nothing).
    cdef int open_record(self, Py_ssize_t lane, bytes blob) except -1
