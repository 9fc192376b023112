"""Pipes to workers whose loop is not ours: nothing done to them here blocks.

The other end is an ordinary `multiprocessing.connection.Connection`, so the framing is that of
`Connection.send`; but a worker that hangs in the middle of a message, or reads none, must not stop
the parent.
"""

from __future__ import annotations

import contextlib
import pickle
import socket
import struct
from multiprocessing.reduction import ForkingPickler
from typing import Any

from gymcore.vector.workers.failures import Failure, describe_failure

__all__ = ["NOTHING", "ErrorQueue", "PolledPipe", "pickled"]

NOTHING: Any = type("Nothing", (), {"__repr__": lambda self: "NOTHING"})()
"""What `PolledPipe.receive` returns while no whole message has come."""

# Connection.send writes the length of a message as a signed 32-bit number, or -1 and 64 bits.
_SHORT, _LONG = struct.Struct("!i"), struct.Struct("!Q")
_LONGEST_SHORT = 0x7FFFFFFF


def pickled(message: Any) -> bytes:
    """Return a message as bytes, by `cloudpickle` where `pickle` cannot.

    Raises:
        Exception: What `pickle` raised, where neither can.
    """
    try:
        return bytes(ForkingPickler.dumps(message))
    except Exception:
        import cloudpickle

        with contextlib.suppress(Exception):
            return cloudpickle.dumps(message)
        raise


class PolledPipe:
    """The parent's end of a duplex pipe.

    Attributes:
        connection: The end itself; it stays usable for blocking calls.
        ended: Whether the other end has been closed.
    """

    def __init__(self, connection: Any) -> None:
        """Take over a connection, which `close` closes."""
        self.connection = connection
        self.ended = False
        self._socket: socket.socket | None = None
        if hasattr(socket, "MSG_DONTWAIT") and hasattr(socket, "AF_UNIX"):
            self._socket = socket.socket(fileno=connection.fileno())
            self._socket.settimeout(None)  # or `socket.setdefaulttimeout` would apply
            self._flags = socket.MSG_DONTWAIT
            self._send_flags = self._flags | getattr(socket, "MSG_NOSIGNAL", 0)
        self._unsent = bytearray()
        self._head = bytearray()
        self._body: bytearray | None = None
        self._filled = 0

    def fileno(self) -> int:
        """Return the file descriptor, to wait for."""
        return int(self.connection.fileno())

    @property
    def unsent(self) -> bool:
        """Whether some of what was given to `send` has not been taken yet."""
        return bool(self._unsent)

    def send(self, data: bytes) -> None:
        """Send the bytes of a pickle, as much as goes now; `flush` sends the rest.

        Args:
            data: What `pickled` returned.
        """
        size = len(data)
        if self._socket is None:
            with contextlib.suppress(
                OSError
            ):  # its reader has gone: found by looking at the process
                self.connection.send_bytes(data)
            return
        if size <= _LONGEST_SHORT:
            self._unsent += _SHORT.pack(size)
        else:
            self._unsent += _SHORT.pack(-1) + _LONG.pack(size)
        self._unsent += data
        self.flush()

    def flush(self) -> None:
        """Send what the pipe takes now; what nobody will read any more is dropped."""
        while self._unsent and self._socket is not None:
            try:
                sent = self._socket.send(self._unsent, self._send_flags)
            except BlockingIOError:
                return
            except OSError:  # the other end is closed
                self._unsent.clear()
                return
            del self._unsent[:sent]

    def receive(self) -> Any:
        """Return the next message, or `NOTHING` if it is not wholly here.

        Raises:
            Exception: What unpickling it raised; the next call goes on with the next message.
        """
        if self._socket is None:
            try:
                data = self.connection.recv_bytes() if self.connection.poll(0) else None
            except (EOFError, OSError):
                self.ended = True
                data = None
            return NOTHING if data is None else pickle.loads(data)
        if self.ended:
            return NOTHING
        if self._body is None:
            size = self._size()
            if size is None:
                return NOTHING
            self._body, self._filled = bytearray(size), 0
        view = memoryview(self._body)
        while self._filled < len(view):
            count = self._read_into(view[self._filled :])
            if not count:
                return NOTHING
            self._filled += count
        body, self._body = self._body, None
        self._head.clear()
        return pickle.loads(body)

    def _size(self) -> int | None:
        """Read the head of a message; return the length of its body once it is known."""
        while True:
            wanted = _SHORT.size
            if len(self._head) >= wanted:
                [size] = _SHORT.unpack_from(self._head)
                if size >= 0:
                    return int(size)
                wanted += _LONG.size
                if len(self._head) == wanted:
                    return int(_LONG.unpack_from(self._head, _SHORT.size)[0])
            part = bytearray(wanted - len(self._head))
            count = self._read_into(memoryview(part))
            if not count:
                return None
            self._head += part[:count]

    def _read_into(self, view: memoryview) -> int:
        """Read what is there; 0 if that is nothing."""
        assert self._socket is not None
        try:
            count = self._socket.recv_into(view, 0, self._flags)
        except BlockingIOError:
            return 0
        except OSError:
            count = 0
        if not count:
            self.ended = True
        return count

    def close(self) -> None:
        """Close the end."""
        if self._socket is not None:
            self._socket.detach()  # the connection closes the descriptor that both share
            self._socket = None
        with contextlib.suppress(OSError):
            self.connection.close()


class ErrorQueue:
    """What a worker reports its exceptions to, in the place of a `multiprocessing.Queue`.

    Each worker has a pipe of its own, for what a killed one leaves half written or locked must not
    reach the others. It can be pickled while a process is being started.
    """

    def __init__(self, connection: Any, index: int) -> None:
        """Write to a connection.

        Args:
            connection: The worker's end of a pipe.
            index: Index of the worker's environment.
        """
        self._connection = connection
        self._index = index

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        """Send a report to the parent.

        Args:
            item: `(index, exception class, exception, text of the traceback)`.
            block: Without effect.
            timeout: Without effect.
        """
        self._connection.send(_as_failure(item, self._index))

    def put_nowait(self, item: Any) -> None:
        """Send a report to the parent."""
        self.put(item)

    def close(self) -> None:
        """Do nothing: the pipe is closed with the process."""

    def join_thread(self) -> None:
        """Do nothing: there is no thread."""

    def cancel_join_thread(self) -> None:
        """Do nothing: there is no thread."""


def _as_failure(item: Any, index: int) -> Failure:
    """Return a report in a form that always pickles."""
    try:
        lane, kind, value, text = item
    except (TypeError, ValueError):
        lane, kind, value, text = index, None, item, ""
    lane = lane if isinstance(lane, int) else index
    if isinstance(value, BaseException):
        failure = describe_failure(lane, "", value)
        return failure._replace(traceback=str(text).rstrip()) if text else failure
    name = kind.__name__ if isinstance(kind, type) else "an exception"
    return Failure(lane, "", name, str(value), str(text).rstrip(), None, None)
