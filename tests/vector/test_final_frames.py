"""`keep_final_frames`: the frame of an episode's last state, in SAME_STEP."""

from __future__ import annotations

import copy
import os
import pickle
import signal
from multiprocessing import active_children

import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from tests.vector.custom_loops import PlainEnv, simple_loop


def make(engine="native", mode="SameStep", n=2, limit=2, **options):
    return gym.make_vec(
        "CartPole-v1",
        n,
        engine,
        {"autoreset_mode": mode, **options},
        render_mode="rgb_array",
        max_episode_steps=limit,
    )


def last_frames(envs, steps=2):
    for _ in range(steps):
        infos = envs.step(np.ones(envs.num_envs, np.int64))[4]
    return infos.get("final_info", {})


@pytest.mark.parametrize("engine", ["native", "sync", "async"])
def test_on_request_only(engine):
    envs = make(engine)
    envs.reset(seed=1)
    assert last_frames(envs) == {}
    envs.keep_final_frames()
    single = gym.make("CartPole-v1", render_mode="rgb_array")
    for _ in range(2):
        envs.reset(seed=3), single.reset(seed=4)
        found = last_frames(envs)
        single.step(1), single.step(1)
        assert list(found) == ["final_frame", "_final_frame"]
        assert found["_final_frame"].tolist() == [True, True]
        assert (found["final_frame"][1] == single.render()).all()
        assert (found["final_frame"] != np.stack(envs.render())).any()
    envs.keep_final_frames(False)
    assert last_frames(envs) == {}
    envs.close()


@pytest.mark.parametrize("mode", ["NextStep", "Disabled"])
@pytest.mark.parametrize("engine", ["native", "sync"])
def test_nothing_in_other_modes(engine, mode):
    envs = make(engine, mode)
    envs.keep_final_frames()
    envs.reset(seed=1)
    assert last_frames(envs) == {}
    envs.close()


def test_steps_of_some_lanes_and_step_into():
    envs = make(n=3)
    envs.keep_final_frames()
    envs.reset(seed=1)
    singles = [gym.make("CartPole-v1", render_mode="rgb_array") for _ in range(3)]
    for i, env in enumerate(singles):
        env.reset(seed=1 + i), env.step(i % 2), env.step(1)
    envs.step([0, 1, 0])
    infos = envs.step([1, 1], env_ids=[2, 0])[4]
    for row, lane in enumerate((2, 0)):
        assert (infos["final_info"]["final_frame"][row] == singles[lane].render()).all()
    out = {
        "observations": np.empty((3, 4), np.float32),
        "rewards": np.empty(3),
        "terminated": np.empty(3, np.bool_),
        "truncated": np.empty(3, np.bool_),
    }
    infos = envs.step_into(np.ones(3, np.int64), **out)
    assert infos["final_info"]["_final_frame"].tolist() == [False, True, False]
    assert (infos["final_info"]["final_frame"][1] == singles[1].render()).all()
    with pytest.raises(error.InvalidAction):
        envs.step([0, 1, 7])
    assert envs.step([0, 1, 0])[4]["final_info"]["_final_frame"].tolist() == [True, False, True]


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
def test_copies_keep_them(duplicate):
    envs = make()
    envs.keep_final_frames()
    envs.reset(seed=1)
    other = duplicate(envs)
    assert (last_frames(other)["final_frame"] == last_frames(envs)["final_frame"]).all()


def test_parameters_of_lanes_count():
    """The second batch gets the parameters that were set since it was made."""
    envs, other = make(), make()
    envs.keep_final_frames()
    for one in (envs, other):
        one.set_attr("length", [0.5, 1.0])
        one.reset(seed=1)
        one.step([0, 1])
    found = last_frames(envs, 1)["final_frame"]
    kept = other.get_state()
    alone = make(mode="Disabled")
    alone.reset(seed=1)
    alone.set_state(kept)
    alone.step([1, 1])
    assert (found == np.stack(alone.render())).all()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kills a process by SIGKILL")
def test_workers_that_were_restarted_take_them_too():
    before = set(active_children())
    envs = make("async", num_workers=1, on_worker_death="restart")
    envs.keep_final_frames()
    envs.reset(seed=1)
    [worker] = {*active_children()} - before
    os.kill(worker.pid, signal.SIGKILL)
    envs.step([0, 0])
    found = [last_frames(envs, 1) for _ in range(3)]
    assert any("final_frame" in one for one in found)
    envs.close()


def test_refused_where_it_cannot_be():
    plain = gym.vector.VectorEnv()
    plain.num_envs = 1
    with pytest.raises(error.UnsupportedMode, match="does not render before it resets"):
        plain.keep_final_frames()
    envs = gym.vector.AsyncVectorEnv([PlainEnv], worker=simple_loop)
    with envs, pytest.raises(error.UnsupportedMode, match="does not render before it resets"):
        envs.keep_final_frames()
