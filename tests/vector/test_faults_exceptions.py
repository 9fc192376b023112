"""Environments that raise: one typed error, and an engine that stays usable."""

import functools

import numpy as np
import pytest

from gymcore import error
from tests.vector import faults
from tests.vector.fault_engines import ASYNC, engines, engines_and
from tests.vector.faulty_envs import (
    FAULTY_LANE,
    NUM_ENVS,
    FaultyEnv,
    actions,
    engine_of,
    make_engine,
    make_fns,
)
from tests.vector.isolation import isolated
from tests.vector.leaks import descendants

# The fault, a further class of the error, and a part of its text.
EXCEPTIONS = {
    "value_error": (faults.raise_value_error, ValueError, "ValueError: the pole broke"),
    "two_arguments": (faults.raise_two_arguments, faults.TwoArguments, "7: the pole broke"),
    "holds_a_lock": (faults.raise_with_lock, faults.HoldsALock, "it holds a lock"),
    "will_not_load": (faults.raise_will_not_load, faults.WillNotLoad, "the pole broke"),
    "no_text": (faults.raise_no_text, faults.NoText, "raise_no_text"),
    "local_class": (faults.raise_local_class, ValueError, "the pole broke"),
    "chained": (faults.raise_chained, OSError, "KeyError: 'pole'"),
    "long_text": (faults.raise_long_text, ValueError, "the pole broke" * 20),
    "memory_error": (faults.raise_memory_error, MemoryError, "raise_memory_error"),
}


class EndlessInfoEnv(FaultyEnv):
    """Environment whose action 1 returns an info that contains itself."""

    def step(self, action):
        observation, reward, terminated, truncated, info = super().step(0)
        if action:
            info["itself"] = info
        return observation, reward, terminated, truncated, info


def call_that_fails(envs, place):
    """Make the call in which the faulty lane causes its fault."""
    return {
        "reset": lambda: envs.reset(options={"fault": True}),
        "step": lambda: envs.step(actions(FAULTY_LANE)),
        "render": envs.render,
        "call": lambda: envs.call("greet", "good morning"),
        "set": lambda: envs.set_attr("mood", "bad"),
    }[place]()


def check(failure, engine, kind, text, lanes=(FAULTY_LANE,)):
    """Check the contents of an error."""
    assert isinstance(failure, error.EnvironmentFailed)
    assert isinstance(failure, kind)
    assert not isinstance(failure, error.WorkerDied)
    assert failure.lanes == list(lanes)
    assert failure.exit_code is None
    assert f"environment {lanes[0]}" in str(failure)
    if engine == "sync":  # the exception itself, with its traceback
        assert isinstance(failure.__cause__, kind)
    else:
        assert text in str(failure)
        assert "faults.py" in failure.traceback
        assert failure.traceback in str(failure)


def check_works(envs, resets):
    """Check that a batch counts correctly from a reset on."""
    observations, _ = envs.reset(seed=5)
    totals = envs.get_attr("total")
    assert observations.tolist() == [[i, resets[i], 0, totals[i]] for i in range(NUM_ENVS)]
    for k in (1, 2):
        observations, rewards, terminations, truncations, infos = envs.step(actions())
        assert observations[:, 2].tolist() == [k] * NUM_ENVS
        assert rewards.tolist() == [total + k for total in totals]
        assert infos["total"].tolist() == rewards.tolist()
        assert not terminations.any() and not truncations.any()


@pytest.mark.slow
@engines_and("name", EXCEPTIONS, sync=True, more=["shm-spawn"])
@isolated()
def test_in_step(engine, name):
    fault, kind, text = EXCEPTIONS[name]
    with engine_of(engine, make_fns("step", fault)) as envs:
        envs.reset(seed=1)
        envs.step(actions())
        for resets in (1, 2):
            with pytest.raises(error.EnvironmentFailed) as caught:
                envs.step(actions(FAULTY_LANE))
            check(caught.value, engine, kind, text)
            with pytest.raises(error.ResetNeeded):
                envs.step(actions())
            check_works(envs, [resets + 1] * NUM_ENVS)


@engines()
@isolated()
def test_an_info_without_an_end(engine):
    with engine_of(engine, [functools.partial(EndlessInfoEnv, i) for i in range(NUM_ENVS)]) as envs:
        envs.reset(seed=1)
        with pytest.raises(RecursionError, match="info: expected at most 256 nested dicts"):
            envs.step(actions(FAULTY_LANE))
        with pytest.raises(error.ResetNeeded):
            envs.step(actions())
        envs.reset(seed=5)
        envs.step(actions())


@engines_and(
    "place,name",
    [
        ("reset", "value_error"),
        ("render", "two_arguments"),
        ("call", "holds_a_lock"),
        ("set", "two_arguments"),
        ("set", "value_error"),
    ],
    sync=True,
    more=["shm-forkserver"],
)
@isolated()
def test_elsewhere(engine, name, place):
    fault, kind, text = EXCEPTIONS[name]
    with engine_of(engine, make_fns(place, fault)) as envs:
        envs.reset(seed=1)
        envs.step(actions())
        with pytest.raises(error.EnvironmentFailed) as caught:
            call_that_fails(envs, place)
        check(caught.value, engine, kind, text)
        if place == "reset":
            with pytest.raises(error.ResetNeeded):
                envs.step(actions())
        else:  # the episodes continue
            assert envs.step(actions())[0][:, 2].tolist() == [2] * NUM_ENVS
        resets = envs.get_attr("resets")
        check_works(envs, [one + 1 for one in resets])


@engines_and(
    "name",
    ["value_error", "two_arguments", "holds_a_lock", "will_not_load"],
    sync=True,
    more=["shm-forkserver"],
)
@isolated()
def test_in_a_constructor(engine, name, tmp_path):
    fault, kind, text = EXCEPTIONS[name]
    closed = tmp_path / "closed"
    env_fns = make_fns("close", faults.note(str(closed)), lanes=range(NUM_ENVS))
    env_fns[FAULTY_LANE] = make_fns("init", fault)[FAULTY_LANE]
    before = descendants()
    with pytest.raises(error.EnvironmentFailed) as caught:
        make_engine(engine, env_fns)
    check(caught.value, engine, kind, text)
    assert descendants() == before
    # The environments made before are closed; another worker may not have got that far.
    made = closed.read_text().split() if closed.exists() else []
    assert len(made) == 2 if engine == "sync" else len(made) <= 2


@ASYNC
@isolated()
def test_one_error_names_the_lanes_of_all_workers(engine):
    with engine_of(engine, make_fns("step", lanes=(0, 3))) as envs:
        envs.reset()
        with pytest.raises(ValueError, match="environments 0, 3 raised ValueError") as caught:
            envs.step(actions(0, 3))
        assert caught.value.lanes == [0, 3]
        assert caught.value.traceback.count("in raise_value_error") == 2
        check_works(envs, [2] * NUM_ENVS)


@ASYNC
@isolated()
def test_the_original_is_the_cause_where_it_can_travel(engine):
    with engine_of(engine, make_fns("step", faults.raise_chained)) as envs:
        envs.reset()
        with pytest.raises(OSError) as caught:
            envs.step(actions(FAULTY_LANE))
        assert type(caught.value.__cause__) is OSError
        assert caught.value.__cause__.args == (5, "the pole broke")


@ASYNC
@isolated()
def test_sys_exit_in_an_environment(engine):
    with engine_of(engine, make_fns("step", faults.exit_in_python)) as envs:
        envs.reset()
        with pytest.raises(error.EnvironmentFailed, match="SystemExit") as caught:
            envs.step(actions(FAULTY_LANE))
        assert caught.value.lanes == [FAULTY_LANE]
        check_works(envs, [2] * NUM_ENVS)


@engines()
@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
@isolated()
def test_after_an_exception_no_episode_end_is_remembered(engine, mode):
    """Lanes that ended in the step before are not reset again after the recovery."""
    env_fns = make_fns("step", length=2)
    with engine_of(engine, env_fns, autoreset_mode=mode) as envs:
        envs.reset(seed=1)
        envs.step(actions())
        with pytest.raises(ValueError):
            envs.step(actions(FAULTY_LANE))  # the others end here
        resets = envs.get_attr("resets")
        assert envs.reset(seed=2)[0][:, 1].tolist() == [one + 1 for one in resets]
        assert envs.step(actions())[0][:, 2].tolist() == [1] * NUM_ENVS


# Results that no engine can take


class OddResults(FaultyEnv):
    """Environment that returns an odd result from the step with the fault."""

    def __init__(self, lane, results):
        super().__init__(lane)
        self.results = results

    def step(self, action):
        results = super().step(action)
        return self.results(results) if action and self.lane == FAULTY_LANE else results


ODD = {
    "no tuple": lambda _: None,
    "four results": lambda r: r[:4],
    "another shape": lambda r: (np.zeros(3), *r[1:]),
    "no observation": lambda r: (None, *r[1:]),
    "no number": lambda r: (r[0], "much", *r[2:]),
    "no info": lambda r: (*r[:4], 5),
}


def in_turn(functions):
    turns = iter(functions)
    return lambda results: next(turns)(results)


@engines()
@isolated()
def test_odd_results(engine):
    env_fns = [lambda i=i: OddResults(i, in_turn(ODD.values())) for i in range(NUM_ENVS)]
    with engine_of(engine, env_fns) as envs:
        envs.reset()
        for resets, what in enumerate(ODD, 2):
            with pytest.raises(error.EnvironmentFailed) as caught:
                envs.step(actions(FAULTY_LANE))
                pytest.fail(what)
            assert caught.value.lanes == [FAULTY_LANE], what
            check_works(envs, [resets] * NUM_ENVS)


# Values that cannot be sent between processes


@ASYNC
@isolated()
def test_infos_that_cannot_be_pickled(engine):
    def with_lock(results):
        import threading

        return *results[:4], {"deep": {"lock": threading.Lock()}}

    env_fns = [lambda lane=lane: OddResults(lane, with_lock) for lane in range(NUM_ENVS)]
    with engine_of(engine, env_fns) as envs:
        envs.reset()
        with pytest.raises(TypeError, match="lock") as caught:
            envs.step(actions(FAULTY_LANE))
        assert isinstance(caught.value, error.EnvironmentFailed)
        assert caught.value.lanes == [FAULTY_LANE]
        check_works(envs, [2] * NUM_ENVS)


@ASYNC
@isolated()
def test_results_of_calls_that_cannot_be_pickled(engine):
    with engine_of(engine) as envs:
        envs.reset()
        for _ in range(2):
            with pytest.raises(error.EnvironmentFailed, match="lock"):
                envs.call("lock")
            assert envs.get_attr("lane") == (0, 1, 2, 3)
        assert envs.step(actions())[0][:, 2].tolist() == [1] * NUM_ENVS


@ASYNC
@isolated()
def test_arguments_that_cannot_be_pickled(engine):
    import threading

    lock = threading.Lock()
    with engine_of(engine) as envs:
        envs.reset()
        for call in (
            lambda: envs.reset(options={"lock": lock}),
            lambda: envs.call("greet", lock),
            lambda: envs.set_attr("mood", lock),
        ):
            with pytest.raises(TypeError):
                call()
            # Nothing was sent, and no call is pending.
            assert envs.call("greet") == tuple(f"hello from {i}" for i in range(NUM_ENVS))
        assert envs.step(actions())[0][:, 2].tolist() == [1] * NUM_ENVS


# Errors during `close`


@engines()
@isolated()
def test_in_del(engine):
    before = descendants()
    envs = make_engine(engine, make_fns("del", faults.raise_unseen, lanes=range(NUM_ENVS)))
    envs.reset()
    envs.step(actions())
    envs.close()
    assert descendants() == before


@engines()
@isolated()
def test_in_close(engine, tmp_path):
    closed = tmp_path / "closed"
    env_fns = make_fns("close", faults.note(str(closed)), lanes=range(NUM_ENVS))
    env_fns[FAULTY_LANE] = make_fns("close")[FAULTY_LANE]
    before = descendants()
    envs = make_engine(engine, env_fns)
    envs.reset()
    with pytest.raises(error.EnvironmentFailed) as caught:
        envs.close()
    check(caught.value, engine, ValueError, "ValueError: the pole broke")
    # All other environments were closed, and all processes have ended.
    assert len(closed.read_text().split()) == NUM_ENVS - 1
    assert envs.closed
    assert descendants() == before
    envs.close()
