"""Episode statistics of SyncVectorEnv, compared with Gymnasium's wrapper."""

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers.vector import RecordEpisodeStatistics

import gymcore
from gymcore import error
from gymcore.vector import SyncVectorEnv
from tests.testing_env import assert_same, make_counting_env, make_random_env
from tests.vector.contract import DISABLED, NEXT_STEP, SAME_STEP

OurRandomEnv, TheirRandomEnv = make_random_env(gymcore), make_random_env(gymnasium)
CountingEnv = make_counting_env(gymcore)


class SilentEnv(CountingEnv):
    """Environment without infos: CountingEnv has one named "episode"."""

    def reset(self, **kwargs):
        return super().reset(**kwargs)[0], {}


@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP], ids=lambda mode: mode.value)
def test_beside_gymnasiums_wrapper(mode):
    ours = SyncVectorEnv([OurRandomEnv] * 4, autoreset_mode=mode.value, episode_statistics=True)
    theirs = RecordEpisodeStatistics(
        gymnasium.vector.SyncVectorEnv([TheirRandomEnv] * 4, autoreset_mode=mode.value)
    )
    assert_same(ours.reset(seed=3), theirs.reset(seed=3))
    ours.action_space.seed(1)
    episodes = 0
    for _ in range(300):
        actions = ours.action_space.sample()
        step, expected = ours.step(actions), theirs.step(actions)
        for infos in (step[4], expected[4]):
            if "episode" in infos:
                seconds = infos["episode"].pop("t")
                assert seconds.dtype == np.float64
                assert ((seconds > 0) <= infos["_episode"]).all()
                episodes += 1
        assert_same(step, expected)
    assert episodes > 50


def counting(*lengths, **kwargs):
    return SyncVectorEnv(
        [lambda n=n: SilentEnv(n) for n in lengths], episode_statistics=True, **kwargs
    )


@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP, DISABLED], ids=lambda mode: mode.value)
def test_literally(mode):
    """Rewards count up: an episode of n steps returns 1 + 2 + ... + n."""
    envs = counting(1, 3, autoreset_mode=mode)
    envs.reset()
    episodes = []
    for _ in range(6):
        step = envs.step([0, 0])
        if "episode" in step[4]:
            episodes.append([step[4]["episode"][key].tolist() for key in "rl"])
            assert step[4]["_episode"].tolist() == (step[2] | step[3]).tolist()
        else:
            episodes.append(None)
        if mode is DISABLED and step[2].any():
            envs.reset(options={"reset_mask": step[2]})
    one, both, other = [[1, 0], [1, 0]], [[1, 6], [1, 3]], [[0, 6], [0, 3]]
    if mode is NEXT_STEP:
        assert episodes == [one, None, both, None, one, None]
    else:
        assert episodes == [one, one, both, one, one, both]
    assert other not in episodes


def test_masked_resets_count_anew():
    envs = counting(4, 4)
    envs.reset()
    envs.step([0, 0])
    envs.reset(options={"reset_mask": np.array([True, False])})
    assert [("episode" in envs.step([0, 0])[4]) for _ in range(2)] == [False, False]
    infos = envs.step([0, 0])[4]
    assert infos["episode"]["l"].tolist() == [0, 4]
    assert infos["episode"]["r"].tolist() == [0, 10]
    infos = envs.step([0, 0])[4]
    assert infos["episode"]["l"].tolist() == [4, 0]


def test_reports_are_the_callers():
    envs = counting(1, 1, autoreset_mode=SAME_STEP)
    envs.reset()
    kept = envs.step([0, 0])[4]["episode"]["r"]
    kept[:] = 5
    assert envs.step([0, 0])[4]["episode"]["r"].tolist() == [1, 1]
    assert kept.tolist() == [5, 5]


def test_environments_with_an_info_of_that_name():
    envs = SyncVectorEnv([lambda: CountingEnv(1)] * 2, episode_statistics=True)
    envs.reset()
    envs.step([0, 0])
    envs.step([0, 0])
    assert envs.step([0, 0])[2].all()

    class Named(CountingEnv):
        def step(self, action):
            return (*super().step(action)[:4], {"episode": 3})

    envs = SyncVectorEnv([lambda: Named(1)] * 2, episode_statistics=True)
    envs.reset()
    with pytest.raises(error.InvalidArgument, match="an info named 'episode' themselves"):
        envs.step([0, 0])
