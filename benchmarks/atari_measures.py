"""Atari games for the bars: one game with `AtariPreprocessing`, and batches of each library.

Only loaded by `worker.py`, after `contenders`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from contenders import RING, Contender, Session, random_batches
from measures import SingleSession

Build = Callable[[str, int, int], Session]


def _preprocessed(library: str) -> Build:
    """Return a builder of a library's game in its own `AtariPreprocessing`."""

    def build(env_id: str, num_envs: int, num_threads: int) -> Session:
        gym = importlib.import_module(library)
        if library == "gymnasium":
            gym.register_envs(importlib.import_module("ale_py"))
        env = gym.make(env_id, frameskip=1)
        return SingleSession(gym.wrappers.AtariPreprocessing(env))

    return build


def _steps_of(envs: Any, num_envs: int, dtype: Any = np.int64, **reset: Any) -> Session:
    envs.reset(**reset)
    space = getattr(envs, "single_action_space", envs.action_space)
    actions = random_batches(space, (num_envs,), RING, dtype)
    return Session(envs.step, actions, num_envs, getattr(envs, "close", lambda: None))


def _games(**options: Any) -> Build:
    """Return a builder of a batch of gymcore."""

    def build(env_id: str, num_envs: int, num_threads: int) -> Session:
        gymcore = importlib.import_module("gymcore")
        options["num_threads"] = num_threads
        return _steps_of(gymcore.make_vec(env_id, num_envs, vector_kwargs=options), num_envs)

    return build


def _games_in_play(env_id: str, num_envs: int, num_threads: int) -> Session:
    """Return a session whose lanes have all played equally long, for any number of lanes."""
    gymcore = importlib.import_module("gymcore")
    options = {"num_threads": num_threads}
    small_batch, envs = (gymcore.make_vec(env_id, n, vector_kwargs=options) for n in (8, num_envs))
    small_batch.reset(seed=0)
    for actions in random_batches(small_batch.single_action_space, (8,), 200, np.int64):
        small_batch.step(actions)
    session = _steps_of(envs, num_envs)
    envs.set_state(np.resize(small_batch.get_state(), num_envs))
    small_batch.close()
    return session


def _states(call: str) -> Build:
    """Return a builder of a session that saves or restores all lanes."""

    def build(env_id: str, num_envs: int, num_threads: int) -> Session:
        options = {"num_threads": num_threads}
        envs = importlib.import_module("gymcore").make_vec(env_id, num_envs, vector_kwargs=options)
        envs.reset(seed=0)
        saved = envs.get_state()
        calls = {"get": lambda _: envs.get_state(), "set": lambda _: envs.set_state(saved)}
        return Session(calls[call], [None], num_envs, envs.close)

    return build


def _ale_games(env_id: str, num_envs: int, num_threads: int) -> Session:
    ale_py, gymnasium = map(importlib.import_module, ("ale_py", "gymnasium"))
    gymnasium.register_envs(ale_py)
    envs = gymnasium.make_vec(
        env_id,
        num_envs,
        vectorization_mode="vector_entry_point",
        num_threads=num_threads,
    )
    return _steps_of(envs, num_envs, seed=0)


def _envpool_games(env_id: str, num_envs: int, num_threads: int) -> Session:
    envs = importlib.import_module("envpool").make_gymnasium(
        env_id.removeprefix("ALE/"),
        num_envs=num_envs,
        num_threads=num_threads,
        seed=0,
        repeat_action_probability=0.25,
    )
    return _steps_of(envs, num_envs, np.int32)


def _gymnasium_games(env_id: str, num_envs: int, num_threads: int) -> Session:
    gym = importlib.import_module("gymnasium")
    gym.register_envs(importlib.import_module("ale_py"))

    def make() -> Any:
        env = gym.wrappers.AtariPreprocessing(gym.make(env_id, frameskip=1))
        return gym.wrappers.FrameStackObservation(env, 4)

    return _steps_of(gym.vector.SyncVectorEnv([make] * num_envs), num_envs, seed=0)


CONTENDERS = {
    contender.key: contender
    for contender in (
        Contender(
            "gymcore-atari", "gymcore AtariPreprocessing", "ale_py", _preprocessed("gymcore")
        ),
        Contender(
            "gymnasium-atari", "Gymnasium AtariPreprocessing", "ale_py", _preprocessed("gymnasium")
        ),
        Contender("gymcore-games", "gymcore", "ale_py", _games()),
        Contender(
            "gymcore-games-same", "gymcore, same-step", "ale_py", _games(autoreset_mode="SameStep")
        ),
        Contender("gymcore-games-in-play", "gymcore, in play", "ale_py", _games_in_play),
        Contender("gymcore-games-get-state", "gymcore, get_state", "ale_py", _states("get")),
        Contender("gymcore-games-set-state", "gymcore, set_state", "ale_py", _states("set")),
        Contender("ale-games", "ale-py's AtariVectorEnv", "ale_py", _ale_games),
        Contender("envpool-games", "EnvPool sync", "envpool", _envpool_games),
        Contender("gymnasium-games", "Gymnasium SyncVectorEnv", "ale_py", _gymnasium_games),
    )
}
