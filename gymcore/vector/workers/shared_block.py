"""Memory without a name that several processes map."""

from __future__ import annotations

import contextlib
import mmap
import os
import struct
import sys
import tempfile
import uuid
from typing import Any

__all__ = ["SharedBlock"]

_SIZE = struct.Struct("<Q")

# Before Python 3.13 a mapping has a descriptor of its own, closed with the mapping.
_NO_DESCRIPTOR: Any = {"trackfd": False} if sys.version_info >= (3, 13) else {}


class SharedBlock:
    """Memory shared with processes that this one starts; its size is set after they started.

    It has no name in any file system, so nothing is left of it however its processes end: it is
    gone with the last mapping. It reaches another process by fork, or as an argument of a
    `multiprocessing.Process` under every start method; it cannot be pickled otherwise.

    Example:
        >>> block = SharedBlock()
        >>> block.allocate(4096)
        >>> memory = block.map()
        >>> memory[0], len(memory)
        (0, 4096)
        >>> block.close_fd()
    """

    def __init__(self) -> None:
        """Make a block of no size."""
        self._fd = -1
        # Windows has memory with a tag, which lives as long as a mapping of it. The size is told in
        # a second one.
        self._tag = ""
        self._mappings: list[mmap.mmap] = []
        if sys.platform == "win32":
            self._tag = f"gymcore-{uuid.uuid4()}"
            self._mappings.append(mmap.mmap(-1, _SIZE.size, tagname=self._tag + "-size"))
        elif hasattr(os, "memfd_create"):
            self._fd = os.memfd_create("gymcore", os.MFD_CLOEXEC)
        else:
            with tempfile.TemporaryFile(prefix="gymcore-") as file:
                self._fd = os.dup(file.fileno())

    def allocate(self, nbytes: int) -> None:
        """Set the size, once, in the process that made the block; its bytes are zero.

        Args:
            nbytes: Size in bytes, at least 1.

        Raises:
            ValueError: The size is not positive, or was set before, or the block is closed.
            OSError: The system has no such memory.
        """
        if nbytes < 1:
            raise ValueError(f"nbytes: expected at least 1, got {nbytes}")
        if self._size() != 0:
            raise ValueError(f"allocate: the size was set before, to {self._size()} bytes")
        if sys.platform == "win32":
            self._mappings.append(mmap.mmap(-1, nbytes, tagname=self._tag))
            _SIZE.pack_into(self._mappings[0], 0, nbytes)
            return
        os.ftruncate(self._fd, nbytes)
        if not hasattr(os, "memfd_create") and hasattr(os, "posix_fallocate"):
            # A write to a file on a full disk would be SIGBUS; now it is an exception here.
            os.posix_fallocate(self._fd, 0, nbytes)

    def map(self) -> memoryview:
        """Return the memory, writable. It lives as long as anything that refers to it.

        Raises:
            ValueError: No size has been set, or the block is closed.
        """
        size = self._size()
        if size == 0:
            raise ValueError("map: the size of the block has not been set")
        if sys.platform == "win32":
            return memoryview(mmap.mmap(-1, size, tagname=self._tag))
        return memoryview(mmap.mmap(self._fd, size, mmap.MAP_SHARED, **_NO_DESCRIPTOR))

    def fileno(self) -> int:
        """Return the file descriptor, -1 when it was closed or on a system without."""
        return self._fd

    def close_fd(self) -> None:
        """Close the file descriptor; mappings stay. Any number of times."""
        self._mappings = []
        self._tag = ""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            os.close(fd)

    def _size(self) -> int:
        if self._fd < 0 and not self._tag:
            raise ValueError("the block is closed")
        if sys.platform == "win32":
            return int(_SIZE.unpack_from(self._mappings[0])[0])
        return os.fstat(self._fd).st_size

    def __del__(self) -> None:
        """Close the file descriptor."""
        with contextlib.suppress(Exception):
            self.close_fd()

    def __getstate__(self) -> Any:
        """Return what opens the block in the process that is being started."""
        from multiprocessing import context, reduction

        context.assert_spawning(self)
        if sys.platform == "win32":
            return self._tag
        if self._fd < 0:
            raise ValueError("the block is closed")
        return reduction.DupFd(self._fd)

    def __setstate__(self, state: Any) -> None:
        """Open the block in the process that was started."""
        self._fd, self._tag, self._mappings = -1, "", []
        if sys.platform == "win32":
            self._tag = state
            self._mappings.append(mmap.mmap(-1, _SIZE.size, tagname=self._tag + "-size"))
        else:
            self._fd = state.detach()
