"""Servers in threads of the tests' process, and in separate processes."""

from __future__ import annotations

import contextlib
import socket
import threading

import gymcore as gym
from gymcore.remote import HostedVectorEnv, Server
from gymcore.remote.transport import Connection
from gymcore.remote.wire import decode, encode


@contextlib.contextmanager
def running(hosted, **options):
    """Run a server that answers requests in a thread."""
    with Server(hosted, **options) as server:
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            yield server
        finally:
            server.stop()
            thread.join()


class Raw:
    """A client that sends a test's bytes."""

    def __init__(self, address, tls=None):
        host, _, port = address.removeprefix("tcp://").partition(":")
        peer = socket.create_connection((host, int(port)), 60)
        self.connection = Connection(peer if tls is None else tls.wrap_socket(peer))

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.connection.close()

    def send(self, frames):
        self.connection.socket.settimeout(60)
        assert self.connection.send(frames)

    def ask(self, *message, wait=60):
        self.send(encode(message))
        return self.reply(wait)

    def reply(self, wait=60):
        """Return the next message; None if none arrives in this time, or the server hangs up."""
        self.connection.socket.settimeout(wait)
        try:
            frames = self.connection.receive()
        except ConnectionError:
            return None
        return None if frames is None else decode(frames)


@contextlib.contextmanager
def answering(replies):
    """Yield the address of a server that answers by a function of the request's number and verb."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def run():
            while not ended.is_set():
                connection = Connection(listener.accept()[0])
                with contextlib.suppress(ConnectionError):
                    while (frames := connection.receive()) is not None:
                        _, _, number, verb, _ = decode(frames)
                        connection.send(replies(number, verb))
                connection.close()

        ended = threading.Event()
        thread = threading.Thread(target=run)
        thread.start()
        address = listener.getsockname()
        try:
            yield f"tcp://127.0.0.1:{address[1]}"
        finally:
            ended.set()
            socket.create_connection(address).close()
            thread.join()


@contextlib.contextmanager
def serving(env_id="CartPole-v1", num_envs=3, attributes=(), **options):
    """Yield a server of a vector environment, and the environment."""
    make = {name: options.pop(name) for name in ("vectorization_mode",) if name in options}
    with (
        gym.make_vec(env_id, num_envs, **make) as envs,
        running(HostedVectorEnv(envs, env_id, attributes), **options) as server,
    ):
        yield server


class Recorder:
    """A target that records requests and echoes their arguments; some wait for `go_on`, or fail."""

    def __init__(self):
        self.calls = []
        self.go_on = threading.Semaphore(0)

    def hello(self):
        return {"kind": "test"}

    def steps(self):
        return len(self.calls)

    def respond(self, verb, arguments):
        self.calls.append((verb, arguments))
        if verb == "wait":
            self.go_on.acquire()
        if verb == "raise":
            raise RAISED[arguments[0]]
        if verb == "fail":
            raise {"key": KeyError, "own": OwnError}[arguments[0]]("a message")
        return arguments


class Wordless(Exception):
    """An exception without a text."""

    def __str__(self):
        raise RuntimeError


RAISED = {
    "surrogate": OSError("file \udcff missing"),
    "wordless": Wordless(),
    "exit": SystemExit(3),
    "ctrl-c": KeyboardInterrupt("a message"),
    "generator": GeneratorExit(),
}


class OwnError(LookupError):
    """An exception class unknown to a client."""
