"""SIGINT: sent only to the parent, and to every process of the terminal."""

import os
import signal
import threading

import numpy as np
import pytest

from gymcore import error
from tests.vector import faults
from tests.vector.fault_engines import ASYNC, engines, engines_and
from tests.vector.faulty_envs import (
    FAULTY_LANE,
    NUM_ENVS,
    actions,
    engine_of,
    make_engine,
    make_fns,
)
from tests.vector.isolation import Script, isolated
from tests.vector.leaks import descendants


def interrupting(fault):
    """Return a fault that first sends SIGINT to this process only."""
    return faults.in_turn(faults.interrupt(os.getpid()), fault)


def check_works(envs):
    """Check that a reset, and the steps after it, return current results."""
    resets, totals = envs.get_attr("resets"), envs.get_attr("total")
    observations = envs.reset(seed=3)[0]
    assert observations.tolist() == [[i, resets[i] + 1, 0, totals[i]] for i in range(NUM_ENVS)]
    for k in (1, 2):
        observations = envs.step(actions())[0]
        assert observations[:, 2].tolist() == [k] * NUM_ENVS


@engines()
@isolated()
def test_in_step(engine):
    with engine_of(engine, make_fns("step", interrupting(faults.pause(0.2)))) as envs:
        envs.reset()
        envs.step(actions())
        with pytest.raises(KeyboardInterrupt):
            envs.step(actions(FAULTY_LANE))
        check_works(envs)


@ASYNC
@isolated()
def test_the_step_after_an_interrupt_is_the_one_asked_for(engine):
    """A worker finishes the interrupted step, or skips it if it had not started it."""
    with engine_of(engine, make_fns("step", interrupting(faults.pause(0.2)))) as envs:
        envs.reset()
        with pytest.raises(KeyboardInterrupt):
            envs.step(actions(FAULTY_LANE))
        observations = envs.step(actions())[0]
        assert observations[:, 3].tolist() in ([2, 2, 2, 2], [1, 1, 2, 2])


@pytest.mark.slow
@engines_and("stuck", faults.STUCK)
@isolated()
def test_in_a_step_that_never_returns(engine, stuck):
    envs = make_engine(engine, make_fns("step", interrupting(faults.STUCK[stuck])))
    envs.reset()
    with pytest.raises(KeyboardInterrupt):
        envs.step(actions(FAULTY_LANE))
    envs.close(timeout=0.1)
    assert envs.closed


@pytest.mark.slow
@engines_and("place", ["reset", "render", "call", "set"])
@isolated()
def test_elsewhere(engine, place):
    with engine_of(engine, make_fns(place, interrupting(faults.pause(0.2)))) as envs:
        envs.reset()
        with pytest.raises(KeyboardInterrupt):
            {
                "reset": lambda: envs.reset(options={"fault": True}),
                "render": envs.render,
                "call": lambda: envs.call("greet"),
                "set": lambda: envs.set_attr("mood", "bad"),
            }[place]()
        check_works(envs)


@engines()
@isolated()
def test_in_construction(engine):
    before = descendants()
    fault = faults.in_turn(faults.pause(0.2), interrupting(faults.pause(3)))
    with pytest.raises(KeyboardInterrupt):
        make_engine(engine, make_fns("init", fault))
    assert descendants() == before


@engines()
@isolated()
def test_in_close(engine):
    """The interrupted `close` has ended the workers, or the next one does."""
    envs = make_engine(engine, make_fns("close", interrupting(faults.pause(0.3))))
    envs.reset()
    with pytest.raises(KeyboardInterrupt):
        envs.close()
    envs.close()
    assert envs.closed


@ASYNC
@isolated()
def test_at_any_moment(engine):
    """Interrupts spread over the instants of a step never mix up results."""
    rng = np.random.default_rng(1)
    with engine_of(engine, make_fns("step", faults.pause(0.002))) as envs:
        envs.reset()
        for _ in range(20):
            last, totals = envs.reset()[0], envs.get_attr("total")
            assert last[:, 2].tolist() == [0] * NUM_ENVS
            assert last[:, 3].tolist() == list(totals)
            timer = threading.Timer(0.02 * rng.random(), os.kill, (os.getpid(), signal.SIGINT))
            try:
                timer.start()
                while True:
                    observations = envs.step(actions(FAULTY_LANE))[0]
                    assert observations.tolist() == (last + [0, 0, 1, 1]).tolist()  # noqa: RUF005
                    last = observations
            except KeyboardInterrupt:
                timer.join()


@ASYNC
@isolated()
def test_at_any_moment_of_a_message(engine):
    """The worker does not wait forever for a request whose message was never sent."""
    rng = np.random.default_rng(2)
    with engine_of(engine) as envs:
        for k in range(20):
            timer = threading.Timer(0.01 * rng.random(), os.kill, (os.getpid(), signal.SIGINT))
            try:
                timer.start()
                while True:
                    greetings = envs.call("greet", str(k))
                    assert greetings == tuple(f"{k} from {i}" for i in range(NUM_ENVS))
                    envs.set_attr("mood", "x" * 5000)
                    assert (envs.reset()[0][:, 2] == 0).all()
            except KeyboardInterrupt:
                timer.join()
        check_works(envs)


@ASYNC
@isolated()
def test_between_the_halves_of_a_call(engine):
    """Nothing is pending after a key press just after a request was sent."""
    with engine_of(engine) as envs:
        envs.reset()
        for name, wait, argument in (
            ("reset", "reset_wait", ()),
            ("step", "_finish_step", (actions(),)),
            ("call", "call_wait", ("greet",)),
        ):

            def interrupted(timeout=None):
                raise KeyboardInterrupt

            setattr(envs, wait, interrupted)
            with pytest.raises(KeyboardInterrupt):
                getattr(envs, name)(*argument)
            delattr(envs, wait)
            check_works(envs)


@ASYNC
@isolated()
def test_other_signals_with_handlers_do_not_disturb(engine, tmp_path):
    """If a handler returns, the step continues, in accordance with PEP 475."""
    handled = tmp_path / "handled"  # in the middle of the wait, because the step waits for it
    signal.signal(signal.SIGUSR1, lambda *_: handled.touch())
    with engine_of(engine, make_fns("step", faults.wait_for(str(handled)))) as envs:
        envs.reset()
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1)).start()
        observations = envs.step(actions(FAULTY_LANE))[0]
        assert observations[:, 3].tolist() == [1] * NUM_ENVS


@engines(sync=False)
@isolated()
def test_workers_have_the_handlers_of_no_one_else(engine):
    """The parent's handlers do not run in its workers."""
    signal.signal(signal.SIGTERM, lambda *_: None)
    with engine_of(engine, make_fns("step", faults.sigterm)) as envs:
        envs.reset()
        with pytest.raises(error.WorkerDied) as caught:
            envs.step(actions(FAULTY_LANE))
        assert caught.value.exit_code == -signal.SIGTERM


@engines(sync=False)
@isolated()
def test_workers_end_by_sigterm_where_a_display_handles_it(engine, monkeypatch):
    """SDL, used by pygame, installs a handler unknown to Python, which workers inherit."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    pygame = pytest.importorskip("pygame")
    pygame.display.init()
    with engine_of(engine, make_fns("step", faults.sigterm)) as envs:
        envs.reset()
        with pytest.raises(error.WorkerDied) as caught:
            envs.step(actions(FAULTY_LANE))
        assert caught.value.exit_code == -signal.SIGTERM
    pygame.display.quit()  # SDL listens to udev until then


PROGRAM = """
    import sys, time
    from tests.vector import faults
    from tests.vector.faulty_envs import actions, make_engine, make_fns

    engine, fault, how = sys.argv[1:]
    fault = faults.in_turn(faults.announce, getattr(faults, fault))
    envs = make_engine(engine, make_fns("step", fault, lanes=(0, 2)))
    envs.reset()
    envs.step(actions())
    try:
        if how == "idle":
            print("begun\\nbegun", flush=True)
            time.sleep(1000)
        envs.step(actions(0, 2))
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        if how == "uncaught":
            raise
    if how == "idle":
        print(envs.step(actions())[0][:, 3].tolist(), flush=True)
    envs.close(timeout=0.2)
    print("closed", flush=True)
"""


@pytest.mark.slow
@engines_and(
    "how,fault",
    [("idle", "sleep"), ("busy", "loop_holding_the_gil"), ("uncaught", "sleep")],
    more=["shm-spawn"],
)
@isolated()
def test_key_press_in_a_terminal(engine, how, fault):
    with Script(PROGRAM, engine, fault, how) as script:
        assert [script.line() for _ in range(2)] == ["begun", "begun"]
        script.below()
        os.killpg(script.process.pid, signal.SIGINT)
        assert script.line() == "interrupted"
        code, out, err = script.end()
        if how == "uncaught":
            assert code == -signal.SIGINT
            assert err.count("Traceback") == 1
        else:
            assert (code, err) == (0, "")
            assert out.split("\n")[-2] == "closed"
            if how == "idle":
                assert out.startswith("[2.0, 2.0, 2.0, 2.0]\n")
        assert script.all_gone()
