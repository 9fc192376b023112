"""A server that lets a client on another machine step an environment."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import signal
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from gymcore.base.arguments import count, positive
from gymcore.error import InvalidArgument
from gymcore.remote.keys import fingerprint, load_zmq, server_keys
from gymcore.remote.wire import Frame, decode, encode, message_hash

__all__ = ["VERSION", "Hosted", "Server"]

VERSION = 2
"""Version of the protocol: the first value of each message."""

MAX_MESSAGE_BYTES = 256 << 20
SESSION_SECONDS = 60.0
HEARTBEAT_MILLISECONDS = 5_000
REPORT_SECONDS = 10.0
POLL_MILLISECONDS = 200

HELLO, BYE = "hello", "bye"


class Hosted(Protocol):
    """The environment that a server hosts, and the requests that it allows."""

    def hello(self) -> Mapping[str, object]:
        """Return what does not change: spaces, specifications, numbers."""
        ...

    def respond(self, verb: str, arguments: Sequence[Any]) -> object:
        """Return the reply to a request; an exception is sent to the client."""
        ...

    def steps(self) -> int:
        """Return how many steps of environments there have been."""
        ...


class Server:
    """Answers the requests of one client at a time.

    Requests of a session are numbered from 1. A request with the number of the last one gets the
    same reply again, and nothing is done, so a client that has lost its connection can repeat it.
    A client keeps its session until it ends it, or has been silent for `session_seconds` when
    another client connects.

    Attributes:
        address: `tcp://host:port`, with the port that it has.
        fingerprint: Of its public key; None without keys.
        refused: How many messages and connections have been refused.
    """

    def __init__(
        self,
        hosted: Hosted,
        host: str = "127.0.0.1",
        port: int = 0,
        keys: str | Path | None = None,
        max_message_bytes: int = MAX_MESSAGE_BYTES,
        session_seconds: float = SESSION_SECONDS,
        log: Callable[[str], None] | None = None,
    ) -> None:
        """Bind the address.

        Args:
            hosted: The environment.
            host: An address of this machine, as a number; "0.0.0.0" for all.
            port: 0 selects a free port.
            keys: The folder with the server's keys and those of its clients (`keys.make_keys`);
                without keys only this machine is served.
            max_message_bytes: The largest part of a message that is received.
            session_seconds: How long a silent client keeps its session when another one connects.
            log: Called with a line for each connection and refusal, and with steps per second.

        Raises:
            InvalidArgument: if an argument has an impossible value, or the address cannot be bound.
            DependencyNotInstalled: if pyzmq or msgpack is missing.
        """
        self._zmq = zmq = load_zmq()
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            raise InvalidArgument(f"host: expected an IP address, got {host!r}") from None
        if keys is None and not address.is_loopback:
            raise InvalidArgument(
                f"keys: expected a folder of keys to serve {host}; `gymcore keys DIR` makes them"
            )
        count("port", port, 0, 65535)
        self._max_bytes = positive("max_message_bytes", max_message_bytes)
        self._hosted = hosted
        self._write_line = log or (lambda line: None)
        self._session_seconds = session_seconds
        self._session = ""
        self._number = 0
        self._heard = -float("inf")
        self._reply: list[Frame] = []
        self._stopping = False
        self._ended = 0
        self.refused = 0
        self._reported = time.monotonic()
        self._reported_steps = 0
        self._context = zmq.Context()
        self._authenticators: list[Any] = []
        self.fingerprint: str | None = None
        self._socket = self._context.socket(zmq.ROUTER)
        self._monitor = monitor_of(self._socket, self._context)
        sockets = self._socket, self._monitor
        self._end = weakref.finalize(
            self, end, self._context, sockets, os.getpid(), self._authenticators
        )
        try:
            self._set_options(address.version == 6)
            if keys is not None:
                self._use_keys(keys)
            shown = f"[{host}]" if address.version == 6 else host
            self._socket.bind(f"tcp://{shown}:{port or '*'}")
        except zmq.ZMQError as problem:
            self.close()
            raise InvalidArgument(f"host and port: {host}:{port} ({problem})") from None
        except BaseException:
            self.close()
            raise
        self.address = self._socket.getsockopt_string(zmq.LAST_ENDPOINT)

    def _set_options(self, version_6: bool) -> None:
        zmq = self._zmq
        self._socket.setsockopt(zmq.LINGER, 200)
        self._socket.setsockopt(zmq.MAXMSGSIZE, self._max_bytes)
        self._socket.setsockopt(zmq.HEARTBEAT_IVL, HEARTBEAT_MILLISECONDS)
        self._socket.setsockopt(zmq.HEARTBEAT_TIMEOUT, 3 * HEARTBEAT_MILLISECONDS)
        self._socket.setsockopt(zmq.RCVTIMEO, POLL_MILLISECONDS)
        self._socket.setsockopt(zmq.ROUTER_MANDATORY, True)  # what cannot be sent is an error
        self._socket.setsockopt(zmq.RCVHWM, 16)
        self._socket.setsockopt(zmq.SNDHWM, 16)
        self._socket.setsockopt(zmq.IPV6, version_6)

    def _use_keys(self, directory: str | Path) -> None:
        """Let in those alone whose public key is in the folder, before anything is decoded."""
        from zmq.auth.thread import ThreadAuthenticator

        public, secret = server_keys(directory)
        authenticator = ThreadAuthenticator(self._context)
        self._authenticators.append(authenticator)
        authenticator.start()
        authenticator.configure_curve(domain="*", location=str(directory))
        self._socket.curve_secretkey = secret
        self._socket.curve_publickey = public
        self._socket.curve_server = True
        self.fingerprint = fingerprint(public)

    def stop(self) -> None:
        """Let `run` return soon; called in another thread or by a signal handler.

        A handler that raises instead may be taken for the environment: what that raises, a
        `SystemExit` too, is the client's.
        """
        self._stopping = True

    def run(self, sessions: int | None = None) -> None:
        """Answer requests until `stop` is called, or clients have ended this number of sessions."""
        zmq = self._zmq
        until = None if sessions is None else self._ended + sessions
        look = 0.0
        while not self._stopping and self._ended != until:
            # A socket alone, which a poller would not be, takes half as long to wake up.
            with contextlib.suppress(zmq.Again):
                client, *frames = self._socket.recv_multipart()
                if reply := self._answer(frames):
                    self._send([client, *reply])
            if (now := time.monotonic()) > look:
                look = now + POLL_MILLISECONDS / 1000
                self._note_connections()
                self._report()
        self._note_connections()  # those since the last look

    def _log(self, line: str) -> None:
        """Log a line, without control characters: clients choose parts of some."""
        self._write_line("".join(c if c.isprintable() else ascii(c)[1:-1] for c in line))

    def _send(self, frames: list[Frame]) -> None:
        """Send a reply, without waiting: a client that takes none must not keep others waiting."""
        zmq = self._zmq
        try:
            # Lets the socket hear which replies have left: until then the queue counts as full.
            self._socket.getsockopt(zmq.EVENTS)
            self._socket.send_multipart(frames, zmq.NOBLOCK, copy=len(frames) == 2)
        except zmq.ZMQError as problem:  # the client is gone, or takes nothing
            self._log(f"a reply could not be sent: {problem}")

    def _answer(self, frames: list[bytes]) -> list[Frame]:
        """Return the frames of a reply; none for what is refused without an answer."""
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
            return self._greet(session, number)
        if session != self._session:
            return self._refuse(number, "a session of this server; it has ended, or the server has")
        self._heard = time.monotonic()
        if number == self._number:
            return self._reply
        if number != self._number + 1:
            self.refused += 1
            return []
        self._number = number
        self._reply = self._performed(number, verb, arguments)
        return self._reply

    def _greet(self, session: str, number: int) -> list[Frame]:
        """Begin a session, unless another client has one."""
        now = time.monotonic()
        if session != self._session:
            if self._session and now - self._heard < self._session_seconds:
                return self._refuse(number, "a server that is free; it serves another client")
            if len(session) != 32:
                return self._refuse(number, "a session of 32 characters")
            self._log(f"session {session[:8]} begins")
        self._session, self._number, self._heard = session, 0, now
        described = self._hosted.hello()
        hello = {**described, "hash": message_hash(described)}
        return encode((VERSION, number, "ok", (hello, self._max_bytes)))

    def _performed(self, number: int, verb: str, arguments: list[object]) -> list[Frame]:
        """Do what was asked for, and return the frames of the reply."""
        try:
            if verb == BYE:
                self._log(f"session {self._session[:8]} ends")
                self._session = ""
                self._ended += 1
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
            return encode((VERSION, number, "error", (kinds, _unicode(text), _unicode(trace))))

    def _refuse(self, number: object, expected: str) -> list[Frame]:
        self.refused += 1
        self._log(f"refused a request: expected {expected}")
        number = number if type(number) is int else 0
        return encode((VERSION, number, "refused", f"expected {expected}"))

    def _note_connections(self) -> None:
        """Log connections that came, ended and were refused."""
        from zmq.utils.monitor import recv_monitor_message

        zmq = self._zmq
        events = {
            zmq.EVENT_HANDSHAKE_SUCCEEDED: "connected",
            zmq.EVENT_DISCONNECTED: "disconnected",
            zmq.EVENT_HANDSHAKE_FAILED_AUTH: "refused: unknown key",
            zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL: "refused: not the protocol",
            zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL: "refused",
        }
        while self._monitor.poll(0):
            event = recv_monitor_message(self._monitor)
            text = events.get(event["event"])
            if text is None:
                continue
            self.refused += text.startswith("refused")
            self._log(f"client {text}")

    def _report(self) -> None:
        """Log steps a second, where there were any."""
        now = time.monotonic()
        if now - self._reported >= REPORT_SECONDS:
            steps = self._hosted.steps()
            if steps != self._reported_steps:
                rate = (steps - self._reported_steps) / (now - self._reported)
                self._log(f"{rate:,.0f} steps/s")
            self._reported, self._reported_steps = now, steps

    def close(self) -> None:
        """Free the address, any number of times; the environment stays open."""
        self._end()

    def __enter__(self) -> Server:
        """Return the server."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Free the address."""
        self.close()


def _unicode(text: str) -> str:
    """Return a text that can be sent, with an escape for each half of a surrogate pair."""
    return text.encode("utf-8", "backslashreplace").decode()


def _is_ctrl_c(problem: BaseException) -> bool:
    """Return whether Python's own handler of SIGINT has raised this, or may have."""
    return (
        isinstance(problem, KeyboardInterrupt)
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )


def monitor_of(socket: Any, context: Any) -> Any:
    """Return a socket that receives what happens to the connections of another one.

    What is not received waits without a limit: ZeroMQ's own thread would stop at a full queue.
    """
    import zmq

    events = (
        zmq.EVENT_HANDSHAKE_SUCCEEDED
        | zmq.EVENT_HANDSHAKE_FAILED_AUTH
        | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
        | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
        | zmq.EVENT_DISCONNECTED
    )
    address = f"inproc://monitor-{id(socket)}"
    socket.monitor(address, events)
    monitor = context.socket(zmq.PAIR)
    monitor.setsockopt(zmq.RCVHWM, 0)
    monitor.connect(address)
    return monitor


def end(
    context: Any, sockets: tuple[Any, Any], pid: int, authenticators: Sequence[Any] = ()
) -> None:
    """Close a socket, its monitor and their context; what is unsent has the time LINGER says.

    Called before the garbage collector gets at them. A context waits forever for a socket that the
    collector has begun with: it is not among those that the context closes.
    """
    if os.getpid() == pid:
        for authenticator in authenticators:
            authenticator.stop()
        sockets[0].disable_monitor()
    context.destroy()
