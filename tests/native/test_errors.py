"""Typed errors of the compiled engine name the argument, and have no effects."""

import re

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gymcore as gym
from gymcore import error
from gymcore.vector import NativeVectorEnv
from tests.vector.contract import (
    DISABLED,
    SAME_STEP,
    draw_actions,
    make_envs,
    outputs,
    same_bytes,
)


class Refuses:
    """An object that is not an array, and refuses conversion in its own way."""

    def __init__(self, exception):
        self.exception = exception

    def __array__(self, dtype=None, copy=None):
        raise self.exception


DISCRETE = {
    "short": (np.zeros(2, np.int64), r"expected int64 array of shape (3,), got int64 (2,)"),
    "long": (np.zeros(4, np.int64), r"expected int64 array of shape (3,), got int64 (4,)"),
    "column": (np.zeros((3, 1), np.int64), r"expected int64 array of shape (3,), got int64 (3, 1)"),
    "row": (np.zeros((1, 3), np.int64), r"got int64 (1, 3)"),
    "empty": (np.zeros(0, np.int64), r"got int64 (0,)"),
    "scalar": (np.int64(0), r"got int64 ()"),
    "number": (1, r"got int64 ()"),
    "floats": (np.zeros(3), r"expected int64 array of shape (3,), got float64 (3,)"),
    "float list": ([0.0, 1.0, 0.0], r"got float64 (3,)"),
    "nan": (np.array([0, 1, np.nan]), r"got float64 (3,)"),
    "complex": (np.zeros(3, complex), r"got complex128 (3,)"),
    "text": (np.array(["0", "1", "0"]), r"got <U1 (3,)"),
    "objects": (np.array([0, 1, 0], object), r"got object (3,)"),
    "bools": (np.array([False, True, False]), r"got bool (3,)"),
    "dates": (np.zeros(3, "datetime64[s]"), r"got datetime64[s] (3,)"),
    "records": (np.zeros(3, [("a", np.int64)]), r"actions: expected int64 array"),
    "negative": (np.array([0, 1, -1]), r"actions[2] = -1 is outside Discrete(2)"),
    "beyond": (np.array([0, 2, 5]), r"actions[1] = 2 is outside Discrete(2)"),
    "beyond list": ([7, 0, 0], r"actions[0] = 7 is outside Discrete(2)"),
    "beyond int32": (np.array([0, 2, 0], np.int32), r"actions[1] = 2 is outside Discrete(2)"),
    "smallest": (np.array([-(2**63), 0, 0]), r"actions[0] = -9223372036854775808 is outside"),
    "uint64": (np.array([0, 0, 1], np.uint64), r"got uint64 (3,)"),
    "None": (None, r"actions: expected int64 array of shape (3,), got object ()"),
    "Nones": ([None] * 3, r"got object (3,)"),
    "ragged": ([[0], [0, 1], [0]], r"actions: expected int64 array of shape (3,), got list"),
    "dict": ({0: 1}, r"got object ()"),
    "string": ("010", r"got <U3 ()"),
    "generator": ((i for i in range(3)), r"got object ()"),
    "refuses": (Refuses(ValueError("on no account")), r"got Refuses: on no account"),
}

CONTINUOUS = {
    "flat": (np.zeros(3, np.float32), r"expected float32 array of shape (3, 1), got float32 (3,)"),
    "wide": (np.zeros((3, 2), np.float32), r"got float32 (3, 2)"),
    "short": (np.zeros((2, 1), np.float32), r"got float32 (2, 1)"),
    "nan": (np.float32([[0], [np.nan], [0]]), r"actions[1, 0] = nan: expected a number"),
    "nan double": (np.array([[0], [0], [np.nan]]), r"actions[2, 0] = nan"),
    "nan list": ([[float("nan")], [0.0], [0.0]], r"actions[0, 0] = nan"),
    "complex": (np.zeros((3, 1), np.complex64), r"got complex64 (3, 1)"),
    "objects": (np.zeros((3, 1), object), r"got object (3, 1)"),
    "None": (None, r"actions: expected float32 array of shape (3, 1), got object ()"),
    "ragged": ([[0.0], [0.0, 1.0], [0.0]], r"actions: expected float32 array"),
    "text": ([["a"], ["b"], ["c"]], r"got <U1 (3, 1)"),
}


def every_way_to_step(envs, actions):
    """Return the calls that take a batch of actions."""
    batches = [actions, actions]
    if isinstance(actions, np.ndarray):
        batches = np.stack(batches)
    return [
        lambda: envs.step(actions),
        lambda: envs.step_into(actions, **outputs(envs)),
        lambda: envs.rollout(batches, **outputs(envs, 2)),
    ]


def check_refused(envs, call, message, exception=error.InvalidAction):
    lanes = np.arange(envs.num_envs)
    before, seeds = envs._save_lanes(lanes).tobytes(), envs.np_random_seed  # closed ones too
    with pytest.raises(exception, match=re.escape(message)) as caught:
        call()
    assert isinstance(caught.value, error.Error)
    assert envs._save_lanes(lanes).tobytes() == before
    assert envs.np_random_seed == seeds


@pytest.mark.parametrize("name", DISCRETE)
def test_bad_discrete_actions(name, mode):
    actions, message = DISCRETE[name]
    envs = make_envs("CartPole-v1", mode=mode)
    envs.reset(seed=1)
    check_refused(envs, lambda: envs.step(actions), message)
    check_refused(envs, lambda: envs.step_into(actions, **outputs(envs)), message)
    assert envs.step(np.array([0, 1, 0]))[1].tolist() == [1, 1, 1]


@pytest.mark.parametrize("env_id", ["Pendulum-v1", "MountainCarContinuous-v0"])
@pytest.mark.parametrize("name", CONTINUOUS)
def test_bad_continuous_actions(name, env_id, mode):
    actions, message = CONTINUOUS[name]
    envs = make_envs(env_id, mode=mode)
    envs.reset(seed=1)
    check_refused(envs, lambda: envs.step(actions), message)
    check_refused(envs, lambda: envs.step_into(actions, **outputs(envs)), message)
    assert not envs.step(np.zeros((3, 1), np.float32))[2].any()


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 600), st.data())
def test_the_first_bad_action_is_named_wherever_it_is(num_envs, data):
    """The check runs over vectors of lanes: no lane may be missed between two of them."""
    lane = data.draw(st.integers(0, num_envs - 1))
    envs = make_envs("Acrobot-v1", num_envs=num_envs)
    envs.reset(seed=0)
    actions = np.ones(num_envs, np.int64)
    actions[lane] = data.draw(st.sampled_from([-1, 3, 2**32, -(2**40)]))
    actions[lane + 1 :] = 5
    with pytest.raises(error.InvalidAction, match=rf"actions\[{lane}\] = {actions[lane]} "):
        envs.step(actions)
    with pytest.raises(error.InvalidAction, match=rf"actions\[1, {lane}\] = {actions[lane]} "):
        envs.rollout(np.stack([np.ones_like(actions), actions]))
    envs = make_envs("Pendulum-v1", num_envs=num_envs)
    envs.reset(seed=0)
    torques = np.zeros((num_envs, 1), np.float32)
    torques[lane:] = np.nan
    with pytest.raises(error.InvalidAction, match=rf"actions\[{lane}, 0\] = nan"):
        envs.step(torques)


def test_numbers_that_are_actions_after_all():
    envs = make_envs("CartPole-v1")
    envs.reset(seed=1)
    expected = envs.step(np.array([0, 1, 1]))
    for actions in (
        [False, True, True],
        np.array([0, 1, 1], np.uint32),
        (0, np.int8(1), 1),
        np.array([0, 1, 1], np.longlong),
    ):
        envs.reset(seed=1)
        assert same_bytes(envs.step(actions), expected)
    # Torques beyond the bounds, infinite ones included, are clipped.
    envs = make_envs("Pendulum-v1")
    results = []
    for torque in (2, 2.0, 10**6, np.inf, np.float16(2), np.longdouble(2)):
        envs.reset(seed=1)
        results.append(envs.step(np.full((3, 1), torque)))
    assert all(same_bytes(result, results[0]) for result in results)


@pytest.mark.parametrize("exception", [KeyboardInterrupt, RuntimeError("not now"), MemoryError])
def test_exceptions_of_the_actions_pass_through(exception):
    envs = make_envs("CartPole-v1")
    envs.reset(seed=1)
    expected = type(exception) if isinstance(exception, Exception) else exception
    for call in every_way_to_step(envs, Refuses(exception))[:2]:
        before = envs.get_state().tobytes()
        with pytest.raises(expected):
            call()
        assert envs.get_state().tobytes() == before
    envs.step([0, 0, 0])  # nothing stays locked


@pytest.mark.parametrize("when", ["before reset", "after close"])
def test_stepping_at_the_wrong_time(env_id, mode, when):
    envs = make_envs(env_id, mode=mode)
    if when == "after close":
        envs.reset(seed=1)
        envs.close()
    if when == "before reset":
        message, exception = " reset() ", error.ResetNeeded
    else:
        message, exception = "close", error.ClosedEnvironmentError
    actions = draw_actions(envs)
    for call in every_way_to_step(envs, actions):
        check_refused(envs, call, message, exception)


def test_the_message_lists_ended_lanes_but_not_hundreds():
    envs = make_envs("CartPole-v1", mode=DISABLED, num_envs=300, max_episode_steps=1)
    envs.reset(seed=1)
    actions = draw_actions(envs)
    envs.step(actions)
    with pytest.raises(error.ResetNeeded, match=r"environments \[0, 1, 2, 3, 4, 5, 6, 7, ...\]"):
        envs.step(actions)
    with pytest.raises(error.ResetNeeded):
        envs.step_into(actions, **outputs(envs))


BAD_ARGUMENTS = [
    ({"num_envs": 0}, ValueError, "num_envs: expected at least 1, got 0"),
    ({"num_envs": -5}, ValueError, "num_envs"),
    ({"num_envs": 2.0}, TypeError, "num_envs: expected an integer, got 2.0"),
    ({"num_envs": "3"}, TypeError, "num_envs"),
    ({"num_envs": None}, TypeError, "num_envs"),
    ({"num_envs": 2**62}, ValueError, "num_envs"),
    ({"num_envs": 2**80}, ValueError, "num_envs"),
    ({"num_threads": 0}, ValueError, "num_threads: expected at least 1, got 0"),
    ({"num_threads": -1}, ValueError, "num_threads"),
    ({"num_threads": 1.5}, TypeError, "num_threads"),
    ({"num_threads": 10**9}, ValueError, "num_threads"),
    ({"max_episode_steps": 0}, ValueError, "max_episode_steps"),
    ({"max_episode_steps": -2}, ValueError, "max_episode_steps"),
    ({"max_episode_steps": 2.5}, TypeError, "max_episode_steps"),
    ({"autoreset_mode": "Sometimes"}, ValueError, "Sometimes"),
    ({"autoreset_mode": None}, ValueError, "None"),
    ({"gravitation": 3}, TypeError, "unexpected arguments ['gravitation']"),
    ({"length": -1}, ValueError, "length: expected a number above 0, got -1"),
    ({"length": [0.5, 0.0]}, ValueError, "length: expected a number above 0"),
    ({"length": [0.5, 0.6, 0.7]}, ValueError, "2 environments"),
    ({"length": "long"}, TypeError, "length: expected a number, got 'long'"),
    ({"gravity": float("nan")}, ValueError, "gravity: expected a finite number, got nan"),
    ({"gravity": [1.0, float("inf")]}, ValueError, "gravity: expected a finite number"),
    ({"gravity": 10**400}, ValueError, "gravity: expected a finite number"),
    ({"kinematics_integrator": "rk4"}, ValueError, "kinematics_integrator: expected one of"),
    ({"total_mass": 3.0}, TypeError, "total_mass"),
    ({"render_mode": "foo"}, error.UnsupportedMode, "render_mode: expected None or one of"),
]


@pytest.mark.parametrize(
    ("arguments", "exception", "message"), BAD_ARGUMENTS, ids=range(len(BAD_ARGUMENTS))
)
def test_bad_constructor_arguments(arguments, exception, message):
    from gymcore.envs.classic_control.cartpole import CartPoleVectorEnv

    with pytest.raises(exception, match=re.escape(message)):
        CartPoleVectorEnv(**{"num_envs": 2, **arguments})


@pytest.mark.parametrize("value", [10**400, -(10**400)], ids=["positive", "negative"])
def test_bounds_too_large_for_a_float(value):
    envs = make_envs("CartPole-v1")
    envs.reset(seed=1)
    check_refused(
        envs,
        lambda: envs.reset(seed=2, options={"high": value}),
        "must be a finite number",
        error.InvalidArgument,
    )


@pytest.mark.parametrize(
    ("env_id", "options"),
    [
        ("CartPole-v1", {"low": -1e308, "high": 1e308}),
        ("Acrobot-v1", {"low": -1e308, "high": 1e308}),
        ("MountainCarContinuous-v0", {"low": -1e308, "high": 1e308}),
        ("Pendulum-v1", {"x_init": 1e308}),
        ("Pendulum-v1", {"y_init": 1e308}),
    ],
)
def test_bounds_too_far_apart_to_draw_between(env_id, options):
    env = gymnasium.make(env_id)
    with np.errstate(over="ignore"), pytest.raises(OverflowError):
        env.reset(seed=1, options=options)
    for ours in (gym.make(env_id), make_envs(env_id)):
        with pytest.raises(error.InvalidArgument, match="must be a finite number of at most"):
            ours.reset(seed=1, options=options)


@pytest.mark.parametrize("name", ["reset", "step", "close"])
def test_what_is_for_the_batch_cannot_be_called_on_lanes(name):
    envs = make_envs("CartPole-v1")
    envs.reset(seed=1)
    with pytest.raises(error.InvalidArgument, match=f"use `{name}` directly instead"):
        envs.call(name)
    with pytest.raises(AttributeError, match=f"no attribute '{name}' to set"):
        envs.set_attr(name, 3)
    envs.step([0, 0, 0])


def test_a_lane_cannot_be_reset_behind_the_batchs_back():
    envs = make_envs("CartPole-v1")
    envs.reset(seed=1)
    lane = envs.get_attr("unwrapped")[1]
    before = envs.get_state().tobytes()
    for call in (lane.reset, lambda: lane.step(0)):
        with pytest.raises(error.Error, match="a lane of a vector environment"):
            call()
    lane.close()
    assert envs.get_state().tobytes() == before
    envs.step([0, 0, 0])


def test_errors_leave_the_next_results_as_they_would_be():
    """Refused calls do not change a run."""
    clean, disturbed = (make_envs("CartPole-v1", mode=SAME_STEP) for _ in range(2))
    clean.reset(seed=5), disturbed.reset(seed=5)
    for actions in draw_actions(clean, 40):
        for bad in ([0, 0, 9], None, np.zeros(3)):
            with pytest.raises(error.InvalidAction):
                disturbed.step(bad)
        with pytest.raises(error.InvalidArgument):
            disturbed.reset(seed=-3)
        assert same_bytes(clean.step(actions), disturbed.step(actions))


def test_engines_are_made_for_a_class():
    with pytest.raises(AttributeError, match="env_class"):
        NativeVectorEnv(num_envs=2)


def test_the_time_limit_may_be_any_large_number():
    envs = gym.make_vec("CartPole-v1", num_envs=2, max_episode_steps=10**30)
    envs.reset(seed=1)
    assert not envs.step([0, 0])[3].any()
    assert envs.spec.kwargs["max_episode_steps"] == 10**30
