"""A server with which a client on another machine can step an environment."""

from __future__ import annotations

import ipaddress
import selectors
import signal
import socket
import ssl
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from gymcore.base.arguments import count, positive, time_limit
from gymcore.base.no_copies import NoCopies
from gymcore.error import ArgumentTypeError, InvalidArgument
from gymcore.remote.keys import fingerprint, server_context
from gymcore.remote.transport import MAX_MESSAGE_BYTES, Connection, NotTheProtocol
from gymcore.remote.wire import Frame, check_msgpack, decode, encode, message_hash

VERSION = 3
"""Version of the protocol, the first value of each message."""

SESSION_SECONDS = 60.0
GREETING_SECONDS = 10.0
REPORT_SECONDS = 10.0
POLL_SECONDS = 0.2

MAX_GREETING_BYTES = 1 << 10
"""Maximum message size of a connection without a session, which begins or resumes one."""

MAX_CONNECTIONS = 64
"""Maximum number of connections. A further one replaces a connection without a session."""

MAX_REFUSALS = 16
"""Number of refused messages after which a connection is closed."""

MAX_LINES = 100
"""Maximum number of lines that are logged in `REPORT_SECONDS`; further ones are only counted."""

HELLO, RESUME, BYE = "hello", "resume", "bye"


class Hosted(Protocol):
    """An environment that a server hosts, with the requests that it allows."""

    def hello(self) -> Mapping[str, object]:
        """Return the properties that never change: spaces, specifications, numbers."""
        ...

    def respond(self, verb: str, arguments: Sequence[object]) -> object:
        """Return the reply to a request. The server sends an exception to the client."""
        ...

    def steps(self) -> int:
        """Return the number of steps of environments so far."""
        ...


class Server(NoCopies):
    """Answers the requests of one client at a time.

    Requests of a session are numbered from 1. A request with the same number as the last one gets
    the same reply without being executed again, so that a client can repeat it after a lost
    connection. Older ones are dropped. Numbers may be skipped: a client does not repeat requests
    that it no longer waits for. A session lasts until the client ends it, or until another client
    connects after the client has been silent for `session_seconds`.

    Attributes:
        address: `tcp://host:port`, with the actual port.
        fingerprint: Fingerprint of the server's certificate; None without keys.
        refused: Number of messages and connections that have been rejected.

    Examples:
        >>> import gymcore as gym
        >>> from gymcore.remote.vector_env import HostedVectorEnv
        >>> envs = gym.make_vec("CartPole-v1", num_envs=2)
        >>> with Server(HostedVectorEnv(envs, "CartPole-v1")) as server:
        ...     print(server.address.rpartition(":")[0])
        tcp://127.0.0.1
    """

    def __init__(
        self,
        hosted: Hosted,
        host: str = "127.0.0.1",
        port: int = 0,
        keys: str | Path | None = None,
        max_message_bytes: int = MAX_MESSAGE_BYTES,
        session_seconds: float | None = SESSION_SECONDS,
        log: Callable[[str], None] | None = None,
    ) -> None:
        """Bind the address.

        Args:
            hosted: The environment.
            host: A numeric address of this machine; "0.0.0.0" for all addresses.
            port: The port; 0 selects a free one.
            keys: The folder with the server's keys and its clients' certificates
                (`keys.make_keys`). Without keys, only clients on this machine are served.
            max_message_bytes: Maximum size of a received message.
            session_seconds: Time after which a silent client loses its session to another client;
                with None or `inf`, it keeps the session until it ends it.
            log: Function called with a line for each connection, each rejection and the step rate:
                at most 100 lines in 10 s, and one that counts the others.

        Raises:
            ArgumentTypeError: If an argument has the wrong type.
            InvalidArgument: If an argument is out of range or the address cannot be bound.
            DependencyNotInstalled: If msgpack is not installed.
        """
        check_msgpack()
        try:
            address = ipaddress.ip_address(str(host))
        except ValueError:
            raise InvalidArgument(f"host: expected an IP address, got {host!r}") from None
        if keys is None and not address.is_loopback:
            raise InvalidArgument(
                f"keys: expected a folder of keys to serve {host}; `gymcore keys DIR` makes them"
            )
        if log is not None and not callable(log):
            raise ArgumentTypeError(f"log: expected a function or None, got {log!r}")
        count("port", port, 0, 65535)
        self._max_bytes = positive("max_message_bytes", max_message_bytes)
        self._hosted = hosted
        self._write_line = log or (lambda line: None)
        self._session_seconds = time_limit("session_seconds", session_seconds)
        self._session = ""
        self._number = 0
        self._last_message_at = -float("inf")
        self._reply: list[Frame] = []
        self._stopping = False
        self._num_ended = 0
        self.refused = 0
        self._lines = 0  # since the last report
        self._last_report_at = time.monotonic()
        self._reported_steps = 0
        self._tls = None if keys is None else server_context(keys)
        self.fingerprint = None if keys is None else fingerprint(keys)
        # The time at which each connection was made, oldest first.
        self._connections: dict[Connection, float] = {}
        self._owner: Connection | None = None  # the connection of the session
        self._unread: set[Connection] = set()  # connections with data that `select` does not report
        family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
        try:
            self._listener = socket.create_server((host, port), family=family)
        except OSError as problem:
            raise InvalidArgument(f"host and port: {host}:{port} ({problem})") from None
        self._listener.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        host_text = f"[{host}]" if address.version == 6 else host
        self.address = f"tcp://{host_text}:{self._listener.getsockname()[1]}"

    def stop(self) -> None:
        """Make `run` return soon; call it from another thread or a signal handler.

        A handler must not raise instead: its exception, even `SystemExit`, may be treated as the
        environment's and sent to the client.
        """
        self._stopping = True

    def run(self, sessions: int | None = None) -> None:
        """Answer requests until `stop` is called or clients have ended `sessions` sessions."""
        limit = None if sessions is None else self._num_ended + positive("sessions", sessions)
        next_check = 0.0
        while not self._stopping and self._num_ended != limit:
            # A turn answers one message per connection, so no client delays the others or `stop`.
            events = self._selector.select(0.0 if self._unread else POLL_SECONDS)
            unread, self._unread = self._unread, set()
            for connection in {key.data for key, _ in events} | unread:
                if connection is None:
                    self._accept()
                elif connection in self._connections:  # not closed meanwhile
                    self._serve(connection)
            if (now := time.monotonic()) > next_check:
                next_check = now + POLL_SECONDS
                self._close_ungreeted(now)
                self._report()

    # --- connections ---------------------------------------------------------------------------

    def _accept(self) -> None:
        """Accept waiting connections, at most `MAX_CONNECTIONS` of them."""
        for _ in range(MAX_CONNECTIONS):
            try:
                peer, _ = self._listener.accept()
            except BlockingIOError:
                return
            except OSError as problem:  # too many open files, probably for some time
                self._log(f"a connection could not be accepted: {problem}")
                time.sleep(POLL_SECONDS)
                return
            if len(self._connections) == MAX_CONNECTIONS:
                others = (other for other in self._connections if other is not self._owner)
                # Close the oldest that has not greeted (with keys: a stranger), else the oldest.
                self._close(min(others, key=lambda other: other.greeted), "refused: too many")
            peer.setblocking(False)
            try:
                if self._tls is not None:
                    peer = self._tls.wrap_socket(
                        peer, server_side=True, do_handshake_on_connect=False
                    )
            except OSError:  # the peer has already disconnected
                peer.close()
                continue
            connection = Connection(peer, MAX_GREETING_BYTES)
            self._connections[connection] = time.monotonic()
            self._selector.register(peer, selectors.EVENT_READ, connection)

    def _serve(self, connection: Connection) -> None:
        """Answer one message of a connection if its peer has received the answers so far."""
        greeted, refused = connection.greeted, self.refused
        try:
            frames = connection.receive() if connection.flush() else None
            if connection.greeted and not greeted:
                self._log("client connected")
            if frames is not None and (reply := self._answer(connection, frames)):
                connection.send(reply)
        except NotTheProtocol as problem:
            self._close(connection, f"refused: not the protocol: {problem!s:.200}")
            return
        except OSError as problem:
            refused = isinstance(problem, ssl.SSLError) and not isinstance(problem, ssl.SSLEOFError)
            if refused and not greeted:
                connection.send_needs_keys()
            reason = "refused: unknown key or not the protocol" if refused else "disconnected"
            self._close(connection, reason)
            return
        connection.refused += self.refused - refused
        if connection.refused >= MAX_REFUSALS:
            self._close(connection, f"refused: {MAX_REFUSALS} of its messages were refused")
            return
        peer = connection.socket
        if isinstance(peer, ssl.SSLSocket) and peer.pending() and not connection.is_sending:
            self._unread.add(connection)
        events = selectors.EVENT_WRITE if connection.is_sending else selectors.EVENT_READ
        if self._selector.get_key(connection.socket).events != events:
            self._selector.modify(connection.socket, events, connection)

    def _close(self, connection: Connection, reason: str) -> None:
        """Close a connection, and log the reason."""
        del self._connections[connection]
        self._selector.unregister(connection.socket)
        connection.close()
        if connection is self._owner:
            self._owner = None
        refused = reason.startswith("refused")
        self.refused += refused
        if refused or connection.greeted:
            self._log(f"client {reason}")

    def _close_ungreeted(self, now: float) -> None:
        """Close connections that have not greeted in time."""
        for connection, connected_at in list(self._connections.items()):
            if not connection.greeted and now - connected_at > GREETING_SECONDS:
                self._close(connection, "refused: not the protocol: no greeting")

    def _log(self, line: str) -> None:
        """Log a line, with control characters escaped, because it may contain a client's text."""
        self._lines += 1
        if self._lines > MAX_LINES:
            return
        self._write_line("".join(c if c.isprintable() else ascii(c)[1:-1] for c in line))

    # --- requests ------------------------------------------------------------------------------

    def _answer(self, connection: Connection, frames: Sequence[Frame]) -> list[Frame]:
        """Return the frames of the reply; an empty list for a message that gets no answer."""
        try:
            request = decode(frames)
            version, session, number, verb, arguments = request
            if version != VERSION:
                return self._refuse(number, f"protocol version {VERSION}, got {version!r:.20}")
            expected = (str, int, str, list)
            if tuple(map(type, (session, number, verb, arguments))) != expected:
                raise InvalidArgument("a session, a number, a verb and arguments")
        except Exception as problem:
            self.refused += 1
            self._log(f"refused a message: {problem!s:.200}")
            return []
        if verb == HELLO:
            return self._greet(connection, session, number)
        if not self._session or session != self._session:
            return self._refuse(
                number, "an open session; it has ended, or the server has restarted"
            )
        self._last_message_at = time.monotonic()
        if connection is not self._owner:
            self._give_session(connection)
        if verb == RESUME:
            return []
        if number == self._number:
            return self._reply
        if number < self._number:
            self.refused += 1
            return []
        self._number = number
        self._reply = self._execute(number, verb, arguments)
        return self._reply

    def _give_session(self, connection: Connection) -> None:
        """Give the session to a connection, which may then send large messages."""
        previous, self._owner = self._owner, connection
        if previous is not None:
            self._close(previous, "disconnected")
        connection.max_bytes = self._max_bytes

    def _greet(self, connection: Connection, session: str, number: int) -> list[Frame]:
        """Begin a session unless another client has one."""
        now = time.monotonic()
        if len(session) != 32:
            return self._refuse(number, "a session of 32 characters")
        if session != self._session:
            if self._session and now - self._last_message_at < self._session_seconds:
                return self._refuse(number, "a free server; this one serves another client")
            self._log(f"session {session[:8]} begins")
        if connection is not self._owner:
            self._give_session(connection)
        self._session, self._number, self._last_message_at = session, 0, now
        description = self._hosted.hello()
        hello = {**description, "hash": message_hash(description)}
        return encode((VERSION, number, "ok", (hello, self._max_bytes)))

    def _execute(self, number: int, verb: str, arguments: list[object]) -> list[Frame]:
        """Execute a request, and return the frames of the reply."""
        try:
            if verb == BYE:
                self._log(f"session {self._session[:8]} ends")
                self._session = ""
                self._num_ended += 1
                return encode((VERSION, number, "ok", None))
            return encode((VERSION, number, "ok", self._hosted.respond(verb, arguments)))
        except BaseException as problem:
            if _is_ctrl_c(problem):
                raise
            kinds = [kind.__name__ for kind in type(problem).__mro__]
            trace = traceback.format_exc()[-10_000:]
            try:
                text = str(problem)[:10_000]
            except Exception:
                text = f"an exception of {type(problem)}, which has no text"
            return encode((VERSION, number, "error", (kinds, _escaped(text), _escaped(trace))))

    def _refuse(self, number: object, expected: str) -> list[Frame]:
        self.refused += 1
        self._log(f"refused a request: expected {expected}")
        number = number if type(number) is int else 0
        return encode((VERSION, number, "refused", f"expected {expected}"))

    def _report(self) -> None:
        """Log the number of steps per second, and of lines that were not logged, if any."""
        now = time.monotonic()
        if now - self._last_report_at >= REPORT_SECONDS:
            omitted, self._lines = self._lines - MAX_LINES, 0
            if omitted > 0:
                self._log(f"{omitted:,} more lines were not logged")
            steps = self._hosted.steps()
            if steps != self._reported_steps:
                rate = (steps - self._reported_steps) / (now - self._last_report_at)
                self._log(f"{rate:,.0f} steps/s")
            self._last_report_at, self._reported_steps = now, steps

    def close(self) -> None:
        """Free the address; the environment stays open. Calling it again does nothing."""
        for connection in self._connections:
            connection.close()
        self._connections.clear()
        self._selector.close()
        self._listener.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _escaped(text: str) -> str:
    """Return a text that can be sent, with lone surrogates escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


def _is_ctrl_c(problem: BaseException) -> bool:
    """Return whether Python's default SIGINT handler may have raised this exception."""
    return (
        isinstance(problem, KeyboardInterrupt)
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
