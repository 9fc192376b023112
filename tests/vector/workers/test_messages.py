"""MessageStream: objects through a pipe, in time or not at all."""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import signal
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from gymcore.vector.workers import messages
from gymcore.vector.workers.messages import MessageStream

PATIENCE = 60.0  # s: only a failure waits this long
MEGABYTES = b"x" * (5 << 20)  # more than a pipe holds
METHODS = ["fork", "spawn", "forkserver"] if sys.platform != "win32" else ["spawn"]
NOW = 0.0

Pair = tuple[Any, Any]

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
posix = pytest.mark.skipif(sys.platform == "win32", reason="needs sockets as pipes")


def lives() -> bool:
    return True


def soon() -> float:
    return time.monotonic() + 0.02


def late() -> float:
    return time.monotonic() + PATIENCE


@pytest.fixture(params=["sockets", "pipes"])
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    """Yield two ends, of the stream for sockets and of the one for pipes that are not sockets."""
    stream = MessageStream if request.param == "sockets" else messages._BlockingStream
    yield from _pair(stream)


@pytest.fixture
def sockets() -> Iterator[Pair]:
    yield from _pair(MessageStream)


def _pair(stream: Callable[[Any], Any]) -> Iterator[Pair]:
    left, right = map(stream, multiprocessing.Pipe())
    yield left, right
    left.close()
    right.close()


class Thread(threading.Thread):
    """Thread that runs a function; `result` waits for its result or exception."""

    def __init__(self, function: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self.function = function
        self.start()

    def run(self) -> None:
        try:
            self.found, self.error = self.function(), None
        except BaseException as error:
            self.found, self.error = None, error

    def result(self) -> Any:
        self.join(PATIENCE)
        assert not self.is_alive()
        if self.error is not None:
            raise self.error
        return self.found


OBJECTS = [
    None,
    0,
    "text",
    b"",
    {"a": (1, [2.5])},
    np.arange(6, dtype=np.float32).reshape(2, 3),
    b"x" * 65535,
    b"x" * 65536,
    ValueError("two", "arguments"),
]


def test_objects_in_both_directions(pair):
    left, right = pair
    for sender, receiver in ((left, right), (right, left)):
        for message in OBJECTS:
            sender.send(message, late(), lives)
        for message in OBJECTS:
            assert repr(receiver.receive(late(), lives)) == repr(message)


def test_what_pickle_cannot_cloudpickle_can(pair):
    left, right = pair
    amount = 3
    left.send(lambda x: x + amount, late(), lives)
    assert right.receive(late(), lives)(4) == 7


def test_an_object_that_does_not_pickle_is_not_sent(pair):
    left, right = pair
    with pytest.raises(TypeError):
        left.send(threading.Lock(), late(), lives)
    left.send("next", late(), lives)
    assert right.receive(late(), lives) == "next"


class Broken:
    """An object that cannot be unpickled."""

    def __reduce__(self) -> Any:
        return (int, ("no number",))


def test_an_object_that_does_not_unpickle_is_gone(pair):
    left, right = pair
    left.send(Broken(), late(), lives)
    left.send("next", late(), lives)
    with pytest.raises(ValueError, match="no number"):
        right.receive(late(), lives)
    assert right.receive(late(), lives) == "next"


def test_time_is_over_and_nothing_came(pair):
    _, right = pair
    for deadline in (NOW, soon(), time.monotonic() + 0.12):
        with pytest.raises(TimeoutError):
            right.receive(deadline, lives)


def test_a_look_without_waiting(pair):
    left, right = pair
    left.send(1, late(), lives)
    assert right.receive(NOW, lives) == 1
    with pytest.raises(TimeoutError):
        right.receive(NOW, lives)


@posix
def test_a_process_that_sends_forever(sockets):
    """A message without an end does not hold the other process past its deadline."""
    left, right = sockets
    left.send(1, late(), lives)  # makes the pipe readable

    def full(data, flags):
        raise BlockingIOError

    endless = types.SimpleNamespace(
        fileno=right._socket.fileno, recv=lambda size: b"\x7f" * 1000, send=full
    )
    right._socket, real = endless, right._socket
    try:
        for deadline in (NOW, soon()):
            with pytest.raises(TimeoutError):
                right.receive(deadline, lives)
            with pytest.raises(TimeoutError):
                right.send("text", deadline, lives)
        right.pump()
    finally:
        right._socket = real


def test_waits_without_a_deadline(pair):
    left, right = pair
    thread = Thread(lambda: right.receive(math.inf, lives))
    time.sleep(0.12)
    left.send("at last", late(), lives)
    assert thread.result() == "at last"


def test_many_messages_at_once(sockets):
    left, right = sockets
    thread = Thread(lambda: [left.send(i, late(), lives) for i in range(20_000)])
    assert [right.receive(late(), lives) for _ in range(20_000)] == list(range(20_000))
    thread.result()


def test_long_messages(pair):
    left, right = pair
    message = {"picture": np.arange(10**6), "rest": MEGABYTES}
    thread = Thread(lambda: left.send(message, late(), lives))
    found = right.receive(late(), lives)
    assert (found["picture"] == message["picture"]).all() and found["rest"] == MEGABYTES
    thread.result()


@posix
def test_both_send_more_than_the_pipe_takes(sockets):
    def exchange(stream: Any) -> bool:
        stream.send(MEGABYTES, late(), lives)
        return stream.receive(late(), lives) == MEGABYTES

    threads = [Thread(lambda stream=stream: exchange(stream)) for stream in sockets]
    assert all(thread.result() for thread in threads)


@posix
def test_half_a_message_that_was_sent_is_completed_later(sockets):
    left, right = sockets
    with pytest.raises(TimeoutError):
        left.send(MEGABYTES, soon(), lives)
    with pytest.raises(TimeoutError):  # the rest of the first message precedes the second one
        left.send("second", soon(), lives)
    thread = Thread(lambda: left.send("third", late(), lives))
    assert right.receive(late(), lives) == MEGABYTES
    assert right.receive(late(), lives) == "second"
    assert right.receive(late(), lives) == "third"
    thread.result()


@posix
def test_half_a_message_that_was_received_is_kept(sockets):
    left, right = sockets
    with pytest.raises(TimeoutError):
        left.send(MEGABYTES, NOW, lives)
    for _ in range(3):
        with pytest.raises(TimeoutError):
            right.receive(NOW, lives)
    thread = Thread(lambda: left.send("second", late(), lives))
    assert right.receive(late(), lives) == MEGABYTES
    assert right.receive(late(), lives) == "second"
    thread.result()


@posix
def test_receiving_sends_what_is_in_line(sockets):
    left, right = sockets
    with pytest.raises(TimeoutError):
        left.send(MEGABYTES, NOW, lives)
    thread = Thread(lambda: left.receive(late(), lives))
    assert right.receive(late(), lives) == MEGABYTES
    right.send("thanks", late(), lives)
    assert thread.result() == "thanks"


@posix
def test_pump_moves_what_it_can(sockets):
    left, right = sockets
    with pytest.raises(TimeoutError):
        left.send(MEGABYTES, NOW, lives)
    end = late()
    received: list[Any] = []
    while not received:
        assert time.monotonic() < end
        left.pump()
        right.pump()
        try:
            received.append(right.receive(NOW, lives))
        except TimeoutError:
            continue
    assert received == [MEGABYTES]
    left.close()
    right.pump()  # of a closed pipe: no effect


def test_the_other_end_is_closed(pair):
    left, right = pair
    left.send("last words", late(), lives)
    left.close()
    left.close()
    assert right.receive(late(), lives) == "last words"
    for _ in range(2):
        with pytest.raises(ConnectionError):
            right.receive(late(), lives)
    with pytest.raises(ConnectionError):
        for _ in range(100):
            right.send(MEGABYTES, late(), lives)


def test_this_end_is_closed(pair):
    left, _ = pair
    left.close()
    assert left.fileno() == -1
    with pytest.raises(ConnectionError):
        left.send(1, late(), lives)
    with pytest.raises(ConnectionError):
        left.receive(late(), lives)


@posix
def test_last_words_of_one_that_left_a_message_unread(sockets):
    left, right = sockets
    right.send("unread", late(), lives)
    left.send("last words", late(), lives)
    left.close()
    with pytest.raises(ConnectionError):
        right.send(MEGABYTES, late(), lives)
    assert right.receive(late(), lives) == "last words"
    with pytest.raises(ConnectionError):
        right.receive(late(), lives)


@posix
def test_half_a_message_of_one_that_ended(sockets):
    left, right = sockets
    with pytest.raises(TimeoutError):
        left.send(MEGABYTES, NOW, lives)
    left.close()
    with pytest.raises(ConnectionError):
        right.receive(late(), lives)


def test_the_other_process_is_dead_and_a_third_one_holds_its_end(pair):
    left, right = pair
    left.send("last words", late(), lives)
    alive = iter([True, True, False])
    assert right.receive(math.inf, lambda: next(alive, False)) == "last words"
    with pytest.raises(ConnectionError):
        right.receive(math.inf, lambda: next(alive, False))


@posix
def test_a_dead_process_takes_no_message(sockets):
    left, _ = sockets
    alive = iter([True, True, False])
    with pytest.raises(ConnectionError):
        left.send(MEGABYTES, math.inf, lambda: next(alive, False))


@posix
def test_a_broken_pipe_is_no_signal(sockets):
    left, right = sockets
    left.close()
    before = signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        with pytest.raises(ConnectionError):
            right.send(MEGABYTES, late(), lives)
    finally:
        signal.signal(signal.SIGPIPE, before)


class Interrupted(Exception):
    pass


@posix
@pytest.mark.parametrize("rounds", [60, pytest.param(3000, marks=pytest.mark.soak)])
def test_signals_that_raise_anywhere_leave_the_pipe_in_step(sockets, rounds):
    """Interrupted at any of its instructions, it sends and receives no message twice or torn."""
    left, right = sockets
    raising, interruptions = False, 0
    found: list[int] = []

    def interrupt(_: int, frame: types.FrameType | None) -> None:
        nonlocal interruptions
        while raising and frame is not None:
            if frame.f_code.co_filename == messages.__file__:
                interruptions += 1
                raise Interrupted
            frame = frame.f_back

    def of(number: int) -> tuple[int, bytes]:
        return number, bytes([number % 256]) * (number * 7919 % 300_000)

    def echo() -> list[int]:
        numbers = []
        while not numbers or numbers[-1] < rounds:
            message = right.receive(late(), lives)
            assert message == of(message[0])
            numbers.append(message[0])
            right.send(message, late(), lives)
        return numbers

    def take(deadline: float) -> None:
        message = left.receive(deadline, lives)
        assert message == of(message[0])
        found.append(message[0])

    thread = Thread(echo)
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 1e-4, 3.1e-4)
        raising = True
        for number in range(rounds):
            with contextlib.suppress(Interrupted, TimeoutError):
                left.send(of(number), late(), lives)
            with contextlib.suppress(Interrupted, TimeoutError):
                take(late() if number % 2 else NOW)
        raising = False
        left.send(of(rounds), late(), lives)
        while not found or found[-1] < rounds:
            take(late())
    finally:
        raising = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    echoed = thread.result()
    assert interruptions
    for numbers in (echoed, found):
        assert numbers == sorted(set(numbers)), "twice, or out of order"
        assert len(numbers) > rounds / 10


def _echo(connection: Any) -> None:
    stream = MessageStream(connection)
    while True:
        message = stream.receive(math.inf, lives)
        if message == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        stream.send(message, math.inf, lives)
        if message == "end":
            return


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_between_processes(method):
    context: Any = multiprocessing.get_context(method)
    ours, theirs = context.Pipe()
    process = context.Process(target=_echo, args=(theirs,))
    process.start()
    theirs.close()
    stream = MessageStream(ours)
    try:
        for message in ("short", MEGABYTES, [1] * 1000, "end"):
            stream.send(message, late(), process.is_alive)
            assert stream.receive(late(), process.is_alive) == message
        process.join(PATIENCE)
        assert process.exitcode == 0
        with pytest.raises(ConnectionError):
            stream.receive(late(), process.is_alive)
    finally:
        stream.close()
        process.kill()
        process.join(PATIENCE)
        process.close()


@posix
def test_a_killed_process_whose_end_a_sibling_holds():
    context: Any = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=_echo, args=(theirs,))
    process.start()
    stream = MessageStream(ours)  # `theirs` is still open here, as it would be in a sibling
    try:
        stream.send("die", late(), process.is_alive)
        with pytest.raises(ConnectionError, match="has ended"):
            stream.receive(math.inf, process.is_alive)
    finally:
        stream.close()
        theirs.close()
        process.kill()
        process.join(PATIENCE)
        process.close()


@posix
def test_no_descriptor_is_left():
    def count() -> int:
        return len(os.listdir("/dev/fd"))

    before = count()
    for closed in (True, False):
        left, right = map(MessageStream, multiprocessing.Pipe())
        assert count() == before + 2
        if closed:
            left.close()
            right.close()
        del left, right
        assert count() == before
