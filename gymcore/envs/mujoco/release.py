"""Freeing what is not Python's: once, in the process that made it, and in time at the end."""

from __future__ import annotations

import atexit
import os
import weakref
from collections.abc import Callable
from typing import Any

_open: list[weakref.finalize[..., Any]] = []

# What a forked child has of its parent's. It is kept, because it would free itself when collected.
_parents: list[Any] = []


def release_once(owner: object, free: Callable[..., None], *args: Any) -> weakref.finalize:
    """Return what frees something of `owner`'s, by a call, with `owner`, or at the exit.

    A forked child never frees it: windows and contexts are the parent's.

    Args:
        owner: When it is collected, `free` is called.
        free: Called as `free(*args)`, at most once.
        *args: Must not refer to `owner`.

    Example:
        >>> class Owner: ...
        >>> owner = Owner()
        >>> release = release_once(owner, print, "freed")
        >>> release.alive
        True
        >>> del owner
        freed
        >>> release.alive
        False
    """
    release = weakref.finalize(owner, _in_process, os.getpid(), free, args)
    # Not by `weakref`'s own hook, which runs after those of GLFW and PyOpenGL, and these take away
    # what is to be freed. Hooks run from the last to the first, so this one is moved to the end.
    release.atexit = False
    _open[:] = [one for one in _open if one.alive]
    _open.append(release)
    atexit.unregister(_release_all)
    atexit.register(_release_all)
    return release


def _in_process(process: int, free: Callable[..., None], args: tuple[Any, ...]) -> None:
    if os.getpid() == process:
        free(*args)
    else:
        _parents.append(args)


def _release_all() -> None:
    for release in reversed(_open):
        release()
