"""Compiled clipping and rescaling, beside numpy's."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from gymcore_ext.wrappers.intervals import Clip, Shrink

FLOATS = (np.float32, np.float64)
SHAPES = [(1,), (64, 2), (3, 4, 5), (33000,), (0, 2)]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("uniform", [False, True])
def test_numbers_equal_numpys(shape: Any, dtype: Any, uniform: bool) -> None:
    rng = np.random.default_rng(0)
    low = np.full(shape, -0.5) if uniform else rng.normal(size=shape)
    width = np.full(shape, 0.7) if uniform else rng.exponential(size=shape)
    low, high = low.astype(dtype), (low + width).astype(dtype)
    x = (2 * rng.normal(size=shape)).astype(dtype)
    before = x.copy()
    for function, want in ((Clip, np.clip(x, low, high)), (Shrink, (x - low) / high)):
        got = function(low, high)(x)
        assert got.dtype == dtype and got.flags.owndata and got.flags.writeable
        np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(x, before)


@settings(deadline=None, max_examples=60)
@given(
    x=arrays.arrays(st.sampled_from(FLOATS), st.integers(1, 40), elements=st.floats(width=32)),
    dtype=st.sampled_from(FLOATS),
)
def test_any_numbers_equal_numpys(x: Any, dtype: Any) -> None:
    low, high = np.full(x.shape, -1, dtype), np.arange(x.size, dtype=dtype)
    np.testing.assert_array_equal(Clip(low, high)(x), np.clip(x, low, high))
    assert Clip(low, high)(x).dtype == np.clip(x, low, high).dtype
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(Shrink(low, high)(x), (x - low) / high)


@pytest.mark.parametrize(
    "x",
    [
        3,
        [[9, -9]] * 3,
        np.float64(0.5),
        np.array([[3, -3]]),
        np.array([5.0, -5.0]),
        np.asfortranarray(np.full((3, 2), 9, np.float32)),
        np.full((3, 4), 9, np.float32)[:, ::2],
        np.full((7, 3, 2), 9, np.float32),
        np.full((3, 2), 9, ">f4"),
    ],
)
def test_what_has_no_loop_is_left_to_numpy(x: Any) -> None:
    low, high = np.float32([[-1, -2]] * 3), np.float32([[1, 2]] * 3)
    for function, want in ((Clip, np.clip(x, low, high)), (Shrink, np.subtract(x, low) / high)):
        got = function(low, high)(x)
        assert type(got) is type(want) and got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


def test_bounds_are_copies_that_nobody_changes() -> None:
    low, high = np.zeros(2), np.ones(2)
    clip = Clip(low, high)
    high[:] = 0
    assert clip(np.array([9.0, 9.0])).tolist() == [1, 1]
    with pytest.raises(ValueError, match="read-only"):
        clip.second[:] = 3
    with pytest.raises(ValueError, match=r"the arrays differ: float64 \(2,\) and float64 \(3,\)"):
        Clip(np.zeros(2), np.zeros(3))
    again = pickle.loads(pickle.dumps(clip))
    assert again(np.array([-9.0, 9.0])).tolist() == [0, 1]
