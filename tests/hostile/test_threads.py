"""Threads that make every call of one environment, while another thread closes it."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gymcore import error
from gymcore.remote import RemoteVectorEnv
from tests.hostile.test_interrupts import ENGINES, calls_of, make
from tests.remote.servers import serving

pytestmark = [
    pytest.mark.hostile,
    pytest.mark.filterwarnings("ignore:.*Numba is not installed"),
    pytest.mark.filterwarnings("ignore:.*while waiting for a pending call"),  # of `close`
    # A thread may step for long before another one resets.
    pytest.mark.filterwarnings("ignore:.*environment has already returned terminated"),
]

# Exceptions that a call may raise if other threads have made calls since this thread's last one.
REFUSALS = (
    error.ConcurrentUseError,
    error.ClosedEnvironmentError,
    error.ResetNeeded,
    error.AlreadyPendingCallError,
    error.NoAsyncCallError,
    error.InvalidArgument,  # a `send` to lanes that are being stepped
    error.InvalidAction,  # not one action for each lane of the last `recv`
)


@contextlib.contextmanager
def quick_switches() -> Iterator[None]:
    """Let threads switch a thousand times as often."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def calls_of_remote(envs: Any) -> dict[str, Any]:
    action = envs.action_space.sample()
    return {
        "step": lambda: envs.step(action),
        "reset": lambda: envs.reset(seed=1),
        "get_attr": lambda: envs.get_attr("length"),
        "send": lambda: envs.send(action),
        "recv": lambda: envs.recv(timeout=20),
    }


def calls_beside(envs: Any) -> dict[str, Any]:
    """Return calls that may run concurrently."""
    if isinstance(envs, RemoteVectorEnv):
        return calls_of_remote(envs)
    calls = calls_of(envs)
    if "send and recv" in calls:
        action = envs.action_space.sample()
        calls |= {"send": lambda: envs.send(action), "recv": lambda: envs.recv(timeout=20)}
    if hasattr(envs, "step_async"):
        calls |= {"step_async": lambda: envs.step_async(action), "step_wait": envs.step_wait}
    return calls


@pytest.mark.parametrize("engine", [*ENGINES, "remote"])
def test_threads(engine: str, hostile_seed: int, rounds: Any) -> None:
    wrong: list[BaseException] = []
    with contextlib.ExitStack() as stack:
        stack.enter_context(quick_switches())
        if engine == "remote":
            address = stack.enter_context(serving(attributes=["length"])).address
        for number in rounds:
            envs = RemoteVectorEnv(None, address) if engine == "remote" else make(engine)
            envs.reset(seed=1)
            calls, done = list(calls_beside(envs).values()), threading.Event()

            def attempt(seed: int, calls: Any = calls, done: Any = done) -> None:
                rng = np.random.default_rng(seed)
                while not done.is_set():
                    try:
                        calls[rng.integers(len(calls))]()
                    except REFUSALS:
                        pass
                    except BaseException as problem:
                        wrong.append(problem)
                        return

            seeds = [(hostile_seed, number, k) for k in range(4)]
            threads = [threading.Thread(target=attempt, args=[s], daemon=True) for s in seeds]
            for thread in threads:
                thread.start()
            time.sleep(0.1)
            end = time.monotonic() + 1  # a busy environment may refuse many closes in a row
            while time.monotonic() < end:
                try:
                    envs.close()
                    break
                except error.ConcurrentUseError:
                    pass
            done.set()
            for thread in threads:
                thread.join(60)
                assert not thread.is_alive(), "a call that does not end"
            envs.close()
            if wrong:
                raise wrong[0]
