"""Parents that are killed, or that fork: workers end with their parent, and only with it."""

import gc
import multiprocessing
import os
import signal
import time

import pytest

from gymcore import error
from tests.vector import faults
from tests.vector.fault_engines import ASYNC, engines_and
from tests.vector.faulty_envs import (
    NUM_ENVS,
    NUM_WORKERS,
    actions,
    engine_of,
    make_engine,
    make_fns,
)
from tests.vector.isolation import Script, isolated
from tests.vector.leaks import (
    alive,
    descendants,
    shared_memory_files,
    wait_until,
    without_foreign,
)

# Parents that are killed

PROGRAM = """
    import os, sys, time
    from tests.vector import faults
    from tests.vector.faulty_envs import actions, make_engine, make_fns

    engine, place, fault, fork = sys.argv[1:]
    stuck = fault and faults.in_turn(faults.announce, faults.STUCK[fault])
    env_fns = make_fns(place, stuck, lanes=(0, 2)) if fault else make_fns()
    envs = make_engine(engine, env_fns)
    envs.reset()
    envs.step(actions())
    workers = envs.get_attr("pid")
    child = os.fork() if fork else -1
    if child == 0:
        time.sleep(1000)
    print(child, *workers, flush=True)
    if not fault:
        print("begun\\nbegun", flush=True)
    while True:
        envs.step(actions(0, 2) if place == "step" else actions())
"""


def kill_parent(engine, place, fault, signal_number=signal.SIGKILL, fork=""):
    """Kill a parent whose workers are busy; they must disappear soon."""
    before = shared_memory_files()
    with Script(PROGRAM, engine, place, fault, fork) as script:
        child, *workers = map(int, script.line().split()) if place == "step" else [-1]
        assert [script.line() for _ in range(2)] == ["begun", "begun"]
        below = set(script.below())
        assert len(below) >= NUM_WORKERS + bool(fork)
        os.kill(script.process.pid, signal_number)
        # The forked child survives, and keeps the helper processes of `multiprocessing` alive.
        mine = {one for one in below if one.pid in workers} if fork else below
        assert mine
        assert wait_until(lambda: not alive(mine)), alive(mine)
        assert not fork or child in {one.pid for one in alive(below)}
    assert not without_foreign(shared_memory_files() - before)


@pytest.mark.slow
@engines_and(
    "fault",
    ["loop_holding_the_gil", "", "sleep", "loop_ignoring_sigterm"],
    more=["shm-spawn", "shm-forkserver"],
)
@isolated()
def test_parent_is_killed(engine, fault):
    kill_parent(engine, "step", fault)


@pytest.mark.slow
@engines_and("number", [signal.SIGTERM, signal.SIGSEGV, signal.SIGHUP])
@isolated()
def test_parent_dies_in_other_ways(engine, number):
    kill_parent(engine, "step", "loop_holding_the_gil", number)


@ASYNC
@isolated()
def test_parent_is_killed_while_environments_are_made(engine):
    kill_parent(engine, "init", "loop_holding_the_gil")


@ASYNC
@isolated()
def test_parent_is_killed_and_a_fork_of_it_lives(engine):
    """It holds copies of all pipes, so workers cannot notice the parent's end by the pipes."""
    kill_parent(engine, "step", "loop_holding_the_gil", fork="fork")


# Parents that fork


def in_fork(function):
    """Run a function in a forked child; return its exit code."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            function()
            code = 0
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def check_steps(envs, total):
    assert envs.step(actions())[0][:, 3].tolist() == [total] * NUM_ENVS


def refused(envs):
    """Check that every call says which process owns the workers."""
    for call in (
        envs.reset,
        lambda: envs.step(actions()),
        lambda: envs.step_async(actions()),
        envs.step_wait,
        envs.render,
        lambda: envs.call("greet"),
        lambda: envs.set_attr("mood", "bad"),
    ):
        with pytest.raises(error.ForkedProcessError, match=str(os.getppid())):
            call()


@ASYNC
@isolated()
def test_child_cannot_use_the_engine(engine):
    with engine_of(engine) as envs:
        envs.reset()
        check_steps(envs, 1)
        assert in_fork(lambda: refused(envs)) == 0
        check_steps(envs, 2)


@ASYNC
@isolated()
def test_child_closes_the_engine(engine):
    with engine_of(engine) as envs:
        envs.reset()
        check_steps(envs, 1)
        assert in_fork(envs.close) == 0
        assert in_fork(lambda: envs.close(terminate=True)) == 0
        check_steps(envs, 2)


@ASYNC
@isolated()
def test_child_loses_the_engine(engine):
    kept = [make_engine(engine)]
    kept[0].reset()
    check_steps(kept[0], 1)

    def lose():
        kept.clear()
        gc.collect()

    assert in_fork(lose) == 0
    check_steps(kept[0], 2)
    kept[0].close()


@ASYNC
@isolated()
def test_child_while_a_call_is_pending(engine):
    with engine_of(engine, make_fns("step", faults.pause(0.2))) as envs:
        envs.reset()
        envs.step_async(actions(2))

        def child():
            refused(envs)
            envs.close()

        assert in_fork(child) == 0
        assert envs.step_wait()[0][:, 3].tolist() == [1] * NUM_ENVS


@ASYNC
@isolated()
def test_child_of_multiprocessing(engine):
    """When it ends, it runs `multiprocessing`'s finalizers, and joins its supposed children."""
    with engine_of(engine) as envs:
        envs.reset()
        process = multiprocessing.get_context("fork").Process(target=refused, args=(envs,))
        process.start()
        process.join()
        assert process.exitcode == 0
        process.close()
        check_steps(envs, 1)


@ASYNC
@isolated()
def test_child_that_outlives_the_engine(engine):
    before = descendants()
    envs = make_engine(engine)
    envs.reset()
    pid = os.fork()
    if pid == 0:
        time.sleep(1000)
    envs.close()
    assert {one.pid for one in descendants() - before} == {pid}
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


@ASYNC
@isolated()
def test_child_with_an_engine_of_its_own(engine):
    of_child = engine.replace("forkserver", "spawn")  # Python's fork server serves no forked child
    with engine_of(engine) as envs:
        envs.reset()
        check_steps(envs, 1)

        def child():
            with engine_of(of_child) as own:
                own.reset()
                check_steps(own, 1)
                check_steps(own, 2)
            envs.close()

        assert in_fork(child) == 0
        check_steps(envs, 2)


@ASYNC
@isolated()
def test_dead_worker_is_seen_though_a_child_holds_its_pipes(engine):
    with engine_of(engine, make_fns("step", faults.sigkill)) as envs:
        envs.reset()
        pid = os.fork()
        if pid == 0:
            time.sleep(1000)
        with pytest.raises(error.WorkerDied) as caught:
            envs.step(actions(2))
        assert caught.value.exit_code == -signal.SIGKILL
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


FORKING_PROGRAM = """
    import os, sys
    from tests.vector.faulty_envs import actions, make_engine

    envs = make_engine(sys.argv[1])
    envs.reset()
    if os.fork() == 0:
        sys.exit(0)  # with all that an interpreter does at its end
    os.wait()
    print(envs.step(actions())[0][:, 3].tolist())
    envs.close()
"""


@pytest.mark.slow
@ASYNC
@isolated()
def test_interpreter_of_a_child_ends(engine):
    with Script(FORKING_PROGRAM, engine) as script:
        code, out, err = script.end()
        assert (code, out, err) == (0, "[1.0, 1.0, 1.0, 1.0]\n", "")
