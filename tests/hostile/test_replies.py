"""Untrusted servers: descriptions and replies with random changes of their values and bytes.

A client returns results in its spaces, or raises an error of gymcore, in time and with bounded
memory.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from gymcore.remote import Client, HostedVectorEnv, RemoteVectorEnv
from gymcore.remote.server import VERSION
from gymcore.remote.space_messages import is_batch, space_message
from gymcore.remote.wire import decode, encode, message_hash
from gymcore.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Text, Tuple

pytestmark = [pytest.mark.hostile, pytest.mark.filterwarnings("ignore")]

VALUES: list[Any] = [
    None, True, -1, 0, 3, 10**9, 2**63 - 1, 0.5, float("nan"), float("inf"), "", "x", "Box", "|O",
    "<f4", [], (), {}, [1], (1, 2), {"a": 1}, "Discrete", "next_step", [[[]]], np.zeros(3), -0.0,
    np.zeros((2, 4), np.float32), np.array([None, {}], object), np.float32(2), np.zeros((0, 3)),
    ["Box", 0, 1, "<f4"], ["Discrete", 10**9, 0], ["MultiBinary", [10**6, 10**6]], ["Tuple", []],
    ["Text", 0, 10**9, "ab"], ["MultiDiscrete", np.arange(3), np.arange(3), "<i8"], "error", "ok",
]  # fmt: skip
SPACES: list[Space] = [
    Box(-1, 1, (4,)),
    Discrete(5),
    MultiBinary((2, 3)),
    MultiDiscrete([3, 4]),
    Text(5),
    Dict(a=Box(0, 255, (8, 8), np.uint8), b=Tuple((Discrete(2), Box(0, 1, ())))),
]


class Told(Client):
    """A client whose server replies with `answers`, one after another."""

    answers: list[Any] = []  # noqa: RUF012 - of all clients: it is set before they are made

    def _receive_frames(self, seconds: float) -> Any:
        return [memoryview(bytes(frame)) for frame in self.answers.pop(0)] if self.answers else None


def changed(rng: np.random.Generator, value: Any) -> Any:
    """Return a value with a random change somewhere in it."""
    kind = rng.integers(6)
    if isinstance(value, dict) and value and kind:
        key = str(rng.choice(list(value)))
        if kind == 1:
            return {name: each for name, each in value.items() if name != key}
        return {**value, key: changed(rng, value[key])}
    if isinstance(value, (list, tuple)) and value and kind:
        k = int(rng.integers(len(value)))
        inner = [changed(rng, value[k])] if kind > 1 else []
        return type(value)([*value[:k], *inner, *value[k + 1 :]])
    if isinstance(value, np.ndarray) and value.dtype != object and kind:
        if kind < 3:
            return value[:1] if value.ndim else value.reshape(1)
        return value.astype(str(rng.choice(["f4", "f8", "i8", "?", "u1"])))
    return VALUES[rng.integers(len(VALUES))]


def changed_frames(rng: np.random.Generator, frames: list[Any]) -> list[bytes]:
    """Return frames, sometimes with bytes changed, removed or added."""
    frames = [bytes(frame) for frame in frames]
    for _ in range(int(rng.choice((0, 0, 0, 0, 0, 0, 1, 3)))):
        k = int(rng.integers(len(frames)))
        data, at = bytearray(frames[k]), int(rng.integers(len(frames[k]) + 1))
        data[at : at + int(rng.integers(3))] = rng.bytes(int(rng.integers(3)))
        frames[k] = bytes(data)
    if rng.random() < 0.02:
        frames = frames[:-1] or [b""]
    if rng.random() < 0.02:
        frames.append(rng.bytes(9))
    return frames


def description(space: Space) -> dict[str, Any]:
    """Return the description that a server of two lanes with these observations sends."""
    with gym.make_vec("CartPole-v1", 2) as envs:
        hello = HostedVectorEnv(envs, "CartPole-v1").hello()
    return {**hello, "single_observation_space": space_message(space)}


def greeting(hello: Any) -> list[Any]:
    described = {**hello, "hash": message_hash(hello)} if isinstance(hello, dict) else hello
    return encode((VERSION, 0, "ok", (described, 1 << 20)))


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Connect a client whose server replies with given answers."""
    monkeypatch.setattr("gymcore.remote.vector_env.Client", Told)
    monkeypatch.setattr("gymcore.remote.client.CLOSE_SECONDS", 0.0)

    def connected(*answers: list[Any]) -> RemoteVectorEnv:
        Told.answers = list(answers)
        return RemoteVectorEnv(None, "127.0.0.1:1", connect_timeout=0.0, timeout=0.0)

    return connected


def test_descriptions(rng, rounds, limits, connect) -> None:
    hellos, connected = [description(space) for space in SPACES], 0
    for count in rounds:
        hello = hellos[count % len(hellos)]
        for _ in range(rng.integers(1, 3)):
            hello = changed(rng, hello)
        frames = changed_frames(rng, greeting(hello))
        with limits(hello, frames), contextlib.suppress(error.Error):
            connect(frames).close()
            connected += 1
    print(f"{connected} clients connected")


def test_replies(rng, rounds, limits, connect) -> None:
    envs, batches, accepted = [], [], 0
    for space in SPACES:
        envs.append(connect(greeting(description(space))))
        batches.append(envs[-1].observation_space.sample())
    numbers = np.zeros(2), np.zeros(2, bool), np.zeros(2, bool)
    infos = {"a": np.zeros(2), "_a": np.ones(2, bool), "final_obs": np.array([None, 1], object)}
    actions = np.zeros(2, np.int64)
    for count in rounds:
        one, batch = envs[count % len(envs)], batches[count % len(envs)]
        resets = rng.random() < 0.3
        reply = (batch, infos) if resets else (batch, *numbers, infos)
        message = (VERSION, one._client._number + 1, "ok", reply)
        changes = changed(rng, message if rng.random() < 0.2 else reply)
        reply = changes if rng.random() < 0.2 else (*message[:3], changes)
        Told.answers = [changed_frames(rng, encode(reply))]
        with limits(reply, Told.answers), contextlib.suppress(error.Error):
            if resets:
                observations, returned = one.reset(seed=1)
            else:
                observations, rewards, _, _, returned = one.step(actions)
                assert rewards.shape == (2,) and rewards.dtype == np.float64
            assert is_batch(one.single_observation_space, observations, 2)
            assert isinstance(returned, dict)
            accepted += 1
    print(f"{accepted} replies accepted")
    for one in envs:
        one.close()


def test_requests(rng, rounds, limits) -> None:
    """A server decodes the requests of everyone who may connect."""
    decoded = 0
    for count in rounds:
        value = {
            "a": changed(rng, [np.zeros(3), {"b": (1, "x")}]),
            "c": VALUES[count % len(VALUES)],
        }
        frames = changed_frames(rng, encode((VERSION, "f" * 32, 1, "step", [value])))
        with limits(value, frames), contextlib.suppress(error.InvalidArgument):
            decode(frames)
            decoded += 1
    print(f"{decoded} requests decoded")
