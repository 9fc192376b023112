from __future__ import annotations

import builtins
import json

import numpy as np
import pytest

from gymcore.cli import bench
from gymcore.cli.contenders import (
    CONTENDERS,
    RING,
    Contender,
    Session,
    open_session,
    random_batches,
)

FAST = ("--seconds", "0.002", "--repeats", "3")


@pytest.fixture
def fakes(monkeypatch):
    """Contenders with known speeds: the clock moves by what a call costs."""
    clock = [0.0]
    monkeypatch.setattr("gymcore.cli.contenders.time.perf_counter", lambda: clock[0])
    closed = []

    def contender(key, cost):
        def build(env_id, num_envs, num_threads):
            def call(actions):
                clock[0] += cost / num_threads

            return Session(call, [1, 2, 3], num_envs, lambda: closed.append((key, num_threads)))

        return Contender(key, key.title(), "numpy", build)

    def absent(env_id, num_envs, num_threads):
        raise LookupError("nowhere to be found")

    def broken(env_id, num_envs, num_threads):
        raise OverflowError("too much")

    found = [contender("gymcore", 1e-6), contender("slow", 1e-4), contender("envpool", 1e-5)]
    found += [
        Contender("absent", "Absent", "numpy", absent),
        Contender("broken", "Broken", "numpy", broken),
        Contender("gone", "Gone", "no_such_module_anywhere", absent),
        Contender("choosy", "Choosy", "numpy", absent, ("Other-v0",)),
    ]
    monkeypatch.setattr("gymcore.cli.contenders.CONTENDERS", {each.key: each for each in found})
    monkeypatch.setattr("gymcore.cli.machine.thread_limits", lambda: {"usable": 2})
    return closed


def test_rates_and_ratios_of_contenders_with_known_speeds(fakes):
    result = bench.measure("CartPole-v1", 64, repeats=3, length=0.01)
    found = {(row["key"], row["threads"]): row for row in result["rows"]}
    assert found["gymcore", 1]["steps_per_second"] == pytest.approx(64e6)
    assert found["slow", 1]["steps_per_second"] == pytest.approx(64e4)
    assert found["envpool", 2]["steps_per_second"] == pytest.approx(128e5)
    assert found["gymcore", 1]["gymcore_is_faster"] == pytest.approx(1.0)
    assert found["slow", 1]["gymcore_is_faster"] == pytest.approx(100.0)
    assert found["envpool", 2]["gymcore_is_faster"] == pytest.approx(5.0)
    assert all(len(row["rounds"]) == 3 for row in result["rows"])
    assert result["left_out"] == {
        "Absent": "nowhere to be found",
        "Broken": "OverflowError: too much",
        "Gone": "no_such_module_anywhere is not installed",
        "Choosy": "there is no CartPole-v1",
    }
    assert sorted(fakes) == [("envpool", 1), ("envpool", 2), ("gymcore", 1), ("slow", 1)]


def test_the_table_is_sorted_by_rate_and_names_what_is_left_out(fakes):
    lines = bench._text(bench.measure("CartPole-v1", 64, 1, 0.01)).splitlines()
    assert lines[0].split() == [
        "CartPole-v1,",
        "64",
        "lanes",
        "rate",
        "batch",
        "step",
        "Gymcore",
        "is",
    ]
    assert [line.split()[0] for line in lines[2:6]] == ["Gymcore", "Envpool,", "Envpool", "Slow"]
    assert lines[5].split() == ["Slow", "640", "k", "steps/s", "100", "us", "100x"]
    assert "left out: Absent: nowhere to be found" in lines


def test_measuring_takes_about_the_time_it_was_given(fakes):
    session = open_session("slow", "CartPole-v1", 64)
    times = []
    real = session._time
    session._time = lambda calls: times.append(real(calls)) or times[-1]
    assert session.measure(0.05) == pytest.approx(1e-4)
    assert 0.025 <= times[-1] <= 0.06
    assert sum(times) < 0.12
    # The number of calls is kept: the next measurement is a single run.
    times.clear()
    session.measure(0.05)
    assert len(times) == 1


def test_a_real_run_against_gymnasium_writes_table_plot_and_json(run, tmp_path):
    ran = run(
        "bench", "CartPole-v1", "Pendulum-v1", "--num-envs", 4, 8, *FAST,
        "--peers", "gymnasium-sync", "gymnasium-vector",
        "--plot", tmp_path / "rates.png", "--json", tmp_path / "rates.json",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    document = json.loads((tmp_path / "rates.json").read_text())
    assert [(each["id"], each["num_envs"]) for each in document["results"]] == [
        ("CartPole-v1", 4), ("CartPole-v1", 8), ("Pendulum-v1", 4), ("Pendulum-v1", 8),
    ]  # fmt: skip
    keys = [row["key"] for row in document["results"][0]["rows"]]
    assert keys == ["gymcore", "gymcore-rollout", "gymnasium-sync", "gymnasium-vector"]
    assert all(row["steps_per_second"] > 0 for each in document["results"] for row in each["rows"])
    assert document["machine"]["threads"]["usable"] >= 1
    assert (tmp_path / "rates.png").read_bytes().startswith(b"\x89PNG")
    assert "Gymnasium SyncVectorEnv" in ran.out
    assert "left out: Gymnasium's own vector env: there is none for Pendulum-v1" in ran.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["NoSuchEnvironment-v0"], "NoSuchEnvironment"),
        (["CartPole-v1", "--peers", "nobody"], "'nobody' is none of gymcore,"),
        (["CartPole-v1", "--plot", "missing/rates.png"], "there is no directory missing"),
        (["CartPole-v1", "--json", "missing/rates.json"], "there is no directory missing"),
    ],
)
def test_a_request_that_cannot_be_met_is_refused_before_measuring(run, monkeypatch, words, message):
    monkeypatch.setattr(bench, "measure", lambda *_: pytest.fail("measured all the same"))
    ran = run("bench", *words)
    assert ran.code == 2
    assert message in ran.err


def test_a_plot_without_matplotlib_says_what_to_install(run, tmp_path, monkeypatch):
    import importlib.util

    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "matplotlib" else real(name)
    )
    ran = run("bench", "CartPole-v1", "--plot", tmp_path / "rates.png")
    assert ran.code == 2
    assert 'pip install "gymcore[other]"' in ran.err


@pytest.mark.parametrize("key", ["gymcore", "gymnasium-sync", "gymnasium-vector"])
def test_installed_contenders_step_fresh_actions(key):
    session = open_session(key, "CartPole-v1", 16)
    assert len(session._actions) == RING >= 64
    assert len({actions.tobytes() for actions in session._actions}) > 60
    assert all(actions.shape == (16,) for actions in session._actions)
    assert session.measure(0.002) > 0
    session.close()


def test_a_rollout_block_holds_fresh_actions_for_every_step():
    session = open_session("gymcore-rollout", "Pendulum-v1", 16)
    blocks = np.concatenate(list(session._actions))
    assert len(np.unique(blocks[:, 0, 0])) > 100
    assert session.steps_per_call == 128 * 16
    assert session.measure(0.002) > 0
    session.close()


@pytest.mark.parametrize(
    ("key", "module"),
    [("envpool", "envpool"), ("sb3", "stable_baselines3"), ("pufferlib", "pufferlib")],
)
def test_a_missing_library_is_named(key, module, monkeypatch):
    import importlib.util

    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == module else real(name)
    )
    with pytest.raises(LookupError, match=f"{module} is not installed"):
        open_session(key, "CartPole-v1", 4)


def test_a_library_that_does_not_load_is_named(monkeypatch):
    real = builtins.__import__

    def refuse(name, *rest, **more):
        if name.startswith("gymnasium"):
            raise ImportError("a shared object is missing")
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(LookupError, match="gymnasium does not load: a shared object is missing"):
        open_session("gymnasium-sync", "CartPole-v1", 4)


def test_random_batches_follow_the_space():
    import gymnasium

    import gymcore

    for gym in (gymnasium, gymcore):
        some = random_batches(gym.spaces.Discrete(3, start=5), (4,), 100, np.int32)
        assert {int(value) for batch in some for value in batch} == {5, 6, 7}
        assert some[0].dtype == np.int32 and some[0].shape == (4,)
        box = gym.spaces.Box(-2.0, 2.0, (1,), np.float32)
        some = random_batches(box, (7, 4), 3)
        assert len(some) == 3 and some[0].shape == (7, 4, 1) and some[0].dtype == np.float32
        assert all(box.contains(action) for action in some[0].reshape(-1, 1))
        mixed = random_batches(gym.spaces.MultiDiscrete([2, 9]), (50,), 1)[0]
        assert mixed.shape == (50, 2) and mixed.max(axis=0).tolist() == [1, 8]


def test_the_defaults_are_contenders_and_registered_ids():
    import gymcore

    assert all(env_id in gymcore.registry for env_id in bench.DEFAULT_IDS)
    assert next(iter(CONTENDERS)) == "gymcore"
