"""Ids that a program has registered are known in its workers."""

from __future__ import annotations

import gc
import os
import threading
import time

import pytest

import gymcore as gym
from gymcore.specs import registry
from gymcore.vector.workers.worker import install_registered, pickled_registered

SPAWNED = ["spawn", "forkserver"]


class Walker(gym.Env):
    observation_space = gym.spaces.Discrete(9)
    action_space = gym.spaces.Discrete(2)

    def __init__(self, start: int = 4) -> None:
        self.start = start

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.start, {}

    def step(self, action):
        return self.start + int(action), 0.0, False, False, {}


@pytest.fixture
def registered():
    gym.register("test/Walker-v3", entry_point=Walker, kwargs={"start": 5})
    yield "test/Walker-v3"
    registry.pop("test/Walker-v3", None)


def test_ids_of_the_library_are_not_sent(registered):
    found = pickled_registered()
    places = [(spec.entry_point, spec.vector_entry_point) for spec in registry.values()]
    own = [
        both
        for both in places
        if all(str(one or "gymcore.").startswith("gymcore.") for one in both)
    ]
    assert own and len(found) == len(registry) - len(own)


def test_installing_keeps_what_is_there(registered):
    found = pickled_registered()
    spec = registry.pop(registered)
    install_registered([*found, b"no pickle"])
    assert registry[registered].id == spec.id
    assert registry[registered].kwargs == {"start": 5}


def test_what_does_not_pickle_is_left_out(registered):
    lock = threading.Lock()
    gym.register("test/Locked-v0", entry_point=lambda: lock)
    try:
        assert len(pickled_registered()) >= 1
    finally:
        registry.pop("test/Locked-v0")


@pytest.mark.slow
@pytest.mark.parametrize("context", ["fork", *SPAWNED])
def test_known_under_every_start_method(registered, context):
    def make():
        return gym.make("test/Walker-v3")

    with gym.vector.AsyncVectorEnv([make] * 2, context=context, num_workers=1) as envs:
        observations, _ = envs.reset(seed=1)
        assert observations.tolist() == [5, 5]


@pytest.mark.slow
@pytest.mark.parametrize("context", SPAWNED)
def test_make_vec_under_every_start_method(registered, context):
    envs = gym.make_vec(
        registered, 2, "async", vector_kwargs={"context": context, "num_workers": 1}, start=7
    )
    with envs:
        assert envs.reset()[0].tolist() == [7, 7]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="os.fork is missing")
def test_forked_workers_do_not_collect_what_they_inherit():
    class WaitsForThread:
        def __init__(self):
            self.itself = self
            self.owner = os.getpid()

        def __del__(self):
            if os.getpid() != self.owner:
                time.sleep(600)

    class Collects(Walker):
        def __init__(self):
            super().__init__()
            assert gc.isenabled()
            gc.collect()

    gc.disable()
    try:
        WaitsForThread()
        envs = gym.vector.AsyncVectorEnv([Collects] * 2, context="fork", start_timeout=60)
        assert not gc.isenabled()
    finally:
        gc.enable()
    envs.close()
