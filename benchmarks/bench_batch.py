"""Other operations of a batch: whole rollouts, resets, seeding."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from contenders import ROLLOUT_STEPS, random_batches


@pytest.mark.parametrize("num_envs", (64, 4096))
def bench_rollout(
    benchmark: Any, open_batch: Callable[..., Any], env_id: str, num_envs: int
) -> None:
    benchmark.group = f"rollout T={ROLLOUT_STEPS}"
    envs = open_batch(env_id, num_envs)
    shape = (ROLLOUT_STEPS, num_envs)
    blocks = itertools.cycle(random_batches(envs.single_action_space, shape, 4))
    space = envs.observation_space
    out = {
        "observations": np.full((ROLLOUT_STEPS, *space.shape), np.nan, space.dtype),
        "rewards": np.empty(shape),
        "terminated": np.empty(shape, np.bool_),
        "truncated": np.empty(shape, np.bool_),
    }
    benchmark(lambda: envs.rollout(next(blocks), **out))
    assert np.isfinite(out["observations"]).all()


@pytest.mark.parametrize("num_envs", (64, 65536))
def bench_reset(benchmark: Any, open_batch: Callable[..., Any], env_id: str, num_envs: int) -> None:
    benchmark.group = f"reset n={num_envs}"
    envs = open_batch(env_id, num_envs)
    observations, _ = benchmark(envs.reset)
    assert observations.shape == envs.observation_space.shape


@pytest.mark.parametrize("num_envs", (64, 65536))
def bench_seeded_reset(
    benchmark: Any, open_batch: Callable[..., Any], env_id: str, num_envs: int
) -> None:
    benchmark.group = f"seeded reset n={num_envs}"
    envs = open_batch(env_id, num_envs)
    seeds = itertools.count()
    observations, _ = benchmark(lambda: envs.reset(seed=next(seeds)))
    assert observations.shape == envs.observation_space.shape


def bench_masked_reset(benchmark: Any, open_batch: Callable[..., Any], env_id: str) -> None:
    benchmark.group = "masked reset n=64, 3 lanes"
    envs = open_batch(env_id, 64, autoreset_mode="Disabled")
    mask = np.zeros(64, np.bool_)
    mask[[1, 20, 63]] = True
    observations, _ = benchmark(lambda: envs.reset(options={"reset_mask": mask}))
    assert observations.shape == envs.observation_space.shape
