"""Environments in processes of their own: results, errors, and ends."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

from gymcore.environment import Environment, RemoteEnvironment
from gymcore.error import (
    ClosedEnvironmentError,
    EnvironmentFailed,
    InvalidArgument,
    ResetNeeded,
    WorkerDied,
)
from tests.environment.environments import Counter, Counters
from tests.interrupts import interrupted


class Failing(Counter):
    """Environment that fails when its action or argument says so; action 9 waits for a file."""

    def __init__(self, fails: str = "", file: str = "") -> None:
        super().__init__()
        self.file = file
        if fails == "create":
            raise KeyError("no such thing")

    def actions(self):
        return {"type": "int"}

    def execute(self, actions):
        if actions == 7:
            raise ZeroDivisionError("seven")
        if actions == 8:
            os.kill(os.getpid(), signal.SIGKILL)
        while actions == 9 and not os.path.exists(self.file):
            time.sleep(0.001)
        return super().execute(actions)


@pytest.fixture
def remote():
    environments = []

    def create(*args, **kwargs):
        environments.append(Environment.create(*args, remote="multiprocessing", **kwargs))
        return environments[-1]

    yield create
    for environment in environments:
        environment.close()


def test_it_is_as_a_local_one(remote):
    arguments = {"max_episode_timesteps": 3, "reward_shaping": "reward * 2", "seed": 3}
    local, other = (
        Environment.create("CartPole-v1", **arguments),
        remote("CartPole-v1", **arguments),
    )
    assert isinstance(other, RemoteEnvironment) and str(other) == "GymEnvironment"
    for name in ("max_episode_timesteps", "is_vectorizable", "num_actors", "actions"):
        assert getattr(other, name)() == getattr(local, name)()
    assert np.array_equal(other.states()["min_value"], local.states()["min_value"])
    assert np.array_equal(other.reset(), local.reset())
    for action in (0, 1, 1):
        states, *ours = other.execute(action)
        expected, *theirs = local.execute(action)
        assert np.array_equal(states, expected) and ours == theirs
    assert np.array_equal(other.final_states(), local.final_states())
    other.seed(5), local.seed(5)
    parallel, states = other.reset(num_parallel=4)
    assert np.array_equal(states, local.reset(num_parallel=4)[1])
    while len(parallel):
        results = other.execute(np.zeros(len(parallel), int))
        expected = local.execute(np.zeros(len(parallel), int))
        assert all(map(np.array_equal, results, expected))
        assert (other.final_states() is None) == (local.final_states() is None)
        parallel = results[0]
    assert other.episode_return() is None


def test_errors_are_raised_as_themselves(remote):
    with pytest.raises(KeyError, match="no such thing"):
        remote(Failing, fails="create")
    environment = remote(Failing)
    with pytest.raises(ResetNeeded):
        environment.execute(0)
    environment.reset()
    with pytest.raises(ZeroDivisionError, match="seven") as caught:
        environment.execute(7)
    assert isinstance(caught.value, EnvironmentFailed) and "in execute" in caught.value.traceback
    assert environment.execute(0)[1:] == (0, 1.0)


def test_a_process_that_dies(remote):
    environment = remote(Failing)
    environment.reset()
    with pytest.raises(WorkerDied, match="SIGKILL"):
        environment.execute(8)
    with pytest.raises(ClosedEnvironmentError, match="process has ended"):
        environment.reset()
    environment.close()


def test_polling(remote, tmp_path):
    file = tmp_path / "file"
    environment = remote(Failing, file=str(file))
    environment.start_reset()
    while (result := environment.receive_execute()) is None:
        time.sleep(0.001)
    assert result == (0, -1, None)
    environment.start_execute(9)
    assert environment.receive_execute() is None
    file.touch()
    while (result := environment.receive_execute()) is None:
        time.sleep(0.001)
    assert result == (1, 0, 1.0)
    environment.start_execute(7)
    with pytest.raises(ZeroDivisionError):
        while environment.receive_execute() is None:
            time.sleep(0.001)
    with pytest.raises(ResetNeeded):
        environment.receive_execute()
    environment.start_execute(8)
    with pytest.raises(WorkerDied):
        while environment.receive_execute() is None:
            time.sleep(0.001)


def test_blocking(remote, tmp_path):
    file = tmp_path / "file"
    environment = remote(Failing, file=str(file), blocking=True)
    environment.start_reset()
    with pytest.raises(InvalidArgument, match="expected receive_execute between"):
        environment.start_execute(9)
    with pytest.raises(InvalidArgument, match="reset: expected receive_execute"):
        environment.reset()
    assert environment.receive_execute() == (0, -1, None)
    environment.start_execute(9)
    timer = threading.Timer(0.1, file.touch)
    timer.start()
    assert environment.receive_execute() == (1, 0, 1.0)
    timer.join()


def test_parallel_requests(remote):
    environment = remote(Counters, blocking=True)
    environment.start_reset(num_parallel=2)
    parallel, _, terminal, reward = environment.receive_execute()
    assert parallel.tolist() == [0, 1] and (terminal, reward) == (-1, None)
    environment.start_execute({"x": np.zeros(2)})
    parallel, _, terminal, _ = environment.receive_execute()
    assert parallel.tolist() == [1] and terminal.tolist() == [1, 0]
    assert environment.final_states()["step"].tolist() == [1]


def test_an_interrupted_wait_drops_its_reply(remote, tmp_path):
    file = tmp_path / "file"
    environment = remote(Failing, file=str(file))
    environment.reset()
    assert interrupted(lambda: environment.execute(9), 0.05)
    file.touch()
    assert environment.execute(0) == (2, 0, 2.0)


def test_close(remote):
    environment = remote(Counter)
    environment.close()
    environment.close()
    with pytest.raises(ClosedEnvironmentError):
        environment.reset()
