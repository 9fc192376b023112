"""Ctrl-C and SIGTERM."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType


class Interruption:
    """Whether Ctrl-C was pressed; see `interruption`.

    Attributes:
        requested: True once it was.
    """

    requested = False


@contextlib.contextmanager
def interruption() -> Iterator[Interruption]:
    """Turn the first Ctrl-C inside a `with` block into a flag, so that loops end between steps.

    The second Ctrl-C raises `KeyboardInterrupt` at once. Outside the main thread, where Python
    delivers no signals, the flag stays False.

    Example:
        >>> with interruption() as interrupted:
        ...     interrupted.requested
        False
    """
    state = Interruption()

    def note(signum: int, frame: FrameType | None) -> None:
        if state.requested:
            raise KeyboardInterrupt
        state.requested = True

    with _handling(signal.SIGINT, note):
        yield state


@contextlib.contextmanager
def stopping(stop: Callable[[], None]) -> Iterator[list[int]]:
    """Let the first Ctrl-C or SIGTERM in a `with` block call `stop`, the next one raise.

    What the block gets is a list, to which they add their number. Nothing is raised in the middle
    of code of an environment, which could keep it.
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
    """Let SIGTERM raise `SystemExit`, so that `finally` clauses run, unless the program handles it.

    By default the signal ends Python at once, and temporary files would stay.
    """

    def leave(signum: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + signum)

    handled = signal.getsignal(signal.SIGTERM) != signal.SIG_DFL
    with contextlib.nullcontext() if handled else _handling(signal.SIGTERM, leave):
        yield


@contextlib.contextmanager
def _handling(number: int, handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Handle a signal in the block, if this is the main thread; then restore what did before."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, previous)
