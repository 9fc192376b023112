"""EnvLoop over arrays that were bound at the start, as in a worker process."""

import time

import numpy as np
import pytest

import gymcore.error as errors
from gymcore_ext.python_envs.env_loop import EPISODE_STATS_LAYOUT, REWARD_AND_END_LAYOUT, EnvLoop
from tests.ext.loop_envs import (
    DISABLED,
    LAYOUT,
    NEXT_STEP,
    SAME_STEP,
    Bound,
    Counter,
    Slots,
    make_loop,
    over,
)
from tests.testing_env import assert_same


def test_rows_of_the_whole_batch_are_written():
    bound = Bound((1, 5))
    assert bound.loop.reset(None, [3, 4], {"a": 1}) is None
    assert bound.envs[1].calls == [("reset", 4, {"a": 1})]
    assert bound.rows.batch().tolist() == [[0, 0]] * 2 + [[2, 0], [3, 0]] + [[0, 0]] * 2
    assert bound.slots.records == {2: ({"began": 2}, None, None), 3: ({"began": 3}, None, None)}
    assert bound.loop.step(["a", "b"]) == 1
    assert bound.rows.batch()[2:4].tolist() == [[2, 1], [3, 1]]
    assert bound.rewards.tolist() == [1, 1]
    assert bound.terminated.tolist() == [True, False]
    assert bound.truncated.tolist() == [False, False]
    assert bound.loop.step(["a", "b"]) == 0
    assert bound.rewards.tolist() == [0, 2]
    assert bound.terminated.tolist() == [False, False]
    assert bound.slots.records[2] == ({"began": 2}, None, None)
    assert bound.slots.records[3] == ({"elapsed": 2}, None, None)


@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP])
def test_what_is_written_is_what_the_other_form_returns(mode):
    loop, _ = make_loop((1, 2, 3), mode, statistics=True)
    bound = Bound((1, 2, 3), mode, first=0, num_envs=3)
    loop.reset(), bound.loop.reset()
    for _ in range(12):
        observations, rewards, terminated, truncated, infos = loop.step([0] * 3)
        ended = bound.loop.step([0] * 3)
        assert_same(
            (observations, rewards, terminated, truncated),
            (bound.rows.batch(), bound.rewards, bound.terminated, bound.truncated),
        )
        assert ended == np.count_nonzero(terminated)
        zeros = np.zeros(3), np.zeros(3, int)
        expected = [infos["episode"][key] for key in "rl"] if ended else [*zeros]
        assert_same(bound.statistics[:2], expected)
        assert ((bound.statistics[2] > 0) <= terminated).all()
        if mode == SAME_STEP:
            for lane in np.flatnonzero(terminated):
                assert_same(bound.finals.read(lane), infos["final_obs"][lane])
                _, final_info, extra = bound.slots.records[lane]
                assert final_info == {"elapsed": lane + 1}
                assert extra is None


def test_one_lane_at_a_time():
    bound = Bound((2, 2, 2))
    bound.loop.reset()
    before = bound.rows.batch().copy()
    for lane in bound.slots.records:
        bound.slots.put(lane, {})
    assert bound.loop.step(["x"], [1]) == 0
    assert bound.loop.step(["y"], [1]) == 1
    assert list(bound.slots.records) == [3]
    changed = (bound.rows.batch() != before).any(axis=1)
    assert np.flatnonzero(changed).tolist() == [3]
    assert bound.terminated[1]
    assert bound.rewards.tolist() == [-1, 2, -1]
    assert bound.statistics[1].tolist() == [-1, 2, -1]


def test_a_reset_of_some_leaves_the_others():
    bound = Bound((5, 5))
    bound.loop.reset()
    bound.loop.step([0, 0])
    bound.loop.reset([1])
    assert bound.rows.batch()[2:4].tolist() == [[2, 1], [3, 0]]


def test_failures_are_told_by_the_number_in_the_batch():
    bound = Bound((5, 5))
    bound.loop.reset()
    bound.envs[1].raising = OSError("x")
    with pytest.raises(OSError, match="x"):
        bound.loop.step([0, 0])
    assert (bound.loop.failed_lane, bound.loop.failed_call) == (3, "step")


@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP, DISABLED])
def test_episodes_that_the_caller_ends(mode):
    bound = Bound((5, 5), mode)
    bound.loop.reset()
    bound.loop.mark_ended()
    assert bound.loop.ended_lanes().tolist() == [mode != SAME_STEP] * 2
    bound.loop.step([0, 0])
    calls = [call[0] for call in bound.envs[0].calls]
    assert calls == (["reset", "reset"] if mode == NEXT_STEP else ["reset", "step"])


# Objects


class Talker(Counter):
    """Environment that observes a number and a list that it reuses."""

    def __init__(self, lane, length=2):
        super().__init__(lane, length)
        self.words = []

    def observe(self):
        self.words[:] = [f"{self.lane}.{self.elapsed}"]
        return self.elapsed, self.words


def test_without_rows_observations_go_into_the_slots():
    slots = Slots(2)
    loop = EnvLoop(
        [Talker(0, 1), Talker(1)],
        None,
        over(REWARD_AND_END_LAYOUT, 2),
        mode=SAME_STEP,
        errors=errors,
        slots=slots,
    )
    loop.reset()
    assert slots.records[1] == ({"began": 1}, None, ((0, ["1.0"]), None, None))
    loop.step([0, 0])
    assert slots.records[0] == ({"began": 0}, {"elapsed": 1}, ((0, ["0.0"]), (1, ["0.1"]), None))


def test_infos_in_shared_memory():
    bound = Bound((1, 3), SAME_STEP)
    loop, envs, slots = bound.loop, bound.envs, bound.slots
    loop.reset()
    assert slots.get(3) == ({"began": 3}, None, None)
    loop.step([0, 0])
    assert slots.get(2) == ({"began": 2}, {"elapsed": 1}, None)
    assert slots.get(3) == ({"elapsed": 1}, None, None)
    assert bound.rows.batch()[3].tolist() == [3, 1]
    envs[0].result = np.zeros(2), 0, False, False, {"lock": open}
    loop.step([0, 0])
    assert slots.get(2, slots.take_overflow()[2])[0]["lock"] is open
    envs[0].result = np.zeros(2), 0, False, False, {"door": {"lock": (x for x in "ab")}}
    with pytest.raises(TypeError, match="door"):
        loop.step([0, 0])
    assert loop.failed_lane == 2


@pytest.mark.parametrize(
    ("name", "buffer"),
    [
        ("observations", over(LAYOUT, 3)),
        ("final_observations", over(LAYOUT, 1)),
        ("rewards_and_ends", over(REWARD_AND_END_LAYOUT, 3)),
        ("rewards_and_ends", over(EPISODE_STATS_LAYOUT, 2)),
        ("episodes", over(REWARD_AND_END_LAYOUT, 2)),
    ],
)
def test_buffers_that_do_not_do(name, buffer):
    buffers = {
        "observations": over(LAYOUT, 2),
        "rewards_and_ends": over(REWARD_AND_END_LAYOUT, 2),
        name: buffer,
    }
    with pytest.raises(errors.InvalidArgument, match=f"{name}: expected 2 rows of layout"):
        EnvLoop([Counter(0), Counter(1)], mode=0, errors=errors, slots=Slots(2), **buffers)


def test_buffers_that_are_missing():
    with pytest.raises(errors.InvalidArgument, match="without slots, observations"):
        EnvLoop([Counter(0)], None, over(REWARD_AND_END_LAYOUT, 1), mode=0, errors=errors)
    with pytest.raises(errors.InvalidArgument, match="buffers for rewards_and_ends"):
        EnvLoop([Counter(0)], over(LAYOUT, 1), None, mode=0, errors=errors, slots=Slots(1))


# Saving


def test_lanes_go_on_from_what_was_saved():
    loop, envs = make_loop((9, 9), statistics=True)
    with pytest.raises(errors.ResetNeeded):
        loop.step([0, 0])
    loop.reset()
    loop.step([0, 0])
    loop.step([0, 0])
    observation, *counts = saved = loop.save_lane(1)
    assert observation.tolist() == [1, 2]
    assert counts == [False, 2, 3.0]
    other, others = make_loop((3, 3), statistics=True)
    others[0].elapsed = 2
    for lane in range(2):
        other.load_lane(lane, saved)
    assert other.needs_reset()
    other.mark_ready()
    started = time.perf_counter()
    infos = other.step([0], [0])[4]
    assert infos["episode"]["r"].tolist() == [6.0]
    assert infos["episode"]["l"].tolist() == [3]
    assert 0 <= infos["episode"]["t"][0] <= time.perf_counter() - started + 1
    assert other.reset([0])[0].tolist() == [[0, 0], [1, 2]]
    assert envs[1].elapsed == 2
    for lane in (-1, 2):
        with pytest.raises(IndexError):
            loop.save_lane(lane)
        with pytest.raises(IndexError):
            loop.load_lane(lane, saved)


def test_observations_in_shared_memory_are_not_saved():
    for pickled in (False, True):
        bound = Bound((5, 5), pickled=pickled)
        bound.loop.reset()
        assert bound.loop.save_lane(0) == (None, False, 0, 0.0)
        bound.loop.step([0, 0])
        bound.loop.load_lane(0, bound.loop.save_lane(1))
        assert bound.loop.save_lane(0) == (None, False, 1, 1.0)


def test_an_ended_lane_stays_one():
    loop, envs = make_loop((1, 1))
    loop.reset()
    loop.step([0, 0])
    saved = loop.save_lane(0)
    assert saved[1]
    loop.step([0, 0])
    loop.load_lane(0, saved)
    loop.step([0, 0])
    assert [call[0] for call in envs[0].calls[-2:]] == ["reset", "reset"]
