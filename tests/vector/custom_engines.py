"""Engines of custom loops, for tests of both halves."""

from __future__ import annotations

import contextlib
import multiprocessing

from gymcore.vector import AutoresetMode
from gymcore.vector.workers.custom import CustomWorkers
from tests.vector.custom_loops import PlainEnv, misbehaving_loop, simple_loop


class Engine(CustomWorkers):
    """With both halves of every call in one."""

    def reset(self, *args, timeout=None):
        self.reset_async(*args)
        return self.reset_wait(timeout)

    def step(self, actions, timeout=None):
        self.step_async(actions)
        return self.step_wait(timeout)

    def call(self, name, args, kwargs, timeout=None):
        self.call_async(name, args, kwargs)
        return self.call_wait(timeout)


@contextlib.contextmanager
def custom_engines():
    """Give a function that makes engines; they are closed in the end, and leave no process."""
    made = []

    def make_one(env_fns, worker=simple_loop, context=None, **kwargs):
        env = env_fns[0]()
        kwargs = {
            "single_observation_space": env.observation_space,
            "single_action_space": env.action_space,
            "autoreset_mode": AutoresetMode.NEXT_STEP,
            "start_timeout": 120,
            **kwargs,
        }
        context = multiprocessing.get_context(context)
        made.append(Engine(env_fns, worker, context, **kwargs))
        return made[-1]

    try:
        yield make_one
    finally:
        for engine in made:
            engine.close()
    assert not multiprocessing.active_children()


def misbehaving(make, num_envs=2, **kwargs):
    """Return an engine of loops that do as they are told."""
    return make([PlainEnv] * num_envs, misbehaving_loop, shared_memory=False, **kwargs)
