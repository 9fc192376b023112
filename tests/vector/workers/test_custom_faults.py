"""Workers with a user-defined loop that break the protocol, die, hang or do not end."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

import gymcore
from gymcore.error import EnvironmentFailed, WorkerDied, WorkerTimeout
from tests.interrupts import interrupted
from tests.testing_env import make_counting_env
from tests.vector.custom_engines import Engine, custom_engines, engine_options, misbehaving
from tests.vector.custom_loops import PlainEnv, misbehaving_loop

CountingEnv = make_counting_env(gymcore)
METHODS = multiprocessing.get_all_start_methods()

# Python 3.12 warns about forks while NumPy has threads.
forking = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
needs_fork = pytest.mark.skipif("fork" not in METHODS, reason="no os.fork")
needs_proc = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="no /proc")


@pytest.fixture
def make():
    """Yield a function that makes engines; close them after the test."""
    with custom_engines() as make_one:
        yield make_one


@pytest.fixture
def late(tmp_path):
    """Return an action whose step lasts until `late.file` exists."""
    file = tmp_path / "file"
    return SimpleNamespace(action=f"wait {file}", file=file)


# Answers that break the protocol


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ("garbage", "an answer that cannot be unpickled"),
        ("none", r"environment 1 answered step with None, expected a pair \(result, success\)"),
        ("twice", r"environment 1 answered step with \[\(.*\), \(.*expected a pair"),
        ("short", r"environment 1 answered step with \(1, 2\), expected a tuple of 5"),
    ],
)
def test_wrong_answers(make, wish, message):
    engine = misbehaving(make)
    with pytest.raises(EnvironmentFailed, match=message):
        engine.step([5, wish])
    assert engine.step([1, 2])[1].tolist() == [1, 2]


# Deaths and hangs


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "wish", "message", "exit_code"),
    [
        *((method, "kill SIGKILL", "killed by SIGKILL", -9) for method in METHODS),
        (None, "exit 3", "exit code 3", 3),
        (None, "kill SIGSEGV", "killed by SIGSEGV", -11),
        (None, "return", "exit code 0", 0),
        (None, "hang_up", "not known", None),
    ],
)
def test_deaths(make, method, wish, message, exit_code):
    engine = misbehaving(make, 3, context=method)
    with pytest.raises(
        WorkerDied, match=f"worker 1 with environment 1 died in step: .*{message}"
    ) as e:
        engine.step([1, wish, 2])
    assert (e.value.lanes, e.value.exit_code) == ([1], exit_code)
    if exit_code == -11:
        assert "misbehave" in e.value.traceback
    with pytest.raises(WorkerDied):
        engine.reset([1, 2, 3])
    engine.close()


def test_death_beside_one_that_hangs(make):
    engine = misbehaving(make, 3)
    with pytest.raises(WorkerDied, match="environment 2"):
        engine.step(["hang", 1, "exit 1"])


def test_death_while_nothing_is_asked(make):
    engine = misbehaving(make)
    os.kill(engine.processes[1].pid, signal.SIGKILL)
    engine.processes[1].join(60)
    with pytest.raises(WorkerDied, match="SIGKILL"):
        engine.step_async([1, 2])


def silent_loop(*_):
    time.sleep(600)


def test_loops_that_do_not_answer_at_the_start():
    options = engine_options([PlainEnv] * 2, silent_loop, shared_memory=False)
    for start_timeout in (1.0, 10.0, 60.0):  # until the first loop starts within this time
        with pytest.raises(WorkerTimeout, match=r"not made within start_timeout=") as caught:
            Engine(options, start_timeout)
        if "in silent_loop" in str(caught.value):
            break
    assert "environment 0 waits here:" in str(caught.value)
    assert "in silent_loop" in str(caught.value)
    assert not multiprocessing.active_children()


def test_timeouts_drop_late_answers(make, late):
    engine = misbehaving(make)
    engine.step_async([3, late.action])
    multiprocessing.connection.wait([engine._workers[0].stream.fileno()], 60)
    with pytest.raises(WorkerTimeout, match=r"`step_wait` has timed out after 0.3 second.*1") as e:
        engine.step_wait(timeout=0.3)
    assert e.value.lanes == [1]
    assert isinstance(e.value, multiprocessing.TimeoutError)
    late.file.touch()
    for value in range(4):
        _, rewards, _, _, infos = engine.step([value, value + 1], timeout=60)
        assert rewards.tolist() == [value, value + 1]
        assert infos == [{"action": value}, {"action": value + 1}]


def test_many_timeouts(make, late):
    engine = misbehaving(make)
    engine.step_async([late.action] * 2)
    for timeout in (0, 0.01, -1, 0.02):
        with pytest.raises(WorkerTimeout):
            engine.step_wait(timeout)
        if timeout >= 0:
            engine.call_async("x", (timeout,), {})
            with pytest.raises(WorkerTimeout):
                engine.call_wait(timeout)
    late.file.touch()
    assert engine.call("y", (1,), {}) == [[1], [1]]


def test_half_of_an_answer(make):
    engine = misbehaving(make)
    engine.step_async([3, "half"])
    with pytest.raises(WorkerTimeout):
        engine.step_wait(timeout=0.2)
    engine.close()  # does not wait for the worker, whose 600 s exceed the test's time


@pytest.mark.slow
def test_requests_larger_than_a_pipe(make, late):
    engine = misbehaving(make)
    large = np.arange(3_000_000, dtype=np.float64)
    results = engine.call("large", (large,), {})
    assert all(np.array_equal(one, large) for [one] in results)
    infos = engine.step(["bulky", "bulky"])[-1]
    assert infos[0]["x"].sum() == 10**6
    # A loop that does not read: messages to it stay in the pipe, and block no process.
    engine.step_async([1, late.action])
    with pytest.raises(WorkerTimeout):
        engine.step_wait(timeout=0.1)
    engine.call_async("large", (large,), {})
    with pytest.raises(WorkerTimeout):
        engine.call_wait(timeout=0.1)
    late.file.touch()
    assert engine.step([1, 2], timeout=60)[1].tolist() == [1, 2]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs signal.setitimer")
def test_interrupt_in_a_wait(make, late):
    engine = misbehaving(make)
    engine.step_async([1, late.action])
    assert interrupted(engine.step_wait, 0.2)
    late.file.touch()
    assert engine.step([1, 2], timeout=60)[1].tolist() == [1, 2]


def test_interrupt_before_the_wait(make, late):
    engine = misbehaving(make)
    engine.step_async([1, late.action])
    late.file.touch()
    # A key press here raises an exception, and `step_wait` is never called.
    assert engine.step([1, 2], timeout=60)[1].tolist() == [1, 2]


@pytest.mark.parametrize("timeout", ["soon", float("nan")])
def test_timeouts_that_are_no_numbers(make, late, timeout):
    engine = misbehaving(make)
    engine.step_async([1, late.action])
    with pytest.raises((TypeError, WorkerTimeout)):
        engine.step_wait(timeout)
    late.file.touch()
    assert engine.step([1, 2], timeout=60)[1].tolist() == [1, 2]


def test_what_cannot_be_sent(make):
    engine = misbehaving(make)
    with pytest.raises(TypeError):
        engine.step_async([1, threading.Lock()])
    assert engine.step([1, 2])[1].tolist() == [1, 2]


# The end


def test_close(make):
    engine = make([CountingEnv] * 2)
    processes = [process.pid for process in engine.processes]
    assert engine.close() == []
    assert engine.close(timeout=1) == []
    assert engine.processes == []
    for pid in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.slow
@pytest.mark.parametrize("how", [{}, {"timeout": 0.2}, {"timeout": 0.0}])
@pytest.mark.parametrize("wish", ["hang", "ignore_signals", "half"])
def test_close_while_a_worker_hangs(make, wish, how):
    engine = misbehaving(make)
    engine.step_async([1, wish])
    with pytest.raises(WorkerTimeout):
        engine.step_wait(timeout=0.1)
    engine.close(**how)


def test_a_worker_that_sends_forever(make):
    engine = misbehaving(make)
    engine.step_async([1, "flood"])
    with pytest.raises(EnvironmentFailed, match=r"answered step with \[None, None"):
        engine.step_wait()
    engine.close(timeout=0.2)


def test_a_worker_that_sends_forever_while_another_one_is_slow(make, late):
    engine = misbehaving(make)
    engine.step_async([late.action, "flood"])
    for _ in range(30):
        with pytest.raises(WorkerTimeout):
            engine.step_wait(timeout=0.01)
    worker = engine._workers[1]
    assert len(worker.log) < 2000
    assert sum(map(len, worker.stream._incoming[0])) < 10 << 20  # what one call receives
    late.file.touch()
    with pytest.raises(EnvironmentFailed, match=r"answered step with \[None, None"):
        engine.step_wait()
    engine.close(timeout=0.2)


def test_close_while_a_call_is_pending(make, late):
    engine = misbehaving(make)
    engine.step_async([1, late.action])
    timer = threading.Timer(0.1, late.file.touch)
    timer.start()
    engine.close()
    timer.join()


def test_environments_whose_close_raises(make):
    parent = os.getpid()

    class Env(CountingEnv):
        def close(self):
            if os.getpid() != parent:
                raise OSError("no")

    engine = make([Env])
    [failure] = engine.close()
    assert (failure.class_name, failure.call, failure.message) == ("OSError", "close", "no")


@forking
@needs_fork
def test_a_fork_leaves_the_workers_alone(make):
    engine = misbehaving(make)
    pid = os.fork()
    if pid == 0:
        try:
            engine.close()
        finally:
            os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    assert engine.step([1, 2])[1].tolist() == [1, 2]


@forking
@needs_fork
@needs_proc
def test_workers_end_with_their_parent():
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()

    def parent():
        options = engine_options([PlainEnv] * 2, misbehaving_loop, shared_memory=False)
        engine = Engine(options)
        theirs.send([process.pid for process in engine.processes])
        engine.step(["hang", 1])

    process = context.Process(target=parent)
    process.start()
    assert ours.poll(60)
    pids = ours.recv()
    process.kill()
    process.join(60)
    deadline = time.monotonic() + 60
    while any(running(pid) for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):  # it ended before, or after, `open`
        return False


@pytest.mark.slow
@needs_proc
def test_nothing_is_left_open(make):
    def descriptors():
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    make([PlainEnv], misbehaving_loop, shared_memory=False).close()
    before = descriptors()
    for wish in (1, "exit 1", "hang", "hang_up"):
        engine = misbehaving(make)
        engine.step_async([1, wish])
        with contextlib.suppress(WorkerTimeout, WorkerDied):
            engine.step_wait(0.1)
        engine.close(timeout=0.2)
    assert descriptors() == before
