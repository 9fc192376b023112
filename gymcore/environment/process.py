"""An `Environment` in a separate process: requests and replies."""

from __future__ import annotations

import math
import multiprocessing
import time
from collections.abc import Callable

import cloudpickle

from gymcore.environment.requests import HostedEnvironment
from gymcore.error import ClosedEnvironmentError, WorkerDied
from gymcore.vector.workers.failures import (
    Failure,
    describe_failure,
    failures_error,
    worker_timeout_error,
)
from gymcore.vector.workers.messages import MessageStream
from gymcore.vector.workers.pool import WorkerProcess, workers_died_error
from gymcore.vector.workers.worker import ProcessSetup

ONE_LANE = [0]
"""Indices of lanes for error messages: the one environment is lane 0."""

CLOSE_SECONDS = 10.0
"""Time limit for closing an environment, in seconds."""


def _parent_is_alive() -> bool:
    return True


def _serve(setup: ProcessSetup, create: bytes) -> None:
    """Make an environment, and answer requests until it is closed; main function of the process.

    Replies have the number of their request, so that the parent can recognize late ones.
    """
    stream = MessageStream(setup.connection)
    number, verb = 0, "create"
    hosted: HostedEnvironment | None = None
    reply: object
    while verb != "close":
        try:
            if hosted is None:
                hosted = HostedEnvironment(cloudpickle.loads(create)())
                reply = hosted.hello()
            else:
                number, verb, arguments = stream.receive(math.inf, _parent_is_alive)
                reply = hosted.respond(verb, arguments)
                if verb == "close":
                    hosted.environment.close()
        except ConnectionError:  # the parent has closed the pipe
            break
        except Exception as exception:
            reply = describe_failure(0, verb, exception)
        stream.send((number, reply), math.inf, _parent_is_alive)
        if hosted is None:
            return


class ProcessConnection:
    """A connection that sends one request at a time to an environment in a separate process.

    Attributes:
        hello: The environment's description (`HostedEnvironment.hello`).
    """

    def __init__(self, create: Callable[[], object]) -> None:
        """Start the process and make the environment in it.

        Args:
            create: Function that makes the environment; it is pickled with cloudpickle.

        Raises:
            EnvironmentFailed: If `create` raises; the error is also of the original class.
            WorkerDied: If the process has ended.
        """
        self._number = 0
        self._verb = "create"
        self._worker: WorkerProcess | None = WorkerProcess(
            multiprocessing.get_context(),
            0,
            range(1),
            "Environment",
            True,
            (),
            _serve,
            cloudpickle.dumps(create),
            (),
        )
        try:
            self.hello = self.receive()
        except BaseException:
            self._end()
            raise

    def send(self, verb: str, *arguments: object) -> None:
        """Send a request; the reply to an earlier one is discarded.

        Raises:
            ClosedEnvironmentError: If the environment is closed, or its process ended earlier.
            WorkerDied: If the process has ended.
        """
        worker = self._open()
        self._number += 1
        self._verb = verb
        try:
            worker.stream.send((self._number, verb, arguments), math.inf, worker.alive)
        except ConnectionError:
            raise self._death_error() from None

    def receive(self, seconds: float | None = None) -> object:
        """Return the reply to the last request.

        Args:
            seconds: Time to wait; None for no limit, 0 to return immediately.

        Returns:
            The reply; None if there is none and `seconds` is 0.

        Raises:
            EnvironmentFailed: If the environment raised; the error is also of the original class.
            ClosedEnvironmentError: If the environment is closed, or its process ended earlier.
            WorkerDied: If the process has ended.
            WorkerTimeout: If there is no reply in time. A late reply is discarded.
        """
        worker = self._open()
        limit = math.inf if seconds is None else seconds
        deadline = time.monotonic() + limit
        while True:
            try:
                number, reply = worker.stream.receive(deadline, worker.alive)
            except ConnectionError:
                raise self._death_error() from None
            except TimeoutError:
                if limit == 0.0:
                    return None
                raise worker_timeout_error(ONE_LANE, self._verb, limit) from None
            if number == self._number:
                break
        if isinstance(reply, Failure):
            raise failures_error([reply])
        return reply

    def close(self) -> None:
        """Close the environment and end its process; can be called more than once."""
        if self._worker is None:
            return
        try:
            self.send("close")
            self.receive(CLOSE_SECONDS)
        except (WorkerDied, TimeoutError):
            pass
        finally:
            self._end()

    def _open(self) -> WorkerProcess:
        if self._worker is None:
            raise ClosedEnvironmentError(f"{self._verb}: the environment's process has ended")
        return self._worker

    def _death_error(self) -> WorkerDied:
        death = workers_died_error([self._open()], self._verb)
        self._end()
        return death

    def _end(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.end()

    def __del__(self) -> None:
        if getattr(self, "_worker", None) is not None:
            self._end()
