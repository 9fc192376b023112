"""Native `step`, batch by batch, and the step of a single environment.

    pytest benchmarks

A round takes many steps, so that the cost of the clock is negligible. Times are for all these
steps; `extra_info` has the rate.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from contenders import RING, random_batches

import gymcore

SIZES = (1, 8, 64, 1024, 65536)


@pytest.fixture(autouse=True)
def _group(benchmark: Any, env_id: str) -> Iterator[None]:
    benchmark.group = f"step {env_id}"
    yield


@pytest.mark.parametrize("num_envs", SIZES)
def bench_native_step(
    benchmark: Any,
    open_batch: Callable[..., Any],
    note_rate: Callable[[int], None],
    env_id: str,
    num_envs: int,
) -> None:
    envs = open_batch(env_id, num_envs)
    ring = itertools.cycle(random_batches(envs.single_action_space, (num_envs,), RING))
    calls = max(1, min(1000, 2**18 // num_envs))

    def steps() -> Any:
        result = None
        for _ in range(calls):
            result = envs.step(next(ring))
        return result

    observations, rewards, *_ = benchmark(steps)
    assert observations.shape == envs.observation_space.shape
    assert rewards.shape == (num_envs,)
    note_rate(calls * num_envs)


def bench_single_step(benchmark: Any, note_rate: Callable[[int], None], env_id: str) -> None:
    env = gymcore.make(env_id)
    env.reset(seed=0)
    actions = list(random_batches(env.action_space, (1000,), 1)[0])

    def steps() -> int:
        episodes = 0
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                episodes += 1
                env.reset()
        return episodes

    episodes = benchmark(steps)
    assert episodes >= 0
    note_rate(len(actions))
    env.close()
