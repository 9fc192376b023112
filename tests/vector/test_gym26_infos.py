"""Infos of ended episodes under Gym 0.26's names, beside those of Gymnasium."""

import copy
import functools
import pickle

import numpy as np
import pytest

import gymcore as gym
from gymcore.vector.final_observations import replace_final_obs
from gymcore.vector.gym26_infos import FinalInfos, add_gym26_names, remove_gym26_names
from gymcore.vector.utils.infos import split_rows
from tests.testing_env import assert_same

MASK = np.array([False, True, True])
DENSE = np.array([[0.0, 0.0], [1.0, 2.0], [3.0, 4.0]], np.float32)
KEYS = ["final_obs", "_final_obs", "final_info", "_final_info", "extra"]
ALL = [*KEYS, "final_observation", "_final_observation"]


def make_infos(**more):
    infos = {
        "final_obs": DENSE,
        "_final_obs": MASK,
        "final_info": {"score": np.array([0, 7, 9]), "_score": MASK},
        "_final_info": MASK,
        "extra": 5,
        **more,
    }
    return add_gym26_names(infos)


def check(infos):
    """Check the contents that a plain dict would have."""
    assert isinstance(infos, dict)
    assert list(infos) == ALL
    assert infos["final_observation"].dtype == object
    rows = [row if row is None else row.tolist() for row in infos["final_observation"]]
    assert rows == [None, [1.0, 2.0], [3.0, 4.0]]
    assert infos["final_info"].tolist() == [None, {"score": 7}, {"score": 9}]
    assert infos["_final_observation"].tolist() == MASK.tolist()


def test_both_names():
    infos = make_infos()
    check(infos)
    assert infos["final_info"]["score"].tolist() == [0, 7, 9]
    assert infos["final_obs"] is DENSE and infos["extra"] == 5
    loaded = pickle.loads(pickle.dumps(infos))
    assert type(loaded) is dict
    check(loaded)


def test_without_an_end_nothing_is_added():
    infos = {"extra": 5}
    assert add_gym26_names(infos) is infos
    assert remove_gym26_names(infos) is infos


def test_other_last_observations():
    infos = make_infos()
    replace_final_obs(infos, 2 * DENSE)
    assert infos["final_obs"][1].tolist() == [2.0, 4.0]
    assert infos["final_observation"][1].tolist() == [2.0, 4.0]
    assert infos["final_observation"][0] is None
    plain = remove_gym26_names(infos)
    assert list(plain) == KEYS and plain["final_info"]["score"].tolist() == [0, 7, 9]
    infos["final_info"]
    assert remove_gym26_names(infos)["final_info"] is plain["final_info"]
    replace_final_obs(plain, DENSE)
    assert list(plain) == KEYS


def test_engines_object_arrays_are_taken_as_they_are():
    objects = np.array([None, 1, 2], dtype=object)
    infos = make_infos(final_obs=objects)
    assert infos["final_observation"] is objects


def test_structured_observations():
    infos = make_infos(final_obs=np.array([None, {"a": 1}, {"a": 2}], dtype=object))
    assert infos["final_observation"][2] == {"a": 2}


def test_engines_without_final_info():
    infos = add_gym26_names({"final_obs": DENSE, "_final_obs": MASK})
    assert infos["final_info"].tolist() == [None, {}, {}]
    assert infos["_final_info"] is MASK


def test_the_engines_dict_is_left_alone():
    source = {"final_obs": DENSE, "_final_obs": MASK, "final_info": {}, "_final_info": MASK}
    infos = add_gym26_names(source)
    infos["final_info"], infos["final_observation"]
    assert list(source) == ["final_obs", "_final_obs", "final_info", "_final_info"]
    assert source["final_info"] == {}


def test_a_step_without_an_end_has_no_infos():
    envs = gym.vector.make("CartPole-v1", num_envs=2)
    envs.reset(seed=1)
    infos = envs.step([0, 1])[4]
    assert infos == {}
    assert type(infos) is dict


ENGINES = {"native": None, "sync": False, "async": True}


def with_names(infos):
    """Return infos of a step with all names, made at once."""
    if "final_obs" not in infos:
        return infos
    mask = infos["_final_obs"]
    return {
        **infos,
        "final_observation": split_rows(infos["final_obs"], mask),
        "_final_observation": mask,
        "final_info": split_rows(infos["final_info"], mask),
        "_final_info": mask,
    }


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("env_id", ["CartPole-v1", "FrozenLake-v1", "MiniGrid-Empty-5x5-v0"])
def test_infos_kept_for_later_equal_those_made_at_once(env_id, engine):
    options = {"num_envs": 3, "max_episode_steps": 5}
    envs = gym.vector.make(env_id, asynchronous=ENGINES[engine], **options)
    if engine == "native":
        plain = gym.make_vec(env_id, vector_kwargs={"autoreset_mode": "SameStep"}, **options)
    else:
        make = functools.partial(gym.make, env_id, max_episode_steps=5)
        plain = gym.vector.SyncVectorEnv([make] * 3, autoreset_mode="SameStep")
    actions = np.random.default_rng(1).integers(0, 2, (12, 3))
    kept = []
    with envs, plain:
        envs.reset(seed=1), plain.reset(seed=1)
        for rows in actions:
            kept.append((envs.step(rows)[4], with_names(plain.step(rows)[4])))
    assert sum("final_obs" in infos for infos, _ in kept) >= 2
    for infos, expected in kept:
        assert list(infos) == list(expected)
        assert_same(dict(infos), expected)
        assert "final_obs" not in infos or type(infos["final_info"]) is FinalInfos


def test_arrays_of_final_observations_that_are_recycled_have_nothing_of_earlier_steps():
    envs = gym.vector.make("CartPole-v1", num_envs=8)
    plain = gym.make_vec("CartPole-v1", 8, vector_kwargs={"autoreset_mode": "SameStep"})
    envs.reset(seed=1), plain.reset(seed=1)
    kept, dropped = [], 0
    for step, actions in enumerate(np.random.default_rng(1).integers(0, 2, (200, 8))):
        infos, expected = envs.step(actions)[4], with_names(plain.step(actions)[4])
        assert_same(dict(infos), expected)
        if "final_observation" in infos and step % 2:
            kept.append((infos, expected))
        elif "final_observation" in infos:
            infos["final_observation"][:] = "changed by the caller"
            dropped += 1
    assert len(kept) > 20 and dropped > 20
    for infos, expected in kept:
        assert_same(dict(infos), expected)


def test_copies_of_compiled_batches_have_the_names():
    envs = gym.vector.make("CartPole-v1", num_envs=2, max_episode_steps=1)
    envs.reset(seed=1)
    for each in (envs, copy.deepcopy(envs), pickle.loads(pickle.dumps(envs))):
        assert each.step([0, 1])[4]["final_observation"][1].shape == (4,)
        assert "final_observation" in each.step_lanes([0], [1])[4]


@pytest.mark.filterwarnings("ignore:.*out of date:DeprecationWarning")
def test_infos_that_are_float32_after_float32_actions():
    pytest.importorskip("mujoco")
    envs = gym.vector.make("Reacher-v4", num_envs=2, max_episode_steps=1)
    plain = gym.make_vec(
        "Reacher-v4", 2, max_episode_steps=1, vector_kwargs={"autoreset_mode": "SameStep"}
    )
    with envs, plain:
        envs.reset(seed=1), plain.reset(seed=1)
        actions = np.zeros((2, 2), np.float32)
        assert_same(dict(envs.step(actions)[4]), with_names(plain.step(actions)[4]))


def test_statistics_come_through():
    envs = gym.vector.make("CartPole-v1", num_envs=2, max_episode_steps=2, episode_statistics=True)
    envs.reset(seed=1)
    envs.step([0, 1])
    infos = envs.step([0, 1])[4]
    assert infos["episode"]["l"].tolist() == [2, 2]
    assert infos["final_observation"][0].shape == (4,)
