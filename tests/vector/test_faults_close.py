"""`close` in every state, and no `close` at all: no resources remain."""

import contextlib
import gc
import itertools
import threading
import time
import warnings

import numpy as np
import pytest

from gymcore import error
from gymcore.vector.workers import pool
from tests.vector import faults
from tests.vector.fault_engines import ASYNC, SOAK, engines, engines_and
from tests.vector.faulty_envs import (
    FAULTY_LANE,
    NUM_ENVS,
    actions,
    engine_of,
    make_engine,
    make_fns,
)
from tests.vector.isolation import Script, isolated
from tests.vector.leaks import Held, alive, descendants, no_leaks, shared_mappings, wait_until

PENDING = {
    "step": lambda envs: envs.step_async(actions(FAULTY_LANE)),
    "reset": lambda envs: envs.reset_async(options={"fault": True}),
    "call": lambda envs: envs.call_async("greet"),
}


@engines(more=["shm-spawn"])
@isolated()
def test_twice(engine):
    before = descendants()
    envs = make_engine(engine)
    envs.reset()
    envs.step(actions())
    envs.close()
    # At once, not some time later, and while the object still exists.
    assert descendants() == before
    assert envs.closed
    envs.close()
    envs.close_extras()
    for call in (envs.reset, lambda: envs.step(actions())):
        with pytest.raises(error.ClosedEnvironmentError):
            call()


@engines()
@isolated()
def test_nothing_is_held_after_close(engine):
    with no_leaks(seconds=0):
        envs = make_engine(engine)
        envs.reset()
        kept = envs.step(actions())
        envs.close()
    assert kept[0][:, 3].tolist() == [1] * NUM_ENVS
    assert envs.closed


@engines()
@isolated()
def test_before_the_first_reset(engine):
    make_engine(engine).close()


@engines()
@isolated()
def test_each_environment_is_closed_once(engine, tmp_path):
    closed = tmp_path / "closed"
    envs = make_engine(engine, make_fns("close", faults.note(str(closed)), lanes=range(NUM_ENVS)))
    envs.reset()
    envs.close()
    envs.close()
    assert len(closed.read_text().split()) == NUM_ENVS


@engines_and("pending", PENDING)
@isolated()
def test_during_a_pending_call(engine, pending, tmp_path):
    """`close` waits for a call that ends soon, so that the environments can close."""
    closed = tmp_path / "closed"
    env_fns = make_fns("close", faults.note(str(closed)), lanes=range(NUM_ENVS))
    env_fns[FAULTY_LANE] = make_fns(pending, faults.pause(0.1))[FAULTY_LANE]
    envs = make_engine(engine, env_fns)
    envs.reset()
    PENDING[pending](envs)
    with pytest.warns(UserWarning, match=f"pending call to `{pending}`"):
        envs.close()
    assert len(closed.read_text().split()) == NUM_ENVS - 1


@pytest.mark.slow
@engines_and(
    "pending,how",
    itertools.product(PENDING, [{"timeout": 0.1}, {"timeout": 0}, {"terminate": True}]),
)
@isolated()
def test_during_a_call_that_never_returns(engine, pending, how):
    pool._CLOSE_SECONDS = pool._HURRIED_CLOSE_SECONDS = 1e6  # the bound is the call's
    place = "step" if pending == "step" else pending
    envs = make_engine(engine, make_fns(place, faults.STUCK["loop_ignoring_sigterm"]))
    envs.reset()
    PENDING[pending](envs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        envs.close(**how)
    assert envs.closed


@pytest.mark.slow
@engines_and("stuck", faults.STUCK)
@isolated()
def test_during_a_step_that_never_returns(engine, stuck):
    """Without a time-out the engine's own bound applies."""
    envs = make_engine(engine, make_fns("step", faults.STUCK[stuck]))
    envs.reset()
    envs.step_async(actions(FAULTY_LANE))
    with pytest.raises(error.WorkerTimeout):
        envs.step_wait(timeout=0.1)
    envs.close()
    assert envs.closed


@ASYNC
@isolated()
def test_between_the_halves_of_a_step(engine):
    """As if a signal handler closed the environments."""
    envs = make_engine(engine)
    envs.reset()
    begin = envs._begin_step
    envs._begin_step = lambda checked: (begin(checked), envs.close())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(error.ClosedEnvironmentError):
            envs.step(actions())


@ASYNC
@pytest.mark.parametrize("place", ["close", "del"])
@isolated()
def test_an_environment_that_never_closes(engine, place):
    pool._CLOSE_SECONDS = pool._HURRIED_CLOSE_SECONDS = 1e6  # the bound is the call's
    envs = make_engine(engine, make_fns(place, faults.loop_holding_the_gil))
    envs.reset()
    envs.close(timeout=0.1)
    assert envs.closed


@ASYNC
@isolated()
def test_while_another_thread_steps(engine):
    """`close` either refuses or ends the step; it does not hang, and no resources remain."""
    envs = make_engine(engine, make_fns("step", faults.pause(0.3)))
    envs.reset()
    ended = []

    def step():
        try:
            envs.step(actions(FAULTY_LANE))
            ended.append("stepped")
        except error.Error as problem:
            ended.append(type(problem).__name__)

    thread = threading.Thread(target=step)
    thread.start()
    time.sleep(0.1)
    with warnings.catch_warnings(), contextlib.suppress(error.ConcurrentUseError):
        warnings.simplefilter("ignore")
        envs.close()
    thread.join()
    envs.close()
    assert len(ended) == 1
    assert envs.closed


# Without close


@engines_and("pending", [True, False])
@isolated()
def test_collected_without_close(engine, pending):
    before = descendants()
    envs = make_engine(engine, make_fns("step", faults.pause(0.2)))
    envs.reset()
    kept = envs.step(actions())[0]
    if pending:
        envs.step_async(actions(FAULTY_LANE))
    del envs
    gc.collect()
    assert wait_until(lambda: descendants() == before)
    assert kept[:, 3].tolist() == [1] * NUM_ENVS


@ASYNC
@isolated()
def test_collected_in_a_cycle_while_a_worker_is_stuck(engine):
    before = descendants()
    envs = make_engine(engine, make_fns("step", faults.loop_holding_the_gil))
    envs.reset()
    envs.itself = envs
    envs.step_async(actions(FAULTY_LANE))
    del envs
    gc.collect()
    assert wait_until(lambda: descendants() == before)


@ASYNC
@isolated()
def test_views_of_the_shared_memory_outlive_the_engine(engine):
    envs = make_engine(engine, copy=False)
    envs.reset()
    kept = envs.step(actions())
    envs.close()
    del envs
    gc.collect()
    assert kept[0][:, 3].tolist() == [1] * NUM_ENVS
    kept[0][:] = 7
    assert kept[1].tolist() == [1] * NUM_ENVS


PROGRAM = """
    import os, sys, threading
    from tests.vector import faults
    from tests.vector.faulty_envs import actions, make_engine, make_fns

    engine, how = sys.argv[1:]
    fault = faults.loop_holding_the_gil if how == "stuck" else faults.pause(0.1)

    def make():
        global envs
        envs = make_engine(engine, make_fns("step", fault), daemon=how != "no daemons")
        envs.reset()
        envs.step(actions())

    if how == "thread":
        thread = threading.Thread(target=make)
        thread.start()
        thread.join()
    else:
        make()
    print("made", flush=True)
    sys.stdin.readline()
    if how in ("pending", "stuck"):
        envs.step_async(actions(2))
    if how == "raise":
        raise ValueError("the program broke")
    if how == "os._exit":
        os._exit(0)
    if how == "sys.exit":
        sys.exit(3)
"""


@pytest.mark.slow
@engines_and(
    "how",
    ["stuck", "end", "pending", "raise", "sys.exit", "os._exit", "no daemons", "thread"],
    more=["shm-forkserver"],
)
@isolated()
def test_interpreter_ends_without_close(engine, how):
    with Script(PROGRAM, engine, how) as script:
        assert script.line() == "made"
        script.go_on()
        code, out, err = script.end()
        assert out == ""
        assert code == {"raise": 1, "sys.exit": 3}.get(how, 0), err
        if how == "raise":
            assert err.strip().endswith("ValueError: the program broke")
            assert err.count("Traceback") == 1
        else:
            assert err == ""
        assert script.all_gone()


# Again and again


@pytest.mark.parametrize(
    "engine,count",
    [
        ("shm-fork", 15),
        pytest.param("shm-fork", 200, marks=SOAK),
        pytest.param("pipes-fork", 200, marks=SOAK),
        pytest.param("shm-spawn", 200, marks=SOAK),
        pytest.param("shm-forkserver", 200, marks=SOAK),
    ],
)
@pytest.mark.timeout(660)
@isolated(seconds=600)
def test_many_engines_come_and_go(engine, count):
    def live(k):
        envs = make_engine(engine)
        observations, _ = envs.reset(seed=k)
        observations = envs.step(actions())[0]
        assert observations[:, 3].tolist() == [1] * NUM_ENVS
        if k % 2:
            envs.close()
        return descendants()

    for k in range(4):
        live(k)
    gc.collect()
    before, mappings = Held.now(), len(shared_mappings())
    for k in range(count):
        workers = live(k)
        if k % 15 == 14:
            gc.collect()
            assert wait_until(lambda: not before.left_over(Held.now()))
            assert not alive(workers - before.processes)
            assert len(shared_mappings()) == mappings


@pytest.mark.slow
@ASYNC
@isolated()
def test_engines_that_fail_come_and_go(engine):
    """Engines whose construction failed, and engines that died, leave no resources either."""

    def live(k):
        place, fault = [
            ("init", faults.raise_value_error),
            ("init", faults.sigkill),
            ("step", faults.raise_value_error),
            ("step", faults.sigkill),
        ][k % 4]
        with pytest.raises(error.EnvironmentFailed):
            envs = make_engine(engine, make_fns(place, fault))
            envs.reset()
            envs.step(actions(FAULTY_LANE))

    for k in range(4):
        live(k)
    gc.collect()
    before, mappings = Held.now(), len(shared_mappings())
    for k in range(8):
        live(k)
    gc.collect()
    assert wait_until(lambda: not before.left_over(Held.now()))
    assert len(shared_mappings()) == mappings


@ASYNC
@isolated()
def test_engines_beside_each_other(engine):
    """Engines do not disturb each other, neither alive nor when they end."""
    with engine_of(engine) as first, engine_of(engine) as second:
        first.reset(), second.reset()
        third = make_engine(engine, make_fns("step", faults.sigkill))
        third.reset()
        for k in range(1, 4):
            first.step_async(actions())
            assert second.step(actions())[0][:, 3].tolist() == [k] * NUM_ENVS
            assert first.step_wait()[0][:, 3].tolist() == [k] * NUM_ENVS
        with pytest.raises(error.WorkerDied):
            third.step(actions(FAULTY_LANE))
        third.close()
        second.close()
        assert np.all(first.step(actions())[0][:, 3] == 4)
