"""Conversion of failures in environments and worker processes to exceptions of the parent."""

from __future__ import annotations

import functools
import multiprocessing
import pickle
import traceback
from collections.abc import Sequence
from typing import Any, NamedTuple

from gymcore import error
from gymcore.error import EnvironmentFailed, WorkerDied

_MAX_SHOWN = 8


class Failure(NamedTuple):
    """An exception of one environment, in a form that can be sent between processes.

    Attributes:
        lane: Index of the environment in the whole batch.
        call: The call that raised: "reset", "step", "render", ...
        class_name: Name of the exception's class.
        message: The message, `str(exception)`.
        traceback: Text of the traceback.
        pickled_class: Pickle of the class or of its nearest base that can be pickled, or None.
        pickled: Pickle of the exception, or None if it cannot be pickled.
    """

    lane: int
    call: str
    class_name: str
    message: str
    traceback: str
    pickled_class: bytes | None
    pickled: bytes | None


def describe_failure(lane: int, call: str, exception: BaseException) -> Failure:
    """Return a failure for any exception; it can always be pickled."""
    return Failure(
        lane,
        call,
        type(exception).__name__,
        _text(exception),
        _traceback_text(exception),
        _pickled_class(type(exception)),
        _pickled(exception),
    )


def failures_error(failures: Sequence[Failure]) -> EnvironmentFailed:
    """Return the exception for failures that worker processes reported."""
    first = failures[0]
    kind = _unpickled(first.pickled_class)
    original = _unpickled(first.pickled)
    failed = environment_error(
        [failure.lane for failure in failures],
        first.call,
        original if isinstance(original, BaseException) else None,
        "\n".join(failure.traceback for failure in failures),
        kind=kind if isinstance(kind, type) else None,
        name=first.class_name,
        text=first.message,
    )
    if isinstance(original, BaseException):
        failed.__cause__ = original
    return failed


def environment_error(
    lanes: Sequence[int],
    call: str,
    exception: BaseException | None,
    traceback_text: str | None = None,
    *,
    kind: type | None = None,
    name: str | None = None,
    text: str | None = None,
) -> EnvironmentFailed:
    """Return an `EnvironmentFailed` that, if possible, is also an instance of `exception`'s class.

    `call` is the call that raised in the environments `lanes`: "reset", "step", ... `kind`, `name`
    and `text` are the exception's class, the class's name and the message, if the exception itself
    could not be sent. `traceback_text` is None for exceptions of this process, which are chained.

    Examples:
        >>> error = environment_error([3], "step", ValueError("no fuel"))
        >>> str(error), isinstance(error, ValueError), error.lanes
        ('environment 3 raised ValueError in step: no fuel', True, [3])
    """
    if exception is not None:
        kind = type(exception)
        text = _text(exception) if text is None else text
    if kind is not None:
        name = kind.__name__
    message = f"{describe_lanes(lanes)} raised {name} in {call}{f': {text}' if text else ''}"
    combined = _combined_class(kind) if kind is not None else EnvironmentFailed
    try:
        return combined(message, lanes, traceback_text or "")
    except Exception:  # the class's constructor has another signature
        return EnvironmentFailed(message, lanes, traceback_text or "")


def worker_died_error(
    lanes: Sequence[int], call: str, exit_code: int | None, worker: int, traceback_text: str = ""
) -> WorkerDied:
    """Return the exception for a worker process that ended."""
    return WorkerDied(
        f"worker {worker} with {describe_lanes(lanes)} died in {call}: {_exit_text(exit_code)}",
        lanes,
        traceback_text,
        exit_code,
    )


class WorkerTimeout(error.WorkerTimeout, multiprocessing.TimeoutError):
    """A `WorkerTimeout` that is also a `multiprocessing.TimeoutError`, which is loaded here."""


def worker_timeout_error(lanes: Sequence[int], call: str, seconds: float) -> WorkerTimeout:
    """Return the exception for results that did not arrive in time."""
    return WorkerTimeout(
        f"The call to `{call}` has timed out after {seconds} second(s). No result from "
        f"{describe_lanes(lanes)}. The vector environment can still be used; late results are "
        "dropped.",
        lanes,
    )


def start_timeout_error(lanes: Sequence[int], seconds: float, where: str) -> WorkerTimeout:
    """Return the exception for environments that were not made in time; `where` is a traceback."""
    return WorkerTimeout(
        f"{describe_lanes(lanes)}: not made within start_timeout={seconds} second(s)"
        + (f"; {describe_lanes(lanes[:1])} waits here:\n\n{where}" if where else ""),
        lanes,
    )


def describe_lanes(lanes: Sequence[int]) -> str:
    """Return "environment 3" or "environments 0-4, 9", shortened if there are many pieces."""
    if len(lanes) == 1:
        return f"environment {lanes[0]}"
    pieces: list[str] = []
    ordered = sorted(lanes)
    start = 0
    for i in range(1, len(ordered) + 1):
        if i == len(ordered) or ordered[i] != ordered[i - 1] + 1:
            first, last = ordered[start], ordered[i - 1]
            pieces.append(f"{first}" if first == last else f"{first}-{last}")
            start = i
    if len(pieces) > _MAX_SHOWN:
        pieces = [*pieces[:_MAX_SHOWN], "..."]
    return f"environments {', '.join(pieces)}"


@functools.lru_cache(maxsize=256)
def _combined_class(kind: type) -> type[EnvironmentFailed]:
    """Return a subclass of `EnvironmentFailed` and `kind`, or `EnvironmentFailed` if impossible."""
    if not issubclass(kind, Exception) or issubclass(kind, EnvironmentFailed):
        return EnvironmentFailed
    try:
        return type(
            kind.__name__,
            (EnvironmentFailed, kind),
            {
                "__doc__": f"{kind.__name__} of an environment in a batch.",
                "__module__": kind.__module__,
                "__reduce__": _reduce_combined,
                "_kind": kind,
            },
        )
    except TypeError:
        return EnvironmentFailed


def _reduce_combined(self: Any) -> tuple[object, ...]:
    return _rebuilt, (self._kind, self.message, self.lanes, self.traceback), vars(self)


def _rebuilt(
    kind: type, message: str, lanes: Sequence[int], traceback_text: str
) -> EnvironmentFailed:
    return _combined_class(kind)(message, lanes, traceback_text)


def _exit_text(exit_code: int | None) -> str:
    if exit_code is None:
        return "its exit code is not known"
    if exit_code < 0:
        import signal

        try:
            return f"killed by {signal.Signals(-exit_code).name} (exit code {exit_code})"
        except ValueError:
            pass
    return f"exit code {exit_code}"


def _text(exception: BaseException) -> str:
    try:
        return str(exception)
    except Exception as problem:
        return f"<its message cannot be shown: {type(problem).__name__}>"


def _traceback_text(exception: BaseException) -> str:
    try:
        lines = traceback.format_exception(type(exception), exception, exception.__traceback__)
    except Exception:  # an exception whose own methods fail
        lines = [*traceback.format_tb(exception.__traceback__), type(exception).__name__]
    return "".join(lines).rstrip()


def _pickled_class(kind: type) -> bytes | None:
    for base in kind.__mro__:
        if base is Exception:
            break
        data = _pickled(base)
        if data is not None:
            return data
    return None


def _pickled(value: object) -> bytes | None:
    """Return the pickle of a class or exception, or None if it cannot be pickled and loaded."""
    try:
        data = pickle.dumps(value)
        pickle.loads(data)
    except Exception:
        return None
    return data


def _unpickled(data: bytes | None) -> object:
    if data is None:
        return None
    try:
        return pickle.loads(data)
    except Exception:
        return None
