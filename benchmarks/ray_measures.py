"""Collecting in two actors of Ray, and in two processes without Ray. Only loaded by `worker.py`."""

from __future__ import annotations

import functools
import multiprocessing
from typing import Any

import numpy as np
from contenders import RING, Contender, Session

ACTORS = 2
STEPS = 128


def make(env_id: str, num_envs: int) -> Any:
    """Return the vector environment of one actor."""
    import gymcore

    options = {"autoreset_mode": "SameStep", "num_threads": 1}
    return gymcore.make_vec(env_id, num_envs, vector_kwargs=options)


def policy(weights: Any, observations: Any, generator: np.random.Generator) -> Any:
    """Draw one of two actions, and return it with its log-probability."""
    first = 1 / (1 + np.exp(observations @ weights))
    actions = (generator.random(len(first)) >= first).astype(np.int64)
    return actions, {"log_probability": np.log(np.where(actions, 1 - first, first))}


def _weights() -> list[Any]:
    return list(np.random.default_rng(0).normal(size=(RING, 4)).astype(np.float32))


def _ray(env_id: str, num_envs: int, num_threads: int) -> Session:
    from gymcore.distributed import Collector

    creator = functools.partial(make, env_id, num_envs)
    collector = Collector(creator, policy, ACTORS, address="local")

    def collect(weights: Any) -> Any:
        return collector.collect(weights, STEPS)

    def close() -> None:
        import ray

        collector.close()
        ray.shutdown()

    collect(_weights()[0])
    return Session(collect, _weights(), ACTORS * STEPS * num_envs, close)


def serve(connection: Any, env_id: str, num_envs: int, actor: int) -> None:
    """Collect fragments until no more weights arrive."""
    from gymcore.distributed.fragment import FragmentMaker

    maker = FragmentMaker(functools.partial(make, env_id, num_envs), policy, 0, actor)
    while (weights := connection.recv()) is not None:
        connection.send(maker.collect(weights, STEPS))


def _processes(env_id: str, num_envs: int, num_threads: int) -> Session:
    context = multiprocessing.get_context("spawn")
    connections, processes = [], []
    for actor in range(ACTORS):
        ours, theirs = context.Pipe()
        process = context.Process(target=serve, args=(theirs, env_id, num_envs, actor), daemon=True)
        process.start()
        connections.append(ours)
        processes.append(process)

    def collect(weights: Any) -> Any:
        for connection in connections:
            connection.send(weights)
        return [connection.recv() for connection in connections]

    def close() -> None:
        for connection in connections:
            connection.send(None)
        for process in processes:
            process.join()

    collect(_weights()[0])
    return Session(collect, _weights(), ACTORS * STEPS * num_envs, close)


CONTENDERS = {
    each.key: each
    for each in (
        Contender("gymcore-ray", "gymcore.distributed, two actors", "ray", _ray),
        Contender("gymcore-processes", "two processes, no Ray", "ray", _processes),
    )
}
