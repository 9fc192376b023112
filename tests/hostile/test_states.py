"""States that a stranger has changed: lanes refuse them, or go on from them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from tests.digests import digest_of

pytestmark = [pytest.mark.hostile, pytest.mark.filterwarnings("ignore")]

# Steps of a lane that has accepted a state.
STEPS = 200
INTEGERS = [
    0,
    1,
    -1,
    2,
    3,
    7,
    15,
    16,
    64,
    255,
    1024,
    50_000_000,
    2**31 - 1,
    -(2**31),
    2**53,
    2**63 - 1,
]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-30, 1e4, -1e6, 1e9, 1e15, 1e38, np.inf, -np.inf, np.nan]


def sign(records: np.ndarray) -> None:
    """Compute the checksums of changed records anew."""
    saved = records["state"]
    for row in range(len(records)):
        saved["digest"][row] = digest_of(saved[row].tobytes()[8:])


def change_game(game: np.ndarray, rng: np.random.Generator) -> None:
    """Change a byte, or set an integer or a float of a game, mostly in its emulator's memory."""
    kind = rng.integers(10)
    if kind == 0:
        set_number(game["size"], rng)
        return
    field = game["progress" if kind == 1 else "state" if kind == 2 else "memory"][0]
    end = int(game["size"][0]) if kind > 2 else len(field)
    end = min(max(end, 8), len(field))
    # Most of a memory is the text of a generator, up to byte 6,766 or so.
    start = end - 1_100 if kind > 4 and end > 1_100 else 0
    place = rng.integers(start, end - 7)
    if rng.random() < 0.3:
        field[place] = rng.integers(256)
        return
    dtype = (np.int32, np.float32, np.int64, np.float64)[rng.choice(4, p=[0.7, 0.1, 0.1, 0.1])]
    number = field[place : place + np.dtype(dtype).itemsize].copy().view(dtype)
    set_number(number, rng)
    field[place : place + number.nbytes] = number.view(np.uint8)


def fields_of(records: np.ndarray) -> Iterator[np.ndarray]:
    """Yield views of all arrays of numbers in records."""
    for name in records.dtype.names or ():
        field = records[name]
        if field.dtype.names:
            yield from fields_of(field)
        else:
            yield field


def change(records: np.ndarray, rng: np.random.Generator) -> None:
    """Set a number of a record, or a word of a world's memory, to another value."""
    fields = [field for field in fields_of(records) if field.size]
    field = fields[rng.integers(len(fields))]
    if field.dtype == np.uint8 and field.ndim > 1 and field.shape[-1] % 4 == 0:
        words = np.zeros(field.shape, np.uint8)
        words[...] = field
        used = max(int(np.flatnonzero(words[0]).max(initial=0)), 4) // 4 + 8
        numbers = words.view(np.int32 if rng.random() < 0.5 else np.float32)
        set_number(numbers.reshape(-1)[: min(used, numbers.size)], rng)
        field[...] = words
    else:
        numbers = np.array(field)
        set_number(numbers.reshape(-1), rng)
        field[...] = numbers


def set_number(numbers: np.ndarray, rng: np.random.Generator) -> None:
    """Set one of some numbers to another value: far away, near, or that of a neighbour."""
    index, kind = rng.integers(len(numbers)), rng.integers(4)
    if kind == 0:
        numbers[index] = numbers[rng.integers(len(numbers))]
    elif kind == 1:
        with np.errstate(over="ignore"):
            numbers[index] += numbers.dtype.type(
                1 if rng.random() < 0.5 or numbers.dtype.kind in "bu" else -1
            )
    elif numbers.dtype.kind == "f":
        with np.errstate(over="ignore"):
            numbers[index] = FLOATS[rng.integers(len(FLOATS))]
    else:
        value = INTEGERS[rng.integers(len(INTEGERS))]
        numbers[index] = np.array(value).astype(numbers.dtype)


@pytest.mark.parametrize(
    "env_id", ["LunarLander-v3", "BipedalWalker-v3", "BipedalWalkerHardcore-v3", "CarRacing-v3"]
)
def test_changed_states_are_refused_or_go_on(env_id: str, rng: np.random.Generator, rounds: Any):
    pytest.importorskip("Box2D")
    envs = gym.make_vec(env_id, 1, vectorization_mode="native")
    envs.reset(seed=1)
    envs.action_space.seed(1)
    states = [envs.get_state()]
    for _ in range(60):
        envs.step(envs.action_space.sample())
        states.append(envs.get_state())
    accepted = refused = 0
    for number in rounds:
        state = states[rng.integers(len(states))].copy()
        for _ in range(rng.integers(1, 4)):
            change(state, rng)
        sign(state)
        before = envs.get_state()
        try:
            envs.set_state(state)
        except error.InvalidArgument:
            refused += 1
            np.testing.assert_array_equal(envs.get_state(), before)
            continue
        accepted += 1
        if state["elapsed"][0] == -1:  # of a lane that was not reset
            envs.reset()
        for _ in range(STEPS if "CarRacing" not in env_id else 20):
            envs.step(envs.action_space.sample())
        envs.set_state(states[number % len(states)])
    assert refused or number < 20
    print(f"{accepted} accepted, {refused} refused")
    envs.set_state(states[0])
    np.testing.assert_array_equal(envs.get_state(), states[0])


# Their cartridges have two kilobytes, banks, slices, banks and memory, and data fetchers.
@pytest.mark.parametrize("game", ["Breakout", "MsPacman", "MontezumaRevenge", "Klax", "Pitfall2"])
def test_changed_games_are_refused_or_go_on(game: str, rng: np.random.Generator, rounds: Any):
    pytest.importorskip("ale_py")
    envs = gym.make_vec(f"ALE/{game}-v5", 1, vectorization_mode="native")
    envs.reset(seed=1)
    envs.action_space.seed(1)
    states = [envs.get_state()]
    for _ in range(60):
        envs.step(envs.action_space.sample())
        states.append(envs.get_state())
    accepted = refused = 0
    for number in rounds:
        state = states[rng.integers(len(states))].copy()
        saved = state["state"]
        for _ in range(rng.integers(1, 3)):
            change_game(saved, rng)
        saved["digest"] = digest_of(saved[0].tobytes()[8:])
        before = envs.get_state()
        try:
            envs.set_state(state)
        except error.InvalidArgument:
            refused += 1
            np.testing.assert_array_equal(envs.get_state(), before)
            continue
        accepted += 1
        for _ in range(STEPS):
            envs.step(envs.action_space.sample())
        envs.set_state(states[number % len(states)])
    assert refused or number < 20
    print(f"{accepted} accepted, {refused} refused")
    envs.set_state(states[0])
    np.testing.assert_array_equal(envs.get_state(), states[0])
