"""The three autoreset modes of the compiled engine, with arrays that can be computed by hand.

MountainCar without gravity and force keeps its velocity: each step adds it to the position, and the
episode terminates at 0.5. All numbers are exact in float32.
"""

import numpy as np
import pytest

from gymcore.error import ResetNeeded
from tests.vector.contract import DISABLED, NEXT_STEP, SAME_STEP, make_envs

STATES = [[0.25, 0.0625], [0.4375, 0.0625], [0.0, 0.0]]
COAST = np.ones(3, dtype=np.int64)
NO = [False, False, False]


def make(mode, limit=2, **vector_kwargs):
    """Make three cars: lane 1 terminates in the first step, the others truncate in step `limit`."""
    envs = make_envs(
        "MountainCar-v0", "native", mode, max_episode_steps=limit, vector_kwargs=vector_kwargs
    )
    envs.set_attr("gravity", 0.0)
    envs.set_attr("force", 0.0)
    envs.reset(seed=10)
    envs.set_attr("state", STATES)
    return envs


def start(lane, episode):
    """Return an episode's first observation: each reset draws a position from the lane's stream."""
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(10 + lane)))
    return [np.float32(rng.uniform(-0.6, -0.4, size=episode + 1)[episode]), 0.0]


def check(step, observations, rewards, terminated, truncated):
    np.testing.assert_array_equal(step[0], np.array(observations, np.float32))
    assert step[1].tolist() == rewards
    assert step[2].tolist() == terminated
    assert step[3].tolist() == truncated


def test_next_step():
    envs = make(NEXT_STEP)
    step = envs.step(COAST)
    moved = [[0.3125, 0.0625], [0.5, 0.0625], [0.0, 0.0]]
    check(step, moved, [-1, -1, -1], [False, True, False], NO)
    assert step[4] == {}

    step = envs.step(COAST)
    moved = [[0.375, 0.0625], start(1, 1), [0.0, 0.0]]
    check(step, moved, [-1, 0, -1], NO, [True, False, True])
    assert step[4] == {}

    step = envs.step(COAST)  # lane 1 coasts at its starting point
    check(step, [start(0, 1), start(1, 1), start(2, 1)], [0, -1, 0], NO, NO)
    assert step[4] == {}

    step = envs.step(COAST)
    check(step, [start(0, 1), start(1, 1), start(2, 1)], [-1] * 3, NO, [False, True, False])

    step = envs.step(COAST)
    check(step, [start(0, 1), start(1, 2), start(2, 1)], [-1, 0, -1], NO, [True, False, True])


def test_same_step():
    envs = make(SAME_STEP)
    step = envs.step(COAST)
    moved = [[0.3125, 0.0625], start(1, 1), [0.0, 0.0]]
    check(step, moved, [-1, -1, -1], [False, True, False], NO)
    infos = step[4]
    assert list(infos) == ["final_obs", "_final_obs", "final_info", "_final_info"]
    assert infos["final_obs"].tolist() == [[0, 0], [0.5, 0.0625], [0, 0]]
    assert infos["final_obs"].dtype == np.float32
    assert infos["_final_obs"].tolist() == infos["_final_info"].tolist() == [False, True, False]
    assert infos["final_info"] == {}

    step = envs.step(COAST)
    moved = [start(0, 1), start(1, 1), start(2, 1)]
    check(step, moved, [-1, -1, -1], NO, [True, False, True])
    assert step[4]["final_obs"].tolist() == [[0.375, 0.0625], [0, 0], [0, 0]]
    assert step[4]["_final_obs"].tolist() == [True, False, True]

    step = envs.step(COAST)
    moved = [start(0, 1), start(1, 2), start(2, 1)]
    check(step, moved, [-1, -1, -1], NO, [False, True, False])
    expected = np.array([[0, 0], start(1, 1), [0, 0]], np.float32)
    np.testing.assert_array_equal(step[4]["final_obs"], expected)


def test_disabled():
    envs = make(DISABLED)
    step = envs.step(COAST)
    moved = [[0.3125, 0.0625], [0.5, 0.0625], [0.0, 0.0]]
    check(step, moved, [-1, -1, -1], [False, True, False], NO)
    assert step[4] == {}
    with pytest.raises(ResetNeeded, match=r"environments \[1\] have ended"):
        envs.step(COAST)

    observations, infos = envs.reset(options={"reset_mask": step[2] | step[3]})
    expected = np.array([[0.3125, 0.0625], start(1, 1), [0.0, 0.0]], np.float32)
    np.testing.assert_array_equal(observations, expected)
    assert infos == {}

    step = envs.step(COAST)
    moved = [[0.375, 0.0625], start(1, 1), [0.0, 0.0]]
    check(step, moved, [-1, -1, -1], NO, [True, False, True])
    observations, _ = envs.reset()  # all lanes, including the one that has not ended
    expected = np.array([start(0, 1), start(1, 2), start(2, 1)], np.float32)
    np.testing.assert_array_equal(observations, expected)


@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP, DISABLED])
def test_time_limit_and_end_state_in_one_step(mode):
    envs = make(mode, limit=1)
    step = envs.step(COAST)
    assert step[2].tolist() == [False, True, False]
    assert step[3].tolist() == [True, True, True]
    if mode is SAME_STEP:
        assert step[4]["final_obs"].tolist() == [[0.3125, 0.0625], [0.5, 0.0625], [0.0, 0.0]]
        np.testing.assert_array_equal(
            step[0], np.array([start(i, 1) for i in range(3)], np.float32)
        )


@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP, DISABLED])
def test_statistics(mode):
    envs = make(mode, limit=3, episode_statistics=True)

    def episode(step):
        assert step[4]["_episode"].tolist() == (step[2] | step[3]).tolist()
        assert (step[4]["episode"]["t"][step[4]["_episode"]] > 0).all()
        return [step[4]["episode"][key].tolist() for key in "rl"]

    step = envs.step(COAST)
    assert episode(step) == [[0, -1, 0], [0, 1, 0]]
    if mode is DISABLED:
        envs.reset(options={"reset_mask": step[2]})
    assert envs.step(COAST)[4] == {}
    step = envs.step(COAST)
    assert episode(step) == [[-3, 0, -3], [3, 0, 3]]
    if mode is DISABLED:
        envs.reset(options={"reset_mask": step[3]})
    if mode is NEXT_STEP:  # the step that began lane 1's episode is not part of it
        assert envs.step(COAST)[4] == {}
    step = envs.step(COAST)
    assert episode(step) == [[0, -3, 0], [0, 3, 0]]


def test_the_action_of_a_resetting_lane_is_ignored_but_checked():
    envs = make(NEXT_STEP)
    envs.set_attr("force", 0.5)
    envs.step(COAST)
    step = envs.step(np.array([1, 2, 1]))
    assert step[0][1].tolist() == start(1, 1)
    envs = make(NEXT_STEP)
    envs.step(COAST)
    with pytest.raises(ValueError, match=r"actions\[1\] = 3"):
        envs.step(np.array([1, 3, 1]))


@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP])
def test_all_lanes_end_at_once_for_ever(mode):
    envs = make(mode, limit=1)
    for t in range(6):
        step = envs.step(COAST)
        ends = mode is SAME_STEP or t % 2 == 0
        assert step[3].tolist() == [ends] * 3
        assert step[1].tolist() == [-1.0 if ends else 0.0] * 3


def test_a_batch_of_many_blocks_ends_where_it_should():
    """Lanes are stepped in blocks of 256: ends in the first, in a middle and in the last lane."""
    n = 1000
    ends = np.zeros(n, bool)
    ends[[0, 255, 256, 511, 700, 999]] = True
    for mode in (NEXT_STEP, SAME_STEP, DISABLED):
        envs = make_envs("MountainCar-v0", "native", mode, n)
        envs.reset(seed=0)
        states = np.where(ends[:, None], [0.6, 0.07], [-0.5, 0.0])
        envs.set_attr("state", states)
        step = envs.step(np.ones(n, np.int64))
        np.testing.assert_array_equal(step[2], ends)
        assert not step[3].any()
        began = step[0][:, 1] == 0  # the velocity of a first observation
        np.testing.assert_array_equal(began, ends if mode is SAME_STEP else np.zeros(n, bool))
        if mode is SAME_STEP:
            np.testing.assert_array_equal(step[4]["_final_obs"], ends)
            assert (step[4]["final_obs"][ends] == np.float32([0.6, 0.07])).all()
            assert not step[4]["final_obs"][~ends].any()
