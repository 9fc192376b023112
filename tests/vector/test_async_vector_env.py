"""The same environments under gymcore's and Gymnasium's AsyncVectorEnv, side by side.

Deliberate differences are not compared here: after an environment's exception the worker stays
usable, and the exception is an `EnvironmentFailed` too, with a message that names the environments;
steps before `reset` and on ended episodes (with autoreset disabled) are `ResetNeeded`; NumPy
integers are seeds; generators of functions are accepted; refused arguments change nothing; info
columns are widened; rewards of shape (1,) are numbers; late answers are dropped; messages about
refused arguments begin with the argument's name. Nor are Gymnasium's bugs: Text and OneOf in
shared memory never change; without shared memory, a masked reset of a lane that waits for autoreset
is followed by a second reset.
"""

from __future__ import annotations

import functools
import inspect
import multiprocessing
import re
import time

import numpy as np
import pytest

import gymcore
from tests.vector.async_pairs import (
    COUNTING,
    OPERATIONS,
    PACKAGES,
    assert_alike,
    assert_same_error,
    error_of,
    errors_of,
)
from tests.vector.custom_loops import simple_loop

MEMORY = [True, False]

# Python 3.12 warns about Gymnasium's forks.
pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


# The interface


def test_constructor():
    ours, theirs = (
        inspect.signature(package.vector.AsyncVectorEnv).parameters for package in PACKAGES
    )
    for (name, parameter), found in zip(theirs.items(), ours.values(), strict=False):
        assert (found.name, found.kind) == (name, parameter.kind)
        if name == "autoreset_mode":
            assert found.default.value == parameter.default.value
        else:
            assert found.default == parameter.default
    assert all(one.kind is one.KEYWORD_ONLY for one in list(ours.values())[len(theirs) :])


@pytest.mark.parametrize(
    "name",
    [
        *("reset", "reset_async", "reset_wait", "step", "step_async", "step_wait"),
        *("call", "call_async", "call_wait", "get_attr", "set_attr", "render"),
        *("close", "close_extras"),
    ],
)
def test_methods(name):
    ours, theirs = (
        inspect.signature(getattr(package.vector.AsyncVectorEnv, name)).parameters
        for package in PACKAGES
    )
    for found, parameter in zip(ours.values(), theirs.values(), strict=False):
        assert (found.name, found.kind, found.default) == (
            *(parameter.name, parameter.kind, parameter.default),
        )
    assert all(one.default is None for one in list(ours.values())[len(theirs) :])


def test_states():
    ours, theirs = (
        {state.name: state.value for state in package.vector.async_vector_env.AsyncState}
        for package in PACKAGES
    )
    assert ours == theirs


@pytest.mark.parametrize("shared_memory", MEMORY)
def test_attributes(pair, shared_memory):
    kwargs = {"shared_memory": shared_memory, "copy": False, "max_concurrency": 2}
    ours, theirs = pair(env_kwargs={"render_mode": "rgb_array"}, **kwargs)
    for name in (
        *("num_envs", "shared_memory", "copy", "context", "daemon", "worker", "render_mode"),
        *("observation_mode", "max_concurrency", "spec", "closed"),
    ):
        assert getattr(ours, name) == getattr(theirs, name), name
    for name in ("observation_space", "action_space"):
        for each in (name, f"single_{name}"):
            assert repr(getattr(ours, each)) == repr(getattr(theirs, each))
    assert ours.autoreset_mode.value == theirs.autoreset_mode.value
    assert {**ours.metadata, "autoreset_mode": None} == {**theirs.metadata, "autoreset_mode": None}
    assert ours.metadata["autoreset_mode"].value == theirs.metadata["autoreset_mode"].value
    assert repr(ours) == repr(theirs) == str(ours) == "AsyncVectorEnv(num_envs=2)"
    assert ours.unwrapped is ours and theirs.unwrapped is theirs
    assert len(ours.env_fns) == len(theirs.env_fns) == 2
    assert all(process.daemon for envs in (ours, theirs) for process in envs.processes)
    assert ours._state.value == theirs._state.value == "default"


def bad_arguments(gym):
    """Return arguments that `AsyncVectorEnv` refuses, by name."""
    counting, s = COUNTING[gym], gym.spaces
    box = s.Box(-1e9, 1e9, (3,), np.int64)
    other = functools.partial(counting, observation_space=box)
    custom = type("Custom", (s.Space,), {})
    dynamic = s.Sequence(s.Discrete(2))
    return {
        "a number": ([3], {}),
        "an environment": ([counting()], {}),
        "no list": (3, {}),
        "None": (None, {}),
        "context": ([counting], {"context": "nope"}),
        "autoreset mode": ([counting], {"autoreset_mode": "nope"}),
        "no autoreset mode": ([counting], {"autoreset_mode": None}),
        **{
            f"observation mode {mode!r:.9}": ([counting], {"observation_mode": mode})
            for mode in ("nope", None, 3, [1], (box,), (box, 3), (1, 2), (1, 2, 3), box)
        },
        "announced spaces": ([counting], {"observation_mode": (box, box)}),
        "different shapes": ([counting, other], {"observation_mode": "different"}),
        "other observations": ([counting, other], {}),
        "other actions": ([counting, lambda: counting(action_space=box)], {}),
        **{
            f"max_concurrency {count!r}": ([counting], {"max_concurrency": count})
            for count in (0, -1, 1.5, "a")
        },
        "no loop": ([counting], {"worker": 3}),
        "loop of two arguments": ([counting], {"worker": lambda a, b: None}),
        "custom space": ([lambda: counting(observation_space=custom())], {}),
        "nested custom space": ([lambda: counting(observation_space=s.Dict(a=custom()))], {}),
        "sequence": ([lambda: counting(observation_space=dynamic)], {}),
        "nested sequence": ([lambda: counting(observation_space=s.Dict(a=dynamic))], {}),
    }


# Errors raised by Python itself or `multiprocessing`.
NATURAL = {"no list", "None", "context", "autoreset mode", "no autoreset mode", "no loop"}

# Our messages say more or begin differently; the types are the same.
OWN_WORDS = {
    *("a number", "an environment", "no list", "None", "other observations", "custom space"),
    *("nested custom space", "announced spaces", "different shapes"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", bad_arguments(gymcore))
def test_refused_arguments(name):
    ours, theirs = (
        error_of(package.vector.AsyncVectorEnv, args, **kwargs)
        for package in PACKAGES
        for args, kwargs in [bad_arguments(package)[name]]
    )
    assert isinstance(ours, gymcore.error.Error) or name in NATURAL
    assert isinstance(ours, type(theirs)), f"{ours!r} against {theirs!r}"
    if name not in OWN_WORDS:
        # The signature of a loop and the package of a class differ.
        text = re.sub(r"gymnasium|\(index.*", "", str(theirs).removesuffix("."))
        assert text in str(ours).replace("gymcore", "")


@pytest.mark.parametrize("shared_memory", MEMORY)
def test_constructor_raises(shared_memory):
    def env_fn_that_raises(error):
        def fail():
            raise error

        return fail

    for error in (ValueError("no map"), KeyError("a"), gymcore.error.DependencyNotInstalled("x")):
        ours, theirs = (
            error_of(
                package.vector.AsyncVectorEnv,
                [env_fn_that_raises(error)],
                shared_memory=shared_memory,
            )
            for package in PACKAGES
        )
        assert isinstance(ours, type(theirs))
        assert str(theirs) in str(ours)


# States


@pytest.mark.parametrize("pending", ["reset_async", "step_async", "call_async"])
def test_while_a_call_is_pending(pair, pending):
    ours, theirs = pair()
    for envs in (ours, theirs):
        envs.reset()
        OPERATIONS[pending](envs)
    own_wait = pending.replace("async", "wait")
    for name in OPERATIONS:
        if name != own_wait:
            our_error, their_error = errors_of(ours, theirs, name)
            assert their_error is not None
            assert_same_error(our_error, their_error)
            assert ours._state.value == theirs._state.value == pending.removesuffix("_async")
    assert_alike(*(OPERATIONS[own_wait](envs) for envs in (ours, theirs)))
    assert ours._state.value == theirs._state.value == "default"


@pytest.mark.parametrize("wait", ["reset_wait", "step_wait", "call_wait"])
def test_waits_for_nothing(pair, wait):
    ours, theirs = pair()
    assert_same_error(*errors_of(ours, theirs, wait))
    for timeout in (0, 0.01):
        assert_same_error(*(error_of(getattr(e, wait), timeout=timeout) for e in (ours, theirs)))


def test_after_close(pair):
    ours, theirs = pair()
    for envs in (ours, theirs):
        assert envs.close() is None
        assert envs.closed
        assert envs.close() is None
        assert envs.close(timeout=1, terminate=True) is None
        assert envs.close_extras() is None
    for name in OPERATIONS:
        assert_same_error(*errors_of(ours, theirs, name))
    assert repr(ours) == repr(theirs)


@pytest.mark.parametrize("timeout", [0, 0.05, -1])
def test_timeouts(pair, timeout, tmp_path):
    go_on = tmp_path / "go on"

    def slow(package):
        class Slow(COUNTING[package]):
            def step(self, action):
                while not go_on.exists():
                    time.sleep(0.001)
                return super().step(action)

        return Slow

    ours, theirs = pair({package: slow(package) for package in PACKAGES})
    for envs in (ours, theirs):
        envs.reset()
        envs.step_async([0, 1])
    our_error, their_error = (error_of(e.step_wait, timeout=timeout) for e in (ours, theirs))
    assert isinstance(our_error, type(their_error)) and isinstance(our_error, TimeoutError)
    assert isinstance(their_error, multiprocessing.TimeoutError)
    assert str(our_error).startswith(str(their_error).removesuffix("."))
    assert ours._state.value == theirs._state.value == "default"
    assert_same_error(*errors_of(ours, theirs, "step_wait"))
    go_on.touch()


@pytest.mark.parametrize("timeout", ["a", [], float("nan")])
def test_refused_timeouts(pair, timeout):
    ours, theirs = pair()
    for envs in (ours, theirs):
        envs.call_async("length")
    our_error, their_error = (error_of(e.call_wait, timeout=timeout) for e in (ours, theirs))
    assert isinstance(our_error, type(their_error))


@pytest.mark.parametrize("pending", ["reset_async", "step_async", "call_async"])
def test_close_while_a_call_is_pending(pair, pending):
    texts = []
    for envs in pair():
        envs.reset()
        OPERATIONS[pending](envs)
        with pytest.warns(UserWarning) as caught:
            assert envs.close() is None
        texts.append([str(one.message) for one in caught])
        assert envs.closed and envs._state.value == "default"
    assert texts[0] == texts[1]


def test_wrong_arguments_of_close(pair):
    ours, theirs = pair()
    for kwargs in ({"nope": 1}, {"timeout": 1, "nope": 1}):
        assert_same_error(*(error_of(envs.close, **kwargs) for envs in (ours, theirs)))
    assert type(error_of(ours.close, 1)) is type(error_of(theirs.close, 1)) is TypeError


@pytest.mark.parametrize("seconds", ["no", [1], True, 0, -1, float("nan")], ids=repr)
@pytest.mark.parametrize("worker", [None, simple_loop], ids=["default", "own loop"])
def test_start_timeouts_are_checked(worker, seconds):
    with pytest.raises(gymcore.error.Error, match=r"^start_timeout: expected"):
        gymcore.vector.AsyncVectorEnv([COUNTING[gymcore]], worker=worker, start_timeout=seconds)
