"""One process that runs a loop of the user's own: from inside, and as its parent sees it."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import select
import signal
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gymcore.vector.utils.misc import CloudpickleWrapper
from gymcore.vector.workers.custom_pipe import NOTHING, ErrorQueue, PolledPipe
from gymcore.vector.workers.failures import Failure
from gymcore.vector.workers.last_words import LastWords
from gymcore.vector.workers.process import WorkerProcess
from gymcore.vector.workers.registry import install_registered
from gymcore_ext.workers.watch import watch_parent

if TYPE_CHECKING:
    from multiprocessing.context import BaseContext

    from gymcore.core import Env

__all__ = ["CustomProcess", "Unreadable"]


@dataclass
class Unreadable:
    """In the place of an answer that could not be unpickled."""

    error: Exception


@dataclass
class _Start:
    """What a process is started with."""

    worker: CloudpickleWrapper[Any]
    args: tuple[Any, ...]
    registered: list[bytes]
    parent: int
    last_words: LastWords
    close_fds: tuple[int, ...]


def _run(start: _Start) -> None:
    """Run the loop; the process ends with it, or with its parent."""
    # A key press in a terminal interrupts every process of the group; the parent decides for all.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for fd in start.close_fds:
        with contextlib.suppress(OSError):
            os.close(fd)
    watch_parent(start.parent, _pidfd(start.parent))
    faulthandler.enable(start.last_words.fd)
    index, errors = start.args[0], start.args[5]
    try:
        install_registered(start.registered)
        start.worker.fn(*start.args)
    except Exception as error:
        with contextlib.suppress(Exception):
            errors.put((index, type(error), error, traceback.format_exc()))
        raise SystemExit(1) from None


def _pidfd(pid: int) -> int:
    with contextlib.suppress(AttributeError, OSError):
        return os.pidfd_open(pid)
    return -1


class CustomProcess:
    """The process of one environment, with its pipes.

    Attributes:
        index: Index of the environment.
        process: The process.
        pipe: For requests and answers.
        reports: For exceptions.
        failures: What the worker has reported since the last request.
        told: Text of the last report.
    """

    pipe: PolledPipe
    reports: PolledPipe

    def __init__(
        self,
        context: BaseContext,
        name: str,
        daemon: bool,
        worker: Callable[..., None],
        env_fn: Callable[[], Env[Any, Any]],
        index: int,
        shared: tuple[Any, Any, Any],
        registered: list[bytes],
        others: list[CustomProcess],
    ) -> None:
        """Start the process.

        Args:
            context: A `multiprocessing` context.
            name: Name of the process.
            daemon: Whether it is a daemon.
            worker: The loop.
            env_fn: Makes the environment.
            index: Index of the environment.
            shared: What all loops are given: shared memory, autoreset mode, semaphore.
            registered: Pickled specs of ids that the program has registered.
            others: The processes started before, whose pipes a forked child has no use for.
        """
        memory, autoreset_mode, semaphore = shared
        ours, theirs = context.Pipe()
        our_reports, their_reports = context.Pipe()
        self.last_words = LastWords()
        inherited: tuple[int, ...] = ()
        if context.get_start_method() == "fork":
            ends = [end.fileno() for other in others for end in (other.pipe, other.reports)]
            inherited = (our_reports.fileno(), *ends)
        start = _Start(
            CloudpickleWrapper(worker),
            (
                index,
                CloudpickleWrapper(env_fn),
                theirs,
                ours,
                memory,
                ErrorQueue(their_reports, index),
                autoreset_mode,
                semaphore,
            ),
            registered,
            os.getpid(),
            self.last_words,
            inherited,
        )
        try:
            self.process = WorkerProcess(context, name, _run, (start,), daemon)
        except BaseException:
            ours.close()
            our_reports.close()
            self.last_words.close()
            raise
        finally:
            theirs.close()
            their_reports.close()
        self.index = index
        self.pipe = PolledPipe(ours)
        self.reports = PolledPipe(our_reports)
        self.failures: list[Failure] = []
        self.told = ""
        self._found: Any = NOTHING
        self._owed = 0  # answers to come that nobody waits for any more
        # Set while bytes move. Still set when the next move begins: an exception (a key press, say)
        # came in between, and nobody knows any more where in its messages the pipe stands.
        self._moving = False
        self._poll: Any = None
        self._num_polled = 0

    def ask(self, request: bytes) -> None:
        """Send a request.

        Args:
            request: What `pickled` returned.
        """
        self.failures.clear()
        self._found = NOTHING
        self._moving, self.pipe.ended = True, self.pipe.ended or self._moving
        self.pipe.send(request)
        self._moving = False

    def pump(self) -> bool:
        """Move what can be moved through the pipes; return whether the answer is here."""
        self._moving, self.pipe.ended = True, self.pipe.ended or self._moving
        found = self._pump()
        self._moving = False
        return found

    def _pump(self) -> bool:
        self.pipe.flush()
        with contextlib.suppress(Exception):  # what does not unpickle says nothing
            while isinstance(report := self.reports.receive(), Failure):
                self.failures.append(report)
                self.told = report.traceback or self.told
        while self._found is NOTHING:
            try:
                message = self.pipe.receive()
            except Exception as error:
                message = Unreadable(error)
            if message is NOTHING:
                return False
            if self._owed:
                self._owed -= 1
            else:
                self._found = message
        return True

    def take(self) -> Any:
        """Return the answer that `pump` has found."""
        found, self._found = self._found, NOTHING
        return found

    def forget(self) -> None:
        """Drop the answer to the last request, which is here or still to come."""
        if self._found is NOTHING:
            self._owed += 1
        self._found = NOTHING

    def wait(self, seconds: float) -> bool:
        """Wait until the worker says something or ends; return whether it has."""
        ends = [end.connection for end in (self.pipe, self.reports) if not end.ended]
        ends.append(self.process.process.sentinel)
        if not hasattr(select, "poll"):
            from multiprocessing.connection import wait

            return bool(wait(ends, seconds))
        if self._poll is None or self._num_polled != len(ends):
            self._poll, self._num_polled = select.poll(), len(ends)
            for end in ends:
                self._poll.register(end, select.POLLIN)
        return bool(self._poll.poll(seconds * 1000))

    def close(self) -> None:
        """End the process, however busy it is, and free what the parent keeps of it."""
        self.process.end()
        self.pipe.close()
        self.reports.close()
        self.last_words.close()
