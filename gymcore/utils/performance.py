"""Benchmarks of stepping, rendering, making and resetting an environment."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from gymcore.core import Env
    from gymcore.vector import VectorEnv

__all__ = ["benchmark_init", "benchmark_render", "benchmark_step", "benchmark_vector_step"]

T = TypeVar("T")

_BLOCK = 64
"""Number of actions sampled at a time, outside the measured time."""


def rate_of(prepare: Callable[[], T], run: Callable[[T], int], target_duration: float) -> float:
    """Call `run(prepare())` until `run` has taken `target_duration` seconds; return the rate.

    The rate is the sum of the results of `run`, divided by its time. `run` is called at least once.
    """
    count, seconds = 0, 0.0
    while True:
        prepared = prepare()
        start = time.perf_counter()
        count += run(prepared)
        seconds += time.perf_counter() - start
        if seconds >= target_duration:
            return count / max(seconds, 1e-9)


def benchmark_step(env: Env, target_duration: float = 5, seed: int | None = None) -> float:
    """Return steps per second with random actions, including the resets of ended episodes.

    The measurement takes about `target_duration` seconds; `seed` seeds the environment and actions.

    Examples:
        >>> import gymcore
        >>> benchmark_step(gymcore.make("CartPole-v1"), target_duration=0.01) > 0
        True
    """
    action_space = env.action_space
    action_space.seed(seed)
    env.reset(seed=seed)
    step = env.step

    def run(actions: list[object]) -> int:
        for action in actions:
            _, _, terminated, truncated, _ = step(action)
            if terminated or truncated:
                env.reset()
        return len(actions)

    return rate_of(lambda: [action_space.sample() for _ in range(_BLOCK)], run, target_duration)


def benchmark_vector_step(
    env: VectorEnv, target_duration: float = 5, seed: int | None = None
) -> float:
    """Return steps of single environments per second with random actions, in any autoreset mode.

    The arguments are those of `benchmark_step`. In next-step mode, a step that resets counts as a
    step. With autoreset disabled, masked resets take time, but do not count as steps.

    Examples:
        >>> import gymcore
        >>> envs = gymcore.make_vec("CartPole-v1", num_envs=64)
        >>> benchmark_vector_step(envs, target_duration=0.01) > 0
        True
    """
    from gymcore.vector import AutoresetMode

    mode = env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
    disabled = AutoresetMode(mode) is AutoresetMode.DISABLED
    env.action_space.seed(seed)
    env.reset(seed=seed)

    def run(actions: list[object]) -> int:
        for batch in actions:
            _, _, terminated, truncated, _ = env.step(batch)
            if disabled:
                mask = np.logical_or(terminated, truncated)
                if mask.any():
                    env.reset(options={"reset_mask": mask})
        return len(actions) * env.num_envs

    sample = env.action_space.sample
    return rate_of(lambda: [sample() for _ in range(_BLOCK // 4)], run, target_duration)


def benchmark_init(
    env_lambda: Callable[[], Env], target_duration: float = 5, seed: int | None = None
) -> float:
    """Return the number of environments per second that `env_lambda` makes and that are reset.

    The measurement takes about `target_duration` seconds; `seed` is passed to each reset. Closing
    is not measured.

    Examples:
        >>> import gymcore
        >>> benchmark_init(lambda: gymcore.make("CartPole-v1"), target_duration=0.01) > 0
        True
    """
    count, seconds = 0, 0.0
    while True:
        start = time.perf_counter()
        env = env_lambda()
        env.reset(seed=seed)
        seconds += time.perf_counter() - start
        env.close()
        count += 1
        if seconds >= target_duration:
            return count / max(seconds, 1e-9)


def benchmark_render(env: Env, target_duration: float = 5) -> float:
    """Return frames per second; the environment is not stepped in between.

    Args:
        env: The environment, which has been reset.
        target_duration: Approximate duration of the measurement, in seconds.

    Examples:
        >>> import gymcore
        >>> env = gymcore.make("CartPole-v1", render_mode="rgb_array")
        >>> observation, info = env.reset()
        >>> benchmark_render(env, target_duration=0.01) > 0
        True
    """

    def run(_: None) -> int:
        env.render()
        return 1

    return rate_of(lambda: None, run, target_duration)
