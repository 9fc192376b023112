"""Sending Python objects through a pipe without waiting past a deadline."""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import select
import socket
import struct
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_Result = TypeVar("_Result")

# Header of a message, as in `multiprocessing.connection.Connection`: the length in bytes, or -1 and
# the length in 64 bits.
_SHORT, _LONG = struct.Struct("!i"), struct.Struct("!iQ")
_MAX_SHORT = 0x7FFFFFFF

_READ_BYTES = 1 << 20

# Number of reads after which a call checks its deadline: a process may send forever.
_MAX_READS = 8

# Messages of at least this size are sent after their header, without being joined to it.
_COPIED_BYTES = 1 << 16

# How often a waiting process checks whether the other one is alive, in seconds.
SLICE_SECONDS = 0.05

# How often a process that waits for answers checks whether a full pipe has room, in seconds.
FULL_PIPE_SECONDS = 0.001

# A dead worker must not end a program that has restored the default action of SIGPIPE.
_NO_SIGNAL = getattr(socket, "MSG_NOSIGNAL", 0)


def append_results(
    results: list[_Result], function: Callable[..., _Result], *arguments: Iterable[object]
) -> None:
    """Call a function as `map` does, and append each result before a signal handler can run.

    Python runs signal handlers between bytecode instructions. A handler that raises between a call
    and the `append` of its result would lose the result, such as bytes that were already read. Here
    the calls and the appending are one instruction.

    Examples:
        >>> sums = []
        >>> append_results(sums, pow, [2, 3], [3, 2])
        >>> sums
        [8, 9]
    """
    results.extend(map(function, *arguments))


class Pickled(bytes):
    """A message that is already pickled."""

    @classmethod
    def of(cls, message: object) -> Pickled:
        """Pickle an object, with `cloudpickle` if necessary."""
        return cls(_pickled(message))


class MessageStream:
    """Sends and receives objects over one end of a `multiprocessing.Pipe`.

    The other end may be another stream or a plain `Connection`. The pipe never blocks. If time runs
    out or a signal handler raises, a partly sent or received message is kept, and a later call
    completes it. (An exception while a message is being returned loses the message, as an exception
    just after the return would.) While a stream waits for room to send, it also receives, so that
    two sides that send at the same time do not block each other.

    Attributes:
        ended: Whether the other process has ended or closed its end.

    Deadlines are `time.monotonic()` values (s): `math.inf` for no deadline, a time in the past for
    no waiting. `alive` returns whether the process at the other end is alive. It is called every
    0.05 s, because a pipe that another process has inherited stays open when a process ends.

    Examples:
        >>> from multiprocessing import Pipe
        >>> left, right = map(MessageStream, Pipe())
        >>> left.send({"lanes": [1, 2]}, math.inf, lambda: True)
        >>> right.receive(math.inf, lambda: True)
        {'lanes': [1, 2]}
        >>> left.close(), right.close()
        (None, None)
    """

    def __init__(self, connection: Connection) -> None:
        """Take over a connection, which is closed: this object duplicates its descriptor."""
        # Received pieces, and how many bytes of the first one have been consumed. Replaced as a
        # whole, so that the state stays consistent if a signal handler raises.
        self._incoming: tuple[list[bytes], int] = ([], 0)
        # Pieces to send, and the number of bytes that each call of `socket.send` has sent.
        self._outgoing: tuple[list[bytes], list[int]] = ([], [])
        self.ended = False
        self._socket = socket.socket(fileno=os.dup(connection.fileno()))
        self._socket.setblocking(False)
        connection.close()

    def fileno(self) -> int:
        """Return the file descriptor, for waiting for several streams; -1 after `close`."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close the pipe; calling it again does nothing."""
        self.ended = True
        self._socket.close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()

    def send(self, message: object, deadline: float, alive: Callable[[], bool]) -> None:
        """Send an object.

        Raises:
            ConnectionError: If the other process has ended or closed its end.
            TimeoutError: If the deadline passes. The message stays queued for later calls.
            Exception: If the message cannot be pickled; nothing is sent.
        """
        self.put(message)
        while not self._flush():
            self._wait(deadline, alive)
            self.pump()

    def put(self, message: object) -> None:
        """Queue an object for the next call of `send`, `receive` or `pump`."""
        data = message if type(message) is Pickled else _pickled(message)
        size = len(data)
        header = _SHORT.pack(size) if size <= _MAX_SHORT else _LONG.pack(-1, size)
        pieces = self._outgoing[0]
        pieces += (header, data) if size >= _COPIED_BYTES else (header + data,)

    def receive(self, deadline: float, alive: Callable[[], bool]) -> Any:
        """Return the next object.

        Raises:
            ConnectionError: If the other process has ended or closed its end, and there is no
                complete message left.
            TimeoutError: If the deadline passes; a part of a message is kept.
            Exception: If unpickling the object raises. The object is lost.
        """
        if (data := self.take()) is None:
            self.pump()
            while (data := self.take()) is None:
                self._wait(deadline, alive)
                self.pump()
        return pickle.loads(data)

    def pump(self) -> None:
        """Receive data and send queued data, without waiting."""
        for _ in range(_MAX_READS):
            if not self._read():
                break
        with contextlib.suppress(ConnectionError):
            self._flush()

    # --- bytes ---------------------------------------------------------------------------------

    def _wait(self, deadline: float, alive: Callable[[], bool]) -> None:
        """Wait for the pipe for at most `SLICE_SECONDS`."""
        if self.ended:
            raise ConnectionError("the other process has closed the pipe")
        is_alive = alive()
        remaining = max(0.0, deadline - time.monotonic())
        poll = select.poll()
        poll.register(self._socket, select.POLLIN | (is_alive and self.unsent and select.POLLOUT))
        # `alive` was called first, so everything that an ended process has sent is readable.
        ready = poll.poll(math.ceil(min(SLICE_SECONDS, remaining) * 1000) if is_alive else 0)
        if ready and (remaining > 0 or not is_alive):
            return
        if not is_alive:
            raise ConnectionError("the other process has ended")
        if remaining <= 0:
            raise TimeoutError("the other process did not answer in time")

    def _read(self) -> bool:
        """Read once; return whether there was any data."""
        if self.ended:
            return False
        pieces = self._incoming[0]
        try:
            append_results(pieces, self._socket.recv, (_READ_BYTES,))
        except (BlockingIOError, InterruptedError):
            return False
        except ConnectionError:
            self.ended = True
            return False
        if not pieces[-1]:
            self.ended = True
        return not self.ended

    def take(self) -> memoryview | bytes | None:
        """Return the pickle of the next object if `pump` has received all of it, otherwise None."""
        pieces, start = self._incoming
        size = sum(map(len, pieces)) - start
        for header in (_SHORT, _LONG):
            if size < header.size:
                return None
            if len(pieces[0]) < start + header.size:
                pieces, start = [b"".join(pieces)[start:]], 0
            length = header.unpack_from(pieces[0], start)[-1]
            if length >= 0:
                break
        if size < header.size + length:
            return None
        first = start + header.size
        if len(pieces[0]) < first + length:
            pieces, first = [b"".join(pieces)[first:]], 0
        data = memoryview(pieces[0])[first : first + length]
        if len(pieces[0]) == first + length:
            self._incoming = (pieces[1:], 0)
        else:
            self._incoming = (pieces, first + length)
        return data

    @property
    def unsent(self) -> bool:
        """Whether queued data has not been sent yet."""
        return bool(self._outgoing[0])

    def _flush(self) -> bool:
        """Write as much as the pipe accepts; return whether all queued data is sent."""
        if self._socket.fileno() < 0:
            raise ConnectionError("this end of the pipe is closed")
        pieces, counts = self._outgoing
        sent = sum(counts)
        for piece in pieces:
            while sent < len(piece):
                rest = memoryview(piece)[sent:]
                try:
                    append_results(counts, self._socket.send, (rest,), (_NO_SIGNAL,))
                except (BlockingIOError, InterruptedError):
                    return False
                sent += counts[-1]
            sent -= len(piece)
        self._outgoing = ([], [])
        return True


class _BlockingStream:
    """A `MessageStream` for systems whose pipes are not sockets; `send` ignores its deadline."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._incoming: deque[bytes] = deque()
        self.ended = False
        self.unsent = False

    def fileno(self) -> int:
        """Return the handle."""
        return -1 if self._connection.closed else self._connection.fileno()

    def close(self) -> None:
        """Close the pipe; calling it again does nothing."""
        self._connection.close()

    def send(self, message: object, deadline: float, alive: Callable[[], bool]) -> None:
        """Send an object; wait until the pipe accepts it, ignoring `deadline` and `alive`."""
        try:
            self.put(message)
        except OSError as problem:
            raise ConnectionError("the other process has closed the pipe") from problem

    def put(self, message: object) -> None:
        """Send an object at once; see `MessageStream`."""
        data = message if type(message) is Pickled else _pickled(message)
        self._connection.send_bytes(data)

    def receive(self, deadline: float, alive: Callable[[], bool]) -> Any:
        """Return the next object; see `MessageStream`."""
        while not self._incoming:
            is_alive = alive()
            remaining = max(0.0, deadline - time.monotonic())
            if not self._read(min(SLICE_SECONDS, remaining) if is_alive else 0.0):
                if not is_alive:
                    raise ConnectionError("the other process has ended")
                if remaining <= 0:
                    raise TimeoutError("the other process did not answer in time")
        return pickle.loads(self._incoming.popleft())

    def take(self) -> bytes | None:
        """Return the pickle of the next object; see `MessageStream`."""
        return self._incoming.popleft() if self._incoming else None

    def pump(self) -> None:
        """Receive data without waiting."""
        with contextlib.suppress(ConnectionError):
            for _ in range(_MAX_READS):
                if not self._read(0.0):
                    break

    def _read(self, seconds: float) -> bool:
        try:
            if not self._connection.poll(seconds):
                return False
            self._incoming.append(self._connection.recv_bytes())
        except (EOFError, OSError) as problem:
            self.ended = True
            raise ConnectionError("the other process has closed the pipe") from problem
        return True


def _pickled(message: object) -> bytes:
    """Pickle an object, with `cloudpickle` if `pickle` cannot."""
    try:
        return bytes(ForkingPickler.dumps(message, pickle.HIGHEST_PROTOCOL))
    except (pickle.PicklingError, AttributeError, TypeError):
        import cloudpickle

        return bytes(cloudpickle.dumps(message, pickle.HIGHEST_PROTOCOL))


if sys.platform == "win32":
    MessageStream = _BlockingStream
