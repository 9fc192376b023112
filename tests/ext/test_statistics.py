"""The compiled statistics of batches, compared with NumPy and with values computed by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gymcore_ext.wrappers import statistics

NO = np.array([False, False])
FIRST = np.array([True, False])
REWARDS = np.array([1.0, 2.0])

# --- episodes -------------------------------------------------------------------------------------


def counts(start: float) -> tuple[Any, ...]:
    queues: tuple[list[Any], ...] = ([], [], [])
    return np.zeros(2), np.zeros(2, np.int64), np.full(2, start), np.zeros(2, np.bool_), queues


def shown(episodes: Any) -> Any:
    return [episodes[key].tolist() for key in "rlt"]


@pytest.mark.parametrize("next_step", [False, True])
@pytest.mark.parametrize("same_step", [False, True])
def test_episodes(next_step: bool, same_step: bool) -> None:
    state, modes = counts(1.0), (next_step, same_step)
    assert statistics.count_episodes(*state, REWARDS, NO, NO, 2.0, *modes) == (0, None)
    count, first = statistics.count_episodes(*state, REWARDS, FIRST, FIRST, 3.0000004, *modes)
    assert (count, shown(first)) == (1, [[2, 0], [2, 0], [2, 0]])
    assert first is not None
    assert [first[key].dtype for key in "rlt"] == [np.float64, np.int64, np.float64]
    assert state[0].tolist() == [0 if same_step else 2, 4]
    assert state[3].tolist() == [True, False]
    count, second = statistics.count_episodes(*state, REWARDS, NO, FIRST, 5.0, *modes)
    expected = {
        (False, False): [[3, 0], [3, 0], [4, 0]],  # the lane was not reset
        (True, False): [[0, 0], [0, 0], [0, 0]],
        (False, True): [[1, 0], [1, 0], [2.0, 0]],
        (True, True): [[0, 0], [0, 0], [0, 0]],
    }[modes]
    assert (count, shown(second)) == (1, expected)
    assert shown(first) == [[2, 0], [2, 0], [2, 0]]
    assert state[4] == tuple([2, each[0]] for each in expected)
    assert [type(queue[0]) for queue in state[4]] == [np.float64, np.int64, np.float64]


def test_a_wrong_array_is_named() -> None:
    rest = REWARDS, NO, NO, 0.0, True, False
    with pytest.raises(ValueError, match=r"rewards: expected shape \(2,\), got \(3,\)"):
        statistics.count_episodes(*counts(0.0), np.zeros(3), *rest[1:])
    with pytest.raises(ValueError, match="terminated: expected shape"):
        statistics.count_episodes(*counts(0.0), REWARDS, np.zeros((2, 2), np.bool_), *rest[2:])
    with pytest.raises(ValueError, match=r"episode_lengths: expected a writable contiguous array"):
        statistics.count_episodes(np.zeros(2), [0, 0], *counts(0.0)[2:], *rest)
    frozen = np.zeros(2)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match=r"episode_returns: expected a writable contiguous array"):
        statistics.count_episodes(frozen, *counts(0.0)[1:], *rest)


# --- returns --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "mode"), [(1, "next"), (2, "same"), (7, "disabled"), (64, "next"), (200, "same")]
)
def test_rewards_equal_numpy(n: int, mode: str) -> None:
    rng = np.random.default_rng(n)
    returns, ended = np.zeros(n, np.float32), np.zeros(n, np.bool_)
    expected, expected_ended = returns.copy(), ended.copy()
    moments: Any = (0.0, 1.0, 1e-4)
    mean, var, count = moments
    for step in range(40):
        rewards, update = rng.normal(size=n) * 5, step % 7 != 3
        terminated, truncated = rng.random((2, n)) < 0.1
        active = ~expected_ended if mode == "next" else np.ones(n, np.bool_)
        kept = expected[active] * np.float32(0.9) * (1 - terminated[active])
        expected[active] = kept + rewards[active]
        if update and active.any():
            mean, var = joined(expected[active].astype(float), mean, var, count)
            count += int(active.sum())
        expected_ended = terminated | truncated
        if mode == "same":
            expected[expected_ended] = 0
        given = rewards.copy()
        scaled, *moments = statistics.normalize_rewards(
            returns,
            ended,
            rewards,
            terminated,
            truncated,
            *moments,
            0.9,
            1e-8,
            update,
            mode == "next",
            mode == "same",
        )
        np.testing.assert_allclose(moments, (mean, var, count), rtol=1e-9)
        np.testing.assert_allclose(scaled, rewards / np.sqrt(var + 1e-8), rtol=1e-9)
        np.testing.assert_array_equal(returns, expected)
        np.testing.assert_array_equal(ended, expected_ended)
        np.testing.assert_array_equal(rewards, given)


def test_rewards_are_converted() -> None:
    returns = np.zeros(2, np.float32)
    rest = 0.0, 1.0, 1.0, 0.9, 1e-8, True, True, False
    for rewards in ([1, 2], np.ones(4, np.float32)[::2]):
        statistics.normalize_rewards(returns, NO.copy(), rewards, [False, 0], NO, *rest)
    np.testing.assert_allclose(returns, np.float32([1.9, 2.8]))


# --- running means and variances ------------------------------------------------------------------


def joined(x: Any, mean: Any, var: Any, count: float) -> tuple[Any, Any]:
    n = x.shape[0]
    batch_mean, batch_var = np.mean(x, axis=0), np.var(x, axis=0)
    delta, total = batch_mean - mean, count + n
    squares = var * count + batch_var * n + np.square(delta) * count * n / total
    return mean + delta * n / total, squares / total


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1,), (4,), (17,), (2, 3), (60, 30)])
def test_normalizes_like_numpy(dtype: Any, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    tolerance = 2e-5 if dtype is np.float32 else 1e-12
    mean, var = rng.normal(30, 1, shape).astype(dtype), rng.random(shape).astype(dtype) + dtype(0.5)
    for n, count in ((1, 1e-4), (7, 20.0001), (129, 3.0)):
        x = rng.normal(30, 20, (n, *shape)).astype(dtype)
        given = x.copy()
        new_mean, new_var = joined(x, mean, var, count)
        result = statistics.normalize_observations(x, mean, var, count, 1e-8, True)
        assert result is not None
        assert [each.dtype for each in result] == [np.float32, dtype, dtype]
        np.testing.assert_allclose(result[1], new_mean, rtol=tolerance)
        np.testing.assert_allclose(result[2], new_var, rtol=tolerance)
        expected = (x - new_mean) / np.sqrt(new_var + 1e-8)
        np.testing.assert_allclose(result[0], expected, rtol=1e-3, atol=1e-4)
        np.testing.assert_array_equal(x, given)
        frozen = statistics.normalize_observations(x, mean, var, count, 1e-8, False)
        assert frozen is not None
        assert frozen[1] is mean and frozen[2] is var
        np.testing.assert_array_equal(
            frozen[0], np.float32((x - mean) / np.sqrt(var + dtype(1e-8)))
        )


def test_not_finite_numbers_stay_in_their_column() -> None:
    x = np.array([[1.0, np.nan, 1.0], [2.0, 1.0, np.inf]])
    with np.errstate(invalid="ignore"):
        mean, var = joined(x, np.zeros(3), np.ones(3), 1.0)
    result = statistics.normalize_observations(x, np.zeros(3), np.ones(3), 1.0, 1e-8, True)
    assert result is not None
    np.testing.assert_allclose(result[1], mean)
    np.testing.assert_allclose(result[2], var)


@pytest.mark.parametrize(
    "x",
    [
        np.zeros((2, 3), np.float16),
        np.zeros((2, 3), np.uint8),
        np.zeros((2, 3), np.float32),
        np.zeros((3, 2)).T,
        np.zeros((2, 3), ">f8"),
        np.zeros((2, 4)),
        np.zeros((2, 3, 1)),
        np.zeros(3),
        np.zeros((0, 3)),
        [[1.0, 2.0, 3.0]],
        None,
    ],
    ids=lambda x: f"{type(x).__name__}-{getattr(x, 'dtype', None)}-{np.shape(x)}",
)
def test_the_rest_is_left_to_numpy(x: Any) -> None:
    assert statistics.normalize_observations(x, np.zeros(3), np.ones(3), 1.0, 1e-8, True) is None
    y = np.zeros((2, 3))
    assert (
        statistics.normalize_observations(y, np.zeros(3, np.float32), np.ones(3), 1.0, 1e-8, True)
        is None
    )
    assert (
        statistics.normalize_observations(y, np.zeros(3), np.ones((1, 3)), 1.0, 1e-8, True) is None
    )
