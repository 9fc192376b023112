"""Engines that cannot be made: a clear error, and no resources left behind."""

import functools
import resource
import threading
import traceback

import pytest

import gymcore
from gymcore import error
from tests.vector import faults
from tests.vector.fault_engines import ASYNC, SOAK, engines, engines_and
from tests.vector.faulty_envs import (
    LOST_LANES,
    NUM_ENVS,
    FaultyEnv,
    actions,
    engine_of,
    make_engine,
    make_fns,
)
from tests.vector.isolation import isolated
from tests.vector.leaks import open_files

OTHER_METHODS = pytest.mark.parametrize(
    "engine", ["shm-spawn", pytest.param("pipes-spawn", marks=SOAK), "shm-forkserver"]
)


@ASYNC
@pytest.mark.parametrize("death", ["sigkill", "exit"])
@isolated()
def test_worker_dies_in_a_constructor(engine, death):
    fault, exit_code = faults.DEATHS[death]
    with pytest.raises(error.WorkerDied) as caught:
        make_engine(engine, make_fns("init", fault))
    assert caught.value.lanes == LOST_LANES
    assert caught.value.exit_code == exit_code
    assert "environments 2-3" in str(caught.value)


@pytest.mark.slow
@engines_and("stuck", ["sleep", "loop_ignoring_sigterm", "stopped"])
@isolated()
def test_worker_is_stuck_in_a_constructor(engine, stuck):
    env_fns = make_fns("init", faults.STUCK[stuck])
    where = "" if stuck == "stopped" else "environment 2 waits here:"
    place = "" if stuck == "stopped" else "faults.py"
    for start_timeout in (1.0, 10.0, 60.0):  # until both workers start within this time
        with pytest.raises(error.WorkerTimeout, match="not made within start_timeout=") as caught:
            make_engine(engine, env_fns, start_timeout=start_timeout)
        if caught.value.lanes == LOST_LANES and place in str(caught.value):
            break
    assert caught.value.lanes == LOST_LANES
    assert where in str(caught.value) and place in str(caught.value)


# Functions that cannot be pickled


def fns_with(function):
    """Return functions for environments, with another function at index 2."""
    env_fns = make_fns()
    env_fns[2] = function
    return env_fns


@pytest.mark.parametrize("engine", ["sync", "shm-fork", "pipes-fork"])
@isolated()
def test_function_that_cannot_be_pickled_is_fine_under_fork(engine):
    lock = threading.Lock()
    with engine_of(engine, fns_with(lambda: lock and FaultyEnv(2))) as envs:
        envs.reset()
        assert envs.step(actions())[0][:, 0].tolist() == [0, 1, 2, 3]


@OTHER_METHODS
@isolated()
def test_function_that_cannot_be_pickled_is_named(engine):
    lock = threading.Lock()
    with pytest.raises(error.Error, match=r"env_fns\[2\]") as caught:
        make_engine(engine, fns_with(lambda: lock and FaultyEnv(2)))
    assert isinstance(caught.value, TypeError)
    assert "lock" in str(caught.value)


class LoadsNowhere:
    """A function that can be pickled, but fails in the process that loads it."""

    def __call__(self):
        return FaultyEnv(2)

    def __reduce__(self):
        return faults._fail_to_load, ()


@pytest.mark.slow
@OTHER_METHODS
@isolated()
def test_function_that_does_not_load_in_the_worker(engine):
    with pytest.raises(error.EnvironmentFailed, match="will not load") as caught:
        make_engine(engine, fns_with(LoadsNowhere()))
    assert set(caught.value.lanes) <= set(LOST_LANES)


@pytest.mark.slow
@OTHER_METHODS
@isolated()
def test_lambdas_and_closures_start_everywhere(engine):
    lanes = list(range(NUM_ENVS))

    class Local(FaultyEnv):
        pass

    with engine_of(engine, [lambda i=i: Local(lanes[i]) for i in lanes]) as envs:
        envs.reset()
        assert envs.step(actions())[0][:, 0].tolist() == lanes


@ASYNC
@isolated()
def test_environment_that_cannot_be_pickled(engine):
    """Environments are made in the worker, and stay there."""

    class HoldsALock(FaultyEnv):
        def __init__(self, lane):
            super().__init__(lane)
            self.held = threading.Lock()

    with engine_of(engine, [functools.partial(HoldsALock, i) for i in range(NUM_ENVS)]) as envs:
        envs.reset()
        assert envs.step(actions())[0][:, 0].tolist() == [0, 1, 2, 3]


# Results of the functions


def no_env():
    return None


class OtherSpace(FaultyEnv):
    def __init__(self):
        super().__init__(2)
        self.observation_space = gymcore.spaces.Box(0, 1, (7,))


@engines()
@isolated()
def test_no_environment(engine):
    with pytest.raises(error.Error) as caught:
        make_engine(engine, fns_with(no_env))
    assert "NoneType" in str(caught.value)


@engines()
@isolated()
def test_spaces_that_differ(engine):
    with pytest.raises(error.SpaceMismatch, match="2"):
        make_engine(engine, fns_with(OtherSpace))


# Limits of the system


@pytest.mark.parametrize("engine", ["shm-fork", "pipes-fork"])
@isolated()
def test_too_many_open_files(engine):
    """Whichever file is one too many, those before it are closed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    refused = 0
    for spare in range(60):
        before = open_files()
        resource.setrlimit(resource.RLIMIT_NOFILE, (len(before) + 1 + spare, hard))
        try:
            envs = make_engine(engine)
        except (OSError, error.Error) as problem:
            refused += 1
            place = traceback.extract_tb(problem.__traceback__)[-1]
        else:
            envs.close()
            break
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        left = [number for number in open_files() if number not in before]
        assert not left, place
    assert 0 < refused < 60
