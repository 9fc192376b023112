"""The parent's side of worker processes: start them, wait, detect deaths and end them."""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import time
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any, Literal

from gymcore import error
from gymcore.base import process_wide
from gymcore.base.cpus import usable_cpus
from gymcore.vector.utils.misc import clear_mpi_env_vars
from gymcore.vector.workers import worker
from gymcore.vector.workers.failures import (
    Failure,
    failures_error,
    start_timeout_error,
    worker_died_error,
    worker_timeout_error,
)
from gymcore.vector.workers.messages import FULL_PIPE_SECONDS, SLICE_SECONDS, MessageStream, Pickled
from gymcore.vector.workers.placement import Place
from gymcore.vector.workers.shared_memory import Bounds, CrashLog, Memory, Plan, SharedBlock

if TYPE_CHECKING:
    from multiprocessing.context import BaseContext
    from multiprocessing.process import BaseProcess

    from gymcore.vector.protocols import EnvFn

# Number of polls before a process sleeps: of the parent for a reply, of a worker for a request.
# They take 20 to 50 us, as long as waking a sleeping process. Used only if every process has a CPU
# of its own, because a spinning parent would take the CPU from a worker.
_SPIN_POLLS = 2000

# Seconds that environments have to close before their worker is ended: normally, and if the worker
# was slow before or another one has died.
_CLOSE_SECONDS = 10.0
_HURRIED_CLOSE_SECONDS = 0.5

# Seconds to wait for a process to end after SIGTERM, and then after SIGKILL.
_TERMINATE_SECONDS = 0.5
_KILL_SECONDS = 5.0

# Seconds to wait for the exit code of a process that is ending.
_EXIT_CODE_SECONDS = 1.0

_FOREVER = float("inf")

# Hint for a process that imports the program again and ends before it has made its environments.
_MAIN_GUARD = (
    "a program that starts processes by spawn or forkserver must make the vector "
    'environment under if __name__ == "__main__":'
)

Replies = dict[int, worker.WorkerMessage]
"""Reply messages, by worker."""

_started_processes: weakref.WeakSet[WorkerProcess] = weakref.WeakSet()


def _forget_in_child() -> None:
    """Prevent a forked child from ending its parent's workers when its interpreter exits."""
    from multiprocessing import process

    children: set[BaseProcess] | None = getattr(process, "_children", None)
    if children is not None:
        for handle in _started_processes:
            children.discard(handle.process)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)


class WorkerProcess:
    """A process that has been started, with its pipe and its crash log.

    Attributes:
        index: Index of the worker.
        lanes: The lanes of the worker.
        process: The `multiprocessing.Process`.
        stream: The parent's end of the pipe.
        slow: Whether the worker has missed a deadline.
        crash: The traceback that the worker sent before it died.
    """

    def __init__(
        self,
        context: Any,
        index: int,
        lanes: range,
        name: str,
        daemon: bool,
        others: Iterable[WorkerProcess | None],
        main: Callable[..., None],
        functions: object,
        args: tuple[object, ...],
    ) -> None:
        """Start a process that runs `main(setup, functions, *args)`.

        A forked process inherits the pipes of the running workers `others`, and closes them. Other
        processes get the functions over their own pipe. `multiprocessing` would write them to a
        pipe of its own, and wait forever if the process died before it had read them.
        """
        self.stream: MessageStream
        self.index = index
        self.lanes = lanes
        self.slow = False
        self.crash = ""
        self._exit_code: int | None = None
        self._ended = False
        forked = context.get_start_method() == "fork"
        parent_end, child_end = context.Pipe()
        self._crash_log = CrashLog()
        inherited = [other.stream.fileno() for other in others if other is not None]
        inherited.append(parent_end.fileno())
        setup = worker.ProcessSetup(
            child_end,
            os.getpid(),
            self._crash_log,
            tuple(inherited) if forked else (),
        )
        self.process: BaseProcess = context.Process(
            target=worker.run_process,
            name=name,
            args=(setup, main, functions if forked else None, *args),
            daemon=daemon,
        )
        try:
            with (
                process_wide.lock,
                _paused_collection(),
                clear_mpi_env_vars(),
                warnings.catch_warnings(),
            ):
                # Python 3.12 warns about forks because of NumPy's threads, which the child lacks.
                warnings.filterwarnings("ignore", "This process .* is multi-threaded")
                _check_descriptors()
                self.process.start()
        except BaseException as problem:
            parent_end.close()
            self._crash_log.close()
            # Since Python 3.14, the fork server itself imports the program, which may end it.
            if isinstance(problem, (ConnectionError, EOFError)):
                raise worker_died_error(lanes, "starting", None, index, _MAIN_GUARD) from problem
            raise
        finally:
            child_end.close()
        _started_processes.add(self)
        self.stream = MessageStream(parent_end)
        if not forked:
            self.stream.put((worker.pickled_registered(), functions))
        self._pidfd = worker.open_pidfd(self.process.pid)
        self._poll: select.poll | None = None
        if self._pidfd is not None:
            # Reports the end of a process even if another part of the program has collected its
            # exit status, or if one of its child processes still holds its pipes.
            self._poll = select.poll()
            self._poll.register(self._pidfd, select.POLLIN)

    def alive(self) -> bool:
        """Return whether the process runs."""
        if self._poll is not None:
            return not self._poll.poll(0)
        return not self._ended and self.process.exitcode is None

    def join(self, timeout: float) -> bool:
        """Wait for the end of the process, at most `timeout` seconds; return whether it ended."""
        if self._poll is not None:
            return bool(self._poll.poll(max(0, int(timeout * 1000))))
        self.process.join(max(0.0, timeout))
        return self.process.exitcode is not None

    def exit_code(self) -> int | None:
        """Return the exit code of a process that is ending; negative for a signal, None if lost."""
        # A process closes its pipes, and a fork server learns of its end, before its exit status is
        # available.
        deadline = time.monotonic() + _EXIT_CODE_SECONDS
        while self._exit_code is None and time.monotonic() < deadline:
            self._exit_code = self.process.exitcode
            if self._exit_code is None:
                time.sleep(0.001)
        return self._exit_code

    def send(self, message: object, deadline: float, call: str) -> None:
        """Send a message.

        Raises:
            WorkerDied: If the worker has ended.
            WorkerTimeout: If the worker does not accept the message in time; it is delivered later.
        """
        try:
            self.stream.send(message, deadline, self.alive)
        except ConnectionError:
            raise workers_died_error([self], call) from None
        except TimeoutError:
            raise mark_slow([self], call) from None

    def next_message(self) -> tuple[int, worker.WorkerMessage] | None:
        """Return a message that has arrived, without waiting; None if there is none."""
        try:
            number, message = self.stream.receive(0.0, self.alive)
        except (ConnectionError, TimeoutError):
            return None
        if "crash" in message:
            self.crash = message["crash"]
        return number, message

    def crash_text(self) -> str:
        """Return the traceback that an ended process left, or ""."""
        return self.crash or self._crash_log.read()

    def abort(self) -> str:
        """End the process; return the Python traceback of what it was doing, or ""."""
        pid = self.process.pid
        if pid is not None and self.alive():
            with contextlib.suppress(OSError):  # it has ended since
                os.kill(pid, signal.SIGABRT)  # which faulthandler handles
        self.join(_TERMINATE_SECONDS)
        text = self._crash_log.read().partition("\n\n")[2]  # without "Fatal Python error"
        return text.partition("\n\nExtension modules")[0]

    def terminate(self) -> None:
        """Ask the process to end, without waiting."""
        with contextlib.suppress(OSError, ValueError):
            self.process.terminate()

    def end(self) -> None:
        """End the process, even if it is busy, and free its resources in this process."""
        if self._ended:
            return
        if not self.join(0):
            self.terminate()
            if not self.join(_TERMINATE_SECONDS):
                with contextlib.suppress(OSError):
                    self.process.kill()
                self.join(_KILL_SECONDS)
        self._ended = True
        self._poll = None
        if self._pidfd is not None:
            os.close(self._pidfd)
        with contextlib.suppress(ValueError, OSError, AssertionError):
            self.process.join(1.0)
        with contextlib.suppress(ValueError):  # the process could not be killed: leave it running
            self.process.close()
        self.stream.close()
        self._crash_log.close()


@contextlib.contextmanager
def _paused_collection() -> Iterator[None]:
    """Pause the garbage collector, also in a child that is forked, which must enable it again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _check_descriptors() -> None:
    """Raise `OSError` if two pipes cannot be opened; `multiprocessing` would leak the first."""
    opened: list[int] = []
    try:
        for _ in range(2):
            opened += os.pipe()
    finally:
        for fd in opened:
            os.close(fd)


def workers_died_error(
    workers: Sequence[WorkerProcess], call: str, hint: str = ""
) -> error.WorkerDied:
    """Return the exception for workers that have ended."""
    texts = [text for text in (*(handle.crash_text() for handle in workers), hint) if text]
    first = workers[0]
    return worker_died_error(
        lanes_of(workers), call, first.exit_code(), first.index, "\n".join(texts)
    )


def mark_slow(
    workers: Sequence[WorkerProcess], call: str, seconds: float = 0.0
) -> error.WorkerTimeout:
    """Mark workers as slow, and return the exception for a missed deadline."""
    for handle in workers:
        handle.slow = True
    return worker_timeout_error(lanes_of(workers), call, seconds)


def not_started_error(workers: Sequence[WorkerProcess], seconds: float) -> error.WorkerTimeout:
    """Return the exception for workers that did not start in time; the first one is ended."""
    return start_timeout_error(lanes_of(workers), seconds, workers[0].abort())


def lanes_of(workers: Iterable[WorkerProcess]) -> list[int]:
    """Return the lanes of some workers."""
    return [lane for handle in workers for lane in handle.lanes]


def wait_for_end(
    workers: Sequence[WorkerProcess], timeout: float | None, hurried: bool = False
) -> None:
    """Wait until processes that were asked to close have ended; see `WorkerPool.close`."""
    started = time.monotonic()
    for handle in workers:
        grace = timeout
        if grace is None:
            grace = _HURRIED_CLOSE_SECONDS if hurried or handle.slow else _CLOSE_SECONDS
        while handle.alive() and (remaining := started + grace - time.monotonic()) > 0:
            for other in workers:
                other.stream.pump()
            handle.join(min(SLICE_SECONDS, remaining))


def end_all(workers: Sequence[WorkerProcess]) -> None:
    """End processes, even if they are busy."""
    for handle in workers:
        handle.terminate()
    for handle in workers:
        handle.end()


class WorkerPool:
    """Worker processes that each own a range of lanes.

    Every wait ends at its deadline, when a worker it waits for dies, or at a signal that Python
    handles; a worker cannot make it last longer.

    Attributes:
        bounds: Lanes `[lo, hi)` of each worker.
        specs: The `WorkerSpec` of each worker.
        memory: The shared memory, once `open` has been called.
        owner: Process id of the process that made the pool.
        dead: Workers that have died and were not restarted.
        spin: Number of polls before the parent or a worker sleeps.
    """

    def __init__(
        self,
        env_fns: Sequence[EnvFn],
        bounds: Bounds,
        context: BaseContext,
        daemon: bool,
        start_timeout: float | None,
        places: Sequence[Place],
    ) -> None:
        """Start the workers, and wait until each has made its environments.

        Raises:
            EnvironmentFailed: If a constructor raises.
            WorkerDied: If a worker ends before its environments are made.
            WorkerTimeout: If the environments are not made in time.
            ArgumentTypeError: If a function cannot be sent to a worker.
        """
        self.bounds = bounds
        self.owner = os.getpid()
        self.memory: Memory | None = None
        self.dead: list[int] = []
        self.spin = _SPIN_POLLS if len(bounds) + 1 <= usable_cpus() else 0
        self._env_fns = env_fns
        self._context = context
        self._daemon = daemon
        self._start_timeout = start_timeout
        self._places = places
        self._plan: Plan | None = None
        self._closing = False
        self._lane_messages: dict[int, worker.LaneMessage] = {}
        self._block = SharedBlock()
        self._workers: list[Any] = [None] * len(bounds)  # a `WorkerProcess` each
        try:
            for index in range(len(bounds)):
                self._start(index)
            self.specs = self._wait_for_specs(self._workers)
        except BaseException:
            self.close(0.0)
            raise

    @property
    def processes(self) -> list[BaseProcess]:
        """The `multiprocessing.Process` of each worker."""
        return [handle and handle.process for handle in self._workers]

    # --- starting ------------------------------------------------------------------------------

    def _start(self, index: int) -> WorkerProcess:
        lo, hi = self.bounds[index]
        env_fns = self._env_fns[lo:hi]
        forked = self._context.get_start_method() == "fork"
        process = self._workers[index] = WorkerProcess(
            self._context,
            index,
            range(lo, hi),
            f"gymcore-worker-{index}",
            self._daemon,
            self._workers,
            worker.run_worker,
            env_fns if forked else _pickled_functions(env_fns, lo),
            (index, lo, self._block, self._places[index], self.spin),
        )
        return process

    def _wait_for_specs(self, workers: list[WorkerProcess]) -> list[worker.WorkerSpec]:
        """Wait until workers have made their environments."""
        timeout = self._start_timeout
        deadline = _FOREVER if timeout is None else time.monotonic() + timeout
        specs: dict[int, worker.WorkerSpec] = {}
        waiting = list(workers)
        while waiting:
            for handle in list(waiting):
                was_alive = handle.alive()
                received = handle.next_message()
                if received is not None and "failures" in received[1]:
                    raise failures_error(received[1]["failures"])
                if received is not None and "spec" in received[1]:
                    specs[handle.index] = received[1]["spec"]
                    waiting.remove(handle)
                elif not was_alive:
                    forked = self._context.get_start_method() == "fork"
                    raise self.mark_dead([handle.index], "starting", "" if forked else _MAIN_GUARD)
            if waiting and time.monotonic() >= deadline:
                raise not_started_error(waiting, timeout or 0)
            if waiting:
                full = any(handle.stream.unsent for handle in waiting)
                pause = FULL_PIPE_SECONDS if full else SLICE_SECONDS
                wait([handle.stream.fileno() for handle in waiting], pause)
        return [specs[handle.index] for handle in workers]

    def open(self, plan: Plan) -> Memory:
        """Allocate the shared memory and send its layout to every worker."""
        self._plan = plan
        self._block.allocate(plan.nbytes)
        self.memory = Memory(plan, self._block.map(plan.nbytes))
        for handle in self._workers:
            handle.send(plan, _FOREVER, "starting")
        return self.memory

    def restart(self, index: int) -> None:
        """Replace the process of a worker that died; its environments need a reset."""
        assert self.memory is not None and self._plan is not None
        self._workers[index].end()
        handle = self._start(index)
        self._wait_for_specs([handle])
        channel = self.memory.channel
        # The new process must not get the requests of the old one.
        channel.withdraw(index)
        channel.forget(list(handle.lanes))
        for lane in handle.lanes:
            self._lane_messages.pop(lane, None)
        handle.send(self._plan, _FOREVER, "starting")
        if index in self.dead:
            self.dead.remove(index)

    # --- requests ------------------------------------------------------------------------------

    def post_messages(
        self,
        call: str,
        args: dict[int, tuple[object, ...]],
        timeout: float,
        allow_deaths: bool = False,
    ) -> int:
        """Send a request with separate arguments to each of some workers; return its number.

        With `allow_deaths`, a dead worker is left for `wait` to detect.
        """
        assert self.memory is not None
        deadline = time.monotonic() + timeout
        request = self.memory.channel.next_request_number
        # Pickle everything first, so that nothing is sent if one message cannot be pickled.
        messages = {
            index: Pickled.of((request, call, arguments)) for index, arguments in args.items()
        }
        # Post first: a worker reads messages only on request, and a pipe has a limited capacity.
        self.memory.channel.post(worker.MESSAGE_FOLLOWS, list(args))
        for index, message in messages.items():
            try:
                self._workers[index].send(message, deadline, call)
            except error.WorkerDied:
                if not allow_deaths:
                    raise
        return request

    def wait(
        self,
        request: int,
        workers: Iterable[int],
        call: str,
        timeout: float | None,
        *,
        allow_deaths: bool = False,
    ) -> tuple[Replies, list[int]]:
        """Wait for the replies to a request; `lane_message` returns overflows.

        Raises:
            WorkerDied: If a worker dies.
            WorkerTimeout: If the deadline passes; late replies will be discarded.
            EnvironmentFailed: If environments raise.
        """
        if self._closing:
            self._check_open()  # raises
        assert self.memory is not None
        channel = self.memory.channel
        deadline = _FOREVER if timeout is None else time.monotonic() + timeout
        lost: list[int] = []
        spin = self.spin
        while True:
            remaining = deadline - time.monotonic()
            try:
                if channel.wait(request, min(SLICE_SECONDS, remaining), spin):
                    break
            except ValueError:
                self._check_open()
                raise
            self._check_open()
            spin = 0
            # Find ended processes first, because a worker may answer and then end.
            ended = [k for k in channel.unanswered(request) if not self._workers[k].alive()]
            waiting = channel.unanswered(request)
            lost = [k for k in ended if k in waiting]
            if lost and not allow_deaths:
                raise self.mark_dead(lost, call)
            if len(lost) == len(waiting):
                break
            self.pump()
            if remaining <= 0:
                raise mark_slow([self._workers[k] for k in waiting], call, timeout or 0)

        replies: Replies = {}
        failures: list[Failure] = []
        for k in workers:
            self._workers[k].slow = False
            if k not in lost and channel.status(k) == worker.MESSAGE:
                message = self._reply(self._workers[k], request, call, deadline)
                if message is None:
                    lost.append(k)
                else:
                    replies[k] = message
                    failures += message.get("failures", ())
                    for lane, blob in message.get("overflow", {}).items():
                        self._lane_messages.setdefault(lane, {})["overflow"] = blob
        if lost:
            problem = self.mark_dead(lost, call)
            if not allow_deaths:
                raise problem
        if failures:
            raise failures_error(failures)
        return replies, lost

    def _reply(
        self, handle: WorkerProcess, request: int, call: str, deadline: float
    ) -> worker.WorkerMessage | None:
        """Return the message that belongs to a reply; None if the worker dies before it arrives."""
        while True:
            try:
                number, message = handle.stream.receive(deadline, handle.alive)
            except ConnectionError:
                return None
            except TimeoutError:
                raise mark_slow([handle], call) from None
            if number == request:
                reply: worker.WorkerMessage = message
                return reply
            self._store_lane_message(number, message)

    def _check_open(self) -> None:
        if self._closing:
            raise error.ClosedEnvironmentError("the environments were closed during this call")

    # --- lanes of send and recv -----------------------------------------------------------------

    def lane_message(self, lane: int, key: Literal["failure", "overflow"]) -> Any:
        """Return an entry of the message that a worker sends with one lane's result, for `recv`.

        Raises:
            WorkerDied: If the worker dies before it has sent the message.
        """
        handle = next(handle for handle in self._workers if lane in handle.lanes)
        while key not in self._lane_messages.get(lane, ()):
            try:
                number, message = handle.stream.receive(_FOREVER, handle.alive)
            except ConnectionError:
                raise self.mark_dead([handle.index], "recv") from None
            self._store_lane_message(number, message)
        return self._lane_messages[lane].pop(key)

    def drop_lane_messages(self) -> None:
        """Discard messages about single lanes; no other messages may be pending."""
        for handle in self._workers:
            while handle.next_message() is not None:
                pass
        self._lane_messages.clear()

    def _store_lane_message(self, number: int, message: worker.LaneMessage) -> None:
        """Store the message of a lane, and discard messages of abandoned requests."""
        if number == 0 and "lane" in message:
            self._lane_messages.setdefault(message["lane"], {}).update(message)

    # --- deaths --------------------------------------------------------------------------------

    def pump(self) -> None:
        """Receive and send what the pipes can transfer now, because a full pipe blocks its worker.

        The received messages stay queued in the streams.
        """
        for handle in self._workers:
            handle.stream.pump()

    def ended(self) -> list[int]:
        """Return the workers whose process has ended."""
        return [handle.index for handle in self._workers if not handle.alive()]

    def mark_dead(self, indices: Sequence[int], call: str, hint: str = "") -> error.WorkerDied:
        """Record that workers have died, and return the exception for it."""
        self.dead += [index for index in indices if index not in self.dead]
        workers = [self._workers[index] for index in indices]
        for handle in workers:
            while not handle.crash and handle.next_message() is not None:
                pass
        return workers_died_error(workers, call, hint)

    def close(self, timeout: float | None = None) -> list[Failure]:
        """Close the environments and end every process. Never raises, never hangs.

        Environments have `timeout` seconds to close. 0 ends the processes at once; None means 10 s,
        or half a second if a worker is slow or has died. Return the failures of `close`.
        """
        if os.getpid() != self.owner:  # a forked child does not own the workers
            return []
        self._closing = True
        failures: list[Failure] = []
        try:
            if self.memory is not None and timeout != 0.0:
                with contextlib.suppress(Exception):
                    failures = self._close_envs(timeout)
        finally:  # also if a KeyboardInterrupt ends the waiting
            end_all([handle for handle in self._workers if handle is not None])
            self._block.close()
            self.memory = None
        return failures

    def _close_envs(self, timeout: float | None) -> list[Failure]:
        """Ask the workers to close; return the failures."""
        workers = [handle for handle in self._workers if handle is not None and handle.alive()]
        if not workers:
            return []
        assert self.memory is not None
        request = self.memory.channel.post(worker.CLOSE, [handle.index for handle in workers])
        wait_for_end(workers, timeout, hurried=bool(self.dead))
        failures: list[Failure] = []
        for handle in workers:
            while (received := handle.next_message()) is not None:
                if received[0] == request:
                    failures += received[1].get("failures", [])
        return failures


def _pickled_functions(functions: Sequence[EnvFn], first: int) -> bytes:
    """Return functions, even lambdas and closures, as one pickle without duplicates."""
    import cloudpickle

    try:
        return bytes(cloudpickle.dumps(tuple(functions)))
    except Exception:
        for index, function in enumerate(functions, first):
            try:
                cloudpickle.dumps(function)
            except Exception as problem:
                raise error.ArgumentTypeError(
                    f"env_fns[{index}]: cannot be sent to a worker process: "
                    f"{type(problem).__name__}: {problem}. Create the objects it needs "
                    'inside the function, or use context="fork".'
                ) from problem
        raise
