"""Messages as frames: equal after decoding, or refused."""

from __future__ import annotations

import contextlib
import tracemalloc

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from gymcore.error import ArgumentTypeError, InvalidArgument
from gymcore.remote.wire import (
    DTYPES,
    MAX_DEPTH,
    MAX_HEADER_BYTES,
    MAX_SMALL_ARRAYS,
    MAX_SMALL_BYTES,
    MAX_VALUES,
    decode,
    encode,
)
from tests.testing_env import assert_same

numbers = st.sampled_from(sorted(DTYPES)).flatmap(
    lambda dtype: arrays.arrays(
        np.dtype(dtype).newbyteorder("="), arrays.array_shapes(min_dims=0, min_side=0)
    )
)
leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text(max_size=5)
    | numbers
    | numbers.filter(lambda array: array.size).map(lambda array: array.flat[0])
)
messages = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)


def through(message):
    return decode([bytes(frame) for frame in encode(message)])


@given(messages)
def test_what_goes_in_comes_out(message):
    assert_same(through(message), message)


def test_arrays_are_the_callers_own():
    source = np.arange(3)
    (found,) = through([source])
    found[0] = 7
    assert source[0] == 0
    assert through(np.arange(6).reshape(2, 3)[:, ::2]).tolist() == [[0, 2], [3, 5]]
    assert through(np.arange(3, dtype=">i4")).tolist() == [0, 1, 2]


def test_large_arrays_have_a_frame_each():
    small, large = np.arange(MAX_SMALL_BYTES // 8), np.arange(MAX_SMALL_BYTES // 8 + 1)
    frames = encode([small, large, small[::2]])
    assert [len(frame) for frame in frames[1:]] == [MAX_SMALL_BYTES + 8]
    assert_same(through([small, large, small[::2]]), [small, large, small[::2]])
    many = [np.arange(3)] * (MAX_SMALL_ARRAYS + 2)
    assert len(encode(many)) == 3
    assert_same(through(many), many)


def test_scalars_out_of_the_range_of_their_dtype():
    assert decode([msgpack.packb([2, "<f2", 1e30])]) == np.inf


def test_arrays_of_objects_and_strings():
    objects = np.empty(3, object)
    objects[:] = [None, {"x": np.zeros(2)}, "text"]
    assert_same(through(objects), objects)
    assert_same(through(np.array(["a", "b"])), np.array(["a", "b"], object))


@pytest.mark.parametrize(
    "message",
    [
        {1: 2},
        {"x": object()},
        [b"bytes"],
        {1, 2},
        np.zeros(2, complex),
        np.zeros(2, "M8[s]"),
        np.zeros(2, [("x", int)]),
        np.complex64(1),
        np.array([object()]),
        1j,
        len,
    ],
    ids=lambda message: type(message).__name__,
)
def test_what_does_not_travel(message):
    with pytest.raises(ArgumentTypeError, match="message: expected"):
        encode(message)


def test_sizes():
    nested = []
    for _ in range(MAX_DEPTH + 1):
        nested = [nested]
    with pytest.raises(InvalidArgument, match="levels of nesting"):
        encode(nested)
    with pytest.raises(InvalidArgument, match="bytes besides arrays"):
        encode("x" * MAX_HEADER_BYTES)


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, "\ud800"])
def test_values_without_a_form(value):
    with pytest.raises(
        InvalidArgument, match="message: expected 64-bit integers and UTF-8 strings"
    ):
        encode([value])


def test_promised_values_leave_no_memory():
    level = b"\xdd" + MAX_VALUES.to_bytes(4, "big") + b"\x03"
    header = level * (MAX_HEADER_BYTES // len(level))
    tracemalloc.start()  # the allocator keeps some of what is freed
    try:
        for _ in range(3):
            with pytest.raises(InvalidArgument, match="message: expected"):
                decode([header])
        kept, largest = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 1 << 20
    assert largest < 96 << 20  # not that of three messages


def deep(levels):
    value = 0
    for _ in range(levels):
        value = [3, value]
    return value


BAD = {
    "nothing": [],
    "no msgpack": [b"\xc1"],
    "empty header": [b""],
    "two values": [msgpack.packb(1) + msgpack.packb(2)],
    "fewer values than promised": [b"\xdd\x00\x01\x00\x00\x03" + b"\0" * 100],
    "fewer keys than promised": [b"\xdf\x00\x01\x00\x00" + b"\0" * 100],
    "text beyond the end": [b"\xdb\xff\xff\xff\xffx"],
    "many objects": [b"\x93\x01\x91\xce\x00\x01\x00\x00\xdd\x00\x01\x00\x00" + b"\0" * 100],
    "truncated": [msgpack.packb([3, 1, 2])[:-1]],
    "large header": [b"\0" * (MAX_HEADER_BYTES + 1)],
    "bytes": [msgpack.packb(b"x")],
    "extension": [msgpack.packb(msgpack.ExtType(1, b""))],
    "timestamp": [msgpack.packb(msgpack.Timestamp(1, 0))],
    "keys that are numbers": [msgpack.packb({1: 2})],
    "a key of bytes": [b"\x81\xc4\x01x\x01"],
    "invalid text": [b"\xa1\xff"],
    "a list without a tag": [msgpack.packb([])],
    "a tag that is a text": [msgpack.packb(["x", 1])],
    "a tag that is a bool": [msgpack.packb([True, 1])],
    "an unknown tag": [msgpack.packb([9, 1, 2])],
    "too deep": [msgpack.packb(deep(MAX_DEPTH + 2))],
    "much too deep": [b"\x91" * 100_000],
    "too many values": [msgpack.packb([3] + [0] * MAX_VALUES)],
    "a large array in the header": [msgpack.packb([0, "|u1", [5000], bytes(5000)])],
    "fewer bytes in the header": [msgpack.packb([0, "<f8", [2], bytes(15)])],
    "more bytes in the header": [msgpack.packb([0, "<f8", [2], bytes(17)])],
    "nothing in the place of bytes": [msgpack.packb([0, "|u1", [2**40], None])],
    "text in the place of bytes": [msgpack.packb([0, "|u1", [2], "ab"])],
    "an array without its bytes": [msgpack.packb([0, "<f8", [2]])],
    "fewer bytes": [msgpack.packb([0, "<f8", [2]]), b"\0" * 15],
    "more bytes": [msgpack.packb([0, "<f8", [2]]), b"\0" * 17],
    "more arrays": [msgpack.packb([0, "<f8", [2]]), b"\0" * 16, b""],
    "objects as bytes": [msgpack.packb([0, "|O", [1]]), b"\0" * 8],
    "another dtype": [msgpack.packb([0, "<c16", [1]]), b"\0" * 16],
    "a big-endian dtype": [msgpack.packb([0, ">f8", [1]]), b"\0" * 8],
    "a structured dtype": [msgpack.packb([0, [["x", "<f8"]], [1]]), b"\0" * 8],
    "a negative axis": [msgpack.packb([0, "<f8", [-1]]), b""],
    "a huge axis": [msgpack.packb([0, "<f8", [2**62, 0]]), b""],
    "axes that are no list": [msgpack.packb([0, "<f8", 1]), b"\0" * 8],
    "an axis that is a float": [msgpack.packb([0, "<f8", [1.0]]), b"\0" * 8],
    "many axes": [msgpack.packb([0, "<f8", [1] * 65]), b"\0" * 8],
    "objects of another number": [msgpack.packb([1, [2], [0]])],
    "no objects along a huge axis": [msgpack.packb([1, [2**62, 0], []])],
    "objects that are no list": [msgpack.packb([1, [1], "x"])],
    "a scalar of text": [msgpack.packb([2, "<f8", "1"])],
    "a scalar out of range": [msgpack.packb([2, "|u1", 256])],
    "a scalar of a list": [msgpack.packb([2, "<f8", [3]])],
    "two values for a tag": [msgpack.packb([2, "<f8"])],
}


@pytest.mark.parametrize("frames", BAD.values(), ids=BAD.keys())
def test_what_is_refused(frames):
    with pytest.raises(InvalidArgument, match="message: expected"):
        decode(frames)


@given(st.lists(st.binary(max_size=60), max_size=4))
def test_random_frames(frames):
    try:
        message = decode(frames)
    except InvalidArgument:
        return
    encode(message)


@given(messages, st.data())
def test_changed_frames(message, data):
    frames = [bytearray(frame) for frame in encode(message)]
    frame = data.draw(st.sampled_from(frames))
    if frame:
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(InvalidArgument):
        decode([bytes(frame) for frame in frames])
