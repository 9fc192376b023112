"""`tolerance` equals its formulas in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="mujoco is not installed")

from gymcore import error
from gymcore.envs.mujoco.quantities import Constant
from gymcore.envs.mujoco.tolerance import SIGMOIDS, tolerance
from gymcore.envs.mujoco.walker2d_v5 import Walker2dEnv

NUMBERS = np.array([-np.inf, -7.5, -1.0, -0.3, 0.0, 0.7, 1.0, 1.1, 2.0, 3.9, 4.0, 25.0, np.inf])


def curve(name: str, x: Any, value: float) -> Any:
    """Return the value of a sigmoid at a distance of `x` margins."""
    if name == "gaussian":
        return np.exp(np.log(value) * x**2)
    if name == "hyperbolic":
        return 1 / np.cosh(np.arccosh(1 / value) * x)
    if name == "long_tail":
        return 1 / ((1 / value - 1) * x**2 + 1)
    if name == "reciprocal":
        return 1 / ((1 / value - 1) * x + 1)
    if name == "tanh_squared":
        return 1 - np.tanh(np.arctanh(np.sqrt(1 - value)) * x) ** 2
    if name == "cosine":
        reach = np.pi / np.arccos(2 * value - 1)
        return np.where(x < reach, (1 + np.cos(np.pi * np.minimum(x, reach) / reach)) / 2, 0.0)
    return np.maximum(0.0, 1 - (1 - value) * (x if name == "linear" else x**2))


@pytest.fixture(scope="module")
def env() -> Walker2dEnv:
    return Walker2dEnv()


@pytest.mark.parametrize("sigmoid", SIGMOIDS)
@pytest.mark.parametrize("value", [0.0, 0.1, 0.5])
def test_sigmoids(env: Walker2dEnv, sigmoid: str, value: float) -> None:
    if value == 0.0 and sigmoid not in ("cosine", "linear", "quadratic"):
        with pytest.raises(error.InvalidArgument, match="value_at_margin: expected a number in"):
            tolerance(NUMBERS, sigmoid=sigmoid, margin=1.0, value_at_margin=value)
        return
    finite = NUMBERS[1:-1]
    result = env.value_of(tolerance(finite, (-1.0, 1.0), 2.0, sigmoid, value))
    distance = np.maximum(np.abs(finite) - 1.0, 0.0) / 2.0
    np.testing.assert_allclose(result, curve(sigmoid, distance, value), rtol=1e-13, atol=1e-15)
    assert set(result[np.abs(finite) <= 1.0]) == {1.0}
    scalars = [env.value_of(tolerance(x, (-1.0, 1.0), 2.0, sigmoid, value))[0] for x in finite]
    np.testing.assert_allclose(scalars, result, rtol=1e-14, atol=1e-15)


def test_without_margin(env: Walker2dEnv) -> None:
    result = env.value_of(tolerance(NUMBERS, (0.0, np.inf)))
    assert result.tolist() == (NUMBERS >= 0.0).astype(float).tolist()


def test_bounds_may_be_quantities(env: Walker2dEnv) -> None:
    high = Constant(2.0)
    result = env.value_of(tolerance([1.0, 3.0], (0.0, high), high, "linear", 0.0))
    assert result.tolist() == [1.0, 0.5]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sigmoid": "cubic"}, "sigmoid: expected one of"),
        ({"bounds": (1.0, 0.0)}, "bounds: expected a lower and an upper bound"),
        ({"margin": -1.0}, "margin: expected a number of at least 0, got -1.0"),
        ({"value_at_margin": 1.0}, "value_at_margin: expected a number in"),
    ],
)
def test_errors(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(error.InvalidArgument, match=message):
        tolerance(1.0, **arguments)
