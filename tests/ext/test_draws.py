"""Single draws: those of NumPy's generators, to the bit, which move on as if they had drawn."""

from __future__ import annotations

import numpy as np
import pytest

from gymcore_ext.box2d.draws import Draws

KINDS = [np.random.PCG64, np.random.MT19937, np.random.Philox]


@pytest.mark.parametrize("kind", KINDS)
def test_pairs_are_those_of_uniform(kind):
    ours, numpys = (np.random.Generator(kind(5)) for _ in range(2))
    draws = Draws(ours)
    for _ in range(100):
        assert draws.pair(30.0) == tuple(float(numpys.uniform(-1, 1)) / 30.0 for _ in range(2))
        assert ours.integers(9) == numpys.integers(9)  # the generator itself has moved on
    assert draws.generator is ours


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("low", "high"), [(-1, 1), (0.0, 0.1), (-5, 7.25), (3, 3), (1e300, 0)])
def test_uniform_is_that_of_numpy(kind, low, high):
    ours, numpys = (np.random.Generator(kind(5)) for _ in range(2))
    draws = Draws(ours)
    for _ in range(100):
        expected = (
            numpys.uniform(low, high) if low <= high else low + (high - low) * numpys.random()
        )
        assert draws.uniform(low, high) == expected
        assert ours.integers(9) == numpys.integers(9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("low", "high"),
    [(0, 1), (3, 5), (1, 4), (5, 10), (-9999, 9999), (0, 2**31 - 2), (0, 3 * 2**29)],
)
def test_integers_are_those_of_numpy(kind, low, high):
    ours, numpys = (np.random.Generator(kind(5)) for _ in range(2))
    draws = Draws(ours)
    for _ in range(300):
        assert draws.integers(low, high) == numpys.integers(low, high)
        assert ours.random() == numpys.random()


@pytest.mark.parametrize(("low", "high"), [(3, 3), (3, 2), (0, 2**31 - 1), (-(2**30), 2**30)])
def test_no_such_integers(low, high):
    with pytest.raises(ValueError, match="expected low < high"):
        Draws(np.random.default_rng(1)).integers(low, high)


def test_no_generator():
    with pytest.raises(AttributeError):
        Draws(3)
