"""Faults of an environment, as functions without arguments that cause them."""

from __future__ import annotations

import collections
import contextlib
import ctypes
import functools
import itertools
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

Fault = Callable[[], Any]

# Part of the message of an exception that Python can only print, as in `__del__`: no accident.
ON_PURPOSE = "raised on purpose"


# Faults that are exceptions


class TwoArguments(Exception):
    """Exception that cannot be made again from `args`, which is how exceptions are pickled."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(f"{code}: {reason}")
        self.code = code


class HoldsALock(Exception):
    """Exception that cannot be pickled."""

    def __init__(self) -> None:
        super().__init__("it holds a lock")
        self.lock = threading.Lock()


class WillNotLoad(ValueError):
    """Exception that can be pickled, but fails to load."""

    def __reduce__(self) -> Any:
        return _fail_to_load, ()


class NoText(ValueError):
    """Exception that has neither `str` nor `repr`."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


def _fail_to_load() -> Any:
    raise RuntimeError("will not load")


def raise_value_error() -> None:
    raise ValueError("the pole broke")


def raise_two_arguments() -> None:
    raise TwoArguments(7, "the pole broke")


def raise_with_lock() -> None:
    raise HoldsALock


def raise_will_not_load() -> None:
    raise WillNotLoad("the pole broke")


def raise_no_text() -> None:
    raise NoText


def raise_local_class() -> None:
    class Local(ValueError):
        pass

    raise Local("the pole broke")


def raise_chained() -> None:
    try:
        raise KeyError("pole")
    except KeyError as error:
        raise OSError(5, "the pole broke", "pole.txt") from error


def raise_long_text() -> None:
    raise ValueError("the pole broke" * 200_000)


def raise_memory_error() -> None:
    """Reach the memory limit, as set by a cluster."""
    import resource

    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), hard))
    blocks = []
    try:
        while True:
            blocks.append(bytearray(1 << 20))
    finally:
        blocks.clear()
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


# Faults that end the process


def die(signal_number: int) -> None:
    os.kill(os.getpid(), signal_number)


def die_by_bad_pointer() -> None:
    ctypes.string_at(0)


def exit_at_once() -> None:
    os._exit(7)


def exit_in_python() -> None:
    sys.exit(3)


sigkill = functools.partial(die, signal.SIGKILL)
sigsegv = functools.partial(die, signal.SIGSEGV)
sigterm = functools.partial(die, signal.SIGTERM)


def run_out_of_memory() -> None:
    """Reach the memory limit with no memory left to report it."""
    import resource

    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used, resource.getrlimit(resource.RLIMIT_AS)[1]))
    for size in (1 << 20, 1 << 16, 1 << 12, 1 << 6):
        with contextlib.suppress(MemoryError):
            while True:
                _kept.append(bytearray(size))
    raise MemoryError


_kept: list[bytearray] = []


# Faults that never return


def loop() -> None:
    while True:
        pass


def loop_holding_the_gil() -> None:
    """Loop in C: neither Python's signal handlers nor other threads of it ever run."""
    collections.deque(itertools.repeat(0), maxlen=0)


def sleep() -> None:
    while True:
        time.sleep(1000)


def ignoring_sigterm(fault: Fault) -> None:
    with contextlib.suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    fault()


def stop() -> None:
    """Stop, as under a debugger: only SIGKILL ends a stopped process."""
    os.kill(os.getpid(), signal.SIGSTOP)


STUCK: dict[str, Fault] = {
    "loop": loop,
    "loop_holding_the_gil": loop_holding_the_gil,
    "sleep": sleep,
    "sleep_ignoring_sigterm": functools.partial(ignoring_sigterm, sleep),
    "loop_ignoring_sigterm": functools.partial(ignoring_sigterm, loop_holding_the_gil),
    "stopped": stop,
}

# Deaths with their exit codes, as multiprocessing reports them.
DEATHS: dict[str, tuple[Fault, int]] = {
    "sigkill": (sigkill, -signal.SIGKILL),
    "sigsegv": (sigsegv, -signal.SIGSEGV),
    "bad_pointer": (die_by_bad_pointer, -signal.SIGSEGV),
    "sigterm": (sigterm, -signal.SIGTERM),
    "exit": (exit_at_once, 7),
}


# Faults that pass


def pause(seconds: float) -> Fault:
    """Return a fault that takes some time."""
    return functools.partial(time.sleep, seconds)


def wait_for(path: str) -> Fault:
    """Return a fault that lasts until a file exists."""
    return functools.partial(_wait_for, path)


def _wait_for(path: str) -> None:
    while not os.path.exists(path):
        time.sleep(0.01)


def note(path: str) -> Fault:
    """Return a fault that adds a line to a file, in whichever process it runs."""
    return functools.partial(_note, path)


def _note(path: str) -> None:
    with open(path, "a") as file:
        file.write(f"{os.getpid()}\n")


def in_turn(*faults: Fault) -> Fault:
    """Return a fault that runs several faults in order."""
    return functools.partial(_in_turn, faults)


def _in_turn(faults: tuple[Fault, ...]) -> None:
    for fault in faults:
        fault()


def interrupt(pid: int) -> Fault:
    """Return a fault that interrupts one process as Ctrl-C does."""
    return functools.partial(os.kill, pid, signal.SIGINT)


def announce() -> None:
    """Print a line to the standard output of the program's first process."""
    os.write(1, b"begun\n")


def raise_unseen() -> None:
    """Raise an exception in `__del__`, which Python only prints."""
    raise ValueError(ON_PURPOSE)
