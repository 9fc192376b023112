"""Sessions of `benchmarks/contenders.py`: fresh actions, timing, and missing libraries."""

from __future__ import annotations

import builtins

import numpy as np
import pytest


@pytest.fixture
def contenders(loaded):
    return loaded.contenders


def test_measuring_takes_about_the_time_it_was_given(contenders, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(contenders.time, "perf_counter", lambda: clock[0])

    def call(actions):
        clock[0] += 1e-4

    session = contenders.Session(call, [1, 2, 3], 64, lambda: None)
    times = []
    real = session._time
    session._time = lambda calls: times.append(real(calls)) or times[-1]
    assert session.measure(0.05) == pytest.approx(1e-4)
    assert 0.025 <= times[-1] <= 0.06
    assert sum(times) < 0.12
    # The number of calls is remembered: the next measurement is a single run.
    times.clear()
    session.measure(0.05)
    assert len(times) == 1


@pytest.mark.parametrize("key", ["gymcore", "gymnasium-sync", "gymnasium-vector"])
def test_installed_contenders_step_fresh_actions(contenders, key):
    session = contenders.open_session(key, "CartPole-v1", 16)
    assert len(session._actions) == contenders.RING >= 64
    assert len({actions.tobytes() for actions in session._actions}) > 60
    assert all(actions.shape == (16,) for actions in session._actions)
    assert session.measure(0.002) > 0
    session.close()


def test_a_rollout_block_holds_fresh_actions_for_every_step(contenders):
    session = contenders.open_session("gymcore-rollout", "Pendulum-v1", 16)
    blocks = np.concatenate(list(session._actions))
    assert len(np.unique(blocks[:, 0, 0])) > 100
    assert session.steps_per_call == 128 * 16
    assert session.measure(0.002) > 0
    session.close()


@pytest.mark.parametrize(
    ("key", "module"),
    [("envpool", "envpool"), ("sb3", "stable_baselines3"), ("pufferlib", "pufferlib")],
)
def test_a_missing_library_is_named(contenders, key, module, monkeypatch):
    import importlib.util

    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == module else real(name)
    )
    with pytest.raises(LookupError, match=f"{module} is not installed"):
        contenders.open_session(key, "CartPole-v1", 4)


def test_a_library_that_does_not_load_is_named(contenders, monkeypatch):
    real = builtins.__import__

    def refuse(name, *rest, **more):
        if name.startswith("gymnasium"):
            raise ImportError("a shared object is missing")
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(LookupError, match="gymnasium does not load: a shared object is missing"):
        contenders.open_session("gymnasium-sync", "CartPole-v1", 4)


def test_random_batches_follow_the_space(contenders):
    import gymnasium

    import gymcore

    for gym in (gymnasium, gymcore):
        some = contenders.random_batches(gym.spaces.Discrete(3, start=5), (4,), 100, np.int32)
        assert {int(value) for batch in some for value in batch} == {5, 6, 7}
        assert some[0].dtype == np.int32 and some[0].shape == (4,)
        box = gym.spaces.Box(-2.0, 2.0, (1,), np.float32)
        some = contenders.random_batches(box, (7, 4), 3)
        assert len(some) == 3 and some[0].shape == (7, 4, 1) and some[0].dtype == np.float32
        assert all(box.contains(action) for action in some[0].reshape(-1, 1))
        mixed = contenders.random_batches(gym.spaces.MultiDiscrete([2, 9]), (50,), 1)[0]
        assert mixed.shape == (50, 2) and mixed.max(axis=0).tolist() == [1, 8]


@pytest.mark.parametrize(
    ("version", "old"),
    [("1.2.5", True), ("1.1.10", True), ("1.2.7", False), ("1.10.0", False), (None, False)],
)
def test_an_old_envpool_is_noticed(loaded, version, old):
    """Pip installs 1.2.5 silently where newer versions have no wheels."""
    assert loaded.peers.outdated({"envpool": version, "gymcore": "0.2.0"}) is old
    assert not loaded.peers.outdated({})
