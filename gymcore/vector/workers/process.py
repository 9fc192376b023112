"""One worker process, as its parent sees it."""

from __future__ import annotations

import contextlib
import os
import select
import time
import warnings
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gymcore.vector.utils.misc import clear_mpi_env_vars

if TYPE_CHECKING:
    from multiprocessing.context import BaseContext

__all__ = ["WorkerProcess"]

# How long a process has to end after it was asked to (SIGTERM) before it is made to (SIGKILL), in
# seconds.
_TERMINATE_SECONDS = 0.5
_KILL_SECONDS = 5.0

# How long the exit code of a process that is ending may take, in seconds.
_EXIT_CODE_SECONDS = 1.0

_started: weakref.WeakSet[WorkerProcess] = weakref.WeakSet()


def _forget_in_child() -> None:
    """Keep a forked child from ending its parent's workers when its interpreter exits."""
    from multiprocessing import process

    children: Any = getattr(process, "_children", None)
    if children is not None:
        for worker in _started:
            children.discard(worker.process)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)


class WorkerProcess:
    """Starts a process, tells whether it lives, and ends it."""

    def __init__(
        self,
        context: BaseContext,
        name: str,
        target: Callable[..., None],
        args: tuple[Any, ...],
        daemon: bool,
    ) -> None:
        """Start the process.

        Args:
            context: A `multiprocessing` context.
            name: Name of the process.
            target: What it runs.
            args: Arguments of `target`.
            daemon: Whether it ends with this process, by `multiprocessing`'s own rules.
        """
        self.process: Any = context.Process(  # type: ignore[attr-defined]
            target=target, name=name, args=args, daemon=daemon
        )
        with clear_mpi_env_vars(), warnings.catch_warnings():
            # NumPy's own threads make Python 3.12 warn of every fork. The child runs none of them.
            warnings.filterwarnings("ignore", "This process .* is multi-threaded")
            self.process.start()
        _started.add(self)
        self.pid: int = self.process.pid
        self._pidfd = _open_pidfd(self.pid)
        self._poll: Any = None
        if self._pidfd is not None:
            # Says that a process has ended even when another part of the program has collected its
            # exit status, or when a process of its own still holds its pipes.
            self._poll = select.poll()
            self._poll.register(self._pidfd, select.POLLIN)

    def alive(self) -> bool:
        """Whether the process runs; after it has ended, `exit_code` is known if it ever will be."""
        if self._poll is not None:
            return not self._poll.poll(0)
        return self.process.exitcode is None

    def exit_code(self) -> int | None:
        """Return the exit code of a process that ends; negative for a signal, None if lost."""
        # A process closes its pipes, and a fork server learns of its end, before its exit status
        # can be had.
        deadline = time.monotonic() + _EXIT_CODE_SECONDS
        while True:
            code: int | None = self.process.exitcode
            if code is not None or time.monotonic() > deadline:
                return code
            time.sleep(0.001)

    def join(self, timeout: float) -> bool:
        """Wait for the end of the process.

        Args:
            timeout: For how long, in seconds.

        Returns:
            Whether it has ended.
        """
        if self._poll is not None:
            ended = bool(self._poll.poll(max(0, int(timeout * 1000))))
        else:
            self.process.join(max(0.0, timeout))
            ended = self.process.exitcode is not None
        return ended

    def end(self) -> None:
        """End the process, however busy it is, and free what belongs to it."""
        if not self.join(0):
            with contextlib.suppress(OSError):
                self.process.terminate()
            if not self.join(_TERMINATE_SECONDS):
                with contextlib.suppress(OSError):
                    self.process.kill()
                self.join(_KILL_SECONDS)
        self.release()

    def release(self) -> None:
        """Free what belongs to a process that has ended."""
        self._poll = None
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None
        with contextlib.suppress(ValueError, OSError, AssertionError):
            self.process.join(1.0)
        with contextlib.suppress(ValueError):  # it could not be killed: leave it to the system
            self.process.close()


def _open_pidfd(pid: int) -> int | None:
    if not hasattr(os, "pidfd_open"):
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:  # an old kernel, or the process has ended and was collected already
        return None
