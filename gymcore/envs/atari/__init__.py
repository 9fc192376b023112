"""Atari 2600 games, over the Arcade Learning Environment (ale-py), which is imported lazily."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gymcore.base.lazy_namespace import lazy_namespace

if TYPE_CHECKING:
    from gymcore.envs.atari.atari_env import AtariEnv
    from gymcore.envs.atari.vector_env import AtariVectorEnv, PreprocessedAtariEnv

__all__ = ["AtariEnv", "AtariVectorEnv", "PreprocessedAtariEnv"]

__getattr__, __dir__ = lazy_namespace(
    __name__,
    {
        ".atari_env": ("AtariEnv",),
        ".games": (),
        ".vector_env": ("AtariVectorEnv", "PreprocessedAtariEnv"),
    },
)
