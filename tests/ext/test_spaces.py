"""The compiled functions for bounds of spaces."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gymcore_ext.spaces import identical, repeat

DTYPES = ["?", *"bBhHiIqQ", "e", "f", "d", "g", "F", ">f4", ">i2"]


def numbers(dtype, shape=(2, 3)):
    """Return an array in which no two adjacent bytes are equal."""
    return np.asarray(np.arange(1, 1 + np.prod(shape, dtype=int)).reshape(shape), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (0,), (2, 0)])
def test_repeat_is_numpys(dtype, shape):
    row = numbers(dtype, shape)
    for n in (0, 1, 2, 7):
        repeated = repeat(row, n)
        expected = np.repeat(row[np.newaxis], n, axis=0)
        assert repeated.dtype == expected.dtype
        assert repeated.shape == expected.shape
        assert np.array_equal(repeated, expected)
        assert repeated.flags.c_contiguous
        assert repeated.flags.writeable
        assert repeated.flags.owndata


@pytest.mark.parametrize("value", [0, 1, 255])
def test_repeat_of_equal_bytes(value):
    repeated = repeat(np.full((3, 2), value, np.uint8), 4)
    assert (repeated == value).all()
    repeated[1] = 7  # no memory is shared
    assert repeated.sum() == 6 * 7 + 18 * value


# Lengths around the size of the blocks in which rows are copied.
@pytest.mark.parametrize("length", [1, 3, 2047, 2048, 2049, 5000])
@pytest.mark.parametrize("n", [1, 2, 3, 682, 683])
def test_repeat_of_long_rows(length, n):
    row = np.arange(length, dtype=np.int64) + 1
    assert (repeat(row, n) == row).all()


def test_repeat_of_other_strides():
    row = np.arange(6.0).reshape(2, 3)
    for view in (row.T, row[::-1], row[:, ::2], np.broadcast_to(row[0], (4, 3))):
        assert np.array_equal(repeat(view, 3), np.stack([view] * 3))


def test_repeat_refuses_what_it_cannot_repeat():
    with pytest.raises(ValueError, match="negative dimensions are not allowed"):
        repeat(np.ones(2), -1)
    with pytest.raises(TypeError, match="row"):
        repeat([1.0], 2)
    for array in (np.array([None]), np.zeros(1, "i4,O")):
        with pytest.raises(TypeError, match="expected an array without Python objects, got "):
            repeat(array, 2)


def test_identical_arrays_have_one_type_shape_dtype_and_bytes():
    one = np.array([0.0, 1.0])
    assert identical(one, one)
    assert identical(one, one.copy())
    for other in (
        np.array([-0.0, 1.0]),
        one.astype(np.float32),
        one.astype(">f8"),
        np.array([0.0, 1.0, 2.0]),
        np.array([[0.0, 1.0]]),
        [0.0, 1.0],
        np.array([0.0, 5.0, 1.0])[::2],
        np.ma.array(one),
        None,
    ):
        assert not identical(one, other)
        assert not identical(other, one)


PAIRS = hnp.arrays(np.int8, (3,), elements=st.integers(0, 1))


@given(PAIRS, PAIRS)
def test_identical_is_equality_of_integers(one, other):
    assert identical(one, other) == np.array_equal(one, other)
