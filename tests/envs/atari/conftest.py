"""Fixtures for the tests of Atari."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.envs.atari.recycled_games import recycled_games


@pytest.fixture(scope="session", autouse=True)
def _recycled_games() -> Iterator[None]:
    with recycled_games():
        yield
