"""Atari games shared by tests: ALE takes 0.15 s to load one, and most tests make several."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from gymcore.envs.atari import library

_kept: dict[tuple[Any, ...], list[tuple[Any, Any]]] = defaultdict(list)


def open_recycled(*args: Any) -> Any:
    """Open a game like `library.open_game`, or reuse one to which no other reference exists.

    A module-level function, because copies of an environment share it.
    """
    ale = _unused(args)
    if ale is None and _kept[args]:
        gc.collect()  # batches that are closed, but part of a cycle
        ale = _unused(args)
    if ale is None:
        ale = library.open_game(*args)
        _kept[args].append((ale, ale.cloneState()))
    return ale


def _unused(args: tuple[Any, ...]) -> Any:
    """Return a game without other references, in its first state; None if there is none."""
    for ale, first_state in _kept[args]:
        if sys.getrefcount(ale) == _references():
            with contextlib.suppress(SystemError):  # a test has loaded another ROM
                ale.restoreState(first_state)
                return ale
    return None


def _references() -> int:
    """Return the reference count of an object held only by a list of pairs and a loop."""
    for one, _ in [(object(), None)]:
        return sys.getrefcount(one)
    raise AssertionError


@contextlib.contextmanager
def recycled_games() -> Iterator[None]:
    """Make batches of games use recycled ones."""
    try:
        import ale_py  # noqa: F401

        from gymcore.envs.atari import vector_env
    except ImportError:
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vector_env, "open_game", open_recycled)
        yield
    _kept.clear()
