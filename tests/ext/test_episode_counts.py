"""Compiled counts of episodes against values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from gymcore_ext.episode_counts import EpisodeCounts

NO = np.array([False, False])
FIRST = np.array([True, False])
REWARDS = np.array([1.0, 2.0])


def shown(found):
    return None if found is None else [each.tolist() for each in found]


@pytest.mark.parametrize("next_step", [False, True])
@pytest.mark.parametrize("same_step", [False, True])
def test_counts(next_step, same_step):
    counts = EpisodeCounts(2, next_step, same_step)
    counts.reset(None, 1.0)
    assert counts.step(REWARDS, NO, NO, 2.0) is None
    found = counts.step(REWARDS, FIRST, FIRST, 3.0000004)
    assert shown(found) == [[2, 0], [2, 0], [2, 0], [True, False]]
    assert [each.dtype for each in found] == [np.float64, np.int64, np.float64, np.bool_]
    assert counts.returns.tolist() == [0 if same_step else 2, 4]
    found = counts.step(REWARDS, NO, FIRST, 5.0)
    expected = {
        (False, False): [[3, 0], [3, 0], [4, 0], [True, False]],  # nothing has reset the lane
        (True, False): [[0, 0], [0, 0], [0, 0], [True, False]],
        (False, True): [[1, 0], [1, 0], [2.0, 0], [True, False]],
        (True, True): [[0, 0], [0, 0], [0, 0], [True, False]],
    }[next_step, same_step]
    assert shown(found) == expected


def test_resets_some():
    counts = EpisodeCounts(2, True, False)
    counts.reset(None, 1.0)
    counts.step(REWARDS, np.array([True, True]), NO, 2.0)
    counts.reset(FIRST, 7.0)
    assert counts.returns.tolist() == [0, 2]
    assert counts.starts.tolist() == [7, 1]
    counts.step(REWARDS, NO, NO, 8.0)
    assert counts.returns.tolist() == [1, 0]
    assert counts.lengths.tolist() == [1, 0]
    counts.end(FIRST)
    counts.step(REWARDS, NO, NO, 9.0)
    assert counts.returns.tolist() == [0, 2]


def test_what_is_kept_never_changes():
    counts = EpisodeCounts(2, False, False)
    counts.reset(None, 0.0)
    kept = [counts.step(REWARDS, FIRST, NO, float(k)) for k in range(9)]
    assert [each[0][0] for each in kept] == list(range(1, 10))
    assert [each[2][0] for each in kept] == list(range(9))


def test_names_a_wrong_array():
    counts = EpisodeCounts(2, False, False)
    with pytest.raises(ValueError, match=r"rewards: expected shape \(2,\), got \(3,\)"):
        counts.step(np.zeros(3), NO, NO, 0.0)
    with pytest.raises(ValueError, match="terminated: expected shape"):
        counts.step(REWARDS, np.zeros((2, 2), np.bool_), NO, 0.0)
    assert counts.lengths.tolist() == [0, 0]
