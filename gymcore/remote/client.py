"""A client of a `Server`, which sends requests and receives their replies."""

from __future__ import annotations

import builtins
import contextlib
import os
import secrets
import selectors
import socket
import ssl
import time
import urllib.parse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gymcore import error
from gymcore.base.arguments import positive, time_limit
from gymcore.error import (
    ClosedEnvironmentError,
    EnvironmentFailed,
    ForkedProcessError,
    InvalidArgument,
    RemoteError,
    RemoteRefused,
    RemoteTimeout,
)
from gymcore.remote.keys import client_context
from gymcore.remote.server import BYE, HELLO, RESUME, VERSION
from gymcore.remote.transport import MAX_MESSAGE_BYTES, Connection, NotTheProtocol
from gymcore.remote.wire import Frame, check_msgpack, decode, encode, message_hash
from gymcore.vector.workers.failures import environment_error

CONNECT_SECONDS = 10.0
CALL_SECONDS = 60.0
CLOSE_SECONDS = 1.0
RETRY_SECONDS = 0.05
WAIT_SECONDS = 3600.0  # longest wait of one system call, which cannot wait forever


class Client:
    """One session with a server. Requests are sent one after another, by one thread at a time.

    If the connection breaks, the client reconnects and repeats the last request until the timeout.

    Attributes:
        hello: The server's description of the environment.
        specification_hash: SHA-256 of this description.

    Examples:
        >>> import threading
        >>> import gymcore as gym
        >>> from gymcore.remote.server import Server
        >>> from gymcore.remote.vector_env import HostedVectorEnv
        >>> envs = gym.make_vec("CartPole-v1", num_envs=2)
        >>> server = Server(HostedVectorEnv(envs, "CartPole-v1"))
        >>> thread = threading.Thread(target=server.run)
        >>> thread.start()
        >>> client = Client(server.address, "vector")
        >>> client.hello["id"], client.hello["num_envs"]
        ('CartPole-v1', 2)
        >>> client.close(), server.stop(), thread.join(), server.close(), envs.close()
        (None, None, None, None, None)
    """

    def __init__(
        self,
        address: str,
        kind: str,
        keys: str | Path | None = None,
        connect_timeout: float | None = CONNECT_SECONDS,
        timeout: float | None = CALL_SECONDS,
        max_message_bytes: int = MAX_MESSAGE_BYTES,
    ) -> None:
        """Begin a session.

        Args:
            address: `tcp://host:port` or `host:port`.
            kind: The kind of environment that the server must host: "vector" or "environment".
            keys: The folder with the client's keys and the server's certificate.
            connect_timeout: Maximum time for the server's first answer, in seconds; None or `inf`
                for no limit.
            timeout: Maximum time for the answer to a request, in seconds; None or `inf` for no
                limit.
            max_message_bytes: Maximum size of a received message.

        Raises:
            ArgumentTypeError: If an argument has the wrong type.
            InvalidArgument: If an argument is out of range.
            RemoteRefused: If the server rejects this client, serves another one, or hosts
                something else.
            RemoteTimeout: If there is no answer in time.
            DependencyNotInstalled: If msgpack is missing.
        """
        check_msgpack()
        self.address, self._target = _parse_address(address)
        self._limit = positive("max_message_bytes", max_message_bytes)
        self._tls = None if keys is None else client_context(keys)
        self._timeout = time_limit("timeout", timeout)
        connect_timeout = time_limit("connect_timeout", connect_timeout)
        self._max_bytes = MAX_MESSAGE_BYTES  # the server's limit
        self._pid = os.getpid()
        self._closed = False
        self._session = secrets.token_hex(16)
        self._number = 0
        self._verb = HELLO
        self._request: list[Frame] = []
        self._connection: Connection | None = None
        self._last_problem = "it cannot be reached"  # the last reason for a lost connection
        greeting = None
        try:
            self._send_request([])
            greeting = self.receive(connect_timeout)
            self._begin(greeting, kind)
        except BaseException as problem:
            unreachable = self._connection is None and isinstance(problem, RemoteTimeout)
            if unreachable or (greeting is None and isinstance(problem, RemoteRefused)):
                self._disconnect()
                self._closed = True
            self.close()  # the server may have begun a session
            raise

    def _begin(self, greeting: object, kind: str) -> None:
        """Check and store the server's description of itself."""
        match greeting:
            case (dict(hello), int(max_bytes)) if max_bytes > 0:
                self.hello, self._max_bytes = hello, max_bytes
            case _:
                raise self.malformed_error("a description and a size", greeting)
        sent_hash, sent_kind = hello.pop("hash", None), hello.get("kind")
        self.specification_hash = message_hash(hello)
        if not isinstance(sent_hash, str) or sent_hash != self.specification_hash:
            raise RemoteRefused(f"{self.address}: expected the hash of its description")
        if not isinstance(sent_kind, str) or sent_kind != kind:
            raise RemoteRefused(
                f"{self.address}: expected a server of kind {kind!r}, got one of kind {sent_kind!r}"
            )

    def malformed_error(self, expected: str, got: object) -> RemoteError:
        """Return the error for a message that violates the protocol."""
        return RemoteError(f"{self.address}: expected {expected}, got {got!r:.200}")

    def request(self, verb: str, *arguments: object) -> Any:
        """Send a request and return its reply; see `send` and `receive`."""
        self.send(verb, *arguments)
        return self.receive(self._timeout)

    def send(self, verb: str, *arguments: object) -> None:
        """Send a request; a reply to an earlier request will be discarded.

        Raises:
            ArgumentTypeError: If the arguments cannot be sent; nothing is sent.
            InvalidArgument: If the message is larger than the server accepts; nothing is sent.
            ClosedEnvironmentError: If the client is closed.
            ForkedProcessError: If a forked child of the process that began the session calls it.
        """
        self._check_open(verb)
        self._send_request(arguments, verb)

    def receive(self, seconds: float | None = None) -> Any:
        """Return the reply to the last request.

        Args:
            seconds: Maximum time to wait; None means the client's `timeout`, 0 means no waiting.

        Returns:
            The reply; None if there is none and `seconds` is 0.

        Raises:
            EnvironmentFailed: If the environment raised. The error is also an instance of the
                environment's exception class if this is a class of Python or gymcore.
            RemoteRefused: If the server rejects the request, for example after a restart.
            RemoteError: If the reply violates the protocol.
            RemoteTimeout: If there is no reply in time.
            ClosedEnvironmentError: If the client is closed.
        """
        self._check_open(self._verb)
        try:
            return self._receive(self._timeout if seconds is None else seconds)
        except error.Error:
            raise
        except BaseException:  # bytes may be lost if a signal handler has raised
            self._disconnect()  # the next call connects again, and gets the reply once more
            raise

    def _receive(self, limit: float) -> object:
        deadline = time.monotonic() + limit
        while True:
            remaining = max(0.0, deadline - time.monotonic())
            frames = self._receive_frames(remaining)
            if frames is not None:
                try:
                    reply = decode(frames)
                except InvalidArgument as problem:
                    raise RemoteError(f"{self.address}: {problem}") from None
                match reply:
                    case (int(version), int(number), str(status), value):
                        if (version, number) == (VERSION, self._number):
                            return self._result(status, value)
                    case _:
                        raise self.malformed_error("a reply of four values", reply)
            # Checked after each message: late replies do not extend the wait.
            if remaining == 0.0:
                if limit == 0.0:
                    return None
                raise RemoteTimeout(
                    f"{self.address} has not answered {self._verb} in {limit:g} s"
                    + (f": {self._last_problem}" if self._connection is None else "")
                )

    # --- the connection ------------------------------------------------------------------------

    def _receive_frames(self, seconds: float) -> list[memoryview] | None:
        """Wait for a message; return None if there is no message or no connection."""
        connection = self._connect(seconds)
        if connection is None:
            return None
        try:
            connection.flush()
            frames = connection.receive()  # first: `select` does not see data buffered by TLS
            if frames is None and seconds > 0.0:
                events = selectors.EVENT_READ | connection.is_sending * selectors.EVENT_WRITE
                self._selector.modify(connection.socket, events)
                self._selector.select(min(seconds, WAIT_SECONDS))
            return frames
        except NotTheProtocol as problem:
            self._disconnect()
            if connection.greeted:
                raise RemoteError(f"{self.address}: {problem}") from None
            raise self._refused_connection(problem) from None
        except OSError as problem:
            self._handle_loss(problem)
            time.sleep(min(seconds, RETRY_SECONDS))
            return None

    def _connect(self, seconds: float) -> Connection | None:
        """Return the connection. If there is none, make one and send the last request."""
        if self._connection is None:
            deadline = time.monotonic() + seconds
            try:
                limit = min(max(seconds, RETRY_SECONDS), WAIT_SECONDS)
                peer = socket.create_connection(self._target, limit)
                if self._tls is not None:
                    peer = self._tls.wrap_socket(peer, do_handshake_on_connect=False)
                peer.setblocking(False)
                self._connection = Connection(peer, self._limit)
                self._selector = getattr(selectors, "PollSelector", selectors.SelectSelector)()
                self._selector.register(peer, selectors.EVENT_READ)
                if self._number:
                    resume = encode((VERSION, self._session, self._number, RESUME, []))
                    self._connection.send(resume)
                self._connection.send(self._request)
            except OSError as problem:
                self._handle_loss(problem)
                time.sleep(max(0.0, min(RETRY_SECONDS, deadline - time.monotonic())))
        return self._connection

    def _handle_loss(self, problem: OSError) -> None:
        """Close a broken connection; raise if the server rejected it.

        A server that does not know the client's key rejects it only after the handshake.
        """
        self._disconnect()
        if isinstance(problem, ssl.SSLError) and not isinstance(
            problem, (ssl.SSLEOFError, ssl.SSLZeroReturnError)
        ):
            raise self._refused_connection(problem) from None
        self._last_problem = str(problem)

    def _refused_connection(self, problem: Exception) -> RemoteRefused:
        return RemoteRefused(
            f"{self.address} refused the connection: expected the right keys on both sides and "
            f"the same protocol ({problem!s:.200})"
        )

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def close(self) -> None:
        """End the session; the environment stays open. Calling it again does nothing."""
        if self._closed:
            return
        try:
            if os.getpid() == self._pid:
                with contextlib.suppress(error.Error):
                    self.send(BYE)
                    self.receive(CLOSE_SECONDS)
        finally:
            self._disconnect()
            self._closed = True

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _check_open(self, verb: str) -> None:
        if self._closed:
            raise ClosedEnvironmentError(f"{verb}: the session with {self.address} has ended")
        if os.getpid() != self._pid:
            raise ForkedProcessError(f"{verb}: the session belongs to process {self._pid}")

    def _send_request(self, arguments: Sequence[object], verb: str = HELLO) -> None:
        number = self._number + (verb != HELLO)
        # Copied, because they may be sent again after the caller's arrays have changed.
        message = VERSION, self._session, number, verb, list(arguments)
        frames: list[Frame] = [bytes(frame) for frame in encode(message)]
        size = sum(len(frame) + 8 for frame in frames)
        if size > self._max_bytes:
            raise InvalidArgument(
                f"{verb}: expected at most {self._max_bytes} bytes, as {self.address} takes, "
                f"got {size}"
            )
        self._number, self._verb, self._request = number, verb, frames
        connection = self._connection
        if connection is None:
            return  # `receive` makes a connection
        try:
            if connection.is_sending:  # the rest of an obsolete request
                self._disconnect()
            else:
                connection.send(frames)
        except OSError as problem:
            self._handle_loss(problem)
        except BaseException:
            self._disconnect()
            raise

    def _result(self, status: str, value: object) -> object:
        match status, value:
            case "ok", _:
                return value
            case "refused", str(reason):
                raise RemoteRefused(f"{self.address} refuses {self._verb}: {reason}")
            case "error", ([str(), *_] as kinds, str(text), str(trace)):
                raise rebuilt_environment_error(
                    [str(kind) for kind in kinds], self._verb, text, trace
                )
        raise self.malformed_error("a result, a refusal or an error", (status, value))


def _parse_address(address: str) -> tuple[str, tuple[str, int]]:
    """Return an address in the form `tcp://host:port`, and its host and port."""
    if not isinstance(address, str):
        raise error.ArgumentTypeError(f"address: expected a string, got {address!r}")
    url = address if "://" in address else f"tcp://{address}"
    try:
        parts = urllib.parse.urlsplit(url)
        host, port = parts.hostname or "", parts.port or 0
        host.encode("idna")
    except ValueError as problem:
        raise InvalidArgument(
            f"address: expected tcp://host:port, got {address!r} ({problem})"
        ) from None
    if url != f"tcp://{parts.netloc}" or not (host and port) or " " in host:
        raise InvalidArgument(f"address: expected tcp://host:port, got {address!r}")
    return url, (host, port)


def rebuilt_environment_error(
    kinds: list[str], verb: str, text: str, trace: str
) -> EnvironmentFailed:
    """Return an environment's exception as an instance of its nearest base class known here."""
    for name in kinds:
        kind = getattr(error, name, None) or getattr(builtins, name, None)
        if isinstance(kind, type) and issubclass(kind, Exception):
            message = text if name == kinds[0] else f"{kinds[0]}: {text}"
            return environment_error([0], verb, None, trace, kind=kind, text=message)
    return environment_error([0], verb, None, trace, name=kinds[0], text=text)
