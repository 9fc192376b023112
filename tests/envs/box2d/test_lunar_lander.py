"""LunarLander equals Gymnasium's; its arguments, states, heuristic and frames."""

from __future__ import annotations

import copy
import inspect
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import gymcore
from gymcore import error
from tests.envs.box2d.pairs import (
    fly_side_by_side,
    gymnasium,
    gymnasium_box2d,
    make_pair,
    no_action,
    random_actions,
)

from gymcore.envs.box2d import LunarLanderContinuous, lunar_lander_python  # isort: skip
from gymcore.envs.box2d.lunar_lander import (  # isort: skip
    LunarLander,
    demo_heuristic_lander,
    heuristic,
)

IDS = ("LunarLander-v3", "LunarLanderContinuous-v3")
ARGUMENTS: list[dict[str, Any]] = [
    {},
    {"gravity": -3.5},
    {"enable_wind": True},
    {"enable_wind": True, "wind_power": 20.0, "turbulence_power": 2.0, "gravity": -11.9},
]


def land(env: Any, observation: Any, random: np.random.Generator) -> Any:
    return gymnasium_box2d.lunar_lander.heuristic(env, observation)


POLICIES = [random_actions, land, no_action]


@pytest.mark.parametrize("arguments", ARGUMENTS)
@pytest.mark.parametrize("env_id", IDS)
def test_equals_gymnasium(env_id, arguments):
    fly_side_by_side(*make_pair(env_id, **arguments), POLICIES, episodes=3, seed=1, steps=500)


@pytest.mark.parametrize("continuous", [False, True])
def test_in_python_equals_gymnasium(continuous):
    arguments = {"continuous": continuous, "enable_wind": True}
    theirs = gymnasium.make("LunarLander-v3", **arguments).unwrapped
    ours = lunar_lander_python.LunarLander(**arguments)
    fly_side_by_side(ours, theirs, POLICIES, episodes=3, seed=4, steps=300)


@pytest.mark.soak
@pytest.mark.timeout(6000)
@pytest.mark.parametrize("arguments", ARGUMENTS)
@pytest.mark.parametrize("env_id", IDS)
def test_many_episodes_equal_gymnasium(env_id, arguments):
    fly_side_by_side(*make_pair(env_id, **arguments), POLICIES, episodes=210, seed=2)


def test_rendering_changes_nothing():
    pytest.importorskip("pygame", reason="pygame is not installed")
    ours, theirs = make_pair("LunarLander-v3", render_mode="rgb_array")
    fly_side_by_side(ours, theirs, [random_actions], episodes=2, seed=3)


@pytest.mark.parametrize("env_id", IDS)
def test_declared_as_gymnasium(env_id):
    ours, theirs = gymcore.make(env_id), gymnasium.make(env_id)
    for field in ("reward_threshold", "max_episode_steps", "kwargs", "nondeterministic"):
        assert getattr(ours.spec, field) == getattr(theirs.spec, field)
    assert ours.spec.entry_point.partition(".")[2] == theirs.spec.entry_point.partition(".")[2]
    assert repr(ours.observation_space) == repr(theirs.observation_space)
    assert ours.observation_space.low.tobytes() == theirs.observation_space.low.tobytes()
    assert ours.observation_space.high.tobytes() == theirs.observation_space.high.tobytes()
    assert repr(ours.action_space) == repr(theirs.action_space)
    assert ours.metadata == theirs.metadata
    signatures = [inspect.signature(type(env.unwrapped)) for env in (ours, theirs)]
    assert list(signatures[0].parameters) == list(signatures[1].parameters)
    for name, parameter in signatures[0].parameters.items():
        assert parameter.default == signatures[1].parameters[name].default


@pytest.mark.parametrize("env_id", IDS)
def test_v2_is_an_alias(env_id):
    old = env_id.replace("-v3", "-v2")
    with pytest.warns(DeprecationWarning, match=f"`{env_id}`"):
        env = gymcore.make(old)
    assert env.spec.id == env_id


@pytest.mark.parametrize("gravity", [-12, -12.5, 0, 0.0, 3, float("nan")])
def test_gravity_out_of_range(gravity):
    with pytest.raises(AssertionError) as expected:
        gymnasium_box2d.LunarLander(gravity=gravity)
    with pytest.raises(error.FailedCheck) as raised:
        LunarLander(gravity=gravity)
    assert str(raised.value) == str(expected.value)


@pytest.mark.parametrize("name", ["gravity", "wind_power", "turbulence_power"])
def test_no_number(name):
    with pytest.raises(error.ArgumentTypeError, match=f"{name}: expected a number, got 'x'"):
        LunarLander(**{name: "x"})


@pytest.mark.parametrize(
    "arguments",
    [{"wind_power": -1.0}, {"wind_power": 20.5}, {"turbulence_power": -1}, {"turbulence_power": 3}],
)
def test_wind_beyond_what_is_sensible_warns(arguments):
    caught = []
    for cls in (LunarLander, gymnasium_box2d.LunarLander):
        with warnings.catch_warnings(record=True) as messages:
            warnings.simplefilter("always")
            cls(**arguments)
        caught.append([str(message.message) for message in messages])
    assert caught[0] == caught[1]
    assert len(caught[0]) == 1


def test_continuous_class_is_for_make():
    with pytest.raises(error.Error, match=r'gym.make\("LunarLander-v3", continuous=True\)'):
        LunarLanderContinuous()


@pytest.mark.parametrize("action", [4, -1, 1.0, "a", None, [0, 1]])
def test_invalid_action(action):
    env = LunarLander()
    env.reset(seed=1)
    before = env.get_state()
    with pytest.raises(error.InvalidAction, match="expected an element of Discrete"):
        env.step(action)
    np.testing.assert_array_equal(env.get_state(), before)


@pytest.mark.parametrize("action", [[0.1], 3, "a", None, [0, 0, 0], [10**400, 0]])
def test_invalid_continuous_action(action):
    env = LunarLander(continuous=True)
    env.reset(seed=1)
    with pytest.raises(error.InvalidAction, match="expected two numbers"):
        env.step(action)


def test_actions_of_other_kinds():
    ours, theirs = make_pair("LunarLanderContinuous-v3")
    ours.reset(seed=1)
    theirs.reset(seed=1)
    for action in ([5, 5], (0, 1), np.array([np.nan, 0.0]), [0.3, -0.7], np.zeros((2, 1))):
        assert ours.step(action)[0].tobytes() == theirs.step(action)[0].tobytes()


def test_needs_a_reset():
    env = LunarLander(render_mode="rgb_array")
    for call in (lambda: env.step(0), env.render):
        with pytest.raises(error.ResetNeeded):
            call()


def test_observations_are_the_callers():
    env = LunarLander()
    first, _ = env.reset(seed=1)
    kept = first.copy()
    second = env.step(2)[0]
    second[:] = 0
    assert not np.shares_memory(first, second)
    np.testing.assert_array_equal(first, kept)


@pytest.mark.parametrize("how", ["state", "deepcopy", "pickle"])
@pytest.mark.parametrize("steps", [0, 20, 150])
def test_continues_to_the_bit(how, steps):
    env = LunarLander(enable_wind=True)
    observation, _ = env.reset(seed=5)
    for _ in range(steps):  # after 150 steps the craft stands on its legs
        observation = env.step(heuristic(env, observation))[0]
    if how == "state":
        other = LunarLander(enable_wind=True)
        other.set_state(pickle.loads(pickle.dumps(env.get_state())))
    else:
        other = copy.deepcopy(env) if how == "deepcopy" else pickle.loads(pickle.dumps(env))
    for step in range(150):
        ours, same = env.step(step % 4), other.step(step % 4)
        assert ours[0].tobytes() == same[0].tobytes()
        assert ours[1:] == same[1:]
    assert env.reset()[0].tobytes() == other.reset()[0].tobytes()


def test_states_of_lanes_continue_to_the_bit():
    envs = gymcore.make_vec("LunarLander-v3", num_envs=3, vectorization_mode="sync")
    envs.reset(seed=1)
    envs.action_space.seed(1)
    for _ in range(150):  # past the first episodes
        envs.step(envs.action_space.sample())
    state = envs.get_state()
    actions = [envs.action_space.sample() for _ in range(60)]
    expected = [envs.step(action)[:4] for action in actions]
    envs.set_state(state)
    for action, results in zip(actions, expected, strict=True):
        for seen, before in zip(envs.step(action)[:4], results, strict=True):
            np.testing.assert_array_equal(seen, before)
    envs.close()


def test_another_environments_state():
    env = LunarLander()
    for state in (3, {"environment": "LunarLander"}):
        with pytest.raises(error.ArgumentTypeError, match=r"expected what get_state\(\) returned"):
            env.set_state(state)
    with pytest.raises(error.InvalidArgument, match="expected 1 lanes"):
        env.set_state(gymcore.make("BipedalWalker-v3").unwrapped.get_state())


@pytest.mark.parametrize("continuous", [False, True])
def test_heuristic_equals_gymnasium_and_lands(continuous):
    env = LunarLander(continuous=continuous)
    total, episodes = 0.0, 8
    for seed in range(episodes):
        observation, _ = env.reset(seed=seed)
        for _ in range(1000):
            action = heuristic(env, observation)
            theirs = gymnasium_box2d.lunar_lander.heuristic(env, observation)
            np.testing.assert_array_equal(action, theirs)
            observation, reward, terminated, _, _ = env.step(action)
            total += reward
            if terminated:
                break
    assert total / episodes > 200


def test_demo(capsys):
    total = demo_heuristic_lander(gymcore.make("LunarLander-v3"), seed=1)
    assert total > 200
    printed = capsys.readouterr().out
    assert printed.startswith("observations: ")
    assert f"total_reward {total:+0.2f}" in printed


def test_attributes_that_programs_read():
    ours, theirs = make_pair("LunarLander-v3")
    assert ours.lander is None
    assert ours.game_over is False
    ours.reset(seed=4)
    theirs.reset(seed=4)
    for name in ("helipad_x1", "helipad_x2", "helipad_y", "game_over", "sky_polys"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert tuple(ours.lander.position) == tuple(theirs.lander.position)
    assert [leg.ground_contact for leg in ours.legs] == [False, False]
    assert len(ours.drawlist) == 3
    ours.game_over = True
    assert ours.step(0)[1:3] == (-100.0, True)


def test_pictures():
    pytest.importorskip("pygame", reason="pygame is not installed")
    env = LunarLander(render_mode="rgb_array")
    env.reset(seed=1)
    first = env.render()
    assert first.shape == (400, 600, 3)
    assert first.dtype == np.uint8
    np.testing.assert_array_equal(env.render(), first)  # a frame depends only on the state
    for action in [2, 1, 3] * 15:
        env.step(action)
    assert env.particles
    assert (env.render() != first).any()
    for _ in range(40):
        env.step(0)
    assert not env.particles
    env.close()
    env.close()
    assert not env.isopen


@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))],
    ids=["deepcopy", "pickle"],
)
@pytest.mark.parametrize("num_envs", [None, 2], ids=["single", "batch"])
def test_copies_draw_the_same_smoke(num_envs, copied):
    pytest.importorskip("pygame", reason="pygame is not installed")
    kwargs = {} if num_envs is None else {"num_envs": num_envs}
    make = gymcore.make if num_envs is None else gymcore.make_vec
    env = make("LunarLander-v3", render_mode="rgb_array", **kwargs)
    env.reset(seed=1)
    without = env.render()
    for _ in range(20):
        env.step(2 if num_envs is None else np.array([2, 3]))
    other = copied(env)
    for _ in range(2):
        np.testing.assert_array_equal(other.render(), env.render())
        for one in (env, other):
            one.step(0 if num_envs is None else np.array([0, 0]))
    assert np.not_equal(env.render(), without).any()


def test_render_without_a_mode_warns():
    env = gymcore.make("LunarLander-v3").unwrapped
    env.reset(seed=1)
    with pytest.warns(UserWarning, match=r'gym.make\("LunarLander-v3", render_mode="rgb_array"\)'):
        assert env.render() is None
