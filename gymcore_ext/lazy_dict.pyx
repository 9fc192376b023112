"""A dict some of whose values are computed when they are first read.

`dict` has no hook for that, so each of its methods that returns values or depends on the keys is overridden here.
Methods that only depend on keys call `list_names` first, those that return values `find` or `plain`. The calls of the
C API in this file bypass these methods and read the stored values.
"""
from cpython.dict cimport PyDict_Contains, PyDict_GetItemWithError, PyDict_Next, PyDict_SetItem, PyDict_Update
from cpython.object cimport PyObject


cdef class _Unmade:
    """Stored in place of a value that is not computed yet."""
    cdef object function, given
    cdef list arguments


cdef class LazyDict(dict):
    """The dict `{**entries, **{name: function(*entries of keys)}}`, which calls each function when its value is read.

    The arguments of functions are the original entries, whatever is stored in the dict afterwards. Copies, pickles and
    unions are plain dicts. C functions that read a dict without its methods find the original entries.

    Args:
        entries: a mapping or pairs, as for `dict`; not changed.
        makers: for each name, a function and the keys of its arguments (None for entries that do not exist), or the
            key of an entry that the name refers to as well. Not copied. Entries of these names are replaced in place.

    Examples:
        >>> lazy = LazyDict({"numbers": [1, 2]}, {"total": (sum, "numbers")})
        >>> len(lazy), lazy["total"], lazy
        (2, 3, {'numbers': [1, 2], 'total': 3})
    """

    def __init__(self, entries=(), dict makers=None):
        dict.__init__(self, entries)
        self.makers = makers

    cdef object stored(self, object key):
        cdef PyObject* place = PyDict_GetItemWithError(self, key)
        return None if place == NULL else <object> place

    cdef object make(self, object name):
        """Return the value of a name of the makers, without `list_names`, which doubles the time of two reads."""
        maker = self.makers[name]
        if type(maker) is str:
            return self.stored(maker)
        if self.computed is None:
            self.computed = {}
        elif name in self.computed:
            return self.computed[name]
        value = self.computed[name] = maker[0](*[self.stored(key) for key in maker[1:]])
        return value

    cdef int list_names(self) except -1:
        """Insert the names of the makers, so that the keys are complete and in order."""
        cdef _Unmade unmade
        if self.makers is None:
            return 0
        values = {} if self.computed is None else self.computed
        for name, maker in self.makers.items():
            if type(maker) is str:
                values[name] = self.stored(maker)
            elif name not in values:
                unmade = _Unmade.__new__(_Unmade)
                unmade.function, unmade.given = maker[0], self.stored(name)
                unmade.arguments = [self.stored(key) for key in maker[1:]]
                values[name] = unmade
        for name in self.makers:
            PyDict_SetItem(self, name, values[name])
        self.makers = self.computed = None
        return 0

    cdef object find(self, object key, object default):
        """Return the value of a key, computed if necessary, or the default."""
        cdef PyObject* place
        if self.makers is not None and key in self.makers:
            return self.make(key)
        place = PyDict_GetItemWithError(self, key)
        if place == NULL:
            return default
        value = <object> place
        if type(value) is _Unmade:
            value = (<_Unmade> value).function(*(<_Unmade> value).arguments)
            PyDict_SetItem(self, key, value)
        return value

    cdef dict plain(self, bint make):
        """Return a plain dict. Values that are not computed yet are computed if `make`, else the original entries."""
        cdef PyObject* key
        cdef PyObject* value
        cdef Py_ssize_t position = 0
        cdef dict plain = {}
        self.list_names()
        while PyDict_Next(self, &position, &key, &value):
            item = <object> value
            if type(item) is _Unmade:
                item = self.find(<object> key, None) if make else (<_Unmade> item).given
            PyDict_SetItem(plain, <object> key, item)
        return plain

    def unmade(self):
        """Return a plain dict, in which values that are not computed yet are the original entries, or None.

        Examples:
            >>> lazy = LazyDict({"a": [1]}, {"a": (len, "a"), "b": (sum, "a")})
            >>> lazy.unmade(), lazy["b"], lazy.unmade()
            ({'a': [1], 'b': None}, 1, {'a': [1], 'b': 1})
        """
        return self.plain(False)

    # --- one value ------------------------------------------------------------------------------------------------

    def __getitem__(self, key):
        value = self.find(key, _Unmade)
        if value is _Unmade:
            raise KeyError(key)
        return value

    def get(self, key, default=None, /):
        return self.find(key, default)

    def setdefault(self, key, default=None, /):
        self.list_names()
        self.find(key, None)
        return dict.setdefault(self, key, default)

    def pop(self, key, /, *default):
        self.list_names()
        self.find(key, None)
        return dict.pop(self, key, *default)

    def popitem(self):
        self.items()
        return dict.popitem(self)

    # --- keys -----------------------------------------------------------------------------------------------------

    def __contains__(self, key):
        return PyDict_Contains(self, key) or (self.makers is not None and key in self.makers)

    def __len__(self):
        self.list_names()
        return dict.__len__(self)

    def __iter__(self):
        self.list_names()
        return dict.__iter__(self)

    def __reversed__(self):
        self.list_names()
        return dict.__reversed__(self)

    def keys(self):
        self.list_names()
        return dict.keys(self)

    # --- changes --------------------------------------------------------------------------------------------------

    def __setitem__(self, key, value):
        self.list_names()
        PyDict_SetItem(self, key, value)

    def __delitem__(self, key):
        self.list_names()
        dict.__delitem__(self, key)

    def update(self, /, *args, **entries):
        self.list_names()
        dict.update(self, *args, **entries)

    def __ior__(self, other):
        self.update(other)
        return self

    def clear(self):
        self.makers = self.computed = None
        dict.clear(self)

    # --- all values -----------------------------------------------------------------------------------------------

    def copy(self):
        return self.plain(True)

    def values(self):
        self.plain(True)
        return dict.values(self)

    def items(self):
        self.plain(True)
        return dict.items(self)

    def __eq__(self, other):
        return self.plain(True) == (other.copy() if isinstance(other, LazyDict) else other)

    def __or__(self, other):
        return self.plain(True) | other

    def __ror__(self, other):
        return other | self.plain(True)

    def __repr__(self):
        return repr(self.plain(True))

    def __reduce__(self):
        return dict, (self.plain(True),)


cdef LazyDict lazy_dict(object entries, dict makers):
    """Return `LazyDict(entries, makers)`, in half the time."""
    cdef LazyDict lazy = LazyDict.__new__(LazyDict)
    if len(entries):
        PyDict_Update(lazy, entries)
    lazy.makers = makers
    return lazy


def with_lazy_infos(str present, str absent, dict makers, results):
    """Return the results of a step, with infos that are a `LazyDict` if they have one key and not the other.

    Args:
        present: a key that the makers need.
        absent: a key that infos have if they already contain what the makers add.
        makers: see `LazyDict`.
        results: observations, rewards, terminations, truncations and infos; not changed. They are returned as they are
            if infos are a `LazyDict` already.

    Examples:
        >>> makers = {"total": (sum, "numbers")}
        >>> with_lazy_infos("numbers", "total", makers, (0, 0.0, False, False, {"numbers": [1, 2]}))[4]
        {'numbers': [1, 2], 'total': 3}
    """
    observations, rewards, terminations, truncations, infos = results
    if type(infos) is LazyDict or present not in infos or absent in infos:
        return results
    return observations, rewards, terminations, truncations, lazy_dict(infos, makers)
