"""The arithmetic of LunarLander: observations by hand."""

from __future__ import annotations

import numpy as np
import pytest

from gymcore_ext.box2d.lander import Observer


def test_observation_by_hand():
    observation, shaping, is_outside = Observer(10.0, 5.0, 2.0, 50.0).observe(
        13.0, 4.0, 1.5, -2.0, -0.25, 5.0, True, False
    )
    expected = np.array([0.3, 0.4, 0.3, -0.2, -0.25, 2.0, 1.0, 0.0], np.float32)
    np.testing.assert_array_equal(observation, expected)
    assert observation.dtype == np.float32
    assert shaping == pytest.approx(-50.0 - 100.0 * 0.13**0.5 - 25.0 + 10.0)
    assert not is_outside


@pytest.mark.parametrize(
    ("x", "outside"), [(0.0, True), (0.001, False), (20.0, True), (-3.0, True)]
)
def test_outside(x, outside):
    observer = Observer(10.0, 5.0, 2.0, 50.0)
    assert observer.observe(x, 2.0, 0.0, 0.0, 0.0, 0.0, False, False)[2] is outside


def test_observations_are_new():
    observer = Observer(10.0, 5.0, 2.0, 50.0)
    first, second = (observer.observe(*[1.0] * 6, False, True)[0] for _ in range(2))
    assert not np.shares_memory(first, second)
