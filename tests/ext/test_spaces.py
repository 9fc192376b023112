"""The compiled functions for bounds of spaces."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gymcore_ext.spaces import finite_sides, identical, repeat, stack
from tests.for_each import for_each

INF = np.inf
DTYPES = ["?", *"bBhHiIqQ", "e", "f", "d", "g", "F", ">f4", ">i2"]
CHECKED = [np.int8, np.int32, np.int64, np.uint8, np.float32, np.float64]


def numbers(dtype, shape=(2, 3)):
    """Return an array in which no two adjacent bytes are equal."""
    return np.asarray(np.arange(1, 1 + np.prod(shape, dtype=int)).reshape(shape), dtype)


@for_each("dtype", DTYPES)
@for_each("shape", [(), (1,), (2, 3), (0,), (2, 0)])
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
@for_each("length", [1, 3, 2047, 2048, 2049, 5000])
@for_each("n", [1, 2, 3, 682, 683])
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


@for_each("dtype", DTYPES)
@for_each("shape", [(), (2, 3), (0,)])
def test_stack_is_numpys(dtype, shape):
    arrays = [np.asarray(numbers(dtype, shape) + np.ones((), dtype), dtype) for _ in range(5)]
    stacked = stack(arrays)
    assert stacked.dtype == arrays[0].dtype
    assert stacked.shape == (5, *shape)
    assert np.array_equal(stacked, np.stack(arrays))
    assert stacked.flags.owndata
    assert stacked.flags.writeable


def test_stack_of_other_strides():
    array = np.arange(6.0).reshape(2, 3)
    assert np.array_equal(stack([array.T, array.T.copy()]), np.stack([array.T, array.T]))


def test_stack_names_the_array_that_does_not_fit():
    one = np.ones(2, np.float32)
    with pytest.raises(ValueError, match="arrays: expected at least one array, got none"):
        stack([])
    message = r"arrays\[1\]: expected float32 array of shape \(2,\), got "
    with pytest.raises(ValueError, match=message + r"float32 \(3,\)"):
        stack([one, np.ones(3, np.float32)])
    with pytest.raises(ValueError, match=message + r"float64 \(2,\)"):
        stack([one, np.ones(2)])
    for wrong in (3, None, np.array([None])):
        with pytest.raises(TypeError):
            stack([one, one, wrong])


@for_each("dtype", CHECKED)
def test_sides_of_numbers(dtype):
    low = numbers(dtype)
    for side in finite_sides(low, low + np.ones((), dtype)):
        assert side.dtype == np.bool_
        assert side.shape == low.shape
        assert side.all()
    bad = low.copy()
    bad[1, 2] -= 1
    assert finite_sides(low, bad) is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sides_of_infinities(dtype):
    low = np.array([-INF, 0, -INF, INF, -INF], dtype)
    high = np.array([INF, INF, 0, INF, -INF], dtype)
    below, above = finite_sides(low, high)
    assert below.tolist() == [False, True, False, True, False]
    assert above.tolist() == [False, False, True, False, True]
    for side in (0, 1):
        bounds = [low.copy(), high.copy()]
        bounds[side][2] = np.nan
        assert finite_sides(*bounds) is None


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8])
def test_sides_of_the_ends_of_the_ranges(dtype):
    ends = np.iinfo(dtype)
    low, high = np.array([ends.min], dtype), np.array([ends.max], dtype)
    assert [side.tolist() for side in finite_sides(low, high)] == [[True], [True]]
    assert finite_sides(high, low) is None


def test_sides_of_views():
    low = np.arange(6.0).reshape(2, 3)
    high = low + np.array([[0], [1]])
    assert finite_sides(low.T, high.T)[0].shape == (3, 2)
    assert finite_sides(high[1:], low[1:]) is None


@for_each(
    ("low", "high"),
    [
        (np.zeros(2), np.ones(3)),
        (np.zeros(2), np.ones(2, np.float32)),
        (np.zeros((2, 1)), np.ones(2)),
        (np.zeros(2, np.float16), np.ones(2, np.float16)),
        (np.zeros(2, ">f4"), np.ones(2, ">f4")),
        (np.zeros(2, complex), np.ones(2, complex)),
        (np.ma.zeros(2), np.ma.ones(2)),
        ([0.0], [1.0]),
        (0.0, 1.0),
    ],
)
def test_sides_of_what_is_unusual_are_left_to_python(low, high):
    assert finite_sides(low, high) is None


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
