"""BipedalWalker equals Gymnasium's over many episodes; states, gait and frames."""

from __future__ import annotations

import copy
import pickle
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

from gymcore.envs.box2d import BipedalWalkerHardcore, bipedal_walker_python  # isort: skip
from gymcore.envs.box2d.bipedal_walker import (  # isort: skip
    BipedalWalker,
    BipedalWalkerHeuristics,
)

IDS = ("BipedalWalker-v3", "BipedalWalkerHardcore-v3")
WALK = {"gait": None, "after": None}


def walk(env: Any, observation: Any, random: np.random.Generator) -> Any:
    """Return the action of Gymnasium's gait with random stumbles, in float64."""
    if WALK["after"] is not env.hull:  # a new episode
        WALK.update(gait=gymnasium_box2d.bipedal_walker.BipedalWalkerHeuristics(), after=env.hull)
    return WALK["gait"].step_heuristic(observation) + random.normal(0, 0.05, 4)


POLICIES = [random_actions, walk, no_action]


@pytest.mark.parametrize("env_id", IDS)
def test_equals_gymnasium(env_id):
    fly_side_by_side(*make_pair(env_id), POLICIES, episodes=4, seed=1, steps=150)


def test_in_python_equals_gymnasium():
    ours, theirs = bipedal_walker_python.BipedalWalker(hardcore=True), make_pair(IDS[1])[1]
    fly_side_by_side(ours, theirs, POLICIES, episodes=3, seed=4, steps=60)


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


@pytest.mark.parametrize("env_id", IDS)
def test_v2_says_what_differs(env_id):
    with pytest.raises(error.DeprecatedEnv, match="lidar"):
        gymcore.make(env_id.replace("-v3", "-v2"))


def test_hardcore_class_is_for_make():
    with pytest.raises(error.Error, match=r'gym.make\("BipedalWalker-v3", hardcore=True\)'):
        BipedalWalkerHardcore()


@pytest.mark.parametrize(
    "action",
    [
        [5, 5, 5, 5],
        (0, 1, 1, 1),
        [0.1, -0.2, 0.3, 0.4],
        np.array([1, -1, 0, 0]),
        [np.inf, -np.inf, 0, 0],
    ],
)
def test_actions_of_other_kinds(action):
    ours, theirs = make_pair("BipedalWalker-v3")
    ours.reset(seed=1)
    theirs.reset(seed=1)
    for _ in range(3):
        seen, expected = ours.step(action), theirs.step(action)
        assert seen[0].tobytes() == expected[0].tobytes()
        assert seen[1] == expected[1]


def test_invalid_action():
    env = BipedalWalker()
    env.reset(seed=1)
    before = env.get_state()
    for action in (
        [0.1],
        3,
        "abcd",
        None,
        [0] * 5,
        np.zeros((4, 1)),
        [0, np.nan, 0, 0],
        [10**400] * 4,
    ):
        with pytest.raises(error.InvalidAction, match="expected four numbers"):
            env.step(action)
        np.testing.assert_array_equal(env.get_state(), before)


def test_needs_a_reset():
    env = BipedalWalker(render_mode="rgb_array")
    for call in (lambda: env.step(np.zeros(4)), env.render):
        with pytest.raises(error.ResetNeeded):
            call()


@pytest.mark.parametrize("how", ["state", "deepcopy", "pickle"])
@pytest.mark.parametrize("hardcore", [False, True])
def test_continues_to_the_bit(how, hardcore):
    env = BipedalWalker(hardcore=hardcore)
    observation, _ = env.reset(seed=5)
    gait = BipedalWalkerHeuristics()
    for _ in range(60):
        observation = env.step(gait.step_heuristic(observation))[0]
    if how == "state":
        other = BipedalWalker(hardcore=hardcore)
        other.set_state(pickle.loads(pickle.dumps(env.get_state())))
    else:
        other = copy.deepcopy(env) if how == "deepcopy" else pickle.loads(pickle.dumps(env))
    random = np.random.default_rng(1)
    for _ in range(80):
        action = random.uniform(-1, 1, 4).astype(np.float32)
        ours, same = env.step(action), other.step(action)
        assert ours[0].tobytes() == same[0].tobytes()
        assert ours[1:] == same[1:]
    assert env.np_random.bit_generator.state == other.np_random.bit_generator.state


def returns_of_walks(seeds):
    env, totals = BipedalWalker(), []
    env.fresh_worlds = True
    for seed in seeds:
        observation, _ = env.reset(seed=seed)
        gait, total, ended = BipedalWalkerHeuristics(), 0.0, False
        for _ in range(1600):
            observation, reward, ended, _, _ = env.step(gait.step_heuristic(observation))
            total += reward
            if ended:
                break
        totals.append(total)
    return np.array(totals)


def test_the_gait_walks():
    assert returns_of_walks(range(3)).max() > 280


@pytest.mark.soak
@pytest.mark.timeout(3000)
def test_the_gait_gets_to_the_end():
    assert (returns_of_walks(range(1000, 1040)) > 250).mean() >= 0.85


def test_fresh_worlds_depend_on_the_seed_alone():
    random = np.random.default_rng(1)
    actions = random.uniform(-1, 1, (120, 4)).astype(np.float32)

    def episode(env: Any, seed: int) -> list[bytes]:
        first = env.reset(seed=seed)[0].tobytes()
        return [first] + [env.step(action)[0].tobytes() for action in actions]

    env = BipedalWalker()
    env.fresh_worlds = True
    expected = episode(env, 5)
    for seed in range(3):
        episode(env, seed)
    assert episode(env, 5) == expected
    other = BipedalWalker()
    other.set_state(env.get_state())  # from a later episode
    for action in actions:
        assert env.step(action)[0].tobytes() == other.step(action)[0].tobytes()


def test_the_gait_has_gymnasiums_names():
    """Its angles and gains are gymcore's: Gymnasium's gait stumbles in three walks of four."""
    theirs = gymnasium_box2d.bipedal_walker.BipedalWalkerHeuristics
    names = [name for name in dir(theirs) if not name.startswith("_")]
    for ours, expected in (
        (BipedalWalkerHeuristics, theirs),
        (BipedalWalkerHeuristics(), theirs()),
    ):
        for name in names:
            assert type(getattr(ours, name)) is type(getattr(expected, name)), name
    for name in ("STAY_ON_ONE_LEG", "PUT_OTHER_DOWN", "PUSH_OFF", "moving_leg", "supporting_leg"):
        assert getattr(BipedalWalkerHeuristics, name) == getattr(theirs, name)


def test_attributes_that_programs_read():
    ours, theirs = make_pair("BipedalWalkerHardcore-v3")
    assert ours.hull is None
    assert ours.game_over is False
    assert ours.terrain_poly == ours.cloud_poly == ours.lidar == []
    ours.reset(seed=4)
    theirs.reset(seed=4)
    for name in ("terrain_x", "terrain_y", "game_over", "scroll", "hardcore"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert len(ours.terrain) == len(theirs.terrain)
    assert len(ours.drawlist) == len(theirs.drawlist)
    for name in ("color1", "color2"):
        colors = [[getattr(body, name) for body in env.terrain] for env in (ours, theirs)]
        assert colors[0] == colors[1]
    assert len(ours.legs) == len(ours.joints) == 4
    assert [leg.ground_contact for leg in ours.legs[1::2]] == [
        leg.ground_contact for leg in theirs.legs[1::2]
    ]
    assert ours.lidar_fractions == [ray.fraction for ray in theirs.lidar]
    assert ours.terrain_poly == theirs.terrain_poly
    assert ours.cloud_poly == theirs.cloud_poly
    for ray, expected in zip(ours.lidar, theirs.lidar, strict=True):
        assert ray.fraction == expected.fraction
        assert ray.p1 == tuple(expected.p1)
        np.testing.assert_allclose(ray.p2, tuple(expected.p2), atol=1e-5)
    assert tuple(ours.hull.position) == tuple(theirs.hull.position)
    ours.game_over = True
    assert ours.step(np.zeros(4))[1:3] == (-100.0, True)


def test_clouds_equal_gymnasium():
    """They are computed on request from the draws of the reset; copies have them too."""
    ours, theirs = make_pair("BipedalWalker-v3")
    for seed in (4, None):
        ours.reset(seed=seed)
        theirs.reset(seed=seed)
        expected = tuple(tuple(map(tuple, corners)) for corners, *_ in theirs.cloud_poly)
        assert copy.deepcopy(ours).clouds == expected
        assert pickle.loads(pickle.dumps(ours)).clouds == ours.clouds == expected


@pytest.mark.parametrize("hardcore", [False, True])
def test_pictures(hardcore):
    pytest.importorskip("pygame", reason="pygame is not installed")
    env = BipedalWalker("rgb_array", hardcore)
    env.reset(seed=1)
    first = env.render()
    assert first.shape == (400, 600, 3)
    assert first.dtype == np.uint8
    np.testing.assert_array_equal(env.render(), first)  # a frame depends only on the state
    for _ in range(15):
        env.step([1.0, 1.0, -1.0, -1.0])
    assert (env.render() != first).any()
    env.scroll = 500.0  # empty
    env.render()
    env.close()
    assert not env.isopen


def test_env_checker():
    from gymcore.utils.env_checker import check_env

    check_env(gymcore.make("BipedalWalker-v3").unwrapped, skip_render_check=True)
