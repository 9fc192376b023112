"""Tests that run in processes of their own, under a deadline.

All effects of such a test (signals, forks, lost workers, a hang) end with its process.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import functools
import gc
import json
import multiprocessing
import os
import pickle
import select
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from typing import IO, Any

import pytest

from tests.vector import template
from tests.vector.faults import ON_PURPOSE
from tests.vector.leaks import (
    SETTLE_SECONDS,
    Process,
    alive,
    descendants,
    kill,
    no_leaks,
    wait_until,
)

_PR_SET_CHILD_SUBREAPER = 36
_GRACE = 2.0  # s, between the dump of the stacks and the kill
_START_SECONDS = 60.0  # for a process that only starts or ends


def isolated(
    seconds: float = 120.0, leaks: bool = True, settle: float = SETTLE_SECONDS
) -> Callable[[Any], Any]:
    """Run the test in a forked process, and fail if it exceeds the deadline.

    At the end the process must hold the same resources as at the beginning, and Python must not
    have printed exceptions that it could not raise. A hanging test fails with its threads' stacks.

    Args:
        seconds: The deadline, many times the duration of the test. Tests that start new
            interpreters get half a minute more: on a busy machine each takes seconds.
        leaks: Whether to compare the resources that the process holds.
        settle: Time in which resources may disappear by themselves.
    """

    def decorate(test: Any) -> Any:
        @functools.wraps(test)
        def run(*args: Any, **kwargs: Any) -> None:
            __tracebackhide__ = True
            # The start method of an engine that is the test's parameter, such as "shm-spawn".
            start_method = kwargs.get("engine", "").partition("-")[2] or "fork"
            deadline = seconds if start_method == "fork" else seconds + 30.0
            _run(run, args, kwargs, deadline, settle if leaks else None, start_method)

        run.isolated = test  # type: ignore[attr-defined]
        return run

    return decorate


class Fixture:
    """A fixture's value that is closed in the process in which the test ran."""

    def close(self) -> None:
        """Close everything that the test made with it."""


def run_in_fork(test: Callable[..., None], kwargs: dict[str, Any]) -> bool:
    """Run a test that starts processes in a fork of the template, where forks take less time.

    Returns:
        Whether that is possible: there is a template, and the arguments can be pickled.
    """
    __tracebackhide__ = True
    try:
        pickle.dumps((test, kwargs))
    except Exception:
        return False
    if not template.has_one():
        return False
    _run(test, (), kwargs, 120.0, None, "fork")
    return True


def _run(
    test: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    seconds: float,
    settle: float | None,
    start_method: str,
) -> None:
    __tracebackhide__ = True
    if not hasattr(os, "fork"):
        pytest.skip("needs os.fork")
    read_end, write_end = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    filters = list(warnings.filters)
    call = functools.partial(_child, test, args, kwargs, seconds, settle, start_method, filters)
    with tempfile.TemporaryFile("w+") as stacks, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # about a fork while there are threads
        child = template.call(call, write_end, stacks.fileno())
        os.close(write_end)
        pid, outcome, text = 0, "hung", ""
        with open(read_end, "rb", buffering=0) as file:
            report = _Report(file)
            try:
                pid = report.line(_START_SECONDS) or 0
                outcome, text = report.line(seconds + _GRACE) or ("hung", "")
            finally:
                if outcome == "hung" and pid:
                    kill(descendants(pid))
                    os.kill(pid, signal.SIGKILL)
                if outcome != "lost":
                    report.line(_START_SECONDS)
                if child:
                    os.waitpid(child, 0)
        if outcome == "hung":
            stacks.seek(0)
            pytest.fail(f"no end after {seconds} s:\n{stacks.read()}", pytrace=False)
    if outcome == "skipped":
        pytest.skip(text)
    if outcome != "passed":
        pytest.fail(text, pytrace=False)


class _Report:
    """The report of a test's process, line by line."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._lines: list[bytes] = [b""]

    def line(self, seconds: float) -> Any:
        """Return the next line, or None if it does not arrive in time."""
        end = time.monotonic() + seconds
        while len(self._lines) == 1:
            left = max(0.0, end - time.monotonic())
            piece = select.select([self._file], [], [], left)[0] and self._file.read(1 << 16)
            if not piece:
                return None
            self._lines = (self._lines[0] + piece).split(b"\n")
        return json.loads(self._lines.pop(0))


def _child(
    test: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    seconds: float,
    settle: float | None,
    start_method: str,
    filters: list[Any],
    report: int,
    stacks: int,
) -> None:
    """Run the test in the forked process, and report the outcome."""
    outcome, text = "failed", ""
    try:
        gc.freeze()  # the collector need not visit the parent's objects again
        faulthandler.dump_traceback_later(seconds, exit=False, file=stacks)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # `nohup` ignores it too
        become_subreaper()
        _forget_fork_server()
        warm_up(start_method)
        printed: list[str] = []
        sys.unraisablehook = lambda what: printed.extend(_unraisable_text(what))
        threading.excepthook = lambda what: printed.append(
            "".join(traceback.format_exception(what.exc_type, what.exc_value, what.exc_traceback))
        )
        warnings.resetwarnings()
        warnings.filters.extend(filters)  # type: ignore[attr-defined]
        warnings.simplefilter("ignore", DeprecationWarning)  # about a fork while there are threads
        with contextlib.nullcontext() if settle is None else no_leaks(settle):
            try:
                getattr(test, "isolated", test)(*args, **kwargs)
            finally:
                for value in kwargs.values():
                    if isinstance(value, Fixture):
                        value.close()
            gc.collect()
        assert not printed, "printed, not raised:\n" + "\n".join(printed)
        outcome = "passed"
    except pytest.skip.Exception as skip:
        outcome, text = "skipped", str(skip)
    except BaseException:
        text = traceback.format_exc()
    finally:
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
            kill(descendants())
            with open(report, "w") as file:
                file.write(json.dumps((outcome, text)) + "\n")


def _unraisable_text(what: Any) -> list[str]:
    text = "".join(traceback.format_exception(what.exc_type, what.exc_value, what.exc_traceback))
    return [] if ON_PURPOSE in text else [f"{what.err_msg} {what.object!r}\n{text}"]


def _forget_fork_server() -> None:
    """Make this process start its own fork server: its parent's is not its child."""
    from multiprocessing import forkserver

    forkserver._forkserver.__init__()  # type: ignore[misc]


def become_subreaper() -> None:
    """Adopt orphaned descendants of this process, so that they are found."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def warm_up(start_method: str) -> None:
    """Start `multiprocessing`'s helpers for a start method, so that they do not count as leaks."""
    if start_method == "forkserver":  # imports once for all workers
        names = ["gymcore.vector.async_vector_env", "tests.vector.faulty_envs"]
        multiprocessing.set_forkserver_preload(names)
    if start_method != "fork":
        process = multiprocessing.get_context(start_method).Process(target=len, args=((),))
        process.start()
        process.join()
        process.close()


class Script:
    """A Python program in an interpreter and a session of its own.

    Use it as a context manager in an isolated test: processes that are left are killed at the
    end.

    Attributes:
        process: The `subprocess.Popen`.
    """

    def __init__(self, code: str, *arguments: str) -> None:
        """Start the program; it finds `gymcore` and `tests` where this process finds them."""
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        self.process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=root,
            env={**os.environ, "PYTHONPATH": root, "OPENBLAS_NUM_THREADS": "1"},
            start_new_session=True,
        )
        self._printed = b""
        self._seen: set[Process] = set()

    def __enter__(self) -> Script:
        return self

    def __exit__(self, *exception: object) -> None:
        self.below()
        self.process.kill()
        kill(self._seen)
        self.process.communicate()
        self._reap()

    def line(self, seconds: float = 60.0) -> str:
        """Return the next line that the program prints."""
        assert self.process.stdout is not None
        end = time.monotonic() + seconds
        while b"\n" not in self._printed:
            left = max(0.0, end - time.monotonic())
            ready = select.select([self.process.stdout], [], [], left)[0]
            piece = self.process.stdout.read(1 << 16) if ready else b""
            if not piece:
                self.below()
                self.process.kill()
                kill(self._seen)
                error = self.process.communicate()[1].decode()
                pytest.fail(f"the program printed {self._printed!r} and {error}")
            self._printed += piece
        line, _, self._printed = self._printed.partition(b"\n")
        return line.decode()

    def go_on(self) -> None:
        """Record the processes below the program, then let it read a line."""
        assert self.process.stdin is not None
        self.below()
        self.process.stdin.write(b"\n")

    def below(self) -> set[Process]:
        """Return the processes below the program, including those recorded before."""
        self._seen |= descendants(self.process.pid)
        return self._seen

    def end(self, seconds: float = 60.0) -> tuple[int, str, str]:
        """Wait for the program's end; return its exit code, its output and its error output."""
        try:
            out, err = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.below()
            self.process.kill()
            # The program's workers may hold the pipes open.
            kill(self._seen)
            pytest.fail(f"no end after {seconds} s: {self.process.communicate()}")
        return self.process.returncode, (self._printed + out).decode(), err.decode()

    def all_gone(self, seconds: float = SETTLE_SECONDS) -> bool:
        """Wait for all processes that `below` has seen; return whether they ended."""
        gone = wait_until(lambda: not alive(self._seen), seconds)
        self._reap()
        return gone

    def _reap(self) -> None:
        """Reap dead processes that this process has adopted as their subreaper."""
        for one in self._seen:
            with contextlib.suppress(ChildProcessError, OSError):
                wait_until(lambda one=one: os.waitpid(one.pid, os.WNOHANG)[0], 1.0)
