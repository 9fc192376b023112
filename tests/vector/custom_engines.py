"""Engines of custom loops, for tests of both sides of the protocol."""

from __future__ import annotations

import contextlib
import multiprocessing
from types import SimpleNamespace

import numpy as np

from gymcore.vector import AutoresetMode
from gymcore.vector.workers.custom import CustomWorkers
from tests.vector.custom_loops import PlainEnv, misbehaving_loop, simple_loop


class Engine(CustomWorkers):
    """Engine with both halves of every call in one method."""

    def reset(self, seeds, options=None, mask=None, timeout=None):
        requests = [("reset", {"seed": seed, "options": options}) for seed in seeds]
        for lane in [] if mask is None else np.flatnonzero(~mask):
            requests[lane] = ("reset-noop", None)
        self.post("reset", requests)
        return self.reset_wait(timeout)

    def step_async(self, actions):
        self.post("step", [("step", action) for action in actions])

    def step(self, actions, timeout=None):
        self.step_async(actions)
        return self.step_wait(timeout)

    def call_async(self, name, args, kwargs):
        self.post(name, [("_call", (name, args, kwargs))] * len(self.processes))

    def call_wait(self, timeout=None):
        return self.wait("call_wait", timeout)

    def call(self, name, args, kwargs, timeout=None):
        self.call_async(name, args, kwargs)
        return self.call_wait(timeout)

    def set_attr(self, name, values):
        self.post("set_attr", [("_setattr", (name, value)) for value in values])
        self.wait("set_attr", None)


@contextlib.contextmanager
def custom_engines():
    """Yield a function that makes engines; close them at the end, and check for processes left."""
    made = []

    def make_one(env_fns, worker=simple_loop, context=None, **options):
        options = engine_options(env_fns, worker, context=context, **options)
        made.append(Engine(options, 120))
        return made[-1]

    try:
        yield make_one
    finally:
        for engine in made:
            engine.close()
    assert not multiprocessing.active_children()


def engine_options(env_fns, worker, **options):
    """Return the attributes of an `AsyncVectorEnv` that an engine reads."""
    env = env_fns[0]()
    defaults = {
        "single_observation_space": env.observation_space,
        "single_action_space": env.action_space,
        "observation_mode": "same",
        "autoreset_mode": AutoresetMode.NEXT_STEP,
        "shared_memory": True,
        "copy": True,
        "context": None,
        "daemon": True,
        "max_concurrency": None,
    }
    return SimpleNamespace(
        env_fns=env_fns, num_envs=len(env_fns), worker=worker, **{**defaults, **options}
    )


def misbehaving(make, num_envs=2, **kwargs):
    """Return an engine whose loops misbehave on request."""
    return make([PlainEnv] * num_envs, misbehaving_loop, shared_memory=False, **kwargs)
