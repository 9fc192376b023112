"""compute_advantages compared with the definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gymcore.error import ArgumentTypeError, InvalidArgument
from gymcore.learn import compute_advantages


def slow(rewards, values, terminated, truncated, final_values, resets, gamma, gae_lambda):
    """Compute the recursion of Schulman et al. 2016, one number at a time."""
    steps, lanes = rewards.shape
    advantages = np.zeros((steps + 1, lanes))
    for lane in range(lanes):
        for t in reversed(range(steps)):
            if terminated[t, lane]:
                after, carried = 0.0, 0.0
            elif truncated[t, lane]:
                after, carried = float(final_values[t, lane]), 0.0
            else:
                after, carried = float(values[t + 1, lane]), advantages[t + 1, lane]
            error = rewards[t, lane] + gamma * after - float(values[t, lane])
            advantages[t, lane] = error + gamma * gae_lambda * carried
            if resets[t, lane]:
                advantages[t, lane] = 0.0
    return advantages[:-1]


@settings(max_examples=60, deadline=None)
@given(
    steps=st.integers(1, 40),
    lanes=st.integers(1, 70),
    seed=st.integers(0, 2**32 - 1),
    share=st.sampled_from([0.0, 0.1, 0.6, 1.0]),
    gamma=st.floats(0, 1),
    gae_lambda=st.floats(0, 1),
)
def test_against_the_recursion(steps, lanes, seed, share, gamma, gae_lambda):
    random = np.random.default_rng(seed)
    shape = (steps, lanes)
    rewards = random.normal(size=shape) * 10
    values = random.normal(size=(steps + 1, lanes)).astype(np.float32) * 10
    terminated, truncated, resets = random.random((3, *shape)) < share / 2
    final_values = random.normal(size=shape).astype(np.float32)
    final_values[~truncated] = np.nan  # undefined
    inputs = (rewards, values, terminated, truncated, final_values, resets)
    advantages, returns = compute_advantages(*inputs, gamma=gamma, gae_lambda=gae_lambda)
    wanted = slow(*inputs, gamma, gae_lambda)
    np.testing.assert_allclose(advantages, wanted, rtol=1e-4, atol=2e-4)
    np.testing.assert_allclose(returns, wanted + values[:-1], rtol=1e-4, atol=2e-4)
    assert advantages.dtype == returns.dtype == np.float32


def arrays():
    no = np.zeros((3, 2), bool)
    values = np.zeros((4, 2), np.float32)
    return [np.zeros((3, 2)), values, no, no, values[1:], no]


@pytest.mark.parametrize("shape", [(3, 0), (0, 2), (0, 0)])
def test_no_lanes_or_no_steps(shape):
    values, no = np.zeros((shape[0] + 1, shape[1]), np.float32), np.zeros(shape, bool)
    finals = np.zeros(shape, np.float32)
    for result in compute_advantages(
        np.zeros(shape), values, no, no, finals, no, gamma=0.9, gae_lambda=0.9
    ):
        assert result.shape == shape
        assert result.dtype == np.float32


@pytest.mark.parametrize(
    ("place", "array", "message"),
    [
        (0, [[0.0]], r"rewards: expected an array, got \[\[0.0\]\]"),
        (0, np.zeros(3), r"rewards: expected a float64 array \[T, N\], got shape \(3,\)"),
        (0, np.zeros((3, 2), np.float32), "rewards: expected float64"),
        (1, np.zeros((3, 2), np.float32), r"values: expected float32 array of shape \(4, 2\)"),
        (2, np.zeros((3, 2)), "terminated: expected bool"),
        (3, np.zeros((2, 3), bool).T, "truncated: expected a C-contiguous"),
        (4, np.zeros((3, 1), np.float32), "final_values: expected"),
        (5, None, "reset_steps: expected a NumPy array"),
    ],
)
def test_bad_arrays(place, array, message):
    inputs = arrays()
    inputs[place] = array
    cls = InvalidArgument if isinstance(array, np.ndarray) else ArgumentTypeError
    with pytest.raises(cls, match=message):
        compute_advantages(*inputs, gamma=0.9, gae_lambda=0.9)


@pytest.mark.parametrize("name", ["gamma", "gae_lambda"])
def test_factors_that_are_not_numbers(name):
    factors = {"gamma": 0.9, "gae_lambda": 0.9, name: "0.9"}
    with pytest.raises(ArgumentTypeError, match=f"{name}: expected a number, got '0.9'"):
        compute_advantages(*arrays(), **factors)
