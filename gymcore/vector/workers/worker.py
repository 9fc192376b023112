"""The code of a worker process, which makes environments and answers requests until it is closed.

A worker owns the lanes `[lo, hi)` of the batch. A step is requested with a number in shared memory,
everything else with a pickled message. Results are written to shared memory; only results that do
not fit there (failures, large or unusual infos, results of calls) are sent as a message.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import os
import pickle
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

import numpy as np

import gymcore.error
from gymcore.base.nested import map_leaves
from gymcore.core import Env, Metadata, Options, leave_open
from gymcore.foreign import make_adopted
from gymcore.spaces.layouts import split_batch
from gymcore.specs import EnvSpec, registry
from gymcore.vector.lane_states import LaneState, check_state, load_env, save_env
from gymcore.vector.workers.failures import Failure, describe_failure
from gymcore.vector.workers.messages import MessageStream
from gymcore.vector.workers.placement import Place
from gymcore.vector.workers.shared_memory import CrashLog, Memory, Plan, SharedBlock
from gymcore_ext.python_envs.env_loop import EnvLoop
from gymcore_ext.workers.channel import watch_parent

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from gymcore.spaces import Space
    from gymcore.vector.protocols import EnvFn

# Requests.
STEP, MESSAGE_FOLLOWS, CLOSE = 1, 2, 3

# Replies: the result is in shared memory, or a message follows.
DONE, MESSAGE = 1, 2

# A worker ends with its parent (`watch_parent`), so its waits need no limit. This
# interval is a second safeguard.
_WAKE_SECONDS = 5.0
_FOREVER = float("inf")

# How often a worker that waits for a message checks for a newer request, in seconds: the parent may
# have been interrupted before it sent the message.
_MESSAGE_SECONDS = 0.05

# --- starting ----------------------------------------------------------------------------------


@dataclass
class ProcessSetup:
    """The data that every process is started with.

    Attributes:
        connection: The process's end of the pipe.
        parent: Process id of the parent.
        crash_log: File for the traceback of a fatal signal.
        close_fds: Inherited ends of pipes that a forked child does not need.
    """

    connection: Connection
    parent: int
    crash_log: CrashLog
    close_fds: tuple[int, ...]


def run_process(
    setup: ProcessSetup, main: Callable[..., None], functions: object, *args: object
) -> None:
    """Run `main(setup, functions, *args)` in a process that does not outlive its parent.

    A process that was not forked receives its first message, the ids that the program has
    registered and the functions.
    """
    # What a forked child inherits may wait, when it is collected, for threads that the child lacks.
    gc.freeze()
    gc.enable()  # `WorkerProcess` has paused it
    _set_signals()
    for fd in setup.close_fds:
        with contextlib.suppress(OSError):
            os.close(fd)
    pidfd = open_pidfd(setup.parent)
    watch_parent(setup.parent, -1 if pidfd is None else pidfd)
    if setup.crash_log.fd >= 0:
        faulthandler.enable(setup.crash_log.fd)
    if functions is None:
        try:
            registered, functions = setup.connection.recv()
        except EOFError:  # the parent has closed the pipe
            return
        install_registered(registered)
    main(setup, functions, *args)


def _set_signals() -> None:
    """Remove the signal handlers of the program that this process was forked from."""
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        handler = signal.getsignal(number)
        # SDL, behind pygame, handles SIGTERM without Python's knowledge.
        if callable(handler) or (number == signal.SIGTERM and handler == signal.SIG_DFL):
            signal.signal(number, signal.SIG_DFL)
    # Ctrl+C in a terminal interrupts every process of the group; only the parent handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def open_pidfd(pid: int) -> int | None:
    """Return a file descriptor for waiting for a process; None if the system has none."""
    if not hasattr(os, "pidfd_open"):
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:  # an old kernel, or the process has ended and its status was collected
        return None


@dataclass
class WorkerSpec:
    """Properties of a worker's environments, which it reports to the parent.

    Attributes:
        metadata: Metadata of the first environment.
        render_mode: Render mode of the first environment.
        observation_spaces: Observation space of each lane; equal spaces are one object.
        action_spaces: Action space of each lane; equal spaces are one object.
    """

    metadata: Metadata
    render_mode: str | None
    observation_spaces: list[Space]
    action_spaces: list[Space]


class WorkerMessage(TypedDict, total=False):
    """Message of a worker through its pipe: a reply, or a report when it starts or crashes.

    Attributes:
        spec: Description of its environments, sent once they are made.
        crash: The traceback of an exception that ends the worker.
        failures: Exceptions of environments.
        result: One result for each lane, of a call or of saving states.
        overflow: Pickled infos, by lane, that did not fit into the shared memory.
    """

    spec: WorkerSpec
    crash: str
    failures: list[Failure]
    result: Sequence[object]
    overflow: dict[int, bytes]


class LaneMessage(TypedDict, total=False):
    """Message of a worker with the result of one lane, for `recv`.

    Attributes:
        lane: Index of the lane in the batch.
        failure: The exception of its environment; None if an earlier lane failed.
        overflow: Its pickled infos, if they did not fit into the shared memory.
    """

    lane: int
    failure: Failure | None
    overflow: bytes


def pickled_registered() -> list[bytes]:
    """Return the pickled specs of all registered ids except the library's own.

    A spec that cannot be pickled (for example, if its entry point holds an open file) is left out.
    A program that makes such an id in a worker gets the error for an unknown id.
    """
    import cloudpickle

    pickled = []
    for spec in [*registry.values()]:
        if not _is_builtin(spec):
            with contextlib.suppress(Exception):
                pickled.append(cloudpickle.dumps(spec))
    return pickled


def install_registered(pickled: list[bytes]) -> None:
    """Register the ids in this process, except ids that it already has."""
    for data in pickled:
        try:
            spec = pickle.loads(data)
        except Exception:  # the environment's module cannot be imported here
            continue
        registry.setdefault(spec.id, spec)


def _is_builtin(spec: EnvSpec) -> bool:
    entry_points = [point for point in (spec.entry_point, spec.vector_entry_point) if point]
    return all(isinstance(point, str) and point.startswith("gymcore.") for point in entry_points)


# --- the loop ----------------------------------------------------------------------------------


def run_worker(
    setup: ProcessSetup,
    functions: Sequence[EnvFn] | bytes,
    index: int,
    first: int,
    block: SharedBlock,
    place: Place,
    spin: int,
) -> None:
    """Run a worker from its start to its end; `spin` is the number of polls before it sleeps."""
    stream = MessageStream(setup.connection)
    envs: list[Env] = []
    try:
        failure = _make_envs(first, functions, envs)
        if failure is not None:
            _send(stream, (0, {"failures": [failure]}))
            return
        _send(stream, (0, {"spec": _worker_spec(envs)}))
        plan: Plan = stream.receive(_FOREVER, _parent_is_alive)
        memory = Memory(plan, block.map(plan.nbytes))
        block.close()
        Worker(index, plan, memory, stream, envs).run(place, spin)
        envs = []
    except ConnectionError:
        return  # the parent has ended or closed the pipe
    except BaseException:
        text = traceback.format_exc()
        with contextlib.suppress(Exception):
            _send(stream, (0, {"crash": text}))
        raise SystemExit(1) from None
    finally:
        _close_all(envs, first)


class Worker:
    """Answers requests with the environments of its lanes."""

    def __init__(
        self,
        index: int,
        plan: Plan,
        memory: Memory,
        stream: MessageStream,
        envs: list[Env],
    ) -> None:
        self._index = index
        self._lo, self._hi = plan.bounds[index]
        self._plan = plan
        self._memory = memory
        self._channel = memory.channel
        self._stream = stream
        self._envs = envs
        self._pending_message: tuple[int, str, tuple[object, ...]] | None = None
        self._action_rows = None if memory.actions is None else memory.actions.batch()
        self._loop = EnvLoop(
            envs,
            memory.observations,
            memory.rewards_and_ends,
            memory.episodes,
            mode=plan.mode,
            errors=gymcore.error,
            slots=memory.slots,
            first=self._lo,
            final_observations=memory.final_observations,
        )
        self._calls: dict[str, Callable[..., Sequence[object] | None]] = {
            "reset": self._reset,
            "step_lanes": self._step_lanes,
            "call": self._call,
            "set_attr": self._set_attr,
            "get_state": self._get_state,
            "check_state": self._check_state,
            "set_state": self._set_state,
            "restart": self._restart,
            "end_episode": self._end_episode,
            "keep_final_frames": self._keep_final_frames,
        }

    def run(self, place: Place, spin: int) -> None:
        """Answer requests until one asks to close."""
        channel, index = self._channel, self._index
        last_request = 0
        while True:
            lane = channel.take(index)
            if lane >= 0:
                self._step_one(lane)
                continue
            with place:
                task = channel.next(index, last_request, _WAKE_SECONDS, spin)
            if task is None:
                continue
            request, opcode = task
            last_request = request
            if opcode == STEP:
                self._answer(request, "step", self._step, ())
            elif opcode == MESSAGE_FOLLOWS:
                message = self._message(request)
                if message is not None:
                    call, args = message
                    self._answer(request, call, self._calls[call], args)
            elif opcode == CLOSE:
                failures = _close_all(self._envs, self._lo)
                self._reply(request, {"failures": failures} if failures else {})
                return

    def _message(self, request: int) -> tuple[str, tuple[object, ...]] | None:
        """Return the message of this request, and skip messages of abandoned requests.

        Return None if this request was abandoned before its message was sent.
        """
        while True:
            if self._pending_message is None:
                try:
                    deadline = time.monotonic() + _MESSAGE_SECONDS
                    self._pending_message = self._stream.receive(deadline, _parent_is_alive)
                except TimeoutError:
                    if self._channel.next(self._index, request, 0.0) is not None:
                        return None
                    continue
            number, call, args = self._pending_message
            if _is_later(number, request):  # keep it for the request that it belongs to
                return None
            self._pending_message = None
            if number == request:
                return call, args

    def _answer(
        self,
        request: int,
        call: str,
        method: Callable[..., Sequence[object] | None],
        args: tuple[object, ...],
    ) -> None:
        """Run a method, and reply with its result or exception."""
        message: WorkerMessage = {}
        try:
            result = method(*args)
            if result is not None and call in ("call", "get_state"):
                message["result"] = result
        except _LaneError as error:
            message["failures"] = [error.failure]
        except (Exception, SystemExit) as error:
            message["failures"] = [self._failure(call, error)]
        overflow = self._memory.slots.take_overflow()
        if overflow:
            message["overflow"] = overflow
        self._reply(request, message)

    def _failure(self, call: str, error: BaseException) -> Failure:
        loop = self._loop
        lane = loop.failed_lane if loop.failed_lane >= 0 else self._lo
        return describe_failure(lane, loop.failed_call or call, error)

    def _reply(self, request: int, message: WorkerMessage) -> None:
        self._channel.reply(self._index, request, MESSAGE if message else DONE)
        if message:
            self._send(request, message)

    def _send(self, request: int, message: WorkerMessage | LaneMessage) -> None:
        try:
            _send(self._stream, (request, message))
        except ConnectionError:
            raise
        except Exception as error:  # the result cannot be pickled; nothing has been sent
            failure = describe_failure(self._lo, "call", error)
            _send(self._stream, (request, {"failures": [failure]}))

    # --- requests ------------------------------------------------------------------------------

    def _actions(self, first: int, count: int) -> list[object]:
        """Return copies of single actions, because the parent may overwrite the shared memory."""
        assert self._plan.actions is not None
        rows, single_precision = self._action_rows, self._memory.single_precision
        if single_precision is not None and single_precision[first]:
            assert isinstance(rows, np.ndarray)
            return list(rows[first : first + count].astype(np.float32))
        lane_rows = map_leaves(lambda batch: batch[first : first + count], rows)
        return split_batch(self._plan.actions, lane_rows, count)

    def _step(self) -> None:
        self._loop.step(self._actions(self._lo, self._hi - self._lo))

    def _reset(self, calls: list[tuple[int, int | None, Options]]) -> None:
        lanes, seeds, options = zip(*calls, strict=True)
        self._loop.reset(list(lanes), list(seeds), options[0])

    def _step_lanes(self, calls: list[tuple[int, object]] | list[tuple[int]]) -> None:
        """Step lanes with actions from the calls or, if there are none, from shared memory."""
        actions = [
            action for lane, *sent in calls for action in sent or self._actions(self._lo + lane, 1)
        ]
        self._loop.step(actions, [call[0] for call in calls])

    def _step_one(self, lane: int) -> None:
        """Step one lane, for `send`."""
        memory, slots = self._memory, self._memory.slots
        started = time.perf_counter()
        message: LaneMessage = {}
        memory.failed[lane] = False
        try:
            if self._loop.needs_reset():  # an earlier lane failed, which was reported
                raise _Skipped
            self._loop.step(self._actions(lane, 1), [lane - self._lo])
        except _Skipped:
            message["failure"] = None
            memory.failed[lane] = True
        except (Exception, SystemExit) as error:
            message["failure"] = describe_failure(lane, "step", error)
            memory.failed[lane] = True
        overflow = slots.take_overflow()
        if overflow:
            message["overflow"] = overflow[lane]
        if message:
            self._send(0, {"lane": lane, **message})
        self._channel.complete(self._index, lane, time.perf_counter() - started)

    def _restart(self, final_frames: bool) -> None:
        """Replace a worker that died: reset the environments and mark their episodes as ended."""
        self._loop.final_frames = final_frames
        self._loop.reset(None, None, None)
        self._loop.mark_ended()

    def _end_episode(self, calls: list[tuple[int]]) -> None:
        self._loop.mark_ended([lane for (lane,) in calls])

    def _keep_final_frames(self, calls: list[tuple[int, bool]]) -> None:
        self._loop.final_frames = calls[0][1]

    def _call(
        self, calls: list[tuple[int, str, tuple[object, ...], dict[str, object]]]
    ) -> list[object]:
        attributes = []
        for lane, name, _, _ in calls:
            with self._naming_lane(lane, name):
                attributes.append(self._envs[lane].get_wrapper_attr(name))
        results = []
        for attribute, (lane, name, args, kwargs) in zip(attributes, calls, strict=True):
            with self._naming_lane(lane, name):
                results.append(attribute(*args, **kwargs) if callable(attribute) else attribute)
        return results

    def _set_attr(self, values: list[tuple[int, str, object]]) -> None:
        for lane, name, value in values:
            with self._naming_lane(lane, "set_attr"):
                self._envs[lane].set_wrapper_attr(name, value)

    def _get_state(self, calls: list[tuple[int]]) -> list[LaneState]:
        states = []
        for (lane,) in calls:
            with self._naming_lane(lane, "get_state"):
                env, wrappers = save_env(self._envs[lane], self._lo + lane)
            states.append(LaneState(env, wrappers, *self._loop.save_lane(lane)))
        return states

    def _check_state(self, calls: list[tuple[int, LaneState]]) -> None:
        for lane, state in calls:
            with self._naming_lane(lane, "set_state"):
                check_state(self._envs[lane], state, self._lo + lane)

    def _set_state(self, calls: list[tuple[int, LaneState]]) -> None:
        for lane, state in calls:
            with self._naming_lane(lane, "set_state"):
                load_env(self._envs[lane], state)
            self._loop.load_lane(lane, state[2:])
        self._loop.mark_ready()

    @contextlib.contextmanager
    def _naming_lane(self, lane: int, call: str) -> Iterator[None]:
        """Raise an exception of a lane as a `_LaneError` that names the lane."""
        try:
            yield
        except (Exception, SystemExit) as error:
            raise _LaneError(describe_failure(self._lo + lane, call, error)) from error


class _Skipped(Exception):
    """Raised for a lane that is not stepped because the environments must be reset first."""


class _LaneError(Exception):
    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def _make_envs(first: int, functions: Sequence[EnvFn] | bytes, envs: list[Env]) -> Failure | None:
    """Make the environments one by one and append them to `envs`, also if a later one fails."""
    try:
        # Unless the process is a fork, functions are pickled; failures to load them are reported.
        for function in pickle.loads(functions) if isinstance(functions, bytes) else functions:
            envs.append(make_adopted(function))
    except (Exception, SystemExit) as error:
        return describe_failure(first + len(envs), "its constructor", error)
    return None


def _worker_spec(envs: list[Env]) -> WorkerSpec:
    return WorkerSpec(
        dict(envs[0].metadata),
        envs[0].render_mode,
        _deduplicated([env.observation_space for env in envs]),
        _deduplicated([env.action_space for env in envs]),
    )


def _deduplicated(spaces: list[Space]) -> list[Space]:
    """Return the spaces with one object for equal spaces, which a pickle then holds once."""
    first = spaces[0]
    return [first if space is first or space == first else space for space in spaces]


def _close_all(envs: list[Env], first: int) -> list[Failure]:
    """Close every environment, even if `close` of another one fails."""
    failures = []
    for lane, env in enumerate(envs, first):
        try:
            env.close()
        except (Exception, SystemExit) as error:
            failures.append(describe_failure(lane, "close", error))
    leave_open()  # so that no environment is closed twice
    return failures


def _is_later(number: int, request: int) -> bool:
    """Return whether `number` is later than `request`; numbers wrap around at 2^32."""
    return 0 < (number - request) % 2**32 < 2**31


def _send(stream: MessageStream, message: tuple[int, WorkerMessage | LaneMessage]) -> None:
    stream.send(message, _FOREVER, _parent_is_alive)


def _parent_is_alive() -> bool:
    """Return whether the parent is alive, which is always true while this process runs."""
    return True
