"""Servers in threads of the tests' process, and in processes of their own."""

from __future__ import annotations

import contextlib
import threading

import zmq

import gymcore as gym
from gymcore.remote import HostedVectorEnv, Server
from gymcore.remote.wire import decode


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
def answering(replies):
    """The address of a server that answers each request as a function of number and verb says."""
    with zmq.Context() as context, context.socket(zmq.ROUTER) as router:
        router.linger = 0
        port = router.bind_to_random_port("tcp://127.0.0.1")
        ended = threading.Event()

        def run():
            while not ended.is_set():
                if router.poll(20):
                    client, *frames = router.recv_multipart()
                    _, _, number, verb, _ = decode(frames)
                    router.send_multipart([client, *replies(number, verb)])

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield f"tcp://127.0.0.1:{port}"
        finally:
            ended.set()
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
