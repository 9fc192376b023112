"""Workers that run a user-defined loop: the parent's side of their protocol."""

from __future__ import annotations

import functools
import multiprocessing
import os

import numpy as np
import pytest

import gymcore
from gymcore import spaces
from gymcore.error import EnvironmentFailed, InvalidArgument, SpaceMismatch, WorkerDied
from gymcore.vector import AutoresetMode
from gymcore.vector.async_vector_env import _async_worker
from gymcore.vector.utils import iterate
from gymcore.vector.utils.infos import merge_info
from gymcore.vector.workers.custom import CustomWorkers
from tests.pairwise import pairwise
from tests.testing_env import assert_same, make_counting_env
from tests.vector.async_envs import SHARABLE, RandomSpacesEnv
from tests.vector.custom_engines import custom_engines, misbehaving
from tests.vector.custom_loops import PlainEnv, misbehaving_loop, simple_loop

CountingEnv = make_counting_env(gymcore)
MODES = list(AutoresetMode)
METHODS = multiprocessing.get_all_start_methods()


@pytest.fixture
def make():
    """Yield a function that makes engines; close them after the test."""
    with custom_engines() as make_one:
        yield make_one


def merged(engine, infos):
    """Return the infos as a vector environment merges them."""
    batch = {}
    for i, info in enumerate(infos):
        merge_info(batch, info, i, len(infos))
    return batch


LOOPS = [simple_loop, _async_worker]


@pytest.mark.slow
@pytest.mark.parametrize(
    "mode,shared_memory,loop,seed", pairwise(MODES, [True, False], LOOPS, range(3))
)
def test_equals_sync(make, mode, shared_memory, loop, seed):
    env_fns = [functools.partial(RandomSpacesEnv, seed, SHARABLE)] * 3
    engine = make(env_fns, autoreset_mode=mode, shared_memory=shared_memory, worker=loop)
    envs = gymcore.vector.SyncVectorEnv(env_fns, autoreset_mode=mode)
    observations, infos = engine.reset([5, 6, 7], {"a": 1})
    assert_same((observations, merged(engine, infos)), envs.reset(seed=5, options={"a": 1}))
    envs.action_space.seed(seed)
    for step in range(40):
        actions = envs.action_space.sample()
        *ours, infos = engine.step(list(iterate(envs.action_space, actions)))
        *theirs, their_infos = envs.step(actions)
        assert_same(ours, theirs, f"step {step}")
        batch = merged(engine, infos)
        assert_same(batch, {key: their_infos[key] for key in batch}, f"infos of step {step}")
        assert set(batch) == set(their_infos)
        ended = theirs[2] | theirs[3]
        if mode is AutoresetMode.DISABLED and ended.any():
            observations, infos = engine.reset([1, 2, 3], {}, ended)
            expected = envs.reset(seed=[1, 2, 3], options={"reset_mask": ended})
            assert_same((observations, merged(engine, infos)), expected, f"reset after step {step}")
    assert engine.call("scaled", (2,), {"offset": 1}) == list(envs.call("scaled", 2, offset=1))
    engine.set_attr("elapsed", [7, 8, 9])
    assert engine.call("elapsed", (), {}) == [7, 8, 9]
    envs.close()


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_start_methods(make, method):
    engine = make([functools.partial(RandomSpacesEnv, 3)] * 2, context=method, max_concurrency=1)
    first = engine.reset([1, 2])[0]
    again = engine.reset([1, 2])[0]
    assert_same(first, again)
    assert engine.close() == []


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_lambdas_and_registered_ids(make, registries, method):
    gymcore.register("CustomLoop-v0", entry_point=lambda: PlainEnv())
    engine = make(
        [PlainEnv] * 2, lambda *args: misbehaving_loop(*args), method, shared_memory=False
    )
    assert engine.call("name", (lambda: 3, 4), {}) == [[3, 4]] * 2
    engine.close()
    engine = make([lambda: gymcore.make("CustomLoop-v0")], context=method)
    assert engine.call("has_reset", (), {}) == [False]


def test_copies(make):
    engine = make([CountingEnv] * 2)
    first, _ = engine.reset([1, 2])
    second = engine.step([0, 0])[0]
    assert first.tolist() == [[1, 0], [2, 0]] and second.tolist() == [[1, 1], [2, 1]]
    assert not np.shares_memory(first, second)


@pytest.mark.parametrize("shared_memory", [True, False])
def test_no_copies(make, shared_memory):
    engine = make([CountingEnv] * 2, shared_memory=shared_memory, copy=False)
    first, _ = engine.reset([1, 2])
    second = engine.step([0, 0])[0]
    assert np.shares_memory(first, second)
    assert second.tolist() == [[1, 1], [2, 1]]


@pytest.mark.parametrize("reward", [np.float32(2.5), np.array(2.5), np.array([2.5]), 2.5])
def test_rewards_and_flags_of_any_type(make, reward):
    class Env(PlainEnv):
        def reset(self, *, seed=None, options=None):
            return np.zeros(2, np.float32), {}

        def step(self, action):
            return np.zeros(2, np.float32), reward, np.bool_(True), 0, None

    engine = make([Env] * 2, autoreset_mode=AutoresetMode.DISABLED)
    engine.reset([None] * 2)
    _, rewards, terminated, truncated, infos = engine.step([0, 0])
    assert_same(
        (rewards, terminated, truncated, infos),
        (np.full(2, 2.5), np.ones(2, np.bool_), np.zeros(2, np.bool_), [{}, {}]),
    )


def test_wrong_rewards(make):
    engine = misbehaving(make)
    engine.reset([None, None])
    with pytest.raises(TypeError, match=r"environment 1 raised TypeError in step \(its reward\)"):
        engine.step([2, {}])
    assert engine.step([1, 2])[1].tolist() == [1, 2]


# Spaces and arguments


@pytest.mark.parametrize("observation_mode", ["same", "different"])
def test_spaces_that_differ(make, observation_mode):
    def env_fn(shape):
        return CountingEnv(observation_space=spaces.Box(0, 1, shape, np.int64))

    env_fns = [functools.partial(env_fn, (2,)), functools.partial(env_fn, (3,))]
    with pytest.raises(SpaceMismatch, match="environment 1 differ"):
        make(env_fns, observation_mode=observation_mode)
    env_fns = [CountingEnv, functools.partial(CountingEnv, action_space=spaces.Discrete(3))]
    with pytest.raises(SpaceMismatch, match=r"action space different from.*environment 1 differ"):
        make(env_fns, observation_mode=observation_mode)


@pytest.mark.parametrize("worker", [lambda a, b: None, lambda a, b, c, d, e, f, g, *, h: None])
def test_loops_of_other_signatures(make, worker):
    with pytest.raises(ValueError, match=r"must accept 8 arguments. Got"):
        make([PlainEnv], worker)
    with pytest.raises(TypeError, match="3"):
        make([PlainEnv], 3)


def test_spaces_that_cannot_be_shared(make):
    class Custom(spaces.Space):
        pass

    for space, error in (
        (Custom(), ValueError),
        (spaces.Sequence(spaces.Discrete(2)), TypeError),
    ):
        with pytest.raises(error, match="disable"):
            make([functools.partial(CountingEnv, observation_space=space)])


# Exceptions


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_constructors_that_raise(make, method):
    parent = os.getpid()

    def env_fn():
        if os.getpid() != parent:
            raise FileNotFoundError("no map")
        return PlainEnv()

    with pytest.raises(
        FileNotFoundError, match=r"environments? [01-]+ raised .* in starting: no map"
    ) as e:
        make([env_fn] * 2, context=method)
    assert isinstance(e.value, EnvironmentFailed)
    assert "in env_fn" in e.value.traceback


@pytest.mark.parametrize("where", ["reset", "step", "scaled"])
def test_methods_that_raise(make, where):
    class Env(CountingEnv):
        def scaled(self):
            return 1

    def fail(*args, **kwargs):
        raise ZeroDivisionError("boom")

    def env_fn(broken):
        env = Env()
        if broken:
            setattr(env, where, fail)
        return env

    engine = make([functools.partial(env_fn, False), functools.partial(env_fn, True)])
    calls = {
        "reset": lambda: engine.reset([1, 2]),
        "step": lambda: engine.step([0, 0]),
        "scaled": lambda: engine.call("scaled", (), {}),
    }
    with pytest.raises(ZeroDivisionError, match=f"environment 1 raised .* in {where}: boom") as e:
        calls[where]()
    assert e.value.lanes == [1]
    assert "in fail" in e.value.traceback
    # The loop has ended with the exception; its message is repeated.
    engine.processes[1].join(60)
    with pytest.raises(WorkerDied, match="exit code 0") as e:
        engine.reset([1, 2])
    assert "boom" in e.value.traceback
    assert e.value.lanes == [1]


@pytest.mark.slow
def test_several_that_raise(make):
    engine = misbehaving(make, 3)
    with pytest.raises(EnvironmentFailed, match="environments 0, 2 raised an exception in step"):
        engine.step(["silent_failure", 5, "silent_failure"])
    assert engine.step([1, 2, 3])[1].tolist() == [1, 2, 3]


def test_loops_that_end_with_an_exception(make):
    engine = misbehaving(make)
    with pytest.raises(KeyError, match="environment 0 raised KeyError in step: 'lost'"):
        engine.step(["raise lost", 5])
    with pytest.raises(WorkerDied, match="worker 0 with environment 0 died in reset: exit code 1"):
        engine.reset([1, 2])


def test_loops_that_end_before_they_are_asked(make, monkeypatch):
    def loop(*args):
        raise FileNotFoundError("no map")

    post = CustomWorkers.post

    def post_late(self, *args):
        for worker in self._workers:
            while not worker.join(0.01):
                worker.poll()  # a spawned process waits for the rest of its functions
        post(self, *args)

    monkeypatch.setattr(CustomWorkers, "post", post_late)
    with pytest.raises(FileNotFoundError, match=r"environments 0-1 raised .* in starting: no map"):
        make([PlainEnv] * 2, loop, shared_memory=False)


def test_exceptions_that_do_not_pickle(make):
    engine = misbehaving(make)
    with pytest.raises(EnvironmentFailed, match="environment 1 raised TwoArguments") as e:
        engine.step([5, "unpicklable"])
    assert e.value.traceback == "where it was"
    with pytest.raises(ValueError, match="much"):
        engine.step(["bulky_report", 5])
    assert engine.step([1, 2])[1].tolist() == [1, 2]


def test_a_loop_makes_another_class():
    """Custom workers are a separate class, selected by the argument of Gymnasium's class."""

    class Derived(gymcore.vector.AsyncVectorEnv):
        pass

    cls = gymcore.vector.CustomWorkerVectorEnv
    for make_one in (gymcore.vector.AsyncVectorEnv, cls):
        envs = make_one([PlainEnv] * 2, worker=simple_loop)
        assert type(envs) is cls and not envs.steps_some_lanes and not envs.ends_episodes
        envs.close()
    by_position = gymcore.vector.AsyncVectorEnv([PlainEnv], True, True, None, True, simple_loop)
    assert type(by_position) is cls
    by_position.close()
    derived = Derived([lambda: gymcore.make("CartPole-v1")] * 2, worker=simple_loop)
    assert isinstance(derived, Derived) and isinstance(derived, cls)
    assert type(derived).__name__ == "Derived" and not derived.steps_some_lanes
    derived.reset(seed=3)
    assert derived.step([0, 1])[1].tolist() == [1.0, 1.0]
    derived.close()
    ours = Derived([PlainEnv])
    assert type(ours) is Derived
    ours.close()
    with pytest.raises(InvalidArgument, match="worker: expected the loop that workers run"):
        cls([PlainEnv])
