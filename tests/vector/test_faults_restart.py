"""Workers that are restarted: their lanes report it, and other lanes are unaffected."""

import functools
import os
import signal
import threading

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

KEPT = slice(0, 2)
LOST = slice(2, 4)
AS_STEPPED = np.array([0, 0, 1, 1])  # added to an observation
LOST_MASK = [lane in LOST_LANES for lane in range(NUM_ENVS)]


def check_restarted(results, last, mode="NextStep"):
    """Check the results of the step in which a worker was lost.

    The lost lanes are truncated and repeat their last observation; the others have been
    stepped.

    Args:
        results: Return value of `step`.
        last: Observations before the step.
        mode: Autoreset mode.
    """
    observations, rewards, terminations, truncations, infos = results
    assert truncations.tolist() == LOST_MASK
    assert not terminations.any()
    assert infos["worker_restarted"].tolist() == LOST_MASK
    assert infos["_worker_restarted"].tolist() == LOST_MASK
    assert rewards[LOST].tolist() == [0, 0]
    assert observations[KEPT].tolist() == (last[KEPT] + AS_STEPPED).tolist()
    assert rewards[KEPT].tolist() == observations[KEPT, 3].tolist()
    if mode == "SameStep":
        assert observations[LOST].tolist() == [[2, 1, 0, 0], [3, 1, 0, 0]]
        assert infos["_final_obs"].tolist() == LOST_MASK
        assert [infos["final_obs"][i].tolist() for i in LOST_LANES] == last[LOST].tolist()
    else:
        assert observations[LOST].tolist() == last[LOST].tolist()


@pytest.mark.slow
@engines_and("name", ["sigkill", "bad_pointer", "exit"], more=["shm-spawn"])
@isolated()
def test_next_step(engine, name):
    env_fns = make_fns("step", faults.DEATHS[name][0])
    with engine_of(engine, env_fns, on_worker_death="restart") as envs:
        envs.reset(seed=1)
        last = envs.step(actions())[0]
        pids = envs.get_attr("pid")
        for total in (2, 5):
            check_restarted(envs.step(actions(FAULTY_LANE)), last)
            # As after the end of any episode, the next step resets, and does not report it again.
            observations, rewards, _, truncations, infos = envs.step(actions())
            assert observations[LOST, 2:].tolist() == [[0, 0], [0, 0]]
            assert observations[KEPT, 3].tolist() == [total + 1] * 2
            assert rewards[LOST].tolist() == [0, 0]
            assert not truncations.any()
            assert "worker_restarted" not in infos
            last = envs.step(actions())[0]
            assert last[:, 3].tolist() == [total + 2, total + 2, 1, 1]
        now = envs.get_attr("pid")
        assert now[:2] == pids[:2]
        assert now[2] == now[3] != pids[2]


@ASYNC
@isolated()
def test_same_step(engine):
    env_fns = make_fns("step", faults.sigkill)
    with engine_of(engine, env_fns, on_worker_death="restart", autoreset_mode="SameStep") as envs:
        last = envs.reset()[0]
        check_restarted(envs.step(actions(FAULTY_LANE)), last, "SameStep")
        observations = envs.step(actions())[0]
        assert observations[:, 3].tolist() == [2, 2, 1, 1]


@ASYNC
@isolated()
def test_disabled(engine):
    env_fns = make_fns("step", faults.sigkill)
    with engine_of(engine, env_fns, on_worker_death="restart", autoreset_mode="Disabled") as envs:
        last = envs.reset()[0]
        results = envs.step(actions(FAULTY_LANE))
        check_restarted(results, last)
        with pytest.raises(error.ResetNeeded, match=r"\[2, 3\]"):
            envs.step(actions())
        observations, _ = envs.reset(options={"reset_mask": results[3]})
        assert observations[:, 2].tolist() == [1, 1, 0, 0]
        assert envs.step(actions())[0][:, 2].tolist() == [2, 2, 1, 1]


@ASYNC
@isolated()
def test_in_reset(engine):
    with engine_of(engine, on_worker_death="restart") as envs:
        envs.reset(seed=1)
        envs.step(actions())
        os.kill(envs.get_attr("pid")[FAULTY_LANE], signal.SIGKILL)
        observations, _ = envs.reset(seed=1)
        assert observations[:, 2].tolist() == [0] * NUM_ENVS
        # The new episodes are complete: there is no loss to report.
        _, _, _, truncations, infos = envs.step(actions())
        assert not truncations.any()
        assert "worker_restarted" not in infos


@ASYNC
@isolated()
def test_a_reset_that_always_kills_is_not_tried_for_ever(engine):
    env_fns = make_fns("reset", faults.sigkill)
    with engine_of(engine, env_fns, on_worker_death="restart") as envs:
        envs.reset()
        with pytest.raises(error.WorkerDied):
            envs.reset(options={"fault": True})
        # The next reset restarts the worker.
        assert envs.reset()[0][:, 2].tolist() == [0] * NUM_ENVS
        assert envs.step(actions())[0][:, 2].tolist() == [1] * NUM_ENVS


def once(path, fault):
    """Return a fault that does nothing the first time."""
    with open(path, "a") as file:
        file.write("x")
    if os.path.getsize(path) > 1:
        fault()


@ASYNC
@pytest.mark.parametrize("fault", [faults.raise_value_error, faults.sigkill])
@isolated()
def test_environments_that_cannot_be_made_again(engine, fault, tmp_path):
    """A worker that cannot be restarted is an error, not an endless loop."""
    env_fns = make_fns("init", functools.partial(once, str(tmp_path / "made"), fault))
    with engine_of(engine, env_fns, on_worker_death="restart") as envs:
        envs.reset()
        os.kill(envs.get_attr("pid")[FAULTY_LANE], signal.SIGKILL)
        for _ in range(2):
            with pytest.raises(error.EnvironmentFailed) as caught:
                envs.step(actions())
            assert set(caught.value.lanes) <= set(LOST_LANES)


@engines_and("place", ["render", "call", "set"])
@isolated()
def test_in_a_call(engine, place):
    """The call has no result, so it raises; the worker is available again afterwards."""
    env_fns = make_fns(place, faults.sigkill)
    with engine_of(engine, env_fns, on_worker_death="restart") as envs:
        envs.reset()
        last = envs.step(actions())[0]
        with pytest.raises(error.WorkerDied) as caught:
            {
                "render": envs.render,
                "call": lambda: envs.call("greet"),
                "set": lambda: envs.set_attr("mood", "bad"),
            }[place]()
        assert caught.value.lanes == LOST_LANES
        assert caught.value.exit_code == -signal.SIGKILL
        assert envs.get_attr("lane") == (0, 1, 2, 3)
        # The next step reports the loss and ends the lost episodes; one more step resets.
        check_restarted(envs.step(actions()), last)
        observations = envs.step(actions())[0]
        assert observations[:, 2].tolist() == [3, 3, 0, 0]
        assert envs.step(actions())[0][:, 2].tolist() == [4, 4, 1, 1]


@ASYNC
@isolated()
def test_all_workers(engine):
    env_fns = make_fns("step", faults.sigkill, lanes=(0, 2))
    with engine_of(engine, env_fns, on_worker_death="restart") as envs:
        envs.reset()
        for _ in range(3):
            _, _, _, truncations, infos = envs.step(actions(0, 2))
            assert truncations.all()
            assert infos["worker_restarted"].all()
            envs.step(actions())
            assert envs.step(actions())[0][:, 3].tolist() == [1] * NUM_ENVS


@ASYNC
@isolated()
def test_a_killed_worker_that_was_stuck(engine):
    env_fns = make_fns("step", faults.loop_holding_the_gil)
    with engine_of(engine, env_fns, on_worker_death="restart") as envs:
        last = envs.reset()[0]
        pid = envs.get_attr("pid")[FAULTY_LANE]
        threading.Timer(0.1, os.kill, (pid, signal.SIGKILL)).start()
        check_restarted(envs.step(actions(FAULTY_LANE)), last)


@ASYNC
@isolated()
def test_exceptions_are_raised_as_ever(engine):
    with engine_of(engine, make_fns("step"), on_worker_death="restart") as envs:
        envs.reset()
        pid = envs.get_attr("pid")
        with pytest.raises(ValueError, match="the pole broke"):
            envs.step(actions(FAULTY_LANE))
        with pytest.raises(error.ResetNeeded):
            envs.step(actions())
        envs.reset()
        assert envs.step(actions())[0][:, 2].tolist() == [1] * NUM_ENVS
        assert envs.get_attr("pid") == pid


@ASYNC
@isolated()
def test_a_death_beside_an_exception(engine):
    env_fns = make_fns("step", faults.raise_value_error, lanes=(0,))
    env_fns[3] = make_fns("step", faults.sigkill, lanes=(3,))[3]
    with engine_of(engine, env_fns, on_worker_death="restart") as envs:
        envs.reset()
        with pytest.raises(error.EnvironmentFailed):
            envs.step(actions(0, 3))
        with pytest.raises(error.ResetNeeded):
            envs.step(actions())
        assert envs.reset()[0][:, 2].tolist() == [0] * NUM_ENVS
        assert envs.step(actions())[0][:, 2].tolist() == [1] * NUM_ENVS


@ASYNC
@isolated()
def test_episode_statistics(engine):
    """The statistics of lost episodes are discarded: their lanes count from the new episode."""
    env_fns = make_fns("step", faults.sigkill, length=3)
    kwargs = {"on_worker_death": "restart", "episode_statistics": True}
    with engine_of(engine, env_fns, **kwargs) as envs:
        envs.reset()
        envs.step(actions())
        envs.step(actions(FAULTY_LANE))
        _, _, _, truncations, infos = envs.step(actions())  # lanes 2, 3: their reset
        assert truncations.tolist() == [True, True, False, False]
        assert infos["episode"]["l"][:2].tolist() == [3, 3]
        for _ in range(3):
            _, _, _, truncations, infos = envs.step(actions())
        assert truncations.tolist() == [False, False, True, True]
        assert infos["episode"]["l"][2:].tolist() == [3, 3]
        assert infos["episode"]["r"][2:].tolist() == [6, 6]


@pytest.mark.slow
@ASYNC
@isolated()
def test_nothing_accumulates(engine):
    """Ten restarts use as many resources as one."""
    from tests.vector.leaks import Held, shared_mappings, wait_until

    env_fns = make_fns("step", faults.sigkill)
    envs = make_engine(engine, env_fns, on_worker_death="restart")
    envs.reset()
    for _ in range(3):
        envs.step(actions(FAULTY_LANE))
        envs.step(actions())
    before, mappings = Held.now(), len(shared_mappings())
    for _ in range(7):
        assert envs.step(actions(FAULTY_LANE))[4]["worker_restarted"].tolist() == LOST_MASK
        envs.step(actions())
    now = Held.now()
    assert len(now.files) == len(before.files)
    assert wait_until(lambda: len(Held.now().processes) == len(before.processes))
    assert len(shared_mappings()) == mappings
    envs.close()


class SlowToBegin(FaultyEnv):
    """Environment with a slow constructor."""

    def __init__(self, lane):
        faults.pause(0.03)()
        super().__init__(lane)


@pytest.mark.slow
@ASYNC
@isolated()
def test_kills_at_any_moment(engine):
    """Also while a worker is being restarted: lanes report each of their losses, and no other."""
    rng = np.random.default_rng(0)
    env_fns = [functools.partial(SlowToBegin, lane) for lane in range(NUM_ENVS)]
    with engine_of(engine, env_fns, on_worker_death="restart") as envs:
        last = envs.reset()[0]
        for _ in range(8):
            pid = envs.get_attr("pid")[FAULTY_LANE]
            delay = 0.01 * rng.random()
            threading.Timer(delay, os.kill, (pid, signal.SIGKILL)).start()
            while True:
                results = envs.step(actions())
                if "worker_restarted" in results[4]:
                    break
                assert results[0].tolist() == (last + AS_STEPPED).tolist()
                last = results[0]
            check_restarted(results, last)
            last = envs.step(actions())[0]
            assert last[LOST, 2:].tolist() == [[0, 0], [0, 0]]
