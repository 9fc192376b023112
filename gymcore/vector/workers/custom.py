"""Environments in processes that run the user's own loop (`AsyncVectorEnv(worker=...)`).

Each environment has its own process, which calls

    worker(index, env_fn, pipe, parent_pipe, shared_memory, error_queue, autoreset_mode, semaphore)

`pipe` is the worker's end of the pipe; the worker should close `parent_pipe`. `shared_memory` is the
memory that `gymcore.vector.utils.create_shared_memory` returned for the whole batch, or None.
`semaphore` is None unless `max_concurrency` is given; hold it while the environment runs. The loop
reads requests `(command, data)` and answers each, in order, with `(result, True)`:

| command         | data                                          | result                               |
|-----------------|-----------------------------------------------|--------------------------------------|
| `_check_spaces` | `(observation_mode, single observation space, single action space)`, the first request | `(observation space fits, action space fits)` |
| `reset`         | `{"seed": seed, "options": options}`          | `(observation, info)`                |
| `reset-noop`    | None; the reset mask leaves this environment out | `(last observation, {})`          |
| `step`          | one action                                    | `(observation, reward, terminated, truncated, info)` |
| `_call`         | `(name, args, kwargs)`                        | the method's result                  |
| `_setattr`      | `(name, value)`                               | None                                 |
| `close`         | None                                          | None; then the loop returns          |

With shared memory, the worker writes observations with `write_to_shared_memory(space, index,
observation, shared_memory)`, and observations in its answers are ignored. The worker resets ended
environments itself; in same-step mode its info is `{"final_info": ..., "final_obs": ..., **reset_info}`. To
report an exception, it calls `error_queue.put((index, type, exception, traceback_text))` and answers
`(None, False)`; then the loop may return. Requests and answers are pickled.
"""  # noqa: E501

from __future__ import annotations

import contextlib
import inspect
import itertools
import multiprocessing
import os
import pickle
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gymcore.error import EnvironmentFailed, InvalidArgument, SpaceMismatch, WorkerTimeout
from gymcore.vector.protocols import LoopEngine
from gymcore.vector.utils.misc import CloudpickleWrapper
from gymcore.vector.utils.shared_memory import create_shared_memory, read_from_shared_memory
from gymcore.vector.utils.space_utils import concatenate, create_empty_array
from gymcore.vector.workers import pool
from gymcore.vector.workers.failures import (
    Failure,
    describe_failure,
    describe_lanes,
    environment_error,
    failures_error,
)
from gymcore.vector.workers.messages import (
    FULL_PIPE_SECONDS,
    SLICE_SECONDS,
    Pickled,
    append_results,
)
from gymcore.vector.workers.shared_memory import check_sharable, stacked_rewards
from gymcore.vector.workers.worker import ProcessSetup

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

    from gymcore.core import Env, Info

Request: TypeAlias = tuple[str, object]
"""A command and its data."""

# How long after the answer `(None, False)` the report of the exception may arrive, in seconds.
_REPORT_SECONDS = 1.0

# Maximum number of messages of a worker that are read at a time: its loop may send forever.
_MAX_MESSAGES = 1000


class _ErrorQueue:
    """Replacement for the `multiprocessing.Queue` to which a loop reports its exceptions.

    It writes to the worker's own pipe, so that a killed worker cannot leave a shared queue locked
    or half written.
    """

    def __init__(self, setup: ProcessSetup) -> None:
        self._setup = setup

    def put(
        self, item: tuple[int, object, object, object], block: bool = True, timeout: object = None
    ) -> None:
        """Send `(index, exception class, exception, traceback text)` to the parent."""
        index, _, exception, text = item
        if not isinstance(exception, BaseException):
            exception = RuntimeError(str(exception))
        failure = describe_failure(index, "", exception)
        failure = failure._replace(traceback=str(text).rstrip() or failure.traceback)
        try:
            self._setup.connection.send(failure)
        except OSError:  # the loop has closed its pipe
            os.write(self._setup.crash_log.fd, failure.traceback.encode())

    put_nowait = put


def _run_loop(
    setup: ProcessSetup,
    functions: tuple[Any, CloudpickleWrapper[Env]],
    index: int,
    *shared: object,
) -> None:
    loop, env_fn = functions
    errors = _ErrorQueue(setup)
    parent_pipe = multiprocessing.Pipe()[0]  # a dummy for the loop to close; the real one is closed
    try:
        memory, *rest = shared
        loop.fn(index, env_fn, setup.connection, parent_pipe, memory, errors, *rest)
    except Exception as error:
        errors.put((index, type(error), error, traceback.format_exc()))
        raise SystemExit(1) from None


class _Worker(pool.WorkerProcess):
    """A worker process with the requests sent to it and the answers received.

    A worker answers in order, so answers to abandoned requests are identified by counting.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        # Messages in the order received, and a None per request sent; `poll` unpickles them.
        self.log: list[memoryview | Failure | list[object] | None] = []
        self.num_answers = 0  # since the last request

    def post(self, request: Pickled) -> None:
        """Send a request; `poll` sends the part that the pipe does not accept now."""
        if self.poll()[0]:
            self.log, self.num_answers = [], 0
        with contextlib.suppress(OSError):  # the worker has ended, which `poll` detects
            append_results(self.log, self.stream.put, (request,))
            self.stream.pump()

    def poll(self) -> tuple[list[object], list[Failure]]:
        """Send and receive as much as possible without waiting.

        Returns:
            A list of the answers to the last request, and the exceptions reported with them. A loop
            with more than one answer breaks the protocol, and nothing more is received from it.
        """
        if self.num_answers < 2:
            self.stream.pump()
            messages = itertools.islice(iter(self.stream.take, None), _MAX_MESSAGES)
            append_results(self.log, memoryview, messages)
        num_abandoned = self.log.count(None) - 1
        answers: list[object] = []
        failures: list[Failure] = []
        for i, entry in enumerate(self.log):
            if isinstance(entry, memoryview):
                self.log[i] = entry = _unpickled(entry)
            if isinstance(entry, Failure):
                self.crash = entry.traceback
                failures.append(entry)
            elif entry is not None and num_abandoned > 0:
                num_abandoned -= 1
                failures.clear()
            elif entry is not None:
                answers += entry
        self.num_answers = len(answers)
        return answers, failures


def _unpickled(data: memoryview) -> Failure | list[object]:
    """Return a `Failure`, or a list with an answer."""
    try:
        message = pickle.loads(data)
    except Exception as problem:
        message = f"an answer that cannot be unpickled: {problem!r}"
    return message if isinstance(message, Failure) else [message]


class CustomWorkers:
    """The parent's side: sends one request at a time to every worker and waits for all answers.

    Every wait ends at its deadline or when a worker dies.
    """

    def __init__(self, envs: LoopEngine, start_timeout: float | None = None) -> None:
        """Start a process for each environment, and have the workers check the spaces.

        The options are attributes of `envs`, an `AsyncVectorEnv` whose spaces are set.
        """
        _check_worker_signature(envs.worker)
        self._owner = os.getpid()
        self._space = envs.single_observation_space
        self._copy = envs.copy
        self._workers: list[_Worker] = []
        self._call = ""
        self._memory = None
        self._observations = create_empty_array(self._space, envs.num_envs)
        context: Any = multiprocessing.get_context(envs.context)
        if envs.shared_memory:
            check_sharable(self._space)
            self._memory = create_shared_memory(self._space, envs.num_envs, context)
        concurrency = envs.max_concurrency
        semaphore = None if concurrency is None else context.BoundedSemaphore(concurrency)
        shared = self._memory, envs.autoreset_mode, semaphore
        try:
            for index, env_fn in enumerate(envs.env_fns):
                lanes, name = range(index, index + 1), f"Worker<{type(envs).__name__}>-{index}"
                functions = CloudpickleWrapper(envs.worker), CloudpickleWrapper(env_fn)
                run = _run_loop, functions, (index, *shared)
                arguments = context, index, lanes, name, envs.daemon, self._workers, *run
                self._workers.append(_Worker(*arguments))
            spaces = envs.observation_mode, self._space, envs.single_action_space
            self.post("starting", [("_check_spaces", spaces)] * envs.num_envs)
            try:
                fits = self.wait("__init__", start_timeout, 2)
            except WorkerTimeout as problem:
                unanswered = [self._workers[lane] for lane in problem.lanes]
                raise pool.not_started_error(unanswered, start_timeout or 0) from None
            _check_reported_fits(envs, fits)
        except BaseException:
            self.close(0.0)
            raise

    @property
    def processes(self) -> list[BaseProcess]:
        """The `multiprocessing` process of each environment; none after `close`."""
        return [worker.process for worker in self._workers]

    def post(self, call: str, requests: Sequence[Request]) -> None:
        """Send a request to every worker, unless one has died; `wait` must follow."""
        pickled = [Pickled.of(request) for request in requests]
        self._call = call
        if dead := [worker for worker in self._workers if not worker.alive()]:
            raise self._death_error(dead)
        for worker, request in zip(self._workers, pickled, strict=True):
            worker.post(request)

    def reset_wait(self, timeout: float | None = None) -> tuple[Any, list[Info]]:
        """Return the batch of observations and the info of each environment."""
        observations, infos = zip(*self.wait("reset_wait", timeout, 2), strict=True)
        return self._batch(observations), [info or {} for info in infos]

    def step_wait(self, timeout: float | None = None) -> tuple[Any, ...]:
        """Return the results of a step of the batch, with the infos as an unmerged list."""
        results = self.wait("step_wait", timeout, 5)
        observations, rewards, terminated, truncated, infos = zip(*results, strict=True)
        numbers = np.zeros(len(rewards))
        vectors: dict[int, npt.NDArray[np.float64]] = {}
        for index, reward in enumerate(rewards):
            try:
                array = np.asarray(reward)
                if array.dtype.kind not in "biuf":
                    raise TypeError(f"expected a number or a vector, got {reward!r:.80}")
                if array.ndim == 1 and array.size > 1:
                    vectors[index] = array
                else:
                    numbers[index] = array.item()  # an array of one element counts as a number
            except (TypeError, ValueError) as problem:
                raise environment_error([index], "step (its reward)", problem) from problem
        flags = [np.array([bool(flag) for flag in column]) for column in (terminated, truncated)]
        if vectors:
            numbers = stacked_rewards(numbers, vectors, range(len(numbers)))
        return self._batch(observations), numbers, *flags, [info or {} for info in infos]

    def wait(self, method: str, timeout: float | None, length: int | None = None) -> list[Any]:
        """Return every worker's result of the last request.

        If `length` is given, each result must be a tuple of that many elements.

        Raises:
            EnvironmentFailed: If workers report exceptions.
            WorkerDied: If a worker dies.
            WorkerTimeout: If the deadline passes; late answers will be discarded.
        """
        deadline = float("inf") if timeout is None else time.monotonic() + timeout
        while unanswered := self._unanswered():
            remaining = deadline - time.monotonic()
            if not remaining > 0:  # NaN must not wait forever
                raise pool.mark_slow(unanswered, method, timeout or 0)
            full = any(worker.stream.unsent for worker in unanswered)
            pause = FULL_PIPE_SECONDS if full else SLICE_SECONDS
            wait([worker.stream.fileno() for worker in unanswered], min(pause, remaining))
        results: list[object] = []
        failed: list[_Worker] = []
        for worker in self._workers:
            worker.slow = False
            [answer, *others], _ = worker.poll()
            if others or not isinstance(answer, tuple) or len(answer) != 2:
                got = [answer, *others] if others else answer
                raise self._wrong_answer(worker, "a pair (result, success)", got)
            result, success = answer
            if not success:
                failed.append(worker)
            elif length and (not isinstance(result, (tuple, list)) or len(result) != length):
                raise self._wrong_answer(worker, f"a tuple of {length}", result)
            results.append(result)
        if failed:
            raise self._failure_error(failed)
        return results

    def _unanswered(self) -> list[_Worker]:
        """Return the workers that have not answered; raise if one of them has ended."""
        # Checked before `poll`, so that everything an ended process has sent can be read.
        ended = [worker for worker in self._workers if not worker.alive()]
        unanswered = [worker for worker in self._workers if not worker.poll()[0]]
        if dead := [worker for worker in unanswered if worker in ended or worker.stream.ended]:
            raise self._death_error(dead)
        return unanswered

    def _death_error(self, workers: list[_Worker]) -> EnvironmentFailed:
        """Return the exception for workers that have ended: the one their loop reported, if any."""
        failures = self._reported_failures(worker for worker in workers if not worker.poll()[0])
        for worker in workers:
            worker.slow = True
            worker.log = []
        if failures:
            return failures_error(failures)
        return pool.workers_died_error(workers, self._call)

    def _wrong_answer(self, worker: _Worker, expected: str, answer: object) -> EnvironmentFailed:
        where = f"the worker of environment {worker.index} answered {self._call}"
        return EnvironmentFailed(
            f"{where} with {answer!r:.200}, expected {expected}", [worker.index]
        )

    def _failure_error(self, workers: list[_Worker]) -> EnvironmentFailed:
        """Return the exception for workers that answered with `(None, False)`."""
        deadline = time.monotonic() + _REPORT_SECONDS
        for worker in workers:
            while not worker.poll()[1] and time.monotonic() < deadline:
                wait([worker.stream.fileno()], FULL_PIPE_SECONDS)
        if failures := self._reported_failures(workers):
            return failures_error(failures)
        lanes, text = pool.lanes_of(workers), "the worker did not report which"
        return environment_error(lanes, self._call, None, name="an exception", text=text)

    def _reported_failures(self, workers: Iterable[_Worker]) -> list[Failure]:
        failures = [failure for worker in workers for failure in worker.poll()[1]]
        return [failure._replace(call=self._call) for failure in failures]

    def _batch(self, env_observations: Sequence[object]) -> object:
        if self._memory is not None:
            observations = read_from_shared_memory(self._space, self._memory, len(self._workers))
            return deepcopy(observations) if self._copy else observations
        if self._copy:
            self._observations = create_empty_array(self._space, len(self._workers))
        self._observations = concatenate(self._space, env_observations, self._observations)
        return self._observations

    def close(self, timeout: float | None = None) -> list[Failure]:
        """Ask the workers to close, and end every process; see `WorkerPool.close`."""
        if os.getpid() != self._owner:  # a forked child owns none of the workers
            return []
        self._call = "close"
        failures: list[Failure] = []
        alive = [worker for worker in self._workers if worker.alive()]
        try:
            with contextlib.suppress(Exception):
                if timeout != 0.0:
                    for worker in alive:
                        worker.post(Pickled.of(("close", None)))
                    pool.wait_for_end(alive, timeout, any(w.slow for w in self._workers))
                    failures = self._reported_failures(alive)
        finally:
            pool.end_all(self._workers)
        self._workers = []
        return failures


def _check_reported_fits(envs: LoopEngine, fits: Sequence[Sequence[object]]) -> None:
    """Raise `SpaceMismatch` if workers report spaces that do not fit the spaces of `envs`.

    `fits` has a pair for each environment: whether its observation space and its action space fit.
    """
    name = type(envs).__name__
    observations, actions = envs.single_observation_space, envs.single_action_space
    problems = (
        f"{name}(..., observation_mode='same') however some of the sub-environments observation "
        "spaces are not equivalent. If this is intentional, use `observation_mode='different'` "
        "instead."
        if envs.observation_mode == "same"
        else f"{name}(..., observation_mode='different' or custom space) however the "
        "sub-environment's observation spaces do not share a common shape and dtype.",
        f"Some environments have an action space different from `{actions}`. In order to batch "
        "actions, the action spaces from all environments must be equal.",
    )
    for k, space in enumerate((observations, actions)):
        if differing := [i for i, pair in enumerate(fits) if not pair[k]]:
            raise SpaceMismatch(f"{problems[k]} {describe_lanes(differing)} differ from {space}.")


def _check_worker_signature(worker: Callable[..., object]) -> None:
    """Raise `InvalidArgument` if a loop does not take 8 arguments, `TypeError` if not callable."""
    try:
        signature = inspect.signature(worker)
    except ValueError:  # a function without an accessible signature
        return
    try:
        signature.bind(*[None] * 8)
    except TypeError as problem:
        raise InvalidArgument(
            f"A custom `worker` must accept 8 arguments. Got the signature {signature} which "
            "should match (index, env_fn, pipe, parent_pipe, shared_memory, error_queue, "
            "autoreset_mode, semaphore)."
        ) from problem
