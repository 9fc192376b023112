"""The arithmetic of BipedalWalker: what motors cost and what is observed, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from gymcore_ext.box2d.walker import Observer, after_costs, effort

UNIT = 0.00035 * 80


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_costs_are_those_of_numpy(dtype):
    random = np.random.default_rng(3)
    special = np.array([[0.0, -0.0, 1.0, -1.0], [np.inf, -np.inf, 5e-324, 1.0 + 1e-15]])
    for numbers in (*special.astype(dtype), *random.normal(0, 1, (300, 4)).astype(dtype)):
        before = numbers.copy()
        move, costs = effort(numbers, UNIT)
        assert move == tuple(numbers.tolist())
        expected = np.minimum(np.abs(numbers), 1) * UNIT
        assert costs.dtype == expected.dtype == dtype
        assert costs.tobytes() == expected.tobytes()
        assert numbers.tobytes() == before.tobytes()
        reward = random.normal()
        left = dtype(reward)
        for cost in expected:
            left = left - cost
        assert after_costs(reward, costs) == float(left)


def test_strided_and_read_only_actions():
    numbers = np.arange(8, dtype=np.float32)[::-2] / 8
    numbers.flags.writeable = False
    assert effort(numbers, UNIT)[0] == (0.875, 0.625, 0.375, 0.125)


@pytest.mark.parametrize(
    "action",
    [
        np.zeros(3, np.float32),
        np.zeros((4, 1), np.float32),
        np.zeros(4, np.int64),
        np.zeros(4, np.float16),
        np.zeros(4, ">f4"),
        np.frombuffer(bytes(17), np.uint8)[1:].view(np.float32),
        np.array([0, np.nan, 0, 0], np.float32),
        [0.0, 0.0, 0.0, 0.0],
        None,
    ],
    ids=repr,
)
def test_what_python_has_to_look_at(action):
    assert effort(action, UNIT) is None


@pytest.mark.parametrize("dtype", [np.float16, np.longdouble])
def test_costs_of_other_precisions(dtype):
    costs = np.array([0.01, 0.002, 0.03], dtype)
    assert after_costs(0.5, costs) == float(((dtype(0.5) - costs[0]) - costs[1]) - costs[2])


def test_observations_are_those_of_numpy():
    observer = Observer(20.0, 40 / 3, 50, 4, 6)
    for row in np.random.default_rng(1).normal(0, 3, (200, 12)).tolist():
        angle, turn, vx, vy, a, b, c, d, e, f, g, h = row
        seen = observer.observe(
            angle, turn, vx, vy, a, b, c, d, True, e, f, g, h, False, [0.25, c, 1.0]
        )
        legs = [a, b / 4, c + 1.0, d / 6, 1.0, e, f / 4, g + 1.0, h / 6, 0.0]
        hull = [angle, 2.0 * turn / 50, 0.3 * vx * 20.0 / 50, 0.3 * vy * (40 / 3) / 50]
        expected = np.array([*hull, *legs, 0.25, c, 1.0], np.float32)
        assert seen.dtype == np.float32
        assert seen.tobytes() == expected.tobytes()


def test_observations_are_new():
    observer = Observer(20.0, 13.0, 50, 4, 6)
    first, second = (observer.observe(*[1.0] * 14, [1.0]) for _ in range(2))
    assert not np.shares_memory(first, second)
