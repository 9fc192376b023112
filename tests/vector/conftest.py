"""Fixtures for the tests of vector environments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.vector.contract import BACKENDS, IDS, MODES, make_envs


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    """Each engine."""
    return str(request.param)


@pytest.fixture(params=IDS)
def env_id(request: pytest.FixtureRequest) -> str:
    """Each environment."""
    return str(request.param)


@pytest.fixture(params=MODES, ids=lambda mode: mode.value)
def mode(request: pytest.FixtureRequest) -> Any:
    """Each autoreset mode."""
    return request.param


@pytest.fixture
def make(env_id: str) -> Iterator[Callable[..., Any]]:
    """`make_envs` of the environment; what it makes is closed after the test."""
    made = []

    def make_one(*args: Any, **kwargs: Any) -> Any:
        made.append(make_envs(env_id, *args, **kwargs))
        return made[-1]

    yield make_one
    for envs in made:
        envs.close()
