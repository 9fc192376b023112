"""Compiled statistics against NumPy: the same bits, whatever the type and the shape."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from gymcore_ext.wrappers.running_stats import ColumnStats

SHAPES = ((), (1,), (2,), (3,), (4,), (8,), (17,), (64,), (513,), (2, 3), (1, 5), (5, 1), (60, 30))
ROWS = (1, 2, 3, 7, 8, 9, 31, 64, 127, 128, 129, 130, 257, 1000)
STATISTICS = {
    np.float32: np.float32,
    np.float64: np.float64,
    np.uint8: np.float64,
    np.int32: np.float64,
    np.int64: np.float64,
}


def joined(x: Any, mean: Any, var: Any, count: float) -> tuple[Any, Any]:
    """The reference: whole arrays, by NumPy."""
    n = x.shape[0]
    batch_mean, batch_var = np.mean(x, axis=0), np.var(x, axis=0)
    delta, total = batch_mean - mean, count + n
    squares = var * count + batch_var * n + np.square(delta) * count * n / total
    return mean + delta * n / total, squares / total


def batch(rng: np.random.Generator, dtype: Any, n: int, shape: tuple[int, ...]) -> Any:
    numbers = rng.normal(30, 20, (n, *shape))
    return np.asarray(np.abs(numbers) if np.dtype(dtype).kind in "ui" else numbers, dtype)


@pytest.mark.parametrize("dtype", STATISTICS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_updates_and_normalises_like_numpy(dtype, shape):
    rng = np.random.default_rng(1)
    for n in ROWS:
        if n * np.prod(shape) > 50_000:
            continue
        stats = ColumnStats(n, shape)
        mean = np.asarray(rng.normal(30, 1, shape), STATISTICS[dtype])
        var = np.asarray(rng.random(shape) + 0.5, STATISTICS[dtype])
        for count in (1e-4, 20.0001):
            x = batch(rng, dtype, n, shape)
            given = x.copy()
            new_mean, new_var = joined(x, mean, var, count)
            out, got_mean, got_var = stats.normalize(x, mean, var, count, 1e-8, True)
            np.testing.assert_array_equal(got_mean, new_mean)
            np.testing.assert_array_equal(got_var, new_var)
            assert got_mean.dtype == new_mean.dtype
            expected = np.float32((x - new_mean) / np.sqrt(new_var + 1e-8))
            np.testing.assert_array_equal(out, expected)
            assert out.dtype == np.float32
            np.testing.assert_array_equal(x, given)
            updated = ColumnStats.update(x, mean, var, count)
            np.testing.assert_array_equal(updated[0], new_mean)
            np.testing.assert_array_equal(updated[1], new_var)
            frozen, same_mean, same_var = stats.normalize(x, mean, var, count, 1e-8, False)
            np.testing.assert_array_equal(same_mean, mean)
            np.testing.assert_array_equal(same_var, var)
            np.testing.assert_array_equal(frozen, np.float32((x - mean) / np.sqrt(var + 1e-8)))


@pytest.mark.parametrize("shape", [(3,), (2, 2)], ids=str)
def test_one_element_is_a_batch_of_one(shape):
    rng = np.random.default_rng(2)
    x, mean, var = rng.normal(size=(3, *shape))
    var = np.abs(var)
    one, many = ColumnStats(0, shape), ColumnStats(1, shape)
    for got, expected in zip(
        one.normalize(x, mean, var, 7.0, 1e-8, True),
        many.normalize(x[None], mean, var, 7.0, 1e-8, True),
        strict=True,
    ):
        np.testing.assert_array_equal(got, expected.reshape(shape))
    assert one.normalize(x, mean, var, 7.0, 1e-8, True)[0].shape == shape


def test_any_number_of_rows_will_do():
    stats = ColumnStats(4, (2,))
    mean, var = np.zeros(2), np.ones(2)
    for n in (1, 3, 4, 9):
        x = np.random.default_rng(n).normal(size=(n, 2))
        out, new_mean, _ = stats.normalize(x, mean, var, 2.0, 1e-8, True)
        assert out.shape == (n, 2)
        np.testing.assert_array_equal(new_mean, joined(x, mean, var, 2.0)[0])
    out, new_mean, new_var = stats.normalize(np.zeros((0, 2)), mean, var, 2.0, 1e-8, True)
    assert out.shape == (0, 2)
    assert new_mean is mean and new_var is var


def test_not_finite_numbers_stay_in_their_column():
    x = np.array([[1.0, np.nan, 1.0], [2.0, 1.0, np.inf]])
    with np.errstate(invalid="ignore"):
        mean, var = joined(x, np.zeros(3), np.ones(3), 1.0)
    got = ColumnStats.update(x, np.zeros(3), np.ones(3), 1.0)
    np.testing.assert_array_equal(got[0], mean)
    np.testing.assert_array_equal(got[1], var)


@pytest.mark.parametrize(
    "x",
    [
        np.zeros((2, 3), np.float16),
        np.zeros((2, 3), np.complex64),
        np.zeros((2, 3), np.bool_),
        np.zeros((3, 2)).T,
        np.zeros((2, 3), ">f8"),
        np.zeros((2, 4)),
        np.zeros((2, 3, 1)),
        np.zeros(3),
        np.float64(1),
        [[1.0, 2.0, 3.0]],
        None,
    ],
    ids=lambda x: f"{type(x).__name__}-{getattr(x, 'dtype', None)}-{np.shape(x)}",
)
def test_leaves_the_rest_to_numpy(x):
    mean, var = np.zeros(3), np.ones(3)
    assert ColumnStats(2, (3,)).normalize(x, mean, var, 1.0, 1e-8, True) is None
    assert ColumnStats.update(x, mean, var, 1.0) is None


@pytest.mark.parametrize(
    "mean", [np.zeros(3, np.float32), np.zeros(2), np.zeros((3, 1)), [0.0, 0.0, 0.0], 0.0, None]
)
def test_leaves_other_statistics_to_numpy(mean):
    x, var = np.zeros((2, 3)), np.ones(3)
    assert ColumnStats(2, (3,)).normalize(x, mean, var, 1.0, 1e-8, True) is None
    assert ColumnStats(2, (3,)).normalize(x, var, mean, 1.0, 1e-8, True) is None
    assert ColumnStats.update(x, mean, var, 1.0) is None


def test_what_is_kept_never_changes():
    stats = ColumnStats(4, (2,))
    rng = np.random.default_rng(0)
    mean, var = np.zeros(2), np.ones(2)
    kept = []
    for k in range(20):
        out, mean, var = stats.normalize(rng.normal(size=(4, 2)), mean, var, 4.0 * k, 1e-8, True)
        kept.append([(each, each.copy()) for each in (out, mean, var)])
    for each in kept:
        for array, copy in each:
            np.testing.assert_array_equal(array, copy)


def test_steady_state_allocates_nothing():
    stats = ColumnStats(4, (2,))
    x, mean, var = np.ones((4, 2)), np.zeros(2), np.ones(2)
    places = set()
    for _ in range(50):
        out, mean, var = stats.normalize(x, mean, var, 1.0, 1e-8, True)
        places.add(out.ctypes.data)
    assert len(places) <= 3


def test_threads_do_not_mix():
    stats = ColumnStats(0, (20_000,))
    mean, var = np.zeros(20_000), np.ones(20_000)
    wrong = []

    def work(number: float) -> None:
        x = np.full(20_000, number)
        expected = joined(x[None], mean, var, 3.0)
        for _ in range(50):
            _, got_mean, got_var = stats.normalize(x, mean, var, 3.0, 1e-8, True)
            if not (got_mean == expected[0]).all() or not (got_var == expected[1]).all():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(float(k),)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
