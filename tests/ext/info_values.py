"""Values of infos, and checks that they arrive unchanged."""

from __future__ import annotations

import enum
from collections import OrderedDict
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst


class Color(enum.IntEnum):
    RED = 1


class Pair(NamedTuple):
    first: Any
    second: Any


class Text(str):
    pass


NUMBER_CODES = "?bBhHiIlLqQefdgFDG"
NUMBER_DTYPES = [np.dtype(code) for code in NUMBER_CODES]

FLOATS = [0.0, -0.0, 1.5, float("nan"), float("-inf"), 5e-324]
INTS = [0, -1, 2**63 - 1, -(2**63), 2**63, -(2**63) - 1, 2**64, 255, 2**2000, -(2**2000)]
TEXTS = ["", "text", "tränen", "\U0001f600", "\x00", "\ud800", "\ud83d\ude00", "a\udfffb"]

# Values that are transferred without pickle.
PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers() | st.sampled_from(INTS),
    st.floats() | st.sampled_from(FLOATS),
    st.complex_numbers(),
    st.text(max_size=12) | st.sampled_from(TEXTS),
    st.binary(max_size=9),
)


@st.composite
def number_arrays(draw: st.DrawFn) -> Any:
    """Draw arrays of numbers of any dtype, byte order, memory order, strides and rank, or empty."""
    dtype = draw(st.sampled_from(NUMBER_DTYPES))
    if draw(st.booleans()):
        dtype = dtype.newbyteorder()
    shape = draw(npst.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
    array = np.empty(shape, dtype, order=draw(st.sampled_from("CF")))
    size = array.size * array.itemsize
    if dtype.kind == "b":
        array[...] = np.frombuffer(draw(st.binary(min_size=size, max_size=size)), "u1").reshape(
            shape
        )
    elif dtype.char not in "gG":  # long doubles have padding, which is not part of the value
        array[...] = np.frombuffer(draw(st.binary(min_size=size, max_size=size)), dtype).reshape(
            shape
        )
    else:
        array[...] = draw(st.integers(-9, 9))
    if array.ndim and draw(st.booleans()):
        array = array[:: draw(st.sampled_from([1, 2, -1]))]
    return array.T if draw(st.booleans()) else array


NUMBER_SCALARS = st.builds(
    lambda dtype, data: np.frombuffer(data, dtype)[0],
    st.sampled_from([dtype for dtype in NUMBER_DTYPES if dtype.char not in "?gG"]),
    st.binary(min_size=32, max_size=32),
) | st.sampled_from([np.bool_(True), np.longdouble(1) / 3, np.clongdouble(1 + 2j) / 3])

# Values that are transferred as a pickle.
OBJECTS = st.sampled_from(
    [
        *(Color.RED, Pair(1, 2.5), Text("text"), {1, 2}, Fraction(1, 3), range(3)),
        *(np.datetime64("2020-01-01"), np.timedelta64(3, "s"), np.str_("text"), np.bytes_(b"x")),
        *(np.array(["a", "bc"]), np.array([None, "x"], object), np.zeros(2, "i4,f8")),
        *(np.array(["2020-01-01"], "M8[s]"), np.ma.array([1, 2]), {1: 2}, {"a": 1, None: 2}),
        *(OrderedDict(b=1, a=2), {Text("a"): 1}, {(1, 2): np.zeros(2)}),
    ]
)

LEAVES = st.one_of(PLAIN, number_arrays(), NUMBER_SCALARS, OBJECTS)
KEYS = st.text(max_size=3) | st.sampled_from(["x", "TimeLimit.truncated", "\ud800", "final_obs"])
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(KEYS, inner, max_size=4),
    ),
    max_leaves=12,
)
INFOS = st.dictionaries(KEYS, VALUES, max_size=5)


def assert_came_through(value: Any, original: Any, where: str = "value") -> None:
    """Assert that a value has the exact types, bits and order of the original, and is a copy."""
    assert type(value) is type(original), where
    if isinstance(original, dict):
        assert [*map(repr, value)] == [*map(repr, original)], where
        assert list(value) == list(original), where
        for key, item in original.items():
            assert_came_through(value[key], item, f"{where}[{key!r}]")
    elif isinstance(original, list | tuple):
        assert len(value) == len(original), where
        for i, item in enumerate(original):
            assert_came_through(value[i], item, f"{where}[{i}]")
    elif isinstance(original, np.ndarray):
        assert value.dtype == original.dtype, where
        assert value.dtype.char == original.dtype.char, where
        assert value.shape == original.shape, where
        assert value.flags.writeable, where
        assert not np.shares_memory(value, original), where
        flat = original.flags
        if flat.f_contiguous and not flat.c_contiguous:
            assert value.flags.f_contiguous, where
        if original.dtype.hasobject or original.dtype.char in "gG":
            assert repr(value) == repr(original), where
        else:
            assert value.tobytes() == original.tobytes(), where
    elif isinstance(original, float | complex | np.generic) and not isinstance(
        original, np.longdouble
    ):
        same = np.array(value).tobytes() == np.array(original).tobytes()
        assert same or repr(value) == repr(original), where
    else:
        assert value == original, where
