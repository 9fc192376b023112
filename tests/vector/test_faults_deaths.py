"""Worker processes that end are noticed at once, named, and removed."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from gymcore import error
from tests.vector import faults
from tests.vector.fault_engines import ASYNC, engines_and
from tests.vector.faulty_envs import (
    FAULTY_LANE,
    LOST_LANES,
    NUM_ENVS,
    FaultyEnv,
    actions,
    engine_of,
    make_engine,
    make_fns,
)
from tests.vector.isolation import isolated
from tests.vector.leaks import alive, descendants, wait_until


def check(death, exit_code, lanes=LOST_LANES):
    assert isinstance(death, error.WorkerDied)
    assert death.lanes == lanes
    assert death.exit_code == exit_code
    assert ("environments 2-3" if lanes == LOST_LANES else "environments 0-3") in str(death)
    assert str(exit_code) in str(death)


def every_call(envs):
    """Return all calls that need the workers."""
    return [
        lambda: envs.step(actions()),
        lambda: envs.reset(),
        lambda: envs.reset(options={"reset_mask": np.array([False, False, True, False])}),
        lambda: envs.render(),
        lambda: envs.call("greet"),
        lambda: envs.get_attr("lane"),
        lambda: envs.set_attr("mood", "bad"),
        lambda: envs.step_async(actions()) or envs.step_wait(),
        lambda: envs.reset_async() or envs.reset_wait(),
        lambda: envs.call_async("greet") or envs.call_wait(),
    ]


@pytest.mark.slow
@engines_and("name", faults.DEATHS, more=["shm-spawn", "shm-forkserver"])
@isolated()
def test_in_step(engine, name):
    fault, exit_code = faults.DEATHS[name]
    envs = make_engine(engine, make_fns("step", fault))
    envs.reset(seed=1)
    envs.step(actions())
    with pytest.raises(error.WorkerDied) as caught:
        envs.step(actions(FAULTY_LANE))
    check(caught.value, exit_code)
    assert "step" in str(caught.value)
    for call in every_call(envs):
        with pytest.raises(error.WorkerDied) as caught:
            call()
        check(caught.value, exit_code)
    envs.close()
    assert envs.closed
    envs.close()
    for call in every_call(envs):
        with pytest.raises(error.ClosedEnvironmentError):
            call()


@ASYNC
@isolated()
def test_a_crash_in_c_tells_where(engine):
    """`faulthandler` prints the Python stack of a worker that received a fatal signal."""
    with engine_of(engine, make_fns("step", faults.die_by_bad_pointer)) as envs:
        envs.reset()
        with pytest.raises(error.WorkerDied) as caught:
            envs.step(actions(FAULTY_LANE))
        assert "die_by_bad_pointer" in caught.value.traceback
        assert "die_by_bad_pointer" in str(caught.value)


@engines_and("place", ["reset", "render", "call", "set"])
@isolated()
def test_elsewhere(engine, place):
    with engine_of(engine, make_fns(place, faults.sigkill)) as envs:
        envs.reset(seed=1)
        with pytest.raises(error.WorkerDied) as caught:
            {
                "reset": lambda: envs.reset(options={"fault": True}),
                "render": envs.render,
                "call": lambda: envs.call("greet"),
                "set": lambda: envs.set_attr("mood", "bad"),
            }[place]()
        check(caught.value, -signal.SIGKILL)


@ASYNC
@pytest.mark.parametrize("fault", [faults.sigkill, faults.exit_at_once])
@isolated()
def test_in_close(engine, fault):
    envs = make_engine(engine, make_fns("close", fault))
    envs.reset()
    envs.close()
    assert envs.closed
    envs.close()


@ASYNC
@isolated()
def test_in_del(engine):
    envs = make_engine(engine, make_fns("del", faults.sigkill))
    envs.reset()
    envs.close()
    assert envs.closed


@pytest.mark.slow
@engines_and("call", range(10))
@isolated()
def test_between_calls(engine, call):
    with engine_of(engine) as envs:
        envs.reset()
        envs.step(actions())
        pid = envs.get_attr("pid")[FAULTY_LANE]
        os.kill(pid, signal.SIGKILL)
        time.sleep(0.05 * (call % 2))  # noticed before the call, or in it
        with pytest.raises(error.WorkerDied) as caught:
            every_call(envs)[call]()
        check(caught.value, -signal.SIGKILL)


@ASYNC
@isolated()
def test_while_the_parent_waits(engine):
    """A worker dies as by the kernel's out-of-memory killer: from outside, in mid-step."""
    with engine_of(engine, make_fns("step", faults.sleep)) as envs:
        envs.reset()
        pid = envs.get_attr("pid")[FAULTY_LANE]
        threading.Timer(0.1, os.kill, (pid, signal.SIGKILL)).start()
        with pytest.raises(error.WorkerDied) as caught:
            envs.step(actions(FAULTY_LANE))
        check(caught.value, -signal.SIGKILL)


@ASYNC
@isolated()
def test_a_stopped_worker_that_is_killed(engine):
    with engine_of(engine) as envs:
        envs.reset()
        pid = envs.get_attr("pid")[FAULTY_LANE]
        os.kill(pid, signal.SIGSTOP)
        envs.step_async(actions())
        with pytest.raises(error.WorkerTimeout):
            envs.step_wait(timeout=0.1)
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(error.WorkerDied):
            envs.step(actions())


@ASYNC
@isolated()
def test_all_workers(engine):
    with engine_of(engine, make_fns("step", faults.sigkill, lanes=range(NUM_ENVS))) as envs:
        envs.reset()
        pids = envs.get_attr("pid")
        with pytest.raises(error.WorkerDied) as caught:
            envs.step(actions(0, 2))
        assert set(caught.value.lanes) in ({0, 1, 2, 3}, {0, 1}, {2, 3})
        workers = {one for one in descendants() if one.pid in pids}
        assert wait_until(lambda: not alive(workers))

        def death():
            with pytest.raises(error.WorkerDied) as caught:
                envs.step(actions())
            return caught.value

        # The system reports a process as dead before its last thread has closed its files.
        assert wait_until(lambda: death().lanes == [0, 1, 2, 3])
        check(death(), -signal.SIGKILL, [0, 1, 2, 3])


@ASYNC
@isolated()
def test_an_exception_beside_a_death(engine):
    """The death takes precedence: it is the error that stays."""

    def fns():
        env_fns = make_fns("step", faults.raise_value_error, lanes=(0,))
        env_fns[3] = make_fns("step", faults.sigkill, lanes=(3,))[3]
        return env_fns

    with engine_of(engine, fns()) as envs:
        envs.reset()
        with pytest.raises(error.WorkerDied) as caught:
            envs.step(actions(0, 3))
        check(caught.value, -signal.SIGKILL)
        with pytest.raises(error.WorkerDied):
            envs.reset()


@ASYNC
@isolated()
def test_out_of_memory(engine):
    """A worker that has used up its memory limit reports or dies; it does not hang."""
    with engine_of(engine, make_fns("step", faults.run_out_of_memory)) as envs:
        envs.reset()
        with pytest.raises(error.EnvironmentFailed) as caught:
            envs.step(actions(FAULTY_LANE))
        assert set(caught.value.lanes) <= set(LOST_LANES)


# Messages cut off in the middle


class BigEnv(FaultyEnv):
    """Environment that exchanges results larger than any pipe holds."""

    def big(self, megabytes):
        return bytes(megabytes << 20)

    def take(self, blob):
        return len(blob)


def big_fns():
    return [lambda lane=lane: BigEnv(lane) for lane in range(NUM_ENVS)]


@pytest.mark.slow
@engines_and("delay", [0.05, 0.0, 0.02, 0.1])
@isolated()
def test_in_the_middle_of_a_result(engine, delay):
    with engine_of(engine, big_fns()) as envs:
        envs.reset()
        pid = envs.get_attr("pid")[FAULTY_LANE]
        envs.call_async("big", 8)
        time.sleep(delay)  # with a full pipe, or before
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(error.WorkerDied) as caught:
            envs.call_wait()
        check(caught.value, -signal.SIGKILL)


@ASYNC
@pytest.mark.parametrize("last_signal", [signal.SIGKILL, signal.SIGCONT])
@isolated()
def test_in_the_middle_of_an_argument(engine, last_signal):
    with engine_of(engine, big_fns()) as envs:
        envs.reset()
        pid = envs.get_attr("pid")[FAULTY_LANE]
        os.kill(pid, signal.SIGSTOP)
        threading.Timer(0.1, os.kill, (pid, last_signal)).start()
        if last_signal == signal.SIGKILL:
            with pytest.raises(error.WorkerDied) as caught:
                envs.call("take", bytes(8 << 20))
            check(caught.value, -signal.SIGKILL)
        else:
            assert envs.call("take", bytes(8 << 20)) == (8 << 20,) * NUM_ENVS


@ASYNC
@isolated()
def test_at_any_moment_of_a_step(engine):
    """Kills spread over the instants of a step: always a death, never a wrong step."""
    rng = np.random.default_rng(0)
    for _ in range(5):
        with engine_of(engine) as envs:
            envs.reset()
            pid = envs.get_attr("pid")[FAULTY_LANE]
            killer = threading.Timer(0.01 * rng.random(), os.kill, (pid, signal.SIGKILL))
            killer.start()
            steps = 0
            with pytest.raises(error.WorkerDied) as caught:
                while True:
                    observations = envs.step(actions())[0]
                    steps += 1
                    assert observations[:, 2].tolist() == [steps] * NUM_ENVS
            check(caught.value, -signal.SIGKILL)
            killer.join()
