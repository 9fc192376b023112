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
`(None, False)`, after which the loop may return. Requests and answers are pickles.
"""  # noqa: E501

from __future__ import annotations

import contextlib
import inspect
import multiprocessing
import os
import pickle
import time
import traceback
from collections.abc import Callable, Sequence
from copy import deepcopy
from multiprocessing.connection import wait
from typing import Any

import numpy as np

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
from gymcore.vector.workers import pool
from gymcore.vector.workers.failures import (
    Failure,
    describe_failure,
    environment_failed,
    failures_raised,
    shown_lanes,
    worker_timeout,
)
from gymcore.vector.workers.messages import Pickled
from gymcore.vector.workers.worker import ProcessSetup, install_registered

__all__ = ["CustomWorkers"]

_ARGUMENTS = (
    "(index, env_fn, pipe, parent_pipe, shared_memory, error_queue, autoreset_mode, semaphore)"
)

# How often a waiting parent looks whether all workers live, and, where a pipe was full, whether it
# takes more; in seconds.
_SLICE_SECONDS = 0.05
_FULL_PIPE_SECONDS = 0.001

# How long the report of an exception may come after the answer that announces it, in seconds.
_REPORT_SECONDS = 1.0


class _ErrorQueue:
    """What a loop reports its exceptions to, in the place of a `multiprocessing.Queue`.

    It writes to the worker's own pipe: what a killed worker leaves half written or locked must not
    reach the others.
    """

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        """Send `(index, exception class, exception, text of the traceback)` to the parent."""
        index, _, exception, text = item
        if not isinstance(exception, BaseException):
            exception = RuntimeError(str(exception))
        failure = describe_failure(index, "", exception)
        self._connection.send(failure._replace(traceback=str(text).rstrip() or failure.traceback))

    put_nowait = put


def _run_loop(setup: ProcessSetup, index: int, loop: Any, env_fn: Any, *shared: Any) -> None:
    """Run the loop in its process."""
    memory, autoreset_mode, semaphore = shared
    errors = _ErrorQueue(setup.connection)
    parent_pipe = multiprocessing.Pipe()[0]  # for the loop to close; the real one is closed
    arguments = setup.connection, parent_pipe, memory, errors, autoreset_mode, semaphore
    try:
        install_registered(setup.registered)
        loop.fn(index, env_fn, *arguments)
    except Exception as error:
        text = traceback.format_exc()
        try:
            errors.put((index, type(error), error, text))
        except OSError:  # the loop has closed its pipe
            os.write(setup.crash_log.fd, text.encode())
        raise SystemExit(1) from None


class _Worker(pool.WorkerProcess):
    """A worker process, what it was asked and what it has sent since.

    It answers in order: answers to requests that nobody waits for any more are counted off.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        # An element for each request; answers and `Failure`s, pickled as they come.
        self._exchange: tuple[list[None], list[Any]] = ([], [])

    def ask(self, request: Pickled) -> None:
        """Send a request; what the pipe does not take now is sent by `answered`."""
        if self.outcome()[0]:
            self.forget()
        with contextlib.suppress(OSError):  # its reader has ended: `answered` finds that out
            # In one call: a signal handler that raises must not come between sending and counting.
            self._exchange[0].extend(map(self.stream.put, (request,)))
            self.stream.pump()

    def answered(self) -> bool:
        """Move what the pipe takes and gives without waiting; whether the answer is here."""
        messages = self._exchange[1]
        take: Any = self.stream.take
        self.stream.pump()
        messages.extend(map(memoryview, iter(take, None)))  # in one call, as above
        for i, message in enumerate(messages):
            if isinstance(message, memoryview):
                messages[i] = message = _unpickled(message)
                if isinstance(message, Failure):
                    self.crash = message.traceback
        return bool(self.outcome()[0])

    def forget(self) -> None:
        """Drop the requests so far, and what came in answer to them."""
        self._exchange = ([], [])

    def outcome(self) -> tuple[list[Any], list[Failure]]:
        """Return the answer to the last request, if it has come, and the exceptions reported."""
        requests, messages = self._exchange
        earlier = len(requests) - 1
        answers: list[Any] = []
        failures: list[Failure] = []
        for message in messages:
            if isinstance(message, Failure):
                failures.append(message)
            elif earlier > 0:
                earlier -= 1
                failures.clear()
            else:
                answers.append(message)
        return answers, failures


def _unpickled(data: memoryview) -> Any:
    try:
        return pickle.loads(data)
    except Exception as problem:
        return f"an answer that cannot be unpickled: {problem!r}"


class CustomWorkers:
    """The parent's side: every worker is sent one request at a time, and all answers are awaited.

    Every wait ends at its deadline or at the death of a worker.

    Attributes:
        owner: Process id of the process that made them.
    """

    def __init__(self, envs: Any, start_timeout: float | None = None) -> None:
        """Start a process for each environment, and let the workers check the spaces.

        The options are the attributes of `envs`, an `AsyncVectorEnv` that has its spaces.
        """
        _check_signature(envs.worker)
        self.owner = os.getpid()
        self._space = envs.single_observation_space
        self._num_envs = envs.num_envs
        self._copy = envs.copy
        self._workers: list[_Worker] = []
        self._call = ""
        self._pending = self._hurried = False
        self._memory = None
        self._observations = create_empty_array(self._space, self._num_envs)
        context: Any = multiprocessing.get_context(envs.context)
        if envs.shared_memory:
            try:
                self._memory = create_shared_memory(self._space, self._num_envs, context)
            except CustomSpaceError as problem:
                raise InvalidArgument(
                    "Using `AsyncVector(..., shared_memory=True)` caused an error, you can disable "
                    "this feature with `shared_memory=False` however this is slower."
                ) from problem
        concurrency = envs.max_concurrency
        semaphore = None if concurrency is None else context.BoundedSemaphore(concurrency)
        shared = self._memory, envs.autoreset_mode, semaphore
        name = type(envs).__name__
        try:
            for index, env_fn in enumerate(envs.env_fns):
                functions = CloudpickleWrapper(envs.worker), CloudpickleWrapper(env_fn)
                started = _Worker(
                    context,
                    index,
                    range(index, index + 1),
                    f"Worker<{name}>-{index}",
                    envs.daemon,
                    self._workers,
                    _run_loop,
                    (index, *functions, *shared),
                )
                self._workers.append(started)
            spaces = self._space, envs.single_action_space
            request = ("_check_spaces", (envs.observation_mode, *spaces))
            self.post("starting", [request] * self._num_envs)
            fits = self.wait("__init__", start_timeout, 2)
            _check_fits(fits, name, envs.observation_mode, spaces)
        except BaseException:
            self.close(0.0)
            raise

    @property
    def processes(self) -> list[Any]:
        """The `multiprocessing` process of each environment; none after `close`."""
        return [worker.process for worker in self._workers]

    # --- requests ------------------------------------------------------------------------------

    def post(self, call: str, requests: Sequence[Any]) -> None:
        """Send a request to every worker, unless one has died; `wait` must follow."""
        pickled = [Pickled.of(request) for request in requests]
        self._call = call
        if dead := [worker for worker in self._workers if not worker.alive()]:
            raise self._died(dead)
        self._pending = True
        for worker, request in zip(self._workers, pickled, strict=True):
            worker.ask(request)

    def reset_wait(self, timeout: float | None = None) -> tuple[Any, list[dict[str, Any]]]:
        """Return the batch of observations, and the info of each environment."""
        results = self.wait("reset_wait", timeout, 2)
        return self._batch([result[0] for result in results]), [info or {} for _, info in results]

    def step_wait(self, timeout: float | None = None) -> tuple[Any, ...]:
        """Return what a step of the batch returns, but the infos as a list, unmerged."""
        results = self.wait("step_wait", timeout, 5)
        observations, rewards, terminated, truncated, infos = zip(*results, strict=True)
        numbers = np.empty(len(rewards), dtype=np.float64)
        for index, reward in enumerate(rewards):
            try:
                # An array of one element counts as a number.
                numbers[index] = reward.item() if isinstance(reward, np.ndarray) else reward
            except (TypeError, ValueError) as problem:
                raise environment_failed([index], "step (its reward)", problem) from problem
        return (
            self._batch(observations),
            numbers,
            np.array([bool(flag) for flag in terminated], dtype=np.bool_),
            np.array([bool(flag) for flag in truncated], dtype=np.bool_),
            [info or {} for info in infos],
        )

    def wait(self, method: str, timeout: float | None, length: int | None = None) -> list[Any]:
        """Return every worker's result of the last request; nothing is pending afterwards.

        With a `length`, each result must be a tuple of so many elements.

        Raises:
            EnvironmentFailed: Workers reported exceptions.
            WorkerDied: A worker died.
            WorkerTimeout: Time is over; answers that come later will be dropped.
            NoAsyncCallError: There was no such request.
        """
        if not self._pending:
            raise NoAsyncCallError(f"Calling `{method}` without any prior request.", self._call)
        self._pending = False
        deadline = float("inf") if timeout is None else time.monotonic() + timeout
        while missing := self._missing():
            left = deadline - time.monotonic()
            if not left > 0:  # NaN must not wait forever
                self._hurried = True
                lanes = [worker.index for worker in missing]
                raise worker_timeout(lanes, method, timeout or 0)
            full = any(worker.stream.unsent for worker in missing)
            pause = _FULL_PIPE_SECONDS if full else _SLICE_SECONDS
            wait([worker.stream.fileno() for worker in missing], min(pause, left))
        self._hurried = False
        answers = [worker.outcome()[0][0] for worker in self._workers]
        for index, answer in enumerate(answers):
            if not isinstance(answer, tuple) or len(answer) != 2:
                raise self._wrong_answer(index, "a pair (result, success)", answer)
        failed = [self._workers[i] for i, (_, success) in enumerate(answers) if not success]
        if failed:
            raise self._failed(failed)
        results = [result for result, _ in answers]
        for index, result in enumerate(results if length else ()):
            if not isinstance(result, (tuple, list)) or len(result) != length:
                raise self._wrong_answer(index, f"a tuple of {length}", result)
        return results

    def _missing(self) -> list[_Worker]:
        """Return the workers that have not answered; raise where one of them never will."""
        # First: what a process has sent before it ended is there by then.
        ended = [worker for worker in self._workers if not worker.alive()]
        missing = [worker for worker in self._workers if not worker.answered()]
        if dead := [worker for worker in missing if worker in ended or worker.stream.ended]:
            raise self._died(dead)
        return missing

    def _died(self, workers: list[_Worker]) -> EnvironmentFailed:
        """Return the exception for workers that have ended: that of their loop, if it is new."""
        self._hurried = True
        exit_code = workers[0].exit_code()
        failures = self._reported([worker for worker in workers if not worker.answered()])
        if failures and exit_code is not None and exit_code >= 0:
            for worker in workers:
                worker.forget()
            return failures_raised(failures)
        return pool.died(workers, self._call)

    def _wrong_answer(self, index: int, expected: str, answer: Any) -> EnvironmentFailed:
        return EnvironmentFailed(
            f"the worker of environment {index} answered {self._call} with {answer!r:.200}, "
            f"expected {expected}",
            [index],
        )

    def _failed(self, workers: list[_Worker]) -> EnvironmentFailed:
        """Return the exception for workers that answered with `(None, False)`."""
        deadline = time.monotonic() + _REPORT_SECONDS
        for worker in workers:
            while not worker.outcome()[1] and time.monotonic() < deadline:
                wait([worker.stream.fileno()], _FULL_PIPE_SECONDS)
                worker.answered()
        if failures := self._reported(workers):
            return failures_raised(failures)
        lanes = [worker.index for worker in workers]
        return environment_failed(
            lanes, self._call, None, name="an exception", text="the worker did not report which"
        )

    def _reported(self, workers: list[_Worker]) -> list[Failure]:
        failures = [failure for worker in workers for failure in worker.outcome()[1]]
        return [failure._replace(call=self._call) for failure in failures]

    def _batch(self, env_observations: Sequence[Any]) -> Any:
        """Return the batch of observations."""
        if self._memory is not None:
            observations = read_from_shared_memory(self._space, self._memory, self._num_envs)
            return deepcopy(observations) if self._copy else observations
        if self._copy:
            self._observations = create_empty_array(self._space, self._num_envs)
        self._observations = concatenate(self._space, env_observations, self._observations)
        return self._observations

    # --- ending --------------------------------------------------------------------------------

    def close(self, timeout: float | None = None) -> list[Failure]:
        """Ask the workers to close, and end every process; see `WorkerPool.close`."""
        if os.getpid() != self.owner:  # a forked child owns none of the workers
            return []
        failures: list[Failure] = []
        if timeout is None:
            timeout = pool.HURRIED_CLOSE_SECONDS if self._hurried else pool.CLOSE_SECONDS
        try:
            if timeout:
                with contextlib.suppress(Exception):
                    failures = self._close_loops(time.monotonic() + timeout)
        finally:
            for worker in self._workers:
                worker.terminate()
            for worker in self._workers:
                worker.end()
        self._workers = []
        return failures

    def _close_loops(self, deadline: float) -> list[Failure]:
        self._call = "close"
        alive = [worker for worker in self._workers if worker.alive()]
        for worker in alive:
            worker.ask(Pickled.of(("close", None)))
        for worker in alive:
            while worker.alive() and (left := deadline - time.monotonic()) > 0:
                for each in alive:
                    each.answered()
                worker.join(min(_SLICE_SECONDS, left))
            worker.answered()
        return self._reported(alive)


def _check_fits(fits: list[Any], name: str, mode: Any, spaces: tuple[Any, Any]) -> None:
    """Raise where spaces do not fit, as the workers have found."""
    problems = (
        f"{name}(..., observation_mode='same') however some of the sub-environments observation "
        "spaces are not equivalent. If this is intentional, use `observation_mode='different'` "
        "instead."
        if mode == "same"
        else f"{name}(..., observation_mode='different' or custom space) however the "
        "sub-environment's observation spaces do not share a common shape and dtype.",
        f"Some environments have an action space different from `{spaces[1]}`. In order to batch "
        "actions, the action spaces from all environments must be equal.",
    )
    for k, problem in enumerate(problems):
        if odd := [i for i, pair in enumerate(fits) if not pair[k]]:
            raise SpaceMismatch(f"{problem} {shown_lanes(odd)} differ from {spaces[k]}.")


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
