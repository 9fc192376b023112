"""The exceptions of gymcore, one tree under `Error`.

Exceptions also derive from the matching built-in (`ValueError`, `TypeError`, ...), so that
`except ValueError` and `except gymcore.error.Error` both work. Where the Gym API has always
used `assert`, the exception is also an `AssertionError`, so that code that catches
`AssertionError` keeps working.
"""

from __future__ import annotations

from collections.abc import Sequence


class Error(Exception):
    """Base of the exceptions in this module, of which most are also instances of a built-in class.

    Attributes that do not exist raise `AttributeError`, methods that a subclass has to define
    `NotImplementedError`, and files `OSError`.
    """


# Registry


class UnregisteredEnv(Error, LookupError):
    """The environment id is not in the registry."""


Unregistered = UnregisteredEnv
"""Another name of `UnregisteredEnv`: that of the base class in Gym 0.26."""


class NamespaceNotFound(UnregisteredEnv):
    """No registered id has this namespace."""


class NameNotFound(UnregisteredEnv):
    """The namespace exists (or none was given), but contains no environment of this name."""


class VersionNotFound(UnregisteredEnv):
    """The environment exists, but has no such version."""


class DeprecatedEnv(Error):
    """This version of the environment no longer exists; the message names its successor."""


class RegistrationError(Error):
    """The id conflicts with ids that are already registered."""


class DependencyNotInstalled(Error, ImportError):
    """An optional package is missing; the message contains the pip command that installs it."""


def bridge_hint(value: object) -> str:
    """Return a hint for error messages on converting a Gymnasium object; "" for other objects.

    Examples:
        >>> bridge_hint(3)
        ''
    """
    if any(cls.__module__.partition(".")[0] == "gymnasium" for cls in type(value).__mro__):
        return " (Gymnasium's: see gymcore.interop.gymnasium.from_gymnasium)"
    return ""


# Arguments


class InvalidArgument(Error, ValueError):
    """An argument has the right type, but an invalid value."""


class ConversionError(InvalidArgument):
    """A class cannot be converted to `gymcore.jit`, or the converted class differs from it.

    Attributes:
        obstacles: What cannot be converted: file, line, expression, reason and proposed change of
            each; empty if the results differ.
    """

    def __init__(self, message: str = "", obstacles: Sequence[object] = ()) -> None:
        super().__init__(message)
        self.obstacles = tuple(obstacles)


class ArgumentTypeError(Error, TypeError):
    """An argument has the wrong type."""


class FailedCheck(InvalidArgument, AssertionError):
    """An invalid value where the Gym API has always used `assert`: also an `AssertionError`."""


class FailedTypeCheck(ArgumentTypeError, AssertionError):
    """A wrong type where the Gym API has always used `assert`: also an `AssertionError`."""


class InvalidMask(FailedCheck):
    """A sampling mask or probability does not fit its space; nothing was drawn."""


class MissingArgument(Error):
    """A required argument was left out."""


class InvalidProbability(Error, ValueError):
    """A probability is outside its range."""


class InvalidBound(Error, ValueError):
    """A pair of bounds is not an interval, or is infinite where it must be finite."""


class InvalidMetadata(Error):
    """The environment's `metadata` lacks an entry, or an entry has the wrong form."""


class UnsupportedMode(Error):
    """The environment does not support this render mode (or another mode)."""


class CustomSpaceError(Error):
    """The operation requires one of gymcore's own spaces."""


class SpaceMismatch(Error, RuntimeError):
    """The environments' spaces differ too much to be batched; the message names them."""


class DeprecatedWrapper(Error, ImportError):
    """A wrapper's old name was used; the message contains the new name."""


# Life cycle


class ResetNeeded(Error, AssertionError):
    """`step` or `render` was called before `reset`."""


class InvalidAction(Error, AssertionError, ValueError, TypeError):
    """The action is outside its space or has the wrong dtype or shape; nothing was stepped."""


class ClosedEnvironmentError(Error):
    """The environment was used after `close`."""


class ConcurrentUseError(Error, RuntimeError):
    """Two threads called the same object at the same time."""


class StateNotSupported(Error, AttributeError):
    """An environment of a batch cannot save and restore its state."""


class CopyNotSupported(Error, TypeError):
    """The object owns processes, connections or files, so it cannot be copied or pickled."""


class ForkedProcessError(Error, RuntimeError):
    """A vector environment was used in a forked child of the process that owns its workers."""


# Sub-environments and worker processes


class EnvironmentFailed(Error):
    """Environments of a batch raised an exception.

    The exception is also an instance of the class that the environment raised, so that
    `except ValueError` catches a `ValueError`.

    Attributes:
        exit_code: The exit code of the process if it died (`WorkerDied`), otherwise None.
    """

    exit_code: int | None = None

    def __init__(self, message: str, lanes: Sequence[int] = (), traceback: str = "") -> None:
        """Store the parts of the message.

        Args:
            message: Description of the failure, without the traceback.
            lanes: Indices of the environments.
            traceback: Text of the traceback.
        """
        # Not super(): the class of the environment's exception may require other arguments.
        Exception.__init__(self, message)
        self.message = message
        self.lanes = list(lanes)
        self.traceback = traceback

    def __str__(self) -> str:
        return f"{self.message}\n\n{self.traceback}" if self.traceback else self.message


class WorkerDied(EnvironmentFailed):
    """A worker process ended by itself or was killed.

    Attributes:
        exit_code: The exit code of the process; `-9` if signal 9 killed it, None if unknown.
    """

    def __init__(
        self,
        message: str,
        lanes: Sequence[int] = (),
        traceback: str = "",
        exit_code: int | None = None,
    ) -> None:
        super().__init__(message, lanes, traceback)
        self.exit_code = exit_code


class WorkerTimeout(Error, TimeoutError):
    """Worker processes did not answer in time; the vector environment can still be used.

    If environments were not made in time, there is no vector environment, and the message shows
    where the first of them waits. The error is also a `multiprocessing.TimeoutError` and a
    `TimeoutError`.

    Attributes:
        lanes: Indices of the environments whose results are missing.
    """

    def __init__(self, message: str, lanes: Sequence[int] = ()) -> None:
        super().__init__(message)
        self.lanes = list(lanes)


class _PendingCallError(Error):
    """Base of the two errors that carry the name of a pending asynchronous call."""

    def __init__(self, message: str, name: str) -> None:
        """Store the message (as `str(error)`) and the name of the call.

        Args:
            message: Description of the error.
            name: The pending (or missing) call: "reset", "step" or "call".
        """
        super().__init__(message)
        self.name = name

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle both arguments; the default would lose `name` and fail to load."""
        return type(self), (str(self), self.name), vars(self)


class AlreadyPendingCallError(_PendingCallError):
    """An asynchronous call was made before the result of the pending one (`name`) was collected."""


class NoAsyncCallError(_PendingCallError):
    """A `*_wait` method was called without the matching `*_async` call (`name`)."""


class RemoteError(Error, ConnectionError):
    """An environment on another machine cannot be used any more, or not by this client.

    This class itself is raised if the server's answer violates the protocol or does not belong to
    the server's own spaces.
    """


class RemoteRefused(RemoteError):
    """The server rejected this client's key, protocol or request, or it serves another client."""


class RemoteTimeout(RemoteError, TimeoutError):
    """The server did not answer in time; a late reply is discarded."""
