"""Environments over TCP by `Environment.create`."""

from __future__ import annotations

import socket
import threading
import time

import numpy as np
import pytest

from gymcore.environment import Environment
from gymcore.error import (
    ClosedEnvironmentError,
    EnvironmentFailed,
    InvalidArgument,
    RemoteRefused,
    RemoteTimeout,
    ResetNeeded,
)
from gymcore.remote import make_keys
from tests.environment.environments import Counter, Counters
from tests.remote.servers import serving


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@pytest.fixture
def connected():
    """Yield a function that serves an environment in a thread, and returns a client of it."""
    opened = []

    def connect(*args, client=None, server=None, **kwargs):
        port = free_port()
        results = []
        serve = {"remote": "socket-server", "port": port, **(server or {}), **kwargs}
        thread = threading.Thread(target=lambda: results.append(Environment.create(*args, **serve)))
        thread.start()
        opened.append((thread, results))
        remote = Environment.create(remote="socket-client", port=port, **(client or {}))
        opened[-1] = (thread, results, remote)
        return remote

    yield connect
    for thread, results, *remotes in opened:
        for remote in remotes:
            remote.close()
        thread.join(60)
        assert not thread.is_alive() and results == [None]  # it ends with its client


@pytest.mark.parametrize("with_keys", [False, True])
def test_it_is_as_a_local_one(connected, tmp_path, with_keys):
    options = {}
    if with_keys:
        make_keys(tmp_path / "keys")
        options = {"keys": tmp_path / "keys"}
    arguments = {"max_episode_timesteps": 5, "reward_shaping": "reward + 1", "seed": 3}
    remote = connected("CartPole-v1", client=options, server=options, **arguments)
    local = Environment.create("CartPole-v1", **arguments)
    assert remote.actions() == local.actions() and remote.max_episode_timesteps() == 5
    assert np.array_equal(remote.reset(), local.reset())
    assert remote.execute(1)[1:] == local.execute(1)[1:] == (0, 2.0)
    for environment in (remote, local):
        environment.seed(5)
    parallel, states = remote.reset(num_parallel=6)
    assert np.array_equal(states, local.reset(num_parallel=6)[1])
    while len(parallel):
        results = remote.execute(np.ones(len(parallel), int))
        expected = local.execute(np.ones(len(parallel), int))
        assert all(map(np.array_equal, results, expected))
        parallel = results[0]
    assert np.array_equal(remote.final_states(), local.final_states())


@pytest.mark.parametrize("limit", [None, 5])
def test_the_server_limits_parallel_environments(connected, limit):
    remote = connected("CartPole-v1", server={} if limit is None else {"max_parallel": limit})
    limit = limit or 1024
    for number in (limit + 1, 10_000_000, 1 << 62):
        with pytest.raises(InvalidArgument, match=f"num_parallel: expected at most {limit}, got"):
            remote.reset(num_parallel=number)
    assert len(remote.reset(num_parallel=limit)[0]) == limit
    with pytest.raises(InvalidArgument, match="max_parallel: expected at least 1, got 0"):
        Environment.create("CartPole-v1", remote="socket-server", port=1, max_parallel=0)


def test_nested_states_and_errors(connected):
    remote = connected(Counters)
    with pytest.raises(ResetNeeded):
        remote.execute({"x": 0.0})
    _, states = remote.reset(num_parallel=3)
    assert states["env"]["index"].shape == (3, 2)
    with pytest.raises(EnvironmentFailed, match="AssertionError"):
        remote.execute({"x": np.zeros(5)})
    remote.close()
    with pytest.raises(ClosedEnvironmentError):
        remote.reset()


def test_polling(connected):
    remote = connected(Counter)
    remote.start_reset()
    while (result := remote.receive_execute()) is None:
        time.sleep(0.001)
    assert result == (0, -1, None)
    remote.start_execute(1)
    while (result := remote.receive_execute()) is None:
        time.sleep(0.001)
    assert result == (1, 1, 1.0)


def test_addresses_of_version_6():
    options = {"remote": "socket-client", "host": "::1", "port": free_port()}
    with pytest.raises(RemoteTimeout, match=r"tcp://\[::1\]:"):
        Environment.create(**options, connect_timeout=0.1)


def test_blocking(connected):
    remote = connected(Counter, client={"blocking": True})
    remote.start_reset()
    assert remote.receive_execute() == (0, -1, None)


def test_a_vector_environment_is_no_environment():
    with serving() as server, pytest.raises(RemoteRefused, match="of kind 'environment'"):
        port = int(server.address.rpartition(":")[2])
        Environment.create(remote="socket-client", port=port)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"remote": "socket-client"}, "port: expected a number"),
        ({"remote": "socket-server"}, "port: expected a number"),
        ({"remote": "socket-client", "port": 1, "level": "x"}, "the server makes the environment"),
        (
            {"remote": "socket-client", "port": 1, "environment": "x"},
            "the server makes the environment",
        ),
        (
            {"remote": "socket-client", "port": 1, "reward_shaping": "x"},
            "the server makes the environment",
        ),
        ({"remote": "socket-server", "port": 1, "blocking": True}, "blocking: expected False"),
        ({"remote": "multiprocessing", "port": 1}, "host and port: expected None"),
        (
            {"remote": "socket-server", "port": 0, "environment": Counter, "host": "0.0.0.0"},
            "keys: expected a folder",
        ),
    ],
)
def test_arguments(arguments, message):
    with pytest.raises(InvalidArgument, match=message):
        Environment.create(**arguments)
