"""Reports of episodes are built when they are read, and read like a dict of arrays."""

import copy
import pickle

import numpy as np
import pytest

import gymcore as gym
from gymcore.native.infos import EpisodeReports
from tests.vector.contract import draw_actions


def make(mode="SameStep", **options):
    options = {"autoreset_mode": mode, "episode_statistics": True, **options}
    envs = gym.make_vec("CartPole-v1", num_envs=40, vector_kwargs=options)
    envs.reset(seed=2)
    return envs


def with_reports(envs):
    """Infos of the first step with ended episodes, and what they came to by hand."""
    lengths = np.zeros(40, np.int64)
    for actions in draw_actions(envs, 40):
        _, _, terminated, _, infos = envs.step(actions)
        lengths += 1
        if "episode" in infos:
            return infos, np.where(terminated, lengths, 0)
    raise AssertionError("no episode ended")


def check(episode, lengths):
    assert list(episode) == ["r", "l", "t"]
    assert [episode[key].dtype for key in "rlt"] == [np.float64, np.int64, np.float64]
    assert episode["l"].tolist() == lengths.tolist()
    assert episode["r"].tolist() == lengths.tolist()  # a reward of 1 a step
    assert ((episode["t"] > 0) <= (lengths > 0)).all()


@pytest.mark.parametrize("mode", ["SameStep", "NextStep"])
def test_they_can_be_read_at_any_time(mode):
    envs = make(mode)
    infos, lengths = with_reports(envs)
    episode = infos["episode"]
    assert type(infos) is dict
    assert isinstance(episode, EpisodeReports)
    assert not any(isinstance(dict.__getitem__(episode, key), np.ndarray) for key in "rlt")
    infos["_episode"][:] = True  # the caller's
    for actions in draw_actions(envs, 30):
        envs.step(actions)
    envs.close()
    check(episode, lengths)


@pytest.mark.parametrize(
    "copied",
    [
        dict,
        copy.copy,
        copy.deepcopy,
        lambda one: {**one},
        lambda one: one | {},
        lambda one: {} | one,
        lambda one: pickle.loads(pickle.dumps(one)),
        lambda one: dict(one.items()),
    ],
)
def test_copies_are_plain_dicts(copied):
    infos, lengths = with_reports(make())
    result = copied(infos["episode"])
    assert type(result) is dict
    check(result, lengths)


def test_values_are_arrays_of_the_caller():
    infos, lengths = with_reports(make())
    episode = infos["episode"]
    first = episode["r"]
    assert first is episode["r"] is episode.get("r")
    first[:] = -1
    assert episode.pop("l").tolist() == lengths.tolist()
    episode["mean"] = 3.0
    assert list(episode) == ["r", "t", "mean"]
    assert (episode["r"] == -1).all()


def test_buffers_that_are_used_again_are_written_at_once():
    """A program with copy=False reads the arrays it has got before, without asking again."""
    envs = make(copy=False)
    infos, lengths = with_reports(envs)
    assert type(infos["episode"]) is dict
    check(infos["episode"], lengths)
