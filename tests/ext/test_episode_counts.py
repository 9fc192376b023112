"""Compiled counts of episodes against values worked out by hand."""

from __future__ import annotations

import copy
import pickle
from collections import deque

import numpy as np
import pytest

from gymcore_ext.wrappers.episode_counts import EpisodeCounts

NO = np.array([False, False])
FIRST = np.array([True, False])
REWARDS = np.array([1.0, 2.0])


def shown(found):
    return [found[0][key].tolist() for key in "rlt"] + [found[1].tolist()]


@pytest.mark.parametrize("next_step", [False, True])
@pytest.mark.parametrize("same_step", [False, True])
def test_counts(next_step, same_step):
    counts = EpisodeCounts(2, next_step, same_step)
    counts.reset(None, 1.0)
    assert counts.step(REWARDS, NO, NO, 2.0) is None
    found = counts.step(REWARDS, FIRST, FIRST, 3.0000004)
    assert shown(found) == [[2, 0], [2, 0], [2, 0], [True, False]]
    assert [found[0][key].dtype for key in "rlt"] == [np.float64, np.int64, np.float64]
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
    assert [each[0]["r"][0] for each in kept] == list(range(1, 10))
    assert [each[0]["t"][0] for each in kept] == list(range(9))


def test_names_a_wrong_array():
    counts = EpisodeCounts(2, False, False)
    with pytest.raises(ValueError, match=r"rewards: expected shape \(2,\), got \(3,\)"):
        counts.step(np.zeros(3), NO, NO, 0.0)
    with pytest.raises(ValueError, match="terminated: expected shape"):
        counts.step(REWARDS, np.zeros((2, 2), np.bool_), NO, 0.0)
    assert counts.lengths.tolist() == [0, 0]


@pytest.mark.parametrize("most", [0, 1, 3, 100, 5000, None])
def test_queues(most):
    counts = EpisodeCounts(2, False, True, most)
    counts.reset(None, 0.0)
    expected: deque[float] = deque(maxlen=most)
    held = None
    for k in range(5000):
        counts.step(np.array([k, -k]), np.array([k % 3 > 0, k % 2 > 0]), NO, 0.5)
        if k % 3 or k % 2:
            continue
        if k == 600:
            held = counts.get_queue("r")
        if k == 1200:
            held = None
        if held is not None:
            assert list(held)[-1:] == list(counts.get_queue("r"))[-1:]
    again = EpisodeCounts(2, False, True, most)
    again.reset(None, 0.0)
    for k in range(5000):
        found = again.step(np.array([k, -k]), np.array([k % 3 > 0, k % 2 > 0]), NO, 0.5)
        if found is not None:
            expected.extend(found[0]["r"][found[1]])
    assert counts.get_queue("r") == expected
    assert counts.get_queue("r").maxlen == most
    assert {type(each) for each in counts.get_queue("l")} <= {np.int64}
    assert {type(each) for each in counts.get_queue("r")} <= {np.float64}
    assert counts.episodes == again.episodes > 5000


def test_a_queue_that_is_held_is_up_to_date():
    counts = EpisodeCounts(2, False, False)
    counts.reset(None, 0.0)
    returns, lengths = counts.get_queue("r"), counts.get_queue("l")
    for k in range(3):
        counts.step(REWARDS, FIRST, NO, 1.0)
        assert len(returns) == len(lengths) == k + 1
    own: deque[np.float64] = deque(maxlen=2)
    counts.set_queue("t", own)
    counts.step(REWARDS, FIRST, NO, 1.0)
    assert list(own) == [1.0]


def test_is_copied_with_all_it_knows():
    counts = EpisodeCounts(2, True, False, 7)
    counts.reset(None, 1.0)
    counts.step(REWARDS, FIRST, NO, 2.0)
    for other in (copy.deepcopy(counts), pickle.loads(pickle.dumps(counts))):
        assert other.get_queue("r") == counts.get_queue("r")
        assert other.get_queue("r").maxlen == 7
        assert other.episodes == 1
        other.step(REWARDS, NO, NO, 3.0)
        assert other.returns.tolist() == [0, 4]
    assert counts.returns.tolist() == [1, 2]
