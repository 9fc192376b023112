"""The compiled engine and Gymnasium's SyncVectorEnv: same seeds, same actions, every mode."""

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers.vector import RecordEpisodeStatistics

import gymcore as gym
from tests.vector.contract import DISABLED, ENDING_STATES, NEXT_STEP, SAME_STEP, draw_actions

LANES = 4


def make_both(env_id, mode, num_envs=LANES, **kwargs):
    """Return our compiled engine, and Gymnasium's Python engine."""
    ours = gym.make_vec(
        env_id,
        num_envs=num_envs,
        vector_kwargs={"autoreset_mode": mode.value, "episode_statistics": True},
        **kwargs,
    )
    theirs = gymnasium.make_vec(
        env_id,
        num_envs=num_envs,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": gymnasium.vector.AutoresetMode(mode.value)},
        **kwargs,
    )
    return ours, RecordEpisodeStatistics(theirs)


def assert_close(ours, theirs):
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-6)


def check_infos(ours, theirs):
    """Check for the same keys in the same order; `final_obs` is dense only in our engine."""
    assert list(ours) == list(theirs)
    for key in theirs:
        if key == "final_obs":
            for i in range(LANES):
                if theirs["_final_obs"][i]:
                    assert_close(ours[key][i], theirs[key][i])
                else:
                    assert theirs[key][i] is None
                    assert not ours[key][i].any()
        elif key == "episode":
            assert list(ours[key]) == list(theirs[key])
            for name in ("r", "l", "t"):
                assert ours[key][name].dtype == theirs[key][name].dtype
            np.testing.assert_allclose(ours[key]["r"], theirs[key]["r"], rtol=1e-5)
            np.testing.assert_array_equal(ours[key]["l"], theirs[key]["l"])
            assert ((ours[key]["t"] > 0) == ours["_episode"]).all()
            assert (ours[key]["t"] < 60).all()
        elif key == "final_info":
            assert ours[key] == theirs[key] == {}
        else:
            assert ours[key].dtype == theirs[key].dtype
            np.testing.assert_array_equal(ours[key], theirs[key])


def check_step(ours, theirs):
    assert_close(ours[0], theirs[0])
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-5)
    for one, other in zip(ours[1:4], theirs[1:4], strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
    np.testing.assert_array_equal(ours[2], theirs[2])
    np.testing.assert_array_equal(ours[3], theirs[3])
    check_infos(ours[4], theirs[4])


@pytest.mark.slow
def test_episodes_with_ends_of_every_kind(env_id, mode):
    """Lanes end by the time limit, and every 13th step in an end state if there is one."""
    ours, theirs = make_both(env_id, mode, max_episode_steps=9)
    first, infos = ours.reset(seed=42)
    their_first, their_infos = theirs.reset(seed=42)
    np.testing.assert_array_equal(first, their_first)
    assert infos == their_infos == {}
    ends = 0
    for t, actions in enumerate(draw_actions(ours, 150, seed=3)):
        if ENDING_STATES[env_id] and t % 13 == 5 and mode is not DISABLED:
            states = [np.array(state) for state in ours.get_attr("state")]
            states[t % LANES] = np.array(ENDING_STATES[env_id])
            ours.set_attr("state", states)
            theirs.unwrapped.set_attr("state", states)
        step, their_step = ours.step(actions), theirs.step(actions)
        check_step(step, their_step)
        ended = step[2] | step[3]
        ends += ended.sum()
        if mode is DISABLED and ended.any():
            # All lanes at once: Gymnasium's wrapper forgets the counts of lanes that are not reset.
            assert ended.all() or env_id == "CartPole-v1"
            options = {"reset_mask": np.ones(LANES, bool)}
            observations = ours.reset(options=options)[0]
            np.testing.assert_array_equal(observations, theirs.reset(options=dict(options))[0])
    assert ends > 40
    ours.close(), theirs.close()


@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP], ids=lambda mode: mode.value)
def test_whole_cartpole_episodes(mode):
    ours, theirs = make_both("CartPole-v1", mode)
    np.testing.assert_array_equal(ours.reset(seed=7)[0], theirs.reset(seed=7)[0])
    ends = 0
    for actions in draw_actions(ours, 400, seed=1):
        step, their_step = ours.step(actions), theirs.step(actions)
        check_step(step, their_step)
        ends += step[2].sum()
    assert ends > 50


@pytest.mark.parametrize("seed", [None, 5, [3, None, 1, 2**70]])
def test_masked_resets(env_id, mode, seed):
    ours, theirs = make_both(env_id, mode)
    ours.reset(seed=0), theirs.reset(seed=0)
    mask = np.array([True, False, True, False])
    actions = draw_actions(ours, 4)
    for batch in actions:
        check_step(ours.step(batch), theirs.step(batch))
        observations = ours.reset(seed=seed, options={"reset_mask": mask})[0]
        expected = theirs.unwrapped.reset(seed=seed, options={"reset_mask": mask.copy()})[0]
        np.testing.assert_array_equal(observations[mask], expected[mask])
        assert_close(observations[~mask], expected[~mask])
    assert ours.np_random_seed == theirs.np_random_seed


def test_seeds_and_spaces_agree(env_id):
    ours, theirs = make_both(env_id, NEXT_STEP)
    for name in ("observation_space", "action_space"):
        assert repr(getattr(ours, name)) == repr(getattr(theirs, name))
        single = f"single_{name}"
        assert repr(getattr(ours, single)) == repr(getattr(theirs, single))
    ours.action_space.seed(3), theirs.action_space.seed(3)
    for _ in range(5):
        one, other = ours.action_space.sample(), theirs.action_space.sample()
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    for seed in (0, 10**6, [2**31, 0, 2**64, 9]):
        np.testing.assert_array_equal(ours.reset(seed=seed)[0], theirs.reset(seed=seed)[0])
    assert ours.metadata["render_modes"] == theirs.metadata["render_modes"]
    assert ours.metadata["render_fps"] == theirs.metadata["render_fps"]


def test_gymnasiums_wrappers_would_find_what_they_ask_for(env_id):
    """Attributes that code written for Gymnasium reads from a vector environment."""
    ours, theirs = make_both(env_id, NEXT_STEP)
    for name in ("num_envs", "render_mode", "closed"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert ours.spec.id == theirs.spec.id
    assert ours.unwrapped is ours
    assert str(ours).endswith(f"({env_id}, num_envs=4)")
