"""docs/contract.md, sections 16 and 17: environments that fail, and worker processes."""

import functools
import itertools
import multiprocessing
import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from gymcore import error
from tests.vector.contract import NUM_WORKERS, SAME_STEP, same_bytes
from tests.vector.contract_envs import (
    CountingEnv,
    SingleLane,
    counting_env_fns,
    described,
    make_engine,
    space_env_fns,
)
from tests.vector.faulty_envs import wait_for_others

GO, CALL = 0, 9


class PoleBroke(Exception):
    """A user's exception, with a constructor that takes two arguments."""

    def __init__(self, lane, reason):
        super().__init__(f"{reason} in lane {lane}")
        self.reason = reason


def break_the_pole(lane):
    raise PoleBroke(lane, "the pole broke")


def raise_value_error(lane):
    raise ValueError(f"no fuel in lane {lane}")


def broken(python_backend, what=raise_value_error, lanes=(1,), num_envs=3, **kwargs):
    """Return an engine whose lane 1 raises on request."""
    fns = counting_env_fns(num_envs, lanes, what)
    return make_engine(python_backend, fns, **kwargs)


def works(envs):
    """Reset and step all lanes, and check the results."""
    n = envs.num_envs
    episodes = np.array(envs.get_attr("episode"))
    envs.reset()
    step = envs.step([3] * n)
    expected = np.stack([np.arange(n), episodes + 1, np.ones(n), np.full(n, 3)], axis=1)
    assert same_bytes(step[0], expected)
    assert step[1].tolist() == [1.0] * n


# 16 Environments that fail

CALLS = {
    "step": lambda envs: envs.step([GO, CALL, GO]),
    "some": lambda envs: envs.step([CALL, GO], env_ids=[1, 0]),
    "reset": lambda envs: envs.reset(options={"call": True}),
    "masked": lambda envs: envs.reset(
        options={"call": True, "reset_mask": np.array([False, True, True])}
    ),
    "call": lambda envs: envs.call("greet"),
    "set_attr": lambda envs: envs.set_attr("mood", "worse"),
    "render": lambda envs: envs.render(),
}


@pytest.mark.parametrize("call", CALLS)
def test_16_1_exceptions_name_the_lane(python_backend, call):
    with broken(python_backend) as envs:
        envs.reset()
        if call == "render":
            envs.set_attr("mood", "bad")
        with pytest.raises(error.EnvironmentFailed, match="no fuel in lane 1") as caught:
            CALLS[call](envs)
        assert isinstance(caught.value, ValueError)
        assert "environment 1 raised ValueError" in caught.value.message
        assert caught.value.lanes == [1]
        assert caught.value.exit_code is None
        works(envs)


def test_16_2_the_exception_is_also_of_its_own_class(python_backend):
    with broken(python_backend, break_the_pole) as envs:
        for _ in range(2):
            envs.reset()
            with pytest.raises(error.EnvironmentFailed) as caught:
                envs.step([GO, CALL, GO])
            assert isinstance(caught.value, PoleBroke) or "PoleBroke" in str(caught.value)
            assert "the pole broke in lane 1" in str(caught.value)
            # The origin: chained in this process, or the text of the exception in another one.
            chained = caught.value.__cause__
            text = caught.value.traceback
            assert "break_the_pole" in text or isinstance(chained, PoleBroke)
    with broken(python_backend) as envs:
        envs.reset()
        with pytest.raises(ValueError, match="no fuel in lane 1"):
            envs.step([GO, CALL, GO])


@pytest.mark.parametrize("call", ["step", "some", "reset", "masked"])
def test_16_3_then_only_a_full_reset_goes_on(python_backend, call):
    with broken(python_backend) as envs:
        envs.reset()
        for _ in range(2):
            with pytest.raises(error.EnvironmentFailed):
                CALLS[call](envs)
            for refused in (
                lambda: envs.step([GO] * 3),
                lambda: envs.step([GO], env_ids=[0]),
                lambda: envs.send([GO] * 3),
                lambda: envs.reset(options={"reset_mask": np.array([True, False, True])}),
            ):
                with pytest.raises(error.ResetNeeded):
                    refused()
            works(envs)


@pytest.mark.parametrize("call", ["call", "set_attr", "render"])
def test_16_4_other_calls_leave_episodes_alone(python_backend, call):
    with broken(python_backend) as envs:
        envs.reset()
        envs.step([1, 2, 3])
        envs.set_attr("mood", "bad")
        with pytest.raises(error.EnvironmentFailed):
            CALLS[call](envs)
        step = envs.step([4, 5, 6])
        assert step[0].tolist() == [[0, 1, 2, 4], [1, 1, 2, 5], [2, 1, 2, 6]]


def test_16_5_failures_in_partial_batches(python_backend):
    with broken(python_backend, num_envs=4, batch_size=2) as envs:
        for _ in range(2):
            envs.reset()
            envs.send([GO, CALL, GO, GO])
            with pytest.raises(error.EnvironmentFailed, match="no fuel") as caught:
                for _ in range(2):
                    assert 1 not in envs.recv(timeout=60)[4]["env_id"]
            assert isinstance(caught.value, ValueError)
            assert caught.value.lanes == [1]
            with pytest.raises(error.ResetNeeded):
                envs.send([GO], env_ids=[1])
        if python_backend == "sync":
            works(envs)


def test_16_6_several_lanes(python_backend):
    with broken(python_backend, lanes=(0, 3), num_envs=4) as envs:
        envs.reset()
        with pytest.raises(error.EnvironmentFailed, match="no fuel in lane 0") as caught:
            envs.step([CALL, GO, GO, CALL])
        assert caught.value.lanes[0] == 0
        assert set(caught.value.lanes) <= {0, 3}
        works(envs)


def refuse(lane):
    if lane == 2:
        raise OSError(28, "no room left")
    return CountingEnv(lane)


def test_16_7_constructors(python_backend):
    before = set(multiprocessing.active_children())
    with pytest.raises(error.EnvironmentFailed, match="no room left") as caught:
        make_engine(python_backend, [functools.partial(refuse, lane) for lane in range(4)])
    assert isinstance(caught.value, OSError)
    assert caught.value.lanes == [2]
    assert set(multiprocessing.active_children()) <= before


@pytest.mark.parametrize("result", [None, 3, (np.zeros(4), 1.0, False, {})])
def test_16_8_what_step_must_not_return(python_backend, result):
    class Odd(CountingEnv):
        def step(self, action):
            return result if self.lane == 1 and action == CALL else super().step(action)

    with make_engine(python_backend, [functools.partial(Odd, lane) for lane in range(3)]) as envs:
        envs.reset()
        with pytest.raises(error.EnvironmentFailed) as caught:
            envs.step([GO, CALL, GO])
        assert isinstance(caught.value, (TypeError, ValueError))
        assert caught.value.lanes == [1]
        works(envs)


def note(path, lane):
    with open(path, "a") as file:
        file.write(f"{lane}\n")
    if lane == 1:
        raise ValueError(f"stuck door in lane {lane}")


def test_16_9_close_closes_every_environment_once(python_backend, tmp_path):
    path = tmp_path / "closed"
    fns = counting_env_fns(4, closing=functools.partial(note, str(path)))
    envs = make_engine(python_backend, fns)
    envs.reset()
    with pytest.raises(error.EnvironmentFailed, match="stuck door in lane 1") as caught:
        envs.close()
    assert isinstance(caught.value, ValueError)
    assert caught.value.lanes == [1]
    assert envs.closed
    envs.close()
    assert sorted(path.read_text().split()) == ["0", "1", "2", "3"]


def test_16_10_close_after_a_failure(python_backend):
    envs = broken(python_backend)
    envs.reset()
    with pytest.raises(error.EnvironmentFailed):
        envs.step([GO, CALL, GO])
    envs.close()
    envs.close()
    assert envs.closed
    for call in (
        lambda: envs.step([GO] * 3),
        lambda: envs.reset(),
        lambda: envs.send([GO] * 3),
        lambda: envs.recv(),
    ):
        with pytest.raises(error.ClosedEnvironmentError):
            call()


# 17 Worker processes


def wait_for(path, lane):
    """Wait until a file exists."""
    deadline = time.monotonic() + 60
    while not Path(path).exists() and time.monotonic() < deadline:
        time.sleep(0.002)


def die(lane):
    os.kill(os.getpid(), signal.SIGKILL)


def processes_of(envs):
    return set(envs.get_attr("pid"))


class WithPid(CountingEnv):
    """Environment that reports its process."""

    @property
    def pid(self):
        return os.getpid()


def mortal(async_backend, num_envs=4, lane=3, **kwargs):
    """Return an engine of two workers; the second one can die in the given lane."""
    fns = [functools.partial(WithPid, i, die if i == lane else None) for i in range(num_envs)]
    return make_engine(async_backend, fns, **kwargs)


def test_17_1_calls_in_two_parts(async_backend, mode):
    env_fns = space_env_fns()
    with (
        make_engine(async_backend, env_fns, mode) as envs,
        make_engine("sync", env_fns, mode) as expected,
    ):
        envs.reset_async(seed=5)
        assert described(envs.reset_wait(timeout=60)) == described(expected.reset(seed=5))
        for _ in range(2):
            actions = np.array([1, 2, 3])
            envs.step_async(actions)
            assert described(envs.step_wait(timeout=60)) == described(expected.step(actions))
        envs.call_async("has_wrapper_attr", "length")
        assert envs.call_wait(timeout=60) == (True,) * 3


def test_17_2_pending_calls(async_backend):
    begin = {
        "reset": lambda: envs.reset_async(),
        "step": lambda: envs.step_async([GO] * 3),
        "call": lambda: envs.call_async("greet"),
    }
    with make_engine(async_backend, counting_env_fns()) as envs:
        envs.reset()
        waits = {"reset": envs.reset_wait, "step": envs.step_wait, "call": envs.call_wait}
        for name, wait in waits.items():
            with pytest.raises(error.NoAsyncCallError, match=f"{name}_async") as caught:
                wait()
            assert caught.value.name == name
        for name, wait in waits.items():
            begin[name]()
            for other in begin.values():
                with pytest.raises(error.AlreadyPendingCallError, match=f"`{name}`") as pending:
                    other()
                assert pending.value.name == name
            for other in waits.keys() - {name}:
                with pytest.raises(error.NoAsyncCallError):
                    waits[other]()
            with pytest.raises(error.AlreadyPendingCallError):
                envs.set_attr("mood", "fine")
            wait(timeout=60)


def test_17_3_late_replies_are_dropped(async_backend, tmp_path):
    path = tmp_path / "go"
    what = functools.partial(wait_for, str(path))
    with make_engine(async_backend, counting_env_fns(4, (3,), what)) as envs:
        envs.reset()
        envs.step_async([1, 1, 1, CALL])
        for _ in range(2):
            wait_for_others(envs)
            with pytest.raises(error.WorkerTimeout, match="timed out") as caught:
                envs.step_wait(timeout=0.05)
            assert isinstance(caught.value, multiprocessing.TimeoutError)
            assert isinstance(caught.value, TimeoutError)
            assert caught.value.lanes == [2, 3]
            envs.step_async([2, 2, 2, 2])  # waits for the late workers
        path.touch()
        step = envs.step_wait(timeout=60)
        assert step[0][:, 3].tolist() == [2] * 4
        assert step[0][:2, 2].tolist() == [3] * 2
        works(envs)


def test_17_4_recv_can_be_asked_again(async_backend, tmp_path):
    path = tmp_path / "go"
    what = functools.partial(wait_for, str(path))
    fns = counting_env_fns(4, (3,), what)
    with make_engine(async_backend, fns, batch_size=3) as envs:
        envs.reset()
        envs.send([CALL, 2], env_ids=[3, 2])
        envs.send([1], env_ids=[0])
        with pytest.raises(error.WorkerTimeout):
            envs.recv(timeout=0.05)
        path.touch()
        step = envs.recv(timeout=60)
        order = np.argsort(step[4]["env_id"])
        assert step[0][order][:, [0, 3]].tolist() == [[0, 1], [2, 2], [3, CALL]]


def test_17_5_a_dead_worker_is_an_error(async_backend):
    with mortal(async_backend) as envs:
        envs.reset()
        with pytest.raises(error.WorkerDied, match="environments 2-3") as caught:
            envs.step([GO, GO, GO, CALL])
        assert isinstance(caught.value, error.EnvironmentFailed)
        assert caught.value.lanes == [2, 3]
        assert caught.value.exit_code == -signal.SIGKILL
        for call in (
            lambda: envs.step([GO] * 4),
            lambda: envs.reset(),
            lambda: envs.call("greet"),
            lambda: envs.send([GO] * 4),
        ):
            with pytest.raises(error.WorkerDied):
                call()
    assert envs.closed


def test_17_6_a_dead_worker_is_started_again(async_backend, mode):
    with mortal(async_backend, mode=mode, on_worker_death="restart") as envs:
        first = processes_of(envs)
        envs.reset()
        envs.step([1, 1, 1, 1])
        step = envs.step([2, 2, 2, CALL])
        assert step[2].tolist() == [False] * 4
        assert step[3].tolist() == [False, False, True, True]
        assert step[1].tolist() == [2.0, 2.0, 0.0, 0.0]
        assert step[4]["worker_restarted"].tolist() == [False, False, True, True]
        assert step[4]["_worker_restarted"].tolist() == [False, False, True, True]
        # The last results; lane 2 may have been stepped before its worker died in lane 3.
        lost = [[[2, 1, 1, 1], [2, 1, 2, 2]], [[3, 1, 1, 1]]]
        fresh = [[2, 1, 0, -1], [3, 1, 0, -1]]
        assert step[0][:2].tolist() == [[0, 1, 2, 2], [1, 1, 2, 2]]
        last = step[0]
        if mode is SAME_STEP:
            assert step[0][2:].tolist() == fresh
            last = step[4]["final_obs"]
        assert all(last[i].tolist() in lost[i - 2] for i in (2, 3))
        if mode.value == "Disabled":
            envs.reset(options={"reset_mask": step[3]})
        step = envs.step([3, 3, 3, 3])
        assert step[0][:2].tolist() == [[0, 1, 3, 3], [1, 1, 3, 3]]
        assert not (step[2] | step[3]).any()
        assert "worker_restarted" not in step[4]
        second = processes_of(envs)
        assert len(first) == len(second) == 2
        assert len(first & second) == 1


def test_17_7_the_number_of_workers_changes_nothing(async_backend, mode):
    env_fns = space_env_fns("dict", "tuple", lengths=(3, 5, 2, 4, 3))
    results = []
    for num_workers in (1, 2, 5):
        with make_engine(async_backend, env_fns, mode, num_workers=num_workers) as envs:
            lanes = [SingleLane(fn(), mode) for fn in env_fns]
            assert len(lanes) == envs.num_envs
            assert envs.num_workers == num_workers
            envs.action_space.seed(2)
            run = [envs.reset(seed=2)]
            for _ in range(7):
                run.append(envs.step(envs.action_space.sample()))
                ended = run[-1][2] | run[-1][3]
                if mode.value == "Disabled" and ended.any():
                    run.append(envs.reset(options={"reset_mask": ended}))
            results.append(described(tuple(run)))
    assert results[0] == results[1] == results[2]


def test_17_8_workers_own_ranges_of_lanes(async_backend):
    fns = [functools.partial(WithPid, lane) for lane in range(5)]
    for options, count in (({"num_workers": 2}, 2), ({"num_workers": 9}, 5)):
        with make_engine(async_backend, fns, **options) as envs:
            pids = envs.get_attr("pid")
            assert len(set(pids)) == count
            assert os.getpid() not in pids
            changes = sum(one != other for one, other in itertools.pairwise(pids))
            assert changes == count - 1  # each has one range


@pytest.mark.filterwarnings("ignore:.*while waiting")
@pytest.mark.parametrize("pending", ["reset", "step", "call", "sent"])
def test_17_9_close_while_something_is_pending(async_backend, tmp_path, pending):
    what = functools.partial(wait_for, str(tmp_path / "never"))
    envs = make_engine(async_backend, counting_env_fns(4, (3,), what))
    envs.reset()
    if pending == "reset":
        envs.reset_async(options={"call": True})
    elif pending == "step":
        envs.step_async([GO, GO, GO, CALL])
    elif pending == "call":
        envs.call_async("greet")
    else:
        envs.send([GO, GO, GO, CALL])
    processes = set(envs._pool.processes)
    envs.close(timeout=0.05)
    assert envs.closed
    assert not processes & set(multiprocessing.active_children())


def use_in_a_child(envs, connection):
    try:
        envs.step([GO] * 3)
    except BaseException as problem:
        connection.send((type(problem).__name__, isinstance(problem, RuntimeError)))
    envs.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no os.fork")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_17_10_a_forked_child_leaves_the_workers_alone(async_backend):
    context = multiprocessing.get_context("fork")
    with make_engine(async_backend, counting_env_fns()) as envs:
        envs.reset()
        ours, theirs = context.Pipe()
        child = context.Process(target=use_in_a_child, args=(envs, theirs))
        child.start()
        assert ours.poll(60)
        assert ours.recv() == ("ForkedProcessError", True)
        child.join(60)
        assert child.exitcode == 0
        assert envs.step([1, 2, 3])[0][:, 3].tolist() == [1, 2, 3]


def test_17_11_close_from_another_thread_ends_a_wait(async_backend, tmp_path):
    what = functools.partial(wait_for, str(tmp_path / "never"))
    envs = make_engine(async_backend, counting_env_fns(4, (3,), what))
    envs.reset()
    envs.step_async([GO, GO, GO, CALL])
    with pytest.warns(UserWarning, match="while waiting"):
        envs.close(timeout=0.05, terminate=True)
    with pytest.raises(error.ClosedEnvironmentError):
        envs.step_wait()
    assert threading.active_count() >= 1


def lock_in_infos(lane):
    return np.zeros(4), 0.0, False, False, {"held": {"lock": threading.Lock()}}


def test_17_12_what_cannot_be_pickled(async_backend):
    with make_engine(async_backend, counting_env_fns(3, (1,), lock_in_infos)) as envs:
        envs.reset()
        with pytest.raises(error.EnvironmentFailed, match=r"lock") as caught:
            envs.step([GO, CALL, GO])
        assert isinstance(caught.value, TypeError)
        assert caught.value.lanes == [1]
        with pytest.raises((TypeError, AttributeError)):
            envs.call("set_wrapper_attr", "held", threading.Lock())
        works(envs)
    assert NUM_WORKERS == 2
