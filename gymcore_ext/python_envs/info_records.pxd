"""The binary form of infos: what engines pass from process to process."""

from libc.stdint cimport uint64_t


cdef enum:
    # Items. An item is a word, tag | detail << 8, and what belongs to it, in words.
    TAG_NONE = 1
    TAG_BOOL = 2        # word 0 or 1
    TAG_INT = 3         # int64
    TAG_FLOAT = 4       # float64
    TAG_BIG_INT = 5     # detail: bytes
    TAG_STR = 6         # detail: bytes of UTF-8
    TAG_BYTES = 7       # detail: bytes
    TAG_DICT = 8        # detail: entries, a key and an item each
    TAG_LIST = 9        # detail: items
    TAG_TUPLE = 10      # detail: items
    TAG_SCALAR = 11     # detail: NumPy type number
    TAG_ARRAY = 12      # detail: NumPy type number | flags << 8 | axes << 16; a word an axis, then the values
    TAG_PICKLE = 13     # detail: bytes; a word with their checksum, then the bytes
    TAG_KEY = 14        # detail: bytes of UTF-8
    TAG_COMPLEX = 15
    # Known keys of a reader.
    KEY_SLOTS = 256


cdef class RecordWriter:
    cdef char* data
    cdef size_t capacity, used
    cdef list path           # keys that lead to a value that could not be written, the innermost first
    cdef str reason          # why

    cdef int begin(self, size_t reserved) except -1
    cdef char* place(self, size_t nbytes) except NULL
    cdef int word(self, uint64_t value) except -1
    cdef int write(self, object value, int depth) except -1
    cdef int write_bytes(self, uint64_t tag, const char* data, size_t nbytes) except -1
    cdef int write_int(self, object value) except -1
    cdef int write_str(self, uint64_t tag, str value) except -1
    cdef int write_dict(self, dict value, int depth) except -1
    cdef int write_items(self, uint64_t tag, object value, int depth) except -1
    cdef int write_array(self, object value) except -1
    cdef int write_scalar(self, object value, int typenum) except -1
    cdef int write_pickle(self, object value) except -1
    cdef int fail(self, str name) except -1


cdef struct known_key_t:
    const char* text         # of the key in `keys`, or NULL
    Py_ssize_t length
    # Where numbers of the key that begin with `word` go, as long as `merge` is that of the reader (info_slots.pyx).
    uint64_t merge
    void* owner
    uint64_t word
    size_t size
    char* column
    Py_ssize_t column_stride
    char* mask
    Py_ssize_t mask_stride


cdef class RecordReader:
    cdef const char* data
    cdef size_t at, end
    cdef Py_ssize_t lane
    cdef uint64_t merge      # while entries of `known` say so, their columns are where they were
    cdef known_key_t known[KEY_SLOTS]
    cdef list keys

    cdef void begin(self, const char* data, size_t nbytes, Py_ssize_t lane) noexcept
    cdef int broken(self, str what) except -1
    cdef uint64_t next_word(self) except? 0
    cdef const char* take(self, uint64_t nbytes) except NULL
    cdef object read_key(self, known_key_t** known)
    cdef Py_ssize_t count(self, uint64_t word, int depth, size_t item_bytes) except -1
    cdef object read(self, int depth)
    cdef object read_item(self, uint64_t word, int depth)
    cdef dict read_dict(self, uint64_t word, int depth)
    cdef object read_array(self, uint64_t word)
    cdef object read_scalar(self, uint64_t word)
    cdef object read_pickle(self, uint64_t word)
