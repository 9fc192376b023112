"""Random, changed, truncated, oversized and replayed frames and wrong keys, sent to a server."""

from __future__ import annotations

import contextlib
import signal
import socket
import ssl
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest

import gymcore as gym
from gymcore.error import Error
from gymcore.remote import make_keys
from gymcore.remote.keys import client_context
from gymcore.remote.server import VERSION
from gymcore.remote.transport import GREETING, HEAD, MAGIC, Connection
from gymcore.remote.wire import encode

GROWTH = 32 << 20


def target(address):
    host, port = address.removeprefix("tcp://").split(":")
    return host, int(port)


class Attacker:
    """A connection with valid, wrong or no keys, which reconnects when it is closed."""

    def __init__(self, address, tls=None):
        self.target, self.tls, self.connection = target(address), tls, None

    def send(self, frames):
        try:
            if self.connection is None:
                peer = socket.create_connection(self.target, 5)
                if self.tls is not None:
                    peer = self.tls.wrap_socket(peer, do_handshake_on_connect=False)
                peer.setblocking(False)
                self.connection = Connection(peer)
            if not self.connection.flush():
                time.sleep(0.001)
            elif frames:
                self.connection.send(frames)
            while self.connection.receive() is not None:
                pass
        except (OSError, Error):
            self.close()

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def frames_of(generator, recorded):
    """Yield the frames of one attack; `recorded` are requests of the legitimate client."""
    number, size = int(generator.integers(3)), int(generator.choice((8, 1000)))
    request = VERSION, "f" * 32, number, "step", [np.zeros(size), None]
    good = [bytes(frame) for frame in encode(request)]
    kind = generator.integers(8)
    if kind == 0:
        return [generator.bytes(generator.integers(200)) for _ in range(generator.integers(1, 5))]
    if kind == 1:
        data = bytearray(good[0])
        for _ in range(generator.integers(1, 4)):
            data[generator.integers(len(data))] = generator.integers(256)
        return [bytes(data), *good[1:]]
    if kind == 2:
        return [good[0][: generator.integers(len(good[0]))], *good[1:]]
    if kind == 3:
        return [*good[:-1], good[-1][: generator.integers(len(good[-1]))]]
    if kind == 4:
        return [good[0], *good[1:], generator.bytes(20)]
    if kind == 5:
        return [b"\x91" * generator.integers(1, 5000)]
    if kind == 6 and recorded:
        return recorded[generator.integers(len(recorded))]
    return good


def connect_raw(address, generator):
    """Open a connection that does not speak the protocol, or announces an oversized message."""
    huge = GREETING + HEAD.pack(MAGIC, int(generator.choice((0, 1, 2**32 - 1))), 2**62)
    with contextlib.suppress(OSError), socket.create_connection(target(address), 5) as raw:
        raw.sendall(generator.bytes(64) if generator.integers(2) else huge)


@pytest.mark.hostile
@pytest.mark.parametrize("with_keys", [False, True])
def test_a_server_under_fire(tmp_path, hostile_seconds, hostile_seed, with_keys):
    attack(tmp_path, hostile_seed, with_keys, seconds=hostile_seconds, frames=500)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("with_keys", [False, True])
def test_200_000_frames(tmp_path, hostile_seed, with_keys):
    attack(tmp_path, hostile_seed, with_keys, seconds=0, frames=200_000)


def attack(tmp_path, seed, with_keys, seconds, frames):
    """Send at least this many frames, for this long, while a legitimate client steps."""
    for name in ("ours", "theirs"):
        make_keys(tmp_path / name)
    keys = tmp_path / "ours" if with_keys else None
    words = ["serve", "CartPole-v1", "--num-envs", "8", *(["--keys", keys] if keys else [])]
    command = [sys.executable, "-m", "gymcore", *map(str, words)]
    generator = np.random.default_rng(seed)
    log = (tmp_path / "log").open("w")
    with log, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as server:
        try:
            address = server.stdout.readline().split(" at ")[1].split(",")[0]
            drain = subprocess.Popen(["cat"], stdin=server.stdout, stdout=log)
            envs = gym.make_vec(
                "CartPole-v1", 8, vectorization_mode="remote", address=address, keys=keys
            )
            local = gym.make_vec("CartPole-v1", 8)
            assert np.array_equal(envs.reset(seed=1)[0], local.reset(seed=1)[0])
            good = client_context(keys) if with_keys else None
            attackers = [Attacker(address, good) for _ in range(3)]
            if with_keys:
                wrong = client_context(tmp_path / "theirs")
                wrong.verify_mode = ssl.CERT_NONE  # an attacker does not care whose server it is
                attackers += [Attacker(address), Attacker(address, wrong)]
            process = psutil.Process(server.pid)
            end = time.monotonic() + seconds
            sent, before, recorded = 0, None, []
            while time.monotonic() < end or sent < frames:
                attackers[sent % len(attackers)].send(frames_of(generator, recorded))
                sent += 1
                if sent % 200 == 0:
                    actions = local.action_space.sample()
                    assert np.array_equal(envs.step(actions)[0], local.step(actions)[0])
                    recorded = [*recorded[-9:], [bytes(part) for part in envs._client._request]]
                    connect_raw(address, generator)
                if sent % 2000 == 0:
                    attackers[0].send([bytes(2 << 20)])  # a header that is too large
                    before = before or process.memory_info().rss
            assert process.memory_info().rss < (before or process.memory_info().rss) + GROWTH
            envs.close()
            server.terminate()  # SIGINT is ignored if these tests run in the background of a shell
            assert server.wait(30) == 128 + signal.SIGTERM
            print(f"{sent} frames")
        finally:
            server.kill()
            drain.wait()
            for attacker in attackers:
                attacker.close()
    assert "Traceback" not in (tmp_path / "log").read_text()
