"""Requests to workers that run a loop of the user's own, their answers, and their ends."""

from __future__ import annotations

import contextlib
import os
import time
from typing import Any

from gymcore.error import AlreadyPendingCallError, EnvironmentFailed, NoAsyncCallError
from gymcore.vector.workers.custom_pipe import pickled
from gymcore.vector.workers.custom_process import CustomProcess, Unreadable
from gymcore.vector.workers.failures import (
    Failure,
    environment_failed,
    failures_raised,
    worker_died,
    worker_timeout,
)

__all__ = ["CustomWorkers", "wrong_answer"]

# How often a waiting parent looks whether all workers live, and, where a pipe was full, whether it
# takes more; in seconds.
_SLICE_SECONDS = 0.05
_FULL_PIPE_SECONDS = 0.001

# How long a worker whose pipe has ended may take to end too, and how long a report of an exception
# may come after the answer that announces it; in seconds.
_END_SECONDS = 1.0

# How long workers have to close, in general and where one is late or dead, and to end after they
# were asked to by a signal; in seconds.
_CLOSE_SECONDS = 10.0
_HURRIED_CLOSE_SECONDS = 0.5
_TERMINATE_SECONDS = 0.5


class CustomWorkers:
    """Processes that are asked all together, one request at a time.

    Every wait ends at its deadline or at the death of a worker. An answer that comes after its
    time-out is dropped: each worker answers in order, so it is known which ones are owed.

    Attributes:
        workers: One for each environment.
        dead: Indices of those that have died.
        owner: Process id of the process that made them.
        closed: Whether `close` has been called.
    """

    def __init__(self) -> None:
        """Begin without any; `workers` is filled by whoever starts them."""
        self.owner = os.getpid()
        self.workers: list[CustomProcess] = []
        self.dead: list[int] = []
        self._waiting: list[CustomProcess] = []
        self._pending = ""
        self._what = ""
        self.closed = False
        self._late = False

    def post(self, call: str, what: str, requests: list[bytes]) -> None:
        """Send a request to every worker.

        Args:
            call: What `wait` will be asked for.
            what: What it is, for errors.
            requests: One for each worker, from `pickled`.

        Raises:
            AlreadyPendingCallError: Nobody has waited for the last request.
            WorkerDied: A worker has died.
        """
        if self._pending:
            raise AlreadyPendingCallError(
                f"Calling `{call}_async` while waiting for a pending call to `{self._pending}` to "
                "complete.",
                self._pending,
            )
        dead = [w for w in self.workers if w.index in self.dead or not w.process.alive()]
        if dead:
            raise self._died(dead, what)
        asked: list[CustomProcess] = []
        try:
            for worker, request in zip(self.workers, requests, strict=True):
                worker.ask(request)
                asked.append(worker)
        except BaseException:
            for worker in asked:
                worker.forget()
            raise
        self._waiting = asked
        self._pending = call
        self._what = what

    def wait(self, call: str, method: str, timeout: float | None) -> list[Any]:
        """Return every worker's result of the pending request; nothing is pending afterwards.

        Args:
            call: What the request was posted as.
            method: The method that waits, for the message of a time-out.
            timeout: For how long, in seconds; None for ever.

        Raises:
            EnvironmentFailed: Workers reported exceptions.
            WorkerDied: A worker died.
            WorkerTimeout: Time is over; late answers will be dropped.
            NoAsyncCallError: There was no such request.
        """
        if self._pending != call:
            raise NoAsyncCallError(
                f"Calling `{call}_wait` without any prior call to `{call}_async`.", call
            )
        results: list[Any] = []
        failed: list[CustomProcess] = []
        try:
            deadline = None if timeout is None else time.monotonic() + timeout
            for worker in self.workers:
                self._wait_for(worker, deadline, method, timeout)
                self._waiting.remove(worker)
                result, success = self._checked(worker)
                results.append(result)
                if not success:
                    failed.append(worker)
            if failed:
                raise self._failed(failed)
        finally:
            for worker in self._waiting:
                worker.forget()
            self._waiting = []
            self._pending = ""
        self._late = False
        return results

    def _wait_for(
        self, worker: CustomProcess, deadline: float | None, method: str, timeout: float | None
    ) -> None:
        """Wait until the answer of one worker is here."""
        while True:
            alive = worker.process.alive()
            if worker.pump():
                return
            if worker.pipe.ended:  # nothing more will come
                worker.process.join(_END_SECONDS)
                alive = False
            if not alive:
                raise self._died([worker], self._what)
            pause = _SLICE_SECONDS
            if any(each.pipe.unsent for each in self._waiting):
                pause = _FULL_PIPE_SECONDS
            if deadline is not None:
                left = deadline - time.monotonic()
                if not left > 0:  # so that not a number is no reason to wait for ever
                    self._late = True
                    late = [each.index for each in self._waiting if not each.pump()]
                    assert timeout is not None
                    raise worker_timeout(late, method, timeout)
                pause = min(pause, left)
            if not worker.wait(pause):
                self._look_at_others(worker)

    def _look_at_others(self, worker: CustomProcess) -> None:
        """Notice the death of another worker that has not answered, and let the others go on."""
        dead = []
        for other in self._waiting:
            alive = other.process.alive()
            if not other.pump() and not alive and other is not worker:
                dead.append(other)
        if dead:
            raise self._died(dead, self._what)

    def _checked(self, worker: CustomProcess) -> tuple[Any, bool]:
        """Return a worker's result, and whether it was a success."""
        answer = worker.take()
        if isinstance(answer, Unreadable):
            error = answer.error
            failure = environment_failed(
                [worker.index], f"{self._what} (an answer that cannot be unpickled)", error
            )
            raise failure from error
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise wrong_answer(worker.index, self._what, "a pair (result, success)", answer)
        return answer

    def _failed(self, workers: list[CustomProcess]) -> EnvironmentFailed:
        """Return the exception for workers that answered with `(None, False)`."""
        failures: list[Failure] = []
        deadline = time.monotonic() + _END_SECONDS
        for worker in workers:
            while not worker.failures and time.monotonic() < deadline:
                worker.wait(_FULL_PIPE_SECONDS)
                worker.pump()
            failures += [failure._replace(call=self._what) for failure in worker.failures]
            worker.failures.clear()
        if failures:
            return failures_raised(failures)
        lanes = [worker.index for worker in workers]
        return environment_failed(
            lanes, self._what, None, name="an exception", text="the worker did not report which"
        )

    def _died(self, workers: list[CustomProcess], what: str) -> EnvironmentFailed:
        """Note that workers have died, and return the exception that says so."""
        fresh = [worker for worker in workers if worker.index not in self.dead]
        self.dead += [worker.index for worker in fresh]
        for worker in workers:
            worker.pump()
        first = workers[0]
        exit_code = first.process.exit_code()
        failures = [failure for worker in fresh for failure in worker.failures]
        if failures and exit_code is not None and exit_code >= 0:  # an exception ended the loop
            return failures_raised([failure._replace(call=what) for failure in failures])
        texts = [worker.told or worker.last_words.read() for worker in workers]
        lanes = [worker.index for worker in workers]
        text = "\n".join(filter(None, texts))
        return worker_died(lanes, what, exit_code, first.index, text)

    def close(self, timeout: float | None = None, terminate: bool = False) -> list[Failure]:
        """Ask the workers to close, and end every process. Never raises, never hangs.

        Args:
            timeout: How long the workers may take, in seconds; 0 ends the processes at once. None
                is 10 s, half a second where a worker is late or dead.
            terminate: End the processes without asking.

        Returns:
            What workers reported meanwhile.
        """
        if self.closed or os.getpid() != self.owner:  # a forked child owns none of the workers
            return []
        self.closed = True
        failures: list[Failure] = []
        if not terminate and timeout != 0.0:
            if timeout is None:
                hurried = self._late or self.dead
                timeout = _HURRIED_CLOSE_SECONDS if hurried else _CLOSE_SECONDS
            with contextlib.suppress(Exception):
                failures = self._ask_to_close(timeout)
        self._end_all()
        return failures

    def _ask_to_close(self, timeout: float) -> list[Failure]:
        deadline = time.monotonic() + timeout
        alive = [worker for worker in self.workers if worker.process.alive()]
        for worker in alive:
            if self._pending:
                worker.forget()
            worker.ask(pickled(("close", None)))
        for worker in alive:
            while worker.process.alive():
                left = deadline - time.monotonic()
                if left <= 0:
                    break
                for each in alive:
                    each.pump()
                worker.process.join(min(_SLICE_SECONDS, left))
            worker.pump()
        return [f._replace(call="close") for worker in alive for f in worker.failures]

    def _end_all(self) -> None:
        """End the processes that have not ended by themselves, all at the same time."""
        deadline = time.monotonic() + _TERMINATE_SECONDS
        for signal in ("terminate", "kill"):
            left = [worker for worker in self.workers if worker.process.alive()]
            for worker in left:
                with contextlib.suppress(OSError, ValueError):
                    getattr(worker.process.process, signal)()
            for worker in left:
                worker.process.join(max(0.0, deadline - time.monotonic()))
        for worker in self.workers:
            with contextlib.suppress(Exception):
                worker.close()


def wrong_answer(index: int, what: str, expected: str, answer: Any) -> EnvironmentFailed:
    """Return the exception for an answer that breaks the protocol.

    Args:
        index: Index of the environment.
        what: What was asked.
        expected: What the answer should have been.
        answer: What it was.
    """
    return EnvironmentFailed(
        f"the worker of environment {index} answered {what} with {answer!r:.200}, expected "
        f"{expected}",
        [index],
    )
