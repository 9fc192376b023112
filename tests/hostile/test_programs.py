"""Seeded random programs: native against single, sync against async, saved against restored."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore.vector import AutoresetMode
from tests.hostile.programs import FAMILIES, OTHERS, action_of, ids_of, plain, program, run, spec_of

pytestmark = [pytest.mark.hostile, pytest.mark.filterwarnings("ignore")]

MODES = list(AutoresetMode)
SLOW = [*ids_of("box2d"), "Pong", "ALE/Pong-v5"]
# Without ids that exist only as batches, and single environments that refuse out-of-space actions.
IDS = [*ids_of(*FAMILIES), *(name for name in OTHERS if name not in ("ArrayCartPole", "Arm"))]


def make(env_id: str, engine: str, mode: AutoresetMode, limit: int, num_envs: int = 3) -> Any:
    options: dict[str, Any] = {"autoreset_mode": mode}
    if engine == "async":
        options["num_workers"] = 2
    return gym.make_vec(
        spec_of(env_id),
        num_envs,
        vectorization_mode="vector_entry_point" if engine == "native" else engine,
        vector_kwargs=options,
        max_episode_steps=limit,
    )


def compare(
    env_id: str, engines: tuple[str, str], rng: np.random.Generator, rounds: Iterator[int]
) -> None:
    """Run random programs in two engines, and expect the same results."""
    for number in rounds:
        mode, limit = MODES[number % len(MODES)], int(rng.integers(2, 12))
        both = [make(env_id, engine, mode, limit) for engine in engines]
        try:
            calls = program(rng, both[0], 10 if env_id in SLOW else 40)
            one, other = (run(envs, calls) for envs in both)
        finally:
            for envs in both:
                envs.close()
        for place, (first, second) in enumerate(zip(one, other, strict=True)):
            assert first == second, f"round {number}, mode {mode}, call {place}: {calls[place]}"


@pytest.mark.parametrize("env_id", IDS)
def test_native_is_single(env_id: str, rng: np.random.Generator, rounds: Iterator[int]) -> None:
    compare(env_id, ("native", "sync"), rng, rounds)


@pytest.mark.parametrize("env_id", [*IDS, "ALE/Pong-v5"])
def test_sync_is_async(env_id: str, rng: np.random.Generator, rounds: Iterator[int]) -> None:
    compare(env_id, ("sync", "async"), rng, rounds)


@pytest.mark.parametrize("env_id", [*IDS, "ALE/Pong-v5"])
def test_saved_is_restored(env_id: str, rng: np.random.Generator, rounds: Iterator[int]) -> None:
    """A single environment continues as saved: itself, in a new one, and from a pickle."""
    for number in rounds:
        env, new = (gym.make(spec_of(env_id)).unwrapped for _ in range(2))
        env.reset(seed=int(rng.integers(2**32)))
        length = 15 if env_id in SLOW else 60
        with contextlib.suppress(gym.error.ResetNeeded):
            for _ in range(int(rng.integers(length))):
                env.step(action_of(rng, env.action_space))
        saved, pickled = env.get_state(), pickle.dumps(env)
        actions = [action_of(rng, env.action_space) for _ in range(length)]
        expected = episode(env, actions)
        env.set_state(saved)
        new.set_state(pickle.loads(pickle.dumps(saved)))
        for how, other in (("same", env), ("new", new), ("pickle", pickle.loads(pickled))):
            assert episode(other, actions) == expected, f"round {number}: {how}"


def episode(env: Any, actions: list[Any]) -> Any:
    """Return the results of the actions, past the end of the episode and into the next."""
    results: list[Any] = []
    with contextlib.suppress(gym.error.ResetNeeded):  # gymcore.jit requires a reset
        for action in actions:
            results.append(env.step(action))
    return plain([*results, env.reset()])
