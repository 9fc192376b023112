"""Exceptions at chosen instants of a call, as if raised by a signal handler."""

from __future__ import annotations

import itertools
import os
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any

import gymcore

PACKAGE = os.path.dirname(gymcore.__file__)


class Interrupt(BaseException):
    """Exception of these interrupts."""


def _traced(call: Callable[[], Any], before: Callable[[Any], None]) -> None:
    """Make the call; pass the frame to `before` at each bytecode instruction of gymcore."""

    def enter(frame: Any, event: str, arg: Any) -> Any:
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        caller = frame
        while caller is not None:
            if caller.f_code.co_name == "__del__":  # Python drops its exceptions
                return None
            caller = caller.f_back
        frame.f_trace_opcodes = True
        return execute

    def execute(frame: Any, event: str, arg: Any) -> Any:
        # Instructions without a line clean up, for example a generator that is freed, which drops
        # exceptions. Signal handlers do not run before them.
        if event == "opcode" and frame.f_lineno is not None:
            before(frame)
        return execute

    outer = sys.gettrace()
    sys.settrace(enter)
    try:
        call()
    finally:
        sys.settrace(outer)


def instructions(call: Callable[[], Any]) -> list[tuple[Any, int]]:
    """Make the call, and return the code and offset of each instruction it executes in gymcore."""
    executed: list[tuple[Any, int]] = []
    _traced(call, lambda frame: executed.append((frame.f_code, frame.f_lasti)))
    return executed


def raises_at(call: Callable[[], Any], instruction: int) -> bool:
    """Raise `Interrupt` before the n-th bytecode instruction that `call` executes in gymcore.

    Return whether the call got that far.
    """
    left = instruction

    def count(frame: Any) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            sys.settrace(None)
            raise Interrupt

    try:
        _traced(call, count)
    except Interrupt:
        return True
    return False


def at_every_instruction(call: Callable[[], Any], step: int = 1) -> Iterator[int]:
    """Repeat the call, raising at its first, second, ... instruction, until it runs to its end."""
    for instruction in itertools.count(0, step):
        if not raises_at(call, instruction):
            return
        yield instruction


def interrupted(call: Callable[[], Any], seconds: float) -> bool:
    """Make a call that a signal handler interrupts after this many seconds.

    Return whether the call took that long.
    """
    done = False

    def fire(number: int, frame: Any) -> None:
        if not done:
            raise Interrupt

    before = signal.signal(signal.SIGALRM, fire)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        call()
        done = True
    except Interrupt:
        return True
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return False
