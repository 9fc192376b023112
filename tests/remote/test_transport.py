"""Messages over a pair of sockets: in any pieces, and refusals before memory is allocated."""

from __future__ import annotations

import contextlib
import socket
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gymcore.remote.transport import GREETING, HEAD, MAGIC, MAX_FRAMES, Connection, NotTheProtocol


@contextlib.contextmanager
def pair(max_bytes=1 << 20):
    """Return the connection that receives, and the socket of its peer."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        yield Connection(ours, max_bytes), theirs


def bytes_of(frames):
    """Return a message as a socket receives it."""
    with pair() as (receiver, theirs):
        theirs.setblocking(False)
        sender = Connection(theirs)
        data = bytearray()
        done = sender.send(frames)
        while True:
            with contextlib.suppress(BlockingIOError):
                while piece := receiver.socket.recv(1 << 16):
                    data += piece
            if done:
                return bytes(data)
            done = sender.flush()


MESSAGES = st.lists(st.lists(st.binary(max_size=300), min_size=1, max_size=5), max_size=4)


@given(MESSAGES, st.lists(st.integers(1, 40), min_size=1, max_size=9))
def test_messages_in_any_pieces(messages, sizes):
    stream = GREETING + b"".join(bytes_of(frames)[len(GREETING) :] for frames in messages)
    received, k = [], 0
    with pair() as (connection, theirs):
        while stream:
            size = sizes[k % len(sizes)]
            theirs.sendall(stream[:size])
            stream, k = stream[size:], k + 1
            while (frames := connection.receive()) is not None:
                received.append([bytes(frame) for frame in frames])
        assert connection.greeted and connection.receive() is None
    assert received == messages


def test_a_message_that_the_socket_takes_in_parts():
    frames = [b"head", bytes(range(256)) * 20_000, b"", b"tail"]
    data = bytes_of(frames)
    assert len(data) == len(GREETING) + HEAD.size + 8 * 4 + sum(map(len, frames))
    assert data.endswith(frames[1] + b"tail")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "expected b'gymcore remote 3', got b'GET"),
        (GREETING + HEAD.pack(b"gym2", 1, 5), "a message, which begins with b'gym3'"),
        (GREETING + HEAD.pack(MAGIC, 0, 5), "1 to 100000 frames, got 5 bytes in 0"),
        (GREETING + HEAD.pack(MAGIC, MAX_FRAMES + 1, 0), "1 to 100000 frames, got 0 bytes in"),
        (GREETING + HEAD.pack(MAGIC, 1, 993), "at most 1000 bytes in 1 to"),
        (GREETING + HEAD.pack(MAGIC, 1, 2**64 - 1), "at most 1000 bytes in 1 to"),
        (GREETING + HEAD.pack(MAGIC, 126, 0), "at most 1000 bytes in 1 to"),
        (
            GREETING + HEAD.pack(MAGIC, 2, 3) + struct.pack("<2Q", 2**64 - 1, 4) + b"abc",
            "frames of 3 bytes, got 18446744073709551619",
        ),
    ],
)
def test_what_is_not_the_protocol(data, message):
    with pair(max_bytes=1000) as (connection, theirs):
        theirs.sendall(data)
        with pytest.raises(NotTheProtocol, match=message):
            connection.receive()


def test_a_peer_that_hangs_up():
    with pair() as (connection, theirs):
        theirs.sendall(GREETING[:5])
        assert connection.receive() is None and not connection.greeted
        theirs.close()
        with pytest.raises(ConnectionError, match="the peer has closed the connection"):
            connection.receive()
