"""Servers in threads of the tests' process, and in processes of their own."""

from __future__ import annotations

import contextlib
import threading

import gymcore as gym
from gymcore.remote import HostedVectorEnv, Server


@contextlib.contextmanager
def running(hosted, **options):
    """A server that answers requests in a thread."""
    with Server(hosted, **options) as server:
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            yield server
        finally:
            server.stop()
            thread.join()


@contextlib.contextmanager
def serving(env_id="CartPole-v1", num_envs=3, attributes=(), **options):
    """A server of a vector environment, and the environment."""
    make = {name: options.pop(name) for name in ("vectorization_mode",) if name in options}
    with (
        gym.make_vec(env_id, num_envs, **make) as envs,
        running(HostedVectorEnv(envs, env_id, attributes), **options) as server,
    ):
        yield server
