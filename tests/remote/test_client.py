"""Clients of dishonest servers: each answer is an error, or a result in the spaces."""

from __future__ import annotations

import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from gymcore.environment import Environment
from gymcore.remote import HostedVectorEnv, RemoteVectorEnv, client
from gymcore.remote.server import VERSION
from gymcore.remote.wire import encode, message_hash
from tests.remote.servers import answering


def hello_of(**changes):
    with gym.make_vec("CartPole-v1", 2) as envs:
        described = {**HostedVectorEnv(envs, "CartPole-v1").hello(), **changes}
    return {name: value for name, value in described.items() if value is not ...}


def ok(number, value):
    return encode((VERSION, number, "ok", value))


def greeting(hello, number=0):
    return ok(number, ({**hello, "hash": message_hash(hello)}, 1 << 20))


@pytest.fixture(autouse=True)
def _no_wait_for_a_goodbye(monkeypatch):
    """Do not wait for the reply to `close`, which none of these servers sends."""
    monkeypatch.setattr(client, "CLOSE_SECONDS", 0.01)


def connect(frames):
    with answering(lambda number, verb: frames) as address:
        RemoteVectorEnv(None, address, connect_timeout=30.0)


BYTE = ["Discrete", 2, 0, "|u1"]
BYTES = {"single_observation_space": BYTE, "single_action_space": BYTE}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_envs": 10**9}, "1 or more lanes in messages of 268435456 bytes, got 1000000000"),
        ({"num_envs": 1 << 27, **BYTES}, "1 or more lanes"),
        ({"num_envs": 1 << 18, "single_observation_space": ["Text", 1, 5, "a"]}, "1 or more lanes"),
        ({"num_envs": 0}, "1 or more lanes"),
        ({"num_envs": -3}, "1 or more lanes"),
        ({"num_envs": "2"}, "num_envs as"),
        ({"single_observation_space": ["Box", 0, 1, "O"]}, "space: expected a space"),
        ({"single_observation_space": ["MultiBinary", 10**9]}, "1 or more lanes"),
        ({"single_action_space": 5}, "single_action_space as"),
        ({"autoreset_mode": "Nope"}, "Nope"),
        ({"steps_some_lanes": None}, "steps_some_lanes as"),
        ({"id": ...}, "id as"),
        ({"render_mode": ...}, "render_mode as"),
        ({"kind": 5}, "a server of kind 'vector', got one of kind 5"),
        ({"kind": ...}, "a server of kind 'vector', got one of kind None"),
    ],
)
def test_descriptions(changes, message):
    with pytest.raises(error.RemoteError, match=message):
        connect(greeting(hello_of(**changes)))


@pytest.mark.parametrize(
    ("frames", "message"),
    [
        ([b"nonsense"], "message: expected"),
        (encode(None), "a reply of four values, got None"),
        (encode((VERSION, 0, "ok")), "a reply of four values"),
        (encode((np.zeros(3), 0, "ok", None)), "a reply of four values"),
        (ok(0, None), "a description and a size, got None"),
        (ok(0, ({}, "1")), "a description and a size"),
        (ok(0, ({}, 5)), "expected the hash"),
        (encode((VERSION, 0, "odd", None)), "a result, a refusal or an error"),
        (encode((VERSION, 0, "error", None)), "a result, a refusal or an error"),
        (encode((VERSION, 0, "error", ([], "", ""))), "a result, a refusal or an error"),
        (encode((VERSION, 0, "refused", 5)), "a result, a refusal or an error"),
    ],
)
def test_replies_without_the_form(frames, message):
    with pytest.raises(error.RemoteError, match=message):
        connect(frames)


GOOD = (
    np.zeros((2, 4), np.float32), np.zeros(2), np.zeros(2, np.bool_), np.zeros(2, np.bool_), {},
)  # fmt: skip


def with_item(k, value):
    return (*GOOD[:k], value, *GOOD[k + 1 :])


@pytest.mark.parametrize(
    ("verb", "value"),
    [
        ("step", None),
        ("step", GOOD[:4]),
        ("step", with_item(0, np.zeros((5, 7)))),
        ("step", with_item(0, np.zeros((2, 4)))),
        ("step", with_item(0, np.zeros((3, 4), np.float32))),
        ("step", with_item(1, np.zeros(3))),
        ("step", with_item(1, np.zeros(2, np.float32))),
        ("step", with_item(2, np.zeros(2))),
        ("step", with_item(3, np.zeros((2, 1), np.bool_))),
        ("step", with_item(4, None)),
        ("reset", None),
        ("reset", (GOOD[0], None)),
        ("reset", (np.zeros((2, 5), np.float32), {})),
        ("reset", ((GOOD[0],), {})),
        ("get_attr", (1,)),
        ("get_attr", 5),
    ],
)
def test_results_of_other_spaces(verb, value):
    answers = {"hello": None, "reset": (GOOD[0], {}), "step": GOOD, verb: value}

    def replies(number, asked):
        return greeting(hello_of()) if asked == "hello" else ok(number, answers.get(asked))

    with answering(replies) as address, RemoteVectorEnv(None, address) as envs:
        if verb != "reset":
            envs.reset()
        calls = {
            "reset": envs.reset,
            "step": lambda: envs.step(np.zeros(2, int)),
            "get_attr": lambda: envs.get_attr("gravity"),
        }
        with pytest.raises(error.RemoteError, match=r"^tcp://.*: expected"):
            calls[verb]()
        if verb == "step":
            envs.send(np.zeros(2, int))
            with pytest.raises(error.RemoteError, match=r"^tcp://.*: expected"):
                envs.recv()
            answers["step"] = GOOD  # after the error it is usable
            assert len(envs.step(np.zeros(2, int))) == 5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"states": None}, "states as"),
        ({"states": {"type": "float", "shape": (-1,)}}, "shape"),
        ({"actions": {"a": 5}}, "a"),
        ({"num_actors": "1"}, "num_actors as"),
    ],
)
def test_environments(changes, message):
    described = {**ENVIRONMENT, **changes}
    refused = pytest.raises(error.RemoteError, match=message)
    with answering(lambda number, verb: greeting(described)) as address, refused:
        environment_at(address)


ENVIRONMENT = {
    "kind": "environment",
    "name": "E",
    "states": {"type": "float", "shape": (2,)},
    "actions": {"type": "int", "num_values": 2},
    "max_episode_timesteps": None,
    "is_vectorizable": True,
    "num_actors": 1,
}
STATES, ROWS = np.zeros(2), (np.arange(3), np.zeros((3, 2)))


def environment_at(address):
    host, port = address.removeprefix("tcp://").split(":")
    return Environment.create(remote="socket-client", host=host, port=int(port))


@pytest.mark.parametrize("waits", [True, False], ids=["execute", "receive_execute"])
@pytest.mark.parametrize(
    ("verb", "num_parallel", "reply"),
    [
        ("reset", None, "x"),
        ("reset", None, {}),
        ("reset", None, np.zeros(3)),
        ("reset", None, np.array(["a", "b"], object)),
        ("reset", 3, STATES),
        ("reset", 3, ()),
        ("reset", 3, (3, ROWS[1])),
        ("reset", 3, (*ROWS, 1)),
        ("reset", 3, (ROWS[0], np.zeros((2, 2)))),
        ("execute", None, 5),
        ("execute", None, (STATES, 0, 0.0)),
        ("execute", None, ((STATES, 0), None)),
        ("execute", None, ((*ROWS, 0, 0.0), None)),
        ("execute", 3, ((STATES, 0, 0.0), None)),
    ],
)
def test_results_of_other_environments(verb, num_parallel, reply, waits):
    results = {"hello": None, "reset": ROWS if num_parallel else STATES, verb: reply}

    def replies(number, asked):
        return greeting(ENVIRONMENT) if asked == "hello" else ok(number, results.get(asked))

    with answering(replies) as address, environment_at(address) as environment:
        if verb == "execute":
            environment.reset(num_parallel)
        calls = {"reset": (environment.reset, environment.start_reset, num_parallel)}
        calls["execute"] = environment.execute, environment.start_execute, 1
        call, start, argument = calls[verb]
        with pytest.raises(error.RemoteError, match=f"{verb}: expected states"):
            if waits:
                call(argument)
            else:
                start(argument)
                while environment.receive_execute() is None:
                    pass
