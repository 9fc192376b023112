"""Closing environments that nobody closed: at garbage collection and at interpreter exit.

The rules, in order of importance:

1. A user's `close` is never called a second time by this module, whoever made the first call.
2. Nothing here keeps an environment alive, and nothing here runs on the step path or when an
   environment is created. Exit finds what is still alive by asking the garbage collector.
3. An environment that somebody still holds is never closed. Collecting a wrapper closes what it
   wraps only if the wrapper was the last to hold it: in `env = make(...).unwrapped` the wrappers
   die first.
4. Exceptions from an automatic `close` go nowhere: the object may be half made or half torn down.
5. A forked child closes nothing by itself, because its parent still owns what it inherited.

To know whether `close` was called, `Env.__init_subclass__` lets every class with its own `close`
pass through `mark_closing`. A `close` that only passes on (`inert`) needs no note.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import os
import sys
import threading
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from gymcore.core import Env

_Close = TypeVar("_Close", bound=Callable[..., Any])

_STATE = "_close_state"
_CLOSING, _CLOSED = 1, 2

_automatic = threading.local()
_forked = False
_base: type[Env[Any, Any]]


def _remember_fork() -> None:
    global _forked
    _forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_remember_fork)


_inert: set[Callable[..., Any]] = set()


def inert(close: _Close) -> _Close:
    """Mark a `close` that frees nothing itself, as a decorator."""
    _inert.add(close)
    return close


def _marking(close: Callable[..., Any]) -> Callable[..., Any]:
    """Return `close`, noting on the instance that it was called."""

    @functools.wraps(close)
    def marked_close(self: Any, *args: Any, **kwargs: Any) -> Any:
        attributes = self.__dict__
        state = attributes.get(_STATE)
        if state == _CLOSED and getattr(_automatic, "active", False):
            return None
        if state is not None:  # an explicit second call, or super().close() within the first
            return close(self, *args, **kwargs)
        attributes[_STATE] = _CLOSING
        try:
            return close(self, *args, **kwargs)
        finally:
            attributes[_STATE] = _CLOSED

    marked_close._marks_closing = True  # type: ignore[attr-defined]
    return marked_close


def mark_closing(cls: type[Env[Any, Any]]) -> None:
    """Let the `close` that instances of `cls` will use note that it was called.

    Args:
        cls: A class that has just been made. A `close` that comes from a mixin outside the `Env`
            classes is wrapped for `cls` alone.
    """
    close = cls.close
    if isinstance(close, FunctionType) and close not in _inert and not _marks(close):
        cls.close = _marking(close)  # type: ignore[method-assign]


def _marks(close: object) -> bool:
    return getattr(close, "_marks_closing", False)


def _is_open(env: Env[Any, Any]) -> bool:
    """Whether `env` has a `close` that would be noted, and that has not been called."""
    if not _marks(type(env).close):
        return False
    attributes = env.__dict__
    return _STATE not in attributes and "close" not in attributes


def _close_quietly(env: Env[Any, Any]) -> None:
    before = getattr(_automatic, "active", False)
    _automatic.active = True
    try:
        with contextlib.suppress(Exception):
            env.close()
    finally:
        _automatic.active = before


def _layers(env: Env[Any, Any]) -> list[Env[Any, Any]]:
    """Return `env` and what it wraps, inwards."""
    layers = [env]
    while isinstance(inner := layers[-1].__dict__.get("env"), _base):
        layers.append(inner)
    return layers


def _references(layers: list[Env[Any, Any]], inner: Env[Any, Any]) -> int:
    """Return how many attributes of the wrappers among the layers are `inner`."""
    return sum(value is inner for layer in layers[:-1] for value in layer.__dict__.values())


def _is_held(layers: list[Env[Any, Any]]) -> bool:
    """Whether anything but the wrappers among the layers refers to one of the inner layers."""
    for index in range(1, len(layers)):
        own = _references(layers, layers[index])
        if sys.getrefcount(layers[index]) > own + 2:  # 2: the list, the argument of getrefcount
            return True
    return False


def close_collected(env: Env[Any, Any]) -> None:
    """Close `env`, which is about to be collected, if rules 1, 3 and 5 allow it."""
    if _is_open(env) and not _forked and not sys.is_finalizing() and not _is_held(_layers(env)):
        _close_quietly(env)


def _all_subclasses(cls: type[Env[Any, Any]]) -> set[type[Env[Any, Any]]]:
    found: set[type[Env[Any, Any]]] = set()
    waiting = [cls]
    while waiting:
        for subclass in waiting.pop().__subclasses__():
            if subclass not in found:
                found.add(subclass)
                waiting.append(subclass)
    return found


def close_at_exit(base: type[Env[Any, Any]]) -> None:
    """Arrange that environments which are still open at interpreter exit are closed.

    Args:
        base: `Env`, which cannot be imported here.
    """
    global _base
    _base = base

    def close_alive() -> None:
        if _forked:
            return
        # By identity: comparing classes could run a user's metaclass.
        classes = {id(cls) for cls in _all_subclasses(base) if _marks(cls.close)}
        gc.unfreeze()
        alive = [env for env in gc.get_objects() if id(type(env)) in classes]
        alive.sort(key=lambda env: len(_layers(env)), reverse=True)  # wrappers first
        for env in alive:
            if _is_open(env):
                _close_quietly(env)

    atexit.register(close_alive)
