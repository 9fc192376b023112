"""Options of the hostile tests: how long each of them runs, and its seed."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pytest

from tests.hostile.limits import Limits


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add options: the seconds of each test, and the seed of all its values."""
    group = parser.getgroup("hostile")
    group.addoption("--hostile-seconds", type=float, default=1.0, help="how long each test goes on")
    group.addoption("--hostile-rounds", type=int, default=1, help="how many rounds at least")
    group.addoption("--hostile-seed", type=int, default=0, help="the seed of all random values")


@pytest.fixture
def hostile_seconds(request: pytest.FixtureRequest) -> float:
    """Return how long a test runs."""
    return float(request.config.getoption("--hostile-seconds", 1.0))


@pytest.fixture
def hostile_seed(request: pytest.FixtureRequest) -> int:
    """Return the seed of a test's random values."""
    return int(request.config.getoption("--hostile-seed", 0))


@pytest.fixture
def rng(hostile_seed: int) -> np.random.Generator:
    """Return a generator for a test's random values, with its seed."""
    return np.random.default_rng(hostile_seed)


@pytest.fixture
def rounds(request: pytest.FixtureRequest, hostile_seconds: float) -> Iterator[int]:
    """Yield 0, 1, 2, ... until the test has run long enough and has done its minimum of rounds."""
    least = int(request.config.getoption("--hostile-rounds", 1))

    def count() -> Iterator[int]:
        end = time.monotonic() + hostile_seconds
        number = 0
        while number < least or time.monotonic() < end:
            yield number
            number += 1

    return count()


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> Iterator[Limits]:
    """Yield the limits for each input; print the measurements at the end."""
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    limits = Limits()
    try:
        yield limits
    finally:
        print(limits.close())
