"""Faults in partial batches: `send`, `recv`, and steps of some lanes."""

import contextlib
import os
import signal
import threading

import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from tests.vector import faults
from tests.vector.fault_engines import ASYNC, engines_and
from tests.vector.faulty_envs import (
    FAULT,
    FAULTY_LANE,
    GO,
    LOST_LANES,
    NUM_ENVS,
    actions,
    engine_of,
    make_engine,
    make_fns,
)
from tests.vector.isolation import isolated


def go(envs, lanes, *faulty):
    """Send actions to some lanes."""
    envs.send(np.array([FAULT if lane in faulty else GO for lane in lanes]), np.array(lanes))


@ASYNC
@isolated()
def test_exception(engine):
    with engine_of(engine, make_fns("step"), batch_size=2) as envs:
        envs.reset()
        go(envs, range(NUM_ENVS), FAULTY_LANE)
        with pytest.raises(ValueError, match="the pole broke") as caught:
            for _ in range(2):
                assert FAULTY_LANE not in envs.recv()[4]["env_id"]
        assert isinstance(caught.value, error.EnvironmentFailed)
        assert caught.value.lanes == [FAULTY_LANE]
        assert "raise_value_error" in str(caught.value)
        with pytest.raises((error.ResetNeeded, error.AlreadyPendingCallError)):
            envs.step(actions())
        resets = 2
        observations = envs.reset()[0]
        assert observations[:, 1].tolist() == [resets] * NUM_ENVS
        go(envs, range(NUM_ENVS))
        seen = []
        for _ in range(2):
            observations, _, _, _, infos = envs.recv()
            assert observations[:, 0].tolist() == infos["env_id"].tolist()
            assert observations[:, 2].tolist() == [1, 1]
            seen += infos["env_id"].tolist()
        assert sorted(seen) == [0, 1, 2, 3]


@engines_and("name", ["sigkill", "bad_pointer", "exit"])
@isolated()
def test_death(engine, name):
    fault, exit_code = faults.DEATHS[name]
    envs = make_engine(engine, make_fns("step", fault), batch_size=2)
    envs.reset()
    go(envs, range(NUM_ENVS), FAULTY_LANE)
    with pytest.raises(error.WorkerDied) as caught:
        for _ in range(2):
            assert set(envs.recv()[4]["env_id"].tolist()) == {0, 1}
    assert caught.value.lanes == LOST_LANES
    assert caught.value.exit_code == exit_code
    for call in (envs.recv, lambda: go(envs, [0]), envs.reset, lambda: envs.step(actions())):
        with pytest.raises(error.WorkerDied):
            call()
    envs.close()
    assert envs.closed


@ASYNC
@isolated()
def test_death_of_an_idle_worker(engine):
    with engine_of(engine, batch_size=2) as envs:
        envs.reset()
        os.kill(envs.get_attr("pid")[FAULTY_LANE], signal.SIGKILL)
        with pytest.raises(error.WorkerDied) as caught:
            go(envs, range(NUM_ENVS))
            for _ in range(2):
                envs.recv()
        assert caught.value.lanes == LOST_LANES


@pytest.mark.slow
@ASYNC
@isolated()
def test_restart(engine):
    env_fns = make_fns("step", faults.sigkill)
    kwargs = {"batch_size": 2, "on_worker_death": "restart"}
    with engine_of(engine, env_fns, **kwargs) as envs:
        envs.reset()
        totals = np.zeros(NUM_ENVS)
        elapsed = np.zeros(NUM_ENVS)
        restarts = 0  # of lanes
        go(envs, range(NUM_ENVS), FAULTY_LANE)
        while restarts < 6 or totals[:2].min() <= 5:  # the lanes of the other worker continue
            observations, _, _, truncations, infos = envs.recv()
            lanes = infos["env_id"].tolist()
            restarted = infos.get("worker_restarted", np.zeros(2, bool)).tolist()
            for row, lane in enumerate(lanes):
                assert observations[row, 0] == lane
                assert truncations[row] == restarted[row]
                if restarted[row]:
                    assert lane in LOST_LANES
                    restarts += 1
                    totals[lane] = elapsed[lane] = -1  # the next step resets
                else:
                    totals[lane] += 1
                    elapsed[lane] += 1
                    assert observations[row, 2:].tolist() == [elapsed[lane], totals[lane]]
            go(envs, lanes, *([FAULTY_LANE] if elapsed[FAULTY_LANE] == 5 else []))


@ASYNC
@isolated()
def test_killed_while_recv_waits(engine):
    env_fns = make_fns("step", faults.sleep)
    with engine_of(engine, env_fns, batch_size=4) as envs:
        envs.reset()
        pid = envs.get_attr("pid")[FAULTY_LANE]
        go(envs, range(NUM_ENVS), FAULTY_LANE)
        threading.Timer(0.1, os.kill, (pid, signal.SIGKILL)).start()
        with pytest.raises(error.WorkerDied) as caught:
            envs.recv()
        assert caught.value.lanes == LOST_LANES


@ASYNC
@isolated()
def test_time_out(engine, tmp_path):
    """Results that are late are not lost: the next `recv` returns them."""
    done = tmp_path / "done"
    env_fns = make_fns("step", faults.wait_for(str(done)))
    with engine_of(engine, env_fns, batch_size=4) as envs:
        envs.reset()
        for k in (1, 2):
            done.unlink(missing_ok=True)
            go(envs, range(NUM_ENVS), FAULTY_LANE)
            with pytest.raises(error.WorkerTimeout) as caught:
                envs.recv(timeout=0.05)
            assert FAULTY_LANE in caught.value.lanes
            done.touch()
            observations, _, _, _, infos = envs.recv()
            assert sorted(infos["env_id"].tolist()) == [0, 1, 2, 3]
            assert observations[:, 3].tolist() == [k] * NUM_ENVS


@pytest.mark.slow
@engines_and("stuck", ["loop_ignoring_sigterm", "sleep", "stopped"])
@isolated()
def test_a_lane_that_never_returns(engine, stuck):
    """The other worker's lanes continue; `close` works."""
    env_fns = make_fns("step", faults.STUCK[stuck])
    envs = make_engine(engine, env_fns, batch_size=2)
    envs.reset()
    go(envs, range(NUM_ENVS), FAULTY_LANE)
    seen = []
    for _ in range(5):
        lanes = envs.recv(timeout=60)[4]["env_id"].tolist()
        seen += lanes
        go(envs, [lane for lane in lanes if lane < 2])
        if len([lane for lane in seen if lane == 3]) == 1 and len(lanes) < 2:
            break
    assert FAULTY_LANE not in seen
    envs.close(timeout=0.1)


@ASYNC
@isolated()
def test_close_with_lanes_under_way(engine):
    envs = make_engine(engine, make_fns("step", faults.pause(0.2)), batch_size=2)
    envs.reset()
    go(envs, range(NUM_ENVS), FAULTY_LANE)
    envs.close()
    assert envs.closed


@ASYNC
@isolated()
def test_what_was_sent_before_a_reset_is_not_stepped_after_it(engine):
    """Not even if the worker finds both requests at once."""
    with engine_of(engine, batch_size=2) as envs:
        envs.reset()
        pid = envs.get_attr("pid")[0]
        os.kill(pid, signal.SIGSTOP)
        go(envs, range(NUM_ENVS))
        envs.reset_async()
        os.kill(pid, signal.SIGCONT)
        assert envs.reset_wait()[0][:, 2].tolist() == [0] * NUM_ENVS
        assert envs.get_attr("elapsed") == (0,) * NUM_ENVS
        go(envs, range(NUM_ENVS))
        for _ in range(2):
            assert envs.recv()[0][:, 2].tolist() == [1, 1]


@ASYNC
@isolated()
def test_interrupt(engine):
    fault = faults.in_turn(faults.interrupt(os.getpid()), faults.pause(0.2))
    env_fns = make_fns("step", fault)
    with engine_of(engine, env_fns, batch_size=4) as envs:
        envs.reset()
        with pytest.raises(KeyboardInterrupt):
            go(envs, range(NUM_ENVS), FAULTY_LANE)
            envs.recv()
        observations, _, _, _, infos = envs.recv()
        assert sorted(infos["env_id"].tolist()) == [0, 1, 2, 3]
        assert observations[:, 3].tolist() == [1] * NUM_ENVS


class Reporting(gym.Env):
    """Environment whose infos do not fit into shared memory, and whose step raises for action 1."""

    observation_space = gym.spaces.Discrete(9)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        """Begin, without an info."""
        return 0, {}

    def step(self, action):
        """Report the calls so far."""
        if action == 1:
            raise ValueError("broken")
        self.calls = getattr(self, "calls", 0) + 1
        return 0, 0.0, False, False, {"calls": f"{self.calls}".ljust(2000)}


def test_infos_of_lanes_whose_batch_failed_are_not_received_later():
    with contextlib.closing(gym.vector.AsyncVectorEnv([Reporting] * 2, num_workers=2)) as envs:
        envs.reset()
        envs.send(np.array([1, 0]))
        with pytest.raises(ValueError, match="broken"):
            envs.recv()
        envs.reset()
        envs.send(np.array([0, 0]))
        infos = envs.recv()[4]
        calls = [infos["calls"][row].strip() for row in np.argsort(infos["env_id"])]
        assert calls == ["1", "2"]


# Steps of some lanes


@ASYNC
@isolated()
def test_exception_in_a_step_of_some_lanes(engine):
    with engine_of(engine, make_fns("step")) as envs:
        envs.reset()
        with pytest.raises(ValueError) as caught:
            envs.step(np.array([GO, FAULT]), env_ids=[1, FAULTY_LANE])
        assert caught.value.lanes == [FAULTY_LANE]
        with pytest.raises(error.ResetNeeded):
            envs.step(actions())
        envs.reset()
        assert envs.step(actions())[0][:, 2].tolist() == [1] * NUM_ENVS


@ASYNC
@isolated()
def test_death_in_a_step_of_some_lanes(engine):
    with engine_of(engine, make_fns("step", faults.sigkill)) as envs:
        envs.reset()
        with pytest.raises(error.WorkerDied) as caught:
            envs.step(np.array([FAULT]), env_ids=[FAULTY_LANE])
        assert caught.value.lanes == LOST_LANES


@ASYNC
@isolated()
def test_restart_in_a_step_of_some_lanes(engine):
    """A lost lane that was not in the step reports the loss in its next step."""
    kwargs = {"on_worker_death": "restart"}
    with engine_of(engine, make_fns("step", faults.sigkill), **kwargs) as envs:
        last = envs.reset()[0]
        results = envs.step(np.array([GO, FAULT]), env_ids=[1, FAULTY_LANE])
        assert results[3].tolist() == [False, True]
        assert results[4]["worker_restarted"].tolist() == [False, True]
        assert results[0].tolist() == [[1, 1, 1, 1], last[FAULTY_LANE].tolist()]
        results = envs.step(actions())
        assert results[3].tolist() == [False, False, False, True]
        assert results[4]["worker_restarted"].tolist() == [False, False, False, True]
        assert results[0][:, 2].tolist() == [1, 2, 0, 0]
        assert envs.step(actions())[0][:, 2].tolist() == [2, 3, 1, 0]
