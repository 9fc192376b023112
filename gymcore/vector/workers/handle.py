"""What a parent holds of one worker: its process, its pipe, its last words."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from gymcore.error import ArgumentTypeError, WorkerDied
from gymcore.vector.workers.failures import worker_died, worker_timeout
from gymcore.vector.workers.last_words import LastWords
from gymcore.vector.workers.messages import MessageStream
from gymcore.vector.workers.process import WorkerProcess
from gymcore.vector.workers.setup import EnvFunctions, Setup

if TYPE_CHECKING:
    from multiprocessing.context import BaseContext

    from gymcore.core import Env
    from gymcore.vector.workers.shared_block import SharedBlock

__all__ = ["WorkerHandle", "deaths", "lanes_of"]


class WorkerHandle:
    """One worker, started and ended any number of times.

    Attributes:
        index: Number of the worker.
        lanes: Its lanes.
        late: Whether it has kept the parent waiting for longer than allowed.
    """

    def __init__(self, index: int, lanes: range) -> None:
        """Make the handle of a worker that has not been started."""
        self.index = index
        self.lanes = lanes
        self.late = False
        self._exit_code: int | None = None
        self._crash = ""
        self._last_words: LastWords | None = None
        self._process: WorkerProcess | None = None
        self._stream: MessageStream | None = None

    @property
    def started(self) -> bool:
        """Whether there is a process, running or not."""
        return self._process is not None

    @property
    def process(self) -> Any:
        """The `multiprocessing.Process`, or None."""
        return None if self._process is None else self._process.process

    @property
    def stream(self) -> MessageStream:
        """The pipe of a worker that was started."""
        assert self._stream is not None
        return self._stream

    def start(
        self,
        target: Callable[[Setup], None],
        context: BaseContext,
        daemon: bool,
        env_fns: Sequence[Callable[[], Env[Any, Any]]],
        registered: list[bytes],
        block: SharedBlock,
        parent: int,
        others: Iterable[WorkerHandle],
    ) -> None:
        """Start the process.

        Args:
            target: What it runs.
            context: A `multiprocessing` context.
            daemon: Whether it is a daemon.
            env_fns: One function for each of its lanes.
            registered: Pickled specs for a process that is no fork.
            block: The shared memory.
            parent: Process id of the parent.
            others: All workers: a fork inherits their pipes.

        Raises:
            ArgumentTypeError: A function that cannot be sent to another process.
        """
        functions = EnvFunctions(env_fns)
        forked = context.get_start_method() == "fork"
        if not forked:
            _check_picklable(functions, self.lanes.start)
        self._exit_code = None
        self._crash = ""
        self.late = False
        self._last_words = LastWords()
        ours, theirs = context.Pipe()
        inherited = [ours.fileno(), *(h.stream.fileno() for h in others if h._stream is not None)]
        setup = Setup(
            self.index,
            self.lanes.start,
            functions,
            registered,
            theirs,
            block,
            parent,
            self._last_words,
            tuple(inherited) if forked else (),
        )
        try:
            name = f"gymcore-worker-{self.index}"
            self._process = WorkerProcess(context, name, target, (setup,), daemon)
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        self._stream = MessageStream(ours)

    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.alive()

    def send(self, message: Any, deadline: float, call: str) -> None:
        """Send a message.

        Raises:
            WorkerDied: The worker has ended.
            WorkerTimeout: It did not take it in time; it gets it later.
        """
        try:
            self.stream.send(message, deadline, self.alive)
        except ConnectionError:
            raise deaths([self], call) from None
        except TimeoutError:
            self.late = True
            raise worker_timeout(list(self.lanes), call, 0.0) from None

    def arrived(self) -> tuple[int, dict[str, Any]] | None:
        """Return a message that has come, without waiting; None if there is none."""
        if self._stream is None:
            return None
        try:
            number, message = self._stream.receive(0.0, self.alive)
        except (ConnectionError, TimeoutError):
            return None
        if "crash" in message:
            self._crash = message["crash"]
        return number, message

    def pump(self) -> None:
        """Take in what the worker sends, so that it does not wait for room."""
        if self._stream is not None:
            with contextlib.suppress(ConnectionError):
                self._stream.pump()

    def wait_closed(self, deadline: float, slice_seconds: float) -> None:
        """Wait for the end of the process, and take in what it sends until then."""
        while self.alive() and time.monotonic() < deadline:
            self.pump()
            left = deadline - time.monotonic()
            assert self._process is not None
            self._process.join(max(0.0, min(slice_seconds, left)))

    def terminate(self) -> None:
        """Ask the process to end, without waiting."""
        if self._process is not None:
            with contextlib.suppress(OSError, ValueError):
                self._process.process.terminate()

    def end(self) -> None:
        """End the process, and free what this process keeps of it."""
        if self._process is not None:
            self._process.end()
            self._process = None
        if self._stream is not None:
            self._stream.close()
            self._stream = None
        if self._last_words is not None:
            self._last_words.close()
            self._last_words = None

    def exit_code(self) -> int | None:
        """Return the exit code of a process that has ended."""
        if self._exit_code is None and self._process is not None:
            self._exit_code = self._process.exit_code()
        return self._exit_code

    def last_words(self) -> str:
        """Return the traceback that a process left which has ended, or ""."""
        while not self._crash:
            message = self.arrived()
            if message is None:
                break
        if not self._crash and self._last_words is not None:
            self._crash = self._last_words.read()
        return self._crash


def deaths(handles: Sequence[WorkerHandle], call: str) -> WorkerDied:
    """Return the exception for workers that have ended.

    Args:
        handles: At least one.
        call: What was going on.
    """
    first = handles[0]
    texts = [text for text in (handle.last_words() for handle in handles) if text]
    return worker_died(lanes_of(handles), call, first.exit_code(), first.index, "\n".join(texts))


def lanes_of(handles: Iterable[WorkerHandle]) -> list[int]:
    """Return the lanes of some workers."""
    return [lane for handle in handles for lane in handle.lanes]


def _check_picklable(functions: EnvFunctions, first: int) -> None:
    """Say which function cannot be sent, rather than let the start of a process fail."""
    import cloudpickle

    try:
        cloudpickle.dumps(functions.functions)
    except Exception:
        for index, function in enumerate(functions.functions, first):
            try:
                cloudpickle.dumps(function)
            except Exception as problem:
                raise ArgumentTypeError(
                    f"env_fns[{index}]: cannot be sent to a worker process: "
                    f"{type(problem).__name__}: {problem}. Make what it needs inside of it, or "
                    'use context="fork".'
                ) from problem
        raise
