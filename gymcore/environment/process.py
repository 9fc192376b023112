"""An `Environment` in its own process: requests to it, and its replies."""

from __future__ import annotations

import math
import multiprocessing
import time
from collections.abc import Callable
from typing import Any

import cloudpickle

from gymcore.environment.requests import HostedEnvironment
from gymcore.error import ClosedEnvironmentError, WorkerDied
from gymcore.vector.workers.failures import (
    Failure,
    describe_failure,
    failures_raised,
    worker_died,
    worker_timeout,
)
from gymcore.vector.workers.messages import MessageStream
from gymcore.vector.workers.pool import WorkerProcess
from gymcore.vector.workers.worker import ProcessSetup, install_registered

__all__ = ["ProcessConnection"]

LANES = [0]
"""The environment, as messages number it."""

CLOSE_SECONDS = 10.0
"""How long an environment may take to close."""


def _always() -> bool:
    return True


def _serve(setup: ProcessSetup, pickled: bytes) -> None:
    """Make an environment, and answer requests until it is closed; the process's main function.

    Replies have the number of their request, so that the parent can tell late ones.
    """
    stream = MessageStream(setup.connection)
    number, verb = 0, "create"
    hosted: HostedEnvironment | None = None
    reply: Any
    while verb != "close":
        try:
            if hosted is None:
                install_registered(setup.registered)
                hosted = HostedEnvironment(cloudpickle.loads(pickled)())
                reply = hosted.hello()
            else:
                number, verb, arguments = stream.receive(math.inf, _always)
                reply = hosted.respond(verb, arguments)
                if verb == "close":
                    hosted.environment.close()
        except ConnectionError:  # the parent has closed the pipe
            break
        except Exception as exception:
            reply = describe_failure(0, verb, exception)
        stream.send((number, reply), math.inf, _always)
        if hosted is None:
            return


class ProcessConnection:
    """Requests to an environment in its own process, one at a time.

    Attributes:
        hello: What the environment says of itself (`HostedEnvironment.hello`).
    """

    def __init__(self, create: Callable[[], Any]) -> None:
        """Start the process and make the environment in it.

        Args:
            create: Makes the environment; it is pickled by cloudpickle.

        Raises:
            EnvironmentFailed: What making it has raised, of that class too.
            WorkerDied: The process has ended.
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
            (cloudpickle.dumps(create),),
        )
        try:
            self.hello = self.receive()
        except BaseException:
            self._end()
            raise

    def send(self, verb: str, *arguments: Any) -> None:
        """Send a request; a reply to an earlier one is dropped.

        Raises:
            ClosedEnvironmentError: After `close`, or after the process has ended.
            WorkerDied: The process has ended.
        """
        worker = self._open()
        self._number += 1
        self._verb = verb
        try:
            worker.stream.send((self._number, verb, arguments), math.inf, worker.alive)
        except ConnectionError:
            raise self._died() from None

    def receive(self, seconds: float | None = None) -> Any:
        """Return the reply to the last request.

        Args:
            seconds: How long to wait; None forever, 0 not at all.

        Returns:
            The reply; None if there is none and `seconds` is 0.

        Raises:
            EnvironmentFailed: What the environment has raised, of that class too.
            ClosedEnvironmentError: After `close`, or after the process has ended.
            WorkerDied: The process has ended.
            WorkerTimeout: It has not answered in time. Its reply is dropped when it comes.
        """
        worker = self._open()
        limit = math.inf if seconds is None else seconds
        deadline = time.monotonic() + limit
        while True:
            try:
                number, reply = worker.stream.receive(deadline, worker.alive)
            except ConnectionError:
                raise self._died() from None
            except TimeoutError:
                if limit == 0.0:
                    return None
                raise worker_timeout(LANES, self._verb, limit) from None
            if number == self._number:
                break
        if isinstance(reply, Failure):
            raise failures_raised([reply])
        return reply

    def close(self) -> None:
        """Close the environment and end its process, any number of times."""
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

    def _died(self) -> WorkerDied:
        worker = self._open()
        death = worker_died(LANES, self._verb, worker.exit_code(), 0, worker.crash_text())
        self._end()
        return death

    def _end(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.end()

    def __del__(self) -> None:
        """End the process."""
        if getattr(self, "_worker", None) is not None:
            self._end()
