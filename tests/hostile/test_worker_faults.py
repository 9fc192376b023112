"""Workers that are killed and stopped, and processes without free descriptors."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import threading
from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from tests.vector.isolation import isolated
from tests.vector.leaks import descendants, wait_until

pytestmark = pytest.mark.hostile

NUM_ENVS = 6


class Counting(gym.Env[Any, Any]):
    """Environment that observes its step count three times, so that a torn row shows."""

    observation_space = gym.spaces.Box(0, np.inf, (3,), np.float64)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(3), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        return np.full(3, float(self.steps)), float(self.steps), False, False, {"steps": self.steps}


def make(**options: Any) -> Any:
    return gym.vector.AsyncVectorEnv(
        [Counting] * NUM_ENVS, num_workers=3, context="fork", on_worker_death="restart", **options
    )


def check_rows(results: Any) -> None:
    """Check that rows are whole: from one step, with its reward, or from an episode cut short."""
    observations, rewards, _, truncations, _ = results
    assert (observations == observations[:, :1]).all()
    assert ((rewards == observations[:, 0]) | truncations).all()


def check_works(envs: Any) -> None:
    """Check that the next reset of all lanes works, and the step after it."""
    assert (envs.reset(seed=1)[0] == 0).all()
    observations, rewards, *_ = envs.step([0] * NUM_ENVS)
    assert (observations == 1).all()
    assert (rewards == 1).all()


@pytest.mark.timeout(0)
def test_random_kills_and_stops(rng: np.random.Generator, rounds: Any) -> None:
    before = descendants()
    envs = make()
    check_works(envs)
    timers = []
    for _ in rounds:
        pid = envs.processes[rng.integers(3)].pid
        if rng.random() < 0.5:
            timer = threading.Timer(0.01 * rng.random(), _send, (pid, signal.SIGKILL))
        else:
            _send(pid, signal.SIGSTOP)
            timer = threading.Timer(0.05 * rng.random(), _send, (pid, signal.SIGCONT))
        timer.start()
        timers.append(timer)
        for _ in range(20):
            choice = rng.integers(3)
            with contextlib.suppress(error.WorkerDied, error.WorkerTimeout, error.ResetNeeded):
                if choice == 0:
                    check_rows(envs.step([0] * NUM_ENVS))
                elif choice == 1:
                    envs.step_async([0] * NUM_ENVS)
                    check_rows(envs.step_wait(timeout=0.02))
                else:
                    assert envs.call("get_wrapper_attr", "steps") is not None
        with contextlib.suppress(error.WorkerDied):  # a kill may arrive late
            assert (envs.reset(seed=1)[0] == 0).all()
            check_rows(envs.step([0] * NUM_ENVS))
    for timer in timers:
        timer.join()
    with contextlib.suppress(error.WorkerDied):
        envs.reset(seed=1)
    check_works(envs)
    envs.close()
    assert wait_until(lambda: descendants() == before)


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


@contextlib.contextmanager
def free_descriptors(count: int) -> Any:
    """Leave this process only this many descriptors to open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = max(map(int, os.listdir("/proc/self/fd"))) + 1
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + count, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("count", range(0, 40, 3))
@isolated()
def test_making_without_descriptors(count: int) -> None:
    """It is made, or an error gives the reason and nothing is left behind."""
    before = descendants()
    envs = None
    with free_descriptors(count), contextlib.suppress(OSError, error.Error):
        envs = make()
    if envs is not None:
        check_works(envs)
        envs.close()
    assert wait_until(lambda: descendants() == before)
    envs = make()
    check_works(envs)
    envs.close()


@pytest.mark.parametrize("count", range(0, 12, 2))
@isolated()
def test_a_restart_without_descriptors(count: int) -> None:
    """The restart fails, and the next reset with free descriptors repeats it."""
    envs = make()
    check_works(envs)
    with free_descriptors(count):
        os.kill(envs.processes[1].pid, signal.SIGKILL)
        for _ in range(3):
            with contextlib.suppress(OSError, error.Error):
                check_rows(envs.step([0] * NUM_ENVS))
    with contextlib.suppress(OSError, error.Error):
        envs.reset(seed=1)
    check_works(envs)
    envs.close()
