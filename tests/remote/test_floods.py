"""Peers that flood a server: its memory is bounded, and its legitimate client is served."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import psutil
import pytest

import gymcore as gym
from gymcore.remote import make_keys
from gymcore.remote.keys import client_context
from gymcore.remote.server import MAX_CONNECTIONS, VERSION
from gymcore.remote.transport import GREETING, HEAD, MAGIC
from gymcore.remote.wire import encode
from tests.remote.servers import Raw

pytestmark = pytest.mark.slow

MEBIBYTE = 1 << 20
LARGEST = 300 * MEBIBYTE


class Flooded:
    """A server in a process of its own, its legitimate client, and its peak memory."""

    def __init__(self, address, pid, tls):
        self.address, self.tls = address, tls
        self.process = psutil.Process(pid)

    def connect(self, encrypted=True):
        return Raw(self.address, self.tls if encrypted else None)

    def pour(self, raw, data, times):
        """Send bytes this often, or until the server hangs up or stops reading."""
        raw.connection.socket.settimeout(1)
        with contextlib.suppress(OSError):
            for _ in range(times):
                raw.connection.socket.sendall(data)
                assert self.process.memory_info().rss < LARGEST


@pytest.fixture(params=[False, True], ids=["loopback", "keys"])
def flooded(request, tmp_path):
    keys = tmp_path / "keys" if request.param else None
    if keys is not None:
        make_keys(keys)
    words = ["serve", "CartPole-v1", "--num-envs", "3", *(["--keys", keys] if keys else [])]
    command = [sys.executable, "-m", "gymcore", *map(str, words)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server,
        ThreadPoolExecutor() as pool,
    ):
        try:
            address = server.stdout.readline().split(" at ")[1].split(",")[0]
            pool.submit(server.stdout.read)
            mode = {"vectorization_mode": "remote", "address": address, "keys": keys}
            with gym.make_vec("CartPole-v1", 3, **mode) as envs:
                envs.reset(seed=1)
                yield Flooded(address, server.pid, client_context(keys) if keys else None)
                assert len(envs.step(np.zeros(3, np.int64))[1]) == 3
            assert psutil.Process(server.pid).memory_info().rss < LARGEST
        finally:
            server.kill()


def test_a_message_of_many_frames(flooded):
    with flooded.connect() as raw:
        head = HEAD.pack(MAGIC, 2000, 2000 * MEBIBYTE)
        raw.connection.socket.sendall(head + MEBIBYTE.to_bytes(8, "little") * 2000)
        flooded.pour(raw, bytes(MEBIBYTE), 2000)


def test_a_message_of_many_empty_frames(flooded):
    with flooded.connect() as raw:
        raw.connection.socket.sendall(HEAD.pack(MAGIC, 21_000_000, 0))
        flooded.pour(raw, bytes(MEBIBYTE), 160)


def test_unfinished_messages_of_strangers(flooded):
    with contextlib.ExitStack() as stack:
        for _ in range(10):
            raw = stack.enter_context(flooded.connect(encrypted=False))
            raw.connection.flush()
            with contextlib.suppress(OSError):
                raw.connection.socket.sendall(HEAD.pack(MAGIC, 1, 200 * MEBIBYTE))
            flooded.pour(raw, bytes(MEBIBYTE), 199)


def test_more_connections_than_a_server_keeps(flooded):
    host, _, port = flooded.address.removeprefix("tcp://").partition(":")
    head = GREETING + HEAD.pack(MAGIC, 1, 60_000) + bytes(50_000)
    with contextlib.ExitStack() as stack:
        for _ in range(3 * MAX_CONNECTIONS):
            raw = stack.enter_context(socket.create_connection((host, int(port)), 10))
            with contextlib.suppress(OSError):
                raw.sendall(head)
        assert flooded.process.num_fds() < 2 * MAX_CONNECTIONS


def test_requests_of_a_stranger_whose_replies_are_not_received(flooded):
    """The server stops reading requests of a connection that does not receive its replies."""
    message = b"".join(map(bytes, encode((VERSION, "f" * 32, 0, "hello", []))))
    message = HEAD.pack(MAGIC, 1, len(message)) + len(message).to_bytes(8, "little") + message
    with flooded.connect() as raw:
        raw.connection.flush()
        raw.connection.socket.settimeout(0.3)
        sent, end = 0, time.monotonic() + 20
        with contextlib.suppress(OSError):
            while time.monotonic() < end:
                sent += raw.connection.socket.send(message * 100)
        assert time.monotonic() < end and sent
