"""Python objects through a pipe, without ever waiting longer than allowed."""

from __future__ import annotations

import os
import pickle
import select
import struct
import time
from collections import deque
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any

__all__ = ["MessageStream"]

# In front of every message: its length in bytes.
_HEADER = struct.Struct("<Q")

_READ_BYTES = 1 << 20

# How often a waiting process asks whether the other one lives, in seconds.
_SLICE_SECONDS = 0.05


class MessageStream:
    """Sends and receives objects over one end of a `multiprocessing.Pipe`.

    The pipe never blocks. Half a message, sent or received, is kept when time is over or a signal
    interrupts, and completed by a later call. While one side waits for room to send, it takes in
    what the other side sends, so two sides that send at once do not wait for each other.

    Deadlines are `time.monotonic()` values (s): `float("inf")` for none, one that has passed for a
    look without waiting. `alive` tells whether the process at the other end lives; it is asked
    every 0.05 s, because the end of a process does not close a pipe that another one has inherited.
    """

    def __init__(self, connection: Connection) -> None:
        """Take over a connection: nobody else may use it any more.

        Args:
            connection: One end of a duplex pipe.
        """
        self._connection = connection
        # Bytes that came and are not yet received, those to send, and how many of them are sent.
        self._incoming: list[bytes] = []
        self._outgoing: deque[memoryview] = deque()
        self._sent: list[int] = []
        self._ended = False
        os.set_blocking(connection.fileno(), False)

    def fileno(self) -> int:
        """Return the file descriptor, to wait for several streams at once."""
        return self._connection.fileno()

    def close(self) -> None:
        """Close the pipe; any number of times."""
        self._connection.close()

    def send(self, message: Any, deadline: float, alive: Callable[[], bool]) -> None:
        """Send an object.

        Args:
            message: What pickles, by `cloudpickle` if need be.
            deadline: Until when to wait for room in the pipe.
            alive: Whether the other process lives.

        Raises:
            ConnectionError: The other process has ended, or closed its end.
            TimeoutError: Time is over. The message stays in line: a later call sends the rest.
            Exception: The message does not pickle; nothing has been sent.
        """
        data = _pickled(message)
        self._outgoing.append(memoryview(_HEADER.pack(len(data)) + data))
        while not self._flushed():
            self._await(select.POLLIN | select.POLLOUT, deadline, alive)
            self.pump()

    def receive(self, deadline: float, alive: Callable[[], bool]) -> Any:
        """Return the next object.

        Args:
            deadline: Until when to wait for it.
            alive: Whether the other process lives.

        Raises:
            ConnectionError: The other process has ended, or closed its end, and nothing is left of
                what it sent whole.
            TimeoutError: Time is over; a part that came is kept.
        """
        while True:
            data = self._whole()
            if data is not None:
                return pickle.loads(data)
            if self._take_in():
                continue
            if self._ended:
                raise ConnectionError("the other process has closed the pipe")
            self._await(select.POLLIN, deadline, alive)

    def pump(self) -> None:
        """Take in what has come and send what is in line, as far as that needs no waiting."""
        while self._take_in():
            pass
        self._flushed()

    # --- bytes ---------------------------------------------------------------------------------

    def _await(self, events: int, deadline: float, alive: Callable[[], bool]) -> None:
        """Wait for the pipe, at most one slice."""
        if self._ended:
            raise ConnectionError("the other process has closed the pipe")
        lives = alive()
        left = deadline - time.monotonic()
        # What a dead process has sent is looked for once more: `alive` was asked before.
        poll = select.poll()
        poll.register(self._connection.fileno(), events)
        ready = poll.poll(max(0.0, min(_SLICE_SECONDS, left)) * 1000 if lives else 0)
        if ready:
            return
        if not lives:
            raise ConnectionError("the other process has ended")
        if left <= 0:
            raise TimeoutError("the other process did not answer in time")

    def _take_in(self) -> bool:
        """Read once; whether anything came."""
        try:
            # One call from reading to keeping: no signal handler can raise in between, as it could
            # after the system call in `keep(os.read(...))`.
            self._incoming.extend(map(os.read, (self._connection.fileno(),), (_READ_BYTES,)))
        except (BlockingIOError, InterruptedError):
            return False
        except ConnectionError:
            self._ended = True
            return False
        if self._incoming[-1]:
            return True
        self._ended = True
        return False

    def _whole(self) -> memoryview | None:
        """Take the first message out of what came, if all of it is there."""
        size = sum(map(len, self._incoming))
        if size < _HEADER.size:
            return None
        if len(self._incoming[0]) < _HEADER.size:
            self._incoming = [b"".join(self._incoming)]
        end = _HEADER.size + _HEADER.unpack_from(self._incoming[0])[0]
        if size < end:
            return None
        everything = memoryview(b"".join(self._incoming))
        self._incoming = [bytes(everything[end:])] if size > end else []
        return everything[_HEADER.size : end]

    def _flushed(self) -> bool:
        """Write what there is room for; whether all messages in line are sent."""
        while self._outgoing:
            first = self._outgoing[0]
            sent = sum(self._sent)
            if sent == len(first):
                # Both at once: no message is sent twice, whenever a signal comes.
                self._sent = []
                self._outgoing.popleft()
                continue
            try:
                self._sent.extend(map(os.write, (self._connection.fileno(),), (first[sent:],)))
            except (BlockingIOError, InterruptedError):
                return False
            except ConnectionError:
                self._ended = True
                raise
        return True


def _pickled(message: Any) -> bytes:
    """Pickle an object, by `cloudpickle` where `pickle` cannot."""
    try:
        return bytes(ForkingPickler.dumps(message, pickle.HIGHEST_PROTOCOL))
    except (pickle.PicklingError, AttributeError, TypeError):
        import cloudpickle

        return bytes(cloudpickle.dumps(message, pickle.HIGHEST_PROTOCOL))
