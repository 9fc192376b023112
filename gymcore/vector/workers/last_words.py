"""A file without a name in which a dying worker leaves its traceback."""

from __future__ import annotations

import contextlib
import os
import tempfile
from typing import Any

__all__ = ["LastWords"]

_MOST_BYTES = 16384


class LastWords:
    """Takes what `faulthandler` writes at a fatal signal, and gives it to the parent.

    Can be pickled while a process is being started, as the arguments of a
    `multiprocessing.Process` are.

    Attributes:
        fd: File descriptor of the file.
    """

    def __init__(self) -> None:
        """Open the file."""
        if hasattr(os, "memfd_create"):
            self.fd = os.memfd_create("gymcore-last-words")
        else:
            with tempfile.TemporaryFile() as file:
                self.fd = os.dup(file.fileno())

    def read(self) -> str:
        """Return what was written."""
        with contextlib.suppress(OSError):
            return os.pread(self.fd, _MOST_BYTES, 0).decode("utf-8", "replace").rstrip()
        return ""

    def close(self) -> None:
        """Close the file."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def __getstate__(self) -> Any:
        """Return what opens the file in the process that is being started."""
        from multiprocessing import reduction

        return reduction.DupFd(self.fd)

    def __setstate__(self, state: Any) -> None:
        """Open the file."""
        self.fd = state.detach()
