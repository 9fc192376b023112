"""Fixtures shared by the benchmarks: environments, and batches that are closed at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import gymcore
from gymcore.cli.bench import DEFAULT_IDS


@pytest.fixture(params=DEFAULT_IDS)
def env_id(request: pytest.FixtureRequest) -> str:
    """Return each environment of classic control in turn."""
    return str(request.param)


@pytest.fixture
def open_batch() -> Iterator[Callable[..., Any]]:
    """Return a function that makes seeded native batches, which are closed at the end."""
    opened = []

    def make(env_id: str, num_envs: int, **engine: Any) -> Any:
        envs = gymcore.make_vec(env_id, num_envs=num_envs, vector_kwargs=engine)
        opened.append(envs)
        envs.reset(seed=0)
        return envs

    yield make
    for envs in opened:
        envs.close()


@pytest.fixture
def note_rate(benchmark: Any) -> Callable[[int], None]:
    """Return a function that adds steps per second to the timing of a number of steps."""

    def note(steps: int) -> None:
        # There are no timings if benchmarks are disabled.
        if benchmark.stats is not None:
            benchmark.extra_info["steps_per_second"] = steps / benchmark.stats.stats.median

    return note
