"""The compiled functions for bounds of spaces, and for seeds of subspaces."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gymcore_ext.spaces import differing, limits, repeat, stack, subseeds

INF = np.inf
DTYPES = ["?", *"bBhHiIqQ", "e", "f", "d", "g", "F", ">f4", ">i2"]
NUMBERS = [*"bBhHiIqQ", "f", "d"]


def numbers(dtype, shape=(2, 3)):
    """Return an array that has no two equal bytes next to each other."""
    return np.asarray(np.arange(1, 1 + np.prod(shape, dtype=int)).reshape(shape), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (0,), (2, 0)])
@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_repeat_is_numpys(dtype, shape, n):
    row = numbers(dtype, shape)
    repeated = repeat(row, n)
    expected = np.repeat(row[np.newaxis], n, axis=0)
    assert repeated.dtype == expected.dtype
    assert repeated.shape == expected.shape
    assert repeated.tobytes() == expected.tobytes()
    assert repeated.flags.c_contiguous
    assert repeated.flags.writeable
    assert repeated.flags.owndata


@pytest.mark.parametrize("value", [0, 1, 255])
def test_repeat_of_equal_bytes(value):
    repeated = repeat(np.full((3, 2), value, np.uint8), 4)
    assert (repeated == value).all()
    repeated[1] = 7  # nothing is shared
    assert repeated.sum() == 6 * 7 + 18 * value


# Around the size of the blocks in which rows are copied.
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
    with pytest.raises(TypeError, match=r"row: expected an array of numbers, got list"):
        repeat([1.0], 2)
    for array in (np.array([None]), np.array(["a"]), np.zeros(2, "M8[s]"), np.zeros(1, "i4,O")):
        with pytest.raises(TypeError, match="row: expected an array of numbers, got "):
            repeat(array, 2)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (2, 3), (0,)])
def test_stack_is_numpys(dtype, shape):
    arrays = [np.asarray(numbers(dtype, shape) + np.ones((), dtype)) for _ in range(5)]
    stacked = stack(tuple(arrays))
    expected = np.stack(arrays)
    assert stacked.dtype == arrays[0].dtype
    assert stacked.shape == expected.shape
    assert np.array_equal(stacked, expected)
    assert stacked.flags.owndata
    assert stacked.flags.writeable


@pytest.mark.parametrize("size", [1023, 1024, 1025, 1087, 1088, 7056, (4 << 20) - 1, 4 << 20])
@pytest.mark.parametrize("offset", [0, 1, 16])
def test_stack_of_rows_of_every_size_that_is_copied_in_its_own_way(size, offset):
    """Rows of kilobytes are not copied by memcpy (engine/copy.h)."""
    random = np.random.default_rng(size)
    memory = random.integers(0, 256, size + offset, np.uint8)
    stacked = stack([memory[offset:], memory[:size]])
    assert stacked[0].tobytes() == memory[offset:].tobytes()
    assert stacked[1].tobytes() == memory[:size].tobytes()


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
    with pytest.raises(TypeError, match=r"arrays\[2\]: expected an array of numbers, got int"):
        stack([one, one, 3])


@pytest.mark.parametrize("dtype", NUMBERS)
def test_limits_of_numbers(dtype):
    low = numbers(dtype)
    below, above = limits(low, low + np.ones((), dtype))
    for bounded in (below, above):
        assert bounded.dtype == np.bool_
        assert bounded.shape == low.shape
        assert bounded.all()
    bad = low.copy()
    bad[1, 2] -= 1
    assert limits(low, bad) is None


@pytest.mark.parametrize("dtype", ["f", "d"])
def test_limits_of_infinities(dtype):
    low = np.array([-INF, 0, -INF, INF, -INF], dtype)
    high = np.array([INF, INF, 0, INF, -INF], dtype)
    below, above = limits(low, high)
    assert below.tolist() == [False, True, False, True, False]
    assert above.tolist() == [False, False, True, False, True]
    for side in (0, 1):
        bounds = [low.copy(), high.copy()]
        bounds[side][2] = np.nan
        assert limits(*bounds) is None


def test_limits_of_the_ends_of_the_ranges():
    for dtype in (np.int64, np.uint64, np.int8, np.uint8):
        ends = np.iinfo(dtype)
        low, high = np.array([ends.min], dtype), np.array([ends.max], dtype)
        assert limits(low, high) is not None
        assert limits(high, low) is None


def test_limits_of_views():
    low = np.arange(6.0).reshape(2, 3)
    high = low + np.array([[0], [1]])
    assert limits(low.T, high.T)[0].shape == (3, 2)
    assert limits(high[1:], low[1:]) is None


@pytest.mark.parametrize(
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
def test_limits_leaves_what_is_unusual_to_others(low, high):
    assert limits(low, high) is None


def test_differing_names_the_arrays_with_other_bytes():
    reference = np.array([0.0, 1.0])
    arrays = [
        reference,
        reference.copy(),
        np.array([-0.0, 1.0]),
        reference.astype(np.float32),
        reference.astype(">f8"),
        np.array([0.0, 1.0, 2.0]),
        np.array([[0.0, 1.0]]),
        [0.0, 1.0],
        np.array([0.0, 5.0, 1.0])[::2],
        np.ma.array(reference),
    ]
    assert differing(reference, arrays) == [2, 3, 4, 5, 6, 7, 9]
    assert differing(reference, []) == []
    assert differing(reference, (reference, None)) == [1]


@given(
    hnp.arrays(np.int8, (3,), elements=st.integers(0, 1)),
    st.lists(hnp.arrays(np.int8, (3,), elements=st.integers(0, 1)), max_size=8),
)
def test_differing_is_a_comparison_each(reference, arrays):
    expected = [i for i, array in enumerate(arrays) if not np.array_equal(array, reference)]
    assert differing(reference, arrays) == expected


@given(
    st.one_of(st.integers(0, 2**33), st.integers(0, 2**200), st.just(2**2048 + 5)),
    st.integers(0, 9),
)
def test_subseeds_are_numpys(seed, count):
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    assert subseeds(seed, count) == rng.integers(np.iinfo(np.int32).max, size=count).tolist()


@pytest.mark.parametrize("power", [31, 32, 63, 64, 96, 128, 2048])
@pytest.mark.parametrize("offset", [-1, 0, 1])
def test_subseeds_around_whole_words(power, offset):
    rng = np.random.default_rng(2**power + offset)
    assert subseeds(2**power + offset, 3) == rng.integers(2**31 - 1, size=3).tolist()
