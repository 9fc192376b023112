"""Bins of numbers, compared with `numpy.digitize`."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gymcore.spaces import Box
from gymcore.wrappers import DiscretizeObservation
from tests.wrappers.walk_env import make_walk_env


def bins_of(space, counts, multidiscrete=True):
    env = make_walk_env()(observation_space=space)
    return DiscretizeObservation(env, tuple(counts), multidiscrete=multidiscrete)


BOUNDS = st.tuples(st.floats(-1e6, 1e6, width=32), st.floats(0, 1e6, width=32)).map(
    lambda pair: (pair[0], np.float32(pair[0]) + np.float32(pair[1]))
)
COLUMNS = st.lists(st.tuples(BOUNDS, st.integers(1, 20)), min_size=1, max_size=4)


@settings(deadline=None, max_examples=40)
@given(COLUMNS, st.data(), st.sampled_from([np.float32, np.float64]))
def test_indices_are_those_of_digitize(columns, data, dtype):
    low, high = (np.array([bounds[i] for bounds, _ in columns], dtype) for i in (0, 1))
    counts = [count for _, count in columns]
    bins = bins_of(Box(low, high, dtype=dtype), counts)
    number = st.one_of(
        st.floats(width=32),
        st.sampled_from([float(edge) for edge in np.concatenate([low, *bins.bin_edges, high])]),
    )
    rows = data.draw(st.lists(st.lists(number, min_size=len(low), max_size=len(low)), max_size=5))
    values = np.array(rows, dtype).reshape(-1, len(low))
    indices = bins._bins_of_batch(values)
    for i, edges in enumerate(bins.bin_edges):
        clipped = np.clip(values[:, i], low[i], high[i])
        np.testing.assert_array_equal(indices[:, i], np.digitize(clipped, edges))
    assert ((indices >= 0) & (indices < counts)).all()
    numbers = bins_of(Box(low, high, dtype=dtype), counts, multidiscrete=False)
    flat = numbers._bins_of_batch(values)
    for one, other in zip(
        numbers._edges(flat, flat.shape), bins._edges(indices, (len(rows),)), strict=True
    ):
        np.testing.assert_array_equal(one, other)


@settings(deadline=None, max_examples=40)
@given(COLUMNS)
def test_bins_cover_the_box_without_gaps(columns):
    low, high = (np.array([bounds[i] for bounds, _ in columns], np.float32) for i in (0, 1))
    counts = [count for _, count in columns]
    bins = bins_of(Box(low, high), counts)
    for i, count in enumerate(counts):
        indices = np.zeros((count, len(low)), np.int64)
        indices[:, i] = np.arange(count)
        lower, upper = (edge[:, i] for edge in bins._edges(indices, (count,)))
        assert (lower[0], upper[-1]) == (low[i], high[i])
        np.testing.assert_array_equal(lower[1:], upper[:-1])
        assert (lower <= upper).all()
