"""Games of Atari that tests share: ALE takes 0.15 s to load one, and most tests make several."""

from __future__ import annotations

import contextlib
import sys
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest


class RecycledGames:
    """Opens games as `library.open_game` does, and those again that nothing else refers to."""

    def __init__(self, open_game: Any) -> None:
        self._open_game = open_game
        self._kept: dict[tuple[Any, ...], list[tuple[Any, Any]]] = defaultdict(list)

    def __call__(self, *args: Any) -> Any:
        for ale, first_state in self._kept[args]:
            if sys.getrefcount(ale) == self._references:
                ale.restoreState(first_state)
                return ale
        opened = self._open_game(*args)
        self._kept[args].append((opened, opened.cloneState()))
        del opened
        for ale, _ in self._kept[args]:  # where only this list refers to the last one
            self._references = sys.getrefcount(ale)
        return ale


@contextlib.contextmanager
def recycled_games() -> Iterator[None]:
    """Let batches of games play recycled ones meanwhile."""
    try:
        import ale_py  # noqa: F401

        from gymcore.envs.atari import vector_env
    except ImportError:
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vector_env, "open_game", RecycledGames(vector_env.open_game))
        yield
