"""Which calls of an `AsyncVectorEnv` may follow which."""

from __future__ import annotations

import os
from enum import Enum

from gymcore.error import (
    AlreadyPendingCallError,
    ClosedEnvironmentError,
    ForkedProcessError,
    NoAsyncCallError,
)

__all__ = ["AsyncState", "AsyncStates"]


class AsyncState(Enum):
    """Which call is pending."""

    DEFAULT = "default"
    WAITING_RESET = "reset"
    WAITING_STEP = "step"
    WAITING_CALL = "call"


class AsyncStates:
    """The state of a vector environment whose calls have two halves."""

    closed: bool
    _state: AsyncState
    _owner: int  # process id of the process that made the environments

    def _check_workers(self) -> None:
        """Raise if a worker is known to have died."""

    def _check_outstanding(self, method: str) -> None:
        """Raise if environments of a partial batch are being stepped."""

    def _revive(self) -> None:
        """Start workers again that have died, if that is wanted."""

    def _assert_is_running(self) -> None:
        if self.closed:
            raise ClosedEnvironmentError(
                "Trying to operate on `AsyncVectorEnv`, after a call to `close()`."
            )
        if os.getpid() != self._owner:
            raise ForkedProcessError(
                f"{self} belongs to process {self._owner}; this process ({os.getpid()}) is a fork "
                "of it and has to make its own"
            )
        self._check_workers()

    def _begin(self, method: str, stop: str = ".", outstanding: bool = False) -> None:
        """Raise unless a call may begin; `outstanding`: also while lanes are being stepped."""
        self._assert_is_running()
        if self._state is not AsyncState.DEFAULT:
            raise AlreadyPendingCallError(
                f"Calling `{method}` while waiting for a pending call to `{self._state.value}` to "
                f"complete{stop}",
                self._state.value,
            )
        if not outstanding:
            self._check_outstanding(method)
        self._revive()

    def _pending(self, state: AsyncState) -> None:
        self._assert_is_running()
        if self._state is not state:
            raise NoAsyncCallError(
                f"Calling `{state.value}_wait` without any prior call to `{state.value}_async`.",
                state.value,
            )
