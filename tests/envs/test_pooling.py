"""`make_vec` takes worker processes by itself where they win, and only where that is safe."""

from __future__ import annotations

import importlib
import multiprocessing
import threading

import pytest

import gymcore
from gymcore.envs.making import POOLED_FROM, prefers_workers
from gymcore.utils import cpus

RACING = gymcore.spec("CarRacing-v3")


@pytest.fixture(autouse=True)
def _two_cpus(monkeypatch):
    monkeypatch.setattr(cpus, "usable_cpus", lambda: 2)
    monkeypatch.setattr(multiprocessing, "get_start_method", lambda allow_none=False: "fork")
    # The tests' own threads (of a time limit, say) are not what this is about.
    monkeypatch.setattr(threading, "active_count", lambda: 1)


def test_enough_of_them():
    assert prefers_workers(RACING, 2, {"continuous": False})
    assert not prefers_workers(RACING, 1, {})
    assert not prefers_workers(gymcore.spec("LunarLander-v3"), 4096, {})
    assert not prefers_workers(gymcore.spec("CartPole-v1"), 4096, {})


def test_entry_points_are_registered():
    places = {spec.entry_point for spec in gymcore.registry.values()}
    assert set(POOLED_FROM) <= places


def test_not_with_pictures():
    assert not prefers_workers(RACING, 64, {"render_mode": "rgb_array"})


def test_not_with_one_cpu(monkeypatch):
    monkeypatch.setattr(cpus, "usable_cpus", lambda: 1)
    assert not prefers_workers(RACING, 64, {})


def test_not_beside_threads(monkeypatch):
    monkeypatch.setattr(threading, "active_count", lambda: 2)
    assert not prefers_workers(RACING, 64, {})


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_not_without_fork(monkeypatch, method):
    monkeypatch.setattr(multiprocessing, "get_start_method", lambda allow_none=False: method)
    assert not prefers_workers(RACING, 64, {})


def test_an_unchosen_start_method_stays_unchosen(monkeypatch):
    asked = []

    def get_start_method(allow_none=False):
        asked.append(allow_none)

    monkeypatch.setattr(multiprocessing, "get_start_method", get_start_method)
    monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: ["spawn", "fork"])
    assert not prefers_workers(RACING, 64, {})
    assert asked == [True]


def test_make_vec_goes_by_it(monkeypatch):
    try:
        importlib.import_module("gymcore.envs.box2d.box2d_env")
    except gymcore.error.DependencyNotInstalled:
        pytest.skip("Box2D is not installed")
    for wanted, name in ((True, "AsyncVectorEnv"), (False, "SyncVectorEnv")):
        monkeypatch.setattr(
            "gymcore.envs.making.prefers_workers", lambda *args, wanted=wanted: wanted
        )
        envs = gymcore.make_vec("CarRacing-v3", num_envs=2)
        assert type(envs).__name__ == name
        assert envs.spec.kwargs["vectorization_mode"] == ("async" if wanted else "sync")
        envs.close()
        envs = gymcore.make_vec("CarRacing-v3", num_envs=2, vectorization_mode="sync")
        assert type(envs).__name__ == "SyncVectorEnv"
        envs.close()
