"""A client of a `Server`: requests, and their replies."""

from __future__ import annotations

import builtins
import os
import secrets
import time
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gymcore import error
from gymcore.base.arguments import positive
from gymcore.error import (
    ClosedEnvironmentError,
    EnvironmentFailed,
    ForkedProcessError,
    InvalidArgument,
    RemoteError,
    RemoteRefused,
    RemoteTimeout,
)
from gymcore.remote.keys import client_keys, load_zmq
from gymcore.remote.server import (
    BYE,
    HEARTBEAT_MILLISECONDS,
    HELLO,
    MAX_MESSAGE_BYTES,
    VERSION,
    end,
    monitor_of,
)
from gymcore.remote.wire import Frame, decode, encode, message_hash
from gymcore.vector.workers.failures import environment_failed

__all__ = ["Client"]

CONNECT_SECONDS = 10.0
CALL_SECONDS = 60.0
CLOSE_SECONDS = 1.0
POLL_MILLISECONDS = 50  # between looks at the state of the connection


class Client:
    """One session with a server. Requests are made one after another, by one thread at a time.

    A connection that breaks is made again, and the last request is sent again, until time is over.

    Attributes:
        hello: The server's description of the environment.
        specification_hash: SHA-256 of this description.
    """

    def __init__(
        self,
        address: str,
        kind: str,
        keys: str | Path | None = None,
        connect_timeout: float = CONNECT_SECONDS,
        timeout: float = CALL_SECONDS,
        max_message_bytes: int = MAX_MESSAGE_BYTES,
    ) -> None:
        """Begin a session.

        Args:
            address: `tcp://host:port`, or `host:port`.
            kind: What the server must host: "vector" or "environment".
            keys: The folder with the client's keys and the public key of the server.
            connect_timeout: How long the server may take for its first answer, in seconds.
            timeout: How long it may take to answer a request, in seconds.
            max_message_bytes: The largest part of a message that is received.

        Raises:
            InvalidArgument: if an argument has an impossible value.
            RemoteRefused: if the server rejects this client, serves another one, or hosts
                something else.
            RemoteTimeout: if there is no answer in time.
            DependencyNotInstalled: if pyzmq or msgpack is missing.
        """
        self._zmq = zmq = load_zmq()
        if not isinstance(address, str):
            raise error.ArgumentTypeError(f"address: expected a string, got {address!r}")
        self.address = address if "://" in address else f"tcp://{address}"
        positive("max_message_bytes", max_message_bytes)
        self._timeout = timeout
        self._max_bytes = MAX_MESSAGE_BYTES
        self._pid = os.getpid()
        self._session = secrets.token_hex(16)
        self._number = 0
        self._verb = HELLO
        self._lost = False  # the connection
        self._wait = -1  # ms, for what the socket waits
        self._request: list[Frame] = []
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.DEALER)
        self._monitor = monitor_of(self._socket, self._context)
        sockets = self._socket, self._monitor
        self._end = weakref.finalize(self, end, self._context, sockets, os.getpid())
        try:
            self._socket.setsockopt(zmq.LINGER, 0)
            self._socket.setsockopt(zmq.MAXMSGSIZE, max_message_bytes)
            self._socket.setsockopt(zmq.HEARTBEAT_IVL, HEARTBEAT_MILLISECONDS)
            self._socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, 3 * HEARTBEAT_MILLISECONDS)
            self._socket.setsockopt(zmq.RECONNECT_IVL, 50)
            self._socket.setsockopt(zmq.RECONNECT_IVL_MAX, 1000)
            self._socket.setsockopt(zmq.IPV6, True)
            if keys is not None:
                public, secret, server = client_keys(keys)
                self._socket.curve_publickey = public
                self._socket.curve_secretkey = secret
                self._socket.curve_serverkey = server
            try:
                self._socket.connect(self.address)
            except zmq.ZMQError as problem:
                raise InvalidArgument(
                    f"address: expected tcp://host:port, got {address!r} ({problem})"
                ) from None
            self._send_request([])
            self._begin(self.receive(connect_timeout), kind)
        except BaseException:
            self._end()
            raise

    def _begin(self, greeting: Any, kind: str) -> None:
        """Check and store what the server says of itself."""
        match greeting:
            case (dict(hello), int(max_bytes)) if max_bytes > 0:
                self.hello, self._max_bytes = hello, max_bytes
            case _:
                raise self.malformed("a description and a size", greeting)
        self.specification_hash = hello.pop("hash", None)
        if self.specification_hash != message_hash(hello):
            raise RemoteRefused(f"{self.address}: expected a hash of what the server says")
        if hello.get("kind") != kind:
            raise RemoteRefused(
                f"{self.address}: expected a server of kind {kind!r}, got one of kind "
                f"{hello.get('kind')!r}"
            )

    def malformed(self, expected: str, got: object) -> RemoteError:
        """Return the error for what a server of this protocol does not send."""
        return RemoteError(f"{self.address}: expected {expected}, got {got!r:.200}")

    def request(self, verb: str, *arguments: object) -> Any:
        """Send a request and return its reply; see `send` and `receive`."""
        self.send(verb, *arguments)
        return self.receive(self._timeout)

    def send(self, verb: str, *arguments: object) -> None:
        """Send a request; a reply to an earlier one is dropped.

        Raises:
            ArgumentTypeError: if the arguments cannot be sent; nothing has been sent.
            InvalidArgument: if a frame is larger than the server accepts; nothing has been sent.
            ClosedEnvironmentError: after `close`.
            ForkedProcessError: in a forked child of the process that began the session.
        """
        self._check_open(verb)
        self._send_request(arguments, verb)

    def receive(self, seconds: float | None = None) -> Any:
        """Return the reply to the last request.

        Args:
            seconds: How long to wait; None as long as the client's `timeout`, 0 not at all.

        Returns:
            The reply; None if there is none and `seconds` is 0.

        Raises:
            EnvironmentFailed: What the environment has raised, of that class too if it is one of
                Python's or gymcore's.
            RemoteRefused: if the server refuses the request, as after a restart.
            RemoteError: if the reply is not of the protocol.
            RemoteTimeout: if there is no reply in time.
            ClosedEnvironmentError: after `close`.
        """
        self._check_open(self._verb)
        limit = self._timeout if seconds is None else seconds
        deadline = time.monotonic() + limit
        while True:
            left = max(0.0, deadline - time.monotonic())
            try:
                frames = self._receive_frames(min(int(1000 * left), POLL_MILLISECONDS))
            except self._zmq.Again:
                self._note_connections()
                if left > 0.0:
                    continue
                if limit == 0.0:
                    return None
                raise RemoteTimeout(
                    f"{self.address} has not answered {self._verb} in {limit} s"
                ) from None
            try:
                reply = decode(frames)
            except InvalidArgument as problem:
                raise RemoteError(f"{self.address}: {problem}") from None
            if not isinstance(reply, tuple) or len(reply) != 4:
                raise self.malformed("a reply of four values", reply)
            if reply[:2] == (VERSION, self._number):
                return self._result(*reply[2:])

    def _receive_frames(self, milliseconds: int) -> list[bytes]:
        """Wait on the socket alone: a poller with the monitor takes twice as long to wake up."""
        if milliseconds != self._wait:
            self._wait = milliseconds
            self._socket.setsockopt(self._zmq.RCVTIMEO, milliseconds)
        frames: list[bytes] = self._socket.recv_multipart()
        return frames

    def close(self) -> None:
        """End the session, any number of times; the environment stays open."""
        if self._context.closed:
            return
        try:
            if os.getpid() == self._pid:
                self.send(BYE)
                self.receive(CLOSE_SECONDS)
        except (error.Error, self._zmq.ZMQError):
            pass
        finally:
            self._end()

    def __enter__(self) -> Client:
        """Return the client."""
        return self

    def __exit__(self, *exception: object) -> None:
        """End the session."""
        self.close()

    def _check_open(self, verb: str) -> None:
        if self._context.closed:
            raise ClosedEnvironmentError(f"{verb}: the session with {self.address} has ended")
        if os.getpid() != self._pid:
            raise ForkedProcessError(f"{verb}: the session belongs to process {self._pid}")

    def _send_request(self, arguments: Sequence[object], verb: str = HELLO) -> None:
        number = self._number + (verb != HELLO)
        frames = encode((VERSION, self._session, number, verb, list(arguments)))
        if max(map(len, frames)) > self._max_bytes:
            raise InvalidArgument(
                f"{verb}: expected at most {self._max_bytes} bytes a frame, as {self.address} "
                f"takes, got {max(map(len, frames))}"
            )
        self._number, self._verb, self._request = number, verb, frames
        self._socket.send_multipart(frames, copy=len(frames) == 1)

    def _note_connections(self) -> None:
        """Send the request again where a connection was lost; raise where it is refused."""
        from zmq.utils.monitor import recv_monitor_message

        zmq = self._zmq
        while self._monitor.poll(0):
            event = recv_monitor_message(self._monitor)["event"]
            if event in (
                zmq.EVENT_HANDSHAKE_FAILED_AUTH,
                zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL,
                zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL,
            ):
                raise RemoteRefused(
                    f"{self.address} refuses the connection: expected its key, a key that it "
                    "knows, and the protocol"
                )
            if event == zmq.EVENT_DISCONNECTED:
                self._lost = True
            elif event == zmq.EVENT_HANDSHAKE_SUCCEEDED and self._lost:
                self._lost = False
                self._socket.send_multipart(self._request)

    def _result(self, status: object, value: Any) -> Any:
        match status, value:
            case "ok", _:
                return value
            case "refused", str(reason):
                raise RemoteRefused(f"{self.address} refuses {self._verb}: {reason}")
            case "error", ([str(), *_] as kinds, str(text), str(trace)):
                raise failed([str(kind) for kind in kinds], self._verb, text, trace)
        raise self.malformed("a result, a refusal or an error", (status, value))


def failed(kinds: list[str], verb: str, text: str, trace: str) -> EnvironmentFailed:
    """Return the exception for one of the environment, of the nearest class that is known here."""
    for name in kinds:
        kind = getattr(error, name, None) or getattr(builtins, name, None)
        if isinstance(kind, type) and issubclass(kind, Exception):
            shown = text if name == kinds[0] else f"{kinds[0]}: {text}"
            return environment_failed([0], verb, None, trace, kind=kind, text=shown)
    return environment_failed([0], verb, None, trace, name=kinds[0], text=text)
