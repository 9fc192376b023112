"""Grey values of pictures."""

from __future__ import annotations

import numpy as np
import pytest

from gymcore_ext.wrappers.greys import grey

WEIGHTS = (0.2125, 0.7154, 0.0721)


def expected(pictures):
    red, green, blue = (pictures[..., i] * weight for i, weight in enumerate(WEIGHTS))
    return (red + green + blue).astype(np.uint8)


@pytest.mark.parametrize("shape", [(3,), (5, 3), (0, 3), (4, 6, 3), (2, 210, 160, 3), (0, 4, 6, 3)])
def test_grey_is_the_weighted_sum_rounded_down(shape):
    pictures = np.random.default_rng(1).integers(256, size=shape, dtype=np.uint8)
    before = pictures.copy()
    result = grey(pictures, *WEIGHTS)
    assert (result.shape, result.dtype) == (shape[:-1], np.uint8)
    np.testing.assert_array_equal(result, expected(pictures))
    np.testing.assert_array_equal(pictures, before)


def test_strides_do_not_matter():
    pictures = np.random.default_rng(2).integers(256, size=(8, 6, 3), dtype=np.uint8)
    pictures = pictures[::2, ::-1, ::-1]
    np.testing.assert_array_equal(grey(pictures, *WEIGHTS), expected(pictures))


def test_ends_of_the_range():
    assert grey(np.full((1, 3), 255, np.uint8), *WEIGHTS).tolist() == [255]
    assert grey(np.full((1, 3), 255, np.uint8), 0, 0, 0).tolist() == [0]
    assert grey(np.full((1, 3), 255, np.uint8), 0, 1, 0).tolist() == [255]


@pytest.mark.parametrize(
    "pictures",
    [np.zeros((2, 4), np.uint8), np.zeros((2, 3)), np.uint8(3), np.zeros((2, 3), np.int8)],
)
def test_other_arrays_are_refused(pictures):
    with pytest.raises(ValueError, match=r"pictures: expected \[\.\.\., 3\] uint8"):
        grey(pictures, *WEIGHTS)


@pytest.mark.parametrize("weights", [(-0.1, 0.5, 0.5), (0.5, 0.5, 0.5), (np.nan, 0, 0)])
def test_weights_that_leave_the_range_are_refused(weights):
    with pytest.raises(ValueError, match="weights: expected three from 0 to 1 together"):
        grey(np.zeros((1, 3), np.uint8), *weights)
