"""Results and errors of AsyncVectorEnv, compared with Gymnasium's; see test_async_vector_env.py."""

from __future__ import annotations

import contextlib
import copy
import functools
import itertools
import os

import gymnasium
import numpy as np
import pytest

import gymcore
from tests.pairwise import pairwise
from tests.testing_env import OBSERVATION_KINDS, assert_same
from tests.vector.async_pairs import (
    COUNTING,
    MODES,
    OPERATIONS,
    PACKAGES,
    RANDOM,
    assert_same_error,
    error_of,
    errors_of,
    step_both,
)
from tests.vector.custom_loops import simple_loop

MEMORY = [True, False]
# Every mode, with observations alternately in shared memory and in the pipes.
MODES_AND_MEMORY = pytest.mark.parametrize(
    "mode,shared_memory", list(zip(MODES, itertools.cycle(MEMORY), strict=False))
)

# Python 3.12 warns about Gymnasium's forks.
pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


# Calls


@pytest.mark.parametrize("shared_memory", MEMORY)
def test_calls_and_attributes(pair, shared_memory):
    ours, theirs = pair(
        RANDOM, 3, {"render_mode": "rgb_array"}, shared_memory=shared_memory, context="fork"
    )
    for envs in (ours, theirs):
        envs.reset(seed=4)
        assert envs.set_attr("elapsed", [4, 5, 6]) is None
    for do in (
        lambda envs: envs.call("scaled", 10, offset=1),
        lambda envs: envs.call("scaled", 10),
        lambda envs: envs.call("elapsed"),
        lambda envs: envs.call("elapsed", 1, two=2),
        lambda envs: (envs.call_async("scaled", 3), envs.call_wait()),
        lambda envs: (envs.call_async("elapsed"), envs.call_wait(timeout=60)),
        lambda envs: envs.get_attr("limit"),
        lambda envs: envs.get_attr("render"),
        lambda envs: envs.render(),
        lambda envs: envs.np_random_seed,
        lambda envs: tuple(rng.random() for rng in envs.np_random),
        lambda envs: envs.call("render"),
        lambda envs: repr(envs.get_attr("observation_space")),
    ):
        assert_same(do(ours), do(theirs))


def test_values_of_set_attr(pair):
    ours, theirs = pair()
    for values in (3, [1, 2], (1, 2), np.array([1, 2]), "ab", {"a": 1}, None, ([1], [2])):
        for envs in (ours, theirs):
            assert envs.set_attr("length", values) is None
            envs.set_attr("new", values)
        for name in ("length", "new"):
            assert_same(ours.get_attr(name), theirs.get_attr(name), f"{values!r}")


def test_refused_values_of_set_attr(pair):
    ours, theirs = pair()
    for values in ([1], (1, 2, 3), []):
        our_error, their_error = (error_of(e.set_attr, "length", values) for e in (ours, theirs))
        assert isinstance(our_error, type(their_error)) and str(our_error) == str(their_error)
        assert ours.get_attr("length") == theirs.get_attr("length")


@pytest.mark.slow
@pytest.mark.parametrize(
    "args",
    [
        *(("reset",), ("step", 0), ("close",), ("_setattr", "length", 1), ("_check_spaces", 1)),
        *(("missing",), ("_call", "length"), ("scaled",), ("scaled", 1, 2, 3)),
        *(("unwrapped.limit",), ("scaled", "a", {"b": 1})),
    ],
)
def test_calls_that_raise(pair, args):
    ours, theirs = pair(RANDOM)
    our_error, their_error = (error_of(envs.call, *args) for envs in (ours, theirs))
    assert their_error is not None
    assert isinstance(our_error, type(their_error)), f"{our_error!r} against {their_error!r}"
    assert isinstance(our_error, gymcore.error.Error)
    # The two classes have the same name.
    assert str(their_error) in str(our_error)
    assert ours._state.value == theirs._state.value == "default"


# Reset


@pytest.mark.parametrize("shared_memory", MEMORY)
def test_seeds(pair, shared_memory):
    ours, theirs = pair(RANDOM, 3, shared_memory=shared_memory)
    for seed in (None, 3, 0, True, [1, 2, 3], (3, 2, 1), [7, None, 7], range(3)):
        for envs in (ours, theirs):
            envs.reset(seed=9)
        where = f"seed {seed!r}"
        assert_same(
            *(envs.reset(seed=seed, options={"level": 2}) for envs in (ours, theirs)), where
        )
        assert_same(ours.np_random_seed, theirs.np_random_seed, where)
        assert_same(
            *((envs.reset_async(seed, {"a": 1}), envs.reset_wait())[1] for envs in (ours, theirs)),
            where,
        )


@pytest.mark.parametrize("seed", [[1], [1, 2, 3], "a", 1.5, -1, "ab", [1.5, 2], [-1, 2]])
def test_refused_seeds(pair, seed):
    ours, theirs = pair()
    our_error, their_error = (error_of(envs.reset, seed=seed) for envs in (ours, theirs))
    assert isinstance(our_error, gymcore.error.Error)
    if type(their_error) is not gymnasium.error.Error and not isinstance(seed, (str, float)):
        assert isinstance(our_error, type(their_error))
        assert str(our_error) == str(their_error)
    assert ours._state.value == "default"


def test_refused_masks(pair):
    ours, theirs = pair()
    for envs in (ours, theirs):
        envs.reset(seed=1)
    for mask in (
        *([True, False], None, np.array([1, 0]), np.array([True]), np.array([[True, False]])),
        np.array([False, False]),
    ):
        our_error, their_error = (
            error_of(envs.reset, options={"reset_mask": mask}) for envs in (ours, theirs)
        )
        assert isinstance(our_error, type(their_error)), mask
        assert str(our_error) == str(their_error)
        assert ours._state.value == theirs._state.value == "default"


@MODES_AND_MEMORY
def test_masked_resets(pair, mode, shared_memory):
    ours, theirs = pair(RANDOM, 4, shared_memory=shared_memory, autoreset_mode=mode)
    for seed in (None, 3, [1, 2, 3, 4], [7, None, 7, None]):
        for envs in (ours, theirs):
            envs.reset(seed=9)
        options = {"reset_mask": np.array([True, False, True, False]), "level": 2}
        kept = copy.copy(options)
        results = [envs.reset(seed=seed, options=dict(options)) for envs in (ours, theirs)]
        assert_same(*results, f"seed {seed!r}")
        ours.reset(options=options)
        assert options.keys() == kept.keys()
        theirs.reset(options=kept)
    step_both(ours, theirs, 5, mode)


# Steps


@pytest.mark.slow
@MODES_AND_MEMORY
def test_random_steps_with_infos(pair, mode, shared_memory):
    ours, theirs = pair(RANDOM, 4, autoreset_mode=mode, shared_memory=shared_memory)
    assert_same(ours.reset(seed=42), theirs.reset(seed=42), "reset")
    step_both(ours, theirs, 60, mode)


# Text and OneOf never change in Gymnasium's shared memory; the "tuple" has a Text.
OBJECTS = ("graph", "sequence", "text", "one_of", "tuple")
# test_sync_parity.py covers every kind in every mode.
KINDS = [
    (kind, kind not in OBJECTS, mode)
    for kind, mode in zip(OBSERVATION_KINDS, itertools.cycle(MODES), strict=False)
]


@pytest.mark.slow
@pytest.mark.parametrize("kind,shared_memory,mode", KINDS)
def test_every_observation_space(pair, kind, shared_memory, mode):
    ours, theirs = pair(
        RANDOM, 2, {"kind": kind, "limit": 4}, autoreset_mode=mode, shared_memory=shared_memory
    )
    assert repr(ours.observation_space) == repr(theirs.observation_space)
    assert repr(ours.action_space) == repr(theirs.action_space)
    assert_same(ours.reset(seed=1, options={"a": 1}), theirs.reset(seed=1, options={"a": 1}))
    step_both(ours, theirs, 12, mode)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_every_ending(mode):
    endings = ["terminated", "truncated", "both"]
    ours, theirs = (
        package.vector.AsyncVectorEnv(
            [
                functools.partial(COUNTING[package], length, ending)
                for length, ending in enumerate(endings, 1)
            ],
            autoreset_mode=mode,
        )
        for package in PACKAGES
    )
    assert_same(ours.reset(seed=5), theirs.reset(seed=5))
    step_both(ours, theirs, 12, mode)
    ours.close(), theirs.close()


def test_actions(pair):
    ours, theirs = pair()
    for actions in (
        *([0, 1], (0, 1), np.array([0, 1]), np.array([0, 1], np.int32), np.array([[0], [1]])[:, 0]),
        np.array([1, 7]),
    ):
        for envs in (ours, theirs):
            envs.reset(seed=1)
        assert_same(ours.step(actions), theirs.step(actions), f"{actions!r}")
        assert_same(
            *((envs.step_async(actions), envs.step_wait(timeout=60))[1] for envs in (ours, theirs)),
            f"{actions!r}",
        )
        assert np.array_equal(ours.get_attr("actions"), theirs.get_attr("actions"))


@pytest.mark.parametrize("half", ["step_async", "step_wait"])
def test_step_calls_the_halves_that_a_subclass_defines(half):
    calls = []
    for package in PACKAGES:
        base = package.vector.AsyncVectorEnv

        def own(self, *args, base=base):
            calls.append(type(self))
            return getattr(base, half)(self, *args)

        cls = type("Own", (base,), {half: own})
        with contextlib.closing(cls([COUNTING[package]] * 2)) as envs:
            envs.reset()
            assert envs.step([0, 1])[1].shape == (2,)
    assert [cls.__base__ for cls in calls] == [one.vector.AsyncVectorEnv for one in PACKAGES]


class TypeOfAction(gymcore.Env):
    observation_space = gymcore.spaces.Discrete(1)
    action_space = gymcore.spaces.Box(0, 1, (), np.float32)

    def reset(self, *, seed=None, options=None):
        return 0, {}

    def step(self, action):
        return 0, 0.0, False, False, {"type": type(action).__name__, "value": float(action)}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_actions_that_are_numbers_keep_their_type(dtype):
    with contextlib.closing(gymcore.vector.AsyncVectorEnv([TypeOfAction] * 3)) as envs:
        envs.reset()
        for actions in np.arange(6).reshape(2, 3).astype(dtype) / 10:
            infos = envs.step(actions)[4]
            assert list(infos["type"]) == [np.dtype(dtype).name] * 3
            assert np.array_equal(infos["value"], actions)
        with pytest.raises(gymcore.error.InvalidAction):
            envs.step(np.zeros(2, dtype))


@pytest.mark.parametrize("engine", ["AsyncVectorEnv", "SyncVectorEnv"])
def test_a_second_send_without_lanes_names_those_that_are_stepped(engine):
    with contextlib.closing(getattr(gymcore.vector, engine)([TypeOfAction] * 3)) as envs:
        envs.reset()
        for _ in range(2):  # after a reset, and after a `recv`
            envs.send(np.zeros(3, np.float32))
            message = r"env_ids: expected .* not being stepped, got \[0, 1, 2\]"
            with pytest.raises(gymcore.error.InvalidArgument, match=message):
                envs.send(np.zeros(3, np.float32))
            envs.recv()


@pytest.mark.parametrize("actions", [[0], [0, 1, 2], 3, None])
def test_refused_actions(pair, actions):
    ours, theirs = pair()
    for envs in (ours, theirs):
        envs.reset(seed=1)
    assert error_of(theirs.step, actions) is not None
    assert isinstance(error_of(ours.step, actions), gymcore.error.InvalidAction)
    assert ours._state.value == theirs._state.value == "default"


@pytest.mark.parametrize("shared_memory", MEMORY)
def test_rewards_and_flags(pair, shared_memory):
    results = [
        (1, True, False),
        (np.float32(0.1), np.bool_(True), np.bool_(False)),
        (np.array(2.5), 0, 1),
        (float("inf"), False, False),
        (float("nan"), False, False),
    ]

    def returning(package):
        class Returning(COUNTING[package]):
            def __init__(self):
                super().__init__()
                self.results = iter(results)

            def step(self, action):
                return (super().step(action)[0], *next(self.results), {"a": 1})

        return Returning

    ours, theirs = pair(
        {package: returning(package) for package in PACKAGES},
        shared_memory=shared_memory,
        autoreset_mode="Disabled",
    )
    for result in results:
        for envs in (ours, theirs):
            envs.reset(seed=1)
        assert_same(ours.step([0, 1]), theirs.step([0, 1]), f"{result!r}")


@pytest.mark.parametrize(
    "copy_observations,shared_memory,kind",
    pairwise([True, False], MEMORY, ["box", "dict", "tuple"]),
)
def test_kept_observations(pair, copy_observations, shared_memory, kind):
    ours, theirs = pair(
        RANDOM, 2, {"kind": kind}, copy=copy_observations, shared_memory=shared_memory
    )
    kept = [[envs.reset(seed=3)[0]] for envs in (ours, theirs)]
    for _ in range(3):
        actions = ours.action_space.sample()
        for rows, envs in zip(kept, (ours, theirs), strict=True):
            rows.append(envs.step(actions)[0])
    if kind != "tuple" or not shared_memory:  # the "tuple" has a Text
        assert_same(*kept)
    if kind == "box":
        assert (kept[0][0] is kept[0][1]) == (kept[1][0] is kept[1][1]) == (not copy_observations)
        assert kept[0][1].flags.writeable and kept[1][1].flags.writeable


def test_results_are_new_arrays(pair):
    for envs in pair():
        envs.reset()
        first, second = envs.step([0, 1]), envs.step([0, 1])
        for i in (1, 2, 3):
            assert not np.shares_memory(first[i], second[i])


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["different", "tuple"])
@pytest.mark.parametrize("shared_memory", MEMORY)
def test_observation_modes(mode, shared_memory):
    def build(package):
        box = package.spaces.Box
        fns = [
            lambda high=high: COUNTING[package](3, observation_space=box(-1, high, (2,), np.int64))
            for high in (5, 7)
        ]
        observation_mode = mode
        if mode == "tuple":
            observation_mode = (box(-9, 9, (2, 2), np.int64), box(-9, 9, (2,), np.int64))
        return package.vector.AsyncVectorEnv(
            fns, observation_mode=observation_mode, shared_memory=shared_memory
        )

    ours, theirs = build(gymcore), build(gymnasium)
    assert repr(ours.observation_space) == repr(theirs.observation_space)
    assert repr(ours.single_observation_space) == repr(theirs.single_observation_space)
    assert_same(ours.reset(seed=1), theirs.reset(seed=1))
    step_both(ours, theirs, 8, "NextStep")
    ours.close(), theirs.close()


# Exceptions of environments


class TwoWords(Exception):
    pass


@pytest.mark.slow
@pytest.mark.parametrize(
    "where,error,shared_memory",
    pairwise(
        ["reset", "step", "render"],
        [ValueError("no fuel"), KeyError("door"), TwoWords("a", 3), ZeroDivisionError()],
        MEMORY,
    ),
)
def test_environments_that_raise(pair, where, error, shared_memory):
    def raising(package):
        def fail(*args, **kwargs):
            raise error

        return lambda: setattr_and_return(COUNTING[package](), where, fail)

    ours, theirs = pair(
        {package: raising(package) for package in PACKAGES}, shared_memory=shared_memory
    )
    if where != "reset":
        for envs in (ours, theirs):
            envs.reset()
    our_error, their_error = errors_of(ours, theirs, where)
    assert isinstance(our_error, type(error)) and isinstance(their_error, type(error))
    assert str(error) in str(our_error)
    assert our_error.lanes == [0, 1]
    assert "in fail" in our_error.traceback
    assert ours._state.value == theirs._state.value == "default"
    assert not ours.closed and not theirs.closed
    ours.close(), theirs.close()


def setattr_and_return(env, name, value):
    setattr(env, name, value)
    return env


@pytest.mark.parametrize(
    "result,shared_memory",
    [(None, True), ((1, 2, 3, 4), False), (5, False), ((1, 2, 3, 4, 5, 6), True)],
)
def test_wrong_results(pair, result, shared_memory):
    def returning(package):
        class Returning(COUNTING[package]):
            def step(self, action):
                return result

        return Returning

    ours, theirs = pair(
        {package: returning(package) for package in PACKAGES}, shared_memory=shared_memory
    )
    for envs in (ours, theirs):
        envs.reset()
    our_error, their_error = errors_of(ours, theirs, "step")
    assert their_error is not None
    assert isinstance(our_error, (gymcore.error.Error, type(their_error)))


def test_environments_whose_close_raises_are_closed():
    parent = os.getpid()

    def closing(package):
        class Closing(COUNTING[package]):
            def close(self):
                if os.getpid() != parent:
                    raise OSError("no")

        return Closing

    envs = gymcore.vector.AsyncVectorEnv([closing(gymcore)] * 2)
    error = error_of(envs.close)
    assert error is None or isinstance(error, OSError)
    assert envs.closed


# A user-defined loop


@MODES_AND_MEMORY
def test_worker(pair, mode, shared_memory):
    ours, theirs = pair(
        RANDOM,
        3,
        worker=simple_loop,
        autoreset_mode=mode,
        shared_memory=shared_memory,
        max_concurrency=2,
    )
    assert_same(ours.reset(seed=42), theirs.reset(seed=42), "reset")
    step_both(ours, theirs, 15, mode)
    for do in (
        lambda envs: envs.call("scaled", 10, offset=1),
        lambda envs: envs.set_attr("elapsed", [4, 5, 6]),
        lambda envs: envs.get_attr("elapsed"),
        lambda envs: envs.np_random_seed,
        lambda envs: envs.render(),
        lambda envs: envs.close(),
    ):
        assert_same(do(ours), do(theirs))


def test_worker_and_states(pair):
    ours, theirs = pair(worker=simple_loop)
    for envs in (ours, theirs):
        envs.reset(seed=1)
        envs.step_async([0, 1])
    for name in OPERATIONS:
        if name != "step_wait":
            assert_same_error(*errors_of(ours, theirs, name))
    assert_same(ours.step_wait(), theirs.step_wait())
    assert_same_error(*errors_of(ours, theirs, "step_wait"))
    ours.close(), theirs.close()
    assert type(ours).__name__ == "CustomWorkerVectorEnv"
    for name in OPERATIONS:
        our_error, their_error = errors_of(ours, theirs, name)
        assert type(our_error).__name__ == type(their_error).__name__
        own_name = str(their_error).replace("AsyncVectorEnv", "CustomWorkerVectorEnv")
        assert str(our_error) == own_name


# Made by id


def test_make_vec():
    ours, theirs = (
        package.make_vec("CartPole-v1", 3, vectorization_mode="async") for package in PACKAGES
    )
    assert isinstance(ours, gymcore.vector.AsyncVectorEnv)
    assert repr(ours) == repr(theirs) == "AsyncVectorEnv(CartPole-v1, num_envs=3)"
    assert ours.spec.id == theirs.spec.id
    our_reset, their_reset = ours.reset(seed=7), theirs.reset(seed=7)
    assert_same(our_reset, their_reset)
    for _ in range(40):
        actions = theirs.action_space.sample()
        ours_step, theirs_step = ours.step(actions), theirs.step(actions)
        np.testing.assert_allclose(ours_step[0], theirs_step[0], rtol=1e-5, atol=1e-6)
        assert_same(ours_step[1:], theirs_step[1:])
    ours.close(), theirs.close()


NUMBERS = {
    "int": (lambda spaces: spaces.Discrete(9), 3),
    "int64": (lambda spaces: spaces.Discrete(9), np.int64(3)),
    "tuple": (lambda spaces: spaces.Tuple([spaces.Discrete(9)] * 2), (3, np.int64(4))),
    "dict": (
        lambda spaces: spaces.Dict(a=spaces.Discrete(9), b=spaces.Box(0, 1)),
        {"a": 3, "b": np.ones(1, np.float32)},
    ),
    "float32": (lambda spaces: spaces.Box(0, 1, ()), np.float32(0.5)),
    "array": (lambda spaces: spaces.Box(0, 1, ()), np.array(0.5, np.float32)),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", NUMBERS)
def test_final_observations_keep_the_type_of_their_numbers(kind):
    """A Python int stays one; an array would have no room for it."""
    finals = []
    for package in PACKAGES:
        make_space, observation = NUMBERS[kind]

        class Ending(package.Env):
            observation_space = make_space(package.spaces)
            action_space = package.spaces.Discrete(2)
            value = observation

            def reset(self, *, seed=None, options=None):
                return self.value, {}

            def step(self, action):
                return self.value, 0.0, bool(action), False, {}

        envs = package.vector.AsyncVectorEnv([Ending] * 2, autoreset_mode="SameStep")
        envs.reset()
        finals.append(envs.step([1, 0])[4]["final_obs"])
        envs.close()
    assert_same(*finals)
