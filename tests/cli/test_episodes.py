from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gymcore.cli import episodes
from gymcore.cli.episodes import EpisodeStatistics


def walk_lane_by_lane(rewards, terminated, truncated, next_step):
    """Count in the simplest way: one lane and one step at a time."""
    found, reset_steps = [], 0
    for lane in range(rewards.shape[1]):
        total, length, owes_reset = 0.0, 0, False
        for t in range(len(rewards)):
            if next_step and owes_reset:
                owes_reset = False
                reset_steps += 1
                continue
            total += rewards[t, lane]
            length += 1
            if terminated[t, lane] or truncated[t, lane]:
                found.append((total, length))
                total, length, owes_reset = 0.0, 0, True
    return sorted(found), reset_steps


def random_run(seed, steps, lanes, share, next_step):
    generator = np.random.default_rng(seed)
    rewards = generator.integers(-3, 4, (steps, lanes)).astype(np.float64)
    terminated = generator.random((steps, lanes)) < share
    truncated = generator.random((steps, lanes)) < share / 2
    if next_step:
        for t in range(1, steps):
            resets = terminated[t - 1] | truncated[t - 1]
            rewards[t, resets] = 0.0
            terminated[t, resets] = truncated[t, resets] = False
    return rewards, terminated, truncated


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    steps=st.integers(1, 40),
    lanes=st.integers(1, 6),
    share=st.sampled_from([0.0, 0.03, 0.3, 1.0]),
    next_step=st.booleans(),
    blocks=st.lists(st.integers(1, 12), min_size=1, max_size=5),
)
def test_blocks_of_any_size_give_what_a_walk_along_each_lane_gives(
    seed, steps, lanes, share, next_step, blocks
):
    rewards, terminated, truncated = random_run(seed, steps, lanes, share, next_step)
    counted = EpisodeStatistics(lanes, resets_take_a_step=next_step)
    lo = turn = 0
    while lo < steps:
        hi = lo + blocks[turn % len(blocks)]
        counted.add(rewards[lo:hi], terminated[lo:hi], truncated[lo:hi])
        lo, turn = hi, turn + 1
    expected, reset_steps = walk_lane_by_lane(rewards, terminated, truncated, next_step)
    summary = counted.summary()
    assert summary["episodes"] == len(expected)
    assert summary["reset_steps"] == reset_steps
    assert summary["terminated"] == np.count_nonzero(terminated)
    assert summary["truncated"] == np.count_nonzero(truncated)
    if expected:
        for k, name in enumerate(("return", "length")):
            values = [each[k] for each in expected]
            assert summary[name]["mean"] == pytest.approx(np.mean(values), rel=1e-12, abs=1e-12)
            assert summary[name]["median"] == np.median(values)
            assert summary[name]["min"] == min(values)
            assert summary[name]["max"] == max(values)
    else:
        assert "return" not in summary and "length" not in summary


def test_a_hand_made_run_in_same_step_mode():
    counted = EpisodeStatistics(2, resets_take_a_step=False)
    counted.add(
        np.array([[1.0, 10.0], [2.0, 20.0], [4.0, 40.0]]),
        np.array([[False, True], [False, False], [True, False]]),
        np.array([[False, False], [False, True], [False, False]]),
    )
    assert counted.sampled.tolist() == [[2.0, 4.0, 6.0], [10.0, 20.0, 7.0]]
    # Lane 0: 1 + 2 + 4 over 3 steps. Lane 1: 10 over 1 step, 20 over 1 step, 40 still going.
    assert counted.summary() == {
        "episodes": 3,
        "terminated": 2,
        "truncated": 1,
        "reset_steps": 0,
        "medians_exact": True,
        "return": {"mean": 37 / 3, "median": 10.0, "min": 7.0, "max": 20.0},
        "length": {"mean": 5 / 3, "median": 1.0, "min": 1.0, "max": 3.0},
    }


def test_reset_steps_belong_to_no_episode_even_across_blocks():
    counted = EpisodeStatistics(1, resets_take_a_step=True)
    ended = np.array([[False], [True]])
    never = np.zeros((2, 1), bool)
    counted.add(np.array([[1.0], [1.0]]), ended, never)  # an episode of two steps
    counted.add(np.array([[0.0], [1.0]]), ended, never)  # its reset, then one of a single step
    summary = counted.summary()
    assert (summary["episodes"], summary["reset_steps"]) == (2, 1)
    assert summary["length"] == {"mean": 1.5, "median": 1.5, "min": 1.0, "max": 2.0}
    assert summary["return"] == {"mean": 1.5, "median": 1.5, "min": 1.0, "max": 2.0}


def test_an_empty_block_changes_nothing():
    counted = EpisodeStatistics(3, resets_take_a_step=True)
    none = np.zeros((0, 3), bool)
    counted.add(np.zeros((0, 3)), none, none)
    assert counted.summary()["episodes"] == 0


def test_memory_stays_bounded_and_the_median_then_comes_from_a_sample(monkeypatch):
    monkeypatch.setattr(episodes, "SAMPLE_SIZE", 2000)
    counted = EpisodeStatistics(50, resets_take_a_step=False)
    generator = np.random.default_rng(0)
    ends = np.ones((200, 50), bool)
    returns = generator.normal(5.0, 1.0, (4, 200, 50))
    for block in returns:
        counted.add(block, ends, np.zeros_like(ends))
    summary = counted.summary()
    assert summary["episodes"] == 40_000
    assert summary["medians_exact"] is False
    assert counted._sampled.shape[1] == 2000
    # The mean is exact; the median of 2000 samples of 40,000 normal draws has a deviation of 0.028.
    assert summary["return"]["mean"] == pytest.approx(returns.mean(), rel=1e-12)
    assert abs(summary["return"]["median"] - np.median(returns)) < 0.15
    assert summary["return"]["max"] == returns.max()
    # The sample contains early and late episodes.
    assert np.isin(counted._sampled[0], returns[3]).mean() == pytest.approx(0.25, abs=0.06)


def test_the_block_is_read_only_to_the_counter():
    rewards, terminated, truncated = random_run(1, 20, 3, 0.3, False)
    copies = rewards.copy(), terminated.copy(), truncated.copy()
    for array in (rewards, terminated, truncated):
        array.flags.writeable = False
    EpisodeStatistics(3, resets_take_a_step=False).add(rewards, terminated, truncated)
    for array, copy in zip((rewards, terminated, truncated), copies, strict=True):
        np.testing.assert_array_equal(array, copy)
