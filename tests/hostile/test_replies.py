"""Servers of strangers: descriptions and replies with random changes of their values and bytes.

A client returns results of the spaces, or raises an error of gymcore, in time and with bounded
memory.
"""

from __future__ import annotations

import contextlib
import resource
import time
from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from gymcore.remote import Client, HostedVectorEnv, RemoteVectorEnv
from gymcore.remote.server import VERSION
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
    """A client whose server says `answers`, one after another."""

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


def messages(rng: np.random.Generator, space: Space) -> tuple[list[Any], list[Any], list[Any]]:
    """The frames of a description and of replies to `reset` and `step`, with random changes."""
    with gym.make_vec("CartPole-v1", 2) as envs:
        hello = HostedVectorEnv(envs, "CartPole-v1").hello()
    from gymcore.remote.space_messages import space_message
    from gymcore.spaces.batching import batch_space

    hello = {**hello, "single_observation_space": space_message(space)}
    batch = batch_space(space, 2)
    batch.seed(1)
    observations = batch.sample()
    numbers = np.zeros(2), np.zeros(2, bool), np.zeros(2, bool)
    infos = {"a": np.zeros(2), "_a": np.ones(2, bool), "final_obs": np.array([None, 1], object)}
    if rng.random() < 0.3:
        hello = changed(rng, hello)
    reset, step = (observations, infos), (observations, *numbers, infos)
    described = {**hello, "hash": message_hash(hello)} if isinstance(hello, dict) else hello
    return (
        [VERSION, 0, "ok", (described, 1 << 20)],
        [VERSION, 1, "ok", changed(rng, reset) if rng.random() < 0.2 else reset],
        [VERSION, 2, "ok", changed(rng, step) if rng.random() < 0.7 else step],
    )


def test_descriptions_and_replies(rng, rounds, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gymcore.remote.vector_env.Client", Told)
    monkeypatch.setattr("gymcore.remote.client.CLOSE_SECONDS", 0.0)
    before, connected, stepped, count = None, 0, 0, 0
    for count in rounds:
        hello, reset, step = messages(rng, SPACES[count % len(SPACES)])
        if rng.random() < 0.1:
            reset, step = changed(rng, reset), changed(rng, step)
        begin = time.monotonic()
        with contextlib.suppress(error.Error):
            Told.answers = [changed_frames(rng, encode(tuple(hello)))]
            envs = RemoteVectorEnv(None, "127.0.0.1:1", connect_timeout=0.001, timeout=0.001)
            connected += 1
            with contextlib.closing(envs):
                Told.answers = [
                    changed_frames(rng, encode(tuple(one) if isinstance(one, list) else one))
                    for one in (reset, step)
                ]
                _, infos = envs.reset(seed=1)
                assert isinstance(infos, dict)
                envs.action_space.seed(1)
                results = envs.step(envs.action_space.sample())
                assert results[1].shape == (envs.num_envs,) and results[1].dtype == np.float64
                stepped += 1
        assert time.monotonic() - begin < 2, (hello, reset, step)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        before = before or memory
        assert memory < before + (256 << 10), (hello, reset, step)
    print(f"{count + 1} servers, {connected} connected, {stepped} stepped")


def test_frames_at_the_decoder(rng, rounds) -> None:
    """Requests too: a server decodes those of everyone who may connect."""
    decoded, count = 0, 0
    for count in rounds:
        value = {
            "a": changed(rng, [np.zeros(3), {"b": (1, "x")}]),
            "c": VALUES[count % len(VALUES)],
        }
        frames = changed_frames(rng, encode((VERSION, "f" * 32, 1, "step", [value])))
        with contextlib.suppress(error.InvalidArgument):
            decode(frames)
            decoded += 1
    print(f"{count + 1} messages, {decoded} decoded")
