"""Environments in processes that run a loop of the user's own (`AsyncVectorEnv(worker=...)`).

Each environment has a process, which calls

    worker(index, env_fn, pipe, parent_pipe, shared_memory, error_queue, autoreset_mode, semaphore)

`pipe` is the worker's end; `parent_pipe` it should close. `shared_memory` is what
`gymcore.vector.utils.create_shared_memory` returned for the whole batch, or None; `semaphore` is
None unless `max_concurrency` is given, and is to be held while the environment runs. The loop reads
requests `(command, data)` and answers each of them, in order, with `(result, True)`:

| command         | data                                          | result                               |
|-----------------|-----------------------------------------------|--------------------------------------|
| `_check_spaces` | `(observation_mode, single observation space, single action space)`, the first request | `(observation space fits, action space fits)` |
| `reset`         | `{"seed": seed, "options": options}`          | `(observation, info)`                |
| `reset-noop`    | None, where a mask leaves out the environment | `(last observation, {})`             |
| `step`          | one action                                    | `(observation, reward, terminated, truncated, info)` |
| `_call`         | `(name, args, kwargs)`                        | what the method returns              |
| `_setattr`      | `(name, value)`                               | None                                 |
| `close`         | None                                          | None; then the loop returns          |

With shared memory the worker writes observations with `write_to_shared_memory(space, index,
observation, shared_memory)`, and those in its answers are ignored. Autoreset is the worker's duty:
in same-step mode its info is `{"final_info": ..., "final_obs": ..., **reset_info}`. An exception is
reported by `error_queue.put((index, type, exception, traceback_text))` and the answer
`(None, False)`, after which the loop may return.
"""  # noqa: E501

from __future__ import annotations

import contextlib
import inspect
import os
import pickle
import time
import traceback
from collections.abc import Callable, Sequence
from copy import deepcopy
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gymcore.error import (
    CustomSpaceError,
    EnvironmentFailed,
    InvalidArgument,
    NoAsyncCallError,
    SpaceMismatch,
)
from gymcore.vector.utils.misc import CloudpickleWrapper
from gymcore.vector.utils.shared_memory import create_shared_memory, read_from_shared_memory
from gymcore.vector.utils.space_utils import concatenate, create_empty_array
from gymcore.vector.workers.failures import (
    Failure,
    describe_failure,
    environment_failed,
    failures_raised,
    shown_lanes,
    worker_died,
    worker_timeout,
)
from gymcore.vector.workers.messages import Pickled
from gymcore.vector.workers.pool import CLOSE_SECONDS, HURRIED_CLOSE_SECONDS, WorkerProcess
from gymcore.vector.workers.worker import ProcessSetup, install_registered

if TYPE_CHECKING:
    from multiprocessing.context import BaseContext

    from gymcore.core import Env
    from gymcore.spaces import Space
    from gymcore.vector.vector_env import AutoresetMode

__all__ = ["CustomWorkers"]

_ARGUMENTS = (
    "(index, env_fn, pipe, parent_pipe, shared_memory, error_queue, autoreset_mode, semaphore)"
)

# How often a waiting parent looks whether all workers live, and, where a pipe was full, whether it
# takes more; in seconds.
_SLICE_SECONDS = 0.05
_FULL_PIPE_SECONDS = 0.001

# How long a worker whose pipe has ended may take to end too, and how long a report of an exception
# may come after the answer that announces it; in seconds.
_END_SECONDS = 1.0

_NOTHING: Any = object()


# --- in the process ----------------------------------------------------------------------------


class ErrorQueue:
    """What a loop reports its exceptions to, in the place of a `multiprocessing.Queue`.

    It writes to the worker's own pipe: what a killed worker leaves half written or locked must not
    reach the others.
    """

    def __init__(self, connection: Any) -> None:
        """Write to a connection."""
        self._connection = connection

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        """Send `(index, exception class, exception, text of the traceback)` to the parent."""
        index, _, exception, text = item
        if not isinstance(exception, BaseException):
            exception = RuntimeError(str(exception))
        failure = describe_failure(index, "", exception)
        self._connection.send(failure._replace(traceback=str(text).rstrip() or failure.traceback))

    put_nowait = put

    def close(self) -> None:
        """Do nothing: the pipe is closed with the process."""

    join_thread = cancel_join_thread = close


def _run_loop(setup: ProcessSetup, index: int, loop: Any, env_fn: Any, *shared: Any) -> None:
    """Run the loop in its process."""
    memory, autoreset_mode, semaphore, parent_pipe = shared
    pipe = setup.connection
    errors = ErrorQueue(pipe)
    try:
        install_registered(setup.registered)
        loop.fn(index, env_fn, pipe, parent_pipe, memory, errors, autoreset_mode, semaphore)
    except Exception as error:
        text = traceback.format_exc()
        try:
            errors.put((index, type(error), error, text))
        except OSError:  # the loop has closed its pipe
            os.write(setup.crash_log.fd, text.encode())
        raise SystemExit(1) from None


# --- in the parent -----------------------------------------------------------------------------


class _Caller:
    """A worker process, and what has come of the answer to the last request.

    Attributes:
        index: Index of the environment.
        process: The process.
        answer: The answer, or `_NOTHING` until it has come.
        failures: What the worker has reported since the last request.
    """

    def __init__(self, process: WorkerProcess) -> None:
        self.index = process.index
        self.process = process
        self.answer: Any = _NOTHING
        self.failures: list[Failure] = []
        self._dropped = 0  # answers to come that are not waited for any more
        self._receiving = False

    def send(self, request: Pickled) -> None:
        """Send a request; what the pipe does not take now is sent by `receive`."""
        self.failures.clear()
        self.answer = _NOTHING
        with contextlib.suppress(OSError):  # its reader has ended: `receive` finds that out
            self.process.stream.put(request)
            self.process.stream.pump()

    def receive(self) -> bool:
        """Move what the pipe takes and gives without waiting; whether the answer is here."""
        stream = self.process.stream
        # Still set from a call before: an exception (a key press, say) ended it, so that it
        # is not known which answer is the next one.
        stream.ended = stream.ended or self._receiving
        self._receiving = True
        with contextlib.suppress(ConnectionError):
            stream.pump()
        while (data := stream.take()) is not None:
            try:
                message = pickle.loads(data)
            except Exception as error:
                message = error
            if isinstance(message, Failure):
                self.failures.append(message)
                self.process.crash = message.traceback or self.process.crash
            elif self._dropped:
                self._dropped -= 1
            elif self.answer is _NOTHING:
                self.answer = message
        self._receiving = False
        return self.answer is not _NOTHING

    def drop(self) -> None:
        """Drop the answer to the last request, which is here or still to come."""
        self._dropped += self.answer is _NOTHING
        self.answer = _NOTHING

    def wait(self, seconds: float) -> bool:
        """Wait until the worker sends something or ends; whether it has."""
        ends = [] if self.process.stream.ended else [self.process.stream.fileno()]
        return bool(wait([*ends, self.process.process.sentinel], seconds))


class CustomWorkers:
    """The parent's side: every worker is sent one request at a time, and all answers are awaited.

    Every wait ends at its deadline or at the death of a worker. An answer that comes after its
    time-out is dropped: each worker answers in order.

    Attributes:
        observations: The last batch of observations.
        dead: Indices of the workers that have died.
        owner: Process id of the process that made them.
    """

    def __init__(
        self,
        env_fns: Sequence[Callable[[], Env[Any, Any]]],
        worker: Callable[..., Any],
        context: BaseContext,
        *,
        daemon: bool = True,
        single_observation_space: Space[Any],
        single_action_space: Space[Any],
        observation_mode: Any = "same",
        shared_memory: bool = True,
        copy: bool = True,
        autoreset_mode: AutoresetMode,
        max_concurrency: int | None = None,
        start_timeout: float | None = None,
        name: str = "AsyncVectorEnv",
    ) -> None:
        """Start a process for each environment, and let the workers check the spaces.

        The arguments are those of `AsyncVectorEnv`; `name` is that of the vector environment's
        class, for names of processes and messages.

        Raises:
            InvalidArgument: A loop that does not take eight arguments, or a custom space in shared
                memory (a `ValueError`).
            ArgumentTypeError: A space of no fixed size in shared memory (a `TypeError`).
            SpaceMismatch: The environments' spaces cannot be batched (a `RuntimeError`).
            EnvironmentFailed: A worker reported an exception.
            WorkerDied: A worker ended before its first answer.
            WorkerTimeout: An answer did not come in time.
        """
        _check_signature(worker)
        self.owner = os.getpid()
        self.dead: list[int] = []
        self._num_envs = len(env_fns)
        self._space = single_observation_space
        self._copy = copy
        self._workers: list[_Caller] = []
        self._waiting: list[_Caller] = []
        self._call = ""
        self._slow = self._closed = False
        self._memory = None
        if shared_memory:
            try:
                self._memory = create_shared_memory(self._space, self._num_envs, context)
            except CustomSpaceError as problem:
                raise InvalidArgument(
                    "Using `AsyncVector(..., shared_memory=True)` caused an error, you can disable "
                    "this feature with `shared_memory=False` however this is slower."
                ) from problem
        if self._memory is None:
            self.observations = create_empty_array(self._space, self._num_envs)
        else:
            self.observations = self._read()
        semaphore = None if max_concurrency is None else context.BoundedSemaphore(max_concurrency)
        shared = self._memory, autoreset_mode, semaphore
        try:
            for index, env_fn in enumerate(env_fns):
                functions = CloudpickleWrapper(worker), CloudpickleWrapper(env_fn)
                process = WorkerProcess(
                    context,
                    index,
                    range(index, index + 1),
                    f"Worker<{name}>-{index}",
                    daemon,
                    [handle.process for handle in self._workers],
                    _run_loop,
                    (index, *functions, *shared),
                    with_parent_end=True,
                )
                self._workers.append(_Caller(process))
            self._check_spaces(observation_mode, single_action_space, start_timeout, name)
        except BaseException:
            self.close(0.0)
            raise

    @property
    def processes(self) -> list[Any]:
        """The `multiprocessing` process of each environment; none after `close`."""
        return [] if self._closed else [handle.process.process for handle in self._workers]

    def _check_spaces(
        self, observation_mode: Any, action_space: Any, timeout: float | None, name: str
    ) -> None:
        request = ("_check_spaces", (observation_mode, self._space, action_space))
        self.post("starting", [request] * self._num_envs)
        fits = self._tuples(self.wait("__init__", timeout), 2)
        odd = [i for i, (observation, _) in enumerate(fits) if not observation]
        if odd and observation_mode == "same":
            raise SpaceMismatch(
                f"{name}(..., observation_mode='same') however some of the sub-environments "
                "observation spaces are not equivalent. If this is intentional, use "
                f"`observation_mode='different'` instead. {shown_lanes(odd)} differ from "
                f"{self._space}."
            )
        if odd:
            raise SpaceMismatch(
                f"{name}(..., observation_mode='different' or custom space) however the "
                "sub-environment's observation spaces do not share a common shape and dtype. "
                f"{shown_lanes(odd)} differ from {self._space}."
            )
        odd = [i for i, (_, action) in enumerate(fits) if not action]
        if odd:
            raise SpaceMismatch(
                f"Some environments have an action space different from `{action_space}`. In order "
                "to batch actions, the action spaces from all environments must be equal. "
                f"{shown_lanes(odd)} differ."
            )

    # --- requests ------------------------------------------------------------------------------

    def reset_async(
        self,
        seeds: Sequence[int | None],
        options: dict[str, Any] | None = None,
        mask: npt.NDArray[np.bool_] | None = None,
    ) -> None:
        """Begin a reset of all environments, or those of the mask `[num_envs] bool`."""
        requests: list[Any] = [("reset", {"seed": seed, "options": options}) for seed in seeds]
        if mask is not None:
            requests = [r if mask[i] else ("reset-noop", None) for i, r in enumerate(requests)]
        self.post("reset", requests)

    def reset_wait(self, timeout: float | None = None) -> tuple[Any, list[dict[str, Any]]]:
        """Return the batch of observations, and the info of each environment."""
        results = self._tuples(self.wait("reset_wait", timeout), 2)
        return self._batch([result[0] for result in results]), [info or {} for _, info in results]

    def step_async(self, actions: Sequence[Any]) -> None:
        """Begin a step, with one action for each environment."""
        self.post("step", [("step", action) for action in actions])

    def step_wait(self, timeout: float | None = None) -> tuple[Any, ...]:
        """Return what a step of the batch returns, but the infos as a list, unmerged."""
        results = self._tuples(self.wait("step_wait", timeout), 5)
        observations, rewards, terminated, truncated, infos = zip(*results, strict=True)
        numbers = np.empty(len(rewards), dtype=np.float64)
        for index, reward in enumerate(rewards):
            try:
                # An array of one element counts as a number.
                numbers[index] = reward.item() if isinstance(reward, np.ndarray) else reward
            except (TypeError, ValueError) as problem:
                raise environment_failed([index], "step (its reward)", problem) from problem
        return (
            self._batch(list(observations)),
            numbers,
            np.array([bool(flag) for flag in terminated], dtype=np.bool_),
            np.array([bool(flag) for flag in truncated], dtype=np.bool_),
            [info or {} for info in infos],
        )

    def call_async(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Begin a call of a method of every environment, or get an attribute."""
        self.post(name, [("_call", (name, args, kwargs))] * self._num_envs)

    def call_wait(self, timeout: float | None = None) -> list[Any]:
        """Return one result for each environment."""
        return self.wait("call_wait", timeout)

    def set_attr(self, name: str, values: Sequence[Any], timeout: float | None = None) -> None:
        """Set an attribute of every environment, to one value each."""
        self.post("set_attr", [("_setattr", (name, value)) for value in values])
        self.wait("set_attr", timeout)

    def post(self, call: str, requests: Sequence[Any]) -> None:
        """Send a request to every worker; `wait` must follow.

        Raises:
            WorkerDied: A worker has died.
        """
        pickled = [Pickled.of(request) for request in requests]
        self._drop_waiting()  # of a request that a key press has kept from its `wait`
        self._call = call
        dead = [w for w in self._workers if w.index in self.dead or not w.process.alive()]
        if dead:
            raise self._died(dead)
        for handle, request in zip(self._workers, pickled, strict=True):
            self._waiting.append(handle)
            handle.send(request)

    def wait(self, method: str, timeout: float | None) -> list[Any]:
        """Return every worker's result of the last request; nothing is pending afterwards.

        Raises:
            EnvironmentFailed: Workers reported exceptions.
            WorkerDied: A worker died.
            WorkerTimeout: Time is over; answers that come later will be dropped.
            NoAsyncCallError: There was no such request.
        """
        if not self._waiting:
            raise NoAsyncCallError(f"Calling `{method}` without any prior request.", self._call)
        results: list[Any] = []
        failed: list[_Caller] = []
        try:
            deadline = None if timeout is None else time.monotonic() + timeout
            for handle in self._workers:
                self._wait_for(handle, deadline, method, timeout)
                self._waiting.remove(handle)
                result, success = self._checked(handle)
                results.append(result)
                if not success:
                    failed.append(handle)
            if failed:
                raise self._failed(failed)
        finally:
            self._drop_waiting()
        self._slow = False
        return results

    def _drop_waiting(self) -> None:
        """Drop the answers to the last request that have not been returned."""
        for handle in self._waiting:
            handle.drop()
        self._waiting = []

    def _wait_for(
        self, handle: _Caller, deadline: float | None, method: str, timeout: float | None
    ) -> None:
        """Wait until the answer of one worker is here."""
        while True:
            alive = handle.process.alive()
            if handle.receive():
                return
            if handle.process.stream.ended:  # nothing more will come
                handle.process.join(_END_SECONDS)
                alive = False
            if not alive:
                raise self._died([handle])
            full = any(other.process.stream.unsent for other in self._waiting)
            pause = _FULL_PIPE_SECONDS if full else _SLICE_SECONDS
            if deadline is not None:
                assert timeout is not None
                left = deadline - time.monotonic()
                if not left > 0:  # NaN must not wait forever
                    self._slow = True
                    missing = [other.index for other in self._waiting if not other.receive()]
                    raise worker_timeout(missing, method, timeout)
                pause = min(pause, left)
            if not handle.wait(pause):  # look at the others, and let them go on
                lived = [other.process.alive() for other in self._waiting]
                waiting = zip(self._waiting, lived, strict=True)
                dead = [other for other, live in waiting if not other.receive() and not live]
                if dead:
                    raise self._died(dead)

    def _checked(self, handle: _Caller) -> tuple[Any, bool]:
        """Return a worker's result, and whether it was a success."""
        answer, handle.answer = handle.answer, _NOTHING
        if isinstance(answer, Exception):
            what = f"{self._call} (an answer that cannot be unpickled)"
            raise environment_failed([handle.index], what, answer) from answer
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise self._wrong_answer(handle.index, "a pair (result, success)", answer)
        return answer

    def _tuples(self, results: list[Any], count: int) -> list[Any]:
        """Check that every result is a tuple of `count` elements."""
        for index, result in enumerate(results):
            if not isinstance(result, (tuple, list)) or len(result) != count:
                raise self._wrong_answer(index, f"a tuple of {count}", result)
        return results

    def _wrong_answer(self, index: int, expected: str, answer: Any) -> EnvironmentFailed:
        return EnvironmentFailed(
            f"the worker of environment {index} answered {self._call} with {answer!r:.200}, "
            f"expected {expected}",
            [index],
        )

    def _failed(self, workers: list[_Caller]) -> EnvironmentFailed:
        """Return the exception for workers that answered with `(None, False)`."""
        failures: list[Failure] = []
        deadline = time.monotonic() + _END_SECONDS
        for handle in workers:
            while not handle.failures and time.monotonic() < deadline:
                handle.wait(_FULL_PIPE_SECONDS)
                handle.receive()
            failures += [failure._replace(call=self._call) for failure in handle.failures]
            handle.failures.clear()
        if failures:
            return failures_raised(failures)
        lanes = [handle.index for handle in workers]
        return environment_failed(
            lanes, self._call, None, name="an exception", text="the worker did not report which"
        )

    def _died(self, workers: list[_Caller]) -> EnvironmentFailed:
        """Note that workers have died, and return the exception that says so."""
        fresh = [handle for handle in workers if handle.index not in self.dead]
        self.dead += [handle.index for handle in fresh]
        for handle in workers:
            handle.receive()
        first = workers[0]
        exit_code = first.process.exit_code()
        failures = [failure for handle in fresh for failure in handle.failures]
        if failures and exit_code is not None and exit_code >= 0:  # an exception ended the loop
            return failures_raised([failure._replace(call=self._call) for failure in failures])
        text = "\n".join(filter(None, [handle.process.crash_text() for handle in workers]))
        lanes = [handle.index for handle in workers]
        return worker_died(lanes, self._call, exit_code, first.index, text)

    # --- observations --------------------------------------------------------------------------

    def _read(self) -> Any:
        return read_from_shared_memory(self._space, self._memory, self._num_envs)

    def _batch(self, env_observations: list[Any]) -> Any:
        """Return the batch of observations."""
        if self._memory is not None:
            self.observations = self._read()
            return deepcopy(self.observations) if self._copy else self.observations
        out = self.observations
        if self._copy:
            out = create_empty_array(self._space, self._num_envs)
        self.observations = concatenate(self._space, env_observations, out)
        return self.observations

    # --- ending --------------------------------------------------------------------------------

    def close(self, timeout: float | None = None) -> list[Failure]:
        """Ask the workers to close, and end every process; see `WorkerPool.close`."""
        if self._closed or os.getpid() != self.owner:  # a forked child owns none of the workers
            return []
        self._closed = True
        failures: list[Failure] = []
        if timeout is None:
            hurried = self._slow or self.dead
            timeout = HURRIED_CLOSE_SECONDS if hurried else CLOSE_SECONDS
        try:
            if timeout:
                with contextlib.suppress(Exception):
                    failures = self._ask_to_close(timeout)
        finally:
            for handle in self._workers:
                handle.process.terminate()
            for handle in self._workers:
                handle.process.end()
        return failures

    def _ask_to_close(self, timeout: float) -> list[Failure]:
        deadline = time.monotonic() + timeout
        alive = [handle for handle in self._workers if handle.process.alive()]
        for handle in alive:
            if handle in self._waiting:
                handle.drop()
            handle.send(Pickled.of(("close", None)))
        for handle in alive:
            while handle.process.alive() and (left := deadline - time.monotonic()) > 0:
                for each in alive:
                    each.receive()
                handle.process.join(min(_SLICE_SECONDS, left))
            handle.receive()
        return [f._replace(call="close") for handle in alive for f in handle.failures]


def _check_signature(worker: Callable[..., None]) -> None:
    """Raise unless the loop can be called with the eight arguments."""
    try:
        inspect.signature(worker).bind(*[None] * 8)
    except TypeError as problem:
        if not callable(worker):
            raise
        raise InvalidArgument(
            "A custom `worker` must accept 8 arguments. Got the signature "
            f"{inspect.signature(worker)} which should match {_ARGUMENTS}."
        ) from problem
    except ValueError:  # a callable that has no signature to look at
        return
