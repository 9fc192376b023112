"""The engines for Python environments that the bars compare, each with its own public API.

Names of environments are those of `python_envs.KINDS`. Only loaded by `worker.py`, after
`contenders` and `python_envs`. All engines that start processes use fork.
"""

from __future__ import annotations

import functools
import importlib
import math
import multiprocessing
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from contenders import RING, Contender, Session, random_batches
from engine_sessions import ConstructionSession, PartialSession, RawSession, RoundTripSession
from python_envs import factories

#: Start method of all asynchronous engines.
CONTEXT = "fork"


def _session(envs: Any, num_envs: int) -> Session:
    """Return a session for any vector environment with a `step`, which has been reset."""
    # In Stable-Baselines3, `action_space` is the space of one lane.
    space = getattr(envs, "single_action_space", envs.action_space)
    return Session(envs.step, random_batches(space, (num_envs,), RING), num_envs, envs.close)


def _sync(library: str) -> Callable[[str, int, int], Session]:
    """Return a builder of a library's SyncVectorEnv."""

    def build(env_id: str, num_envs: int, num_threads: int) -> Session:
        envs = _engine(library, "SyncVectorEnv")(factories(library, env_id, num_envs))
        envs.reset(seed=0)
        return _session(envs, num_envs)

    return build


def _engine(library: str, name: str) -> Any:
    """Return a vector class of gymcore or Gymnasium; LookupError if there is none of this name."""
    vector = importlib.import_module(f"{library}.vector")
    if not hasattr(vector, name):
        raise LookupError(f"{library} has no {name}")
    return getattr(vector, name)


def _async(library: str, **options: Any) -> Callable[[str, int, int], Session]:
    """Return a builder of a library's AsyncVectorEnv."""

    def build(env_id: str, num_envs: int, num_threads: int) -> Session:
        make = _engine(library, "AsyncVectorEnv")
        envs = make(factories(library, env_id, num_envs), context=CONTEXT, **options)
        envs.reset(seed=0)
        return _session(envs, num_envs)

    return build


def _partial(env_id: str, num_envs: int, num_threads: int) -> Session:
    """Return a session for gymcore's engine with `batch_size` of half the lanes and send / recv."""
    make = _engine("gymcore", "AsyncVectorEnv")
    half = num_envs // 2
    envs = make(factories("gymcore", env_id, num_envs), context=CONTEXT, batch_size=half)
    envs.reset(seed=0)
    return PartialSession(envs, num_envs, half)


def _bare_loop(library: str) -> Callable[[str, int, int], Session]:
    """Return a builder of the minimal loop over the environments that every engine must make."""

    def build(env_id: str, num_envs: int, num_threads: int) -> Session:
        envs = [make() for make in factories(library, env_id, num_envs)]
        for lane, env in enumerate(envs):
            env.reset(seed=lane)

        def call(actions: list[Any]) -> None:
            for env, action in zip(envs, actions, strict=True):
                env.step(action)

        batches = random_batches(envs[0].action_space, (num_envs,), RING)
        return Session(call, [list(batch) for batch in batches], num_envs, lambda: None)

    return build


def _stable_baselines(name: str, **options: Any) -> Callable[[str, int, int], Session]:
    """Return a builder of a VecEnv of Stable-Baselines3 with Gymnasium's environments."""

    def build(env_id: str, num_envs: int, num_threads: int) -> Session:
        from stable_baselines3.common import vec_env

        envs = getattr(vec_env, name)(factories("gymnasium", env_id, num_envs), **options)
        envs.seed(0)
        envs.reset()
        return _session(envs, num_envs)

    return build


def _round_trip(env_id: str, num_envs: int, num_threads: int) -> Session:
    """Return a session with one lane in one worker."""
    cpus = _two_cpus()
    make = _engine("gymcore", "AsyncVectorEnv")
    before = multiprocessing.active_children()
    envs = make(factories("gymcore", env_id, num_envs), context=CONTEXT)
    (worker,) = set(multiprocessing.active_children()) - set(before)
    assert worker.pid is not None
    envs.reset(seed=0)
    return RoundTripSession(envs, cpus, worker.pid)


def _raw_ping_pong(env_id: str, num_envs: int, num_threads: int) -> Session:
    """Return a session of two processes that only wake each other."""
    return RawSession(_two_cpus())


def _two_cpus() -> tuple[int, int]:
    """Return the CPUs of parent and worker; LookupError if they cannot be selected."""
    if not sys.platform.startswith("linux"):
        raise LookupError("the ping-pong in C needs the futexes of Linux")
    cpus = sorted(os.sched_getaffinity(0))
    return cpus[0], cpus[-1]


def _construction(library: str) -> Callable[[str, int, int], Session]:
    """Return a builder of sessions that construct AsyncVectorEnv."""

    def build(env_id: str, num_envs: int, num_threads: int) -> Session:
        make = _engine(library, "AsyncVectorEnv")
        functions = factories(library, env_id, num_envs)
        return ConstructionSession(functools.partial(make, functions, context=CONTEXT))

    return build


def _batch_space(library: str, read: bool) -> Callable[[str, int, int], Session]:
    """Return a builder of sessions that batch a Dict of Boxes; each call gets another space.

    With `read` the bounds of the result are read, so that lazy ones are timed too.
    """

    def build(env_id: str, num_envs: int, num_threads: int) -> Session:
        spaces = importlib.import_module(f"{library}.spaces")
        utils = importlib.import_module(f"{library}.vector.utils")
        single = [
            spaces.Dict(
                position=spaces.Box(-1.0 - k, 1.0 + k, (3,), np.float32),
                velocity=spaces.Box(-np.inf, np.inf, (3,), np.float32),
                joints=spaces.Box(-math.pi, math.pi + k, (12,), np.float64),
                camera=spaces.Box(0, 255 - k, (8, 8), np.uint8),
            )
            for k in range(RING)
        ]

        def call(space: Any) -> Any:
            batched = utils.batch_space(space, num_envs)
            if read:
                for box in batched.spaces.values():
                    box.low, box.high  # noqa: B018
            return batched

        return Session(call, single, 1, lambda: None)

    return build


CONTENDERS = {
    contender.key: contender
    for contender in (
        Contender("gymcore-bare-loop", "bare loop", "gymcore", _bare_loop("gymcore")),
        Contender("gymnasium-bare-loop", "bare loop", "gymnasium", _bare_loop("gymnasium")),
        Contender("gymcore-SyncVectorEnv", "gymcore SyncVectorEnv", "gymcore", _sync("gymcore")),
        Contender(
            "gymnasium-SyncVectorEnv", "Gymnasium SyncVectorEnv", "gymnasium", _sync("gymnasium")
        ),
        Contender(
            "sb3-DummyVecEnv", "SB3 DummyVecEnv", "stable_baselines3",
            _stable_baselines("DummyVecEnv"),
        ),
        Contender(
            "gymcore-AsyncVectorEnv", "gymcore AsyncVectorEnv", "gymcore", _async("gymcore")
        ),
        Contender(
            "gymcore-AsyncVectorEnv-view", "gymcore AsyncVectorEnv, copy=False", "gymcore",
            _async("gymcore", copy=False),
        ),
        Contender("gymcore-AsyncVectorEnv-half", "gymcore send and recv", "gymcore", _partial),
        Contender(
            "gymnasium-AsyncVectorEnv", "Gymnasium AsyncVectorEnv", "gymnasium",
            _async("gymnasium"),
        ),
        Contender(
            "gymnasium-AsyncVectorEnv-view", "Gymnasium AsyncVectorEnv, copy=False", "gymnasium",
            _async("gymnasium", copy=False),
        ),
        Contender(
            "sb3-SubprocVecEnv", "SB3 SubprocVecEnv", "stable_baselines3",
            _stable_baselines("SubprocVecEnv", start_method=CONTEXT),
        ),
        Contender("gymcore-round-trip", "gymcore, one worker", "gymcore", _round_trip),
        Contender("raw-ping-pong", "futex ping-pong in C", "gymcore", _raw_ping_pong),
        Contender(
            "gymcore-construction", "gymcore AsyncVectorEnv()", "gymcore", _construction("gymcore")
        ),
        Contender(
            "gymnasium-construction", "Gymnasium AsyncVectorEnv()", "gymnasium",
            _construction("gymnasium"),
        ),
        Contender(
            "gymcore-batch_space", "gymcore batch_space", "gymcore", _batch_space("gymcore", True)
        ),
        Contender(
            "gymcore-batch_space-unread", "gymcore batch_space alone", "gymcore",
            _batch_space("gymcore", False),
        ),
        Contender(
            "gymnasium-batch_space", "Gymnasium batch_space", "gymnasium",
            _batch_space("gymnasium", True),
        ),
        Contender(
            "gymnasium-batch_space-unread", "Gymnasium batch_space alone", "gymnasium",
            _batch_space("gymnasium", False),
        ),
    )
}  # fmt: skip
