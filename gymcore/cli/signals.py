"""Handling of Ctrl-C and SIGTERM."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType


class Interruption:
    """A flag that records whether Ctrl-C was pressed; see `interruption`.

    Attributes:
        requested: Whether Ctrl-C was pressed.
    """

    requested = False


@contextlib.contextmanager
def interruption() -> Iterator[Interruption]:
    """Convert the first Ctrl-C in a `with` block to a flag, so that loops end between steps.

    The second Ctrl-C raises `KeyboardInterrupt` immediately. Outside the main thread, where Python
    delivers no signals, the flag stays False.

    Examples:
        >>> with interruption() as interrupted:
        ...     interrupted.requested
        False
    """
    state = Interruption()

    def handle(signum: int, frame: FrameType | None) -> None:
        if state.requested:
            raise KeyboardInterrupt
        state.requested = True

    with _handling(signal.SIGINT, handle):
        yield state


@contextlib.contextmanager
def stopping(stop: Callable[[], None]) -> Iterator[list[int]]:
    """Call `stop` on the first Ctrl-C or SIGTERM in a `with` block, and raise on the next one.

    The block receives a list to which the signal numbers are appended. The first signal raises
    nothing, because an environment's code might catch the exception.
    """
    numbers: list[int] = []

    def handle(signum: int, frame: FrameType | None) -> None:
        numbers.append(signum)
        if len(numbers) > 1:
            raise KeyboardInterrupt
        stop()

    with _handling(signal.SIGINT, handle), _handling(signal.SIGTERM, handle):
        yield numbers


@contextlib.contextmanager
def exit_on_sigterm() -> Iterator[None]:
    """Raise `SystemExit` on SIGTERM, so that `finally` clauses run, unless it is already handled.

    By default, the signal ends Python immediately and temporary files remain.
    """

    def leave(signum: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + signum)

    handled = signal.getsignal(signal.SIGTERM) != signal.SIG_DFL
    with contextlib.nullcontext() if handled else _handling(signal.SIGTERM, leave):
        yield


@contextlib.contextmanager
def _handling(number: int, handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Handle a signal in the block if this is the main thread; then restore the old handler."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, previous)
