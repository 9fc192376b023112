"""Arguments that SyncVectorEnv's constructor accepts and refuses."""

import numpy as np
import pytest

import gymcore
from gymcore import error
from gymcore.spaces import Box, Discrete
from gymcore.vector import AutoresetMode, SyncVectorEnv
from tests.testing_env import make_counting_env

CountingEnv = make_counting_env(gymcore)


def test_functions_may_come_from_a_generator():
    assert SyncVectorEnv(CountingEnv for _ in range(3)).num_envs == 3


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_mode_is_in_the_metadata_of_the_batch_alone(mode):
    envs = SyncVectorEnv([CountingEnv], autoreset_mode=mode.value)
    assert envs.autoreset_mode is mode
    assert envs.metadata == {**CountingEnv.metadata, "autoreset_mode": mode}
    assert "autoreset_mode" not in CountingEnv.metadata


@pytest.mark.parametrize(
    ("arguments", "exception", "message"),
    [
        (([],), ValueError, "env_fns: expected at least one function"),
        (([CountingEnv, 3],), TypeError, r"env_fns\[1\]: expected a function, got <class 'int'>"),
        (([CountingEnv], True, "other"), ValueError, "Invalid `observation_mode`, expected: 'sam"),
        (([CountingEnv], True, None), ValueError, "Invalid `observation_mode`"),
        (([CountingEnv], True, (Discrete(2),)), ValueError, "Invalid `observation_mode`"),
        (([CountingEnv], True, (Discrete(2), 3)), TypeError, "both elements of observation_mode"),
        (([CountingEnv], True, "same", "next step"), ValueError, "not a valid AutoresetMode"),
    ],
)
def test_bad_constructor_arguments(arguments, exception, message):
    with pytest.raises(exception, match=message):
        SyncVectorEnv(*arguments)


def of_space(**spaces):
    return lambda: CountingEnv(**spaces)


BOX = Box(0, 1, (2,), np.int64)


@pytest.mark.parametrize(
    ("others", "difference"),
    [
        ([Box(0, 1, (3,), np.int64)], r"env 1 has Box\(.*\) \(shape \(3,\) instead of \(2,\)\)"),
        ([Box(0, 1, (2,), np.int32)], r"env 1 has .* \(dtype int32 instead of int64\)"),
        ([BOX, Box(0, 2, (2,), np.int64)], r"env 2 has Box\(0, 2, "),
        ([Discrete(3)], r"env 1 has Discrete\(3\)\."),
        ([Discrete(3), BOX, Discrete(4)], r"env 1 has Discrete.*, env 3 has Discrete\(4\)"),
        ([Discrete(3)] * 8, r"env 5 has .*, and 3 more\."),
    ],
)
def test_observation_spaces_that_differ(others, difference):
    fns = [of_space(observation_space=space) for space in (BOX, *others)]
    start = r"^Some environments have an observation space different from `Box\("
    advice = "If this is intentional, use `observation_mode='different'` instead"
    with pytest.raises(RuntimeError, match=f"{start}.*{difference}.*{advice}") as caught:
        SyncVectorEnv(fns)
    assert isinstance(caught.value, error.Error)


def test_action_spaces_that_differ():
    fns = [of_space(), of_space(action_space=Discrete(3))]
    expected = (
        r"^Some environments have an action space different from `Discrete\(2\)`.*"
        r"env 1 has Discrete\(3\).*"
        "Sub-environment action space doesn't make the `single_action_space`"
    )
    with pytest.raises(RuntimeError, match=expected):
        SyncVectorEnv(fns)


def test_announced_space_that_does_not_fit():
    spaces = (Box(0, 1, (2, 2), np.int64), Box(0, 1, (2,), np.int64))
    fns = [of_space(observation_space=space) for space in (BOX, Box(0, 1, (3,), np.int64))]
    with pytest.raises(RuntimeError, match=r"do not share a common shape and dtype.*: env 1 has"):
        SyncVectorEnv(fns, observation_mode=spaces)


def test_different_mode_needs_the_same_shape_and_dtype():
    for space, exception in (
        (Box(0, 1, (3,), np.int64), ValueError),
        (Box(0, 1, (2,), np.int32), ValueError),
        (Discrete(3), TypeError),
    ):
        fns = [of_space(observation_space=BOX), of_space(observation_space=space)]
        with pytest.raises(exception):
            SyncVectorEnv(fns, observation_mode="different")
    fns = [
        of_space(observation_space=Discrete(3)),
        of_space(observation_space=Discrete(3, dtype=np.int32)),
    ]
    with pytest.raises(RuntimeError, match=r"dtype int32 instead of int64"):
        SyncVectorEnv(fns, observation_mode="different")
