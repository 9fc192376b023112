"""Atari games for the bars: one of them with `AtariPreprocessing`, of either library.

Loaded by `worker.py` only, after `contenders`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

from contenders import Contender, Session
from measures import SingleSession

Build = Callable[[str, int, int], Session]


def _preprocessed(library: str) -> Build:
    """Return a builder of that library's game in its own `AtariPreprocessing`."""

    def build(env_id: str, num_envs: int, num_threads: int) -> Session:
        gym = importlib.import_module(library)
        if library == "gymnasium":
            gym.register_envs(importlib.import_module("ale_py"))
        env = gym.make(env_id, frameskip=1)
        return SingleSession(gym.wrappers.AtariPreprocessing(env))

    return build


CONTENDERS = {
    contender.key: contender
    for contender in (
        Contender(
            "gymcore-atari", "gymcore AtariPreprocessing", "ale_py", _preprocessed("gymcore")
        ),
        Contender(
            "gymnasium-atari", "Gymnasium AtariPreprocessing", "ale_py", _preprocessed("gymnasium")
        ),
    )
}
