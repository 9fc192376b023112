"""A small process that forks the isolated tests.

A fork takes longer the more memory a process has, and workers started by a test are forks
too. A pytest process has hundreds of megabytes: the collected tests, and imports of earlier tests.
The template is forked from it before they are loaded.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import pickle
import signal
import socket
from collections.abc import Callable, Sequence
from importlib.util import find_spec

# Modules that isolated tests need, so they are imported once and not in each test.
PRELOAD = (
    "_posixshmem",
    "cloudpickle",
    "gymcore.envs.classic_control.cartpole",
    "gymcore.envs.toy_text.blackjack",
    "gymcore.native.env",
    "gymcore.native.vector_env",
    "gymcore.utils.passive_env_checker",
    "gymcore.vector.async_vector_env",
    "gymcore.vector.sync_vector_env",
    "gymcore_ext.physics.blackjack",
    "gymcore_ext.physics.cartpole",
    "gymcore_ext.physics.mountain_car_continuous",
    "gymcore_ext.physics.tabular",
    "multiprocessing.forkserver",
    "multiprocessing.popen_fork",
    "multiprocessing.queues",
    "multiprocessing.resource_tracker",
    "multiprocessing.spawn",
    "numpy.ctypeslib",
    "numpy.random",
    "secrets",
    "tests.vector.async_pairs",
    "tests.vector.contract",
    "tests.vector.fault_engines",
    "tests.vector.faulty_envs",
    "tests.vector.isolation",
    *(["gymcore.envs.mujoco.hopper_v5", "mujoco"] if find_spec("mujoco") else []),
)

_socket: socket.socket | None = None
_pid = 0


def start() -> None:
    """Start this process's template."""
    global _socket, _pid
    if not hasattr(os, "fork"):
        return
    _socket, other = socket.socketpair()
    _pid = os.fork()
    if _pid == 0:
        _socket.close()
        _socket = None
        try:
            _serve(other)
        finally:
            os._exit(0)
    other.close()


def has_one() -> bool:
    """Return whether this process has a template."""
    return _socket is not None


def end() -> None:
    """End this process's template, if it has one."""
    global _socket
    if _socket is not None:
        _socket.close()
        _socket = None
        os.waitpid(_pid, 0)


def call(function: Callable[..., None], report: int, *files: int) -> int:
    """Call `function(report, *files)` in a fork of the template.

    Args:
        function: Function to call; if it cannot be pickled, a fork of this process calls it.
        report: An open file. It receives a line with the number of the process, the function's
            output and, when it has ended, a line `["lost", text]` with its exit code.
        *files: Other open files.

    Returns:
        The number of a child of this process to wait for after the last line, or 0.
    """
    data = b""
    if _socket is not None:
        with contextlib.suppress(Exception):
            data = pickle.dumps(function)
    if data:
        socket.send_fds(_socket, [data], (1, 2, report, *files))  # type: ignore[list-item]
        return 0
    pid = os.fork()
    if pid == 0:
        try:
            _run(function, (1, 2, report, *files))
        finally:
            os._exit(0)
    return pid


def _serve(requests: socket.socket) -> None:
    """Run one function after another, until no process is left to request one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # from a terminal: pytest handles it
    while True:
        data, files, *_ = socket.recv_fds(requests, 1 << 20, 8)
        if not data:
            return
        try:
            for name in PRELOAD:  # costs time only once
                importlib.import_module(name)
            function = pickle.loads(data)
        except Exception as problem:
            os.write(files[2], f"0\n{_lost(repr(problem))}".encode())
        else:
            _run(function, files)
        for file in files:
            os.close(file)


def _run(function: Callable[..., None], files: Sequence[int]) -> None:
    """Call a function in a fork that prints to the first two files, and wait for its end."""
    output, errors, report, *others = files
    pid = os.fork()
    if pid == 0:
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.dup2(output, 1)
            os.dup2(errors, 2)
            os.write(report, f"{os.getpid()}\n".encode())
            function(report, *others)
        finally:
            os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with contextlib.suppress(BrokenPipeError):
        os.write(report, _lost(f"the process of the test ended with code {code}").encode())


def _lost(text: str) -> str:
    return json.dumps(["lost", text]) + "\n"
