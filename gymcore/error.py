"""The exceptions that gymcore raises on purpose, one tree under `Error`.

An exception also derives from the built-in that fits it (`ValueError`, `TypeError`, ...), so
`except ValueError` and `except gymcore.error.Error` both work. Where the Gym API has always
answered a mistake with an `assert`, the exception raised instead is an `AssertionError` as well, so
code that catches that keeps working.
"""

from __future__ import annotations

from collections.abc import Sequence


class Error(Exception):
    """Base of every exception that gymcore raises on purpose."""


# Registry


class UnregisteredEnv(Error, LookupError):
    """An environment id that the registry does not hold."""


class NamespaceNotFound(UnregisteredEnv):
    """No registered id has this namespace."""


class NameNotFound(UnregisteredEnv):
    """The namespace exists (or none was given), but holds no environment of this name."""


class VersionNotFound(UnregisteredEnv):
    """The environment exists, but never reached this version."""


class DeprecatedEnv(Error):
    """This version of the environment no longer exists; the message names its successor."""


class RegistrationError(Error):
    """The id conflicts with ids that are already registered."""


class DependencyNotInstalled(Error, ImportError):
    """An optional package is missing; the message has the pip command that installs it."""


def bridge_hint(value: object) -> str:
    """Return how to convert an object of Gymnasium's, for the end of a message; "" for others.

    Example:
        >>> bridge_hint(3)
        ''
    """
    if any(cls.__module__.partition(".")[0] == "gymnasium" for cls in type(value).__mro__):
        return " (Gymnasium's: see gymcore.interop.gymnasium.from_gymnasium)"
    return ""


# Arguments


class InvalidArgument(Error, ValueError):
    """An argument has the right type, but an invalid value."""


class ArgumentTypeError(Error, TypeError):
    """An argument has the wrong type."""


class FailedCheck(InvalidArgument, AssertionError):
    """A bad value where the Gym API has always asserted: also an `AssertionError`."""


class FailedTypeCheck(ArgumentTypeError, AssertionError):
    """A bad type where the Gym API has always asserted: also an `AssertionError`."""


class InvalidMask(FailedCheck):
    """A sampling mask or probability that does not fit its space; nothing has been drawn."""


class MissingArgument(Error):
    """A required argument was left out."""


class InvalidProbability(Error, ValueError):
    """A probability outside its range."""


class InvalidBound(Error, ValueError):
    """A pair of bounds that is not an interval, or that is infinite where it must be finite."""


class InvalidMetadata(Error):
    """The environment's `metadata` lacks an entry, or an entry has the wrong form."""


class UnsupportedMode(Error):
    """A render mode (or another mode) that the environment does not have."""


class CustomSpaceError(Error):
    """The space is not one of gymcore's own, and the operation needs one of those."""


class SpaceMismatch(Error, RuntimeError):
    """Environments whose spaces differ too much to be batched; the message names them."""


class DeprecatedWrapper(Error, ImportError):
    """A wrapper's old name was used; the message has the new one."""


# Life cycle


class ResetNeeded(Error, AssertionError):
    """`step` or `render` was called before `reset`."""


class InvalidAction(Error, AssertionError, ValueError, TypeError):
    """An action outside the action space, or of wrong dtype or shape; nothing has been stepped."""


class ClosedEnvironmentError(Error):
    """The environment was used after `close`."""


class ConcurrentUseError(Error, RuntimeError):
    """Two threads called the same object at once."""


class StateNotSupported(Error, AttributeError):
    """An environment of a batch that cannot save and restore its state."""


class ForkedProcessError(Error, RuntimeError):
    """A vector environment was used in a forked child of the process that owns its workers."""


# Sub-environments and worker processes


class EnvironmentFailed(Error):
    """Environments of a batch raised an exception.

    The exception is also an instance of the class that they raised, so that `except ValueError`
    catches a `ValueError`.

    Attributes:
        exit_code: None, or the exit code of the process if it died (`WorkerDied`).
    """

    exit_code: int | None = None

    def __init__(self, message: str, lanes: Sequence[int] = (), traceback: str = "") -> None:
        """Keep the parts of the message.

        Args:
            message: What happened, without the traceback.
            lanes: Indices of the environments.
            traceback: Text of the traceback.
        """
        # Not super(): the class of the environment's exception may want other arguments.
        Exception.__init__(self, message)
        self.message = message
        self.lanes = list(lanes)
        self.traceback = traceback

    def __str__(self) -> str:
        """Return the message and, below it, the traceback."""
        return f"{self.message}\n\n{self.traceback}" if self.traceback else self.message


class WorkerDied(EnvironmentFailed):
    """A worker process ended by itself or was killed.

    Attributes:
        exit_code: Of the process; `-9` for one that signal 9 killed, None if it is not known.
    """

    def __init__(
        self,
        message: str,
        lanes: Sequence[int] = (),
        traceback: str = "",
        exit_code: int | None = None,
    ) -> None:
        """Keep the parts of the message, and the exit code."""
        super().__init__(message, lanes, traceback)
        self.exit_code = exit_code


class WorkerTimeout(Error, TimeoutError):
    """Worker processes did not answer in time; the vector environment can still be used.

    Also a `multiprocessing.TimeoutError` and a `TimeoutError`.

    Attributes:
        lanes: Indices of the environments whose results are missing.
    """

    def __init__(self, message: str, lanes: Sequence[int] = ()) -> None:
        """Keep the message and the lanes."""
        super().__init__(message)
        self.lanes = list(lanes)


class _PendingCallError(Error):
    """Base of the two errors that carry the name of a pending asynchronous call."""

    def __init__(self, message: str, name: str) -> None:
        """Keep the message (as `str(error)`) and the name of the call.

        Args:
            message: What went wrong.
            name: The pending (or missing) call: "reset", "step" or "call".
        """
        super().__init__(message)
        self.name = name

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        """Pickle with both arguments; the default would lose `name` and fail to load."""
        return type(self), (str(self), self.name)


class AlreadyPendingCallError(_PendingCallError):
    """An asynchronous call was made while another one (`name`) still waits to be collected."""


class NoAsyncCallError(_PendingCallError):
    """A `*_wait` was called without the `*_async` call (`name`) that it waits for."""


class RemoteError(Error, ConnectionError):
    """An environment on another machine cannot be used any more, or not by this client.

    This class itself: the server has answered with something that is not of the protocol, or not of
    its own spaces.
    """


class RemoteRefused(RemoteError):
    """The server refuses this client's key, protocol or request, or it serves another client."""


class RemoteTimeout(RemoteError, TimeoutError):
    """The server did not answer in time; a late reply is dropped."""
