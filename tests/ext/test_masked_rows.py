"""Rows by a mask, against NumPy's boolean indices."""

from __future__ import annotations

import numpy as np
import pytest

from gymcore_ext.python_envs.masked_rows import choose, put, take

BATCHES = {
    "float32": np.arange(24, dtype=np.float32).reshape(6, 4),
    "one number": np.arange(6.0),
    "pictures": np.arange(6 * 12, dtype=np.uint8).reshape(6, 2, 2, 3),
    "no columns": np.zeros((6, 0)),
    "strided": np.arange(48.0).reshape(6, 8)[:, ::2],
    "fortran": np.asfortranarray(np.arange(24.0).reshape(6, 4)),
    "swapped": np.arange(24, dtype=">i4").reshape(6, 4),
    "objects": np.array(["a", None, 3, "b", 4.5, ()], dtype=object),
    "text": np.array(["a", "bc", "", "d", "ef", "g"]),
    "bool": np.array([True, False, True, True, False, True]),
    "no rows": np.zeros((0, 3)),
}
MASKS = ([False] * 6, [True] * 6, [True, False, False, True, True, False])


@pytest.mark.parametrize("flags", MASKS, ids=["none", "all", "some"])
@pytest.mark.parametrize("batch", BATCHES.values(), ids=BATCHES)
def test_as_numpy_does(batch, flags):
    mask = np.array(flags)[: len(batch)]
    before = batch.copy()
    other = batch[::-1].copy()
    chosen = choose(mask, batch, other)
    expected = other.copy()
    expected[mask] = batch[mask]
    for ours, theirs in [
        (chosen, expected),
        (take(batch, mask), batch[mask]),
        (put(other, mask, batch[mask]), expected),
    ]:
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        np.testing.assert_array_equal(ours, theirs)
        assert not np.shares_memory(ours, batch) and not np.shares_memory(ours, other)
    zeros = np.zeros_like(batch)
    zeros[mask] = batch[mask]
    np.testing.assert_array_equal(choose(mask, batch, None), zeros)
    np.testing.assert_array_equal(batch, before)
    np.testing.assert_array_equal(other, before[::-1])


def test_dtypes_that_differ_are_converted_as_numpy_does():
    mask = np.array([True, False])
    ours = put(np.zeros((2, 1), np.float32), mask, np.array([[7]]))
    assert ours.dtype == np.float32 and ours.tolist() == [[7.0], [0.0]]
    chosen = choose(mask, np.array([1.5, 2.5]), np.array([3, 4]))
    assert chosen.dtype == np.int64 and chosen.tolist() == [1, 4]


def test_masks_that_do_not_fit_are_errors():
    batch = np.zeros((3, 2))
    for call in (
        lambda: take(batch, np.array([True, False])),
        lambda: choose(np.array([True]), batch, None),
        lambda: put(batch, np.array([True, False]), np.zeros((1, 2))),
    ):
        with pytest.raises(IndexError):
            call()
    with pytest.raises(ValueError, match=r"rows: expected 2, one for each flag of the mask, got 1"):
        put(batch, np.array([True, True, False]), np.zeros((1, 2)))
