"""Gym's infos are built when they are read, and read like a dict's."""

import copy
import json
import pickle

import numpy as np
import pytest

import gymcore as gym
from gymcore.vector.legacy_infos import FinalInfos, LegacyInfos, with_legacy_names
from tests.vector.contract import draw_actions, same_bytes

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
    return with_legacy_names(infos)


def is_built(infos):
    """Whether both late values are there, looked up past the class."""
    late = dict.__getitem__(infos, "final_observation"), dict.__getitem__(infos, "final_info")
    return [isinstance(late[0], np.ndarray), isinstance(late[1], FinalInfos)]


def check(infos):
    """What a plain dict would hold."""
    assert type(infos) is dict
    assert list(infos) == ALL
    assert infos["final_observation"].dtype == object
    rows = [row if row is None else row.tolist() for row in infos["final_observation"]]
    assert rows == [None, [1.0, 2.0], [3.0, 4.0]]
    assert infos["final_info"].tolist() == [None, {"score": 7}, {"score": 9}]
    assert infos["_final_observation"].tolist() == MASK.tolist()


def test_nothing_is_built_before_it_is_read():
    infos = make_infos()
    assert isinstance(infos, dict)
    assert is_built(infos) == [False, False]
    assert list(infos) == list(infos.keys()) == ALL
    assert len(infos) == 7
    assert "final_observation" in infos
    assert "final_info" in infos.keys()  # noqa: SIM118
    assert "other" not in infos
    assert infos["final_obs"] is DENSE
    assert infos["extra"] == infos.get("extra") == 5
    assert infos.get("other", 3) == 3
    assert list(reversed(infos)) == ALL[::-1]
    assert bool(infos)
    assert is_built(infos) == [False, False]


def test_each_is_built_alone_and_once():
    infos = make_infos()
    observations = infos["final_observation"]
    assert is_built(infos) == [True, False]
    assert infos["final_observation"] is infos.get("final_observation") is observations
    final_info = infos.get("final_info")
    assert is_built(infos) == [True, True]
    assert infos["final_info"] is final_info
    assert final_info["score"].tolist() == [0, 7, 9]
    assert final_info[1] == {"score": 7}
    check(dict(infos))


READERS = {
    "dict": dict,
    "unpacked": lambda infos: {**infos},
    "arguments": lambda infos: (lambda **kwargs: kwargs)(**infos),
    "update": lambda infos: updated({}, infos),
    "update in place": lambda infos: inplace({}, infos),
    "items": lambda infos: dict(list(infos.items())),
    "values": lambda infos: dict(zip(ALL, infos.values(), strict=True)),
    "copy": lambda infos: infos.copy(),
    "copy.copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda infos: pickle.loads(pickle.dumps(infos)),
    "old pickle": lambda infos: pickle.loads(pickle.dumps(infos, protocol=0)),
    "or": lambda infos: infos | {},
    "ror": lambda infos: {} | infos,
    "comprehension": lambda infos: {key: infos[key] for key in infos},
    "get": lambda infos: {key: infos.get(key) for key in ALL},
    "pop": lambda infos: {key: infos.pop(key) for key in ALL},
    "popitem": lambda infos: dict([infos.popitem() for _ in ALL][::-1]),
    "setdefault": lambda infos: {key: infos.setdefault(key, 3) for key in ALL},
    "fromkeys": lambda infos: {key: infos[key] for key in dict.fromkeys(infos)},
    "match": lambda infos: matched(infos),
}


def updated(target, infos):
    target.update(infos)
    return target


def inplace(target, infos):
    target |= infos
    return target


def matched(infos):
    match infos:
        case {"final_info": final_info, **rest}:
            return {key: final_info if key == "final_info" else rest[key] for key in ALL}


@pytest.mark.parametrize("reader", READERS)
def test_every_way_to_read_finds_the_values(reader):
    check(READERS[reader](make_infos()))


def test_engines_object_arrays_are_taken_as_they_are():
    objects = np.array([None, 1, 2], dtype=object)
    infos = make_infos(final_obs=objects)
    assert infos["final_observation"] is objects


def test_structured_observations():
    infos = make_infos(final_obs=np.array([None, {"a": 1}, {"a": 2}], dtype=object))
    assert infos["final_observation"][2] == {"a": 2}


def test_engines_without_final_info():
    infos = with_legacy_names({"final_obs": DENSE, "_final_obs": MASK})
    assert infos["final_info"].tolist() == [None, {}, {}]
    assert infos["_final_info"] is MASK


def test_the_engines_dict_is_left_alone():
    source = {"final_obs": DENSE, "_final_obs": MASK, "final_info": {}, "_final_info": MASK}
    infos = with_legacy_names(source)
    infos["final_info"], infos["final_observation"]
    assert list(source) == ["final_obs", "_final_obs", "final_info", "_final_info"]
    assert source["final_info"] == {}


def test_writing():
    infos = make_infos()
    infos["new"] = 1
    infos["final_info"] = "mine"
    infos.update(extra=6)
    infos |= {"more": 2}
    assert is_built(infos) == [False, False]
    assert (infos["final_info"], infos["extra"], infos["new"], infos["more"]) == ("mine", 6, 1, 2)
    assert type(infos) is LegacyInfos
    del infos["final_obs"]  # what was made of it stays
    assert infos["final_observation"][1].tolist() == [1.0, 2.0]
    infos.clear()
    assert infos == {}
    with pytest.raises(KeyError):
        infos["final_info"]
    with pytest.raises(KeyError):
        infos.pop("final_info")
    assert infos.pop("final_info", 8) == 8
    assert infos.setdefault("final_info", 9) == 9


def test_comparing_and_showing():
    infos = make_infos()
    plain = dict(make_infos())
    assert repr(infos) == repr(plain)
    assert str(infos) == str(plain)
    keys = ("extra", "other")
    small = with_legacy_names({"final_obs": np.zeros((0, 2)), "_final_obs": [], "extra": 3})
    for key in ALL:
        if key != "extra":
            small.pop(key)
    assert type(small) is LegacyInfos
    assert small == {"extra": 3}
    assert dict.__eq__({"extra": 3}, small)
    assert small != {"extra": 4}
    assert (small != small.copy()) is False
    assert [small.get(key) for key in keys] == [3, None]
    with pytest.raises(TypeError):
        hash(infos)
    assert json.dumps(small) == json.dumps(dict(small))


def test_values_are_of_their_step_however_late_they_are_read():
    """The arrays they are built from are held, so the engine does not write to them again."""
    envs = gym.vector.make("CartPole-v1", num_envs=16)
    eager = gym.vector.make("CartPole-v1", num_envs=16)
    envs.reset(seed=1), eager.reset(seed=1)
    late, at_once = [], []
    for actions in draw_actions(envs, 200):
        late.append(envs.step(actions)[4])
        at_once.append(dict(eager.step(actions)[4]))
    assert sum("final_observation" in infos for infos in late) > 50
    for infos, expected in zip(late, at_once, strict=True):
        assert same_bytes(
            list(infos.get("final_observation", [])), list(expected.get("final_observation", []))
        )
        assert same_bytes(dict(infos), expected)


def test_a_step_without_an_end_has_no_infos():
    envs = gym.vector.make("CartPole-v1", num_envs=2)
    envs.reset(seed=1)
    infos = envs.step([0, 1])[4]
    assert infos == {}
    assert type(infos) is dict


def test_statistics_come_through():
    envs = gym.vector.make("CartPole-v1", num_envs=2, max_episode_steps=2, episode_statistics=True)
    envs.reset(seed=1)
    envs.step([0, 1])
    infos = envs.step([0, 1])[4]
    assert infos["episode"]["l"].tolist() == [2, 2]
    assert infos["final_observation"][0].shape == (4,)
