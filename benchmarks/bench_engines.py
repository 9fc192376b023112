"""The engines for Python environments: step, `send` and `recv`, round trip, construction.

The environments are those of `python_envs.py`; `extra_info` has steps per second.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import python_envs
from contenders import RING, random_batches

import gymcore

ENGINES = ("SyncVectorEnv", "AsyncVectorEnv")


@pytest.fixture
def open_engine() -> Iterator[Callable[..., Any]]:
    """Return a function that makes engines, which are reset, and closed at the end."""
    opened = []

    def make(engine: str, name: str, num_envs: int, **options: Any) -> Any:
        functions = python_envs.factories("gymcore", name, num_envs)
        envs = getattr(gymcore.vector, engine)(functions, **options)
        opened.append(envs)
        envs.reset(seed=0)
        return envs

    yield make
    for envs in opened:
        envs.close()


@pytest.fixture
def bench(benchmark: Any, note_rate: Callable[[int], None]) -> Callable[..., None]:
    """Return a function that times a number of calls of `step` with fresh actions."""

    def time(group: str, envs: Any, calls: int) -> None:
        ring = itertools.cycle(random_batches(envs.single_action_space, (envs.num_envs,), RING))

        def steps() -> Any:
            result = None
            for _ in range(calls):
                result = envs.step(next(ring))
            return result

        benchmark.group = group
        observations, *_ = benchmark(steps)
        assert observations.shape == envs.observation_space.shape
        note_rate(calls * envs.num_envs)

    return time


@pytest.mark.parametrize("num_envs", (1, 8, 64, 512))
@pytest.mark.parametrize("engine", ENGINES)
def bench_overhead(bench: Any, open_engine: Callable[..., Any], engine: str, num_envs: int) -> None:
    """Time environments that do nothing; one lane of the asynchronous engine is a round trip."""
    group = f"Python environments that do nothing, n={num_envs}"
    bench(group, open_engine(engine, "Nothing", num_envs), max(1, 1024 // num_envs))


@pytest.mark.parametrize("engine", ENGINES)
def bench_cartpole(bench: Any, open_engine: Callable[..., Any], engine: str) -> None:
    bench("plain Python CartPole, n=64", open_engine(engine, "PlainCartPole", 64), 100)


@pytest.mark.parametrize("mode", ("NextStep", "SameStep"))
@pytest.mark.parametrize("engine", ENGINES)
def bench_statistics(bench: Any, open_engine: Callable[..., Any], engine: str, mode: str) -> None:
    options = {"autoreset_mode": mode, "episode_statistics": True}
    envs = open_engine(engine, "PlainCartPole", 64, **options)
    bench("plain Python CartPole, n=64, episode statistics", envs, 100)


@pytest.mark.parametrize("engine", ENGINES)
def bench_busy(bench: Any, open_engine: Callable[..., Any], engine: str) -> None:
    bench("200 us a step, n=64", open_engine(engine, "Busy", 64), 1)


def bench_partial_batches(
    benchmark: Any, open_engine: Callable[..., Any], note_rate: Callable[[int], None]
) -> None:
    benchmark.group = "200 us a step, one lane in eight 20x slower, n=64"
    envs = open_engine("AsyncVectorEnv", "Uneven", 64, batch_size=32)
    ring = itertools.cycle(random_batches(envs.single_action_space, (32,), RING))
    envs.send(random_batches(envs.single_action_space, (64,), 1)[0], range(64))

    def exchange() -> Any:
        result = envs.recv()
        envs.send(next(ring), result[4]["env_id"])
        return result

    observations, *_ = benchmark(exchange)
    note_rate(32)
    assert observations.shape == (32, 4)
    for _ in range(2):
        envs.recv()


@pytest.mark.parametrize("copy", (True, False))
@pytest.mark.parametrize("engine", ENGINES)
def bench_images(bench: Any, open_engine: Callable[..., Any], engine: str, copy: bool) -> None:
    bench("images (84, 84, 4), n=32", open_engine(engine, "Image", 32, copy=copy), 10)


@pytest.mark.parametrize("engine", ENGINES)
def bench_construction(benchmark: Any, engine: str) -> None:
    """Time construction and close."""
    benchmark.group = "construction and close, n=64"
    functions = python_envs.factories("gymcore", "PlainCartPole", 64)

    def make() -> Any:
        envs = getattr(gymcore.vector, engine)(functions)
        envs.close()
        return envs

    assert benchmark(make).num_envs == 64
