"""Interrupts at every instruction and at random times: afterwards all objects reset and close."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from gymcore.interop.gymnasium import to_gymnasium
from gymcore.native.array_vector_env import ArrayVectorEnv
from tests.hostile.programs import plain, spec_of
from tests.interrupts import instructions, interrupted, raises_at

pytestmark = [
    pytest.mark.hostile,
    # Python drops exceptions raised in a finalizer, with a warning.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:.*Numba is not installed"),
]

NUM_ENVS = 3

#: Timed interrupts of each engine, unless the test's time ends first.
INTERRUPTS = 2000


BATCHES = {
    "mujoco": "InvertedPendulum-v5",
    "box2d": "LunarLander-v3",
    "racing": "CarRacing-v3",
    "atari": "Pong",
    "jit": "CartPole",
    "array": "ArrayCartPole",
}
# Environments whose step takes thousands of instructions, or milliseconds.
SLOW = [spec_of("CartPole").id, "CarRacing-v3", spec_of("Pong").id]
SINGLE = ["single", "lander", "gymnasium"]


def make_lane() -> Any:
    return gym.make("CartPole-v1")


def make(engine: str) -> Any:
    if engine == "native":
        return gym.make_vec("CartPole-v1", num_envs=NUM_ENVS)
    if engine in BATCHES:
        return gym.make_vec(spec_of(BATCHES[engine]), num_envs=NUM_ENVS)
    if engine == "single":
        return gym.make("CartPole-v1")
    if engine == "lander":
        return gym.make("LunarLander-v3")
    if engine == "gymnasium":
        return to_gymnasium(gym.make("CartPole-v1"))
    if engine == "sync":
        return gym.vector.SyncVectorEnv([make_lane] * NUM_ENVS)
    return gym.vector.AsyncVectorEnv([make_lane] * NUM_ENVS, num_workers=2, context="fork")


def calls_of(envs: Any) -> dict[str, Any]:
    """Return every entry point, with arguments that are valid after a reset."""
    action = envs.action_space.sample()
    calls = {
        "step": lambda: envs.step(action),
        "reset": lambda: envs.reset(seed=2),
    }
    if not hasattr(envs, "num_envs"):
        inner = envs.unwrapped
        state = inner.get_state()
        return calls | {
            "get_state": inner.get_state,
            "set_state": lambda: inner.set_state(state),
        }
    some = np.array([True, False, True])
    calls["reset_mask"] = lambda: envs.reset(options={"reset_mask": some})
    if isinstance(envs, ArrayVectorEnv):
        return calls
    state = envs.get_state()
    calls |= {
        "get_state": envs.get_state,
        "set_state": lambda: envs.set_state(state),
        "step_lanes": lambda: envs.step(action[:2], [0, 2]),
        "send and recv": lambda: (envs.send(action), envs.recv()),
        "get_attr": lambda: envs.get_attr("np_random_seed"),
    }
    if hasattr(envs, "rollout"):
        many = np.stack([action] * (2000 if envs.spec.id not in SLOW else 20))
        calls["rollout"] = lambda: envs.rollout(many)
    return calls


ENGINES = ["native", *BATCHES, *SINGLE, "sync", "async"]


def first_observation(envs: Any) -> Any:
    return plain(envs.reset(seed=1)[0])


def elsewhere(call: Callable[[], Any]) -> Any:
    """Return the result of a call in another thread, which waits for locks left by this thread."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(call()), daemon=True)
    thread.start()
    thread.join(60)
    assert results, "a call that does not end, or raises"
    return results[0]


def in_random_order(rng: np.random.Generator, executed: list[Any]) -> list[int]:
    """Return all instruction numbers: each executed place once, then repetitions."""
    numbers = {instruction: number for number, instruction in reversed([*enumerate(executed)])}
    first = list(numbers.values())
    again = np.setdiff1d(np.arange(len(executed)), first)
    return [*rng.permutation(first).tolist(), *rng.permutation(again).tolist()]


@pytest.mark.parametrize("engine", ENGINES)
def test_every_instruction(engine: str, rng: np.random.Generator, rounds: Any) -> None:
    """Interrupt each call at one instruction after another, until all are done or time is up."""
    envs = make(engine)
    expected = first_observation(envs)
    calls = calls_of(envs)
    numbers = {}
    for name, call in calls.items():
        numbers[name] = in_random_order(rng, instructions(call))
        first_observation(envs)
    interrupts = 0
    for turn, _ in zip(itertools.zip_longest(*numbers.values()), rounds, strict=False):
        for name, instruction in zip(calls, turn, strict=True):
            if instruction is None:
                continue
            interrupts += raises_at(calls[name], instruction)
            assert first_observation(envs) == expected, (name, instruction)
            envs.step(envs.action_space.sample())
    for call in calls.values():
        elsewhere(call)
        assert elsewhere(lambda: first_observation(envs)) == expected
    envs.close()
    print(f"{engine}: {interrupts} of {sum(map(len, numbers.values()))} instructions")
    assert interrupts


@pytest.mark.parametrize("engine", ENGINES)
def test_every_instruction_of_close(engine: str, rng: np.random.Generator, rounds: Any) -> None:
    envs = make(engine)
    expected = first_observation(envs)
    numbers = in_random_order(rng, instructions(envs.close))
    for instruction, _ in zip(numbers, rounds, strict=False):
        envs = make(engine)
        first_observation(envs)
        raises_at(envs.close, instruction)
        try:
            assert first_observation(envs) == expected, instruction
        except error.ClosedEnvironmentError:
            assert engine not in SINGLE
        envs.close()


@pytest.mark.parametrize("engine", ENGINES)
def test_random_times(engine: str, rng: np.random.Generator, rounds: Any) -> None:
    envs = make(engine)
    expected = first_observation(envs)
    calls = calls_of(envs)
    names = list(calls)
    interrupts = 0
    for _ in rounds:
        name = names[rng.integers(len(names))]

        def act(call: Callable[[], Any] = calls[name]) -> None:
            for _ in range(6):  # steps in an episode that does not end
                call()

        interrupts += interrupted(act, rng.random() * 10 ** rng.uniform(-5, -2))
        assert first_observation(envs) == expected, (name, interrupts)
        if interrupts == INTERRUPTS:
            break
    envs.close()
    print(f"{engine}: {interrupts} interrupts")
    assert interrupts
