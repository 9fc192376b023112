"""Workers that are slow or never return: time-outs, and no reply mistaken for another."""

import multiprocessing
import os
import signal

import numpy as np
import pytest

from gymcore import error
from tests.vector import faults
from tests.vector.fault_engines import ASYNC, engines, engines_and
from tests.vector.faulty_envs import (
    FAULTY_LANE,
    LOST_LANES,
    NUM_ENVS,
    actions,
    engine_of,
    make_engine,
    make_fns,
    wait_for_others,
)
from tests.vector.isolation import isolated
from tests.vector.leaks import wait_until


def check_now(envs, results, least, most):
    """Check that results are current: the environments have done `least` to `most` steps.

    A worker still does a step that the caller has abandoned; if it has not started it, it may skip
    it when the next one is requested.
    """
    observations, rewards, _, _, infos = results
    totals = list(envs.get_attr("total"))
    assert observations[:, 0].tolist() == list(range(NUM_ENVS))
    assert observations[:, 3].tolist() == totals
    assert rewards.tolist() == totals
    assert infos["total"].tolist() == totals
    assert least <= min(totals) <= max(totals) <= most


def check(timeout):
    assert isinstance(timeout, error.WorkerTimeout)
    assert isinstance(timeout, multiprocessing.TimeoutError)
    assert isinstance(timeout, TimeoutError)
    assert timeout.lanes == LOST_LANES


@pytest.mark.slow
@engines(sync=False, more=["shm-forkserver"])
@isolated()
def test_a_late_step_is_not_taken_for_the_next_one(engine, tmp_path):
    begun, done = tmp_path / "begun", tmp_path / "done"
    fault = faults.in_turn(faults.note(str(begun)), faults.wait_for(str(done)))
    with engine_of(engine, make_fns("step", fault)) as envs:
        envs.reset(seed=1)
        for k in (1, 2):
            begun.unlink(missing_ok=True)
            done.unlink(missing_ok=True)
            envs.step_async(actions(FAULTY_LANE))
            wait_for_others(envs)
            assert wait_until(begun.exists)
            with pytest.raises(error.WorkerTimeout, match="step") as caught:
                envs.step_wait(timeout=0.05)
            check(caught.value)
            done.touch()
            check_now(envs, envs.step(actions()), 2 * k, 2 * k)


@ASYNC
@isolated()
def test_a_late_reset(engine, tmp_path):
    done = tmp_path / "done"
    with engine_of(engine, make_fns("reset", faults.wait_for(str(done)))) as envs:
        envs.reset_async(options={"fault": True})
        wait_for_others(envs)
        with pytest.raises(error.WorkerTimeout, match="reset") as caught:
            envs.reset_wait(timeout=0.05)
        check(caught.value)
        with pytest.raises(error.ResetNeeded):
            envs.step(actions())
        done.touch()
        assert envs.reset()[0][:, 1].tolist() == [2] * NUM_ENVS
        assert envs.step(actions())[0][:, 2].tolist() == [1] * NUM_ENVS


@ASYNC
@isolated()
def test_a_late_call(engine, tmp_path):
    done = tmp_path / "done"
    with engine_of(engine, make_fns("call", faults.wait_for(str(done)))) as envs:
        envs.reset()
        envs.call_async("greet", "one")
        wait_for_others(envs)
        with pytest.raises(error.WorkerTimeout, match="call") as caught:
            envs.call_wait(timeout=0.05)
        check(caught.value)
        done.touch()
        assert envs.call("greet", "two") == tuple(f"two from {i}" for i in range(NUM_ENVS))
        assert envs.step(actions())[0][:, 2].tolist() == [1] * NUM_ENVS


@ASYNC
@isolated()
def test_a_late_exception_is_dropped(engine, tmp_path):
    """The caller no longer waits for the step that raised, but a reset is needed all the same."""
    begun, done = tmp_path / "begun", tmp_path / "done"
    fault = faults.in_turn(
        faults.note(str(begun)), faults.wait_for(str(done)), faults.raise_value_error
    )
    with engine_of(engine, make_fns("step", fault)) as envs:
        envs.reset()
        envs.step_async(actions(FAULTY_LANE))
        assert wait_until(begun.exists)
        with pytest.raises(error.WorkerTimeout):
            envs.step_wait(timeout=0.05)
        done.touch()
        with pytest.raises(error.ResetNeeded):
            envs.step(actions())
        assert envs.reset()[0][:, 2].tolist() == [0] * NUM_ENVS
        assert envs.step(actions())[0][:, 2].tolist() == [1] * NUM_ENVS


@ASYNC
@isolated()
def test_many_time_outs(engine):
    """Steps, resets and calls with time-outs near their duration: all results are current.

    Some calls in between have no time at all, and some have enough.
    """
    rng = np.random.default_rng(3)
    env_fns = make_fns("step", faults.pause(0.004), lanes=range(NUM_ENVS))
    late = 0
    with engine_of(engine, env_fns) as envs:
        envs.reset()
        least, most, resets = 0, 0, 1
        for k in range(120):
            kind = rng.integers(10)
            timeout = (0.0, 0.01 * rng.random(), 60.0)[k % 3]
            try:
                if kind == 0:
                    resets += 1
                    envs.reset_async()
                    observations, _ = envs.reset_wait(timeout)
                    assert (observations[:, 1] == envs.get_attr("resets")).all()
                    assert (observations[:, 2] == 0).all()
                elif kind == 1:
                    envs.call_async("greet", str(k))
                    greetings = envs.call_wait(timeout)
                    assert greetings == tuple(f"{k} from {i}" for i in range(NUM_ENVS))
                else:
                    most += 1
                    envs.step_async(actions(*np.flatnonzero(rng.random(NUM_ENVS) < 0.4)))
                    check_now(envs, envs.step_wait(timeout), least + 1, most)
                    least = min(envs.get_attr("total"))
            except error.WorkerTimeout:
                late += 1
            except error.ResetNeeded:  # a reset timed out
                most -= 1
                resets += 1
                envs.reset()
        assert max(envs.get_attr("resets")) <= resets
    assert 0 < late < 120


@ASYNC
@isolated()
def test_no_time_at_all(engine, tmp_path):
    done = tmp_path / "done"
    with engine_of(engine, make_fns("step", faults.wait_for(str(done)))) as envs:
        envs.reset()
        envs.step_async(actions(FAULTY_LANE))
        with pytest.raises(error.WorkerTimeout):
            envs.step_wait(timeout=0)
        done.touch()
        check_now(envs, envs.step(actions()), 1, 2)


@ASYNC
@isolated()
def test_a_worker_that_is_stopped_and_goes_on(engine):
    with engine_of(engine) as envs:
        envs.reset()
        pid = envs.get_attr("pid")[FAULTY_LANE]
        os.kill(pid, signal.SIGSTOP)
        for _ in range(3):
            envs.step_async(actions())
            with pytest.raises(error.WorkerTimeout):
                envs.step_wait(timeout=0.05)
        os.kill(pid, signal.SIGCONT)
        check_now(envs, envs.step(actions()), 1, 4)


@pytest.mark.slow
@engines_and("stuck", faults.STUCK)
@isolated()
def test_a_worker_that_never_returns(engine, stuck):
    envs = make_engine(engine, make_fns("step", faults.STUCK[stuck]))
    envs.reset()
    envs.step_async(actions(FAULTY_LANE))
    wait_for_others(envs)
    with pytest.raises(error.WorkerTimeout) as caught:
        envs.step_wait(timeout=0.05)
    check(caught.value)
    for _ in range(2):
        envs.step_async(actions())
        with pytest.raises(error.WorkerTimeout):
            envs.step_wait(timeout=0.05)
    envs.close()
    assert envs.closed


@pytest.mark.slow
@ASYNC
@isolated()
def test_messages_to_a_worker_that_never_returns(engine):
    """Unread requests fill the pipe; the parent does not wait for room forever."""
    envs = make_engine(engine, make_fns("step", faults.sleep))
    envs.reset()
    envs.step_async(actions(FAULTY_LANE))
    with pytest.raises(error.WorkerTimeout):
        envs.step_wait(timeout=0.05)
    for _ in range(3):
        with pytest.raises(error.WorkerTimeout) as caught:
            envs.call_async("greet", "x" * 40_000)
            envs.call_wait(timeout=0.3)
        assert {*LOST_LANES} <= {*caught.value.lanes}
    envs.close()
