"""Servers and clients: sessions, keys, repeated and late requests, and refusals."""

from __future__ import annotations

import contextlib
import signal
import socket
import threading
import time
import types

import numpy as np
import pytest

from gymcore import error
from gymcore.remote import Client, Server, make_keys
from gymcore.remote.keys import client_context
from gymcore.remote.server import MAX_GREETING_BYTES, MAX_LINES, MAX_REFUSALS, VERSION
from gymcore.remote.transport import HEAD, MAGIC, Connection
from gymcore.remote.wire import decode, encode, message_hash
from tests.interrupts import Interrupt, at_every_instruction
from tests.remote.servers import Raw, Recorder, running
from tests.vector.leaks import wait_until

SESSION = "0" * 32
HASH = message_hash({"kind": "test"})
BAD_TIMES = ("x", True, 0, -1.0, float("nan"))


@pytest.fixture(params=[False, True], ids=["loopback", "keys"])
def keys(request, tmp_path):
    if not request.param:
        return None
    make_keys(tmp_path / "keys")
    return tmp_path / "keys"


def connected(server, keys):
    return Raw(server.address, None if keys is None else client_context(keys))


def test_no_reply_is_dropped_where_requests_follow_at_once(keys):
    ahead = 8
    with running(Recorder(), keys=keys) as server, connected(server, keys) as client:
        client.ask(VERSION, SESSION, 0, "hello", [])
        for number in range(1, 2001):
            client.send(encode((VERSION, SESSION, number, "echo", [number])))
            if number > ahead:
                assert client.reply() == (VERSION, number - ahead, "ok", [number - ahead])


def test_a_turn_answers_one_message(keys):
    recorder = Recorder()
    with Server(recorder, keys=keys) as server:
        recorder.respond = lambda verb, arguments: recorder.calls.append(verb) or server.stop()
        thread = threading.Thread(target=server.run)
        thread.start()
        with connected(server, keys) as client:
            client.ask(VERSION, SESSION, 0, "hello", [])
            requests = [encode((VERSION, SESSION, k, "echo", [])) for k in range(1, 9)]
            client.connection.socket.sendall(b"".join(framed(*frames) for frames in requests))
            assert client.reply() == (VERSION, 1, "ok", None)
        thread.join()
    assert recorder.calls == ["echo"]


def framed(frame):
    return HEAD.pack(MAGIC, 1, len(frame)) + len(frame).to_bytes(8, "little") + bytes(frame)


@pytest.mark.parametrize(
    "frame",
    [b"\xc1", *encode((VERSION, SESSION, 1, "echo", [])), *encode((VERSION + 1, "", 0, "", []))],
    ids=["not msgpack", "no session", "version"],
)
def test_a_connection_whose_messages_are_refused_is_closed(frame):
    lines = []
    with running(Recorder(), log=lines.append) as server, Raw(server.address) as raw:
        with contextlib.suppress(ConnectionError):
            raw.connection.flush()
            for _ in range(MAX_REFUSALS + 1):
                raw.connection.socket.sendall(framed(frame))
        assert wait_until(lambda: server.refused > MAX_REFUSALS, 60)
        with contextlib.suppress(ConnectionError):
            while raw.reply() is not None:
                pass
        with Client(server.address, "test") as client:
            assert client.request("echo", 1) == [1]
    assert any("16 of its messages were refused" in line for line in lines)


def test_a_flood_does_not_fill_the_log(monkeypatch):
    lines = []
    with running(Recorder(), log=lines.append) as server:
        for _ in range(10):
            with Raw(server.address) as raw, contextlib.suppress(ConnectionError):
                raw.connection.flush()
                raw.connection.socket.sendall(framed(b"\xc1") * MAX_REFUSALS)
                raw.reply()
        assert wait_until(lambda: server.refused == 10 * (MAX_REFUSALS + 1), 60)
        assert len(lines) == MAX_LINES
        clock = types.SimpleNamespace(monotonic=lambda: time.monotonic() + 3600)
        monkeypatch.setattr("gymcore.remote.server.time", clock)
        assert wait_until(lambda: len(lines) > MAX_LINES, 60)
        # Ten connections, 160 messages, and ten refused connections.
        assert lines[MAX_LINES:] == ["80 more lines were not logged"]


def test_requests_and_replies():
    with running(Recorder()) as server, Client(server.address, "test") as client:
        assert client.hello == {"kind": "test"}
        assert client.request("echo", 1, {"x": np.arange(3)})[1]["x"].tolist() == [0, 1, 2]
        with pytest.raises(KeyError, match="a message"):
            client.request("fail", "key")
        with pytest.raises(LookupError, match="LookupError in fail: OwnError: a message") as caught:
            client.request("fail", "own")
        assert isinstance(caught.value, error.EnvironmentFailed)
        assert client.request("echo", 2) == [2]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("surrogate", r"file \\udcff missing"),
        ("wordless", "which has no text"),
        ("exit", "SystemExit: 3"),
        ("ctrl-c", "KeyboardInterrupt: a message"),
        ("generator", "GeneratorExit"),
    ],
)
def test_no_exception_of_an_environment_ends_the_server(name, message):
    with running(Recorder()) as server, Client(server.address, "test") as client:
        with pytest.raises(error.EnvironmentFailed, match=message):
            client.request("raise", name)
        assert client.request("echo", 1) == [1]


def test_ctrl_c_ends_a_server_of_the_main_thread(monkeypatch):
    recorder = Recorder()
    monkeypatch.setattr(recorder, "respond", lambda *_: signal.raise_signal(signal.SIGINT))
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with Server(recorder) as server, Raw(server.address) as raw:
            raw.send(encode((VERSION, SESSION, 0, "hello", [])))
            raw.send(encode((VERSION, SESSION, 1, "echo", [])))
            with pytest.raises(KeyboardInterrupt):
                server.run()
    finally:
        signal.signal(signal.SIGINT, handler)


def test_lines_of_the_log_have_no_control_characters():
    lines = []
    with running(Recorder(), log=lines.append) as server, Raw(server.address) as raw:
        raw.ask(VERSION, "\x1b[31m\nforged line" + "x" * 15, 0, "hello", [])
    assert any("begins" in line for line in lines)
    assert all(line.isprintable() for line in lines), lines


def test_messages_of_64_megabytes():
    with running(Recorder()) as server, Client(server.address, "test") as client:
        frames = np.arange(8 << 20)
        (found,) = client.request("echo", frames)
        assert found.nbytes == 64 << 20 and np.array_equal(found, frames)


def test_messages_that_are_too_large():
    with running(Recorder(), max_message_bytes=1000) as server:
        with Client(server.address, "test") as client:
            with pytest.raises(error.InvalidArgument, match=r"at most 1000 bytes, .* 1\d+$"):
                client.request("echo", np.zeros(1001, np.uint8))
            assert client.request("echo", np.zeros(800, np.uint8))[0].shape == (800,)
        with Raw(server.address) as raw:
            raw.send([b"x" * MAX_GREETING_BYTES])
            assert raw.reply() is None  # the server hangs up
        with Client(server.address, "test") as client:
            assert client.request("echo", 1) == [1]


def test_a_request_is_done_once():
    recorder = Recorder()
    with running(recorder) as server, Raw(server.address) as raw:
        hello = {"kind": "test", "hash": message_hash({"kind": "test"})}
        assert raw.ask(VERSION, SESSION, 0, "hello", []) == (VERSION, 0, "ok", (hello, 256 << 20))
        first = raw.ask(VERSION, SESSION, 1, "step", [7])
        assert first == (VERSION, 1, "ok", [7])
        assert raw.ask(VERSION, SESSION, 1, "step", [8]) == first  # sent again: the same reply
        assert len(recorder.calls) == 1
        assert raw.ask(VERSION, SESSION, 2, "step", [9]) == (VERSION, 2, "ok", [9])
        assert raw.ask(VERSION, SESSION, 1, "step", [7], wait=0.2) is None  # replayed
        # The client did not wait longer for the third, which was lost.
        assert raw.ask(VERSION, SESSION, 4, "step", [5]) == (VERSION, 4, "ok", [5])
        assert raw.ask(VERSION, SESSION, 3, "step", [7], wait=0.2) is None
        assert [arguments for _, arguments in recorder.calls] == [[7], [9], [5]]


def test_a_request_that_is_lost_does_not_end_the_session(monkeypatch):
    with running(Recorder()) as server, Client(server.address, "test") as client:
        assert client.request("echo", 1) == [1]
        client._disconnect()
        with monkeypatch.context() as patch:
            patch.setattr("gymcore.remote.client.socket.create_connection", unreachable)
            client.send("echo", 2)
            with pytest.raises(error.RemoteTimeout, match="no route"):
                client.receive(0.01)
        assert client.request("echo", 3) == [3]


def unreachable(*arguments):
    raise OSError("no route")


def test_an_interrupt_loses_no_reply():
    recorder = Recorder()
    with running(recorder) as server, Client(server.address, "test") as client:
        client.send("echo", 1)
        assert wait_until(lambda: recorder.calls, 60)
        connection = client._connection

        def interrupted():
            connection.socket.settimeout(60)
            connection.socket.recv(10)
            raise Interrupt

        connection.receive = interrupted
        with pytest.raises(Interrupt):
            client.receive()
        assert client.receive() == [1]
        assert len(recorder.calls) == 1


def test_interrupts_do_not_end_the_session():
    with running(Recorder()) as server, Client(server.address, "test") as client:
        for k in at_every_instruction(lambda: client.request("echo", -1), 7):
            assert client.request("echo", k) == [k]
        assert k > 50


def test_one_client_at_a_time(monkeypatch):
    with running(Recorder(), session_seconds=3600.0) as server:
        first = Client(server.address, "test")
        with pytest.raises(error.RemoteRefused, match="this one serves another client"):
            Client(server.address, "test")
        assert first.request("echo", 1) == [1]
        # The server's clock shows that the client was silent for longer than it may.
        clock = types.SimpleNamespace(monotonic=lambda: time.monotonic() + 3600)
        monkeypatch.setattr("gymcore.remote.server.time", clock)
        with Client(server.address, "test") as second:
            with pytest.raises(error.RemoteRefused, match="an open session; it has ended"):
                first.request("echo", 1)
            assert second.request("echo", 2) == [2]
        first.close()
        with Client(server.address, "test") as third:  # immediately after `close`
            assert third.request("echo", 3) == [3]


def test_late_replies_are_dropped():
    recorder = Recorder()
    with running(recorder) as server, Client(server.address, "test", timeout=0.2) as client:
        with pytest.raises(error.RemoteTimeout, match=r"has not answered wait in 0\.2 s") as caught:
            client.request("wait")
        assert isinstance(caught.value, TimeoutError)
        recorder.go_on.release()
        client.send("echo", 5)
        assert client.receive(60) == [5]


def test_polling():
    recorder = Recorder()
    with running(recorder) as server, Client(server.address, "test") as client:
        client.send("wait", 3)
        assert client.receive(0.0) is None
        recorder.go_on.release()
        assert client.receive() == [3]


def test_a_server_that_begins_again():
    recorder = Recorder()
    with running(recorder) as server:
        port = int(server.address.rpartition(":")[2])
        client = Client(server.address, "test", timeout=60)
        assert client.request("echo", 1) == [1]
    refused = pytest.raises(error.RemoteRefused, match="it has ended, or the server has")
    with running(Recorder(), port=port), refused:
        client.request("echo", 2)
    client.close()


def test_late_replies_do_not_extend_a_wait():
    late = b"".join(framed(*encode((VERSION, 99, "ok", None))) for _ in range(1000))
    stop = threading.Event()

    def flood(number, verb):
        if verb == "hello":
            return encode((VERSION, 0, "ok", ({"kind": "test", "hash": HASH}, 1000)))
        while not stop.is_set():
            peers[0].sendall(late)
        return []

    def serve():
        peers.append(listener.accept()[0])
        connection = Connection(peers[0])
        with contextlib.suppress(OSError):
            while (frames := connection.receive()) is not None:
                _, _, number, verb, _ = decode(frames)
                connection.send(flood(number, verb))

    peers = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        client = Client(f"127.0.0.1:{listener.getsockname()[1]}", "test", timeout=0.2)
        with pytest.raises(error.RemoteTimeout, match="has not answered echo in"):
            client.request("echo")
        assert client.receive(0.0) is None
        stop.set()
        client._disconnect()  # without waiting for a reply
        thread.join()
        peers[0].close()


def test_no_server():
    with pytest.raises(error.RemoteTimeout, match=r"has not answered hello in 0\.3 s"):
        Client("127.0.0.1:1", "test", connect_timeout=0.3)


class Relay:
    """A relay between one client and a server that can break their connection."""

    def __init__(self, address):
        self.target = ("127.0.0.1", int(address.rpartition(":")[2]))
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{self.listener.getsockname()[1]}"
        self.connections = []
        self.threads = [threading.Thread(target=self.accept)]
        self.threads[0].start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            if not self.threads:
                client.close()
                return
            pair = client, socket.create_connection(self.target)
            self.connections += pair
            for ends in (pair, pair[::-1]):
                self.threads.append(threading.Thread(target=self.pump, args=ends))
                self.threads[-1].start()

    def pump(self, source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)

    def cut(self):
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def close(self):
        threads, self.threads = self.threads, []
        socket.create_connection(self.listener.getsockname()).close()
        threads[0].join()
        self.cut()
        for thread in threads:
            thread.join()
        for connection in (self.listener, *self.connections):
            connection.close()


def test_a_connection_that_breaks_is_made_again():
    recorder = Recorder()
    with running(recorder) as server:
        relay = Relay(server.address)
        with contextlib.closing(relay), Client(relay.address, "test", timeout=60) as client:
            for k in range(5):
                client.send("wait", k)
                assert wait_until(lambda k=k: len(recorder.calls) == 2 * k + 1, 60)
                relay.cut()  # the request has arrived, but not its reply
                recorder.go_on.release()
                assert client.receive() == [k]
                relay.cut()
                assert client.request("echo", k) == [k]
        assert len(recorder.calls) == 10  # each was done once


def test_the_hash_of_what_a_server_says(monkeypatch):
    with running(Recorder()) as server:
        with Client(server.address, "test") as client:
            assert client.specification_hash == message_hash({"kind": "test"})
        monkeypatch.setattr("gymcore.remote.server.message_hash", lambda message: "another")
        with pytest.raises(error.RemoteRefused, match="expected the hash of its description"):
            Client(server.address, "test")


def test_another_version_and_kind():
    with running(Recorder()) as server:
        with Raw(server.address) as raw:
            version, number, status, text = raw.ask(VERSION + 1, SESSION, 0, "hello", [])
            assert (version, number, status) == (VERSION, 0, "refused")
            assert text == f"expected protocol version {VERSION}, got {VERSION + 1}"
        with pytest.raises(error.RemoteRefused, match="of kind 'vector', got one of kind 'test'"):
            Client(server.address, "vector")


@pytest.mark.parametrize(("kind", "options"), [("vector", {}), ("test", {"max_message_bytes": 60})])
def test_a_client_that_turns_away_ends_its_session(kind, options):
    with running(Recorder(), session_seconds=None) as server:
        with pytest.raises(error.RemoteError, match="expected a"):
            Client(server.address, kind, **options)
        with Client(server.address, "test") as client:
            assert client.request("echo", 1) == [1]


@pytest.mark.parametrize(
    "message",
    [
        [],
        (VERSION,),
        (VERSION, SESSION, 1, "step"),
        (VERSION, SESSION, "1", "step", []),
        (VERSION, SESSION, 1, "step", {}),
        (VERSION, 5, 1, "step", []),
        {"version": VERSION},
        None,
    ],
)
def test_messages_without_the_form_are_dropped(message):
    recorder = Recorder()
    lines = []
    with running(recorder, log=lines.append) as server, Raw(server.address) as raw:
        raw.ask(VERSION, SESSION, 0, "hello", [])
        raw.send(encode(message))
        assert raw.reply(0.1) is None
        assert server.refused == 1 and any("refused a message" in line for line in lines)
        assert raw.ask(VERSION, SESSION, 1, "echo", [1]) == (VERSION, 1, "ok", [1])
        assert len(recorder.calls) == 1


def test_a_flood_of_frames():
    generator = np.random.default_rng(1)
    good = [bytes(frame) for frame in encode((VERSION, SESSION, 1, "echo", [np.zeros(3)]))]
    recorder = Recorder()
    with running(recorder) as server, Client(server.address, "test") as client:
        with contextlib.ExitStack() as stack:
            for k in range(3000):
                if k % 10 == 0:  # before too many messages are refused
                    raw = stack.enter_context(Raw(server.address))
                frames = list(good)
                if k % 3:
                    data = bytearray(frames[0])
                    data[generator.integers(len(data))] = generator.integers(256)
                    frames[0] = bytes(data[: generator.integers(len(data) + 1)])
                if k % 7 == 0:
                    frames += [generator.bytes(50)]
                raw.send(frames)
                if k % 500 == 0:
                    assert client.request("echo", k) == [k]
        assert client.request("echo", 1) == [1]
    assert {verb for verb, _ in recorder.calls} == {"echo"} and len(recorder.calls) == 7


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"host": "0.0.0.0"}, "keys: expected a folder of keys to serve 0.0.0.0"),
        ({"host": "::"}, "keys: expected a folder"),
        ({"host": "example.org"}, "host: expected an IP address, got 'example.org'"),
        ({"host": "*"}, "host: expected an IP address"),
        ({"port": 65536}, "port: expected at most 65535"),
        ({"max_message_bytes": 0}, "max_message_bytes: expected at least 1"),
        ({"max_message_bytes": 1e6}, "max_message_bytes: expected an integer"),
        ({"host": 2130706433}, "host: expected an IP address, got 2130706433"),
        ({"keys": 5}, "keys: expected the path of a folder, got 5"),
        ({"log": "file"}, "log: expected a function or None, got 'file'"),
        *[({"session_seconds": value}, "session_seconds: expected ") for value in BAD_TIMES],
    ],
)
def test_arguments_of_a_server(options, message):
    with pytest.raises((error.InvalidArgument, error.ArgumentTypeError), match=message):
        Server(Recorder(), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keys": 5}, "keys: expected the path of a folder, got 5"),
        *[
            ({name: value}, f"{name}: expected ")
            for name in ("timeout", "connect_timeout")
            for value in BAD_TIMES
        ],
    ],
)
def test_arguments_of_a_client(options, message):
    with pytest.raises((error.InvalidArgument, error.ArgumentTypeError), match=message):
        Client("127.0.0.1:1", "test", **options)


@pytest.mark.parametrize("limit", [None, float("inf"), 1e10, 10**400, np.float32(1e30)])
def test_time_limits_that_are_none(limit):
    with (
        running(Recorder(), session_seconds=limit) as server,
        Client(server.address, "test", timeout=limit, connect_timeout=limit) as client,
    ):
        assert client.request("echo", 1) == [1]
        with pytest.raises(error.RemoteRefused, match="this one serves another client"):
            Client(server.address, "test", connect_timeout=limit)


def test_an_address_that_is_taken():
    with Server(Recorder()) as server:
        port = int(server.address.rpartition(":")[2])
        with pytest.raises(error.InvalidArgument, match="in use"):
            Server(Recorder(), port=port)


@pytest.mark.parametrize("address", ["", "tcp://", "x y:3", "carrier://pigeon:1"])
def test_addresses_of_a_client(address):
    with pytest.raises(error.InvalidArgument, match="address: expected"):
        Client(address, "test", connect_timeout=0.1)
