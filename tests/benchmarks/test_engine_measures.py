from __future__ import annotations

import itertools
import os
import shutil
import sys

import numpy as np
import pytest

import gymcore


def record(session):
    """Return a list to which the session's calls of `send` are appended."""
    sent, call = [], session._call

    def wrapped(actions):
        sent.append(np.array(actions))
        return call(actions)

    session._call = wrapped
    return sent


@pytest.mark.parametrize(
    "key",
    [
        "gymcore-SyncVectorEnv",
        "gymnasium-SyncVectorEnv",
        "gymcore-bare-loop",
        "gymnasium-bare-loop",
    ],
)
def test_every_step_gets_other_actions(loaded, key):
    session = loaded.engine_measures.CONTENDERS[key].build("Nothing", 64, 1)
    sent = record(session)
    session._time(100)
    session.close()
    assert len(sent) == 100
    assert len({each.tobytes() for each in sent}) == loaded.contenders.RING
    assert session.steps_per_call == 64
    assert set(np.concatenate(sent)) == {0, 1}


def test_all_engines_see_the_same_episodes(loaded):
    results = {}
    for library in ("gymcore", "gymnasium"):
        for engine in ("SyncVectorEnv", "AsyncVectorEnv"):
            key = f"{library}-{engine}"
            session = loaded.engine_measures.CONTENDERS[key].build("PlainCartPole", 8, 1)
            results[key] = [session._call(actions)[:4] for actions in session._actions]
            session.close()
    expected = results.pop("gymnasium-SyncVectorEnv")
    assert any(terminated.any() for _, _, terminated, _ in expected)
    for found in results.values():
        np.testing.assert_equal(found, expected)


def test_the_bare_loop_steps_every_environment_once(loaded):
    session = loaded.engine_measures.CONTENDERS["gymcore-bare-loop"].build("Image", 3, 1)
    envs = session._call.__closure__
    (lanes,) = (cell.cell_contents for cell in envs if isinstance(cell.cell_contents, list))
    session._time(5)
    assert [lane._steps for lane in lanes] == [5, 5, 5]
    assert isinstance(session._actions[0][0], np.int64)


class Halves:
    """An engine that tracks the outstanding lanes."""

    def __init__(self, num_envs, batch_size):
        self.single_action_space = gymcore.spaces.Discrete(2)
        self.num_envs, self.batch_size = num_envs, batch_size
        self.under_way = []
        self.received = 0

    def send(self, actions, env_ids):
        assert len(actions) == len(env_ids)
        assert not set(env_ids) & set(self.under_way)
        self.under_way.extend(env_ids)

    def recv(self):
        assert len(self.under_way) >= self.batch_size, "this would wait for ever"
        lanes, self.under_way = (
            np.array(self.under_way[: self.batch_size]),
            self.under_way[self.batch_size :],
        )
        self.received += len(lanes)
        return None, None, None, None, {"env_id": lanes}

    def close(self):
        self.under_way = None


@pytest.mark.parametrize("batch_size", (4, 2))
@pytest.mark.parametrize("calls", (4, 5, 40))
def test_a_stretch_of_parts_counts_all_that_it_sends(loaded, batch_size, calls):
    envs = Halves(8, batch_size)
    session = loaded.engine_sessions.PartialSession(envs, 8, batch_size)
    session._time(calls)
    assert envs.under_way == [], "nothing works on while others are timed"
    assert envs.received == calls * session.steps_per_call
    assert session.measure(1e-4) > 0.0
    assert envs.under_way == []


def test_constructions_are_closed(loaded):
    made = []

    class Engine:
        closed = 0

        def __init__(self):
            made.append(self)

        def close(self):
            self.closed += 1

    session = loaded.engine_sessions.ConstructionSession(Engine)
    assert session._time(3) >= 0.0
    assert [each.closed for each in made] == [1, 1, 1]


@pytest.mark.parametrize("library", ["gymcore", "gymnasium"])
@pytest.mark.parametrize("key", ["batch_space", "batch_space-unread"])
def test_every_call_batches_another_space(loaded, library, key):
    session = loaded.engine_measures.CONTENDERS[f"{library}-{key}"].build("Dict", 16, 1)
    singles = session._actions
    assert all(one != other for one, other in itertools.pairwise(singles))
    batched = session._call(singles[3])
    assert batched["camera"].shape == (16, 8, 8) and batched["camera"].high.max() == 252
    assert batched["joints"].dtype == np.float64
    assert (batched["position"].low == -4.0).all()


def test_half_batches_of_the_engine(loaded):
    session = loaded.engine_measures.CONTENDERS["gymcore-AsyncVectorEnv-half"].build("Busy", 8, 1)
    assert session.steps_per_call == 4
    for _ in range(3):
        assert session._time(6) > 0.0
    session.close()


@pytest.mark.skipif(sys.platform != "linux", reason="futexes are missing")
@pytest.mark.skipif(shutil.which(os.environ.get("CC", "cc")) is None, reason="cc is missing")
def test_round_trips_put_this_process_back_on_its_processors(loaded):
    before = os.sched_getaffinity(0)
    for key in ("gymcore-round-trip", "raw-ping-pong"):
        session = loaded.engine_measures.CONTENDERS[key].build("Nothing", 1, 1)
        assert session.steps_per_call == 1
        assert session._time(20) > 0.0
        assert os.sched_getaffinity(0) == before
        session.close()


def test_an_engine_that_is_not_there_is_missing(loaded):
    with pytest.raises(LookupError, match="gymcore has no NoSuchVectorEnv"):
        loaded.engine_measures._engine("gymcore", "NoSuchVectorEnv")
