"""The parent's side of the worker processes: starting, asking, noticing deaths, ending."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from gymcore import error
from gymcore.utils.cpus import usable_cpus
from gymcore.vector.workers import loop
from gymcore.vector.workers.failures import failures_raised, worker_timeout
from gymcore.vector.workers.handle import WorkerHandle, deaths, lanes_of
from gymcore.vector.workers.messages import Pickled
from gymcore.vector.workers.plan import Bounds, Memory, Plan
from gymcore.vector.workers.registry import pickled_registered
from gymcore.vector.workers.setup import Introduction
from gymcore.vector.workers.shared_block import SharedBlock

if TYPE_CHECKING:
    from multiprocessing.context import BaseContext

    from gymcore.core import Env

__all__ = ["Replies", "WorkerPool", "overflow_of"]

# How often a waiting parent looks whether its workers live, in seconds.
_SLICE_SECONDS = 0.05

# Looks at the reply before the first sleep, about 20 us of them: half of what waking a sleeping
# process costs. Only while every process has a CPU of its own, for a parent that spins would take
# one from a worker.
_SPIN = 2000

# How long environments have to close before their worker is ended, in seconds: in general, and in a
# worker that has already kept the parent waiting, or beside one that has died.
_CLOSE_SECONDS = 10.0
_HURRIED_CLOSE_SECONDS = 0.5

_FOREVER = float("inf")

Replies = dict[int, dict[str, Any]]
"""What workers sent back as a message, by worker."""


class WorkerPool:
    """Worker processes that each own a range of lanes.

    Every wait ends at its deadline, at the death of a worker it waits for, or at a signal that
    Python handles; nothing that a worker does can make it last longer.

    Attributes:
        bounds: Lanes `[lo, hi)` of each worker.
        introductions: What each worker told of its environments.
        memory: The shared memory, once `open` has been called.
        owner: Process id of the process that made the pool.
        dead: Workers that have died and were not started again.
        spin: How often to look for a reply before sleeping.
    """

    def __init__(
        self,
        env_fns: Sequence[Callable[[], Env[Any, Any]]],
        bounds: Bounds,
        context: BaseContext,
        daemon: bool,
        start_timeout: float | None,
    ) -> None:
        """Start the workers, and wait until each has made its environments.

        Args:
            env_fns: One function for each lane.
            bounds: Lanes `[lo, hi)` of each worker.
            context: A `multiprocessing` context.
            daemon: Whether the processes are daemons.
            start_timeout: How long the environments may take, in seconds; None for ever.

        Raises:
            EnvironmentFailed: A constructor raised.
            WorkerDied: A worker ended before its environments were made.
            WorkerTimeout: They were not made in time.
            ArgumentTypeError: A function that cannot be sent to a worker.
        """
        self.bounds = bounds
        self.owner = os.getpid()
        self.memory: Memory | None = None
        self.introductions: list[Introduction] = []
        self.dead: list[int] = []
        self.spin = _SPIN if len(bounds) + 1 <= usable_cpus() else 0
        self._env_fns = env_fns
        self._context = context
        self._daemon = daemon
        self._start_timeout = start_timeout
        self._plan: Plan | None = None
        self._closing = False
        self._lane_messages: dict[int, dict[str, Any]] = {}
        self._block = SharedBlock()
        self._handles = [WorkerHandle(i, range(lo, hi)) for i, (lo, hi) in enumerate(bounds)]
        try:
            self._start(self._handles)
            self.introductions = self._introduced(self._handles)
        except BaseException:
            self.close(0.0)
            raise

    @property
    def processes(self) -> list[Any]:
        """The `multiprocessing.Process` of each worker."""
        return [handle.process for handle in self._handles]

    # --- starting ------------------------------------------------------------------------------

    def _start(self, handles: Iterable[WorkerHandle]) -> None:
        forked = self._context.get_start_method() == "fork"
        registered = [] if forked else pickled_registered()
        for handle in handles:
            handle.start(
                loop.run_worker,
                self._context,
                self._daemon,
                self._env_fns[handle.lanes.start : handle.lanes.stop],
                registered,
                self._block,
                self.owner,
                self._handles,
            )

    def _introduced(self, handles: list[WorkerHandle]) -> list[Introduction]:
        """Wait until the workers have made their environments."""
        timeout = self._start_timeout
        deadline = _FOREVER if timeout is None else time.monotonic() + timeout
        found: dict[int, Introduction] = {}
        waiting = list(handles)
        while waiting:
            for handle in list(waiting):
                lived = handle.alive()
                arrived = handle.arrived()
                if arrived is not None and "failures" in arrived[1]:
                    raise failures_raised(arrived[1]["failures"])
                if arrived is not None and "introduction" in arrived[1]:
                    found[handle.index] = arrived[1]["introduction"]
                    waiting.remove(handle)
                elif not lived:
                    raise self._died([handle], "starting")
            if waiting and time.monotonic() >= deadline:
                raise worker_timeout(lanes_of(waiting), "__init__", timeout or 0)
            if waiting:
                from multiprocessing.connection import wait

                wait([handle.stream.fileno() for handle in waiting], _SLICE_SECONDS)
        return [found[handle.index] for handle in handles]

    def open(self, plan: Plan) -> Memory:
        """Allocate the shared memory and tell every worker what lies where.

        Args:
            plan: Where everything lies.

        Returns:
            The memory.
        """
        self._plan = plan
        self._block.allocate(plan.nbytes)
        self.memory = Memory(plan, self._block.map())
        for handle in self._handles:
            handle.send(plan, _FOREVER, "starting")
        return self.memory

    def restart(self, worker: int) -> Introduction:
        """Start a new process in the place of one that died.

        Args:
            worker: Its index.

        Returns:
            What it told of its environments, which have not been reset.
        """
        assert self.memory is not None and self._plan is not None
        handle = self._handles[worker]
        handle.end()
        self._start([handle])
        [introduction] = self._introduced([handle])
        channel = self.memory.channel
        # What the process before was asked is not for this one.
        channel.withdraw(worker)
        channel.forget(list(handle.lanes))
        for lane in handle.lanes:
            self._lane_messages.pop(lane, None)
        handle.send(self._plan, _FOREVER, "starting")
        if worker in self.dead:
            self.dead.remove(worker)
        return introduction

    # --- requests ------------------------------------------------------------------------------

    def post(self, opcode: int, workers: Sequence[int] | None = None) -> int:
        """Send a request that needs no message.

        Args:
            opcode: What to do.
            workers: Whom to ask; None for all.

        Returns:
            The number of the request, for `wait`.
        """
        assert self.memory is not None
        return self.memory.channel.post(opcode, workers)

    def post_messages(
        self,
        call: str,
        args: dict[int, tuple[Any, ...]],
        timeout: float,
        survive: bool = False,
    ) -> int:
        """Send a request with a message to some workers.

        Args:
            call: What to do.
            args: Arguments for each worker that shall do it.
            timeout: How long a worker may take to accept a message, in seconds.
            survive: Leave it to `wait` to find that a worker has died.

        Returns:
            The number of the request.
        """
        assert self.memory is not None
        deadline = time.monotonic() + timeout
        request = self.memory.channel.next_request
        # All is pickled before a worker waits for it: what does not pickle is asked of nobody.
        messages = {
            worker: Pickled.of((request, call, arguments)) for worker, arguments in args.items()
        }
        # First: a worker reads a message only when it was asked to, and a pipe holds only so much.
        self.post(loop.MESSAGE_FOLLOWS, list(args))
        for worker, message in messages.items():
            try:
                self._handles[worker].send(message, deadline, call)
            except error.WorkerDied:
                if not survive:
                    raise
        return request

    def wait(
        self,
        request: int,
        workers: Iterable[int],
        call: str,
        timeout: float | None,
        *,
        survive: bool = False,
    ) -> tuple[Replies, list[int]]:
        """Wait for the replies to a request.

        Args:
            request: Its number.
            workers: Whom it was sent to.
            call: What it was, for errors.
            timeout: For how long, in seconds; None for ever.
            survive: Wait for the others when a worker dies, instead of raising.

        Returns:
            The messages that came with replies, and the workers that died.

        Raises:
            WorkerDied: A worker died.
            WorkerTimeout: Time is over; late replies will be dropped.
            EnvironmentFailed: Environments raised.
        """
        assert self.memory is not None
        channel = self.memory.channel
        deadline = _FOREVER if timeout is None else time.monotonic() + timeout
        died: list[int] = []
        spin = self.spin
        while True:
            left = deadline - time.monotonic()
            try:
                if channel.wait(request, max(0.0, min(_SLICE_SECONDS, left)), spin):
                    break
            except ValueError:
                self._check_open()
                raise
            self._check_open()
            spin = 0
            # In this order: a worker may answer and end between the two.
            ended = [w for w in channel.unanswered(request) if not self._handles[w].alive()]
            waiting = channel.unanswered(request)
            died = [w for w in ended if w in waiting]
            if died and not survive:
                raise self.death(died, call)
            if len(died) == len(waiting):
                break
            self.pump()
            if left <= 0:
                late = [self._handles[w] for w in waiting]
                for handle in late:
                    handle.late = True
                raise worker_timeout(lanes_of(late), call, timeout or 0)

        replies: Replies = {}
        for worker in workers:
            handle = self._handles[worker]
            handle.late = False
            if worker not in died and channel.status(worker) == loop.MESSAGE:
                message = self._reply(handle, request, call, deadline)
                if message is None:
                    died.append(worker)
                else:
                    replies[worker] = message
        if died:
            problem = self.death(died, call)
            if not survive:
                raise problem
        failures = [f for message in replies.values() for f in message.get("failures", ())]
        if failures:
            raise failures_raised(failures)
        return replies, died

    def _reply(
        self, handle: WorkerHandle, request: int, call: str, deadline: float
    ) -> dict[str, Any] | None:
        """Return the message of a reply that has been given; None if the worker died meanwhile."""
        while True:
            try:
                number, message = handle.stream.receive(deadline, handle.alive)
            except ConnectionError:
                return None
            except TimeoutError:
                handle.late = True
                raise worker_timeout(list(handle.lanes), call, 0.0) from None
            if number == request:
                return message
            self._keep(number, message)

    def _check_open(self) -> None:
        if self._closing:
            raise error.ClosedEnvironmentError(
                "another thread closed the environments while this one waited for them"
            )

    # --- lanes of partial batches --------------------------------------------------------------

    def lane_message(self, lane: int, key: str) -> Any:
        """Return what a worker sent with the result of one lane of a partial batch.

        Args:
            lane: Its index.
            key: "failure" or "overflow".

        Raises:
            WorkerDied: It died before it had sent it.
        """
        handle = next(h for h in self._handles if lane in h.lanes)
        while key not in self._lane_messages.get(lane, ()):
            try:
                number, message = handle.stream.receive(_FOREVER, handle.alive)
            except ConnectionError:
                raise self._died([handle], "recv") from None
            self._keep(number, message)
        return self._lane_messages[lane].pop(key)

    def keep_overflow(self, replies: Replies) -> None:
        """Let `lane_message` return what came with the replies to a request."""
        for message in replies.values():
            for lane, blob in message.get("overflow", {}).items():
                self._lane_messages.setdefault(lane, {})["overflow"] = blob

    def drop_lane_messages(self) -> None:
        """Drop what came with results of single lanes; nothing else may be under way."""
        for handle in self._handles:
            while handle.arrived() is not None:
                pass
        self._lane_messages.clear()

    def _keep(self, number: int, message: dict[str, Any]) -> None:
        """Keep the message of a lane; those of abandoned requests are dropped."""
        if number == 0 and "lane" in message:
            self._lane_messages.setdefault(message["lane"], {}).update(message)

    # --- lives ---------------------------------------------------------------------------------

    def pump(self) -> None:
        """Take in what workers send, so that none of them waits for room."""
        for handle in self._handles:
            handle.pump()

    def ended(self) -> list[int]:
        """Return the workers whose process has ended."""
        return [handle.index for handle in self._handles if not handle.alive()]

    def death(self, workers: Sequence[int], call: str) -> error.WorkerDied:
        """Note that workers have died, and return the exception that says so."""
        return self._died([self._handles[worker] for worker in workers], call)

    def _died(self, handles: list[WorkerHandle], call: str) -> error.WorkerDied:
        self.dead += [handle.index for handle in handles if handle.index not in self.dead]
        return deaths(handles, call)

    def close(self, timeout: float | None = None) -> list[Any]:
        """Close the environments and end every process. Never raises, never hangs.

        Args:
            timeout: How long the environments may take, in seconds; 0 ends the processes at once.
                None is 10 s, half a second where a worker is late already or another one has died.

        Returns:
            Failures of environments in their `close`.
        """
        if os.getpid() != self.owner:  # a forked child: the workers are not its own
            return []
        self._closing = True
        failures: list[Any] = []
        try:
            if self.memory is not None and timeout != 0.0:
                with contextlib.suppress(Exception):
                    failures = self._close_envs(timeout)
        finally:  # also when a key press ends the waiting
            for handle in self._handles:
                handle.terminate()
            for handle in self._handles:
                handle.end()
            self._block.close_fd()
            self.memory = None
        return failures

    def _close_envs(self, timeout: float | None) -> list[Any]:
        """Ask the workers to close; return what failed."""
        handles = [handle for handle in self._handles if handle.alive()]
        if not handles:
            return []
        started = time.monotonic()
        request = self.post(loop.CLOSE, [handle.index for handle in handles])
        failures: list[Any] = []
        for handle in handles:
            grace = timeout
            if grace is None:
                hurried = handle.late or bool(self.dead)
                grace = _HURRIED_CLOSE_SECONDS if hurried else _CLOSE_SECONDS
            handle.wait_closed(started + grace, _SLICE_SECONDS)
            while (arrived := handle.arrived()) is not None:
                if arrived[0] == request:
                    failures += arrived[1].get("failures", [])
        return failures


def overflow_of(replies: Replies) -> dict[int, bytes]:
    """Return what did not fit into shared memory, by lane."""
    return {
        lane: blob
        for message in replies.values()
        for lane, blob in message.get("overflow", {}).items()
    }
