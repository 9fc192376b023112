"""A dict of which some values are made when they are first read."""


cdef class LazyDict(dict):
    cdef dict makers  # None: the names are among the keys
    cdef dict made    # values by name, until then

    cdef object stored(self, object key)
    cdef object make(self, object name)
    cdef int list_names(self) except -1
    cdef object find(self, object key, object default)
    cdef dict plain(self, bint make)


cdef LazyDict lazy_dict(object entries, dict makers)
