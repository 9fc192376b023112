"""Random, changed, truncated, oversized and replayed frames and wrong keys, at a server."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest
import zmq

import gymcore as gym
from gymcore.remote import make_keys
from gymcore.remote.keys import client_keys
from gymcore.remote.server import VERSION
from gymcore.remote.wire import encode

GROWTH = 32 << 20


class Attacker:
    """A socket with good keys, with wrong ones, or without."""

    def __init__(self, context, address, keys=None, server_key=None):
        self.socket = context.socket(zmq.DEALER)
        self.socket.linger = 0
        self.socket.sndhwm = 100
        if keys is not None:
            public, secret, server = client_keys(keys)
            self.socket.curve_publickey, self.socket.curve_secretkey = public, secret
            self.socket.curve_serverkey = server_key or server
        self.socket.connect(address)

    def send(self, frames):
        try:
            self.socket.send_multipart(frames, zmq.NOBLOCK)
        except zmq.Again:
            time.sleep(0.001)
        while self.socket.poll(0):
            self.socket.recv_multipart()


def frames_of(generator, recorded):
    """The frames of one attack; `recorded` are requests of the client that is served."""
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
    """A connection that does not speak the protocol, or claims a frame of 2**62 bytes."""
    host, port = address.removeprefix("tcp://").split(":")
    greeting = b"\xff" + bytes(8) + b"\x7f\x03\x00NULL" + bytes(48)
    huge = greeting + b"\x04\x19\x05READY" + bytes(19) + b"\x02" + (2**62).to_bytes(8, "big")
    with contextlib.suppress(OSError), socket.create_connection((host, int(port)), 5) as raw:
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
    """Send frames for so long, and at least so many, while a good client steps."""
    for name in ("ours", "theirs"):
        make_keys(tmp_path / name)
    keys = tmp_path / "ours" if with_keys else None
    words = ["serve", "CartPole-v1", "--num-envs", "8", *(["--keys", keys] if keys else [])]
    command = [sys.executable, "-m", "gymcore", *map(str, words)]
    context = zmq.Context()
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
            attackers = [Attacker(context, address, keys) for _ in range(3)]
            if with_keys:
                server_key = client_keys(keys)[2]
                attackers.append(Attacker(context, address))
                attackers.append(Attacker(context, address, tmp_path / "theirs", server_key))
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
            context.destroy(0)
    assert "Traceback" not in (tmp_path / "log").read_text()
