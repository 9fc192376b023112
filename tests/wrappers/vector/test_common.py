"""RecordEpisodeStatistics of a batch, in every autoreset mode."""

from __future__ import annotations

import copy
import time
from collections import deque
from typing import Any

import gymnasium
import numpy as np
import pytest

import gymcore
from gymcore import error, wrappers
from gymcore.vector import AutoresetMode, SyncVectorEnv
from gymcore.wrappers.vector import RecordEpisodeStatistics, TimeLimit
from gymcore.wrappers.vector import common as module
from tests.testing_env import assert_same
from tests.wrappers.lane_by_lane import MODES
from tests.wrappers.side_by_side import check_vectors_side_by_side
from tests.wrappers.walk_env import make_walk_env

NEXT, SAME, DISABLED = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED
ATTRIBUTES = ("episode_returns", "episode_lengths", "prev_dones", "episode_count")
ACTIONS = np.array([1, 2, 3])


@pytest.fixture
def clock(monkeypatch):
    """Replace the clock by one that advances a quarter of a second per call."""
    now = [100.0]

    def perf_counter() -> float:
        now[0] += 0.25
        return now[0]

    monkeypatch.setattr(time, "perf_counter", perf_counter)
    return now


def sync(mode: AutoresetMode, num_envs: int = 3, **kwargs: Any) -> SyncVectorEnv:
    lanes = [lambda: make_walk_env()(**kwargs)] * num_envs
    return SyncVectorEnv(lanes, autoreset_mode=mode)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("buffer_length", [3, None])
def test_equals_gymnasium(mode, buffer_length):
    """Not in DISABLED: there Gymnasium's masked reset forgets the other lanes."""
    made: dict[Any, Any] = {}

    def wrap(package, envs):
        class Timeless(package.vector.VectorWrapper):
            """A wrapper without durations, which differ between runs."""

            def step(self, actions):
                result = super().step(actions)
                if "stats" in result[-1]:
                    assert (result[-1]["stats"]["t"] >= 0).all()
                    result[-1]["stats"]["t"][:] = 0
                return result

        wrapper = package.wrappers.vector.RecordEpisodeStatistics
        made[package] = wrapper(envs, buffer_length, stats_key="stats")
        return Timeless(made[package])

    check_vectors_side_by_side(wrap, mode=mode)
    ours, theirs = made[gymcore], made[gymnasium]
    for name in ATTRIBUTES[:3]:
        assert_same(getattr(ours, name), getattr(theirs, name))
    assert ours.episode_count == theirs.episode_count > 10
    for name in ("return_queue", "length_queue", "time_queue"):
        queue, other = getattr(ours, name), getattr(theirs, name)
        assert (type(queue), queue.maxlen, len(queue)) == (deque, other.maxlen, len(other))
        if name != "time_queue":
            assert_same(list(queue), list(other))
        assert {type(each) for each in queue} == {type(each) for each in other}


@pytest.mark.parametrize("mode", MODES)
def test_counts_what_the_single_wrapper_counts(mode):
    """Also with masked resets."""
    ours = RecordEpisodeStatistics(sync(mode))
    records: list[dict[str, Any]] = [{} for _ in range(3)]

    class Noting(wrappers.RecordEpisodeStatistics):
        def step(self, action):
            result = super().step(action)
            records[self.lane].update(result[-1].get("episode", {}))
            return result

    def make(lane):
        env = Noting(make_walk_env()())
        env.lane = lane
        return env

    lanes = [lambda i=i: make(i) for i in range(3)]
    theirs = SyncVectorEnv(lanes, autoreset_mode=mode)
    rng = np.random.default_rng(0)
    ours.reset(seed=0)
    theirs.reset(seed=0)
    ended, episodes = np.zeros(3, np.bool_), 0
    for _ in range(80):
        mask = rng.random(3) < 0.1
        mask = mask | ended if mode is DISABLED else mask
        if mask.any():
            ours.reset(options={"reset_mask": mask})
            theirs.reset(options={"reset_mask": mask})
        *_, terminated, truncated, infos = ours.step(ACTIONS)
        theirs.step(ACTIONS)
        ended = terminated | truncated
        assert ("episode" in infos) == ended.any()
        if ended.any():
            assert_same(infos["_episode"], ended)
            found = infos["episode"]
            for i in range(3):
                expected = records[i] if ended[i] else {"r": 0, "l": 0}
                assert (found["r"][i], found["l"][i]) == (expected["r"], expected["l"])
            episodes += int(ended.sum())
    assert ours.episode_count == episodes > 10


@pytest.mark.parametrize(("mode", "second"), [(NEXT, 0.5), (SAME, 0.5), (DISABLED, 1.25)])
def test_durations(clock, mode, second):
    """Steps take a quarter of a second. In NEXT_STEP a resetting step takes no time."""
    envs = RecordEpisodeStatistics(sync(mode, limit=2, terminate=0.0))
    envs.reset(seed=0)
    assert envs.episode_start_times.tolist() == [100.25] * 3
    found = []
    for _ in range(5):
        *_, infos = envs.step(ACTIONS)
        found += [infos["episode"]["t"].tolist()] if "episode" in infos else []
        if mode is DISABLED and len(found) == 1:
            break
    assert found[0] == [0.5] * 3
    if mode is not DISABLED:
        assert found[1] == [second] * 3
    assert list(envs.time_queue)[:3] == [0.5] * 3


def test_a_masked_reset_leaves_the_other_counts(clock):
    envs = RecordEpisodeStatistics(sync(NEXT, terminate=0.0))
    envs.reset(seed=0)
    envs.step(ACTIONS)
    returns, starts = envs.episode_returns.copy(), envs.episode_start_times.copy()
    options = {"reset_mask": np.array([True, False, False])}
    envs.reset(options=options)
    assert list(options) == ["reset_mask"]
    assert_same(envs.episode_returns[1:], returns[1:])
    assert_same(envs.episode_start_times[1:], starts[1:])
    assert envs.episode_returns[0] == 0
    assert envs.episode_start_times[0] > starts[0]
    assert envs.episode_lengths.tolist() == [0, 1, 1]


def test_reset_takes_its_arguments_by_position():
    envs = RecordEpisodeStatistics(sync(NEXT))
    one = envs.reset(3)
    assert_same(envs.reset(seed=3), one)


def test_episodes_that_a_time_limit_ends():
    inner = RecordEpisodeStatistics(sync(NEXT, limit=100, terminate=0.0))
    outer = RecordEpisodeStatistics(TimeLimit(inner, 2), stats_key="outer")
    outer.reset(seed=0)
    for _ in range(6):
        *_, infos = outer.step(ACTIONS)
        assert "episode" not in infos
    assert inner.episode_lengths.tolist() == [0, 0, 0]
    assert outer.length_queue == deque([2] * 6)


@pytest.mark.parametrize("mode", MODES)
def test_native_batches(mode):
    envs = gymcore.make_vec("CartPole-v1", 5, vector_kwargs={"autoreset_mode": mode})
    envs = RecordEpisodeStatistics(envs, buffer_length=1000)
    envs.reset(seed=0)
    lengths = []
    for _ in range(50):
        *_, terminated, truncated, infos = envs.step(np.ones(5, np.int64))
        if "episode" in infos:
            lengths += infos["episode"]["l"][infos["_episode"]].tolist()
            assert_same(infos["episode"]["r"], infos["episode"]["l"].astype(float))
        if mode is DISABLED and (terminated | truncated).any():
            envs.reset(options={"reset_mask": terminated | truncated})
    assert list(envs.length_queue) == lengths
    assert len(lengths) > 15
    assert 7 < np.mean(envs.return_queue) < 12


def test_a_key_in_use_is_an_error():
    envs = RecordEpisodeStatistics(RecordEpisodeStatistics(sync(NEXT, limit=1)))
    envs.reset(seed=0)
    with pytest.raises(error.FailedCheck, match="key 'episode' but this key already exists in inf"):
        envs.step(ACTIONS)
    assert issubclass(error.FailedCheck, ValueError)


def test_infos_that_are_a_list_are_an_error():
    envs = RecordEpisodeStatistics(wrappers.vector.DictInfoToList(sync(NEXT)))
    envs.reset(seed=0)
    with pytest.raises(AssertionError, match="requires `info` type to be `dict`"):
        envs.step(ACTIONS)


@pytest.mark.parametrize(("length", "kind"), [(-1, ValueError), ("a", TypeError), (2.5, TypeError)])
def test_wrong_buffer_lengths(length, kind):
    with pytest.raises(kind):
        RecordEpisodeStatistics(sync(NEXT), buffer_length=length)


def test_only_vector_environments_are_wrapped():
    with pytest.raises(error.ArgumentTypeError, match="Expected env to be a"):
        RecordEpisodeStatistics(make_walk_env()())


def test_a_missing_mode_is_warned_of():
    envs = sync(NEXT)
    envs.metadata = {}
    with pytest.warns(UserWarning, match="missing `autoreset_mode` tag"):
        RecordEpisodeStatistics(envs)


def test_what_is_read_may_be_set():
    envs = RecordEpisodeStatistics(sync(NEXT, terminate=0.0))
    envs.reset(seed=0)
    envs.episode_returns = np.array([1.0, 2.0, 3.0])
    envs.episode_lengths = np.array([4, 5, 6])
    envs.episode_start_times = np.zeros(3)
    envs.prev_dones = np.array([True, False, False])
    envs.episode_count = 7
    own: deque[Any] = deque(maxlen=2)
    envs.return_queue = envs.length_queue = envs.time_queue = own
    envs.step(ACTIONS)
    assert envs.episode_lengths.tolist() == [0, 6, 7]
    assert envs.episode_count == 7
    assert envs.return_queue is envs.length_queue is envs.time_queue is own


@pytest.mark.parametrize("mode", MODES)
def test_a_copy_goes_its_own_way(mode):
    envs = gymcore.make_vec("CartPole-v1", 3, vector_kwargs={"autoreset_mode": mode})
    envs = RecordEpisodeStatistics(envs)
    envs.reset(seed=0)
    envs.step(np.array([1, 0, 1]))
    other = copy.deepcopy(envs)
    other.step(np.array([1, 0, 1]))
    assert envs.episode_lengths.tolist() == [1, 1, 1]
    assert other.episode_lengths.tolist() == [2, 2, 2]


def test_the_module_has_the_names():
    assert module.__all__ == ["RecordEpisodeStatistics", "TimeLimit"]
    assert module.TimeLimit is TimeLimit


@pytest.mark.parametrize("backend", ["native", "sync", "async"])
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
def test_around_an_engine_that_counts_itself(backend, mode):
    """The wrapper's statistics, which include time limits of wrappers, replace the engine's."""
    options = {"autoreset_mode": mode, "episode_statistics": True}
    envs = gymcore.make_vec(
        "CartPole-v1", num_envs=2, vectorization_mode=backend, vector_kwargs=options
    )
    with RecordEpisodeStatistics(TimeLimit(envs, 3)) as envs:
        envs.reset(seed=1)
        for _ in range(3):
            infos = envs.step(envs.action_space.sample())[4]
        assert infos["episode"]["r"].tolist() == [3, 3]
        assert infos["episode"]["l"].tolist() == [3, 3]
        assert infos["_episode"].tolist() == [True, True]
        assert envs.episode_count == 2


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
def test_the_engine_and_the_wrapper_count_alike(mode):
    options = {"autoreset_mode": mode, "episode_statistics": True}
    alone, inner = (gymcore.make_vec("CartPole-v1", 2, vector_kwargs=options) for _ in range(2))
    wrapped = RecordEpisodeStatistics(inner)
    for envs in (alone, wrapped):
        envs.reset(seed=1)
    ended = np.zeros(2, np.bool_)
    for _ in range(60):
        if mode is DISABLED and ended.any():
            for envs in (alone, wrapped):
                envs.reset(options={"reset_mask": ended})
        results = [envs.step(np.ones(2, np.int64)) for envs in (alone, wrapped)]
        ended = results[0][2] | results[0][3]
        infos, others = (result[4] for result in results)
        assert ("episode" in infos) == ("episode" in others)
        if "episode" in infos:
            assert_same(infos["episode"]["r"], others["episode"]["r"])
            assert_same(infos["episode"]["l"].astype(int), others["episode"]["l"].astype(int))
            assert_same(infos["_episode"], others["_episode"])
