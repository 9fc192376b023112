"""Compiled returns against the same arithmetic by NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from gymcore_ext.wrappers.return_stats import ReturnStats


@pytest.mark.parametrize("n", [1, 2, 7, 8, 64, 200])
@pytest.mark.parametrize("mode", ["next", "same", "disabled"])
def test_equals_numpy(n, mode):
    rng = np.random.default_rng(n)
    stats = ReturnStats(n, mode == "next", mode == "same")
    totals, ended = np.zeros(n, np.float32), np.zeros(n, np.bool_)
    mean, var, count = np.float64(0), np.float64(1), 1e-4
    got_mean, got_var, got_count = mean, var, count
    for step in range(40):
        rewards = rng.normal(size=n) * 5
        terminated, truncated = rng.random((2, n)) < 0.1
        update = step % 7 != 3
        active = ~ended if mode == "next" else np.ones(n, np.bool_)
        kept = totals[active] * 0.9 * (1 - terminated[active])
        totals[active] = kept + rewards[active]
        if update and active.any():
            x = totals[active]
            delta, total = np.mean(x) - mean, count + len(x)
            squares = var * count + np.var(x) * np.float32(len(x))
            squares = squares + np.square(delta) * count * len(x) / total
            mean, var, count = mean + delta * len(x) / total, squares / total, total
        ended = terminated | truncated
        if mode == "same":
            totals[ended] = 0
        given = rewards.copy()
        scaled, got_mean, got_var, added = stats.step(
            rewards, terminated, truncated, got_mean, got_var, got_count, 0.9, 1e-8, update
        )
        got_count += added
        assert (got_mean, got_var, got_count) == (mean, var, count)
        np.testing.assert_array_equal(scaled, rewards / np.sqrt(var + 1e-8))
        np.testing.assert_array_equal(stats.accumulated, totals)
        np.testing.assert_array_equal(rewards, given)


def test_takes_what_it_can_convert_and_names_what_it_cannot():
    stats, no = ReturnStats(2, True, False), np.zeros(2, np.bool_)
    rest = (0.0, 1.0, 1.0, 0.9, 1e-8, True)
    scaled, *_ = stats.step([1, 2], [False, 0], no, *rest)
    assert scaled.dtype == np.float64
    stats.step(np.ones(4, np.float32)[::2], no, no, *rest)
    for wrong in (np.zeros(3), np.zeros((2, 1)), np.float64(1)):
        with pytest.raises(ValueError, match=r"rewards: expected shape \(2,\), got \("):
            stats.step(wrong, no, no, *rest)
    with pytest.raises(ValueError, match="truncated: expected shape"):
        stats.step(np.zeros(2), no, no[:1], *rest)
    np.testing.assert_array_equal(stats.accumulated, np.float32([1.9, 2.8]))


def test_resets_some():
    stats, no = ReturnStats(3, True, False), np.zeros(3, np.bool_)
    rest = (0.0, 1.0, 1.0, 1.0, 1e-8, True)
    stats.step(np.array([1.0, 2.0, 3.0]), ~no, no, *rest)
    stats.reset(np.array([True, False, False]))
    stats.step(np.array([1.0, 1.0, 1.0]), no, no, *rest)
    assert stats.accumulated.tolist() == [1, 2, 3]  # lanes 1 and 2 were only reset
    stats.end(np.array([False, False, True]))
    stats.step(np.array([1.0, 1.0, 1.0]), no, no, *rest)
    assert stats.accumulated.tolist() == [2, 3, 3]
    stats.reset(None)
    assert stats.accumulated.tolist() == [0, 0, 0]
