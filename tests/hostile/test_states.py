"""Saved states with malicious changes: lanes refuse them, or continue from them."""

from __future__ import annotations

import contextlib
import faulthandler
import itertools
import sys
import time
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from gymcore.native.state import NEVER_RESET
from tests.hostile.programs import ids_of, plain, spec_of

pytestmark = [pytest.mark.hostile, pytest.mark.filterwarnings("ignore")]

# Lanes of a batch; fewer for environments with slow steps.
LANES, SLOW_LANES = 64, 16
# Steps of lanes that have accepted a state.
STEPS = 200
# Records that a lane is offered until it accepts one.
ATTEMPTS = 16
# Changed records made at a time.
BLOCK = 64
# Time limits of one call and of one round, in seconds.
MAX_SECONDS, HANGS_AFTER = 30.0, 300.0

INTEGERS = [
    *(0, 1, 2, 3, 7, 15, 16, 64, 127, 128, 255, 256, 1024, 50_000_000, 2**31 - 1, 2**31),
    *(2**32 - 1, 2**32, 2**53, 2**62, 2**63 - 1, -1, -2, -128, -(2**31), -(2**63)),
]
FLOATS = [
    *(0.0, -0.0, 1.0, -1.0, 0.5, 1e-320, 1e-30, 1e4, -1e6, 1e9, 1e15, 1e16, 1e38, -1e300),
    *(np.inf, -np.inf, np.nan),
]
TYPES = [np.dtype(name) for name in ("u1", "i2", "i4", "i8", "f4", "f8")]

MINIGRID = [f"MiniGrid-{name}-v0" for name in (
    "Empty-5x5", "Empty-Random-6x6", "FourRooms", "DoorKey-8x8", "LavaCrossingS9N2", "DistShift1",
    "MultiRoom-N4-S5", "LockedRoom", "Fetch-8x8-N3", "GoToObject-8x8-N2", "PutNear-8x8-N3",
    "GoToDoor-8x8", "Playground", "Dynamic-Obstacles-8x8", "MemoryS13Random", "RedBlueDoors-8x8",
    "BlockedUnlockPickup", "KeyCorridorS4R3", "ObstructedMaze-2Dlhb", "ObstructedMaze-Full",
)]  # fmt: skip
BABYAI = [f"BabyAI-{name}-v0" for name in (
    "GoToRedBall", "GoToLocal", "GoToSeq", "GoToDoor", "OpenTwoDoors", "OpenDoorsOrderN4",
    "PickupLoc", "PutNextS7N4Carrying", "KeyInBox", "UnlockToUnlock", "ActionObjDoor",
    "KeyCorridor", "SynthSeq", "MiniBossLevel", "BossLevel", "MoveTwoAcrossS8N9",
)]  # fmt: skip
# Their cartridges have two kilobytes, four, banks, slices, banks and memory, and data fetchers.
GAMES = [f"ALE/{name}-v5" for name in (
    "Breakout", "Qbert", "MsPacman", "MontezumaRevenge", "Klax", "Pitfall2",
)]  # fmt: skip
JIT = ["CartPole", "Everything", "Arm"]
# Tasks that write to models, draw until nothing penetrates, or have springs of their own.
CONTROL = [f"dm_control/{name}-v0" for name in (
    "ball_in_cup-catch", "lqr-lqr_2_1", "humanoid-walk", "point_mass-hard", "fish-swim",
    "manipulator-bring_ball", "quadruped-fetch",
)]  # fmt: skip
WORLDS = [
    *ids_of("mpe"),
    *("Foraging-8x8-2p-3f-v3", "Foraging-grid-2s-10x10-3p-3f-coop-v3"),
    *("rware-tiny-2ag-v2", "rware-imgdict-tiny-2ag-v2"),
    *("mamujoco/HalfCheetah-2x3-v1", "mamujoco/Hopper-3x1-v1"),
]
SLOW = [*ids_of("mujoco", "box2d"), *CONTROL, *GAMES, "Pong"]
NAMES = [*ids_of("classic_control", "toy_text"), *MINIGRID, *BABYAI, *JIT, *WORLDS, *SLOW]


class Field:
    """Numbers of one type in the bytes of a record, or bytes that are numbers of several types."""

    def __init__(self, name: str, offset: int, dtype: np.dtype) -> None:
        """Describe a field by its position."""
        self.name, self.offset, self.size = name, offset, dtype.itemsize
        self.base = np.dtype(np.uint8) if dtype.base.names else dtype.base
        self.is_struct = self.base == np.uint8 and dtype.itemsize >= 4

    def place(self, rng: np.random.Generator, varied: np.ndarray) -> tuple[int, np.dtype]:
        """Choose a number: if there are many, mostly one that differs between states."""
        dtype = TYPES[rng.integers(len(TYPES))] if self.is_struct else self.base
        dtype = dtype if dtype.itemsize <= self.size else self.base
        step = dtype.itemsize if rng.random() < 0.8 else 1
        if not self.is_struct:
            step = dtype.itemsize
        last = self.size - dtype.itemsize
        inside = varied[self.offset : self.offset + self.size].nonzero()[0]
        if len(inside) and rng.random() < 0.6:
            start = min(int(inside[rng.integers(len(inside))]), last)
        else:
            start = int(rng.integers(last + 1))
        return self.offset + start // step * step, dtype


def fields_of(dtype: np.dtype, offset: int = 0, path: str = "") -> Iterator[Field]:
    """Yield all fields of a record that are not structures."""
    if dtype.names is None:
        if dtype.itemsize:
            yield Field(path, offset, dtype)
        return
    for name in dtype.names:
        part, start, *_ = dtype.fields[name]  # type: ignore[index]
        yield from fields_of(part, offset + start, f"{path}.{name}" if path else name)


class Changes:
    """Endless records of real states with changed fields.

    Args:
        states: Records that lanes have had.
        rng: Source of the choices.
    """

    def __init__(self, states: np.ndarray, rng: np.random.Generator) -> None:
        """Find the fields."""
        self.states, self.rng = states, rng
        self.bytes = states.view(np.uint8).reshape(len(states), -1)
        self.varied = (self.bytes != self.bytes[0]).any(0)
        fields = list(fields_of(states.dtype))
        self.of_lanes = [field for field in fields if field.name.startswith("state")] or fields
        self.others = [field for field in fields if not field.name.startswith("state")]

    def __iter__(self) -> Iterator[np.ndarray]:
        """Yield arrays that hold one record."""
        rng = self.rng
        while True:
            block = self.states[rng.integers(len(self.states), size=BLOCK)]
            for row in block.view(np.uint8).reshape(BLOCK, -1):
                for _ in range(min(int(rng.geometric(0.6)), 8)):
                    self.change(row)
            yield from (block[row : row + 1] for row in range(BLOCK))

    def change(self, row: np.ndarray) -> None:
        """Change a number in a record."""
        rng = self.rng
        fields = self.of_lanes if rng.random() < 0.8 else self.others
        field = fields[rng.integers(len(fields))]
        start, dtype = field.place(rng, self.varied)
        size = dtype.itemsize
        number = row[start : start + size].copy().view(dtype)
        kind = rng.integers(9)
        if kind == 0:
            row[start + rng.integers(size)] ^= 1 << rng.integers(8)
        elif kind == 1:
            row[start : start + size] = rng.integers(256, size=size)
        elif kind == 2:  # the same number in another state
            row[start : start + size] = self._donor()[start : start + size]
        elif kind == 3:  # two numbers of a field, swapped
            other, _ = field.place(rng, self.varied)
            other = min(other, field.offset + field.size - size)
            row[start : start + size], row[other : other + size] = (
                row[other : other + size].copy(),
                row[start : start + size].copy(),
            )
        elif kind == 4:  # a number from another field
            fields = self.of_lanes + self.others
            other, _ = fields[rng.integers(len(fields))].place(rng, self.varied)
            other = min(other, len(row) - size)
            row[start : start + size] = row[other : other + size].copy()
        elif kind == 5 and field.is_struct:  # several numbers from another state
            end = min(start + int(rng.integers(1, 65)), field.offset + field.size)
            row[start:end] = self._donor()[start:end]
        else:
            with np.errstate(all="ignore"):
                row[start : start + size] = self._other_number(number, kind).view(np.uint8)

    def _donor(self) -> np.ndarray:
        donor: np.ndarray = self.bytes[self.rng.integers(len(self.bytes))]
        return donor

    def _other_number(self, number: np.ndarray, kind: int) -> np.ndarray:
        """Return a number nearby, or an extreme one."""
        rng, dtype = self.rng, number.dtype
        if dtype.kind == "f":
            if kind < 7:
                scaled = number * dtype.type(rng.choice([-1.0, 0.5, 2.0, 1.0 + 1e-6, 1e3, 1e6]))
                return np.asarray(scaled, dtype)
            return np.array([FLOATS[rng.integers(len(FLOATS))]]).astype(dtype)
        if kind < 7:
            whole = number.view(f"u{dtype.itemsize}")
            one = whole.dtype.type(1)
            changed = whole + one if rng.random() < 0.5 else whole - one
            return np.asarray(changed, whole.dtype)
        value = INTEGERS[rng.integers(len(INTEGERS))]
        return np.frombuffer(
            (value % 2**64).to_bytes(8, "little")[: dtype.itemsize], np.uint8
        ).copy()


def bytes_of(number: int, size: int) -> np.ndarray:
    """Return the lowest bytes of an integer."""
    return np.frombuffer((number % 2**64).to_bytes(8, "little")[:size], np.uint8)


def fits(space: Any, value: Any) -> bool:
    """Return whether observations fit their space; values are checked only in discrete spaces."""
    if isinstance(space, gym.spaces.Dict):
        return all(fits(part, value[key]) for key, part in space.items())
    if isinstance(space, gym.spaces.Tuple):
        return all(fits(part, each) for part, each in zip(space, value, strict=True))
    if isinstance(space, gym.spaces.Box):
        return bool(value.dtype == space.dtype and value.shape == space.shape)
    return bool(space.contains(value))


class Tries:
    """Counter of records that are offered to an environment."""

    def __init__(self, changes: Iterable[Any]) -> None:
        """Start counting."""
        self.changes = iter(changes)
        self.accepted = self.refused = 0
        self.slowest, self.began = 0.0, time.monotonic()

    def offer(self, target: Any, record: Any, before: Any, *lanes: Any) -> bool:
        """Return whether `set_state` accepted a record; if not, check that nothing changed."""
        begin = time.monotonic()
        try:
            target.set_state(record, *lanes)
        except error.InvalidArgument:
            assert plain(target.get_state(*lanes)) == plain(before)
            self.refused += 1
            return False
        finally:
            self.slowest = max(self.slowest, time.monotonic() - begin)
            assert self.slowest < MAX_SECONDS
        self.accepted += 1
        return True

    def report(self, name: str) -> None:
        """Print the counts."""
        print(
            f"{name}: {self.accepted + self.refused} records, {self.accepted} accepted, "
            f"{self.refused} refused, the slowest {self.slowest:.3f} s, "
            f"{time.monotonic() - self.began:.0f} s",
            flush=True,
        )
        assert self.refused or self.accepted < 20


def played(envs: Any, rng: np.random.Generator) -> np.ndarray:
    """Return states of lanes in the course of their episodes."""
    envs.action_space.seed(int(rng.integers(2**31)))
    envs.reset(seed=int(rng.integers(2**31)))
    states = [envs.get_state()]
    for _ in range(12):
        for _ in range(rng.integers(1, 12)):
            envs.step(envs.action_space.sample())
        states.append(envs.get_state())
    return np.concatenate(states)


class Attack:
    """Attack on the lanes of a batch: offer records singly and together, and step accepting lanes.

    Args:
        envs: Batch to attack.
        rng: Source of the choices.
    """

    def __init__(self, envs: Any, rng: np.random.Generator) -> None:
        """Record the states of some episodes."""
        self.envs, self.rng = envs, rng
        self.states = played(envs, rng)
        self.tries = Tries(Changes(self.states, rng))
        self.actions = [envs.action_space.sample() for _ in range(16)]
        self.observed = envs.observation_space

    def go_on(self, rounds: Iterator[int]) -> bool:
        """Let each lane accept a record, and step them; return whether there were rounds left."""
        envs, rng, tries = self.envs, self.rng, self.tries
        envs.set_state(self.states[rng.integers(len(self.states), size=envs.num_envs)])
        before = envs.get_state()
        accepted: dict[int, np.ndarray] = {}
        refused = None
        for lane in range(envs.num_envs):
            for _ in itertools.islice(rounds, ATTEMPTS):
                record = next(tries.changes)
                if tries.offer(envs, record, before[lane : lane + 1], [lane]):
                    accepted[lane] = record
                    break
                refused = record
        if accepted:
            self.set_together(list(accepted), np.concatenate(list(accepted.values())), refused)
            self.step(list(accepted))
        return bool(accepted) or refused is not None

    def set_together(self, lanes: list[int], records: np.ndarray, refused: Any) -> None:
        """Set the records that lanes accepted singly; if one of them is bad, none is set."""
        self.envs.set_state(records, lanes)
        if refused is not None:
            before = self.envs.get_state()
            records[self.rng.integers(len(lanes))] = refused[0]
            with pytest.raises(error.InvalidArgument):
                self.envs.set_state(records, lanes)
            assert self.envs.get_state().tobytes() == before.tobytes()

    def step(self, lanes: list[int]) -> None:
        """Step chosen lanes, or all: these are different loops."""
        envs, rng = self.envs, self.rng
        if 2 * len(lanes) > envs.num_envs:
            for _ in range(STEPS):
                observations, *_ = envs.step(self.actions[rng.integers(16)])
            assert fits(self.observed, observations)
        else:
            for _ in range(STEPS):
                actions = self.actions[rng.integers(16)]
                groups = actions if isinstance(actions, dict) else {"": actions}
                some = {group: each[lanes] for group, each in groups.items()}
                envs.step(some.get("", some), env_ids=lanes)
        with contextlib.suppress(error.InvalidArgument):  # such as nan, from huge numbers
            envs.set_state(envs.get_state())


@pytest.fixture
def watched() -> Iterator[None]:
    """End a test that hangs in compiled code."""
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("watched")
def test_changed_states_are_refused_or_go_on(name: str, rng: Any, rounds: Any):
    mode = ("NextStep", "SameStep")[NAMES.index(name) % 2]
    lanes = SLOW_LANES if name in SLOW else LANES
    envs = gym.make_vec(
        spec_of(name), lanes, vectorization_mode="native", vector_kwargs={"autoreset_mode": mode}
    )
    attack = Attack(envs, rng)
    while attack.go_on(rounds):
        faulthandler.dump_traceback_later(HANGS_AFTER, exit=True, file=sys.__stderr__)
    attack.tries.report(name)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in (*GAMES, *WORLDS)])
@pytest.mark.usefixtures("watched")
def test_changed_states_of_one_environment(name: str, rng: Any, rounds: Any):
    env = gym.make(spec_of(name)).unwrapped
    envs = gym.make_vec(spec_of(name), 4, vectorization_mode="native")
    tries = Tries(Changes(played(envs, rng), rng))
    env.action_space.seed(1)
    actions = [env.action_space.sample() for _ in range(16)]
    env.reset(seed=1)
    for _ in rounds:
        faulthandler.dump_traceback_later(HANGS_AFTER, exit=True, file=sys.__stderr__)
        record = next(tries.changes)
        if tries.offer(env, record, env.get_state()):
            fresh, ended = record["elapsed"][0] == NEVER_RESET, record["ended"][0]
            play(env, actions, rng, begun=not (fresh or ended))
    tries.report(f"one {name}")


def play(env: Any, actions: list[Any], rng: Any, *, begun: bool) -> None:
    """Step an environment, and reset it when an episode ends."""
    for _ in range(STEPS):
        if not begun:
            env.reset()
        observation, _, terminated, truncated, _ = env.step(actions[rng.integers(len(actions))])
        begun = not (terminated or truncated)
    assert fits(env.observation_space, observation)


def leaves_of(state: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of values in nested dicts and tuples."""
    if isinstance(state, (dict, tuple, list)) and state:
        keys = state if isinstance(state, dict) else range(len(state))
        for key in keys:
            yield from leaves_of(state[key], (*path, key))
    else:
        yield path


def replaced(state: Any, path: tuple[Any, ...], change: Any) -> Any:
    """Return a copy of nested dicts and tuples with one value changed."""
    if not path:
        return change(state)
    if isinstance(state, dict):
        return {**state, path[0]: replaced(state[path[0]], path[1:], change)}
    parts = list(state)
    parts[path[0]] = replaced(parts[path[0]], path[1:], change)
    return type(state)(parts) if not hasattr(state, "_fields") else type(state)(*parts)


class PlainChanges:
    """Endless states that are dicts of plain values, with changed values."""

    def __init__(self, states: list[dict[str, Any]], rng: np.random.Generator) -> None:
        """Keep the real states."""
        self.states, self.rng = states, rng
        self.paths = [list(leaves_of(state)) for state in states]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield a state."""
        rng = self.rng
        while True:
            index = int(rng.integers(len(self.states)))
            state, paths = self.states[index], self.paths[index]
            for _ in range(min(int(rng.geometric(0.6)), 8)):
                bytes_of = [path for path in paths if path[-1] == "emulator"]
                path = (
                    bytes_of[0]
                    if bytes_of and rng.random() < 0.8
                    else paths[rng.integers(len(paths))]
                )
                state = replaced(state, path, self.change)
            if isinstance(state.get("emulator"), bytes):
                state["checksum"] = zlib.crc32(state["emulator"])
            yield state

    def change(self, value: Any) -> Any:
        """Return another value."""
        rng = self.rng
        if isinstance(value, bytes) and value:
            return self._changed_bytes(value)
        kind = rng.integers(4)
        if isinstance(value, (int, float)) and kind:
            if kind == 1:
                return -value
            if kind == 2:
                return value + 1
            return type(value)(INTEGERS[rng.integers(len(INTEGERS))])
        others: list[Any] = [*INTEGERS, *FLOATS, None, "", b"", (), {}, True, 2**200, [1]]
        return others[rng.integers(len(others))]

    def _changed_bytes(self, value: bytes) -> bytes:
        rng, data = self.rng, np.frombuffer(value, np.uint8).copy()
        if rng.random() < 0.05:
            return value[: rng.integers(len(value))] + value[rng.integers(len(value)) :]
        other = self.states[rng.integers(len(self.states))]["emulator"]
        differs = np.flatnonzero(data[: len(other)] != np.frombuffer(other, np.uint8)[: len(data)])
        # Most of a state is the text of two generators, 6,700 bytes each.
        anywhere = [
            rng.integers(len(data)),
            rng.integers(82),
            len(data) // 2 + rng.integers(-700, 700),
        ]
        place = int(rng.choice([*anywhere, *differs[:1], *differs[-1:]]))
        dtype = TYPES[rng.integers(len(TYPES))]
        place = min(place, len(data) - dtype.itemsize)
        raw = data[place : place + dtype.itemsize]
        kind = rng.integers(3)
        if kind == 0:
            raw[rng.integers(len(raw))] ^= 1 << rng.integers(8)
        elif kind == 1:
            raw[:] = rng.integers(256, size=len(raw))
        else:
            raw[:] = bytes_of(INTEGERS[rng.integers(len(INTEGERS))], len(raw))
        return data.tobytes()


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.usefixtures("watched")
def test_changed_states_of_one_game(name: str, rng: Any, rounds: Any):
    env = gym.make(name).unwrapped
    env.action_space.seed(1)
    actions = [env.action_space.sample() for _ in range(16)]
    env.reset(seed=1)
    states = [env.get_state()]
    for _ in range(20):
        for _ in range(rng.integers(1, 12)):
            env.step(actions[rng.integers(16)])
        states.append(env.get_state())
    tries = Tries(PlainChanges(states, rng))
    for _ in rounds:
        faulthandler.dump_traceback_later(HANGS_AFTER, exit=True, file=sys.__stderr__)
        if tries.offer(env, next(tries.changes), env.get_state()):
            play(env, actions, rng, begun=True)
            env.set_state(states[rng.integers(len(states))])
    tries.report(f"one {name}")
