"""Layouts: which arrays the elements of a space consist of (gymcore/spaces/layouts.py derives them from spaces).

    ("array", dtype, shape)             an array, or a number if the shape is ()
    ("tuple", (layout, ...))            a tuple of parts
    ("dict", (key, ...), (layout, ...)) a dict of parts
    ("objects", finish)                 any objects; finish(list of them) returns the batch

`leaves` splits a value into arrays, and `grouped` joins arrays to a value; everything else is a loop over arrays.
"""


cdef object parts_of(tuple layout):
    """Return the layouts of the parts of a tuple or dict."""
    return layout[1] if layout[0] == "tuple" else layout[2]


cpdef object grouped(tuple layout, object arrays):
    """Return a value of this layout that consists of the arrays of an iterator."""
    if layout[0] == "tuple":
        return tuple([grouped(part, arrays) for part in layout[1]])
    if layout[0] == "dict":
        return {key: grouped(part, arrays) for key, part in zip(layout[1], layout[2])}
    return next(arrays)


cpdef list leaves(tuple layout, str name, object value, object type_error, object value_error):
    """Return the arrays of a value of this layout, as triples (name, layout, array).

    Raises:
        type_error: If a part should be a tuple or a dict and is not, or a tuple has another length.
        value_error: If a dict lacks a key. Further keys are ignored.
    """
    cdef list arrays = []
    if layout[0] == "tuple":
        if not isinstance(value, (tuple, list)) or len(value) != len(layout[1]):
            got = f"{len(value)} of them" if isinstance(value, (tuple, list)) else type(value).__name__
            raise type_error(f"{name}: expected a tuple of {len(layout[1])} arrays, got {got}")
        for k, part in enumerate(layout[1]):
            arrays += leaves(part, f"{name}[{k}]", value[k], type_error, value_error)
    elif layout[0] == "dict":
        keys = list(layout[1])
        if not hasattr(value, "keys"):
            raise type_error(f"{name}: expected a dict with {keys}, got {type(value).__name__}")
        for key, part in zip(keys, layout[2]):
            if key not in value:
                raise value_error(f"{name}: expected a dict with {keys}, got {list(value)}")
            arrays += leaves(part, f"{name}[{key!r}]", value[key], type_error, value_error)
    else:
        arrays.append((name, layout, value))
    return arrays
