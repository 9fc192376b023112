"""Comparison of arrays, for tests that compare many thousands of small ones."""

from __future__ import annotations

from typing import Any

import numpy as np


def assert_equal_arrays(ours: Any, theirs: Any, where: str = "") -> None:
    """Like `np.testing.assert_array_equal`, but ten times as fast for arrays of the same bytes."""
    one, other = np.asarray(ours), np.asarray(theirs)
    if one.dtype != other.dtype or one.shape != other.shape or one.tobytes() != other.tobytes():
        np.testing.assert_array_equal(one, other, err_msg=where)
