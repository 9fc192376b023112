"""Infos of ended episodes: plain dicts of arrays."""

import numpy as np
import pytest

import gymcore as gym
from tests.vector.contract import draw_actions


def make(mode="SameStep", **options):
    options = {"autoreset_mode": mode, "episode_statistics": True, **options}
    envs = gym.make_vec("CartPole-v1", num_envs=40, vector_kwargs=options)
    envs.reset(seed=2)
    return envs


def with_reports(envs):
    """Return the infos of the first step with ended episodes, and the values computed by hand."""
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
    assert episode["r"].tolist() == lengths.tolist()  # a reward of 1 per step
    assert ((episode["t"] > 0) <= (lengths > 0)).all()


@pytest.mark.parametrize("mode", ["SameStep", "NextStep"])
def test_they_are_arrays_of_the_caller(mode):
    envs = make(mode)
    infos, lengths = with_reports(envs)
    episode = infos["episode"]
    assert type(infos) is dict
    assert type(episode) is dict
    for actions in draw_actions(envs, 30):
        envs.step(actions)
    envs.close()
    check(episode, lengths)


def test_buffers_that_are_used_again():
    envs = make(copy=False)
    infos, lengths = with_reports(envs)
    check(infos["episode"], lengths)
    first = infos["episode"]["r"]
    while "episode" not in (infos := envs.step(draw_actions(envs, 1)[0])[4]):
        pass
    assert infos["episode"]["r"] is first
