"""A dict some of whose values are computed when they are first read."""


cdef class LazyDict(dict):
    cdef dict makers    # None after their names were added to the keys
    cdef dict computed  # computed values by name, until then

    cdef object stored(self, object key)
    cdef object make(self, object name)
    cdef int list_names(self) except -1
    cdef object find(self, object key, object default)
    cdef dict plain(self, bint make)


cdef LazyDict lazy_dict(object entries, dict makers)
