"""Messages of frames over a TCP connection, which is encrypted if there are keys.

A message begins with its number of frames and its size, which are checked before memory is
allocated. A peer can thus use no more memory than one message of the maximum size.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
from collections.abc import Sequence

from gymcore.error import Error
from gymcore.remote.wire import Frame

MAX_MESSAGE_BYTES = 256 << 20
MAX_FRAMES = 100_000

GREETING = b"gymcore remote 3"
"""The first bytes that each side sends."""

NEEDS_KEYS = b"gymcore: no keys"
"""The answer of a server with keys to a client without keys, instead of the greeting."""

HEAD = struct.Struct("<4sIQ")
"""Head of a message: `MAGIC`, number of frames, their total size; then the length of each frame."""

MAGIC = b"gym3"
JOINED_BYTES = 1 << 16  # messages up to this size are sent in one piece

# Exceptions of a socket that would have to wait.
_WOULD_WAIT = (BlockingIOError, TimeoutError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class NotTheProtocol(Error):
    """A peer violates the protocol or announces a message that is too large."""


class Connection:
    """One end of a connection. Calls return after the socket's timeout, which may be 0.

    After any exception except for invalid arguments, the connection can only be closed.

    Attributes:
        max_bytes: Maximum size of a received message, including 8 bytes for each frame.
        greeted: Whether the peer has sent its greeting.
        refused: Number of messages of the peer that have been refused.
    """

    def __init__(self, peer: socket.socket, max_bytes: int = MAX_MESSAGE_BYTES) -> None:
        """Greet the peer; with an `ssl.SSLSocket`, `flush` and `receive` first do the handshake."""
        self.socket = peer
        self.max_bytes = max_bytes
        self.greeted = False
        self.refused = 0
        self._needs_handshake = isinstance(peer, ssl.SSLSocket)
        self._unsent: list[memoryview] = [memoryview(GREETING)]
        self._lengths: tuple[int, int] | None = None  # frames and bytes, once they are known
        self._expect(len(GREETING))
        with contextlib.suppress(OSError):  # not a TCP socket
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            # Detect within half a minute that a peer has vanished.
            for name, seconds in {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}.items():
                if hasattr(socket, name):
                    peer.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), seconds)

    def _expect(self, nbytes: int) -> None:
        self._part, self._received = memoryview(bytearray(nbytes)), 0

    # --- sending -------------------------------------------------------------------------------

    def send(self, frames: Sequence[Frame]) -> bool:
        """Queue a message, and send as much of the queue as the socket accepts.

        The frames must not change until `flush` returns True.

        Returns:
            Whether everything has been sent.
        """
        lengths = [len(frame) for frame in frames]
        head = HEAD.pack(MAGIC, len(lengths), sum(lengths))
        head += struct.pack(f"<{len(lengths)}Q", *lengths)
        pieces: list[Frame] = [head, *frames]
        if sum(lengths) <= JOINED_BYTES:
            pieces = [b"".join(pieces)]
        self._unsent += [memoryview(piece) for piece in pieces if len(piece)]
        return self.flush()

    @property
    def is_sending(self) -> bool:
        """Whether there is data that the socket has not accepted yet."""
        return bool(self._unsent) and not self._needs_handshake

    def flush(self) -> bool:
        """Continue to send; return whether everything has been sent."""
        unsent = self._unsent
        try:
            self._do_handshake()
            while unsent:
                sent = self.socket.send(unsent[0])
                if sent == len(unsent[0]):
                    del unsent[0]
                else:
                    unsent[0] = unsent[0][sent:]
        except _WOULD_WAIT:
            return False
        return True

    def _do_handshake(self) -> None:
        if self._needs_handshake:
            assert isinstance(self.socket, ssl.SSLSocket)
            self.socket.do_handshake()
            self._needs_handshake = False

    def send_needs_keys(self) -> None:
        """Answer a client whose handshake failed; only a client without keys reads the answer."""
        with contextlib.suppress(OSError):
            socket.socket.send(self.socket, NEEDS_KEYS)
            for _ in range(16):  # closing a socket with unread data may discard the answer
                if not socket.socket.recv(self.socket, JOINED_BYTES):
                    break

    # --- receiving -----------------------------------------------------------------------------

    def receive(self) -> list[memoryview] | None:
        """Return the frames of the next message; None as long as it is not complete.

        Raises:
            NotTheProtocol: If the peer violates the protocol or sends a message that is too large.
            ConnectionError: If the peer has closed the connection.
            ssl.SSLError: If the peer's key is not known here, or the peer does not use encryption.
        """
        try:
            self._do_handshake()
            while True:
                while self._received < len(self._part):
                    count = self.socket.recv_into(self._part[self._received :])
                    if not count:
                        raise ConnectionResetError("the peer has closed the connection")
                    self._received += count
                if (frames := self._next_part()) is not None:
                    return frames
        except _WOULD_WAIT:
            return None

    def _next_part(self) -> list[memoryview] | None:
        """Process a complete part: the greeting, the head of a message, or its frames."""
        part = self._part
        if not self.greeted:
            if part == NEEDS_KEYS:
                raise NotTheProtocol("it serves only clients with keys; pass `keys`")
            if part != GREETING:
                raise NotTheProtocol(f"expected {GREETING!r}, got {bytes(part)!r}")
            self.greeted = True
            self._expect(HEAD.size)
        elif self._lengths is None:
            magic, count, size = HEAD.unpack(part)
            if magic != MAGIC:
                raise NotTheProtocol(f"expected a message, which begins with {MAGIC!r}")
            if not 1 <= count <= MAX_FRAMES or size + 8 * count > self.max_bytes:
                raise NotTheProtocol(
                    f"expected a message of at most {self.max_bytes} bytes in 1 to {MAX_FRAMES} "
                    f"frames, got {size} bytes in {count}"
                )
            self._lengths = count, size
            self._expect(8 * count + size)
        else:
            count, size = self._lengths
            lengths = struct.unpack_from(f"<{count}Q", part)
            if sum(lengths) != size:
                raise NotTheProtocol(f"expected frames of {size} bytes, got {sum(lengths)}")
            frames, start = [], 8 * count
            for length in lengths:
                frames.append(part[start : start + length])
                start += length
            self._lengths = None
            self._expect(HEAD.size)
            return frames
        return None

    def close(self) -> None:
        """Close the connection; calling it again does nothing."""
        self.socket.close()
