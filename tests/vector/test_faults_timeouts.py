"""Workers that are slow or never return: time-outs, and no reply taken for another."""

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
)
from tests.vector.isolation import isolated


def check_now(envs, results, least, most):
    """Check that results are what the environments are now, after so many steps in all.

    A worker does a step that nobody waits for any more; where it had not begun, it may pass it over
    when the next one is asked for.
    """
    observations, rewards, _, _, infos = results
    totals = list(envs.get_attr("total"))
    assert observations[:, 0].tolist() == list(range(NUM_ENVS))
    assert observations[:, 3].tolist() == totals
    assert rewards.tolist() == totals
    assert infos["total"].tolist() == totals
    assert least <= min(totals) <= max(totals) <= most


# Seconds in which the other lanes are done, also on a busy machine: only those that wait are late.
IN_TIME = 0.3


def check(timeout):
    assert isinstance(timeout, error.WorkerTimeout)
    assert isinstance(timeout, multiprocessing.TimeoutError)
    assert isinstance(timeout, TimeoutError)
    assert timeout.lanes == LOST_LANES


@engines(sync=False, more=["shm-forkserver"])
@isolated()
def test_a_late_step_is_not_taken_for_the_next_one(engine, tmp_path):
    done = tmp_path / "done"
    with engine_of(engine, make_fns("step", faults.wait_for(str(done)))) as envs:
        envs.reset(seed=1)
        for k in (1, 2):
            done.unlink(missing_ok=True)
            envs.step_async(actions(FAULTY_LANE))
            with pytest.raises(error.WorkerTimeout, match="step") as caught:
                envs.step_wait(timeout=IN_TIME)
            check(caught.value)
            done.touch()
            check_now(envs, envs.step(actions()), k + 1, 2 * k)


@ASYNC
@isolated()
def test_a_late_reset(engine, tmp_path):
    done = tmp_path / "done"
    with engine_of(engine, make_fns("reset", faults.wait_for(str(done)))) as envs:
        envs.reset_async(options={"fault": True})
        with pytest.raises(error.WorkerTimeout, match="reset") as caught:
            envs.reset_wait(timeout=IN_TIME)
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
        with pytest.raises(error.WorkerTimeout, match="call") as caught:
            envs.call_wait(timeout=IN_TIME)
        check(caught.value)
        done.touch()
        assert envs.call("greet", "two") == tuple(f"two from {i}" for i in range(NUM_ENVS))
        assert envs.step(actions())[0][:, 2].tolist() == [1] * NUM_ENVS


@ASYNC
@isolated()
def test_a_late_exception_is_dropped(engine):
    """Nobody waits any more for the step that raised; a reset is needed all the same."""

    def pause_and_raise():
        faults.pause(0.3)()
        raise ValueError("the pole broke")

    with engine_of(engine, make_fns("step", pause_and_raise)) as envs:
        envs.reset()
        envs.step_async(actions(FAULTY_LANE))
        with pytest.raises(error.WorkerTimeout):
            envs.step_wait(timeout=0.05)
        with pytest.raises(error.ResetNeeded):
            envs.step(actions())
        assert envs.reset()[0][:, 2].tolist() == [0] * NUM_ENVS
        assert envs.step(actions())[0][:, 2].tolist() == [1] * NUM_ENVS


@ASYNC
@isolated(seconds=60)
def test_many_time_outs(engine):
    """Steps, resets and calls with time-outs about as long as they take: all results are of now."""
    rng = np.random.default_rng(3)
    env_fns = make_fns("step", faults.pause(0.004), lanes=range(NUM_ENVS))
    late = 0
    with engine_of(engine, env_fns) as envs:
        envs.reset()
        least, most, resets = 0, 0, 1
        for k in range(120):
            kind = rng.integers(10)
            try:
                if kind == 0:
                    resets += 1
                    envs.reset_async()
                    observations, _ = envs.reset_wait(timeout=0.01 * rng.random())
                    assert (observations[:, 1] == envs.get_attr("resets")).all()
                    assert (observations[:, 2] == 0).all()
                elif kind == 1:
                    envs.call_async("greet", str(k))
                    greetings = envs.call_wait(timeout=0.01 * rng.random())
                    assert greetings == tuple(f"{k} from {i}" for i in range(NUM_ENVS))
                else:
                    most += 1
                    envs.step_async(actions(*np.flatnonzero(rng.random(NUM_ENVS) < 0.4)))
                    check_now(envs, envs.step_wait(0.01 * rng.random()), least + 1, most)
                    least = min(envs.get_attr("total"))
            except error.WorkerTimeout:
                late += 1
            except error.ResetNeeded:  # a reset was late
                most -= 1
                resets += 1
                envs.reset()
        assert max(envs.get_attr("resets")) <= resets
    assert 8 < late < 120


@ASYNC
@isolated()
def test_no_time_at_all(engine):
    with engine_of(engine, make_fns("step", faults.pause(0.2))) as envs:
        envs.reset()
        envs.step_async(actions(FAULTY_LANE))
        with pytest.raises(error.WorkerTimeout):
            envs.step_wait(timeout=0)
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


@engines_and("stuck", faults.STUCK)
@isolated()
def test_a_worker_that_never_returns(engine, stuck):
    envs = make_engine(engine, make_fns("step", faults.STUCK[stuck]))
    envs.reset()
    envs.step_async(actions(FAULTY_LANE))
    with pytest.raises(error.WorkerTimeout) as caught:
        envs.step_wait(timeout=IN_TIME)
    check(caught.value)
    for _ in range(2):
        envs.step_async(actions())
        with pytest.raises(error.WorkerTimeout):
            envs.step_wait(timeout=0.05)
    envs.close()
    assert envs.closed


@ASYNC
@isolated()
def test_messages_to_a_worker_that_never_returns(engine):
    """Requests that nobody takes fill the pipe; the parent does not wait for room for ever."""
    envs = make_engine(engine, make_fns("step", faults.sleep))
    envs.reset()
    envs.step_async(actions(FAULTY_LANE))
    with pytest.raises(error.WorkerTimeout):
        envs.step_wait(timeout=0.05)
    for _ in range(3):
        with pytest.raises(error.WorkerTimeout) as caught:
            envs.call_async("greet", "x" * 40_000)
            envs.call_wait(timeout=IN_TIME)
        check(caught.value)
    envs.close()
